"""The neighbourhood of the training rows: distinct points, the graph of their neighbours, and its components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.reducer import Recorder
from ...core import arrays
from ...core.errors import (
    DataError,
    DisconnectedError,
    DisconnectedWarning,
    DominantColumnWarning,
    LowlandWarning,
    RankWarning,
)
from ...core.random import seed
from ...graph.components import bridge, components
from ...graph.distinct import numbered
from ...graph.geometry import Geometry
from ...graph.graph import Graph
from ...graph.measures import comparable
from ...graph.neighbors import Searcher, distinct
from ...graph.precomputed import GivenDistances, merged
from ...pairs.distances import check_distances, check_function, learn, metric
from ...rows.object_rows import gather, packed
from ...rows.row_source import RowSource
from .point_metric import PointMetric, take

Array = Any

NEIGHBORS = 10  # the default; where there are no more rows than that, each is the neighbour of all others
SMALL_MAP = "classical scaling"  # of components of few points
_UNIT_METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev")  # in which a large column hides the others
_DOMINANT_RANGE = 100  # times the range of any other column: those change its distances by a ten-thousandth


@dataclass(frozen=True)
class Piece:
    """A connected set of points: the graph among them, nearest first, and what is known of their geometry."""

    graph: Graph
    geometry: Geometry
    numbers: Array  # of its points among all

    @property
    def n(self) -> int:
        """Number of points."""
        return self.graph.n


@dataclass(frozen=True)
class Neighborhood:
    """Distinct training points and the graph of their neighbours.

    ``inverse`` holds the number of each row's point. ``anchors`` is what a model keeps of the points: their rows, or
    the numbers of objects with precomputed distances; ``square`` the distances among those, if a model keeps them.
    """

    metric: PointMetric
    points: Array
    inverse: Array
    graph: Graph
    n_neighbors: int
    anchors: Array | None
    square: Array | None

    def keep(self, model: Any) -> None:
        """Store in a model what new rows are compared with."""
        model.metric_, model.metric_state_ = model._input.name(model), dict(self.metric.state)
        model.neighbors_, model.anchors_, model.square_ = self.n_neighbors, self.anchors, self.square

    def search(self, start: int = 0) -> Searcher:
        """Return the search among the points."""
        return _search(self.metric, self.points, self.anchors, len(self.inverse), start)

    def pieces(self, model: Any, is_small: Callable[[int], bool], record: Recorder) -> tuple[list[Piece], Array]:
        """Return the connected components of the graph as ``disconnected`` treats them, and the one of each point."""
        labels = components(self.graph)
        sizes, geometry = np.bincount(labels), self.metric.geometry(self.points)
        whole = np.arange(self.graph.n)
        if len(sizes) == 1:
            return [Piece(self.graph, geometry, whole)], labels.astype(np.int32)
        listed = ", ".join(str(s) for s in sizes[:5]) + (", …" if len(sizes) > 5 else "")
        what = (
            f"{self.metric.owner}: the graph of {self.n_neighbors} neighbours falls into {len(sizes)} pieces "
            f"({listed} points)"
        )
        apart = model._parameters["disconnected"].accepts("separate")
        if model.disconnected == "error":
            raise DisconnectedError(
                f"{what}; take more neighbours, or disconnected='bridge'"
                f"{' or ' + repr('separate') if apart else ''} to embed it all the same"
            )
        record.evidence["pieces"] = len(sizes)
        if model.disconnected == "bridge":
            joined, links = bridge(self.graph, self.search(), labels)
            record.evidence["links added"] = links
            record.warn(
                f"{what}; {_links(links)} added. How the pieces lie to each other rests on that: more neighbours"
                f"{' or disconnected=' + repr('separate') if apart else ''} would avoid it",
                DisconnectedWarning,
            )
            return [Piece(joined, geometry, whole)], labels.astype(np.int32)
        few = int(sum(map(is_small, sizes.tolist())))
        record.warn(
            f"{what}; they are embedded one by one and laid side by side (component_labels_ tells which is which): "
            "distances between pieces mean nothing"
            + (
                f". {few} of them have at most {model.n_components + 1} points: {SMALL_MAP} lays these out"
                if few
                else ""
            ),
            DisconnectedWarning,
        )
        parts = self.graph.split(labels)
        return [Piece(part, geometry.part(numbers), numbers) for part, numbers in parts], labels.astype(np.int32)


def learn_neighborhood(
    model: Any,
    rows: RowSource,
    record: Recorder,
    count: Callable[[int, Recorder], int],
    *,
    ties: str = "cut",
    keeps_rows: bool = True,
    keeps_square: bool = True,
) -> Neighborhood:
    """Return the neighbourhood of the rows of a fit.

    Equal rows are one point, and so are points at distance zero. ``count`` returns the number of neighbours for so many
    distinct points; ``ties`` is what happens to neighbours at the distance of the last one.
    """
    owner, given = type(model).__name__, model._pairwise
    items = gather(rows, sparse=True)
    if not sp.issparse(items):
        items = arrays.to_numpy(items)
        if given:
            check_distances(items, owner)
    state: dict[str, Array] = {}
    if given and sp.issparse(items):  # which objects are equal shows in its edges
        points, inverse = items, np.arange(items.shape[0])
        anchors: Array | None = inverse
    else:
        same = distinct(comparable(model.metric, items), square=given)
        if len(same.first) > 1 and not given:  # of equal rows nothing can be learned, and they are refused
            state = _learned(model.metric, items, owner)
        anchors = same.first if given else None
        points, inverse = take(items, same.first, given), same.inverse
    compared = PointMetric(owner, model.metric, state)
    _warn_units(model, points, record)
    start = int(seed(model.random_state).integers(2**31)) if model.random_state is not None else 0
    while True:
        n = points.shape[0]
        if n < 2:
            raise DataError(f"{owner}: all rows are equal (rank 0): there is nothing to unfold")
        k = count(n, record)
        graph = _search(compared, points, anchors, len(inverse), start).graph(k, ties=ties)
        if (graph.distances > 0).all():
            break
        zero = graph.csr((graph.distances == 0).astype(float))
        zero.eliminate_zeros()
        first, labels = numbered(sp.csgraph.connected_components(zero, directed=False)[1])
        sparse = given and sp.issparse(points)
        points = merged(points, labels, len(first)) if sparse else take(points, first, given)
        inverse = labels[inverse]
        if anchors is not None:
            anchors = anchors[first]
    if not given:
        anchors = packed(points) if keeps_rows else None
    square = points.copy() if given and keeps_square and not sp.issparse(points) else None
    record.evidence["neighbours"] = k
    record.evidence["neighbour search"] = graph.algorithm
    if graph.recall is not None:
        record.evidence["neighbour recall"] = graph.recall
        record.note(approximate=True, approximation_error=1 - graph.recall)
    if n < len(inverse):
        record.evidence["distinct rows"] = n
    return Neighborhood(compared, points, inverse, graph, k, anchors, square)


def _search(compared: PointMetric, points: Array, anchors: Array | None, rows: int, start: int) -> Searcher:
    """Return the search among the points that are left of so many rows."""
    if compared.precomputed and sp.issparse(points) and points.shape[0] < rows:
        return GivenDistances(points, anchors)
    return compared.search(points, start)


def _learned(rule: str | Callable[[Any, Any], Any], items: Array, owner: str) -> dict[str, Array]:
    """Let the metric learn from all rows, as often as they are there."""
    if callable(rule):
        check_function(metric(rule, items, {}), items, owner)
        return {}
    return learn(rule, items)


def _warn_units(model: Any, points: Array, record: Recorder) -> None:
    """Warn where one column alone decides who is a neighbour of whom."""
    if model._pairwise or model.metric not in _UNIT_METRICS or sp.issparse(points) or points.shape[1] < 2:
        return
    with np.errstate(over="ignore"):  # rows that large are refused by the search, with advice
        spread = np.ptp(points, axis=0).astype(np.float64)
    top = int(spread.argmax())
    if spread[top] > _DOMINANT_RANGE * np.delete(spread, top).max():
        names = getattr(model, "feature_names_in_", None)
        name = repr(str(names[top])) if names is not None else str(top)
        record.warn(
            f"{type(model).__name__}: the values of column {name} differ so much more than all others that it alone "
            "decides which rows are neighbours; if the columns have different units, divide each by its standard "
            "deviation first",
            DominantColumnWarning,
        )


# -- numbers of neighbours and points -------------------------------------------------------------------------


def require_neighbors(model: Any, n: int, what: str) -> None:
    """Refuse parameters that n points, or fewer, cannot have; ``what`` is counted."""
    if n <= model.n_neighbors != NEIGHBORS:
        raise DataError(
            f"{type(model).__name__}: n_neighbors={model.n_neighbors} must be less than the number of {what}, {n}; "
            f"it can be {n - 1} at most"
        )


def count_neighbors(model: Any, n: int, record: Recorder) -> int:
    """Return the number of neighbours; the default is lowered for tables of a few rows, other numbers are not."""
    require_neighbors(model, n, "distinct rows")
    if model.n_neighbors < n:
        return int(model.n_neighbors)
    record.warn(
        f"{type(model).__name__}: there are only {n} distinct rows, so each is a neighbour of all others "
        f"(n_neighbors={n - 1})",
        LowlandWarning,
    )
    return n - 1


def components_of_points(model: Any, rows: int, n: int, record: Recorder) -> int:
    """Return how many coordinates n distinct points of so many rows can have; warn if fewer than asked for."""
    if n - 1 >= model.n_components:
        return int(model.n_components)
    record.warn(
        f"{type(model).__name__}: of {rows} rows only {n} are distinct, of rank {n - 1} at most, below the "
        f"{model.n_components} components asked for; n_components_ is {n - 1}",
        RankWarning,
    )
    return n - 1


def _links(count: int) -> str:
    return "the shortest link between them was" if count == 1 else f"the {count} shortest links between them were"
