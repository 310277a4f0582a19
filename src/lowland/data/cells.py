"""Conversion of text cells to a typed column. The type depends on all cells, not only on the first ones."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ..core.message import Message, Phrase, Remedies
from .column_names import MAX_INTEGER_LABELS
from .dates import parse_dates
from .marks import PLAIN, MarkEvidence, Marks, evidence
from .signs import (
    ABOVE,
    ABOVE_LIMIT,
    BELOW,
    BELOW_LIMIT,
    LIMIT_SIGNS,
    Limits,
    limits_in,
    read_limits,
    unit_sign,
    with_minus,
    with_minuses,
    without_sign,
)

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
_ERRORS = Limits()
_MAX_STRAY = 5  # different cells that are listed

# Formatted numbers that are not parsed: $5.00 and 7 %, and 1,200 if nothing tells what the comma means.
_WRITTEN = re.compile(
    r"[$€£¥]?[+-]?[$€£¥]?([0-9]{1,3}([.,' \u00a0\u202f][0-9]{3})+|[0-9]+)([.,][0-9]+)?[ \u00a0]?[%$€£¥]?"
)
_MAY_BE_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.][0-9]{3}")
_LIMIT = re.compile(f"{BELOW_LIMIT.pattern}|{ABOVE_LIMIT.pattern}")
_BEGINNING = rf"^[$€£¥+\-. {LIMIT_SIGNS}]*[0-9]"  # of anything that is likely to be a number
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", flags=re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class StrayCell:
    """A cell that is not a number in a column of numbers: its first row, its text, and how often the text occurs.

    ``ambiguous``: the separator of the number in it may be a decimal or a thousands mark.
    """

    row: int
    cell: str
    count: int = 1
    ambiguous: bool = field(default=False, repr=False)


@dataclass(frozen=True, eq=False)
class Typed:
    """A typed column; ``stray`` lists the first cells that are not numbers in a column of numbers.

    ``trimmed`` are the cells of a column that stayed text; ``evidence`` tells its number marks, if all cells are
    numbers with some marks; ``date_format`` is that of a column of dates; ``sign`` is the sign of a unit that all cells
    have.
    """

    values: pl.Series
    stray: tuple[StrayCell, ...] = ()
    trimmed: pl.Series | None = None
    evidence: MarkEvidence | None = None
    date_format: str | None = None
    sign: str | None = None


def is_number(cell: str) -> bool:
    """Return whether a cell is a number; infinities are, missing values are not.

    >>> [is_number(cell) for cell in ("1e-3", "-inf", " 5. ", "−3", "NaN", "1,5", "x")]
    [True, True, True, True, False, False, False]
    """
    return _NUMBER.fullmatch(with_minus(cell.strip())) is not None


def is_written_number(cell: str) -> bool:
    """Return whether a cell is a number that may have separators, a decimal comma or a unit sign.

    >>> [is_written_number(cell) for cell in ("1,234,567", "−1,5", "$5.00", "7 %", "2024-01-31", "x1")]
    [True, True, True, True, False, False]
    """
    return _WRITTEN.fullmatch(with_minus(cell.strip())) is not None


def is_below_limit(cell: str) -> bool:
    """Return whether a cell is a value below a limit of detection.

    >>> is_below_limit("<0.5"), is_below_limit("< x")
    (True, False)
    """
    return BELOW_LIMIT.fullmatch(cell.strip()) is not None


def is_above_limit(cell: str) -> bool:
    """Return whether a cell is a value above a limit of detection.

    >>> is_above_limit(">100"), is_above_limit("> x")
    (True, False)
    """
    return ABOVE_LIMIT.fullmatch(cell.strip()) is not None


def _limit_advice(side: str, choice: str) -> Message:
    return Message(
        f"if it is a value {side} the limit of detection, read the table with ",
        Phrase(f"lowland.data.read(table, {side}_limit={choice!r})", f"--{side}-limit {choice}"),
        " or ",
        Phrase(f"{side}_limit='missing'", f"--{side}-limit missing"),
    )


def cell_advice(cell: str) -> Remedies:
    """Return the remedies for a text in a column of numbers of a data frame.

    >>> str(cell_advice("n.d."))
    'correct it or leave the row out'
    """
    ways = ("correct it", "leave the row out")
    if is_below_limit(cell):
        return Remedies(_limit_advice("below", "half"), *ways)
    return Remedies(_limit_advice("above", "limit"), *ways) if is_above_limit(cell) else Remedies(*ways)


def stray_among_numbers(column: pl.Series) -> StrayCell | None:
    """Return the first cell that is not a number in a column of text that holds measured values, else None.

    Most cells are numbers, as for `typed`, and either some are beyond a limit of detection or there are more different
    numbers than codes have: levels such as 1, 2, 3a are categories.

    >>> stray_among_numbers(pl.Series(["1.5", "2", "<0.5"]))
    StrayCell(row=2, cell='<0.5', count=1)
    >>> stray_among_numbers(pl.Series(["1", "2", "3a"]))
    """
    bare = column.str.strip_chars()
    known = bare.is_not_null() & ~bare.is_in(MISSING)
    if 2 * (known & bare.str.contains(_BEGINNING)).sum() < known.sum():  # quick for most columns of text
        return None
    found = typed(column.name, column.to_arrow().cast("string"))
    if not found.stray or found.trimmed is None:
        return None
    levels = found.trimmed.unique()
    numbers = levels.cast(pl.Float64, strict=False).count()
    if numbers <= MAX_INTEGER_LABELS and not _all_of(_LIMIT, levels).any():
        return None
    return found.stray[0]


def typed(
    name: str, cells: Any, missing: tuple[str, ...] = MISSING, limits: Limits = _ERRORS, marks: Marks = PLAIN
) -> Typed:
    """Type a column of text cells (an Arrow array of strings; missing cells are null already).

    All integers that fit in 64 bits: integers; all numbers: floats; all true/false: booleans; all dates of one form:
    dates; else text. Space around a number is ignored. Text among at least as many numbers is reported as stray, and
    so are formatted numbers such as 1,200. A sign of a unit that all cells have, such as %, is left out.

    >>> typed("a", pa.chunked_array([["1", None, " 2.5"]])).values.to_list()
    [1.0, None, 2.5]
    >>> typed("a", pa.chunked_array([["1", "2", "abc"]])).stray
    (StrayCell(row=2, cell='abc', count=1),)
    """
    values = _numbers(cells, marks)
    if values is None:
        trimmed = with_minuses(_trimmed(cells, missing))
        values = _numbers(trimmed, marks)
        if values is None:
            values = _truth_values(trimmed)
        if values is None:
            bare = pl.Series(name, trimmed)
            dates = parse_dates(bare)
            if dates is None or len(dates.formats) > 1:
                return _text(name, cells, bare, limits, marks)
            return Typed(dates.values, date_format=dates.formats[0])
    return Typed(pl.Series(name, values))


def as_text(name: str, cells: Any, missing: tuple[str, ...] = MISSING) -> pl.Series:
    """Return a column of text cells as they are; words for missing values become missing.

    >>> as_text("a", pa.chunked_array([["1", " NA ", " x"]])).to_list()
    ['1', None, ' x']
    """
    return pl.Series(name, pc.if_else(pc.is_valid(_trimmed(cells, missing)), cells, pa.scalar(None, cells.type)))


def as_names(name: str, cells: Any, missing: tuple[str, ...] = MISSING) -> pl.Series:
    """Return a column of names as they are written, without space around them; plain whole numbers as integers.

    Numbers that all end in .0, as data frames write whole numbers that once had gaps, are whole numbers, too.

    >>> as_names("a", pa.chunked_array([["007", " 7", "NA"]])).to_list()
    ['007', '7', None]
    >>> as_names("a", pa.chunked_array([["12", "-7", "0"]])).to_list()
    [12, -7, 0]
    """
    names = pl.Series(name, _trimmed(cells, missing))
    bare = names.str.strip_suffix(".0") if names.str.ends_with(".0").all() else names
    numbers = bare.cast(pl.Int64, strict=False)
    same = numbers.count() == names.count() and (numbers.cast(pl.String) == bare).all()
    return numbers if same else names


def with_marks(column: Typed, marks: Marks, limits: Limits = _ERRORS) -> Typed:
    """Return a column that stayed text as numbers, if all cells are numbers with these marks; else as it is.

    The limit of a value below or above it may have the other decimal mark, unless that may separate thousands.

    >>> column = typed("a", pa.chunked_array([["1,5", None, "< 2", "<0.5"]]))
    >>> with_marks(column, Marks(","), Limits("half")).values.to_list()
    [1.5, None, 1.0, 0.25]
    """
    if column.trimmed is None:
        return column
    cells = column.trimmed
    signs = (BELOW if limits.below != "error" else "") + (ABOVE if limits.above != "error" else "")
    limited = limits_in(cells, signs) if signs else None
    if limited is not None:
        cells = pl.select(pl.when(limited).then(_limits(cells)).otherwise(cells).alias(cells.name)).to_series()
    possible = [marks]
    if marks.decimal == "," and not _all_of(_MAY_BE_THOUSANDS, cells).any():
        possible.append(PLAIN)  # a column with decimal points in a table with decimal commas
    found = (each.numbers(_limits_with(each, cells, limited)) for each in possible)
    values = next((numbers for numbers in found if numbers is not None), None)
    if values is None:
        stray, _ = min((_stray(column.trimmed, each, limits) for each in possible), key=lambda pair: pair[1])
        return replace(column, stray=stray) if stray else column
    return Typed(read_limits(values, column.trimmed, limits), sign=column.sign)


def _limits(cells: pl.Series) -> pl.Series:
    """Return trimmed cells without signs of limits."""
    return cells.str.strip_chars_start(LIMIT_SIGNS).str.strip_chars_start()


def _limits_with(marks: Marks, cells: pl.Series, limited: pl.Series | None) -> pl.Series:
    """Return cells without signs of limits; the limits among them with the decimal mark of the table, if sure."""
    if limited is None or not limited.any():
        return cells
    return pl.select(pl.when(limited).then(marks.rewritten(cells)).otherwise(cells).alias(cells.name)).to_series()


def _stray(bare: pl.Series, marks: Marks, limits: Limits) -> tuple[tuple[StrayCell, ...], int]:
    """Return the first different cells that are not numbers, and the number of all.

    The first word and the first ambiguous limit are among them, as these need other remedies than a limit.
    """
    numbers = bare.cast(pl.Float64, strict=False).is_not_null() if marks == PLAIN else marks.matches(bare)
    below, above = _all_of(BELOW_LIMIT, bare), _all_of(ABOVE_LIMIT, bare)
    sure = (below | above) & marks.matches(marks.rewritten(_limits(bare)))
    for kind, choice in ((below, limits.below), (above, limits.above)):
        if choice != "error":
            numbers = numbers | (kind & sure)
    classes = pl.when((below | above) & ~sure).then(2).when(above).then(3).when(below).then(1).otherwise(0)
    rows = pl.DataFrame({"cell": bare}).with_columns(classes.alias("class"))
    rows = rows.with_row_index("row").filter(~numbers & bare.is_not_null())
    first = rows.group_by("cell", maintain_order=True).agg(
        pl.col("row").first(), pl.len().alias("count"), pl.col("class").first()
    )
    shown = first.head(_MAX_STRAY)
    others = first.filter(~pl.col("class").is_in(shown["class"].to_list())).unique("class", maintain_order=True)
    shown = pl.concat([shown.head(_MAX_STRAY - others.height), others])
    stray = tuple(StrayCell(row, cell, count, kind == 2) for cell, row, count, kind in shown.rows())
    return stray, rows.height


def _numbers(cells: Any, marks: Marks) -> Any:
    """Return the cells as integers or floats, or None if some cell is neither.

    Where the decimal mark is a comma, only integers: the point of 1.200 may separate thousands.
    """
    try:
        if marks.decimal != ".":
            return pc.cast(cells, pa.int64())
        floats = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    if cells.null_count == len(cells):
        return floats
    try:
        return pc.cast(cells, pa.int64())  # cheap for floats: it fails at the first fraction
    except pa.ArrowInvalid:
        return floats


def _trimmed(cells: Any, missing: tuple[str, ...]) -> Any:
    bare = pc.utf8_trim_whitespace(cells)
    gaps = pc.is_in(bare, value_set=pa.array(missing, bare.type))
    return pc.if_else(gaps, pa.scalar(None, bare.type), bare)


def _truth_values(cells: Any) -> Any:
    lower = pc.utf8_lower(cells)
    words = pc.is_in(lower, value_set=pa.array(["true", "false"], lower.type))
    if not pc.all(pc.or_(words, pc.is_null(cells))).as_py():
        return None
    return pc.equal(lower, "true")


def _text(name: str, cells: Any, bare: pl.Series, limits: Limits, marks: Marks) -> Typed:
    """Return the cells as text, with the first ones that are not numbers if most of them are."""
    sign = unit_sign(bare)
    bare = bare if sign is None else without_sign(bare, sign)
    numbers = bare.cast(pl.Float64, strict=False).is_not_null() if marks == PLAIN else marks.matches(bare)
    likely = numbers | _all_of(_WRITTEN, bare) | _all_of(_LIMIT, bare)
    values = pl.Series(name, pl.Series(cells).to_frame("").select(pl.when(bare.is_not_null()).then(pl.col(""))))
    if 2 * likely.sum() < bare.count():
        return Typed(values)
    stray, _ = _stray(bare, marks, limits)
    others = bare.filter(~limits_in(bare, LIMIT_SIGNS))  # limits may have the mark of another device
    return Typed(values, stray, bare, evidence(others), sign=sign)


def _all_of(pattern: re.Pattern[str], cells: pl.Series) -> pl.Series:
    return cells.str.contains(f"^(?:{pattern.pattern})$").fill_null(False)
