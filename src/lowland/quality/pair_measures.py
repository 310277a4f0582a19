"""Measures on pairs: how well distances in the map (d) agree with those in the data (δ).

All are functions of a few sums over pairs, except those that depend on the order of the distances (`pair_values`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from .pair_values import (
    MONOTONE,
    SPEARMAN,
    gap,
    loss,
    pearson,
    plain_sammon,
    plain_stress,
    residual,
    scaled_sammon,
    scaled_stress,
)
from .pairs import PairTable, defined
from .spaces import Metric


def kruskal_stress(
    X: Any,
    Y: Any,
    *,
    monotone: bool = False,
    scale: bool = True,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: int | None = None,
) -> Measure:
    """Return Kruskal's stress-1, the relative error of the distances in the map.

    S = √(Σ(d − d̂)²/Σd²), where d̂ = bδ with the best b, or δ itself (``scale=False``), or the best nondecreasing
    function of δ (``monotone=True``). 0 is perfect; Kruskal called 0.05 good and 0.2 poor.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` their distances.
    Y : array
        The map, one row for each of X's.
    monotone : bool
        Compare only the order of distances, as non-metric scaling does; equal δ may have different d̂ (primary ties).
    scale : bool
        Whether the scale of the map is free; a monotone fit does not depend on it.
    metric : str or callable
        Metric of the data.
    pairs : "auto", int or None
        Number of pairs to sample, None for all; "auto": all up to 10,000 points (5,000 if monotone), then 1,000,000.
    groups : sequence, optional
        A label for each point; ``.groups`` of the result is then the stress of pairs that begin in each group.
    random_state : int, optional
        Random seed of the sample; None is 0.

    Notes
    -----
    A monotone fit to few pairs overfits, so its stress is too low: by 5 % for 1,000 sampled pairs and 1 % for 5,000, as
    measured. The upper end of the interval is raised by about as much.

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
        raise ValueError(
            Message(
                Owner("kruskal_stress"),
                "a monotone fit has no scale; remove ",
                Setting("scale", False),
                " or ",
                Setting("monotone", True),
            )
        )
    table = PairTable.of(X, Y, metric, pairs, random_state, groups, owner)
    return stress_of(table, monotone=monotone, scale=scale)


def stress_of(table: PairTable, *, monotone: bool = False, scale: bool = True) -> Measure:
    """Return stress-1 of a table of pairs."""
    if monotone:
        return defined(table.of_order(MONOTONE)[0], table)
    return defined(table.of_sums(scaled_stress if scale else plain_stress, (0.0, 1.0 if scale else np.inf)), table)


def sammon_stress(
    X: Any,
    Y: Any,
    *,
    scale: bool = True,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: int | None = None,
) -> Measure:
    """Return Sammon's stress, which gives errors of short distances more weight.

    E = Σ(δ − cd)²/δ / Σδ with the best c, or c = 1 (``scale=False``). Pairs of equal rows (δ = 0) are left out.

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.
    scale : bool
        Whether the scale of the map is free.

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
    return defined(table.of_sums(scaled_sammon if scale else plain_sammon, (0.0, 1.0 if scale else np.inf)), table)


def distance_correlation(
    X: Any,
    Y: Any,
    *,
    kind: str = "pearson",
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: int | None = None,
) -> Measure:
    """Return the correlation of the distances in the map with those in the data.

    Pearson's r of (δ, d) over pairs, or Spearman's: r of their ranks, with mean ranks for ties. 1 is perfect, 0 is
    chance. (Székely's distance correlation, a test of independence, is a different statistic.)

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.
    kind : {"pearson", "spearman"}
        Spearman's depends on the order only; all pairs are sorted up to 5,000 points.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> round(distance_correlation(X, X), 12), round(distance_correlation(X, X[[1, 0, 2, 3]], kind="spearman"), 6)
    (1.0, 0.885714)
    """
    owner = "distance_correlation"
    if kind not in ("pearson", "spearman"):
        raise ValueError(Message(Owner(owner), Setting("kind"), f" must be 'pearson' or 'spearman'; it is {kind!r}"))
    return correlation_of(PairTable.of(X, Y, metric, pairs, random_state, groups, owner), kind)


def correlation_of(table: PairTable, kind: str = "pearson") -> Measure:
    """Return the correlation of a table of pairs."""
    if kind == "spearman":
        return defined(table.of_order(SPEARMAN)[0], table)
    return defined(table.of_sums(pearson, (-1.0, 1.0)), table)


def residual_variance(
    X: Any,
    Y: Any,
    *,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: int | None = None,
) -> Measure:
    """Return 1 − R², the share of the variance of distances that a linear fit to (δ, d) does not explain.

    Tenenbaum et al. compare each map with the distances that it is meant to preserve: for Isomap, geodesic distances.
    Give such distances as X with ``metric="precomputed"``.

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
    return defined(table.of_sums(residual, (0.0, 1.0)), table)


def distance_error(
    X: Any,
    Y: Any,
    *,
    absolute: bool = False,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    groups: Any = None,
    random_state: int | None = None,
) -> Measure:
    """Return the mean of δ − d over pairs, in the unit of the data.

    A projection only shortens distances, so its error is positive; for maps with an arbitrary scale (eigenmaps, t-SNE)
    it has no meaning. For kernel PCA the distances of the data are those in feature space, δ² = K_ii + K_jj − 2K_ij:
    give them as X with ``metric="precomputed"``.

    Parameters
    ----------
    X, Y, metric, pairs, groups, random_state
        As in `kruskal_stress`.
    absolute : bool
        Use the mean of abs(δ − d), in which errors of different sign do not cancel.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> float(distance_error(X, X[:, :1]))  # (3 − 3 + 4 − 0 + 5 − 3) / 3
    2.0
    """
    return error_of(PairTable.of(X, Y, metric, pairs, random_state, groups, "distance_error"), absolute=absolute)


def error_of(table: PairTable, *, absolute: bool = False) -> Measure:
    """Return the distance error of a table of pairs."""
    return defined(table.of_sums(gap if absolute else loss, (0.0 if absolute else -np.inf, np.inf)), table)


__all__ = [
    "MONOTONE",
    "SPEARMAN",
    "correlation_of",
    "distance_correlation",
    "distance_error",
    "error_of",
    "kruskal_stress",
    "residual_of",
    "residual_variance",
    "sammon_of",
    "sammon_stress",
    "stress_of",
]
