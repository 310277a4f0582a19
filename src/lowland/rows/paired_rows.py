"""`PairedRows`: two tables of the same rows, read in blocks side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import check_allocation
from .block import Block, block_rows
from .row_source import RowSource

Array = Any
Result = TypeVar("Result")

_ROWS = 16_384  # rows of a block at most, to which anchors are prepared once
_ENTRIES = 1 << 20  # numbers of both tables in a block


class PairedBlock(NamedTuple):
    """Consecutive rows of two tables: the number of the first row, and the rows of each."""

    start: int
    rows: tuple[Array, Array]

    def places(self, numbers: Array) -> Array:
        """Return the places of rows in this block, −1 of those that are not in it."""
        own = numbers - self.start
        return np.where((own >= 0) & (own < len(self.rows[0])), own, -1)


class PairedRows:
    """Two tables with equally many rows, which are read in blocks of the same rows.

    >>> from lowland.rows.row_source import as_rows
    >>> both = PairedRows(as_rows(np.arange(6.0).reshape(3, 2)), as_rows(np.arange(3.0).reshape(3, 1)))
    >>> [part.tolist() for part in both.gather(np.array([0, 2]))]
    [[[0.0, 1.0], [4.0, 5.0]], [[0.0], [2.0]]]
    """

    def __init__(self, first: RowSource, second: RowSource) -> None:
        self.first, self.second, self.n_rows = first, second, first.count()
        standard, width = block_rows(first.n_features), first.n_features + second.n_features
        self.size = standard * max(1, min(_ROWS, _ENTRIES // width) // standard)

    def map(self, work: Callable[[PairedBlock], Result], stage: str) -> Iterator[Result]:
        """Apply work to every block on the thread pool and yield the results in row order."""
        return self._run(lambda pair: work(_numbers(*pair)), stage)

    def gather(
        self, numbers: Array, check: tuple[Callable[[Block], None], Callable[[Block], None]] | None = None
    ) -> tuple[Array, Array]:
        """Return the rows with these numbers, ascending, of both tables; ``check`` is called for all blocks of each."""
        width = self.first.n_features * self.first.dtype.itemsize + self.second.n_features * self.second.dtype.itemsize
        check_allocation(2 * len(numbers) * width, f"{len(numbers):,} rows of the tables", "use fewer columns")

        def work(pair: tuple[Block, Block]) -> tuple[Array, Array]:
            for block, one in zip(pair, check or (), strict=False):
                one(block)
            start, rows = _numbers(*pair)
            low, high = np.searchsorted(numbers, [start, start + len(rows[0])])
            places = numbers[low:high] - start
            return rows[0][places], rows[1][places]

        first, second = zip(*self._run(work, "sample"), strict=True)
        return np.concatenate(first), np.concatenate(second)

    def _run(self, work: Callable[[tuple[Block, Block]], Result], stage: str) -> Iterator[Result]:
        pairs = zip(self.first.blocks(self.size), self.second.blocks(self.size), strict=True)
        return thread_pool.run(work, pairs, stage=stage, total=-(-self.n_rows // self.size))


def _numbers(first: Block, second: Block) -> PairedBlock:
    return PairedBlock(first.start, (arrays.to_numpy(first.rows), arrays.to_numpy(second.rows)))
