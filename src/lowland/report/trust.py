"""Reliability of the map in a report, compared with the space that the model was fitted in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, message_of
from ..quality.verdicts import DISTANCES, NEIGHBOURS
from . import page
from .compared import Compared, compared_rows, not_comparable
from .svg import inline_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contract.reducer import Reducer
    from ..core.measure import Measure
    from ..quality.report import Report

Array = Any

PAIRS = 1_000_000  # most pairs whose distances are compared: sorting more takes longer than most fits
LEAST = 5  # rows
RULE = (
    f"Neighbours are called good if trustworthiness and continuity are at least {NEIGHBOURS[0]}, fair from "
    f"{NEIGHBOURS[1]}; distances are called good from a rank correlation of {DISTANCES[0]}, fair from {DISTANCES[1]}."
)
_GROUPS_SHOWN = 20
_DARKEST = 0.36  # of viridis: a contrast of 3 with the dark page
_SHOWN = {
    "trustworthiness": "trustworthiness (neighbours in the map are near in the data)",
    "continuity": "continuity (neighbours in the data are near in the map)",
    "neighborhood_overlap": "share of neighbours that are the same in the data and in the map",
    "rnx_auc": "agreement of neighbourhoods of all sizes, above chance (AUC of R_NX)",
    "spearman": "rank correlation of distances",
    "geodesic_spearman": "rank correlation with geodesic distances (shortest paths between neighbours)",
}


@dataclass(frozen=True)
class Trust:
    """Measures of the two dimensions that are drawn, and of all dimensions if there are more."""

    picture: Report
    whole: tuple[Measure, Measure] | None  # trustworthiness and continuity


def measure(
    model: Reducer, X: Any, Y: Array, groups: Any = None, steps: str | None = None, behind: Compared | None = None
) -> Trust | str:
    """Compare a map with its data; return the reason if this is not possible.

    With ``groups`` the purity of groups is measured, too; ``steps`` names what made the rows from a table. Rows are
    compared as in the model: by its metric, and divided by the standard deviations of the columns if it scaled them;
    ``behind`` are these rows, if they have been made before.
    """
    why = not_comparable(model)
    if why is not None:
        return f"Not measured: {why}."
    if len(Y) < LEAST:
        return f"Not measured: at least {LEAST} rows are needed."
    try:
        behind = compared_rows(model, X) if behind is None else behind
        space = behind.space if steps is None else f"{behind.space}, after these steps: {steps}"
        return _of_rows(replace(behind, space=space), Y, groups)
    except DataError as error:
        return Message("Not measured: ", message_of(error))


def _of_rows(behind: Compared, Y: Array, groups: Any) -> Trust:
    from ..quality import report

    k, pairs = min(10, max(1, len(Y) // 4)), None if len(Y) * (len(Y) - 1) // 2 <= PAIRS else PAIRS
    picture = report(
        behind.rows,
        Y[:, :2],
        k,
        metric=behind.metric,
        anchors=behind.anchors,
        pairs=pairs,
        groups=groups,
        space=behind.space,
    )
    return Trust(picture, whole_map(behind, Y, k))


def of_report(found: Report, behind: Compared, Y: Array, groups: Any) -> Trust:
    """Return the measures of the two dimensions that are drawn, if ``found`` are those of all dimensions."""
    if Y.shape[1] <= 2:
        return Trust(found, None)
    from ..quality import report

    picture = report(
        behind.rows,
        Y[:, :2],
        found.n_neighbors,
        metric=behind.metric,
        anchors=behind.anchors,
        groups=groups,
        space=found.space,
    )
    return Trust(picture, (found["trustworthiness"], found["continuity"]))


def whole_map(behind: Compared, Y: Array, k: int) -> tuple[Measure, Measure] | None:
    """Return trustworthiness and continuity of all dimensions; None if there are only the two that are drawn."""
    from ..quality.rank_measures import from_table
    from ..quality.ranks import rank_table
    from ..quality.spaces import sides

    if Y.shape[1] <= 2:
        return None
    table = rank_table(sides(behind.rows, Y, behind.metric, "report"), k, behind.anchors, None, None, owner="report")
    return from_table("trustworthiness", table), from_table("continuity", table)


def pointwise(report: Report, n: int) -> Array:
    """Return the share of neighbours kept for each of n points; NaN where it was not measured."""
    kept = np.full(n, np.nan)
    kept[report.points.point] = report.points.kept
    return kept


def section(found: Trust | str, Y: Array, labels: Sequence[str], *, meaningful_axes: bool = True) -> str:
    """Return the section of the page; the warnings stand at its top."""
    title = "How reliable the map is"
    if isinstance(found, str):
        return page.section(title, page.paragraph(found))
    report = found.picture
    pieces = [page.paragraph(RULE)]
    if found.whole is not None:
        near, kept = found.whole
        pieces.append(
            page.paragraph(
                f"These are measures of the two dimensions in the figure; all {Y.shape[1]} dimensions have "
                f"trustworthiness {near:.3f} and continuity {kept:.3f}."
            )
        )
    rows = [(text, _value(report, name)) for name, text in _SHOWN.items()]
    every = len(report.points) == report.n
    looked = f"all {report.n:,} rows" if every else f"{len(report.points):,} of {report.n:,} rows"
    caption = (
        f"{report.n_neighbors} neighbours of {looked}"
        + ("" if report["spearman"].exact else f", distances of {PAIRS:,} pairs")
        + ("" if report.exact else ", with 95 % intervals")
        + f"; compared with {report.space} ({report.metric})"
    )
    pieces.append(page.table(rows, caption, "wide"))
    if every:
        pieces.append(_map(report, Y, labels, meaningful_axes))
    return page.section(title, *pieces)


def _value(report: Report, name: str) -> str:
    """Return a measure with its value by chance; shortest paths need a connected neighbour graph."""
    if np.isnan(float(report[name])):
        return "not measured: the neighbour graph is not connected" if "geodesic" in name else "not measured"
    return f"{report[name]} (by chance {report.chance[name]:.3g})"


def groups_section(found: Trust | str, name: str | None) -> str:
    """Return the section on groups: the share of neighbours in the same group, the largest loss first."""
    purity = None if isinstance(found, str) else found.picture.purity
    if purity is None or isinstance(found, str):
        return ""
    data, map = purity.data.groups or {}, purity.map.groups or {}
    order = sorted(data, key=lambda group: float(map[group]) - float(data[group]))
    rows = [
        (str(group), f"{map[group]:.0%} in the map, {data[group]:.0%} in the data") for group in order[:_GROUPS_SHOWN]
    ]
    k = found.picture.n_neighbors
    caption = f"Share of the {k} nearest neighbours in the same group{f' ({name})' if name else ''}; largest loss first"
    if len(order) > _GROUPS_SHOWN:
        caption += f"; {_GROUPS_SHOWN} of {len(order):,} groups"
    text = (
        "A group survives in the map if its share there is about that in the data. A share in the data that is near "
        "chance means that the columns do not separate the group, so no map of them can."
    )
    return page.section("Groups", page.paragraph(purity.sentence), page.paragraph(text), page.table(rows, caption))


def _seen_on_both() -> Any:
    """Return a colour map without its darkest part, which hardly stands out from the page in dark mode."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["viridis"](np.linspace(_DARKEST, 1.0, 256)))


def _map(report: Report, Y: Array, labels: Sequence[str], meaningful_axes: bool) -> str:
    from ..plots.quality_map import quality_map

    caption = (
        f"The same map, coloured by the share of each point's {report.n_neighbors} nearest neighbours in the data that "
        "are also its nearest neighbours in the map."
    )
    look: dict[str, Any] = {"kind": "points", "meaningful_axes": meaningful_axes, "color_map": _seen_on_both()}
    ax = quality_map(Y, trust=report.points, labels=labels, **look)
    return page.figure(inline_svg(ax.figure, "trust", "The map, coloured by trust", caption), caption)
