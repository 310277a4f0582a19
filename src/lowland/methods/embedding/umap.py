"""UMAP, by umap-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.parameters import AnyOf, Integer, Nothing, Real, Rule
from ...contract.reducer import Recorder
from ...core import settings, thread_pool
from ...core.cost import DataShape, Plan
from ...core.errors import DataError, LowlandWarning
from ...core.message import message
from ...graph.graph import Graph
from ...pairs.pairwise import tiles
from ...rows.row_source import RowSource
from ..shared.graph_based import Embedded, EmbeddingCost
from .neighbor_embedding import INIT, NeighborEmbedding, assembled, package

Array = Any

NEIGHBORS = 15  # the default; lowered for tables of a few rows
_MANY_EPOCHS_UP_TO = 10_000  # points up to which the default is many epochs, as in umap-learn
_NEW_EPOCHS = 100  # for new rows, where the number of epochs was not given
_NEW_RATE = 0.25  # of the steps of new rows: a quarter of the others
_REPELLING = 5  # points that repel for each one that attracts
_HALVINGS = 64  # of the interval that holds a bandwidth
_SHORTEST = 1e-3  # of a point's mean distance: bandwidths below are no longer lowered
_START_WIDTH, _START_NOISE = 10.0, 1e-4  # of the start
_POINTS_AT_ONCE = 1 << 13  # points whose bandwidths are found at a time


class UMAP(NeighborEmbedding):
    """A drawing of the fuzzy graph of neighbours (McInnes, Healy & Melville 2018), made by umap-learn.

    w_j|i = exp(−(d_ij − ρ_i)/σ_i), ρ_i the distance to the nearest, Σ_j w_j|i = log₂ k;
    w_ij = w_j|i + w_i|j − w_j|i w_i|j;   v_ij = 1/(1 + a |y_i − y_j|^2b);
    Y lowers the cross entropy Σ w log(w/v) + (1 − w) log((1 − w)/(1 − v)), edge by edge in random steps.

    Clusters and neighbours can be read off the map; sizes of clusters and distances between them only roughly.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    n_neighbors : int
        Size of a neighbourhood, the point itself counted, as umap-learn counts. Few show detail, many the whole.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the matrix of distances, dense or sparse; or a function of two
        objects.
    min_dist : float
        How close points may lie on the map, at most ``spread``.
    spread : float
        The distance on the map that stands for a neighbourhood.
    n_epochs : int or None
        Rounds over the edges; None is 500 up to 10,000 points and 200 beyond.
    init : str
        Where points begin: "spectral", eigenvectors of the fuzzy graph; "pca", the principal components (of distances
        and objects, which have none, as "spectral"); or "random".
    random_state : int or None
        Seed of the start and of the steps; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points.
    curve_ : (2,) array
        a and b of the curve above, fitted to ``min_dist`` and ``spread``.
    n_components_ : int
        Number of coordinates.
    fit_info_ : FitInfo
        Its evidence has the share of each point's 10 nearest neighbours that are among its 10 nearest on the map.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((50, 5)), rng.standard_normal((50, 5)) + 8])
    >>> Y = lowland.UMAP(n_neighbors=10).fit_transform(X)
    >>> bool(np.linalg.norm(Y[:50].mean(axis=0) - Y[50:].mean(axis=0)) > 2 * Y[:50].std(axis=0).max())
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **NeighborEmbedding._parameters,
        "n_neighbors": Integer(2),
        "min_dist": Real(0, closed=True),
        "spread": Real(0),
        "n_epochs": AnyOf((Nothing(), Integer(1))),
        "init": INIT,
    }

    _remedy: ClassVar[str] = "use a spread near 1 and a smaller min_dist"

    curve_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = NEIGHBORS,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        min_dist: float = 0.1,
        spread: float = 1.0,
        n_epochs: int | None = None,
        init: str = "spectral",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.min_dist = min_dist
        self.spread = spread
        self.n_epochs = n_epochs
        self.init = init
        self.random_state = random_state

    def _library(self) -> Any:
        return package("umap.umap_", "UMAP")

    def _epochs(self, n: int) -> int:
        return (500 if n <= _MANY_EPOCHS_UP_TO else 200) if self.n_epochs is None else self.n_epochs

    # -- cost ---------------------------------------------------------------------------------------------

    def _plan(self, shape: DataShape) -> Plan:
        if self.min_dist > self.spread:
            text = "UMAP: {min_dist} must be at most {spread}"
            raise ValueError(message(text, min_dist=self.min_dist, spread=self.spread))
        return super()._plan(shape)

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        d, edges = self.n_components, 1.5 * n * k
        later = max(int(48 * edges), self._start_cost(shape, n, edges))  # the one is over when the other begins
        parts = {"fuzzy graph": int(12 * edges), "points": 8 * n * d * 6, "start or epochs": later}
        return EmbeddingCost("fuzzy graph", parts, self._epochs(n) * 9e-8 * edges, model_bytes=8 * n)

    # -- training -----------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self.curve_ = np.array(curve(self.min_dist, self.spread))
        super()._fit(rows, record)

    def _check_neighbors(self, n: int, what: str) -> None:
        if self._least <= n < self.n_neighbors != NEIGHBORS:
            text = f" must be at most the number of {what}, {n}; use {min(NEIGHBORS, n)} or more rows"
            raise DataError(message("UMAP: {n_neighbors}" + text, n_neighbors=self.n_neighbors))

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        """Return the number of neighbours beside the point itself."""
        self._check_neighbors(n, "distinct rows")
        if self.n_neighbors <= n or n < self._least:
            return min(self.n_neighbors, n) - 1
        text = f"UMAP: there are only {n} distinct rows, so each is a neighbour of all others ({{n_neighbors}})"
        record.warn(message(text, n_neighbors=n), LowlandWarning)
        return n - 1

    def _optimized(self, graph: Graph, points: Array, record: Recorder, rng: np.random.Generator) -> Embedded:
        epochs, (a, b) = self._epochs(graph.n), self.curve_.tolist()
        with record.stage("fuzzy graph"):
            W = fuzzy_union(graph)
        with record.stage("start"):
            Y = _START_WIDTH * self._start(points, W, record, rng)
            Y += rng.normal(0, _START_NOISE, Y.shape)
        with record.stage("epochs"):
            Y, _ = self._library().simplicial_set_embedding(
                None,
                sp.csr_matrix(W),
                self.n_components,
                _Rate(1.0, epochs),
                a,
                b,
                1.0,
                _REPELLING,
                epochs,
                Y.astype(np.float32),
                np.random.RandomState(rng.integers(2**31)),
                "euclidean",
                {},
                False,
                {},
                False,
                parallel=False,  # threads would race for the points
            )
        new_epochs = _NEW_EPOCHS if self.n_epochs is None else max(1, epochs // 3)
        about = {"algorithm": "fuzzy graph", "solver": "umap-learn", "iterations": epochs}
        return Embedded(Y.astype(np.float64), np.empty(0), {"epochs": new_epochs, "k": self.neighbors_ + 1}, about)

    # -- new rows -----------------------------------------------------------------------------------------

    def _joining(self, state: dict[str, Any]) -> Callable[[Array, Array], Array]:
        """New rows begin at the weighted mean of their neighbours and move; the training points stay.

        What umap-learn takes of the whole batch (the largest weight, the number of epochs) is here each row's own.
        Its random numbers depend on where a row begins, so rows do not see each other.
        """
        layouts = package("umap.layouts", "UMAP")
        points, epochs, (a, b) = state["points"].astype(np.float32), state["epochs"], self.curve_.tolist()

        def join(neighbors: Array, distances: Array) -> Array:
            w = memberships(distances, nearest=False)
            near = points[neighbors].astype(np.float64)
            Y = ((w[:, :, None] * near).sum(axis=1) / w.sum(axis=1)[:, None]).astype(np.float32)
            strength = w / w.max(axis=1, keepdims=True)
            rows, columns = np.nonzero(strength >= 1 / epochs)
            layouts.optimize_layout_euclidean(
                Y,
                points,
                rows.astype(np.int32),
                neighbors[rows, columns].astype(np.int32),
                epochs,
                len(points),
                1 / strength[rows, columns],
                a,
                b,
                np.arange(1, 4),
                1.0,
                _NEW_RATE,
                _REPELLING,
                tqdm_kwds={"disable": True},
            )
            return Y

        return join


def curve(min_dist: float, spread: float) -> tuple[float, float]:
    """Return a and b of 1/(1 + a x^2b) that come nearest to 1 up to ``min_dist``, then exp(−(x − min_dist)/spread).

    umap-learn's search begins at a = b = 1 and gets lost where spread is far from 1. Lengths in units of the spread
    give the same b, and a·spread^(−2b).

    >>> [round(float(value), 3) for value in curve(0.1, 1.0)]
    [1.577, 0.895]
    """
    a, b = (float(value) for value in package("umap.umap_", "UMAP").find_ab_params(1.0, min_dist / spread))
    with np.errstate(over="ignore", under="ignore"):
        a = float(a * np.float64(spread) ** (-2 * b))
    if not 0 < a < np.inf:
        text = "UMAP: {spread} is too far from 1 for the arithmetic; divide it and {min_dist} by the same number"
        raise ValueError(message(text, spread=spread, min_dist=...))
    return a, b


class _Rate(float):
    """The length of steps. umap-learn multiplies it once an epoch, which reports the progress."""

    epochs: int
    done: int

    def __new__(cls, value: float, epochs: int) -> _Rate:
        rate = super().__new__(cls, value)
        rate.epochs, rate.done = epochs, 0
        return rate

    def __mul__(self, factor: float) -> float:
        self.done += 1
        settings.report_progress("UMAP", self.done, self.epochs)
        return float(self) * factor


def memberships(distances: Array, *, nearest: bool = True) -> Array:
    """Return exp(−(d − ρ)/σ) for rows of k distances, nearest first, with σ so that they add up to log₂.

    ρ is the distance to the nearest, and the point itself counts as a neighbour in log₂(k + 1). New rows have ρ = 0,
    and log₂ k. σ is found by bisection, all rows at once.

    >>> w = memberships(np.array([[1.0, 2.0, 3.0]], dtype=np.float32))
    >>> float(w[0, 0]), round(float(w.sum()), 5)  # log₂ 4
    (1.0, 2.0)
    """
    m, k = distances.shape
    d = distances.astype(np.float64)
    rho = d[:, :1] if nearest else np.zeros((m, 1))
    target = np.log2(k + 1 if nearest else k)
    offsets = d - rho
    low, high, sigma = np.zeros((m, 1)), np.full((m, 1), np.inf), np.ones((m, 1))
    summed = slice(None) if nearest else slice(1, None)  # of new rows umap-learn leaves the nearest out
    for _ in range(_HALVINGS):
        more = np.exp(-offsets[:, summed] / sigma).sum(axis=1, keepdims=True) > target
        low, high = np.where(more, low, sigma), np.where(more, sigma, high)
        sigma = np.where(np.isinf(high), 2 * sigma, (low + high) / 2)
    floor = _SHORTEST * d.sum(axis=1, keepdims=True) / (k + 1 if nearest else k)
    return np.exp(-offsets / np.maximum(sigma, floor)).astype(np.float32).astype(np.float64)


def fuzzy_union(graph: Graph) -> Any:
    """Return w_ij = w_j|i + w_i|j − w_j|i w_i|j over neighbours.

    >>> from lowland.graph import neighbor_graph
    >>> W = fuzzy_union(neighbor_graph(np.array([[0.0], [1.0], [3.0], [6.0]]), 2))
    >>> bool(abs(W - W.T).max() < 1e-6), float(W.toarray()[0, 1])  # nearest neighbours are members in full
    (True, 1.0)
    """

    def weigh(distances: Array) -> Array:
        parts = thread_pool.run(lambda part: memberships(distances[part]), tiles(len(distances), _POINTS_AT_ONCE))
        return np.concatenate(list(parts))

    W = assembled(graph, weigh, np.float32)
    back = sp.csr_array(W.T)
    return W + back - W.multiply(back)
