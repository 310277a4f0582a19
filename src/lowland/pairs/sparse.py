"""Sparse rows (CSR) as metrics and kernels need them: norms, unit rows, products, differences of pairs.

Rules take sparse rows where products are enough: Euclidean and cosine distances, kernels of xᵀy. City-block distances
are sums over the entries that either row stores. Rows that store many
entries are compared by `FilledRows` instead: a few at a time are made dense, which is faster than sparse products from
about one entry in seven on (two blocks of 512 × 5000: 0.02 s against 0.06 s at 10 %, 0.07 s against 0.06 s at 20 %).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.cost import FLOPS_PER_CORE, SPARSE_FLOPS_PER_CORE, DataShape
from ..core.errors import DataError
from ..core.message import DENSE, Message, Owner
from ..core.settings import threads
from ..core.spmm import outer
from .pairwise import TILE, Array, Pairwise, Prepared, half, length, tiles

MIN_FILLED_DENSITY = 0.15  # share of stored entries from which rows are made dense to be compared
_FILLED_ENTRIES = 1 << 22  # entries made dense at once: of wide rows fewer than a tile


def require_sparse_form(name: str, known: Sequence[str], owner: str, what: str) -> None:
    """Raise if a metric or kernel cannot compare sparse rows; ``name`` is "function" for one of the user's."""
    if name in known:
        return
    listed = ", ".join(repr(each) for each in known[:-1])
    given = "a function" if name == "function" else repr(name)
    raise DataError(
        Message(
            Owner(owner),
            f"sparse rows support the {what}s {listed} and {known[-1]!r}, not {given}; use one of these, or pass ",
            DENSE,
            " if it fits in memory",
        )
    )


def canonical(X: Any) -> Any:
    """Return sparse rows in float64, no column stored twice in a row."""
    X = sp.csr_array(X, copy=not X.has_canonical_format) if X.format == "csr" else sp.csr_array(X)
    X.sum_duplicates()
    return X.astype(np.float64, copy=False)


def short_numbers(X: Any) -> Any:
    """Return sparse rows as a matrix with column numbers of 32 bits, as compiled loops of scikit-learn take them."""
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def row_squares(X: Any) -> Array:
    """Return the squared norms of sparse rows, each summed from its first column to its last.

    >>> row_squares(sp.csr_array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [25.0, 0.0]
    """
    return np.bincount(_owners(X), weights=X.data.astype(np.float64, copy=False) ** 2, minlength=X.shape[0])


def _owners(X: Any) -> Array:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def unit_rows(X: Any) -> Any:
    """Return sparse rows divided by their norms; rows of zeros are unchanged."""
    X = canonical(X).copy()
    owner, largest = _owners(X), np.zeros(X.shape[0])
    np.maximum.at(largest, owner, np.abs(X.data))
    largest[largest == 0] = 1.0
    X.data /= largest[owner]  # first, so that the squares do not overflow
    size = np.sqrt(row_squares(X))
    size[size == 0] = 1.0
    X.data /= size[owner]
    return X


def column_means(X: Any) -> Array:
    """Return the means of the columns, summed row by row: the bits of a dense array's."""
    return np.bincount(X.indices, weights=X.data, minlength=X.shape[1]) / X.shape[0]


def products(A: Array, B: Array) -> Array:
    """Return A Bᵀ as a dense array, of rows that may be sparse.

    >>> S = sp.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    >>> products(S, S).tolist() == products(S, S.toarray()).tolist() == products(S.toarray(), S).tolist()
    True
    """
    if sp.issparse(A) and sp.issparse(B):
        return outer(A, B.T.tocsr())
    if sp.issparse(B):
        return np.asarray((B @ A.T).T)
    return np.asarray(A @ B.T) if sp.issparse(A) else A @ arrays.t(B)


def squared_differences(X: Array, Y: Array, i: Array, j: Array) -> Array:
    """Return ‖X[i] − Y[j]‖² of pairs of rows, from their differences."""
    A, B = X[i], Y[j]
    if sp.issparse(A) and sp.issparse(B):
        return row_squares(canonical(A - B))
    difference = arrays.less(filled(A), filled(B))
    return (difference * difference).sum(axis=1)


def filled(block: Array) -> Array:
    """Return rows as a dense array."""
    return block.toarray() if sp.issparse(block) else block


def filled_rows(columns: int) -> int:
    """Return how many rows are made dense at once."""
    return min(TILE, max(1, _FILLED_ENTRIES // max(1, columns)))


class FilledRows(Pairwise):
    """A rule of dense rows for sparse ones: a few of them at a time are made dense."""

    def __init__(self, rule: Any) -> None:
        self.rule, self.eps = rule, rule.eps

    def __getattr__(self, name: str) -> Any:
        """Return what the rule has besides: ``psd``, ``doubt`` and ``gamma`` of a kernel."""
        return getattr(self.__dict__["rule"], name)

    def prepare(self, block: Array) -> Prepared:
        """Return the rows, still sparse."""
        return block

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the values of two blocks, tile by tile."""
        out, step = np.empty((length(A), length(B))), filled_rows(A.shape[1])
        for a in tiles(len(out), step):
            rows = self.rule.prepare(filled(A[a]))
            for b in tiles(out.shape[1], step):
                same = A is B and a == b  # then BLAS takes the product of a block with itself, as of dense rows
                out[a, b] = self.rule.between(rows, rows if same else self.rule.prepare(filled(B[b])))
        return out

    def diagonal(self, block: Array) -> Array:
        """Return k(x, x) of each row, of a kernel."""
        parts = tiles(length(block), filled_rows(block.shape[1]))
        return np.concatenate([self.rule.diagonal(filled(block[part])) for part in parts])


def for_storage(rule: Any, rows: Array) -> Any:
    """Return a rule as it compares rows that are stored like these: dense, or sparse with many or few entries."""
    if not sp.issparse(rows):
        return rule
    density = rows.nnz / max(1, rows.shape[0] * rows.shape[1])
    return FilledRows(rule) if density > MIN_FILLED_DENSITY else rule


# -- plans -----------------------------------------------------------------------------------------------------------


def stored_bytes(shape: DataShape, m: int) -> int:
    """Return the bytes of m of the rows as they are stored.

    >>> stored_bytes(DataShape(1000, 50, np.dtype(np.float64)), 10)
    4000
    """
    entries = m * shape.n_features
    return (
        int(entries * shape.density * (shape.dtype.itemsize + 4)) + 4 * m
        if shape.sparse
        else (entries * shape.dtype.itemsize)
    )


def sparse_bytes(shape: DataShape, m: int) -> int:
    """Return what comparing sparse rows with m of them takes: tiles made dense, or float64 rows and their transpose."""
    if shape.density > MIN_FILLED_DENSITY:
        return threads() * 2 * filled_rows(shape.n_features) * shape.n_features * (16 + shape.dtype.itemsize)
    copies = 1 + (threads() if m < (shape.n_rows or 1) else 0)  # of all pairs only tiles are transposed
    return int(copies * (8 + 4) * m * shape.n_features * shape.density)


def tile_bytes(shape: DataShape, m: int) -> int:
    """Return what all pairs of m sparse rows take while they are compared, tile by tile, on all threads.

    A tile copies two sets of rows and one of them by columns, and holds its products as a sparse and a dense matrix.
    Rows with many entries are counted by `sparse_bytes`, and so are those compared with landmarks.
    """
    if not shape.sparse or shape.density > MIN_FILLED_DENSITY or m < (shape.n_rows or 1):
        return 0
    rows, stored = min(m, TILE), int(shape.n_features * shape.density)
    each = rows * (3 * 12 * stored + 28 * rows) + 4 * shape.n_features
    return min(threads(), len(half(m))) * each


def compared_columns(shape: DataShape) -> float:
    """Return how many columns of dense rows take as long to compare as these rows."""
    if not shape.sparse or shape.density > MIN_FILLED_DENSITY:
        return float(shape.n_features)
    return shape.n_features * shape.density**2 * FLOPS_PER_CORE / SPARSE_FLOPS_PER_CORE
