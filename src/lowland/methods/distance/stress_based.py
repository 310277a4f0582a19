"""What metric and nonmetric MDS share: a start, anchors that new rows are placed among, landmarks for many rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...contract.inputs import require_length
from ...contract.parameters import AnyOf, ArrayRule, Choice, Integer, Real, Rule
from ...contract.reducer import Recorder
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan, largest
from ...core.errors import DataError, NotConvergedWarning
from ...core.random import seed
from ...core.settings import threads
from ...pairs.pairwise import Pairwise
from ...rows.row_source import RowSource
from ...rows.units import Units
from ...spectral.solve import DENSE_LIMIT
from ..shared.distance_based import DistanceReducer
from ..shared.landmarks import Landmarks
from ..shared.map_warnings import require_rank
from ..shared.pair_units import degree
from .placement import Placement
from .stress import Descent, Point, classical_start, random_start, shaken

Array = Any

_PLACE_SECONDS = 8e-8  # one row among one anchor, from three starts, on one core
_SAMPLE_SECONDS = 8e-8  # one of the pairs that measure the stress
_EXACT = 1e-7  # stress below which a start is the solution
_GROUPS, _GROUP = 256, 64  # groups of rows whose pairs measure the stress: 1,048,576 pairs
_LEFT = 1e-6  # share of the stress that one more step may take off before it is worth a warning


class Sampled(NamedTuple):
    """A ratio of sums over random pairs, its standard error, the number of pairs, and the mean of the first term."""

    share: float
    error: float
    pairs: int
    mean: float

    @property
    def root_error(self) -> float:
        """The standard error of the square root of the ratio."""
        return self.error / (2 * self.share**0.5) if self.share > 0 else 0.0


class StressReducer(DistanceReducer):
    """A reducer that lowers a stress; subclasses write `_solve`, `_placement` and `_measure_fit`.

    ``positions_`` holds the coordinates of the anchors: all training points, or landmarks.
    """

    _algorithm: ClassVar[str] = "SMACOF"
    _steps: ClassVar[
        int
    ]  # of an ordinary fit: from a third of it where the data have clear axes to three times where they have none
    _parameters: ClassVar[Mapping[str, Rule]] = {
        **DistanceReducer._parameters,
        "init": AnyOf((Choice(("classical", "random")), ArrayRule())),
        "max_iter": Integer(1),
        "tol": Real(0, 1, closed=True),
    }
    _stress_state: ClassVar[tuple[str, ...]] = (
        *DistanceReducer._distance_state,
        "positions_",
        "stress_",
        "stress_history_",
        "n_iter_",
    )

    _units: ClassVar[Units] = {**DistanceReducer._units, "positions_": degree}

    init: Any
    max_iter: int
    tol: float
    positions_: Array
    stress_: float
    stress_history_: Array
    n_iter_: int
    _precision: tuple[float, float]  # of the distances and of the rows of a fit

    def _solve(self, D: Array, numbers: Array | None, record: Recorder, rng: np.random.Generator) -> Array:
        """Return the positions of points with these distances."""
        raise NotImplementedError

    def _placement(self) -> Placement:
        """Return what places rows by their distances to the anchors."""
        raise NotImplementedError

    def _measure_fit(
        self, rule: Pairwise, items: Array, wanted: Landmarks, record: Recorder, rng: np.random.Generator
    ) -> None:
        """Measure what a fit by landmarks is worth."""
        raise NotImplementedError

    # -- cost ---------------------------------------------------------------------------------------------

    def _pair_bytes(self, given: bool) -> int:
        """Return the bytes of an exact fit for each of the N² pairs; ``given``: the distances are the user's."""
        raise NotImplementedError

    def _measuring_bytes(self, n: int, m: int) -> int:
        """Return the bytes that measuring a fit by m landmarks takes."""
        return 0

    def _step_seconds(self, m: int) -> float:
        """Return the time of one step of an exact fit of m points."""
        raise NotImplementedError

    def _start_seconds(self, m: int) -> float:
        """Return the time of what comes before the first step: a start, and a search for equal objects."""
        return 1e-8 * m * m + 1e-5 * m

    def _measuring_seconds(self, n: int, m: int, columns: int) -> float:
        """Return the time of measuring a fit by m landmarks, beyond the stress of random pairs."""
        raise NotImplementedError

    def _fit_seconds(self, m: int) -> float:
        """Return the time of an exact fit of m points whose distances are there."""
        return self._start_seconds(m) + min(self._steps, self.max_iter) * self._step_seconds(m)

    def _place_seconds(self, rows: int, m: int, columns: int) -> float:
        """Return the time of placing rows among m anchors."""
        return _PLACE_SECONDS * rows * m / threads() + self._compare_seconds(float(rows) * m, columns)

    def _check_dimensions(self, shape: DataShape) -> None:
        if (n := require_length(self, shape)) < 2:
            raise DataError(
                f"{type(self).__name__} needs at least 2 rows: one point has no distances (n_samples = {n})"
            )
        super()._check_dimensions(shape)

    def _given_bytes(self) -> int:
        """Return the bytes of the matrices among the parameters, which a model file holds too."""
        given = [value for value in self.get_params(deep=False).values() if ArrayRule().accepts(value)]
        return sum(getattr(matrix, "nbytes", 0) or np.asarray(matrix).nbytes for matrix in given)

    def _plan(self, shape: DataShape) -> Plan:
        self._check_dimensions(shape)
        n, k = shape.n_rows or 1, self.n_components
        wanted = self._landmarks(n)
        m = n if wanted is None else min(n, wanted.count)
        given = self._pairwise and m == n and shape.dtype == np.float64
        held = {"embedding": 2 * n * k * shape.dtype.itemsize, "rows": self._row_bytes(shape, m)}
        fitting = {"pairs": self._pair_bytes(given) * m * m}
        if m <= DENSE_LIMIT:
            fitting["eigenvectors of the start"] = 8 * 5 * m * m
        stages = [fitting]
        columns = 1 if self._pairwise else shape.n_features
        seconds = self._fit_seconds(m) + self._compare_seconds(m * m / 2, columns)
        if m < n:
            block = 8 * 512 * m * 4
            stages.append({"blocks of distances": block * threads()})
            measured = max(fitting["pairs"], self._measuring_bytes(n, m))
            stages.append({"pairs": measured, "blocks of distances": block * (threads() + 1) // 2})
            pairs = _GROUPS * _GROUP**2
            seconds += self._place_seconds(n, m, columns) + self._measuring_seconds(n, m, columns)
            seconds += pairs * _SAMPLE_SECONDS / threads() + self._compare_seconds(pairs, columns)
        parts = held | largest(*stages)  # one after the other
        anchor = 8 if self._pairwise else shape.n_features * shape.dtype.itemsize
        return Plan(
            method=type(self).__name__,
            algorithm=self._algorithm if wanted is None else f"{m} landmarks ({wanted.strategy})",
            bytes=sum(parts.values()) + shape.copied + shape.gathered,
            seconds=seconds,
            approximate=wanted is not None,
            model_bytes=m * (anchor + 8 * k) + n * k * shape.dtype.itemsize + self._given_bytes(),
            parts=parts,
            remedy="use landmarks=1000, or fewer rows",
        )

    # -- training -----------------------------------------------------------------------------------------

    def _fit(self, rows: RowSource, record: Recorder) -> None:
        self._check_dimensions(rows.shape)
        n, rng = require_length(self, rows), seed(self.random_state)
        self._check_init(n)
        wanted = self._landmarks(n)
        with record.stage("distances"):
            items = self._objects(rows)
            rule = self._bind(items)
            numbers = None if wanted is None else self._choose(rule, items, wanted, rng)
            D = arrays.to_numpy(self._keep(items, numbers))
            self._precision = max(rule.eps, _eps(D)), 0.0 if self._pairwise else _eps(items)
            D = np.ascontiguousarray(D.T if D.flags.f_contiguous else D, dtype=np.float64)  # Dᵀ is D, without a copy
        with record.stage("stress"):
            self.positions_ = self._solve(D, numbers, record, rng)
            self.n_components_ = self.positions_.shape[1]
        if wanted is None:
            self.embedding_ = self.positions_.astype(rows.dtype)
            return
        del D
        with record.stage("place"):
            self.embedding_ = arrays.to_numpy(rows.map_blocks(self._row_map(), self.n_components_))
        with record.stage("measure"):
            record.note(algorithm=f"{len(self.positions_)} landmarks ({wanted.strategy})", approximate=True)
            self._measure_fit(rule, items, wanted, record, rng)

    def _start(self, D: Array, size: float, numbers: Array | None, record: Recorder, rng: np.random.Generator) -> Array:
        """Return the start that was asked for; ``size`` is the mean squared distance."""
        n, k = len(D), self.n_components
        if not size > 0:
            require_rank(type(self).__name__, k, 0, record)
        if isinstance(self.init, str):
            if self.init == "random":
                return random_start(size, n, k, rng)
            return classical_start(D, k, rng, *self._precision)
        X = self._in_unit(np.array(arrays.to_numpy(self.init), dtype=np.float64), degree(self))
        return X if numbers is None else X[numbers]

    def _check_init(self, n: int) -> None:
        """Refuse a start of the wrong shape."""
        if isinstance(self.init, str):
            return
        X, name = np.asarray(arrays.to_numpy(self.init)), type(self).__name__
        if X.shape != (n, self.n_components):
            raise DataError(
                f"{name}: init must have one row for each of the {n} training rows and {self.n_components} columns; "
                f"its shape is {X.shape}"
            )
        if X.dtype.kind not in "fiub" or not np.isfinite(X).all():
            raise DataError(f"{name}: init holds a value that is no finite number")

    def _begin(
        self, problem: Callable[[Array], Point], size: float, X: Array, record: Recorder, rng: np.random.Generator
    ) -> Array:
        """Return a start that a descent can leave; with fewer columns where those few are already the solution."""
        exact = max(_EXACT, 4 * self._precision[0])
        if X.shape[1] == self.n_components or problem(X).value > exact**2 * size:
            return shaken(X, self.n_components, rng)
        require_rank(type(self).__name__, self.n_components, X.shape[1], record)
        return X

    def _tell(self, result: Descent, record: Recorder) -> None:
        """Write the minimisation into the record, and warn where it was stopped on its way."""
        self.n_iter_ = len(result.history) - 1
        point = result.point
        record.note(
            algorithm=self._algorithm,
            solver="quasi-Newton on Guttman's transform",
            iterations=self.n_iter_,
            residual=float(np.sqrt(np.vdot(point.step, point.step) / np.vdot(point.X, point.X)) * point.reach / 2),
        )
        if not result.converged and result.pace > _LEFT:
            record.warn(
                f"{type(self).__name__}: after max_iter={self.max_iter} steps the stress still falls by "
                f"{result.pace:.1g} of itself with each; raise max_iter, or tol to be content with less",
                NotConvergedWarning,
            )

    # -- new rows -----------------------------------------------------------------------------------------

    def _row_map(self) -> Callable[[Array], Array]:
        work = self._measure(self._placement())
        return lambda block: arrays.like(work(block), block)

    def _between(self, rule: Pairwise, items: Array, a: Array, b: Array) -> Array:
        """Return the distances of the training objects numbered a to those numbered b."""
        found = items[a[:, None], b] if self._pairwise else rule(items[a], items[b])
        return arrays.to_numpy(found).astype(np.float64, copy=False)

    def _over_pairs(
        self,
        rule: Pairwise,
        items: Array,
        terms: Callable[[Array, Array], tuple[float, float]],
        rng: np.random.Generator,
    ) -> Sampled:
        """Return Σ(first term)/Σ(second term) over random pairs.

        ``terms`` gets δ and d of a group of pairs. Groups are drawn independently; their spread gives the error.
        """
        Y, n = self.embedding_.astype(np.float64), len(items)
        half = min(_GROUP, n // 2)
        groups = [rng.choice(n, 2 * half, replace=False) for _ in range(_GROUPS)]

        def look(group: Array) -> tuple[float, float]:
            a, b = group[:half], group[half:]
            return terms(self._between(rule, items, a, b), distances_between(Y[a], Y[b]))

        found = np.array(list(thread_pool.run(look, groups, stage="measure", total=_GROUPS)))
        value, size = (float(mean) for mean in found.mean(axis=0))
        share = error = 0.0
        if size > 0:  # else they were equal rows, every one
            share = value / size
            error = float(np.std(found[:, 0] - share * found[:, 1], ddof=1)) / _GROUPS**0.5 / size
        return Sampled(share, error, _GROUPS * half**2, value / half**2)


def _eps(values: Array) -> float:
    """Return the precision of numbers by their type; 0 of whole numbers and of objects."""
    dtype: Any = arrays.dtype_of(values) if hasattr(values, "dtype") else np.dtype(object)
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def distances_between(A: Array, B: Array) -> Array:
    """Return the Euclidean distances of few points, from differences."""
    return np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))
