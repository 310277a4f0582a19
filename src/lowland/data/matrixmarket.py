"""Matrix Market files (``.mtx``): sparse matrices, or dense ones in array form."""

from __future__ import annotations

import re
from typing import BinaryIO

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError
from .arraytable import ArrayTable, SparseTable
from .damage import damaged
from .options import ReadOptions
from .source import Source

_HEADER = re.compile(rb"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(\w+)\s+([\w-]+)\s*$", re.IGNORECASE)
_MAX_HEADER_LINES = 10_000
_BYTES_PER_ENTRY = 40  # two indices and a value while they are read, and again in CSR form
_INDEX_BYTES = 8
_BLOCK_BYTES = 2**20


def read_mtx(source: Source, options: ReadOptions) -> ArrayTable | SparseTable:
    """Read a matrix in coordinate form as a `SparseTable`, one in array form as an `ArrayTable`."""
    from scipy import io, sparse

    with source.open() as file:
        n_rows, n_columns, stored, dense = _header(source.name, file)
    size = n_rows * n_columns * 8 if dense else stored * _BYTES_PER_ENTRY + n_rows * _INDEX_BYTES
    check_allocation(size, f"reading {source.name}", "keep fewer rows or columns")
    try:
        with source.open() as file:
            _check_text(source.name, file)
        with source.open() as file:
            loaded = io.mmread(_EndedLines(file))
        if dense:
            return ArrayTable(np.ascontiguousarray(loaded), source.name)
        matrix = sparse.csr_array(loaded)
        matrix.check_format(full_check=True)
    except DataError:
        raise
    except (ValueError, OSError, TypeError, OverflowError, MemoryError, IndexError, RuntimeError) as error:
        raise damaged(source.name, "a Matrix Market file", error) from error
    return SparseTable(matrix, source.name)


class _EndedLines:
    """A file whose last line ends: in one that does not, SciPy's parser looks for the end past its memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._last = file, b"\n"

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        block = self._file.read(size)
        if not block and self._last != b"\n":
            block = b"\n"
        self._last = block[-1:] or self._last
        return block


def _check_text(name: str, file: BinaryIO) -> None:
    """Raise `DataError` for null characters, as in files cut off by a crash."""
    while block := file.read(_BLOCK_BYTES):
        if b"\0" in block:
            raise DataError(f"{name} is damaged or not a Matrix Market file: it contains null characters")


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
