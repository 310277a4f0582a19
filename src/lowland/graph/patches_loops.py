"""Compiled loops that add the forms of all patches to a sparse matrix.

They fill and sort arrays by loops of their own: NumPy's `full` and `sort` would take as long to compile as the rest.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

_LONG, _INT, _REAL = nb.int64[::1], nb.int32[::1], nb.float64[::1]


@nb.njit(nb.void(_INT), **LOOP)
def sort(numbers):  # type: ignore[no-untyped-def]
    """Sort in place, ascending (Shell 1959): as fast as quicksort on up to 100 numbers, which rows seldom exceed."""
    gap = 1
    while gap < len(numbers) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(numbers)):
            number, j = numbers[i], i
            while j >= gap and numbers[j - gap] > number:
                numbers[j] = numbers[j - gap]
                j -= gap
            numbers[j] = number
        gap //= 3


@nb.njit(nb.void(_LONG, _INT, _LONG, _LONG, _LONG, nb.int64, nb.int64), **LOOP)
def count_rows(indptr, members, first, patch, counts, start, stop):  # type: ignore[no-untyped-def]
    """Count the points that share a patch with each row from start to stop.

    Row a is in the patches ``patch[first[a]:first[a + 1]]``.
    """
    seen = np.empty(len(counts), np.int32)
    for b in range(len(seen)):
        seen[b] = -1
    for a in range(start, stop):
        count = 0
        for t in range(first[a], first[a + 1]):
            p = patch[t]
            for q in range(indptr[p], indptr[p + 1]):
                if seen[members[q]] != a:
                    seen[members[q]] = a
                    count += 1
        counts[a] = count


_SUM = nb.void(
    _LONG, _INT, _LONG, _LONG, _LONG, nb.float64[:, ::1], nb.boolean, _LONG, _INT, _REAL, nb.int64, nb.int64
)  # fmt: skip


@nb.njit(_SUM, **LOOP)
def add_rows(  # type: ignore[no-untyped-def]
    indptr, members, first, patch, place, F, complement, out_indptr, out_indices, out_data, start, stop
):
    """Write the rows from start to stop of Σ_i S_i F_i F_iᵀ S_iᵀ, or with I − F_i F_iᵀ, columns ascending."""
    n, width = len(out_indptr) - 1, F.shape[1]
    seen, total = np.empty(n, np.int32), np.empty(n)
    for b in range(n):
        seen[b] = -1
    sign = -1.0 if complement else 1.0
    for a in range(start, stop):
        columns = out_indices[out_indptr[a] : out_indptr[a + 1]]
        count = 0
        for t in range(first[a], first[a + 1]):
            p, here = patch[t], place[t]
            for q in range(indptr[p], indptr[p + 1]):
                b, value = members[q], 0.0
                for c in range(width):
                    value += F[here, c] * F[q, c]
                value *= sign
                if complement and q == here:
                    value += 1.0
                if seen[b] == a:
                    total[b] += value
                else:
                    seen[b], total[b] = a, value
                    columns[count] = b
                    count += 1
        sort(columns)
        for t in range(count):
            out_data[out_indptr[a] + t] = total[columns[t]]
