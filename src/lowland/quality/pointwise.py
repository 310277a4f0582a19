"""Trust point by point: which places of a map deceive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.graph import Graph
from ..graph.measures import BoundMetric, EuclideanRows, SparseRows, SquareRows
from ..graph.neighbors import neighbor_graph
from .anchors import ALL, check_seed
from .rank_lists import ranks_in_lists
from .ranks import RankTable, check_count, rank_table
from .spaces import Metric, Sides, distances_of, sides

if TYPE_CHECKING:
    import polars

Array = Any


@dataclass(frozen=True, eq=False)
class Pointwise:
    """How far the place of each point in a map can be trusted; arrays with one value for each point.

    Attributes
    ----------
    point : array
        Numbers of the points.
    kept : array
        Share of the k nearest in the data that are among the k nearest in the map. As many are false as are missing:
        both lists have k members, so 1 − ``kept`` is the share of either.
    false : array
        How far off the map's neighbours really are: 1 − (mean distance in the data to the k nearest in the data) /
        (mean distance in the data to the k nearest in the map). 0: as near as can be; towards 1: strangers.
    missing : array
        How far off true neighbours have been put: 1 − (mean distance in the map to the k nearest in the map) / (mean
        distance in the map to the k nearest in the data). 0: none torn away; towards 1: torn away far.
    stretch : array
        Mean distance to the k nearest in the map over that in the data, in units of its median over the points: above 1
        the map is drawn apart here, below 1 it is pressed together.
    n_neighbors : int
        Neighbours k of each point.
    recall : float or None
        Measured share of true neighbours in the data, where the search for them was approximate.
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
        """Return the numbers of the points to trust least, the worst first; ``by`` "kept", "false" or "missing".

        Of points that keep equally few neighbours, those with the farther strangers come first.
        """
        if by not in ("kept", "false", "missing"):
            raise ValueError(f"by must be 'kept', 'false' or 'missing'; it is {by!r}")
        bad = 1 - self.kept if by == "kept" else getattr(self, by)
        order = np.lexsort((self.point, -(self.false + self.missing), -bad))
        return self.point[order[:count]]

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
    """Tell for each point how many neighbours it keeps, how far off false and missing ones are, and its stretch.

    Parameters
    ----------
    X, Y, n_neighbors, metric
        See `trustworthiness`.
    anchors : int, "auto" or None
        The points looked at; None, the default, for all. See `trustworthiness`.
    random_state : int, optional
        The seed of the sample of anchors; None is 0.

    Returns
    -------
    Pointwise
        Arrays with one value for each point that was looked at.

    Notes
    -----
    Tied neighbours count by their probability to be among the k nearest. Of all points of a set of more than 10,000 the
    neighbours are found by the searches of `lowland.graph.neighbor_graph`; past N²·D = 1e13 those are approximate, and
    ``recall`` tells how good they are. A sample of anchors is exact at any size.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.1], [3.3], [4.6], [6.0]]
    >>> found = pointwise(X, [[0.0], [1.0], [2.1], [3.3], [4.6], [0.5]], n_neighbors=2)  # the last one went astray
    >>> found.worst(1), found.kept.tolist()
    (array([5]), [0.5, 0.5, 1.0, 1.0, 0.5, 0.0])
    >>> round(float(found.false[5]), 2), round(float(found.missing[5]), 2)
    (0.63, 0.86)
    """
    space = sides(X, Y, metric, "pointwise")
    k = check_count(n_neighbors, space.n, "pointwise")
    pairs = isinstance(space.data, EuclideanRows | SparseRows | SquareRows)  # others can only be compared row by row
    if anchors is None and space.n > ALL and pairs:
        seed = check_seed(random_state, "pointwise")
        data = neighbor_graph(X, k, metric=metric, ties="keep", random_state=seed)
        return _by_lists(space, data, neighbor_graph(Y, k, ties="keep"), k)
    return pointwise_from(rank_table(space, k, anchors, random_state, owner="pointwise"))


def pointwise_from(table: RankTable) -> Pointwise:
    """Return what a table of ranks says about each of its anchors."""
    reach = (table.data_reach, table.map_reach, table.false_reach, table.missing_reach)
    return _made(table.anchors.numbers, table.shared, reach, table.n_neighbors)


def _by_lists(space: Sides, data: Graph, map: Graph, k: int) -> Pointwise:
    """Return the same from the neighbours of all points on both sides; ranks beyond k are not needed."""
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
    """Return for each edge the probability that its point is among the k nearest; lists hold all that are tied."""
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
    """Return 1 − least/found; 0 where the points found are as near as can be, at no distance included."""
    return np.maximum(0.0, 1 - np.divide(least, found, out=np.ones(len(least)), where=found > 0))


def _stretch(data: Array, map: Array) -> Array:
    """Return map/data over its median; infinite or NaN where the k nearest in the data are equal to the point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = map / data
    known = ratio[np.isfinite(ratio) & (ratio > 0)]
    return ratio / (np.median(known) if len(known) else 1.0)
