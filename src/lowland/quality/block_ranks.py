"""Ranks of anchors among all rows of two tables that are read in blocks.

Distances are those of `ranks`, exact at the rounding, and the number of nearer points adds up over blocks. So the
result is that of the tables in memory, with the same anchors. Two passes over both tables side by side:

1. On each side the k nearest of each anchor are listed, with all ties of the k-th, and with their distances on the
   other side. Distances to a sample bound those of the k nearest, and lists that have k points bound them further.
2. For each listed point the nearer and the equally distant points on the other side are counted.

An entry of a list stands for all points with its distances on both sides (and in the same group or not), so rows with
many duplicates do not make lists long. An anchor that equals another one on both sides shares its result.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.cost import check_allocation
from ..core.message import Message, Setting
from ..graph.distinct import distinct
from ..graph.graph import starts
from ..pairs.pairwise import tiles
from ..rows.paired_rows import PairedBlock, PairedRows
from .anchors import Anchors
from .block_counting import ANCHORS_AT_ONCE, AnchorSide, RuleCounter
from .rank_counting import Counter
from .rank_lists import Listed, Ranks, ranks_in_lists, summed
from .ranks import RankTable

Array = Any

_WAITING = 1 << 14  # listed points that wait to be merged; more if the lists are long
_ENTRY_BYTES = 160  # memory for a listed point while lists are sorted


class Beside(Protocol):
    """Further work on the blocks of a pass: a call on any thread for each, whose results are added in order."""

    def __call__(self, block: PairedBlock) -> Any:
        """Work on a block."""

    def add(self, found: Any) -> None:
        """Add the result of a block."""


def block_rank_table(
    tables: PairedRows,
    sides: tuple[AnchorSide, AnchorSide],
    k: int,
    chosen: Anchors,
    beside: Beside,
) -> RankTable:
    """Return the table of ranks of anchors; the first pass also gives its blocks to ``beside``.

    The sides hold the rows of all anchors, and are cut here to different ones.
    """
    codes = chosen.codes
    once, back = _different(sides, None if codes is None else codes[chosen.numbers])
    numbers = chosen.numbers[once]
    for side in sides:
        side.keep(once)
    lists = _nearest(tables, sides, numbers, k, codes, beside)
    ranks = _judged(tables, sides, numbers, lists)
    listed = []
    for own, far, (side, other) in zip(lists, ranks, (sides, sides[::-1]), strict=True):
        near = ranks_in_lists(own.i, own.before(), own.d, own.weights)
        listed.append(Listed(own.i, own.j, side.finish(own.d), near, other.finish(own.other_d), far, own.weights))
    columns = summed(listed[0], listed[1], numbers, k, codes)[:, back]
    purity = (None, None) if codes is None else (columns[7], columns[8])
    return RankTable(tables.n_rows, k, chosen, *columns[:7], *purity)


def _different(sides: tuple[AnchorSide, AnchorSide], codes: Array | None) -> tuple[Array, Array]:
    """Return the places of anchors that differ on a side or in their group, ascending, and that of each anchor."""
    kinds = [distinct(side.anchors).inverse for side in sides]
    _, first, back = np.unique(
        np.column_stack(kinds if codes is None else [*kinds, codes]), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[back.ravel()]


class _Entries(NamedTuple):
    """Points in lists: anchor, number of one of the points, distances on this and on the other side, how many points.

    ``same``: whether they are in the group of the anchor.
    """

    i: Array
    j: Array
    d: Array
    other_d: Array
    same: Array
    weights: Array

    def before(self) -> Array:
        """Return the number of points before each entry in its list."""
        total = np.cumsum(self.weights) - self.weights
        first = np.concatenate([[True], self.i[1:] != self.i[:-1]]) if len(self.i) else np.zeros(0, dtype=bool)
        return total - total[first][np.cumsum(first) - 1]

    def some(self, keep: Array) -> _Entries:
        return _Entries(*(x[keep] for x in self))


_NONE = _Entries(*(np.empty(0, dtype=kind) for kind in (np.int64, np.int64, float, float, bool, np.int64)))


def _joined(parts: list[_Entries]) -> _Entries:
    """Return entries sorted by anchor and distance; those that are equal in all but the point are one."""
    found = _Entries(*(np.concatenate(x) for x in zip(*parts, strict=True)))
    found = found.some(np.lexsort((found.j, found.same, found.other_d, found.d, found.i)))
    new = np.ones(len(found.i), dtype=bool)
    new[1:] = False
    for x in (found.i, found.d, found.other_d, found.same):
        new[1:] |= x[1:] != x[:-1]
    weights = np.add.reduceat(found.weights, np.flatnonzero(new)) if len(new) else found.weights
    return found.some(new)._replace(weights=weights)


class _Lists:
    """The lists of one side, as blocks are read; ``reach`` of the side falls to the distance of the k-th nearest."""

    def __init__(self, side: AnchorSide, k: int) -> None:
        self.side, self.k, self.entries = side, k, _NONE
        self._waiting: list[_Entries] = []
        self._count = 0

    def add(self, found: _Entries) -> None:
        """Add points of a block."""
        self._waiting.append(found)
        self._count += len(found.i)
        if self._count > max(_WAITING, 2 * len(self.entries.i)):
            self.merge()

    def merge(self) -> _Entries:
        """Return the points no farther than the k-th nearest so far."""
        fewer = Message("use fewer ", Setting("anchors"))
        check_allocation(
            _ENTRY_BYTES * (self._count + len(self.entries.i)), "the lists of neighbours at equal distances", fewer
        )
        found = _joined([self.entries, *self._waiting])
        last = np.flatnonzero((found.before() < self.k) & (found.before() + found.weights >= self.k))
        reach = self.side.reach
        reach[found.i[last]] = np.minimum(reach[found.i[last]], found.d[last])
        self.entries, self._waiting, self._count = found.some(found.d <= reach[found.i]), [], 0
        return self.entries


def _nearest(
    tables: PairedRows,
    sides: tuple[AnchorSide, AnchorSide],
    numbers: Array,
    k: int,
    codes: Array | None,
    beside: Beside,
) -> tuple[_Entries, _Entries]:
    """Return the lists of both sides from one pass."""
    parts = tiles(len(numbers), ANCHORS_AT_ONCE)
    mine = None if codes is None else codes[numbers]

    def look(block: PairedBlock) -> tuple[Any, list[_Entries]]:
        more = beside(block)
        counters = [side.block(rows) for side, rows in zip(sides, block.rows, strict=True)]
        found: list[list[_Entries]] = [[], []]
        for part in parts:
            own, rows = block.places(numbers[part]), [side.prepared(part) for side in sides]
            for s in (0, 1):
                i, j, d = _within(counters[s], rows[s], own, sides[s].reach[part].copy())
                other = counters[1 - s].distances(rows[1 - s], i, j)
                i, j = i + part.start, j + block.start
                same = np.zeros(len(i), dtype=bool) if codes is None or mine is None else codes[j] == mine[i]
                found[s].append(_Entries(i, j, d, other, same, np.ones(len(i), dtype=np.int64)))
        for side, counter in zip(sides, counters, strict=True):
            side.learn(counter)
        return more, [_joined(some) for some in found]

    lists = [_Lists(side, k) for side in sides]
    for more, found in tables.map(look, "neighbours of anchors"):
        beside.add(more)
        for out, some in zip(lists, found, strict=True):
            out.add(some)
    return lists[0].merge(), lists[1].merge()


def _within(counter: Counter | RuleCounter, rows: Any, own: Array, reach: Array) -> tuple[Array, Array, Array]:
    """Return row, point and distance of all points of a block within reach, but the rows themselves."""
    found = list(counter.within(rows, own, reach))
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    i, j, d = (np.concatenate(x) for x in zip(*found, strict=True))
    return i, j, d


def _judged(
    tables: PairedRows, sides: tuple[AnchorSide, AnchorSide], numbers: Array, lists: tuple[_Entries, _Entries]
) -> list[Ranks]:
    """Return the ranks of all listed points on the other side, from one pass."""
    known = [_known(own, other) for own, other in (lists, lists[::-1])]
    asked = [
        _RankQueries.of(own.i, own.other_d, own.other_d > side.reach[own.i], len(numbers))
        for own, side in zip(lists, sides[::-1], strict=True)
    ]
    parts, lock = tiles(len(numbers), ANCHORS_AT_ONCE), threading.Lock()

    def count(block: PairedBlock) -> None:
        for side, items, some in zip(sides[::-1], block.rows[::-1], asked, strict=True):
            counter = side.block(items)
            for part in parts:
                span = slice(some.start[part.start], some.start[part.stop])
                own, counts = block.places(numbers[part]), np.diff(some.start[part.start : part.stop + 1])
                found = counter.count(side.prepared(part), own, counts, some.d[span], ascending=True)
                with lock:
                    some.less[span] += found.less
                    some.equal[span] += found.equal
            side.learn(counter)

    for _ in tables.map(count, "ranks of anchors"):
        pass
    out = []
    for ranks, some in zip(known, asked, strict=True):
        ranks.less[some.where], ranks.equal[some.where] = some.less[some.query], some.equal[some.query]
        out.append(ranks)
    return out


class _RankQueries(NamedTuple):
    """Different distances of each anchor whose ranks are counted, and the entries (``where``) that ask for them."""

    start: Array
    d: Array
    less: Array
    equal: Array
    where: Array
    query: Array

    @classmethod
    def of(cls, i: Array, d: Array, ask: Array, m: int) -> _RankQueries:
        where = np.flatnonzero(ask)
        order = np.lexsort((d[where], i[where]))
        where = where[order]
        i, d = i[where], d[where]
        new = np.concatenate([[True], (i[1:] != i[:-1]) | (d[1:] != d[:-1])]) if len(i) else np.zeros(0, dtype=bool)
        counts = np.bincount(i[new], minlength=m)
        less, equal = np.zeros((2, int(new.sum())), dtype=np.int64)
        return cls(starts(counts), np.ascontiguousarray(d[new]), less, equal, where, np.cumsum(new) - 1)


def _known(own: _Entries, other: _Entries) -> Ranks:
    """Return the ranks of listed points on the other side by its lists, where these reach as far."""
    m = len(own.i)
    i = np.concatenate([own.i, other.i])
    d = np.concatenate([own.other_d, other.d])
    weights = np.concatenate([np.zeros(m, dtype=np.int64), other.weights])
    listed = np.arange(len(i)) >= m

    def before(listed_first: bool) -> Array:
        """Return the weight of all entries of the other side's lists that are sorted before each own entry."""
        order = np.lexsort((listed != listed_first, d, i))
        total = np.cumsum(weights[order])
        out = np.empty(len(i), dtype=np.int64)
        out[order] = total
        return out[:m]

    nearer = before(listed_first=False)
    start = np.concatenate([[0], np.cumsum(np.bincount(other.i, other.weights, minlength=int(i.max(initial=0)) + 1))])
    less = nearer - start[own.i].astype(np.int64)
    return Ranks(less, before(listed_first=True) - nearer)
