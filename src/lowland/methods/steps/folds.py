"""What a pass over training rows finds: sums, counts and samples, a part for each block, added up in row order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from ...core.cost import check_allocation
from ...rows.sampling import reservoir_of
from . import frames

Array = Any


class Fold(ABC):
    """Something that a pass finds. Parts are made from blocks wherever the rows are; they are added in row order.

    ``_sums`` names the attributes that parts change, as plain values and arrays, from which an interrupted pass
    continues.
    """

    _sums: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def part(self, start: int, frame: pl.DataFrame) -> Any:
        """Return what a block adds; ``start`` is the number of its first row. Nothing of this object is changed."""

    @abstractmethod
    def add(self, part: Any) -> None:
        """Add the part of the next block."""

    def state(self) -> dict[str, Any]:
        """Return what was found so far, as plain values."""
        return {name: getattr(self, name) for name in self._sums}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of an interrupted pass."""
        for name in self._sums:
            setattr(self, name, state[name])


class Check(Fold):
    """Something that raises where a block cannot be used; nothing is added up."""

    def __init__(self, work: Callable[[pl.DataFrame], Any]) -> None:
        self._work = work

    def part(self, start: int, frame: pl.DataFrame) -> None:
        """Check a block."""
        self._work(frame)

    def add(self, part: None) -> None:
        """Go on."""


class _ColumnPart(NamedTuple):
    count: Array
    low: Array
    high: Array
    origin: Array
    offset: Array
    unit: Array
    squares: Array


def _sums_of(x: Array) -> tuple[float, ...]:
    """Return the sums of the values of a column, as in `_ColumnPart`; column by column they stay in the cache."""
    gaps = np.isnan(x)
    count = float(len(x) - np.count_nonzero(gaps))
    if not count:
        return 0.0, np.inf, -np.inf, 0.0, 0.0, 1.0, 0.0
    low, high = np.fmin.reduce(x), np.fmax.reduce(x)
    origin = low / 2 + high / 2
    unit = np.ldexp(1.0, np.frexp(max(high - origin, origin - low))[1])
    apart = x - origin
    apart /= unit
    apart[gaps] = 0.0
    offset = 0.0 if low == high else apart.sum() / count
    apart -= offset
    apart[gaps] = 0.0
    return count, low, high, origin, offset * unit, unit, np.square(apart, out=apart).sum()


class ColumnSums(Fold):
    """Number of values, smallest, largest, mean and standard deviation (divisor N) of columns of numbers.

    Missing cells are left out. Blocks are merged as Chan, Golub and LeVeque (1983) do. The mean is an origin and an
    offset, so that a large mean costs no digits; squares have a power of two as their unit, so that none overflows.

    >>> sums = ColumnSums(["a"])
    >>> for block in ([1.0, 2.0, None], [6.0]):
    ...     sums.add(sums.part(0, pl.DataFrame({"a": block})))
    >>> [float(array[0].round(3)) for array in (sums.count, sums.low, sums.high, sums.mean, sums.deviation)]
    [3.0, 1.0, 6.0, 3.0, 2.16]
    """

    _sums = ("count", "low", "high", "_origin", "_offset", "_unit", "_squares")

    def __init__(self, names: Sequence[str]) -> None:
        self.names, d = list(names), len(names)
        self.count: Array = np.zeros(d, dtype=np.int64)
        self.low: Array = np.full(d, np.inf)
        self.high: Array = np.full(d, -np.inf)
        self._origin, self._offset, self._unit, self._squares = np.zeros(d), np.zeros(d), np.ones(d), np.zeros(d)

    def part(self, start: int, frame: pl.DataFrame) -> _ColumnPart:
        """Return the sums of a block."""
        with np.errstate(invalid="ignore"):  # of infinite cells
            found = np.array(list(map(_sums_of, frames.each_column(frame, self.names)))).reshape(-1, 7)
        if not np.isfinite(found[found[:, 0] > 0]).all():
            frames.numbers(frame, self.names)  # raises at the first infinite cell in the order of the rows
        return _ColumnPart(found[:, 0].astype(np.int64), *found[:, 1:].T)

    def add(self, part: _ColumnPart) -> None:
        """Merge the sums of the next block."""
        old, new = self.count > 0, part.count > 0
        share = part.count / np.maximum(self.count + part.count, 1)
        delta = np.where(old & new, (part.origin - self._origin) + (part.offset - self._offset), 0.0)
        before, after = np.where(old, self._unit, part.unit), np.where(new, part.unit, self._unit)
        unit = np.maximum(before, after)
        squares = self._squares * (before / unit) ** 2 + part.squares * (after / unit) ** 2
        self._squares = np.where(old & new, squares + (delta / unit) ** 2 * (self.count * share), squares)
        self._origin = np.where(old, self._origin, part.origin)
        self._offset = np.where(old, self._offset + delta * share, part.offset)
        self._unit, self.count = unit, self.count + part.count
        self.low, self.high = np.minimum(self.low, part.low), np.maximum(self.high, part.high)

    @property
    def mean(self) -> Array:
        """The mean of each column."""
        return np.clip(self._origin + self._offset, self.low, np.where(self.count > 0, self.high, self.low))

    @property
    def deviation(self) -> Array:
        """The square root of the mean squared distance from the mean."""
        return np.sqrt(self._squares / np.maximum(self.count, 1)) * self._unit


class ValueCounts(Fold):
    """How many cells of columns of any type are not missing.

    >>> values = ValueCounts(["a"])
    >>> values.add(values.part(0, pl.DataFrame({"a": ["x", None]})))
    >>> values.counts.tolist()
    [1]
    """

    _sums = ("counts",)

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self.counts: Array = np.zeros(len(names), dtype=np.int64)

    def part(self, start: int, frame: pl.DataFrame) -> Array:
        """Return the counts of a block."""
        return np.array([frame.height - frame[name].null_count() for name in self._names], dtype=np.int64)

    def add(self, part: Array) -> None:
        """Add the counts of the next block."""
        self.counts = self.counts + part


class LevelCounts(Fold):
    """How often each text occurs in columns of categories; missing cells are not counted.

    >>> levels = LevelCounts(["a"])
    >>> levels.add(levels.part(0, pl.DataFrame({"a": ["x", None, "y", "x"]})))
    >>> sorted(levels.counts["a"].items())
    [('x', 2), ('y', 1)]
    """

    _sums = ("counts",)

    def __init__(self, names: Sequence[str]) -> None:
        self.counts: dict[str, dict[str, int]] = {name: {} for name in names}

    def part(self, start: int, frame: pl.DataFrame) -> dict[str, dict[str, int]]:
        """Return the counts of a block."""
        found = {}
        for name in self.counts:
            table = frame[name].drop_nulls().cast(pl.String).value_counts()
            found[name] = dict(zip(table[name].to_list(), table["count"].to_list(), strict=True))
        return found

    def add(self, part: dict[str, dict[str, int]]) -> None:
        """Add the counts of the next block."""
        for name, counts in part.items():
            own = self.counts[name]
            for level, count in counts.items():
                own[level] = own.get(level, 0) + count


class SampledNumbers(Fold):
    """Columns of numbers of rows that are drawn uniformly: the rows with the smallest keys of `rows.sampling`.

    The sample does not depend on the blocks, and a larger one with the same seed contains a smaller one.
    """

    def __init__(self, names: Sequence[str], count: int, known_rows: int | None, seed: int = 0) -> None:
        self.names = list(names)
        self._reservoir = reservoir_of(known_rows, count, seed)

    def part(self, start: int, frame: pl.DataFrame) -> tuple[int, int, Array, Array, Array]:
        """Return the drawn rows of a block."""
        keys, places = self._reservoir.candidates(start, frame.height)
        return start, frame.height, keys, places, frames.numbers(frame[places], self.names)

    def add(self, part: tuple[int, int, Array, Array, Array]) -> None:
        """Keep the drawn rows of the next block."""
        self._reservoir.add(*part)

    @property
    def rows(self) -> Array:
        """The drawn rows, in the order of the table."""
        if not self._reservoir.n_rows:
            return np.empty((0, len(self.names)))
        return np.asarray(self._reservoir.sample().rows)

    def smallest(self, count: int) -> Array:
        """Return the sample of fewer rows with the same seed."""
        found = self._reservoir.sample()
        return np.asarray(found.rows if count >= len(found.rows) else found.split(count)[0])

    def state(self) -> dict[str, Any]:
        """Return the drawn rows and how many rows were read."""
        return self._reservoir.state()

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from the drawn rows of an interrupted pass."""
        self._reservoir.resume(state)


class FirstValues(Fold):
    """The first rows that have values in some columns, at most ``count`` for each of these.

    >>> first = FirstValues(["b"], ["a", "b"], 1)
    >>> first.add(first.part(0, pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [None, 5.0, 6.0]})))
    >>> first.rows.tolist()
    [[2.0, 5.0]]
    """

    _sums = ("_found", "_counts")

    def __init__(self, wanted: Sequence[str], names: Sequence[str], count: int) -> None:
        self._wanted, self._names, self._count = list(wanted), list(names), count
        self._found: list[Array] = []
        self._counts: Array = np.zeros(len(wanted), dtype=np.int64)

    def part(self, start: int, frame: pl.DataFrame) -> Array:
        """Return the first rows of a block that have values in the wanted columns."""
        seen = frame.select(pl.col(self._wanted).is_not_null()).to_numpy()
        rows = np.flatnonzero((seen & (np.cumsum(seen, axis=0) <= self._count)).any(axis=1))
        return frames.numbers(frame[rows], self._names)

    def add(self, part: Array) -> None:
        """Keep the rows of the next block that are among the first."""
        places = [self._names.index(name) for name in self._wanted]
        seen = ~np.isnan(part[:, places])
        kept = (seen & (self._counts + np.cumsum(seen, axis=0) <= self._count)).any(axis=1)
        self._counts = self._counts + seen[kept].sum(axis=0)
        if kept.any():
            self._found.append(part[kept])

    @property
    def rows(self) -> Array:
        """The rows that were kept."""
        return np.concatenate([np.empty((0, len(self._names))), *self._found])


class DistinctCounts(Fold):
    """The distinct values of columns of numbers, ascending, and how often each occurs.

    >>> distinct = DistinctCounts(["a"])
    >>> for block in ([2.0, 1.0], [2.0, None]):
    ...     distinct.add(distinct.part(0, pl.DataFrame({"a": block})))
    >>> [array.tolist() for array in distinct.of("a")]
    [[1.0, 2.0], [1, 2]]
    """

    _sums = ("_parts",)
    _MAX_PARTS = 16  # that wait to be merged

    def __init__(self, names: Sequence[str]) -> None:
        self._parts: dict[str, list[list[Array]]] = {name: [] for name in names}

    def part(self, start: int, frame: pl.DataFrame) -> dict[str, list[Array]]:
        """Return the distinct values of a block."""
        found = {}
        for name in self._parts:
            values = frames.values_of(frame, name)
            found[name] = [*np.unique(values[~np.isnan(values)], return_counts=True)]
        return found

    def add(self, part: dict[str, list[Array]]) -> None:
        """Add the values of the next block."""
        for name, own in part.items():
            self._parts[name].append(own)
            if len(self._parts[name]) > self._MAX_PARTS:
                self._parts[name] = [self.of(name)]

    def of(self, name: str) -> list[Array]:
        """Return the distinct values of a column and their counts."""
        parts = self._parts[name]
        size = sum(len(values) for values, _ in parts)
        check_allocation(4 * 16 * size, f"the distinct values of column {name!r}", "leave it out of the ranked columns")
        values = np.concatenate([np.empty(0), *(values for values, _ in parts)])
        counts = np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in parts)])
        distinct, places = np.unique(values, return_inverse=True)
        return [distinct, np.bincount(places, weights=counts, minlength=len(distinct)).astype(np.int64)]
