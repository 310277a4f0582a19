"""Rank-based measures of how well neighbourhoods are preserved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.measure import Measure
from .ranks import RankTable, rank_table
from .spaces import Metric, sides

Array = Any


def trustworthiness(
    X: Any,
    Y: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
) -> Measure:
    """Return the trustworthiness: whether neighbours in the map are also near in the data. 1 is perfect.

    T(k) = 1 − (2/G) Σᵢ Σ_{j among the k nearest of i in Y} max(0, r(i, j) − k), where j is the r(i, j)-th nearest of
    i in X, and G = Nk(2N − 3k − 1) for k < N/2, else N(N − k)(N − k − 1), is twice the sum of the worst map.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` their distances.
    Y : array
        The map, one row for each of X's.
    n_neighbors : int
        Number of neighbours k, at most N − 2.
    metric : str or callable
        Metric of the data: a name in `lowland.pairs.distances.METRICS`, ``"precomputed"`` or a function.
    anchors : int, "auto" or None
        Number of points to evaluate, each against all: "auto": all up to 10,000 points, otherwise 5,000; None: all.
    random_state : int, optional
        Random seed of the sample of anchors; None is 0.
    groups : sequence, optional
        A label for each point; ``groups`` of the result is the value for each group, with all points as neighbours.

    Returns
    -------
    Measure
        The value, with its 95 % interval where anchors were sampled.

    Notes
    -----
    A random map scores 1 − (N − 1 − k)(N − k)/((N − 1)(2N − 3k − 1)) for k < N/2, about 0.5 if k is much smaller than
    N; for larger k see `at_chance`. For tied points the value is the expectation over their orders, so it does not
    depend on the order of the rows.

    References
    ----------
    Venna, Kaski: Neighborhood preservation in nonlinear projection methods: an experimental study. ICANN 2001.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 9.0], [1.0, 9.0], [3.0, 9.0]]
    >>> trustworthiness(X, X, n_neighbors=2)
    1
    >>> trustworthiness(X, [row[:1] for row in X], n_neighbors=2)
    0.5889
    """
    return _measured("trustworthiness", X, Y, metric, n_neighbors, anchors, random_state, groups)


def continuity(
    X: Any,
    Y: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
) -> Measure:
    """Return the continuity: whether neighbours in the data are also near in the map. 1 is perfect.

    The same as `trustworthiness` with X and Y exchanged: the ranks in Y of the k nearest in X.

    Parameters
    ----------
    X, Y, n_neighbors, metric, anchors, random_state, groups
        See `trustworthiness`.

    Returns
    -------
    Measure
        The value, with its 95 % interval where anchors were sampled.

    References
    ----------
    Venna, Kaski: Neighborhood preservation in nonlinear projection methods: an experimental study. ICANN 2001.

    Examples
    --------
    >>> circle = [[np.cos(t), np.sin(t)] for t in np.arange(0, 6.2, 0.2)]
    >>> continuity(circle, np.arange(31.0)[:, None], n_neighbors=2)  # a circle cut at one point
    0.9672
    """
    return _measured("continuity", X, Y, metric, n_neighbors, anchors, random_state, groups)


def neighborhood_overlap(
    X: Any,
    Y: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
) -> Measure:
    """Return the mean share of the k nearest neighbours common to data and map, Q_NX(k); k/(N − 1) by chance.

    Parameters
    ----------
    X, Y, n_neighbors, metric, anchors, random_state, groups
        See `trustworthiness`.

    Returns
    -------
    Measure
        The value, with its 95 % interval where anchors were sampled.

    References
    ----------
    Lee, Verleysen: Quality assessment of dimensionality reduction: rank-based criteria. Neurocomputing 72, 2009.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 9.0], [1.0, 9.0], [3.0, 9.0]]
    >>> neighborhood_overlap(X, [row[:1] for row in X], n_neighbors=2)
    0.2639
    """
    return _measured("neighborhood_overlap", X, Y, metric, n_neighbors, anchors, random_state, groups)


def lcmc(
    X: Any,
    Y: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
) -> Measure:
    """Return the local continuity meta-criterion: `neighborhood_overlap` minus its value by chance, k/(N − 1).

    Parameters
    ----------
    X, Y, n_neighbors, metric, anchors, random_state, groups
        See `trustworthiness`.

    Returns
    -------
    Measure
        The value, with its 95 % interval where anchors were sampled.

    References
    ----------
    Chen, Buja: Local multidimensional scaling for nonlinear dimension reduction, graph drawing, and proximity
    analysis. JASA 104, 2009.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 9.0], [1.0, 9.0], [3.0, 9.0]]
    >>> lcmc(X, X, n_neighbors=2)
    0.6
    """
    return _measured("lcmc", X, Y, metric, n_neighbors, anchors, random_state, groups)


def _measured(
    name: str, X: Any, Y: Any, metric: Metric, k: int, anchors: Any, random_state: int | None, groups: Any
) -> Measure:
    return from_table(name, rank_table(sides(X, Y, metric, name), k, anchors, random_state, groups, owner=name))


def worst_ranks(n: int, k: int) -> float:
    """Return the largest possible sum of max(0, rank − k) over k neighbours of a point.

    >>> worst_ranks(10, 2), worst_ranks(10, 8)  # ranks 8 and 9; ranks 2 to 9
    (13.0, 1.0)
    """
    return k * (2 * n - 3 * k - 1) / 2 if 2 * k < n else (n - k) * (n - k - 1) / 2


def at_chance(name: str, n: int, k: int) -> float:
    """Return the expected value of a measure, by its name in `MEASURES`, for a random map.

    A rank is then uniform on 1, …, N − 1, and E max(0, r − k) = (N − 1 − k)(N − k)/(2(N − 1)) for each neighbour.

    >>> at_chance("trustworthiness", 1000, 10), at_chance("neighborhood_overlap", 1001, 10), at_chance("lcmc", 50, 9)
    (0.5022..., 0.01, 0.0)
    """
    if name in ("trustworthiness", "continuity"):
        return 1 - k * (n - 1 - k) * (n - k) / (2 * (n - 1)) / worst_ranks(n, k)
    return {"neighborhood_overlap": k / (n - 1), "lcmc": 0.0}[name]


def _trust(ranks: Callable[[RankTable], Array]) -> Callable[[RankTable], Measure]:
    def measure(table: RankTable) -> Measure:
        return table.anchors.mean(1 - ranks(table) / worst_ranks(table.n, table.n_neighbors))

    return measure


def least_overlap(n: int, k: Any) -> Any:
    """Return the smallest possible share of common points in two choices of k among n − 1 points."""
    return np.maximum(0.0, (2 * k - n + 1) / k)


def _overlap(table: RankTable) -> Measure:
    return table.anchors.mean(table.shared, float(least_overlap(table.n, table.n_neighbors)))


def _lcmc(table: RankTable) -> Measure:
    chance, least = table.n_neighbors / (table.n - 1), float(least_overlap(table.n, table.n_neighbors))
    return table.anchors.mean(table.shared - chance, least - chance, 1 - chance)


MEASURES: dict[str, Callable[[RankTable], Measure]] = {
    "trustworthiness": _trust(lambda table: table.false_ranks),
    "continuity": _trust(lambda table: table.missing_ranks),
    "neighborhood_overlap": _overlap,
    "lcmc": _lcmc,
}


def from_table(name: str, table: RankTable) -> Measure:
    """Return a measure, by its name in `MEASURES`, from a table of ranks."""
    return MEASURES[name](table)
