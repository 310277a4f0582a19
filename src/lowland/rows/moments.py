"""Mean and scatter of rows, exact and mergeable; R factors where squares would lose precision.

Each block is shifted by a pilot row mean (so a large mean costs no digits), its scatter is summed and merged with that
of the earlier blocks (Chan, Golub and LeVeque 1983):

    S = S₁ + S₂ + (n₁n₂/n) δδᵀ,   δ = m₂ − m₁.

Blocks have a fixed size and are merged in row order, so streaming, threads and one array give the same bits.
`RFactor` keeps R with RᵀR = S instead (Demmel, Grigori, Hoemmen, Langou 2012: QR of tall matrices by blocks):
singular values far below √eps·σ₁ survive there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..core import arrays, thread_pool
from ..core.errors import DataError
from ..core.settings import report_progress
from .block import Block, block_rows, require_finite
from .block_moments import Mean, Part, centered, require_sums, shifted, sparse_columns, sparse_moments, triangle
from .gram_sums import TILED, Scratch, add_tiles, mirror, square, square_zeros
from .row_source import RowSource

Array = Any


class Accumulator:
    """Base of `Moments` and `RFactor`: counts, mean, and rows held back until a block is full."""

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.n_rows = 0  # rows with a positive weight
        self.weight = 0.0
        self.mean: Array = np.zeros(n_features)
        self._parts: Mean = (self.mean, self.mean)
        self.dtype: np.dtype[Any] | None = None  # of the first rows and of the results
        self._held: list[Block] = []

    # -- written by subclasses ----------------------------------------------------------------------------

    def _reduce(self, block: Block, scratch: Scratch) -> Part:
        """Return rows, weight, mean and the summary of one block."""
        raise NotImplementedError

    def _join(self, summary: Array, coefficient: float, delta: Array) -> None:
        """Merge a summary whose mean differs by delta."""
        raise NotImplementedError

    def _copy_summary(self) -> Array:
        raise NotImplementedError

    def _block_rows(self, source: RowSource) -> int:
        """Return the rows of a block: the same for dense and sparse rows, which may be mixed."""
        return block_rows(self.n_features)

    # -- shared -------------------------------------------------------------------------------------------

    def update(self, source: RowSource, *, stage: str = "scatter") -> Self:
        """Add rows. Those that do not fill a block are held for the next call: results do not depend on the calls."""
        scratch = Scratch()
        with self._batch(source, stage) as blocks:
            for part in thread_pool.run(
                lambda b: self._reduce(b, scratch), blocks, stage=stage, total=source.block_count()
            ):
                self._add(part)
        return self

    @contextmanager
    def _batch(self, source: RowSource, stage: str) -> Iterator[Iterator[Block]]:
        """Return the full blocks of a batch; if it fails or is cancelled, the state is restored."""
        size, saved = self._block_rows(source), dict(vars(self))
        waiting = sum(b.rows.shape[0] for b in self._held)
        if source.n_rows is None or waiting + source.n_rows >= size:
            self._adopt(self._copy_summary())  # a copy: sums are in place
        self.dtype = self.dtype or source.dtype
        try:
            first = max(1, size - waiting)  # a model file of an older version may hold more rows than a block
            yield self._full_blocks(source.blocks(size, first), size, waiting)
            if self._held:
                total = source.block_count() or 1
                report_progress(stage, total, total)
        except BaseException:
            vars(self).update(saved)
            raise

    def _full_blocks(self, blocks: Iterator[Block], size: int, waiting: int) -> Iterator[Block]:
        for block in blocks:
            held, self._held = [*self._held, block], []
            if sum(b.rows.shape[0] for b in held) < size:
                require_finite(block)  # now, not when the block is full
                held[-1] = block._replace(rows=_owned(block.rows))  # the caller may reuse its batch
                self._held = _compact(held)
                return
            yield _join_blocks(held)._replace(start=block.start - waiting)  # errors count the rows of this batch
            waiting = 0

    def _add(self, part: Part, join: Callable[[Array, float, Array], None] | None = None) -> None:
        n, weight, (origin, offset), summary = part
        if weight == 0:
            return
        first, before = self._parts if self.weight else (origin, offset)
        delta = (origin - first) + (offset - before)
        total = self.weight + weight
        with np.errstate(over="ignore", invalid="ignore"):  # non-finite sums raise where they are used
            (join or self._join)(summary, self.weight * weight / total, delta)
        self._parts = first, before + delta * (weight / total)
        self.mean = self._parts[0] + self._parts[1]
        self.weight, self.n_rows = total, self.n_rows + n

    def merge(self, other: Self) -> Self:
        """Add the rows of another accumulator."""
        if other.n_features != self.n_features:
            raise DataError(f"cannot merge {other.n_features} columns into {self.n_features}")
        if not other.weight and not other._held:
            return self
        self._flush()
        done = other.finished()
        self._add((done.n_rows, done.weight, done._parts, done._copy_summary()))
        return self

    def finished(self) -> Self:
        """Return an accumulator that includes the rows held back; more rows can be added to this one."""
        if not self._held:
            return self
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._adopt(self._copy_summary())
        twin._flush()
        return twin

    def close(self) -> Self:
        """Include the rows held back, in place, and return the finished accumulator: the end of a single pass."""
        self._flush()
        return self.finished()

    def _adopt(self, summary: Array) -> None:
        raise NotImplementedError

    def _flush(self) -> None:
        held, self._held = self._held, []
        if held:
            self._take(_join_blocks(held), Scratch())

    def _take(self, block: Block, scratch: Scratch) -> None:
        self._add(self._reduce(block, scratch))

    def _state(self) -> dict[str, Any]:
        held = _join_blocks(self._held) if self._held else None
        out: dict[str, Any] = {
            "n_features": self.n_features,
            "n_rows": self.n_rows,
            "weight": self.weight,
            "mean": arrays.to_numpy(self.mean),
            "origin": arrays.to_numpy(self._parts[0]),
            "offset": arrays.to_numpy(self._parts[1]),
            "dtype": (self.dtype or np.dtype(np.float64)).name,
        }
        if held is not None:
            out["held"] = held.rows.toarray() if sp.issparse(held.rows) else arrays.to_numpy(held.rows)
            out["held_weights"] = np.ones(held.rows.shape[0]) if held.weights is None else np.asarray(held.weights)
        return out

    @classmethod
    def _restore(cls, state: dict[str, Any]) -> Self:
        self = cls(int(state["n_features"]))
        self.n_rows, self.weight = int(state["n_rows"]), float(state["weight"])
        self.mean, self.dtype = np.asarray(state["mean"]), np.dtype(str(state["dtype"]))
        self._parts = np.asarray(state["origin"]), np.asarray(state["offset"])
        if "held" in state:
            w = np.asarray(state["held_weights"])
            self._held = [Block(0, np.asarray(state["held"]), None if (w == 1).all() else w)]
        return self


class Moments(Accumulator):
    """Count, mean and scatter Σ w (x − m)(x − m)ᵀ of rows seen so far.

    >>> import numpy as np
    >>> from lowland.rows.row_source import as_rows
    >>> X = np.array([[1.0, 0.0], [2.0, 0.1], [3.0, -0.1]])
    >>> m = Moments(2).update(as_rows(X[:1])).update(as_rows(X[1:])).finished()
    >>> np.round(m.mean, 6).tolist(), np.round(m.scatter, 6).tolist()
    ([2.0, 0.0], [[2.0, -0.1], [-0.1, 0.02]])
    """

    def __init__(self, n_features: int, *, precise: bool = False) -> None:
        super().__init__(n_features)
        self.scatter: Array = None
        self._tiled = n_features > TILED
        self._dtype = np.float64 if precise else None  # products of float32 rows in float64 as well

    def update(self, source: RowSource, *, stage: str = "scatter") -> Self:
        """Add rows; see `Accumulator.update`."""
        if not self._tiled or source.sparse:
            return super().update(source, stage=stage)
        # Wide scatters: one block at a time, its tiles in parallel, so that only one matrix of D×D is held.
        scratch = Scratch()
        with self._batch(source, stage) as blocks:
            for done, block in enumerate(blocks, start=1):
                self._take(block, scratch)
                report_progress(stage, done, source.block_count())
        return self

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


def _owned(rows: Array) -> Array:
    return rows.copy() if hasattr(rows, "copy") else rows.clone()


def _compact(held: list[Block]) -> list[Block]:
    """Join the held rows when they are many, so that a row is copied at most log n times."""
    if len(held) > 64:
        return [_join_blocks(held)]
    return held


def _join_blocks(held: list[Block]) -> Block:
    if len(held) == 1:
        return held[0]
    weights = None
    if any(b.weights is not None for b in held):
        weights = np.concatenate([np.ones(b.rows.shape[0]) if b.weights is None else b.weights for b in held])
    if all(sp.issparse(b.rows) for b in held):
        rows = sp.vstack([b.rows for b in held], format="csr")
    else:
        parts = [b.rows.toarray() if sp.issparse(b.rows) else b.rows for b in held]
        rows = arrays.namespace(*parts).concat(parts, axis=0)
    return held[0]._replace(rows=rows, weights=weights)


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
