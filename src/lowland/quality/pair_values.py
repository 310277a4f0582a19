"""Measures on pairs as functions of sums over pairs, or of the order of their distances.

Sums use e = d − bδ with b near the best slope, so that small errors are not lost in cancellation. NaN: the measure is
undefined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from ..methods.distance.order_stress import TIE, levels
from .pairs import (
    COUNT,
    SUM_E,
    SUM_E_APART,
    SUM_EE,
    SUM_EE_BY_DELTA,
    SUM_GAP,
    SUM_X,
    SUM_XE,
    SUM_XX,
    OrderMeasure,
    Pilot,
)

Array = Any

_CANCELLATION = 1e-14  # relative to the terms of a sum: smaller results are rounding


# -- of sums ----------------------------------------------------------------------------------------------


def _spread(s: Array, pilot: Pilot) -> tuple[float, float, float, float]:
    """Return Σδ², Σδe, Σe² and Σd² of pairs."""
    c, b = pilot.center, pilot.slope
    delta2 = s[SUM_XX] + 2 * c * s[SUM_X] + c * c * s[COUNT]
    delta_e = s[SUM_XE] + c * s[SUM_E]
    return delta2, delta_e, s[SUM_EE], s[SUM_EE] + 2 * b * delta_e + b * b * delta2


def scaled_stress(s: Array, pilot: Pilot) -> float:
    """Return stress-1 at the best scale."""
    delta2, delta_e, ee, d2 = _spread(s, pilot)
    if not (delta2 > 0 and d2 > 0):
        return np.nan
    return float(np.sqrt(np.clip((ee - delta_e * (delta_e / delta2)) / d2, 0.0, 1.0)))


def plain_stress(s: Array, pilot: Pilot) -> float:
    """Return stress-1 without scaling the map."""
    delta2, delta_e, ee, d2 = _spread(s, pilot)
    b = pilot.slope - 1.0
    return float(np.sqrt(np.maximum(0.0, ee + 2 * b * delta_e + b * b * delta2) / d2)) if d2 > 0 else np.nan


def _sammon_at(s: Array, pilot: Pilot, c: float | None) -> float:
    """Return Sammon's stress at scale c (None: the best).

    With f = d/b − δ and t = 1 − cb: Σ(δ − cd)²/δ = t²Σδ − 2t(1 − t)Σf + (1 − t)²Σf²/δ.
    """
    A = s[SUM_X] + pilot.center * s[COUNT]
    if not A > 0:
        return np.nan
    B, C = s[SUM_E_APART] / pilot.slope, s[SUM_EE_BY_DELTA] / pilot.slope / pilot.slope
    size = A + 2 * B + C  # Σ(d/b)²/δ
    if c is None and size <= _CANCELLATION * (A + 2 * abs(B) + C):
        return 1.0  # all d are 0, so no scale reduces the error
    t = (B + C) / size if c is None else 1.0 - c * pilot.slope
    return float(np.maximum(0.0, t * t * A - 2 * t * (1 - t) * B + (1 - t) ** 2 * C) / A)


def scaled_sammon(s: Array, pilot: Pilot) -> float:
    """Return Sammon's stress at the best scale."""
    return _sammon_at(s, pilot, None)


def plain_sammon(s: Array, pilot: Pilot) -> float:
    """Return Sammon's stress without scaling the map."""
    return _sammon_at(s, pilot, 1.0)


def _distinct(s: Array, pilot: Pilot) -> tuple[float, float, float, float] | None:
    """Return the centred Σδ², Σδe, Σe² and Σd² of pairs; None if the distances are equal up to rounding."""
    n, b = s[COUNT], pilot.slope
    x, e = s[SUM_X] / n, s[SUM_E] / n
    xx, xe, ee = s[SUM_XX] - x * s[SUM_X], s[SUM_XE] - x * s[SUM_E], s[SUM_EE] - e * s[SUM_E]
    dd = ee + 2 * b * xe + b * b * xx
    delta2, _, _, d2 = _spread(s, pilot)
    return (xx, xe, ee, dd) if xx > 1e-26 * delta2 and dd > 1e-26 * d2 else None


def pearson(s: Array, pilot: Pilot) -> float:
    """Return the correlation."""
    found = _distinct(s, pilot)
    if found is None:
        return np.nan
    xx, xe, _, dd = found
    return float(np.clip((xe + pilot.slope * xx) / (np.sqrt(xx) * np.sqrt(dd)), -1.0, 1.0))


def residual(s: Array, pilot: Pilot) -> float:
    """Return the share of variance that a linear fit does not explain."""
    found = _distinct(s, pilot)
    if found is None:
        return np.nan
    xx, xe, ee, dd = found
    return float(np.clip((ee - xe * (xe / xx)) / dd, 0.0, 1.0))


def loss(s: Array, pilot: Pilot) -> float:
    """Return the mean of δ − d."""
    return float((1 - pilot.slope) * (s[SUM_X] / s[COUNT] + pilot.center) - s[SUM_E] / s[COUNT])


def gap(s: Array, pilot: Pilot) -> float:
    """Return the mean of abs(δ − d)."""
    return float(s[SUM_GAP] / s[COUNT])


# -- of an order ------------------------------------------------------------------------------------------


def monotone_fit(delta: Array, d: Array) -> tuple[Array, Array]:
    """Return the order of δ (equal δ in the order of d) and, in it, the nondecreasing values nearest to d."""
    order = _primary_order(delta, d)
    return order, isotonic_regression(d[order]).x


def _primary_order(delta: Array, d: Array) -> Array:
    order = np.argsort(delta)  # ties are then sorted by d
    level = levels(delta[order])
    after = np.concatenate([level[1:] == level[:-1], [False]])
    after[1:] |= after[:-1]
    if after.any():
        tied = np.flatnonzero(after)
        order[tied] = order[tied][np.lexsort((d[order[tied]], level[tied]))]
    return order


def stress_of_fit(d: Array, order: Array, fitted: Array) -> float:
    """Return stress-1 of a monotone fit; NaN if all points of the map are equal."""
    size = float(d @ d)
    rest = d[order]
    rest -= fitted
    return float(np.sqrt(rest @ rest / size)) if size > 0 else np.nan


def monotone_stress(delta: Array, d: Array) -> float:
    """Return stress-1 of the best monotone fit."""
    return stress_of_fit(d, *monotone_fit(delta, d)) if delta.max() > 0 else np.nan


def _ranks(values: Array) -> Array:
    """Return centred ranks; ties get the mean of their ranks."""
    from ..methods.distance.order_stress_loops import mean_ranks

    order = np.argsort(values)
    out = np.empty(len(values))
    mean_ranks(values[order], order, TIE, out)
    return out


def spearman(delta: Array, d: Array) -> float:
    """Return the correlation of ranks."""
    a, b = _ranks(delta), _ranks(d)
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / size, -1.0, 1.0)) if size > 0 else np.nan


MONOTONE = OrderMeasure(monotone_stress, (0.0, 1.0), fitted=True)
SPEARMAN = OrderMeasure(spearman, (-1.0, 1.0))
