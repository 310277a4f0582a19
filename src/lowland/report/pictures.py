"""The pictures of a method in a report, each with a sentence on how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.formatting import count
from ..core.message import message_of
from . import page
from .facts import Spectrum, spectrum_of, top_loadings
from .meaning import HOW_TO_READ, OF_ANY_MAP, pictures_of
from .svg import inline_svg

if TYPE_CHECKING:
    from ..contract.reducer import Reducer
    from .subject import Subject

_MOST_ROWS = 20_000  # pictures that compare pairs or repeat the fit are drawn of no more rows
_OF_ROWS = ("biplot", "correlation_circle", "hit_map", "u_matrix", "residual_variance", "reconstructions")
_OF_PLANES = ("biplot", "correlation_circle")
_TITLES = {
    "correlation_circle": "Correlation circle",
    "biplot": "Rows and columns together (biplot)",
    "shepard": "Distances in the data and in the map (Shepard diagram)",
    "residual_variance": "Residual variance by dimension",
    "spectrum": "Eigenvalues of the method",
    "u_matrix": "Distances between prototypes (U-matrix)",
    "hit_map": "Rows in each cell",
    "component_planes": "Columns on the grid",
    "rnx": "Agreement of neighbourhoods by size",
    "eigenimages": "The axes as images",
    "reconstructions": "Images and what the components keep of them",
}


def section(subject: Subject) -> str:
    """Return the section with the pictures of the method; empty if there are none."""
    pieces: list[str] = []
    for kind in pictures_of(subject.method_name, images=_has_image_axes(subject)):
        if kind == "scree":
            pieces += _variance(subject.model)
        elif subject.alignment is None or kind in ("shepard", "rnx"):
            pieces += _picture(subject, kind)
    of = "the map" if subject.method_name is None and subject.model is None else subject.method_title
    return page.section(f"Pictures of {of}", *pieces) if pieces else ""


def _picture(subject: Subject, kind: str) -> list[str]:
    caption, title = HOW_TO_READ[kind], _TITLES[kind]
    try:
        figure = drawn(subject, kind)
    except ValueError as error:  # the page says what is missing instead
        return [page.heading3(title), page.paragraph(f"Not drawn: {subject.words(message_of(error))}")]
    if figure is None:
        return []
    return [page.heading3(title), page.figure(inline_svg(figure, kind, title, caption), caption)]


def _has_image_axes(subject: Subject) -> bool:
    """Return whether the axes are sums of pixels, so that they can be drawn as images."""
    return subject.pixels is not None and getattr(subject.model, "components_", None) is not None


def drawn(subject: Subject, kind: str) -> Any:
    """Draw one kind of picture; None if it cannot be drawn from what is known."""
    from .. import plots

    model, behind = subject.model, subject.behind
    if kind in OF_ANY_MAP:
        if behind is None or behind.n > _MOST_ROWS:
            return None
        made = getattr(plots, kind)(subject.embedding[:, :2], behind.rows, metric=behind.metric)
        return made.figure
    if model is None or kind not in plots.plot_kinds(model):
        return None
    if kind == "spectrum" and not _beyond_kept(model):
        return None
    needs = kind in _OF_ROWS
    if (needs and (behind is None or behind.n > _MOST_ROWS)) or (kind in _OF_PLANES and len(subject.axis_names) < 2):
        return None
    options = {"color": subject.color, "color_name": subject.color_name} if kind == "biplot" else {}
    if kind in _OF_PLANES and subject.mixed is not None:
        return _of_mixed(subject, kind, options)
    made = plots.plot(model, None if behind is None or not needs else behind.named, kind, **options)
    return (made[0] if isinstance(made, list) else made).figure


def _of_mixed(subject: Subject, kind: str, options: dict[str, Any]) -> Any:
    """Draw a picture of rows and the columns that a step mixed before the method got them."""
    import polars as pl

    from .. import plots

    assert subject.mixed is not None
    rows = subject.mixed.rows
    if not hasattr(rows, "columns"):
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        rows = pl.DataFrame(rows, schema=list(subject.mixed.names))
    made = getattr(plots, kind)(subject.embedding, rows, **options)
    made.set(xlabel=subject.labels[0], ylabel=subject.labels[1])
    return made.figure


def _beyond_kept(model: Reducer) -> bool:
    """Return whether eigenvalues beyond those of the map are known, so that a gap after them can be seen."""
    values = getattr(model, "spectrum_", None)
    values = getattr(model, "eigenvalues_", None) if values is None else values
    return values is not None and len(values) > model.n_components_


def new_rows_section(subject: Subject) -> str:
    """Return the section with the new rows over the map of the training rows."""
    from ..plots import scatter

    training: Any = subject.training
    caption = (
        f"Points: the {len(training):,} training rows; diamonds: the {len(subject.embedding):,} new rows. New rows far "
        "from all training rows are unlike them, and their places are unreliable."
    )
    caption += f" {subject.far_outside}" if subject.far_outside else ""
    look: dict[str, Any] = {"labels": subject.labels, "meaningful_axes": subject.meaningful_axes}
    drawing = scatter(training, new=subject.drawn.embedding, **look).figure
    svg = inline_svg(drawing, "over", "New rows over the training rows", caption)
    return page.section("New rows over the training rows", page.figure(svg, caption))


def _variance(model: Reducer | None) -> list[str]:
    from ..plots.spectrum import BARS, scree

    spectrum = None if model is None else spectrum_of(model)
    if model is None or spectrum is None:
        return []
    kept = model.n_components_
    shares = spectrum.shares
    listed = ", ".join(f"{i + 1}: {100 * share:.1f} %" for i, share in enumerate(shares[:10]))
    caption = f"{HOW_TO_READ['scree']} Line: cumulative share. Blue: the {count(kept, 'kept component')}."
    if 1.0 - float(shares.sum()) > 1e-6:
        caption += f" Only {count(len(shares), 'component')} computed; the open bar is the remaining variance."
    elif len(shares) > BARS:
        caption += f" The open bar is the sum of all components after the {BARS}th."
    drawing = scree(spectrum.values, total=spectrum.total, kept=kept).figure
    svg = inline_svg(drawing, "scree", "Share of variance by component", f"{listed}.")
    return [page.heading3("Share of the variance"), page.figure(svg, caption)]


def components_needed(spectrum: Spectrum) -> list[str]:
    """Return how many components reach shares of the variance."""
    from ..dimension import advice

    return [page.paragraph(advice(spectrum.values, spectrum.total).sentence)]


def axes_section(subject: Subject) -> str:
    """Return the section on the columns that define each axis; empty if the axes are not sums of columns."""
    model = subject.model
    if _has_image_axes(subject):
        return ""  # weights of single pixels tell nothing; the axes are drawn as images
    loadings = [] if model is None or subject.alignment else top_loadings(model, subject.mixed)
    if model is None or not loadings:
        return ""
    cards = page.cards(page.card(item.label, page.bars(item.columns), _rest(item.left)) for item in loadings)
    text = (
        "The columns with the largest loadings on each component; a column with a negative loading decreases along it."
    )
    if model.n_components_ > len(loadings):
        text += f" The first {len(loadings)} of {model.n_components_} components."
    return page.section("What the axes mean", page.paragraph(text), cards)


def _rest(columns: int) -> str:
    return page.paragraph(f"and {columns:,} more column{'' if columns == 1 else 's'}", "small") if columns else ""
