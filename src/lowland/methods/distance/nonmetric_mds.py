"""Nonmetric multidimensional scaling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from ...contract.parameters import Choice, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape, Plan
from ...core.errors import DegenerateWarning
from ...rows.row_source import RowSource
from ...rows.units import Units
from ..shared.distance_based import DistanceReducer
from ..shared.landmarks import LandmarkDefaults
from ..shared.map_warnings import note_disagreement
from ..shared.pair_units import degree
from .order_stress import Curve, OrderStress
from .pair_sample import ratio_over_pairs
from .placement import Placement
from .stress import Descent, posed, same_objects
from .stress_cost import NonmetricCost, plan_stress
from .stress_fit import STRESS_PARAMETERS, StressFit, fit_stress

Array = Any

ALGORITHM = "SMACOF with monotone regression"
MAX_COLLAPSED_SHARE = 0.05  # of pairs that may collapse, though their dissimilarity is not small, without a warning


class NonmetricMDS(DistanceReducer):
    """Points whose distances keep the order of the dissimilarities (Shepard 1962; Kruskal 1964).

    S = √(Σ(d − d̂)²/Σd²) with d = ‖x_i − x_j‖ and d̂ the monotone regression of d on δ; only the order of δ counts.
    Lowered by majorisation with optimal scaling (de Leeuw 1977) and quasi-Newton acceleration. A new row is placed by
    raw stress with the targets d̂(δ)/(1 − S²) of the fitted curve.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    metric : str or callable
        A metric of SciPy by name; "precomputed": X is the matrix of dissimilarities, and new rows are dissimilarities
        to the training objects; or a function of two objects or two blocks, and then objects may be anything.
    ties : str
        "primary": equal δ may have different d̂; "secondary": they have the same.
    init : str or (N, k) array
        "classical" MDS, "random", or a start of your own.
    max_iter : int
        Largest number of steps.
    tol : float
        Stop when a Guttman step would lower S² by no more than this share of it.
    landmarks : int, str or None
        None: exact. "auto": exact for up to 2000 rows, else 1000 landmarks (4 for each component, if more). Or
        a number, or "uniform:500", "farthest:500", "kmeans++:500".
    random_state : int or None
        Seed of starts and landmarks; None is seed 0.

    Attributes
    ----------
    embedding_ : (N, k) array
        The training points, centred, along their principal axes, at the scale where d fits δ best.
    stress_ : float
        Kruskal's stress-1; estimated where landmarks are used.
    stress_history_ : array
        ``stress_`` after each step (of the landmarks, where they are used).
    curve_ : (3, q) array
        Knots of the monotone curve: δ, d̂, and d̂/(1 − S²), at which raw stress would leave the points where they are.
    positions_ : array
        Coordinates of the points that new rows are placed among.
    n_iter_, n_components_ : int
        Number of steps, number of coordinates.
    fit_info_ : FitInfo
        Its evidence has the share of pairs that collapsed to nearly one point.

    Examples
    --------
    >>> import numpy as np, lowland
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [2.1, 0.1], [0.3, 1.4], [1.9, 1.2], [1.1, 2.3]])
    >>> model = lowland.NonmetricMDS().fit(np.exp(X))
    >>> model.embedding_.shape, model.stress_ < 0.01
    ((6, 2), True)
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {
        **DistanceReducer._parameters,
        **STRESS_PARAMETERS,
        "ties": Choice(("primary", "secondary")),
    }
    _units: ClassVar[Units] = {**DistanceReducer._units, "positions_": degree, "curve_": degree}
    _landmark_defaults: ClassVar[LandmarkDefaults] = LandmarkDefaults(exact_below=2000)

    positions_: Array
    stress_: float
    stress_history_: Array
    n_iter_: int
    curve_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str | Callable[[Any, Any], Any] = "euclidean",
        ties: str = "primary",
        init: Any = "classical",
        max_iter: int = 300,
        tol: float = 1e-10,
        landmarks: int | str | None = "auto",
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.ties = ties
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.landmarks = landmarks
        self.random_state = random_state

    def _plan(self, shape: DataShape) -> Plan:
        return plan_stress(self, shape, ALGORITHM, NonmetricCost(self.n_components, self.max_iter))

    # -- the fit ------------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        fit_stress(self, rows, record, ALGORITHM)

    def _solve(self, D: Array, fit: StressFit, record: Recorder, rng: np.random.Generator) -> Array:
        """Return the positions of points whose distances have the order of these."""
        result, problem, positions, curve = self._minimise(D, fit, fit.training.numbers, record, rng)
        fit.note(result, record)
        self.n_iter_ = result.steps
        self.stress_history_ = np.sqrt(result.history)
        self.stress_ = float(self.stress_history_[-1])
        self.curve_ = np.stack([curve.x, curve.y, curve.y / (1.0 - self.stress_**2)])
        record.evidence["stress-1"] = self.stress_
        self._warn_degenerate(problem, result, record)
        return positions

    def _minimise(
        self, D: Array, fit: StressFit, numbers: Array | None, record: Recorder, rng: np.random.Generator
    ) -> tuple[Descent, OrderStress, Array, Curve]:
        X = fit.start(D, float(np.vdot(D, D)) / D.size, numbers, record, rng)
        problem = OrderStress(D, self.ties)
        same = same_objects(D)
        result = fit.minimise(problem, 1.0, X, same, record, rng)
        d = problem.distances(result.point.X)
        scale = float(problem.delta @ d) / problem.size
        return result, problem, posed(scale * result.point.X[same]), problem.curve(d, scale)

    def _warn_degenerate(self, problem: OrderStress, result: Descent, record: Recorder) -> None:
        """Warn where points that are not alike collapsed to one, or all distances became equal."""
        tied = problem.level[-1] == 0 and problem.n > self.n_components + 1
        if tied:
            record.warn(
                "NonmetricMDS: all dissimilarities are equal (tied), so there is no order to keep: "
                + ("every map has stress 0" if self.ties == "primary" else "no axis is better than another")
                + ". Check the dissimilarities, or give them with more digits",
                DegenerateWarning,
            )
        d, delta = problem.distances(result.point.X), problem.delta
        apart = delta > 0.1 * np.sqrt(np.mean(delta**2))
        collapsed = float(np.mean(apart & (d < 0.02)))
        target = problem.regress(d)
        flat = float(np.std(target)) < 1e-3 < float(np.std(delta)) / float(np.mean(delta))
        record.evidence["pairs fallen together"] = collapsed
        if not tied and (collapsed > MAX_COLLAPSED_SHARE or flat):
            record.evidence["degenerate"] = True
            what = (
                f"{collapsed:.0%} of the pairs collapsed to one point"
                if collapsed > MAX_COLLAPSED_SHARE
                else "all distances became equal"
            )
            record.warn(
                f"NonmetricMDS: the solution is degenerate: {what} though their dissimilarities differ, because their "
                f"order alone allows it (stress-1 {self.stress_:.2g} does not show this). Use MetricMDS, or fit each "
                "group separately",
                DegenerateWarning,
            )

    # -- new rows -----------------------------------------------------------------------------------------

    def _row_map(self) -> Callable[[Array], Array]:
        return self._placing(Placement(self.positions_, curve=Curve(self.curve_[0], self.curve_[2])))

    # -- what landmarks cost ------------------------------------------------------------------------------

    def _measure_fit(self, fit: StressFit, record: Recorder, rng: np.random.Generator) -> None:
        """Measure the stress of the map of all rows, and how far the map of other landmarks lies from it."""
        record.evidence["stress-1 of the landmarks"] = self.stress_
        curve = Curve(self.curve_[0], self.curve_[1])

        def terms(delta: Array, d: Array) -> tuple[float, float]:
            return float(((d - curve(delta)) ** 2).sum()), float((d**2).sum())

        found = ratio_over_pairs(self.embedding_, fit.training.between, terms, rng)
        self.stress_ = found.share**0.5
        record.evidence["stress-1"] = self.stress_
        record.evidence["stress-1, standard error"] = found.root_error
        record.evidence["pairs measured"] = found.pairs

        def again(D: Array, numbers: Array) -> Placement:
            D = np.ascontiguousarray(arrays.to_numpy(D), dtype=np.float64)
            result, _, positions, curve = self._minimise(D, fit, numbers, Recorder("NonmetricMDS"), rng)
            return Placement(positions, curve=Curve(curve.x, curve.y / (1.0 - result.point.value)))

        error = self._disagreement(fit.training, again, rng, scale=True)
        note_disagreement(type(self).__name__, self.n_components, error, len(self.positions_), record)
