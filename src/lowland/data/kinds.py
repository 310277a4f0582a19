"""What each column of a table is, with the reason: `ColumnKind`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from .column_names import MAX_INTEGER_LABELS, MAX_LABELS, called_identifier, last_word
from .dates import parse_dates

MIN_ROWS = 3  # with fewer rows, nothing tells an identifier
_HEAD = 2000  # rows that show whether a column has few different values
_MAX_LEVEL_LENGTH = 40  # characters: longer texts are prose


@dataclass(frozen=True)
class Stray:
    """A cell that keeps a column from being numeric: its first line (or row), its text, how often the text occurs.

    ``ambiguous``: the separator of the number in it may be a decimal or a thousands mark.
    """

    line: int | None
    cell: str
    count: int = 1
    ambiguous: bool = field(default=False, repr=False)


@dataclass(frozen=True)
class ColumnKind:
    """What a column is.

    ``kind`` is ``"number"``, ``"category"``, ``"date"``, ``"text"``, ``"id"``, ``"constant"``, ``"empty"`` or
    ``"other"`` (lists, bytes, durations); ``reason`` says why. ``proposed="category"`` marks numbers with few different
    values, which may be codes, and ``proposed="vector"`` equally long lists of numbers. ``missing``: number of missing
    values. ``formats``: of dates in text, those that fit all cells. ``stray``: the first cells that keep the column
    from being numeric.
    """

    kind: str
    reason: str
    proposed: str | None = None
    missing: int = 0
    formats: tuple[str, ...] = ()
    stray: tuple[Stray, ...] = ()

    @classmethod
    def of_stray(cls, cells: Sequence[Stray], missing: int) -> ColumnKind:
        """Return the kind of a column of numbers with some cells that are not."""
        listed = ", ".join(repr(_short(cell.cell)) for cell in cells[:3])
        reason = f"numbers, except cells such as {listed}" if cells else "numbers with some text"
        return cls("number", reason, missing=missing, stray=tuple(cells))


def column_kind(column: pl.Series) -> ColumnKind:
    """Return the kind of a column from its name and its values.

    >>> column_kind(pl.Series("n", [3, 1, 3, 1])).reason
    '2 different whole numbers, which may be codes'
    >>> column_kind(pl.Series("day", ["1.2.2024", "13.2.2024", None])).reason
    'dates in the form %d.%m.%Y'
    >>> column_kind(pl.Series("patient_id", [907, 13, 422])).kind
    'id'
    """
    gaps = _missing(column)
    known = column.drop_nulls()
    if gaps == len(column):
        return ColumnKind("empty", "every value is missing", missing=gaps)
    if _one_value(known):
        return ColumnKind("constant", f"every value is {_short(known[0]) or 'an empty text'}", missing=gaps)
    if _counts(column):
        return ColumnKind("id", "whole numbers that count the rows", missing=gaps)
    if _identifies(column):
        return ColumnKind("id", "a different value in each row", missing=gaps)
    other = not_numeric(column.dtype)
    if other is None:
        return _number(known, gaps)
    if other == "dates":
        return ColumnKind("date", "dates" if column.dtype == pl.Date else "dates with times", missing=gaps)
    if other == "text":
        return _text(known.cast(pl.String), gaps)
    width = _vector_length(known)
    if width is not None:
        return ColumnKind("other", f"vectors of {width:,} numbers", None if gaps else "vector", gaps)
    return ColumnKind("other", other, missing=gaps)


def _vector_length(known: pl.Series) -> int | None:
    """Return the length of the lists of a column if all are equally long and of numbers, else None."""
    inner = getattr(known.dtype, "inner", None)
    if inner is None or not inner.is_numeric():
        return None
    lengths = known.arr.len() if isinstance(known.dtype, pl.Array) else known.list.len()
    return int(lengths[0]) if lengths.n_unique() == 1 and lengths[0] > 1 else None


def _number(known: pl.Series, gaps: int) -> ColumnKind:
    if known.dtype == pl.Boolean:
        return ColumnKind("number", "true or false, read as 1 and 0", "category", gaps)
    levels = _few_levels(known, MAX_INTEGER_LABELS) if _whole(known.head(_HEAD)) else None
    if levels is not None and len(known) >= 2 * levels and _whole(known):
        return ColumnKind("number", f"{levels} different whole numbers, which may be codes", "category", gaps)
    return ColumnKind("number", "numbers", missing=gaps)


def _text(known: pl.Series, gaps: int) -> ColumnKind:
    dates = parse_dates(known)
    if dates is not None:
        order = " or ".join(dates.formats)
        doubt = "; no day above 12 shows which: choose the type dmy or mdy" if len(dates.formats) > 1 else ""
        return ColumnKind("date", f"dates in the form {order}{doubt}", missing=gaps, formats=dates.formats)
    longest = known.str.len_chars().max()
    prose = isinstance(longest, int) and longest > _MAX_LEVEL_LENGTH
    levels = known.n_unique()
    if levels <= MAX_LABELS and (levels < len(known) or not prose):
        return ColumnKind("category", f"{levels} different values", missing=gaps)
    if not prose and 2 * levels <= len(known):
        return ColumnKind(
            "category", f"{levels} different values, each {len(known) / levels:,.0f} times on average", missing=gaps
        )
    return ColumnKind("text", f"{levels} different texts in {len(known)} rows", missing=gaps)


def _missing(column: pl.Series) -> int:
    if column.dtype in (pl.Float32, pl.Float64):
        return int(np.count_nonzero(np.isnan(column.to_numpy())))  # missing values are NaN there, too
    return column.null_count()


def _one_value(known: pl.Series) -> bool:
    if known.dtype.is_float():
        known = known.drop_nans()
    if known.dtype.is_nested() or known.dtype == pl.Object or (len(known) > 1 and known[0] != known[1]):
        return False
    return len(known) > 1 and known.head(_HEAD).n_unique() == 1 and known.n_unique() == 1


def _counts(column: pl.Series) -> bool:
    """Return whether whole numbers increase by one from row to row."""
    if not column.dtype.is_integer() or len(column) < 3 or column.null_count():
        return False
    steps = column.head(_HEAD).cast(pl.Int128).diff().drop_nulls()
    return bool((steps == 1).all()) and bool((column.cast(pl.Int128).diff().drop_nulls() == 1).all())


def _identifies(column: pl.Series) -> bool:
    """Return whether a column has a different value in each row: short texts, or whole numbers named as identifiers.

    A column named id may repeat some values, as those of repeated visits.
    """
    text, named = column.dtype == pl.String, called_identifier(column.name)
    if not text and not (named and column.dtype.is_integer()):
        return False
    if len(column) < MIN_ROWS or column.null_count():
        return False
    if text and (bool((column.str.len_chars() > _MAX_LEVEL_LENGTH).any()) or parse_dates(column) is not None):
        return False
    levels = column.n_unique()
    strict = named and last_word(column.name).endswith("id") and levels > max(MAX_LABELS, len(column) // 2)
    return levels == len(column) or strict


def _few_levels(known: pl.Series, most: int) -> int | None:
    """Return the number of different values, or None if there are more than ``most``."""
    if known.head(_HEAD).n_unique() > most:
        return None
    levels = known.n_unique()
    return levels if levels <= most else None


def _whole(known: pl.Series) -> bool:
    if known.dtype.is_integer():
        return True
    values = known.cast(pl.Float64).to_numpy()
    values = values[~np.isnan(values)]
    return bool(np.all(np.isfinite(values) & (values == np.round(values))))


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _MAX_LEVEL_LENGTH else text[: _MAX_LEVEL_LENGTH - 1] + "…"


def not_numeric(dtype: pl.DataType) -> str | None:
    """Return what a non-numeric type holds, or None for numeric types; booleans are numbers, 0 and 1.

    >>> not_numeric(pl.Date()), not_numeric(pl.Boolean())
    ('dates', None)
    """
    if dtype.is_numeric() or dtype == pl.Boolean:
        return None
    if dtype.is_temporal():
        return "durations" if dtype == pl.Duration else "times" if dtype == pl.Time else "dates"
    if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
        return "text"
    if isinstance(dtype, pl.Null):
        return "empty"
    if dtype.is_nested():
        return "nested values"
    return "binary values" if isinstance(dtype, pl.Binary) else "objects"
