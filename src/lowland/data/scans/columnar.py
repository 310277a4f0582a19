"""Scans of Parquet and Arrow files: row group by row group, batch by batch, only the columns that are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from ...core.errors import DataError, NoRowsError
from ...core.formatting import first_line
from ..source import Source
from ..table import Table
from ..tablefiles import check_names, frame_of
from .files import digest_of, require_unpacked
from .frame_scan import FrameScan, in_pieces
from .table_scan import ScanOptions, Span

_DAMAGE = (pa.ArrowException, OSError, pl.exceptions.PolarsError, ValueError, KeyError, IndexError)
_HEAD_ROWS = 100
_READ_BYTES = 1 << 25  # that the columns of a row group buffer together


class _ColumnarScan(FrameScan):
    """What both formats share: the file, and errors of damaged data."""

    form = ""

    def __init__(self, file: Source, options: ScanOptions) -> None:
        self.file, self.source = file, file.name
        self._first_stamp, self._stamp_often = file.stamp(), not file.remote
        with self._opened() as opened:
            schema, n_rows, head, empty = self._look(opened)
        check_names(file.name, schema.names)
        if not schema.names:
            raise DataError(f"{file.name} has no columns")
        if n_rows == 0:
            raise NoRowsError(f"{file.name} has no rows; a table needs at least one row")
        super().__init__(file.name, n_rows, Table(frame_of(head), file.name), options)
        self.empty |= empty

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file for Arrow; damage becomes a DataError."""
        try:
            with self.file.for_arrow() as opened:
                yield opened
        except DataError:
            raise
        except _DAMAGE as error:
            if self._stamp() != self._first_stamp:
                raise self._changed("it changed while it was read") from error
            raise DataError(f"{self.file.name} is damaged or not {self.form}: {first_line(error)}") from error

    def _stamp(self) -> Any:
        return self.file.stamp()

    def spans(self, rows: int) -> list[Span]:
        """Return spans that end with row groups or record batches; longer ones are cut."""
        require_unpacked(self.file)
        with self._opened() as opened:
            lengths = self._lengths(opened)
        cuts, found = [0], list[Span]()
        for end in accumulate(lengths):
            if end - cuts[-1] >= rows or end == sum(lengths):
                cuts.append(end)
        for start, stop in pairwise(cuts):
            parts = max(1, -(-(stop - start) // (2 * rows)))  # rows of a group before a cut are unpacked again
            edges = [start + (stop - start) * i // parts for i in range(parts + 1)]
            found += [Span(first, last) for first, last in pairwise(edges) if last > first]
        return found

    def _lengths(self, opened: Any) -> list[int]:
        """Return the number of rows of each part of the file that is unpacked at once."""
        raise NotImplementedError

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), **digest_of(self.file)}

    def _look(self, opened: Any) -> tuple[Any, int | None, Any, set[str]]:
        """Return the schema, the number of rows if known, the first rows, and the columns without values."""
        raise NotImplementedError


class ParquetScan(_ColumnarScan):
    """A Parquet file; a row group may be larger than memory."""

    form = "a Parquet file"

    def _look(self, opened: Any) -> tuple[Any, int | None, Any, set[str]]:
        file = pq.ParquetFile(opened, pre_buffer=False, buffer_size=1 << 16)
        schema, found = file.schema_arrow, file.metadata
        head = next(file.iter_batches(_HEAD_ROWS, use_threads=False), None)
        table = pa.Table.from_batches([] if head is None else [head.slice(0, _HEAD_ROWS)], schema=schema)
        return schema, found.num_rows, table, _without_values(found)

    def _lengths(self, opened: Any) -> list[int]:
        found = pq.ParquetFile(opened, pre_buffer=False).metadata
        return [found.row_group(i).num_rows for i in range(found.num_row_groups)]

    def _read(self, start: int, rows: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        share = max(1 << 12, min(1 << 20, _READ_BYTES // max(1, len(columns))))
        with self._opened() as opened:
            file = pq.ParquetFile(opened, pre_buffer=False, buffer_size=share)
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            ends = list(accumulate(sizes))
            first = bisect_right(ends, start)
            skip = start - (ends[first - 1] if first else 0)
            groups = list(range(first, len(sizes)))
            threads = not self.file.remote  # a thread of Arrow must not hold a Python file at the end of a process
            for batch in file.iter_batches(rows, row_groups=groups, columns=list(columns), use_threads=threads):
                if skip < batch.num_rows:
                    yield frame_of(batch.slice(skip)).select(columns)
                skip = max(0, skip - batch.num_rows)


class ArrowScan(_ColumnarScan):
    """An Arrow file (Feather) or stream; one record batch is in memory at a time."""

    form = "an Arrow file"
    _ends: Sequence[int] = ()  # of the record batches, once they are known: a pass from a later row on begins there

    def _lengths(self, opened: Any) -> list[int]:
        reader, whole = _reader(opened, [0])
        if not whole:
            raise DataError(
                f"{self.source} is an Arrow stream, which can be read only from its beginning, so workers cannot share "
                "the reading; write it as an Arrow file or as .parquet"
            )
        lengths = [batch.num_rows for batch in _batches(reader, whole)]
        self._ends = list(accumulate(lengths))
        return lengths

    def _look(self, opened: Any) -> tuple[Any, int | None, Any, set[str]]:
        reader, whole = _reader(opened, None)
        n_rows = reader.count_rows() if whole else None
        head = next((batch for batch in _batches(reader, whole) if batch.num_rows), None)
        if head is None:
            n_rows = 0
        table = pa.Table.from_batches([] if head is None else [head.slice(0, _HEAD_ROWS)], schema=reader.schema)
        return reader.schema, n_rows, table, set()

    def _read(self, start: int, rows: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        with self._opened() as opened:
            reader, whole = _reader(opened, None)
            number = {name: j for j, name in enumerate(reader.schema.names)}
            places = [number[name] for name in columns]
            first = 0
            if whole:
                opened.seek(0)
                reader, whole = _reader(opened, sorted(places))
                first = bisect_right(self._ends, start)
                start -= self._ends[first - 1] if first else 0
            for batch in _batches(reader, whole, first):
                if start < batch.num_rows:
                    yield from in_pieces(frame_of(batch).select(columns), rows, start)
                start = max(0, start - batch.num_rows)


def _reader(opened: Any, places: list[int] | None) -> tuple[Any, bool]:
    """Return a reader of some columns, and whether it is one of the file format, which has an index."""
    chosen = pa.ipc.IpcReadOptions(included_fields=places)
    try:
        return pa.ipc.open_file(opened, options=chosen), True
    except pa.ArrowInvalid:
        opened.seek(0)
        return pa.ipc.open_stream(opened, options=chosen), False


def _batches(reader: Any, whole: bool, first: int = 0) -> Iterator[Any]:
    return (reader.get_batch(i) for i in range(first, reader.num_record_batches)) if whole else iter(reader)


def _without_values(found: Any) -> set[str]:
    """Return the columns that are missing in every row, where the statistics of a Parquet file tell it."""
    empty: set[str] | None = None
    for i in range(found.num_row_groups):
        group = found.row_group(i)
        chunks = [group.column(j) for j in range(group.num_columns)]
        here = {
            chunk.path_in_schema
            for chunk in chunks
            if chunk.statistics is not None
            and chunk.statistics.has_null_count
            and chunk.statistics.null_count == group.num_rows
        }
        empty = here if empty is None else empty & here
        if not empty:
            return set()
    return empty or set()


def scan_parquet(file: Source, options: ScanOptions) -> ParquetScan:
    """Open a Parquet file."""
    return ParquetScan(file, options)


def scan_arrow(file: Source, options: ScanOptions) -> ArrowScan:
    """Open an Arrow file or stream."""
    return ArrowScan(file, options)
