"""Measures on pairs: how well distances in the map (d) repeat those in the data (δ).

All are functions of a few sums over pairs, except where an order is asked for. Sums are taken of e = d − bδ with b near
the best slope, so that a map that is right to the last digit is told from one that is right to eight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..isotonic import isotonic
from ..measure import Measure
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
    PairTable,
    Pilot,
    defined,
    levels,
)
from .spaces import Metric

Array = Any

_EQUAL = (
    "{owner}: all distances in the data or all in the map are equal, so there is nothing to compare; leave this "
    "measure out"
)


def kruskal_stress(
    X: Any,
    Y: Any,
    *,
    monotone: bool = False,
    scale: bool = True,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: Any = None,
) -> Measure:
    """Kruskal's stress-1: how far map distances are from those that the data ask for.

    S = √(Σ(d − d̂)²/Σd²). d̂ = bδ with the b that fits best, or δ itself (``scale=False``), or the nondecreasing
    function of δ that fits best (``monotone=True``). 0 is perfect; Kruskal called 0.05 good and 0.2 poor.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` their distances.
    Y : array
        The map, one row for each of X's.
    monotone : bool
        Ask for the order of distances only, as non-metric scaling does; equal δ may have different d̂ (primary ties).
    scale : bool
        Whether the unit of the map is free; without effect on a monotone fit, which has no unit.
    metric : str or callable
        How the data are compared.
    pairs : "auto", int or None
        How many pairs to draw, None for all; "auto": all up to 10,000 points (5,000 if monotone), then 1,000,000.
    groups : sequence, optional
        A label for each point; ``.groups`` of the result then holds the stress of pairs that begin in each group.
    random_state : int, optional
        Seed of the draw; None is 0.

    References
    ----------
    Kruskal, J. B. (1964). Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis.
    Psychometrika 29, 1–27.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> round(kruskal_stress(X, 10 * X), 12), round(kruskal_stress(X, X[:, :1]), 12)
    (0.0, 0.6)
    """
    owner = "kruskal_stress"
    if monotone and not scale:
        raise ValueError("kruskal_stress: a monotone fit has no unit; leave scale=False out, or monotone=True")
    table = PairTable.of(X, Y, metric, pairs, random_state, groups, owner)
    return stress_of(table, monotone=monotone, scale=scale)


def stress_of(table: PairTable, *, monotone: bool = False, scale: bool = True) -> Measure:
    """Return stress-1 of a table of pairs."""
    undefined = _EQUAL.format(owner="kruskal_stress")
    if monotone:
        return defined(table.of_order(MONOTONE)[0], undefined)
    return table.of_sums(_scaled_stress if scale else _plain_stress, (0.0, 1.0 if scale else np.inf), undefined)


def sammon_stress(
    X: Any,
    Y: Any,
    *,
    scale: bool = True,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: Any = None,
) -> Measure:
    """Sammon's stress, in which errors of short distances weigh more.

    E = Σ(δ − cd)²/δ / Σδ with the c that fits best, or c = 1 (``scale=False``). Pairs of equal rows (δ = 0), which
    have no weight, are left out.

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.
    scale : bool
        Whether the unit of the map is free.

    References
    ----------
    Sammon, J. W. (1969). A nonlinear mapping for data structure analysis. IEEE Trans. Comput. C-18, 401–409.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> float(sammon_stress(X, X, scale=False)), round(sammon_stress(X, X[:, :1], scale=False), 4)
    (0.0, 0.4)
    """
    return sammon_of(PairTable.of(X, Y, metric, pairs, random_state, groups, "sammon_stress"), scale=scale)


def sammon_of(table: PairTable, *, scale: bool = True) -> Measure:
    """Return Sammon's stress of a table of pairs."""
    undefined = _EQUAL.format(owner="sammon_stress")
    return table.of_sums(_scaled_sammon if scale else _plain_sammon, (0.0, 1.0 if scale else np.inf), undefined)


def distance_correlation(
    X: Any,
    Y: Any,
    *,
    kind: str = "pearson",
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: Any = None,
) -> Measure:
    """Correlation of the distances in the map with those in the data: does far stay far.

    Pearson's r of (δ, d) over pairs, or Spearman's: r of their ranks, in which equal distances share the mean of their
    ranks. 1 is perfect, 0 is chance.

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.
    kind : {"pearson", "spearman"}
        Spearman's asks for the order only; all pairs are sorted up to 5,000 points.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> round(distance_correlation(X, X), 12), round(distance_correlation(X, X[[1, 0, 2, 3]], kind="spearman"), 6)
    (1.0, 0.885714)
    """
    owner = "distance_correlation"
    if kind not in ("pearson", "spearman"):
        raise ValueError(f"{owner}: kind must be 'pearson' or 'spearman'; it is {kind!r}")
    return correlation_of(PairTable.of(X, Y, metric, pairs, random_state, groups, owner), kind)


def correlation_of(table: PairTable, kind: str = "pearson") -> Measure:
    """Return the correlation of a table of pairs."""
    undefined = _EQUAL.format(owner="distance_correlation")
    if kind == "spearman":
        return defined(table.of_order(SPEARMAN)[0], undefined)
    return table.of_sums(_pearson, (-1.0, 1.0), undefined)


def residual_variance(
    X: Any,
    Y: Any,
    *,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: Any = None,
) -> Measure:
    """1 − R²: the share of the variance of distances that a straight line through (δ, d) leaves.

    Tenenbaum and others compare maps with it, each map with the distances that it means to keep: for Isomap those along
    the surface. Give such distances as X with ``metric="precomputed"``.

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.

    References
    ----------
    Tenenbaum, J. B., de Silva, V., Langford, J. C. (2000). A global geometric framework for nonlinear dimensionality
    reduction. Science 290, 2319–2323.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> float(residual_variance(X, 2 * X))
    0.0
    """
    return residual_of(PairTable.of(X, Y, metric, pairs, random_state, groups, "residual_variance"))


def residual_of(table: PairTable) -> Measure:
    """Return the residual variance of a table of pairs."""
    return table.of_sums(_residual, (0.0, 1.0), _EQUAL.format(owner="residual_variance"))


def distance_error(
    X: Any,
    Y: Any,
    *,
    absolute: bool = False,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: Any = None,
) -> Measure:
    """Mean of δ − d over pairs, in the unit of the data: how much distance the map loses.

    A projection only loses distance, so its error is positive; maps with a unit of their own (eigenmaps, t-SNE) have no
    such error. For kernel PCA the distances of the data are those in feature space, δ² = K_ii + K_jj − 2K_ij: give them
    as X with ``metric="precomputed"``.

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.
    absolute : bool
        Take the mean of abs(δ − d), in which gains do not make up for losses.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> float(distance_error(X, X[:, :1]))  # (3 − 3 + 4 − 0 + 5 − 3) / 3
    2.0
    """
    return error_of(PairTable.of(X, Y, metric, pairs, random_state, groups, "distance_error"), absolute=absolute)


def error_of(table: PairTable, *, absolute: bool = False) -> Measure:
    """Return the distance error of a table of pairs."""
    undefined = _EQUAL.format(owner="distance_error")
    return table.of_sums(_gap if absolute else _loss, (0.0 if absolute else -np.inf, np.inf), undefined)


# -- values of sums ---------------------------------------------------------------------------------------


def _spread(s: Array, pilot: Pilot) -> tuple[float, float, float, float]:
    """Return Σδ², Σδe, Σe² and Σd² of pairs."""
    c, b = pilot.center, pilot.slope
    delta2 = s[SUM_XX] + 2 * c * s[SUM_X] + c * c * s[COUNT]
    delta_e = s[SUM_XE] + c * s[SUM_E]
    return delta2, delta_e, s[SUM_EE], s[SUM_EE] + 2 * b * delta_e + b * b * delta2


def _scaled_stress(s: Array, pilot: Pilot) -> float:
    delta2, delta_e, ee, d2 = _spread(s, pilot)
    if not (delta2 > 0 and d2 > 0):
        return np.nan
    return float(np.sqrt(min(1.0, max(0.0, ee - delta_e * (delta_e / delta2)) / d2)))


def _plain_stress(s: Array, pilot: Pilot) -> float:
    delta2, delta_e, ee, d2 = _spread(s, pilot)
    b = pilot.slope - 1.0
    return float(np.sqrt(max(0.0, ee + 2 * b * delta_e + b * b * delta2) / d2)) if d2 > 0 else np.nan


def _sammon_at(s: Array, pilot: Pilot, c: float | None) -> float:
    """With f = d/b − δ and t = 1 − cb: Σ(δ − cd)²/δ = t²Σδ − 2t(1 − t)Σf + (1 − t)²Σf²/δ, least where t is below."""
    A = s[SUM_X] + pilot.center * s[COUNT]
    if not A > 0 or pilot.slope == 0:
        return np.nan
    B, C = s[SUM_E_APART] / pilot.slope, s[SUM_EE_BY_DELTA] / pilot.slope / pilot.slope
    t = (B + C) / (A + 2 * B + C) if c is None else 1.0 - c * pilot.slope
    return float(max(0.0, t * t * A - 2 * t * (1 - t) * B + (1 - t) ** 2 * C) / A)


def _scaled_sammon(s: Array, pilot: Pilot) -> float:
    return _sammon_at(s, pilot, None)


def _plain_sammon(s: Array, pilot: Pilot) -> float:
    return _sammon_at(s, pilot, 1.0)


def _centred(s: Array, pilot: Pilot) -> tuple[float, float, float, float]:
    """Return the centred Σδ², Σδe, Σe² and Σd² of pairs."""
    n, b = s[COUNT], pilot.slope
    x, e = s[SUM_X] / n, s[SUM_E] / n
    xx, xe, ee = s[SUM_XX] - x * s[SUM_X], s[SUM_XE] - x * s[SUM_E], s[SUM_EE] - e * s[SUM_E]
    return xx, xe, ee, ee + 2 * b * xe + b * b * xx


def _distinct(s: Array, pilot: Pilot) -> tuple[float, float, float, float] | None:
    """Return the centred sums; None where what varies is only rounding."""
    found = _centred(s, pilot)
    delta2, _, _, d2 = _spread(s, pilot)
    return found if found[0] > 1e-26 * delta2 and found[3] > 1e-26 * d2 else None


def _pearson(s: Array, pilot: Pilot) -> float:
    found = _distinct(s, pilot)
    if found is None:
        return np.nan
    xx, xe, _, dd = found
    return float(np.clip((xe + pilot.slope * xx) / (np.sqrt(xx) * np.sqrt(dd)), -1.0, 1.0))


def _residual(s: Array, pilot: Pilot) -> float:
    found = _distinct(s, pilot)
    if found is None:
        return np.nan
    xx, xe, ee, dd = found
    return float(np.clip((ee - xe * (xe / xx)) / dd, 0.0, 1.0))


def _loss(s: Array, pilot: Pilot) -> float:
    return float((1 - pilot.slope) * (s[SUM_X] / s[COUNT] + pilot.center) - s[SUM_E] / s[COUNT])


def _gap(s: Array, pilot: Pilot) -> float:
    return float(s[SUM_GAP] / s[COUNT])


# -- values of an order -----------------------------------------------------------------------------------


def monotone_fit(delta: Array, d: Array) -> tuple[Array, Array]:
    """Return the order of δ (equal δ in the order of d) and, in it, the nondecreasing values nearest to d."""
    order, level = levels(delta)
    counts = np.bincount(level)
    if len(counts) < len(level):
        tied = np.flatnonzero(counts[level] > 1)
        order[tied] = order[tied][np.lexsort((d[order[tied]], level[tied]))]
    return order, isotonic(d[order])


def _monotone_stress(delta: Array, d: Array) -> float:
    order, fitted = monotone_fit(delta, d)
    size = float(d @ d)
    return float(np.sqrt(((d[order] - fitted) ** 2).sum() / size)) if size > 0 and delta.max() > 0 else np.nan


def _ranks(values: Array) -> Array:
    """Return ranks around their mean; equal values share the mean of theirs."""
    order, level = levels(values)
    counts = np.bincount(level)
    mean = np.cumsum(counts) - (counts - 1) / 2.0 - (len(values) + 1) / 2.0
    out = np.empty(len(values))
    out[order] = mean[level]
    return out


def _spearman(delta: Array, d: Array) -> float:
    a, b = _ranks(delta), _ranks(d)
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / size, -1.0, 1.0)) if size > 0 else np.nan


# Measures of an order, with the values they can have.
MONOTONE = (_monotone_stress, (0.0, 1.0))
SPEARMAN = (_spearman, (-1.0, 1.0))
