"""Metric multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.parameters import AnyOf, ArrayRule, Choice, Nothing, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.errors import DataError, LowlandWarning
from ...core.formatting import count
from ...core.message import Message, Owner, Phrase, Setting, message
from ...pairs.distance_checks import check_distances
from ...rows.object_rows import gather
from ...rows.row_source import RowSource
from ...rows.units import Units
from ..shared.distance_based import DistanceReducer, Training
from ..shared.landmarks import LandmarkDefaults, Landmarks
from ..shared.map_warnings import require_rank
from ..shared.pair_units import degree
from .pair_sample import ratio_over_pairs
from .placement import Placement
from .stress import Stress, descend, filled, posed, require_connected, same_objects
from .stress_cost import MetricCost, plan_stress
from .stress_fit import STRESS_PARAMETERS, StressFit, fit_stress

Array = Any

POWERS = {"raw": 0, "sammon": 1, "elastic": 2}
ALGORITHM = "SMACOF"
REFIT_TOL = 1e-6  # of the exact fit of some rows that measures what landmarks cost
MAX_WEIGHT_RATIO = 1e12  # of the largest weight to the least one


class MetricMDS(DistanceReducer):
    """Points whose distances approximate those of the data by least squares (Kruskal 1964).

    σ(X) = Σ_{i<j} w_ij (‖x_i − x_j‖ − δ_ij)², lowered by majorisation (SMACOF: de Leeuw 1977; de Leeuw & Heiser 1980)
    with quasi-Newton acceleration; σ never rises. w is 1, 1/δ for Sammon's mapping (Sammon 1969) or 1/δ² for elastic
    scaling (McGee 1966), times the weights given. A new row is placed where its own share of σ is least.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the matrix of distances, and new rows are distances to the
        training objects; or a function of two objects or two blocks, and then objects may be anything.
    stress : str
        "raw" fits long distances best, "sammon" errors in proportion to √δ, "elastic" in proportion to δ.
    weights : (N, N) array or None
        Weight of each pair, or a mask of the known pairs. Pairs of weight 0 are ignored: their precomputed distance
        may be NaN. A distance of 0 is a distance. With weights the fit is exact.
    init : str or (N, k) array
        "classical" MDS, "random", or a start of your own.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when a Guttman step would lower σ by no more than this share of it.
    landmarks : int, str or None
        None: exact. "auto": exact for up to 5000 rows or where weights are given, else 2000 landmarks
        (4 for each component, if more). Or a number, or "uniform:500", "farthest:500", "kmeans++:500".
    random_state : int or None
        Seed of starts and landmarks; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, centred, along their principal axes.
    stress_ : float
        √(Σw(d − δ)²/Σwδ²); for Sammon's mapping its own Σ(d − δ)²/δ / Σδ. Estimated where landmarks are used.
    raw_stress_ : float
        Σw(d − δ)² over pairs, each counted once. Estimated where landmarks are used.
    stress_history_ : array
        ``stress_`` after each step (of the landmarks, where they are used).
    positions_ : array
        Coordinates of the points that new rows are placed among.
    power_, closest_ : int, float
        A distance δ of a new row weighs max(δ, ``closest_``) to the power −``power_``.
    n_iter_, n_components_ : int
        Number of steps, number of coordinates.
    fit_info_ : FitInfo
        Its ``residual`` is ‖X − Γ(X)‖/‖X‖, 0 at a stationary point.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> model = lowland.MetricMDS(metric="precomputed").fit(D)
    >>> float(np.hypot(*(model.embedding_[1] - model.embedding_[2])).round(6))
    5.0
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **DistanceReducer._parameters,
        **STRESS_PARAMETERS,
        "stress": Choice(tuple(POWERS)),
        "weights": AnyOf((Nothing(), ArrayRule())),
    }
    _units: ClassVar[Units] = {
        **DistanceReducer._units,
        "positions_": degree,
        "raw_stress_": lambda model: (2 - model.power_) * degree(model),
        "closest_": degree,
    }
    _landmark_defaults: ClassVar[LandmarkDefaults] = LandmarkDefaults(exact_below=5000, count=2000)
    _takes_gaps: ClassVar[bool] = True

    positions_: Array
    stress_: float
    stress_history_: Array
    n_iter_: int
    raw_stress_: float
    power_: int
    closest_: float

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        stress: str = "raw",
        weights: Any = None,
        init: Any = "classical",
        max_iter: int = 300,
        tol: float = 1e-8,
        landmarks: int | str | None = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.stress = stress
        self.weights = weights
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.landmarks = landmarks
        self.random_state = random_state

    # -- input ----------------------------------------------------------------------------------------

    def _landmarks(self, n: int) -> Landmarks | None:
        if self.weights is None:
            return super()._landmarks(n)
        if self.landmarks in (None, "auto"):
            return None
        raise DataError(message("MetricMDS: {weights} need an exact fit; use {landmarks}", weights=..., landmarks=None))

    def _objects(self, rows: RowSource) -> Array:
        items = gather(rows, sparse=True)
        if not self._pairwise:
            return items
        if self.weights is None:
            check_distances(items, "MetricMDS")
            return items
        items = np.array(arrays.to_numpy(items), dtype=np.float64)
        known = self._given_weights(len(items)) > 0
        np.fill_diagonal(known, True)
        own = np.diagonal(items)
        items[np.diag_indices_from(items)] = np.where(np.isnan(own), 0.0, own)
        check_distances(items, "MetricMDS", known)
        items[~known] = 0.0
        return items

    def _given_weights(self, n: int) -> Array:
        W = np.asarray(arrays.to_numpy(self.weights), dtype=np.float64)
        if W.shape != (n, n):
            shape = f" must be {n} × {n}, one for each pair of rows; the shape is {W.shape}"
            raise DataError(Message(Owner("MetricMDS"), Setting("weights"), shape))
        bad = ~(W >= 0) | np.isinf(W)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise DataError(
                f"MetricMDS: the weight at row {i}, column {j} is {W[i, j]}; weights must be finite and ≥ 0"
            )
        if not np.array_equal(W, W.T):
            i, j = np.argwhere(W != W.T)[0]
            raise DataError(
                Message(
                    f"MetricMDS: the weights are not symmetric: {W[i, j]:g} at row {i}, column {j}, and {W[j, i]:g} at "
                    f"row {j}, column {i}; ",
                    Phrase("use (W + W.T) / 2, or mask | mask.T", "give a pair the same weight in both places"),
                )
            )
        return W

    # -- cost ---------------------------------------------------------------------------------------------

    def _cost(self) -> MetricCost:
        weighted = self.weights is not None or self.stress != "raw"
        return MetricCost(self.n_components, self.max_iter, weighted=weighted, given=self.weights is not None)

    def _plan(self, shape: DataShape) -> Plan:
        return plan_stress(self, shape, ALGORITHM, self._cost())

    # -- the fit ------------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        fit_stress(self, rows, record, ALGORITHM)

    def _solve(self, D: Array, fit: StressFit, record: Recorder, rng: np.random.Generator) -> Array:
        """Return the positions of points with these distances."""
        self.power_ = POWERS[self.stress]
        W = None if self.weights is None else self._given_weights(len(D))
        if W is not None:
            require_connected(W > 0, "MetricMDS")
        whole = D if W is None or (W + np.eye(len(W)) > 0).all() else filled(D, W > 0)
        self.closest_ = self._closest(D, W, record)
        problem = Stress(D, self._all_weights(D, W))
        mean_square = float(np.vdot(whole, whole)) / len(D) / (len(D) - 1)
        X = fit.start(whole, mean_square, fit.training.numbers, record, rng)
        same = same_objects(D, W)
        result = fit.minimise(problem, problem.size, X, same, record, rng)
        fit.note(result, record)
        self.n_iter_ = result.steps
        self.raw_stress_ = float(result.point.value)
        self.stress_history_ = self._normalised(result.history, problem.size)
        self.stress_ = float(self.stress_history_[-1])
        record.evidence[self._name_of_stress()] = self.stress_
        return posed(result.point.X[same])

    def _closest(self, D: Array, given: Array | None, record: Recorder) -> float:
        """Return the distance below which weights do not grow: the least positive one, or the `_floor`."""
        apart = float(min(np.min(row, where=row > 0, initial=np.inf) for row in _pairs(D, given)))
        if np.isinf(apart):
            require_rank(type(self).__name__, self.n_components, 0, record)
        closest = max(apart, self._floor(D))
        below = 0 if self.power_ == 0 else sum(int((row < closest).sum()) for row in _pairs(D, given))
        if below > 0:
            record.warn(
                message(
                    f"MetricMDS: {count(below, 'pair')} of different rows {'has' if below == 1 else 'have'} distance 0 "
                    "or nearly 0, where the weights of {stress} are unbounded; the weight of distance "
                    f"{closest:.3g} is used there",
                    stress=self.stress,
                ),
                LowlandWarning,
            )
        return closest

    def _all_weights(self, D: Array, given: Array | None = None) -> Array | None:
        """Return the weights of the stress times those given; None where all are 1."""
        if self.power_ == 0:
            return given
        W = self._weight(D, self._floor(D))
        if given is not None:
            W *= given
        np.fill_diagonal(W, 0.0)
        return W

    def _weight(self, delta: Array, floor: float = 0.0) -> Array:
        if self.power_ == 0:
            return np.ones_like(delta)
        return np.maximum(delta, max(self.closest_, floor)) ** -self.power_

    def _floor(self, D: Array) -> float:
        """Return the distance whose weight is `MAX_WEIGHT_RATIO` times that of the largest one."""
        return 0.0 if self.power_ == 0 else float(D.max()) * MAX_WEIGHT_RATIO ** (-1 / self.power_)

    def _name_of_stress(self) -> str:
        return "Sammon's stress" if self.power_ == 1 else "stress-1"

    def _normalised(self, value: Any, size: float) -> Any:
        return value / size if self.power_ == 1 else np.sqrt(value / size)

    # -- new rows -----------------------------------------------------------------------------------------

    def _row_map(self) -> Callable[[Array], Array]:
        return self._placing(Placement(self.positions_, self.power_, self.closest_))

    # -- what landmarks cost ------------------------------------------------------------------------------

    def _measure_fit(self, fit: StressFit, record: Recorder, rng: np.random.Generator) -> None:
        """Measure the stress of the map of all rows, and the share by which an exact fit would lower it."""
        training, name = fit.training, self._name_of_stress()
        record.evidence[f"{name} of the landmarks"] = self.stress_

        def terms(delta: Array, d: Array) -> tuple[float, float]:
            w = self._weight(delta)
            return float((w * (d - delta) ** 2).sum()), float((w * delta**2).sum())

        found = ratio_over_pairs(self.embedding_, training.between, terms, rng)
        self.stress_ = float(self._normalised(found.share, 1.0))
        n = len(self.embedding_)
        self.raw_stress_ = found.mean * n * (n - 1) / 2
        record.evidence[name] = self.stress_
        record.evidence[f"{name}, standard error"] = found.error if self.power_ == 1 else found.root_error
        record.evidence["pairs measured"] = found.pairs
        record.note(approximation_error=self._excess(training, rng))

    def _excess(self, training: Training, rng: np.random.Generator) -> float:
        """Measure the share by which an exact fit of a subset of the rows, started from here, lowers σ.

        Fewer rows adapt to their pairs better than all of them would, so the share tends to be too large: 0.7 to 1.2
        of the true value on tables with groups at 8000 rows (benchmarks/stochastic_mds.py), 1.7 on 3000 rows that
        vary equally in 10 directions.
        """
        n = len(self.embedding_)
        rows = np.sort(rng.permutation(n)[: self._cost().refit_rows(n, len(self.positions_))])
        D = training.square(rows)
        start = self.embedding_[rows].astype(np.float64)
        problem = Stress(D, self._all_weights(D))
        history = descend(problem, start, max_iter=self.max_iter, tol=REFIT_TOL, stage="measure").history
        return float(1.0 - history[-1] / history[0]) if history[0] > 0 else 0.0


def _pairs(D: Array, given: Array | None) -> Iterator[Array]:
    """Go over the distances of pairs that have a weight, each once, row by row."""
    for i in range(len(D) - 1):
        row = D[i, i + 1 :]
        yield row if given is None else row[given[i, i + 1 :] > 0]
