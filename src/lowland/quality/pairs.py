"""Distances of pairs in the data (δ) and in the map (d): of all pairs, or of a sample.

Pairs are sampled in independent batches, whose variance gives the interval for the value over all pairs (`intervals`).
Within a batch pairs are independent, too, except for metrics that compare blocks only: there a batch consists of blocks
of 32 × 32 pairs. The interval refers to the given points. For a population of points it would be too narrow, because
sampled pairs share points; `pairs_of_rows` is for that case.

The pairs of a group begin at one of its points and end at any other point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core import thread_pool
from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Code, Message, Owner, Remedies, Setting
from ..graph.measures import BoundMetric, RuleRows, SquareRows
from ..pairs.pairwise import tiles
from .anchors import Labels, check_seed, labels
from .intervals import of_batches, of_parts
from .spaces import SIDE, Sides, distances_from, distances_of, rectangles, sides

Array = Any

ALL_SUMS = 10_000  # up to this number of points, all pairs are summed
ALL_ORDERED = 5_000  # up to this number of points, all pairs are sorted, which takes memory for each pair
DRAWN = 1_000_000  # pairs sampled if there are more points
NUMBERS = 2_000_000_000  # pairs × columns: of rows with more than 2,000 columns fewer pairs are sampled
SORTED_NUMBERS = 20_000_000_000  # the same limit if all pairs are sorted, each compared individually
FEWEST = 1_000  # smallest number of pairs allowed
BATCHES = 50
_PAIRS_PER_BATCH = 400  # pairs in a batch, if there are enough for ten
_PAIRS_PER_GROUP = 5_000  # least number of pairs sampled for a group
_PAIRS_AT_ONCE = 1 << 19  # pairs summed at a time
_SORT_BYTES = 88  # memory for sorting a pair: 84 bytes measured with ties, 57 without


class OrderMeasure(NamedTuple):
    """A function of δ and d of pairs, its range, and whether a curve is fitted to the pairs."""

    value: Callable[[Array, Array], float]
    span: tuple[float, float]
    fitted: bool = False


class UndefinedError(DataError):
    """A measure is undefined for these points, such as the correlation of equal distances."""


@dataclass(frozen=True)
class Pilot:
    """Approximate centre of δ and slope of d: sums relative to them avoid cancellation."""

    center: float
    slope: float


# Sums over pairs: their number; x = δ − centre, e = d − slope·δ and their products; |δ − d|; and over pairs of
# different rows (δ > 0) e and e²/δ.
COUNT, SUM_X, SUM_E, SUM_XX, SUM_EE, SUM_XE, SUM_GAP, SUM_E_APART, SUM_EE_BY_DELTA = range(9)


def pair_sums(delta: Array, d: Array, pilot: Pilot, own: Array | None = None) -> Array:
    """Return the 9 sums over the last axis; ``own`` is the column of the point itself in each row, which is no pair.

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
    """δ and d of pairs: all of them in one batch, or a sample in several batches."""

    batches: tuple[tuple[Array, Array], ...]
    exact: bool

    def joined(self) -> tuple[Array, Array]:
        """Return all batches as one."""
        delta, d = zip(*self.batches, strict=True)
        return (delta[0], d[0]) if len(delta) == 1 else (np.concatenate(delta), np.concatenate(d))

    def measured(self, measure: OrderMeasure, value: float) -> Measure:
        """Return the value of a measure with the interval from its values in the batches."""
        if self.exact:
            return Measure(value)
        few = list(thread_pool.run(lambda batch: measure.value(*batch), self.batches))
        return of_batches(value, few, measure.span, fitted=measure.fitted)


class PairTable:
    """The pairs shared by the measures of one evaluation.

    Parameters
    ----------
    both : Sides
        The data and the map.
    pairs : "auto", int or None
        Number of pairs to sample; None: all; "auto": all up to 10,000 points (5,000 if pairs are sorted, fewer with
        more than 1,600 columns), then 1,000,000 (fewer with more than 2,000 columns, but at least 100,000).
    random_state : int, optional
        Random seed of the sample.
    groups : Labels, optional
        Groups to measure as well.
    owner : str
        Name of the function in error messages.
    """

    def __init__(
        self,
        both: Sides,
        pairs: int | str | None = "auto",
        random_state: int | None = None,
        groups: Labels | None = None,
        owner: str = "quality",
    ) -> None:
        self.both, self.groups, self.owner = both, groups, owner
        self.total = both.n * (both.n - 1) // 2
        self.requested_pairs = _number_of_pairs(pairs, self.total, owner)
        count = 1 + (0 if groups is None else len(groups.names))
        self._seed = check_seed(random_state, owner)
        self._streams = np.random.default_rng(self._seed).spawn(count)

    @classmethod
    def of(
        cls, X: Any, Y: Any, metric: Any, pairs: int | str | None, random_state: Any, groups: Any, owner: str
    ) -> PairTable:
        """Make a table from the arguments of a public function."""
        both = sides(X, Y, metric, owner)
        return cls(both, pairs, random_state, None if groups is None else labels(groups, both.n, owner), owner)

    # -- sums ---------------------------------------------------------------------------------------------

    @cached_property
    def pilot(self) -> Pilot:
        """The centre and slope of some pairs; they only stabilise the sums, so a fixed seed is used."""
        delta, d = Values(tuple(self._draw(2000, None, np.random.default_rng(0), 1)), exact=False).joined()
        square = float(delta @ delta)
        slope = float(delta @ d) / square if square > 0 else 0.0
        return Pilot(float(delta.mean()), slope if slope > 0 else self._rough_slope())

    def _rough_slope(self) -> float:
        """Return the ratio of the extents of map and data, if the sampled pairs have no positive slope."""
        delta, d = (float(distances_from(side, np.zeros(1, dtype=np.intp)).max()) for side in self.both[:2])
        return d / delta if delta > 0 and d > 0 else 1.0

    @cached_property
    def sums(self) -> list[tuple[Array, bool]]:
        """Sums by parts, and whether all pairs are in them: of the whole, then of each group."""
        if self.everything(ALL_SUMS):
            rows = self.all_sums
            return [(rows if members is None else rows[members], True) for members in self._members()]
        return [(self._sums_of(found.batches), False) for found in self.drawn]

    def _sums_of(self, batches: Iterable[tuple[Array, Array]]) -> Array:
        return np.concatenate([pair_sums(x[None], y[None], self.pilot) for x, y in batches])

    def _members(self) -> list[Array | None]:
        """Return the points whose pairs are used: all (None), then those of each group."""
        return [None, *(() if self.groups is None else map(self.groups.members, range(len(self.groups.names))))]

    @cached_property
    def all_sums(self) -> Array:
        """The sums of each point with all others."""
        points = np.arange(self.both.n)
        return self.sums_between(points, points)

    def sums_between(self, first: Array, ends: Array) -> Array:
        """Return the sums over pairs of each point in ``first`` with all others in ``ends``, a superset of it."""
        n, pilot = self.both.n, self.pilot
        places: Array = np.searchsorted(ends, first)
        whole = len(ends) == n

        def work(part: slice) -> Array:
            own = places[part]
            found = (distances_from(side, first[part]) for side in (self.both.data, self.both.map))
            delta, d = (V if whole else V[:, ends] for V in found)
            delta[np.arange(len(own)), own] = d[np.arange(len(own)), own] = 0.0
            return pair_sums(delta, d, pilot, own=own)

        parts = tiles(len(first), max(16, _PAIRS_AT_ONCE // n))
        return np.concatenate(list(thread_pool.run(work, parts, stage="pairs", total=len(parts))))

    # -- values -------------------------------------------------------------------------------------------

    def everything(self, limit: int) -> bool:
        """Return whether all pairs are used, where "auto" uses all up to ``limit`` points."""
        if self.requested_pairs != 0:
            return self.requested_pairs is None
        return self.both.n <= limit and (limit != ALL_ORDERED or self.total * self._width <= SORTED_NUMBERS)

    @property
    def _width(self) -> int:
        """Number of columns."""
        return max(1, int(getattr(self.both.data, "width", 1)))

    @property
    def count(self) -> int:
        """Number of pairs to sample."""
        return self.requested_pairs or min(DRAWN, max(DRAWN // 10, NUMBERS // self._width))

    @cached_property
    def drawn(self) -> list[Values]:
        """Sampled pairs: of all points, then of each group."""
        count = self.count
        each = min(count, max(_PAIRS_PER_GROUP, count // max(1, len(self._streams) - 1)))
        found = []
        for members, rng in zip(self._members(), self._streams, strict=True):
            size = count if members is None else each
            batches = min(BATCHES, max(10, size // _PAIRS_PER_BATCH))
            found.append(Values(tuple(self._draw(size, members, rng, batches)), exact=False))
        return found

    def ordered(self) -> Iterator[Values]:
        """Yield pairs to be sorted, with exact distances: of all points, then of each group."""
        if not self.everything(ALL_ORDERED):
            yield from self.drawn
            return
        n, whose = self.both.n, self._members()
        most = max(self.total if members is None else len(members) * (n - 1) for members in whose)
        remedy = Message(
            Remedies(Message("draw some of them with ", Setting("pairs", Code("1_000_000"))), "use fewer rows")
        )
        check_allocation(_SORT_BYTES * most, "sorting all pairs", remedy)
        for members in whose:
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

        for _ in thread_pool.run(work, parts := tiles(n, max(1, _PAIRS_AT_ONCE // n)), stage="pairs", total=len(parts)):
            pass
        return delta, d

    def _pairs_from(self, members: Array) -> tuple[Array, Array]:
        """Return the distances of some points to all others."""
        n = self.both.n
        delta, d = np.empty(len(members) * (n - 1)), np.empty(len(members) * (n - 1))

        def work(part: slice) -> None:
            i, j = np.nonzero(np.arange(n)[None, :] != members[part, None])
            span = slice(part.start * (n - 1), part.stop * (n - 1))
            delta[span], d[span] = (_exactly(side, members[part], i, j) for side in (self.both.data, self.both.map))

        for _ in thread_pool.run(work, tiles(len(members), max(1, _PAIRS_AT_ONCE // n))):
            pass
        return delta, d

    def _draw(
        self, count: int, members: Array | None, rng: np.random.Generator, batches: int
    ) -> Iterator[tuple[Array, Array]]:
        """Yield δ and d of random pairs, batch by batch: a point (of some) and any other."""
        return (values for _, values in self.draw(count, members, rng, batches))

    def draw(
        self, count: int, members: Array | None, rng: np.random.Generator, batches: int
    ) -> Iterator[tuple[tuple[Array, Array], tuple[Array, Array]]]:
        """Yield the ends of random pairs, and their δ and d."""
        n, size = self.both.n, -(-count // batches)

        def points(m: int) -> Array:
            return rng.integers(n, size=m) if members is None else members[rng.integers(len(members), size=m)]

        def numbers() -> tuple[Array, Array]:
            if self.in_blocks:  # all pairs of a few points with a few others
                m = SIDE * -(-size // SIDE**2)
                return rectangles(points(m), rng.integers(n, size=m))
            i, j = points(size), rng.integers(n - 1, size=size)
            return i, j + (j >= i)

        def work(pair: tuple[Array, Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
            i, j = pair
            delta = distances_of(self.both.data, i, j)
            if self.in_blocks:
                apart = i != j
                i, j, delta = i[apart], j[apart], delta[apart]
            return (i, j), (delta, distances_of(self.both.map, i, j))

        return thread_pool.run(work, (numbers() for _ in range(batches)), stage="pairs", total=batches)

    @property
    def in_blocks(self) -> bool:
        """Whether the metric of the data compares blocks only, so that pairs are sampled in blocks."""
        return isinstance(self.both.data, RuleRows)

    def fresh(self) -> np.random.Generator:
        """Return a random generator independent of those of the pairs, the same at every call."""
        return np.random.default_rng(self._seed).spawn(len(self._streams) + 1)[-1]

    # -- measures -----------------------------------------------------------------------------------------

    def of_sums(self, value: Callable[[Array, Pilot], float], span: tuple[float, float]) -> Measure:
        """Return a measure that is a function of the sums, with range ``span``; NaN if undefined."""
        found = []
        for part, exact in self.sums:
            whole = float(value(part.sum(axis=0), self.pilot))
            found.append(Measure(whole) if exact else of_parts(part, lambda s: value(s, self.pilot), span))
        return self._grouped(found)

    def of_order(self, *measures: OrderMeasure) -> list[Measure]:
        """Return measures that depend on the order of δ and d; NaN if undefined."""
        found: list[list[Measure]] = [[] for _ in measures]
        for part in self.ordered():
            for out, measure in zip(found, measures, strict=True):
                out.append(part.measured(measure, measure.value(*part.joined())))
            del part  # frees its memory before the next pairs are made
        return [self._grouped(parts) for parts in found]

    def _grouped(self, found: list[Measure]) -> Measure:
        whole, *parts = found
        if self.groups is None:
            return whole
        groups: Mapping[Any, Measure] = dict(zip(self.groups.names, parts, strict=True))
        return Measure(float(whole), whole.low, whole.high, exact=whole.exact, groups=groups)


def defined(measure: Measure, table: PairTable) -> Measure:
    """Return a measure; raise `UndefinedError` if it is NaN."""
    if np.isnan(measure):
        raise UndefinedError(
            Message(
                Owner(table.owner),
                "all distances in the data or all in the map are equal, so this measure is not defined; leave it out",
            )
        )
    return measure


def _number_of_pairs(pairs: int | str | None, total: int, owner: str) -> int | None:
    """Read the number of pairs: None for all, 0 for the default."""
    if pairs is None:
        return None
    if isinstance(pairs, str) and pairs == "auto":
        return 0
    if isinstance(pairs, bool) or not isinstance(pairs, int | np.integer) or pairs < FEWEST:
        allowed = f" must be 'auto', None (all) or a whole number of at least {FEWEST}; it is {pairs!r}"
        raise ValueError(Message(Owner(owner), Setting("pairs"), allowed))
    return None if pairs >= total else int(pairs)


def _exactly(side: BoundMetric, numbers: Array, i: Array, j: Array) -> Array:
    """Return the distances of the points ``numbers[i]`` to the points j, with the same bits in any order."""
    if isinstance(side, RuleRows | SquareRows):
        return side.compare(side.own(numbers))[i, j]
    return side.exact(side.own(numbers), i, j, np.empty(0))
