"""Classical scaling of distances, and additive constants that make distances Euclidean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Message, Setting
from . import dense
from .density import absolute_trace
from .operators import DoublyCentered, Operator
from .rounding import rounding_floor
from .solve import DENSE_LIMIT, Pairs, eigen

Array = Any

_SQUARED_AT_ONCE = 1 << 19  # entries squared at a time: 4 MB, measured best of 1 to 8
_DENSE_CAILLIEZ = 600  # points up to which LAPACK is used: the problem is twice as large and not symmetric
_DENSE_FALLBACK = 3000  # points up to which LAPACK is used if the iteration fails, which takes minutes
_DENSE_MATRICES = 6  # n × n matrices held: four for the problem, two for its parts while it is assembled
_RESTARTS = 300


class Squared(Operator):
    """Δ², the elementwise square of a symmetric matrix, computed during multiplication without a copy of Δ."""

    symmetric = True

    def __init__(self, D: Array) -> None:
        self.D, self.shape = D, (int(D.shape[0]), int(D.shape[1]))

    def matmul(self, V: Array) -> Array:
        """Return Δ² V."""
        if arrays.is_foreign(self.D):
            return arrays.cast(self.D, np.float64) ** 2 @ V
        n = self.shape[0]
        step = max(16, _SQUARED_AT_ONCE // n)
        out, T = np.empty((V.shape[1], n)), np.ascontiguousarray(V.T)

        def panel(start: int) -> None:
            rows = self.D[start : start + step]
            squares = np.multiply(rows, rows, dtype=np.float64)
            np.matmul(T, squares.T, out=out[:, start : start + step])  # as in `thread_pool.matmul`

        for _ in thread_pool.run(panel, range(0, n, step)):
            pass
        return out.T

    def norm(self) -> float:
        """Return ‖Δ²‖ (Frobenius)."""
        if arrays.is_foreign(self.D):
            return math.sqrt(float((arrays.cast(self.D, np.float64) ** 4).sum()))
        step = max(16, _SQUARED_AT_ONCE // self.shape[0])

        def panel(start: int) -> float:
            rows = self.D[start : start + step]
            squares = np.multiply(rows, rows, dtype=np.float64)
            return float(np.vdot(squares, squares))

        return math.sqrt(sum(thread_pool.run(panel, range(0, self.shape[0], step))))

    def dense(self) -> Array | None:
        """Return Δ² as a copy, for small problems."""
        return arrays.cast(self.D, np.float64) ** 2

    def reference(self) -> Array:
        """Return the matrix."""
        return self.D


class DistanceGram(DoublyCentered):
    """B = −½ J Δ² J, the inner products of centred points that have these distances."""

    def __init__(self, D: Array) -> None:
        self.squares = Squared(D)
        super().__init__(self.squares, factor=-0.5)
        n = self.shape[0]
        ones = arrays.like(np.full((n, 1), 1 / n), self.A.reference(), np.float64)
        self.mean_squares = arrays.to_numpy(self.A.matmul(ones))[:, 0]

    def trace(self) -> float:
        """Return Σλ: half the sum of all mean squared distances, since the diagonal of Δ is zero."""
        return float(self.mean_squares.sum()) / 2


@dataclass(frozen=True)
class Scaled:
    """Classical scaling of a distance matrix: −½ J Δ² J = V Λ Vᵀ, of which ``rank`` pairs are coordinates.

    Eigenvalues that differ by less than ``floor`` may be equal up to rounding.
    """

    B: DistanceGram
    pairs: Pairs
    rank: int
    floor: float

    @property
    def spectrum(self) -> Array:
        """The computed eigenvalues, largest first."""
        return arrays.to_numpy(self.pairs.values)

    @property
    def seen(self) -> Array:
        """The spectrum with the solver's further Ritz values, among which eigenvalues may be missing."""
        ritz = self.pairs.ritz
        return self.spectrum if ritz is None else np.sort(arrays.to_numpy(ritz.values))[::-1]

    @property
    def values(self) -> Array:
        """The eigenvalues of the coordinates."""
        return self.spectrum[: self.rank]

    @property
    def vectors(self) -> Array:
        """The unit eigenvectors of the coordinates."""
        return arrays.to_numpy(self.pairs.vectors)[:, : self.rank]

    @property
    def points(self) -> Array:
        """V Λ^½."""
        return self.vectors * np.sqrt(self.values)

    def evidence(self, rng: np.random.Generator) -> dict[str, float]:
        """Return R's two goodness-of-fit values and the weight of negative eigenvalues."""
        kept, total, evidence = float(self.values.sum()), self.B.trace(), {}
        if len(self.spectrum) == self.B.shape[0] - 1:
            absolute, least = float(np.abs(self.spectrum).sum()), float(self.spectrum.min())
        else:
            absolute, error, least = absolute_trace(self.B, self.pairs, rng)
            evidence["goodness of fit, error"] = kept * error / absolute**2
        evidence["goodness of fit"] = kept / absolute
        evidence["goodness of fit, positive part"] = 2 * kept / (absolute + total)
        evidence["negative share"] = max(0.0, (absolute - total) / (2 * absolute))
        evidence["smallest eigenvalue"] = least
        return evidence


def scale(D: Array, k: int, eps: float, rng: np.random.Generator, solver: str = "auto") -> Scaled:
    """Return the k leading coordinates of points with distances D, whose precision is ``eps``.

    There are fewer if fewer eigenvalues are positive beyond rounding. "auto" computes all eigenvalues of few points.

    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> Y = scale(D, 2, 1e-16, np.random.default_rng(0)).points
    >>> float(np.hypot(*(Y[1] - Y[2])).round(6))
    5.0
    """
    n, B = len(D), DistanceGram(D)
    pairs = eigen(B, n - 1 if n <= DENSE_LIMIT and solver == "auto" else min(k, n - 1), solver=solver, rng=rng)
    values = arrays.to_numpy(pairs.values)
    floor = rounding_floor(n, float(np.abs(values).max(initial=0.0)), B.squares.norm(), eps)
    rank = int((values[:k] > floor).sum()) if B.mean_squares.any() else 0  # for zeros all eigenvalues are rounding
    return Scaled(B, pairs, rank, floor)


def scale_few(G: Array) -> tuple[Array, Array]:
    """Return V Λ^½ and Λ of J G J = V Λ Vᵀ, largest first, for few points; negative eigenvalues count as zero.

    G holds the inner products of the points about any origin, or −½Δ², which has the same J G J.

    >>> points, values = scale_few(-0.5 * np.array([[0.0, 2.0], [2.0, 0.0]]) ** 2)
    >>> np.abs(points[:, 0]).round(9).tolist(), values.round(9).tolist()
    ([1.0, 1.0], [2.0, 0.0])
    """
    values, V = dense.eigh(_centered(G))
    values, V = values[::-1], V[:, ::-1]
    return V * np.sqrt(values.clip(0)), values


def cailliez(D: Array, eps: float | None = None) -> float:
    """Return the least c for which δ + c (of different objects) is Euclidean (Cailliez 1983).

    c is the largest real eigenvalue of [[0, 2B(δ²)], [−I, −4B(δ)]], B(A) = −½ J A J. If B(δ²) has no negative
    eigenvalue it is a multiple zero, which solvers find badly: this case is tested first. ``eps`` is the precision of
    the distances, if not that of their type.
    """
    eps = float(np.finfo(arrays.dtype_of(D)).eps) if eps is None else eps
    D = arrays.to_numpy(D).astype(np.float64, copy=False)
    B = DistanceGram(D)
    least = eigen(B, 1, which="smallest", rng=np.random.default_rng(0)).values[0]
    norm = B.squares.norm()
    if least >= -rounding_floor(len(D), norm / 2, norm, eps):
        return 0.0
    if len(D) > _DENSE_CAILLIEZ:
        from scipy.sparse.linalg import ArpackNoConvergence

        try:
            return _cailliez_iterated(D)
        except ArpackNoConvergence:
            if len(D) > _DENSE_FALLBACK:
                lost = f"the additive constant of {len(D)} points was not found in {_RESTARTS} restarts; use "
                raise DataError(Message(lost, Setting("additive", "lingoes"), ", or fewer landmarks")) from None
    return _cailliez_dense(D)


def cailliez_bytes(n: int) -> int:
    """Return the memory that the constant of n points may need in addition to their distances.

    If the iteration fails, which is not known in advance, the dense problem is solved.
    """
    return 8 * n * (_DENSE_MATRICES * n if n <= _DENSE_FALLBACK else 100)


def _cailliez_dense(D: Array) -> float:
    from scipy.linalg import eigvals

    n = len(D)
    check_allocation(cailliez_bytes(n), f"the additive constant of {n} points", "use landmarks")
    Z = np.zeros((2 * n, 2 * n), order="F")  # so that LAPACK works in place
    Z[:n, n:] = -_centered(D * D)
    Z[n:, :n] = -np.eye(n)
    Z[n:, n:] = 2 * _centered(D)
    return float(max(eigvals(Z, overwrite_a=True, check_finite=False).real.max(), 0.0))


def _centered(A: Array) -> Array:
    mean = A.mean(axis=0)
    return A - mean - mean[:, None] + mean.mean()


def _cailliez_iterated(D: Array) -> float:
    """Return the same eigenvalue from products only."""
    from scipy.sparse.linalg import LinearOperator, eigs

    n, squares = len(D), DistanceGram(D)

    def product(v: Array) -> Array:
        a, b = v[:n], v[n:]
        inner = D @ (b - b.mean())
        return np.concatenate([2 * squares.matmul(b[:, None])[:, 0], -a + 2 * (inner - inner.mean())])

    start = np.random.default_rng(0).standard_normal(2 * n)
    Z = LinearOperator((2 * n, 2 * n), matvec=product, dtype=np.float64)
    values = eigs(Z, k=1, which="LR", v0=start, maxiter=_RESTARTS, return_eigenvectors=False)
    return float(max(values.real.max(), 0.0))


def lingoes(D: Array, rng: np.random.Generator) -> float:
    """Return the least c for which √(δ² + 2c) is Euclidean (Lingoes 1971): minus the smallest eigenvalue of B."""
    return float(max(-arrays.to_numpy(eigen(DistanceGram(D), 1, which="smallest", rng=rng).values)[0], 0.0))
