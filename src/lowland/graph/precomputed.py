"""Searches in a sparse distance matrix: entries that are not stored are unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.errors import DataError, DisconnectedError
from ..core.message import Message, Setting
from .graph import Graph, starts
from .search import KnownLinks, Link, NeighborLists, Searcher, ordered, shortest

Array = Any

# By how much squares of two distances may differ, relative to that of the largest: those of near points are differences
# of large numbers in the usual formula |x|² + |y|² − 2xy.
_ROUNDING, _ROUNDING_FLOAT32 = 2e-10, 2e-5


class GivenDistances(Searcher):
    """Neighbours among the distances that `known_distances` returned; a point with fewer than k of them has those.

    ``numbers`` are those of the first objects of groups that were merged, for error messages. A point may know no
    others (see `refuse_alone`).
    """

    def __init__(self, known: Any, numbers: Array | None = None) -> None:
        self.n, self.algorithm = known.shape[0], "stored distances"
        self._edges = known.tocoo()
        self._numbers = np.arange(self.n) if numbers is None else numbers

    def _pairs(self) -> tuple[Array, Array, Array]:
        return self._edges.row, self._edges.col, self._edges.data

    def _graph(self, found: NeighborLists) -> Graph:
        return Graph(starts(found.counts), found.indices.astype(np.int32), found.distances, self.algorithm)

    def graph(self, k: int, ties: str = "cut") -> Graph:
        """Return the k nearest of the known neighbours of each point, or all where there are fewer."""
        self._require(k, self.n - 1)
        return self._graph(ordered(*self._pairs(), self.n, k, ties))

    def radius(self, r: float) -> Graph:
        """Return all known neighbours within a distance."""
        self._require_radius(r)
        i, j, d = self._pairs()
        near = d <= r
        return self._graph(ordered(i[near], j[near], d[near], self.n, self.n, "cut"))

    def query(self, block: Any, k: int) -> tuple[Array, Array]:
        """Return the k nearest of the points whose distances new rows store."""
        self._require(k, self.n)
        rows = sp.coo_array(block)
        if rows.shape[1] != self.n:
            raise DataError(f"rows of distances must have {self.n} columns, one for each object, not {rows.shape[1]}")
        _check_values(rows)
        found = ordered(rows.row, rows.col, rows.data.astype(np.float64), rows.shape[0], k, "cut")
        if (found.counts < k).any():
            row = int(np.flatnonzero(found.counts < k)[0])
            raise DataError(
                f"row {row} of its block has {found.counts[row]} known distances, fewer than {k} neighbours",
                row=row,
            )
        return found.indices.reshape(-1, k), found.distances.reshape(-1, k)

    def ways_out(self, labels: Array, skip: int, seen: KnownLinks) -> Link:
        """Return the shortest stored link out of each component but one; an error if one has none."""
        i, j, d = self._pairs()
        out = (labels[i] != labels[j]) & (labels[i] != skip)
        link = shortest([Link(labels[i[out]], d[out], i[out], j[out])])
        missing = np.setdiff1d(np.unique(labels), np.append(link.label, skip))
        if len(missing):
            row = int(self._numbers[np.flatnonzero(labels == missing[0])[0]])
            raise DisconnectedError(
                Message(
                    "the graph of the stored distances is not connected: the number of connected components is "
                    f"{labels.max() + 1}, and no distance is known from the component of row {row} to any other; "
                    "store some, or use ",
                    Setting("disconnected", "separate"),
                ),
                row=row,
            )
        return link


def refuse_alone(known: Any, separate: bool = False, numbers: Array | None = None) -> Any:
    """Return distances of `known_distances`; raise if a row knows no other, an oversight where nothing allows it.

    ``separate``: whether the rows may be components of their own if the caller says so, for the advice. ``numbers`` are
    the rows' numbers in the data, -1 for points that stand for several equal rows, which are not alone.
    """
    alone = np.flatnonzero(np.diff(known.indptr) == 0)
    alone = alone if numbers is None else numbers[alone][numbers[alone] >= 0]
    if not len(alone):
        return known
    advice = Message(", or use ", Setting("disconnected", "separate")) if separate else ""
    raise DataError(
        Message(
            f"row {alone[0]} has no stored distance to any other ({len(alone)} such rows): store some (a stored "
            "zero is a distance), or leave the row out",
            advice,
        ),
        row=int(alone[0]),
    )


def nearest_given(block: Any, columns: Array, k: int) -> tuple[Array, Array]:
    """Return the k nearest of the objects in ``columns`` for rows that hold distances to all, as numbers among these.

    A distance that a sparse row does not store is unknown, counts as infinite, and comes last.
    """
    if sp.issparse(block):
        D = np.full(block.shape, np.inf)
        stored = block.tocoo()
        stored.sum_duplicates()
        D[stored.row, stored.col] = stored.data
        D = D[:, columns]
    else:
        D = np.asarray(block)[:, columns].astype(np.float64)
    if (D < 0).any():
        i, j = np.argwhere(D < 0)[0]
        raise DataError(f"a distance is negative: {D[i, j]:g} to training object {int(columns[j])}")
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(D, order, axis=1)
    unknown = np.flatnonzero(np.isinf(found[:, 0]))
    if len(unknown):
        raise DataError(
            f"row {unknown[0]} of its block holds no distance to any of the training objects that it is compared with "
            f"({len(unknown)} such rows): store some (a stored zero is a distance)"
        )
    return order, found


def merged(square: Any, labels: Array, n: int) -> Any:
    """Return the known distances between n groups of equal objects: the least of those between their members."""
    edges = square.tocoo()
    i, j = labels[edges.row], labels[edges.col]
    order = np.lexsort((edges.data, j, i))
    i, j, data = i[order], j[order], edges.data[order]
    keep = (i != j) & np.concatenate([[True], (np.diff(i) != 0) | (np.diff(j) != 0)])
    return sp.csr_array((data[keep], j[keep], starts(np.bincount(i[keep], minlength=n))), shape=(n, n))


def known_distances(D: Any) -> tuple[Any, int]:
    """Return the stored distances off the diagonal, each in both directions, and how many were stored in one only.

    A graph of nearest neighbours stores many in one direction. Two that differ by more than rounding are an error.

    >>> known, mirrored = known_distances(sp.csr_array(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])))
    >>> known.toarray().tolist(), mirrored
    ([[0.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 0.0]], 1)
    """
    n, m = D.shape
    if n != m:
        raise DataError(f"precomputed distances must be a square distance matrix; this one is {n} × {m}")
    D = sp.csr_array(D)
    if not D.has_canonical_format:
        D = D.copy()
        D.sum_duplicates()
    edges = D.tocoo()
    _check_values(edges)
    off = edges.row != edges.col
    i, j, d = edges.row[off].astype(np.int64), edges.col[off].astype(np.int64), edges.data[off].astype(np.float64)
    lone = ~np.isin(i * n + j, j * n + i, assume_unique=True)
    i, j, d = np.concatenate([i, j[lone]]), np.concatenate([j, i[lone]]), np.concatenate([d, d[lone]])
    there, back = np.lexsort((j, i)), np.lexsort((i, j))  # by row, then column; and the entries across from these
    i, j, d, across = i[there], j[there], d[there], d[back]
    unit = float(d.max(initial=0.0)) or 1.0
    apart = np.abs((d - across) / unit) * ((d + across) / unit)
    if len(apart) and apart.max() > (_ROUNDING_FLOAT32 if D.dtype == np.float32 else _ROUNDING):
        worst = int(apart.argmax())
        raise DataError(
            f"the distances are not symmetric: {d[worst]:g} at row {i[worst]}, column {j[worst]}, and "
            f"{across[worst]:g} in the transpose; if both measure the same, use D.maximum(D.T)"
        )
    known = sp.csr_array((np.minimum(d, across), j, starts(np.bincount(i, minlength=n))), shape=(n, n))
    return known, int(lone.sum())


def _check_values(edges: Any) -> None:
    bad = ~(edges.data >= 0) | np.isinf(edges.data)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        what = "is negative" if edges.data[at] < 0 else "is not a number"
        row, column = int(edges.row[at]), int(edges.col[at])
        raise DataError(
            f"a distance {what}: {edges.data[at]:g} at row {row}, column {column}; distances are positive or zero: "
            "leave unknown ones out",
            row=row,
            column=column,
        )
