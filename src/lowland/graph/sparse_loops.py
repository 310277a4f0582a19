"""The loop over pairs of sparse rows, compiled when first imported and kept on disk. It is one thread's."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

NUMBERS = nb.types.Array(nb.int64, 1, "C", readonly=True)
PLACES = nb.types.Array(nb.int32, 1, "C", readonly=True)
STORED = (PLACES, PLACES, nb.types.Array(nb.float64, 1, "C", readonly=True))  # indptr, indices, data


@nb.njit([nb.void(*STORED, *STORED, NUMBERS, NUMBERS, nb.float64[::1])], **LOOP)
def sparse_distances(indptr, indices, data, x_indptr, x_indices, x_data, i, j, out):  # type: ignore[no-untyped-def]
    """Write the distances of pairs of sparse rows with sorted columns; what neither stores adds nothing."""
    for p in range(len(i)):
        a, last_a = indptr[i[p]], indptr[i[p] + 1]
        b, last_b = x_indptr[j[p]], x_indptr[j[p] + 1]
        total = 0.0
        while a < last_a and b < last_b:
            in_a, in_b = indices[a] <= x_indices[b], x_indices[b] <= indices[a]
            difference = (data[a] if in_a else 0.0) - (x_data[b] if in_b else 0.0)
            total += difference * difference
            a += in_a
            b += in_b
        for q in range(a, last_a):
            total += data[q] * data[q]
        for q in range(b, last_b):
            total += x_data[q] * x_data[q]
        out[p] = np.sqrt(total)
