"""Neighbourhoods of every size: the co-ranking matrix and the curve over chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import pool
from ..measure import Measure
from ..planning import check_allocation
from .anchors import ALL, SAMPLED, choose
from .rank_measures import least_overlap
from .ranks import Sorted, sort_tiles
from .spaces import Metric, Sides, sides

Array = Any

_ALL_SIZES = 1_000  # points up to which the curve holds every neighbourhood size
_DENSE = 32  # sizes of which every one is taken in larger sets, before they spread out
_PER_DECADE = 24  # sizes in each power of ten after that
_CURVE = 500_000_000  # points sorted on each side for the curve of a large set
_FEWEST_CURVES = 100  # anchors of it at least


def coranking(X: Any, Y: Any, largest: int | None = None, *, metric: Metric = "euclidean") -> Array:
    """Return the co-ranking matrix: how many pairs have rank r in the data (rows) and rank s in the map (columns).

    Q[r − 1, s − 1] = #{(i, j) : j is the r-th nearest of i in X and the s-th in Y}. A perfect map has N on the
    diagonal; what is below has come nearer in the map (intrusions), what is above has been moved away (extrusions).
    Each row and each column sums to N. Tied points are spread evenly over the ranks that they share.

    Parameters
    ----------
    X, Y, metric
        See `trustworthiness`.
    largest : int, optional
        Largest rank that is counted; default N − 1, all of them.

    Returns
    -------
    array
        ``largest`` × ``largest``, float64; whole numbers where no points are tied.

    References
    ----------
    Lee, Verleysen: Quality assessment of dimensionality reduction: rank-based criteria. Neurocomputing 72, 2009.

    Examples
    --------
    >>> coranking([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [7.0], [3.0]]).tolist()
    [[2.0, 1.0, 1.0], [1.0, 0.0, 3.0], [1.0, 3.0, 0.0]]
    """
    space = sides(X, Y, metric, "coranking")
    n = space.n
    given: Any = n - 1 if largest is None else largest
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or not 1 <= given <= n - 1:
        raise ValueError(f"coranking: largest must be a whole number between 1 and {n - 1}; it is {largest!r}")
    check_allocation(8 * int(given) ** 2, "the co-ranking matrix", "give largest=, the largest rank to count")
    from .ranks_kernels import add_coranks

    Q = np.zeros((int(given), int(given)))
    parts = sort_tiles(n, n)

    def ranks(part: slice) -> tuple[Array, ...]:
        numbers = np.arange(part.start, part.stop)
        return (*Sorted(space.data, numbers).ranks, *Sorted(space.map, numbers).ranks)

    for found in pool.run(ranks, parts, stage="co-ranking", total=len(parts)):
        add_coranks(*found, Q)
    return Q


@dataclass(frozen=True)
class RnxCurve:
    """How much better than chance neighbourhoods of each size are kept: 1 when perfect, 0 by chance.

    Attributes
    ----------
    k : array
        Neighbourhood sizes K, ascending.
    values, low, high : array
        R_NX(K) and its 95 % interval, which is the value itself where all points were looked at.
    auc : Measure
        The mean of R_NX(K) over all K, weighted by 1/K.
    """

    k: Array
    values: Array
    low: Array
    high: Array
    auc: Measure

    @property
    def best(self) -> int:
        """The size whose neighbourhoods are kept best over chance."""
        return int(self.k[int(np.argmax(self.values))])


def rnx_curve(
    X: Any,
    Y: Any,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
) -> RnxCurve:
    """Tell how well neighbourhoods of every size are kept, from the nearest point to the whole set.

    Q_NX(K) is the mean share of the K nearest that data and map have in common,
    R_NX(K) = ((N − 1) Q_NX(K) − K)/(N − 1 − K), and AUC = Σ_K R_NX(K)/K over Σ_K 1/K, for K = 1, …, N − 2.

    Parameters
    ----------
    X, Y, metric, random_state, groups
        See `trustworthiness`; groups go to the ``auc``.
    anchors : int, "auto" or None
        As there, but all points are sorted for each anchor: "auto" takes at most 5e8/N of them.

    Returns
    -------
    RnxCurve
        Up to 1,000 points every K; beyond that K = 1, …, 32 and then 24 of each power of ten, likewise from N − 2
        downwards, between which the AUC takes R_NX as linear in log K.

    References
    ----------
    Lee, Peluffo-Ordóñez, Verleysen: Multi-scale similarities in stochastic neighbour embedding: reducing dimensionality
    while preserving both local and global structure. Neurocomputing 169, 2015.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> curve = rnx_curve(X, X[:, :2])
    >>> curve.k[:3].tolist(), curve.values[:3].round(3).tolist(), curve.auc
    ([1, 2, 3], [0.236, 0.237, 0.271], 0.4138)
    """
    return curve_of(sides(X, Y, metric, "rnx_curve"), anchors, random_state, groups)


def curve_of(
    space: Sides, anchors: int | str | None = "auto", random_state: int | None = None, groups: Any = None
) -> RnxCurve:
    """Return the curve of two sides; see `rnx_curve`."""
    n = space.n
    if isinstance(anchors, str) and anchors == "auto" and n > ALL:
        anchors = min(SAMPLED, max(_FEWEST_CURVES, _CURVE // n))
    chosen = choose(n, anchors, random_state, groups, owner="rnx_curve")
    sizes = _sizes(n)
    R = _curves(space, chosen.numbers, sizes)
    worst, weights = _over_chance(least_overlap(n, sizes), sizes, n), _weights(sizes, n)
    points = [chosen.mean(R[:, c], float(worst[c]), grouped=False) for c in range(len(sizes))]
    areas = [math.fsum(row) for row in R * weights]
    auc = chosen.mean(areas, math.fsum(worst * weights))
    values, low, high = np.array([(float(p), p.low, p.high) for p in points]).T.copy()
    return RnxCurve(sizes, values, low, high, auc)


def _sizes(n: int) -> Array:
    """Return the neighbourhood sizes of a curve: all of 1, …, N − 2, or fewer where it changes slowly.

    It changes with log K, and at the end with log(N − 1 − K): there few points are left that are no neighbours.
    """
    if n <= _ALL_SIZES:
        return np.arange(1, n - 1)
    middle = (n - 1) / 2
    count = int(np.ceil(_PER_DECADE * np.log10(middle / _DENSE)))
    spread = np.rint(np.geomspace(_DENSE, middle, count + 1)).astype(np.int64)
    half = np.concatenate([np.arange(1, _DENSE), spread])
    return np.unique(np.concatenate([half, n - 1 - half]))


def _weights(sizes: Array, n: int) -> Array:
    """Return the weight of each size in the area under the curve: of its own 1/K, and of those between two sizes."""
    out = np.zeros(len(sizes))
    K = np.arange(1, n - 1)
    after = np.searchsorted(sizes, K)  # the size at or after each K; all K lie between the first and the last
    before = np.maximum(after - (sizes[after] > K), 0)
    gap = np.log(sizes[after]) - np.log(sizes[before])
    share = np.divide(np.log(K) - np.log(sizes[before]), gap, out=np.zeros(len(K)), where=gap > 0)
    np.add.at(out, before, (1 - share) / K)
    np.add.at(out, after, share / K)
    return out / math.fsum(out)


def _curves(space: Sides, numbers: Array, sizes: Array) -> Array:
    """Return R_NX of each anchor by itself, for each size."""
    from .ranks_kernels import share_neighbors

    n = space.n
    place = np.searchsorted(sizes, np.arange(n + 1))

    def count(part: slice) -> Array:
        few = numbers[part]
        shared = np.zeros((len(few), len(sizes)))
        share_neighbors(*Sorted(space.data, few).ranks, *Sorted(space.map, few).ranks, sizes, place, shared)
        return shared

    parts = sort_tiles(len(numbers), n)
    Q = np.concatenate(list(pool.run(count, parts, stage="neighbourhoods of all sizes", total=len(parts))))
    return _over_chance(Q / sizes, sizes, n)


def _over_chance(Q: Array, sizes: Array, n: int) -> Array:
    """Return R_NX from the shares of neighbours that are kept."""
    return ((n - 1) * Q - sizes) / (n - 1 - sizes)
