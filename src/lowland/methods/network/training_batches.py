"""Rows as the training of a network takes them: held-out rows, windows of the others, batches in a new order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import arrays
from ...core.settings import report_progress
from ...rows.block import block_rows
from ...rows.row_source import RowSource

Array = Any
Tensor = Any
Tell = Callable[[], object]

WINDOW = 1 << 26  # entries held at once for training, 268 MB; a block of rows where it has more
HELD = 50_000  # held-out rows at most: they tell the error to half a percent


@dataclass(frozen=True)
class Split:
    """Which rows are held out: drawn within each block of rows, so that no list of all rows is needed."""

    n: int
    share: float
    key: int

    def count(self, stop: int) -> int:
        """Return how many of the first ``stop`` rows are held out."""
        return int(self.share * stop + 0.5)

    def held(self, start: int, stop: int) -> Array:
        """Tell for each row of a block whether it is held out."""
        out = np.zeros(stop - start, dtype=bool)
        chosen = self.count(stop) - self.count(start)
        if chosen:
            out[np.random.default_rng([self.key, start]).permutation(stop - start)[:chosen]] = True
        return out


class Samples:
    """Rows as training takes them: (x − mean)/scale in float32, on the device, without those held out.

    A window of rows is held and shuffled. All rows stay in it if they fit; else an array is shuffled whole and goes
    through it window by window, and a stream is read anew for each epoch and shuffled within windows. What reads rows
    calls ``tell`` after each block, so that a reading can be followed and cancelled.
    """

    def __init__(self, rows: RowSource, split: Split, mean: Array, scale: Array, torch: Any, device: str) -> None:
        self.rows, self.split, self.mean, self.scale = rows, split, mean, scale
        self.torch, self.device = torch, device
        self.n = split.n - split.count(split.n)
        windows = -(-self.n // window_rows(rows.n_features))
        self.sizes = [self.n * (i + 1) // windows - self.n * i // windows for i in range(windows)]
        self._kept: Tensor = None
        self._held: Tensor = None
        self._places: Array = None

    def steps(self, batch: int) -> int:
        """Return the steps of an epoch."""
        return sum(_parts(size, batch) for size in self.sizes)

    def batches(self, batch: int, rng: np.random.Generator, tell: Tell) -> Iterator[Tensor]:
        """Yield the rows of one epoch in a new order, in batches of about the same size, ``batch`` rows at most."""
        for window in self._shuffled(rng, tell):
            order = self.torch.from_numpy(rng.permutation(len(window))).to(self.device)
            for part in self.torch.tensor_split(order, _parts(len(window), batch)):
                yield window[part]

    def ordered(self, tell: Tell) -> Iterator[Tensor]:
        """Yield windows of the rows in their own order."""
        if self._kept is not None:
            yield self._kept
            return
        for window in self._filled((piece for piece, held in self._pieces() if not held), self.sizes, tell):
            if len(self.sizes) == 1:
                self._kept = window
            yield window

    def held(self) -> Tensor:
        """Return the rows held out."""
        if self._held is None:
            count = self.split.count(self.split.n)
            pieces, tell = (piece for piece, held in self._pieces() if held), self.counted("held-out rows")
            self._held = next(self._filled(pieces, [count], tell)) if count else self._empty(0)
        return self._held

    def counted(self, stage: str) -> Tell:
        """Return a function that reports one more block each time it is called; the callback may cancel."""
        number, total = itertools.count(1), self.rows.block_count()
        return lambda: report_progress(stage, next(number), total)

    def _shuffled(self, rng: np.random.Generator, tell: Tell) -> Iterator[Tensor]:
        """Yield the windows of an epoch."""
        if len(self.sizes) == 1 or self.rows.array is None:
            yield from self.ordered(tell)
            return
        if self._places is None:
            size, n = block_rows(self.rows.n_features), self.split.n
            masks = (self.split.held(a, min(n, a + size)) for a in range(0, n, size))
            self._places = np.concatenate([np.flatnonzero(~mask) + i * size for i, mask in enumerate(masks)])
        rng.shuffle(self._places)
        step = block_rows(self.rows.n_features)
        gathered = (self.rows.array[self._places[a : a + step]] for a in range(0, self.n, step))
        yield from self._filled(map(self._standard, gathered), self.sizes, tell)

    def _pieces(self) -> Iterator[tuple[Array, bool]]:
        """Yield the rows of each block that are for training, and those held out."""
        for block in self.rows.blocks():
            self.rows.check(block)
            mask = self.split.held(block.start, block.start + block.rows.shape[0])
            Z = self._standard(block.rows)
            yield Z[~mask], False
            yield Z[mask], True

    def _standard(self, rows: Array) -> Array:
        Z = arrays.to_numpy(rows).astype(np.float64)
        Z -= self.mean
        Z /= self.scale
        with np.errstate(over="ignore"):
            return Z.astype(np.float32)

    def _filled(self, pieces: Iterator[Array], sizes: list[int], tell: Tell) -> Iterator[Tensor]:
        """Lay pieces into windows of these sizes, one after another in the same memory."""
        count, filled = 0, 0
        memory = self._empty(max(sizes))
        for piece in pieces:
            tell()
            start = 0
            while start < len(piece):
                part = piece[start : start + sizes[count] - filled]
                memory[filled : filled + len(part)] = self.torch.from_numpy(part)
                start, filled = start + len(part), filled + len(part)
                if filled == sizes[count]:
                    yield memory[:filled]
                    count, filled = count + 1, 0
                    if count == len(sizes):
                        return

    def _empty(self, size: int) -> Tensor:
        return self.torch.empty((size, self.rows.n_features), dtype=self.torch.float32, device=self.device)


def window_rows(n_features: int) -> int:
    """Return how many rows are held at once; it depends on the width alone, so the order of rows does too.

    >>> [window_rows(d) for d in (50, 1000, 2**18, 2**20)]
    [1342177, 67108, 256, 64]
    """
    return max(block_rows(n_features), WINDOW // max(1, n_features))


def _parts(size: int, batch: int) -> int:
    """Return the batches of a window: none has more rows than was asked for."""
    return -(-size // batch)
