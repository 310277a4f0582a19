"""The small end of large sparse positive semidefinite matrices: M v = λ v with λ near the rounding of ‖M‖.

λ₂ of a neighbourhood matrix falls like (k/N)^(4/d), to 1e-14 ‖M‖ for a million points of a sheet. So M + σI is
factored, σ a few roundings of ‖M‖: far below the values that can be distinguished from zero, and large enough for the
factor to exist. The largest pairs of its inverse are found by block Lanczos, with the known null vectors deflated; one
more solve removes high-frequency noise from the vectors, and a Rayleigh–Ritz step with M gives λ without σ.

LLE's matrix of a swiss roll, 10 neighbours (``benchmarks/nullspace.py``; processor seconds of all threads, growth of
memory): 100,000 points 2.9 s and 0.28 GB, where SuperLU took 4.7 s and 0.74 GB; a million points 73 s and 3.3 GB.

References: B. N. Parlett, The Symmetric Eigenvalue Problem (1998), chapters 11 and 13; T. Ericsson & A. Ruhe, Math.
Comp. 35 (1980), on shift and invert; M. Vladymyrov & M. Á. Carreira-Perpiñán, ECML PKDD 2013, on landmarks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import thread_pool
from ..core.cost import check_allocation, holding
from ..core.errors import SolveError
from ..core.message import Message, Setting
from ..core.spmm import spmm
from . import dense
from .factor import REMEDY, Cholesky, SuperLU, not_definite
from .krylov import lanczos
from .operators import Operator
from .solve import DENSE_LIMIT, fix_signs

Array = np.ndarray[Any, Any]

SOLVERS = ("auto", "dense", "superlu", "cholesky")
SMALL = 5000  # rows up to which SuperLU is faster than compiling our own factor; even a dense factor is small then
_EPS = float(np.finfo(np.float64).eps)
_SHIFT = 64 * _EPS  # σ/‖M‖: above the rounding of a factor, below the values that float64 can distinguish from 0
_BLOCK = 4  # columns solved at once: the inverse has few large, well separated values, and 8 take 1.5 times as long
_GUARD = 4  # additional pairs: they give the gap, and a cluster that k would split converges
_SPARE = 6  # additional pairs that are smoothed, since smoothing may exchange pairs
_CLUSTER = 1e-6  # relative difference below which two values count as one eigenspace


@dataclass(frozen=True)
class Small:
    """The smallest eigenpairs beyond the known null vectors, ascending, and their evidence.

    ``residual`` estimates the sine of the angle between a vector and its eigenspace. With x = (M + σI)⁻¹(Mv − λv), the
    component of x along each other computed pair is divided by its relative gap |μ − λ|/(μ + σ), the rest of x by the
    gap to the last of them. The plain ‖Mv − λv‖/‖M‖, which is ``backward``, is not informative if λ is a rounding of
    ‖M‖: it weights high-frequency noise, which does not rotate vectors, like smooth errors, which do. ``gap`` is the
    smallest relative gap, at most 1; values that differ by a rounding of ‖M‖ or by 1e-6 of their size count as one
    eigenspace. If k splits one, the gap is 0 and the vectors in it are arbitrary. ``whole`` is the number of pairs that
    would contain all of it; k if none is split, and None if it extends beyond the computed pairs.

    ``predicted`` and ``fill`` count the entries of the factor, predicted and stored (None: not predicted).
    ``checked`` counts the blocks of random directions in which no missed pair was found (None: all were computed).
    ``approximate`` marks pairs from a subspace; there ``residual`` is the largest ‖Mv − λv‖/λ.
    """

    values: Array
    vectors: Array
    residual: float
    backward: float
    gap: float
    whole: int | None
    solver: str
    shift: float
    predicted: int | None
    fill: int
    products: int
    checked: int | None
    approximate: bool
    seconds: dict[str, float]

    @property
    def above_rounding(self) -> bool:
        """Whether the last value is so large that an equal one is due to symmetry, not rounding."""
        return bool(self.values[-1] > self.shift / (64 * _CLUSTER))


class _Inverse(Operator):
    """P (M + σI)⁻¹ P, where P projects out the null vectors."""

    symmetric = psd = True

    def __init__(self, factor: Any, n: int, null: Array | None) -> None:
        self.factor, self.null, self.shape = factor, null, (n, n)

    def matmul(self, V: Array) -> Array:
        """Return P (M + σI)⁻¹ P V."""
        return _without(self.factor.solve(_without(V, self.null)), self.null)


class _Dense:
    """Cholesky by LAPACK, for small matrices."""

    def __init__(self, A: Any) -> None:
        import scipy.linalg

        try:
            self._factor = scipy.linalg.cho_factor(A.toarray(), lower=True, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise not_definite(str(error)) from None
        self.fill = self.predicted = A.shape[0] * (A.shape[0] + 1) // 2

    def solve(self, B: Array) -> Array:
        """Return A⁻¹ B."""
        import scipy.linalg

        return np.asarray(scipy.linalg.cho_solve(self._factor, B, check_finite=False))


@thread_pool.one_blas_thread()
def smallest(
    M: Any,
    k: int,
    *,
    null: Array | None = None,
    rng: np.random.Generator | None = None,
    solver: str = "auto",
    remedy: str = REMEDY,
) -> Small:
    """Return the k smallest eigenpairs of a sparse positive semidefinite matrix, known null vectors left out.

    Parameters
    ----------
    M : scipy.sparse matrix, symmetric positive semidefinite.
    k : how many pairs.
    null : (n, q) orthonormal columns that M maps to zero, to be left out.
    rng : random generator of the start block; default: seed 0.
    solver : "auto", "dense" (LAPACK), "superlu" (SciPy) or "cholesky" (our own factor). "auto" is dense up to 1500
        rows or if more than a fifth of the pairs are wanted, superlu up to 5000 rows, cholesky above. The memory limit
        does not change that.
    remedy : advice in the error if the factor would exceed the memory limit.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> path = sp.csgraph.laplacian(sp.diags_array([np.ones(3)] * 2, offsets=[-1, 1]))
    >>> smallest(path, 1, null=np.full((4, 1), 0.5)).values.round(12).tolist()
    [0.585786437627]
    """
    M, norm = _checked(M)
    n = M.shape[0]
    null = _checked_null(M, k, null, norm)
    if solver not in SOLVERS:
        raise ValueError(Message(Setting("solver"), f" must be one of {', '.join(SOLVERS)}; got {solver!r}"))
    wanted = min(k + _GUARD, n - _width(null))
    if solver == "auto" or 5 * wanted > n:
        solver = "dense" if n <= DENSE_LIMIT or 5 * wanted > n else "superlu" if n <= SMALL else "cholesky"
    start = time.perf_counter()
    factor, shift = _factored(M, norm, solver, remedy)
    built = time.perf_counter()
    rng = np.random.default_rng(0) if rng is None else rng
    sure, products, whole = k, 0, None
    while True:
        if solver == "dense":
            V, more, checked = _by_lapack(M, wanted, null, norm), 0, None
        else:
            V, more, checked = _by_lanczos(n, sure, wanted, null, factor, shift, rng)
        values, V = _polished(M, V, null, factor)
        products, whole = products + more, _whole(values, k, shift, n - _width(null))
        if solver == "dense" or whole is None or whole <= sure or sure == wanted:
            break
        sure = min(whole + 1, wanted)  # k splits an eigenspace: the pair after it must be exact, too
    if values[0] < -_SHIFT * norm:
        raise SolveError(
            f"the matrix is not positive semidefinite: it has the eigenvalue {values[0]:.3g}; its entries are wrong or "
            "span too many orders of magnitude"
        )
    residual, backward, gap = _evidence(M, values, V, k, null, factor, shift, norm)
    seconds = {"factor": built - start, "solve": time.perf_counter() - built}
    return Small(
        values[:k], fix_signs(V[:, :k]), residual, backward, gap if whole == k else 0.0, whole, solver, shift,
        factor.predicted, factor.fill, products, checked, False, seconds,
    )  # fmt: skip


def _checked(M: Any) -> tuple[Any, float]:
    """Return M in CSR and float64, exactly symmetric, with a bound on its norm; raise if it is not symmetric."""
    M = sp.csr_array(M, dtype=np.float64)
    n = M.shape[0]
    if M.shape != (n, n):
        raise ValueError(f"expected a square matrix; got shape {M.shape}")
    if not np.isfinite(M.data).all():
        raise ValueError("the matrix contains NaN or infinity")
    if not M.has_canonical_format:
        M = M.copy()  # do not change the caller's arrays
        M.sum_duplicates()
    norm = float(abs(M).sum(axis=1).max(initial=0.0)) or 1.0
    other = M.T.tocsr()
    same = np.array_equal(other.indptr, M.indptr) and np.array_equal(other.indices, M.indices)
    skew = abs(M - other).max() if not same else float(np.abs(M.data - other.data).max(initial=0.0))
    if skew > 100 * _EPS * norm:
        raise ValueError(
            f"the matrix is not symmetric: M − Mᵀ reaches {skew:.3g}. Only symmetric matrices are supported; for "
            "others use numpy.linalg.eig(M.toarray())"
        )
    return (M if same and skew == 0 else ((M + other) / 2).tocsr()), norm


def _checked_null(M: Any, k: int, null: Array | None, norm: float) -> Array | None:
    """Return the null vectors as an array; raise if they are not orthonormal, or M does not map them to zero."""
    n = M.shape[0]
    if null is not None:
        null = np.ascontiguousarray(null, dtype=np.float64)
        if null.ndim != 2 or null.shape[0] != n:
            raise ValueError(Message(Setting("null"), f" must be {n} × q; got shape {null.shape}"))
        if np.abs(null.T @ null - np.eye(null.shape[1])).max(initial=0.0) > 1e-8:
            raise ValueError("the null vectors must be orthonormal columns")
        length = float(np.abs(M @ null).max(initial=0.0)) * n**0.5
        if length > 1e-8 * norm:
            raise ValueError(f"the matrix does not map the null vectors to zero: |M v|·√n reaches {length:.3g}")
    free = n - _width(null)
    if not 1 <= k <= free:
        raise ValueError(f"k must be from 1 to {free} for {n} rows and {_width(null)} known null vectors; got {k}")
    return null


def _factored(M: Any, norm: float, solver: str, remedy: str) -> tuple[Any, float]:
    """Return the factor of M + σI, and σ.

    If rounding makes the factorisation of a semidefinite matrix fail, it is repeated with a thousand times the shift,
    which is still below most wanted values and sufficient for Lanczos.
    """
    for shift in (_SHIFT * norm, 1000 * _SHIFT * norm):
        A = M + shift * sp.eye_array(M.shape[0], format="csr")
        try:
            if solver == "dense":
                check_allocation(4 * 8 * M.shape[0] ** 2, f"four dense matrices of {M.shape[0]:,} rows", remedy)
                return _Dense(A), shift
            if solver == "superlu":
                return SuperLU(A), shift
            with holding(M, A):
                return Cholesky(A, remedy=remedy), shift
        except SolveError as error:
            failed = error
    raise failed


def _by_lapack(M: Any, wanted: int, null: Array | None, norm: float) -> Array:
    """Return vectors from a full dense solve, with the null vectors moved to the large end."""
    D = M.toarray()
    if null is not None:
        D += 2 * norm * (null @ null.T)
    part = (0, wanted - 1) if 5 * wanted < len(D) and len(D) > 200 else None
    return np.asarray(dense.eigh((D + D.T) / 2, part)[1][:, :wanted])


def _by_lanczos(
    n: int, k: int, wanted: int, null: Array | None, factor: Any, shift: float, rng: np.random.Generator
) -> tuple[Array, int, int | None]:
    """Return the vectors of the largest values of the inverse, the first k exact; blocks solved, and blocks checked.

    A null vector that is not in ``null`` has the value 1/σ, whose rounding would hide the others: such vectors are
    found first and deflated, and the rest is computed again.
    """
    found, products = np.empty((n, 0)), 0
    while True:
        known = found if null is None else np.hstack([null, found])
        inverse = _Inverse(factor, n, known if known.shape[1] else None)
        pairs = lanczos(
            inverse,
            wanted - found.shape[1],
            largest=True,
            tol=1e-13,
            rng=rng,
            stage="small eigenvalues",
            sure=max(1, k - found.shape[1]),
            block=_BLOCK,
        )
        products += pairs.products
        if not pairs.converged:
            raise SolveError(
                f"the {wanted} smallest eigenvalues did not converge in {products} blocks: many of them may be equal, "
                "as in a graph of many connected components; pass their null vectors, or treat each component alone"
            )
        vanish = 1 / pairs.values < 1.1 * shift
        if not vanish.any() or vanish.all():
            return np.hstack([found, pairs.right]), products, pairs.checked
        found = np.hstack([found, pairs.right[:, vanish]])


def _polished(M: Any, V: Array, null: Array | None, factor: Any) -> tuple[Array, Array]:
    """Return pairs after one more solve, which damps high-frequency noise by λ/‖M‖, and Rayleigh–Ritz with M."""
    V = factor.solve(_without(V, null))
    return _ritz(M, V, null)


def _ritz(M: Any, V: Array, null: Array | None) -> tuple[Array, Array]:
    """Return the pairs of M in the range of V without the null vectors."""
    V, _ = dense.orthonormal(_without(V / np.linalg.norm(V, axis=0), null))
    T = thread_pool.tmatmul(V, spmm(M, V))
    values, Y = dense.eigh((T + T.T) / 2)
    return values, thread_pool.matmul(V, Y)


def _evidence(
    M: Any, values: Array, V: Array, k: int, null: Array | None, factor: Any, shift: float, norm: float
) -> tuple[float, float, float]:
    """Return ``residual``, ``backward`` and ``gap`` as `Small` defines them."""
    R = spmm(M, V[:, :k]) - V[:, :k] * values[:k]
    backward = float(np.linalg.norm(R, axis=0).max() / norm)
    X = _without(factor.solve(_without(R, null)), null)
    along = thread_pool.tmatmul(V, X)
    rest = np.linalg.norm(X - thread_pool.matmul(V, along), axis=0)
    residual, smallest_gap = 0.0, 1.0
    for i in range(k):
        gaps = _gaps(values, i, shift)
        turned = np.append(along[:, i], rest[i]) / np.append(gaps, min(gaps[-1], 1.0))
        residual = max(residual, float(np.linalg.norm(turned)))
        smallest_gap = min(smallest_gap, float(gaps.min()))
    return residual, backward, smallest_gap


def _gaps(values: Array, i: int, shift: float) -> Array:
    """Return |μ − λ|/(μ + σ) from λ = values[i] to each value μ; infinite within λ's own eigenspace.

    Values are known to about σ/64. Those within it of zero are all zero: one may have come out below and one above.
    """
    size, rounding = np.abs(values) + shift, shift / 64
    apart, zero = np.abs(values - values[i]), np.abs(values) <= rounding
    same = (apart <= np.maximum(_CLUSTER * np.maximum(size, size[i]), rounding)) | (zero & zero[i])
    return np.where(same, np.inf, apart / size)


def _whole(values: Array, k: int, shift: float, count: int) -> int | None:
    """Return the least number of pairs ≥ k that splits no eigenspace; None if too few of ``count`` pairs are known."""
    last = k
    while last < len(values) and np.isinf(_gaps(values, last - 1, shift)[last]):
        last += 1
    return None if k < last == len(values) < count else last


@thread_pool.one_blas_thread()
def reduced(M: Any, Z: Any, k: int, *, null: Array | None = None, smooth: int = 0, remedy: str = REMEDY) -> Small:
    """Return approximate smallest pairs from the range of Z: the best of the maps Y = ZỸ of L landmarks.

    ZᵀMZ ṽ = λ ZᵀZ ṽ, a dense problem of L rows (locally linear landmarks); Z (n × L) holds each point's barycentric
    weights on the landmarks. λ is a Rayleigh quotient, never below the true value; ``residual`` is max ‖Mv − λv‖/λ:
    an eigenvalue lies within λ·residual of λ; above 1 it does not bound the error of the vectors.

    Such maps have kinks at the spacing of the landmarks. ``smooth`` is the degree of a Chebyshev polynomial of M that
    removes them, by as many products and without a factor: with 40, two maps of LTSA through 1,000 landmarks, of 20,000
    points of a swiss roll, had errors of 0.01 and 0.02 instead of 0.05 and 0.07.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> path = sp.csgraph.laplacian(sp.diags_array([np.ones(3)] * 2, offsets=[-1, 1]))
    >>> Z = sp.csr_array([[1.0, 0.0], [0.7, 0.3], [0.3, 0.7], [0.0, 1.0]])  # the ends are landmarks
    >>> reduced(path, Z, 1, null=np.full((4, 1), 0.5)).values.round(3).tolist()
    [0.586]
    """
    M, norm = _checked(M)
    null = _checked_null(M, k, null, norm)
    start = time.perf_counter()
    Z = sp.csr_array(Z, dtype=np.float64)
    count = Z.shape[1]
    check_allocation(5 * 8 * count**2, f"dense matrices of {count:,} landmarks", "use fewer landmarks")
    G, C = (Z.T @ Z).toarray(), (Z.T @ (M @ Z)).toarray()
    d, Q = dense.eigh((G + G.T) / 2)
    kept = d > count * _EPS * d[-1]
    S = Q[:, kept] / np.sqrt(d[kept])  # SᵀZᵀZS = I; landmarks that no point uses are left out
    C = S.T @ C @ S
    if null is not None:  # orthogonal to SᵀZᵀN is orthogonal to N itself
        N = S.T @ (Z.T @ null)
        N, cosines, _ = dense.svd(N)
        N = N[:, cosines > 1e-8]
        C = C - N @ (N.T @ C)
        C = C - (C @ N) @ N.T + 2 * norm * (N @ N.T)
    if k > int(kept.sum()) - _width(null):
        raise ValueError(f"{count} landmarks span {int(kept.sum())} directions: too few for {k} pairs; {remedy}")
    found = min(k + _SPARE, len(C) - _width(null))
    values, Y = dense.eigh((C + C.T) / 2, (0, found - 1))
    V = np.asarray(Z @ (S @ Y))
    if smooth > 0:
        values, V = _ritz(M, _smoothed(M, V, norm, smooth), null)
    gap = min(float(_gaps(values[: k + 1], i, _SHIFT * norm).min()) for i in range(k))
    whole = _whole(values, k, _SHIFT * norm, len(C) - _width(null))
    values, V = values[:k], V[:, :k]
    lengths = np.linalg.norm(spmm(M, V) - V * values, axis=0)
    residual = float((lengths / np.maximum(values, _SHIFT * norm)).max())
    seconds = {"solve": time.perf_counter() - start}
    return Small(
        values, fix_signs(V), residual, float(lengths.max() / norm), min(gap, 1.0) if whole == k else 0.0, whole,
        "landmarks", 0.0, None, count**2, 0, None, True, seconds,
    )  # fmt: skip


def _smoothed(M: Any, V: Array, norm: float, degree: int) -> Array:
    """Return T(M) V, T the Chebyshev polynomial that stays within 1 from ``low`` to the norm and is 11.6 at 0."""
    low = norm * min(0.5, (np.pi / (2 * degree)) ** 2)
    middle, half = (norm + low) / 2, (norm - low) / 2
    before, now = V, (spmm(M, V) - middle * V) / half
    for _ in range(degree - 1):
        before, now = now, 2 * (spmm(M, now) - middle * now) / half - before
    return now


def _width(null: Array | None) -> int:
    return 0 if null is None else int(null.shape[1])


def _without(V: Array, null: Array | None) -> Array:
    """Return V minus its components along orthonormal columns."""
    return V if _width(null) == 0 else V - thread_pool.matmul(null, thread_pool.tmatmul(null, V))
