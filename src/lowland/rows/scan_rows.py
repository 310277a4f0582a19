"""`ScanRows`: the rows of a table that is read in blocks, with read-ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..core.cost import DataShape
from ..core.read_ahead import ahead
from ..data.scans.table_scan import TableScan
from .block import Block, block_rows
from .row_source import RowSource

Array = Any

_AHEAD = 2  # blocks that are read while others are processed


class ScanRows(RowSource):
    """Rows of a `TableScan`, cut into blocks by a thread that reads ahead.

    Blocks are those of an array in memory, whatever the pieces of the scan, so results are the same bits.
    """

    def __init__(self, scan: TableScan) -> None:
        self.scan = scan
        # Methods choose their algorithm by the number of rows: unknown, it would be another one than for an array.
        self.n_rows, self.n_features, self.dtype = scan.count(), scan.n_features, scan.dtype
        self.names = None if scan.names is None else tuple(scan.names)

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""
        return DataShape(self.n_rows, self.n_features, self.dtype, blocks=True)

    @property
    def all_columns(self) -> Callable[[], Iterator[Any]]:
        """A function that returns the rows with all columns, for methods that take categories."""
        return table_blocks(self.scan)

    def first_block(self) -> Array:
        """Return the first rows of the table."""
        return self.scan.first_array(block_rows(self.n_features))

    def blocks_from(self, start: int, size: int) -> Iterator[Block]:
        """Yield the blocks of ``size`` rows from row ``start`` on, which is a multiple of ``size``."""
        return self._read(size, size, start)

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        return self._read(size, first, 0)

    def _read(self, size: int, first: int, start: int) -> Iterator[Block]:
        def cut() -> Iterator[tuple[int, Array]]:
            return _cut(self.scan.arrays(start, rows=size), size, first, start)

        for begin, rows in ahead(cut, _AHEAD):
            weights = None if self.weights is None else self.weights[begin : begin + len(rows)]
            yield Block(begin, rows, weights, self.names, self.scan.place)


def table_blocks(scan: TableScan) -> Callable[[], Iterator[Any]]:
    """Return a function that returns the rows with all columns, read ahead: data frames, or arrays without names."""
    return partial(ahead, scan.number_frames if scan.has_names else scan.arrays)


def _cut(pieces: Iterator[Array], size: int, first: int, start: int) -> Iterator[tuple[int, Array]]:
    """Yield the rows of arrays of any length as blocks with their first row numbers; only joined ones are copied.

    >>> arrays = iter([np.zeros((3, 1)), np.ones((2, 1))])
    >>> [(begin, rows.ravel().tolist()) for begin, rows in _cut(arrays, 2, 2, 0)]
    [(0, [0.0, 0.0]), (2, [0.0, 1.0]), (4, [1.0])]
    """
    held, full, waiting = 0, first, list[Array]()
    for piece in pieces:
        offset = 0
        while offset < len(piece):
            part = piece[offset : offset + full - held]
            waiting.append(part)
            held, offset = held + len(part), offset + len(part)
            if held == full:
                yield start, _joined(waiting)
                start, held, full, waiting = start + held, 0, size, []
    if waiting:
        yield start, _joined(waiting)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
