"""Rounding thresholds for ranks and for constant columns."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def rounding_floor(n: int, largest: float, norm: float, eps: float) -> float:
    """Return the size below which an eigenvalue of an N × N symmetric matrix may be only rounding.

    Rounding moves an eigenvalue by N·eps·λ₁ in the solve, and by ‖E‖ ≤ eps·‖A‖ if the entries of A were rounded.
    ``largest`` is λ₁, ``norm`` ‖A‖ (Frobenius) before any mean is subtracted, and ``eps`` the precision of the entries.
    The last digit of the entries is rarely exact, hence 4 eps.

    >>> rounding_floor(10, 1.0, 2.0, 1e-7)
    8e-07
    """
    return max(n * float(np.finfo(np.float64).eps) * largest, 4 * eps * norm)


def varies(variance: Array, mean: Array) -> Array:
    """Return which columns vary; rounding of a mean m gives a constant column a variance of up to (4 eps·m)².

    >>> varies(np.array([1e-30, 1e-30]), np.array([0.0, 3.0])).tolist()
    [True, False]
    """
    with np.errstate(over="ignore"):  # if the square of the mean overflows, nothing varies
        return variance > (4 * np.finfo(np.float64).eps * np.abs(mean)) ** 2
