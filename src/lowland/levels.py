"""Levels of categorical columns: which columns are categories, and rows with codes in place of levels.

A table with categories is read as blocks of rows like any other, each category as the number of its level. Levels are
sorted (numbers, then texts, then the missing one), so neither the order of rows nor their cut into blocks shows.
"""

from __future__ import annotations

import csv
import difflib
import numbers
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from . import arrays, intake, pool
from .block import Block
from .errors import DataError
from .moments import column_moments
from .parameters import Integer
from .planning import DataShape, check_allocation
from .rows import BlockRows, RowSource, as_rows

Array = Any
Level = Any  # str, bool, int, float, or None for a missing value

PIECE_ROWS = 16_384  # rows of a table in memory that are coded at a time
_LEVEL_BYTES = 200  # of a level in the dictionaries of a reading


@dataclass(frozen=True)
class ColumnList:
    """Columns by name or number, as a parameter."""

    def accepts(self, value: Any) -> bool:
        """Tell whether the value is a list of names or numbers."""
        return isinstance(value, list | tuple) and all(isinstance(v, str) or Integer(0).accepts(v) for v in value)

    def parse(self, text: str) -> list[str]:
        """Read names with commas between them; one with a comma stands in quotes."""
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
        if not names or not all(names):
            raise ValueError(text)
        return names

    def describe(self) -> str:
        """Say what it takes."""
        return "a list of column names or numbers (on the command line with commas between them)"


@dataclass(frozen=True)
class Levels:
    """The categorical columns of a table, by number, and the levels of each, in order."""

    columns: tuple[int, ...]
    values: tuple[list[Level], ...]

    def __post_init__(self) -> None:
        index = [{level: code for code, level in enumerate(levels)} for levels in self.values]
        object.__setattr__(self, "index", index)

    def lookup(self, number: int, found: Sequence[Level]) -> Array:
        """Return the codes of levels of one categorical column, -1 for those it does not have; the missing one last."""
        index: dict[Level, int] = self.index[number]  # type: ignore[attr-defined]
        return np.array([index.get(level, -1) for level in (*found, None)], dtype=np.intp)


@dataclass(frozen=True)
class Learned:
    """What the first reading found: levels with their counts, rows, and mean and variance (1/N) of each column."""

    levels: Levels
    counts: tuple[Array, ...]
    n_rows: int
    mean: Array
    variance: Array
    seconds: float


@dataclass(frozen=True)
class Asked:
    """Columns that are to be categories, by name or number; ``only`` these, or also those that hold texts."""

    columns: tuple[str | int, ...] = ()
    only: bool = False


@dataclass(frozen=True)
class _Piece:
    """Some rows of a table, column by column: NumPy arrays or series of a data frame."""

    start: int
    columns: list[Any]
    names: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def label(self, number: int) -> str:
        """Name a column for messages."""
        return f"column {number}" + ("" if self.names is None else f" ({self.names[number]!r})")

    def cut(self, start: int, stop: int) -> _Piece:
        return _Piece(self.start + start, [column[start:stop] for column in self.columns], self.names)


class MixedRows(RowSource):
    """Rows of numbers and categories, as they were given; `learn` finds the levels, `coded` reads rows as numbers.

    >>> source = mixed_rows([[1.5, "red"], [2.5, "blue"], [0.5, "red"]])
    >>> found = source.learn()
    >>> found.levels.values, [counts.tolist() for counts in found.counts]
    ((['blue', 'red'],), [[1, 2]])
    >>> next(source.coded(found.levels).blocks()).rows.tolist()
    [[1.5, 1.0], [2.5, 0.0], [0.5, 1.0]]
    """

    def __init__(
        self,
        pieces: Callable[[], Iterator[_Piece]],
        first: _Piece,
        categorical: tuple[int, ...],
        *,
        n_rows: int | None = None,
        carrier: Any = None,
        copied: int = 0,
        missing: str = "error",
    ) -> None:
        self._pieces, self._carrier, self._copied, self._missing = pieces, carrier, copied, missing
        self.categorical, self.names = categorical, first.names
        self.n_rows, self.n_features = n_rows, len(first.columns)
        self.numeric = tuple(j for j in range(self.n_features) if j not in set(categorical))
        single = bool(self.numeric) and all(_is_single(first.columns[j]) for j in self.numeric)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.given: Callable[[], Iterable[Any]] | None = None  # blocks that came without a method's wishes
        self._found: Learned | None = None

    @property
    def shape(self) -> DataShape:
        """What a plan needs to know; the width is that of the table, not of its levels."""
        return DataShape(self.n_rows, self.n_features, self.dtype, copied=self._copied)

    def named(self) -> Any:
        """Return the data frame that the rows came from, or a stand-in of the right width."""
        return super().named() if self._carrier is None else self._carrier

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        label = str(self.categorical[0]) if self.names is None else repr(self.names[self.categorical[0]])
        raise DataError(
            f"column {label} holds categories, and this method takes numbers only: leave the column out or encode it",
            column=self.categorical[0],
        )

    def learn(self) -> Learned:
        """Read all rows once: levels, their counts, and the moments of the numbers. Kept for the next call."""
        if self._found is None:
            self._found = self._learn()
            self.n_rows = self._found.n_rows
        return self._found

    def _learn(self) -> Learned:
        start = time.perf_counter()
        counts: list[dict[Level, int]] = [{} for _ in self.categorical]

        def tally(piece: _Piece) -> tuple[Array, list[tuple[list[Level], Array]]]:
            table, found = self._table(piece), []
            for j in self.categorical:
                codes, levels = self._codes(piece, j)
                found.append(([*levels, None], np.bincount(codes % (len(levels) + 1), minlength=len(levels) + 1)))
            return table, found

        def tables() -> Iterator[Array]:
            total = None if self.n_rows is None else -(-self.n_rows // PIECE_ROWS)
            for table, found in pool.run(tally, self._pieces(), stage="levels", total=total):
                for known, (levels, n) in zip(counts, found, strict=True):
                    for level, times in zip(levels, n.tolist(), strict=True):
                        if times:  # data frames may list levels that no row has
                            known[level] = known.get(level, 0) + times
                check_allocation(
                    _LEVEL_BYTES * sum(map(len, counts)),
                    f"{sum(map(len, counts))} levels",
                    "leave out columns that name rows rather than kinds of them",
                )
                yield table

        source = BlockRows(tables(), n_rows=self.n_rows)
        source.names = self.names
        moments = column_moments(source)
        order = [sorted(known, key=_rank) for known in counts]
        return Learned(
            Levels(self.categorical, tuple(order)),
            tuple(np.array([n[level] for level in levels]) for n, levels in zip(counts, order, strict=True)),
            moments.n_rows,
            moments.mean,
            moments.squares.clip(0) / moments.weight,
            time.perf_counter() - start,
        )

    def coded(self, levels: Levels, unseen: str = "error") -> RowSource:
        """Return the rows as numbers, each category as the code of its level; -1 is one that ``levels`` lacks."""

        def code(piece: _Piece) -> Array:
            table = self._table(piece)
            for number, j in enumerate(self.categorical):
                codes, found = self._codes(piece, j)
                lookup = levels.lookup(number, found)
                table[:, j] = lookup[codes]  # -1 finds the missing one, which is last
                if unseen == "error" and (table[:, j] < 0).any():
                    i = int((table[:, j] < 0).argmax())
                    _refuse_unseen(piece, i, j, [*found, None][codes[i]], levels.values[number])
            return table

        source = BlockRows(lambda: pool.run(code, self._pieces()), n_rows=self.n_rows)
        source.names = self.names
        return source

    def _table(self, piece: _Piece) -> Array:
        """Return the numbers of a piece, with zeros in place of categories."""
        table = np.zeros((piece.n_rows, self.n_features), dtype=self.dtype)
        for j in self.numeric:
            table[:, j] = _numbers(piece, j)
        return table

    def _codes(self, piece: _Piece, j: int) -> tuple[Array, list[Level]]:
        """Return a number for each cell of a categorical column, -1 where it is missing, and the levels they mean."""
        codes, levels = _factor(piece, j)
        if self._missing == "error" and (codes < 0).any():
            i = piece.start + int((codes < 0).argmax())
            name = "" if piece.names is None else f" ({piece.names[j]!r})"
            raise DataError(
                f"the category is missing at row {i}, column {j}{name}: fill it, leave the row out, or make missing "
                "ones a level of their own with missing='level'",
                row=i,
                column=j,
            )
        return codes, levels


# -- what users have ------------------------------------------------------------------------------------------------


def mixed_rows(
    X: Any,
    categorical: str | Sequence[str | int] = "auto",
    *,
    only: bool = False,
    missing: str = "error",
    owner: str = "Lowland",
) -> RowSource:
    """Turn what a user has into rows: a `MixedRows` if some column holds categories, else numbers as for any method.

    Categories are texts, booleans of a data frame, categorical columns, and the columns named by ``categorical``;
    ``only`` these for rows of a model that knows its columns.
    """
    asked = Asked(() if isinstance(categorical, str) else tuple(categorical), only)
    if isinstance(X, Iterator) or (isinstance(X, RowSource) and not X.reiterable):
        raise DataError(
            f"{owner} reads the rows twice, first for the levels, and these blocks can be read only once; give a "
            "function that starts a new reading, as in RowSource.from_blocks(function)"
        )
    if isinstance(X, MixedRows):
        return X if X.given is None else _of_blocks(X.given, asked, X.n_rows, missing) or X
    if isinstance(X, BlockRows):  # as they were given: a block knows its categories, its numbers do not
        return _of_blocks(X._make, asked, X.n_rows, missing) or as_rows(X, allow_sparse=False, owner=owner)
    if callable(X) and not hasattr(X, "__array__"):
        return _of_blocks(X, asked, None, missing) or as_rows(X, allow_sparse=False, owner=owner)
    if isinstance(X, RowSource):
        return _of_source(X, asked, missing) or as_rows(X, allow_sparse=False, owner=owner)
    found = _piece(X)
    if found is None or not found.columns:
        return as_rows(X, allow_sparse=False, owner=owner)
    chosen = _categorical(found, asked)
    if not chosen:
        return as_rows(X, allow_sparse=False, owner=owner)
    if found.n_rows == 0:
        shape = (0, len(found.columns))
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")

    def cuts() -> Iterator[_Piece]:
        return (found.cut(a, a + PIECE_ROWS) for a in range(0, found.n_rows, PIECE_ROWS))

    carrier = X if hasattr(X, "columns") and not type(X).__module__.startswith("pyarrow") else None
    copied = 8 * found.n_rows * len(found.columns) if isinstance(X, list | tuple) else 0
    return MixedRows(cuts, found, chosen, n_rows=found.n_rows, carrier=carrier, copied=copied, missing=missing)


def mixed_blocks(blocks: Iterable[Any] | Callable[[], Iterable[Any]], n_rows: int | None = None) -> MixedRows | None:
    """Return rows of blocks some columns of which hold categories, or None if none does."""
    make = blocks if callable(blocks) else lambda: blocks
    found = _of_blocks(make, Asked(), n_rows, "error")
    if found is not None:
        found.given = make
    return found


def _of_blocks(make: Callable[[], Iterable[Any]], asked: Asked, n_rows: int | None, missing: str) -> MixedRows | None:
    """Return rows of the blocks that a function gives, or None if they hold numbers only."""

    def pieces() -> Iterator[_Piece]:
        start, width, names = 0, None, None
        for number, block in enumerate(make()):
            piece = _piece(block)
            if piece is None:  # an array of numbers, or what the reader of numbers will refuse
                piece = _plain(as_rows(block, allow_sparse=False, owner=f"block {number}"))
            if piece.n_rows == 0:
                continue
            if width is not None and (len(piece.columns), piece.names) != (width, names):
                raise DataError(
                    f"block {number} has other columns than block 0: {len(piece.columns)} where it had {width}"
                    + ("" if piece.names is None else f", named {', '.join(piece.names[:10])}")
                )
            width, names = len(piece.columns), piece.names
            yield _Piece(start, piece.columns, piece.names)
            start += piece.n_rows

    first = next(pieces(), None)
    chosen = () if first is None else _categorical(first, asked)
    return MixedRows(pieces, first, chosen, n_rows=n_rows, missing=missing) if first is not None and chosen else None


def _of_source(source: RowSource, asked: Asked, missing: str) -> MixedRows | None:
    """Return rows of numbers some columns of which are categories, or None if none is."""
    names = None if source.names is None else tuple(source.names)
    first = _Piece(0, [np.empty(0, dtype=source.dtype)] * source.n_features, names)
    chosen = _resolve(first, asked)

    def pieces() -> Iterator[_Piece]:
        for block in source.blocks():
            rows = arrays.to_numpy(block.rows)
            yield _Piece(block.start, list(rows.T), names)

    return MixedRows(pieces, first, chosen, n_rows=source.n_rows, missing=missing) if chosen else None


def _plain(source: RowSource) -> _Piece:
    return _Piece(0, list(arrays.to_numpy(source.array).T), None if source.names is None else tuple(source.names))


def _piece(X: Any) -> _Piece | None:
    """Return the columns of a table, or None for what holds no texts or is no table."""
    if sp.issparse(X) or isinstance(X, str | bytes) or (isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X)):
        return None
    if arrays.is_foreign(X):
        X = arrays.to_numpy(intake.dense(X))
    if isinstance(X, list | tuple):
        form = intake.from_lists(X)
        X = form if form.dtype.kind in "fiubcmM" else _objects(X, form.shape)
    if isinstance(X, np.ndarray):
        return _Piece(0, list(np.asarray(X).T)) if X.ndim == 2 and X.dtype.kind in "OUTfiub" else None
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except ValueError as error:  # two columns of one name
        raise DataError(f"{' '.join(str(error).split())}: rename the columns") from None
    if not isinstance(frame, nw.DataFrame):
        return None
    names = tuple(frame.columns)
    return _Piece(0, list(frame.iter_columns()), names if all(isinstance(name, str) for name in names) else None)


def _objects(rows: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """Return rows of texts and numbers as objects: as an array all of them would be texts."""
    out = np.empty(shape, dtype=object)
    out[...] = [list(row) for row in rows] if len(shape) == 2 else list(rows)
    return out


# -- columns --------------------------------------------------------------------------------------------------------


def _categorical(piece: _Piece, asked: Asked) -> tuple[int, ...]:
    """Return the numbers of the columns that hold categories, or are asked to."""
    wanted = _resolve(piece, asked)
    if asked.only:
        return wanted
    return tuple(j for j in range(len(piece.columns)) if j in wanted or _holds_categories(piece, j))


def _resolve(piece: _Piece, asked: Asked) -> tuple[int, ...]:
    """Return the numbers of columns that are given by name or by number."""
    found, width = [], len(piece.columns)
    for item in asked.columns:
        if isinstance(item, str) and piece.names is not None and item in piece.names:
            found.append(piece.names.index(item))
        elif (not isinstance(item, str) or item.isdecimal()) and int(item) < width:
            found.append(int(item))
        elif not asked.only:  # too few columns for a model: who knows its number will say so
            near = difflib.get_close_matches(str(item), piece.names or (), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DataError(f"categorical has {item!r}, which is no name or number of the {width} columns{hint}")
    return tuple(sorted(set(found)))


def _holds_categories(piece: _Piece, j: int) -> bool:
    """Tell whether a column holds texts, booleans of a data frame, or categories by its type."""
    column = piece.columns[j]
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "UT" or (column.dtype == object and not _all_numbers(column))
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if kind.is_numeric():
        return False
    if kind.is_temporal():
        raise DataError(
            f"{piece.label(j)} holds dates or times: turn them into numbers such as days since a start, or leave the "
            "column out",
            column=j,
        )
    if kind == nw.Object:
        return not _all_numbers(column.to_numpy())
    if kind.is_nested() or kind == nw.Binary:
        raise DataError(f"{piece.label(j)} holds {kind}, neither numbers nor categories: leave it out", column=j)
    return True


def _all_numbers(values: Array) -> bool:
    return all(_missing(v) or (isinstance(v, numbers.Real) and not isinstance(v, bool | np.bool_)) for v in values)


def _missing(value: Any) -> bool:
    """Tell None, NaN, and the marks of pandas from values."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_single(column: Any) -> bool:
    kind = column.dtype if isinstance(column, np.ndarray) else column[:0].to_numpy().dtype
    return bool(intake.working(kind) == np.float32)


def _numbers(piece: _Piece, j: int) -> Array:
    """Return a column as numbers, NaN where one is missing, or name the cell that is none."""
    column = piece.columns[j]
    values = column if isinstance(column, np.ndarray) else column.to_numpy()
    if values.dtype.kind in "fiub":
        return values
    out = np.empty(len(values))
    for i, value in enumerate(values.tolist()):
        try:
            out[i] = np.nan if _missing(value) else float(value)
        except (TypeError, ValueError) as error:
            _refuse_cell(piece, i, j, value, f"is not a number ({error}); if it is a category, name it in categorical")
    return out


def _factor(piece: _Piece, j: int) -> tuple[Array, list[Level]]:
    """Return a code for each cell of a column, -1 where it is missing, and the level that each code means."""
    column = piece.columns[j]
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        levels, codes = np.unique(column, return_inverse=True)
        return _without_nan(codes, levels.tolist())
    found = _arrow(column)
    if found is None:
        return _factor_objects(piece, j)
    import pyarrow as pa

    coded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
    codes = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return _without_nan(codes, coded.dictionary.to_pylist())


def _arrow(column: Any) -> Any:
    """Return a column of one plain type as an Arrow array, which codes it far quicker than a loop; else None."""
    import pyarrow as pa

    try:
        found = pa.array(column, from_pandas=True) if isinstance(column, np.ndarray) else column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    kind = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    kinds = pa.types
    plain = (kinds.is_string, kinds.is_large_string, kinds.is_boolean, kinds.is_integer, kinds.is_floating)
    return found if any(test(kind) for test in plain) else None


def _without_nan(codes: Array, levels: list[Level]) -> tuple[Array, list[Level]]:
    """Let codes of NaN and None be -1."""
    gone = np.array([_missing(level) for level in levels], dtype=bool)
    return (np.where(gone[codes] & (codes >= 0), -1, codes) if gone.any() else codes), levels


def _factor_objects(piece: _Piece, j: int) -> tuple[Array, list[Level]]:
    column = piece.columns[j]
    values = column if isinstance(column, np.ndarray) else column.to_list()
    index: dict[Level, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        level = value.item() if isinstance(value, np.generic) else value
        if _missing(level):
            codes[i] = -1
        elif isinstance(level, str | bool | int | float):
            codes[i] = index.setdefault(level, len(index))
        else:
            _refuse_cell(piece, i, j, value, "is no category: the argument must be a string or a number")
    return codes, list(index)


def _rank(level: Level) -> tuple[int, Level]:
    """Return the key by which levels are sorted: numbers, then texts, then the missing one."""
    return (2, 0) if level is None else (1, level) if isinstance(level, str) else (0, level)


def _refuse_cell(piece: _Piece, i: int, j: int, value: Any, words: str) -> NoReturn:
    """Name the cell that cannot be used; as scikit-learn does, objects are a TypeError and text is a ValueError."""
    row = piece.start + i
    message = f"row {row}, {piece.label(j)}: {value!r} {words}"
    if not isinstance(value, str):
        raise TypeError(message) from None
    raise DataError(message, row=row, column=j) from None


def _refuse_unseen(piece: _Piece, i: int, j: int, level: Level, known: list[Level]) -> NoReturn:
    row, name = piece.start + i, "" if piece.names is None else f" ({piece.names[j]!r})"
    listed = ", ".join(repr(value) for value in known[:6]) + (f", … ({len(known)} in all)" if len(known) > 6 else "")
    raise DataError(
        f"the level {level!r} at row {row}, column {j}{name} was not seen by the fit, which saw {listed}; correct it, "
        "or let the column say nothing of such a row with unseen='ignore'",
        row=row,
        column=j,
    )


__all__ = ["PIECE_ROWS", "ColumnList", "Learned", "Levels", "MixedRows", "mixed_blocks", "mixed_rows"]
