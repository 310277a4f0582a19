"""Compiled loops over the edges of large graphs; each call runs on one thread."""

from __future__ import annotations

from typing import Any

import numba as nb

from ..core.jit import LOOP


def _fixed(kind: Any) -> Any:
    return nb.types.Array(kind, 1, "C", readonly=True)


STARTS, ENDS, LENGTHS = _fixed(nb.int64), _fixed(nb.int32), _fixed(nb.float64)
GRAPH = (STARTS, ENDS, LENGTHS)
ENDS_OUT, LENGTHS_OUT = nb.int32[::1], nb.float64[::1]


@nb.njit([nb.void(*GRAPH, nb.int64[::1], ENDS_OUT, LENGTHS_OUT)], **LOOP)
def reverse(indptr, indices, distances, heads, ends, lengths):  # type: ignore[no-untyped-def]
    """Write every edge in reverse; ``heads`` are the starts of the new lists and are advanced to their ends."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            at = heads[j]
            ends[at], lengths[at] = i, distances[p]
            heads[j] = at + 1


@nb.njit([nb.void(ENDS_OUT, LENGTHS_OUT, nb.int64, nb.int64)], **LOOP)
def _sift(ends, lengths, root, n):  # type: ignore[no-untyped-def]
    end, d = ends[root], lengths[root]
    while True:
        child = 2 * root + 1
        if child >= n:
            break
        if child + 1 < n and (
            lengths[child + 1] > lengths[child]
            or (lengths[child + 1] == lengths[child] and ends[child + 1] > ends[child])
        ):
            child += 1
        if lengths[child] < d or (lengths[child] == d and ends[child] <= end):
            break
        ends[root], lengths[root] = ends[child], lengths[child]
        root = child
    ends[root], lengths[root] = end, d


@nb.njit([nb.void(STARTS, ENDS_OUT, LENGTHS_OUT, nb.int64, nb.int64)], **LOOP)
def sort_lists(indptr, indices, distances, start, stop):  # type: ignore[no-untyped-def]
    """Sort lists by distance, then number: insertion sort for short lists, heap sort for long ones."""
    for i in range(start, stop):
        ends, lengths = indices[indptr[i] : indptr[i + 1]], distances[indptr[i] : indptr[i + 1]]
        n = len(ends)
        if n <= 48:
            for p in range(1, n):
                end, d, q = ends[p], lengths[p], p
                while q > 0 and (lengths[q - 1] > d or (lengths[q - 1] == d and ends[q - 1] > end)):
                    ends[q], lengths[q] = ends[q - 1], lengths[q - 1]
                    q -= 1
                ends[q], lengths[q] = end, d
            continue
        for root in range(n // 2 - 1, -1, -1):
            _sift(ends, lengths, root, n)
        for last in range(n - 1, 0, -1):
            ends[0], ends[last] = ends[last], ends[0]
            lengths[0], lengths[last] = lengths[last], lengths[0]
            _sift(ends, lengths, 0, last)


@nb.njit([nb.void(*GRAPH, *GRAPH, nb.int64[::1], ENDS_OUT, LENGTHS_OUT, nb.int32[::1], nb.int64, nb.int64)], **LOOP)
def unite(pa, ia, da, pb, ib, db, counts, ends, lengths, seen, start, stop):  # type: ignore[no-untyped-def]
    """Merge two sorted lists of each point; of an edge in both the shorter is kept. ``seen`` starts with −1.

    The list of point i is written from pa[i] + pb[i] on, where there is room for both.
    """
    for i in range(start, stop):
        p, q, at = pa[i], pb[i], pa[i] + pb[i]
        p_end, q_end = pa[i + 1], pb[i + 1]
        while p < p_end or q < q_end:
            first = q == q_end or (p < p_end and (da[p] < db[q] or (da[p] == db[q] and ia[p] <= ib[q])))
            end, d = (ia[p], da[p]) if first else (ib[q], db[q])
            if first:
                p += 1
            else:
                q += 1
            if seen[end] != i:
                seen[end] = i
                ends[at], lengths[at] = end, d
                at += 1
        counts[i] = at - pa[i] - pb[i]


@nb.njit([nb.void(STARTS, ENDS, LENGTHS, STARTS, ENDS_OUT, LENGTHS_OUT, nb.int64, nb.int64)], **LOOP)
def pack(begin, indices, distances, indptr, ends, lengths, start, stop):  # type: ignore[no-untyped-def]
    """Copy lists that begin at any places into one array, one after another."""
    for i in range(start, stop):
        n = indptr[i + 1] - indptr[i]
        for p in range(n):
            ends[indptr[i] + p] = indices[begin[i] + p]
            lengths[indptr[i] + p] = distances[begin[i] + p]
