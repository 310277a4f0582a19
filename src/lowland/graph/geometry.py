"""Inner products of the offsets of a point's neighbours, from coordinates or from distances.

With z_j = x_j − x the products are G_jl = z_jᵀz_l = ½(d_j² + d_l² − d_jl²), so distances alone are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import settings, thread_pool
from ..core.cost import DataShape, dense_seconds
from ..core.errors import DataError
from ..pairs.pairwise import Pairwise, tiles
from .graph import spread

Array = Any

_DENSE_COLUMNS = 512  # columns up to which sparse rows are filled up: many points at once are quicker then
_SPARSE_LIST = 64  # columns for each entry of a list above which sorting it is quicker than a table of all columns
_OFFSETS_PER_THREAD = 1 << 20  # numbers of offsets held at once by one thread: 8 MB


class Geometry:
    """The training points; subclasses know their coordinates or their distances."""

    width: int | None = None  # coordinates of a point, where it has some

    def around(self, points: Array, neighbors: Array) -> Array:
        """Return the products (B × k × k) around some training points; ``neighbors`` are B × k numbers."""
        raise NotImplementedError

    def around_new(self, block: Array, neighbors: Array, distances: Array) -> Array:
        """Return the products around new rows, whose neighbours have these numbers and distances."""
        raise NotImplementedError

    def part(self, numbers: Array) -> Geometry:
        """Return the geometry of some of the points."""
        raise NotImplementedError

    def batches(self, n: int, k: int) -> Iterator[slice]:
        """Cut n points with k neighbours each into pieces that a thread can hold."""
        return iter(tiles(n, _points_at_once(k, self.width or k)))

    def over(self, lists: Array, work: Callable[[Array, Array], Array], stage: str | None = None) -> list[Array]:
        """Apply ``work(products, batch of lists)`` to all points (B × k lists of neighbours), on all threads."""

        def batch(part: slice) -> Array:
            return work(self.around(np.arange(part.start, part.stop), lists[part]), lists[part])

        parts = list(self.batches(*lists.shape))
        return list(thread_pool.run(batch, parts, stage=stage, total=len(parts)))


def _points_at_once(k: int, width: int) -> int:
    """Return how many points of k neighbours, of so many numbers each, a thread takes at once."""
    return max(1, _OFFSETS_PER_THREAD // (k * max(k, width)))


def around_bytes(shape: DataShape, n: int, k: int, copies: int) -> int:
    """Return what products around n points of k neighbours take on all threads, with so many ``copies`` of them.

    >>> around_bytes(DataShape(9, 5, np.dtype(float)), 9, 3, copies=0) == 8 * 9 * (3 + 2) * 5
    True
    """
    columns, stored = shape.n_features, shape.entries // max(1, shape.n_rows or 1)
    compact = shape.sparse and columns > _DENSE_COLUMNS  # one point at a time is filled up, in the columns it needs
    batch = min(n, _points_at_once(k, 1 + stored if compact else columns))
    if compact:
        entries = (k + 1) * stored  # of a point and its neighbours: their places, rows and columns
        offsets = 8 * (k + 1) * min(columns, entries) + 40 * entries + 12 * batch * stored
        offsets += 9 * columns if entries * _SPARSE_LIST >= columns else 0  # the table of `_Union`
    else:
        offsets = 8 * batch * (k + 2) * columns  # of all neighbours, and the rows of the points and of one neighbour
    return min(settings.threads(), -(-n // batch)) * (offsets + 8 * copies * batch * k * k)


def around_seconds(shape: DataShape, n: int, k: int) -> float:
    """Return the rough seconds of the products around n points of k neighbours each."""
    workers, columns = settings.threads(), shape.n_features
    if shape.sparse and columns > _DENSE_COLUMNS:
        return 35e-9 * n * (k + 1) * shape.density * columns / workers
    return 2e-9 * n * k * columns / workers + dense_seconds(float(n) * k * k * columns, np.dtype(np.float64))


class Coordinates(Geometry):
    """Points by their coordinates, dense or sparse; offsets are taken before anything is multiplied."""

    def __init__(self, X: Array) -> None:
        self.width = X.shape[1]
        self._filled = not sp.issparse(X) or X.shape[1] <= _DENSE_COLUMNS
        self.X = X if self._filled else _rows(X)

    def batches(self, n: int, k: int) -> Iterator[slice]:
        """Cut n points into pieces that a thread can hold; of wide sparse rows one point is filled up at a time."""
        if self._filled:
            return super().batches(n, k)
        return iter(tiles(n, _points_at_once(k, 1 + len(self.X.data) // max(1, self.X.shape[0]))))

    def _take(self, numbers: Array) -> Array:
        if sp.issparse(self.X):
            return self.X[numbers].toarray().astype(np.float64, copy=False)
        return self.X[numbers].astype(np.float64, copy=False)

    def around(self, points: Array, neighbors: Array) -> Array:
        """Return the products around training points."""
        if not self._filled:
            return self._sparse_products(self.X[points], neighbors)
        return self._products(self._take(points), neighbors)

    def around_new(self, block: Array, neighbors: Array, distances: Array) -> Array:
        """Return the products around new rows."""
        if not self._filled:
            return self._sparse_products(_rows(block), neighbors)
        rows = block.toarray() if sp.issparse(block) else block
        return self._products(rows.astype(np.float64, copy=False), neighbors)

    def _products(self, centers: Array, neighbors: Array) -> Array:
        Z = np.empty((*neighbors.shape, centers.shape[1]))
        for j, column in enumerate(neighbors.T):  # one neighbour of each at a time: the rows are not held twice
            np.subtract(self._take(column), centers, out=Z[:, j])
        return Z @ Z.transpose(0, 2, 1)

    def _sparse_products(self, centers: Any, neighbors: Array) -> Array:
        """Fill up only the columns that a point or its neighbours store: the same for one point or many."""
        n, k = neighbors.shape
        G = np.empty((n, k, k))
        stored = np.diff(self.X.indptr)
        union = _Union(self.X.shape[1])
        for b, row in enumerate(neighbors):
            own = slice(centers.indptr[b], centers.indptr[b + 1])
            at, which = spread(self.X.indptr[row], stored[row])
            count, place = union.of(np.concatenate([centers.indices[own], self.X.indices[at]]))
            first = own.stop - own.start
            center, Z = np.zeros(count), np.zeros((k, count))
            center[place[:first]] = centers.data[own]
            Z[which, place[first:]] = self.X.data[at]
            Z -= center
            G[b] = Z @ Z.T
        return G

    def part(self, numbers: Array) -> Coordinates:
        """Return the geometry of some of the points."""
        return Coordinates(self.X[numbers])


class _Union:
    """Counts the different columns of a list and says which of them, in ascending order, each entry is.

    Long lists mark the columns in a table of all, which takes no sorting; lists of few among very many are sorted.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._marked: Array | None = None  # made when the first long list comes

    def of(self, columns: Array) -> tuple[int, Array]:
        """Return how many different columns there are, and the number of each entry's column among them."""
        if len(columns) * _SPARSE_LIST < self._width:
            found, place = np.unique(columns, return_inverse=True)
            return len(found), place
        if self._marked is None:
            self._marked, self._place = np.zeros(self._width, dtype=bool), np.empty(self._width, dtype=np.intp)
        self._marked[columns] = True
        found = np.flatnonzero(self._marked)
        self._marked[found] = False
        self._place[found] = np.arange(len(found))
        return len(found), self._place[columns]


class Metric(Geometry):
    """Points that a metric compares."""

    def __init__(self, rule: Pairwise, items: Array) -> None:
        self.rule, self.items = rule, items

    def _take(self, numbers: Array) -> Array:
        """Return some objects; a rule compares dense rows, so of sparse ones these few are filled up."""
        few = self.items[numbers]
        return few.toarray() if sp.issparse(few) else few

    def _between(self, neighbors: Array) -> Array:
        """Return the squared distances among the neighbours of each point."""
        D = np.stack([np.asarray(self.rule(few, few)) for few in map(self._take, neighbors)])
        return D * D

    def around(self, points: Array, neighbors: Array) -> Array:
        """Return the products around training points."""
        own = [
            np.asarray(self.rule(self._take(np.array([i])), self._take(row)))[0]
            for i, row in zip(points, neighbors, strict=True)
        ]
        return products(np.stack(own) ** 2, self._between(neighbors))

    def around_new(self, block: Array, neighbors: Array, distances: Array) -> Array:
        """Return the products around new rows."""
        return products(distances**2, self._between(neighbors))

    def part(self, numbers: Array) -> Metric:
        """Return the geometry of some of the points."""
        return Metric(self.rule, self.items[numbers])


class Square(Geometry):
    """Points whose distances are all given."""

    def __init__(self, D: Array) -> None:
        self.D = D

    def _between(self, neighbors: Array) -> Array:
        return self.D[neighbors[:, :, None], neighbors[:, None, :]].astype(np.float64) ** 2

    def around(self, points: Array, neighbors: Array) -> Array:
        """Return the products around training points."""
        own = self.D[points[:, None], neighbors].astype(np.float64)
        return products(own**2, self._between(neighbors))

    def around_new(self, block: Array, neighbors: Array, distances: Array) -> Array:
        """Return the products around new rows."""
        return products(distances**2, self._between(neighbors))

    def part(self, numbers: Array) -> Square:
        """Return the geometry of some of the points."""
        return Square(self.D[np.ix_(numbers, numbers)])


class EdgeLengths(Geometry):
    """Points of which only the distances along the edges are known, not those among neighbours."""

    def __init__(self, owner: str) -> None:
        self.owner = owner

    def _refuse(self) -> Array:
        raise DataError(
            f"{self.owner} needs the distances among neighbours, too, and a sparse square holds only some; give the "
            "rows or all distances as a dense square. Isomap, LaplacianEigenmaps and DiffusionMaps need only the edges,"
            " and so does MVU for its fit, though not for new rows"
        )

    def around(self, points: Array, neighbors: Array) -> Array:
        """Raise: the products need unknown distances."""
        return self._refuse()

    def around_new(self, block: Array, neighbors: Array, distances: Array) -> Array:
        """Raise: the products need unknown distances."""
        return self._refuse()

    def part(self, numbers: Array) -> EdgeLengths:
        """Return the geometry of some of the points."""
        return self


def _rows(X: Any) -> Any:
    """Return sparse rows in float64, no column stored twice in a row."""
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.astype(np.float64, copy=False)


def products(own: Array, among: Array) -> Array:
    """Return ½(d_j² + d_l² − d_jl²) from squared distances (B × k) to a point and (B × k × k) among its neighbours.

    >>> products(np.array([[9.0, 16.0]]), np.array([[[0.0, 25.0], [25.0, 0.0]]])).tolist()
    [[[9.0, 0.0], [0.0, 16.0]]]
    """
    return (own[:, :, None] + own[:, None, :] - among) / 2
