"""Laplacian eigenmaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.parameters import Choice, Rule
from ...contract.reducer import Recorder
from ...core.cost import DataShape
from ...graph.graph import Graph
from ...graph.laplacian import REMEDY, Harmonics, affinity, harmonics, harmonics_of
from ..shared.graph_based import Cost, Embedded, Piece
from ..shared.laplacian_based import EDGES, LaplacianReducer
from .landmarked import Landmarked

Array = Any

_REMEDY = f"set landmarks=2000 for an approximate map, {REMEDY}"


class LaplacianEigenmaps(Landmarked, LaplacianReducer):
    """Coordinates that change as little as possible along the edges of the neighbour graph (Belkin & Niyogi 2003).

    min Σ w_ij (y_i − y_j)² subject to Σ d_i y_i = 0, Σ d_i y_i² = Σ d_i:   L y = λ D y,   L = D − W,   d = W1.
    A new row:  y(x) = Σ_j w(x, j) y_j / ((1 − λ) Σ_j w(x, j)), over its neighbours j.

    Neighbours are drawn together, far points are not pushed apart: clusters come out clear and distances do not.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int
        Neighbours of each point. Two points are linked when either is among the other's neighbours.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the square of distances; or a function of two objects.
    weights : str
        "heat": w = exp(−d²/(2σ²)), but at least 1e-6; "binary": w = 1.
    bandwidth : float or "median"
        σ of the heat weights. "median" is the median of the distances from all points to their neighbours.
    landmarks : int or None
        None: exact. A number: the map is made through so many points drawn by the seed, and is approximate; for data
        whose exact map would take too much memory. More than ``n_components + 1``, better some hundreds.
    disconnected : str
        What to do when the graph falls into pieces: "bridge" adds the shortest links, "separate" embeds each piece
        and lays them side by side, "error" refuses.
    random_state : int or None
        Seed of the solver and of the landmarks; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, of mean 0 and variance 1 under the weights d.
    eigenvalues_ : (k,) array
        λ, smallest first; the constant with λ = 0 is left out. Of the largest piece, where there are several.
    bandwidth_ : float
        σ of the fit, of the largest piece; infinity with binary weights.
    component_labels_ : (N,) array
        Which piece of the neighbour graph a row is in, 0 the largest.
    n_components_ : int
        Coordinates found.
    fit_info_ : FitInfo
        Solver, residual, seconds, bandwidth, pieces.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X, angle = lowland.data.circle(60, n_features=5)
    >>> Y = lowland.LaplacianEigenmaps(n_neighbors=4).fit_transform(X)
    >>> np.unique(np.hypot(*Y.T).round(6)).tolist()
    [1.414214]
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **LaplacianReducer._parameters,
        **Landmarked._parameters,
        "weights": Choice(("heat", "binary")),
    }

    weights: str

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        weights: str = "heat",
        bandwidth: float | str = "median",
        landmarks: int | None = None,
        disconnected: str = "bridge",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.weights = weights
        self.bandwidth = bandwidth
        self.landmarks = landmarks
        self.disconnected = disconnected
        self.random_state = random_state

    def _sigma(self, graph: Graph) -> float:
        return np.inf if self.weights == "binary" else super()._sigma(graph)

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        sigma = self._sigma(piece.graph)
        with record.stage("weights"):
            W = affinity(piece.graph, sigma)
        count = self._count_landmarks(piece.n)
        if count is None:
            with record.stage("solve"):
                found = harmonics(W, self.n_components_, rng, remedy=_REMEDY)
            about = self._about(found, record)
        else:

            def solve(Z: Any, smooth: int) -> Harmonics:
                return harmonics_of(W, Z, self.n_components_, smooth)

            found, error = self._by_landmarks(piece, count, record, rng, solve)
            about = self._about(found, record, loose=np.inf)
            about |= {"algorithm": _algorithm(count), "approximate": True, "approximation_error": error}
        state = {"bandwidth": sigma, "factor": 1 - found.values}
        return Embedded(found.functions, found.values, state, about)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> Cost:
        exact, count = super()._embed_cost(shape, n, k), self._count_landmarks(n)
        if count is None:
            return exact
        parts, seconds = self._landmark_cost(n, count, k, 4 * EDGES * n * k)  # weights, Laplacian, and copies of them
        return Cost(_algorithm(count), parts, seconds, exact.model_bytes, approximate=True)


def _algorithm(count: int) -> str:
    return f"graph Laplacian, {count} landmarks"
