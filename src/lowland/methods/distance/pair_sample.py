"""The stress of a large map, measured on random pairs of its points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core import thread_pool

Array = Any

GROUPS, ROWS_A_SIDE = 256, 64  # each group compares so many rows with as many others: 1,048,576 pairs in all


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


def ratio_over_pairs(
    Y: Array,
    between: Callable[[Array, Array], Array],
    terms: Callable[[Array, Array], tuple[float, float]],
    rng: np.random.Generator,
) -> Sampled:
    """Return Σ(first term)/Σ(second term) over random pairs of the points Y.

    ``between`` returns the distances δ of the objects with these numbers to those with others; ``terms`` gets δ and
    the distances d on the map, of a group of pairs. Groups are drawn independently; their spread gives the error.
    """
    Y, n = Y.astype(np.float64), len(Y)
    half = min(ROWS_A_SIDE, n // 2)
    groups = [rng.choice(n, 2 * half, replace=False) for _ in range(GROUPS)]

    def sums(group: Array) -> tuple[float, float]:
        a, b = group[:half], group[half:]
        return terms(between(a, b), distances_between(Y[a], Y[b]))

    measured = np.array(list(thread_pool.run(sums, groups, stage="measure", total=GROUPS)))
    value, size = (float(mean) for mean in measured.mean(axis=0))
    share = error = 0.0
    if size > 0:  # else they were equal rows, every one
        share = value / size
        error = float(np.std(measured[:, 0] - share * measured[:, 1], ddof=1)) / GROUPS**0.5 / size
    return Sampled(share, error, GROUPS * half**2, value / half**2)


def distances_between(A: Array, B: Array) -> Array:
    """Return the Euclidean distances of few points, from differences."""
    return np.sqrt(((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))
