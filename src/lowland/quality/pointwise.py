"""Reliability of a map at each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Setting
from ..core.show import show
from ..graph.graph import Graph
from ..graph.measures import BoundMetric, EuclideanRows, SparseRows, SquareRows
from ..graph.neighbors import neighbor_graph
from .anchors import ALL, check_seed
from .rank_lists import ranks_in_lists
from .ranks import RankTable, check_count, rank_table
from .spaces import Metric, Sides, distances_of, sides

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

Array = Any


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Reliability of each point of a map; arrays with one value for each point.

    Attributes
    ----------
    point : array
        Numbers of the points.
    kept : array
        Share of the k nearest in the data that are also among the k nearest in the map. Both lists have k members, so
        1 − ``kept`` is the share of false and of missing neighbours.
    false : array
        Distance of false neighbours: 1 − (mean distance in the data to the k nearest in the data) / (mean distance in
        the data to the k nearest in the map). 0: none are false; near 1: they are far away in the data.
    missing : array
        Distance of missing neighbours: 1 − (mean distance in the map to the k nearest in the map) / (mean distance in
        the map to the k nearest in the data). 0: none are missing; near 1: they are far away in the map.
    stretch : array
        Mean distance to the k nearest in the map divided by that in the data, relative to its median over the points:
        above 1 the map is locally stretched, below 1 compressed.
    n_neighbors : int
        Number of neighbours k.
    recall : float or None
        Measured share of true neighbours found in the data, if the search was approximate.
    """

    point: Array
    kept: Array
    false: Array
    missing: Array
    stretch: Array
    n_neighbors: int
    recall: float | None = None

    def __len__(self) -> int:
        return len(self.point)

    def worst(self, count: int = 10, by: str = "kept") -> Array:
        """Return the numbers of the least reliable points, the worst first; ``by`` "kept", "false" or "missing".

        Ties are ordered by the distance of false and missing neighbours.
        """
        if by not in ("kept", "false", "missing"):
            raise ValueError(Message(Setting("by"), f" must be 'kept', 'false' or 'missing'; it is {by!r}"))
        bad = 1 - self.kept if by == "kept" else getattr(self, by)
        order = np.lexsort((self.point, -(self.false + self.missing), -bad))
        return self.point[order[:count]]

    def figure(self) -> Figure:
        """Draw how many points keep which share of their neighbours, and distances of false and missing neighbours."""
        figure: Figure = show("pointwise", self)[0].figure
        return figure

    def _repr_html_(self) -> str:
        text: str = show("pointwise html", self)
        return text

    def to_frame(self) -> polars.DataFrame:
        """Return a polars DataFrame with a row for each point."""
        import polars

        return polars.DataFrame(
            {name: getattr(self, name) for name in ("point", "kept", "false", "missing", "stretch")}
        )


def pointwise(
    X: Any,
    Y: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = None,
    random_state: int | None = None,
) -> Pointwise:
    """Measure, for each point, the neighbours kept, the distance of false and missing ones, and the local stretch.

    Parameters
    ----------
    X, Y, n_neighbors, metric
        See `trustworthiness`.
    anchors : int, "auto" or None
        Number of points to evaluate; None, the default, for all. See `trustworthiness`.
    random_state : int, optional
        Random seed of the sample of anchors; None is 0.

    Returns
    -------
    Pointwise
        Arrays with one value for each evaluated point.

    Notes
    -----
    Tied neighbours count with their probability of being among the k nearest. If all of more than 10,000 points are
    evaluated, neighbours are found by `lowland.graph.neighbor_graph`; above N²·D = 1e13 this search is approximate, and
    ``recall`` is its measured accuracy. A sample of anchors is exact at any size.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.1], [3.3], [4.6], [6.0]]
    >>> found = pointwise(X, [[0.0], [1.0], [2.1], [3.3], [4.6], [0.5]], n_neighbors=2)  # the last one is misplaced
    >>> found.worst(1), found.kept.tolist()
    (array([5]), [0.5, 0.5, 1.0, 1.0, 0.5, 0.0])
    >>> round(float(found.false[5]), 2), round(float(found.missing[5]), 2)
    (0.63, 0.86)
    """
    space = sides(X, Y, metric, "pointwise")
    k = check_count(n_neighbors, space.n, "pointwise")
    pairs = isinstance(
        space.data, EuclideanRows | SparseRows | SquareRows
    )  # other metrics have no distances of single pairs
    if anchors is None and space.n > ALL and pairs:
        seed = check_seed(random_state, "pointwise")
        data = neighbor_graph(X, k, metric=metric, ties="keep", random_state=seed)
        return _by_lists(space, data, neighbor_graph(Y, k, ties="keep"), k)
    return pointwise_from(rank_table(space, k, anchors, random_state, owner="pointwise"))


def pointwise_from(table: RankTable) -> Pointwise:
    """Return the pointwise measures of the anchors of a table of ranks."""
    reach = (table.data_reach, table.map_reach, table.false_reach, table.missing_reach)
    return _made(table.anchors.numbers, table.shared, reach, table.n_neighbors)


def _by_lists(space: Sides, data: Graph, map: Graph, k: int) -> Pointwise:
    """Return the same from neighbour lists of all points on both sides, without ranks beyond k."""
    chances = [_chances(graph, k) for graph in (data, map)]
    both = data.csr(chances[0]).multiply(map.csr(chances[1])).tocsr()
    reach = [
        _total(graph.indptr, near * _pairs(side, graph)) / k
        for side, graph, near in (
            (space.data, data, chances[0]),
            (space.map, map, chances[1]),
            (space.data, map, chances[1]),
            (space.map, data, chances[0]),
        )
    ]
    kept = _total(both.indptr, both.data) / k
    return _made(np.arange(space.n), kept, tuple(reach), k, data.recall)


def _chances(graph: Graph, k: int) -> Array:
    """Return, for each edge, the probability that its point is among the k nearest; lists include all ties."""
    i = np.repeat(np.arange(graph.n), graph.degrees)
    return ranks_in_lists(i, np.arange(len(i)) - graph.indptr[i], graph.distances).among(k)


def _pairs(side: BoundMetric, graph: Graph) -> Array:
    return distances_of(side, np.repeat(np.arange(graph.n), graph.degrees), graph.indices.astype(np.int64))


def _total(indptr: Array, values: Array) -> Array:
    from .ranks_loops import sums

    out = np.empty(len(indptr) - 1)
    sums(np.ascontiguousarray(values, dtype=np.float64), indptr.astype(np.int64), out)
    return out


def _made(point: Array, kept: Array, reach: tuple[Array, ...], k: int, recall: float | None = None) -> Pointwise:
    """Return the result from mean distances to the nearest: data, map, the map's in the data, the data's in the map."""
    data, map, false, missing = reach
    return Pointwise(point, kept, _excess(data, false), _excess(map, missing), _stretch(data, map), k, recall)


def _excess(least: Array, found: Array) -> Array:
    """Return 1 − least/found; 0 if both are equal, also at distance zero."""
    return np.maximum(0.0, 1 - np.divide(least, found, out=np.ones(len(least)), where=found > 0))


def _stretch(data: Array, map: Array) -> Array:
    """Return map/data relative to its median; infinite or NaN if the k nearest in the data equal the point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = map / data
    known = ratio[np.isfinite(ratio) & (ratio > 0)]
    return ratio / (np.median(known) if len(known) else 1.0)
