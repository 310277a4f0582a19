"""Search in a KD-tree, for rows of few columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import thread_pool
from ..pairs.pairwise import tiles
from .graph import Graph, spread, starts
from .measures import EuclideanRows
from .search import SLACK, KnownLinks, Link, NeighborLists, Searcher, check_edges, shortest, within_memory

Array = Any

_ROWS_AT_ONCE = 8192  # looked up at a time
_PLAIN = 1 << 24  # pairs below which comparing all of them is quick enough
_PROBED, _PROBED_K = 64, 10  # points and neighbours by which the cost is estimated
_CANDIDATES_AT_ONCE = 1 << 22  # candidates held at once
_CANDIDATE_FRACTION, _LEAST_CANDIDATES = (
    32,
    64,
)  # a row with more candidates than n/32 (and 64, and 4k) is compared with all points
_LEAF = 32  # points in a leaf of the tree of bounding boxes


class TreeSearcher(Searcher):
    """Candidates from a KD-tree, with distances recomputed; the search is extended for ties with the last."""

    measure: EuclideanRows

    def __init__(self, measure: EuclideanRows) -> None:
        super().__init__(measure)
        from scipy.spatial import cKDTree

        self.algorithm = "KD-tree"
        self._boxed: _Boxes | None = None
        self.tree = cKDTree(measure.X.astype(np.float64, copy=False), balanced_tree=False, compact_nodes=True)

    def row_cost(self) -> float:
        """Return the estimated microseconds of a row, from the leaves that meet the neighbourhoods of a sample.

        With many dimensions nearly all of a tree is searched: 60,000 Gaussian rows of 15 columns took 48 times as long
        as matrix products, and of 6 columns half as long.
        """
        sample = np.unique(np.linspace(0, self.n - 1, _PROBED).astype(np.int64))
        rows, k = self.measure.own(sample), min(_PROBED_K, self.n - 1)
        reach = np.partition(self._values(rows, sample), k - 1, axis=1)[:, k - 1]
        boxes = self._boxes()
        low, high = (x[boxes.base : boxes.base + -(-self.n // _LEAF)] for x in (boxes.low, boxes.high))
        met = 0
        for x, limit in zip(self.tree.data[sample], reach, strict=True):
            off = np.maximum(np.maximum(low - x, x - high), 0.0)
            met += int(np.count_nonzero(np.einsum("ij,ij->i", off, off) <= limit))
        return 2.0 + float(met / len(sample) * (0.06 + 0.024 * self.measure.width))

    def graph(self, k: int, ties: str = "cut") -> Graph:
        """Return the k nearest others of each point."""
        self._require(k, self.n - 1)
        order = self.tree.indices  # consecutive points are near each other, so their leaves are in the cache
        parts = [order[part] for part in tiles(self.n, _ROWS_AT_ONCE)]
        found = thread_pool.run(
            lambda part: self._search(self.measure.X[part], part, k, ties), parts, stage="neighbours", total=len(parts)
        )
        return self._assembled(order, within_memory(found), k, ties)

    def _assembled(self, order: Array, found: list[NeighborLists], k: int, ties: str) -> Graph:
        """Sort lists from the order of the tree to that of the points."""
        counts, indices, distances = (np.concatenate(x) for x in zip(*found, strict=True))
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n)
        distances = self.measure.finish(distances)
        if ties == "cut":
            lists = indices.reshape(-1, k)[place], distances.reshape(-1, k)[place]
            return Graph.of_lists(*lists, algorithm=self.algorithm)
        begin = np.cumsum(counts) - counts
        at, _ = spread(begin[place], counts[place])
        return Graph(starts(counts[place]), indices[at].astype(np.int32), distances[at], self.algorithm)

    def query(self, block: Array, k: int) -> tuple[Array, Array]:
        """Return the numbers and distances of the points nearest to new rows."""
        self._require(k, self.n)
        rows = self.measure.prepare(block).rows
        indices, distances = self._looked_up(rows, lambda part: self._search(part, None, k, "cut"), _ROWS_AT_ONCE, k)
        return indices, self.measure.finish(distances)

    def _search(self, rows: Array, own: Array | None, k: int, ties: str) -> NeighborLists:
        """Query the tree for more candidates until all others are farther than the last neighbour."""
        open_rows, m = np.arange(len(rows)), min(self.n, k + (1 if own is None else 2))
        lists: list[Any] = []
        most = min(self.n, max(_LEAST_CANDIDATES, 4 * k + 8, self.n // _CANDIDATE_FRACTION))
        while len(open_rows) and m <= most:
            left = []
            for part in (open_rows[t] for t in tiles(len(open_rows), max(1, _CANDIDATES_AT_ONCE // m))):
                indices, d, beyond = self._candidates(rows[part], None if own is None else own[part], m)
                sure = d[:, k - 1] < beyond if m < self.n else np.ones(len(d), dtype=bool)
                lists.append(_cut(part[sure], indices[sure], d[sure], k, ties))
                left.append(part[~sure])
            open_rows, m = np.concatenate(left), self.n if m < self.n < 2 * m else 2 * m
        for part in (open_rows[t] for t in tiles(len(open_rows), self._step())):
            found = self._pick(self.measure.flat(rows[part]), None if own is None else own[part], k, ties)
            lists.append((np.repeat(part, found.counts), found.indices, found.distances))
        return _flattened(lists, len(rows))

    def _exact(self, rows: Any, i: Array, j: Array, values: Array) -> Array:
        """Return Euclidean distances as they are computed for candidates."""
        return self.measure.raw(rows.rows, i, j)

    def _candidates(self, rows: Array, own: Array | None, m: int) -> tuple[Array, Array, Array]:
        """Return the m nearest sorted by exact distance, without the row itself, and a lower bound for all others."""
        near, indices = self.tree.query(rows, m)
        near, indices = near.reshape(len(rows), m), indices.reshape(len(rows), m)
        d = self.measure.raw(rows, np.repeat(np.arange(len(rows)), m), indices.ravel()).reshape(len(rows), m)
        if own is not None:
            itself = indices == own[:, None]
            d[itself] = -1.0  # first, so that it can be removed
            d[~itself.any(axis=1), -1] = -1.0
        mixed = np.flatnonzero((d[:, 1:] <= d[:, :-1]).any(axis=1))
        if len(mixed):
            by_number = np.argsort(indices[mixed], axis=1)
            i, x = (np.take_along_axis(a[mixed], by_number, axis=1) for a in (indices, d))
            by_distance = np.argsort(x, axis=1, kind="stable")
            indices[mixed], d[mixed] = (np.take_along_axis(a, by_distance, axis=1) for a in (i, x))
        beyond = near[:, -1] * (1 - SLACK)
        beyond[beyond <= self.measure.floor] = 0.0
        return (indices, d, beyond) if own is None else (indices[:, 1:], d[:, 1:], beyond)

    def ways_out(self, labels: Array, skip: int, seen: KnownLinks) -> Link:
        """Return the shortest link out of each component but one, by bounding boxes."""
        if np.count_nonzero(labels != skip) * self.n <= _PLAIN:
            return super().ways_out(labels, skip, seen)
        from .tree_loops import ways_out

        boxes = self._boxes()
        ranked = labels[self.tree.indices].astype(np.int64)
        pure = boxes.one_label(ranked)
        inside = np.flatnonzero(ranked != skip)
        inside = inside[np.argsort(ranked[inside], kind="stable")]

        def look(rows: Array) -> Link:
            first = int(ranked[rows[0]])
            number = np.arange(first, int(ranked[rows[-1]]) + 1)
            best, a, b = np.full(len(number), np.inf), np.full(len(number), -1), np.full(len(number), -1)
            fixed = self.tree.indices, ranked, boxes.low, boxes.high, pure
            ways_out(boxes.X, *fixed, _LEAF, rows, boxes.base, first, best, a, b)
            found = a >= 0
            return Link(number[found], self.measure.finish(best[found]), a[found], b[found])

        parts = [inside[part] for part in tiles(len(inside), 4 * _ROWS_AT_ONCE)]
        return shortest(thread_pool.run(look, parts, stage="links", total=len(parts)))

    def _boxes(self) -> _Boxes:
        if self._boxed is None:
            self._boxed = _Boxes.over(np.ascontiguousarray(self.tree.data[self.tree.indices]))
        return self._boxed

    def radius(self, r: float) -> Graph:
        """Return all others within a distance of each point."""
        self._require_radius(r)
        reach = max(self.measure.reach(r), self.measure.floor) * (1 + SLACK)
        check_edges(int(self.tree.count_neighbors(self.tree, reach)) - self.n)
        pairs = self.tree.query_pairs(reach, output_type="ndarray")
        i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
        d = self.measure.finish(self.measure.raw(self.measure.X, i, j))
        near = d <= r
        return Graph.of_edges(self.n, i[near], j[near], d[near], algorithm=self.algorithm)


class _Boxes(NamedTuple):
    """A binary tree of bounding boxes of consecutive points: node i has the children 2i and 2i + 1."""

    X: Array
    low: Array
    high: Array
    base: int

    @classmethod
    def over(cls, X: Array) -> _Boxes:
        """Build the boxes of points in the order of a tree."""
        base = 1 << max(0, (-(-len(X) // _LEAF) - 1).bit_length())
        cuts = np.arange(0, len(X), _LEAF)
        low, high = (np.full((2 * base, X.shape[1]), value) for value in (np.inf, -np.inf))
        low[base : base + len(cuts)] = np.minimum.reduceat(X, cuts)
        high[base : base + len(cuts)] = np.maximum.reduceat(X, cuts)
        level = base
        while level > 1:
            low[level // 2 : level] = np.minimum(low[level : 2 * level : 2], low[level + 1 : 2 * level : 2])
            high[level // 2 : level] = np.maximum(high[level : 2 * level : 2], high[level + 1 : 2 * level : 2])
            level //= 2
        return cls(X, low, high, base)

    def one_label(self, labels: Array) -> Array:
        """Return the label of each node whose points all have the same, and −1 for the others."""
        cuts = np.arange(0, len(labels), _LEAF)
        least, most = np.full(2 * self.base, labels.max() + 1), np.full(2 * self.base, -1)
        least[self.base : self.base + len(cuts)] = np.minimum.reduceat(labels, cuts)
        most[self.base : self.base + len(cuts)] = np.maximum.reduceat(labels, cuts)
        level = self.base
        while level > 1:
            least[level // 2 : level] = np.minimum(least[level : 2 * level : 2], least[level + 1 : 2 * level : 2])
            most[level // 2 : level] = np.maximum(most[level : 2 * level : 2], most[level + 1 : 2 * level : 2])
            level //= 2
        return np.where(least == most, least, -1)


def _cut(rows: Array, indices: Array, d: Array, k: int, ties: str) -> tuple[Array, Array, Array]:
    """Return row, number and distance of the first k candidates, or of all as far as the k-th."""
    if ties == "cut":
        return np.repeat(rows, k), indices[:, :k].ravel(), d[:, :k].ravel()
    keep = d <= d[:, k - 1 : k]
    return rows[np.nonzero(keep)[0]], indices[keep], d[keep]


def _flattened(lists: list[tuple[Array, Array, Array]], n: int) -> NeighborLists:
    """Concatenate lists in the order of their rows."""
    row, indices, distances = lists[0] if len(lists) == 1 else (np.concatenate(x) for x in zip(*lists, strict=True))
    counts = np.bincount(row, minlength=n)
    if len(lists) == 1:  # all rows are in one list, which is in order
        return NeighborLists(counts, indices, distances)
    order = np.argsort(row, kind="stable")
    return NeighborLists(counts, indices[order], distances[order])
