"""Reliability of the map in a report, compared with the space that the model was fitted in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError
from . import page
from .svg import inline_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contract.reducer import Reducer
    from ..core.measure import Measure
    from ..quality.purity import Purity
    from ..quality.report import Report

Array = Any

PAIRS = 1_000_000  # most pairs whose distances are compared: sorting more takes longer than most fits
_GROUPS_SHOWN = 20
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


def measure(model: Reducer, X: Any, Y: Array, groups: Any = None, steps: str | None = None) -> Trust | str:
    """Compare a map with its data; return the reason if this is not possible.

    With ``groups`` the purity of groups is measured, too; ``steps`` names what made the rows from a table. Rows are
    compared as in the model: by its metric, and divided by the standard deviations of the columns if it scaled them.
    """
    from ..pairs.distances import METRICS
    from ..quality import report
    from ..quality.rank_measures import from_table
    from ..quality.ranks import rank_table
    from ..quality.spaces import sides

    if getattr(model, "kernel", None) == "precomputed":
        return "Not measured: the input is a matrix of similarities, not distances."
    if len(Y) < 5:
        return "Not measured: at least 5 rows are needed."
    metric = getattr(model, "metric", "euclidean")
    if isinstance(metric, str) and metric not in (*METRICS, "precomputed"):
        return f"Not measured: the metric {metric!r} is defined by a plugin."
    rows, space = _compared_rows(model, X)
    if steps is not None:
        space += f" after the steps {steps}"
    k, pairs = min(10, max(1, len(Y) // 4)), None if len(Y) * (len(Y) - 1) // 2 <= PAIRS else PAIRS
    whole = None
    try:
        picture = report(rows, Y[:, :2], k, metric=metric, pairs=pairs, groups=groups, space=space)
        if Y.shape[1] > 2:
            table = rank_table(sides(rows, Y, metric, "report"), k, "auto", None, None, owner="report")
            whole = from_table("trustworthiness", table), from_table("continuity", table)
    except DataError as error:
        return f"Not measured: {error}"
    return Trust(picture, whole)


def pointwise(report: Report, n: int) -> Array:
    """Return the share of neighbours kept for each of n points; NaN where it was not measured."""
    kept = np.full(n, np.nan)
    kept[report.points.point] = report.points.kept
    return kept


def section(found: Trust | str, Y: Array, labels: Sequence[str], color_name: str | None = None) -> str:
    """Return the section of the page."""
    title = "How reliable the map is"
    if isinstance(found, str):
        return page.section(title, page.paragraph(found))
    report = found.picture
    pieces = [page.paragraph(report.sentence)]
    if found.whole is not None:
        near, kept = found.whole
        pieces.append(
            page.paragraph(
                f"This describes the two dimensions in the figure; all {Y.shape[1]} dimensions have trustworthiness "
                f"{near:.3f} and continuity {kept:.3f}."
            )
        )
    pieces += [page.paragraph(f"Warning: {text}", "warning") for text in report.warnings]
    rows = [(text, f"{report[name]} (by chance {report.chance[name]:.3g})") for name, text in _SHOWN.items()]
    every = len(report.points) == report.n
    looked = f"all {report.n:,} rows" if every else f"{len(report.points):,} of {report.n:,} rows"
    caption = (
        f"{report.n_neighbors} neighbours of {looked}"
        + ("" if report["spearman"].exact else f", distances of {PAIRS:,} pairs")
        + ("" if report.exact else ", with 95 % intervals")
        + f"; compared with {report.space} ({report.metric})"
    )
    pieces.append(page.table(rows, caption))
    if report.purity is not None:
        pieces += _groups(report.purity, report.n_neighbors, color_name)
    if every:
        pieces.append(_map(report, Y, labels))
    return page.section(title, *pieces)


def _groups(purity: Purity, k: int, name: str | None) -> list[str]:
    """Return the share of neighbours in the same group, for each group; the largest loss first."""
    data, map = purity.data.groups or {}, purity.map.groups or {}
    order = sorted(data, key=lambda group: float(map[group]) - float(data[group]))
    rows = [
        (str(group), f"{map[group]:.0%} in the map, {data[group]:.0%} in the data") for group in order[:_GROUPS_SHOWN]
    ]
    caption = f"Share of the {k} nearest neighbours in the same group{f' ({name})' if name else ''}; largest loss first"
    if len(order) > _GROUPS_SHOWN:
        caption += f"; {_GROUPS_SHOWN} of {len(order):,} groups"
    return [page.table(rows, caption)]


def _compared_rows(model: Reducer, X: Any) -> tuple[Any, str]:
    """Return the rows as the model compared them, and a description."""
    if getattr(model, "metric", None) == "precomputed":
        return X, "the given distances"
    if hasattr(model, "coded_names_"):
        from ..quality.spaces import famd_axes

        return famd_axes(X).transform(X), "the columns as FAMD codes them"
    if getattr(model, "scale", False) is True:
        from ..graph.neighbors import objects

        return objects(X, "euclidean", "X") / model.scale_, "the columns, each divided by its standard deviation"
    return X, "the columns"


def _map(report: Report, Y: Array, labels: Sequence[str]) -> str:
    from ..plots.quality import trust_map

    kept = pointwise(report, len(Y))
    caption = (
        f"The same map, coloured by the share of each point's {report.n_neighbors} nearest neighbours in the data that "
        "are also its nearest neighbours in the map."
    )
    drawing = trust_map(Y, kept, name="share of neighbours kept", labels=labels)
    return page.figure(inline_svg(drawing, "trust", "The map, coloured by trust", caption), caption)
