"""The order of every fit on a neighbour graph: points, graph, components, embedding of each, placing of new rows.

What a fit needs of the graph is a `Neighborhood`, what new rows need is `NewRows`; a method writes `_embed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...contract.fit_info import Recorder
from ...contract.inputs import METRIC_INPUT, Compared, require_count
from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, Integer, Nothing, Real, Rule
from ...contract.reducer import Reducer
from ...core import arrays
from ...core.cost import DataShape, Plan, holding, largest
from ...core.errors import DataError
from ...core.message import Message, message
from ...core.random import seed
from ...graph.geodesics import geodesics
from ...graph.geometry import EdgeLengths, Geometry
from ...graph.neighbors import approximate, search_cost
from ...graph.patches import barycentric
from ...graph.points import Piece
from ...rows.object_rows import gather
from ...rows.row_source import RowSource
from ...rows.units import Units, power, scaled_back, times
from ...spectral.distance import scale_few
from .distance_based import METRIC
from .landmarks import FEW_LANDMARKS
from .neighborhood import (
    SMALL_MAP,
    components_of_points,
    count_neighbors,
    keep_points,
    learn_neighborhood,
    pieces_of,
    rule_of,
)
from .pair_units import degree, of_anchors
from .placing import NewRows, State, points_of, rows_from_map, training_points, weights_of_new

Array = Any

_OR_LANDMARKS = message(", or an approximate fit with {landmarks}", landmarks=FEW_LANDMARKS)
_COMPONENT_GAP = 0.1  # of the mean width: what lies between components side by side


@dataclass(frozen=True)
class Embedded:
    """Where a component's points lie, the eigenvalues, what `_place` needs besides, and what the record should say.

    ``learned`` holds further attributes of the model; those of the largest component count.
    """

    points: Array
    values: Array
    state: dict[str, Array] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    learned: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EmbeddingCost:
    """What embedding takes beside the search: parts of memory, seconds, what the model keeps, and how it is done."""

    algorithm: str
    parts: Mapping[str, int]
    seconds: float
    model_bytes: int = 0
    approximate: bool = False


GRAPH_PARAMETERS: Mapping[str, Rule] = {
    "n_components": Integer(1),
    "n_neighbors": AnyOf((Integer(1), Nothing())),
    "radius": AnyOf((Nothing(), Real(0, infinite=True))),
    "metric": METRIC,
    "disconnected": Choice(("bridge", "separate", "error")),
    "random_state": RANDOM_STATE,
}
GRAPH_UNITS: Units = {
    "anchors_": of_anchors,
    "metric_state_": 1,
    "square_": 1,
    "inverse_transform": 1,
    "radius_": degree,
    "radius": degree,
}
GRAPH_OVERHEAD = (0.008, 3e-5)  # seconds of any fit, and of each row


class GraphReducer(Reducer):
    """A method that sees points through their nearest neighbours.

    Equal rows are one point, so they get equal coordinates. Subclasses write `_embed` and `_embed_cost`, and `_place`
    or `_weigh` if new rows are not placed by barycentric weights.
    """

    _input: ClassVar[Compared] = METRIC_INPUT
    _allow_sparse: ClassVar[bool] = True
    _reads_again: ClassVar[bool] = True
    _overhead: ClassVar[tuple[float, float]] = GRAPH_OVERHEAD
    _parameters: ClassVar[Mapping[str, Rule]] = GRAPH_PARAMETERS
    _units: ClassVar[Units] = GRAPH_UNITS
    _needs_columns: ClassVar[bool] = False  # whether a map of more coordinates than columns would be made up
    _keeps_lengths: ClassVar[bool] = True  # else the coordinates of a component have variance 1, whatever its units
    _keeps_square: ClassVar[bool] = True  # of precomputed distances, which barycentric weights of new rows need
    _ranked: ClassVar[str] = "the data"  # whose rank is the number of coordinates

    n_components: int
    n_neighbors: int | None
    radius: float | None
    metric: str | Callable[[Any, Any], Any]
    disconnected: str
    random_state: Any

    anchors_: Any
    metric_: str
    metric_state_: dict[str, Array]
    neighbors_: int
    radius_: float | None
    square_: Array | None
    point_numbers_: Array | None  # of each row's point, where rows are equal
    pieces_: list[dict[str, Array]]
    eigenvalues_: Array
    component_labels_: Array
    embedding_: Array

    # -- what a subclass writes ---------------------------------------------------------------------------

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        """Return where the points of a connected component lie, at most ``n_components_`` coordinates of each."""
        raise NotImplementedError

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> EmbeddingCost:
        """Return what `_embed` takes for n points with k neighbours each."""
        raise NotImplementedError

    _count_neighbors = count_neighbors

    def _place(self, state: State, geometry: Geometry, block: Array, neighbors: Array, distances: Array) -> Array:
        """Return the coordinates of new rows whose neighbours in a component have these numbers and distances."""
        w = weights_of_new(self._weigh, geometry, block, neighbors, distances)
        return (w[:, None, :] @ state["points"][neighbors])[:, 0, :]

    def _weigh(self, G: Array) -> Array:
        """Return the weights that make up points from their neighbours, for inner products G around them."""
        return barycentric(G)

    # -- cost ---------------------------------------------------------------------------------------------

    def _plan(self, shape: DataShape, rows: RowSource | None = None) -> Plan:
        k = rule_of(self).planned(n := shape.n_rows or 1, rows, self._input.rule(self))
        return graph_plan(self, shape, k, self._embed_cost(shape, n, k), self._keeps_square)

    def _plan_rows(self, rows: RowSource) -> Plan:
        return self._plan(rows.shape, rows)

    # -- training -----------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        n, rng = rows.count(), seed(self.random_state)
        require_count(self, rows.shape, n - 1, "the number of points less one")
        if self._needs_columns and not (self._pairwise or callable(self.metric)):
            require_count(self, rows.shape, rows.n_features, "the number of columns")
        with record.stage("neighbours"):
            hood = learn_neighborhood(self, rows, record, self._count_neighbors)
        keep_points(self, hood, hood.n_neighbors, square=self._keeps_square)
        self.n_components_, self.radius_ = components_of_points(self, n, hood.graph.n, record), hood.radius
        with record.stage("pieces"):
            pieces, labels = pieces_of(self, hood, record)
        few = self.n_components + 1 if len(pieces) > 1 else 0  # maps of as many points fill all dimensions
        with holding(self.anchors_, hood.graph.indices, hood.graph.distances):
            maps = [self._embed(p, record, rng) if p.n > few else self._small(p) for p in pieces]
        self._tell(maps, record)
        self.pieces_ = side_by_side(pieces, maps, self.n_components_)
        self.embedding_ = points_of(self.pieces_, self.n_components_)[hood.inverse].astype(rows.dtype)
        self.component_labels_, self.point_numbers_ = labels[hood.inverse], hood.repeated

    def _small(self, piece: Piece) -> Embedded:
        """Return one component of several that has few points, as its distances say (classical scaling)."""
        return small_map(piece, self.n_components_, keeps_lengths=self._keeps_lengths)

    def _tell(self, maps: list[Embedded], record: Recorder) -> None:
        """Learn what the first component, the largest, says, and the rank; record the worst residual and error."""
        first, rank = maps[0], max(e.points.shape[1] for e in maps)
        if rank < self.n_components_:
            record.warn_short(rank, self.n_components, what=self._ranked)
        self.__dict__.update(first.learned, n_components_=rank, eigenvalues_=first.values)
        record.note(**{"algorithm": SMALL_MAP, **first.about})
        for name in ("residual", "approximate", "approximation_error"):
            if values := [e.about[name] for e in maps if e.about.get(name) is not None]:
                record.note(**{name: max(values)})

    # -- new rows -----------------------------------------------------------------------------------------

    def _row_map(self) -> Callable[[Array], Array]:
        return NewRows(self).row_map(self._place)

    @scaled_back("inverse_transform")
    def inverse_transform(self, Y: Any) -> Array:
        """Return rows for points of the map: weighted means of the training rows whose coordinates are nearest.

        The weights are those that make up the point from its neighbours on the map; a training point returns its row.
        """
        check_is_fitted(self)
        anchors = None if self._fitted_pairwise else training_points(self)
        if anchors is None or anchors.ndim == 1:
            raise DataError(
                f"{type(self).__name__}: there are no rows to return to: the model was fitted on "
                f"{'distances' if anchors is None else 'objects'}"
            )
        kind = self.embedding_.dtype
        Y, points = arrays.to_numpy(gather(self._reduced(Y))), points_of(self.pieces_, self.n_components_).astype(kind)
        Y, points = Y.astype(np.float64), self._as_shown(points).astype(np.float64)
        return rows_from_map(Y, points, anchors, self.neighbors_).astype(kind)

    def _as_shown(self, points: Array) -> Array:
        """Return points with the digits that users see: the smallest numbers of a type have fewer of them."""
        exponent = round(self._scaled_by * power(self, "transform"))
        return times(times(points, exponent), -exponent)


def graph_plan(model: Any, shape: DataShape, k: int, cost: EmbeddingCost, keeps_square: bool) -> Plan:
    """Return the plan of a fit on the graph of k neighbours, with what embedding costs."""
    n, d, name, owner = shape.n_rows or 1, model.n_components, model._input.name(model), type(model).__name__
    parts, seconds = search_cost(shape, k, name)
    rows = 8 * n if model._pairwise else int(shape.entries * shape.dtype.itemsize * (1.5 if shape.sparse else 1))
    rows += 8 * n * n if model._pairwise and keeps_square and not shape.sparse else 0
    kept = {"graph": 12 * n * k, "anchors": rows, "embedding": 3 * 8 * n * d}
    parts = largest(parts, {**kept, **cost.parts})  # the search is over when maps are made
    model_bytes = rows + 2 * 8 * n * d + 4 * n + cost.model_bytes
    told = {"model_bytes": model_bytes, "approximate": cost.approximate or approximate(shape, name)}
    fewer = n > FEW_LANDMARKS and "landmarks" in model._parameters and not cost.approximate
    remedy = Message("use fewer rows or neighbours", _OR_LANDMARKS if fewer else "")
    return Plan.of(owner, cost.algorithm, shape, parts, seconds + cost.seconds, gathers=True, remedy=remedy, **told)


def small_map(piece: Piece, n_components: int, *, keeps_lengths: bool = True) -> Embedded:
    """Return a component of few points by classical scaling of its distances: it has no room to be bent."""
    n = piece.n
    if isinstance(piece.geometry, EdgeLengths):  # not all distances are known, path lengths are
        G = geodesics(piece.graph.symmetric(), np.arange(n)) ** 2 / -2
    else:
        around = piece.geometry.around(np.zeros(1, dtype=np.int64), np.arange(1, n)[None, :])[0]
        G = np.pad(around, ((1, 0), (1, 0)))
    Y, values = (part[..., :n_components] for part in scale_few(G))
    if not keeps_lengths:  # one factor for all coordinates: the first gets variance 1, the shape stays
        deviation = float(Y[:, 0].std())
        Y = Y / deviation if deviation > 0 else Y
    return Embedded(Y, values)


def side_by_side(pieces: list[Piece], maps: list[Embedded], k: int) -> list[dict[str, Array]]:
    """Return each component with what places new rows in it; several lie side by side along the first axis."""
    out = []
    for piece, e in zip(pieces, maps, strict=True):
        Y = np.pad(np.ascontiguousarray(e.points), ((0, 0), (0, k - e.points.shape[1])))
        out.append({"numbers": piece.numbers, "points": Y, "offset": np.zeros(k), **e.state})
    if len(out) > 1:
        _lay_apart(out)
    return out


def _lay_apart(pieces: list[dict[str, Array]]) -> None:
    """Set the offsets of components along the first axis, a tenth of their mean width between them."""
    widths = [float(np.ptp(piece["points"][:, 0])) for piece in pieces]
    start, gap = 0.0, _COMPONENT_GAP * float(np.mean(widths))
    for piece, width in zip(pieces, widths, strict=True):
        piece["offset"][0] = start - piece["points"][:, 0].min()
        start += width + gap
