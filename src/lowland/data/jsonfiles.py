"""JSON and newline-delimited JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.formatting import first_line
from .arraytable import ArrayTable
from .damage import damaged
from .dates import iso_dates
from .options import ReadOptions
from .source import Source
from .table import Table
from .tablefiles import check_names, table_of
from .textcolumns import retyped

_MEMORY_PER_FILE_BYTE = 8  # Python's objects take several times the length of their text
_SHAPES = (
    "a list of records, a list of rows of numbers, an object with a list for each column, or an object with columns "
    "and data"
)


def read_ndjson(source: Source, options: ReadOptions) -> Table:
    """Read one JSON object a line; a line that is none is an error that names it."""
    content = source.read()
    check_allocation(2 * len(content), f"reading {source.name}", "split the file")
    if not content.strip():
        raise DataError(f"{source.name} is empty; it needs one JSON object a line")
    try:
        frame = pl.read_ndjson(io.BytesIO(content), infer_schema_length=None)
    except BaseException as error:  # polars panics on some damaged files
        if not _of_polars(error):
            raise
        raise _bad_line(source.name, content, error) from None
    return _with_dates(retyped(source.name, table_of(source.name, frame), options))


def read_json(source: Source, options: ReadOptions) -> Table:
    """Read a list of records, a list of rows of numbers, or an object with a list for each column."""
    content = source.read()
    check_allocation(_MEMORY_PER_FILE_BYTE * len(content), f"reading {source.name}", "write it as .ndjson or .parquet")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise damaged(source.name, "a JSON file", error) from error
    try:
        table = _table(source.name, value)
    except BaseException as error:
        if not _of_polars(error):
            raise
        raise DataError(f"{source.name} cannot be read as a table: {first_line(error)}; it must be {_SHAPES}") from None
    return _with_dates(retyped(source.name, table, options))


def _table(name: str, value: Any) -> Table:
    aside = pl.DataFrame()
    if isinstance(value, dict) and "data" in value and isinstance(value.get("columns"), list):  # pandas, "split"
        columns, rows = [str(column) for column in value["columns"]], value["data"]
        check_names(name, columns)
        frame = pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)
        if isinstance(value.get("index"), list) and value["index"] != list(range(frame.height)):
            aside = pl.DataFrame({"index": value["index"]})
    elif isinstance(value, dict) and value and all(isinstance(column, dict) for column in value.values()):  # pandas
        keys = list(dict.fromkeys(key for column in value.values() for key in column))
        frame = _columns({own: [column.get(key) for key in keys] for own, column in value.items()})
        if keys != [str(row) for row in range(len(keys))]:
            aside = pl.DataFrame({"index": keys})
    elif isinstance(value, dict) and value and all(isinstance(column, list) for column in value.values()):
        frame = _columns(value)
    elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        frame = pl.DataFrame(value, infer_schema_length=None)
    elif isinstance(value, list) and value and all(isinstance(row, list) for row in value):
        return ArrayTable(_rows(name, value), name)
    else:
        raise DataError(f"{name}: a table in JSON is {_SHAPES}")
    table = table_of(name, frame)
    return Table(table.frame, name, aside=aside)


def _with_dates(table: Table) -> Table:
    """Return a table whose columns of ISO 8601 texts are dates: JSON has no type for them."""
    if isinstance(table, ArrayTable):
        return table
    texts = [column for column in table.frame.iter_columns() if column.dtype == pl.String]
    found = [dates for column in texts if (dates := iso_dates(column)) is not None]
    return replace(table, frame=table.frame.with_columns(found)) if found else table


def _columns(columns: Mapping[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame([_column(str(name), cells) for name, cells in columns.items()])


def _column(name: str, cells: list[Any]) -> pl.Series:
    mixed = {type(cell) for cell in cells if cell is not None} == {int, float}
    return pl.Series(name, cells, dtype=pl.Float64 if mixed else None, strict=not mixed)


def _rows(name: str, rows: list[list[Any]]) -> Any:
    width = len(rows[0])
    for i, row in enumerate(rows):
        if len(row) != width or not width:
            raise DataError(f"{name}, row {i}: it has {len(row)} cells, the first row {width}")
        for j, cell in enumerate(row):
            if cell is not None and (isinstance(cell, bool) or not isinstance(cell, (int, float))):
                raise DataError(f"{name}, row {i}, column {j}: {str(cell)[:40]!r} is not a number")
    try:
        return np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows])
    except OverflowError as error:
        raise DataError(f"{name}: a number is too large: {first_line(error)}") from error


def _of_polars(error: BaseException) -> bool:
    kinds = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
    panic = type(error).__name__ == "PanicException"
    return panic or (isinstance(error, kinds) and not isinstance(error, DataError))


def _bad_line(name: str, content: bytes, error: BaseException) -> DataError:
    """Return an error that names the first line that is not a JSON object."""
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as problem:
            return DataError(f"{name}, line {number}: it is not JSON: {problem}")
        if not isinstance(value, dict):
            return DataError(f'{name}, line {number}: it must be a JSON object, such as {{"a": 1}}')
    return DataError(f"{name} cannot be read as a table: {first_line(error)}")
