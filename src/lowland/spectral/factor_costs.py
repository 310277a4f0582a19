"""What finding the small end of a sparse matrix takes, before the matrix is there: for plans.

Measured on matrices of points of a sheet, with 10 to 60 neighbours and 20,000 to 100,000 points; graphs of more
dimensions fill up faster. The exact size of a factor is known, and checked, before it is made (`factor.Structure`).
"""

from __future__ import annotations

import math

from .solve import DENSE_LIMIT

_FILLED = 0.3  # entries of a row of the factor, over the entries of a row of the matrix times log₂ n
_FRONTS = 25  # bytes of fronts and structure, for each entry of the matrix
_DENSE = 7  # matrices that LAPACK's road holds
_BASIS = 30  # vectors of the Krylov basis until few pairs have converged, and 3 more for each pair
_GUARD = 4  # pairs found beyond the wanted ones


def factor_entries(n: int, degree: float) -> float:
    """Return about how many entries the factor of a sheet's matrix has, with ``degree`` entries in a row of it.

    >>> round(factor_entries(100_000, 30) / 1e6)
    15
    """
    return n * min(n / 2, max(1.0, _FILLED * degree * math.log2(max(2, n))))


def solve_cost(n: int, degree: float, k: int) -> dict[str, int]:
    """Return the memory, by pieces, of the k smallest eigenpairs of a matrix, which itself is not counted."""
    if n <= DENSE_LIMIT:
        return {"dense matrices": 8 * _DENSE * n * n}
    fronts, vectors = _FRONTS * degree * n, 8 * n * (_BASIS + 3 * (k + _GUARD))
    return {
        "factor": int(8 * factor_entries(n, degree)),
        "fronts or vectors": int(max(fronts, vectors)),  # the fronts are gone when the vectors come
    }
