"""Merging of equal objects before a graph is built, so that they are not each other's neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..pairs.pairwise import tiles

Array = Any

_ENTRIES_AT_ONCE = 1 << 15  # entries hashed or compared at a time: they and their copies stay in the cache
_FIRST_COLUMNS = 32  # columns that all rows are hashed by; later ones count only for rows that are equal so far
_GROWTH = 8  # how many times as many columns each next round looks at: few rounds, each of which sorts


class Distinct(NamedTuple):
    """The numbers of the first object of each kind, ascending, and for each object the number of its kind."""

    first: Array
    inverse: Array


def distinct(items: Array, *, square: bool = False) -> Distinct:
    """Find equal objects: rows, sparse rows, hashable objects; of a ``square`` of distances those at distance zero.

    Objects that cannot be hashed count as different.

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
    except TypeError:  # not hashable: equality would need a comparison of all pairs
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


# -- rows: those that share a hash are compared entry by entry, so collisions cost time and never a wrong answer ----


def _equal_rows(X: Array) -> Distinct:
    """Hash the first columns of all rows, then more columns of those rows that still share their hash with another.

    No entry is hashed or compared twice, so the work is linear in the number of entries whatever the shape, and where
    all rows differ early most entries are never read.
    """
    rows, hashes = np.arange(len(X)), np.zeros(len(X), dtype=np.uint64)
    start, stop = 0, _FIRST_COLUMNS
    while start < X.shape[1] and len(rows):
        if start:
            shared = _shared(hashes)
            rows, hashes = rows[shared], hashes[shared]
        hashes += _hashes(X, rows, slice(start, min(stop, X.shape[1])))
        start, stop = stop, stop * _GROWTH
    return _numbered_rows(len(X), rows, hashes, lambda these, those: _same(X, these, those))


def _equal_sparse(X: Any) -> Distinct:
    """Compare sparse rows by their stored entries, in any order; stored zeros are ignored."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:  # an entry may be stored in parts
        X = X.copy()
        X.sum_duplicates()
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    for part in _runs(X.indptr):
        a, b = X.indptr[part.start], X.indptr[part.stop]
        values = _mixed(_bits(X.data[a:b]), X.indices[a:b])
        values[X.data[a:b] == 0] = 0
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values)])  # modulo 2⁶⁴, so exact
        hashes[part] = np.diff(sums[X.indptr[part.start : part.stop + 1] - a])
    return _numbered_rows(X.shape[0], np.arange(X.shape[0]), hashes, lambda these, those: _same_sparse(X, these, those))


def _shared(hashes: Array) -> Array:
    """Return which hashes occur more than once."""
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    again = np.zeros(len(hashes) + 1, dtype=bool)
    np.equal(ranked[1:], ranked[:-1], out=again[1:-1])
    out = np.empty(len(hashes), dtype=bool)
    out[order] = again[1:] | again[:-1]
    return out


def _numbered_rows(n: int, rows: Array, hashes: Array, same: Callable[[Array, Array], Array]) -> Distinct:
    """Number n rows, of which only ``rows`` (ascending) may share a hash; ``same(a, b)`` compares pairs of rows.

    All rows of one hash are compared with the first of them; those that differ are compared among themselves.
    """
    label = np.arange(n)
    while len(rows):
        order = np.argsort(hashes, kind="stable")
        rows, hashes = rows[order], hashes[order]
        begins = np.concatenate([[True], hashes[1:] != hashes[:-1]])
        first = rows[begins][np.cumsum(begins) - 1][~begins]
        rows, hashes = rows[~begins], hashes[~begins]
        equal = same(rows, first)
        label[rows[equal]] = first[equal]
        rows, hashes = rows[~equal], hashes[~equal]
    firsts = label == np.arange(n)
    return Distinct(np.flatnonzero(firsts), (np.cumsum(firsts) - 1)[label])


def _tiled(rows: Array, columns: slice) -> Iterator[tuple[slice, slice]]:
    """Cut some rows and columns into tiles of few entries: places among the rows, and columns."""
    width = min(columns.stop - columns.start, _ENTRIES_AT_ONCE)
    for part in tiles(len(rows), max(1, _ENTRIES_AT_ONCE // max(1, width))):
        for across in tiles(columns.stop - columns.start, width):
            yield part, slice(columns.start + across.start, columns.start + across.stop)


def _taken(X: Array, rows: Array, columns: slice) -> Array:
    """Return some entries; ascending rows without gaps are not copied."""
    if rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return X[rows[0] : rows[-1] + 1, columns]
    return X[rows, columns]


def _hashes(X: Array, rows: Array, columns: slice) -> Array:
    """Return a 64-bit hash of some columns of some rows."""
    out = np.zeros(len(rows), dtype=np.uint64)
    for part, across in _tiled(rows, columns):
        bits = _bits(_taken(X, rows[part], across))
        out[part] += _mixed(bits, np.arange(across.start, across.stop)).sum(axis=1, dtype=np.uint64)
    return out


def _same(X: Array, rows: Array, others: Array) -> Array:
    """Return whether each row equals the other one."""
    out = np.ones(len(rows), dtype=bool)
    for part, across in _tiled(rows, slice(0, X.shape[1])):
        out[part] &= (X[rows[part], across] == X[others[part], across]).all(axis=1)
    return out


def _same_sparse(X: Any, rows: Array, others: Array) -> Array:
    """Return whether each sparse row equals the other one: whether their difference stores only zeros."""
    out = np.empty(len(rows), dtype=bool)
    step = max(1, _ENTRIES_AT_ONCE * len(rows) // max(1, int(np.diff(X.indptr)[rows].sum())))
    for part in tiles(len(rows), step):
        out[part] = np.diff((X[rows[part]] != X[others[part]]).indptr) == 0
    return out


def _runs(indptr: Array) -> Iterator[slice]:
    """Cut sparse rows into consecutive runs of few entries."""
    start, n = 0, len(indptr) - 1
    while start < n:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + _ENTRIES_AT_ONCE, side="right")) - 1)
        yield slice(start, min(stop, n))
        start = stop


def _bits(values: Array) -> Array:
    """Return 64 bits of each number, the same for equal numbers; −0 counts as 0."""
    if values.dtype.kind != "f":
        return values.astype(np.int64).view(np.uint64)
    if values.dtype.itemsize == 4:
        return (values + np.float32(0)).view(np.uint32).astype(np.uint64)
    return np.ascontiguousarray(values.astype(np.float64) + 0.0).view(np.uint64)


def _mixed(bits: Array, columns: Array) -> Array:
    """Return numbers that depend on all bits of an entry and its column: their sum is a hash of a row.

    The finaliser of SplitMix64 (Steele, Lea, Flood 2014). The sum of products alone would keep the trailing zeros that
    whole numbers have in floating point.
    """
    x = bits + (columns.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
