"""What each column of a table is, with the reason: `ColumnKind`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from .dates import parse_dates
from .roles import MAX_INTEGER_LABELS, MAX_LABELS, called_identifier, identifiers
from .squares import row_numbers
from .table import Stray, not_numeric

if TYPE_CHECKING:
    from .table import Table

_HEAD = 2000  # rows that show whether a column has few different values
_MAX_LEVEL_LENGTH = 40  # characters: longer texts are prose


@dataclass(frozen=True)
class ColumnKind:
    """What a column is.

    ``kind`` is ``"number"``, ``"category"``, ``"date"``, ``"text"``, ``"id"``, ``"constant"``, ``"empty"`` or
    ``"other"`` (lists, bytes, durations); ``reason`` says why. ``proposed="category"`` marks numbers with few different
    values, which may be codes. ``missing``: number of missing values. ``formats``: of dates in text, those that fit
    all cells. ``stray``: the first cells that keep the column from being numeric.
    """

    kind: str
    reason: str
    proposed: str | None = None
    missing: int = 0
    formats: tuple[str, ...] = ()
    stray: tuple[Stray, ...] = ()


def column_kinds(table: Table) -> dict[str, ColumnKind]:
    """Return the kind of each column, those kept aside included.

    >>> from lowland.data.table import Table
    >>> frame = pl.DataFrame({"n": [3, 1, 3, 1], "day": ["1.2.2024", "13.2.2024", "1.3.2024", None], "c": [7.0] * 4})
    >>> for name, kind in column_kinds(Table(frame, "small.csv")).items():
    ...     print(name, kind.kind, kind.proposed, "|", kind.reason)
    n number category | 2 different whole numbers, which may be codes
    day date None | dates in the form %d.%m.%Y
    c constant None | every value is 7.0
    """
    counting = row_numbers(table) if table.n_columns else None
    naming = set(identifiers(table, counting))
    kinds = {}
    for name in [*table.aside.columns, *table.names]:
        column = table.column(name)
        if name in table.faults:
            cells = tuple(table.stray.get(name, ()))
            listed = ", ".join(f"{cell.cell!r}" for cell in cells[:3])
            reason = f"numbers, except cells such as {listed}" if cells else "numbers with some text"
            kinds[name] = ColumnKind("number", reason, missing=column.null_count(), stray=cells)
        elif name in table.roles.values():
            role = next(role for role, owner in table.roles.items() if owner == name)
            kinds[name] = ColumnKind("text" if role == "text" else "other", f"the {role} of each row")
        else:
            kinds[name] = _kind(column, name in naming, name == counting)
    return kinds


def _kind(column: pl.Series, identifier: bool, counting: bool) -> ColumnKind:
    gaps = _missing(column)
    known = column.drop_nulls()
    if gaps == len(column):
        return ColumnKind("empty", "every value is missing", missing=gaps)
    if _one_value(known):
        return ColumnKind("constant", f"every value is {_short(known[0])}", missing=gaps)
    if counting or _counts(column):
        return ColumnKind("id", "whole numbers that count the rows", missing=gaps)
    if identifier or _named_identifier(column):
        return ColumnKind("id", "a different value in each row", missing=gaps)
    other = not_numeric(column.dtype)
    if other is None:
        return _number(known, gaps)
    if other == "dates":
        return ColumnKind("date", "dates" if column.dtype == pl.Date else "dates with times", missing=gaps)
    if other == "text":
        return _text(known.cast(pl.String), gaps)
    return ColumnKind("other", other, missing=gaps)


def _number(known: pl.Series, gaps: int) -> ColumnKind:
    if known.dtype == pl.Boolean:
        return ColumnKind("number", "true or false, read as 1 and 0", "category", gaps)
    levels = _few_levels(known, MAX_INTEGER_LABELS)
    if levels is not None and len(known) >= 2 * levels and _whole(known):
        return ColumnKind("number", f"{levels} different whole numbers, which may be codes", "category", gaps)
    return ColumnKind("number", "numbers", missing=gaps)


def _text(known: pl.Series, gaps: int) -> ColumnKind:
    dates = parse_dates(known)
    if dates is not None:
        order = " or ".join(dates.formats)
        doubt = "; no day past 12 decides which" if len(dates.formats) > 1 else ""
        return ColumnKind("date", f"dates in the form {order}{doubt}", missing=gaps, formats=dates.formats)
    longest = known.str.len_chars().max()
    prose = isinstance(longest, int) and longest > _MAX_LEVEL_LENGTH
    levels = known.n_unique()
    if levels <= MAX_LABELS and (levels < len(known) or not prose):
        return ColumnKind("category", f"{levels} different values", missing=gaps)
    if not prose and 2 * levels <= len(known):
        return ColumnKind("category", f"{levels} different values, each {len(known) / levels:.3g} times on average")
    return ColumnKind("text", f"{levels} different texts in {len(known)} rows", missing=gaps)


def _missing(column: pl.Series) -> int:
    nan = int(column.is_nan().sum() or 0) if column.dtype.is_float() else 0
    return column.null_count() + nan


def _one_value(known: pl.Series) -> bool:
    if known.dtype.is_float():
        known = known.drop_nans()
    if known.dtype.is_nested() or known.dtype == pl.Object:
        return False
    return len(known) > 1 and known.head(_HEAD).n_unique() == 1 and known.n_unique() == 1


def _counts(column: pl.Series) -> bool:
    """Return whether whole numbers increase by one from row to row."""
    if not column.dtype.is_integer() or len(column) < 3 or column.null_count():
        return False
    steps = column.head(_HEAD).cast(pl.Int128).diff().drop_nulls()
    return bool((steps == 1).all()) and bool((column.cast(pl.Int128).diff().drop_nulls() == 1).all())


def _named_identifier(column: pl.Series) -> bool:
    """Return whether a column is named as an identifier and has a different value in each row."""
    if not (column.dtype == pl.String or column.dtype.is_integer()) or not called_identifier(column.name):
        return False
    return len(column) > 2 and not column.null_count() and column.n_unique() == len(column)


def _few_levels(known: pl.Series, most: int) -> int | None:
    """Return the number of different values, or None if there are more than ``most``."""
    if known.head(_HEAD).n_unique() > most:
        return None
    levels = known.n_unique()
    return levels if levels <= most else None


def _whole(known: pl.Series) -> bool:
    if known.dtype.is_integer():
        return True
    levels = known.drop_nans().unique() if known.dtype.is_float() else known.unique().cast(pl.Float64)
    return bool((levels.is_finite() & (levels == levels.round())).all())


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _MAX_LEVEL_LENGTH else text[: _MAX_LEVEL_LENGTH - 1] + "…"
