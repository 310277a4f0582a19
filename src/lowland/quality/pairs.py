"""Distances of pairs, in the data (δ) and in the map (d): all pairs, or some that were drawn.

Drawn pairs are independent draws from all pairs of these points. So the spread of the batches they are drawn in tells
how far the value may be from that of all pairs: half the interval is t·s/√B, s the standard deviation of the measure
over B batches. (Drawn pairs share points, and for a statement on points that were never seen the interval would be too
narrow. None is made: a measure is about the points given.)

For a group the pairs are those that begin at one of its points and end at any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from .. import pool
from ..errors import DataError
from ..graph.measures import BoundMetric, RuleRows, SquareRows
from ..measure import Measure
from ..pairwise import tiles
from ..planning import check_allocation
from ..reducer import seed
from .anchors import Labels, labels
from .spaces import SIDE, Sides, distances_from, distances_of, rectangles, sides

Array = Any

ALL_SUMS = 10_000  # points up to which all pairs are summed
ALL_ORDERED = 5_000  # points up to which all pairs are sorted, which takes memory for each pair
DRAWN = 1_000_000  # pairs drawn beyond
NUMBERS = 2_000_000_000  # that they are compared in: of rows wider than 2,000 columns fewer pairs are drawn
SORTED_NUMBERS = 20_000_000_000  # the same where all pairs are sorted, for which each is compared by itself
FEWEST = 1_000  # pairs that can be asked for
BATCHES = 50
_BATCH = 400  # pairs in a batch, where there are enough for ten
_GROUP = 5_000  # pairs drawn for a group at least
_BLOCK = 1 << 19  # pairs summed at a time
_TIE = 1e-12  # of the largest distance: what differs by less is a tie


class UndefinedError(DataError):
    """A measure has no value for these points, such as a correlation of distances that are all equal."""


@dataclass(frozen=True)
class Pilot:
    """The centre of δ and the slope of d, roughly: sums around them lose no digits where the map is nearly true."""

    center: float
    slope: float


# What is summed over pairs: their number; x = δ − centre, e = d − slope·δ and their products; |δ − d|; and over pairs
# of different rows (δ > 0) e and e²/δ.
COUNT, SUM_X, SUM_E, SUM_XX, SUM_EE, SUM_XE, SUM_GAP, SUM_E_APART, SUM_EE_BY_DELTA = range(9)


def pair_sums(delta: Array, d: Array, pilot: Pilot, own: Array | None = None) -> Array:
    """Return the sums over the last axis, 9 a row; ``own`` are the places of the points themselves, which are no pairs.

    >>> found = pair_sums(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]), Pilot(1.5, 1.0))
    >>> found[0, [COUNT, SUM_X, SUM_E, SUM_GAP]].tolist()
    [2.0, 0.0, 1.0, 1.0]
    """
    x, e = delta - pilot.center, d - pilot.slope * delta
    if own is not None:
        x[np.arange(len(x)), own] = 0.0
    out = np.empty((len(x), 9))
    out[:, COUNT] = x.shape[1] - (own is not None)
    out[:, SUM_X], out[:, SUM_E] = x.sum(axis=1), e.sum(axis=1)
    out[:, SUM_XX], out[:, SUM_EE] = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", e, e)
    out[:, SUM_XE] = np.einsum("ij,ij->i", x, e)
    out[:, SUM_GAP] = np.abs(np.subtract(delta, d, out=x), out=x).sum(axis=1)
    e[delta == 0] = 0.0
    out[:, SUM_E_APART] = e.sum(axis=1)
    np.multiply(e, e, out=e)
    out[:, SUM_EE_BY_DELTA] = np.divide(e, delta, out=e, where=delta > 0).sum(axis=1)
    return out


@dataclass(frozen=True)
class Values:
    """δ and d of pairs: all of them in one batch, or drawn in several."""

    batches: tuple[tuple[Array, Array], ...]
    exact: bool

    def joined(self) -> tuple[Array, Array]:
        """Return all of them in a row."""
        delta, d = zip(*self.batches, strict=True)
        return (delta[0], d[0]) if len(delta) == 1 else (np.concatenate(delta), np.concatenate(d))


class PairTable:
    """The pairs that the measures of one comparison share.

    Parameters
    ----------
    both : Sides
        The data and the map.
    pairs : "auto", int or None
        How many to draw; None: all; "auto": all up to 10,000 points (5,000 where pairs are sorted, fewer of rows wider
        than 1,600 columns), then 1,000,000 (fewer of rows wider than 2,000 columns, 100,000 at least).
    random_state : int, optional
        Seed of the draw.
    groups : Labels, optional
        Groups to measure by themselves, too.
    """

    def __init__(
        self, both: Sides, pairs: int | str | None = "auto", random_state: Any = None, groups: Labels | None = None
    ) -> None:
        self.both, self.groups = both, groups
        self.total = both.n * (both.n - 1) // 2
        self.wanted = _wanted(pairs, self.total)
        self._streams = seed(random_state).spawn(1 + (0 if groups is None else len(groups.names)))

    @classmethod
    def of(
        cls, X: Any, Y: Any, metric: Any, pairs: int | str | None, random_state: Any, groups: Any, owner: str
    ) -> PairTable:
        """Make a table from what users give."""
        both = sides(X, Y, metric, owner)
        return cls(both, pairs, random_state, None if groups is None else labels(groups, both.n, owner))

    # -- sums ---------------------------------------------------------------------------------------------

    @cached_property
    def pilot(self) -> Pilot:
        """The centre and slope of some pairs; they only steady the sums, so they need no seed of the user's."""
        delta, d = Values(tuple(self._draw(2000, None, np.random.default_rng(0), 1)), exact=False).joined()
        square = float(delta @ delta)
        return Pilot(float(delta.mean()), float(delta @ d) / square if square > 0 else 1.0)

    @cached_property
    def sums(self) -> list[tuple[Array, bool]]:
        """Sums by parts, and whether all pairs are in them: of the whole, then of each group."""
        if self.everything(ALL_SUMS):
            rows = self._all_sums()
            return [(rows if members is None else rows[members], True) for members in self._members()]
        return [
            (np.concatenate([pair_sums(x[None], y[None], self.pilot) for x, y in found.batches]), False)
            for found in self.drawn
        ]

    def _members(self) -> list[Array | None]:
        """Return whose pairs are looked at: everybody's (None), then each group's."""
        return [None, *(() if self.groups is None else map(self.groups.members, range(len(self.groups.names))))]

    def _all_sums(self) -> Array:
        """Return the sums of each point with all others."""
        n, pilot = self.both.n, self.pilot

        def work(part: slice) -> Array:
            numbers = np.arange(part.start, part.stop)
            delta, d = (distances_from(side, numbers) for side in (self.both.data, self.both.map))
            delta[np.arange(len(numbers)), numbers] = d[np.arange(len(numbers)), numbers] = 0.0
            return pair_sums(delta, d, pilot, own=numbers)

        parts = tiles(n, max(16, _BLOCK // n))
        return np.concatenate(list(pool.run(work, parts, stage="pairs", total=len(parts))))

    # -- values -------------------------------------------------------------------------------------------

    def everything(self, limit: int) -> bool:
        """Tell whether all pairs are taken, where "auto" takes all up to so many points."""
        if self.wanted != 0:
            return self.wanted is None
        return self.both.n <= limit and (limit != ALL_ORDERED or self.total * self._width <= SORTED_NUMBERS)

    @property
    def _width(self) -> int:
        """Numbers that a pair of rows is compared in."""
        return max(1, int(getattr(self.both.data, "width", 1)))

    @cached_property
    def drawn(self) -> list[Values]:
        """Drawn pairs: of the whole, then of each group."""
        count = self.wanted or min(DRAWN, max(DRAWN // 10, NUMBERS // self._width))
        each = min(count, max(_GROUP, count // max(1, len(self._streams) - 1)))
        found = []
        for members, rng in zip(self._members(), self._streams, strict=True):
            size = count if members is None else each
            batches = min(BATCHES, max(10, size // _BATCH))
            found.append(Values(tuple(self._draw(size, members, rng, batches)), exact=False))
        return found

    def ordered(self) -> Iterator[Values]:
        """Yield pairs to be sorted, their distances exact to the last bit: of the whole, then of each group."""
        if not self.everything(ALL_ORDERED):
            yield from self.drawn
            return
        check_allocation(56 * self.total, "all pairs in their order", "draw some of them, such as pairs=1_000_000")
        for members in self._members():
            yield Values((self._all_pairs() if members is None else self._pairs_from(members),), exact=True)

    def _all_pairs(self) -> tuple[Array, Array]:
        n = self.both.n
        starts = np.concatenate([[0], np.cumsum(n - 1 - np.arange(n))])
        delta, d = np.empty(self.total), np.empty(self.total)

        def work(part: slice) -> None:
            numbers = np.arange(part.start, part.stop)
            i, j = np.nonzero(np.arange(n)[None, :] > numbers[:, None])
            span = slice(starts[part.start], starts[part.stop])
            delta[span], d[span] = (_exactly(side, numbers, i, j) for side in (self.both.data, self.both.map))

        for _ in pool.run(work, parts := tiles(n, max(1, _BLOCK // n)), stage="pairs", total=len(parts)):
            pass
        return delta, d

    def _pairs_from(self, members: Array) -> tuple[Array, Array]:
        """Return the distances of some points to all others."""
        n = self.both.n

        def work(part: slice) -> tuple[Array, Array]:
            i, j = np.nonzero(np.arange(n)[None, :] != members[part, None])
            delta, d = (_exactly(side, members[part], i, j) for side in (self.both.data, self.both.map))
            return delta, d

        found = list(pool.run(work, tiles(len(members), max(1, _BLOCK // n))))
        return tuple(np.concatenate(x) for x in zip(*found, strict=True))  # type: ignore[return-value]

    def _draw(
        self, count: int, members: Array | None, rng: np.random.Generator, batches: int
    ) -> Iterator[tuple[Array, Array]]:
        """Yield δ and d of random pairs, batch by batch: a point (of some) and any other."""
        n = self.both.n
        blocks = isinstance(self.both.data, RuleRows)
        size = -(-count // batches)

        def points(m: int) -> Array:
            return rng.integers(n, size=m) if members is None else members[rng.integers(len(members), size=m)]

        def numbers() -> tuple[Array, Array]:
            if blocks:  # such a metric compares blocks: all pairs of a few points with a few others
                m = SIDE * -(-size // SIDE**2)
                return rectangles(points(m), rng.integers(n, size=m))
            i, j = points(size), rng.integers(n - 1, size=size)
            return i, j + (j >= i)

        def work(pair: tuple[Array, Array]) -> tuple[Array, Array]:
            i, j = pair
            delta = distances_of(self.both.data, i, j)
            if not blocks:
                return delta, distances_of(self.both.map, i, j)
            apart = i != j
            return delta[apart], distances_of(self.both.map, i[apart], j[apart])

        return pool.run(work, (numbers() for _ in range(batches)), stage="pairs", total=batches)

    # -- measures -----------------------------------------------------------------------------------------

    def of_sums(self, value: Callable[[Array, Pilot], float], span: tuple[float, float], undefined: str) -> Measure:
        """Return the measure that is a function of the sums; ``span`` are the values it can have."""
        found = []
        for part, exact in self.sums:
            few = () if exact else [value(row, self.pilot) for row in part]
            found.append(_with_interval(value(part.sum(axis=0), self.pilot), few, span))
        return defined(self._grouped(found), undefined)

    def of_order(self, *measures: tuple[Callable[[Array, Array], float], tuple[float, float]]) -> list[Measure]:
        """Return measures that are functions of δ and d of pairs, each given with its span; NaN where undefined."""
        found: list[list[Measure]] = [[] for _ in measures]
        for part in self.ordered():
            for out, (value, span) in zip(found, measures, strict=True):
                few = () if part.exact else list(pool.run(partial(_apply, value), part.batches))
                out.append(_with_interval(value(*part.joined()), few, span))
        return [self._grouped(parts) for parts in found]

    def _grouped(self, found: list[Measure]) -> Measure:
        whole, *parts = found
        if self.groups is None:
            return whole
        groups: Mapping[Any, Measure] = dict(zip(self.groups.names, parts, strict=True))
        return Measure(float(whole), whole.low, whole.high, exact=whole.exact, groups=groups)


def _apply(value: Callable[[Array, Array], float], batch: tuple[Array, Array]) -> float:
    return value(*batch)


def defined(measure: Measure, undefined: str) -> Measure:
    """Return a measure, or say that it has no value."""
    if np.isnan(measure):
        raise UndefinedError(undefined)
    return measure


def _wanted(pairs: int | str | None, total: int) -> int | None:
    """Read the number of pairs: None for all, 0 for the usual."""
    if pairs is None:
        return None
    if isinstance(pairs, str) and pairs == "auto":
        return 0
    if isinstance(pairs, bool) or not isinstance(pairs, int | np.integer) or pairs < FEWEST:
        raise ValueError(f"pairs must be 'auto', None (all) or a whole number of at least {FEWEST}; it is {pairs!r}")
    return None if pairs >= total else int(pairs)


def _exactly(side: BoundMetric, numbers: Array, i: Array, j: Array) -> Array:
    """Return the distances of the points ``numbers[i]`` to the points j, with the same bits in every order."""
    if isinstance(side, RuleRows | SquareRows):
        return side.compare(side.own(numbers))[i, j]
    return side.exact(side.own(numbers), i, j, np.empty(0))


def _with_interval(value: float, batches: Any, span: tuple[float, float]) -> Measure:
    """Return a value with the interval that the values of batches tell; none where there are no batches."""
    if not len(batches) or not np.isfinite(value):
        return Measure(value, exact=not len(batches))
    from scipy.special import stdtrit

    few = np.asarray(batches)[np.isfinite(batches)]
    if len(few) < 2:
        return Measure(value, *span, exact=False)
    half = float(stdtrit(len(few) - 1, 0.975) * few.std(ddof=1) / np.sqrt(len(few)))
    return Measure(value, min(value, max(span[0], value - half)), max(value, min(span[1], value + half)), exact=False)


def levels(values: Array) -> tuple[Array, Array]:
    """Return an order that sorts the values, and in this order the number of each value's level; ties share one.

    >>> levels(np.array([3.0, 1.0, 3.0]))[1].tolist()
    [0, 1, 1]
    """
    order = np.argsort(values)  # of ties in any order: they share a level
    ranked = values[order]
    level = np.zeros(len(values), dtype=np.int64)
    np.cumsum(np.diff(ranked) > _TIE * abs(ranked[-1]), out=level[1:])
    return order, level
