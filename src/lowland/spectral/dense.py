"""LAPACK, through NumPy, SciPy or the array library of the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import arrays, thread_pool

Array = Any

_LEAST_ENTRY, _LARGEST_ENTRY = 1e-70, 1e70  # of a matrix that needs no scaling


def eigh(
    A: Array, subset: tuple[int, int] | None = None, enough: Callable[[Array], int] | None = None
) -> tuple[Array, Array]:
    """Return eigenvalues in ascending order and eigenvectors of a symmetric matrix.

    ``subset`` = (first, last), counted from the smallest and both included. Of a subset, ``enough`` may say from the
    values how many vectors are wanted, those of the largest; more may be returned.
    """
    if arrays.is_foreign(A):
        values, vectors = arrays.namespace(A).linalg.eigh(A)
        chosen = slice(None) if subset is None else slice(subset[0], subset[1] + 1)
        return values[chosen], vectors[:, chosen]
    import scipy.linalg

    with thread_pool.one_blas_thread():
        found = None if subset is None else _some_pairs(A, *subset, enough)
        if found is not None:
            return found
        try:
            values, vectors = scipy.linalg.eigh(A, check_finite=False, driver="evd")
        except np.linalg.LinAlgError:
            # Divide and conquer fails for some clusters of many equal values; QR iteration is slower but does not.
            values, vectors = scipy.linalg.eigh(A, driver="ev")
    chosen = slice(None) if subset is None else slice(subset[0], subset[1] + 1)
    return values[chosen], vectors[:, chosen]


def _some_pairs(A: Array, first: int, last: int, enough: Callable[[Array], int] | None) -> tuple[Array, Array] | None:
    """Return the pairs ``first`` to ``last`` by inverse iteration on a tridiagonal form; None where it may fail.

    LAPACK's driver for some pairs (syevr) does the same, but finds their values by bisection, which takes longer than
    all of them by QL iteration, and returns fewer pairs than were asked for among many equal values. Entries near the
    limits of the floating point numbers need to be scaled first: they are left to the solver of all pairs.
    """
    from scipy.linalg import lapack

    n = len(A)
    size = float(np.max(np.abs(A))) if A.dtype == np.float64 and n > 2 else 0.0
    if not _LEAST_ENTRY < size < _LARGEST_ENTRY:
        return None
    columns = A.T if A.flags.c_contiguous else A  # Fortran's order, the same matrix
    form, d, e, tau, failed = lapack.dsytrd(columns, lower=1, lwork=int(lapack.dsytrd_lwork(n, lower=1)[0]))
    if failed:
        return None
    # Where an entry beside the diagonal is rounding, the form splits into blocks with pairs of their own.
    small = np.abs(e) <= np.finfo(np.float64).eps * np.sqrt(np.abs(d[:-1])) * np.sqrt(np.abs(d[1:]))
    ends = np.append(np.flatnonzero(small) + 1, n)
    starts = np.append(0, ends[:-1])
    values = d.copy()
    for start, end in zip(starts[ends > starts + 1], ends[ends > starts + 1], strict=True):
        values[start:end], failed = lapack.dsterf(d[start:end], e[start : end - 1])
        if failed:
            return None
    order = np.argsort(values, kind="stable")[first : last + 1]
    ascending = values[order]
    wanted = len(order) if enough is None else min(max(enough(ascending), 1), len(order))
    chosen = np.sort(order[-wanted:])  # by blocks, ascending in each
    block = np.repeat(np.arange(1, len(ends) + 1), ends - starts)
    splits = np.zeros(n, dtype=np.int32)
    splits[: len(ends)] = ends
    blocks = np.ones(n, dtype=np.int32)
    blocks[: len(chosen)] = block[chosen]
    vectors, failed = lapack.dstein(d, e, values[chosen], blocks, splits)
    if failed:
        return None
    # QL iteration rounds more often than the vectors do: the quotients zᵀTz are closer.
    picked = d @ (vectors * vectors) + 2 * (e @ (vectors[:-1] * vectors[1:]))
    # The reflectors begin one row below the diagonal: the same memory from the second entry on, with n rows.
    reflectors = form.T.reshape(-1)[1 : 1 + n * (n - 1)].reshape(n - 1, n).T
    lwork = int(lapack.dormqr("L", "N", reflectors, tau, vectors[1:], lwork=-1)[1][0])
    vectors[1:], _, failed = lapack.dormqr("L", "N", reflectors, tau, vectors[1:], lwork=lwork)
    if failed:
        return None
    order = np.argsort(picked, kind="stable")
    ascending[-wanted:] = picked[order]
    ordered = bool((order == np.arange(len(order))).all())
    return ascending, vectors if ordered else vectors[:, order]


def eigh_batch(A: Array) -> tuple[Array, Array]:
    """Return eigenvalues in ascending order (B × k) and eigenvectors of many small symmetric matrices (B × k × k)."""
    with thread_pool.one_blas_thread():
        values, V = np.linalg.eigh(A)
    return values, V


def eigvalsh_batch(A: Array) -> Array:
    """Return the eigenvalues, in ascending order (B × k), of many small symmetric matrices (B × k × k)."""
    with thread_pool.one_blas_thread():
        return np.linalg.eigvalsh(A)


def svd(A: Array) -> tuple[Array, Array, Array]:
    """Return U, σ (descending) and V of the thin decomposition A = U diag(σ) Vᵀ."""
    xp = arrays.namespace(A)
    with thread_pool.one_blas_thread():
        try:
            U, s, Vt = xp.linalg.svd(A, full_matrices=False)
        except np.linalg.LinAlgError:  # of NumPy arrays: divide and conquer, as in `eigh`
            import scipy.linalg

            U, s, Vt = scipy.linalg.svd(A, full_matrices=False, lapack_driver="gesvd")
    return U, s, arrays.t(Vt)


def orthonormal(W: Array, rounds: int = 2) -> tuple[Array, Array]:
    """Return Q and R of W = QR; tall blocks by Cholesky QR, done twice, if their columns are well conditioned.

    Cholesky of the small Gram matrix needs a few products on all threads, while LAPACK processes W column by column; a
    second round makes Q orthonormal to rounding (Yamamoto, Nakatsukasa, Yanagisawa, Fukaya 2015). After one round QᵀQ
    is within about 1e-12 of the identity.
    """
    xp = arrays.namespace(W)
    if W.shape[0] >= 2000 and W.shape[0] > 20 * W.shape[1]:
        lengths = arrays.column_norms(W)
        first = _cholesky_qr(W, lengths, 1e-3) if float(xp.min(lengths)) > 0 else None
        if first is not None and rounds == 1:
            return first
        second = None if first is None else _cholesky_qr(first[0], xp.ones_like(lengths), 0.5)
        if first is not None and second is not None:
            return second[0], second[1] @ first[1]
    with thread_pool.one_blas_thread():
        Q, R = xp.linalg.qr(W)
    return Q, R


def orthonormal_near(W: Array, lengths: Array) -> tuple[Array, Array]:
    """Return Q and R of a tall W whose columns are nearly orthogonal, of about these lengths: one round suffices."""
    scale = arrays.like(lengths, W, np.float64)
    near = _cholesky_qr(W, scale, 0.25) if float(arrays.namespace(W).min(scale)) > 0 else None
    return orthonormal(W) if near is None else near


def _cholesky_qr(W: Array, lengths: Array, least: float) -> tuple[Array, Array] | None:
    """Return Q and R by Cholesky of the scaled columns' Gram matrix; None if an eigenvalue of it is below least."""
    xp = arrays.namespace(W)
    Z = W / lengths[None, :]
    with thread_pool.one_blas_thread():
        G = thread_pool.tmatmul(Z, Z)
        if not float(xp.linalg.eigvalsh(G)[0]) >= least:
            return None
        L = xp.linalg.cholesky(G)
        return thread_pool.matmul(Z, arrays.t(xp.linalg.inv(L))), arrays.t(L) * lengths[None, :]
