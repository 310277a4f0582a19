"""The fast Walsh–Hadamard transform, compiled when first imported and kept on disk. Each call is one thread's."""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import LOOP

KINDS = (nb.float32, nb.float64)
SIGNS = nb.types.Array(nb.int8, 1, "C", readonly=True)
PLACES = nb.types.Array(nb.int64, 1, "C", readonly=True)
_NEAR = 512  # lines of rows that stay in the first cache while all short strides pass over them
SIDE = 8  # rows that are transformed side by side


@nb.njit([nb.void(kind[::1], nb.int64, nb.int64) for kind in KINDS], **LOOP)
def _strides(a, first, last):  # type: ignore[no-untyped-def]
    """Do the butterflies of the strides first, 2 first, … below last, two at a time: half the passes over memory."""
    n, h = len(a), first
    while 2 * h < last:
        for i in range(0, n, 4 * h):
            p, q, r, s = a[i : i + h], a[i + h : i + 2 * h], a[i + 2 * h : i + 3 * h], a[i + 3 * h : i + 4 * h]
            for j in range(h):
                u, v, w, z = p[j] + q[j], p[j] - q[j], r[j] + s[j], r[j] - s[j]
                p[j], q[j], r[j], s[j] = u + w, v + z, u - w, v - z
        h *= 4
    if h < last:
        for i in range(0, n, 2 * h):
            p, q = a[i : i + h], a[i + h : i + 2 * h]
            for j in range(h):
                u, v = p[j], q[j]
                p[j], q[j] = u + v, u - v


@nb.njit([nb.void(kind[::1], nb.int64) for kind in KINDS], **LOOP)
def walsh_hadamard(a, width):  # type: ignore[no-untyped-def]
    """Replace A (n × width, flat) by H A, H_ij = (−1)^(number of bits that i and j share); n is a power of two."""
    near = min(len(a), _NEAR * width)
    for start in range(0, len(a), near):
        _strides(a[start : start + near], width, near)
    _strides(a, near, len(a))


@nb.njit(
    [
        nb.void(
            nb.types.Array(kind, 2, "C", readonly=True), SIGNS, PLACES, nb.int64, nb.float64, nb.float64, kind[:, ::1]
        )
        for kind in KINDS
    ],
    **LOOP,
)
def sampled_rows(X, signs, places, size, before, after, out):  # type: ignore[no-untyped-def]
    """Write after · H D (before · x) at some places for each row x, which zeros lengthen to a power of two.

    Rows are transformed a few at a time, side by side: also the shortest strides are then vector instructions.
    """
    m, d = X.shape
    room, small, last = np.empty(size * SIDE, X.dtype), X.dtype.type(before), X.dtype.type(after)
    for start in range(0, m, SIDE):
        count = min(SIDE, m - start)
        room[:] = 0.0
        for r in range(count):
            for j in range(d):
                room[j * SIDE + r] = X[start + r, j] * (small * signs[j])
        walsh_hadamard(room, SIDE)
        for r in range(count):
            for c in range(len(places)):
                out[start + r, c] = room[places[c] * SIDE + r] * last
