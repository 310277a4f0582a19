"""Types of the columns of a text table: numbers with the table's marks, and the cells that keep a column from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa

from ..core.message import Advice, Message, Phrase, Remedies, Setting
from .cells import (
    MISSING,
    StrayCell,
    Typed,
    as_names,
    is_above_limit,
    is_below_limit,
    is_written_number,
    typed,
    with_marks,
)
from .dialect import Dialect
from .kinds import Stray
from .marks import Marks
from .options import ReadOptions
from .signs import UNIT_SIGNS, Limits

_MAX_SHOWN = 40  # characters of a cell in a message
_MAX_NAMES_IN_NOTE = 5
_AMBIGUOUS = re.compile(r"[+-]?\d{1,3}[.,]\d{3}")  # a decimal or a thousands mark
_POINT = re.compile(r"[+-]?\d*\.\d+")


@dataclass(frozen=True)
class Problem:
    """A column of numbers with some cells that are not numbers."""

    name: str
    stray: tuple[StrayCell, ...]
    decimal_commas: bool
    dialect: Dialect
    limits: Limits = Limits()  # noqa: RUF009 - a tuple

    def located(self, lines: Mapping[int, int]) -> list[Stray]:
        """Return the cells with their lines instead of their rows."""
        return [Stray(lines.get(cell.row), cell.cell, cell.count, cell.ambiguous) for cell in self.stray]

    def message(self, file: str, lines: Mapping[int, int]) -> Message:
        """Return the error that selecting the column raises."""
        row, cell = self.stray[0].row, self.stray[0].cell
        shown = cell if len(cell) <= _MAX_SHOWN else cell[: _MAX_SHOWN - 1] + "…"
        place = f"line {lines[row]}" if row in lines else f"row {row}"
        without = Message("exclude the column with ", Setting("drop", [self.name]))
        advice = Remedies(Message(*self._remedy(self.stray[0])), without)
        return Message(f"{file}, {place}, column {self.name!r}: {shown!r} is not a number", Advice("; ", advice))

    def _remedy(self, stray: StrayCell) -> tuple[str | Setting | Phrase, ...]:
        cell = stray.cell
        below, above = is_below_limit(cell), is_above_limit(cell)
        read = (below and self.limits.below != "error") or (above and self.limits.above != "error")
        if stray.ambiguous or read:
            return self._other_mark(cell)
        if below or above:
            side, choice = ("below", "half") if below else ("above", "limit")
            return (
                f"if it is a value {side} the limit of detection, use ",
                Setting(f"{side}_limit", choice),
                " or ",
                Setting(f"{side}_limit", "missing"),
            )
        if self.decimal_commas and self.dialect.separator == ",":
            return (
                "use decimal points, as in 1234.5, separate the cells by semicolons, which allows decimal commas, or "
                "set ",
                Setting("decimal", ","),
            )
        if self.dialect.marks.decimal == "," and _POINT.fullmatch(cell.strip()):
            return self._other_mark(cell)
        if any(sign in cell for sign in UNIT_SIGNS):
            return ("write all numbers of the column with the same sign, or without",)
        if _AMBIGUOUS.fullmatch(cell.strip()):
            mark = "," if "," in cell else "."
            whole = cell.strip().replace(mark, "")
            return (
                f"it may mean {cell.strip().replace(mark, '.')} or {whole}: set ",
                Phrase(f"decimal={mark!r}", f"--decimal {mark!r}"),
                " or ",
                Phrase(f"thousands={mark!r}", f"--thousands {mark!r}"),
            )
        if is_written_number(cell):
            return (
                "write numbers without thousands separators, decimal commas and unit signs, as in 1234.5, or set ",
                Setting("decimal"),
                " or ",
                Setting("thousands"),
            )
        return ("correct it, or, if it means a missing value, use ", Setting("na", cell))

    def _other_mark(self, cell: str) -> tuple[str | Setting | Phrase, ...]:
        """Return the remedy for a number that does not have the decimal mark of the table."""
        decimal = self.dialect.marks.decimal
        other = "." if decimal == "," else ","
        known = f"the decimal mark of the table is a {'comma' if decimal == ',' else 'point'}"
        if cell.count(other) != 1 or decimal in cell:
            return (
                f"{known}: write numbers without thousands separators, as in 1234{decimal}5, or set ",
                Setting("thousands"),
            )
        number, whole = cell.replace(other, decimal), cell.replace(other, "")
        if not _AMBIGUOUS.search(cell):
            return (f"{known}: write the cell as {number}",)
        return (
            f"it may mean {cell.replace(other, '.')} or {whole}, as {known}: write the cell as {number} or {whole}, or "
            "set ",
            Phrase(f"thousands={other!r}", f"--thousands {other!r}"),
        )


@dataclass(frozen=True)
class TypedColumns:
    """The columns of a table, those with stray cells, the number marks, a note on dates, and their forms.

    ``signs`` are the signs of units, such as %, that were left out of columns of numbers. ``identifiers`` are columns
    of codes, such as 001, that differ in each row as they are written.
    """

    frame: pl.DataFrame
    problems: list[Problem]
    marks: Marks
    dates: str | None
    signs: Mapping[str, str] = field(default_factory=dict)
    date_forms: Mapping[str, str] = field(default_factory=dict)
    identifiers: frozenset[str] = frozenset()

    @property
    def notes(self) -> list[str]:
        """Notes on signs and dates."""
        texts = []
        for sign in dict.fromkeys(self.signs.values()):
            names = [name for name, own in self.signs.items() if own == sign]
            texts.append(f"numbers are read without {sign} in {_few(names)}")
        return [*texts, *([] if self.dates is None else [self.dates])]


def type_columns(dialect: Dialect, columns: list[Any], options: ReadOptions) -> TypedColumns:
    """Type the columns of a table.

    ``columns`` are Arrow arrays or series, last one first; each is dropped when its series is made.
    """
    missing, limits = (*MISSING, *options.na), Limits(options.below_limit or "error", options.above_limit or "error")
    codes = frozenset(
        name
        for name, cells in zip(reversed(dialect.names), columns, strict=True)
        if name in dialect.codes and _all_differ(cells)
    )
    made = [
        _names(name, columns.pop(), missing)
        if options.holds_names(number, name)
        else _column(name, columns.pop(), missing, limits, dialect.marks)
        for number, name in enumerate(dialect.names)
    ]
    marks = _marks(made, dialect, options)
    made = [with_marks(column, marks, limits) for column in made]
    problems = [
        Problem(
            column.values.name,
            column.stray,
            column.evidence is not None and column.evidence.decimal_comma,
            replace(dialect, marks=marks),
            limits,
        )
        for column in made
        if column.stray
    ]
    frame = _without_nan(pl.DataFrame([column.values for column in made]))
    forms = {column.values.name: column.date_format for column in made if column.date_format is not None}
    signs = {column.values.name: column.sign for column in made if column.sign is not None and not column.stray}
    return TypedColumns(frame, problems, marks, _date_note(made), signs, forms, codes)


def _all_differ(cells: Any) -> bool:
    """Return whether cells of text are all there and all differ."""
    texts = cells if isinstance(cells, pl.Series) else pl.Series(cells)
    if texts.dtype != pl.String or texts.null_count():
        return False
    return texts.str.strip_chars().n_unique() == len(texts)


def _without_nan(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with missing values instead of NaN, as from the text NAN; all columns are checked at once."""
    floats = frame.select(pl.col(pl.Float64).is_nan().any())
    names = [column.name for column in floats.get_columns() if column[0]]
    return frame.with_columns(pl.col(names).fill_nan(None)) if names else frame


def _names(name: str, cells: Any, missing: tuple[str, ...]) -> Typed:
    """Return a column of names that was read as text."""
    return Typed(as_names(name, cells.to_arrow().cast(pa.string()) if isinstance(cells, pl.Series) else cells, missing))


def _column(name: str, cells: Any, missing: tuple[str, ...], limits: Limits, marks: Marks) -> Typed:
    """Return a column that Arrow read: numbers as they are, text by its cells."""
    if isinstance(cells, pl.Series):
        cells = cells.to_arrow().cast(pa.string()) if cells.dtype == pl.String else cells
    elif pa.types.is_null(cells.type):
        cells = cells.cast(pa.float64())
    if not isinstance(cells, pl.Series) and pa.types.is_string(cells.type):
        return typed(name, cells, missing, limits, marks)
    return Typed(pl.Series(name, cells))


def _marks(columns: Sequence[Typed], dialect: Dialect, options: ReadOptions) -> Marks:
    """Return the marks of the table; cells after the first lines may tell what those did not."""
    marks = dialect.marks
    proofs = [column.evidence for column in columns if column.evidence is not None]
    decimal, thousands = marks.decimal, marks.thousands
    groups = [proof.thousands for proof in proofs if proof.thousands is not None]
    if options.decimal is None and decimal == "." and dialect.separator != "," and "," not in groups:
        decimal = "," if any(proof.decimal_comma for proof in proofs) else "."
    if options.thousands is None and thousands is None:
        thousands = next((mark for mark in groups if mark != decimal), None)
    return Marks(decimal, None if thousands == decimal else thousands)


def _date_note(columns: Sequence[Typed]) -> str | None:
    """Return a note on columns of dates that are not in ISO form."""
    words = {"%Y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month"}
    forms: dict[str, list[str]] = {}
    for column in columns:
        if column.date_format not in (None, "%Y-%m-%d"):
            form = str(column.date_format)
            for code, word in words.items():
                form = form.replace(code, word)
            forms.setdefault(form, []).append(column.values.name)
    texts = []
    for form, names in forms.items():
        texts.append(f"dates are read as {form} in {_few(names)}")
    return "; ".join(texts) or None


def _few(names: Sequence[str]) -> str:
    more = f", … ({len(names)} columns)" if len(names) > _MAX_NAMES_IN_NOTE else ""
    return f"{', '.join(names[:_MAX_NAMES_IN_NOTE])}{more}"
