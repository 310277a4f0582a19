"""Block Krylov methods with full reorthogonalisation and thick restart.

`lanczos` finds one end of a symmetric operator's spectrum, `golub_kahan` the largest singular triplets of any
operator without squaring it. A block multiplies many columns at once, which costs little more than one and finds
clustered values; the basis is kept orthogonal to rounding, so no ghost values appear. Both stop when the residual
of every wanted pair is below the tolerance, and say so if they could not.

References: Golub & Underwood 1977 (block Lanczos); Golub & Kahan 1965; Wu & Simon 2000 and Baglama & Reichel 2005
(thick restart).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arrays, pool
from ..settings import report_progress
from . import dense
from .operators import Operator

Array = Any

_MAX_RESTARTS = 300
_NEARLY = 0.03  # residual over value of a vector that is nearly an eigenvector


@dataclass(frozen=True)
class Sizes:
    """How wide the block is, how large the basis may grow, and how much a restart keeps."""

    block: int
    basis: int
    keep: int


def sizes(k: int, n: int, block: int = 8) -> Sizes:
    """Return the sizes for k wanted pairs of an operator whose smaller side is n; plans use the same rule.

    A block of 16 needs fewer products but more columns in all; measured slower on word counts and flat spectra.

    >>> sizes(10, 10_000)
    Sizes(block=8, basis=170, keep=18)
    """
    basis = k + max(20 * block, 2 * k)
    keep = k + max(block, 3 * k // 10)
    return Sizes(block, min(basis, n), min(keep, n))


@dataclass(frozen=True)
class Ritz:
    """What a Krylov space saw of the whole spectrum: the projection T = QᵀAQ, with the random start in front.

    ``vectors`` (in the space's own coordinates) are nearly eigenvectors, of either end, and ``values`` belong to them.
    """

    T: Array
    block: int
    values: Array
    vectors: Array


@dataclass(frozen=True)
class Found:
    """What an iteration returns: left vectors (None for eigenpairs), values, vectors, and how it ended.

    ``ritz`` is what it saw of the rest of the spectrum, where it never had to restart.
    """

    left: Array | None
    values: Array
    right: Array
    products: int
    converged: bool
    norm: float
    ritz: Ritz | None = None


def _empty(n: int, columns: int, reference: Array) -> Array:
    """Return an n × columns array whose leading columns are contiguous."""
    return arrays.t(arrays.like(np.zeros((columns, n)), reference))


def _take_out(W: Array, Q: Array | None) -> Array | None:
    """Take the components along Q out of W in place and return them."""
    if Q is None or Q.shape[1] == 0:
        return None
    H = pool.tmatmul(Q, W)
    W -= pool.matmul(Q, H)
    return H


def _project_out(W: Array, Q: Array, recent: int, null: Array | None = None, *, whole: bool = True) -> Array:
    """Make W orthogonal to Q (and null) in place and return QᵀW.

    In exact arithmetic W has components along the columns from ``recent`` on alone. They are taken out first, so
    that the pass over the whole basis only has rounding left to remove: two full passes would cost twice as much.
    Without ``whole`` that pass is left out.
    """
    H = arrays.like(np.zeros((Q.shape[1], W.shape[1])), W)
    near = _take_out(W, Q[:, recent:])
    if near is not None:
        H[recent:, :] += near
    rest = _take_out(W, Q) if whole else None
    if rest is not None:
        H += rest
    _take_out(W, null)
    return H


def longest(W: Array) -> float:
    """Return the length of the longest column: A times orthonormal columns gives none longer than ‖A‖."""
    xp = arrays.namespace(W)
    return float(xp.max(xp.linalg.vector_norm(W, axis=0)))


def _next_block(
    W: Array, norm: float, rng: np.random.Generator, A: Operator, *bases: Array | None
) -> tuple[Array, Array]:
    """Return Q, R of W (already orthogonal to the bases). Columns that vanished get fresh random directions.

    What is left of a short column is partly rounding, so it is made orthogonal to the bases again at full length.
    """
    Q, R = dense.orthonormal(W)
    xp = arrays.namespace(W)
    diagonal = arrays.to_numpy(xp.abs(xp.linalg.diagonal(R)))
    eps = np.finfo(float).eps
    lost = np.flatnonzero(diagonal <= 10 * eps * max(norm, np.finfo(float).tiny) * np.sqrt(W.shape[0]))
    if len(lost) or (diagonal <= np.sqrt(eps) * norm).any():
        Q = Q + 0.0
        if len(lost):
            Q[:, lost] = A.randn(W.shape[0], len(lost), rng)
            R[lost, :] = 0.0
        for basis in (*bases, *bases):
            _take_out(Q, basis)
        Q, turn = dense.orthonormal(Q)
        R = turn @ R
    return Q, R


def lanczos(
    A: Operator,
    k: int,
    *,
    largest: bool,
    tol: float,
    rng: np.random.Generator,
    stage: str = "Krylov",
    sure: int | None = None,
    block: int = 8,
) -> Found:
    """Return k eigenpairs of a symmetric operator at one end, best first; known null vectors are left out.

    Where only the first ``sure`` pairs have to be exact, the others come as they are when those have converged.
    """
    n, null = A.shape[0], A.null
    sure = k if sure is None else min(sure, k)
    size = sizes(k, n, block)
    free = n - (0 if null is None else null.shape[1])
    if size.basis + size.block > free:
        return small_symmetric(A, k, largest)
    sign = 1.0 if largest else -1.0
    b, limit = size.block, size.basis
    Q = _empty(n, limit + b, A.reference())
    T = np.zeros((limit + b, limit + b))
    new = A.randn(n, b, rng)
    _take_out(new, null)
    new, _ = dense.orthonormal(new)
    m, recent, products, restarts, norm, checked = 0, 0, 0, 0, 0.0, 0
    while True:
        Q[:, m : m + b] = new
        m += b
        W = sign * A.matmul(new)
        norm = max(norm, longest(W))
        products += 1
        H = arrays.to_numpy(_project_out(W, Q[:, :m], recent, null))
        recent = m - b
        T[:m, m - b : m], T[m - b : m, :m] = H, H.T
        T[m - b : m, m - b : m] = (H[m - b :] + H[m - b :].T) / 2
        new, R = _next_block(W, norm, rng, A, null, Q[:, :m])
        full = m + b > limit
        if not full and (m < k + b or m - checked < max(b, m // 6)):
            continue
        checked = m
        theta, Y = dense.eigh(T[:m, :m])
        theta, Y = theta[::-1], Y[:, ::-1]
        norm = max(norm, float(np.abs(theta).max()))
        residual = np.linalg.norm(arrays.to_numpy(R) @ Y[m - b :, :sure], axis=0)
        converged = bool((residual <= tol * norm).all())
        report_progress(stage, int((residual <= tol * norm).sum()), sure)
        if converged or (full and restarts >= _MAX_RESTARTS):
            vectors = pool.matmul(Q[:, :m], arrays.like(Y[:, :k], Q, np.float64))
            left_over = np.linalg.norm(arrays.to_numpy(R) @ Y[m - b :], axis=0)
            near = left_over <= _NEARLY * np.abs(theta)
            ritz = Ritz(sign * T[:m, :m], b, sign * theta[near], Y[:, near]) if restarts == 0 else None
            return Found(None, sign * theta[:k], vectors, products, converged, norm, ritz)
        if full:
            keep = size.keep
            Q[:, :keep] = pool.matmul(Q[:, :m], arrays.like(Y[:, :keep], Q, np.float64))
            T[:] = 0.0
            T[np.arange(keep), np.arange(keep)] = theta[:keep]
            m, recent, checked, restarts = keep, 0, keep, restarts + 1


def golub_kahan(
    A: Operator,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    both_sides: bool = False,
    stage: str = "Krylov",
) -> Found:
    """Return the k largest singular triplets of an operator, in descending order.

    The basis of the shorter side is kept orthogonal to rounding; that of the longer side follows from it unless
    the spectrum spans many orders of magnitude (Simon & Zha 2000), when ``both_sides`` pays for itself.
    """
    tall = A if A.shape[0] >= A.shape[1] else _Transposed(A)
    found = _golub_kahan(tall, k, tol, rng, both_sides, stage)
    return found if tall is A else _swap(found)


def _golub_kahan(A: Operator, k: int, tol: float, rng: np.random.Generator, both_sides: bool, stage: str) -> Found:
    rows, n = A.shape
    size = sizes(k, n)
    b, limit = size.block, size.basis
    if limit + b > n:
        return _small_singular(A, k)
    V, U = _empty(n, limit + b, A.reference()), _empty(rows, limit + b, A.reference())
    B = np.zeros((limit + b, limit + b))
    new, _ = dense.orthonormal(A.randn(n, b, rng))
    m, recent, products, restarts, norm, checked = 0, 0, 0, 0, 0.0, 0
    while True:
        V[:, m : m + b] = new
        W = A.matmul(new)
        norm = max(norm, longest(W))
        B[:m, m : m + b] = arrays.to_numpy(_project_out(W, U[:, :m], recent, whole=both_sides))
        left, R = _next_block(W, norm, rng, A, U[:, :m])
        recent = m
        B[m : m + b, m : m + b] = arrays.to_numpy(R)
        U[:, m : m + b] = left
        m += b
        Z = A.rmatmul(left)
        products += 2
        _project_out(Z, V[:, :m], recent)
        new, S = _next_block(Z, norm, rng, A, V[:, :m])
        full = m + b > limit
        if not full and (m < k + b or m - checked < max(b, m // 6)):
            continue
        checked = m
        P, sigma, Y = dense.svd(B[:m, :m])
        norm = max(norm, float(sigma[0]))
        residual = np.linalg.norm(arrays.to_numpy(S) @ P[m - b :, :k], axis=0)
        converged = bool((residual <= tol * norm).all())
        report_progress(stage, int((residual <= tol * norm).sum()), k)
        if converged or (full and restarts >= _MAX_RESTARTS):
            right = pool.matmul(V[:, :m], arrays.like(Y[:, :k], V, np.float64))
            return _rayleigh_ritz(A, right, products + 1, converged)
        if full:
            keep = size.keep
            U[:, :keep] = pool.matmul(U[:, :m], arrays.like(P[:, :keep], U, np.float64))
            V[:, :keep] = pool.matmul(V[:, :m], arrays.like(Y[:, :keep], V, np.float64))
            B[:] = 0.0
            B[np.arange(keep), np.arange(keep)] = sigma[:keep]
            m, recent, checked, restarts = keep, 0, keep, restarts + 1


def _rayleigh_ritz(A: Operator, right: Array, products: int, converged: bool) -> Found:
    """Return the best triplets with right vectors in the given span, from a fresh product."""
    image = A.matmul(right)
    left, R = dense.orthonormal_near(image, arrays.namespace(image).linalg.vector_norm(image, axis=0))
    P, sigma, Y = dense.svd(R)
    return Found(pool.matmul(left, P), sigma, pool.matmul(right, Y), products, converged, float(sigma[0]))


class _Transposed(Operator):
    def __init__(self, A: Operator) -> None:
        self.A, self.shape = A, (A.shape[1], A.shape[0])

    def matmul(self, V: Array) -> Array:
        return self.A.rmatmul(V)

    def rmatmul(self, U: Array) -> Array:
        return self.A.matmul(U)

    def reference(self) -> Array:
        return self.A.reference()


def _swap(found: Found) -> Found:
    return Found(found.right, found.values, found.left, found.products, found.converged, found.norm)


def identity(n: int, reference: Array) -> Array:
    """Return the identity in the reference's library, in float64."""
    return arrays.like(np.eye(n), reference, np.float64)


def small_symmetric(A: Operator, k: int, largest: bool) -> Found:
    """Form the matrix and solve it by LAPACK: whole, or only the wanted end where that is a small part."""
    M, products = A.dense(), 0
    if M is None:
        M, products = A.matmul(identity(A.shape[0], A.reference())), 1
    xp = arrays.namespace(M)
    norm = float(xp.max(xp.abs(M))) * A.shape[0] or 1.0
    least = longest(M)
    if A.null is not None:  # move the known null vectors to the far end
        M = M - (norm if largest else -norm) * (A.null @ arrays.t(A.null))
    n, part = A.shape[0], None
    if 5 * k < n and n > 200:
        part = (n - k, n - 1) if largest else (0, k - 1)
    values, vectors = dense.eigh((M + arrays.t(M)) / 2, part)
    if largest:
        values, vectors = xp.flip(values, axis=0), xp.flip(vectors, axis=1)
    top = max(least, float(xp.max(xp.abs(values[:k]))))  # ‖A‖ from below, so that a residual is never flattered
    return Found(None, values[:k], vectors[:, :k], products, True, top)


def _small_singular(A: Operator, k: int) -> Found:
    U, s, V = dense.svd(A.matmul(identity(A.shape[1], A.reference())))
    return Found(U[:, :k], s[:k], V[:, :k], 1, True, float(s[0]))
