"""HTML views of models and results for notebooks: a picture as inline SVG, and a short table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..core.errors import LowlandError
from ..plots.style import theme
from ..quality.outlier_result import WORDS
from .svg import inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..comparison.result import Comparison
    from ..contract.reducer import Reducer
    from ..dimension.result import Estimate
    from ..quality.outlier_result import Outliers
    from ..quality.pointwise import Pointwise
    from ..quality.rank_curves import RnxCurve
    from ..quality.report import Report
    from ..quality.shepard import Shepard
    from ..ranking.result import Ranking

_POINTS = 5000  # most points of the picture of a model
_LEFT_OUT = ("method", "solver", "iterations", "residual", "memory", "warning")  # of a short record
_LISTED = 10  # rows in a table of rows
_PREFIX = "lowland-figure"
_PICTURES = (
    "scatter",
    "u_matrix",
    "scree",
    "spectrum",
    "loadings",
)  # of a model without its rows, the first that works


def picture(figure: Figure, title: str, description: str, *, width: int = 560) -> str:
    """Return a figure as an element for a notebook; ids are made from its content, so that cells do not share them."""
    svg = inline_svg(figure, _PREFIX, title, description)
    unique = f"lowland-{hashlib.blake2b(svg.encode(), digest_size=6).hexdigest()}"
    return f'<div style="max-width: {width}px">{svg.replace(_PREFIX, unique)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a small table; every cell is escaped."""
    top = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>" if head else ""
    lines = ("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{top}{''.join(lines)}</table>"


def paragraphs(*texts: str) -> str:
    """Return paragraphs; every text is escaped, empty ones are left out."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def model_html(model: Reducer) -> str:
    """Return the picture and the record of a fitted model; nothing of a model that is not fitted."""
    info = getattr(model, "fit_info_", None)
    if info is None:
        return ""
    from .facts import sentence

    facts = [(name, value) for name, value in info.rows() if name not in _LEFT_OUT]
    rows = _rows_of(model)
    warned = (f"Warning: {text}" for text in info.warnings)
    said = paragraphs("" if rows is None else sentence(model, rows), *warned)
    return f"{_picture_of(model)}{said}{table((), facts)}"


def _rows_of(model: Any) -> int | None:
    kept = getattr(model, "embedding_", None)
    return getattr(model, "n_samples_", None) if kept is None else len(kept)


def _picture_of(model: Reducer) -> str:
    """Return the first picture that needs no rows; a large map is represented by a sample of its points."""
    from ..plots.kinds import plot_kinds

    kinds = plot_kinds(model)
    kind = next((name for name in _PICTURES if name in kinds and not kinds[name].endswith("(needs X)")), None)
    if kind is None:
        return ""
    with theme("paper"):  # the page decides whether it is light or dark
        drawn = _drawn(model, kind)
    axes = drawn[0] if isinstance(drawn, list) else drawn
    return picture(axes.figure, f"{type(model).__name__}: {kind}", kinds[kind])


def _drawn(model: Any, kind: str) -> Any:
    import numpy as np

    from ..plots.kinds import KINDS, plot
    from ..plots.subject import PlottedModel

    if kind != "scatter" or len(model.embedding_) <= _POINTS:
        return plot(model, kind=kind)
    from ..plots.scatter import scatter

    (Y,), options = KINDS[kind].arguments(PlottedModel(model))
    few = np.sort(np.random.default_rng(0).choice(len(Y), _POINTS, replace=False))
    axes = scatter(Y[few], **options)
    axes.set_title(f"{_POINTS:,} of {len(Y):,} rows", loc="left")
    return axes


def shepard_html(result: Shepard) -> str:
    """Return the Shepard diagram."""
    with theme("paper"):
        said = f"Stress {result.stress:.3f}, Pearson {result.pearson:.3f}, Spearman {result.spearman:.3f}."
        return picture(result.figure(), "Shepard diagram", said)


def rnx_html(curve: RnxCurve) -> str:
    """Return the curve R_NX(K)."""
    with theme("paper"):
        return picture(curve.figure(), "R_NX by neighbourhood size", f"Area under the curve {float(curve.auc):.3f}.")


def outliers_html(found: Outliers) -> str:
    """Return the summary of outliers, their picture and a table of the most extreme rows."""
    with theme("paper"):
        drawing = picture(found.figure(), "Rows by their ratio to the limit of outliers", found.sentence)
    rows = list(zip(found.rows[:_LISTED], found.reasons, strict=False))
    names = [f"row {i}" if found.names is None else str(found.names[i]) for i, _ in rows]
    cells = [
        (name, f"{found.severity[i]:.3g}", "; ".join(WORDS[reason] for reason in why))
        for name, (i, why) in zip(names, rows, strict=True)
    ]
    listed = table(("row", "ratio to the limit", "reason"), cells) if cells else ""
    return paragraphs(found.sentence) + drawing + listed


def pointwise_html(found: Pointwise) -> str:
    """Return the mean share of neighbours kept, the picture of all points and a table of the least reliable ones."""
    said = f"The {len(found):,} points keep {found.kept.mean():.1%} of their {found.n_neighbors} nearest neighbours."
    with theme("paper"):
        drawing = picture(found.figure(), "Reliability of the points", said, width=720)
    places = {int(point): place for place, point in enumerate(found.point)}
    cells = []
    for point in found.worst(_LISTED).tolist():
        i = places[point]
        values = (found.kept[i], found.false[i], found.missing[i], found.stretch[i])
        cells.append((str(point), *(f"{value:.3g}" for value in values)))
    head = ("point", "share kept", "false", "missing", "stretch")
    return paragraphs(said) + drawing + paragraphs("The least reliable points:") + table(head, cells)


def report_html(report: Report) -> str:
    """Return the summary of a quality report, its picture and the table of measures."""
    with theme("paper"):
        drawing = picture(report.figure(), "Quality measures", report.sentence)
    values = table(("measure", "value", "by chance"), report.rows())
    return paragraphs(report.sentence, *(f"Warning: {text}" for text in report.warnings)) + drawing + values


def dimension_html(found: Estimate) -> str:
    """Return the summary of an estimate, its picture and the table of rules."""
    from ..dimension.result import HEADINGS

    with theme("paper"):
        drawing = picture(found.figure(), "Estimates of the dimension", found.sentence, width=860)
    notes = (f"Note: {text.rstrip('.')}." for text in found.warnings)
    return paragraphs(found.sentence, *notes) + drawing + table(HEADINGS, found.cells())


def ranking_html(found: Ranking) -> str:
    """Return the summary of a ranking and its picture."""
    with theme("paper"):
        return paragraphs(found.sentence) + picture(found.figure(), "Ranking", found.sentence, width=860)


def comparison_html(found: Comparison) -> str:
    """Return the recommendation of a comparison, its maps and the table of candidates."""
    from .comparison import shown

    if not found.maps:
        return paragraphs(str(found))
    try:
        said = found.recommend()
    except LowlandError as error:
        return paragraphs(f"Warning: {error}")
    with theme("paper"):
        maps = picture(found.figure(), "Maps of the candidates and their criteria", said.verdict, width=860)
    columns = shown(found)
    done = [row for row in found.table().iter_rows(named=True) if row["status"] == "done"]
    cells = [
        (str(row["rank"]), row["candidate"], f"{row['score']:.3f}", *(_cell(row[name]) for name in columns))
        for row in done
    ]
    head = ("rank", "candidate", "score", *columns.values())
    return paragraphs(f"Recommended: {said.title}.", said.verdict) + maps + table(head, cells)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
