"""Which columns make a new row unlike the training rows: how much each contributes to a measure above its limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..methods.steps.frames import to_frame
from ..methods.steps.origins import Origins
from .robust_pca import RobustAxes

Array = Any
Factors = Callable[[Array], tuple[Array, Array]]  # of rows: two arrays whose products add up to a measure

LISTED = 3  # most columns listed for a row
_ENOUGH = 0.8  # share of a measure after which no further columns are listed
_WIDTH = 1 + 3 * LISTED  # of an explanation: measure; column, share and value of each listed column
_BEYOND = 0.5  # between 0, of a number within its limit, and 1: products through axes are rounded
_ENTRIES_AT_ONCE = 1 << 21  # entries of rows explained at a time
_SQUARED = ("t2", "spe", "cell")  # measures that are squares already
_LAST = "cell"  # explains only rows that exceed no other limit: it names columns that a sum over columns hides
_BY_COLUMN = ("euclidean", "sqeuclidean", "seuclidean", "cityblock", "cosine")


class UnusualColumn(NamedTuple):
    """A column that makes a row novel: its name, the row's value, the measure, and the column's share of it."""

    column: str
    value: Any
    measure: str
    share: float

    def __str__(self) -> str:
        """Return the name and the value, such as ``age = 400``."""
        if self.value is None:
            return self.column
        text = f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)
        return f"{self.column} = {text}"


def factors_along(axes: RobustAxes) -> Factors:
    """Return the function to z and VΛ⁻¹Vᵀz: their products add up to T²."""
    V = axes.directions / np.where(axes.variances > 0, axes.variances, np.inf)

    def factors(block: Array) -> tuple[Array, Array]:
        Z = standard(block, axes)
        return Z, (Z @ V) @ axes.directions.T

    return factors


def factors_off(axes: RobustAxes) -> Factors:
    """Return the function to the residuals z − VVᵀz, twice: their squares add up to SPE."""

    def factors(block: Array) -> tuple[Array, Array]:
        Z = standard(block, axes)
        left = Z - (Z @ axes.directions) @ axes.directions.T
        return left, left

    return factors


def standard(block: Array, axes: RobustAxes) -> Array:
    """Return rows of a block, centred and scaled."""
    block = block.toarray() if sp.issparse(block) else arrays.to_numpy(block)
    Z = block - axes.mean
    return Z if axes.scale is None else Z / axes.scale


def differences_between(metric: Any, state: Mapping[str, Array] | None) -> Callable[[Array, Array], Array] | None:
    """Return the function of rows and their nearest rows whose squares add up to the distance, or a power of it.

    None for metrics that are no sums over columns.
    """
    if metric not in _BY_COLUMN:
        return None
    if metric == "cityblock":
        return lambda A, B: np.sqrt(np.abs(A - B))
    if metric == "cosine":
        return lambda A, B: _unit(A) - _unit(B)
    unit = np.sqrt(state["V"]) if metric == "seuclidean" and state else 1.0
    return lambda A, B: (A - B) / unit


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


@dataclass(frozen=True)
class Explainer:
    """Explains rows above a limit by the columns with the largest shares of the measure.

    ``limits`` are those of all measures, in their order; ``factors`` has a function for the measures that are sums
    over columns. If several measures exceed their limits, the one with the largest ratio to it is explained. Where
    single numbers exceed their own limits (``beyond``), only their columns are listed: a sum over columns also blames
    columns that are correlated with these.
    """

    limits: Mapping[str, float]
    factors: Mapping[str, Factors]
    origins: Origins
    beyond: Factors | None = None

    width = _WIDTH

    def explain(self, block: Array, measures: Array) -> Array:
        """Return for each row the number of the measure, and column, share and value of each listed column.

        −1 stands for no measure and no column.
        """
        out = np.full((len(measures), _WIDTH), -1.0)
        limits = np.array(list(self.limits.values()))
        power = np.array([1 if name in _SQUARED else 2 for name in self.limits])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.where(measures > limits, (measures / limits) ** power, 0.0)
        if _LAST in self.limits:
            place = list(self.limits).index(_LAST)
            others = np.delete(ratios, place, axis=1).max(axis=1, initial=0.0)
            ratios[others > 0, place] = 0.0
        worst = np.where(ratios.max(axis=1, initial=0.0) > 0, ratios.argmax(axis=1), -1)
        step = max(1, _ENTRIES_AT_ONCE // max(1, block.shape[1]))
        for number, name in enumerate(self.limits):
            rows = np.flatnonzero(worst == number)
            out[rows, 0] = number
            if name not in self.factors:
                continue
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                out[part, 1:] = self._listed(self.factors[name], _dense(block, part))
        return out

    def _listed(self, factors: Factors, rows: Array) -> Array:
        parts = self.origins.products(*factors(rows))
        totals = parts.sum(axis=1, keepdims=True)
        shares = np.divide(parts, totals, out=np.zeros_like(parts), where=(totals > 0) & np.isfinite(totals))
        if self.beyond is not None:
            alone = np.where(self.origins.products(*self.beyond(rows)) > _BEYOND, shares, 0.0)
            shares = np.where((alone > 0).any(axis=1, keepdims=True), alone, shares)
        order = np.argsort(-shares, axis=1, kind="stable")[:, :LISTED]
        found = np.full((len(rows), LISTED, 3), -1.0)
        there = np.arange(len(rows))[:, None]
        best = shares[there, order]
        shown = (best > 0) & (np.cumsum(best, axis=1) - best < _ENOUGH)
        width = order.shape[1]
        found[:, :width, 0] = np.where(shown, order, -1)
        found[:, :width, 1] = best
        if self.origins.unchanged:
            found[:, :width, 2] = rows[there, order]
        return found.reshape(len(rows), -1)

    def told(self, explained: Array, table: Any) -> tuple[tuple[UnusualColumn, ...], ...]:
        """Return the explanations in words; ``table`` has the values where steps changed them, else they are None."""
        measures, nothing = list(self.limits), ()
        cells = None if self.origins.unchanged else self._cells(table)
        out: list[tuple[UnusualColumn, ...]] = [nothing] * len(explained)
        for i in np.flatnonzero(explained[:, 0] >= 0).tolist():
            rest = explained[i, 1:].reshape(-1, 3).tolist()
            name = measures[int(explained[i, 0])]
            out[i] = tuple(
                UnusualColumn(
                    self.origins.names[int(j)],
                    value if self.origins.unchanged else None if cells is None else cells(i, int(j)),
                    name,
                    share,
                )
                for j, share, value in rest
                if j >= 0
            )
        return tuple(out)

    def _cells(self, table: Any) -> Callable[[int, int], Any] | None:
        """Return the function that looks a cell up in the table, or None if there is no table to look in."""
        if table is None or not self.origins.from_table:
            return None
        frame, named = to_frame(table, "novelty")
        names = self.origins.names
        if not named and frame.width == len(names):
            return lambda i, j: frame[i, j]
        return lambda i, j: frame[i, names[j]] if names[j] in frame.columns else None


def frequent(unusual: Sequence[Sequence[UnusualColumn]]) -> dict[str, int]:
    """Return the columns, and for how many rows each is listed, most frequent first."""
    counts: dict[str, int] = {}
    for row in unusual:
        for odd in row:
            counts[odd.column] = counts.get(odd.column, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _dense(block: Array, rows: Array) -> Array:
    part = sp.csr_array(block)[rows].toarray() if sp.issparse(block) else arrays.to_numpy(block)[rows]
    return np.asarray(part, dtype=np.float64)
