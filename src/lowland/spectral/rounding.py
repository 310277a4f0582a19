"""What may be nothing but rounding: the one rule for ranks, and the one for columns that do not vary."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def rounding_floor(n: int, largest: float, norm: float, eps: float) -> float:
    """Return the size below which an eigenvalue of an N × N symmetric matrix may be rounding alone.

    Rounding moves an eigenvalue by N·eps·λ₁ in the solve, and by ‖E‖ ≤ eps·‖A‖ where the entries of A were rounded.
    ``largest`` is λ₁, ``norm`` ‖A‖ (Frobenius) before any mean is taken off, and ``eps`` the precision of the entries.
    These are seldom right to the last digit: 4 eps.

    >>> rounding_floor(10, 1.0, 2.0, 1e-7)
    8e-07
    """
    return max(n * float(np.finfo(np.float64).eps) * largest, 4 * eps * norm)


def varies(variance: Array, mean: Array) -> Array:
    """Tell which columns vary: the rounding of a mean m leaves a constant one a variance of up to (4 eps·m)².

    >>> varies(np.array([1e-30, 1e-30]), np.array([0.0, 3.0])).tolist()
    [True, False]
    """
    with np.errstate(over="ignore"):  # beside a mean whose square is no number, nothing varies
        return variance > (4 * np.finfo(np.float64).eps * np.abs(mean)) ** 2
