"""Compiled loops of the searches; each call runs on one thread."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

TABLES = [nb.types.Array(kind, 2, "C", readonly=True) for kind in (nb.float32, nb.float64)]
NUMBERS = nb.types.Array(nb.int64, 1, "C", readonly=True)


@nb.njit([nb.void(T, T, NUMBERS, NUMBERS, nb.float64[::1]) for T in TABLES], **LOOP)
def pair_distances(A, X, i, j, out):  # type: ignore[no-untyped-def]
    """Write ‖A[i] − X[j]‖ for pairs of rows; four pairs are summed together, since additions of one sum are sequential.

    A sum adds the columns in order and is not contracted to fused operations, to give the same bits as NumPy. With
    60,000 columns this took 0.45 ns an entry, one pair at a time 1.0 ns.
    """
    whole = len(i) - len(i) % 4
    for p in range(0, whole, 4):
        a0, a1, a2, a3 = A[i[p]], A[i[p + 1]], A[i[p + 2]], A[i[p + 3]]
        b0, b1, b2, b3 = X[j[p]], X[j[p + 1]], X[j[p + 2]], X[j[p + 3]]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for c in range(A.shape[1]):
            d0 = np.float64(a0[c]) - np.float64(b0[c])
            d1 = np.float64(a1[c]) - np.float64(b1[c])
            d2 = np.float64(a2[c]) - np.float64(b2[c])
            d3 = np.float64(a3[c]) - np.float64(b3[c])
            t0 += d0 * d0
            t1 += d1 * d1
            t2 += d2 * d2
            t3 += d3 * d3
        out[p], out[p + 1], out[p + 2], out[p + 3] = np.sqrt(t0), np.sqrt(t1), np.sqrt(t2), np.sqrt(t3)
    for p in range(whole, len(i)):
        a, b, total = A[i[p]], X[j[p]], 0.0
        for c in range(A.shape[1]):
            difference = np.float64(a[c]) - np.float64(b[c])
            total += difference * difference
        out[p] = np.sqrt(total)


KINDS, PLACES = (nb.float32, nb.float64), nb.int32[:, ::1]
TAKING = [nb.void(T[:, ::1], T[::1], T[:, ::1], PLACES, nb.int64, nb.int64) for T in KINDS]
_GROUP = 32  # values tested at once against their thresholds


@nb.njit([nb.void(T[::1], nb.int32[::1], T, nb.int32) for T in KINDS], inline="always", **LOOP)
def _replace(heap, place, score, number):  # type: ignore[no-untyped-def]
    """Replace the worst score of a heap, its root, by a better one."""
    m, at = len(heap), 0
    while True:
        child = 2 * at + 1
        if child >= m:
            break
        if child + 1 < m and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= score:
            break
        heap[at], place[at] = heap[child], place[child]
        at = child
    heap[at], place[at] = score, number


@nb.njit([nb.int32(T[::1], T[::1], T) for T in KINDS], inline="always", **LOOP)
def _hits(line, others, least):  # type: ignore[no-untyped-def]
    """Count the scores that beat the lesser of two thresholds; the loop has no branches, so that it is vectorised."""
    hits = np.int32(0)
    for j in range(len(line)):
        other = others[j]
        threshold = other if other < least else least
        hits += np.int32(1) if line[j] > threshold else np.int32(0)
    return hits


@nb.njit(TAKING, **LOOP)
def take_both(S, worst, heaps, places, a, b):  # type: ignore[no-untyped-def]
    """Offer the scores of the points a, a + 1, … (rows) with the points b, b + 1, … (columns) to the lists of both.

    ``worst`` holds the root of each heap. Nearly all scores pass neither list: whole groups are tested at once.
    """
    rows, columns = S.shape
    whole = columns - columns % _GROUP
    others = worst[b : b + columns]
    for i in range(rows):
        line, mine = S[i], a + i
        least = worst[mine]
        for start in range(0, columns, _GROUP):
            stop = min(start + _GROUP, columns)
            if start < whole and _hits(line[start:stop], others[start:stop], least) == 0:
                continue
            for j in range(start, stop):
                score = line[j]
                if score > least:
                    _replace(heaps[mine], places[mine], score, np.int32(b + j))
                    least = heaps[mine, 0]
                if score > others[j]:
                    _replace(heaps[b + j], places[b + j], score, np.int32(mine))
                    others[j] = heaps[b + j, 0]
        worst[mine] = least


@nb.njit(TAKING, **LOOP)
def take_rows(S, worst, heaps, places, a, b):  # type: ignore[no-untyped-def]
    """Offer the scores of the rows a, a + 1, … with the points b, b + 1, … to the lists of the rows."""
    rows, columns = S.shape
    whole = columns - columns % _GROUP
    for i in range(rows):
        line, mine = S[i], a + i
        least = worst[mine]
        for start in range(0, columns, _GROUP):
            stop = min(start + _GROUP, columns)
            if start < whole and _hits(line[start:stop], line[start:stop], least) == 0:
                continue
            for j in range(start, stop):
                if line[j] > least:
                    _replace(heaps[mine], places[mine], line[j], np.int32(b + j))
                    least = heaps[mine, 0]
        worst[mine] = least
