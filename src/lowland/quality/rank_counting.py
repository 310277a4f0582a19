"""Ranks by counting: dense rows are compared by matrix products, and doubtful cases by exact distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..graph.blocked import BlockSearcher
from ..graph.graph import starts
from ..graph.measures import EuclideanRows
from ..graph.scores import TINY, UNIT, error, fill, tail
from ..pairs.pairwise import tiles
from .rank_lists import Listed, Ranks, ranks_in_lists, summed
from .spaces import Sides

Array = Any

TILE = 1024  # points compared with the anchors at a time: the product fits in the cache
SHORT = 64  # up to this number of neighbours counting is faster than sorting
FEW = 32  # up to this number of distances of a row, comparing with each is faster than searching among them
SMALL = 1_000  # up to this number of points sorting is fast
_PAIRS_AT_ONCE = 1 << 16  # pairs compared exactly at a time
WIDEST = 50_000  # up to this number of columns the float32 rounding bound is proportional to the distance


class _Pairs(NamedTuple):
    """Pairs to be compared exactly: rows, numbers of points, and scores."""

    rows: Array
    numbers: Array
    scores: Array


class Counters(NamedTuple):
    """Counters for the data and the map."""

    data: Counter
    map: Counter


def counters(sides: Sides, k: int) -> Counters | None:
    """Return counters for both sides if counting is faster than sorting, else None."""
    if k > SHORT or sides.n <= max(SMALL, 4 * k):
        return None
    if not all(isinstance(side, EuclideanRows) and side.width <= WIDEST for side in (sides.data, sides.map)):
        return None
    found = Counters(Counter(sides.data), Counter(sides.map))  # type: ignore[arg-type]
    for side in found:
        side.start(k)
    return found


class Counter(BlockSearcher):
    """Count the points nearer than given ones by blocked matrix products; decide doubtful cases by exact distances."""

    doubtful = 0  # pairs compared exactly

    def start(self, k: int) -> None:
        """Prepare the table of rows in the precision suited to k neighbours."""
        self._prepare(k)
        self.table = self._chosen()
        self.place = np.empty(self.n, dtype=np.int64)
        self.place[self.order] = np.arange(self.n)

    @classmethod
    def of_block(cls, measure: EuclideanRows, kind: np.dtype[Any], size: float) -> Counter:
        """Return a counter of a block of rows, for other rows of at most this norm, in a given precision."""
        found = cls(measure)
        found.order = np.arange(measure.n)
        found.scale = max(size, float(np.sqrt(measure.squares.max()))) or 1.0
        found.table = found._table(kind)
        return found

    def near(self, numbers: Array, k: int) -> tuple[Array, Array, Array]:
        """Return candidates (m × c), nearest first, their Euclidean distances, and whether the first k are exact.

        If so, the candidates include all points tied with the k-th.
        """
        indices, d, sure = self._looked(self.table, self.measure.own(numbers), k, numbers)
        return indices, d, sure

    def nearer(self, numbers: Array, counts: Array, d: Array) -> Ranks:
        """Return the ranks of points at Euclidean distances d; ``counts`` is their number for each anchor."""
        return self.count(self.measure.own(numbers), self.place[numbers], counts, d)

    def count(self, rows: Any, own: Array, counts: Array, d: Array, *, ascending: bool = False) -> Ranks:
        """Return how many points are nearer to prepared rows than Euclidean distances d, and how many as far.

        ``counts`` is the number of distances of each row, ``own`` the place of the row among the points, which does
        not count, or −1. ``ascending``: the distances of each row are in this order, which is faster if they are many.
        """
        from .ranks_loops import count_nearer, count_nearer_ascending, settle

        if not len(d):
            return Ranks(*np.zeros((2, 0), dtype=np.int64))
        start, (left, sizes) = starts(counts), self._left(rows)
        far, near = self._windows(np.repeat(sizes, counts), d)
        less, equal = np.zeros((2, len(d)), dtype=np.int64)
        i, j = np.empty((2, len(own) * TILE), dtype=np.int32)
        loop = count_nearer_ascending if ascending and counts.max() > FEW else count_nearer

        def undecided() -> Iterator[_Pairs]:
            for part, S in self._scores(left, own):
                found = loop(S, start, far, near, less, i, j)
                a, b = i[:found], j[:found]
                yield _Pairs(a.copy(), self.order[b + part.start], S[a, b])

        for a, numbers, scores in self._together(undecided()):
            exact = self.measure.raw(rows.rows, a, numbers)
            settle(a, scores, exact, start, far, near, d, less, equal)
        return Ranks(less, equal)

    def within(self, rows: Any, own: Array, reach: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield row, point and Euclidean distance of the points within ``reach`` of each row, some points at a time."""
        from .ranks_loops import count_nearer

        left, sizes = self._left(rows)
        far, _ = self._windows(sizes, reach)
        near, each, unused = np.full_like(far, np.inf), np.arange(len(far) + 1), np.zeros(len(far), dtype=np.int64)
        i, j = np.empty((2, len(own) * TILE), dtype=np.int32)

        def perhaps() -> Iterator[_Pairs]:
            for part, S in self._scores(left, own):
                found = count_nearer(S, each, far, near, unused, i, j)  # nothing is certain
                yield _Pairs(i[:found].astype(np.int64), self.order[j[:found] + part.start], far[:0])

        for a, numbers, _ in self._together(perhaps()):
            d = self.measure.raw(rows.rows, a, numbers)
            keep = d <= reach[a]
            yield a[keep], numbers[keep], d[keep]

    def _together(self, parts: Iterator[_Pairs]) -> Iterator[_Pairs]:
        """Yield the pairs of several tiles together, as the distances of few pairs take as long as those of many."""
        held, size = list[_Pairs](), 0
        for pairs in parts:
            if len(pairs.rows):
                held.append(pairs)
                size += len(pairs.rows)
                self.doubtful += len(pairs.rows)
            if size > _PAIRS_AT_ONCE:
                yield _Pairs(*(np.concatenate(x) for x in zip(*held, strict=True)))
                held, size = [], 0
        if held:
            yield _Pairs(*(np.concatenate(x) for x in zip(*held, strict=True)))

    def distances(self, rows: Any, i: Array, j: Array) -> Array:
        """Return the Euclidean distances of prepared rows i and points j."""
        return self.measure.raw(rows.rows, i, j)

    def _left(self, rows: Any) -> tuple[Array, Array]:
        """Return rows in the form of the table, and their norms."""
        left = np.empty((len(rows.rows), self.table.rows.shape[1]), dtype=self.table.kind)
        return left, fill(left, rows.shifted, self.scale)

    def _scores(self, left: Array, own: Array) -> Iterator[tuple[slice, Array]]:
        """Yield the scores of rows with some points at a time; those of a row with itself are −∞."""
        end = tail(left)
        for part in tiles(self.n, TILE):
            S = self._score(left, end, self.table.rows[part])
            here = np.flatnonzero((part.start <= own) & (own < part.stop))
            S[here, own[here] - part.start] = -np.inf
            yield part, S

    def _windows(self, sizes: Array, d: Array) -> tuple[Array, Array]:
        """Return bounds on the score of a point at distance d, for anchors of norm ‖zᵢ‖.

        The rounding bound is that of `BlockSearcher._refined` for points at distance d: nearer points score at least
        ``far``, farther ones at most ``near``. It is increased by 1 % so that both are monotone in d.
        """
        kind = self.table.kind
        delta = np.maximum(d, self.measure.floor) / self.scale
        reach = 1.001 * (2 * sizes + delta)
        e = 1.01 * error(kind, self.measure.width, reach)
        moved = 2.01 * UNIT[kind] * reach + TINY[kind]
        far = -0.5 * (delta * (1 + 1e-9) + moved) ** 2 - e
        near = -0.5 * np.maximum(0.0, delta * (1 - 1e-9) - moved) ** 2 + e
        near[d <= self.measure.floor] = np.inf  # all distances rounded to zero are ties
        least, most = kind.type(-np.inf), kind.type(np.inf)
        return np.nextafter(far.astype(kind), least), np.nextafter(near.astype(kind), most)


def counted(quick: Counters, numbers: Array, k: int, codes: Array | None) -> tuple[Array, Array]:
    """Return the columns of some anchors, and which of them are exact; the others need sorting."""
    found = [side.near(numbers, k) for side in quick]
    sure = found[0][2] & found[1][2]
    few = numbers[sure]
    near = [_NearestLists.of(indices[sure], d[sure], k) for indices, d, _ in found]
    lists = [
        _judged(own, other, few, counter, judge)
        for own, other, counter, judge in zip(near, near[::-1], quick, quick[::-1], strict=True)
    ]
    values = np.zeros((9, len(numbers)))
    values[:, sure] = summed(lists[0], lists[1], few, k, codes)
    return values, sure


class _NearestLists(NamedTuple):
    """Neighbour lists with all ties of the k-th: anchor, point, Euclidean distance, ranks."""

    i: Array
    j: Array
    d: Array
    ranks: Ranks

    @classmethod
    def of(cls, indices: Array, d: Array, k: int) -> _NearestLists:
        keep = d <= d[:, k - 1 : k]
        i, p = np.nonzero(keep)
        return cls(i, indices[keep], d[keep], ranks_in_lists(i, p, d[keep]))


def _judged(own: _NearestLists, other: _NearestLists, numbers: Array, counter: Counter, judge: Counter) -> Listed:
    """Return lists with the ranks of their points on the other side; ranks in its lists are reused."""
    far = judge.measure.raw(judge.measure.own(numbers).rows, own.i, own.j)
    pairs, known = (side.i * judge.n + side.j for side in (own, other))
    by_pair = np.argsort(known)
    at = by_pair[np.minimum(np.searchsorted(known, pairs, sorter=by_pair), len(known) - 1)] if len(known) else known
    ranks = Ranks(other.ranks.less[at], other.ranks.equal[at])
    ask = np.flatnonzero(known[at] != pairs)
    asked = judge.nearer(numbers, np.bincount(own.i[ask], minlength=len(numbers)), far[ask])
    ranks.less[ask], ranks.equal[ask] = asked
    return Listed(own.i, own.j, counter.measure.finish(own.d), own.ranks, judge.measure.finish(far), ranks)
