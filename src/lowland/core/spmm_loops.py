"""The loop of products of sparse matrices with a dense result, compiled at first import and cached on disk."""

from __future__ import annotations

import numba as nb

from .jit import LOOP

_PLACES = nb.types.Array(nb.int32, 1, "C", readonly=True)
_VALUES = nb.types.Array(nb.float64, 1, "C", readonly=True)
_MATRIX = (_PLACES, _PLACES, _VALUES)  # indptr, indices, data


@nb.njit([nb.void(*_MATRIX, *_MATRIX, nb.float64[:, ::1])], **LOOP)
def add_products(a_indptr, a_rows, a_data, indptr, indices, data, out):  # type: ignore[no-untyped-def]
    """Add the product of two sparse matrices, the left one given by its columns, the right one by its rows.

    Column by column took 0.4 of the time of row by row, which reads the right matrix once for every row of the left.
    """
    for c in range(len(indptr) - 1):
        first, last = indptr[c], indptr[c + 1]
        for p in range(a_indptr[c], a_indptr[c + 1]):
            line, value = out[a_rows[p]], a_data[p]
            for q in range(first, last):
                line[indices[q]] += value * data[q]
