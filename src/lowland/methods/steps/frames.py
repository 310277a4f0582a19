"""Tables of any library as polars frames, and what each column of one is."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from ...core import arrays
from ...core.errors import CellError, DataError
from ...core.formatting import count
from ...core.message import DENSE, Message, Remedies
from ...data.cells import cell_advice
from ...data.scans.changed import of_type, picked
from ...rows import columns as cells

Array = Any

NUMBER, CATEGORY, DATE, EMPTY, OTHER = "number", "category", "date", "empty", "other"
_LISTED = 6  # columns named in a message
FINITE = Remedies("correct it", "leave the row out")


def to_frame(X: Any, owner: str) -> tuple[pl.DataFrame, bool]:
    """Return a table as a polars frame with null for missing numbers, and whether its columns have names.

    >>> frame, named = to_frame([[1.0, "red"], [float("nan"), "blue"]], "step")
    >>> frame.rows(), frame.columns, named
    ([(1.0, 'red'), (None, 'blue')], ['x0', 'x1'], False)
    """
    if sp.issparse(X):
        raise DataError(
            Message(
                f"{owner}: a sparse matrix was given, and steps take tables and dense arrays; use ",
                DENSE,
                " or give the sparse rows to the method without steps",
            )
        )
    if isinstance(X, pl.LazyFrame):
        X = X.collect()
    named = isinstance(X, pl.DataFrame) or (hasattr(X, "columns") and hasattr(X, "iloc")) or _is_arrow(X)
    if not named:
        return _from_array(X, owner), False
    try:
        frame = X if isinstance(X, pl.DataFrame) else pl.from_pandas(X) if hasattr(X, "iloc") else pl.DataFrame(X)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:  # Arrow's errors are ValueErrors
        first = str(error).splitlines()[0]
        raise DataError(
            f"{owner}: the table cannot be read column by column ({first}); give each column one type"
        ) from error
    return without_nan(frame), True


def without_nan(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with null for NaN.

    >>> without_nan(pl.DataFrame({"a": [1.0, float("nan")]}))["a"].to_list()
    [1.0, None]
    """
    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    return frame.with_columns(pl.col(floats).fill_nan(None)) if floats else frame


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array_interface__")


def _from_array(X: Any, owner: str) -> pl.DataFrame:
    if arrays.is_foreign(X):
        X = arrays.to_numpy(X)
    elif hasattr(X, "__array__"):
        X = np.asarray(X)
    table = cells.of_table(X)
    if table is None:
        values = np.asarray(X)
        if values.dtype.kind in "cMm":
            what = (
                "Complex data not supported" if values.dtype.kind == "c" else "Dates in an array have no column names"
            )
            raise DataError(f"{owner}: {what}; give a data frame")
        raise DataError(
            f"{owner}: Expected 2D array, got {values.ndim}D array instead; give a table of rows and columns. Reshape "
            "your data with X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 0:
        raise DataError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required by {owner}.")
    names = [f"x{j}" for j in range(len(table.columns))]
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        plain = X.astype(np.float32) if X.dtype == np.float16 else X
        made = pl.DataFrame(np.ascontiguousarray(plain), schema=names)  # at once: thousands of columns are common
        return made.fill_nan(None) if X.dtype.kind == "f" else made
    return pl.DataFrame({name: _column(table, j) for j, name in enumerate(names)})


def _column(table: cells.TableBlock, j: int) -> pl.Series:
    """Return a column of an array as numbers if all of its cells are, else as text."""
    values = table.columns[j]
    if values.dtype.kind in "fiub":
        plain = values.astype(np.float32) if values.dtype == np.float16 else values
        series = pl.Series(np.ascontiguousarray(plain))
        return series.fill_nan(None) if values.dtype.kind == "f" else series
    if j in cells.categorical(table, cells.ColumnRequest()):
        codes, levels = cells.codes_of(table, j)
        return pl.Series([None if code < 0 else str(levels[code]) for code in codes], dtype=pl.String)
    return pl.Series(cells.numbers_of(table, j).astype(np.float64)).fill_nan(None)


def kind_of(column: pl.Series) -> str:
    """Return what a column holds: numbers, categories, dates, nothing, or something else.

    >>> [kind_of(pl.Series(x)) for x in ([1, None], ["a"], [True], [None], [[1.0]])]
    ['number', 'category', 'category', 'empty', 'other']
    """
    kind = column.dtype
    if column.null_count() == len(column) and len(column) and (kind in (pl.Null, pl.String) or kind.is_numeric()):
        return EMPTY
    if kind.is_numeric():
        return NUMBER
    if kind in (pl.String, pl.Boolean) or kind in (pl.Categorical, pl.Enum):
        return CATEGORY
    if kind in (pl.Date, pl.Datetime):
        return DATE
    return EMPTY if kind == pl.Null else OTHER


def numbers(frame: pl.DataFrame, names: Sequence[str]) -> Array:
    """Return columns of numbers as a float64 array, NaN for missing cells; an infinite cell is an error.

    >>> numbers(pl.DataFrame({"a": [1, None], "b": [0.5, 2.0]}), ["a", "b"]).tolist()
    [[1.0, 0.5], [nan, 2.0]]
    """
    chosen = of_type(picked(frame, list(names)), pl.Float64)
    X = np.array(chosen.to_numpy(), dtype=np.float64, order="C") if names else np.empty((frame.height, 0))
    if np.isinf(X).any():
        i, c = (int(place) for place in np.argwhere(np.isinf(X))[0])
        raise CellError("infinity", FINITE, row=i, column=frame.columns.index(names[c]), name=names[c])
    return X


def each_column(frame: pl.DataFrame, names: Sequence[str]) -> Iterator[Array]:
    """Yield columns of numbers as float64 vectors, NaN for missing cells.

    >>> [column.tolist() for column in each_column(pl.DataFrame({"a": [1, None], "b": [0.5, 2.0]}), ["a", "b"])]
    [[1.0, nan], [0.5, 2.0]]
    """
    chosen = picked(frame, list(names))
    if any(column.null_count() for column in chosen.iter_columns()):  # NumPy's way to NaN takes five times as long
        chosen = chosen.select(pl.all().cast(pl.Float64).fill_null(float("nan")))
    for column in chosen.iter_columns():
        yield column.to_numpy().astype(np.float64, copy=False)


def quotient(column: pl.Series, divisor: float) -> pl.Series:
    """Return a column of float64 divided by a number, correctly rounded.

    polars multiplies by 1/divisor, which is infinite for the smallest divisors, and in expressions divides where a
    chunk has one row: the last bit of a row would depend on how many rows come with it.

    >>> quotient(pl.Series([6e-310, None]), 2e-310).to_list()
    [3.0, None]
    """
    return column / pl.repeat(divisor, len(column), dtype=pl.Float64, eager=True)


def with_numbers(frame: pl.DataFrame, names: Sequence[str], X: Array) -> pl.DataFrame:
    """Return the frame with new values of columns of numbers, in float32 where the column was, else float64."""
    schema = frame.schema  # made anew each time it is read
    single = {name: pl.Float32 for name in names if schema[name] == pl.Float32}
    made = pl.DataFrame(np.ascontiguousarray(X), schema=list(names)).fill_nan(None)
    return replaced(frame, (made.cast(single) if single else made).get_columns())  # type: ignore[arg-type]


def replaced(frame: pl.DataFrame, columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Return the frame with these columns in the place of those of the same names.

    `DataFrame.with_columns` of series takes time that grows with the square of their number.
    """
    new = {column.name: column for column in columns}
    return pl.DataFrame([new.get(column.name, column) for column in frame.iter_columns()])


def values_of(frame: pl.DataFrame, name: str) -> Array:
    """Return a column of numbers as float64, NaN for missing cells; an infinite cell is an error."""
    values = frame[name].to_numpy().astype(np.float64, copy=False)
    if np.isinf(values).any():
        i = int(np.isinf(values).argmax())
        raise CellError("infinity", FINITE, row=i, column=frame.columns.index(name), name=name)
    return values


def matched(frame: pl.DataFrame, names: Sequence[str], owner: str) -> pl.DataFrame:
    """Return the columns of these names, in this order; a missing one is an error that lists similar names."""
    if frame.columns == names:
        return frame
    there = set(frame.columns)
    gone = [name for name in names if name not in there]
    if not gone:
        return picked(frame, list(names))
    free = {name.lower(): name for name in sorted(there - set(names))}
    near = [free[key] for key in difflib.get_close_matches(gone[0].lower(), list(free), n=3)]
    hint = f"; similar names: {', '.join(map(repr, near))}" if near else ""
    others = ", ".join(map(repr, gone[1:_LISTED])) + (", …" if len(gone) > _LISTED else "")
    rest = f" and {count(len(gone) - 1, 'other')} ({others})" if len(gone) > 1 else ""
    raise DataError(
        f"{owner}: the new rows have no column {gone[0]!r}{rest}, which the training rows have{hint}; rename or add "
        "columns"
    )


def require_kind(column: pl.Series, number: int, trained: str, owner: str) -> None:
    """Raise if a column holds something else than in the training rows; a column without values holds anything."""
    now = kind_of(column)
    if now in (trained, EMPTY) or (len(column) == 0 and column.dtype in (pl.Null, pl.String)):
        return
    place = f"column {column.name!r}"
    if trained == NUMBER and now == CATEGORY and column.dtype == pl.String:
        wrong = column.is_not_null() & column.cast(pl.Float64, strict=False).is_null()
        if wrong.any():
            i = int(np.argmax(wrong.to_numpy()))
            what = f"the text {column[i]!r} in a column of numbers"
            raise CellError(what, cell_advice(column[i]), row=i, column=number, name=column.name)
        raise DataError(
            f"{owner}: {place} holds text ({column.drop_nulls()[0]!r}), and numbers in the training rows; convert it, "
            f"such as by pl.col({column.name!r}).cast(pl.Float64)",
            column=number,
        )
    holds = {NUMBER: "numbers", CATEGORY: "categories", DATE: "dates", OTHER: "another type", EMPTY: "nothing"}
    raise DataError(
        f"{owner}: {place} holds {holds[now]} ({column.dtype}), and {holds[trained]} in the training rows; convert it",
        column=number,
    )


def with_type(column: pl.Series, kind: str) -> pl.Series:
    """Return a column without values in the type of its kind, which a text file does not tell; others as they are."""
    types: dict[str, Any] = {NUMBER: pl.Float64, DATE: pl.Datetime("us"), CATEGORY: pl.String}
    if column.null_count() < len(column) or kind not in types or kind_of(column[:0]) == kind:
        return column
    return column.cast(types[kind])


def positions(names: Sequence[str], wanted: Sequence[str | int], owner: str, parameter: str) -> list[str]:
    """Return the names of columns that are given by name or number; an unknown one is an error with similar names.

    >>> positions(["age", "crp"], ["crp", 0], "step", "columns")
    ['crp', 'age']
    """
    found, known = [], set(names)
    for item in wanted:
        if isinstance(item, str) and item in known:
            found.append(item)
        elif not isinstance(item, str) and item < len(names):
            found.append(names[item])
        else:
            near = difflib.get_close_matches(str(item), names, n=3)
            hint = f"; similar names: {', '.join(map(repr, near))}" if near else ""
            raise DataError(f"{owner}: {parameter} has {item!r}, which is not one of the {len(names)} columns{hint}")
    return list(dict.fromkeys(found))
