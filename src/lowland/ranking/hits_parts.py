"""Leading singular vectors of an adjacency matrix, part by part.

Hubs and authorities form a graph with two kinds of nodes. In each of its connected components the leading singular
value is simple and its vectors are positive (Perron and Frobenius), and the matrix is their direct sum: the leading
value is tied exactly if several components have it. Components are solved in descending order of an upper bound of
their norm, (largest row sum · largest column sum)^½, until the bound falls below the largest value found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..spectral.operators import Sparse
from ..spectral.solve import Triplets, singular

Array = Any

TIE = 1e-10  # values that differ by less, relative to the largest, count as equal


@dataclass(frozen=True, eq=False)
class Leading:
    """The leading singular value and its vectors, not normalised; ``gap`` and ``tied`` as in `Hits`."""

    value: float
    hubs: Array
    authorities: Array
    residual: float
    products: int
    converged: bool
    gap: float
    tied: int


@dataclass(frozen=True, eq=False)
class _Solved:
    """Leading triplets of one component, with the nodes that they belong to."""

    hubs: Array
    authorities: Array
    triplets: Triplets


def leading_vectors(A: Any) -> Leading:
    """Return the leading singular vectors of a nonnegative CSR matrix with at least one entry."""
    parts = _Parts(A)
    top = float(parts.star_values.max(initial=0.0))
    solved: list[_Solved] = []
    for part in parts.by_bound():
        if parts.bounds[part] < top * (1 - TIE):
            break
        found = _solve(parts.matrix(part), parts.hubs(part), parts.authorities(part), top)
        solved.append(found)
        top = max(top, float(found.triplets.values[0]))
    stars = parts.star_values >= top * (1 - TIE)
    kept = [found for found in solved if found.triplets.values[0] >= top * (1 - TIE)]
    others = [float(value) for found in solved for value in found.triplets.values if value < top * (1 - TIE)]
    second = max([*others, *parts.star_values[~stars].tolist()], default=0.0)
    hubs, authorities, tied = np.zeros(A.shape[0]), np.zeros(A.shape[0]), int(stars.sum())
    parts.add_stars(stars, hubs, authorities)
    for found in kept:
        tied += _add(found, top, hubs, authorities)
    return Leading(
        value=top,
        hubs=np.abs(hubs),
        authorities=np.abs(authorities),
        residual=max((found.triplets.residual for found in kept), default=0.0),
        products=sum(found.triplets.products for found in solved),
        converged=all(found.triplets.converged for found in kept),
        gap=float(1 - second / top),
        tied=tied,
    )


def _solve(A: Any, hubs: Array, authorities: Array, top: float) -> _Solved:
    """Return the leading triplets of a component: two, or more if they are nearly tied."""
    k, most = 2, min(A.shape)
    while True:
        found = singular(Sparse(A), min(k, most))
        values = found.values
        if k >= most or values[0] < top * (1 - TIE) or values[-1] < values[0] * (1 - TIE):
            return _Solved(hubs, authorities, found)
        k *= 2


def _add(found: _Solved, top: float, hubs: Array, authorities: Array) -> int:
    """Add the projection of (1, …, 1) on the space of the leading vectors; return its dimension.

    The hubs are A times the authorities, which is σ times the same combination of left vectors.
    """
    tied = found.triplets.values >= top * (1 - TIE)
    U, V = found.triplets.left[:, tied], found.triplets.right[:, tied]
    shares = V.sum(axis=0)
    hubs[found.hubs] += U @ shares
    authorities[found.authorities] += V @ shares
    return int(tied.sum())


class _Parts:
    """The connected components of hubs and authorities; stars, with one hub or one authority, need no solver."""

    def __init__(self, A: Any) -> None:
        n = A.shape[0]
        links = A.tocoo()
        both = sp.coo_array((np.ones(A.nnz, dtype=np.int8), (links.row, links.col + n)), shape=(2 * n, 2 * n))
        count, label = sp.csgraph.connected_components(both, directed=False)
        self.A, self.row, self.col, self.data = A, links.row, links.col, links.data
        self.of_edge = label[links.row]
        row_sums, col_sums = (np.asarray(A.sum(axis=axis)).ravel() for axis in (1, 0))
        rows, cols = np.flatnonzero(np.diff(A.indptr)), np.flatnonzero(np.bincount(links.col, minlength=n))
        self.row_label, self.col_label, self.rows, self.cols = label[rows], label[cols + n], rows, cols
        n_rows, n_cols = (np.bincount(own, minlength=count) for own in (self.row_label, self.col_label))
        largest_row, largest_col = np.zeros(count), np.zeros(count)
        np.maximum.at(largest_row, self.row_label, row_sums[rows])
        np.maximum.at(largest_col, self.col_label, col_sums[cols])
        self.bounds = np.sqrt(largest_row * largest_col) * (1 + 1e-12)
        squares = np.sqrt(np.bincount(self.of_edge, self.data**2, minlength=count))
        star = (n_rows > 0) & ((n_rows == 1) | (n_cols == 1))
        self.star_values = np.where(star, squares, 0.0)
        self._harder = np.flatnonzero((n_rows > 1) & (n_cols > 1))
        order = np.argsort(self.of_edge, kind="stable")
        self._edges, self._ends = order, np.searchsorted(self.of_edge[order], np.arange(count + 1))

    def by_bound(self) -> Array:
        """Return the components that need a solver, the largest bound first."""
        return self._harder[np.argsort(-self.bounds[self._harder], kind="stable")]

    def _of(self, part: int) -> Array:
        return self._edges[self._ends[part] : self._ends[part + 1]]

    def hubs(self, part: int) -> Array:
        """Return the nodes of a component that have links out."""
        return np.unique(self.row[self._of(part)])

    def authorities(self, part: int) -> Array:
        """Return the nodes of a component that have links in."""
        return np.unique(self.col[self._of(part)])

    def matrix(self, part: int) -> Any:
        """Return the adjacency matrix of a component, hubs × authorities."""
        edges = self._of(part)
        row, col = (np.unique(ends[edges], return_inverse=True)[1] for ends in (self.row, self.col))
        return sp.csr_array((self.data[edges], (row, col)), shape=(int(row.max()) + 1, int(col.max()) + 1))

    def add_stars(self, chosen: Array, hubs: Array, authorities: Array) -> None:
        """Add the projection of (1, …, 1) on the leading vectors of stars.

        With one hub, a = w/σ and h = 1; with one authority, a = 1 and h = w/σ. The projection multiplies both by Σa.
        """
        edges = np.flatnonzero(chosen[self.of_edge])
        if not len(edges):
            return
        part, weight = self.of_edge[edges], self.data[edges]
        count = len(self.star_values)
        value = self.star_values[part]
        one_hub = np.bincount(self.row_label, minlength=count)[part] == 1
        share = (
            np.bincount(part, weight, minlength=count)[part] / value
        )  # Σ w/σ: of the authorities, if there is one hub
        several = np.bincount(self.col_label, minlength=count)[part] > 1
        fan = one_hub & several
        authorities[self.col[edges]] = np.where(fan, weight / value * share, 1.0)
        hubs[self.row[edges]] = np.where(fan, share, weight / value)
