"""Levels of categorical columns, and rows with codes in place of levels.

A table with categories is read as blocks of rows like any other, each category as the number of its level. Levels are
sorted (numbers, then text, then missing), so results depend neither on the order of rows nor on their blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import DataShape, check_allocation
from ..core.errors import FILL, CellError, DataError, new_category
from ..core.message import Message, Remedies, Setting
from ..data.scans.table_scan import TableScan
from ..engines import holds
from . import columns
from .block import Block
from .columns import ColumnRequest, Level, TableBlock, one_of
from .engine_rows import EngineRows
from .moments import column_moments
from .row_source import BlockRows, RowSource, as_rows, require_names, single_pass_error
from .scan_rows import ScanRows, table_blocks

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
        self.numeric = _rest(first, categorical)
        self.dtype = columns.precision(first, self.numeric)
        self.all_columns: Callable[[], Iterable[Any]] | None = None  # original blocks, for other columns
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
        known: list[_Tally] = [_Tally() for _ in self.categorical]

        def tally(piece: TableBlock) -> tuple[Array, list[tuple[list[Level], Array]]]:
            table, found = self._table(piece), []
            for j in self.categorical:
                codes, levels = self._codes(piece, j)
                found.append(([*levels, None], np.bincount(codes % (len(levels) + 1), minlength=len(levels) + 1)))
            return table, found

        def tables() -> Iterator[Array]:
            total = None if self.n_rows is None else -(-self.n_rows // PIECE_ROWS)
            for table, found in thread_pool.run(tally, self._pieces(), stage="levels", total=total):
                for column, (levels, times) in zip(known, found, strict=True):
                    column.add(levels, times.tolist())
                check_allocation(
                    _LEVEL_BYTES * sum(map(len, known)),
                    f"{sum(map(len, known))} levels",
                    "leave out columns that identify single rows, such as names",
                )
                yield table

        source = BlockRows(tables(), n_rows=self.n_rows)
        source.names = self.names
        moments = column_moments(source)
        order = [sorted(column.shown.values(), key=_rank) for column in known]
        return Learned(
            Levels(self.categorical, tuple(order)),
            tuple(np.array([c.times[level] for level in levels]) for c, levels in zip(known, order, strict=True)),
            moments.n_rows,
            moments.mean,
            moments.squares.clip(0) / moments.weight,
            time.perf_counter() - start,
        )

    def coded(self, levels: Levels, unseen: str = "error") -> RowSource:
        """Return the rows as numbers, each category as the code of its level, -1 if ``levels`` does not have it."""

        def code(piece: TableBlock) -> Array:
            table = self._table(piece)
            for number, j in enumerate(self.categorical):
                codes, found = self._codes(piece, j)
                lookup = levels.lookup(number, found)
                table[:, j] = lookup[codes]  # code -1 selects the last entry, for missing values
                if unseen == "error" and (table[:, j] < 0).any():
                    i = int((table[:, j] < 0).argmax())
                    _refuse_unseen(piece, i, j, [*found, None][codes[i]], levels.values[number])
            return table

        return _CodedRows(lambda: thread_pool.run(code, self._pieces()), self)

    def _table(self, piece: TableBlock) -> Array:
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


class _Tally:
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


# -- input ----------------------------------------------------------------------------------------------------------


def mixed_rows(
    X: Any,
    categorical: str | Sequence[str | int] = "auto",
    *,
    only: bool = False,
    missing: str = "error",
    owner: str = "Lowland",
) -> RowSource:
    """Return the input as a `MixedRows` if some column holds categories, else as rows of numbers.

    Categories are text, booleans of a data frame, categorical columns, and the columns named by ``categorical``;
    with ``only``, just the latter, for rows of a fitted model.

    >>> mixed_rows([[1, "red", 7], [2, "blue", 7]], [2]).categorical
    (1, 2)
    >>> type(mixed_rows([[1, 2], [3, 4]])).__name__
    'ArrayRows'
    """
    request = ColumnRequest(() if isinstance(categorical, str) else tuple(categorical), only)
    if isinstance(X, Iterator) or (isinstance(X, RowSource) and not X.reiterable):
        raise single_pass_error(owner)  # the levels are read first
    if isinstance(X, MixedRows):
        return X if X.all_columns is None else _of_blocks(X.all_columns, request, X.n_rows, missing) or X
    if isinstance(X, TableScan):
        return _of_blocks(table_blocks(X), request, X.n_rows, missing) or as_rows(X, owner=owner)
    if isinstance(X, BlockRows | ScanRows):  # from the original blocks: the converted ones have lost their categories
        return _of_blocks(X.all_columns, request, X.n_rows, missing) or as_rows(X, allow_sparse=False, owner=owner)
    if callable(X) and not hasattr(X, "__array__"):
        return _of_blocks(X, request, None, missing) or as_rows(X, allow_sparse=False, owner=owner)
    if holds(X) or isinstance(X, EngineRows):
        if request.columns:
            raise DataError(f"{owner} takes no categorical columns from Dask: encode them, or pass blocks of a table")
        if isinstance(X, EngineRows) and not only:
            X.require_numbers(owner)
        return as_rows(X, allow_sparse=False, owner=owner)
    if isinstance(X, RowSource):
        return _of_source(X, request, missing) or as_rows(X, allow_sparse=False, owner=owner)
    table = columns.of_table(X)
    if table is None or not table.columns:
        return as_rows(X, allow_sparse=False, owner=owner)
    chosen = columns.categorical(table, request)
    if not chosen:
        return as_rows(X, allow_sparse=False, owner=owner)
    if table.n_rows == 0:
        shape = (0, len(table.columns))
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    carrier = X if hasattr(X, "columns") and not type(X).__module__.startswith("pyarrow") else None
    copied = 8 * table.n_rows * len(table.columns) if isinstance(X, list | tuple) else 0
    return MixedRows(
        lambda: _cuts(table), table, chosen, n_rows=table.n_rows, carrier=carrier, copied=copied, missing=missing
    )


def mixed_blocks(blocks: Iterable[Any] | Callable[[], Iterable[Any]], n_rows: int | None = None) -> MixedRows | None:
    """Return the rows of blocks with categorical columns, or None if there are none.

    >>> mixed_blocks([[[1, "red"]], [[2, "blue"], [3, "red"]]]).learn().levels.values
    (['blue', 'red'],)
    """
    make = blocks if callable(blocks) else lambda: blocks
    found = _of_blocks(make, ColumnRequest(), n_rows, "error")
    if found is not None:
        found.all_columns = make
    return found


def _cuts(piece: TableBlock) -> Iterator[TableBlock]:
    """Yield a few rows at a time: threads encode them in parallel, and blocks of the user may be long."""
    return (piece.cut(a, a + PIECE_ROWS) for a in range(0, piece.n_rows, PIECE_ROWS))


def _rest(piece: TableBlock, categorical: tuple[int, ...]) -> tuple[int, ...]:
    """Return the columns that are not categorical."""
    return tuple(j for j in range(len(piece.columns)) if j not in set(categorical))


def _of_blocks(
    make: Callable[[], Iterable[Any]], request: ColumnRequest, n_rows: int | None, missing: str
) -> MixedRows | None:
    """Return the rows of the blocks that a function yields, or None if no column is categorical."""

    def blocks() -> Iterator[tuple[int, TableBlock]]:
        for number, block in enumerate(make()):
            piece = columns.of_table(block)
            if piece is None:  # an array of numbers, or invalid input, for which `as_rows` raises
                piece = columns.of_numbers(as_rows(block, allow_sparse=False, owner=f"block {number}"))
            if piece.n_rows:
                yield number, piece

    _, first = next(blocks(), (0, None))
    chosen = () if first is None else columns.categorical(first, request)
    if first is None or not chosen:
        return None
    numeric, width, names = _rest(first, chosen), len(first.columns), first.names
    kind = columns.precision(first, numeric)

    def pieces() -> Iterator[TableBlock]:
        start = 0
        for number, piece in blocks():
            if len(piece.columns) != width:
                raise DataError(f"block {number} has {len(piece.columns)} columns; block 0 had {width}")
            require_names(piece.names, names, number)
            dtype = columns.precision(piece, numeric)
            if dtype.itemsize > kind.itemsize:  # it would be rounded silently
                raise DataError(f"block {number} is {dtype}; block 0 was {kind}: use the same dtype for all")
            yield from _cuts(replace(piece, start=start, names=names))
            start += piece.n_rows

    return MixedRows(
        pieces, replace(first, columns=[c[:0] for c in first.columns]), chosen, n_rows=n_rows, missing=missing
    )


def _of_source(source: RowSource, request: ColumnRequest, missing: str) -> MixedRows | None:
    """Return rows of numbers with categorical columns, or None if no column is categorical."""
    names = None if source.names is None else tuple(source.names)
    home = arrays.like(np.empty(0), source.reference)
    first = TableBlock(0, [np.empty(0, dtype=source.dtype)] * source.n_features, names, home)
    chosen = columns.resolve(first, request)

    def pieces() -> Iterator[TableBlock]:
        for block in source.blocks():
            rows = arrays.to_numpy(block.rows)
            yield TableBlock(block.start, list(rows.T), names)

    return MixedRows(pieces, first, chosen, n_rows=source.n_rows, missing=missing) if chosen else None


def _rank(level: Level) -> tuple[int, Level]:
    """Return the sort key of levels: numbers, then text, then the missing level."""
    return (2, 0) if level is None else (1, level) if isinstance(level, str) else (0, level)


def _refuse_unseen(piece: TableBlock, i: int, j: int, level: Level, known: list[Level]) -> NoReturn:
    row = piece.start + i
    listed = ", ".join(repr(value) for value in known[:6]) + (f", … ({len(known)} in all)" if len(known) > 6 else "")
    ignore = Message("ignore the column for such rows with ", Setting("unseen", "ignore"))
    what = f"the level {level!r}, which the training rows do not have (they have {listed}),"
    raise CellError(what, Remedies("correct it", ignore), row=row, column=j, name=piece.name(j))


__all__ = ["PIECE_ROWS", "Learned", "Levels", "MixedRows", "mixed_blocks", "mixed_rows"]
