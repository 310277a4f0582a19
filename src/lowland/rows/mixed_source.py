"""Levels of categorical columns, and rows with codes in place of levels.

A table with categories is read as blocks of rows like any other, each category as the number of its level. Levels are
sorted (numbers, then text, then missing), so results depend neither on the order of rows nor on their blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import DataShape, check_allocation
from ..core.errors import FILL, CellError, DataError, new_category
from ..core.message import Message, Remedies, Setting
from . import columns
from .block import Block
from .columns import Level, TableBlock, one_of
from .moments import ColumnMoments, column_moments
from .row_source import BlockRows, RowSource

Array = Any

PIECE_ROWS = 16_384  # rows of a table encoded at a time
_LEVEL_BYTES = 200  # memory of a level in the dictionaries of one pass


@dataclass(frozen=True)
class Levels:
    """The categorical columns of a table, by number, and the levels of each, in order."""

    columns: tuple[int, ...]
    values: tuple[list[Level], ...]

    def __post_init__(self) -> None:
        index = [{level: code for code, level in enumerate(levels)} for levels in self.values]
        object.__setattr__(self, "index", index)

    def lookup(self, number: int, found: Sequence[Level]) -> Array:
        """Return the codes of levels of one categorical column, -1 for unknown ones; the last is for missing values.

        >>> Levels((3,), (["blue", "red"],)).lookup(0, ["red", "green"]).tolist()
        [1, -1, -1]
        """
        index: dict[Level, int] = self.index[number]  # type: ignore[attr-defined]
        return np.array([index.get(level, -1) for level in (*found, None)], dtype=np.intp)


@dataclass(frozen=True)
class Learned:
    """Results of the first pass: levels and their counts, number of rows, mean and variance (1/N) of each column."""

    levels: Levels
    counts: tuple[Array, ...]
    n_rows: int
    mean: Array
    variance: Array
    seconds: float

    @property
    def n_levels(self) -> int:
        """The total number of levels."""
        return sum(map(len, self.levels.values))


class MixedRows(RowSource):
    """Rows of numbers and categories; `learn` finds the levels, `coded` returns rows as numbers.

    >>> from lowland.rows.mixed_rows import mixed_rows
    >>> source = mixed_rows([[1.5, "red"], [2.5, "blue"], [0.5, "red"]])
    >>> found = source.learn()
    >>> found.levels.values, [counts.tolist() for counts in found.counts]
    ((['blue', 'red'],), [[1, 2]])
    >>> next(source.coded(found.levels).blocks()).rows.tolist()
    [[1.5, 1.0], [2.5, 0.0], [0.5, 1.0]]
    """

    def __init__(
        self,
        pieces: Callable[[], Iterator[TableBlock]],
        first: TableBlock,
        categorical: tuple[int, ...],
        *,
        n_rows: int | None = None,
        carrier: Any = None,
        copied: int = 0,
        missing: str = "error",
    ) -> None:
        self._pieces, self._carrier, self._copied, self._missing = pieces, carrier, copied, missing
        self.categorical, self.names, self._home = categorical, first.names, first.home
        self.n_rows, self.n_features = n_rows, len(first.columns)
        self.numeric = rest_of(first, categorical)
        self.dtype = columns.precision(first, self.numeric)
        self.all_columns: Callable[[], Iterable[Any]] | None = None  # original blocks, for other columns
        self.in_memory = False  # whether a further pass reads no file
        self._found: Learned | None = None

    @property
    def shape(self) -> DataShape:
        """Shape and type of the table, for plans; the width counts columns, not levels."""
        return DataShape(self.n_rows, self.n_features, self.dtype, copied=self._copied)

    def named(self) -> Any:
        """Return the data frame of the rows, or an empty array of the same width."""
        return super().named() if self._carrier is None else self._carrier

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        label = str(self.categorical[0]) if self.names is None else repr(self.names[self.categorical[0]])
        raise DataError(
            f"column {label} contains categories, and this method needs numbers: leave the column out or encode it",
            column=self.categorical[0],
        )

    def learn(self) -> Learned:
        """Return levels, their counts, and the moments of the numbers from one pass; the result is cached."""
        if self._found is None:
            self._found = self._learn()
            self.n_rows = self._found.n_rows
        return self._found

    def _learn(self) -> Learned:
        start = time.perf_counter()
        known: list[Tally] = [Tally() for _ in self.categorical]

        def tables() -> Iterator[Array]:
            total = None if self.n_rows is None else -(-self.n_rows // PIECE_ROWS)
            for table, found in thread_pool.run(self.tallied, self._pieces(), stage="levels", total=total):
                self._add(known, found)
                yield table

        source = BlockRows(tables(), n_rows=self.n_rows)
        source.names = self.names
        return self._learned(known, column_moments(source), time.perf_counter() - start)

    def tallied(self, piece: TableBlock) -> tuple[Array, list[tuple[list[Level], Array]]]:
        """Return the numbers of a block, and the levels of each category with their counts."""
        table, found = self.numbers(piece), []
        for j in self.categorical:
            codes, levels = self._codes(piece, j)
            found.append(([*levels, None], np.bincount(codes % (len(levels) + 1), minlength=len(levels) + 1)))
        return table, found

    def _add(self, known: Sequence[Tally], found: Sequence[tuple[list[Level], Array]]) -> None:
        """Add the levels of a block to those of all rows; refuse more than fit in memory."""
        for column, (levels, times) in zip(known, found, strict=True):
            column.add(levels, times.tolist())
        check_allocation(
            _LEVEL_BYTES * sum(map(len, known)),
            f"{sum(map(len, known))} levels",
            "leave out columns that identify single rows, such as names",
        )

    def _learned(self, known: Sequence[Tally], moments: ColumnMoments, seconds: float) -> Learned:
        order = [sorted(column.shown.values(), key=_rank) for column in known]
        return Learned(
            Levels(self.categorical, tuple(order)),
            tuple(np.array([c.times[level] for level in levels]) for c, levels in zip(known, order, strict=True)),
            moments.n_rows,
            moments.mean,
            moments.squares.clip(0) / moments.weight,
            seconds,
        )

    def coded(self, levels: Levels, unseen: str = "error") -> RowSource:
        """Return the rows as numbers, each category as the code of its level, -1 if ``levels`` does not have it."""

        def code(piece: TableBlock) -> Array:
            return self.coded_block(piece, levels, unseen)

        return _CodedRows(lambda: thread_pool.run(code, self._pieces()), self)

    def coded_block(self, piece: TableBlock, levels: Levels, unseen: str) -> Array:
        """Return a block as numbers and codes of levels."""
        table = self.numbers(piece)
        for number, j in enumerate(self.categorical):
            codes, found = self._codes(piece, j)
            lookup = levels.lookup(number, found)
            table[:, j] = lookup[codes]  # code -1 selects the last entry, for missing values
            if unseen == "error" and (table[:, j] < 0).any():
                i = int((table[:, j] < 0).argmax())
                _refuse_unseen(piece, i, j, [*found, None][codes[i]], levels.values[number])
        return table

    def numbers(self, piece: TableBlock) -> Array:
        """Return the numbers of a block, with zeros in place of categories."""
        table = np.zeros((piece.n_rows, self.n_features), dtype=self.dtype)
        for j in self.numeric:
            table[:, j] = columns.numbers_of(piece, j)
            if np.isnan(table[:, j]).any():  # no method accepts both missing numbers and categories
                i = piece.start + int(np.isnan(table[:, j]).argmax())
                raise CellError("NaN", FILL, row=i, column=j, name=piece.name(j))
        return table

    def _codes(self, piece: TableBlock, j: int) -> tuple[Array, list[Level]]:
        """Return a code for each cell of a categorical column, -1 for missing values, and the level of each code."""
        codes, levels = columns.codes_of(piece, j)
        if self._missing in ("error", "new") and (codes < 0).any():
            i = piece.start + int((codes < 0).argmax())
            level = Message("make missing values a separate level with ", Setting("missing", "level"))
            advice = Remedies("fill it", "leave the row out", level)
            if self._missing == "new":
                advice = new_category("missing")
            raise CellError("a missing category", advice, row=i, column=j, name=piece.name(j))
        return codes, levels


class _CodedRows(BlockRows):
    """Rows of numbers and codes; results are returned in the array library of the table."""

    def __init__(self, blocks: Callable[[], Iterable[Any]], table: MixedRows) -> None:
        super().__init__(blocks, n_rows=table.n_rows)
        self.names, self._home = table.names, table._home

    def map_blocks(self, work: Callable[[Array], Array], width: int, dtype: Any = None) -> Array:
        """Apply row-wise work to every block and join the results."""
        return arrays.like(super().map_blocks(work, width, dtype), self._home)


class Tally:
    """Counts of the levels of a column, and which of equal values (True, 1, 1.0) is shown."""

    def __init__(self) -> None:
        self.times: dict[Level, int] = {}
        self.shown: dict[Level, Level] = {}

    def __len__(self) -> int:
        return len(self.times)

    def add(self, levels: list[Level], times: list[int]) -> None:
        """Add the counts of a block; data frames may list levels that no row has."""
        for level, n in zip(levels, times, strict=True):
            if n:
                self.times[level] = self.times.get(level, 0) + n
                self.shown[level] = one_of(self.shown.get(level, level), level)


def rest_of(piece: TableBlock, categorical: tuple[int, ...]) -> tuple[int, ...]:
    """Return the columns that are not categorical."""
    return tuple(j for j in range(len(piece.columns)) if j not in set(categorical))


def _rank(level: Level) -> tuple[int, Level]:
    """Return the sort key of levels: numbers, then text, then the missing level."""
    return (2, 0) if level is None else (1, level) if isinstance(level, str) else (0, level)


def _refuse_unseen(piece: TableBlock, i: int, j: int, level: Level, known: list[Level]) -> NoReturn:
    row = piece.start + i
    listed = ", ".join(repr(value) for value in known[:6]) + (f", … ({len(known)} in all)" if len(known) > 6 else "")
    ignore = Message("ignore the column for such rows with ", Setting("unseen", "ignore"))
    what = f"the level {level!r}, which the training rows do not have (they have {listed}),"
    raise CellError(what, Remedies("correct it", ignore), row=row, column=j, name=piece.name(j))


__all__ = ["PIECE_ROWS", "Learned", "Levels", "MixedRows", "Tally", "rest_of"]
