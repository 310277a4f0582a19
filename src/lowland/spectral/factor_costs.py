"""Estimated cost of the smallest eigenpairs of a sparse matrix, for plans.

Measured on matrices of points of a sheet, with 10 to 60 neighbours and 20,000 to 100,000 points; graphs of more
dimensions have more fill. The exact size of a factor is known, and checked, before it is computed (`factor.Structure`).
"""

from __future__ import annotations

import math

from .solve import DENSE_LIMIT

_FILLED = 0.3  # entries per row of the factor, divided by the entries per row of the matrix times log₂ n
_FRONTS = 25  # bytes of fronts and structure per entry of the matrix
_DENSE = 7  # matrices held by the dense solver
_BASIS = 30  # vectors of the Krylov basis for a few pairs, plus 3 for each pair
_GUARD = 4  # pairs computed in addition to the wanted ones


def factor_entries(n: int, degree: float) -> float:
    """Return the approximate number of entries of the factor of a sheet's matrix with ``degree`` entries per row.

    >>> round(factor_entries(100_000, 30) / 1e6)
    15
    """
    return n * min(n / 2, max(1.0, _FILLED * degree * math.log2(max(2, n))))


def solve_cost(n: int, degree: float, k: int) -> dict[str, int]:
    """Return the memory by parts of computing the k smallest eigenpairs of a matrix, without the matrix."""
    if n <= DENSE_LIMIT:
        return {"dense matrices": 8 * _DENSE * n * n}
    fronts, vectors = _FRONTS * degree * n, 8 * n * (_BASIS + 3 * (k + _GUARD))
    return {
        "factor": int(8 * factor_entries(n, degree)),
        "fronts or vectors": int(max(fronts, vectors)),  # the fronts are freed before the vectors are allocated
    }
