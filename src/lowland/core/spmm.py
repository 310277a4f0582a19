"""Products of sparse matrices on all threads; SciPy uses one core, and keeps dense results sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import thread_pool

_SCIPY_BELOW = 4_000_000  # multiplications below which SciPy is faster than importing numba
_EACH = 8  # multiplications per column below which SciPy is faster than a loop over all columns
_ROWS_AT_ONCE = 64  # rows of a dense result computed at a time: they stay in the cache
_kernel: Any = None


def _compile() -> Any:
    """Compile the loop on first use; numba caches it on disk."""
    global _kernel
    if _kernel is not None:
        return _kernel
    import numba as nb

    def fixed(kind: Any, ndim: int = 1) -> Any:  # memory-mapped matrices cannot be written to
        return nb.types.Array(kind, ndim, "C", readonly=True)

    signatures = [
        nb.void(
            fixed(index),
            fixed(index),
            fixed(value),
            fixed(nb.float64, 2),
            nb.float64[:, ::1],
            nb.int64,
            nb.int64,
        )
        for index in (nb.int32, nb.int64)
        for value in (nb.float32, nb.float64)
    ]

    @nb.njit(signatures, nogil=True, cache=True)
    def rows_times(indptr, indices, data, V, out, start, stop):  # type: ignore[no-untyped-def]
        width = V.shape[1]
        for i in range(start, stop):
            for c in range(width):
                out[i, c] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                value = np.float64(data[p])
                for c in range(width):
                    out[i, c] += value * V[j, c]

    _kernel = rows_times
    return _kernel


def spmm(A: sp.csr_array, V: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return A @ V in float64; one thread sums each row in storage order, so results do not depend on threads."""
    if A.nnz * V.shape[1] < _SCIPY_BELOW:
        return np.asarray(A @ V, dtype=np.float64)
    kernel = _compile()
    V = np.ascontiguousarray(V, dtype=np.float64)
    out = np.empty((A.shape[0], V.shape[1]))
    cuts = np.searchsorted(A.indptr, np.linspace(0, A.nnz, 33)[1:-1])  # tasks of equal work
    edges = np.unique(np.concatenate(([0], cuts, [A.shape[0]])))

    def piece(i: int) -> None:
        kernel(A.indptr, A.indices, A.data, V, out, int(edges[i]), int(edges[i + 1]))

    for _ in thread_pool.run(piece, range(len(edges) - 1)):
        pass
    return out


def outer(A: sp.csr_array, T: sp.csr_array) -> np.ndarray[Any, Any]:
    """Return A @ T, float64 both, as a dense array.

    A column of A and its row of T are read once for `_ROWS_AT_ONCE` rows. Every entry is summed in the order of the
    columns of A, as SciPy does, by one thread: the bits are the same.

    >>> A = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    >>> outer(A, A.T.tocsr()).tolist()
    [[5.0, 0.0], [0.0, 9.0]]
    """
    work = int(np.bincount(A.indices, minlength=A.shape[1]) @ np.diff(T.indptr))  # multiplications
    short = all(X.indices.dtype == X.indptr.dtype == np.int32 for X in (A, T))  # they are, up to 2³¹ entries
    if work < max(_SCIPY_BELOW, _EACH * A.shape[1]) or not short:
        return np.asarray((A @ T).toarray())
    from .spmm_loops import add_products

    out = np.zeros((A.shape[0], T.shape[1]))

    def part(start: int) -> None:
        rows = A[start : start + _ROWS_AT_ONCE].T.tocsr()
        add_products(
            rows.indptr, rows.indices, rows.data, T.indptr, T.indices, T.data, out[start : start + _ROWS_AT_ONCE]
        )

    for _ in thread_pool.run(part, range(0, A.shape[0], _ROWS_AT_ONCE)):
        pass
    return out
