"""The search that compares all pairs, a few rows at a time; the base of faster searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..core import thread_pool
from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Code, Message, Remedies, Setting
from ..pairs.pairwise import cut, tiles
from .graph import Graph, starts
from .measures import BoundMetric, Rows

Array = Any

_PAIRS_AT_ONCE = 1 << 21  # pairs compared at a time
_LEAST_ROWS_AT_ONCE = 16  # rows at a time: with fewer, preparing the points would take longer than comparing them
EDGE = 36  # bytes of an edge: in its list, and in the graph that the lists are copied to
_FEWER_EDGES = Message(Remedies("use a smaller radius", "fewer neighbours", Message(Code("ties='cut'"))))
SLACK = 1e-12  # of a distance: sums in another order differ by less


class NeighborLists(NamedTuple):
    """Lists of neighbours one after another, each nearest first, and how long they are."""

    counts: Array
    indices: Array
    distances: Array


class Link(NamedTuple):
    """The shortest links out of some components: their labels, distances, the points inside and outside."""

    label: Array
    distance: Array
    inside: Array
    outside: Array


class KnownLinks(NamedTuple):
    """For each point the one outside its component that was nearest, and bounds on how near any outside can be."""

    near: Array
    low: Array
    high: Array

    @classmethod
    def nothing(cls, n: int) -> KnownLinks:
        """Return the bounds before the first search."""
        return cls(np.full(n, -1), np.full(n, -np.inf), np.full(n, np.inf))


class Searcher:
    """The k nearest of a fixed set of points: exact, the same for one row or many and on any number of threads.

    Ties are ordered by number, also at the end of a list.
    """

    def __init__(self, measure: BoundMetric) -> None:
        self.measure, self.n, self.algorithm = measure, measure.n, measure.name

    # -- what users of a search call ----------------------------------------------------------------------

    def graph(self, k: int, ties: str = "cut") -> Graph:
        """Return the k nearest others of each point; ``ties="keep"`` adds all that are as far as the last."""
        self._require(k, self.n - 1)
        return self._whole(self._parts(), lambda part: self._nearest(part, k, ties))

    def radius(self, r: float) -> Graph:
        """Return all others within a distance of each point."""
        self._require_radius(r)
        return self._whole(self._parts(), lambda part: self._within(part, r))

    def query(self, block: Array, k: int) -> tuple[Array, Array]:
        """Return the numbers and distances (m × k) of the points nearest to new rows."""
        self._require(k, self.n)
        rows = self.measure.prepare(block)
        return self._looked_up(rows, lambda part: self._pick(part, None, k, "cut"), self._step(), k)

    def _looked_up(self, rows: Rows, work: Callable[[Rows], NeighborLists], step: int, k: int) -> tuple[Array, Array]:
        """Do the work for a few rows at a time and put the lists, each of k points, together."""
        n = count_rows(rows)
        indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
        parts = tiles(n, step)
        found = thread_pool.run(lambda part: work(cut_rows(rows, part)), parts, stage="neighbours", total=len(parts))
        for part, (_, j, d) in zip(parts, found, strict=True):
            indices[part], distances[part] = j.reshape(-1, k), d.reshape(-1, k)
        return indices, distances

    def ways_out(self, labels: Array, skip: int, seen: KnownLinks) -> Link:
        """Return the shortest link from each component, but one, to a point of another; ties by the points' numbers.

        ``seen`` stores bounds for the next call, in which components have only grown: the shortest link of a point can
        only get longer, so points with a longer link than another's need not be searched again.
        """
        valid = np.flatnonzero((seen.near >= 0) & (labels[seen.near] != labels))
        limit = np.full(labels.max() + 1, np.inf)
        np.minimum.at(limit, labels[valid], seen.high[valid])
        rows = np.flatnonzero((labels != skip) & (seen.low <= limit[labels]))
        parts = [rows[part] for part in tiles(len(rows), self._step())]
        found = thread_pool.run(lambda part: self._way_out(part, labels, seen), parts, stage="links", total=len(parts))
        return shortest(found)

    # -- how ----------------------------------------------------------------------------------------------

    def _require(self, k: int, most: int) -> None:
        if k < 1 or k > most:
            raise DataError(
                f"the number of neighbours must lie between 1 and {most}, for {self.n} distinct points; got {k}"
            )

    def _require_radius(self, r: float) -> None:
        if not r > 0 or not np.isfinite(r):
            raise DataError(Message(Setting("radius"), f" must be a positive number; it is {r!r}"))

    def _step(self) -> int:
        return int(min(self.measure.rows_at_once, max(_LEAST_ROWS_AT_ONCE, _PAIRS_AT_ONCE // self.n)))

    def _parts(self) -> list[slice]:
        return tiles(self.n, self._step())

    def _whole(self, parts: list[slice], work: Any) -> Graph:
        """Do the work for all parts and put the lists together."""
        found = within_memory(thread_pool.run(work, parts, stage="neighbours", total=len(parts)))
        counts, indices, distances = (np.concatenate(x) for x in zip(*found, strict=True))
        return Graph(starts(counts), indices.astype(np.int32), distances.astype(np.float64), self.algorithm)

    def _nearest(self, part: slice, k: int, ties: str) -> NeighborLists:
        return self._pick(self.measure.own(part), np.arange(part.start, part.stop), k, ties)

    def _pick(self, rows: Rows, own: Array | None, k: int, ties: str) -> NeighborLists:
        """Return the k nearest of rows; ``own`` are their own numbers, which do not count."""
        V = self._values(rows, own)
        near = np.argpartition(V, k - 1, axis=1)[:, :k]
        upper = (np.take_along_axis(V, near, axis=1) + self.measure.slack(rows, near)).max(axis=1)
        return self._list(rows, V, np.maximum(upper, self.measure.floor**2), k, ties)

    def _within(self, part: slice, r: float) -> NeighborLists:
        rows = self.measure.own(part)
        V = self._values(rows, np.arange(part.start, part.stop))
        upper = max(self.measure.level(r) * (1 + SLACK), self.measure.floor**2)
        found = self._list(rows, V, np.full(len(V), upper), self.n, "cut")
        keep = found.distances <= r
        owner = np.repeat(np.arange(len(V)), found.counts)
        return NeighborLists(np.bincount(owner[keep], minlength=len(V)), found.indices[keep], found.distances[keep])

    def _values(self, rows: Rows, own: Array | None) -> Array:
        V = self.measure.compare(rows)
        if own is not None:
            V[np.arange(len(V)), own] = np.inf
        return V

    def _list(self, rows: Rows, V: Array, upper: Array, k: int, ties: str) -> NeighborLists:
        """Compare exactly all pairs whose true values may be within the limit of their row, which k of them meet."""
        i, j = np.nonzero((upper + self.measure.margin(rows, upper))[:, None] >= V)
        return ordered(i, j, self._exact(rows, i, j, V[i, j]), len(V), k, ties)

    def _exact(self, rows: Rows, i: Array, j: Array, values: Array) -> Array:
        """Return the distances by which lists are sorted."""
        return self.measure.exact(rows, i, j, values)

    def _way_out(self, numbers: Array, labels: Array, seen: KnownLinks) -> Link:
        rows, mine = self.measure.own(numbers), labels[numbers]
        V = self.measure.compare(rows)
        V[mine[:, None] == labels] = np.inf
        near = V.argmin(axis=1)[:, None]
        values = np.take_along_axis(V, near, axis=1)
        high = np.maximum((values + self.measure.slack(rows, near))[:, 0], self.measure.floor**2)
        seen.near[numbers], seen.high[numbers] = near[:, 0], high
        seen.low[numbers] = values[:, 0] - self.measure.margin(rows, high)
        best = np.full(labels.max() + 1, np.inf)
        np.minimum.at(best, mine, high)
        i, j = np.nonzero((best[mine] + self.measure.margin(rows, best[mine]))[:, None] >= V)
        return shortest([Link(mine[i], self.measure.exact(rows, i, j, V[i, j]), numbers[i], j)])


def within_memory(found: Iterable[NeighborLists], held: int = 0) -> list[NeighborLists]:
    """Collect lists while their graph fits in memory; the number of ties or points in a radius is not known before.

    ``held`` counts existing edges.
    """
    lists = []
    for part in found:
        held += len(part.indices)
        check_edges(held)
        lists.append(part)
    return lists


def check_edges(count: int) -> None:
    """Raise if a graph of this many edges, with its lists, would exceed the memory limit."""
    check_allocation(EDGE * count, "the neighbour graph", _FEWER_EDGES)


def cut_rows(rows: Rows, part: Any) -> Rows:
    """Return some of the rows in the form of a measure."""
    return type(rows)(*(x[part] for x in rows)) if hasattr(rows, "_fields") else cut(rows, part)


def count_rows(rows: Rows) -> int:
    """Return how many rows there are, in the form of a measure."""
    return int((rows[0] if isinstance(rows, tuple) else rows).shape[0])


def ordered(i: Array, j: Array, d: Array, n: int, k: int, ties: str) -> NeighborLists:
    """Sort pairs into lists by distance, then number, and cut each after k; or after all as far as the k-th."""
    order = np.lexsort((j, d, i))
    i, j, d = i[order], j[order], d[order]
    counts = np.bincount(i, minlength=n)
    starts = np.cumsum(counts) - counts
    keep = np.arange(len(i)) - starts[i] < k
    if ties == "keep":
        last = starts + np.minimum(counts, k) - 1
        keep |= d <= d[last[i]]
    return NeighborLists(np.bincount(i[keep], minlength=n), j[keep], d[keep])


def shortest(found: Iterable[Link]) -> Link:
    """Return the shortest of links for each label; of equal ones that between the lowest numbers."""
    label, distance, inside, outside = (np.concatenate(x) for x in zip(*found, strict=True))
    low, high = np.minimum(inside, outside), np.maximum(inside, outside)
    order = np.lexsort((high, low, distance, label))
    label = label[order]
    first = order[np.concatenate([[True], label[1:] != label[:-1]])] if len(label) else order
    return Link(*(x[first] for x in (label[np.argsort(order, kind="stable")], distance, inside, outside)))
