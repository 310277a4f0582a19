"""Mean and scatter of rows, exact and mergeable; R factors where squares would lose precision.

Each block is shifted by a pilot row mean (so a large mean costs no digits), its scatter is summed and merged with that
of the earlier blocks (Chan, Golub and LeVeque 1983):

    S = S₁ + S₂ + (n₁n₂/n) δδᵀ,   δ = m₂ − m₁.

Blocks have a fixed size. They are merged in row order into segments of 16 blocks, and segments in row order into the
total. So streaming, threads, one array, and workers that each sum whole segments give the same bits.
`RFactor` keeps R with RᵀR = S instead (Demmel, Grigori, Hoemmen, Langou 2012: QR of tall matrices by blocks):
singular values far below √eps·σ₁ survive there.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError
from ..core.settings import report_progress
from .accumulator import Accumulator
from .block import Block, block_rows
from .block_moments import Part, centered, require_sums, shifted, sparse_columns, sparse_moments, triangle
from .gram_sums import TILED, Scratch, add_tiles, mirror, require_square, square, square_zeros
from .row_source import RowSource

Array = Any


class Moments(Accumulator):
    """Count, mean and scatter Σ w (x − m)(x − m)ᵀ of rows seen so far.

    >>> import numpy as np
    >>> from lowland.rows.row_source import as_rows
    >>> X = np.array([[1.0, 0.0], [2.0, 0.1], [3.0, -0.1]])
    >>> m = Moments(2).update(as_rows(X[:1])).update(as_rows(X[1:])).finished()
    >>> np.round(m.mean, 6).tolist(), np.round(m.scatter, 6).tolist()
    ([2.0, 0.0], [[2.0, -0.1], [-0.1, 0.02]])
    """

    _settings: ClassVar[tuple[str, ...]] = ("_dtype",)

    def __init__(self, n_features: int, *, precise: bool = False) -> None:
        super().__init__(n_features)
        self.scatter: Array = None
        self._tiled = n_features > TILED
        self._dtype = np.float64 if precise else None  # products of float32 rows in float64 as well

    def empty(self) -> Self:
        """Return moments of the same kind without rows."""
        return type(self)(self.n_features, precise=self._dtype is not None)

    def _update_here(self, source: RowSource, stage: str) -> None:
        if self.scatter is None and self._open is None:
            require_square(self.n_features)  # once: a question for each segment would cost 5 % of a pass
        if not self._tiled or source.sparse:
            super()._update_here(source, stage)
            return
        # Wide scatters: one block at a time, its tiles in parallel, so that only one matrix of D×D is held.
        scratch = Scratch()
        known = self._resumed(source, stage)
        if known.ended:
            return
        rows = known.rows
        with self._batch(source, stage, rows) as blocks:
            for done, block in enumerate(blocks, start=1):
                self._take(block, scratch)
                report_progress(stage, done, source.block_count())
                rows += self._block_rows(source)
                self._noted(source, rows)
        self._noted(source, rows, ended=True)

    def _take(self, block: Block, scratch: Scratch) -> None:
        if self._tiled and not sp.issparse(block.rows):
            self._add(centered(block, scratch, self._dtype), self._join_rows)
        else:
            super()._take(block, scratch)

    def _reduce(self, block: Block, scratch: Scratch) -> Part:
        if sp.issparse(block.rows):
            return sparse_moments(block)
        n, weight, mean, sums, Z = shifted(block, scratch, self._dtype)
        S = require_sums(square(Z), block)
        S -= mean[1][:, None] * sums[None, :]
        return n, weight, mean, S

    def _join(self, summary: Array, coefficient: float, delta: Array) -> None:
        if self.scatter is None and self.segmented:
            self.scatter = summary
            return
        if self.scatter is None:
            self.scatter = square_zeros(self.n_features, summary)
        self.scatter += summary
        if coefficient:
            self.scatter += coefficient * delta[:, None] * delta[None, :]

    def _join_rows(self, centered: Array, coefficient: float, delta: Array) -> None:
        if self.scatter is None:
            self.scatter = square_zeros(self.n_features, centered)
        add_tiles(self.scatter, centered, coefficient, delta)

    def finished(self) -> Self:
        """Return the moments of all rows so far, with a full symmetric scatter; more rows can be added to this one."""
        done = super().finished()
        if done.scatter is None:
            raise DataError("no rows with a positive weight were given")
        if self._tiled:
            mirror(done.scatter)
        return done

    def _copy_summary(self) -> Array:
        return self.scatter if self.scatter is None else self.scatter + 0.0

    def _take_summary(self) -> Array:
        return self.scatter

    def _adopt(self, summary: Array) -> None:
        self.scatter = summary

    def to_state(self) -> tuple[str, dict[str, Any]]:
        """Return the name and the plain values from which `from_state` rebuilds this object."""
        state = self._state()
        if self.scatter is not None:
            state["scatter"] = arrays.to_numpy(self.scatter)
        return "Moments", state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild from `to_state`."""
        self = cls._restore(state)
        self._dtype = np.float64  # only accumulators of `partial_fit` are stored, and they are precise
        self.scatter = np.asarray(state["scatter"]) if "scatter" in state else None
        return self


class ColumnMoments(Accumulator):
    """Count, mean and Σ w (x − m)² of each column, for algorithms that never form the scatter."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.squares: Array = None

    def _block_rows(self, source: RowSource) -> int:
        return block_rows(self.n_features, source.sparse)  # one pass, so sparse rows need no fixed size

    @property
    def segmented(self) -> bool:
        """Whether blocks are merged by segments: always, for the sums take little memory."""
        return True

    def _reduce(self, block: Block, scratch: Scratch) -> Part:
        if sp.issparse(block.rows):
            return sparse_columns(block)
        n, weight, mean, sums, Z = shifted(block, scratch)
        xp = arrays.namespace(Z)
        with np.errstate(over="ignore"):
            Z *= Z  # in place: the shifted rows are not needed again
            squares = require_sums(xp.sum(Z, axis=0, dtype=xp.float64), block)
        return n, weight, mean, squares - mean[1] * sums

    def _join(self, summary: Array, coefficient: float, delta: Array) -> None:
        self.squares = (summary if self.squares is None else self.squares + summary) + coefficient * delta * delta

    def _copy_summary(self) -> Array:
        return self.squares

    def _adopt(self, summary: Array) -> None:
        self.squares = summary

    def to_state(self) -> tuple[str, dict[str, Any]]:
        """Return the name and the plain values from which `from_state` rebuilds this object."""
        return "ColumnMoments", self._state() | ({} if self.squares is None else {"squares": self.squares})

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild from `to_state`."""
        self = cls._restore(state)
        self.squares = np.asarray(state["squares"]) if "squares" in state else None
        return self


class RFactor(Accumulator):
    """Count, mean and R with RᵀR = scatter of rows seen so far: no squares are formed.

    R is triangular with more rows than columns. Fewer rows are stored unchanged: QR would not reduce their number and
    would copy them all with each block.
    """

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.R: Array = None
        self._waiting: tuple[Array, ...] = ()  # rows not yet merged: R and these have no more rows than columns

    def _reduce(self, block: Block, scratch: Scratch) -> Part:
        rows = block.rows.toarray() if sp.issparse(block.rows) else block.rows  # one block, never the table
        n, weight, mean, Z = centered(block._replace(rows=rows), scratch, np.float64)
        return n, weight, mean, triangle(Z)

    def _join(self, summary: Array, coefficient: float, delta: Array) -> None:
        if self.R is None:
            self.R = summary
            return
        self._waiting = (*self._waiting, summary, np.sqrt(coefficient) * delta[None, :])
        if sum(rows.shape[0] for rows in (self.R, *self._waiting)) > self.n_features:
            self._adopt(triangle(self._copy_summary()))

    def finished(self) -> Self:
        """Return the factor of all rows so far; more rows can be added to this one."""
        done = super().finished()
        if done.R is None:
            raise DataError("no rows with a positive weight were given")
        done._adopt(done._copy_summary())
        return done

    def _copy_summary(self) -> Array:
        if not self._waiting:
            return self.R
        return arrays.namespace(self.R).concat([self.R, *self._waiting], axis=0)

    def _adopt(self, summary: Array) -> None:
        self.R, self._waiting = summary, ()

    def to_state(self) -> tuple[str, dict[str, Any]]:
        """Return the name and the plain values from which `from_state` rebuilds this object."""
        state = self._state()
        if self.R is not None:
            state["R"] = arrays.to_numpy(self._copy_summary())
        return "RFactor", state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild from `to_state`."""
        self = cls._restore(state)
        self.R = np.asarray(state["R"]) if "R" in state else None
        return self


def moments(source: RowSource, *, precise: bool = False) -> Moments:
    """Return the mean and the scatter of all rows, in one pass; ``precise`` multiplies float32 rows in float64."""
    return Moments(source.n_features, precise=precise).update(source).close()


def column_moments(source: RowSource) -> ColumnMoments:
    """Return the mean and the centred squares of each column, in one pass."""
    return ColumnMoments(source.n_features).update(source, stage="columns").close()


def r_factor(source: RowSource) -> RFactor:
    """Return the mean and the R factor of all rows, in one pass."""
    return RFactor(source.n_features).update(source, stage="QR").close()


__all__ = [
    "Accumulator",
    "ColumnMoments",
    "Moments",
    "RFactor",
    "column_moments",
    "moments",
    "r_factor",
]
