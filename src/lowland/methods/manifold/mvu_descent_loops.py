"""The loops over the rods of an unfolding, compiled when first imported and kept on disk.

Each goes over some points and all rods at them, so every rod is met from both ends and no two threads write to one
place. Points come as n × r.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import FAST_SUMS

_STARTS, _ENDS = nb.int64[::1], nb.int32[::1]
_LINE, _PLANE = nb.float64[::1], nb.float64[:, ::1]


@nb.njit(
    nb.void(_STARTS, _ENDS, _LINE, _LINE, nb.float64, _PLANE, _PLANE, _LINE, nb.int64, nb.int64),
    **FAST_SUMS,
)
def pull(indptr, indices, squares, tension, rho, Y, G, sums, start, stop):  # type: ignore[no-untyped-def]
    """Write the gradient (L_w − I)Y with w = t + ρc into G; ``sums`` receives Σ|y|² and Σw²."""
    r = Y.shape[1]
    size, force = 0.0, 0.0
    for i in range(start, stop):
        for c in range(r):
            size += Y[i, c] * Y[i, c]
        for c in range(r):
            G[i, c] = -Y[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            length = 0.0
            for c in range(r):
                length += (Y[i, c] - Y[j, c]) ** 2
            w = tension[e] + rho * (length - squares[e])
            force += w * w
            for c in range(r):
                G[i, c] += w * (Y[i, c] - Y[j, c])
    sums[0], sums[1] = size, force


@nb.njit(
    nb.void(_STARTS, _ENDS, _LINE, _LINE, nb.float64, _PLANE, _PLANE, _LINE, nb.int64, nb.int64),
    **FAST_SUMS,
)
def along(indptr, indices, squares, tension, rho, Y, D, sums, start, stop):  # type: ignore[no-untyped-def]
    """Add up what f(Y + hD) is made of: Σyᵀd, Σ|d|², and the powers of h in Σw(h)², w(h) = w + ah + bh²."""
    r = Y.shape[1]
    first, second, third, fourth, product, size = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start, stop):
        for c in range(r):
            product += Y[i, c] * D[i, c]
            size += D[i, c] * D[i, c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            length, a, b = 0.0, 0.0, 0.0
            for c in range(r):
                z, d = Y[i, c] - Y[j, c], D[i, c] - D[j, c]
                length += z * z
                a += z * d
                b += d * d
            w = tension[e] + rho * (length - squares[e])
            a *= 2 * rho
            b *= rho
            first += 2 * w * a
            second += a * a + 2 * w * b
            third += 2 * a * b
            fourth += b * b
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = product, size, first, second, third, fourth


@nb.njit(
    nb.void(_STARTS, _ENDS, _LINE, _LINE, nb.float64, _PLANE, _LINE, nb.int64, nb.int64),
    **FAST_SUMS,
)
def tighten(indptr, indices, squares, tension, rho, Y, sums, start, stop):  # type: ignore[no-untyped-def]
    """Add ρc to the tensions; ``sums`` receives Σ(|y_i − y_j| − d)², Σd² and Σtd² with the new tensions."""
    error, size, work = 0.0, 0.0, 0.0
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            length = 0.0
            for c in range(Y.shape[1]):
                length += (Y[i, c] - Y[indices[e], c]) ** 2
            tension[e] += rho * (length - squares[e])
            error += (np.sqrt(length) - np.sqrt(squares[e])) ** 2
            size += squares[e]
            work += tension[e] * squares[e]
    sums[0], sums[1], sums[2] = error, size, work


@nb.njit(nb.void(_STARTS, _ENDS, _LINE, _PLANE, _LINE, _LINE, nb.int64, nb.int64), **FAST_SUMS)
def misses(indptr, indices, squares, Y, errors, sums, start, stop):  # type: ignore[no-untyped-def]
    """Write ||y_i − y_j| − d|/d of each rod into ``errors``; ``sums`` receives their sum."""
    total = 0.0
    for i in range(start, stop):
        for e in range(indptr[i], indptr[i + 1]):
            length = 0.0
            for c in range(Y.shape[1]):
                length += (Y[i, c] - Y[indices[e], c]) ** 2
            errors[e] = abs(np.sqrt(length / squares[e]) - 1)
            total += errors[e]
    sums[0] = total
