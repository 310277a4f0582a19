"""Parquet and Arrow (Feather) files."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from ..core.cost import check_allocation
from ..core.errors import DataError, MemoryLimitError, NoRowsError
from .arraytable import ArrayTable
from .damage import damaged
from .options import ReadOptions
from .source import Source
from .table import Table
from .textcolumns import retyped

_DAMAGE = (pa.ArrowException, OSError, pl.exceptions.PolarsError, ValueError, KeyError, IndexError, MemoryError)
_VECTORS_AT_ONCE = 1 << 16  # rows


def read_parquet(source: Source, options: ReadOptions) -> Table:
    """Read a Parquet file; with ``vector``, the vectors are copied batch by batch into one array."""
    try:
        with source.raw() if source.path is None else pa.OSFile(str(source.path)) as opened:
            # Buffering ahead would hold the whole file in memory beside the vectors.
            file = pq.ParquetFile(opened, pre_buffer=options.vector is None)
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            check_allocation(
                sum(group.total_byte_size for group in groups), f"reading {source.name}", "keep fewer columns"
            )
            schema = file.schema_arrow
            check_names(source.name, schema.names)
            if options.vector in schema.names:
                return _with_vectors(source.name, file, options)
            frame = frame_of(file.read())
    except (DataError, MemoryLimitError):
        raise
    except _DAMAGE as error:
        raise damaged(source.name, "a Parquet file", error) from error
    return retyped(source.name, table_of(source.name, frame), options)


def read_arrow(source: Source, options: ReadOptions) -> Table:
    """Read an Arrow file (Feather) or an Arrow stream."""
    try:
        with source.raw() if source.path is None else pa.memory_map(str(source.path)) as opened:
            try:
                table = pa.ipc.open_file(opened).read_all()
            except pa.ArrowInvalid:
                opened.seek(0)
                table = pa.ipc.open_stream(opened).read_all()
            table.validate(full=True)
            check_names(source.name, table.column_names)
            frame = frame_of(table)
    except (DataError, MemoryLimitError):
        raise
    except _DAMAGE as error:
        raise damaged(source.name, "an Arrow file", error) from error
    return retyped(source.name, table_of(source.name, frame), options)


def table_of(name: str, frame: pl.DataFrame) -> Table:
    """Return a frame as a table; one without rows or columns is an error."""
    if frame.width == 0:
        raise DataError(f"{name} has no columns")
    if frame.height == 0:
        raise NoRowsError(f"{name} has no rows")
    return Table(frame, name)


def check_names(name: str, columns: list[str]) -> None:
    """Raise if two columns have the same name."""
    twice = sorted(column for column, n in Counter(columns).items() if n > 1)
    if twice:
        raise DataError(f"{name}: more than one column is named {', '.join(map(repr, twice))}; rename them")


def frame_of(table: Any) -> pl.DataFrame:
    """Return a table of Arrow as a frame."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _with_vectors(name: str, file: Any, options: ReadOptions) -> ArrayTable:
    from .columns import checked_roles
    from .vectors import fill

    column, schema = options.vector, file.schema_arrow
    assert column is not None
    batches = (batch.column(0) for batch in file.iter_batches(_VECTORS_AT_ONCE, columns=[column], use_threads=False))
    array = fill(batches, file.metadata.num_rows, schema.field(column).type, f"{name}, column {column!r}")
    others = [other for other in schema.names if other != column]
    aside = frame_of(file.read(columns=others)) if others else pl.DataFrame()
    roles = {role: own for role in ("text", "image") if (own := getattr(options, role)) is not None}
    if roles:
        checked_roles(Table(aside, name), roles)
    return ArrayTable(array, name, aside=aside, roles=roles)
