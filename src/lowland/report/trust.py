"""How far the picture of a page can be believed, held against the space that the model saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError
from . import page
from .svg import inline_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..measure import Measure
    from ..quality.purity import Purity
    from ..quality.report import Report
    from ..reducer import Reducer

Array = Any

PAIRS = 1_000_000  # whose distances are compared: of more, sorting would take longer than most fits
_GROUPS_SHOWN = 20
_SHOWN = {
    "trustworthiness": "neighbours in the map that are true (trustworthiness)",
    "continuity": "neighbours in the data that are still near (continuity)",
    "neighborhood_overlap": "neighbours that are the same on both sides",
    "rnx_auc": "neighbourhoods of every size, beyond chance (AUC of R_NX)",
    "spearman": "order of all distances (rank correlation)",
    "path_spearman": "order of distances along the data, by shortest paths between neighbours (rank correlation)",
}


@dataclass(frozen=True)
class Trust:
    """What was measured of the picture, and of the whole map where it has more dimensions than can be drawn."""

    picture: Report
    whole: tuple[Measure, Measure] | None  # trustworthiness and continuity


def measure(model: Reducer, X: Any, Y: Array, groups: Any = None) -> Trust | str:
    """Hold a map against the rows it was made from; where that has no meaning, say why.

    With ``groups`` it is also told how much of them the map keeps. Rows are compared as the model compared them: by its
    metric, and divided by the deviations of columns where it scaled them.
    """
    from ..distances import METRICS
    from ..quality import report
    from ..quality.rank_measures import from_table
    from ..quality.ranks import rank_table
    from ..quality.spaces import sides

    if getattr(model, "kernel", None) == "precomputed":
        return "Not measured: similarities were given, and no distances."
    if len(Y) < 5:
        return "Not measured: there are too few rows."
    metric = getattr(model, "metric", "euclidean")
    if isinstance(metric, str) and metric not in (*METRICS, "precomputed"):
        return f"Not measured: rows were compared by {metric!r}, which only their own package knows."
    rows, space = _seen(model, X)
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


def section(found: Trust | str, Y: Array, labels: Sequence[str], color_name: str | None = None) -> str:
    """Return the part of the page."""
    title = "Can the picture be believed?"
    if isinstance(found, str):
        return page.section(title, page.paragraph(found))
    told = found.picture
    pieces = [page.paragraph(told.sentence)]
    if found.whole is not None:
        near, kept = found.whole
        pieces.append(
            page.paragraph(
                f"That is of the two dimensions in the picture; all {Y.shape[1]} together have trustworthiness "
                f"{near:.3f} and continuity {kept:.3f}."
            )
        )
    pieces += [page.paragraph(f"Warning: {text}", "warning") for text in told.warnings]
    rows = [(text, f"{told[name]} (by chance {told.chance[name]:.3g})") for name, text in _SHOWN.items()]
    every = len(told.points) == told.n
    looked = f"all {told.n:,} rows" if every else f"{len(told.points):,} of {told.n:,} rows"
    caption = (
        f"{told.n_neighbors} neighbours of {looked}"
        + ("" if told["spearman"].exact else f", distances of {PAIRS:,} pairs")
        + ("" if told.exact else ", hence intervals of 95 %")
        + f"; against {told.space} ({told.metric})"
    )
    pieces.append(page.table(rows, caption))
    if told.purity is not None:
        pieces += _groups(told.purity, told.n_neighbors, color_name)
    if every:
        pieces.append(_map(told, Y, labels))
    return page.section(title, *pieces)


def _groups(purity: Purity, k: int, name: str | None) -> list[str]:
    """Return how much of each group is left in the map: the groups that lose most first."""
    data, map = purity.data.groups or {}, purity.map.groups or {}
    order = sorted(data, key=lambda group: float(map[group]) - float(data[group]))
    rows = [
        (str(group), f"{map[group]:.0%} in the map, {data[group]:.0%} in the data") for group in order[:_GROUPS_SHOWN]
    ]
    caption = f"Neighbours of the own group{f' ({name})' if name else ''}, of {k}; groups that lose most first"
    if len(order) > _GROUPS_SHOWN:
        caption += f"; {_GROUPS_SHOWN} of {len(order):,} groups"
    return [page.table(rows, caption)]


def _seen(model: Reducer, X: Any) -> tuple[Any, str]:
    """Return the rows as the model compared them, and what they are."""
    if getattr(model, "metric", None) == "precomputed":
        return X, "the given distances"
    if hasattr(model, "coded_names_"):
        from ..quality.spaces import famd_axes

        return famd_axes(X).transform(X), "the columns as FAMD codes them"
    if getattr(model, "scale", False) is True:
        from ..graph.neighbors import objects

        return objects(X, "euclidean", "X") / model.scale_, "the columns, each divided by its standard deviation"
    return X, "the columns"


def _map(told: Report, Y: Array, labels: Sequence[str]) -> str:
    from ..plots.quality import trust_map

    kept = np.full(len(Y), np.nan)
    kept[told.points.point] = told.points.kept
    caption = (
        f"The same picture by trust: the share of each point's {told.n_neighbors} nearest in the data that are among "
        "its nearest in the map."
    )
    drawing = trust_map(Y, kept, name="same neighbours", labels=labels)
    return page.figure(inline_svg(drawing, "trust", "The picture, coloured by trust", caption), caption)
