"""What the methods on neighbour graphs share: points, graph, pieces of it; `joining` is how new rows join."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...contract.inputs import require_count, require_length
from ...contract.parameters import RANDOM_STATE, Choice, Integer, Rule
from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan, largest
from ...core.errors import (
    DataError,
    DisconnectedError,
    DisconnectedWarning,
    DominantColumnWarning,
    LowlandWarning,
    RankWarning,
)
from ...core.random import seed
from ...graph.components import bridge, components
from ...graph.distinct import numbered
from ...graph.geodesics import geodesics
from ...graph.geometry import Coordinates, Edges, Geometry
from ...graph.graph import Graph
from ...graph.measures import comparable
from ...graph.neighbors import Searcher, approximate, distinct, search_cost, searcher
from ...graph.patches import barycentric
from ...graph.precomputed import GivenDistances, merged
from ...pairs.distances import check_distances, check_function, learn, metric
from ...rows.object_rows import gather, packed
from ...rows.row_source import RowSource, as_rows
from ...rows.units import Units, power, scaled_back, times
from ...spectral import dense
from .distance_based import METRIC
from .joining import Joining, take, weights_of_new
from .pair_units import of_anchors

Array = Any

NEIGHBORS = 10  # the default; where there are no more rows than that, each is the neighbour of all others
_SMALL = "classical scaling"  # of pieces of few points
_UNITS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev")  # in which a large column hides the others
_ALONE = 100  # times the range of any other column: those change its distances by a ten-thousandth
_FEW, _FEWEST = 0.01, 4  # of all points, and at least: a coordinate that lives on fewer is none of the whole
_LOOKED_AT = 3  # coordinates: those of pictures; the last of very many live on few points by nature
_GAP = 0.1  # of the mean width: what lies between pieces laid side by side


@dataclass(frozen=True)
class Piece:
    """A connected set of points: the graph among them, nearest first, and what is known of their geometry."""

    graph: Graph
    geometry: Geometry
    numbers: Array  # of its points among all

    @property
    def n(self) -> int:
        """Number of points."""
        return self.graph.n


@dataclass(frozen=True)
class Embedded:
    """Where a piece's points lie, the eigenvalues, what `_place` needs beside, and what the record should say."""

    points: Array
    values: Array
    state: dict[str, Array] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What embedding takes beside the search: pieces of memory, seconds, what the model keeps, and how it is done."""

    algorithm: str
    parts: Mapping[str, int]
    seconds: float
    model_bytes: int = 0
    approximate: bool = False


class GraphReducer(Joining):
    """A reducer that looks at points through their nearest neighbours.

    Equal rows are one point, so they get equal coordinates. Subclasses write `_embed` and `_embed_cost`, and `_place`
    where barycentric weights are not how new rows join.
    """

    _allow_sparse: ClassVar[bool] = True
    _overhead: ClassVar[tuple[float, float]] = (0.012, 3e-5)
    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "n_neighbors": Integer(1),
        "metric": METRIC,
        "disconnected": Choice(("bridge", "separate", "error")),
        "random_state": RANDOM_STATE,
    }
    _graph_state: ClassVar[tuple[str, ...]] = (
        "anchors_",
        "metric_",
        "metric_state_",
        "neighbors_",
        "square_",
        "pieces_",
        "eigenvalues_",
        "component_labels_",
        "embedding_",
        "n_components_",
    )
    _state: ClassVar[tuple[str, ...]] = _graph_state
    _units: ClassVar[Units] = {"anchors_": of_anchors, "metric_state_": 1, "square_": 1, "inverse_transform": 1}
    _needs_columns: ClassVar[bool] = False  # whether a map of more coordinates than columns would be made up
    _keeps_lengths: ClassVar[bool] = True  # else the coordinates of a piece have variance 1, whatever its units
    _ranked: ClassVar[str] = "the data"  # whose rank is the number of coordinates
    _keeps_rows: ClassVar[bool] = True  # to place new rows beside
    _keeps_square: ClassVar[bool] = True  # of precomputed distances, which barycentric weights of new rows need

    n_neighbors: int
    metric: str | Callable[[Any, Any], Any]
    disconnected: str
    eigenvalues_: Array
    component_labels_: Array
    # -- what a subclass writes ---------------------------------------------------------------------------

    def _embed(self, piece: Piece, record: Recorder, rng: np.random.Generator) -> Embedded:
        """Return where the points of a connected piece lie, at most ``n_components_`` coordinates of each."""
        raise NotImplementedError

    def _embed_cost(self, shape: DataShape, n: int, k: int) -> Cost:
        """Say what `_embed` takes for n points with k neighbours each."""
        raise NotImplementedError

    def _ties(self) -> str:
        """Say what happens to neighbours at the distance of the last one."""
        return "cut"

    # -- cost ---------------------------------------------------------------------------------------------

    def _plan(self, shape: DataShape) -> Plan:
        n, d = shape.n_rows or 1, self.n_components
        if n > 1:  # of a single row the fit tells
            self._check_neighbors(n, "rows")
        k = max(1, min(self.n_neighbors, n - 1))
        parts, seconds = search_cost(shape, k, self._input.name(self))
        cost = self._embed_cost(shape, n, k)
        rows = 8 * n if self._pairwise else int(shape.entries * shape.dtype.itemsize * (1.5 if shape.sparse else 1))
        square = 8 * n * n if self._pairwise and self._keeps_square and not shape.sparse else 0
        kept = {"graph": 12 * n * k, "anchors": rows + square, "embedding": 3 * 8 * n * d}
        parts = largest(parts, {**kept, **cost.parts})  # the search is over when maps are made
        return Plan(
            method=type(self).__name__,
            algorithm=cost.algorithm,
            bytes=sum(parts.values()) + shape.copied + shape.gathered,
            seconds=seconds + cost.seconds,
            approximate=cost.approximate or approximate(shape, self._input.name(self)),
            model_bytes=rows + square + 2 * 8 * n * d + 4 * n + cost.model_bytes,
            parts=parts,
            remedy="use fewer rows or neighbours"
            + (", or set landmarks=2000" if "landmarks" in self._parameters else ""),
        )

    # -- training -----------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        n = require_length(self, rows)
        require_count(self, rows.shape, n - 1, "the number of points less one")
        if self._needs_columns and not (self._pairwise or self._input.takes_objects(self)):
            require_count(self, rows.shape, rows.n_features, "the number of columns")
        rng = seed(self.random_state)
        with record.stage("neighbours"):
            points, inverse = self._points(rows)
            graph, points, inverse = self._graph(points, inverse, record)
        self._require_points(len(inverse), graph.n, record)
        with record.stage("pieces"):
            pieces = self._pieces(graph, points, n, record)
        one = len(pieces) == 1
        found = [self._embed(p, record, rng) if one or not self._is_small(p.n) else self._small(p) for p in pieces]
        self._tell(found, record)
        self._lay_out(pieces, found)
        self.embedding_ = self._all_points()[inverse].astype(rows.dtype)
        self.component_labels_ = self.component_labels_[inverse]

    def _points(self, rows: RowSource) -> tuple[Array, Array]:
        """Return the distinct training objects, and for each row the number of its object."""
        items = gather(rows, sparse=True)
        if not sp.issparse(items):
            items = arrays.to_numpy(items)
            if self._pairwise:
                check_distances(items, type(self).__name__)
        self.metric_, self.metric_state_ = self._input.name(self), {}
        if self._pairwise and sp.issparse(items):  # which objects are equal shows in its edges
            self.anchors_ = np.arange(items.shape[0])
            return items, self.anchors_
        same = distinct(comparable(self.metric, items), square=self._pairwise)
        if len(same.first) > 1 and not self._pairwise:  # of equal rows nothing can be learned, and they are refused
            self._learn(items)
        self.anchors_ = same.first if self._pairwise else None
        return take(items, same.first, self._pairwise), same.inverse

    def _warn_units(self, points: Array, record: Recorder) -> None:
        """Warn where one column alone decides who is a neighbour of whom."""
        if self._pairwise or self.metric not in _UNITS or sp.issparse(points) or points.shape[1] < 2:
            return
        with np.errstate(over="ignore"):  # rows that large are refused by the search, with advice
            spread = np.ptp(points, axis=0).astype(np.float64)
        top = int(spread.argmax())
        if spread[top] > _ALONE * np.delete(spread, top).max():
            names = getattr(self, "feature_names_in_", None)
            name = repr(str(names[top])) if names is not None else str(top)
            record.warn(
                f"{type(self).__name__}: the values of column {name} differ so much more than all others that it alone "
                "decides which rows are neighbours; if the columns have different units, divide each by its standard "
                "deviation first",
                DominantColumnWarning,
            )

    def _learn(self, items: Array) -> None:
        """Let the metric learn from all rows, as often as they are there."""
        if callable(self.metric):
            check_function(metric(self.metric, items, {}), items, type(self).__name__)
        else:
            self.metric_state_ = learn(self.metric, items)

    def _graph(self, points: Array, inverse: Array, record: Recorder) -> tuple[Graph, Array, Array]:
        """Return the graph of the points; those at distance zero of each other become one."""
        self._warn_units(points, record)
        start = int(seed(self.random_state).integers(2**31)) if self.random_state is not None else 0
        while True:
            n = points.shape[0]
            if n < 2:
                raise DataError(f"{type(self).__name__}: all rows are equal (rank 0): there is nothing to unfold")
            self.neighbors_ = self._count_neighbors(n, record)
            graph = self._search_points(points, len(inverse), start).graph(self.neighbors_, ties=self._ties())
            if (graph.distances > 0).all():
                break
            zero = graph.csr((graph.distances == 0).astype(float))
            zero.eliminate_zeros()
            first, labels = numbered(sp.csgraph.connected_components(zero, directed=False)[1])
            sparse = self._pairwise and sp.issparse(points)
            points = merged(points, labels, len(first)) if sparse else take(points, first, self._pairwise)
            inverse = labels[inverse]
            if self._pairwise:
                self.anchors_ = self.anchors_[first]
        if not self._pairwise:
            self.anchors_ = packed(points) if self._keeps_rows else None
        self.square_ = points.copy() if self._pairwise and self._keeps_square and not sp.issparse(points) else None
        record.evidence["neighbours"] = self.neighbors_
        record.evidence["neighbour search"] = graph.algorithm
        if graph.recall is not None:
            record.evidence["neighbour recall"] = graph.recall
            record.note(approximate=True, approximation_error=1 - graph.recall)
        if n < len(inverse):
            record.evidence["distinct rows"] = n
        return graph, points, inverse

    def _search_points(self, points: Array, rows: int, start: int = 0) -> Searcher:
        """Return the search among the points that are left of so many rows."""
        if self._pairwise and sp.issparse(points) and points.shape[0] < rows:
            return GivenDistances(points, self.anchors_)
        return self._search(points, start)

    def _check_neighbors(self, n: int, what: str) -> None:
        """Refuse parameters that n points, or fewer, cannot have; ``what`` is counted."""
        if n <= self.n_neighbors != NEIGHBORS:
            raise DataError(
                f"{type(self).__name__}: n_neighbors={self.n_neighbors} must be less than the number of {what}, {n}; "
                f"it can be {n - 1} at most"
            )

    def _count_neighbors(self, n: int, record: Recorder) -> int:
        """Return the number of neighbours; the default is lowered for tables of a few rows, other numbers are not."""
        self._check_neighbors(n, "distinct rows")
        if self.n_neighbors < n:
            return self.n_neighbors
        record.warn(
            f"{type(self).__name__}: there are only {n} distinct rows, so each is a neighbour of all others "
            f"(n_neighbors={n - 1})",
            LowlandWarning,
        )
        return n - 1

    def _require_points(self, rows: int, n: int, record: Recorder) -> None:
        """Tell where fewer distinct points than coordinates are left."""
        self.n_components_ = min(self.n_components, n - 1)
        if self.n_components_ < self.n_components:
            record.warn(
                f"{type(self).__name__}: of {rows} rows only {n} are distinct, of rank {n - 1} at most, below the "
                f"{self.n_components} components asked for; n_components_ is {n - 1}",
                RankWarning,
            )

    def _pieces(self, graph: Graph, points: Array, rows: int, record: Recorder) -> list[Piece]:
        """Return the connected pieces of the graph, as ``disconnected`` wants them."""
        labels = components(graph)
        sizes = np.bincount(labels)
        self.component_labels_ = labels.astype(np.int32)
        geometry = self._geometry(points)
        if len(sizes) == 1:
            return [Piece(graph, geometry, np.arange(graph.n))]
        listed = ", ".join(str(s) for s in sizes[:5]) + (", …" if len(sizes) > 5 else "")
        what = (
            f"{type(self).__name__}: the graph of {self.neighbors_} neighbours falls into {len(sizes)} pieces "
            f"({listed} points)"
        )
        apart = self._parameters["disconnected"].accepts("separate")
        if self.disconnected == "error":
            raise DisconnectedError(
                f"{what}; take more neighbours, or disconnected='bridge'"
                f"{' or ' + repr('separate') if apart else ''} to embed it all the same"
            )
        record.evidence["pieces"] = len(sizes)
        if self.disconnected == "bridge":
            joined, links = bridge(graph, self._search_points(points, rows), labels)
            record.evidence["links added"] = links
            record.warn(
                f"{what}; {_links(links)} added. How the pieces lie to each other rests on that: more neighbours"
                f"{' or disconnected=' + repr('separate') if apart else ''} would avoid it",
                DisconnectedWarning,
            )
            return [Piece(joined, geometry, np.arange(graph.n))]
        few = int(sum(map(self._is_small, sizes.tolist())))
        record.warn(
            f"{what}; they are embedded one by one and laid side by side (component_labels_ tells which is which): "
            "distances between pieces mean nothing"
            + (f". {few} of them have at most {self.n_components + 1} points: {_SMALL} lays these out" if few else ""),
            DisconnectedWarning,
        )
        parts = graph.split(labels)
        return [Piece(part, geometry.part(numbers), numbers) for part, numbers in parts]

    def _is_small(self, n: int) -> bool:
        """Tell whether one piece of several has so few points that all maps of it fill its dimensions."""
        return n <= self.n_components + 1

    def _small(self, piece: Piece) -> Embedded:
        """Return a piece of few points as its distances say (classical scaling): it has no room to be bent."""
        n = piece.n
        J, Z = np.eye(n) - 1 / n, np.zeros((n, n))
        if isinstance(piece.geometry, Edges):  # not all distances are known, path lengths are
            Z = geodesics(piece.graph.symmetric(), np.arange(n)) ** 2 / -2
        else:
            Z[1:, 1:] = piece.geometry.around(np.zeros(1, dtype=np.int64), np.arange(1, n)[None, :])[0]
        values, V = dense.eigh(J @ Z @ J)
        values, V = values[::-1][: self.n_components_], V[:, ::-1][:, : self.n_components_]
        Y = V * np.sqrt(values.clip(0))
        if not self._keeps_lengths:  # one factor for all coordinates: the first gets variance 1, the shape stays
            deviation = float(Y[:, 0].std())
            Y = Y / deviation if deviation > 0 else Y
        return Embedded(Y, values)

    def _tell(self, found: list[Embedded], record: Recorder) -> None:
        """Write what the pieces say of themselves into the record: the first one's words, the worst residual."""
        largest = found[0]
        self.eigenvalues_ = largest.values
        rank = max(e.points.shape[1] for e in found)
        if rank < self.n_components_:
            record.warn_short(rank, self.n_components, what=self._ranked)
        self.n_components_ = rank
        record.note(**{"algorithm": _SMALL, **largest.about})
        for name in ("residual", "approximate", "approximation_error"):
            values = [e.about[name] for e in found if e.about.get(name) is not None]
            if values:
                record.note(**{name: max(values)})
        if "neighbour recall" in record.evidence:  # however well the rest was solved
            record.note(approximate=True)

    def _tell_concentration(self, V: Array, remedy: str, record: Recorder) -> None:
        """Warn of a coordinate that is large for a few points and near zero for the others.

        1/Σv⁴ of a centred unit vector counts those few: it is n/1.8 for even coordinates.
        """
        V = V[:, :_LOOKED_AT] - V[:, :_LOOKED_AT].mean(axis=0)
        few = (V**2).sum(axis=0) ** 2 / np.maximum((V**4).sum(axis=0), np.finfo(np.float64).tiny)
        worst = int(few.argmin())
        if few[worst] < max(_FEW * len(V), min(_FEWEST, len(V) / 10)):
            record.warn(
                f"{type(self).__name__}: coordinate {worst + 1} tells about {max(1, round(float(few[worst])))} of "
                f"{len(V)} points from the others, which lie nearly in one place: these few share too few neighbours "
                f"with the rest; {remedy}",
                LowlandWarning,
            )

    def _lay_out(self, pieces: list[Piece], found: list[Embedded]) -> None:
        """Lay the pieces side by side along the first axis, and keep each with what places new rows in it."""
        widths = [float(np.ptp(e.points[:, 0])) if e.points.shape[1] else 0.0 for e in found]
        gap = _GAP * float(np.mean(widths)) if len(found) > 1 else 0.0
        self.pieces_, start = [], 0.0
        for piece, e, width in zip(pieces, found, widths, strict=True):
            Y = np.pad(e.points, ((0, 0), (0, self.n_components_ - e.points.shape[1])))
            offset = np.zeros(self.n_components_)
            if len(found) > 1:
                offset[0] = start - Y[:, 0].min()
                start += width + gap
            own = {"numbers": piece.numbers, "points": Y, "offset": offset, **e.state}
            self.pieces_.append(own)


class Unfolding(GraphReducer):
    """A graph method whose map can be read backwards: rows from coordinates, by barycentric weights on the map."""

    @scaled_back("inverse_transform")
    def inverse_transform(self, Y: Any) -> Array:
        """Return rows for points of the map: weighted means of the training rows whose coordinates are nearest.

        The weights are those that make up the point from its neighbours on the map; a training point returns its row.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        anchors = None if self._fitted_pairwise else self._anchors()
        if anchors is None or anchors.ndim == 1:
            raise DataError(
                f"{type(self).__name__}: there are no rows to return to: the model was fitted on "
                f"{'distances' if anchors is None else 'objects'}"
            )
        Y = self._coordinates(Y)
        points = self._as_shown(self._all_points().astype(self.embedding_.dtype)).astype(np.float64)
        search, on_map = searcher("euclidean", points), Coordinates(points)

        def work(part: slice) -> Array:
            neighbors, distances = search.query(Y[part], min(self.neighbors_, len(points)))
            w = weights_of_new(barycentric, on_map, Y[part], neighbors, distances)
            w[distances[:, 0] == 0] = np.eye(w.shape[1])[0]
            if sp.issparse(anchors):
                indptr = np.arange(len(w) + 1) * w.shape[1]
                return (sp.csr_array((w.ravel(), neighbors.ravel(), indptr), (len(w), len(points))) @ anchors).toarray()
            return (w[:, None, :] @ anchors[neighbors].astype(np.float64))[:, 0, :]

        step = max(1, (1 << 20) // (anchors.shape[1] * self.neighbors_))
        parts = [slice(s, s + step) for s in range(0, len(Y), step)]
        return np.concatenate(list(thread_pool.run(work, parts))).astype(self.embedding_.dtype)

    def _as_shown(self, points: Array) -> Array:
        """Return points with the digits that users see: the smallest numbers of a type have fewer of them."""
        exponent = round(self._scaled_by * power(self, "transform"))
        return times(times(points, exponent), -exponent)

    def _coordinates(self, Y: Any) -> Array:
        """Return points of the map, checked."""
        rows = gather(self._scaled_back(as_rows(Y, allow_sparse=False, owner=type(self).__name__)))
        if rows.shape[1] != self.n_components_:
            raise DataError(f"points of the map must have {self.n_components_} columns; these have {rows.shape[1]}")
        return arrays.to_numpy(rows).astype(np.float64)


def _links(count: int) -> str:
    return "the shortest link between them was" if count == 1 else f"the {count} shortest links between them were"
