"""Laplacian eigenmaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.fit_info import Recorder
from ...contract.inputs import Compared
from ...contract.parameters import Choice, Rule
from ...core.cost import DataShape, Plan
from ...core.message import message
from ...graph.geometry import Geometry
from ...graph.graph import Graph
from ...graph.laplacian import REMEDY, affinity, harmonics, harmonics_of
from ...graph.points import Piece
from ...rows.row_source import RowSource
from ...rows.units import Units
from ..shared.affinities import AFFINITY_INPUT, new_affinities
from ..shared.affinity_matrix import affinity_matrix, matrix_degree
from ..shared.full_kernel import fitted_whole, whole_plan
from ..shared.graph_based import Embedded, EmbeddingCost, GraphReducer
from ..shared.landmarks import FEW_LANDMARKS
from ..shared.laplacian_map import (
    EDGES_PER_NEIGHBOR,
    LAPLACIAN_PARAMETERS,
    LAPLACIAN_UNITS,
    about_harmonics,
    keep_bandwidth,
    laplacian_cost,
    least_weight,
    nystrom,
    widths_of,
    with_bandwidth,
)
from ..shared.neighborhood import count_neighbors
from ..shared.placing import State
from .landmark_map import LANDMARKS, LandmarkMap, landmark_count

Array = Any

_REMEDY = message(f"use {{landmarks}} for an approximate map, {REMEDY}", landmarks=FEW_LANDMARKS)


class LaplacianEigenmaps(GraphReducer):
    """Coordinates that change as little as possible along the edges of the neighbour graph (Belkin & Niyogi 2003).

    min Σ w_ij (y_i − y_j)² subject to Σ d_i y_i = 0, Σ d_i y_i² = Σ d_i:   L y = λ D y,   L = D − W,   d = W1.
    A new row:  y(x) = Σ_j w(x, j) y_j / ((1 − λ) Σ_j w(x, j)), over its neighbours j.

    Neighbours are drawn together, far points are not pushed apart: clusters come out clear and distances do not.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int or None
        Neighbours of each point. Two points are linked when either is among the other's neighbours.
    radius : float or None
        With ``n_neighbors=None``: all points within this distance are neighbours. New rows have at least the nearest.
    affinity : str or callable
        "nearest_neighbors"; "rbf": the same heat weights between all points; "precomputed": X is the square of
        affinities, dense or sparse, and new rows hold affinities to the training objects; or a function of rows that
        returns such a square, and of new and training rows for `transform`. The last two have no metric or bandwidth.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is a square matrix of distances; or a function of two objects.
    weights : str
        "heat": w = exp(−d²/(2σ²)), but at least 1e-6; "binary": w = 1.
    bandwidth : float or str
        σ of the heat weights. "median" is the median of the distances from all points to their neighbours. "adaptive":
        w_ij = exp(−d²/(2σ_i σ_j)), σ_i the distance to the middle one of the point's neighbours.
    landmarks : int or None
        None: exact. A number: an approximate map through so many points drawn by the seed, which takes less memory.
        More than ``n_components + 1``, better some hundreds.
    disconnected : str
        What to do with several pieces: "bridge" adds the shortest links, "separate" lays maps side by side, "error".
    random_state : int or None
        Seed of the solver and of the landmarks; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, of mean 0 and variance 1 under the weights d.
    eigenvalues_ : (k,) array
        λ, smallest first; the constant with λ = 0 is left out. Of the largest piece, where there are several.
    bandwidth_ : float
        σ of the fit, of the largest piece; the median of adaptive ones, infinity with binary weights.
    affinity_matrix_ : (N, N) array or sparse array
        Affinities of the rows, made when read: dense, with a diagonal of 1, of "rbf"; as given; or sparse.
    component_labels_ : (N,) array
        Which piece of the neighbour graph a row is in, 0 the largest.
    n_components_, fit_info_ : int, FitInfo
        Coordinates found; solver, residual, seconds, bandwidth, pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, angle = lowland.data.circle(60, n_features=5)
    >>> Y = lowland.LaplacianEigenmaps(n_neighbors=4).fit_transform(X)
    >>> np.unique(np.hypot(*Y.T).round(6)).tolist()
    [1.414214]
    """

    _weights: ClassVar[Mapping[str, Rule]] = {"landmarks": LANDMARKS, "weights": Choice(("heat", "binary"))}
    _parameters: ClassVar[Mapping[str, Rule]] = {**LAPLACIAN_PARAMETERS, **_weights}
    _units: ClassVar[Units] = {**LAPLACIAN_UNITS, "affinity_matrix_": matrix_degree}
    _input: ClassVar[Compared] = AFFINITY_INPUT
    _keeps_square: ClassVar[bool] = False
    _keeps_lengths: ClassVar[bool] = False

    weights: str
    affinity: str | Callable[..., Any]
    affinity_: str
    bandwidth: float | str
    bandwidth_: float

    affinity_matrix_ = property(affinity_matrix, doc="(N, N) affinities of the training rows.")

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 10,
        radius: float | None = None,
        affinity: str | Callable[..., Any] = "nearest_neighbors",
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        weights: str = "heat",
        bandwidth: float | str = "median",
        landmarks: int | None = None,
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components, self.n_neighbors, self.radius = n_components, n_neighbors, radius
        self.affinity, self.metric, self.weights, self.bandwidth = affinity, metric, weights, bandwidth
        self.landmarks, self.disconnected, self.random_state = landmarks, disconnected, random_state

    def _plan(self, shape: DataShape, rows: RowSource | None = None) -> Plan:
        return whole_plan(self, shape) or super()._plan(shape, rows)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        if not fitted_whole(self, rows, record):
            super()._fit(rows, record)
        keep_bandwidth(self, record)

    def _row_map(self) -> Callable[[Array], Array]:
        return new_affinities(self) if self.affinity_ in ("precomputed", "function") else super()._row_map()

    def _sigma(self, graph: Graph) -> Array | float:
        """Return σ of the weights; infinity makes all of them 1."""
        return np.inf if self.weights == "binary" else widths_of(self, graph)

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        LandmarkMap.of(self).check(n)
        return count_neighbors(self, n, record)

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        sigma = self._sigma(piece.graph)
        with record.stage("weights"):
            W = affinity(piece.graph, sigma, least_weight(self))
        k, count = self.n_components_, landmark_count(self, piece.n)
        if count is None:
            return self._of_weights(W, sigma, k, record, rng)
        landmarks = LandmarkMap.of(self)
        found, error = landmarks.solve(piece, count, record, rng, lambda Z, smooth: harmonics_of(W, Z, k, smooth))
        about = about_harmonics("LaplacianEigenmaps", k, found, record, loose=np.inf)
        about |= {"algorithm": _algorithm(count), "approximate": True, "approximation_error": error}
        return self._embedded(found, sigma, about)

    def _of_weights(self, W: Any, sigma: Array | float, k: int, record: Recorder, rng: np.random.Generator) -> Embedded:
        with record.stage("solve"):
            found = harmonics(W, k, rng, remedy=_REMEDY if W.shape[0] > FEW_LANDMARKS else REMEDY)
        return self._embedded(found, sigma, about_harmonics("LaplacianEigenmaps", k, found, record))

    def _embedded(self, found: Any, sigma: Array | float, about: dict[str, Any]) -> Embedded:
        state = {"bandwidth": sigma, "factor": 1 - found.values, "least": least_weight(self)}
        return Embedded(found.functions, found.values, state, about)

    def _small(self, piece: Piece) -> Embedded:
        return with_bandwidth(super()._small(piece), self._sigma(piece.graph) if piece.n > 1 else 1.0)

    def _place(self, state: State, geometry: Geometry, block: Array, neighbors: Array, distances: Array) -> Array:
        return nystrom(state, neighbors, distances)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        exact, count = laplacian_cost(n, k, self.n_components), landmark_count(self, n)
        if count is None:
            return exact
        entries = 4 * EDGES_PER_NEIGHBOR * n * k  # weights, Laplacian, and copies of them
        parts, seconds = LandmarkMap.of(self).cost(n, count, k, entries)
        return EmbeddingCost(_algorithm(count), parts, seconds, exact.model_bytes, approximate=True)


def _algorithm(count: int) -> str:
    return f"graph Laplacian, {count} landmarks"
