"""CSV and TSV, parsed by pyarrow; this module adds the header, the line numbers of errors and the types."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Advice, Message, Setting
from .cells import MISSING, Typed, is_number, is_written_number, typed, with_points
from .formats import open_bytes
from .table import Table

_BYTES_AT_ONCE = 1 << 22
_MAX_COLUMNS_IN_NOTE = 5
_MAX_BLOCK_BYTES = 2**31 - 1
_MEMORY_PER_FILE_BYTE = 2  # measured: the text and the numbers of a file take 1.7 times its length


@dataclass(frozen=True)
class _Scan:
    """Counts from one pass over the bytes."""

    n_bytes: int
    n_lines: int
    n_quotes: int


@dataclass(frozen=True)
class _Layout:
    """Separator, header and width of the file, from its first lines."""

    separator: str
    names: list[str]
    header: bool
    width: int  # characters in the first records, the least width of a block


def read_delimited(path: Path, separator: str | None) -> Table:
    """Read a text file with one record a line; ``separator=None`` detects tab or comma from the first line.

    A file separated by semicolons instead of commas is detected. If the separator is not a comma, columns of numbers
    with decimal commas are read as numbers. The table's notes report both.
    """
    scan = _scan(path)
    check_allocation(
        _MEMORY_PER_FILE_BYTE * scan.n_bytes,
        f"reading {path.name}",
        "save the numbers as .npy, which is read from disk as needed",
    )
    layout = _layout(path, separator)
    if scan.n_quotes % 2:
        _refuse_open_quote(path, layout.separator)
    columns = _parse(path, layout, scan)
    n_rows = len(columns[0])
    if n_rows == 0:
        raise _no_rows(path)
    # Blank lines and line breaks inside quotes can only add lines: equal counts mean one line for each row.
    first_line = 1 + layout.header if scan.n_lines == n_rows + layout.header else None
    typed_columns = [typed(name, columns.pop()) for name in layout.names]  # pop frees the text of each column
    commas = _decimal_commas(typed_columns, layout.separator)
    series = [with_points(column.values) if id(column) in commas else column.values for column in typed_columns]
    faults: dict[str, str] = {}
    for column in typed_columns:
        if column.stray is not None and id(column) not in commas:
            row, cell = column.stray
            line = first_line + row if first_line is not None else _line_of(path, layout, row)
            faults[column.values.name] = _stray(path.name, line, column, cell)
    return Table(pl.DataFrame(series), path.name, first_line, faults, _notes(layout, list(commas.values())))


def _decimal_commas(columns: list[Typed], separator: str) -> dict[int, str]:
    """Return the names of the columns with decimal commas, by the columns' `id`.

    If at least one column has commas that cannot separate thousands, all possible decimal commas are decimal. If commas
    separate the cells, none is: a cell with a comma may be a list.
    """
    likely = [column for column in columns if column.decimal_commas]
    if separator == "," or all(column.thousands for column in likely):
        return {}
    return {id(column): column.values.name for column in likely}


def _notes(layout: _Layout, names: list[str]) -> tuple[str, ...]:
    """Return notes on what was detected; ``names`` are the columns with decimal commas."""
    notes = []
    if layout.separator == ";":
        notes.append("the separator is a semicolon")
    if not layout.header:
        notes.append("the first line contains only numbers, so it is read as a row and the columns are named x0, x1, …")
    if names:
        more = f", … ({len(names)} columns)" if len(names) > _MAX_COLUMNS_IN_NOTE else ""
        listed = ", ".join(names[:_MAX_COLUMNS_IN_NOTE]) + more
        notes.append(f"decimal commas are read as decimal points (1,5 is 1.5) in columns {listed}")
    return tuple(notes)


def _stray(file: str, line: int, column: Typed, cell: str) -> Message:
    name, shown = column.values.name, cell if len(cell) <= 40 else cell[:39] + "…"
    remedy = "correct it"
    if column.decimal_commas and not column.thousands:
        remedy = "use decimal points, as in 1234.5, or separate the cells by semicolons, which allows decimal commas"
    elif is_written_number(cell):
        remedy = "write numbers without thousands separators, decimal commas and unit signs, as in 1234.5"
    without = Message("exclude the column with ", Setting("drop", [name]))
    return Message(f"{file}, line {line}, column {name!r}: {shown!r} is not a number; ", Advice(remedy, without))


def _scan(path: Path) -> _Scan:
    n_bytes, breaks, quotes, last = 0, 0, 0, b""
    with open_bytes(path) as file:
        while chunk := file.read(_BYTES_AT_ONCE):
            if b"\0" in chunk:
                raise DataError(f"{path.name} is not UTF-8 text: it contains null bytes; save it as UTF-8 text")
            n_bytes, breaks, last = n_bytes + len(chunk), breaks + chunk.count(b"\n"), chunk[-1:]
            quotes += chunk.count(b'"')
    if n_bytes == 0:
        raise DataError(f"{path.name} is empty; a table needs a header line and at least one row")
    return _Scan(n_bytes, breaks + (last != b"\n"), quotes)


def _no_rows(path: Path) -> DataError:
    return DataError(f"{path.name} has a header but no rows; a table needs at least one row")


def _records(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with its first line number; slow, for the first lines and for locating errors."""
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        line = 1
        try:
            for cells in reader:
                yield line, cells
                line = reader.line_num + 1
        except UnicodeDecodeError:
            _refuse_encoding(path)
        except csv.Error as error:
            raise DataError(f"{path.name}, line {line}: {error}") from error


def _refuse_encoding(path: Path) -> NoReturn:
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path.name}, line {number}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
                ) from error
    raise DataError(f"{path.name} is not UTF-8; save the file as UTF-8")


def _refuse_open_quote(path: Path, separator: str) -> None:
    """Raise if a quotation mark is never closed: one cell would contain all rows after it."""
    begin = 1
    for begin, _ in _records(path, separator):  # noqa: B007
        pass
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        last = csv.reader(islice(text, begin - 1, None), delimiter=separator, strict=True)
        try:
            for _ in last:
                pass
        except csv.Error as error:
            if "end of data" in str(error):
                raise DataError(f"{path.name}, line {begin}: unclosed quotation mark; close it") from error


def _layout(path: Path, separator: str | None) -> _Layout:
    if separator is None:
        with open_bytes(path) as file:
            separator = "\t" if b"\t" in file.readline() else ","
    first, *rest = [cells for _, cells in islice(_records(path, separator), 2)] or [[]]
    if not any(cell.strip() for cell in first):
        raise DataError(f"{path.name}: the first line is blank; it must contain the column names")
    second = rest[0] if rest else []
    if separator == "," and _has_semicolons(first, second):
        return _layout(path, ";")
    _check_separator(path.name, separator, first, second)
    width = sum(map(len, first)) + sum(map(len, second)) + len(first) + len(second)
    words = [cell.strip() for cell in first]
    numbers = [is_number(word if separator == "," else word.replace(",", ".")) for word in words]
    if any(numbers) and all(number or word in MISSING[1:] for number, word in zip(numbers, words, strict=True)):
        return _Layout(separator, [f"x{j}" for j in range(len(words))], header=False, width=width)
    names = [word or f"column_{j}" for j, word in enumerate(words, start=1)]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        listed = ", ".join(map(repr, twice))
        raise DataError(f"{path.name}, line 1: more than one column is named {listed}; give each its own name")
    if not rest:
        raise _no_rows(path)
    return _Layout(separator, names, header=True, width=width)


def _has_semicolons(first: list[str], second: list[str]) -> bool:
    """Return whether two records that were split at commas are in fact separated by semicolons."""
    lines = [",".join(cells).split(";") for cells in (first, second)]
    numbers = [[is_number(cell.strip(' "').replace(",", ".")) for cell in cells] for cells in lines]
    if len(lines[0]) == 1 or len(lines[0]) != len(lines[1]):
        return False
    return any(numbers[1]) if len(first) == 1 else all(numbers[0]) and all(numbers[1])


def _check_separator(file: str, separator: str, first: list[str], second: list[str]) -> None:
    """Raise if the file has another separator: it would be read as one column of text."""
    if len(first) != 1 or not second:
        return
    line = separator.join(second)
    for other, word in ((";", "semicolons"), ("\t", "tabs"), (",", "commas"), ("|", "bars"), (" ", "spaces")):
        counts = {len(cell.strip().split(other)) for cell in (first[0], line)}
        if other == separator or counts == {1} or len(counts) > 1:
            continue
        if any(is_number(part.replace(",", ".")) for part in line.split(other)):
            expected = "tabs" if separator == "\t" else "commas"
            raise DataError(
                f"{file}, line 1: the cells appear to be separated by {word} instead of {expected}; "
                "use commas or semicolons in .csv and tabs in .tsv files"
            )


def _parse(path: Path, layout: _Layout, scan: _Scan) -> list[Any]:
    """Return the columns as Arrow strings, last one first."""
    kinds = {name: pa.string() for name in layout.names}
    parse = arrow_csv.ParseOptions(
        delimiter=layout.separator,
        newlines_in_values=scan.n_quotes > 0,
        # In a file of one column a blank line is a missing value; with more columns it cannot be a row.
        ignore_empty_lines=len(layout.names) > 1,
    )
    convert = arrow_csv.ConvertOptions(column_types=kinds, null_values=list(MISSING), strings_can_be_null=True)
    block = min(_MAX_BLOCK_BYTES, max(_BYTES_AT_ONCE, 16 * layout.width))
    while True:
        read = arrow_csv.ReadOptions(
            block_size=block, column_names=layout.names, skip_rows_after_names=int(layout.header)
        )
        try:
            # Arrow opens the file itself: if one of its threads still held a Python file when the process ends, the
            # process would abort.
            with pa.input_stream(path, compression="gzip" if path.name.lower().endswith(".gz") else None) as file:
                table = arrow_csv.read_csv(file, read_options=read, parse_options=parse, convert_options=convert)
            return list(reversed(table.columns))
        except pa.ArrowInvalid as error:
            if "straddling" in str(error) and block < min(scan.n_bytes, _MAX_BLOCK_BYTES):
                block = min(_MAX_BLOCK_BYTES, 16 * block)  # some later line is far wider than the first
                continue
            _explain(path, layout, error)


def _explain(path: Path, layout: _Layout, error: Exception) -> NoReturn:
    """Raise an error that names the line that pyarrow could not parse."""
    if "UTF8" in str(error):
        _refuse_encoding(path)
    expected = len(layout.names)
    for line, cells in _records(path, layout.separator):
        if cells and len(cells) != expected:
            raise DataError(
                f"{path.name}, line {line}: expected {expected} column{'s' * (expected != 1)} as in line 1, "
                f"got {len(cells)}; look for a missing or extra separator, or an unclosed quotation mark"
            ) from error
    raise DataError(f"{path.name} cannot be read as a table: {error}") from error


def _line_of(path: Path, layout: _Layout, row: int) -> int:
    """Return the first line of a row, by reading up to it."""
    lone = len(layout.names) == 1
    lines = (line for line, cells in _records(path, layout.separator) if cells or lone)
    return next(islice(lines, row + layout.header, None))
