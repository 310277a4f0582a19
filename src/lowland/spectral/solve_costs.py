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
    return "Krylov basis", krylov_bytes(k, m), 2.0 * m * m * (3 * sizes(k, m).basis + 300)


def krylov_bytes(k: int, m: int) -> int:
    """Return the memory of the Krylov basis for k pairs of an m × m matrix, with the blocks that are multiplied.

    >>> krylov_bytes(2, 80_000)
    157440000
    """
    return 8 * m * (sizes(k, m).basis + 64)
