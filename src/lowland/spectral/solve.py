"""Choice of the solver by one table; all results are sorted, signed and have a measured residual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from ..core.message import Message, Setting
from . import dense, krylov
from .krylov import KrylovResult
from .operators import Operator
from .power import power

Array = Any

DENSE_LIMIT = 1500  # at 5000 the top 10 pairs take LAPACK 7–10 times as long as a Krylov method


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs, best first: values (k), orthonormal vectors (n × k), and their evidence.

    ``residual`` is max ‖Av − λv‖/‖A‖, measured with the returned vectors. It does not show whether a pair was missed:
    ``checked`` counts the blocks of random directions in which a Krylov method found none (None: all were computed).
    ``ritz`` approximates the rest of the spectrum, if there was no restart.
    """

    values: Array
    vectors: Array
    residual: float
    solver: str
    products: int
    converged: bool
    checked: int | None = None
    ritz: krylov.Ritz | None = None


@dataclass(frozen=True)
class Triplets:
    """Singular triplets in descending order: left (N × k), values (k), right (D × k), and their evidence.

    ``residual`` is max(‖Av − σu‖, ‖Aᵀu − σv‖)/‖A‖ with u and v each normalised on its own; ``checked`` as in `Pairs`.
    """

    left: Array
    values: Array
    right: Array
    residual: float
    solver: str
    products: int
    converged: bool
    checked: int | None = None


@dataclass(frozen=True)
class SolverChoice:
    """One row of the table: a solver, its condition, and the reason."""

    solver: str
    when: str
    why: str
    applies: Callable[[Operator, int], bool]


def table() -> tuple[SolverChoice, ...]:
    """Return the whole choice table, first match wins."""
    return (
        SolverChoice(
            "dense",
            f"the smaller side is at most {DENSE_LIMIT}, and the matrix is in memory or its larger side is no longer",
            "LAPACK is exact and fast at this size, and gives the whole spectrum",
            lambda A, k: min(A.shape) <= DENSE_LIMIT and (max(A.shape) <= DENSE_LIMIT or A.dense() is not None),
        ),
        SolverChoice(
            "dense",
            "the matrix is in memory and more than a fifth of its pairs are wanted",
            "a Krylov basis of that size would cost more than the full solve",
            lambda A, k: 5 * k > min(A.shape) and A.dense() is not None,  # in this order: `dense` may copy
        ),
        SolverChoice(
            "krylov", "all else", "few pairs of a large operator: only products are needed", lambda A, k: True
        ),
    )


def choose(A: Operator, k: int) -> SolverChoice:
    """Return the row of the table that applies.

    >>> import numpy as np
    >>> from lowland.spectral import Dense, choose
    >>> choose(Dense(np.eye(10), psd=True), 2).solver
    'dense'
    """
    return next(row for row in table() if row.applies(A, k))


def tolerance(A: Operator) -> float:
    """Return the residual, relative to ‖A‖, at which an iteration may stop: the size of rounding, at most 1e-11."""
    return float(min(1e-11, 5 * min(A.shape) * np.finfo(float).eps))


@thread_pool.one_blas_thread()
def eigen(
    A: Operator,
    k: int,
    *,
    which: str = "largest",
    solver: str = "auto",
    tol: float | None = None,
    rng: np.random.Generator | None = None,
    certify: int | None = None,
    enough: Callable[[Array], int] | None = None,
) -> Pairs:
    """Return k eigenpairs of a symmetric operator, the algebraically largest (or smallest) first.

    Known null vectors (``A.null``) are left out. ``solver``: auto, dense, krylov, power. The residual is measured for
    the first ``certify`` pairs (default: all): the others may be a by-product that the caller does not keep. ``enough``
    may say from the k largest values how many vectors are wanted: a dense solve of few pairs returns no others.

    >>> import numpy as np
    >>> from lowland.spectral import Dense, eigen
    >>> eigen(Dense(np.diag([1.0, 3.0, 2.0]), psd=True), 2).values.tolist()
    [3.0, 2.0]
    """
    _require_operator(A, "eigen")
    if not A.symmetric:
        raise ValueError(
            f"{A!r} is not marked as symmetric, and eigen is for symmetric operators: create it with symmetric=True if "
            "it is, else use numpy.linalg.eig (`singular` gives singular values, which are others)"
        )
    if which not in ("largest", "smallest"):
        raise ValueError(Message(Setting("which"), f" must be 'largest' or 'smallest'; got {which!r}"))
    free = A.shape[0] - (0 if A.null is None else A.null.shape[1])
    if not 1 <= k <= free:
        raise ValueError(f"k must be from 1 to {free} for {A!r}; got {k}")
    name = choose(A, k).solver if solver == "auto" else solver
    rng = np.random.default_rng(0) if rng is None else rng
    tol = tolerance(A) if tol is None else tol
    largest = which == "largest"
    if name == "dense":
        found = krylov.small_symmetric(A, k, largest, enough)
    elif name == "krylov":
        found = krylov.lanczos(A, k, largest=largest, tol=tol, rng=rng)
    elif name == "power" and largest:
        found = power(A, k, tol=tol, rng=rng)
    else:
        raise ValueError(
            f"no solver {solver!r} for the {which} eigenvalues; known: auto, dense, krylov, power (largest)"
        )
    vectors = fix_signs(found.right)
    measured = vectors[:, :certify]
    residual = residual_of_pairs(A, found.values[: measured.shape[1]], measured, found.norm)
    values = arrays.like(found.values, vectors)
    return Pairs(values, vectors, residual, name, found.products, found.converged, found.checked, found.ritz)


@thread_pool.one_blas_thread()
def singular(
    A: Operator,
    k: int,
    *,
    solver: str = "auto",
    tol: float | None = None,
    rng: np.random.Generator | None = None,
) -> Triplets:
    """Return the k largest singular triplets of an operator. ``solver``: auto, dense, krylov.

    >>> import numpy as np
    >>> from lowland.spectral import Dense, singular
    >>> singular(Dense(np.array([[3.0, 0.0], [0.0, 2.0], [0.0, 0.0]])), 1).values.tolist()
    [3.0]
    """
    _require_operator(A, "singular")
    if not 1 <= k <= min(A.shape):
        raise ValueError(f"k must be from 1 to {min(A.shape)} for {A!r}; got {k}")
    name = choose(A, k).solver if solver == "auto" else solver
    rng = np.random.default_rng(0) if rng is None else rng
    tol = tolerance(A) if tol is None else tol
    if name == "dense":
        M = A.dense()
        if M is None:
            M = A.matmul(krylov.identity(A.shape[1], A.reference()))
        U, s, V = dense.svd(M)
        found = KrylovResult(U[:, :k], s[:k], V[:, :k], 0, True, float(s[0]))
    elif name == "krylov":
        found = krylov.golub_kahan(A, k, tol=tol, rng=rng)
        triplets = certified_triplets(A, found, name)
        if triplets.residual <= 10 * tol or not found.converged:
            return triplets
        found = krylov.golub_kahan(A, k, tol=tol, rng=rng, both_sides=True)
    else:
        raise ValueError(f"no solver {solver!r} for singular triplets; known: auto, dense, krylov")
    return certified_triplets(A, found, name)


def _require_operator(A: Any, owner: str) -> None:
    """Raise TypeError for a matrix, which says nothing of its properties."""
    if isinstance(A, Operator):
        return
    how = "Sparse" if hasattr(A, "tocsr") else "Dense"
    raise TypeError(
        f"{owner} takes an operator, not {type(A).__name__}: wrap a matrix, as lowland.spectral.{how}(A), with "
        "symmetric=True if it is"
    )


def certified_triplets(A: Operator, found: KrylovResult, solver: str) -> Triplets:
    """Fix signs by the right vectors and measure the residual with new products."""
    signs = sign_of_columns(found.right)
    right, left = found.right * signs, found.left * signs
    xp = arrays.namespace(right)
    sigma = arrays.like(found.values, right)
    forward = A.matmul(found.right) if found.forward is None else found.forward
    backward = A.rmatmul(found.left) if found.backward is None else found.backward
    first, second = forward - found.left * sigma[None, :], backward - found.right * sigma[None, :]
    worst = max(float(xp.max(arrays.column_norms(D))) for D in (first, second))
    residual = worst / found.norm if found.norm > 0 else worst
    return Triplets(left, sigma, right, residual, solver, found.products, found.converged, found.checked)


def residual_of_pairs(A: Operator, values: Array, vectors: Array, norm: float) -> float:
    """Return max ‖Av − λv‖/‖A‖ from a new product."""
    xp = arrays.namespace(vectors)
    difference = A.matmul(vectors) - vectors * arrays.like(values, vectors)[None, :]
    worst = float(xp.max(arrays.column_norms(difference)))
    return worst / norm if norm > 0 else worst


def sign_of_columns(V: Array) -> Array:
    """Return ±1 for each column: the entry of largest magnitude becomes positive, the first one among near ties."""
    xp = arrays.namespace(V)
    size = xp.abs(V)
    top = xp.max(size, axis=0)
    near = arrays.cast(size >= top[None, :] * (1 - 1e-6), np.int64)  # ties differ by rounding between backends
    first = arrays.to_numpy(xp.argmax(near, axis=0))
    host = arrays.to_numpy(V)
    picked = host[first, np.arange(host.shape[1])]
    return arrays.like(np.where(picked < 0, -1.0, 1.0), V, arrays.dtype_of(V))


def fix_signs(V: Array) -> Array:
    """Apply the sign rule to the columns of V.

    >>> import numpy as np
    >>> fix_signs(np.array([[-0.8], [0.6]])).ravel().tolist()
    [0.8, -0.6]
    """
    return V * sign_of_columns(V)
