"""How new rows join a map that was learned from a neighbour graph: what the fit left, and nothing of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.inputs import METRIC_INPUT, Compared
from ...contract.reducer import Reducer
from ...core import arrays
from ...graph.geometry import Coordinates, Edges, Geometry, Metric, Square
from ...graph.neighbors import Searcher, searcher
from ...graph.patches import barycentric
from ...graph.precomputed import nearest_given
from ...pairs.distances import metric
from ...pairs.pairwise import Pairwise
from ...rows.object_rows import unpacked

Array = Any


class Joining(Reducer):
    """A reducer whose new rows are placed by their neighbours among the training points.

    ``anchors_`` are the distinct training points (of precomputed distances their numbers), ``pieces_`` the connected
    parts of their graph: the numbers, coordinates and offset of each, and what a subclass's `_place` needs beside.
    """

    _input: ClassVar[Compared] = METRIC_INPUT

    n_components: int
    random_state: Any
    anchors_: Any
    metric_: str
    metric_state_: dict[str, Array]
    neighbors_: int
    square_: Array | None
    pieces_: list[dict[str, Array]]
    embedding_: Array

    # -- the points, as they are compared -----------------------------------------------------------------

    def _anchors(self) -> Array:
        """Return the distinct training objects as the fit had them; of precomputed distances the square, if kept."""
        return self.square_ if self._fitted_pairwise else unpacked(self.anchors_)

    def _rule(self, points: Array) -> Pairwise:
        return metric(self._input.fitted(self), points, self.metric_state_)

    def _search(self, points: Array, start: int = 0) -> Searcher:
        """Return the search; ``start`` is where an approximate graph begins, and nothing else depends on it."""
        return searcher(self._input.fitted(self), points, self.metric_state_, rng_seed=start)

    def _geometry(self, points: Array) -> Geometry:
        if self._fitted_pairwise:
            return Edges(type(self).__name__) if sp.issparse(points) else Square(points)
        if self.metric_ == "euclidean":
            return Coordinates(points)
        return Metric(self._rule(points), points)

    # -- new rows -----------------------------------------------------------------------------------------

    def _row_map(self) -> Callable[[Array], Array]:
        """Return what places rows, each in the piece of its nearest training point.

        The searches are built anew for each call, since model files hold none: under a second for a million points.
        """
        anchors = self._anchors()
        placer = cache(lambda number: self._placer(anchors, number))  # of many pieces few may be asked for
        if len(self.pieces_) == 1:
            place = placer(0)
            return lambda block: _alike(place(_as_points(block, anchors, self._fitted_pairwise)), block)
        home = self._search_new(anchors, None)
        labels = np.empty(sum(len(piece["numbers"]) for piece in self.pieces_), dtype=np.int64)
        for number, piece in enumerate(self.pieces_):
            labels[piece["numbers"]] = number

        def work(block: Array) -> Array:
            rows = _as_points(block, anchors, self._fitted_pairwise)
            nearest = labels[home(rows, 1)[0][:, 0]]
            out = np.empty((rows.shape[0], self.n_components_))
            for number in np.unique(nearest).tolist():
                mine = np.flatnonzero(nearest == number)
                out[mine] = placer(number)(rows[mine])
            return _alike(out, block)

        return work

    def _search_new(self, anchors: Array, numbers: Array | None) -> Callable[[Array, int], tuple[Array, Array]]:
        """Return the search of new rows for their neighbours among all anchors, or those numbered."""
        if self._fitted_pairwise:
            columns = self.anchors_ if numbers is None else self.anchors_[numbers]
            return lambda block, k: nearest_given(block, columns, k)
        points = anchors if numbers is None else anchors[numbers]
        return self._search(points).query

    def _placer(self, anchors: Array, number: int) -> Callable[[Array], Array]:
        """Return the function that places a block of rows in a piece."""
        state = self.pieces_[number]
        numbers = None if len(self.pieces_) == 1 else state["numbers"]
        search = self._search_new(anchors, numbers)
        k = min(self.neighbors_, len(state["numbers"]))
        if anchors is None:
            geometry: Geometry = Edges(type(self).__name__)
        else:
            geometry = self._geometry(anchors if numbers is None else take(anchors, numbers, self._fitted_pairwise))

        def place(block: Array) -> Array:
            neighbors, distances = search(block, k)
            known = np.isfinite(distances).sum(axis=1)  # a sparse row of distances may hold fewer than k
            Y = np.empty((len(known), self.n_components_))
            for count in np.unique(known).tolist():
                mine = slice(None) if known.min() == count == known.max() else np.flatnonzero(known == count)
                Y[mine] = self._place(state, geometry, block[mine], neighbors[mine, :count], distances[mine, :count])
            same = distances[:, 0] == 0
            Y[same] = state["points"][neighbors[same, 0]]  # a training row returns to its place
            return Y + state["offset"]

        return place

    def _place(
        self, state: dict[str, Array], geometry: Geometry, block: Array, neighbors: Array, distances: Array
    ) -> Array:
        """Return the coordinates of new rows whose neighbours in a piece have these numbers and distances."""
        points: Array = state["points"]
        weights = weights_of_new(self._weigh, geometry, block, neighbors, distances)
        return (weights[:, None, :] @ points[neighbors])[:, 0, :]

    def _weigh(self, G: Array) -> Array:
        """Return the weights that make up points from their neighbours, for products G around them.

        New rows need it, too: it reads what the fit learned, and no parameter, which may have changed since.
        """
        return barycentric(G)

    def _all_points(self) -> Array:
        """Return the coordinates of all distinct points."""
        n = sum(len(p["numbers"]) for p in self.pieces_)
        Y = np.empty((n, self.n_components_))
        for piece in self.pieces_:
            Y[piece["numbers"]] = piece["points"] + piece["offset"]
        return Y


def weights_of_new(
    weigh: Callable[[Array], Array], geometry: Geometry, block: Array, neighbors: Array, distances: Array
) -> Array:
    """Return the weights of new rows among their neighbours, a few rows at a time."""
    parts = geometry.batches(*neighbors.shape)
    return np.concatenate([weigh(geometry.around_new(block[p], neighbors[p], distances[p])) for p in parts])


def _as_points(block: Array, points: Array, given: bool) -> Array:
    """Return new rows sparse or dense as the training points are: rows are compared with rows of one kind.

    Rows of ``given`` distances are compared with nothing, and objects are neither.
    """
    sparse = sp.issparse(block)
    rows: Array = block if sparse else arrays.to_numpy(block)
    if given or points.ndim != 2 or sparse == sp.issparse(points):
        return rows
    return rows.toarray() if sparse else sp.csr_array(rows)


def _alike(Y: Array, block: Array) -> Array:
    """Return points on the device of the rows they belong to."""
    return Y if sp.issparse(block) else arrays.like(Y, block)


def take(items: Array, numbers: Array, square: bool) -> Array:
    """Return some of the objects; of a square of distances rows and columns."""
    if len(numbers) == items.shape[0]:
        return items
    return items[numbers][:, numbers] if square else items[numbers]
