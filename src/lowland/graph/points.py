"""Points and the graph of their neighbours: equal objects are one point, and so are objects at distance zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from ..core.arrays import to_numpy
from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..pairs.distance_checks import check_distances, check_function
from ..pairs.distances import learn, metric
from .components import bridge
from .distinct import distinct, numbered
from .geometry import Coordinates, EdgeLengths, Geometry, Metric, Square
from .graph import Graph
from .measures import comparable
from .neighbors import Searcher, searcher
from .precomputed import GivenDistances, known_distances, merged, nearest_given, refuse_alone

Array = Any
Query = Callable[[Array, int], tuple[Array, Array]]  # block, k: numbers and distances
Rule = str | Callable[[Any, Any], Any]

_UNIT_METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev")  # in which a large column hides the others


@dataclass(frozen=True)
class PointMetric:
    """A metric by name or as a function, and what it learned of the rows; ``owner`` names the method in messages."""

    owner: str
    metric: Rule
    state: Mapping[str, Array]

    @property
    def precomputed(self) -> bool:
        """Tell whether distances are given."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def search(self, points: Array, start: int = 0) -> Searcher:
        """Return the search; ``start`` is where an approximate graph begins, and nothing else depends on it."""
        return searcher(self.metric, points, dict(self.state), rng_seed=start)

    def query(self, points: Array, radius: float | None = None) -> Query:
        """Return the search of new rows for the nearest points; of given distances, points are numbers of columns.

        With a radius the distances beyond it are infinite, but for the nearest point.
        """

        def by_column(block: Array, k: int) -> tuple[Array, Array]:
            return nearest_given(block, points, k)

        search = by_column if self.precomputed else self.search(points).query
        return search if radius is None else within(search, radius, points.shape[0])

    def geometry(self, points: Array | None) -> Geometry:
        """Return inner products around points, from coordinates or from distances, which None leaves unknown."""
        if points is None or (self.precomputed and sp.issparse(points)):
            return EdgeLengths(self.owner)
        if self.precomputed:
            return Square(points)
        if isinstance(self.metric, str) and self.metric == "euclidean":
            return Coordinates(points)
        return Metric(metric(self.metric, points, dict(self.state)), points)


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
class PointSet:
    """Distinct points among objects.

    ``first`` holds the number of each point's first object, ``inverse`` the number of each object's point. Of sparse
    distances ``mirrored`` were stored in one direction only, and hold in both.
    """

    metric: PointMetric
    points: Array
    first: Array
    inverse: Array
    mirrored: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, items: Array, rule: Rule, owner: str) -> PointSet:
        """Find the distinct points of rows, objects, or a square of distances; the metric learns from all rows.

        >>> PointSet.of(np.array([[1.0], [2.0], [1.0]]), "euclidean", "LLE").inverse.tolist()
        [0, 1, 0]
        """
        compared = PointMetric(owner, rule, {})
        if compared.precomputed and sp.issparse(items):  # which objects are equal shows in its edges
            known, mirrored = known_distances(items)
            everyone = np.arange(items.shape[0])
            return cls(compared, known, everyone, everyone, mirrored=mirrored)
        items = items if sp.issparse(items) else to_numpy(items)
        if compared.precomputed:
            check_distances(items, owner)
        first, inverse = distinct(comparable(rule, items), square=compared.precomputed)
        if len(first) > 1 and not compared.precomputed:  # of equal rows nothing can be learned, and they are refused
            if callable(rule):
                check_function(metric(rule, items, {}), items, owner)
            else:
                compared = PointMetric(owner, rule, learn(rule, items))
        return cls(compared, take(items, first, compared.precomputed), first, inverse)

    @property
    def repeated(self) -> Array | None:
        """The number of each object's point, where some objects are equal; else None."""
        return self.inverse.astype(np.int32) if len(self.first) < len(self.inverse) else None

    def dense_square(self) -> Array | None:
        """Return a copy of the given distances between all points, unless they are sparse; None for other points."""
        return self.points.copy() if self.metric.precomputed and not sp.issparse(self.points) else None

    def refuse_alone(self, separate: bool) -> None:
        """Raise if an object has no stored distance to any other; ``separate``: whether a parameter may allow it."""
        if self.metric.precomputed and sp.issparse(self.points):
            refuse_alone(self.points, separate, np.where(np.bincount(self.inverse) == 1, self.first, -1))

    def ranges(self) -> Array | None:
        """Return the range of each column, for dense rows under a metric that depends on the units of the columns."""
        if self.metric.metric not in _UNIT_METRICS or sp.issparse(self.points):
            return None
        with np.errstate(over="ignore"):  # rows that large are refused by the search, with advice
            return np.ptp(self.points, axis=0).astype(np.float64)

    def search(self, start: int = 0) -> Searcher:
        """Return the search among the points."""
        if self.metric.precomputed and sp.issparse(self.points):
            return GivenDistances(self.points, self.first)
        return self.metric.search(self.points, start)

    def neighbors(
        self, count: Callable[[int], int], ties: str = "cut", start: int = 0, radius: float | None = None
    ) -> Neighborhood:
        """Return the graph of neighbours, once points at distance zero are one; ``count`` is their number for n points.

        With a radius all points within it are neighbours; a point may have none.

        >>> lattice = PointSet.of(np.arange(5.0)[:, None], "euclidean", "LLE")
        >>> lattice.neighbors(lambda n: 2).graph.degrees.tolist()
        [2, 2, 2, 2, 2]
        """
        found = self
        while True:
            if len(found.first) < 2:
                raise self.too_few()
            k, search = count(len(found.first)), found.search(start)
            counted = radius is None or np.isinf(radius)
            graph = search.graph(k, ties=ties) if counted else search.radius(cast(float, radius))
            if not len(graph.indices):
                near = Message(": no two rows are within ", Setting("radius"), " of each other; use a larger one")
                raise DataError(Message(self.metric.owner, near))
            if (graph.distances > 0).all():
                parts = self.metric, found.points, found.first, found.inverse, graph
                mean = max(1, round(len(graph.indices) / graph.n))
                return Neighborhood(*parts, k if counted else mean, radius, mirrored=self.mirrored)
            zero = graph.csr((graph.distances == 0).astype(float))
            zero.eliminate_zeros()
            found = found.merged(zero)

    def too_few(self) -> DataError:
        """Return the error for a single point."""
        return DataError(Message(Owner(self.metric.owner), "all rows are equal (rank 0); give rows that differ"))

    def merged(self, zero: Any) -> PointSet:
        """Return the points when those at distance zero, which a sparse matrix marks, are one."""
        first, labels = numbered(sp.csgraph.connected_components(zero, directed=False)[1])
        if self.metric.precomputed and sp.issparse(self.points):
            points = merged(self.points, labels, len(first))
        else:
            points = take(self.points, first, self.metric.precomputed)
        return PointSet(self.metric, points, self.first[first], labels[self.inverse])


@dataclass(frozen=True)
class Neighborhood(PointSet):
    """Distinct points and the graph of their neighbours: ``n_neighbors`` each, or as a mean those within a radius."""

    graph: Graph
    n_neighbors: int
    radius: float | None = None

    def evidence(self) -> dict[str, Any]:
        """Return how the neighbours were found, for the record of a fit."""
        out: dict[str, Any] = {"neighbours": self.n_neighbors}
        if self.radius is not None:
            out = {"radius": self.radius, "mean neighbours": len(self.graph.indices) / self.graph.n}
        out["neighbour search"] = self.graph.algorithm
        if self.graph.recall is not None:
            out["neighbour recall"] = self.graph.recall
        if self.graph.n < len(self.inverse):
            out["distinct rows"] = self.graph.n
        if self.mirrored:
            out["edges made symmetric"] = self.mirrored
        return out

    def whole(self) -> Piece:
        """Return all points as one piece, whose graph is connected."""
        return Piece(self.graph, self.metric.geometry(self.points), np.arange(self.graph.n))

    def bridged(self, labels: Array) -> tuple[Piece, int]:
        """Return all points as one piece, its components joined by the shortest links, and the number of links."""
        graph, links = bridge(self.graph, self.search(), labels)
        return Piece(graph, self.metric.geometry(self.points), np.arange(graph.n)), links

    def split(self, labels: Array) -> list[Piece]:
        """Return a piece for each component."""
        geometry = self.metric.geometry(self.points)
        return [Piece(part, geometry.part(numbers), numbers) for part, numbers in self.graph.split(labels)]


def within(search: Query, radius: float, n: int) -> Query:
    """Return the search for the neighbours within a radius among n points: at least the nearest one.

    Those of a row are the finite distances; it looks for k neighbours first, and for more where all are within.
    """

    def query(block: Array, k: int) -> tuple[Array, Array]:
        neighbors, distances = search(block, k)
        while k < n and (distances[:, -1] <= radius).any():
            k = min(n, 2 * k)
            neighbors, distances = search(block, k)
        distances[:, 1:][distances[:, 1:] > radius] = np.inf
        return neighbors, distances

    return query


def take(items: Array, numbers: Array, square: bool) -> Array:
    """Return some of the objects; of a square of distances rows and columns, and None of one that was not kept."""
    if items is None or len(numbers) == items.shape[0]:
        return items
    return items[numbers][:, numbers] if square else items[numbers]
