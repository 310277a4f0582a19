"""Neighbourhoods of all sizes: the co-ranking matrix and the curve R_NX(K)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import thread_pool
from ..core.cost import check_allocation
from ..core.measure import Measure
from ..core.message import Message, Owner, Setting
from ..core.show import show
from ..graph.distinct import distinct
from ..graph.measures import EuclideanRows
from .anchors import ALL, SAMPLED, Labels, choose, labels
from .rank_measures import least_overlap
from .ranks import Sorted, sort_tiles
from .spaces import Metric, Sides, sides

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = Any

_ALL_SIZES = 1_000  # up to this number of points the curve contains every neighbourhood size
_EVERY_SIZE_UP_TO = 32  # for more points, every size up to this one
_PER_DECADE = 24  # and this many sizes in each power of ten above it
_CURVE = 500_000_000  # anchors × points sorted on each side for a large set
_FEWEST_CURVES = 100  # least number of anchors
_GIVE_LARGEST = "limit the ranks with largest="


def coranking(X: Any, Y: Any, largest: int | None = None, *, metric: Metric = "euclidean") -> Array:
    """Return the co-ranking matrix: the number of pairs with rank r in the data (rows) and s in the map (columns).

    Q[r − 1, s − 1] = #{(i, j) : j is the r-th nearest of i in X and the s-th in Y}. A perfect map has N on the
    diagonal; entries below it are intrusions (nearer in the map), entries above it extrusions (farther in the map).
    Each row and each column sums to N. Tied points are distributed evenly over their ranks.

    Parameters
    ----------
    X, Y, metric
        See `trustworthiness`.
    largest : int, optional
        Largest rank to count; default: N − 1 (all).

    Returns
    -------
    array
        ``largest`` × ``largest``, float64; whole numbers if there are no ties.

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
        raise ValueError(
            Message(
                Owner("coranking"),
                Setting("largest"),
                f" must be a whole number between 1 and {n - 1}; it is {largest!r}",
            )
        )
    check_allocation(8 * int(given) ** 2, "the co-ranking matrix", _GIVE_LARGEST)
    from .ranks_loops import add_coranks, fill_corners

    limit = int(given)
    Q, corners = np.zeros((limit, limit)), np.empty((0, 0))
    parts = sort_tiles(n, n)

    def ranks(part: slice) -> tuple[Array, ...]:
        numbers = np.arange(part.start, part.stop)
        return (*Sorted(space.data, numbers).ranks, *Sorted(space.map, numbers).ranks)

    for found in thread_pool.run(ranks, parts, stage="co-ranking", total=len(parts)):
        if not len(corners) and max(found[1].max(), found[3].max()) > 1:
            check_allocation(8 * (limit + 1) ** 2, "the co-ranking matrix of tied points", _GIVE_LARGEST)
            corners = np.zeros((limit + 1, limit + 1))
        add_coranks(*found, Q, corners)
    if len(corners):
        fill_corners(corners, 0.5 / (n - 1) ** 2, Q)  # the smallest contribution of a tied point is 1/(n − 1)²
    return Q


@dataclass(frozen=True, eq=False)
class RnxCurve:
    """Preservation of neighbourhoods of each size: 1 is perfect, 0 is chance.

    Attributes
    ----------
    k : array
        Neighbourhood sizes K, ascending.
    values, low, high : array
        R_NX(K) and its 95 % interval, of width zero if all points were evaluated.
    auc : Measure
        The mean of R_NX(K) over all K, weighted by 1/K.
    n_points, n_anchors : int
        Number of points, and of those that were evaluated.
    """

    k: Array
    values: Array
    low: Array
    high: Array
    auc: Measure
    n_points: int = 0
    n_anchors: int = 0

    @property
    def best(self) -> int:
        """The neighbourhood size with the largest R_NX."""
        return int(self.k[int(np.argmax(self.values))])

    def figure(self) -> Figure:
        """Draw the curve; `lowland.plots.rnx` draws several on given axes."""
        figure: Figure = show("rnx", self).figure
        return figure

    def _repr_html_(self) -> str:
        text: str = show("rnx html", self)
        return text


def rnx_curve(
    X: Any,
    Y: Any,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
) -> RnxCurve:
    """Measure how well neighbourhoods of all sizes are preserved, from the nearest point to the whole set.

    Q_NX(K) is the mean share of the K nearest neighbours common to data and map,
    R_NX(K) = ((N − 1) Q_NX(K) − K)/(N − 1 − K), and AUC = Σ_K R_NX(K)/K over Σ_K 1/K, for K = 1, …, N − 2.

    Parameters
    ----------
    X, Y, metric, random_state, groups
        See `trustworthiness`; groups apply to ``auc`` only (the largest ones if there are more groups than anchors).
    anchors : int, "auto" or None
        See `trustworthiness`; all points are sorted for each anchor, so "auto" uses at most 5e8/N anchors.

    Returns
    -------
    RnxCurve
        Up to 1,000 points, every K; for more points, K = 1, …, 32 and then 24 per power of ten, and the same downwards
        from N − 2. The AUC always includes every K.

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
    named = None if groups is None else _largest(labels(groups, n, "rnx_curve"), anchors)
    chosen = choose(n, anchors, random_state, named, owner="rnx_curve")
    sizes = _sizes(n)
    R, areas = _curves(space, chosen.numbers, sizes)
    worst = _over_chance(least_overlap(n, sizes), sizes, n)
    points = [chosen.mean(R[:, c], float(worst[c]), grouped=False) for c in range(len(sizes))]
    values, low, high = np.array([(float(p), p.low, p.high) for p in points]).T.copy()
    return RnxCurve(sizes, values, low, high, chosen.mean(areas, least_area(n)), n, len(chosen.numbers))


def _largest(named: Labels, anchors: Any) -> Labels:
    """Return the largest groups, at most as many as there are anchors: each group needs anchors of its own.

    >>> _largest(labels(["a", "b", "b", "c", "c"], 5), 2)
    Labels(names=('b', 'c'), codes=array([-1,  0,  0,  1,  1]))
    """
    if not isinstance(anchors, int | np.integer) or len(named.names) <= anchors:
        return named
    sizes = np.bincount(named.codes[named.codes >= 0], minlength=len(named.names))
    kept = np.sort(np.argsort(-sizes, kind="stable")[:anchors])
    place = np.full(len(sizes) + 1, -1)  # the last one is for points without a label
    place[kept] = np.arange(len(kept))
    return Labels(tuple(named.names[g] for g in kept), place[named.codes])


def _sizes(n: int) -> Array:
    """Return the neighbourhood sizes of a curve: all of 1, …, N − 2, or fewer for many points.

    The curve varies with log K, and near the end with log(N − 1 − K), so sizes are spaced accordingly.
    """
    if n <= _ALL_SIZES:
        return np.arange(1, n - 1)
    middle = (n - 1) / 2
    count = int(np.ceil(_PER_DECADE * np.log10(middle / _EVERY_SIZE_UP_TO)))
    spread = np.rint(np.geomspace(_EVERY_SIZE_UP_TO, middle, count + 1)).astype(np.int64)
    half = np.concatenate([np.arange(1, _EVERY_SIZE_UP_TO), spread])
    return np.unique(np.concatenate([half, n - 1 - half]))


def _weights(n: int) -> Array:
    """Return the weights of K = 1, …, N − 2 in the area under the curve, in proportion to 1/K."""
    each = 1 / np.arange(1, n - 1)
    return each / math.fsum(each)


def least_area(n: int) -> float:
    """Return the smallest possible area under the curve of n points.

    >>> least_area(4)
    -0.5
    """
    K = np.arange(1, n - 1)
    return math.fsum(_over_chance(least_overlap(n, K), K, n) * _weights(n))


def _curves(space: Sides, numbers: Array, sizes: Array) -> tuple[Array, Array]:
    """Return R_NX of each anchor for each size, and the area under it.

    R_NX(K) is linear in the number T(K) of shared neighbours, so the area is linear in a weighted sum of all T(K).
    """
    from .ranks_loops import share_neighbors

    n, weights = space.n, _weights(space.n)
    K = np.arange(1, n - 1)
    slopes = weights * (n - 1) / (K * (n - 1.0 - K))

    def count(part: slice) -> tuple[Array, Array]:
        few = numbers[part]
        shared, areas = np.empty((len(few), len(sizes))), np.empty(len(few))
        share_neighbors(*Sorted(space.data, few).ranks, *Sorted(space.map, few).ranks, sizes, slopes, shared, areas)
        return shared, areas

    numbers, back = _once(space, numbers)
    parts = sort_tiles(len(numbers), n)
    found = list(thread_pool.run(count, parts, stage="neighbourhoods of all sizes", total=len(parts)))
    shared, areas = (np.concatenate(some)[back] for some in zip(*found, strict=True))
    return _over_chance(shared / sizes, sizes, n), areas - math.fsum(weights * K / (n - 1 - K))


def _once(space: Sides, numbers: Array) -> tuple[Array, Array]:
    """Return the distinct anchors (by both sides), and the index of each anchor among them."""
    if not all(isinstance(side, EuclideanRows) for side in (space.data, space.map)):
        return numbers, np.arange(len(numbers))
    kinds = [distinct(side.X[numbers]).inverse for side in (space.data, space.map)]  # type: ignore[attr-defined]
    _, once, back = np.unique(np.column_stack(kinds), axis=0, return_index=True, return_inverse=True)
    return numbers[once], back.ravel()


def _over_chance(Q: Array, sizes: Array, n: int) -> Array:
    """Return R_NX from the shares of common neighbours."""
    return ((n - 1) * Q - sizes) / (n - 1 - sizes)
