"""LAPACK, through NumPy, SciPy or the array library of the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import arrays, pool

Array = Any


def eigh(A: Array, subset: tuple[int, int] | None = None) -> tuple[Array, Array]:
    """Return eigenvalues in ascending order and eigenvectors of a symmetric matrix.

    ``subset`` = (first, last), counted from the smallest and both included.
    """
    if arrays.is_foreign(A):
        values, vectors = arrays.namespace(A).linalg.eigh(A)
        chosen = slice(None) if subset is None else slice(subset[0], subset[1] + 1)
        return values[chosen], vectors[:, chosen]
    import scipy.linalg

    with pool.one_blas_thread():
        values, vectors = scipy.linalg.eigh(
            A, check_finite=False, subset_by_index=subset, driver="evd" if subset is None else "evr"
        )
    return values, vectors


def svd(A: Array) -> tuple[Array, Array, Array]:
    """Return U, σ (descending) and V of the thin decomposition A = U diag(σ) Vᵀ."""
    xp = arrays.namespace(A)
    with pool.one_blas_thread():
        U, s, Vt = xp.linalg.svd(A, full_matrices=False)
    return U, s, arrays.t(Vt)


def orthonormal(W: Array) -> tuple[Array, Array]:
    """Return Q and R of W = QR."""
    with pool.one_blas_thread():
        Q, R = arrays.namespace(W).linalg.qr(W)
    return Q, R


def orthonormal_near(W: Array, lengths: Array) -> tuple[Array, Array]:
    """Return Q and R of a tall W whose columns are nearly orthogonal, of about the given lengths.

    Divided by their lengths the columns are nearly orthonormal, so Cholesky of their small Gram matrix is stable
    and costs a few products where QR would go over W column by column; where they turn out dependent, QR it is.
    """
    if not np.min(lengths) > 0:
        return orthonormal(W)
    xp = arrays.namespace(W)
    scale = arrays.like(lengths, W, np.float64)
    Z = W / scale[None, :]
    G = pool.tmatmul(Z, Z)
    values = xp.linalg.eigvalsh(G)
    if not float(values[0]) > 0.25:
        return orthonormal(W)
    L = xp.linalg.cholesky(G)
    Q = pool.matmul(Z, arrays.t(xp.linalg.inv(L)))
    return Q, arrays.t(L) * scale[None, :]
