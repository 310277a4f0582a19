"""How large an eigenvalue can be that is nothing but rounding: the one rule for ranks."""

from __future__ import annotations

import numpy as np


def rounding_floor(n: int, largest: float, norm: float, eps: float) -> float:
    """Return the size below which an eigenvalue of an N × N symmetric matrix may be rounding alone.

    Rounding moves an eigenvalue by N·eps·λ₁ in the solve, and by ‖E‖ ≤ eps·‖A‖ where the entries of A were rounded.
    ``largest`` is λ₁, ``norm`` ‖A‖ (Frobenius) before any mean is taken off, and ``eps`` the precision of the entries.
    These are seldom right to the last digit: 4 eps.

    >>> rounding_floor(10, 1.0, 2.0, 1e-7)
    8e-07
    """
    return max(n * float(np.finfo(np.float64).eps) * largest, 4 * eps * norm)
