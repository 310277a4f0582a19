"""The loop of `residuals`, compiled when first imported and cached on disk."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

VALUES, TABLE = nb.float64[::1], nb.float64[:, ::1]


@nb.njit(nb.float64(VALUES, VALUES, nb.int64), **LOOP)
def _fall(values, mass, i):  # type: ignore[no-untyped-def]
    """Return the decrease of eigenvalue i: the root x of 1 − Σ mass/(values − values[i] + x) up to the next one.

    Each step solves a quadratic with the poles at both ends and the rest constant (Li 1993), near the root Newton's
    iteration. If a step leaves the interval, the interval is bisected.
    """
    top, count = values[i], len(values)
    width = top - values[i + 1] if i + 1 < count else top
    p, q = mass[i], mass[i + 1] if i + 1 < count else 0.0
    if width <= 1e-14 * top or p <= 1e-280 * top:  # of two equal eigenvalues, the upper one does not change
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
    """Remove each row z from the scatter diag(values) and compute its residual; ``masses`` contains z².

    ``off`` receives the part of ‖z‖² outside the first k new axes, ``fallen`` the total decrease of their eigenvalues.
    The axis of the new eigenvalue μ is z/(values − μ), normalised; the row's coordinate on it is the inverse norm.
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
