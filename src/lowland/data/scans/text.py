"""Scans of delimited text: dialect and types are settled by the beginning, and later cells are held to them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError, NoRowsError
from ..cells import MISSING
from ..delimited import TextFile, columns_of, prepared, records_of, sample_of, typed_columns
from ..dialect import Dialect, dialect_note, find_dialect, heading_notes
from ..encodings import Scan, scan_text
from ..options import read_options
from ..source import Source
from ..table import Table
from .files import digest_of, require_unpacked
from .frame_scan import FrameScan, in_pieces
from .settled_types import Settled
from .table_scan import ScanOptions, Span
from .text_blocks import n_filled_lines, text_blocks

_LOOK_BYTES = 1 << 22
_BLOCK_BYTES = 1 << 21  # measured: parts of 4 MB or more take a third longer, since their memory is not used again
_UNKNOWN = 1 << 62


class TextScan(FrameScan):
    """A text file with one record a line, read and parsed in parts of 2 MB."""

    def __init__(self, file: Source, options: ScanOptions, separator: str | None, like: TextScan | None = None) -> None:
        self.file, self._separator = file, separator
        self._first_stamp, self._stamp_often = file.stamp(), not file.remote
        own = {name: value for name, value in options.given.items() if name not in ("n_rows", "types")}
        self._read_options = read_options(own)
        self.encoding = self._read_options.encoding or _encoding(file)
        sample, complete = sample_of(file, Scan(self.encoding, _UNKNOWN, 0, 0), self._read_options)
        self.dialect = find_dialect(file.name, sample, complete, self._read_options, separator)
        self._parts: list[tuple[int, int]] = []  # first row and lines before, of the parts that were read
        head = self._look(options, None if like is None else like.settled)
        super().__init__(file.name, options.given.get("n_rows"), head, options)
        self.empty |= self.settled.empty
        self.notes = head.notes

    def _look(self, options: ScanOptions, settled: Settled | None) -> Table:
        """Settle number marks and types by the first part; return its rows as a table."""
        with_head = next(self._blocks(_LOOK_BYTES), None)
        if with_head is None:
            raise DataError(f"{self.file.name} is empty; a table needs a header line and at least one row")
        file = self._part(with_head, first=True)
        file, typed = typed_columns(file, self._read_options)
        lines = file.lines({cell.row for problem in typed.problems for cell in problem.stray}, typed.frame.height)
        self.dialect = file.dialect if settled is None else replace(file.dialect, marks=settled.marks)
        self.settled = (
            Settled.of(file, typed, options.given.get("types"), self._read_options)
            if settled is None
            else settled.widened(typed.frame.schema)
        )
        faults = {
            problem.name: problem.message(self.file.name, lines)
            for problem in typed.problems
            if settled is None and problem.name not in self.settled.asked
        }
        noted = dialect_note(replace(self.dialect, marks=typed.marks), self.encoding, self._separator)
        notes = tuple(text for text in (noted, *heading_notes(self.dialect), *typed.notes) if text is not None)
        frame = typed.frame.cast(
            {n: k for n, k in self.settled.types.items() if n in typed.frame.columns}, strict=False
        )
        return Table(frame, self.file.name, file.first_line(frame.height), faults, notes)

    def unify(self, types: Mapping[str, pl.DataType], empty: set[str]) -> None:
        """Choose columns by the types of a table of which this text is a part, and hold its cells to them."""
        super().unify(types, empty)
        self.settled = self.settled.widened(types)

    def _stamp(self) -> Any:
        return self.file.stamp()

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), "encoding": self.encoding, "dialect": str(self.dialect), **digest_of(self.file)}

    # -- parts --------------------------------------------------------------------------------------------------------

    def _blocks(self, size: int | None = None) -> Iterator[Source]:
        def record_lines(part: Source) -> list[int]:
            return [line for line, _ in records_of(self._part(part, first=part.lines_before == 0, bare=True))]

        return text_blocks(self.file, self.encoding, self.dialect.separator, size or _BLOCK_BYTES, record_lines)

    def _part(self, part: Source, *, first: bool, bare: bool = False, dialect: Dialect | None = None) -> TextFile:
        """Return a part as a text of its own; only the first has a header."""
        dialect = dialect or self.dialect
        scan = Scan("utf-8-sig", _UNKNOWN, 0, 0) if bare else scan_text(part, "utf-8")
        table_line = dialect.skip + 1
        dialect = dialect if first else dialect.headless()
        return TextFile(part, scan, dialect) if bare else prepared(part, scan, dialect, table_line)

    def _read(self, start: int, rows: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        return self._typed(start, rows, columns, whole_numbers=True)

    def _number_frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        return self._typed(start, rows, self._all, whole_numbers=None)

    def _arrays(self, start: int, rows: int) -> Iterator[Any]:
        for frame in self._typed(start, rows, self._chosen, whole_numbers=False):
            yield np.ascontiguousarray(frame.select(pl.all().cast(pl.Float64)).to_numpy(order="c"))

    def _counted(self) -> Iterator[Any]:
        row = 0
        for number, part in enumerate(self._blocks()):
            self._note(number, row, part)
            height = self._height(part, first=number == 0)
            row += height
            yield np.empty((height, 0))

    def _typed(
        self, start: int, rows: int, columns: Sequence[str], *, whole_numbers: bool | None
    ) -> Iterator[pl.DataFrame]:
        """Yield typed rows of some columns; ``whole_numbers``: see `Settled.frame`."""
        row = 0
        for number, part in enumerate(self._blocks()):
            self._note(number, row, part)
            if row < start and row + (skipped := self._height(part, first=number == 0)) <= start:
                row += skipped
                continue
            frame = self._frame(part, columns, first=number == 0, whole_numbers=whole_numbers)
            if row + frame.height > start:
                yield from in_pieces(frame, rows, max(0, start - row))
            row += frame.height

    def _frame(self, part: Source, columns: Sequence[str], *, first: bool, whole_numbers: bool | None) -> pl.DataFrame:
        """Return the typed rows of a part."""
        dialect = self.settled.dialect(self.dialect, whole_numbers)
        file = self._part(part, first=first, dialect=dialect)
        cells = columns_of(file, [*MISSING, *self._read_options.na])[::-1]
        height = len(cells[0])
        if height == 0:
            return self.head.frame.select(columns).clear()
        kept = {*self._all} if self.options.columns is None else set()
        unread = sorted((self.settled.empty & kept) - set(columns))  # left out because they had no value
        named = dict(zip(dialect.names, cells, strict=True))
        self.settled.require_empty(file, {name: named[name] for name in unread}, height)
        frame = self.settled.frame(file, {name: named[name] for name in columns}, height, whole_numbers)
        return frame.select(columns)

    # -- spans: parts of the file by their bytes ----------------------------------------------------------------------

    def spans(self, rows: int) -> list[Span]:
        """Return spans of whole records, found and counted in one pass; ``place`` are their bytes and lines before."""
        require_unpacked(self.file)
        if self.encoding not in ("utf-8", "utf-8-sig") or b"\n" not in self.file.head(_BLOCK_BYTES):
            how = f"encoded as {self.encoding}" if b"\n" in self.file.head(_BLOCK_BYTES) else "without line feeds"
            raise DataError(
                f"{self.source} is {how} and can be read only from its beginning, so workers cannot share the reading; "
                "write it as UTF-8 with line feeds, or as .parquet"
            )
        found, row, offset = list[Span](), 0, 0
        start, bytes_before, lines_before, begun = 0, 0, 0, False
        for number, part in enumerate(self._blocks()):
            self._note(number, row, part)
            if not begun:
                bytes_before, lines_before, begun = offset, part.lines_before, True
            row += self._height(part, first=number == 0)
            offset += len(part.content or b"")
            if row - start >= rows:
                found.append(Span(start, row, (bytes_before, offset, lines_before)))
                start, begun = row, False
        if row > start:
            found.append(Span(start, row, (bytes_before, offset, lines_before)))
        self._require_stamp(self._first_stamp, "while it was read")
        if self.n_rows not in (None, row):
            raise self._changed(f"it has {row} rows and had {self.n_rows}")
        if not found:
            raise DataError(f"{self.source} has no rows; a table needs at least one row")
        self.n_rows = row
        return found

    def _span_part(self, span: Span) -> Source:
        """Read the bytes of a span."""
        first, last, lines_before = span.place
        with self.file.raw() as opened:
            opened.seek(first)
            content = opened.read(last - first)
        return replace(self.file, path=None, content=content, packing=None, lines_before=lines_before)

    def _span_arrays(self, span: Span) -> Iterator[Any]:
        frame = self._frame(self._span_part(span), self._chosen, first=span.start == 0, whole_numbers=False)
        yield np.ascontiguousarray(frame.select(pl.all().cast(pl.Float64)).to_numpy(order="c"))

    def _span_frames(self, span: Span) -> Iterator[pl.DataFrame]:
        yield self._frame(self._span_part(span), self._all, first=span.start == 0, whole_numbers=None)

    def _note(self, number: int, row: int, part: Source) -> None:
        """Keep the first row of a part and the number of lines before it, to find lines of rows."""
        if number == len(self._parts):
            self._parts.append((row, part.lines_before))

    def _height(self, part: Source, *, first: bool) -> int:
        """Return the number of rows of a part: by its lines where each row is one, else by parsing it."""
        content, dialect = part.content or b"", self.dialect
        plain = dialect.comment is None and dialect.separator != " " and len(dialect.names) > 1
        count = n_filled_lines(content, dialect.skip if first else 0) if plain and b'"' not in content else None
        if count is None:
            return len(columns_of(self._part(part, first=first), [*MISSING, *self._read_options.na])[0])
        return count - (dialect.n_head if first else 0)

    def _where(self, row: int) -> str:
        """Return the file and the line of a row; the file is read again up to it."""
        number = bisect_right([first for first, _ in self._parts], row) - 1
        if number < 0:
            return super()._where(row)
        first_row, lines_before = self._parts[number]
        for part in self._blocks():
            if part.lines_before == lines_before:
                file = self._part(part, first=lines_before == 0)
                height = len(columns_of(file, [*MISSING, *self._read_options.na])[0])
                found = file.lines({row - first_row}, height)
                return f"{self.source}, line {found[row - first_row]}"
        return super()._where(row)


def _encoding(file: Source) -> str:
    """Return the encoding that the beginning of a file shows."""
    head = file.head(_LOOK_BYTES)
    if not head:
        raise NoRowsError(f"{file.name} is empty; a table needs a header line and at least one row")
    whole = head[: head.rfind(b"\n") + 1] or head
    return scan_text(replace(file, path=None, content=whole, packing=None)).encoding


def scan_text_file(
    file: Source, options: ScanOptions, separator: str | None = None, like: TextScan | None = None
) -> TextScan:
    """Open a delimited text; ``like`` is the first part of the same table, which settles types."""
    return TextScan(file, options, separator, like)
