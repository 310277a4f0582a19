"""Delimited text of any dialect, parsed by pyarrow; this module adds the line numbers of errors and the types."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.csv as arrow_csv

from ..core.cost import check_allocation
from ..core.errors import DataError, NoRowsError
from ..core.formatting import first_line
from ..core.message import Advice, Message, Setting
from .cells import MISSING
from .cleaning import TypedColumns, type_columns
from .dialect import COMMENT, Dialect, dialect_note, find_dialect, heading_notes, split_lines
from .encodings import Scan, decode, scan_text
from .options import ReadOptions
from .plaintext import read_plain
from .source import Source
from .table import Table

_BYTES_AT_ONCE = 1 << 20  # measured: larger blocks take longer, since their memory is not used again
_MAX_BLOCK_BYTES = 2**31 - 1
_MAX_SAMPLE_BYTES = 1 << 26
_MIN_SAMPLE_LINES = 60
_BESIDE_TEXT = b"\0 \t\r\xef\xbb\xbf\xff\xfe"  # blanks, byte order marks, and the null bytes of UTF-16
_MEMORY_PER_FILE_BYTE = 2  # measured: the text and the numbers of a file take 1.7 times its length


@dataclass(frozen=True)
class TextFile:
    """A text file, or a part of it, and what is known of it.

    ``text`` is its content if Arrow cannot read the bytes as they are; ``table_line`` is the first line of the table.
    """

    source: Source
    scan: Scan
    dialect: Dialect
    text: bytes | None = None
    n_removed: int = 0  # comment lines among the rows
    table_line: int = 1

    def first_line(self, n_rows: int) -> int | None:
        """Return the line of the first row if each row is one line, else None.

        Blank lines and line breaks inside quotes can only add lines: equal counts mean one line for each row.
        """
        before = self.dialect.skip + self.dialect.n_head
        plain = self.scan.n_lines == n_rows + before and not self.n_removed
        return 1 + self.source.lines_before + before if plain else None

    def lines(self, rows: Collection[int], n_rows: int) -> dict[int, int]:
        """Return the lines of some of the rows."""
        first = self.first_line(n_rows)
        return lines_of(self, rows) if first is None else {row: first + row for row in rows}


def read_delimited(source: Source, options: ReadOptions, separator: str | None = None) -> Table:
    """Read a text file with one record a line; ``separator`` is what the file's suffix suggests."""
    scan = scan_text(source, options.encoding)
    check_allocation(
        _MEMORY_PER_FILE_BYTE * scan.n_bytes,
        f"reading {source.name}",
        "save the numbers as .npy, which is read from disk as needed",
    )
    sample, complete = sample_of(source, scan, options)
    dialect = find_dialect(source.name, sample, complete, options, separator)
    file, typed = typed_columns(prepared(source, scan, dialect), options)
    n_rows = typed.frame.height
    needed = {cell.row for problem in typed.problems for cell in problem.stray}
    lines = file.lines(needed, n_rows)
    faults = {problem.name: problem.message(source.name, lines) for problem in typed.problems}
    stray = {problem.name: problem.located(lines) for problem in typed.problems}
    noted = dialect_note(replace(dialect, marks=typed.marks), scan.encoding, separator)
    notes = tuple(text for text in (noted, *heading_notes(dialect), *typed.notes) if text is not None)
    first, codes = file.first_line(n_rows), typed.identifiers
    return Table(typed.frame, source.name, first, faults, notes, stray, codes=codes)


def typed_columns(file: TextFile, options: ReadOptions) -> tuple[TextFile, TypedColumns]:
    """Return the columns of a text, each with its type, and the text with the number marks that they have."""
    missing = [*MISSING, *options.na]
    columns = columns_of(file, missing)
    if len(columns[0]) == 0:
        raise NoRowsError(f"{file.source.name} has a header but no rows; a table needs at least one row")
    typed, dialect = type_columns(file.dialect, columns, options), file.dialect
    if typed.marks.decimal != dialect.marks.decimal:  # later lines have decimal commas: points may separate thousands
        file = replace(file, dialect=replace(dialect, marks=typed.marks))
        typed = type_columns(file.dialect, parse(file, missing), options)
    return file, typed


def columns_of(file: TextFile, missing: list[str]) -> list[Any]:
    """Return the columns as series or Arrow arrays, last one first: numbers where all cells are, else strings."""
    if file.scan.n_quotes % 2:
        _refuse_open_quote(file)
    plain: list[Any] | None = read_plain(file.source, file.scan, file.dialect, missing)
    return parse(file, missing) if plain is None else plain[::-1]


def sample_of(source: Source, scan: Scan, options: ReadOptions) -> tuple[str, bool]:
    """Return the first lines, with enough lines of the table, and whether they are all."""
    n_bytes = 1 << 16
    while True:
        head = source.head(n_bytes)
        complete = len(head) < n_bytes or n_bytes >= scan.n_bytes
        if complete or _n_table_lines(head, options) >= _MIN_SAMPLE_LINES or n_bytes >= _MAX_SAMPLE_BYTES:
            break
        n_bytes *= 4
    return head.decode(scan.encoding, errors="replace").removeprefix("\ufeff"), complete


def _n_table_lines(head: bytes, options: ReadOptions) -> int:
    """Return the number of line ends after the lines to skip, blank lines and comments, in any encoding."""
    comment = (options.comment or COMMENT).encode("ascii", errors="replace")
    lines = head.split(b"\n")[options.skip_rows or 0 : -1]
    cells = (line.strip(_BESIDE_TEXT) for line in lines)
    return sum(bool(line) and not line.startswith(comment) for line in cells)


def prepared(source: Source, scan: Scan, dialect: Dialect, table_line: int | None = None) -> TextFile:
    """Return the file as Arrow can read it: UTF-8, one character between cells, no comments among the rows."""
    if scan.is_utf8 and dialect.comment is None and dialect.separator != " ":
        return TextFile(source, scan, dialect, table_line=table_line or dialect.skip + 1)
    text = decode(source, source.read(), scan.encoding)
    lines = io.StringIO(text, newline="").readlines()
    n_lines, removed = len(lines), 0
    lines = lines[dialect.skip :]
    if dialect.comment is not None:
        kept = [line for line in lines if not line.startswith(dialect.comment)]
        removed, lines = len(lines) - len(kept), kept
    if dialect.separator == " ":
        out = io.StringIO()
        csv.writer(out, delimiter=" ", lineterminator="\n").writerows(split_lines(lines, " "))
        content = out.getvalue()
    else:
        content = "".join(lines)
    packed = content.encode("utf-8", errors="replace")
    counted = Scan(scan.encoding, len(packed), n_lines, packed.count(b'"'))
    return TextFile(source, counted, dialect, packed, removed, table_line or dialect.skip + 1)


def records_of(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with its first line number; slow, for locating errors."""
    dialect = file.dialect
    with file.source.open() as raw:
        text = io.TextIOWrapper(raw, encoding=file.scan.encoding, newline="")
        numbers: list[int] = []  # the lines that the reader took

        def kept() -> Iterator[str]:
            before = file.source.lines_before
            for number, line in enumerate(text, start=before + 1):
                if number > before + dialect.skip and (dialect.comment is None or not line.startswith(dialect.comment)):
                    numbers.append(number)
                    yield line

        reader: Any = split_lines(kept(), dialect.separator)
        begin = 0
        try:
            for cells in reader:
                yield numbers[begin], cells
                begin = reader.line_num
        except csv.Error as error:
            raise DataError(f"{file.source.name}, line {numbers[begin]}: {error}") from error


def _refuse_open_quote(file: TextFile) -> None:
    """Raise if a quotation mark is never closed: one cell would contain all rows after it."""
    before = file.source.lines_before
    begin = before + 1
    for begin, _ in records_of(file):  # noqa: B007
        pass
    with file.source.open() as raw, io.TextIOWrapper(raw, encoding=file.scan.encoding, newline="") as text:
        last = csv.reader(islice(text, begin - before - 1, None), delimiter=file.dialect.separator, strict=True)
        try:
            for _ in last:
                pass
        except csv.Error as error:
            if "end of data" in str(error):
                raise DataError(f"{file.source.name}, line {begin}: unclosed quotation mark; close it") from error


def parse(file: TextFile, missing: list[str]) -> list[Any]:
    """Return the columns as Arrow arrays, last one first: numbers where all cells are, else strings."""
    dialect = file.dialect
    # Arrow converts columns that begin with numbers itself; if a later cell is none, it returns text.
    kinds = {name: pa.string() for name, number in zip(dialect.names, dialect.kinds, strict=True) if not number}
    parse = arrow_csv.ParseOptions(
        delimiter=dialect.separator,
        newlines_in_values=file.scan.n_quotes > 0,
        # In a file of one column a blank line is a missing value; with more columns it cannot be a row.
        ignore_empty_lines=len(dialect.names) > 1,
    )
    convert = arrow_csv.ConvertOptions(
        column_types=kinds,
        null_values=missing,
        true_values=["true"],
        false_values=["false"],
        strings_can_be_null=True,
        decimal_point=dialect.marks.decimal,
    )
    block = min(_MAX_BLOCK_BYTES, max(_BYTES_AT_ONCE, 16 * dialect.width))
    while True:
        read = arrow_csv.ReadOptions(
            block_size=block,
            column_names=dialect.names,
            skip_rows=dialect.skip if file.text is None else 0,
            skip_rows_after_names=dialect.n_head,
        )
        try:
            with file.source.for_arrow() if file.text is None else pa.BufferReader(file.text) as stream:
                table = arrow_csv.read_csv(stream, read_options=read, parse_options=parse, convert_options=convert)
            return list(reversed(table.columns))
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block < min(file.scan.n_bytes, _MAX_BLOCK_BYTES):
                block = min(_MAX_BLOCK_BYTES, 16 * block)  # some later line is far wider than the first
                continue
            _explain(file, error)
        except OSError as error:
            raise DataError(f"{file.source.name}: cannot be read: {first_line(error)}") from error


def _explain(file: TextFile, error: Exception) -> NoReturn:
    """Raise an error that names the line that pyarrow could not parse."""
    expected, first = len(file.dialect.names), file.table_line
    records = records_of(file)
    for line, cells in records:
        if cells and len(cells) != expected:
            advice: Message | str = "look for a missing or extra separator, or an unclosed quotation mark"
            if cells[0].startswith("#"):
                advice = Message("if it is a comment, use ", Setting("comment", "#"))
            elif 2 * expected <= len(cells):
                rows = Setting("skip_rows", line - 1 - file.source.lines_before)
                advice = Message("if the lines before it are a title above the table, use ", rows)
            elif all(len(later) < expected for _, later in records):
                advice = f"the table ends before {' '.join(filter(None, map(str.strip, cells)))!r}: delete this line"
            raise DataError(
                Message(
                    f"{file.source.name}, line {line}: expected {expected} column{'s' * (expected != 1)} as in line "
                    f"{first}, got {len(cells)}",
                    Advice("; ", advice),
                )
            ) from error
    raise DataError(f"{file.source.name} cannot be read as a table: {first_line(error)}") from error


def lines_of(file: TextFile, rows: Collection[int]) -> dict[int, int]:
    """Return the first lines of some rows, by reading up to them."""
    lone, last, header = len(file.dialect.names) == 1, max(rows, default=-1), file.dialect.n_head
    found: dict[int, int] = {}
    if rows:
        lines = (line for line, cells in records_of(file) if cells or lone)
        for row, line in enumerate(islice(lines, header, last + 1 + header)):
            if row in rows:
                found[row] = line
    return found
