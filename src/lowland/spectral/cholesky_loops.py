"""The loops of the multifrontal factor: supernodes, their rows, elimination and substitution.

A supernode is a run of columns with the same set of rows below them. It is stored as Lᵀ: a square T (columns × columns,
upper triangle) and a panel R (columns × rows), both contiguous, so that the inner loops and the products run along
memory. Each call runs in one thread and works on one subtree.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP
from .ordering_loops import IDX, PTR

VALUES = nb.types.Array(nb.float64, 1, "C", readonly=True)
_LINE, _PLANE, _I8, _I4 = nb.float64[::1], nb.float64[:, ::1], nb.int64[::1], nb.int32[::1]
_PANEL = 48  # columns eliminated one by one before a product updates the rest
_FEW = 512  # entries below which a loop is faster than a call to BLAS


@nb.njit(nb.int64(PTR, PTR, _I8, _I8), **LOOP)
def supernodes(parent, counts, first, height):  # type: ignore[no-untyped-def]
    """Write the first column and the front's size of each supernode; return their number.

    Columns with the same structure are joined, and a last child with its parent if this stores few zeros: for small
    fronts calls cost more than zeros.
    """
    n, top = len(parent), 0
    zeros = np.zeros(n + 1)
    j = 0
    while j < n:
        start = j
        while j + 1 < n and parent[j] == j + 1 and counts[j] == counts[j + 1] + 1:
            j += 1
        first[top], height[top], zeros[top] = start, counts[start], 0.0
        end = j + 1
        while top > 0 and start <= parent[first[top] - 1] < end:
            child, own = first[top] - first[top - 1], end - first[top]
            columns, rows = child + own, child + height[top]
            size = columns * rows - columns * (columns - 1) / 2
            held = child * height[top - 1] - child * (child - 1) / 2 + own * height[top] - own * (own - 1) / 2
            empty = size - held + zeros[top - 1] + zeros[top]
            share = empty / size
            if not (columns <= 4 or (columns <= 16 and share < 0.8) or (columns <= 48 and share < 0.1) or share < 0.05):
                break
            start = first[top - 1]
            top -= 1
            height[top], zeros[top] = rows, empty
        top += 1
        j = end
    first[top] = n
    return top


@nb.njit(nb.void(PTR, IDX, PTR, PTR, PTR, PTR, PTR, _I4), **LOOP)
def structure(indptr, indices, perm, inverse, first, above, begin, rows):  # type: ignore[no-untyped-def]
    """Write the sorted rows below each supernode: those of its columns in A and the remaining rows of its children."""
    count = len(above)
    seen = np.full(len(perm), -1, dtype=np.int32)
    head, following = np.full(count, -1, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for s in range(count):
        end, at = first[s + 1], begin[s]
        for c in range(first[s], end):
            v = perm[c]
            for p in range(indptr[v], indptr[v + 1]):
                i = inverse[indices[p]]
                if i >= end and seen[i] != s:
                    seen[i] = s
                    rows[at] = i
                    at += 1
        child = head[s]
        while child != -1:
            for p in range(begin[child], begin[child + 1]):
                i = rows[p]
                if i >= end and seen[i] != s:
                    seen[i] = s
                    rows[at] = i
                    at += 1
            child = following[child]
        rows[begin[s] : at].sort()
        if above[s] >= 0:
            following[s] = head[above[s]]
            head[above[s]] = s


@nb.njit(nb.int64(_PLANE, _PLANE), **LOOP)
def eliminate(T, R):  # type: ignore[no-untyped-def]
    """Eliminate the columns of a front in place; return −1, or the column whose pivot is not positive."""
    n = T.shape[0]
    width = R.shape[1]
    for k0 in range(0, n, _PANEL):
        k1 = min(k0 + _PANEL, n)
        for k in range(k0, k1):
            if not T[k, k] > 0.0:
                return k
            root = np.sqrt(T[k, k])
            for j in range(k, n):
                T[k, j] /= root
            for j in range(width):
                R[k, j] /= root
            for i in range(k + 1, k1):
                a = T[k, i]
                for j in range(i, n):
                    T[i, j] -= a * T[k, j]
                for j in range(width):
                    R[i, j] -= a * R[k, j]
        if k1 < n:
            left = np.ascontiguousarray(T[k0:k1, k1:])
            own = np.dot(left.T, left)
            for i in range(k1, n):
                for j in range(i, n):
                    T[i, j] -= own[i - k1, j - k1]
            if width > 0:
                other = np.dot(left.T, R[k0:k1])
                for i in range(k1, n):
                    for j in range(width):
                        R[i, j] -= other[i - k1, j]
    return -1


@nb.njit(nb.void(_PLANE, _PLANE), **LOOP)
def take_away(R, U):  # type: ignore[no-untyped-def]
    """Subtract RᵀR from the upper triangle of U."""
    n, width = R.shape
    if n * width < _FEW:
        for k in range(n):
            for i in range(width):
                a = R[k, i]
                for j in range(i, width):
                    U[i, j] -= a * R[k, j]
        return
    for i in range(0, width, 128):
        stop = min(i + 128, width)
        left = np.ascontiguousarray(R[:, i:stop])
        right = np.ascontiguousarray(R[:, i:])
        product = np.dot(left.T, right)
        for a in range(i, stop):
            for b in range(a, width):
                U[a, b] -= product[a - i, b - i]


@nb.njit(nb.void(PTR, IDX, VALUES, PTR, PTR, nb.int64, nb.int64, _I4, _I4, _PLANE, _PLANE), **LOOP)
def load(indptr, indices, data, perm, inverse, start, stop, rows, place, T, R):  # type: ignore[no-untyped-def]
    """Write the columns of A into an empty front, and the position of each of its rows into ``place``."""
    n = stop - start
    for c in range(n):
        place[start + c] = c
    for i in range(len(rows)):
        place[rows[i]] = n + i
    for c in range(n):
        v = perm[start + c]
        for p in range(indptr[v], indptr[v + 1]):
            i = inverse[indices[p]]
            if i >= start + c:
                at = place[i]
                if at < n:
                    T[c, at] += data[p]
                else:
                    R[c, at - n] += data[p]


@nb.njit(nb.void(_PLANE, _I4, _I4, _PLANE, _PLANE, _PLANE), **LOOP)
def extend_add(child, rows, place, T, R, U):  # type: ignore[no-untyped-def]
    """Add the update matrix of a child to its parent's front."""
    n = T.shape[0]
    at = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        at[i] = place[rows[i]]
    own = 0
    while own < len(rows) and at[own] < n:
        own += 1
    for i in range(own):
        for j in range(i, own):
            T[at[i], at[j]] += child[i, j]
        for j in range(own, len(rows)):
            R[at[i], at[j] - n] += child[i, j]
    for i in range(own, len(rows)):
        for j in range(i, len(rows)):
            U[at[i] - n, at[j] - n] += child[i, j]


@nb.njit(nb.int64(PTR, PTR, PTR, nb.int64, nb.int64), **LOOP)
def room(first, begin, above, start, stop):  # type: ignore[no-untyped-def]
    """Return the largest number of entries of the stacked updates of a subtree."""
    waiting = np.zeros(stop - start, dtype=np.int64)  # entries of the children's updates
    held, most = 0, 0
    for s in range(start, stop):
        mine = (begin[s + 1] - begin[s]) ** 2
        most = max(most, held + mine)
        held += mine - waiting[s - start]
        if start <= above[s] < stop:
            waiting[above[s] - start] += mine
    return most


_MATRIX = (PTR, IDX, VALUES, PTR, PTR)
_TREE = (PTR, PTR, _I4, PTR, PTR)


@nb.njit(nb.types.Tuple((nb.int64, _PLANE))(*_MATRIX, *_TREE, _LINE, nb.int64, nb.int64), **LOOP)
def factor_subtree(  # type: ignore[no-untyped-def]
    indptr, indices, data, perm, inverse, first, begin, rows, above, where, L, start, stop
):
    """Factor the supernodes from start to stop, the last of which is the root.

    Return −1 and the update for the parent of the subtree, or the column whose pivot is not positive. Updates are kept
    on a stack: in postorder those of the children are on its top.
    """
    stack = np.empty(room(first, begin, above, start, stop))
    place = np.empty(len(perm), dtype=np.int32)
    owner, offset = np.empty(stop - start, dtype=np.int64), np.empty(stop - start, dtype=np.int64)
    depth, top = 0, 0
    for s in range(start, stop):
        n, width = first[s + 1] - first[s], begin[s + 1] - begin[s]
        T = L[where[s] : where[s] + n * n].reshape((n, n))
        R = L[where[s] + n * n : where[s] + n * (n + width)].reshape((n, width))
        L[where[s] : where[s + 1]] = 0.0
        load(indptr, indices, data, perm, inverse, first[s], first[s + 1], rows[begin[s] : begin[s + 1]], place, T, R)
        U = stack[top : top + width * width].reshape((width, width))
        stack[top : top + width * width] = 0.0
        base = top
        while depth > 0 and above[owner[depth - 1]] == s:
            depth -= 1
            child, base = owner[depth], offset[depth]
            size = begin[child + 1] - begin[child]
            left = stack[base : base + size * size].reshape((size, size))
            extend_add(left, rows[begin[child] : begin[child + 1]], place, T, R, U)
        bad = eliminate(T, R)
        if bad >= 0:
            return first[s] + bad, np.empty((0, 0))
        take_away(R, U)
        if base < top:
            for i in range(width * width):
                stack[base + i] = stack[top + i]
        owner[depth], offset[depth] = s, base
        depth, top = depth + 1, base + width * width
    width = begin[stop] - begin[stop - 1]
    return -1, stack[: width * width].copy().reshape((width, width))


@nb.njit(nb.void(PTR, PTR, _I4, PTR, VALUES, _PLANE, nb.int64, nb.int64, nb.int64, _PLANE, _I4), **LOOP)
def forward(first, begin, rows, where, L, X, start, stop, end, beyond, place):  # type: ignore[no-untyped-def]
    """Solve with L for some columns; updates of rows from ``end`` on are added to ``beyond``, indexed by ``place``."""
    columns = X.shape[1]
    for s in range(start, stop):
        c, n, width = first[s], first[s + 1] - first[s], begin[s + 1] - begin[s]
        T = L[where[s] : where[s] + n * n].reshape((n, n))
        R = L[where[s] + n * n : where[s] + n * (n + width)].reshape((n, width))
        for k in range(n):
            for q in range(columns):
                X[c + k, q] /= T[k, k]
            for j in range(k + 1, n):
                for q in range(columns):
                    X[c + j, q] -= T[k, j] * X[c + k, q]
        if n * width < _FEW:
            for k in range(n):
                for i in range(width):
                    r = rows[begin[s] + i]
                    if r < end:
                        for q in range(columns):
                            X[r, q] -= R[k, i] * X[c + k, q]
                    else:
                        for q in range(columns):
                            beyond[place[r], q] -= R[k, i] * X[c + k, q]
        else:
            W = np.dot(R.T, X[c : c + n])
            for i in range(width):
                r = rows[begin[s] + i]
                if r < end:
                    for q in range(columns):
                        X[r, q] -= W[i, q]
                else:
                    for q in range(columns):
                        beyond[place[r], q] -= W[i, q]


@nb.njit(nb.void(PTR, PTR, _I4, PTR, VALUES, _PLANE, nb.int64, nb.int64), **LOOP)
def backward(first, begin, rows, where, L, X, start, stop):  # type: ignore[no-untyped-def]
    """Solve with Lᵀ for the columns of a subtree; the rows above it must be solved already."""
    columns = X.shape[1]
    for s in range(stop - 1, start - 1, -1):
        c, n, width = first[s], first[s + 1] - first[s], begin[s + 1] - begin[s]
        T = L[where[s] : where[s] + n * n].reshape((n, n))
        R = L[where[s] + n * n : where[s] + n * (n + width)].reshape((n, width))
        if n * width < _FEW:
            for k in range(n):
                for i in range(width):
                    r = rows[begin[s] + i]
                    for q in range(columns):
                        X[c + k, q] -= R[k, i] * X[r, q]
        else:
            G = np.empty((width, columns))
            for i in range(width):
                r = rows[begin[s] + i]
                for q in range(columns):
                    G[i, q] = X[r, q]
            W = np.dot(R, G)
            for k in range(n):
                for q in range(columns):
                    X[c + k, q] -= W[k, q]
        for k in range(n - 1, -1, -1):
            for j in range(k + 1, n):
                for q in range(columns):
                    X[c + k, q] -= T[k, j] * X[c + j, q]
            for q in range(columns):
                X[c + k, q] /= T[k, k]
