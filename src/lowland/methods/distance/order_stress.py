"""Kruskal's stress-1: the stress of a map that only has to keep the order of the dissimilarities.

S = √(Σ(d − d̂)²/Σd²), where d̂ is the nondecreasing function of δ nearest to d. With primary ties equal δ may have
different d̂ (and are put in the order of d first); with secondary ties they share one (Kruskal 1964a, b).

d̂ is a projection, so Σd̂² = Σdd̂ and α = Σdd̂/Σd² = 1 − S². For d̂ held fixed, Guttman's transform Γ of X lowers S at
the best scale, and so does 2Γ/α − X; the next d̂ lowers it again. The gradient of S² is (2/Σd²) V(αX − Γ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from ...core import thread_pool
from .stress import StressPoint

Array = Any

TIE = 1e-12  # of a value itself: what differs by less, which rounding can do, is a tie
PAIRS_PER_TASK = 1 << 17


def levels(ranked: Array) -> Array:
    """Return for each sorted value the number of its level: values within `TIE` of the first of them are one.

    The limit is a share of the value itself and not of the largest, so that one far point does not tie all others.

    >>> levels(np.array([0.0, 0.1 + 0.2, 0.3, 1.0, 1e15])).tolist()
    [0, 1, 1, 2, 3]
    """
    from .order_stress_loops import number_levels

    out = np.empty(len(ranked), dtype=np.int64)
    number_levels(np.ascontiguousarray(ranked, dtype=np.float64), TIE, out)
    return out


@dataclass(frozen=True, eq=False)
class Curve:
    """The monotone function δ ↦ d̂, frozen: linear between its knots, in proportion to δ outside of them."""

    x: Array
    y: Array

    def __call__(self, delta: Array) -> Array:
        """Return d̂ of any distances; 0 stays 0."""
        first, last = self.x[0], self.x[-1]
        out: Array = np.interp(delta, self.x, self.y)
        out = np.where(delta < first, self.y[0] * delta / first, out) if first > 0 else out
        return np.where(delta > last, self.y[-1] * delta / last, out)


class OrderStress:
    """S² of one matrix of distances, as a function of the configuration."""

    def __init__(self, D: Array, ties: str) -> None:
        self.n = len(D)
        i, j = np.triu_indices(self.n, 1)
        delta = D[i, j]
        order = np.argsort(delta, kind="stable")
        self.delta = delta[order]
        self.first, self.second = i[order].astype(np.int32), j[order].astype(np.int32)
        self.size = float(len(order))
        self.level = levels(self.delta)
        self._counts = np.bincount(self.level).astype(np.float64)
        self._secondary = ties == "secondary"
        self._tied = np.flatnonzero(self._counts[self.level] > 1)  # pairs of equal δ: they alone need the order of d
        self._stretches = np.concatenate([[0], np.cumsum(self._counts[self._counts > 1])]).astype(np.int64)
        self._place = self._tied.copy()

    def __call__(self, X: Array) -> StressPoint:
        """Return the point at which Σd² is the number of pairs."""
        from .order_stress_loops import pair_pulls

        X, d = self._scaled(X)
        target = self.regress(d)
        alpha = float(d @ target) / self.size

        def pulls(start: int, stop: int) -> Array:
            out = np.zeros_like(X)
            pair_pulls(X, self.first, self.second, d, target, out, start, stop)
            return out

        B = sum(self._over_pieces(pulls))
        gradient = (2.0 / self.size) * (alpha * self.n * X - B)
        value = float(((d - target) ** 2).sum()) / self.size
        return StressPoint(X, value, gradient, gradient / self.n, self.size / alpha)

    def _scaled(self, X: Array) -> tuple[Array, Array]:
        from .order_stress_loops import pair_distances

        X = np.ascontiguousarray(X - X.mean(axis=0))
        d = np.empty(len(self.first))
        for _ in self._over_pieces(lambda start, stop: pair_distances(X, self.first, self.second, d, start, stop)):
            pass
        factor = float(np.sqrt(self.size / (d @ d)))
        d *= factor
        return X * factor, d

    def _over_pieces(self, work: Callable[[int, int], Array]) -> Iterator[Array]:
        """Run work(start, stop) over the pairs; its results come in order, so that sums have the same bits."""
        count = len(self.first)
        return thread_pool.run(
            lambda start: work(start, min(start + PAIRS_PER_TASK, count)), range(0, count, PAIRS_PER_TASK)
        )

    def regress(self, d: Array) -> Array:
        """Return d̂ of the distances, in the order of the pairs."""
        if self._secondary:
            means = np.bincount(self.level, weights=d) / self._counts
            return isotonic_regression(means, weights=self._counts).x[self.level]
        if not len(self._tied):
            return isotonic_regression(d).x
        from .order_stress_loops import sort_ties

        place, y = self._place.copy(), d.copy()
        sort_ties(d, place, self._stretches)  # only the stretches of equal δ: the others are in their order
        y[self._tied] = d[place]
        fitted = isotonic_regression(y).x
        fitted[place] = fitted[self._tied]
        self._place = place  # the next distances are near these
        return fitted

    def curve(self, d: Array, scale: float) -> Curve:
        """Freeze δ ↦ d̂ at a scale; tied δ get the mean of their d̂. Knots are the ends of each level."""
        means = np.bincount(self.level, weights=self.regress(d)) / self._counts
        x = np.bincount(self.level, weights=self.delta) / self._counts
        inner = np.flatnonzero((means[1:-1] != means[:-2]) | (means[1:-1] != means[2:])) + 1
        knots = np.unique(np.concatenate([[0], inner, [len(x) - 1]]))
        return Curve(x[knots], scale * means[knots])

    def distances(self, X: Array) -> Array:
        """Return the distances of the pairs, Σd² being their number."""
        return self._scaled(X)[1]
