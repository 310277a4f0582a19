"""Compiled loops of `repeated`."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

VALUES, NUMBERS = nb.float64[::1], nb.int64[::1]


@nb.njit([nb.void(T[:, ::1], nb.int64, nb.float64, VALUES) for T in (nb.float32, nb.float64)], **LOOP)
def distances(X, a, floor, out):  # type: ignore[no-untyped-def]
    """Write the Euclidean distances of point a to all points (columns); distances up to ``floor`` become 0.

    Squares are summed in the order of the coordinates, as elsewhere; the loop over points is vectorised.
    """
    out[:] = 0.0
    for c in range(X.shape[0]):
        line, own = X[c], np.float64(X[c, a])
        for i in range(len(out)):
            gap = own - np.float64(line[i])
            out[i] += gap * gap
    for i in range(len(out)):
        d = np.sqrt(out[i])
        out[i] = 0.0 if d <= floor else d


@nb.njit([nb.void(VALUES, NUMBERS, VALUES, NUMBERS, NUMBERS)], **LOOP)
def weigh(d, weights, limits, less, equal):  # type: ignore[no-untyped-def]
    """Sum the weights of points nearer than each of the ascending limits, and of points at that distance."""
    last = limits[-1]
    for i in range(len(d)):
        if d[i] <= last and weights[i] > 0:
            p = np.searchsorted(limits, d[i])
            if limits[p] == d[i]:
                equal[p] += weights[i]
            else:
                less[p] += weights[i]
    before = 0
    for p in range(len(limits)):
        before += less[p]
        less[p] = before
        before += equal[p]
