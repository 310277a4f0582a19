"""Ranks of neighbours on two sides: how near the map's neighbours are in the data, and the data's in the map.

For every anchor the k nearest are listed on both sides, and for each point of a list it is counted how many points are
nearer on the other side. That is a look at all points for each anchor, a block of anchors at a time, and never a square
of all points. Two roads lead there and give the same numbers. Dense rows are compared by products in float32 or
float64; what their rounding leaves open is decided by exact distances. For all else, for long lists and for lists that
ties make long, the points are sorted on both sides.

Ties. Points at equal distance have no order. Each measure is the expected value over all orders of tied points, drawn
independently on both sides. With a points nearer than j and g as far as j (itself among them), the rank of j is uniform
on a + 1, …, a + g, so

    P(j is among the k nearest) = min(1, max(0, (k − a)/g)),    E max(0, rank − k) = Σ_{r = a+1}^{a+g} max(0, r − k)/g.

The value lies within the range over all orders and does not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import pool, settings
from ..errors import DataError
from ..graph.blocked import SINGLE, UNIT, BlockSearcher
from ..graph.graph import starts
from ..graph.measures import BoundMetric, EuclideanRows
from ..pairwise import tiles
from ..planning import check_allocation
from .anchors import Anchors, choose
from .spaces import Sides

Array = Any

_ENTRIES = 1 << 19  # ranks sorted at a time
_FEWEST = 2  # anchors sorted at a time: with fewer, preparing the points would take longer
_SORTED = 72  # bytes of a rank while it is sorted
_ROWS = 256  # anchors counted at a time
_TILE = 1024  # points they are compared with at a time: such a product stays in the cache
_SHORT = 64  # neighbours up to which counting beats sorting
_SMALL = 1_000  # points up to which sorting is quick
_WIDEST = 50_000  # columns up to which the bound on rounding of float32 grows with the distance


@dataclass(frozen=True)
class RankTable:
    """What the neighbourhoods of some anchors say, one value for each anchor.

    Attributes
    ----------
    n, n_neighbors : int
        Number of points, and of neighbours k.
    anchors : Anchors
        The points looked at.
    false_ranks : array
        Σ max(0, rank − k) over the k nearest in the map, by their ranks in the data.
    missing_ranks : array
        The same over the k nearest in the data, by their ranks in the map.
    shared : array
        Neighbours that both sides have in common, of k.
    data_reach, map_reach : array
        Mean distance to the k nearest: in the data, and in the map.
    false_reach : array
        Mean distance in the data to the k nearest in the map.
    missing_reach : array
        Mean distance in the map to the k nearest in the data.
    data_purity, map_purity : array or None
        With groups, the share of the k nearest that are of the anchor's group; NaN for points without a label.
    """

    n: int
    n_neighbors: int
    anchors: Anchors
    false_ranks: Array
    missing_ranks: Array
    shared: Array
    data_reach: Array
    map_reach: Array
    false_reach: Array
    missing_reach: Array
    data_purity: Array | None
    map_purity: Array | None


class Ranks(NamedTuple):
    """How many points are nearer than some, and how many as far (each itself among them)."""

    less: Array
    equal: Array

    def among(self, k: int) -> Array:
        """Return the probability to be among the k nearest."""
        return np.clip((k - self.less) / self.equal, 0.0, 1.0)

    def beyond(self, k: int) -> Array:
        """Return the expected value of max(0, rank − k): the mean of r − k over the ranks r > k that are shared."""
        a, g = self.less.astype(np.float64), self.equal.astype(np.float64)
        first = np.maximum(a + 1 - k, 1.0)  # of the ranks beyond k, the least and the greatest, less k
        last = a + g - k
        return np.where(last >= first, (last - first + 1) * (first + last) / (2 * g), 0.0)


class Listed(NamedTuple):
    """The nearest of a block's anchors on one side: whose, which, how far on both sides, and the ranks on both."""

    i: Array
    j: Array
    d: Array
    ranks: Ranks
    other_d: Array
    other_ranks: Ranks


def rank_table(
    sides: Sides,
    n_neighbors: int = 10,
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
    *,
    owner: str = "quality",
) -> RankTable:
    """Compare the neighbourhoods of anchors on two sides.

    Parameters
    ----------
    sides : Sides
        The data and the map, see `lowland.quality.spaces.sides`.
    n_neighbors : int
        Neighbours k of each point, at most N − 2.
    anchors, random_state, groups
        See `lowland.quality.anchors.choose`.
    owner : str
        Whom errors name.
    """
    k = check_count(n_neighbors, sides.n, owner)
    chosen = choose(sides.n, anchors, random_state, groups, owner=owner)
    columns = _columns(sides, k, chosen)
    purity = (columns[7], columns[8]) if chosen.codes is not None else (None, None)
    return RankTable(sides.n, k, chosen, *columns[:7], *purity)


def check_count(k: Any, n: int, owner: str) -> int:
    """Return a number of neighbours that leaves at least one point that is none."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"{owner}: n_neighbors must be a whole number of at least 1; it is {k!r}")
    if k > n - 2:
        raise DataError(
            f"{owner}: n_neighbors={k} is too large for {n} points: with all {n - 1} others as neighbours there is "
            f"nothing to tell apart; the largest allowed is {n - 2}, and {max(1, min(10, n // 4))} is a good choice"
        )
    return int(k)


def _columns(sides: Sides, k: int, chosen: Anchors) -> Array:
    """Return the table's columns: nine rows, one value for each anchor."""
    quick = _quick(sides, k)
    out = np.empty((9, len(chosen.numbers)))
    left = chosen.numbers
    if quick is not None:
        parts = tiles(len(left), _ROWS)
        found = pool.run(lambda p: _counted(quick, left[p], k, chosen.codes), parts, stage="ranks", total=len(parts))
        done = np.ones(len(left), dtype=bool)
        for part, (values, sure) in zip(parts, found, strict=True):
            out[:, part], done[part] = values, sure
        again = np.flatnonzero(~done)
    else:
        again = np.arange(len(left))
    rest = [again[p] for p in sort_tiles(len(again), sides.n)]
    sorted = pool.run(lambda p: _sorted(sides, left[p], k, chosen.codes), rest, stage="ranks, sorted", total=len(rest))
    for some, values in zip(rest, sorted, strict=True):
        out[:, some] = values
    return out


# -- by sorting -------------------------------------------------------------------------------------------


def sort_tiles(count: int, n: int) -> list[slice]:
    """Return parts of some anchors that are sorted at a time; refuse where not even a few fit in memory."""
    step = max(_FEWEST, _ENTRIES // n)
    check_allocation(settings.threads() * step * n * _SORTED, "sorting points by distance", "use fewer points")
    return tiles(count, step)


class Sorted:
    """All points as some anchors see them: ``ranks`` are those of all points (m × N).

    An anchor is no point of its own: both of its counts are zero.
    """

    def __init__(self, side: BoundMetric, numbers: Array) -> None:
        self.side, self.rows = side, side.own(numbers)
        self.values = np.ascontiguousarray(side.compare(self.rows), dtype=np.float64)
        self.ranks = self._ranks(numbers)

    def exact(self, i: Array, j: Array) -> Array:
        """Return the distances of the anchors i to the points j."""
        return self.side.exact(self.rows, i, j, self.values[i, j])

    def _ranks(self, numbers: Array) -> Ranks:
        from .ranks_kernels import assign, sort_rows

        m, n = self.values.shape
        errors = np.zeros((m, n))
        errors += self.side.slack(self.rows, np.arange(n)[None, :])
        order, joined = np.empty((m, n - 1), dtype=np.int32), np.empty((m, n - 1), dtype=bool)
        floor = self.side.floor**2 if self.side.floor else -np.inf
        sort_rows(self.values, errors, floor, numbers, order, joined)
        i, p = np.nonzero(_in_chains(joined))
        ranks = Ranks(np.zeros((m, n), dtype=np.int32), np.zeros((m, n), dtype=np.int32))
        assign(order, joined, self.exact(i, order[i, p].astype(np.int64)), *ranks)
        return ranks


def _in_chains(joined: Array) -> Array:
    """Return all points of chains: those joined to the one before, and those before."""
    chained = joined.copy()
    chained[:, :-1] |= joined[:, 1:]
    return chained


def _sorted(sides: Sides, numbers: Array, k: int, codes: Array | None) -> Array:
    """Return the columns of some anchors from the ranks of all points."""
    data, map = Sorted(sides.data, numbers), Sorted(sides.map, numbers)
    return _summed(_taken(data, map, k), _taken(map, data, k), numbers, k, codes)


def _taken(own: Sorted, other: Sorted, k: int) -> Listed:
    """Return the points that may be among the k nearest on one side."""
    i, j = np.nonzero((own.ranks.less < k) & (own.ranks.equal > 0))
    ranks, other_ranks = (Ranks(x.ranks.less[i, j], x.ranks.equal[i, j]) for x in (own, other))
    return Listed(i, j, own.exact(i, j), ranks, other.exact(i, j), other_ranks)


# -- by counting ------------------------------------------------------------------------------------------


class _Quick(NamedTuple):
    data: Counter
    map: Counter


def _quick(sides: Sides, k: int) -> _Quick | None:
    """Return counters for both sides where counting is quicker than sorting."""
    if k > _SHORT or sides.n <= max(_SMALL, 4 * k):
        return None
    if not all(isinstance(side, EuclideanRows) and side.width <= _WIDEST for side in (sides.data, sides.map)):
        return None
    found = _Quick(Counter(sides.data), Counter(sides.map))  # type: ignore[arg-type]
    for side in found:
        side.start(k)
    return found


class Counter(BlockSearcher):
    """Counts the points nearer than some, by products of blocks; what rounding leaves open is decided exactly."""

    def start(self, k: int) -> None:
        """Make the table of rows in the precision that lists of k neighbours want."""
        self._prepare(k)
        self.table = self._chosen()
        self.place = np.empty(self.n, dtype=np.int64)
        self.place[self.order] = np.arange(self.n)

    def near(self, numbers: Array, k: int) -> tuple[Array, Array, Array]:
        """Return candidates (m × c) nearest first, their Euclidean distances, and whether the first k are certain.

        Where they are, all points as near as the k-th are among the candidates.
        """
        indices, d, sure = self._looked(self.table, self.measure.own(numbers), k, numbers)
        return indices, d, sure

    def nearer(self, numbers: Array, counts: Array, d: Array) -> Ranks:
        """Return the ranks of points at Euclidean distances d, ``counts`` of them for each anchor in turn."""
        from .ranks_kernels import count_nearer, settle

        if not len(d):
            return Ranks(*np.zeros((2, 0), dtype=np.int64))
        rows, kind, start = self.measure.own(numbers), self.table.kind, starts(counts)
        left = np.empty((len(numbers), self.table.rows.shape[1]), dtype=kind)
        sizes = self._fill(left, rows.shifted)
        left[:, -2], left[:, -1] = left[:, -1].copy(), 1.0
        far, near = self._windows(np.repeat(sizes, counts), d)
        less, equal = np.zeros((2, len(d)), dtype=np.int64)
        i, j = np.empty((2, len(numbers) * _TILE), dtype=np.int32)
        own = self.place[numbers]
        for part in tiles(self.n, _TILE):
            S = self._buffer(len(left), part.stop - part.start, kind)
            np.matmul(left, self.table.rows[part].T, out=S)
            here = np.flatnonzero((part.start <= own) & (own < part.stop))
            S[here, own[here] - part.start] = -np.inf
            found = count_nearer(S, start, far, near, less, i, j)
            if found:
                a, b = i[:found], j[:found]
                exact = self.measure.raw(rows.rows, a, self.order[b + part.start])
                settle(a, S[a, b], exact, start, far, near, d, less, equal)
        return Ranks(less, equal)

    def _windows(self, sizes: Array, d: Array) -> tuple[Array, Array]:
        """Return the scores between which that of a point at distance d lies, for anchors of norm ‖zᵢ‖.

        The bound is that of `BlockSearcher._refined`, taken for points at distance d: those nearer score no less than
        ``far``, those farther no more than ``near``. A hundredth more of it makes both monotone in d.
        """
        kind = self.table.kind
        unit, tiny = UNIT[kind], 1e-37 if kind == SINGLE else 1e-307
        delta = np.maximum(d, self.measure.floor) / self.scale
        reach = 1.001 * (2 * sizes + delta)
        terms = (self.measure.width + 4) * (1 if kind == SINGLE else 2)
        e = 1.01 * terms * (unit / (1 - terms * unit) * reach**2 / 2 + tiny)
        moved = 2.01 * unit * reach + tiny
        far = -0.5 * (delta * (1 + 1e-9) + moved) ** 2 - e
        near = -0.5 * np.maximum(0.0, delta * (1 - 1e-9) - moved) ** 2 + e
        near[d <= self.measure.floor] = np.inf  # all that rounding makes zero are as far as this one
        least, most = kind.type(-np.inf), kind.type(np.inf)
        return np.nextafter(far.astype(kind), least), np.nextafter(near.astype(kind), most)


def _counted(quick: _Quick, numbers: Array, k: int, codes: Array | None) -> tuple[Array, Array]:
    """Return the columns of some anchors, and which of them are certain; the others are left to sorting."""
    found = [side.near(numbers, k) for side in quick]
    sure = found[0][2] & found[1][2]
    few = numbers[sure]
    near = [_Near.of(indices[sure], d[sure], k) for indices, d, _ in found]
    lists = [
        _judged(own, other, few, counter, judge)
        for own, other, counter, judge in zip(near, near[::-1], quick, quick[::-1], strict=True)
    ]
    values = np.zeros((9, len(numbers)))
    values[:, sure] = _summed(lists[0], lists[1], few, k, codes)
    return values, sure


class _Near(NamedTuple):
    """Lists of the nearest that hold all that are as near as the k-th: whose, which, how far (Euclidean), ranks."""

    i: Array
    j: Array
    d: Array
    ranks: Ranks

    @classmethod
    def of(cls, indices: Array, d: Array, k: int) -> _Near:
        keep = d <= d[:, k - 1 : k]
        i, p = np.nonzero(keep)
        return cls(i, indices[keep], d[keep], ranks_in_lists(i, p, d[keep]))


def _judged(own: _Near, other: _Near, numbers: Array, counter: Counter, judge: Counter) -> Listed:
    """Return lists with the ranks of their points on the other side; of those in the lists there they are known."""
    far = judge.measure.raw(judge.measure.own(numbers).rows, own.i, own.j)
    pairs, known = (side.i * judge.n + side.j for side in (own, other))
    by_pair = np.argsort(known)
    at = by_pair[np.minimum(np.searchsorted(known, pairs, sorter=by_pair), len(known) - 1)] if len(known) else known
    ranks = Ranks(other.ranks.less[at], other.ranks.equal[at])
    ask = np.flatnonzero(known[at] != pairs)
    asked = judge.nearer(numbers, np.bincount(own.i[ask], minlength=len(numbers)), far[ask])
    ranks.less[ask], ranks.equal[ask] = asked
    return Listed(own.i, own.j, counter.measure.finish(own.d), own.ranks, judge.measure.finish(far), ranks)


def ranks_in_lists(i: Array, p: Array, d: Array) -> Ranks:
    """Return the ranks of points in lists that are sorted and hold all that are as near as their last."""
    first = np.ones(len(i), dtype=bool)
    first[1:] = (i[1:] != i[:-1]) | (d[1:] != d[:-1])
    group = np.cumsum(first) - 1
    return Ranks(p[first][group], np.bincount(group)[group])


# -- what follows -----------------------------------------------------------------------------------------


def _summed(data: Listed, map: Listed, numbers: Array, k: int, codes: Array | None) -> Array:
    """Return the columns from the lists of both sides."""
    from .ranks_kernels import sums

    m = len(numbers)

    def add(listed: Listed, values: Array) -> Array:
        out = np.empty(m)
        sums(np.ascontiguousarray(values, dtype=np.float64), starts(np.bincount(listed.i, minlength=m)), out)
        return out

    near_data, near_map = data.ranks.among(k), map.ranks.among(k)
    columns = [
        add(map, near_map * map.other_ranks.beyond(k)),
        add(data, near_data * data.other_ranks.beyond(k)),
        add(map, near_map * map.other_ranks.among(k)) / k,
        add(data, near_data * data.d) / k,
        add(map, near_map * map.d) / k,
        add(map, near_map * map.other_d) / k,
        add(data, near_data * data.other_d) / k,
    ]
    if codes is None:
        return np.array([*columns, np.zeros(m), np.zeros(m)])
    mine = codes[numbers]
    pure = [
        np.where(mine < 0, np.nan, add(side, near * (codes[side.j] == mine[side.i])) / k)
        for side, near in ((data, near_data), (map, near_map))
    ]
    return np.array([*columns, *pure])
