"""Loops over an elimination tree, compiled at first import and cached on disk."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

PTR = nb.types.Array(nb.int64, 1, "C", readonly=True)
IDX = nb.types.Array(nb.int32, 1, "C", readonly=True)
_I8 = nb.int64[::1]


@nb.njit(nb.void(PTR, IDX, PTR, _I8), **LOOP)
def elimination_tree(indptr, indices, perm, parent):  # type: ignore[no-untyped-def]
    """Write the parent of each column of the factor of A[perm][:, perm], −1 for roots (Liu 1986)."""
    n = len(perm)
    inverse, ancestor = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for i in range(n):
        inverse[perm[i]] = i
    for i in range(n):
        parent[i] = -1
        for p in range(indptr[perm[i]], indptr[perm[i] + 1]):
            j = inverse[indices[p]]
            while j != -1 and j < i:
                above = ancestor[j]
                ancestor[j] = i
                if above == -1:
                    parent[j] = i
                j = above


@nb.njit(nb.void(_I8, _I8), **LOOP)
def postorder(parent, order):  # type: ignore[no-untyped-def]
    """Write the columns in postorder, children in their own order."""
    n = len(parent)
    head, following = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for j in range(n - 1, -1, -1):
        if parent[j] != -1:
            following[j] = head[parent[j]]
            head[parent[j]] = j
    stack = np.empty(n, dtype=np.int64)
    done = 0
    for root in range(n):
        if parent[root] != -1:
            continue
        stack[0], top = root, 1
        while top > 0:
            j = stack[top - 1]
            child = head[j]
            if child == -1:
                order[done] = j
                done += 1
                top -= 1
            else:
                head[j] = following[child]
                stack[top] = child
                top += 1


@nb.njit(nb.void(PTR, IDX, PTR, _I8, _I8), **LOOP)
def column_counts(indptr, indices, perm, parent, counts):  # type: ignore[no-untyped-def]
    """Write the entries of each column of the factor, diagonal included, without forming it.

    The tree must be in postorder (Gilbert, Ng, Peyton 1994: each row of the factor is a subtree; only its leaves and
    the least common ancestors of neighbouring leaves are visited).
    """
    n = len(perm)
    inverse, first = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    latest, before = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    ancestor = np.arange(n)
    for i in range(n):
        inverse[perm[i]] = i
    for j in range(n):
        counts[j] = 1 if first[j] == -1 else 0
        i = j
        while i != -1 and first[i] == -1:
            first[i] = j
            i = parent[i]
    for j in range(n):
        if parent[j] != -1:
            counts[parent[j]] -= 1
        for p in range(indptr[perm[j]], indptr[perm[j] + 1]):
            i = inverse[indices[p]]
            if i <= j or first[j] <= latest[i]:
                continue
            latest[i] = first[j]
            counts[j] += 1
            previous = before[i]
            before[i] = j
            if previous != -1:
                q = previous
                while q != ancestor[q]:
                    q = ancestor[q]
                while previous != q:
                    above = ancestor[previous]
                    ancestor[previous] = q
                    previous = above
                counts[q] -= 1
        if parent[j] != -1:
            ancestor[j] = parent[j]
    for j in range(n):
        if parent[j] != -1:
            counts[parent[j]] += counts[j]
