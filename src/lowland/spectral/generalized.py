"""The generalised problem: argmin tr(BCBᵀ) subject to BDBᵀ = I."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, thread_pool
from ..core.cost import check_allocation
from ..core.errors import SolveError
from ..core.message import Message, Setting
from . import dense
from .factor import SuperLU
from .krylov import lanczos
from .operators import Operator
from .solve import DENSE_LIMIT, sign_of_columns, tolerance

Array = Any


@thread_pool.one_blas_thread()
def generalized_eigen(C: Array, D: Array, k: int, which: str = "smallest") -> tuple[Array, Array]:
    """Return k eigenvalues and vectors of C v = λ D v at one end, vectors with vᵀ D v = 1.

    The rows of the minimiser B of tr(BCBᵀ) under BDBᵀ = I are the vectors of the k smallest values, and the
    minimum is their sum; ``which="largest"`` gives the maximiser.

    Parameters
    ----------
    C : symmetric matrix (NumPy, torch or scipy.sparse).
    D : symmetric positive definite matrix of the same size and kind.
    k : how many pairs.
    which : "smallest" (ascending) or "largest" (descending).

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = generalized_eigen(np.diag([2.0, 12.0]), np.diag([1.0, 4.0]), k=1)
    >>> values.tolist(), vectors.ravel().tolist()
    ([2.0], [1.0, 0.0])

    References
    ----------
    B. N. Parlett, The Symmetric Eigenvalue Problem (1998), chapter 15.
    """
    if which not in ("largest", "smallest"):
        raise ValueError(Message(Setting("which"), f" must be 'largest' or 'smallest'; got {which!r}"))
    n = C.shape[0]
    if C.ndim != 2 or tuple(C.shape) != (n, n) or tuple(D.shape) != (n, n):
        raise ValueError(f"C and D must be square and of one size; got {tuple(C.shape)} and {tuple(D.shape)}")
    if not 1 <= k <= n:
        raise ValueError(f"k must be from 1 to {n}; got {k}")
    if sp.issparse(C) and sp.issparse(D) and n > DENSE_LIMIT and k < n // 5:
        values, vectors = _sparse(sp.csc_array(C).astype(np.float64), sp.csc_array(D).astype(np.float64), k, which)
    else:
        check_allocation(4 * 8 * n * n, f"four dense {n} × {n} matrices", "pass sparse C and D and fewer pairs")
        C, D = (_checked(A.toarray() if sp.issparse(A) else A, name) for A, name in ((C, "C"), (D, "D")))
        if arrays.dtype_of(C) != arrays.dtype_of(D):
            C, D = arrays.cast(C, np.float64), arrays.cast(D, np.float64)
        values, vectors = _dense(C, D, k, which)
    return values, vectors * sign_of_columns(vectors)


def _checked(A: Array, name: str) -> Array:
    """Return A in floating point and exactly symmetric; raise if it is not symmetric or not finite."""
    A = arrays.detached(A) if arrays.is_foreign(A) else np.asarray(A)
    if arrays.dtype_of(A) not in (np.float32, np.float64):
        A = arrays.cast(A, np.float64)
    xp = arrays.namespace(A)
    if not bool(xp.all(xp.isfinite(A))):
        raise ValueError(f"{name} contains NaN or infinity")
    size = float(xp.max(xp.abs(A)))
    skew = float(xp.max(xp.abs(A - arrays.t(A))))
    if skew > 100 * arrays.eps(A) * A.shape[0] * size:
        raise ValueError(
            f"{name} is not symmetric: {name} − {name}ᵀ reaches {skew:.3g}. Only symmetric matrices are supported; "
            "for others use numpy.linalg.eig(C) or scipy.linalg.eig(C, D)"
        )
    return (A + arrays.t(A)) / 2


def _not_definite(detail: str) -> ValueError:
    return ValueError(
        f"D is not positive definite ({detail}), so BDBᵀ = I has no solution in every direction; "
        "reduce both matrices to the range of D first, or add a small multiple of the identity to D"
    )


def _dense(C: Array, D: Array, k: int, which: str) -> tuple[Array, Array]:
    """With D = QΔQᵀ and R = QΔ^(−½), so that RᵀDR = I: solve RᵀCR y = λy and return v = Ry.

    Cholesky would be faster, but the eigenvalues of D show how close it is to singular.
    """
    xp = arrays.namespace(C, D)
    n = C.shape[0]
    d, Q = dense.eigh(D)
    if float(d[0]) <= n * arrays.eps(D) * float(d[-1]):
        raise _not_definite(f"its smallest eigenvalue is {float(d[0]):.3g}, its largest {float(d[-1]):.3g}")
    R = Q / xp.sqrt(d)[None, :]
    M = thread_pool.matmul(arrays.t(R), thread_pool.matmul(C, R))
    M = (M + arrays.t(M)) / 2
    subset = (0, k - 1) if which == "smallest" else (n - k, n - 1)
    values, Y = dense.eigh(M, subset if 5 * k < n else None)
    if 5 * k >= n:
        values, Y = values[subset[0] : subset[1] + 1], Y[:, subset[0] : subset[1] + 1]
    if which == "largest":
        values, Y = xp.flip(values, axis=0), xp.flip(Y, axis=1)
    return values, thread_pool.matmul(R, Y)


def _sparse(C: Any, D: Any, k: int, which: str) -> tuple[Array, Array]:
    """Reduce to one matrix by D = GGᵀ: v = G⁻ᵀy with G⁻¹CG⁻ᵀ y = λy, solved by block Lanczos.

    The small end of a semidefinite C is found by shift and invert just below zero: Gᵀ(C − σD)⁻¹G y = y/(λ − σ). One
    more solve and a Rayleigh–Ritz step with C and D then restore the digits lost in a large inverse.
    """
    n = C.shape[0]
    for name, A in (("C", C), ("D", D)):
        if not np.isfinite(A.data).all():
            raise ValueError(f"{name} contains NaN or infinity")
        skew = abs(A - A.T)
        if skew.nnz and skew.max() > 1e-10 * abs(A).max():
            raise ValueError(
                f"{name} is not symmetric: {name} − {name}ᵀ reaches {skew.max():.3g}. Only symmetric matrices are "
                "supported; for others use numpy.linalg.eig(C) or scipy.linalg.eig(C, D)"
            )
    G = _root(D)
    margin = C.diagonal() - (abs(C).sum(axis=1) - abs(C.diagonal()))  # Gershgorin: all ≥ 0 means semidefinite
    rng = np.random.default_rng(0)
    if which == "smallest" and margin.min() >= -1e-12 * abs(C).max():
        shift = -1e-8 * abs(C).sum(axis=1).max() / abs(D).sum(axis=1).max()
        factor = SuperLU(C - shift * D)
        found = lanczos(_Product(n, G.T.__matmul__, factor.solve, G.__matmul__), k, largest=True, tol=1e-13, rng=rng)
        V = factor.solve(G @ found.right)
    else:
        root = _Triangular(G)
        inner = _Product(n, root.solve, C.__matmul__, root.solve_transposed)
        found = lanczos(inner, k, largest=which == "largest", tol=tolerance(inner), rng=rng)
        V = root.solve_transposed(found.right)
    if not found.converged:
        raise SolveError(
            f"the {k} {which} eigenvalues did not converge in {found.products} blocks: they are too close to others; "
            "use fewer, or pass dense C and D"
        )
    V = V / np.sqrt(np.einsum("ij,ij->j", V, D @ V))
    values, Y = _dense(V.T @ (C @ V), V.T @ (D @ V), k, which)
    return values, V @ Y


def _root(D: Any) -> Any:
    """Return the sparse G of D = GGᵀ, by SuperLU without pivoting: D = Pᵀ L diag(u) Lᵀ P."""
    from scipy.sparse.linalg import splu

    try:
        lu = splu(D, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:
        raise _not_definite(str(error)) from None
    pivots = lu.U.diagonal()
    if pivots.min() <= D.shape[0] * np.finfo(np.float64).eps * pivots.max():
        raise _not_definite(f"the pivots of its factor range from {pivots.min():.3g} to {pivots.max():.3g}")
    return sp.csr_array(lu.L[lu.perm_r] @ sp.diags_array(np.sqrt(pivots)))


class _Triangular:
    """Solves with a lower triangular matrix whose rows are permuted."""

    def __init__(self, G: Any) -> None:
        from scipy.sparse.linalg import splu

        # The last entry of a row of L is its diagonal: sorting rows by it undoes the permutation.
        last = np.maximum.reduceat(G.indices, G.indptr[:-1])
        self.order = np.argsort(last)
        options = {"Equil": False, "SymmetricMode": True}
        self.lu = splu(sp.csc_array(G[self.order]), permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options)

    def solve(self, B: Array) -> Array:
        """Return G⁻¹ B."""
        return np.asarray(self.lu.solve(np.ascontiguousarray(B[self.order])))

    def solve_transposed(self, B: Array) -> Array:
        """Return G⁻ᵀ B."""
        out = np.empty_like(B)
        out[self.order] = self.lu.solve(np.ascontiguousarray(B), trans="T")
        return out


class _Product(Operator):
    """A symmetric product of maps; the last one is applied first."""

    symmetric = True

    def __init__(self, n: int, *maps: Callable[[Array], Array]) -> None:
        self.shape, self.maps = (n, n), maps

    def matmul(self, V: Array) -> Array:
        """Return the product with V."""
        for step in reversed(self.maps):
            V = step(V)
        return np.asarray(V)
