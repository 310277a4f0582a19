"""The loop over pairs of points behind Guttman's transform, compiled when first imported and kept on disk.

It is one thread's; what it adds up, and in which order, does not depend on how many threads there are. Points come as
k × n, so that the innermost loops run along memory.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import FAST_SUMS

TINY = 1e-200  # instead of a branch at distance 0: δ/d is then multiplied by a difference that is 0
FIXED = nb.types.Array(nb.float64, 2, "C", readonly=True)
LINE, PLANE = nb.float64[::1], nb.float64[:, ::1]


@nb.njit(inline="always")
def spread(X, w, out, i):  # type: ignore[no-untyped-def]
    """Add Σ_j w_j (x_i − x_j) to row i of ``out``, and each term with its other sign to row j > i."""
    for c in range(X.shape[0]):
        x, Y, to, total = X[c, i], X[c, i + 1 :], out[c, i + 1 :], 0.0
        for j in range(len(w)):
            total += w[j] * (x - Y[j])
        for j in range(len(w)):
            to[j] -= w[j] * (x - Y[j])
        out[c, i] += total


_SIGNATURE = nb.void(FIXED, FIXED, FIXED, nb.boolean, PLANE, PLANE, LINE, nb.int64, nb.int64)


@nb.njit(_SIGNATURE, **FAST_SUMS)
def guttman(X, D, W, weighted, B, V, sums, start, stop):  # type: ignore[no-untyped-def]
    """Go over the pairs (i, j > i) of the rows i from start to stop: add up B(X)X in B and VX in V.

    ``sums`` receives Σw(d − δ)², Σwd(δ − d), Σwd². W and V are looked at only if ``weighted``.
    """
    k, n = X.shape
    room = np.empty(n)
    stress, slope, size = 0.0, 0.0, 0.0
    for i in range(start, stop):
        m = n - i - 1
        ratio, delta = room[:m], D[i, i + 1 :]
        ratio[:] = 0.0
        for c in range(k):
            x, Y = X[c, i], X[c, i + 1 :]
            for j in range(m):
                ratio[j] += (x - Y[j]) ** 2
        for j in range(m):
            ratio[j] = np.sqrt(ratio[j])
        if weighted:
            weight = W[i, i + 1 :]
            for j in range(m):
                e = delta[j] - ratio[j]
                stress += weight[j] * e * e
                slope += weight[j] * ratio[j] * e
                size += weight[j] * ratio[j] * ratio[j]
            for j in range(m):
                ratio[j] = weight[j] * delta[j] / (ratio[j] + TINY)
            spread(X, weight, V, i)
        else:
            for j in range(m):
                e = delta[j] - ratio[j]
                stress += e * e
                slope += ratio[j] * e
                size += ratio[j] * ratio[j]
            for j in range(m):
                ratio[j] = delta[j] / (ratio[j] + TINY)
        spread(X, ratio, B, i)
    sums[0], sums[1], sums[2] = stress, slope, size
