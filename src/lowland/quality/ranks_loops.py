"""Loops of `ranks`, compiled when first imported and cached on disk. Each runs in one thread."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

KINDS = (nb.float32, nb.float64)
PLACES, NUMBERS, VALUES = nb.int32[::1], nb.int64[::1], nb.float64[::1]
WHOLE, TABLE, FLAGS = nb.int32[:, ::1], nb.float64[:, ::1], nb.boolean[:, ::1]
_GROUP = 64  # marks tested at once: most are not set
_DIGIT = 2047  # largest digit of a sort key
_LARGEST = 4294967040.0  # below 2³² by more than rounding
_FEW_KEYS = 2048  # with fewer values sorting by comparison is faster


@nb.njit([nb.types.UniTuple(nb.int32, 2)(T[::1], T, T) for T in KINDS], inline="always", **LOOP)
def _above(line, near, far):  # type: ignore[no-untyped-def]
    """Count the scores above ``near`` and those of at least ``far``; the loop is vectorised."""
    sure, perhaps = np.int32(0), np.int32(0)
    for j in range(len(line)):
        score = line[j]
        sure += np.int32(1) if score > near else np.int32(0)
        perhaps += np.int32(1) if score >= far else np.int32(0)
    return sure, perhaps


@nb.njit([nb.void(T[::1], T, T, nb.uint8[::1]) for T in KINDS], inline="always", **LOOP)
def _mark(line, near, far, marks):  # type: ignore[no-untyped-def]
    """Mark the scores between two limits."""
    for j in range(len(line)):
        score = line[j]
        marks[j] |= np.uint8(1) if (score >= far) & (score <= near) else np.uint8(0)


@nb.njit([nb.int64(T[:, ::1], NUMBERS, T[::1], T[::1], NUMBERS, PLACES, PLACES) for T in KINDS], **LOOP)
def count_nearer(S, start, far, near, less, rows, columns):  # type: ignore[no-untyped-def]
    """Count, for each query p, the scores that are certainly nearer (above ``near[p]``); return the undecided number.

    Row i of the scores S has the queries ``start[i]`` to ``start[i + 1]``. Scores in [far, near] of a query are
    undecided; ``rows`` and ``columns`` receive their positions, each once.
    """
    found, n = 0, S.shape[1]
    marks = np.zeros(n, dtype=np.uint8)
    for i in range(S.shape[0]):
        line, some = S[i], False
        for p in range(start[i], start[i + 1]):
            sure, perhaps = _above(line, near[p], far[p])
            less[p] += sure
            if sure != perhaps:
                _mark(line, near[p], far[p], marks)
                some = True
        if not some:
            continue
        for begin in range(0, n, _GROUP):
            end, marked = min(begin + _GROUP, n), np.uint8(0)
            for j in range(begin, end):
                marked |= marks[j]
            if marked:
                for j in range(begin, end):
                    if marks[j]:
                        rows[found], columns[found], marks[j] = i, j, 0
                        found += 1
    return found


@nb.njit([nb.int64(T[:, ::1], NUMBERS, T[::1], T[::1], NUMBERS, PLACES, PLACES) for T in KINDS], **LOOP)
def count_nearer_ascending(S, start, far, near, less, rows, columns):  # type: ignore[no-untyped-def]
    """Do the same if the queries of each row are at ascending distances, so that ``far`` and ``near`` descend.

    Each score is looked up among the limits, which is faster than comparing it with each of many.
    """
    found, most = 0, np.int64(0)
    for i in range(S.shape[0]):
        most = max(most, start[i + 1] - start[i])
    first = np.empty(most + 1, dtype=np.int64)  # number of scores that are nearer than a query and not the one before
    for i in range(S.shape[0]):
        begin, end = start[i], start[i + 1]
        if begin == end:
            continue
        first[:] = 0
        for j in range(S.shape[1]):
            score = S[i, j]
            if score < far[end - 1]:
                continue
            low, high = begin, end
            while low < high:  # the first query with near < score
                middle = (low + high) // 2
                if near[middle] < score:
                    high = middle
                else:
                    low = middle + 1
            first[low - begin] += 1
            if low > begin and far[low - 1] <= score:
                rows[found], columns[found] = i, j
                found += 1
        total = np.int64(0)
        for p in range(begin, end):
            total += first[p - begin]
            less[p] += total
    return found


@nb.njit([nb.void(PLACES, T[::1], VALUES, NUMBERS, T[::1], T[::1], VALUES, NUMBERS, NUMBERS) for T in KINDS], **LOOP)
def settle(rows, scores, d, start, far, near, wanted, less, equal):  # type: ignore[no-untyped-def]
    """Decide the undecided scores by the exact distances d, for the queries that left them undecided."""
    for c in range(len(d)):
        for p in range(start[rows[c]], start[rows[c] + 1]):
            if far[p] <= scores[c] <= near[p]:
                if d[c] < wanted[p]:
                    less[p] += 1
                elif d[c] == wanted[p]:
                    equal[p] += 1


@nb.njit([nb.void(VALUES, PLACES, nb.int64, nb.int64)], **LOOP)
def _sort_run(line, order, begin, end):  # type: ignore[no-untyped-def]
    """Sort a run of positions by value: by insertion if short, otherwise by `argsort`."""
    if end - begin > 16:
        run = order[begin:end].copy()
        order[begin:end] = run[np.argsort(line[run])]
        return
    for p in range(begin + 1, end):
        place, q = order[p], p
        while q > begin and line[order[q - 1]] > line[place]:
            order[q] = order[q - 1]
            q -= 1
        order[q] = place


@nb.njit([nb.void(nb.uint32[::1], PLACES, nb.uint32[::1], PLACES, nb.int64[::1], nb.uint32)], **LOOP)
def _scatter(keys, order, next_keys, next_order, ends, shift):  # type: ignore[no-untyped-def]
    """Sort keys by one digit (a pass of radix sort); ``ends`` is the count of each digit."""
    total = 0
    for digit in range(len(ends)):
        ends[digit], total = total, total + ends[digit]
    for p in range(len(keys)):
        digit = (keys[p] >> shift) & np.uint32(_DIGIT)
        next_keys[ends[digit]], next_order[ends[digit]] = keys[p], order[p]
        ends[digit] += 1


@nb.njit([nb.void(VALUES, nb.int64, PLACES, nb.uint32[:, ::1], WHOLE, nb.int64[:, ::1])], **LOOP)
def _sort_line(line, own, order, keys, room, ends):  # type: ignore[no-untyped-def]
    """Write the positions of all values except ``own`` in ascending order.

    Values are scaled to 32-bit keys, which are radix-sorted by three digits; runs of equal keys are then sorted by
    value. This takes a third of the time of sorting by comparison.
    """
    n, low, high = len(line), np.inf, -np.inf
    for j in range(n):
        if j != own:
            low, high = min(low, line[j]), max(high, line[j])
    scale = _LARGEST / (high - low)
    digits = n >= _FEW_KEYS and 0 < scale < np.inf
    ends[:] = 0
    count = 0
    for j in range(n):
        if j != own:
            order[count] = j
            if digits:
                key = np.uint32((line[j] - low) * scale)
                keys[0, count] = key
                for d in range(3):
                    ends[d, (key >> np.uint32(11 * d)) & np.uint32(_DIGIT)] += 1
            count += 1
    if not digits:
        _sort_run(line, order, 0, count)
        return
    _scatter(keys[0], order, keys[1], room[0], ends[0], np.uint32(0))
    _scatter(keys[1], room[0], keys[0], room[1], ends[1], np.uint32(11))
    _scatter(keys[0], room[1], keys[1], order, ends[2], np.uint32(22))
    begin = 0
    while begin < count:
        end = begin + 1
        while end < count and keys[1, end] == keys[1, begin]:
            end += 1
        if end > begin + 1:
            _sort_run(line, order, begin, end)
        begin = end


@nb.njit([nb.void(TABLE, TABLE, nb.float64, NUMBERS, WHOLE, FLAGS)], **LOOP)
def sort_rows(values, errors, floor, own, order, joined):  # type: ignore[no-untyped-def]
    """Sort the points of each row except its own, and mark those that may tie with a previous one.

    True values are within ``errors``; all values that may be at most ``floor`` count as equal.
    """
    n = order.shape[1]
    least = np.empty(n)
    keys, room, ends = np.empty((2, n), np.uint32), np.empty((2, n), np.int32), np.empty((3, _DIGIT + 1), np.int64)
    for i in range(values.shape[0]):
        line = order[i]
        _sort_line(values[i], own[i], line, keys, room, ends)
        low = np.inf
        for p in range(n - 1, -1, -1):
            here = values[i, line[p]] - errors[i, line[p]]
            low = min(low, -np.inf if here <= floor else here)
            least[p] = low
        high = -np.inf
        for p in range(n):
            joined[i, p] = p > 0 and least[p] <= high
            high = max(high, values[i, line[p]] + errors[i, line[p]])


@nb.njit([nb.void(WHOLE, FLAGS, VALUES, WHOLE, WHOLE)], **LOOP)
def assign(order, joined, d, less, equal):  # type: ignore[no-untyped-def]
    """Write, for each point, the number of nearer points and of equally distant ones (itself included).

    ``order`` sorts the points of each row except within chains of joined points; d are their exact distances.
    """
    n, seen = order.shape[1], 0
    for i in range(order.shape[0]):
        begin = 0
        while begin < n:
            end = begin + 1
            while end < n and joined[i, end]:
                end += 1
            if end == begin + 1:
                less[i, order[i, begin]], equal[i, order[i, begin]] = begin, 1
            else:
                here = d[seen : seen + end - begin]
                seen += end - begin
                same = True
                for p in range(1, len(here)):
                    same = same and here[p] == here[0]
                chain = np.arange(len(here)) if same else np.argsort(here)  # most chains are plain ties
                first = 0
                while first < len(chain):
                    last = first + 1
                    while last < len(chain) and here[chain[last]] == here[chain[first]]:
                        last += 1
                    for p in range(first, last):
                        point = order[i, begin + chain[p]]
                        less[i, point], equal[i, point] = begin + first, last - first
                    first = last
            begin = end


@nb.njit([nb.void(VALUES, NUMBERS, VALUES)], **LOOP)
def sums(values, start, out):  # type: ignore[no-untyped-def]
    """Sum the values of each list in ascending order, so that the result does not depend on their order."""
    for i in range(len(start) - 1):
        total = 0.0
        for value in np.sort(values[start[i] : start[i + 1]]):
            total += value
        out[i] = total


@nb.njit([nb.void(PLACES, PLACES, PLACES, PLACES)], **LOOP)
def _by_rank(less, equal, order, filled):  # type: ignore[no-untyped-def]
    """Write the points in the order of their ranks, without the row's own point."""
    filled[:] = 0
    for j in range(len(less)):
        if equal[j] > 0:
            order[less[j] + filled[less[j]]] = j
            filled[less[j]] += 1


@nb.njit([nb.void(WHOLE, WHOLE, WHOLE, WHOLE, NUMBERS, VALUES, TABLE, VALUES)], **LOOP)
def share_neighbors(less, equal, other_less, other_equal, sizes, weights, out, areas):  # type: ignore[no-untyped-def]
    """Write, for each row, the expected number T(K) of points among the K nearest on both sides, and Σ weights·T.

    T is written for the ascending ``sizes``, and summed over K = 1, …, with the weight of each K. For each K, at most
    one group of ties on either side is included in part: a share f on the first side and e on the second. So

        T(K) = both + f·(first group, included on the second side) + e·(second group, included on the first)
               + f·e·(in both groups),

    with integer counts that change when a group begins or ends: each point is visited twice.
    """
    n = less.shape[1]
    order, other_order, filled = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    for i in range(less.shape[0]):
        _by_rank(less[i], equal[i], order, filled)
        _by_rank(other_less[i], other_equal[i], other_order, filled)
        a, g, b, h = 0, 0, 0, 0  # groups included in part: ranks a + 1, …, a + g, and b + 1, …, b + h
        both, first, second, shared = 0, 0, 0, 0
        total, lost, c = 0.0, 0.0, 0
        for K in range(1, len(weights) + 1):
            if a + g < K:  # the group has ended; the next begins
                both, second, first, shared = both + first, second + shared, 0, 0
                a += g
                g = equal[i, order[a]]
                for p in range(a, a + g):
                    place = other_less[i, order[p]]
                    first += place < b
                    shared += place == b and h > 0
            if b + h < K:
                both, first, second, shared = both + second, first + shared, 0, 0
                b += h
                h = other_equal[i, other_order[b]]
                for p in range(b, b + h):
                    place = less[i, other_order[p]]
                    second += place < a
                    shared += place == a
            f, e = (K - a) / g, (K - b) / h
            T = both + f * first + e * second + f * e * shared
            if c < len(sizes) and sizes[c] == K:
                out[i, c] = T
                c += 1
            # compensated summation (Kahan)
            term = weights[K - 1] * T - lost
            more = total + term
            lost, total = (more - total) - term, more
        areas[i] = total


@nb.njit([nb.void(WHOLE, WHOLE, WHOLE, WHOLE, TABLE, TABLE)], **LOOP)
def add_coranks(less, equal, other_less, other_equal, Q, corners):  # type: ignore[no-untyped-def]
    """Add the ranks of each row's points to Q; tied points are distributed evenly over their ranks.

    A tied point covers a rectangle of ranks. Its four corners are stored, and `fill_corners` fills the rectangles.
    """
    limit = Q.shape[0]
    for i in range(less.shape[0]):
        for j in range(less.shape[1]):
            a, g, b, h = less[i, j], equal[i, j], other_less[i, j], other_equal[i, j]
            if g == 0 or a >= limit or b >= limit:
                continue
            if g == 1 and h == 1:
                Q[a, b] += 1.0
                continue
            each = 1.0 / (np.float64(g) * h)
            end, other_end = min(a + g, limit), min(b + h, limit)
            corners[a, b] += each
            corners[a, other_end] -= each
            corners[end, b] -= each
            corners[end, other_end] += each


@nb.njit([nb.void(TABLE, nb.float64, TABLE)], **LOOP)
def fill_corners(corners, least, Q):  # type: ignore[no-untyped-def]
    """Add to Q the sums of all corners above and to the left; sums below ``least`` are rounding and ignored."""
    n = Q.shape[0]
    for r in range(n):
        total = 0.0
        for s in range(n):
            total += corners[r, s]
            corners[r, s] = total + (corners[r - 1, s] if r > 0 else 0.0)
            if corners[r, s] >= least:
                Q[r, s] += corners[r, s]
