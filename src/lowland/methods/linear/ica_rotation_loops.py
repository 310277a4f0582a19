"""The loops over sources behind independent component analysis, compiled when first imported and kept on disk.

Each goes once over estimates Y (k × n): it writes g(y) and adds up, for each source, g′(y), G(y) and g(y)². The
exponential is our own, so that loops are vectorised on any machine and what is installed changes no result.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from ...core.jit import FAST_SUMS

PLANE = nb.float64[:, ::1]
SIGNATURE = nb.void(PLANE, PLANE, PLANE)

_PER_LOG = 512  # factors of at most 2 whose product is still a number
_LOG2 = math.log(2.0)
_LOG2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: multiples of the first are exact
_LOG2_LOW = 1.90821492927058770002e-10
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / math.factorial(i) for i in range(2, 14))


@nb.njit(inline="always")
def exp(x):  # type: ignore[no-untyped-def]
    """Return eˣ for x ≤ 0: e^(n ln 2 + r) with |r| ≤ ½ ln 2, a Taylor polynomial of r and the bits of 2ⁿ."""
    x = max(x, -700.0)
    n = np.floor(x / _LOG2 + 0.5)
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    p = _C13
    p = p * r + _C12
    p = p * r + _C11
    p = p * r + _C10
    p = p * r + _C9
    p = p * r + _C8
    p = p * r + _C7
    p = p * r + _C6
    p = p * r + _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + 1.0
    p = p * r + 1.0
    return p * np.int64((np.int64(n) + 1023) << 52).view(np.float64)


@nb.njit(SIGNATURE, **FAST_SUMS)
def logcosh(Y, T, sums):  # type: ignore[no-untyped-def]
    """G = log cosh y, g = tanh y, g′ = 1 − tanh² y; with e = exp(−2|y|), G = |y| + log(1 + e) − log 2."""
    k, n = Y.shape
    for i in range(k):
        y, t = Y[i], T[i]
        value, power = 0.0, 0.0
        for a in range(0, n, _PER_LOG):
            product, size, square = 1.0, 0.0, 0.0
            for j in range(a, min(n, a + _PER_LOG)):
                m = abs(y[j])
                e = exp(-2.0 * m)
                v = (1.0 - e) / (1.0 + e)
                product *= 1.0 + e
                size += m
                square += v * v
                t[j] = np.copysign(v, y[j])
            value += size + np.log(product)  # one logarithm for many rows
            power += square
        sums[0, i] = n - power
        sums[1, i] = value - n * _LOG2
        sums[2, i] = power


@nb.njit(SIGNATURE, **FAST_SUMS)
def gauss(Y, T, sums):  # type: ignore[no-untyped-def]
    """G = −exp(−y²/2), g = y exp(−y²/2), g′ = (1 − y²) exp(−y²/2)."""
    k, n = Y.shape
    for i in range(k):
        y, t = Y[i], T[i]
        slope, value, power = 0.0, 0.0, 0.0
        for j in range(n):
            q = y[j] * y[j]
            e = exp(-0.5 * q)
            v = y[j] * e
            slope += (1.0 - q) * e
            value -= e
            power += v * v
            t[j] = v
        sums[0, i], sums[1, i], sums[2, i] = slope, value, power


@nb.njit(SIGNATURE, **FAST_SUMS)
def cube(Y, T, sums):  # type: ignore[no-untyped-def]
    """G = y⁴/4, g = y³, g′ = 3y²."""
    k, n = Y.shape
    for i in range(k):
        y, t = Y[i], T[i]
        slope, value, power = 0.0, 0.0, 0.0
        for j in range(n):
            q = y[j] * y[j]
            v = y[j] * q
            slope += 3.0 * q
            value += 0.25 * q * q
            power += v * v
            t[j] = v
        sums[0, i], sums[1, i], sums[2, i] = slope, value, power
