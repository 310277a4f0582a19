"""Neighbourhoods of every size: the co-ranking matrix and the curve over chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import thread_pool
from ..core.cost import check_allocation
from ..core.measure import Measure
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

_ALL_SIZES = 1_000  # points up to which the curve holds every neighbourhood size
_EVERY_SIZE_UP_TO = 32  # sizes of which every one is taken in larger sets, before they spread out
_PER_DECADE = 24  # sizes in each power of ten after that
_CURVE = 500_000_000  # points sorted on each side for the curve of a large set
_FEWEST_CURVES = 100  # anchors of it at least
_GIVE_LARGEST = "give largest=, the largest rank to count"


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
        fill_corners(corners, 0.5 / (n - 1) ** 2, Q)  # no point fills less than 1/(n − 1)² of a place
    return Q


@dataclass(frozen=True, eq=False)
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

    def figure(self) -> Figure:
        """Draw the curve."""
        figure: Figure = show("rnx curve", self)
        return figure


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
        See `trustworthiness`; groups go to the ``auc``, of more groups than anchors those with the most points.
    anchors : int, "auto" or None
        As there, but all points are sorted for each anchor: "auto" takes at most 5e8/N of them.

    Returns
    -------
    RnxCurve
        Up to 1,000 points every K; beyond that K = 1, …, 32 and then 24 of each power of ten, likewise from N − 2
        downwards. The AUC is that of every K at any size.

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
    return RnxCurve(sizes, values, low, high, chosen.mean(areas, least_area(n)))


def _largest(named: Labels, anchors: Any) -> Labels:
    """Return as many groups as there are anchors: each has two or more of its own, and all points are sorted for each.

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
    """Return the neighbourhood sizes of a curve: all of 1, …, N − 2, or fewer where it changes slowly.

    It changes with log K, and at the end with log(N − 1 − K): there few points are left that are no neighbours.
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
    """Return the least area under the curve of n points, by which no neighbourhood keeps more than it must.

    >>> least_area(4)
    -0.5
    """
    K = np.arange(1, n - 1)
    return math.fsum(_over_chance(least_overlap(n, K), K, n) * _weights(n))


def _curves(space: Sides, numbers: Array, sizes: Array) -> tuple[Array, Array]:
    """Return R_NX of each anchor by itself, for each size, and the area under it.

    R_NX(K) is a line in the number T(K) of shared neighbours, so the area is one in a weighted sum of all T(K).
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
    """Return anchors that differ on one side or the other, and which of them each anchor is equal to."""
    if not all(isinstance(side, EuclideanRows) for side in (space.data, space.map)):
        return numbers, np.arange(len(numbers))
    kinds = [distinct(side.X[numbers]).inverse for side in (space.data, space.map)]  # type: ignore[attr-defined]
    _, once, back = np.unique(np.column_stack(kinds), axis=0, return_index=True, return_inverse=True)
    return numbers[once], back.ravel()


def _over_chance(Q: Array, sizes: Array, n: int) -> Array:
    """Return R_NX from the shares of neighbours that are kept."""
    return ((n - 1) * Q - sizes) / (n - 1 - sizes)
