"""Rows times a matrix with few signs in each column, compiled when first imported and kept on disk.

Each call is one thread's. Sums run over the columns in their order, so a row's bits depend neither on its neighbours
nor on its form.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import LOOP

KINDS = (nb.float32, nb.float64)
PLACES = nb.types.Array(nb.int32, 2, "C", readonly=True)
SIGNS = nb.types.Array(nb.int8, 2, "C", readonly=True)
SIDE = 64  # rows that are added side by side: one vector loop for each entry of the map
STRIP = 16  # their columns that are turned at a time: a line of the cache
FEW = 8  # rows that are quicker one by one


@nb.njit(
    [nb.void(kind[::1], kind, PLACES, SIGNS, nb.int64) for kind in KINDS],
    **LOOP,
)
def _add(y, x, places, signs, j):  # type: ignore[no-untyped-def]
    """Add column j's entries, times x, to one row y of the result."""
    for e in range(places.shape[1]):
        y[places[j, e]] += x if signs[j, e] > 0 else -x


@nb.njit(
    [
        nb.void(nb.types.Array(kind, 2, "C", readonly=True), PLACES, SIGNS, nb.float64, nb.float64, kind[:, ::1])
        for kind in KINDS
    ],
    **LOOP,
)
def scattered_rows(X, places, signs, before, after, out):  # type: ignore[no-untyped-def]
    """Write after · Σ_j ±(before · x_j) at the places of each column j, for each row x."""
    m, d = X.shape
    k, c = out.shape[1], places.shape[1]
    wide, small, last = np.uint64(SIDE), X.dtype.type(before), X.dtype.type(after)
    room, strip = np.empty(k * SIDE, X.dtype), np.zeros(STRIP * SIDE, X.dtype)
    start = 0
    while m - start > FEW:
        count = min(SIDE, m - start)
        room[:] = 0.0
        for a in range(0, d, STRIP):
            width = min(STRIP, d - a)
            for r in range(count):
                for j in range(width):
                    strip[j * SIDE + r] = X[start + r, a + j] * small
            for j in range(width):
                q = np.uint64(j * SIDE)
                for e in range(c):
                    p = np.uint64(places[a + j, e] * SIDE)
                    s = X.dtype.type(signs[a + j, e])
                    for r in range(wide):
                        room[p + r] += s * strip[q + r]
        for r in range(count):
            for i in range(k):
                out[start + r, i] = room[i * SIDE + r] * last
        start += count
    for i in range(start, m):
        out[i] = 0.0
        for j in range(d):
            _add(out[i], X[i, j] * small, places, signs, j)
        out[i] *= last


@nb.njit(
    [
        nb.void(
            nb.types.Array(kind, 1, "C", readonly=True),
            nb.types.Array(index, 1, "C", readonly=True),
            nb.types.Array(index, 1, "C", readonly=True),
            PLACES,
            SIGNS,
            nb.float64,
            nb.float64,
            kind[:, ::1],
        )
        for kind in KINDS
        for index in (nb.int32, nb.int64)
    ],
    **LOOP,
)
def scattered_sparse(values, columns, starts, places, signs, before, after, out):  # type: ignore[no-untyped-def]
    """Do the same for sparse rows: values and columns of row i lie between starts[i] and starts[i + 1]."""
    small, last = values.dtype.type(before), values.dtype.type(after)
    for i in range(len(starts) - 1):
        out[i] = 0.0
        for t in range(starts[i], starts[i + 1]):
            _add(out[i], values[t] * small, places, signs, columns[t])
        out[i] *= last
