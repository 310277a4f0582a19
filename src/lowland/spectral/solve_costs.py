"""Estimated cost of the leading eigenpairs of a square matrix, for plans."""

from __future__ import annotations

from .krylov import sizes
from .solve import DENSE_LIMIT


def square_solve_cost(m: int, k: int, squares: int = 5) -> tuple[str, int, float]:
    """Return the name of the largest part, its bytes, and the arithmetic of k pairs of an m × m matrix.

    ``squares`` is the number of matrices of that size that the dense solver holds.

    >>> square_solve_cost(1000, 2)
    ('eigenvectors', 40000000, 15000000000.0)
    """
    if m <= DENSE_LIMIT:
        return "eigenvectors", 8 * squares * m * m, 15.0 * m**3
    basis = sizes(k, m).basis
    return "Krylov basis", 8 * m * (basis + 64), 2.0 * m * m * (3 * basis + 300)
