"""Sums of ZᵀZ over blocks, in float64 and in a fixed order, on all threads."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import check_allocation
from ..core.settings import report_progress

Array = Any
Piece = TypeVar("Piece")

TILED = 1024  # columns above which scatters are summed by tiles of the result instead of blocks of rows
_TILES = 8
_MIN_MAPPED_BYTES = 1 << 22  # wide blocks from this size on are mapped, so that freeing them returns the memory
# Rows of a float32 sum in `square`; longer sums lose digits, 13 eps at 8192 rows. Tiles and panels use longer sums, a
# third faster and still within 3 eps; LAPACK's own bound is 30·min(N, D)·eps.
_FLOAT32_SUM_ROWS = 512


class Scratch:
    """Buffers that each thread reuses for successive blocks, freed with this object."""

    def __init__(self) -> None:
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[Scratch], tuple[()]]:
        return Scratch, ()  # another process has buffers of its own

    def take(self, rows: int, columns: int, dtype: Any) -> np.ndarray[Any, Any]:
        """Return an uninitialised matrix, which reuses the memory of the thread's last one."""
        held = getattr(self._local, "buffer", None)
        if held is None or held.size < rows * columns or held.dtype != dtype:
            self._local.buffer = None  # free it before the next allocation
            held = self._local.buffer = _buffer(rows, columns, np.dtype(dtype))
        return held[: rows * columns].reshape(rows, columns)


def _buffer(rows: int, columns: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return an uninitialised vector for a block; for large, wide blocks one that is returned to the system when freed.

    In each thread the C library keeps freed memory blocks of less than 32 MB: with many threads, a pass over wide rows
    would also hold the memory of earlier passes. Tall blocks are allocated more often, and reuse that memory.
    """
    size = rows * columns
    if columns <= rows or size * dtype.itemsize < _MIN_MAPPED_BYTES:
        return np.empty(size, dtype=dtype)
    return np.frombuffer(mmap.mmap(-1, size * dtype.itemsize), dtype=dtype)


def subtract(rows: Array, shift: Array, scratch: Scratch, dtype: Any = None) -> Array:
    """Return rows − shift in a buffer (NumPy) or a new array (other libraries), as exact as its dtype can be."""
    kind = np.dtype(dtype or arrays.dtype_of(rows))
    exact = arrays.like(shift, rows, np.float64)
    near = arrays.cast(exact, kind)
    if arrays.is_foreign(rows):
        out = arrays.cast(rows, kind) - near
    else:
        out = np.subtract(rows, near, out=scratch.take(rows.shape[0], rows.shape[1], kind))
    lost = exact - near
    if bool((lost != 0).any()):  # x − near is exact for x close to it; subtract the rounding error of shift
        out -= arrays.cast(lost, kind)
    return out


def symmetric_sum(
    pieces: Iterable[Piece],
    prepare: Callable[[Piece, Scratch], Array],
    n: int,
    *,
    stage: str,
    total: int | None = None,
    over: Callable[[Callable[[Piece], Array]], Iterable[Array]] | None = None,
) -> Array:
    """Return Σ ZᵀZ over pieces, Z = prepare(piece) with n columns, summed in float64 in the order of the pieces.

    ``over`` applies a function to all pieces, in place of the thread pool.
    """
    scratch = Scratch()
    out: Array = None
    if n <= TILED:

        def product(piece: Piece) -> Array:
            Z = prepare(piece, scratch)
            with np.errstate(over="ignore", invalid="ignore"):
                return arrays.t(Z) @ Z

        found = thread_pool.run(product, pieces, stage=stage, total=total) if over is None else over(product)
        for P in found:
            out = square_zeros(n, P) if out is None else out
            out += P
    else:
        for done, piece in enumerate(pieces, start=1):
            Z = prepare(piece, scratch)
            out = square_zeros(n, Z) if out is None else out
            add_tiles(out, Z)
            report_progress(stage, done, total)
        if out is not None:
            mirror(out)
    return out


def square_zeros(n: int, reference: Array) -> Array:
    """Return an n × n matrix of zeros in the reference's library, if the memory limit allows it."""
    require_square(n)
    return arrays.like(np.zeros((n, n)), reference)


def require_square(n: int) -> None:
    """Raise if the memory limit does not allow an n × n matrix."""
    check_allocation(8 * n * n, f"the {n} × {n} scatter matrix", "reduce fewer columns")


def add_tiles(out: Array, Z: Array, coefficient: float = 0.0, delta: Array = None) -> None:
    """Add ZᵀZ + c·δδᵀ to the upper triangle of ``out``, tiles in parallel."""
    n = out.shape[0]
    edges = [n * i // _TILES for i in range(_TILES + 1)]

    def tile(j: int) -> None:
        a, b = edges[j], edges[j + 1]
        with np.errstate(over="ignore", invalid="ignore"):
            out[:b, a:b] += arrays.t(Z[:, :b]) @ Z[:, a:b]
            if delta is not None and coefficient:
                out[:b, a:b] += coefficient * delta[:b, None] * delta[None, a:b]

    if arrays.is_foreign(out):
        for j in range(_TILES):
            tile(j)
        return
    for _ in thread_pool.run(tile, reversed(range(_TILES))):
        pass


def mirror(S: Array) -> None:
    """Copy the upper triangle below the diagonal, by strips so that no second matrix is needed."""
    n = S.shape[0]
    for a in range(0, n, 512):
        b = min(n, a + 512)
        S[b:, a:b] = arrays.t(S[a:b, b:])
        corner = S[a:b, a:b]
        xp = arrays.namespace(S)
        S[a:b, a:b] = xp.triu(corner) + arrays.t(xp.triu(corner, k=1))


def square(Z: Array) -> Array:
    """Return ZᵀZ in float64; float32 products are summed in float64 after every few hundred rows."""
    step = _FLOAT32_SUM_ROWS if arrays.dtype_of(Z) == np.float32 else max(1, Z.shape[0])
    total: Array = None
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, Z.shape[0], step):
            P = arrays.cast(arrays.t(Z[start : start + step]) @ Z[start : start + step], np.float64)
            total = P if total is None else total + P
    return total
