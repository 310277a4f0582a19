"""Columns of a table: detection of categorical columns, and conversion to numbers or codes of levels."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError
from ..core.message import Message, Remedies, Setting
from . import conversion
from .conversion import is_missing
from .row_source import RowSource

Array = Any
Level = Any  # str, bool, int, float, or None for a missing value


@dataclass(frozen=True)
class ColumnRequest:
    """Columns to treat as categorical, by name or number; ``only`` these, or also those that hold text."""

    columns: tuple[str | int, ...] = ()
    only: bool = False


@dataclass(frozen=True)
class TableBlock:
    """Some rows of a table, column by column: NumPy arrays or series of a data frame.

    ``home`` is an empty array of the input's library and device.
    """

    start: int
    columns: list[Any]
    names: tuple[str, ...] | None = None
    home: Array = field(default_factory=lambda: np.empty(0))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0

    def name(self, number: int) -> str | None:
        """Return the name of a column, or None if columns have no names."""
        return None if self.names is None else self.names[number]

    def label(self, number: int) -> str:
        """Return the number and name of a column, for messages."""
        return f"column {number}" + ("" if self.names is None else f" ({self.names[number]!r})")

    def cut(self, start: int, stop: int) -> TableBlock:
        """Return some of the rows, without a copy."""
        return replace(self, start=self.start + start, columns=[column[start:stop] for column in self.columns])


# -- input ----------------------------------------------------------------------------------------------------------


def of_table(X: Any) -> TableBlock | None:
    """Return the columns of a table, or None if the input is not a table or holds no text."""
    if sp.issparse(X) or isinstance(X, str | bytes) or (isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X)):
        return None
    home = arrays.like(np.empty(0), X)
    if arrays.is_foreign(X):
        X = arrays.to_numpy(conversion.dense(X))
    if isinstance(X, list | tuple):
        form = conversion.from_lists(X)
        X = form if form.dtype.kind in "fiubcmM" else _objects(X, form.shape)
    if isinstance(X, np.ndarray):
        return TableBlock(0, list(np.asarray(X).T), None, home) if X.ndim == 2 and X.dtype.kind in "OUTfiub" else None
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except ValueError as error:  # two columns with the same name
        raise DataError(f"{' '.join(str(error).split())}: rename the columns") from None
    if not isinstance(frame, nw.DataFrame):
        return None
    names = tuple(frame.columns)
    return TableBlock(0, list(frame.iter_columns()), names if all(isinstance(name, str) for name in names) else None)


def of_numbers(source: RowSource) -> TableBlock:
    """Return the columns of a table of numbers in memory."""
    names = None if source.names is None else tuple(source.names)
    return TableBlock(0, list(arrays.to_numpy(source.array).T), names, arrays.like(np.empty(0), source.reference))


def _objects(rows: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """Return rows of text and numbers as an object array: `np.array` would convert the numbers to text."""
    out = np.empty(shape, dtype=object)
    out[...] = [list(row) for row in rows] if len(shape) == 2 else list(rows)
    return out


# -- detection of categories ----------------------------------------------------------------------------------------


def categorical(piece: TableBlock, request: ColumnRequest) -> tuple[int, ...]:
    """Return the numbers of the columns that hold categories or are requested as such.

    >>> categorical(of_table([[1.5, "red", 3], [2.5, "blue", 3]]), ColumnRequest((2,)))
    (1, 2)
    """
    requested = resolve(piece, request)
    if request.only:
        return requested
    return tuple(j for j in range(len(piece.columns)) if j in requested or _holds_categories(piece, j))


def resolve(piece: TableBlock, request: ColumnRequest) -> tuple[int, ...]:
    """Return the numbers of the requested columns."""
    numbers, width = [], len(piece.columns)
    for item in request.columns:
        if isinstance(item, str) and piece.names is not None and item in piece.names:
            numbers.append(piece.names.index(item))
        elif (not isinstance(item, str) or item.isdecimal()) and int(item) < width:
            numbers.append(int(item))
        elif not request.only:  # rows with too few columns for a model are reported later
            near = difflib.get_close_matches(str(item), piece.names or (), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DataError(f"categorical has {item!r}, not a name or number of one of the {width} columns{hint}")
    return tuple(sorted(set(numbers)))


def _holds_categories(piece: TableBlock, j: int) -> bool:
    """Return whether a column holds text, booleans of a data frame, or has a categorical type."""
    column = piece.columns[j]
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "UT" or (column.dtype == object and not _all_numbers(column))
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if kind.is_numeric():
        return False
    if kind.is_temporal():
        raise DataError(
            f"{piece.label(j)} contains dates or times: convert them to numbers, such as days since a start, or leave "
            "the column out",
            column=j,
        )
    if kind == nw.Object:
        return not _all_numbers(column.to_numpy())
    if kind.is_nested() or kind == nw.Binary:
        raise DataError(f"{piece.label(j)} contains {kind}, not numbers or categories: leave it out", column=j)
    return True


_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


def like_dates(levels: Sequence[Level]) -> bool:
    """Return whether all levels are dates as text (ISO 8601), as in files without types.

    >>> like_dates(["2024-01-31", "2024-02-01 10:30", None]), like_dates(["2024-01-31", "soon"]), like_dates([None])
    (True, False, False)
    """
    texts = [level for level in levels if level is not None]
    return bool(texts) and all(isinstance(text, str) and _DATE.fullmatch(text.strip()) for text in texts)


def _all_numbers(values: Array) -> bool:
    return all(is_missing(v) or (is_number(v) and not isinstance(v, bool | np.bool_)) for v in values)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number of any type, including NumPy scalars, fractions and decimals."""
    return isinstance(value, numbers.Real | Decimal | np.bool_)


# -- columns of numbers ---------------------------------------------------------------------------------------------


def precision(piece: TableBlock, chosen: Sequence[int]) -> np.dtype[Any]:
    """Return the dtype of columns of numbers: float32 only if all of them are."""
    single = bool(len(chosen)) and all(_is_single(piece.columns[j]) for j in chosen)
    return np.dtype(np.float32 if single else np.float64)


def _is_single(column: Any) -> bool:
    kind = column.dtype if isinstance(column, np.ndarray) else column[:0].to_numpy().dtype
    return bool(conversion.working(kind) == np.float32)


def numbers_of(piece: TableBlock, j: int) -> Array:
    """Return a column as numbers, NaN for missing values; raise for a cell that is not a number."""
    column = piece.columns[j]
    values = column if isinstance(column, np.ndarray) else column.to_numpy()
    if values.dtype.kind in "fiub":
        return values

    def no_number(i: int, value: Any, error: Exception) -> NoReturn:
        advice = Remedies(Message("if it is a category, name the column in ", Setting("categorical")))
        conversion.refuse(value, error, advice, piece.start + i, j, piece.name(j))

    return conversion.cells(values, no_number)


# -- columns of categories ------------------------------------------------------------------------------------------


def codes_of(piece: TableBlock, j: int) -> tuple[Array, list[Level]]:
    """Return a code for each cell of a column, -1 for missing values, and the level of each code.

    >>> codes, levels = codes_of(of_table([["red"], ["blue"], [None], ["red"]]), 0)
    >>> codes.tolist(), levels
    ([0, 1, -1, 0], ['red', 'blue'])
    """
    column = piece.columns[j]
    if isinstance(column, np.ndarray) and column.dtype.kind in "fiub":
        levels, codes = np.unique(column, return_inverse=True)
        return _without_nan(codes, levels.tolist())
    found = _arrow(column)
    if found is None:
        return _codes_of_objects(piece, j)
    import pyarrow as pa

    coded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
    codes = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return _without_nan(codes, coded.dictionary.to_pylist())


def _arrow(column: Any) -> Any:
    """Return a column of one plain type as an Arrow array, which is encoded far faster than by a loop; else None."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    try:
        found = pa.array(column, from_pandas=True) if isinstance(column, np.ndarray) else column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    kind = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    kinds = pa.types
    plain = (kinds.is_string, kinds.is_large_string, kinds.is_boolean, kinds.is_integer)
    if kinds.is_floating(kind):  # Arrow also makes floats of mixed integers and booleans
        return None if column.dtype == (object if isinstance(column, np.ndarray) else nw.Object) else found
    return found if any(test(kind) for test in plain) else None


def _without_nan(codes: Array, levels: list[Level]) -> tuple[Array, list[Level]]:
    """Replace the codes of NaN and None by -1."""
    gone = np.array([is_missing(level) for level in levels], dtype=bool)
    return (np.where(gone[codes] & (codes >= 0), -1, codes) if gone.any() else codes), levels


def _codes_of_objects(piece: TableBlock, j: int) -> tuple[Array, list[Level]]:
    column = piece.columns[j]
    values = column if isinstance(column, np.ndarray) else column.to_list()
    index: dict[Level, int] = {}
    shown: list[Level] = []
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        if is_missing(value):
            codes[i] = -1
            continue
        level = _level(value)
        if level is None:
            raise TypeError(
                f"row {piece.start + i}, {piece.label(j)}: {value!r} is not a category: the argument must be a string "
                "or a number; convert other types to text, for example by astype(str)"
            )
        code = codes[i] = index.setdefault(level, len(index))
        if code == len(shown):
            shown.append(level)
        else:
            shown[code] = one_of(shown[code], level)
    return codes, shown


def _level(value: Any) -> Level:
    """Return a cell as a level, or None if it is neither text nor number; decimals and fractions become floats."""
    level = value.item() if isinstance(value, np.generic) else value
    if isinstance(level, str | bool | int | float):
        return level
    return float(level) if is_number(level) else None


def one_of(a: Level, b: Level) -> Level:
    """Return which of two equal levels is shown, in either order: integers before floats before booleans.

    >>> one_of(True, 1.0), one_of(1, True), one_of(-0.0, 0.0), one_of("a", "a")
    (1.0, 1, 0.0, 'a')
    """
    return a if type(a) is str else min(a, b, key=_form)


def _form(level: Level) -> tuple[int, bool]:
    """Return the sort key of that choice; 0.0 comes before -0.0."""
    if not isinstance(level, int | float):
        return 0, False
    kind = 2 if isinstance(level, bool) else 0 if isinstance(level, int) else 1
    return kind, kind == 1 and math.copysign(1, level) < 0


__all__ = [
    "ColumnRequest",
    "Level",
    "TableBlock",
    "categorical",
    "codes_of",
    "is_number",
    "like_dates",
    "numbers_of",
    "of_numbers",
    "of_table",
    "one_of",
    "precision",
    "resolve",
]
