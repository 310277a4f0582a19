"""What t-SNE and UMAP share: neighbours, a start, and the library that moves the points.

Neighbours, starts and checks are Lowland's, so any metric, sparse rows, objects and precomputed distances work; the
libraries only optimise. Distances and starts are rounded first: over thousands of steps the last bit of a sum would
lead to another map.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.inputs import METRIC_INPUT, Compared, require_count
from ...contract.parameters import RANDOM_STATE, AnyOf, ArrayRule, Choice, Integer, Rule
from ...contract.reducer import Recorder, Reducer
from ...core.cost import DataShape, Plan
from ...core.errors import DataError, LowlandWarning, MissingExtraError, SolveError
from ...core.message import message
from ...core.random import seed
from ...graph.components import components
from ...graph.geometry import EdgeLengths
from ...graph.graph import Graph
from ...graph.neighbors import searcher
from ...graph.points import Neighborhood, Piece, PointSet
from ...rows.object_rows import gather
from ...rows.row_source import RowSource
from ...rows.units import Units
from ...spectral.dual import gram_seconds
from ...spectral.rowspace import cost as rowspace_cost
from ...spectral.rowspace import route
from ...spectral.solve import sign_of_columns
from ...spectral.solved import ComponentRule
from ..shared.distance_based import METRIC
from ..shared.graph_based import GRAPH_OVERHEAD, Embedded, EmbeddingCost, graph_plan, small_map
from ..shared.neighborhood import components_of_points, keep_points, learn_neighborhood
from ..shared.pair_units import of_anchors
from ..shared.placing import NewRows
from ..shared.start import given_start
from .starts import principal, spectral, start_cost

Array = Any

INIT: Rule = AnyOf((Choice(("pca", "spectral", "random")), ArrayRule()))
_NEIGHBORS_COMPARED = 10  # neighbours looked for on the map
_SAMPLE = 1000  # points whose neighbours are compared
_GRID = 2.0**24  # steps in which a start is rounded
_FEW_POINTS_MAP = "classical scaling"  # of too few points to move


def package(name: str, owner: str) -> Any:
    """Return a module of another package; warnings of its import are not shown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        distribution = {"umap": "umap-learn"}.get(name.split(".")[0], name.split(".")[0])
        raise MissingExtraError(
            f"{owner} needs {distribution}, which cannot be imported ({error}): pip install {distribution}"
        ) from None


class NeighborEmbedding(Reducer):
    """A map that only keeps neighbours together. The graph need not be connected: components repel each other.

    Subclasses write `_library`, `_check_neighbors`, `_optimized`, `_joining` and `_embed_cost`.
    """

    _input: ClassVar[Compared] = METRIC_INPUT
    _allow_sparse: ClassVar[bool] = True
    _reads_again: ClassVar[bool] = True
    _overhead: ClassVar[tuple[float, float]] = GRAPH_OVERHEAD
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {"anchors_": of_anchors, "metric_state_": 1, "square_": 1}
    _least: ClassVar[int] = 4  # points below which there is nothing to optimise
    _remedy: ClassVar[str]  # where the optimisation diverges

    n_components: int
    n_neighbors: int
    metric: str | Callable[[Any, Any], Any]
    init: Any
    random_state: Any

    anchors_: Any
    metric_: str
    metric_state_: dict[str, Array]
    neighbors_: int
    square_: Array | None
    pieces_: list[dict[str, Any]]
    embedding_: Array

    # -- what a subclass writes ---------------------------------------------------------------------------

    def _library(self) -> Any:
        """Return the library; an error that names the extra where it is missing."""
        raise NotImplementedError

    def _optimized(self, hood: Neighborhood, record: Recorder, rng: np.random.Generator) -> Embedded:
        """Return the map of the points, and what new rows need of it: as ``k`` how many neighbours, at least 2."""
        raise NotImplementedError

    def _joining(self, state: dict[str, Any]) -> Callable[[Array, Array], Array]:
        """Return what places rows, given numbers and distances of their neighbours."""
        raise NotImplementedError

    def _check_neighbors(self, n: int, what: str) -> None:
        """Refuse parameters that n points do not allow; ``what`` names the points."""
        raise NotImplementedError

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        """Return the number of neighbours for n distinct points."""
        raise NotImplementedError

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        """Return what the steps take for n points with k neighbours each."""
        raise NotImplementedError

    # -- cost ---------------------------------------------------------------------------------------------

    def _plan(self, shape: DataShape) -> Plan:
        """Return the cost; refuse parameters that this number of rows does not allow, as a fit would."""
        n = shape.n_rows or 0
        if n > 1:  # fit reports the one-row case, in the words that scikit-learn's checks expect
            if not self._pairwise:
                require_count(self, shape, n - 1, "the number of points less one")
            self._check_neighbors(n, "rows")
            if not isinstance(self.init, str):
                given_start(type(self).__name__, self.init, n, self.n_components)
        k = max(1, min(self.n_neighbors, max(1, n) - 1))
        plan = graph_plan(self, shape, k, self._embed_cost(shape, max(1, n), k), keeps_square=False)
        plan = replace(plan, seconds=plan.seconds + self._start_seconds(shape))
        return replace(plan, algorithm=_FEW_POINTS_MAP) if 1 < n < self._fewest else plan

    def _plan_rows(self, rows: RowSource) -> Plan:
        """Return the cost; of too few objects the distances are checked first: a bad matrix is the likelier cause."""
        n = rows.n_rows or 0
        if self._pairwise and 1 < n <= self.n_components:
            points = PointSet.of(gather(rows, sparse=True), self.metric, type(self).__name__)
            points.refuse_alone(separate=False)
            points.search()
            require_count(self, rows.shape, n - 1, "the number of points less one")
        return self._plan(rows.shape)

    # -- training -----------------------------------------------------------------------------------------

    @property
    def _fewest(self) -> int:
        """Points that are moved; fewer are laid out by their distances."""
        return max(self._least, self.n_components + 2)

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self._learn_map(rows, record, self._few, self._optimized)

    def _learn_map(
        self, rows: RowSource, record: Recorder, few: Callable[..., Embedded], optimized: Callable[..., Embedded]
    ) -> None:
        """Map the distinct rows by one of the two functions, called as `_few` and `_optimized` are."""
        n = rows.count()
        require_count(self, rows.shape, n - 1, "the number of points less one")
        self._library()
        rng = seed(self.random_state)
        with record.stage("neighbours"):
            hood = learn_neighborhood(self, rows, record, self._count_neighbors)
            hood.refuse_alone(separate=False)
        keep_points(self, hood, hood.n_neighbors, square=False)
        graph, points = hood.graph, hood.points
        self.n_components_ = components_of_points(self, n, graph.n, record)
        numbers = np.arange(graph.n)
        if graph.n < self._fewest:
            found = few(Piece(graph, hood.metric.geometry(points), numbers), record)
        else:
            found = optimized(hood, record, rng)
        if not np.isfinite(found.points).all():
            raise SolveError(f"{type(self).__name__}: the optimisation diverged; {self._remedy}")
        record.note(**found.about)
        if "neighbour recall" in record.evidence:
            record.note(approximate=True)
        Y = found.points * sign_of_columns(found.points)
        self.n_components_ = Y.shape[1]
        self.pieces_ = [{"numbers": numbers, "points": Y, "offset": np.zeros(Y.shape[1]), **found.state}]
        with record.stage("evidence"):
            share, k = kept(graph, Y, rng, _looked_up(hood))
            record.evidence["neighbours kept" if k == _NEIGHBORS_COMPARED else f"neighbours kept of {k}"] = share
        self.embedding_ = Y[hood.inverse].astype(rows.dtype)

    def _few(self, piece: Piece, record: Recorder) -> Embedded:
        """Lay out a few points by their distances; new rows go to the nearest of them."""
        if isinstance(piece.geometry, EdgeLengths) and components(piece.graph).any():
            raise DataError(
                message(
                    f"{type(self).__name__}: {piece.n} points whose known distances do not connect them are too few "
                    f"for {{n_components}}; store more distances, or ask for {max(1, piece.n - 2)} at most",
                    n_components=self.n_components,
                )
            )
        record.warn(
            f"{type(self).__name__}: {piece.n} distinct rows are too few to optimise: a map of {self.n_components} "
            f"coordinates needs {self._fewest} or more. They are placed by classical scaling of their distances, and "
            "the parameters of neighbours and steps have no effect",
            LowlandWarning,
        )
        found = small_map(piece, self.n_components_)
        Y = np.pad(found.points, ((0, 0), (0, self.n_components_ - found.points.shape[1])))
        return Embedded(Y, found.values, {"k": 1}, {"algorithm": _FEW_POINTS_MAP})

    def _start_cost(self, shape: DataShape, n: int, edges: float) -> int:
        """Return the bytes that the start takes, for a plan, which does not know whether a function compares rows."""
        given, d = self._pairwise or callable(self.metric), self.n_components
        how = self.init if isinstance(self.init, str) else "given"
        if how != "pca" or given:
            return start_cost(n, d, "spectral" if how == "pca" else how, edges)
        count = min(d, n, shape.n_features)
        parts, _ = rowspace_cost(route(shape, ComponentRule(count=count)), shape, count)
        return start_cost(n, d, "pca", edges) + sum(parts.values())

    def _start_seconds(self, shape: DataShape) -> float:
        """Return the rough seconds of a start by principal components; other starts take little beside the steps."""
        if not isinstance(self.init, str) or self.init != "pca" or self._pairwise or callable(self.metric):
            return 0.0
        wanted = ComponentRule(count=min(self.n_components, shape.n_rows or 1, shape.n_features))
        name = route(shape, wanted)
        return gram_seconds(shape) if name == "gram" else rowspace_cost(name, shape, wanted.count or 1)[1]

    def _start(self, hood: Neighborhood, W: Any, record: Recorder, rng: np.random.Generator) -> Array:
        """Return where the points begin, the widest coordinate within ±1; objects have no principal components.

        A start of the user's is returned as it is; of equal rows, which are one point, the first counts.
        """
        if not isinstance(self.init, str):
            record.evidence["start"] = "given"
            return given_start(type(self).__name__, self.init, len(hood.inverse), self.n_components)[hood.first]
        points = hood.points
        rows = not self._pairwise and points.ndim == 2
        how = "spectral" if self.init == "pca" and not rows else self.init
        record.evidence["start"] = how
        if how == "random":
            return rng.uniform(-1, 1, (W.shape[0], self.n_components))
        Y = principal(points, self.n_components, rng) if how == "pca" else spectral(W, self.n_components, rng)
        Y /= max(float(np.abs(Y).max()), np.finfo(np.float64).tiny)
        return np.round(Y * _GRID) / _GRID

    # -- new rows -----------------------------------------------------------------------------------------

    def _row_map(self) -> Callable[[Array], Array]:
        new, state = NewRows(self), self.pieces_[0]
        search, points, k = new.metric.query(new.anchors), state["points"], min(state["k"], len(state["points"]))
        joining = cache(lambda: self._joining(state))  # needs the library; rows of the training set need neither

        def place(block: Array) -> Array:
            neighbors, distances = search(block, k)
            Y: Array = points[neighbors[:, 0]]  # a training row returns to its place; of a few points all rows do
            known = np.isfinite(distances).sum(axis=1)  # a sparse row of distances may hold fewer than k
            known[distances[:, 0] == 0] = 0
            for count in np.unique(known[known > 0]).tolist() if k > 1 else ():
                mine = np.flatnonzero(known == count)
                Y[mine] = joining()(neighbors[mine, :count], tamed(distances[mine, :count]))
            return Y

        return new.alike(place)


# -- neighbours -----------------------------------------------------------------------------------------------


def _looked_up(hood: Neighborhood) -> Callable[[Array, int], Array] | None:
    """Return what finds the k nearest of some points and themselves; of stored distances the graph has them all."""
    if hood.metric.precomputed and sp.issparse(hood.points):
        return None
    return lambda numbers, k: hood.search().query(hood.points[numbers], k + 1)[0]


def tamed(distances: Array) -> Array:
    """Return distances rounded to float32, rows of other sizes than 1e-6 … 1e6 times a power of two.

    Each point's weights depend on the ratios of its distances alone, and the libraries begin their searches at 1.

    >>> tamed(np.array([[3.0, 5.0], [3e-40, 6e-40]])).tolist()[0]
    [3.0, 5.0]
    """
    last = distances[:, -1:]
    exponent = np.where((last < 1e-6) | (last > 1e6), np.frexp(last)[1], 0)
    return np.ldexp(distances, -exponent).astype(np.float32)


def assembled(graph: Graph, weigh: Callable[[Array], Array], dtype: Any) -> Any:
    """Return the sparse matrix of weights of edges, from a function of the distances of several points.

    Points with equally many neighbours are taken together: in a stored square of distances some know few.
    """
    values, degrees = np.zeros(len(graph.indices), dtype=dtype), np.unique(graph.degrees).tolist()
    for k in degrees if degrees[0] else degrees[1:]:
        if len(degrees) == 1:
            values[:] = weigh(tamed(graph.distances.reshape(-1, k))).ravel()
        else:
            edges = graph.indptr[:-1][graph.degrees == k][:, None] + np.arange(k)
            values[edges] = weigh(tamed(graph.distances[edges]))
    # a copy: sums of sparse matrices sort the numbers where they lie
    lists = values, graph.indices.copy(), graph.indptr.astype(np.int32)
    return sp.csr_array(lists, shape=(graph.n, graph.n))


def kept(
    graph: Graph, Y: Array, rng: np.random.Generator, looked_up: Callable[[Array, int], Array] | None = None
) -> tuple[float, int]:
    """Return the share of the k nearest neighbours that are among the k nearest on the map, too, and k.

    A sample of points is compared. k is 10: where the graph has fewer neighbours, ``looked_up`` finds them; without it
    k is the least number that the sampled points have.

    >>> from lowland.graph import neighbor_graph
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> [kept(neighbor_graph(X, k), X, np.random.default_rng(0)) for k in (12, 3)]
    [(1.0, 10), (1.0, 3)]
    """
    sample = np.sort(rng.permutation(graph.n)[:_SAMPLE])
    sample = sample[graph.degrees[sample] > 0]  # stored distances may leave a point alone
    fewest, k = int(graph.degrees[sample].min(initial=graph.n)), min(_NEIGHBORS_COMPARED, graph.n - 1)
    if fewest < k and looked_up is not None:
        lists = [found[found != i][:k] for i, found in zip(sample, looked_up(sample, k), strict=True)]
    else:
        k = min(k, fewest)
        lists = [graph.indices[graph.indptr[i] : graph.indptr[i] + k] for i in sample.tolist()]
    on_map = searcher("euclidean", Y).query(Y[sample], k + 1)[0]
    shared = [
        len(np.intersect1d(mine, near[near != i][:k])) for i, mine, near in zip(sample, lists, on_map, strict=True)
    ]
    return sum(shared) / max(1, k * len(sample)), k
