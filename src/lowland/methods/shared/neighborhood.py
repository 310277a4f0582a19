"""The neighbourhood of the training rows, as the parameters of a method ask for it, with warnings and evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...contract.fit_info import Recorder
from ...core.dominance import dominance, range_words
from ...core.errors import (
    DisconnectedError,
    DisconnectedWarning,
    DominantColumnWarning,
    LowlandWarning,
)
from ...core.message import SCALED_METRIC, Message, Owner, Setting, message
from ...core.random import seed
from ...graph.components import components
from ...graph.neighbor_rule import NeighborRule
from ...graph.points import Neighborhood, Piece, PointSet
from ...pairs.distances import DEGREES
from ...rows.object_rows import gather, packed
from ...rows.row_source import RowSource

Array = Any
Count = Callable[[int, Recorder], int]

SMALL_MAP = "classical scaling"  # of components of few points


def learn_neighborhood(model: Any, rows: RowSource, record: Recorder, count: Count) -> Neighborhood:
    """Return the distinct points of the rows and their graph; ``count`` is the number of neighbours for n points."""
    points = learn_points(model, rows, record)
    start = 0 if model.random_state is None else int(seed(model.random_state).integers(2**31))
    hood = points.neighbors(lambda n: count(n, record), getattr(model, "ties", "cut"), start, rule_of(model).reach)
    record.evidence |= hood.evidence()
    if hood.graph.recall is not None:
        record.note(approximate=True, approximation_error=1 - hood.graph.recall)
    return hood


def learn_points(model: Any, rows: RowSource, record: Recorder) -> PointSet:
    """Return the distinct points of the rows; warn if one or two columns decide which are neighbours."""
    points = PointSet.of(gather(rows, sparse=True), model.metric, type(model).__name__)
    if (words := range_words(points.ranges(), getattr(model, "feature_names_in_", None))) is not None:
        text = dominance(words, "so it alone decides which rows are neighbours", SCALED_METRIC)
        record.warn(Message(Owner(type(model).__name__), text), DominantColumnWarning)
    return points


def keep_points(model: Any, points: PointSet, k: int, *, square: bool) -> None:
    """Store in a model what new rows are compared with; ``square``: also the given distances among the points."""
    model.metric_, model.metric_state_ = model._input.name(model), dict(points.metric.state)
    model.neighbors_, model.anchors_ = k, points.first if points.metric.precomputed else packed(points.points)
    model.square_ = points.dense_square() if square else None


def pieces_of(model: Any, hood: Neighborhood, record: Recorder) -> tuple[list[Piece], Array]:
    """Return the connected components of the graph as ``disconnected`` treats them, and the one of each point."""
    labels = components(hood.graph).astype(np.int32)
    return _disconnected(model, hood, labels, record) if labels.any() else [hood.whole()], labels


def _disconnected(model: Any, hood: Neighborhood, labels: Array, record: Recorder) -> list[Piece]:
    sizes = np.bincount(labels)
    texts = [str(size) for size in sizes[:5]]
    listed = ", ".join([*texts, "…"]) if len(sizes) > 5 else " and ".join([", ".join(texts[:-1]), texts[-1]])
    if hood.radius is None:
        kind, more = f"the {hood.n_neighbors}-nearest-neighbour graph", Setting("n_neighbors")
    else:
        kind, more = message("the graph of rows within {radius}", radius=model.radius), Setting("radius")
    has = f" is not connected: the number of connected components is {len(sizes)} ({listed} points)"
    what = Message(f"{hood.metric.owner}: ", kind, has)
    apart = model._parameters["disconnected"].accepts("separate")
    if model.disconnected == "error":
        separate = Message(" or ", Setting("disconnected", "separate")) if apart else ""
        use = Message(", or use ", Setting("disconnected", "bridge"), separate)
        raise DisconnectedError(Message(what, "; increase ", more, use))
    record.evidence["pieces"] = len(sizes)
    if model.disconnected == "bridge":
        hood.refuse_alone(separate=apart)  # there are no distances to bridge with
        piece, count = hood.bridged(labels)
        record.evidence["links added"] = count
        edges = "the shortest missing edge" if count == 1 else f"the {count} shortest missing edges"
        record.warn(
            Message(
                what,
                f"; they were joined by {edges}. Positions of the components relative to each other are unreliable; "
                "increase ",
                more,
                Message(" or use ", Setting("disconnected", "separate")) if apart else "",
            ),
            DisconnectedWarning,
        )
        return [piece]
    few = int((sizes <= model.n_components + 1).sum())
    size = model.n_components + 1
    small = f". Components of at most {size} points ({few} here) are embedded by {SMALL_MAP}" if few else ""
    side = "; each component is embedded separately and placed side by side; distances between components are not "
    record.warn(Message(what, side, f"meaningful{small}"), DisconnectedWarning)
    return hood.split(labels)


# -- numbers of neighbours and points -------------------------------------------------------------------------


def rule_of(model: Any) -> NeighborRule:
    """Return which points are neighbours by the parameters of a model, a radius in the unit of the fit."""
    radius, complete = getattr(model, "radius", None), getattr(model, "affinity", "") not in ("", "nearest_neighbors")
    if radius is not None:
        radius = float(model._in_unit(float(radius), DEGREES.get(model._input.name(model), 0)))
    return NeighborRule(type(model).__name__, model.n_neighbors, radius, complete)


def count_neighbors(model: Any, n: int, record: Recorder) -> int:
    """Return the number of neighbours; the default is lowered for tables of a few rows, other numbers are not."""
    (rule := rule_of(model)).require(n, "distinct rows")
    if model.n_neighbors is not None and n <= model.n_neighbors:
        text = f": there are only {n} distinct rows, so each is a neighbour of all others ({{n_neighbors}})"
        record.warn(message(type(model).__name__ + text, n_neighbors=n - 1), LowlandWarning)
    return rule.count(n)


def components_of_points(model: Any, rows: int, n: int, record: Recorder) -> int:
    """Return how many coordinates n distinct points of so many rows can have; warn if fewer than asked for."""
    if n <= model.n_components:
        record.warn_short(n - 1, model.n_components, what=f"of {rows} rows only {n} are distinct; these")
    return min(int(model.n_components), n - 1)
