"""Loops of `leave_out`, compiled when first imported and cached on disk. Each runs in one thread."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP
from .ranks_loops import NUMBERS, PLACES, TABLE, WHOLE

FLAT, COUNTS = nb.boolean[::1], nb.int64[:, ::1]


@nb.njit([nb.void(WHOLE, WHOLE, NUMBERS, NUMBERS, nb.int64, WHOLE, NUMBERS)], **LOOP)
def nearest_first(less, equal, fold, own, k, order, length):  # type: ignore[no-untyped-def]
    """Sort the points of each row by rank, and count how many are needed for k neighbours without any one fold.

    The count includes whole groups of tied points; ``own`` is the fold of the row's own point, which is not left out.
    """
    n = less.shape[1]
    filled, kept = np.empty(n, np.int64), np.empty(fold.max() + 1, np.int64)
    for i in range(less.shape[0]):
        filled[:] = 0
        for j in range(n):
            if equal[i, j] > 0:
                a = less[i, j]
                order[i, a + filled[a]] = j
                filled[a] += 1
        kept[:] = 0
        end = 0
        while end < n - 1:
            last = end + equal[i, order[i, end]]
            for p in range(end, last):
                kept[fold[order[i, p]]] += 1
            end = last
            most = 0
            for f in range(len(kept)):
                if f != own[i]:
                    most = max(most, kept[f])
            if end - most >= k:
                break
        length[i] = end


@nb.njit([nb.void(WHOLE, WHOLE, WHOLE, NUMBERS, NUMBERS, NUMBERS, COUNTS, COUNTS)], **LOOP)
def ranks_by_fold(less, equal, order, fold, start, points, nearer, level):  # type: ignore[no-untyped-def]
    """Count, for each listed point, the nearer and the equally distant points of each fold, in one pass per row."""
    seen = np.empty(nearer.shape[0], np.int64)
    for i in range(less.shape[0]):
        asked = np.arange(start[i], start[i + 1])
        places = np.empty(len(asked), np.int64)
        for q in range(len(asked)):
            places[q] = less[i, points[asked[q]]]
        seen[:] = 0
        p = 0
        for q in np.argsort(places):
            c, j = asked[q], points[asked[q]]
            while p < less[i, j]:
                seen[fold[order[i, p]]] += 1
                p += 1
            nearer[:, c] = seen
            for r in range(p, p + equal[i, j]):
                level[fold[order[i, r]], c] += 1


@nb.njit([nb.void(NUMBERS, FLAT, NUMBERS, NUMBERS, COUNTS, COUNTS, NUMBERS, TABLE, FLAT)], **LOOP)
def add_ranks(start, first, fold, own, nearer, level, counts, out, enough):  # type: ignore[no-untyped-def]
    """Add up max(0, rank − k) over the k nearest of each row: with all points, then without each fold.

    The lists are sorted; ``first`` marks the start of a group of ties; ``fold`` is the fold of each listed point;
    ``nearer`` and ``level`` are counts on the other side, by fold. ``enough`` is False for lists too short for a fold.
    """
    folds = nearer.shape[0]
    for i in range(len(own)):
        begin, end = start[i], start[i + 1]
        a, h = np.zeros(end - begin, np.int64), np.zeros(end - begin, np.int64)
        for f in range(folds):
            for p in range(begin, end):
                a[p - begin] += nearer[f, p]
                h[p - begin] += level[f, p]
        for c in range(folds + 1):
            left, k = c - 1, counts[c]
            if left == own[i]:
                out[i, c] = np.nan
                continue
            total, seen, p = 0.0, 0, begin
            while p < end and seen < k:
                q, tied = p, 0
                while q < end and (q == p or not first[q]):
                    if fold[q] != left:
                        tied += 1
                    q += 1
                share = min(1.0, (k - seen) / tied) if tied else 0.0
                for r in range(p, q):
                    if fold[r] != left:
                        less, equal = a[r - begin], h[r - begin]
                        if left >= 0:
                            less, equal = less - nearer[left, r], equal - level[left, r]
                        low, high = max(less + 1 - k, 1), less + equal - k
                        if high >= low:
                            total += share * ((high - low + 1) * (low + high) / (2.0 * equal))
                seen += tied
                p = q
            out[i, c] = total
            enough[i] = enough[i] and seen >= k


@nb.njit([nb.int64[::1](FLAT, PLACES, FLAT, nb.int16[::1], nb.int16[::1], nb.int64)], **LOOP)
def rank_products(first, other, other_first, i, j, left):  # type: ignore[no-untyped-def]
    """Return Σ ab, Σ a² and Σ b² over the pairs without a fold, where a and b are twice the centred ranks.

    Pairs are sorted by a, with the folds i and j of their points; ``other`` is their order by b. Ties get the mean of
    their ranks; doubled ranks are whole numbers, so the sums are exact.
    """
    n = len(first)
    kept, ranks = np.empty(n, np.uint8), np.empty(n, np.int32)
    total = 0
    for p in range(n):
        kept[p] = (i[p] != left) & (j[p] != left)
        total += kept[p]
    out = np.zeros(3, np.int64)
    seen, begin = np.int64(0), 0
    while begin < n:
        end, tied = begin, np.int64(0)
        while end < n and (end == begin or not first[end]):
            tied += np.int64(kept[end])
            end += 1
        rank = 2 * seen + tied - total
        out[1] += tied * rank * rank
        ranks[begin:end] = rank
        seen += tied
        begin = end
    seen, begin = np.int64(0), 0
    while begin < n:
        end, tied, added = begin, np.int64(0), np.int64(0)
        while end < n and (end == begin or not other_first[end]):
            here = np.int64(kept[other[end]])
            tied += here
            added += here * ranks[other[end]]
            end += 1
        rank = 2 * seen + tied - total
        out[2] += tied * rank * rank
        out[0] += added * rank
        seen += tied
        begin = end
    return out
