"""What the methods on distances share: their objects, the metric, the points that new rows are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...contract.inputs import Compared, require_count, require_length
from ...contract.parameters import RANDOM_STATE, AnyOf, Choice, FunctionRule, Integer, LandmarkRule, Rule
from ...contract.reducer import Reducer
from ...core import arrays
from ...core.cost import DataShape, dense_seconds
from ...core.errors import DataError
from ...core.message import Part, message
from ...core.settings import threads
from ...pairs import sparse
from ...pairs.distance_checks import check_distances, check_function, check_size
from ...pairs.distances import (
    METRICS,
    OTHER_NAMES,
    SPARSE_METRICS,
    learn,
    metric,
    row_bytes,
)
from ...pairs.pairwise import Pairwise, against, length, square, tiles
from ...rows.object_rows import gather, packed, stored_like, unpacked
from ...rows.row_source import RowSource, block_rows
from ...rows.units import Units
from .extension import disagreement
from .landmarks import LandmarkDefaults, Landmarks, farthest, kmeans_plus_plus, uniform
from .pair_units import CALL_SECONDS, degree, of_anchors

Array = Any

REPLICA_ROWS = 2000  # rows on which the maps of two sets of landmarks are compared


class MetricName(Choice):
    """A metric by its one name here."""

    def elsewhere(self, name: str) -> Part | None:
        """Return what to use for a metric that other libraries call so."""
        return OTHER_NAMES.get(name.lower())


METRIC: Rule = AnyOf((MetricName((*METRICS, "precomputed")), FunctionRule()))


class Training(NamedTuple):
    """The training objects of a fit, the rule that compares them, and those of them that are landmarks.

    ``items`` are rows, objects, or where ``precomputed`` the matrix of distances. An exact fit has no ``landmarks``,
    and no ``numbers`` of them.
    """

    items: Array
    rule: Pairwise
    precomputed: bool
    landmarks: Landmarks | None
    numbers: Array | None

    def between(self, a: Array, b: Array) -> Array:
        """Return the distances of the objects numbered a to those numbered b."""
        D = self.items[a[:, None], b] if self.precomputed else self.rule(self.items[a], self.items[b])
        return arrays.to_numpy(D).astype(np.float64, copy=False)

    def square(self, a: Array) -> Array:
        """Return the mutual distances of the objects numbered a."""
        return self.between(a, a) if self.precomputed else arrays.to_numpy(square(self.rule, self.items[a]))


class DistanceReducer(Reducer):
    """A reducer of objects that are known by their distances.

    Subclasses have the parameters ``n_components``, ``metric``, ``landmarks`` and ``random_state``. What new rows
    are compared with lies in ``anchors_``: rows (of sparse ones their arrays), objects, or with
    ``metric="precomputed"`` their numbers. ``metric_`` tells the name of the metric of the fit ("function" for one of
    the user's), so that `set_params` does not change a fitted model.
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "metric": METRIC,
        "landmarks": LandmarkRule(("uniform", "farthest", "kmeans++")),
        "random_state": RANDOM_STATE,
    }
    _units: ClassVar[Units] = {"anchors_": of_anchors, "metric_state_": 1, "embedding_": degree, "transform": degree}
    _input: ClassVar[Compared] = Compared("metric", sparse_square=False)
    _allow_sparse: ClassVar[bool] = True
    _reads_again: ClassVar[bool] = True
    _landmark_defaults: ClassVar[LandmarkDefaults] = LandmarkDefaults()
    _takes_gaps: ClassVar[bool] = False  # whether a distance may be missing

    n_components: int
    metric: str | Callable[[Any, Any], Any]
    landmarks: int | str | None
    random_state: Any
    anchors_: Array
    metric_: str
    metric_state_: dict[str, Array]
    embedding_: Array

    def _check_dimensions(self, shape: DataShape) -> None:
        """Refuse more components than points of this shape can have: rows lie in a space of their columns."""
        n = require_length(self, shape)
        if shape.sparse:
            sparse.require_sparse_form(self._input.name(self), SPARSE_METRICS, type(self).__name__, "metric")
        if isinstance(self.metric, str) and self.metric == "euclidean":
            require_count(self, shape, min(n, shape.n_features), "min(rows, columns)")
        else:
            require_count(self, shape, n - 1, "the number of points less one")

    def _landmarks(self, n: int) -> Landmarks | None:
        """Return how many landmarks the fit takes and how they are chosen; None for an exact fit."""
        found, k = self._landmark_defaults.of(self, n), self.n_components
        if found is not None and found.count <= k and found.count < n:
            raise DataError(
                message(
                    f"{type(self).__name__}: {found.count} landmarks span at most {found.count - 1} dimensions; use "
                    "more landmarks than {n_components}, preferably 4 for each",
                    n_components=k,
                )
            )
        return found

    def _row_bytes(self, shape: DataShape, m: int) -> int:
        """Return what comparing rows with m anchors takes: both as the metric wants them.

        The anchors themselves are kept besides, as a copy. Of a square some rows are copied where it has landmarks.
        """
        if self._pairwise:
            return 512 * shape.n_features * shape.dtype.itemsize if m < (shape.n_rows or 1) else 0
        if shape.sparse:
            return sparse.stored_bytes(shape, m) + sparse.sparse_bytes(shape, m)
        n, size = shape.n_rows or 1, shape.dtype.itemsize
        blocks = min(n, threads() * block_rows(shape.n_features)) if m < n else 0
        return shape.n_features * (row_bytes(self._input.name(self), size) * (m + blocks) + m * size)

    def _anchor_bytes(self, shape: DataShape, m: int) -> int:
        """Return what m anchors take in a model: rows as they are stored, or numbers of objects."""
        return 8 * m if self._pairwise else sparse.stored_bytes(shape, m)

    def _columns(self, shape: DataShape) -> float:
        """Return the number of columns that comparing two rows takes the time of."""
        return 1.0 if self._pairwise else sparse.compared_columns(shape)

    def _compare_seconds(self, pairs: float, columns: float) -> float:
        """Return the time of comparing so many pairs; a user's function is taken as one of two objects in Python."""
        if callable(self.metric):
            return pairs * CALL_SECONDS  # threads do not shorten it
        return dense_seconds(pairs * (2 * columns + 40), np.dtype(np.float64))

    # -- training -----------------------------------------------------------------------------------------

    def _training(self, rows: RowSource, rng: np.random.Generator) -> Training:
        """Return the training objects with the metric bound to them, and choose the landmarks."""
        items = self._objects(rows)
        rule = self._bind(items)
        landmarks = self._landmarks(length(items))
        numbers = None if landmarks is None else self._choose(rule, items, landmarks, rng)
        return Training(items, rule, self._pairwise, landmarks, numbers)

    def _bind(self, items: Array) -> Pairwise:
        """Bind the metric to the training objects and keep what it learned of them."""
        self.metric_ = self._input.name(self)
        self.metric_state_ = {} if callable(self.metric) or self._pairwise else learn(self.metric, items)
        if sp.issparse(items) and "shift" in self.metric_state_:
            self.metric_state_["shift"] = sparse.column_means(items)  # rows are shifted where they are made dense
        rule = self._rule(self.metric, items)
        if callable(self.metric):
            check_function(rule, items, type(self).__name__)
        return rule

    def _rule(self, spec: Any, objects: Array) -> Pairwise:
        """Return the metric of the fit as it compares rows with these objects."""
        rule: Pairwise = sparse.for_storage(metric(spec, objects, self.metric_state_), objects)
        return rule

    def _objects(self, rows: RowSource) -> Array:
        """Return all training objects: rows, objects, or the checked matrix of distances."""
        items = gather(rows, sparse=True)
        if self._pairwise:
            check_distances(items, type(self).__name__)
        return items

    def _choose(self, rule: Pairwise, items: Array, landmarks: Landmarks, rng: np.random.Generator) -> Array:
        """Return the numbers of the landmarks."""
        if landmarks.strategy == "uniform":
            return uniform(length(items), landmarks.count, rng)
        spread = farthest if landmarks.strategy == "farthest" else kmeans_plus_plus
        if self._pairwise:
            raise DataError(message("precomputed distances take {landmarks} or a number", landmarks="uniform:500"))
        return spread(rule, items, landmarks.count, rng)

    def _keep(self, items: Array, numbers: Array | None) -> Array:
        """Keep the anchors: all training objects (None) or those numbered; returns their mutual distances."""
        numbers = np.arange(length(items)) if numbers is None else numbers
        everything = len(numbers) == length(items)
        if self._pairwise:
            self.anchors_ = numbers
            D = items if everything else items[numbers[:, None], numbers]
        else:
            kept = items if everything else items[numbers]
            if sp.issparse(kept):
                self.anchors_ = packed(kept)
            else:
                own = arrays.to_numpy(kept)
                self.anchors_ = own.copy() if everything else own  # the caller's array may change after the fit
            D = square(self._rule(self.metric, kept), kept, stage="distances")
        check_size(D, type(self).__name__)
        return D

    def _disagreement(
        self,
        training: Training,
        again: Callable[[Array, Array], Callable[[Array], Array]],
        rng: np.random.Generator,
        *,
        scale: bool,
    ) -> float:
        """Measure how far the maps of two independent sets of landmarks lie apart: √2 times the error of one.

        ``again`` gets the distances and numbers of the second set, and returns what places rows by them.
        """
        items, kept = training.items, self.anchors_
        assert training.landmarks is not None
        numbers = self._choose(training.rule, items, training.landmarks, rng)
        sample = np.sort(rng.permutation(length(items))[:REPLICA_ROWS])
        D = self._keep(items, numbers)
        if not D.any():  # all objects are equal: no map
            self.anchors_ = kept
            return 1.0
        place = self._measure(again(D, numbers))
        there = np.concatenate([place(items[sample[part]]) for part in tiles(len(sample))])  # few rows of a square
        self.anchors_ = kept
        here = self.embedding_[sample].astype(np.float64)
        return disagreement(there, here, scale=scale)

    # -- new rows -----------------------------------------------------------------------------------------

    def _measure(self, then: Callable[[Array], Array] | None = None) -> Callable[[Array], Array]:
        """Return the function that gives a block's distances to the anchors, or what ``then`` makes of them."""
        anchors = unpacked(self.anchors_)
        rule = self._rule(self._input.fitted(self), anchors)
        if self._fitted_pairwise:
            then = _checked(then, anchors, self._takes_gaps)
        compare = against(rule, anchors, then)
        return lambda block: compare(stored_like(block, anchors))

    def _placing(self, place: Callable[[Array], Array]) -> Callable[[Array], Array]:
        """Return the function that places a block by its distances to the anchors, in the block's array library."""
        work = self._measure(place)
        return lambda block: arrays.like(work(block), block)


def _checked(then: Callable[[Array], Array] | None, anchors: Array, gaps: bool) -> Callable[[Array], Array]:
    """Refuse negative distances, and missing ones unless ``gaps``: only precomputed rows can have either."""

    def check(D: Array) -> Array:
        if (D < 0).any():
            i, j = np.argwhere(D < 0)[0]
            raise DataError(f"a distance is negative: {D[i, j]:g} to training object {int(anchors[j])}")
        if not gaps and np.isnan(D).any():
            j = np.argwhere(np.isnan(D))[0][1]
            raise DataError(
                f"the distance to training object {int(anchors[j])} is missing (NaN); leave the row out, or use "
                "MetricMDS, which places objects by the distances that are known"
            )
        return D if then is None else then(D)

    return check
