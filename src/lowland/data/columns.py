"""What `read` does with columns after any format: missing words, roles, vectors, unit length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.message import Message, Setting
from .arraytable import ArrayTable, SparseTable
from .cells import is_number
from .options import IfThere, ReadOptions
from .table import Table, not_numeric

_ROLES = ("text", "image")
_ROWS_AT_ONCE = 1 << 16


def finished(table: Table, options: ReadOptions) -> Table:
    """Return a table with the options applied that hold for every format."""
    if not isinstance(table, (ArrayTable, SparseTable)):
        table = _without_codes(table, options)
        for name in options.names:
            if isinstance(name, str) and not isinstance(name, IfThere):
                table.column(name)  # an error if there is none
        roles = {role: name for role in _ROLES if (name := getattr(options, role)) is not None}
        if roles:
            table = replace(table, roles=checked_roles(table, roles))
        if options.vector is not None:
            table = _vectors(table, options.vector)
    return table if options.normalize is None else _unit_rows(table, in_place=options.vector is not None)


def _without_codes(table: Table, options: ReadOptions) -> Table:
    """Replace values such as 999 that mean missing in columns of numbers."""
    frame = without_codes(table.frame, options)
    return table if frame is table.frame else replace(table, frame=frame)


def without_codes(frame: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return a frame with missing values for codes such as 999 in columns of numbers."""
    codes = [float(word) for word in options.na if is_number(word)]
    if not codes:
        return frame
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    return frame.with_columns(
        pl.when(pl.col(name).cast(pl.Float64).is_in(codes)).then(None).otherwise(pl.col(name)).alias(name)
        for name in numbers
    )


def checked_roles(table: Table, roles: Mapping[str, str]) -> Mapping[str, str]:
    """Return the roles if their columns can have them, else raise."""
    for role, name in roles.items():
        dtype = table.column(name).dtype
        if role == "text" and not isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)):
            raise DataError(f"{table.source}, column {name!r}: it contains {_contents(dtype)}, not text")
        if role == "image" and not _may_be_image(dtype):
            raise DataError(
                f"{table.source}, column {name!r}: images must be paths, bytes, or structs with the fields bytes and "
                f"path; it contains {_contents(dtype)}"
            )
    return roles


def _contents(dtype: pl.DataType) -> str:
    return not_numeric(dtype) or "numbers"


def _may_be_image(dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.Struct):  # as Hugging Face's datasets store images
        return {field.name for field in dtype.fields} >= {"bytes", "path"}
    return isinstance(dtype, (pl.String, pl.Binary))


def _vectors(table: Table, name: str) -> ArrayTable:
    from .vectors import array_of

    column = table.column(name)
    array = array_of(column.to_arrow(), f"{table.source}, column {name!r}")
    aside = table.frame.drop(name)
    if table.aside.width:
        aside = table.aside.hstack(aside.get_columns())
    return ArrayTable(array, table.source, aside=aside, notes=table.notes, roles=table.roles)


def _unit_rows(table: Table, in_place: bool) -> Table:
    """Divide each row by its Euclidean length; rows of zeros stay. ``in_place`` if the reader made the array."""
    if isinstance(table, SparseTable):
        from scipy import sparse

        matrix = table.matrix.astype(np.result_type(table.matrix.dtype, np.float32))
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1))).ravel()
        scale = sparse.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0).astype(matrix.dtype))
        scaled = sparse.csr_array(scale @ matrix)
        return SparseTable(scaled, table.source, table._labels, aside=table.aside, notes=table.notes)
    if not isinstance(table, ArrayTable):
        raise DataError(
            Message(
                f"{table.source}: ",
                Setting("normalize"),
                " applies to arrays and columns of vectors; choose one with ",
                Setting("vector"),
            )
        )
    array = table.array
    kind = np.float32 if array.dtype in (np.float32, np.float16) else np.float64
    out = array if in_place and array.dtype == kind and array.flags.writeable else np.empty(array.shape, kind)
    for start in range(0, len(array), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        block = array[rows].astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        out[rows] = block / np.where(lengths > 0, lengths, 1.0)[:, None]
    return ArrayTable(out, table.source, table._labels, aside=table.aside, notes=table.notes, roles=table.roles)
