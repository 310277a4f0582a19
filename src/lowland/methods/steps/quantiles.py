"""Exact quantiles of columns that are read in passes: counting in intervals around a guess from a sample.

From a sample of rows follows an interval in which a wanted value almost surely is. If it holds few values, one pass
collects them. Else a pass counts the values between those of the sample, and a further one collects those of one gap. A
wrong guess costs passes, never accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from . import frames
from .folds import ColumnSums, Fold

if TYPE_CHECKING:
    from .training_rows import TrainingRows

Array = Any

MAX_COLLECTED = 1 << 23  # values that one pass collects: 64 MB
_SAMPLE_ROWS = 1 << 16
_SAMPLE_CELLS = 1 << 22
_DEVIATIONS = 4.0  # of a rank in the sample, on each side of the guess
_EDGES = 1024  # by which an interval is divided where the sample has no values


def sample_rows(width: int) -> int:
    """Return the number of rows by which the intervals of so many columns are guessed."""
    return int(min(_SAMPLE_ROWS, max(1024, _SAMPLE_CELLS // max(1, width))))


def quantiles(rows: TrainingRows, sums: ColumnSums, sample: Array, shares: Sequence[float]) -> Array:
    """Return quantiles (shares × columns), linear between neighbouring values as `numpy.quantile` has them.

    ``sums`` are those of the columns, and ``sample`` holds rows of them, with NaN for missing cells. Columns without
    values have NaN.

    >>> from .training_rows import FrameRows
    >>> rows = FrameRows(pl.DataFrame({"a": [4.0, None, 1.0, 2.0]}))
    >>> sums = ColumnSums(["a"])
    >>> rows.run(sums)
    >>> quantiles(rows, sums, np.array([[2.0]]), [0.25, 0.5]).tolist()
    [[1.5], [2.0]]
    """
    places = np.outer(shares, np.maximum(sums.count - 1, 0))
    first, second = np.floor(places).astype(np.int64), np.ceil(places).astype(np.int64)
    columns = np.flatnonzero(sums.count).tolist()
    found = order_statistics(rows, sums, sample, {j: sorted({*first[:, j], *second[:, j]}) for j in columns})
    out = np.full(places.shape, np.nan)
    for i, j in ((i, j) for j in columns for i in range(len(shares))):
        out[i, j] = _between(found[j][first[i, j]], found[j][second[i, j]], float(places[i, j] % 1))
    return out


def _between(a: float, b: float, t: float) -> float:
    """Return a + (b − a)t, computed from the nearer end."""
    return float(a + (b - a) * t if t < 0.5 else b - (b - a) * (1 - t))


class Interval(NamedTuple):
    """Values from ``low`` to ``high`` of a column, about ``size`` of them, and the ranks that are expected there."""

    column: int
    low: float
    high: float
    size: float
    ranks: tuple[int, ...]


class _Cell(NamedTuple):
    """Consecutive values of a column: how many, and the values themselves if they were collected."""

    low: float
    high: float
    size: int
    values: Array | None = None


def order_statistics(
    rows: TrainingRows, sums: ColumnSums, sample: Array, ranks: Mapping[int, Sequence[int]]
) -> dict[int, dict[int, float]]:
    """Return the values of ranks, counted from 0, of columns, by their numbers; passes are made as they are needed."""
    found: dict[int, dict[int, float]] = {j: {} for j in ranks}
    if len(sample) == rows.known_rows:
        return {j: dict(zip(own, np.sort(sample[:, j])[list(own)].tolist(), strict=True)) for j, own in ranks.items()}
    open_ones = [guess for j, wanted in ranks.items() for guess in _guesses(sums, sample[:, j], j, wanted)]
    while open_ones:
        collect = sum(interval.size for interval in open_ones) <= MAX_COLLECTED
        edges = None if collect else [_edges(interval, sample[:, interval.column]) for interval in open_ones]
        counts = IntervalCounts(sums.names, open_ones, edges)
        rows.run(counts)
        left = dict[tuple[int, _Cell], list[int]]()
        for number, interval in enumerate(open_ones):
            cells = list(counts.cells(number, sums))
            ends = np.cumsum([cell.size for cell in cells])
            for r in interval.ranks:
                place = int(np.searchsorted(ends, r, "right"))
                cell = cells[place]
                if cell.values is not None:
                    found[interval.column][r] = float(cell.values[r - int(ends[place]) + cell.size])
                elif cell.low == cell.high:
                    found[interval.column][r] = cell.low
                else:
                    left.setdefault((interval.column, cell), []).append(r)
        open_ones = [Interval(j, cell.low, cell.high, cell.size, tuple(own)) for (j, cell), own in left.items()]
    return found


def _guesses(sums: ColumnSums, values: Array, j: int, ranks: Sequence[int]) -> Iterator[Interval]:
    """Yield the intervals in which ranks of a column are expected, one for ranks beside each other."""
    known, n = np.sort(values[~np.isnan(values)]), int(sums.count[j])
    groups = [[ranks[0]]]
    for before, r in pairwise(ranks):
        groups.append([r]) if r - before > 1 else groups[-1].append(r)
    share = len(known) / n
    for group in groups:
        part = (group[0] + 0.5) / n
        reach = _DEVIATIONS * np.sqrt(len(known) * part * (1 - part)) + 2
        first, last = int(np.floor(group[0] * share - reach)), int(np.ceil(group[-1] * share + reach))
        low = known[first] if 0 <= first < len(known) else sums.low[j]
        high = known[last] if 0 <= last < len(known) else sums.high[j]
        inside = n if not len(known) else min(1.0, (last - first + 1) / len(known)) * n
        yield Interval(j, float(low), float(high), inside, tuple(group))


def _edges(interval: Interval, values: Array) -> Array:
    """Return values that divide an interval: those of the sample, or every so many floating-point numbers."""
    within = np.unique(values[(values >= interval.low) & (values <= interval.high)])
    if len(within) > 2:
        return within
    low, high = (_number_of(value) for value in (interval.low, interval.high))
    steps = np.unique([low + (high - low) * i // _EDGES for i in range(_EDGES + 1)])
    return np.unique([_value_of(int(number)) for number in steps])


def _number_of(value: float) -> int:
    """Return the place of a number among all floating-point numbers, 0 for 0.0.

    >>> _number_of(-5e-324), _number_of(5e-324), _value_of(_number_of(-2.5))
    (-1, 1, -2.5)
    """
    bits = int(np.float64(abs(value)).view(np.int64))
    return -bits if value < 0 else bits


def _value_of(number: int) -> float:
    value = float(np.int64(abs(number)).view(np.float64))
    return -value if number < 0 else value


class IntervalCounts(Fold):
    """The values of columns in intervals: collected, or counted at and between ``edges``."""

    _sums: ClassVar[tuple[str, ...]] = ("below", "inside")

    def __init__(self, names: Sequence[str], intervals: Sequence[Interval], edges: Sequence[Array] | None) -> None:
        self._names, self._intervals, self._edges = list(names), list(intervals), edges
        self.below: list[int] = [0] * len(intervals)
        self.inside: list[list[Array]] = [[] for _ in intervals]

    def part(self, start: int, frame: pl.DataFrame) -> list[tuple[int, Array]]:
        """Return, for each interval, how many values are smaller, and the values or counts inside."""
        found, column, values = list[tuple[int, Array]](), -1, np.empty(0)
        for number, interval in enumerate(self._intervals):
            if interval.column != column:
                column = interval.column
                values = frames.values_of(frame, self._names[column])
            within = values[(values >= interval.low) & (values <= interval.high)]
            if self._edges is not None:
                edges = self._edges[number]
                places = np.searchsorted(edges, within, "left") + np.searchsorted(edges, within, "right")
                within = np.bincount(places, minlength=2 * len(edges) + 1).astype(float)  # odd: equal to an edge
            found.append((int(np.count_nonzero(values < interval.low)), within))
        return found

    def add(self, part: list[tuple[int, Array]]) -> None:
        """Add the next block."""
        for number, (below, inside) in enumerate(part):
            self.below[number] += below
            if self._edges is not None and self.inside[number]:
                self.inside[number] = [self.inside[number][0] + inside]
            elif len(inside):
                self.inside[number].append(inside)

    def cells(self, number: int, sums: ColumnSums) -> Iterator[_Cell]:
        """Yield all values of the column of an interval as consecutive cells."""
        j, low, high, _, _ = self._intervals[number]
        below, inside = self.below[number], self.inside[number]
        yield _Cell(float(sums.low[j]), _before(low), below)
        if self._edges is None:
            values = np.sort(np.concatenate([np.empty(0), *inside]))
            yield _Cell(low, high, len(values), values)
            counted = len(values)
        else:
            edges, counts = self._edges[number], inside[0] if inside else np.zeros(2 * len(self._edges[number]) + 1)
            ends = [_before(low), *edges.tolist(), _after(high)]
            for i, (one, other) in enumerate(pairwise(ends)):
                yield _Cell(_after(one), _before(other), int(counts[2 * i]))
                if i < len(edges):
                    yield _Cell(other, other, int(counts[2 * i + 1]))
            counted = int(counts.sum())
        yield _Cell(_after(high), float(sums.high[j]), int(sums.count[j]) - below - counted)


def _before(value: float) -> float:
    return float(np.nextafter(value, -np.inf))


def _after(value: float) -> float:
    return float(np.nextafter(value, np.inf))
