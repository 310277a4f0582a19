"""The report of one reduction: figures, diagnostics and the command to reproduce it, in one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..contract import parameters
from ..core.formatting import count
from ..data.atomic import atomic_file
from . import page, trust
from .facts import Spectrum, axis_labels, explanations, sentence, shares_of, spectrum_of, top_loadings
from .hover import Hover
from .interactive import is_available, map_with_fallback
from .supplementary import overlay
from .supplementary import section as supplementary_section
from .svg import inline_svg

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..contract.reducer import Reducer
    from ..plots.overlay import Overlay
    from ..quality.supplementary_columns import Supplementary


def render_report(
    model: Reducer,
    embedding: ArrayLike,
    *,
    X: Any = None,
    color: Any = None,
    color_name: str | None = None,
    names: Sequence[str] | None = None,
    hover: Any = None,
    images: Sequence[str | None] | None = None,
    alignment: str | None = None,
    supplementary: Supplementary | None = None,
    supplementary_rows: ArrayLike | None = None,
    title: str,
    data_summary: Mapping[str, object],
    command: str | None = None,
    steps: str | None = None,
) -> str:
    """Return the report of a fitted model as the text of one HTML file; the same input gives the same text.

    Parameters
    ----------
    model : the fitted model.
    embedding : the coordinates it gave, one row a point.
    X : the rows that it was fitted on (or their distances); with them the report measures how reliable the map is.
    color, color_name : a column that colours the points, and its name.
    names : a name for each point, written beside it if there are few, otherwise shown on hover.
    hover : a data frame of columns, or a mapping from names to values, shown on hover.
    images : an image for each point as a data URI, or None, shown on hover.
    alignment : what the map was laid over, if the coordinates are not the model's own but rotated: its axes then have
        neither shares of the variance nor loadings.
    supplementary : how columns that took no part in the fit lie on the map, as `quality.supplementary` returns it.
    supplementary_rows : coordinates of rows that took no part in the fit, drawn as hollow points.
    title : heading of the page.
    data_summary : facts about the data, by name, such as ``{"file": "iris.csv", "rows": 150}``.
    command : the command line that reproduces the result.
    steps : the steps that made the rows from the columns of the table, in words.

    Examples
    --------
    >>> import lowland
    >>> X = [[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [0.0, 2.0, 1.5]]
    >>> model = lowland.PCA(n_components=2).fit(X)
    >>> render_report(model, model.transform(X), X=X, title="Three points", data_summary={"rows": 3})[:15]
    '<!doctype html>'
    """
    Y = np.asarray(embedding)
    spectrum = spectrum_of(model)
    pieces = [page.heading(title), page.paragraph(sentence(model, len(Y)), "lead")]
    pieces += [page.paragraph(f"Warning: {text}", "warning") for text in model.fit_info_.warnings]
    pieces += [page.paragraph(alignment)] if alignment else []
    labels = axis_labels(model, shares=alignment is None)
    further = None if supplementary_rows is None else np.asarray(supplementary_rows)
    drawn = overlay(supplementary, further)
    found = None if X is None else trust.measure(model, X, Y, _groups(color, len(Y)), steps)
    shown = Hover.of(len(Y), names, hover, images)
    pieces.append(_picture(model, Y, labels, color, color_name, names, shown, drawn, found))
    has_axes = shares_of(model) is not None and alignment is None
    axes = [str(name) for name in model.get_feature_names_out()]
    pieces.append(supplementary_section(supplementary, axes, with_axes=has_axes))
    if found is not None:
        pieces.append(trust.section(found, Y, labels, color_name))
    if said := explanations(model):
        pieces.append(page.section("How well the map fits", *map(page.paragraph, said)))
    if spectrum is not None:
        pieces += [_variance(model, spectrum), _dimensions(spectrum)]
    pieces += [] if alignment else [_columns(model)]
    pieces += [_evidence(model, data_summary), _replay(model, command)]
    pieces.append(page.footer(f"Made with Lowland {__version__}."))
    return page.document(title, [piece for piece in pieces if piece])


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page; a failure leaves no partial file."""
    with atomic_file(os.fspath(path)) as file:
        file.write(text.encode())


def _groups(color: Any, n: int) -> list[Any] | None:
    """Return the groups of a colour column; None for continuous numbers, and if no group has two rows."""
    from ..plots.coloring import Groups, read_colors

    if color is None or (not _is_text(color) and not isinstance(read_colors(color, n), Groups)):
        return None
    values = color.to_list() if hasattr(color, "to_list") else np.asarray(color).tolist()
    known = [value for value in values if value is not None]
    return values if len(set(known)) < len(known) else None


def _is_text(color: Any) -> bool:
    """Return whether a column contains text, so that its values are groups."""
    return str(getattr(color, "dtype", "")) in ("String", "Categorical")


def _picture(
    model: Reducer,
    Y: np.ndarray[Any, Any],
    labels: Sequence[str],
    color: Any,
    name: str | None,
    names: Sequence[str] | None,
    hover: Hover,
    drawn: Overlay,
    found: trust.Trust | str | None,
) -> str:
    from ..plots.scatter import RASTER_ABOVE, places, scatter

    shown = f"The first two of {Y.shape[1]} dimensions. " if Y.shape[1] > 2 else ""
    hue = f", coloured by {name}" if color is not None and name else ""
    things = "objects" if model._pairwise else "rows"
    columns = " and ".join(str(name) for name in model.get_feature_names_out()[:2])
    caption = (
        f"{shown}Each of the {len(Y):,} {things} is one point{hue}. Names of the axes in the output file: {columns}."
    )
    if Y.shape[1] == 1:
        caption += " Only the horizontal position has a meaning; the vertical position separates the points."
    if drawn.rows is not None:
        caption += f" Hollow points: {count(len(drawn.rows), 'supplementary row')}, placed after the fit."
    axes = " against ".join(labels[:2])
    drawing = scatter(Y, color=color, color_name=name, labels=labels, names=names, overlay=drawn)
    tips, is_static = None, not is_available()  # the interactive map shows on hover what the static one would
    if is_static and hover.contents and len(Y) <= RASTER_ABOVE:
        tips = hover.tips(*places(Y))
        written = len(drawing.axes[0].texts) - 2 * len(drawn.arrows) - len(drawn.centers)
        if hover.contents != "its name" or written < len(Y):
            caption += f" Hover over a point to see {hover.contents}."
    elif is_static and (hover.columns or hover.images):
        caption += f" With more than {RASTER_ABOVE:,} points, nothing is shown on hover."
    svg = inline_svg(drawing, "scatter", f"Map of the data: {axes}", caption, tips)
    reliable = trust.pointwise(found.picture, len(Y)) if isinstance(found, trust.Trust) else None
    picture = page.figure(svg, caption)
    more = bool(drawn.arrows or drawn.centers or drawn.rows is not None)
    return page.section(
        "The map",
        map_with_fallback(
            picture, Y, labels, color=color, color_name=name, hover=hover, trust=reliable, keep_static=more
        ),
    )


def _variance(model: Reducer, spectrum: Spectrum) -> str:
    from ..plots.spectrum import BARS, scree

    kept = model.n_components_
    shares = spectrum.shares
    listed = ", ".join(f"{i + 1}: {100 * share:.1f} %" for i, share in enumerate(shares[:10]))
    caption = (
        "Bars: share of the variance of each component; line: cumulative share. "
        f"Blue: the {count(kept, 'kept component')}."
    )
    if 1.0 - float(shares.sum()) > 1e-6:
        caption += f" Only {count(len(shares), 'component')} computed; the open bar is the remaining variance."
    elif len(shares) > BARS:
        caption += f" The open bar is the sum of all components after the {BARS}th."
    svg = inline_svg(
        scree(spectrum.values, spectrum.total, kept=kept),
        "scree",
        "Share of variance by component",
        f"{listed}.",
    )
    return page.section("Share of the variance", page.figure(svg, caption))


def _dimensions(spectrum: Spectrum) -> str:
    from ..dimension import advice

    found = advice(spectrum.values, spectrum.total)
    rows = [
        (f"{100 * share:.0f} % of the variance", count(m, "component") if m else "more than were computed")
        for share, m in found.counts.items()
    ]
    if found.drop is not None and found.drop_ratio is not None:
        rows.append(("largest drop", f"after component {found.drop}, by a factor of {found.drop_ratio:.3g}"))
    return page.section("How many dimensions", page.paragraph(found.sentence), page.table(rows, "Components needed"))


def _columns(model: Reducer) -> str:
    loadings = top_loadings(model)
    if not loadings:
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


def _evidence(model: Reducer, data_summary: Mapping[str, object]) -> str:
    given = [(name, str(parameters.told(value))) for name, value in model.get_params(deep=False).items()]
    return page.section(
        "Details",
        page.table([(str(name), str(value)) for name, value in data_summary.items()], "Data"),
        page.table(model.fit_info_.rows(), "Fit"),
        page.table(given, f"Parameters of {type(model).__name__}"),
    )


def _replay(model: Reducer, command: str | None) -> str:
    if command is None:
        call = " ".join(repr(model).split())  # scikit-learn's repr: the parameters that differ from their defaults
        command = f"lowland.{call}.fit_transform(X)"
    return page.section("Reproduce this report", page.command(command))
