"""`Accumulator`: what sums over blocks of rows share: their mean, the order of merging, and rows held back."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError
from ..core.settings import report_progress
from ..engines.local import LOCAL
from .block import SEGMENT_BLOCKS, Block, block_rows, require_finite
from .block_moments import Mean, Part
from .engine_rows import EngineRows
from .gram_sums import TILED, Scratch
from .journal import Progress
from .row_source import RowSource

Array = Any


class Accumulator:
    """Base of `Moments` and `RFactor`: counts, mean, and rows held back until a block is full.

    Blocks are added to an open segment, and a full segment to the total.
    """

    _settings: ClassVar[tuple[str, ...]] = ()  # attributes that say how rows are added up, not what was found

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.n_rows = 0  # rows with a positive weight
        self.weight = 0.0
        self.mean: Array = np.zeros(n_features)
        self._parts: Mean = (self.mean, self.mean)
        self.dtype: np.dtype[Any] | None = None  # of the first rows and of the results
        self._held: list[Block] = []
        self._open: Any = None  # of the same class: the segment that is not full yet
        self._open_blocks = 0

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

    def empty(self) -> Self:
        """Return an accumulator of the same kind without rows."""
        return type(self)(self.n_features)

    @property
    def segmented(self) -> bool:
        """Whether blocks are merged by segments: wide tables have no memory for a second matrix of D × D."""
        return self.n_features <= TILED

    def __sizeof__(self) -> int:
        """Return the bytes of the sums, by which a cluster decides where to run the next step."""
        inner = 0 if self._open is None else self._open.__sizeof__()
        return object.__sizeof__(self) + inner + sum(int(getattr(v, "nbytes", 0)) for v in vars(self).values())

    # -- shared -------------------------------------------------------------------------------------------

    def update(self, source: RowSource, *, stage: str = "scatter") -> Self:
        """Add rows. Those that do not fill a block are held for the next call: results do not depend on the calls."""
        if isinstance(source, EngineRows) and not (self.weight or self._held or self._open is not None):
            self._update_elsewhere(source, stage)
        else:
            self._update_here(source, stage)
        return self

    def _update_here(self, source: RowSource, stage: str) -> None:
        """Add the blocks of a source in this process, on its engine."""
        scratch = Scratch()
        known = self._resumed(source, stage)
        if known.ended:
            return
        rows = known.rows
        with self._batch(source, stage, rows) as blocks:
            for part in LOCAL.map(lambda b: self._reduce(b, scratch), blocks, stage=stage, total=source.block_count()):
                self._collect(part)
                rows += self._block_rows(source)
                self._noted(source, rows)
        self._noted(source, rows, ended=True)

    def _update_elsewhere(self, source: EngineRows, stage: str) -> None:
        """Add segments that are summed where the rows are; if the pass fails, the state is restored."""
        saved, size, n = dict(vars(self)), self._block_rows(source), source.count()
        known = self._resumed(source, stage)
        if known.ended:
            return
        self.dtype = self.dtype or source.dtype
        try:
            for rows, sums in source.folded(self.empty(), size, stage, wide=not self.segmented, start=known.rows):
                if sums.weight:
                    self.add_segment(sums)
                self._open, self._open_blocks, self._held = sums._open, sums._open_blocks, sums._held  # of the last
                if rows < n:
                    self._noted(source, rows)
            self._noted(source, n, ended=True)
        except BaseException:
            vars(self).update(saved)
            raise

    # -- interrupted passes -------------------------------------------------------------------------------

    def _resumed(self, source: RowSource, stage: str) -> Progress:
        """Begin a pass: where its source has a journal that knows its sums, continue from them."""
        fresh = not self.weight and not self._held and self._open is None
        if source.journal is None or not fresh:
            return Progress(0, {})
        found = source.journal.begin(f"{type(self).__name__} of {self.n_features} columns, {stage}")
        if found is None:
            return Progress(0, {})
        restored = vars(type(self).from_state(found.state))
        vars(self).update({name: value for name, value in restored.items() if name not in self._settings})
        return found

    def _noted(self, source: RowSource, rows: int, *, ended: bool = False) -> None:
        """Keep the sums of so many rows from time to time: where no segment is open, and at the end."""
        if source.journal is None:
            return
        if ended or (self._open is None and source.journal.due()):
            state = self.to_state()[1]
            if not ended:  # blocks are read ahead: the last rows may be held already, and will be read again
                state = {name: value for name, value in state.items() if name not in ("held", "held_weights")}
            source.journal.keep(Progress(rows, state, ended))

    @contextmanager
    def _batch(self, source: RowSource, stage: str, done: int = 0) -> Iterator[Iterator[Block]]:
        """Return the full blocks of a batch, less the rows done; if it fails or is cancelled, the state is restored."""
        size, saved = self._block_rows(source), dict(vars(self))
        waiting = sum(b.rows.shape[0] for b in self._held)
        if source.n_rows is None or waiting + source.n_rows >= size:
            self._adopt(self._copy_summary())  # a copy: sums are in place
            self._open = None if self._open is None else self._open._copied()
        self.dtype = self.dtype or source.dtype
        try:
            first = max(1, size - waiting)  # a model file of an older version may hold more rows than a block
            blocks = source.blocks_from(done, size) if done else source.blocks(size, first)
            yield self._full_blocks(blocks, size, waiting)
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

    def _collect(self, part: Part) -> None:
        """Add a block to the open segment, and a full segment to the total."""
        if not self.segmented:
            self._add(part)
            return
        if self._open is None:
            self._open = self.empty()
        self._open._add(part)
        self._open_blocks += 1
        if self._open_blocks == SEGMENT_BLOCKS:
            self._close_segment()

    def _close_segment(self) -> None:
        """Add the open segment to the total."""
        segment, self._open, self._open_blocks = self._open, None, 0
        if segment is not None:
            self.add_segment(segment)

    def add_segment(self, segment: Self) -> None:
        """Add a segment of whole blocks; it must not be used afterwards."""
        if not self.weight:  # the first one: no copy, and no rounding
            self.n_rows, self.weight = segment.n_rows, segment.weight
            self.mean, self._parts = segment.mean, segment._parts
            self._adopt(segment._take_summary())
        else:
            self._add((segment.n_rows, segment.weight, segment._parts, segment._take_summary()))

    def _take_summary(self) -> Array:
        """Return the summary, which may be changed by whoever receives it."""
        return self._copy_summary()

    def _copied(self) -> Self:
        """Return an independent copy."""
        twin = copy.copy(self)
        twin._adopt(self._copy_summary())
        twin._open = None if self._open is None else self._open._copied()
        return twin

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
        if not other.weight and not other._held and other._open is None:
            return self
        self._flush()
        done = other.finished()
        self._add((done.n_rows, done.weight, done._parts, done._copy_summary()))
        return self

    def finished(self) -> Self:
        """Return an accumulator that includes the rows held back; more rows can be added to this one."""
        if not self._held and self._open is None:
            return self
        twin = self._copied()
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
        self._close_segment()

    def _take(self, block: Block, scratch: Scratch) -> None:
        self._collect(self._reduce(block, scratch))

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
        if self._open is not None:
            out |= {"segment": self._open.to_state()[1], "segment_blocks": self._open_blocks}
        return out

    def to_state(self) -> tuple[str, dict[str, Any]]:
        """Return the name and the plain values from which `from_state` rebuilds this object."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild from `to_state`."""
        raise NotImplementedError

    @classmethod
    def _restore(cls, state: dict[str, Any]) -> Self:
        self = cls(int(state["n_features"]))
        self.n_rows, self.weight = int(state["n_rows"]), float(state["weight"])
        self.mean, self.dtype = np.asarray(state["mean"]), np.dtype(str(state["dtype"]))
        self._parts = np.asarray(state["origin"]), np.asarray(state["offset"])
        if "held" in state:
            w = np.asarray(state["held_weights"])
            self._held = [Block(0, np.asarray(state["held"]), None if (w == 1).all() else w)]
        if "segment" in state:
            self._open, self._open_blocks = cls.from_state(state["segment"]), int(state["segment_blocks"])
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
