"""`Graph`: the neighbours of points and their distances."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import thread_pool
from ..pairs.pairwise import tiles

Array = Any

_COMPILED = 1 << 19  # edges above which the compiled loops are worth their start-up time
_LISTS_AT_ONCE = 1 << 15  # lists merged at a time


@dataclass(frozen=True)
class Graph:
    """The neighbours of N points: those of point i are ``indices[indptr[i]:indptr[i + 1]]``, nearest first.

    Neighbours of one distance come in the order of their numbers, no point is its own neighbour, and a distance of
    zero is an edge like any other. ``recall`` is the measured share of true neighbours of an approximate search.
    """

    indptr: Array  # int64, N + 1
    indices: Array  # int32
    distances: Array  # float64
    algorithm: str = ""
    recall: float | None = None

    @classmethod
    def of_lists(cls, indices: Array, distances: Array, **about: Any) -> Graph:
        """Build the graph whose points all have the same number of neighbours: two N × k arrays.

        >>> Graph.of_lists([[1], [0]], [[2.5], [2.5]]).csr().toarray().tolist()
        [[0.0, 2.5], [2.5, 0.0]]
        """
        indices, distances = np.asarray(indices, dtype=np.int32), np.asarray(distances, dtype=np.float64)
        n, k = indices.shape
        return cls(np.arange(n + 1, dtype=np.int64) * k, indices.ravel(), distances.ravel(), **about)

    @classmethod
    def of_edges(cls, n: int, i: Array, j: Array, distances: Array, **about: Any) -> Graph:
        """Build the graph of n points from edges i → j in any order, none of them twice.

        >>> Graph.of_edges(2, np.array([1, 0]), np.array([0, 1]), np.array([3.0, 3.0])).indices.tolist()
        [1, 0]
        """
        order = np.lexsort((j, distances, i))
        return cls(starts(np.bincount(i, minlength=n)), j[order].astype(np.int32), distances[order], **about)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.indptr) - 1

    @property
    def degrees(self) -> Array:
        """Number of neighbours of each point."""
        return np.diff(self.indptr)

    def csr(self, values: Array | None = None) -> Any:
        """Return the edges as a sparse matrix of their distances or other values; zeros are stored."""
        data = self.distances if values is None else values
        return sp.csr_array((data, self.indices, self.indptr), shape=(self.n, self.n))

    def symmetric(self) -> Graph:
        """Return the graph in which two points are neighbours when either is one of the other's.

        >>> one_way = Graph(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.array([1.0, 0.5]))
        >>> one_way.symmetric().csr().toarray().tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
        """
        return self._united(self._reversed())

    def part(self, points: Array) -> Graph:
        """Return the graph among some of the points, numbered in their order; edges that leave it are left out."""
        points = np.asarray(points)
        number = np.full(self.n, -1, dtype=np.int32)
        number[points] = np.arange(len(points), dtype=np.int32)
        at, source = spread(self.indptr[points], self.degrees[points])
        ends = number[self.indices[at]]
        inside = ends >= 0
        at, source, ends = at[inside], source[inside], ends[inside]
        piece = Graph(
            starts(np.bincount(source, minlength=len(points))), ends, self.distances[at], self.algorithm, self.recall
        )
        return piece if (np.diff(points) > 0).all() else piece._sorted()  # the order of ties depends on the numbers

    def split(self, labels: Array) -> list[tuple[Graph, Array]]:
        """Return the graph among the points of each label 0, 1, …, with their numbers; no edge joins two labels.

        >>> pairs = Graph.of_lists([[2], [3], [0], [1]], [[1.0], [2.0], [1.0], [2.0]])
        >>> [(g.distances.tolist(), points.tolist()) for g, points in pairs.split(np.array([0, 1, 0, 1]))]
        [([1.0, 1.0], [0, 2]), ([2.0, 2.0], [1, 3])]
        """
        order = np.argsort(labels, kind="stable")
        whole, bounds = self.part(order), starts(np.bincount(labels))
        found = []
        for a, b in itertools.pairwise(bounds.tolist()):
            edges = slice(whole.indptr[a], whole.indptr[b])
            indptr, indices = whole.indptr[a : b + 1] - edges.start, whole.indices[edges] - np.int32(a)
            found.append((Graph(indptr, indices, whole.distances[edges], self.algorithm, self.recall), order[a:b]))
        return found

    def linked(self, a: Array, b: Array, distances: Array) -> Graph:
        """Return the graph with edges a–b added in both directions; of duplicate edges the shorter is kept."""
        i, j = np.concatenate([a, b]), np.concatenate([b, a])
        return self._united(Graph.of_edges(self.n, i, j, np.concatenate([distances, distances])))

    # -- how ----------------------------------------------------------------------------------------------

    def _edges(self) -> tuple[Array, Array, Array]:
        return np.repeat(np.arange(self.n), self.degrees), self.indices, self.distances

    def _sorted(self) -> Graph:
        i, j, d = self._edges()
        return Graph.of_edges(self.n, i, j, d, algorithm=self.algorithm, recall=self.recall)

    def _reversed(self) -> Graph:
        """Return the graph with every edge reversed."""
        if len(self.indices) <= _COMPILED:
            i, j, d = self._edges()
            return Graph.of_edges(self.n, j, i, d)
        from .graph_loops import reverse, sort_lists

        indptr = starts(np.bincount(self.indices, minlength=self.n))
        back = Graph(indptr, np.empty_like(self.indices), np.empty_like(self.distances))
        reverse(self.indptr, self.indices, self.distances, indptr[:-1].copy(), back.indices, back.distances)

        def sort(part: slice) -> None:
            sort_lists(indptr, back.indices, back.distances, part.start, part.stop)

        for _ in thread_pool.run(sort, tiles(self.n, _LISTS_AT_ONCE)):
            pass
        return back

    def _united(self, other: Graph) -> Graph:
        """Return the edges of both graphs; of duplicate edges the shorter one."""
        if len(self.indices) + len(other.indices) <= 2 * _COMPILED:
            i, j, d = (np.concatenate(pair) for pair in zip(self._edges(), other._edges(), strict=True))
            order = np.lexsort((d, j, i))
            i, j, d = i[order], j[order], d[order]
            fresh = np.concatenate([[True], (i[1:] != i[:-1]) | (j[1:] != j[:-1])])[: len(i)]
            return Graph.of_edges(self.n, i[fresh], j[fresh], d[fresh], algorithm=self.algorithm, recall=self.recall)
        from .graph_loops import pack, unite

        begin = self.indptr + other.indptr
        counts = np.empty(self.n, dtype=np.int64)
        room = np.empty(begin[-1], dtype=np.int32), np.empty(begin[-1])
        lists = self.indptr, self.indices, self.distances, other.indptr, other.indices, other.distances

        def merge(part: slice) -> None:
            unite(*lists, counts, *room, np.full(self.n, -1, dtype=np.int32), part.start, part.stop)

        parts = tiles(self.n, max(_LISTS_AT_ONCE, self.n // 16))
        for _ in thread_pool.run(merge, parts):
            pass
        indptr = starts(counts)
        out = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        for _ in thread_pool.run(lambda part: pack(begin, *room, indptr, *out, part.start, part.stop), parts):
            pass
        return replace(self, indptr=indptr, indices=out[0], distances=out[1])


def starts(counts: Array) -> Array:
    """Return where lists of these lengths start, one after another, and where the last one ends.

    >>> starts([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def spread(begin: Array, lengths: Array) -> tuple[Array, Array]:
    """Return the positions begin[i], …, begin[i] + lengths[i] − 1 for all i, one after another, and their i.

    >>> [x.tolist() for x in spread(np.array([5, 0]), np.array([2, 1]))]
    [[5, 6, 0], [0, 0, 1]]
    """
    which = np.repeat(np.arange(len(begin)), lengths)
    ends = np.cumsum(lengths)
    return np.arange(len(which)) - np.repeat(ends - lengths - begin, lengths), which
