"""The loop behind `residuals`, compiled when first imported and kept on disk."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

VALUES, TABLE = nb.float64[::1], nb.float64[:, ::1]


@nb.njit(nb.float64(VALUES, VALUES, nb.int64), **LOOP)
def _fall(values, mass, i):  # type: ignore[no-untyped-def]
    """Return by how much eigenvalue i falls: the root x of 1 − Σ mass/(values − values[i] + x) between it and the next.

    The poles at both ends are kept and the rest is taken to be constant, which leaves a quadratic (Li 1993); near the
    root Newton's steps follow. Where a step leaves the interval, that is halved.
    """
    top, count = values[i], len(values)
    width = top - values[i + 1] if i + 1 < count else top
    p, q = mass[i], mass[i + 1] if i + 1 < count else 0.0
    if width <= 1e-14 * top or p <= 1e-280 * top:  # of two equal ones, the upper stays
        return 0.0
    low, high = 0.0, width
    x = min(0.5 * width, 0.999 * p)
    for _ in range(100):
        rest, growth = 1.0, 0.0
        for j in range(count):
            if j != i and j != i + 1:
                part = 1 / (values[j] - top + x)
                rest -= mass[j] * part
                growth += mass[j] * part * part
        if rest - p / x + q / (width - x) > 0:
            high = x
        else:
            low = x
        B = rest * width + p + q
        square = B * B - 4 * rest * p * width
        new = low
        if square >= 0:
            new = 2 * p * width / (B + np.sqrt(square)) if B >= 0 else (B - np.sqrt(square)) / (2 * rest)
        if abs(new - x) <= 1e-2 * x:
            error = x * rest - p + q * x / (width - x)
            new = x - error / (rest + x * growth + q * width / (width - x) ** 2)
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - x) <= 4e-16 * x or high - low <= 4e-16 * high:
            return new
        x = new
    return x


@nb.njit(nb.void(VALUES, TABLE, nb.int64, VALUES, VALUES), **LOOP)
def left_out(values, masses, k, off, fallen):  # type: ignore[no-untyped-def]
    """Take each row z out of the scatter diag(values), of which ``masses`` holds z², and judge it by what is left.

    ``off`` receives what of ‖z‖² lies off the first k axes then, ``fallen`` by how much their eigenvalues fall in sum.
    The axis with the new eigenvalue μ is z/(values − μ) over its length, along which the row has the inverse of that.
    """
    count = len(values)
    left = np.empty(count)
    for t in range(len(masses)):
        mass = masses[t]
        left[:] = 1.0
        fallen[t] = 0.0
        for i in range(k):
            x = _fall(values, mass, i)
            if x > 0:
                slope = 0.0
                for j in range(count):
                    d = values[j] - values[i] + x
                    slope += mass[j] / (d * d)
                for j in range(count):
                    left[j] -= 1 / ((values[j] - values[i] + x) * slope)
                fallen[t] += x
        off[t] = 0.0
        for j in range(count):
            off[t] += mass[j] * left[j] * left[j]
