"""Limits of T², SPE and single cells from the summary of its training rows that a method keeps.

The limits for normal rows hold unless the training rows exceed them more often than chance would have it. Then the
limit is the quantile of the training rows, read off where three of them or more are beyond it, else extrapolated by a
generalized Pareto distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ..contract.reducer import Reducer
from ..core import arrays
from ..methods.shared import row_tails
from .limits import Law, deleted, f_beyond
from .residuals import as_new
from .robust_pca import RobustAxes
from .unusual_columns import standard

Array = Any

_CHANCE = 0.05  # probability for normal rows below which the limit is that of the training rows
_CHECKED = (0.05, 0.01, 0.001)  # shares at which they are compared, and that of the limit
_READ_OFF = 3  # rows beyond a quantile that is read off


@dataclass(frozen=True)
class Quantiles:
    """Values of n training rows at the ranks that a summary keeps, descending."""

    values: Array
    n: int

    def count_beyond(self, limit: float) -> int:
        """Return how many of the rows exceed a limit."""
        places = np.concatenate([[0], row_tails.ranks(self.n)])
        return int(np.interp(-limit, -np.concatenate([[np.inf], self.values]), places))

    def at(self, share: float) -> float:
        """Return the value that this share of the rows exceeds, read off."""
        places, rank = row_tails.ranks(self.n), share * (self.n + 1)
        return float(np.interp(np.log(rank), np.log(places), self.values))

    def beyond(self, share: float) -> float:
        """Return the value that this share of further rows exceeds."""
        places = row_tails.ranks(self.n)
        if share * (self.n + 1) >= _READ_OFF:
            return self.at(share)
        top = np.arange(1, row_tails.tail_rows(self.n) + 2)
        values = np.interp(np.log(top), np.log(places), self.values)
        return float(row_tails.tail_beyond(values[:, None], self.n, share)[0])

    def limit(self, law: Law, share: float) -> float:
        """Return the limit for normal rows, or a higher one if the rows exceed it more often than by chance."""
        normal = law.beyond(share)
        for checked in (*_CHECKED, share):
            count = self.count_beyond(law.beyond(checked))
            if count > 0 and special.bdtrc(count - 1, self.n, checked) < _CHANCE:
                return max(normal, self.beyond(share))
        return normal


def tails_of(model: Reducer) -> Mapping[str, Any] | None:
    """Return the summary of its training rows that a method keeps, or None."""
    found: Mapping[str, Any] | None = getattr(model, "row_tails_", None)
    return found


def t2_limit(tails: Mapping[str, Any] | None, axes: RobustAxes, law: Law, share: float) -> float:
    """Return the limit of T²; training rows count as if they were outside the fit."""
    if tails is None:
        return law.beyond(share)
    return Quantiles(deleted(np.asarray(tails["t2"]), axes.n), tails["rows"]).limit(law, share)


def spe_limit(tails: Mapping[str, Any] | None, axes: RobustAxes, law: Law, share: float) -> float:
    """Return the limit of SPE; training rows count as if they were outside the fit."""
    if tails is None or axes.flat:
        return law.beyond(share)
    own = np.asarray(tails["spe"]) * axes.total
    return Quantiles(as_new(own, axes.rest(), axes.n, law), tails["rows"]).limit(law, share)


@dataclass(frozen=True)
class Cells:
    """Numbers and residuals of single columns of numbers, relative to their limits.

    ``turned``: the rows are coordinates along these axes of the columns (k, C); None: they are the columns.
    """

    axes: RobustAxes
    at: Array | None
    limits: Array  # (2, columns of numbers)
    turned: Array | None = None

    @classmethod
    def of(cls, model: Any, axes: RobustAxes, share: float, turned: Array | None = None) -> Cells | None:
        """Return the cells of a method with a summary of its training rows; None without, or without numbers."""
        tails = tails_of(model)
        if tails is None:
            return None
        known = np.asarray(tails["cells"])
        count = int(np.isfinite(known[0]).sum())
        if count == 0:
            return None
        each = share / count
        normal = f_beyond(each, 1, tails["rows"] - 1) * known[-1]  # of normal numbers with this mean square
        limits = np.maximum(row_tails.beyond(known[:-1], tails["rows"], each), normal) * axes.total
        return cls(axes, row_tails.number_columns(model), limits, turned)

    def ratios(self, block: Array) -> Array:
        """Return the two ratios of each cell to its limits, of the number and of its residual, (rows, 2, columns)."""
        axes = self.axes
        rows = standard(block, axes) if self.turned is None else arrays.to_numpy(block) @ self.turned
        squares = row_tails.scores(rows, axes.directions, axes.variances, axes.total, self.at)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(squares > 0, squares / self.limits, 0.0)
        return np.asarray(found)

    def largest(self, block: Array) -> Array:
        """Return the largest ratio of each row, (rows, 1)."""
        return self.ratios(block).max(axis=(1, 2), initial=0.0)[:, None]

    def factors(self, block: Array) -> tuple[Array, Array]:
        """Return the roots of the larger ratios above 1, in the place of their columns, twice."""
        return self._placed(self.ratios(block).max(axis=1))

    def of_numbers(self, block: Array) -> tuple[Array, Array]:
        """Return the same of the numbers alone: an extreme number changes the residuals of other columns, too."""
        return self._placed(self.ratios(block)[:, 0])

    def _placed(self, ratios: Array) -> tuple[Array, Array]:
        roots = np.sqrt(np.where(ratios > 1, ratios, 0.0))
        width = len(self.axes.mean)
        out = roots if self.at is None else np.zeros((len(roots), width))
        if self.at is not None:
            out[:, self.at] = roots
        out = out if self.turned is None else out @ self.turned.T
        return out, out
