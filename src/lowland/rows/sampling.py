"""Uniform samples of rows, drawn in one pass.

Each row has a key, a hash of the seed and of its number, and the rows with the smallest keys are the sample. So it does
not depend on how rows are cut into blocks, on the order in which blocks arrive, or on whether the number of rows is
known before; and a larger sample with the same seed contains a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..data.scans.table_scan import TableScan
from .block import Block
from .object_rows import on_host
from .row_source import RowSource
from .scan_rows import ScanRows

Array = Any

SCAN_ROWS = 20_000  # of a scan, on which maps are judged and dimensions estimated
_NUMBERS_AT_ONCE = 1 << 20
_LAST = np.uint64(np.iinfo(np.uint64).max)


def keys_of(numbers: Array, seed: int) -> Array:
    """Return the key of each row: 64 bits, different for different rows (splitmix64; Steele, Lea, Flood 2014).

    >>> keys_of(np.arange(2), 0).tolist() == keys_of(np.arange(2), 0).tolist()
    True
    """
    gamma, first, second = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    with np.errstate(over="ignore"):
        z = np.asarray(numbers, dtype=np.uint64) * gamma + _scrambled(np.uint64(seed & (2**64 - 1)), first, second)
        return _scrambled(z + gamma, first, second)


def _scrambled(z: Any, first: np.uint64, second: np.uint64) -> Any:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * first
        z = (z ^ (z >> np.uint64(27))) * second
    return z ^ (z >> np.uint64(31))


def limit_of(n_rows: int, count: int, seed: int) -> np.uint64:
    """Return the largest key in a sample of ``count`` of ``n_rows`` rows."""
    if count >= n_rows:
        return _LAST
    smallest = np.empty(0, dtype=np.uint64)
    for start in range(0, n_rows, _NUMBERS_AT_ONCE):
        keys = keys_of(np.arange(start, min(n_rows, start + _NUMBERS_AT_ONCE)), seed)
        smallest = np.concatenate([smallest, keys if len(smallest) < count else keys[keys < smallest.max()]])
        if len(smallest) > count:
            smallest = np.partition(smallest, count - 1)[:count]
    return np.uint64(smallest.max())


def numbers_of(n_rows: int, count: int, seed: int = 0) -> Array:
    """Return the numbers, ascending, of the rows in a sample of ``count`` of ``n_rows`` rows.

    >>> from lowland.rows.row_source import as_rows
    >>> numbers_of(50, 5).tolist() == draw(as_rows(np.zeros((50, 1))), 5).numbers.tolist()
    True
    """
    limit = limit_of(n_rows, count, seed)
    found = [
        start + np.flatnonzero(keys_of(np.arange(start, min(n_rows, start + _NUMBERS_AT_ONCE)), seed) <= limit)
        for start in range(0, n_rows, _NUMBERS_AT_ONCE)
    ]
    return np.concatenate(found)


@dataclass(frozen=True)
class Sample:
    """Rows of a table: their numbers, ascending, the rows, the keys, and how many rows the table has."""

    numbers: Array
    rows: Any
    keys: Array
    n_rows: int

    @property
    def sentence(self) -> str:
        """What was drawn, in words; empty if all rows were."""
        n = len(self.numbers)
        return "" if n == self.n_rows else f"measured on a sample of {n:,} of the {self.n_rows:,} rows"

    def split(self, count: int) -> tuple[Any, Any]:
        """Return the rows with the ``count`` smallest keys and the other ones, both in the order of the table.

        >>> one, other = Sample(np.arange(3), np.array([[1.0], [2.0], [3.0]]), np.array([9, 1, 2]), 3).split(2)
        >>> one.ravel().tolist(), other.ravel().tolist()
        ([2.0, 3.0], [1.0])
        """
        order = np.argsort(self.keys)
        return chosen(self.rows, np.sort(order[:count])), chosen(self.rows, np.sort(order[count:]))


@dataclass
class Reservoir:
    """Collects the rows with the smallest keys from pieces of a table, in any order."""

    count: int
    seed: int
    limit: np.uint64 = _LAST  # no row with a larger key is in the sample
    n_rows: int = 0
    _keys: list[Array] = field(default_factory=list)
    _numbers: list[Array] = field(default_factory=list)
    _pieces: list[Any] = field(default_factory=list)
    _held: int = 0

    def candidates(self, start: int, n: int) -> tuple[Array, Array]:
        """Return the keys and places, in a piece of n rows from ``start`` on, of rows that may be in the sample."""
        keys = keys_of(np.arange(start, start + n), self.seed)
        places = np.flatnonzero(keys <= self.limit)
        return keys[places], places

    def add(self, start: int, n: int, keys: Array, places: Array, rows: Any) -> None:
        """Add a piece: its rows at these places."""
        self.n_rows = max(self.n_rows, start + n)
        if not len(places):
            return
        self._keys.append(keys)
        self._numbers.append(start + places)
        self._pieces.append(rows)
        self._held += len(places)
        if self._held > 2 * self.count + 4096:
            self._shrink()

    def _shrink(self) -> None:
        keys, numbers, rows = np.concatenate(self._keys), np.concatenate(self._numbers), joined(self._pieces)
        if len(keys) > self.count:
            keep = np.sort(np.argpartition(keys, self.count - 1)[: self.count])
            keys, numbers, rows = keys[keep], numbers[keep], chosen(rows, keep)
            self.limit = np.uint64(keys.max())
        self._keys, self._numbers, self._pieces, self._held = [keys], [numbers], [rows], len(keys)

    def state(self) -> dict[str, Any]:
        """Return the rows drawn so far as plain values, for an interrupted pass."""
        if not self.n_rows:
            return {"n_rows": 0}
        found = self.sample()
        return {"n_rows": found.n_rows, "numbers": found.numbers, "keys": found.keys, "rows": found.rows}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from such a state."""
        if state["n_rows"]:
            keys, numbers, rows = (np.asarray(state[name]) for name in ("keys", "numbers", "rows"))
            self.add(0, int(state["n_rows"]), keys, numbers, rows)

    def sample(self) -> Sample:
        """Return the sample of the pieces so far."""
        self._shrink()
        order = np.argsort(self._numbers[0])
        rows = self._pieces[0]
        in_order = bool((np.diff(order) == 1).all())
        return Sample(
            self._numbers[0][order], rows if in_order else chosen(rows, order), self._keys[0][order], self.n_rows
        )


def draw(source: RowSource, count: int, seed: int = 0) -> Sample:
    """Return ``count`` rows drawn uniformly without replacement, or all if there are fewer; every row is checked.

    >>> from lowland.rows.row_source import as_rows
    >>> draw(as_rows(np.arange(12.0).reshape(6, 2)), 9).numbers.tolist()
    [0, 1, 2, 3, 4, 5]
    """
    reservoir = reservoir_of(source.n_rows, count, seed)

    def work(block: Block) -> tuple[int, int, Array, Array, Any]:
        source.check(block)
        keys, places = reservoir.candidates(block.start, block.rows.shape[0])
        return block.start, block.rows.shape[0], keys, places, chosen(on_host(block.rows), places)

    for part in source.map(work, stage="sample"):
        reservoir.add(*part)
    return reservoir.sample()


def draw_pieces(pieces: Iterable[Any], count: int, seed: int = 0, n_rows: int | None = None) -> Sample:
    """Return a sample of a table that is given as consecutive pieces: data frames or arrays."""
    reservoir, start = reservoir_of(n_rows, count, seed), 0
    for piece in pieces:
        n = piece.shape[0]
        keys, places = reservoir.candidates(start, n)
        reservoir.add(start, n, keys, places, chosen(piece, places))
        start += n
    return reservoir.sample()


def sample_of_scan(X: Any, count: int = SCAN_ROWS, seed: int = 0) -> Sample | None:
    """Return a sample of a table that is read in blocks (all rows if there are few), or None for another table."""
    if isinstance(X, TableScan):
        X = ScanRows(X)
    return draw(X, count, seed) if isinstance(X, ScanRows) else None


def reservoir_of(n_rows: int | None, count: int, seed: int) -> Reservoir:
    """Return a reservoir; of a known number of rows only those in the sample are collected."""
    return Reservoir(count, seed, _LAST if n_rows is None else limit_of(n_rows, count, seed))


def chosen(rows: Any, places: Array) -> Any:
    """Return a copy of some rows of an array, sparse matrix or data frame."""
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def joined(pieces: list[Any]) -> Any:
    """Return pieces of rows as one."""
    if len(pieces) == 1:
        return pieces[0]
    first = pieces[0]
    if sp.issparse(first):
        return sp.vstack(pieces, format="csr")
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat(pieces)
    if hasattr(first, "columns"):
        import polars as pl

        return pl.concat(pieces, how="vertical_relaxed")  # whole numbers may be floats in some
    return arrays.namespace(*pieces).concat(pieces, axis=0) if first.dtype != object else np.concatenate(pieces)


def cut(pieces: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield pieces of any length as pieces of ``size`` rows; the last may be shorter.

    >>> [piece.tolist() for piece in cut(iter([np.arange(3), np.arange(3, 5)]), 2)]
    [[0, 1], [2, 3], [4]]
    """
    waiting: list[Any] = []
    held = 0
    for piece in pieces:
        offset, n = 0, piece.shape[0]
        while offset < n:
            part = piece[offset : min(n, offset + size - held)]
            waiting.append(part)
            held, offset = held + part.shape[0], offset + part.shape[0]
            if held == size:
                yield joined(waiting)
                waiting, held = [], 0
    if waiting:
        yield joined(waiting)
