"""The loops over a sorted list of pairs behind nonmetric MDS, compiled when first imported and kept on disk."""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import FAST_SUMS
from .stress_loops import FIXED, LINE, PLANE, TINY

_INDEX = nb.int32[::1]


@nb.njit(nb.int64(LINE, nb.int64, nb.float64), **FAST_SUMS)
def level_end(ranked, start, share):  # type: ignore[no-untyped-def]
    """Return where the level ends that begins at ``start``: its values are within a share of the first, no chain."""
    stop, limit = start + 1, ranked[start] + share * ranked[start]
    while stop < len(ranked) and ranked[stop] <= limit:
        stop += 1
    return stop


@nb.njit(nb.void(LINE, nb.float64, nb.int64[::1]), **FAST_SUMS)
def number_levels(ranked, share, level):  # type: ignore[no-untyped-def]
    """Write the number of each sorted value's level."""
    start, count = 0, 0
    while start < len(ranked):
        stop = level_end(ranked, start, share)
        level[start:stop] = count
        start, count = stop, count + 1


@nb.njit(nb.void(LINE, nb.int64[::1], nb.float64, LINE), **FAST_SUMS)
def mean_ranks(ranked, order, share, out):  # type: ignore[no-untyped-def]
    """Write the ranks of sorted values, less their mean, to the places of ``order``; a level shares the mean of its."""
    start, center = 0, (len(ranked) - 1) / 2.0
    while start < len(ranked):
        stop = level_end(ranked, start, share)
        for i in range(start, stop):
            out[order[i]] = (start + stop - 1) / 2.0 - center
        start = stop


@nb.njit(nb.void(FIXED, _INDEX, _INDEX, LINE, nb.int64, nb.int64), **FAST_SUMS)
def pair_distances(X, first, second, d, start, stop):  # type: ignore[no-untyped-def]
    """Write the distances of the pairs (first, second) of rows of X."""
    k = X.shape[1]
    for p in range(start, stop):
        total = 0.0
        for c in range(k):
            total += (X[first[p], c] - X[second[p], c]) ** 2
        d[p] = np.sqrt(total)


@nb.njit(nb.void(FIXED, _INDEX, _INDEX, LINE, LINE, PLANE, nb.int64, nb.int64), **FAST_SUMS)
def pair_pulls(X, first, second, d, target, B, start, stop):  # type: ignore[no-untyped-def]
    """Add Σ_j (target/d)(x_i − x_j) to each row of B."""
    k = X.shape[1]
    for p in range(start, stop):
        r = target[p] / (d[p] + TINY)
        for c in range(k):
            v = r * (X[first[p], c] - X[second[p], c])
            B[first[p], c] += v
            B[second[p], c] -= v


@nb.njit(nb.void(LINE, nb.int64[::1], nb.int64[::1]), **FAST_SUMS)
def sort_ties(d, place, edges):  # type: ignore[no-untyped-def]
    """Put each stretch of ``place`` between two edges in the order of d; quick where it nearly is (Shell's sort)."""
    for b in range(len(edges) - 1):
        block = place[edges[b] : edges[b + 1]]
        n = len(block)
        gap = 1
        while gap < n // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, n):
                item, j = block[i], i
                while j >= gap and d[block[j - gap]] > d[item]:
                    block[j] = block[j - gap]
                    j -= gap
                block[j] = item
            gap //= 3
