"""The compiled loop over edges for products with a Laplacian."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np


def _fixed(kind: Any, ndim: int = 1) -> Any:  # memory-mapped rows cannot be written to
    return nb.types.Array(kind, ndim, "C", readonly=True)


_SIGNATURES = [
    nb.void(_fixed(index), _fixed(index), _fixed(nb.float64), _fixed(value, 2), nb.float64[:, ::1], nb.int64)
    for index in (nb.int32, nb.int64)
    for value in (nb.float32, nb.float64)
]


@nb.njit(_SIGNATURES, nogil=True, cache=True)
def differences(indptr, indices, weights, X, out, start):  # type: ignore[no-untyped-def]
    """Fill row i of out with Σ_j w_j (x_p − x_j), p = start + i, over the edges of p.

    With differences a large mean of the rows costs no digits.
    """
    width = X.shape[1]
    for i in range(out.shape[0]):
        p = start + i
        for c in range(width):
            out[i, c] = 0.0
        for e in range(indptr[p], indptr[p + 1]):
            j, w = indices[e], weights[e]
            for c in range(width):
                out[i, c] += w * (np.float64(X[p, c]) - np.float64(X[j, c]))
