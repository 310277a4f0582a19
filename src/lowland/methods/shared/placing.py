"""How new rows join a map of a neighbour graph: by what the fit stored, and no parameter, which may have changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core import arrays, thread_pool
from ...graph.geometry import Coordinates, Geometry
from ...graph.neighbors import searcher
from ...graph.patches import barycentric
from ...graph.points import PointMetric, take
from ...rows.object_rows import unpacked

Array = Any

State = dict[str, Array]  # what a model keeps of a component
Weigh = Callable[[Array], Array]  # inner products around points → weights of their neighbours
Place = Callable[[State, Geometry, Array, Array, Array], Array]  # state, geometry, rows, numbers, distances


class NewRows:
    """Places new rows among the training points of a fitted model.

    ``anchors_`` of the model are the distinct training points (of precomputed distances their numbers), ``pieces_`` the
    components of their graph: the numbers, coordinates and offset of each, and what ``place`` needs besides.
    """

    def __init__(self, model: Any) -> None:
        self.metric = PointMetric(type(model).__name__, model._input.fitted(model), model.metric_state_)
        self.points, self.pieces, self._radius = training_points(model), model.pieces_, getattr(model, "radius_", None)
        self._neighbors, self._n_components = model.neighbors_, model.n_components_
        self.anchors = model.anchors_ if self.metric.precomputed else self.points

    def row_map(self, place: Place) -> Callable[[Array], Array]:
        """Return what places rows; searches are built anew, since model files hold none (a million points: < 1 s)."""
        placer = cache(lambda number: self._placer(number, place))  # of many components few may be asked for
        return self.alike(placer(0) if len(self.pieces) == 1 else self._by_component(placer))

    def _by_component(self, placer: Callable[[int], Callable[[Array], Array]]) -> Callable[[Array], Array]:
        """Return what places each row in the component of its nearest training point."""
        home = self.metric.query(self.anchors, self._radius)
        labels = np.empty(sum(len(piece["numbers"]) for piece in self.pieces), dtype=np.int64)
        for number, piece in enumerate(self.pieces):
            labels[piece["numbers"]] = number

        def work(rows: Array) -> Array:
            nearest = labels[home(rows, 1)[0][:, 0]]
            out = np.empty((rows.shape[0], self._n_components))
            for number in np.unique(nearest).tolist():
                mine = np.flatnonzero(nearest == number)
                out[mine] = placer(number)(rows[mine])
            return out

        return work

    def alike(self, work: Callable[[Array], Array]) -> Callable[[Array], Array]:
        """Return ``work`` for blocks of any kind: made sparse or dense as the training rows are, on any device."""
        tables = not self.metric.precomputed and self.points.ndim == 2  # not distances or objects

        def map_block(block: Array) -> Array:
            sparse = sp.issparse(block)
            rows: Array = block if sparse else arrays.to_numpy(block)
            if tables and sparse != sp.issparse(self.points):
                rows = rows.toarray() if sparse else sp.csr_array(rows)
            return work(rows) if sparse else arrays.like(work(rows), block)

        return map_block

    def _placer(self, number: int, place: Place) -> Callable[[Array], Array]:
        """Return the function that places a block of rows in a component."""
        state, k = self.pieces[number], min(self._neighbors, len(self.pieces[number]["numbers"]))
        search = self.metric.query(take(self.anchors, state["numbers"], square=False), self._radius)
        geometry = self.metric.geometry(take(self.points, state["numbers"], self.metric.precomputed))

        def work(block: Array) -> Array:
            neighbors, distances = search(block, k)
            known = np.isfinite(distances).sum(axis=1)  # a sparse row of distances may hold fewer than k
            known[distances[:, 0] == 0] = 0
            Y: Array = state["points"][neighbors[:, 0]]  # a training row returns to its place
            for count in np.unique(known[known > 0]).tolist():
                rows = slice(None) if (known == count).all() else np.flatnonzero(known == count)
                Y[rows] = place(state, geometry, block[rows], neighbors[rows, :count], distances[rows, :count])
            return Y + state["offset"]

        return work


def training_points(model: Any) -> Array:
    """Return the distinct training objects as the fit had them; of precomputed distances the square, if it was kept."""
    return model.square_ if model._fitted_pairwise else unpacked(model.anchors_)


def numbers_of_rows(model: Any) -> Array:
    """Return the number of the point that each training row is; AttributeError for a model file that lacks them."""
    found, n = vars(model).get("point_numbers_"), sum(len(piece["numbers"]) for piece in model.pieces_)
    if found is None and n < len(model.embedding_):
        raise AttributeError("an older version saved this model without the numbers of equal rows; fit it again")
    return np.arange(n) if found is None else found


def points_of(pieces: list[dict[str, Array]], n_components: int) -> Array:
    """Return the coordinates of all distinct points."""
    Y = np.empty((sum(len(piece["numbers"]) for piece in pieces), n_components))
    for piece in pieces:
        Y[piece["numbers"]] = piece["points"] + piece["offset"]
    return Y


def weights_of_new(weigh: Weigh, geometry: Geometry, block: Array, neighbors: Array, distances: Array) -> Array:
    """Return the weights of new rows among their neighbours, a few rows at a time."""
    parts = geometry.batches(*neighbors.shape)
    return np.concatenate([weigh(geometry.around_new(block[p], neighbors[p], distances[p])) for p in parts])


def rows_from_map(Y: Array, points: Array, anchors: Array, n_neighbors: int) -> Array:
    """Return rows for points Y of a map: means of the training rows whose points are nearest.

    The weights are those that make up the point from its neighbours on the map; a training point returns its row.
    """
    if not len(Y):
        return np.empty((0, anchors.shape[1]))
    search, on_map = searcher("euclidean", points), Coordinates(points)

    def work(part: slice) -> Array:
        neighbors, distances = search.query(Y[part], min(n_neighbors, len(points)))
        w = weights_of_new(barycentric, on_map, Y[part], neighbors, distances)
        w[distances[:, 0] == 0] = np.eye(w.shape[1])[0]
        if sp.issparse(anchors):
            indptr = np.arange(len(w) + 1) * w.shape[1]
            return (sp.csr_array((w.ravel(), neighbors.ravel(), indptr), (len(w), len(points))) @ anchors).toarray()
        return (w[:, None, :] @ anchors[neighbors].astype(np.float64))[:, 0, :]

    step = max(1, (1 << 20) // (anchors.shape[1] * n_neighbors))
    parts = [slice(s, s + step) for s in range(0, len(Y), step)]
    return np.concatenate(list(thread_pool.run(work, parts)))
