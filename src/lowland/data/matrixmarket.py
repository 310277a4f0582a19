"""Matrix Market files (``.mtx``): sparse matrices, or dense ones in array form."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError
from .arraytable import ArrayTable, SparseTable
from .options import ReadOptions
from .source import Source

_HEADER = re.compile(rb"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(\w+)\s+([\w-]+)\s*$", re.IGNORECASE)
_MAX_HEADER_LINES = 10_000
_BYTES_PER_ENTRY = 40  # two indices and a value while they are read, and again in CSR form
_INDEX_BYTES = 8


def read_mtx(source: Source, options: ReadOptions) -> ArrayTable | SparseTable:
    """Read a matrix in coordinate form as a `SparseTable`, one in array form as an `ArrayTable`."""
    from scipy import io, sparse

    with source.open() as file:
        n_rows, n_columns, stored, dense = _header(source.name, file)
    size = n_rows * n_columns * 8 if dense else stored * _BYTES_PER_ENTRY + n_rows * _INDEX_BYTES
    check_allocation(size, f"reading {source.name}", "keep fewer rows or columns")
    try:
        with source.open() as file:
            loaded = io.mmread(file)
        if dense:
            return ArrayTable(np.ascontiguousarray(loaded), source.name)
        matrix = sparse.csr_array(loaded)
        matrix.check_format(full_check=True)
    except DataError:
        raise
    except (ValueError, OSError, TypeError, OverflowError, MemoryError, IndexError, RuntimeError) as error:
        raise DataError(f"{source.name} is damaged or not a Matrix Market file: {error}") from error
    return SparseTable(matrix, source.name)


def _header(name: str, file: BinaryIO) -> tuple[int, int, int, bool]:
    """Return rows, columns, stored entries and whether the matrix is dense."""
    found = _HEADER.match(file.readline(1000))
    if found is None:
        raise DataError(f"{name} is damaged or not a Matrix Market file: it must begin with '%%MatrixMarket matrix'")
    kind = found[2].lower().decode()
    if kind not in ("real", "integer", "pattern", "double", "unsigned-integer"):
        raise DataError(f"{name}: it contains {kind} numbers, and a table needs real numbers")
    dense = found[1].lower() == b"array"
    line = b"%"
    for _ in range(_MAX_HEADER_LINES):
        line = file.readline(1_000_000)
        if not line or (line.strip() and not line.startswith(b"%")):
            break
    sizes = line.split()
    if len(sizes) != (2 if dense else 3) or not all(size.isdigit() and len(size) < 19 for size in sizes):
        raise DataError(f"{name} is damaged: the line with the size of the matrix is missing or wrong")
    n_rows, n_columns, *stored = map(int, sizes)
    if not n_rows or not n_columns:
        raise DataError(f"{name}: the table has no {'columns' if n_rows else 'rows'}")
    return n_rows, n_columns, stored[0] if stored else n_rows * n_columns, dense
