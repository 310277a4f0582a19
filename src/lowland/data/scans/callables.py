"""Scans of functions that return iterators of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...core.errors import DataError
from .array_scan import ArrayScan
from .table_scan import Array, ScanOptions, Span


class CallableScan(ArrayScan):
    """The arrays of ``make()``, one below another; every pass calls it again."""

    def __init__(self, make: Callable[[], Iterable[Any]], options: ScanOptions) -> None:
        self.make = make
        name = options.given.get("name") or getattr(make, "__name__", type(make).__name__)
        self.source = f"the blocks of {name}"
        found = next(self._blocks(), None)
        if found is None:
            raise DataError(f"{self.source} have no rows; a table needs at least one row")
        super().__init__(self.source, options.given.get("n_rows"), found.shape[1], found.dtype, options)
        self._first = hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest()

    def _blocks(self) -> Iterator[Array]:
        made = self.make()
        if isinstance(made, np.ndarray) or not isinstance(made, Iterable):
            raise DataError(f"{self.source}: the function must return an iterator of 2-D arrays")
        for number, block in enumerate(made):
            array = np.asarray(block)
            place = f"{self.source}, block {number}"
            if array.ndim != 2 or array.dtype.kind not in "fiub":
                raise DataError(
                    f"{place}: shape {array.shape}, dtype {array.dtype}: blocks must be 2-D arrays of numbers"
                )
            if array.shape[1] == 0:
                raise DataError(f"{place} has no columns")
            if len(array):
                yield array

    def _read(self, start: int, rows: int) -> Iterator[Array]:
        for block in self._blocks():
            if block.shape[1] != self.width:
                raise DataError(f"{self.source}: a block has {block.shape[1]} columns, the first had {self.width}")
            if np.result_type(block.dtype, self.dtype) != self.dtype and block.dtype.kind == "f":
                raise DataError(f"{self.source}: a block is {block.dtype}, the first was {self.kind}: use one dtype")
            if start < len(block):
                yield np.array(block[start:])  # a copy: the function may use its buffer again
            start = max(0, start - len(block))

    def spans(self, rows: int) -> list[Span]:
        """Refuse: a function yields its blocks in their order."""
        raise DataError(
            f"{self.source} can be read only from the first one on, so workers cannot share them; write them to a "
            "file, such as .parquet or .npy, or compute them in a dask array"
        )

    def unrecognised(self) -> str:
        """Return why the fingerprint may stay the same: only the first block is in it."""
        return (
            "a function may return other blocks in another run; write them to a file, such as .npy or .parquet, and "
            "scan that"
        )

    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), "source": self.source, "first": self._first}


def scan_blocks(make: Callable[[], Iterable[Any]], options: ScanOptions) -> CallableScan:
    """Open the blocks that a function returns."""
    return CallableScan(make, options)
