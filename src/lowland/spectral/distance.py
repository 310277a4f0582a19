"""What distances ask of the spectral layer: squares as an operator, and the constants that make them Euclidean."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, pool
from .operators import DoublyCentered, Operator
from .solve import eigen

Array = Any

_PANEL = 1 << 19  # entries squared at a time: 4 MB, measured best of 1 to 8
_DENSE_CAILLIEZ = 600  # the problem is twice as large and not symmetric


class Squared(Operator):
    """The entries of a symmetric matrix, squared as they are multiplied: Δ² without a copy of Δ."""

    symmetric = True

    def __init__(self, D: Array) -> None:
        self.D, self.shape = D, (int(D.shape[0]), int(D.shape[1]))

    def matmul(self, V: Array) -> Array:
        """Return Δ² V."""
        if arrays.is_foreign(self.D):
            return arrays.cast(self.D, np.float64) ** 2 @ V
        n = self.shape[0]
        step = max(16, _PANEL // n)
        out, T = np.empty((V.shape[1], n)), np.ascontiguousarray(V.T)

        def panel(start: int) -> None:
            rows = self.D[start : start + step]
            squares = np.multiply(rows, rows, dtype=np.float64)
            np.matmul(T, squares.T, out=out[:, start : start + step])  # as in `pool.matmul`

        for _ in pool.run(panel, range(0, n, step)):
            pass
        return out.T

    def dense(self) -> Array | None:
        """Return Δ², a copy; only small problems ask for it."""
        return arrays.cast(self.D, np.float64) ** 2

    def reference(self) -> Array:
        """Return the matrix."""
        return self.D


class DistanceGram(DoublyCentered):
    """B = −½ J Δ² J, the inner products of centred points that have these distances."""

    def __init__(self, D: Array) -> None:
        super().__init__(Squared(D), factor=-0.5)
        n = self.shape[0]
        ones = arrays.like(np.full((n, 1), 1 / n), self.A.reference(), np.float64)
        self.mean_squares = arrays.to_numpy(self.A.matmul(ones))[:, 0]

    def trace(self) -> float:
        """Return Σλ: half the sum of all mean squared distances, since the diagonal of Δ is zero."""
        return float(self.mean_squares.sum()) / 2


def cailliez(D: Array) -> float:
    """Return the least c for which δ + c (of different objects) is Euclidean (Cailliez 1983).

    c is the largest real eigenvalue of [[0, 2B(δ²)], [−I, −4B(δ)]], B(A) = −½ J A J.
    """
    D = arrays.to_numpy(D).astype(np.float64)
    n = len(D)

    def centered(A: Array) -> Array:
        mean = A.mean(axis=0)
        return A - mean - mean[:, None] + mean.mean()

    if n <= _DENSE_CAILLIEZ:
        from scipy.linalg import eigvals

        Z = np.block([[np.zeros((n, n)), -centered(D * D)], [-np.eye(n), 2 * centered(D)]])
        return float(max(eigvals(Z).real.max(), 0.0))
    from scipy.sparse.linalg import LinearOperator, eigs

    squares = DistanceGram(D)

    def product(v: Array) -> Array:
        a, b = v[:n], v[n:]
        inner = D @ (b - b.mean())
        return np.concatenate([2 * squares.matmul(b[:, None])[:, 0], -a + 2 * (inner - inner.mean())])

    start = np.random.default_rng(0).standard_normal(2 * n)
    values = eigs(LinearOperator((2 * n, 2 * n), matvec=product), k=1, which="LR", v0=start, return_eigenvectors=False)
    return float(max(values.real.max(), 0.0))


def lingoes(D: Array, rng: np.random.Generator) -> float:
    """Return the least c for which √(δ² + 2c) is Euclidean (Lingoes 1971): minus the smallest eigenvalue of B."""
    return float(max(-arrays.to_numpy(eigen(DistanceGram(D), 1, which="smallest", rng=rng).values)[0], 0.0))
