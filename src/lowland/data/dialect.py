"""Detection of the dialect of a delimited text from its first lines: separator, header, comments, number marks."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import polars as pl

from ..core.errors import DataError, NoRowsError
from ..core.message import Message, Setting
from .cells import MISSING, is_number, is_written_number
from .heading import renamed_note, title_rows, units_in, units_note, unlike_names
from .marks import PLAIN, Marks, marks_of
from .options import SEPARATORS, THOUSANDS, ReadOptions
from .signs import LIMIT_SIGNS, with_minus

_MAX_SAMPLE_CELLS = 20_000
_MAX_SAMPLE_COLUMNS = 1000
_MANY_DIGITS = 19  # of whole numbers that 64 bits may not hold
_MAX_TITLE_LENGTH = 2000  # characters of the first line of a title
_MIN_TITLED_LINES = 60  # lines that show the width of the table below a title
COMMENT = "#"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


@dataclass(frozen=True)
class Dialect:
    """How a text is written.

    ``skip`` lines come before the header or the first row, ``n_comments`` of them comments. ``comment`` also marks
    comments among the rows. ``names`` are the columns. ``kinds`` tells for each column whether its first cells are
    integers (``"int"``), numbers (``"float"``) or anything else (``""``). ``width`` is the length of the first lines.
    ``codes`` are the columns of whole numbers that are written with leading zeros or have more digits than a number
    holds, as identifiers have. ``units`` are the cells of the line below the header, if it holds units; ``renamed``
    are the columns that were numbered since others have their names, each with its own name. ``unsplit``: the text is
    read as one column, and spaces split most lines into as many cells as the first.
    """

    separator: str
    header: bool
    names: list[str]
    skip: int = 0
    n_comments: int = 0
    comment: str | None = None
    marks: Marks = PLAIN
    kinds: tuple[str, ...] = ()
    width: int = 0
    codes: frozenset[str] = frozenset()
    units: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    unsplit: bool = False

    @property
    def n_head(self) -> int:
        """The number of records before the rows: the header, and the units below it."""
        return self.header + bool(self.units)

    def headless(self) -> Dialect:
        """Return the dialect of a later part of the text, which has no header."""
        return replace(self, skip=0, header=False, units=())


def find_dialect(file: str, text: str, complete: bool, options: ReadOptions, default: str | None) -> Dialect:
    """Return the dialect of a text from its first lines.

    ``complete``: the text is the whole file. ``default`` is the separator that the suffix of the file suggests.
    """
    lines = _LINE.findall(text)
    if not complete and len(lines) > 1:
        lines.pop()  # its end is missing
    skip, n_comments, told = _preamble(lines, options)
    if options.skip_rows is None and options.header is not False:
        skip += _n_titles(lines[skip:], [options.sep or told or ""])
    body = lines[skip:]
    if not body:
        raise DataError(f"{file} contains only blank and comment lines; a table needs a header line and one row")
    separator = options.sep or told or _separator(body, default, options.comment)
    records = _sample(body, separator, options.comment)
    if not records or not any(cell.strip() for cell in records[0]):
        raise DataError(f"{file}: the first line is blank; it must contain the column names")
    unsplit = options.sep is None and len(records[0]) == 1 and _spaces_split(body, options.comment)
    width = sum(map(len, body[:2]))
    dialect = Dialect(separator, True, [], skip, n_comments, options.comment, width=width, unsplit=unsplit)
    return _with_columns(file, dialect, records, lines, options)


def _n_titles(lines: Sequence[str], separators: Sequence[str]) -> int:
    """Return the number of lines of a title above the header."""
    if not lines or len(lines[0]) > _MAX_TITLE_LENGTH:
        return 0
    first, most = lines[:_MIN_TITLED_LINES], 0
    for mark in separators if separators[0] else SEPARATORS:
        if mark != " " or separators[0]:
            try:
                most = max(most, title_rows([cells for line in first for cells in split_lines([line], mark)]))
            except csv.Error:  # an error that the reader of the whole file names with its line
                return 0
    return 0 if any('"' in line for line in first[:most]) else most


def _with_columns(
    file: str, dialect: Dialect, records: list[list[str]], lines: list[str], options: ReadOptions
) -> Dialect:
    """Return the dialect with the names, the number marks and the types of the columns."""
    first, missing = [cell.strip() for cell in records[0]], {*MISSING, *options.na}
    separator, skip = dialect.separator, dialect.skip
    header = _has_header(first, records[1:], separator) if options.header is None else options.header
    if header and len(lines) <= skip + 1:
        raise NoRowsError(f"{file} has a header but no rows; a table needs at least one row")
    names = [word or f"column_{j}" for j, word in enumerate(first, start=1)]
    if not header:
        names = [f"x{j}" for j in range(len(first))]
        if options.header is None and dialect.n_comments:
            names = _commented_names(lines[skip - 1], separator, len(first)) or names
    names, renamed = unlike_names(names)
    rows, units = records[1:] if header else records, tuple[str, ...]()
    plain = len(lines) > skip + 1 and rows and next(split_lines([lines[skip + 1]], separator), []) == rows[0]
    if header and plain and (options.units or (options.units is None and units_in(rows[0], rows[1:], missing))):
        units, rows = tuple(rows[0]), rows[1:]
    columns = [[with_minus(row[j].strip()) for row in rows if j < len(row)] for j in range(len(names))]
    doubtful = [
        [cell for cell in cells if cell not in missing and not is_number(cell)]
        for cells in columns[:_MAX_SAMPLE_COLUMNS]
    ]
    # The limit of a value below it may have the mark of another device: it tells the marks only if no number does.
    limits = not any("." in cell or "," in cell for cell in _numbers_in(columns))
    doubtful = [
        [cell.lstrip(LIMIT_SIGNS).strip() for cell in cells if limits or cell[0] not in LIMIT_SIGNS]
        for cells in doubtful
    ]
    marks = marks_of((pl.Series(cells) for cells in doubtful if cells), options.decimal, options.thousands, separator)
    known = [[marks.plain(cell) for cell in cells if cell not in missing] for cells in columns]
    codes = frozenset(name for name, cells in zip(names, known, strict=True) if _are_codes(cells))
    kinds = tuple(
        "" if options.holds_names(j, names[j]) or names[j] in codes else _first_kind(cells)
        for j, cells in enumerate(known)
    )
    found = replace(dialect, header=header, names=names, marks=marks, kinds=kinds, codes=codes)
    return replace(found, units=units, renamed=tuple(renamed.items()))


def _are_codes(cells: Sequence[str]) -> bool:
    """Return whether cells are digits, some with a zero before them, or more than a number holds.

    >>> _are_codes(["001", "120"]), _are_codes(["1", "0"]), _are_codes(["40123450000000012345"])
    (True, False, True)
    """
    if not any(len(cell) > 1 and (cell[0] == "0" or len(cell) >= _MANY_DIGITS) for cell in cells):
        return False
    return all(cell.isascii() and cell.isdigit() for cell in cells)


def _numbers_in(columns: Sequence[list[str]]) -> Iterator[str]:
    """Yield the cells of the first columns that are numbers with any marks."""
    return (cell for cells in columns[:_MAX_SAMPLE_COLUMNS] for cell in cells if is_written_number(cell))


def _first_kind(cells: Sequence[str]) -> str:
    if not cells or not all(map(is_number, cells)):
        return ""
    return "int" if all(cell.lstrip("+-").isdigit() for cell in cells) else "float"


def dialect_note(dialect: Dialect, encoding: str, default: str | None) -> str | None:
    """Return what was detected in one line, or None for plain comma-separated UTF-8 with a header.

    >>> dialect_note(Dialect(";", True, ["a", "b"], 2, 2, None, Marks(",")), "cp1252", ",")
    'read as semicolon-separated, decimal comma, cp1252, 2 comment lines skipped'
    """
    parts = []
    if len(dialect.names) > 1 and dialect.separator != (default or ","):
        parts.append(f"{SEPARATORS.get(dialect.separator, repr(dialect.separator))}-separated")
    if dialect.marks.decimal == ",":
        parts.append("decimal comma")
    if dialect.marks.thousands:
        parts.append(f"{THOUSANDS[dialect.marks.thousands]} between thousands")
    if encoding not in ("utf-8", "utf-8-sig"):
        parts.append(encoding.upper() if encoding.startswith("utf") else encoding)
    if dialect.n_comments:
        parts.append(f"{dialect.n_comments} comment line{'s' * (dialect.n_comments != 1)} skipped")
    if dialect.skip > dialect.n_comments:
        more = dialect.skip - dialect.n_comments
        parts.append(f"{more} {'other ' if dialect.n_comments else ''}line{'s' * (more != 1)} before the table skipped")
    if not dialect.header:
        named = "x0, x1, …" if dialect.names[0] == "x0" else "as in the last comment line"
        parts.append(f"no header: the first line is read as a row and the columns are named {named}")
    return f"read as {', '.join(parts)}" if parts else None


def heading_notes(dialect: Dialect) -> list[str]:
    """Return notes on columns that were renamed, and on units below the header."""
    notes = (renamed_note(dict(dialect.renamed)), units_note(dialect.units, f"line {dialect.skip + 2}"))
    found = [text for text in notes if text is not None]
    if dialect.unsplit:
        found.append(
            Message(
                "the lines are read as one column, since spaces do not split all of them alike (perhaps some cells are "
                "empty); to split them at spaces, write NA for empty cells and use ",
                Setting("sep", "space"),
            )
        )
    return found


def split_lines(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Split lines into records; runs of spaces count as one separator.

    >>> list(split_lines(["a  b ", '1 "x y"'], " "))
    [['a', 'b'], ['1', 'x y']]
    """
    if separator == " ":
        lines = (line.strip() for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")


def _records(lines: Sequence[str], separator: str, comment: str | None) -> Iterator[list[str]]:
    kept = lines if comment is None else [line for line in lines if not line.startswith(comment)]
    try:
        yield from (cells for cells in split_lines(kept, separator) if cells)
    except csv.Error:  # an error that the reader of the whole file names with its line
        return


def _sample(lines: Sequence[str], separator: str, comment: str | None) -> list[list[str]]:
    """Return the first records, fewer of a wide table."""
    records = _records(lines, separator, comment)
    first = list(islice(records, 1))
    return first + list(islice(records, max(3, _MAX_SAMPLE_CELLS // len(first[0])))) if first else first


def _preamble(lines: Sequence[str], options: ReadOptions) -> tuple[int, int, str | None]:
    """Return the number of lines before the table, how many are comments, and the separator if a line tells it."""
    skip = options.skip_rows or 0
    if skip and skip >= len(lines):
        raise DataError(
            Message(
                Setting("skip_rows", skip), " skips all lines of the file; use a smaller number to leave some to read"
            )
        )
    comment, n_comments, told = options.comment or COMMENT, 0, None
    while skip < len(lines):
        line = lines[skip].strip()
        if line[:4].lower() == "sep=" and len(line) == 5:  # a line that Excel reads and writes
            told = line[4]
        elif line.startswith(comment):
            n_comments += 1
        elif line:
            break
        skip += 1
    return skip, n_comments, told


def _separator(lines: Sequence[str], default: str | None, comment: str | None) -> str:
    """Return the separator that splits all first lines into equally many cells, most of them numbers."""
    best, score = default or ",", (0.0, 0.0, 0)
    for separator in SEPARATORS:
        records = _sample(lines, separator, comment)
        if not records or len(records[0]) < 2:
            continue
        width = len(records[0])
        same = sum(len(record) == width for record in records) / len(records)
        cells = [cell.strip() for record in records[1:] or records for cell in record]
        numbers = sum(is_number(cell if separator == "," else cell.replace(",", ".")) for cell in cells) / len(cells)
        if separator == " " and (same < 1 or not numbers):
            continue  # words of a text
        if (same, numbers, separator == default) > score:
            best, score = separator, (same, numbers, int(separator == default))
    return best


def _spaces_split(lines: Sequence[str], comment: str | None) -> bool:
    """Return whether runs of spaces split most lines into as many cells as the first, many of them numbers."""
    records = _sample(lines, " ", comment)
    if len(records) < 2 or len(records[0]) < 2:
        return False
    alike = [record for record in records[1:] if len(record) == len(records[0])]
    cells = [cell for record in alike for cell in record]
    return 2 * len(alike) > len(records) - 1 and 3 * sum(map(is_written_number, cells)) >= len(cells)


def _has_header(first: list[str], rows: list[list[str]], separator: str) -> bool:
    """Return whether the first record contains names.

    It does not if all of its cells are numbers or missing, or if some are numbers and each other one repeats below.
    """
    numbers = [is_number(cell if separator == "," else cell.replace(",", ".")) for cell in first]
    if not any(numbers):
        return True
    if all(number or cell in MISSING[1:] for number, cell in zip(numbers, first, strict=True)):
        return False
    words = [(j, cell) for j, (cell, number) in enumerate(zip(first, numbers, strict=True)) if cell and not number]
    return not words or not all(any(j < len(row) and row[j].strip() == cell for row in rows) for j, cell in words)


def _commented_names(line: str, separator: str, width: int) -> list[str] | None:
    """Return the column names of a comment line before the first row, as NumPy's savetxt writes them."""
    cells = next(split_lines([line.strip().lstrip(COMMENT).strip()], separator), [])
    names = [cell.strip() for cell in cells]
    return names if len(names) == width and all(names) and not any(map(is_number, names)) else None
