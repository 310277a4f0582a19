"""A fit by stress: the training objects, the start, the descent, and what the record says of them.

`MetricMDS` and `NonmetricMDS` hold a `StressFit` while they fit; each brings its own stress.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contract.inputs import require_length
from ...contract.parameters import AnyOf, ArrayRule, Choice, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays
from ...core.cost import DataShape
from ...core.errors import DataError, NotConvergedWarning
from ...core.message import message
from ...core.random import seed
from ...rows.row_source import RowSource
from ..shared.distance_based import DistanceReducer, Training
from ..shared.map_warnings import require_rank
from ..shared.pair_units import degree
from ..shared.start import given_start
from .stress import Descent, StressPoint, classical_start, descend, random_start, shaken

Array = Any

STRESS_PARAMETERS: Mapping[str, Rule] = {
    "init": AnyOf((Choice(("classical", "random")), ArrayRule())),
    "max_iter": Integer(1),
    "tol": Real(0, 1, closed=True),
}

MAX_SOLVED_STRESS = 1e-7  # of the size of the distances: a start with no more is the solution
MAX_UNREPORTED_PACE = 1e-6  # share by which one more step may lower the stress without a warning
FLOOR = 1e-22  # of the size of the distances: a decrease of the stress by no more is rounding


@dataclass(frozen=True)
class StressFit:
    """One fit: its training objects, and how a stress of their distances is lowered.

    ``init`` is the parameter, an array in the unit of the fit. ``distance_eps`` is the precision of the distances,
    ``row_eps`` that of the rows they were taken of.
    """

    method: str
    algorithm: str
    n_components: int
    init: Any
    max_iter: int
    tol: float
    training: Training
    distance_eps: float
    row_eps: float

    def start(
        self, D: Array, mean_square: float, numbers: Array | None, record: Recorder, rng: np.random.Generator
    ) -> Array:
        """Return the start that was asked for, of the objects with these numbers (None: all); D are their distances."""
        if not mean_square > 0:
            require_rank(self.method, self.n_components, 0, record)
        if not isinstance(self.init, str):
            return self.init if numbers is None else self.init[numbers]
        if self.init == "random":
            return random_start(mean_square, len(D), self.n_components, rng)
        return classical_start(D, self.n_components, rng, self.distance_eps, self.row_eps)

    def minimise(
        self,
        problem: Callable[[Array], StressPoint],
        size: float,
        X: Array,
        same: Array,
        record: Recorder,
        rng: np.random.Generator,
    ) -> Descent:
        """Lower a stress from X, where equal objects lie on one spot: ``same`` numbers the first equal to each.

        ``size`` is that of the distances, in the unit of the stress.
        """
        X = self._leave(problem, size, X[same], record, rng)[same]
        return descend(problem, X, max_iter=self.max_iter, tol=self.tol, floor=FLOOR * size)

    def _leave(
        self, problem: Callable[[Array], StressPoint], size: float, X: Array, record: Recorder, rng: np.random.Generator
    ) -> Array:
        """Return a start that a descent can leave; with fewer columns where those few are already the solution."""
        solved = max(MAX_SOLVED_STRESS, 4 * self.distance_eps)
        if X.shape[1] == self.n_components or problem(X).value > solved**2 * size:
            return shaken(X, self.n_components, rng)
        require_rank(self.method, self.n_components, X.shape[1], record)
        return X

    def note(self, result: Descent, record: Recorder) -> None:
        """Write the minimisation into the record, and warn where it stopped before it converged."""
        point = result.point
        record.note(
            algorithm=self.algorithm,
            solver="quasi-Newton on Guttman's transform",
            iterations=result.steps,
            residual=float(np.sqrt(np.vdot(point.step, point.step) / np.vdot(point.X, point.X)) * point.reach / 2),
        )
        if not result.converged and result.pace > MAX_UNREPORTED_PACE:
            record.warn(
                message(
                    f"{self.method}: not converged after {self.max_iter} step{'s' * (self.max_iter != 1)}: the stress "
                    f"still decreases by {100 * result.pace:.2g} % per step; increase {{max_iter}}",
                    max_iter=...,
                ),
                NotConvergedWarning,
            )

    def embed(
        self,
        positions: Array,
        rows: RowSource,
        row_map: Callable[[], Callable[[Array], Array]],
        record: Recorder,
    ) -> Array:
        """Return the map of all rows: the positions of an exact fit, or where the landmarks' positions put them."""
        landmarks = self.training.landmarks
        if landmarks is None:
            return positions.astype(rows.dtype)
        with record.stage("place"):
            Y = arrays.to_numpy(rows.map_blocks(row_map(), positions.shape[1]))
        record.note(algorithm=f"{len(positions)} landmarks ({landmarks.strategy})", approximate=True)
        return Y


def fit_stress(model: Any, rows: RowSource, record: Recorder, algorithm: str) -> None:
    """Fit a model that has the `STRESS_PARAMETERS`.

    It writes ``_solve``, which returns the positions of points from their distances, and ``_measure_fit``, which
    measures what landmarks cost.
    """
    rng = seed(model.random_state)
    fit, D = _begin(model, rows, record, rng, algorithm)
    with record.stage("stress"):
        model.positions_ = model._solve(D, fit, record, rng)
        model.n_components_ = model.positions_.shape[1]
    del D
    model.embedding_ = fit.embed(model.positions_, rows, model._row_map, record)
    if fit.training.landmarks is not None:
        with record.stage("measure"):
            model._measure_fit(fit, record, rng)


def _begin(
    model: Any, rows: RowSource, record: Recorder, rng: np.random.Generator, algorithm: str
) -> tuple[StressFit, Array]:
    """Compare the training objects of a model; return its fit, and the distances of the anchors in float64."""
    name, k, init = type(model).__name__, model.n_components, model.init
    n = check_shape(model, rows.shape)
    init = init if isinstance(init, str) else given_start(name, init, n, k)
    with record.stage("distances"):
        training = model._training(rows, rng)
        D = arrays.to_numpy(model._keep(training.items, training.numbers))
        eps = max(training.rule.eps, _eps(D)), 0.0 if training.precomputed else _eps(training.items)
        D = np.ascontiguousarray(D.T if D.flags.f_contiguous else D, dtype=np.float64)  # Dᵀ is D, without a copy
    if not isinstance(init, str):
        init = model._in_unit(init, degree(model))
    return StressFit(name, algorithm, k, init, model.max_iter, model.tol, training, *eps), D


def check_shape(model: DistanceReducer, shape: DataShape) -> int:
    """Refuse data that have no distances, or fewer dimensions than components; return the number of rows."""
    if (n := require_length(model, shape)) < 2:
        raise DataError(f"{type(model).__name__} needs at least 2 rows: one point has no distances (n_samples = {n})")
    model._check_dimensions(shape)
    return n


def _eps(values: Array) -> float:
    """Return the precision of numbers by their type; 0 of whole numbers and of objects."""
    dtype: Any = arrays.dtype_of(values) if hasattr(values, "dtype") else np.dtype(object)
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
