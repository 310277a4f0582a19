"""What the methods on distances share: their objects, the metric, the points that new rows are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .. import arrays, pool
from ..distances import METRICS, check_function, learn, metric
from ..errors import DataError, RankWarning
from ..landmarks import Wanted, farthest, kmeans_plus_plus, uniform, wanted
from ..pairwise import Pairwise, against, square, tiles
from ..parameters import RANDOM_STATE, AnyOf, Choice, FunctionRule, Integer, LandmarkRule, Rule
from ..planning import DataShape
from ..reducer import Recorder, Reducer
from ..rows import RowSource, block_rows
from ..settings import threads
from ..sources import gather

Array = Any

_SMALLEST, _LARGEST = 1e-70, 1e70  # distances whose fourth powers, summed over all pairs, are numbers

METRIC: Rule = AnyOf((Choice((*METRICS, "precomputed")), FunctionRule()))


class DistanceReducer(Reducer):
    """A reducer of objects that are known by their distances.

    Subclasses have the parameters ``n_components``, ``metric``, ``landmarks`` and ``random_state``. What new rows
    are compared with lies in ``anchors_``: rows, objects, or with ``metric="precomputed"`` their numbers.
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        "n_components": Integer(1),
        "metric": METRIC,
        "landmarks": LandmarkRule(("uniform", "farthest", "kmeans++")),
        "random_state": RANDOM_STATE,
    }
    _distance_state: ClassVar[tuple[str, ...]] = ("anchors_", "metric_state_", "embedding_", "n_components_")
    _exact_below: ClassVar[int] = 10_000  # "auto" takes landmarks above it
    _landmark_count: ClassVar[int] = 1000

    n_components: int
    metric: str | Callable[[Any, Any], Any]
    landmarks: int | str | None
    random_state: Any
    anchors_: Array
    metric_state_: dict[str, Array]
    embedding_: Array

    def _needs_length(self) -> bool:
        return True

    @property
    def _takes_objects(self) -> bool:
        return callable(self.metric)

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _landmarks(self, n: int) -> Wanted | None:
        """Return how many landmarks the fit takes and how they are chosen; None for an exact fit."""
        k = self.n_components
        count = max(self._landmark_count, 4 * k)
        found = wanted(self.landmarks, n, exact_below=self._exact_below, count=count, strategy="uniform")
        if found is not None and found.count <= k and found.count < n:
            raise DataError(
                f"{type(self).__name__}: {found.count} landmarks span {found.count - 1} dimensions at most; take more "
                f"landmarks than n_components={k}, better 4 for each"
            )
        return found

    def _row_bytes(self, shape: DataShape, m: int) -> int:
        """Return what comparing rows with m anchors takes: both in float64, as given and as the metric wants them.

        The anchors themselves are kept besides, as a copy.
        """
        if self._pairwise:
            return 0
        blocks = threads() * block_rows(shape.n_features) if m < (shape.n_rows or 1) else 0
        return shape.n_features * (8 * 2 * (m + blocks) + m * shape.dtype.itemsize)

    def _check_length(self, rows: RowSource) -> None:
        """Refuse blocks that can be read only once."""
        if rows.n_rows is None or not rows.reiterable:
            raise DataError(
                f"{type(self).__name__} reads the rows several times, and these blocks can be read only once; give one "
                "array, or a function that starts a new reading: RowSource.from_blocks(lambda: …)"
            )

    def _check_count(self, shape: DataShape, limit: int, what: str) -> None:
        """Refuse more components than there can be."""
        if self.n_components > limit:
            raise DataError(
                f"{type(self).__name__}: n_components={self.n_components} is more than {what} = {limit} "
                f"(n_samples = {shape.n_rows}, n_features = {shape.n_features}); ask for {limit} at most"
            )

    def _require_rank(self, rank: int, asked: int, record: Recorder) -> None:
        """Refuse points that are all equal; warn where fewer coordinates exist than were asked for."""
        name = type(self).__name__
        if rank == 0:
            raise DataError(
                f"{name}: the points have rank 0: all distances are zero (or too small to be squared), or none is "
                "Euclidean in any part"
            )
        if rank < asked:
            record.warn(
                f"{name}: the distances have rank {rank} (positive eigenvalues), below the {asked} components asked "
                f"for; n_components_ is {rank}",
                RankWarning,
            )

    # -- training -----------------------------------------------------------------------------------------

    def _bind(self, items: Array) -> Pairwise:
        """Bind the metric to the training objects and keep what it learned of them."""
        self.metric_state_ = {} if callable(self.metric) or self._pairwise else learn(self.metric, items)
        rule = metric(self.metric, items, self.metric_state_)
        if callable(self.metric):
            check_function(rule, items, type(self).__name__)
        return rule

    def _objects(self, rows: RowSource) -> Array:
        """Return all training objects: rows, objects, or the checked square of distances."""
        items = gather(rows)
        if self._pairwise:
            check_distances(items, type(self).__name__)
        return items

    def _choose(self, rule: Pairwise, items: Array, asked: Wanted, rng: np.random.Generator) -> Array:
        """Return the numbers of the landmarks."""
        if asked.strategy == "uniform":
            return uniform(len(items), asked.count, rng)
        spread = farthest if asked.strategy == "farthest" else kmeans_plus_plus
        if self._pairwise:
            raise DataError("precomputed distances take landmarks='uniform:…' or a number")
        return spread(rule, items, asked.count, rng)

    def _keep(self, items: Array, numbers: Array | None) -> Array:
        """Keep the anchors: all training objects (None) or those numbered; returns their mutual distances."""
        numbers = np.arange(len(items)) if numbers is None else numbers
        everything = len(numbers) == len(items)
        if self._pairwise:
            self.anchors_ = numbers
            D = items if everything else items[numbers][:, numbers]
        else:
            kept = items if everything else items[numbers]
            own = arrays.to_numpy(kept)
            self.anchors_ = own.copy() if everything else own  # the caller's array may change after the fit
            D = square(metric(self.metric, kept, self.metric_state_), kept, stage="distances")
        check_size(D, type(self).__name__)
        return D

    # -- new rows -----------------------------------------------------------------------------------------

    def _measure(self, then: Callable[[Array], Array] | None = None) -> Callable[[Array], Array]:
        """Return the function that gives a block's distances to the anchors, or what ``then`` makes of them."""
        rule = metric(self.metric, self.anchors_, self.metric_state_)
        compare = against(rule, self.anchors_, _checked(then, self.anchors_) if self._pairwise else then)
        return lambda block: compare(arrays.to_numpy(block))


def _checked(then: Callable[[Array], Array] | None, anchors: Array) -> Callable[[Array], Array]:
    """Refuse negative distances, which only precomputed rows can have."""

    def check(D: Array) -> Array:
        if (D < 0).any():
            i, j = np.argwhere(D < 0)[0]
            raise DataError(f"a distance is negative: {D[i, j]:g} to training object {int(anchors[j])}")
        return D if then is None else then(D)

    return check


def check_distances(D: Array, owner: str, known: Array | None = None) -> None:
    """Refuse what is no matrix of distances: not square, negative, NaN, asymmetric, not zero on the diagonal.

    ``known`` marks the pairs that count, where some are missing.
    """
    n, m = D.shape
    if n != m:
        raise DataError(f"{owner}: precomputed distances must be a square matrix; this one is {n} × {m}")
    parts = tiles(n)

    def look(pair: tuple[slice, slice]) -> _Seen:
        return _look(pair, D, known, owner)

    seen = list(pool.run(look, [(a, b) for i, a in enumerate(parts) for b in parts[i:]]))
    slack = max(s.largest for s in seen) * (1e-5 if arrays.dtype_of(D) == np.float32 else 1e-10)
    own = np.abs(arrays.to_numpy(arrays.namespace(D).linalg.diagonal(D)))
    if own.max() > slack:
        worst = int(own.argmax())
        raise DataError(f"{owner}: object {worst} has distance {own[worst]:g} to itself; it must be zero")
    worst_pair = max(seen, key=lambda s: s.asymmetry)
    if worst_pair.asymmetry > slack:
        i, j = worst_pair.place
        raise DataError(
            f"{owner}: the distances are not symmetric: {float(D[i, j]):g} at row {i}, column {j}, and "
            f"{float(D[j, i]):g} the other way; use (D + D.T) / 2 if both mean the same"
        )


def check_size(D: Array, owner: str) -> None:
    """Refuse distances whose squares are too large or too small for floating point."""
    largest = float(D.max())
    if _SMALLEST < largest < _LARGEST or largest == 0:
        return
    what = "underflow" if largest < 1 else "overflow"
    raise DataError(
        f"{owner}: the largest distance is {largest:.2g}, and sums of its powers {what}; divide the distances by a "
        "constant"
    )


class _Seen(NamedTuple):
    """The largest value and the largest asymmetry of a tile, and where that is."""

    largest: float
    asymmetry: float
    place: tuple[int, int]


def _look(pair: tuple[slice, slice], D: Array, known: Array | None, owner: str) -> _Seen:
    a, b = pair
    there = arrays.to_numpy(D[a, b])
    back = arrays.to_numpy(D[b, a])
    for block, rows, columns in ((there, a, b), (back, b, a)):
        if block.min() >= 0 and block.max() < np.inf:  # false for NaN, too; a mask only where it is needed
            continue
        bad = ~(block >= 0) | np.isinf(block)
        if known is not None:
            bad &= known[rows, columns] != 0
        if bad.any():
            i, j = np.argwhere(bad)[0]
            what = "is negative" if block[i, j] < 0 else "is no number"
            place = f"row {rows.start + i}, column {columns.start + j}"
            raise DataError(f"{owner}: a distance {what}: {block[i, j]:g} at {place}")
    asymmetry = there - back.T
    np.abs(asymmetry, out=asymmetry)
    if known is not None:
        mask = known[a, b] != 0
        there, asymmetry = np.where(mask, there, 0.0), np.where(mask, asymmetry, 0.0)
    i, j = np.unravel_index(int(asymmetry.argmax()), asymmetry.shape)
    return _Seen(float(there.max()), float(asymmetry[i, j]), (a.start + int(i), b.start + int(j)))
