"""Equal objects become one point before a graph is built: they must not spend their neighbours on each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..pairwise import tiles

Array = Any

_CHUNK = 1 << 16  # entries mixed at a time: they stay in the cache


class Distinct(NamedTuple):
    """The numbers of the first object of each kind, ascending, and for each object the number of its kind."""

    first: Array
    inverse: Array


def distinct(items: Array, *, square: bool = False) -> Distinct:
    """Find equal objects: rows, sparse rows, hashable objects; of a ``square`` of distances those at distance zero.

    Objects that cannot be hashed all count as different.

    >>> distinct(np.array([[1.0, 0.0], [2.0, 2.0], [1.0, -0.0]])).inverse.tolist()
    [0, 1, 0]
    """
    if square:
        return numbered(_at_zero(items))
    if sp.issparse(items):
        return _equal_sparse(items)
    items = np.asarray(items)
    if items.ndim == 1:
        return _equal_objects(items)
    return _equal_rows(items)


def numbered(labels: Array) -> Distinct:
    """Number groups by their first members.

    >>> [x.tolist() for x in numbered(np.array([7, 3, 7]))]
    [[0, 1], [0, 1, 0]]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return Distinct(first[order], rank[inverse.reshape(-1)])


def _equal_objects(items: Array) -> Distinct:
    seen: dict[Any, int] = {}
    try:
        labels = np.fromiter((seen.setdefault(thing, len(seen)) for thing in items), dtype=np.int64, count=len(items))
    except TypeError:  # no hash: nothing can be said without comparing all pairs
        labels = np.arange(len(items))
    return numbered(labels)


def _at_zero(D: Array) -> Array:
    """Label the objects that zeros of a square of distances join; in a sparse one only stored zeros count."""
    n = D.shape[0]
    if sp.issparse(D):
        links = D.tocoo()
        zero = links.data == 0
        i, j = links.row[zero], links.col[zero]
    else:
        found = []
        for part in tiles(n, max(1, (1 << 22) // max(1, n))):
            r, c = np.nonzero(np.asarray(D[part]) == 0)
            above = c > r + part.start
            found.append((r[above] + part.start, c[above]))
        i, j = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
    if not (i != j).any():
        return np.arange(n)
    pairs = sp.coo_array((np.ones(len(i), dtype=np.int8), (i, j)), shape=(n, n))
    return sp.csgraph.connected_components(pairs, directed=False)[1]


def _equal_rows(X: Array) -> Distinct:
    """Compare rows by a hash of their bits, and those that share a hash entry by entry."""
    hashes = np.empty(len(X), dtype=np.uint64)
    for part in tiles(len(X), max(1, _CHUNK // max(1, X.shape[1]))):
        hashes[part] = _mixed(X[part])
    order = np.argsort(hashes, kind="stable")  # stable: within a group the numbers ascend
    ranked = hashes[order]
    joined = ranked[1:] == ranked[:-1]
    if joined.any():
        at = np.flatnonzero(joined)
        same = np.empty(len(at), dtype=bool)
        for part in tiles(len(at), max(1, _CHUNK // max(1, X.shape[1]))):
            same[part] = (X[order[at[part]]] == X[order[at[part] + 1]]).all(axis=1)
        if not same.all():  # two different rows of one hash: sort the rows themselves
            plain = np.ascontiguousarray(X + X.dtype.type(0))
            _, labels = np.unique(plain, axis=0, return_inverse=True)
            return numbered(labels.reshape(-1))
    return _groups(order, joined)


def _groups(order: Array, joined: Array) -> Distinct:
    """Number the groups of a stable order in which ``joined`` tells that a row equals the one before."""
    n = len(order)
    if not joined.any():
        return Distinct(np.arange(n), np.arange(n))
    starts = np.concatenate([[True], ~joined])
    group = np.cumsum(starts) - 1
    first = order[starts]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    inverse = np.empty(n, dtype=np.int64)
    inverse[order] = rank[group]
    return Distinct(np.sort(first), inverse)


def _mixed(rows: Array) -> Array:
    """Return a 64-bit hash of each row; −0 counts as 0."""
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float64)
    rows = rows + rows.dtype.type(0)
    bits = rows.view(np.uint32 if rows.dtype.itemsize == 4 else np.uint64)
    out = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for c in range(rows.shape[1]):
        out ^= bits[:, c]
        out *= np.uint64(0xBF58476D1CE4E5B9)
        out ^= out >> np.uint64(29)
    return out


def _equal_sparse(X: Any) -> Distinct:
    """Compare sparse rows by what they store; stored zeros count for nothing."""
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    keys = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]
    return _equal_objects(np.array(keys, dtype=object))
