"""White rows of ICA: held in memory, or read again in every pass, and what a pass over them tells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ...core import arrays, thread_pool
from ...core.cost import DataShape
from ...rows.block import Block, block_rows
from ...rows.gram_sums import Scratch
from ...rows.row_source import RowSource

Array = Any
Result = TypeVar("Result")

_BLOCK_ENTRIES = 1 << 16  # entries of a block: it, its estimates and their g stay in a core's own cache
_HELD_ENTRIES = 1 << 27  # of streamed rows, up to which they are held (1 GB): a pass over a file costs more


@dataclass(frozen=True)
class Pass:
    """What one pass over the rows tells of the sources y = Wz: E[g(y)yᵀ], E[g′(y)], E[G(y)], E[g(y)²]."""

    C: Array
    slope: Array
    value: Array
    power: Array

    @property
    def curvature(self) -> Array:
        """κ = E[g′(y)] − E[g(y)y]: 0 for a Gaussian source."""
        return self.slope - np.diag(self.C)


class WhiteRows(ABC):
    """White rows in blocks of k × n in float64; ``size`` is the number of rows in a full block."""

    k: int
    n: int
    size: int

    @abstractmethod
    def each(self, work: Callable[[Array], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block; results come in row order."""

    @abstractmethod
    def take(self, numbers: Array) -> Array:
        """Return the rows with these ascending numbers, as columns."""

    def look(self, W: Array, contrast: str) -> Pass:
        """Go over the rows once on all threads; blocks are added up in their order."""
        from . import ica_rotation_loops

        kernel = {
            "logcosh": ica_rotation_loops.logcosh,
            "exp": ica_rotation_loops.gauss,
            "cube": ica_rotation_loops.cube,
        }[contrast]
        scratch, k = Scratch(), self.k

        def work(Z: Array) -> tuple[Array, Array]:
            n = Z.shape[1]
            room = scratch.take(2 * k, n, np.float64)
            Y, T = room[:k], room[k:]
            np.matmul(W, Z, out=Y)
            sums = np.empty((3, k))
            kernel(Y, T, sums)
            return T @ Y.T, sums

        C, sums = np.zeros((k, k)), np.zeros((3, k))
        for c, s in self.each(work):
            C += c
            sums += s
        sums /= self.n
        return Pass(C / self.n, *sums)

    def some(self, count: int, rng: np.random.Generator) -> White:
        """Return that many of the rows, drawn at random."""
        Z = self.take(np.sort(rng.choice(self.n, count, replace=False)))
        return White([np.ascontiguousarray(Z[:, a : a + self.size]) for a in range(0, count, self.size)])


class White(WhiteRows):
    """White rows in memory."""

    def __init__(self, blocks: Sequence[Array]) -> None:
        self.blocks = list(blocks)
        self.k, self.size = self.blocks[0].shape
        self.n = sum(block.shape[1] for block in self.blocks)

    def each(self, work: Callable[[Array], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block on all threads."""
        return thread_pool.run(work, self.blocks)

    def take(self, numbers: Array) -> Array:
        """Return the rows with these ascending numbers, as columns."""
        starts = range(0, self.n, self.size)
        parts = zip(self.blocks, starts, strict=True)
        return np.concatenate([_columns(block, start, numbers) for block, start in parts], axis=1)


class ReadAgain(WhiteRows):
    """White rows of a source beyond memory: each pass reads the source and whitens its blocks."""

    def __init__(self, rows: RowSource, whiten: Callable[[Block], Array], k: int, size: int) -> None:
        self._rows, self._whiten = rows, whiten
        self.k, self.n, self.size = k, rows.count(), size

    def each(self, work: Callable[[Array], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block where the source runs it."""
        return self._rows.map(lambda block: work(self._whiten(block)), self.size)

    def take(self, numbers: Array) -> Array:
        """Return the rows with these ascending numbers, as columns."""
        parts = self._rows.map(lambda block: _columns(self._whiten(block), block.start, numbers), self.size)
        return np.concatenate(list(parts), axis=1)


def _columns(Z: Array, start: int, numbers: Array) -> Array:
    """Return the rows of a block that begins with row ``start`` which have these numbers."""
    first, last = np.searchsorted(numbers, (start, start + Z.shape[1]))
    return Z[:, numbers[first:last] - start]


def panel_rows(k: int, n_features: int) -> int:
    """Return the rows of a block: it depends on the widths alone, so sums do too."""
    return min(block_rows(n_features), max(256, _BLOCK_ENTRIES // k))


def held_rows(shape: DataShape, k: int) -> bool:
    """Return whether white rows are held: those of a stream only up to 2²⁷ entries."""
    return not shape.blocks or (shape.n_rows or 1) * k <= _HELD_ENTRIES


def white_rows(rows: RowSource, whiten: Callable[[Block], Array], k: int, stage: str | None = None) -> WhiteRows:
    """Return ``whiten(block)`` of all rows: k × n for each block."""
    size = panel_rows(k, rows.n_features)
    if held_rows(rows.shape, k):
        return White(list(rows.map(whiten, size, stage=stage)))
    return ReadAgain(rows, whiten, k, size)


def whitened(rows: RowSource, mean: Array, K: Array) -> WhiteRows:
    """Return z = K(x − mean) of each row."""

    def work(block: Block) -> Array:
        rows.check(block)
        if sp.issparse(block.rows):
            return np.ascontiguousarray((block.rows @ K.T - mean @ K.T).T)
        return K @ arrays.less(arrays.to_numpy(block.rows), mean).T

    return white_rows(rows, work, len(K), "whitening")
