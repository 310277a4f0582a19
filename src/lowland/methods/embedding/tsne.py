"""t-SNE, by openTSNE."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from ...contract.parameters import AnyOf, Choice, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core import settings, thread_pool
from ...core.cost import DataShape
from ...core.errors import DataError, LowlandWarning
from ...core.message import Message, Setting, message
from ...graph.graph import Graph
from ...graph.points import Neighborhood
from ...pairs.pairwise import tiles
from ...rows.row_source import RowSource
from ..shared.graph_based import Embedded, EmbeddingCost
from ..shared.start import ordinary_size
from .neighbor_embedding import INIT, NeighborEmbedding, assembled, package

Array = Any

PERPLEXITY = 30.0  # the default; lowered for tables of a few rows
_DIMENSIONS = 3  # of the trees that sum up repulsion
_GRID_ROWS = 10_000  # points from which repulsion is interpolated on a grid, as openTSNE does
_SHARED = 2000  # points from which threads share the steps; they change no bit
_EXAGGERATED = 250  # steps at most
_START_DEVIATION = 1e-4  # standard deviation of the first coordinate at the start
_JITTER = 0.01  # of that
_PAIRS_PER_THREAD = 1 << 17  # whose distances on the map a thread holds
_NEW = 5.0  # perplexity of new rows, and what follows it: openTSNE's own choices
_NEW_STEPS, _NEW_RATE, _NEW_EXAGGERATION, _NEW_LONGEST = 250, 0.1, 1.5, 0.25


class TSNE(NeighborEmbedding):
    """t-SNE, computed by openTSNE: neighbours are as probable as in the data (van der Maaten & Hinton 2008).

    p_j|i ∝ exp(−d_ij²/(2σ_i²)) with perplexity 2^H(p_·|i);   p_ij = (p_j|i + p_i|j)/2N;
    q_ij ∝ 1/(1 + |y_i − y_j|²);   Y minimises KL(p ‖ q) = Σ p_ij log(p_ij/q_ij).

    Clusters and neighbours can be read off the map; sizes of clusters and distances between them cannot.

    Parameters
    ----------
    n_components : int
        Number of coordinates: 1, 2 or 3.
    perplexity : float
        Effective number of neighbours of a point, from 1 to below N; its 3·perplexity nearest are used.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the matrix of distances, dense or sparse; or a function of two
        objects.
    max_iter : int
        Steps in all. The first third, at most 250, draws clusters together.
    early_exaggeration : float
        Factor of attraction in those steps.
    exaggeration : float
        Factor of attraction in the others; more than 1 makes tighter clusters, which helps with many rows.
    learning_rate : float or str
        Length of steps; "auto" is the number of points over the exaggeration (Belkina et al. 2019).
    init : str or (N, k) array
        Where points begin: "pca", the principal components (of distances and objects, which have none, as
        "spectral"); "spectral", eigenvectors of the neighbour graph; "random"; or a start of your own, used as it is
        (the others have a standard deviation of 1e-4; a start wider than 1 keeps much of its shape; one whose largest
        number is above 1e30 or below 1e-30 is scaled by a power of two). Of equal rows the first counts.
    random_state : int or None
        Seed of the start; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points.
    perplexity_ : float
        The perplexity of the fit: less than the default where there are few rows.
    n_components_ : int
        Number of coordinates.
    n_iter_ : int
        Steps taken.
    fit_info_ : FitInfo
        Its evidence has the Kullback–Leibler divergence, and the share of each point's 10 nearest neighbours that are
        among its 10 nearest on the map.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.standard_normal((50, 5)), rng.standard_normal((50, 5)) + 8])
    >>> Y = lowland.TSNE(perplexity=10).fit_transform(X)
    >>> bool(np.linalg.norm(Y[:50].mean(axis=0) - Y[50:].mean(axis=0)) > 2 * Y[:50].std(axis=0).max())
    True
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **NeighborEmbedding._parameters,
        "n_components": Integer(1, _DIMENSIONS),
        "perplexity": Real(0),
        "max_iter": Integer(1),
        "early_exaggeration": Real(0),
        "exaggeration": Real(0),
        "learning_rate": AnyOf((Choice(("auto",)), Real(0))),
        "init": INIT,
    }

    _remedy: ClassVar[str] = message(
        "lower {learning_rate} or {early_exaggeration}", learning_rate=..., early_exaggeration=...
    )

    perplexity_: float
    n_iter_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = PERPLEXITY,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        max_iter: int = 750,
        early_exaggeration: float = 12.0,
        exaggeration: float = 1.0,
        learning_rate: float | str = "auto",
        init: Any = "pca",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.metric = metric
        self.max_iter = max_iter
        self.early_exaggeration = early_exaggeration
        self.exaggeration = exaggeration
        self.learning_rate = learning_rate
        self.init = init
        self.random_state = random_state

    @property
    def n_neighbors(self) -> int:  # type: ignore[override]
        """Neighbours of each point: beyond three times the perplexity, weights are next to nothing."""
        return int(3 * self.perplexity)

    def _library(self) -> Any:
        return package("openTSNE.tsne", "TSNE")

    # -- cost ---------------------------------------------------------------------------------------------

    def _gridded(self, n: int) -> bool:
        """Tell whether repulsion is interpolated: trees are quicker for few points, and the only way in space."""
        return n >= _GRID_ROWS and self.n_components < _DIMENSIONS

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        d, edges = self.n_components, 1.6 * n * k
        later = max(int(15 * edges), self._start_cost(shape, n, edges))  # making them is over when the start begins
        parts = {"probabilities": int(15 * edges), "sums or start": later, "points and steps": 8 * n * d * 14}
        if n < _GRID_ROWS:
            parts["pairs on the map"] = 2 * 8 * settings.threads() * min(n * n, _PAIRS_PER_THREAD)
        if self._gridded(n):
            algorithm, step = "interpolation", 4e-7 * n * d + 1e-2
        else:
            algorithm, step = "Barnes–Hut", 3e-7 * n * d * np.log2(n + 2) / settings.threads()
        step += 6e-9 * edges / settings.threads()
        return EmbeddingCost(algorithm, parts, float(self.max_iter * step), approximate=True, model_bytes=8 * n)

    # -- training -----------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        super()._fit(rows, record)
        self.n_iter_ = self.max_iter

    def _check_neighbors(self, n: int, what: str) -> None:
        if self.perplexity < 1:  # no declared limit: scikit-learn's checks expect the error of a single row first
            raise DataError(message("TSNE: {perplexity} must be at least 1", perplexity=self.perplexity))
        if n >= self._least and self.perplexity != PERPLEXITY and self.perplexity >= n:
            limit = f" ({self.perplexity:g}) must be less than n_samples ({n})" + (
                ": " + what if what != "rows" else ""
            )
            raise DataError(Message("TSNE: ", Setting("perplexity"), limit, f"; {n / 3:.3g} or less is recommended"))

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        """Return the number of neighbours, and set the perplexity: the default is at most a third of the others."""
        self._check_neighbors(n, "distinct rows")
        others = n - 1
        if n < self._least or 3 * self.perplexity <= others or self.perplexity != PERPLEXITY:
            self.perplexity_ = float(self.perplexity)
        else:
            self.perplexity_ = max(1.0, others / 3)
            record.warn(
                f"TSNE: {n} distinct rows are too few for the default perplexity of {PERPLEXITY:g}; it was lowered to "
                f"{self.perplexity_:.3g} (a third of the other rows)",
                LowlandWarning,
            )
        return min(int(3 * self.perplexity_), others)

    def _optimized(self, hood: Neighborhood, record: Recorder, rng: np.random.Generator) -> Embedded:
        library, graph = self._library(), hood.graph
        with record.stage("probabilities"):
            P = probabilities(graph, self.perplexity_)
        with record.stage("start"):
            Y = ordinary_size(self._start(hood, P, record, rng))
            if isinstance(self.init, str):
                Y *= _START_DEVIATION / max(float(Y[:, 0].std()), np.finfo(np.float64).tiny)
                Y += rng.normal(0, _JITTER * _START_DEVIATION, Y.shape)
        gridded = self._gridded(graph.n)
        forces = library.kl_divergence_fft if gridded else library.kl_divergence_bh
        early = min(_EXAGGERATED, self.max_iter // 3)
        phases = ((early, self.early_exaggeration), (self.max_iter - early, self.exaggeration))
        done = 0

        def watched(embedding: Array, P: Any, *, should_eval_error: bool, n_jobs: int, **options: Any) -> Any:
            """Report each step. With threads the order of the divergence's sum varies, that of the forces does not."""
            nonlocal done
            if not should_eval_error:
                settings.report_progress("t-SNE", done, self.max_iter)
                done += 1
            jobs = 1 if should_eval_error else n_jobs
            return forces(embedding, P, should_eval_error=should_eval_error, n_jobs=jobs, **options)

        with record.stage("steps"):
            jobs = settings.threads() if graph.n >= _SHARED else 1
            moved = library.TSNEEmbedding(
                Y, _affinities(P), negative_gradient_method=watched, n_jobs=jobs, max_step_norm=5
            )
            for steps, factor in phases:
                moved.optimize(steps, exaggeration=factor, learning_rate=self.learning_rate, momentum=0.8, inplace=True)
        record.evidence["perplexity"] = self.perplexity_
        Y = np.array(moved, subok=False)
        exact = graph.n < _GRID_ROWS  # all pairs of as many take less time than a few steps
        record.evidence["KL divergence"] = divergence(P, Y) if exact else float(moved.kl_divergence)
        about = {"algorithm": "interpolation" if gridded else "Barnes–Hut", "solver": "openTSNE"}
        perplexity = min(_NEW, self.perplexity_)
        state = {"perplexity": perplexity, "k": int(3 * perplexity)}
        return Embedded(Y, np.empty(0), state, {**about, "iterations": self.max_iter, "approximate": True})

    # -- new rows -----------------------------------------------------------------------------------------

    def _joining(self, state: dict[str, Any]) -> Callable[[Array, Array], Array]:
        """New rows are moved in the field of the training points, which stay; rows do not see each other."""
        library = self._library()
        points, perplexity = state["points"], state["perplexity"]
        middle = (points.max(axis=0) + points.min(axis=0)) / 2
        fixed = library.TSNEEmbedding(points - middle, _affinities(np.empty((len(points), 0))))
        forces, low, high = library.kl_divergence_bh, -np.inf, np.inf
        if points.shape[1] < _DIMENSIONS:
            field = library.TSNEEmbedding(fixed, _affinities(np.empty((len(points), 0))))
            field.prepare_interpolation_grid()
            low, high = field.box_x_lower_bounds[0], field.box_x_lower_bounds[-1]

            def forces(embedding: Array, P: Any, *, reference_embedding: Array, **options: Any) -> Any:
                np.clip(embedding, low, high, out=embedding)  # the field ends where its grid does
                return library.kl_divergence_fft(embedding, P, reference_embedding=field, **options)

        def join(neighbors: Array, distances: Array) -> Array:
            P = conditional(neighbors, distances, perplexity, len(points))
            start = np.median(fixed.view(np.ndarray)[neighbors], axis=1)
            moved = library.PartialTSNEEmbedding(start, fixed, P, dof=1, n_jobs=1)
            moved.optimize(
                _NEW_STEPS,
                inplace=True,
                learning_rate=_NEW_RATE,
                exaggeration=_NEW_EXAGGERATION,
                momentum=0.8,
                max_grad_norm=_NEW_LONGEST,
                max_step_norm=None,
                negative_gradient_method=forces,
            )
            return moved.view(np.ndarray).clip(low, high) + middle

        return join


def _affinities(P: Any) -> Any:
    """Return probabilities as openTSNE holds them."""
    found = package("openTSNE.affinity", "TSNE").Affinities()
    found.P = P
    return found


def conditional(neighbors: Array, distances: Array, perplexity: float, n: int, *, whole: bool = False) -> Any:
    """Return p_j|i of points among their neighbours, over the number of points where they are the ``whole`` set.

    Points that know too few others for the perplexity get a third of those, as few points do.

    >>> p = conditional(np.array([[0, 1, 2]], dtype=np.int32), np.array([[1.0, 1.5, 2.0]]), 2.0, 3).toarray()[0]
    >>> round(float(2 ** -(p * np.log2(p)).sum()), 4)  # the perplexity
    2.0
    """
    k = distances.shape[1]
    return package("openTSNE.affinity", "TSNE").joint_probabilities_nn(
        neighbors,
        distances,
        [perplexity if perplexity < k else max(1.0, k / 3)],
        symmetrize=False,
        normalization="pair-wise" if whole else "point-wise",
        n_reference_samples=n,
        n_jobs=settings.threads() if whole else 1,
    )


def probabilities(graph: Graph, perplexity: float) -> Any:
    """Return p_ij = (p_j|i + p_i|j)/2N over neighbours.

    >>> from lowland.graph import neighbor_graph
    >>> P = probabilities(neighbor_graph(np.array([[0.0], [1.0], [3.0], [6.0]]), 3), 2.0)
    >>> round(float(P.sum()), 12), bool(abs(P - P.T).max() == 0)
    (1.0, True)
    """

    def weigh(distances: Array) -> Array:
        m, k = distances.shape
        if perplexity >= k == graph.n - 1:  # all others count the same
            return np.full((m, k), 1 / k)
        in_order = np.tile(np.arange(k, dtype=np.int32), (m, 1))  # others would be sorted, values with them
        p = conditional(in_order, distances, perplexity, k, whole=True).data.reshape(m, k)
        return p / p.sum(axis=1, keepdims=True)

    P = assembled(graph, weigh, np.float64)
    P = sp.csr_matrix(P + P.T)
    P.data /= P.data.sum()
    return P


def divergence(P: Any, Y: Array) -> float:
    """Return KL(p ‖ q) = Σ p_ij log(p_ij/w_ij) + log Σ w over all pairs, w_ij = 1/(1 + |y_i − y_j|²), q = w/Σ w.

    Two points apart from two others, where p and q are alike:

    >>> Y = np.array([[0.0], [1.0], [1e9], [1e9 + 1]])
    >>> P = sp.csr_matrix(np.kron(np.eye(2), [[0, 0.25], [0.25, 0]]))
    >>> abs(divergence(P, Y)) < 1e-12
    True
    """

    def part(rows: slice) -> tuple[float, float]:
        W = cdist(Y[rows], Y, "sqeuclidean")
        W += 1
        np.reciprocal(W, out=W)
        edges = slice(P.indptr[rows.start], P.indptr[rows.stop])
        p = P.data[edges]
        i = np.repeat(np.arange(rows.stop - rows.start), np.diff(P.indptr[rows.start : rows.stop + 1]))
        w = W[i, P.indices[edges]]
        W[np.arange(len(W)), np.arange(rows.start, rows.stop)] = 0
        return float(xlogy(p, p).sum() - (p * np.log(w)).sum()), float(W.sum())

    parts = list(thread_pool.run(part, tiles(len(Y), max(1, _PAIRS_PER_THREAD // len(Y)))))
    return sum(own for own, _ in parts) + math.log(sum(total for _, total in parts))
