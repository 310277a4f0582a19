"""The cost of lowering a stress: memory and seconds of each part, and the plan of a whole fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...contract.parameters import ArrayRule
from ...core.cost import DataShape, Plan, largest
from ...core.settings import threads
from ...pairs.sparse import tile_bytes
from ...spectral.solve import DENSE_LIMIT
from ..shared.distance_based import REPLICA_ROWS, DistanceReducer
from ..shared.landmarks import memory_remedy
from .pair_sample import GROUPS, ROWS_A_SIDE
from .stress_fit import check_shape

PLACE_SECONDS = 8e-8  # one row among one anchor, from three starts, on one core
SAMPLE_SECONDS = 8e-8  # one of the pairs that measure the stress

# Steps of an ordinary fit: from a third of it where the data have clear axes to three times where they have none.
METRIC_STEPS, NONMETRIC_STEPS = 80, 100

# A metric fit by landmarks is measured by an exact fit of some of the rows, started from the map.
MAX_REFIT_ROWS, MAX_WEIGHTED_REFIT_ROWS = 5000, 3000
MIN_REFIT_ROWS, REFIT_ROWS_PER_LANDMARK = 1000, 4
REFIT_STEPS = 40  # of an ordinary one: its start is near

Compare = Callable[[float, float], float]  # the seconds of comparing so many pairs of rows of so many columns


class StressCost(Protocol):
    """What one method's stress costs, for a fit of n rows through m of them, or of all (m = n)."""

    @property
    def pair_bytes(self) -> int:
        """The bytes of an exact fit for each of the m² pairs, besides their distances."""

    @property
    def start_bytes(self) -> int:
        """Those of them that are held while the start is computed."""

    def fit_seconds(self, m: int) -> float:
        """Return the time of an exact fit of m points whose distances are there."""

    def measuring_bytes(self, n: int, m: int) -> int:
        """Return the bytes that measuring a fit by m landmarks takes."""

    def measuring_seconds(self, n: int, m: int, columns: float, compare: Compare) -> float:
        """Return the time of measuring a fit by m landmarks, beyond the stress of random pairs."""


@dataclass(frozen=True)
class MetricCost:
    """The cost of Σw(d − δ)²; ``weighted`` where w is not 1, ``given`` where the user gave weights."""

    n_components: int
    max_iter: int
    weighted: bool
    given: bool

    @property
    def pair_bytes(self) -> int:  # noqa: D102
        return (16 if self.weighted else 0) + (32 if self.given else 0)

    @property
    def start_bytes(self) -> int:  # noqa: D102
        return self.pair_bytes  # the weights, on which the start may depend

    def _step_seconds(self, m: int) -> float:
        pair = (1.2e-9 + 0.4e-9 * self.n_components) * (2.2 if self.weighted else 1.0) / threads()
        return pair * m * m / 2 + (m * m * self.n_components * 1e-9 if self.weighted else 0.0)

    def _start_seconds(self, m: int) -> float:
        factor = m**3 / 3 * 1e-10 if self.weighted else 0.0  # Cholesky's, on one thread
        return _start_seconds(m) + factor

    def fit_seconds(self, m: int) -> float:  # noqa: D102
        return self._start_seconds(m) + min(METRIC_STEPS, self.max_iter) * self._step_seconds(m)

    def refit_rows(self, n: int, m: int) -> int:
        """Return how many rows are fitted exactly to see what m landmarks cost."""
        most = MAX_WEIGHTED_REFIT_ROWS if self.weighted else MAX_REFIT_ROWS
        return min(n, most, max(MIN_REFIT_ROWS, REFIT_ROWS_PER_LANDMARK * m))

    def measuring_bytes(self, n: int, m: int) -> int:  # noqa: D102
        return (32 if self.weighted else 8) * self.refit_rows(n, m) ** 2

    def measuring_seconds(self, n: int, m: int, columns: float, compare: Compare) -> float:  # noqa: D102
        rows = self.refit_rows(n, m)
        steps = min(REFIT_STEPS, self.max_iter) * self._step_seconds(rows)
        return self._start_seconds(rows) + steps + compare(rows * rows / 2, columns)


@dataclass(frozen=True)
class NonmetricCost:
    """The cost of Kruskal's stress-1; a fit by landmarks is measured by a second fit, by others."""

    n_components: int
    max_iter: int
    pair_bytes, start_bytes = 40, 0  # pairs are sorted after the start

    def fit_seconds(self, m: int) -> float:  # noqa: D102
        sorting = 2e-7 * m * m / 2
        regression, others = 2.5e-8, 1e-8 + 2e-9 * self.n_components  # of a pair; the first is on one thread
        step = (regression + others / threads()) * m * m / 2
        return _start_seconds(m) + sorting + min(NONMETRIC_STEPS, self.max_iter) * step

    def measuring_bytes(self, n: int, m: int) -> int:  # noqa: D102
        return 0

    def measuring_seconds(self, n: int, m: int, columns: float, compare: Compare) -> float:  # noqa: D102
        again = self.fit_seconds(m) + compare(m * m / 2, columns)
        return again + _place_seconds(min(n, REPLICA_ROWS), m, columns, compare)


def _start_seconds(m: int) -> float:
    """Return the time of what comes before the first step: a start, and a search for equal objects."""
    return 1e-8 * m * m + 1e-5 * m


def _place_seconds(rows: int, m: int, columns: float, compare: Compare) -> float:
    """Return the time of placing rows among m anchors."""
    return PLACE_SECONDS * rows * m / threads() + compare(float(rows) * m, columns)


def plan_stress(model: DistanceReducer, shape: DataShape, algorithm: str, cost: StressCost) -> Plan:
    """Say what a fit of data of this shape costs; ``algorithm`` is the name of an exact one."""
    n, k = check_shape(model, shape), model.n_components
    landmarks, compare = model._landmarks(n), model._compare_seconds
    m = n if landmarks is None else min(n, landmarks.count)
    given = model._pairwise and m == n and shape.dtype == np.float64  # the distances are the user's
    held = {"embedding": 2 * n * k * shape.dtype.itemsize, "rows": model._row_bytes(shape, m)}
    own = 0 if given else 8
    fitting = {"pairs": (own + cost.pair_bytes) * m * m}
    stages = [{"pairs": own * m * m, "rows compared": 0 if model._pairwise else tile_bytes(shape, m)}, fitting]
    if m <= DENSE_LIMIT:
        stages.append({"pairs": (own + cost.start_bytes) * m * m, "eigenvectors of the start": 8 * 5 * m * m})
    columns = model._columns(shape)
    seconds = cost.fit_seconds(m) + compare(m * m / 2, columns)
    if m < n:
        block = 8 * 512 * m * 4
        stages.append({"blocks of distances": block * threads()})
        measured = max(fitting["pairs"], cost.measuring_bytes(n, m))
        stages.append({"pairs": measured, "blocks of distances": block * (threads() + 1) // 2})
        pairs = GROUPS * ROWS_A_SIDE**2
        seconds += _place_seconds(n, m, columns, compare) + cost.measuring_seconds(n, m, columns, compare)
        seconds += pairs * SAMPLE_SECONDS / threads() + compare(pairs, columns)
    parts = held | largest(*stages)  # one after the other
    return Plan.of(
        type(model).__name__,
        algorithm if landmarks is None else f"{m} landmarks ({landmarks.strategy})",
        shape,
        parts,
        seconds=seconds,
        gathers=True,
        approximate=landmarks is not None,
        model_bytes=model._anchor_bytes(shape, m) + m * 8 * k + n * k * shape.dtype.itemsize + _matrix_bytes(model),
        remedy=memory_remedy(n, landmarks),
    )


def _matrix_bytes(model: DistanceReducer) -> int:
    """Return the bytes of the matrices among the parameters, which a model file holds too."""
    matrices = [value for value in model.get_params(deep=False).values() if ArrayRule().accepts(value)]
    return sum(getattr(matrix, "nbytes", 0) or np.asarray(matrix).nbytes for matrix in matrices)
