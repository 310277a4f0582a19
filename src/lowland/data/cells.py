"""Conversion of text cells to a typed column. The type depends on all cells, not only on the first ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")

# Formatted numbers that are not parsed: 1,200 and 1,5 and $5.00 and 7 %.
_WRITTEN = re.compile(
    r"[$€£¥]?[+-]?[$€£¥]?([0-9]{1,3}([,'\u00a0\u202f][0-9]{3})+|[0-9]+)([.,][0-9]+)?[ \u00a0]?[%$€£¥]?"
)
# Numbers with a decimal comma; in the second pattern the comma may also separate thousands: 1,200.
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", flags=re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Typed:
    """A typed column; ``stray`` is the row and the text of the first cell that is not a number in a column of numbers.

    ``decimal_commas``: every cell is a number if commas are decimal; ``thousands``: every comma may also separate
    thousands, since three digits follow it.
    """

    values: pl.Series
    stray: tuple[int, str] | None = None
    decimal_commas: bool = False
    thousands: bool = False


def is_number(cell: str) -> bool:
    """Return whether a cell is a number; infinities are, missing values are not.

    >>> [is_number(cell) for cell in ("1e-3", "-inf", " 5. ", "NaN", "1,5", "x")]
    [True, True, True, False, False, False]
    """
    return _NUMBER.fullmatch(cell.strip()) is not None


def is_written_number(cell: str) -> bool:
    """Return whether a cell is a number that may have separators, a decimal comma or a unit sign.

    >>> [is_written_number(cell) for cell in ("1,234,567", "1,5", "$5.00", "7 %", "2024-01-31", "x1")]
    [True, True, True, True, False, False]
    """
    return _WRITTEN.fullmatch(cell.strip()) is not None


def with_points(column: pl.Series) -> pl.Series:
    """Return cells with decimal commas as numbers.

    >>> with_points(pl.Series("a", ["1,5", None, " 2"])).to_list()
    [1.5, None, 2.0]
    """
    return column.str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64)


def typed(name: str, cells: Any) -> Typed:
    """Type a column of text cells (an Arrow array of strings; missing cells are null already).

    All integers that fit in 64 bits: integers; all numbers: floats; all true/false: booleans; else text. Space around
    a number is ignored. Text among at least as many numbers is reported as stray, and so are formatted numbers such as
    1,200 or 7 %.

    >>> typed("a", pa.chunked_array([["1", None, " 2.5"]])).values.to_list()
    [1.0, None, 2.5]
    >>> typed("a", pa.chunked_array([["1", "2", "abc"]])).stray
    (2, 'abc')
    """
    values = _numbers(cells)
    if values is None:
        trimmed = _trimmed(cells)
        values = _numbers(trimmed)
        if values is None:
            values = _truth_values(trimmed)
        if values is None:
            return _text(name, cells, trimmed)
    return Typed(_series(name, values))


def _series(name: str, column: Any) -> pl.Series:
    series = pl.Series(name, column)
    return series.fill_nan(None) if series.dtype == pl.Float64 else series  # e.g. from the text NAN


def _numbers(cells: Any) -> Any:
    """Return the cells as integers or floats, or None if some cell is neither."""
    try:
        floats = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    if cells.null_count == len(cells):
        return floats
    try:
        return pc.cast(cells, pa.int64())  # cheap for floats: it fails at the first fraction
    except pa.ArrowInvalid:
        return floats


def _trimmed(cells: Any) -> Any:
    bare = pc.utf8_trim_whitespace(cells)
    missing = pc.is_in(bare, value_set=pa.array(MISSING, bare.type))
    return pc.if_else(missing, pa.scalar(None, bare.type), bare)


def _truth_values(cells: Any) -> Any:
    lower = pc.utf8_lower(cells)
    words = pc.is_in(lower, value_set=pa.array(["true", "false"], lower.type))
    if not pc.all(pc.or_(words, pc.is_null(cells))).as_py():
        return None
    return pc.equal(lower, "true")


def _text(name: str, cells: Any, trimmed: Any) -> Typed:
    """Return the cells as text, with the first one that is not a number if most of them are."""
    bare = pl.Series(name, trimmed)
    numbers = bare.cast(pl.Float64, strict=False).is_not_null()
    written = bare.str.contains(f"^(?:{_WRITTEN.pattern})$").fill_null(False)
    stray, commas, thousands = None, False, False
    if 2 * (numbers | written).sum() >= bare.count():
        row = (~numbers & bare.is_not_null()).arg_max()
        if row is not None:
            stray = (row, str(bare[row]))
        commas = _all_match(_DECIMAL_COMMA, bare.drop_nulls())
        thousands = commas and _all_match(_THOUSANDS, bare.filter(bare.str.contains(",", literal=True)))
    values = pl.Series(name, pc.if_else(pc.is_null(trimmed), pa.scalar(None, cells.type), cells))
    return Typed(values, stray, commas, thousands)


def _all_match(pattern: re.Pattern[str], cells: pl.Series) -> bool:
    return bool(cells.str.contains(f"^(?:{pattern.pattern})$").all())
