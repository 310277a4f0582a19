"""UMAP, by umap-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from ...contract.parameters import AnyOf, Integer, Nothing, Real, Rule
from ...contract.reducer import Recorder
from ...core import settings
from ...core.cost import DataShape, Plan
from ...core.errors import DataError, LowlandWarning
from ...core.message import message
from ...graph.points import Neighborhood, Piece
from ...pairs.distances import METRICS
from ...rows.row_source import RowSource
from ..shared.distance_based import MetricName
from ..shared.graph_based import Embedded, EmbeddingCost
from .fuzzy_graph import CATEGORICAL, SupervisedTarget, fuzzy_union, memberships
from .neighbor_embedding import INIT, NeighborEmbedding, package

Array = Any

NEIGHBORS = 15  # the default; lowered for tables of a few rows
_MANY_EPOCHS_UP_TO = 10_000  # points up to which the default is many epochs, as in umap-learn
_NEW_EPOCHS = 100  # for new rows, where the number of epochs was not given
_NEW_RATE = 0.25  # of the steps of new rows: a quarter of the others
_REPELLING = 5  # points that repel for each one that attracts
_START_WIDTH, _START_NOISE = 10.0, 1e-4  # of the start
_TINY = float(np.finfo(np.float64).tiny)


class UMAP(NeighborEmbedding):
    """A drawing of the fuzzy graph of neighbours (McInnes, Healy & Melville 2018), made by umap-learn.

    w_j|i = exp(−(d_ij − ρ_i)/σ_i), ρ_i the distance to the nearest, Σ_j w_j|i = log₂ k;
    w_ij = w_j|i + w_i|j − w_j|i w_i|j;   v_ij = 1/(1 + a |y_i − y_j|^2b);
    Y lowers the cross entropy Σ w log(w/v) + (1 − w) log((1 − w)/(1 − v)), edge by edge in random steps.

    Clusters and neighbours can be read off the map; sizes of clusters and distances between them only roughly. Labels
    or numbers in the ``y`` of `fit` pull the map apart by what is known already: it then shows less of the rows. New
    rows are placed by their neighbours alone.

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
    init : str or (N, k) array
        Where points begin: "spectral", eigenvectors of the fuzzy graph; "pca", the principal components (of distances
        and objects, which have none, as "spectral"); "random"; or a start of your own, scaled to a width of 10 like
        the others. Of equal rows the first counts.
    target_metric : str
        What the ``y`` of `fit` holds: "categorical" labels (of any kind; −1, NaN and None are unknown), or numbers that
        a metric of SciPy compares, such as "euclidean".
    target_weight : float
        How much ``y`` counts, from 0 to 1. Edges between rows of different labels keep exp(−2.5/(1 − weight)) of their
        weight, those to unknown ones exp(−1).
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
        "target_metric": MetricName((CATEGORICAL, *METRICS)),
        "target_weight": Real(0, 1, closed=True),
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
        init: Any = "spectral",
        target_metric: str = CATEGORICAL,
        target_weight: float = 0.5,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.min_dist = min_dist
        self.spread = spread
        self.n_epochs = n_epochs
        self.init = init
        self.target_metric = target_metric
        self.target_weight = target_weight
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the map of the rows of X; with ``y``, rows that are alike in it are drawn together (supervised)."""
        return self._run_fit(X, y=y)

    def _fit(self, rows: RowSource, record: Recorder, y: Any = None) -> None:
        self.curve_ = np.array(curve(self.min_dist, self.spread))
        if y is None:
            super()._fit(rows, record)
        else:
            target = SupervisedTarget.of(y, rows.count(), self.target_metric, self.target_weight)
            target.tell(record)
            self._learn_map(rows, record, self._few_supervised, partial(self._optimized, target=target))

    def _few_supervised(self, piece: Piece, record: Recorder) -> Embedded:
        record.warn("UMAP: y has no effect on a map of so few rows", LowlandWarning)
        return self._few(piece, record)

    def _check_neighbors(self, n: int, what: str) -> None:
        if self._least <= n < self.n_neighbors != NEIGHBORS:
            use = f"use a smaller value, such as {min(NEIGHBORS, n)}, or more rows"
            text = f"UMAP: {{n_neighbors}} is more than the number of {what}, {n}; {use}"
            raise DataError(message(text, n_neighbors=self.n_neighbors))

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        """Return the number of neighbours beside the point itself."""
        self._check_neighbors(n, "distinct rows")
        if self.n_neighbors <= n or n < self._least:
            return min(self.n_neighbors, n) - 1
        text = f"UMAP: there are only {n} distinct rows, so each is a neighbour of all others ({{n_neighbors}})"
        record.warn(message(text, n_neighbors=n), LowlandWarning)
        return n - 1

    def _optimized(
        self,
        hood: Neighborhood,
        record: Recorder,
        rng: np.random.Generator,
        target: SupervisedTarget | None = None,
    ) -> Embedded:
        epochs, (a, b) = self._epochs(hood.graph.n), self.curve_.tolist()
        with record.stage("fuzzy graph"):
            W = fuzzy_union(hood.graph)
            if target is not None:
                W = target.of_points(hood, record).intersected(W, self.neighbors_)
        with record.stage("start"):
            Y = self._start(hood, W, record, rng)
            Y *= _START_WIDTH / (1.0 if isinstance(self.init, str) else max(float(np.abs(Y).max()), _TINY))
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
