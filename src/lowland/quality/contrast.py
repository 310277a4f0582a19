"""Relative contrast: concentration of distances in many dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contract.fit_info import level_of_the_caller
from ..core import thread_pool
from ..core.dominance import dominance, dominant_words
from ..core.errors import DataError, DominantColumnWarning, LowlandWarning
from ..core.measure import Z95, Measure
from ..core.message import SCALED_METRIC, Message, Owner
from ..graph.measures import BoundMetric, EuclideanRows
from ..pairs.pairwise import tiles
from .anchors import check_seed
from .spaces import Metric, distances_to, one_side

Array = Any

ROWS = 128  # sampled points
LOW = 1.25  # below this contrast the nearest point is hardly nearer than the mean point
_DISTANCES_AT_ONCE = 1 << 21  # distances computed at a time
_POINTS_FOR_SHARES = 10  # with fewer points, a column's share of the variance is not meaningful
_POINTS_AT_ONCE = 8  # with fewer points at a time, preparing the others takes longer than the distances


def relative_contrast(X: Any, *, metric: Metric = "euclidean", random_state: int | None = None) -> Measure:
    """Return the relative contrast C = mean distance / mean distance to the nearest neighbour.

    The standard deviation of the distances in d independent normal columns is a share of 1/√(2d) of their mean
    (0.59/√d of uniform ones), so C falls towards 1, and nearest neighbours lose their meaning. Below 1.25 Lowland
    warns. Real data mostly have fewer intrinsic dimensions than columns, and a contrast of 2 or more.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` a distance matrix.
    metric : str or callable
        Metric of the distances.
    random_state : int, optional
        Random seed of the sample of 128 points; up to 128 points, all are used.

    References
    ----------
    He, J., Kumar, S., Chang, S.-F. (2012). On the difficulty of nearest neighbor search. ICML.
    Beyer, K., Goldstein, J., Ramakrishnan, R., Shaft, U. (1999). When is "nearest neighbor" meaningful? ICDT.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> relative_contrast(rng.normal(size=(500, 2))) > 10
    True
    >>> relative_contrast(rng.normal(size=(500, 1000))) < 1.1
    True
    """
    owner = "relative_contrast"
    side = one_side(X, metric, owner)
    if side.n < 2:
        raise DataError(Message(Owner(owner), "at least 2 points are needed; X has 1"))
    found = contrast_of(side, random_state, owner)
    if np.isnan(found):
        raise DataError(
            Message(Owner(owner), "all points of X are equal, so the contrast is not defined; check how X was made")
        )
    return found


def contrast_of(side: BoundMetric, random_state: int | None = None, owner: str = "quality") -> Measure:
    """Return the contrast of points: infinite if each has a duplicate, NaN if all are equal."""
    chosen = contrast_points(side.n, random_state, owner)

    def work(part: slice) -> Array:
        total, least = sums_and_least(side, side.own(chosen[part]), chosen[part])
        return np.column_stack([total / (side.n - 1), least])

    with thread_pool.one_blas_thread():  # one part after another, to limit memory
        found = np.concatenate(
            [work(part) for part in tiles(len(chosen), max(_POINTS_AT_ONCE, _DISTANCES_AT_ONCE // side.n))]
        )
    return contrast_from(*found.T, exact=side.n <= ROWS)


def contrast_points(n: int, random_state: int | None = None, owner: str = "quality") -> Array:
    """Return the numbers of the points, ascending, whose distances to all n are measured."""
    rng = np.random.default_rng(check_seed(random_state, owner))
    return np.arange(n) if n <= ROWS else np.sort(rng.choice(n, ROWS, replace=False))


def sums_and_least(side: BoundMetric, rows: Any, own: Array) -> tuple[Array, Array]:
    """Return the sum and the least of the distances of prepared rows to all points.

    ``own`` is the place of each row among the points, which does not count, or −1.
    """
    D = distances_to(side, rows)
    here = np.flatnonzero(own >= 0)
    D[here, own[here]] = 0.0
    total = D.sum(axis=1)
    D[here, own[here]] = np.inf
    return total, D.min(axis=1)


def contrast_from(means: Array, nearest: Array, *, exact: bool) -> Measure:
    """Return the contrast from the mean distance of some points to all others and to the nearest of them."""
    found = np.column_stack([means, nearest])
    mean, least = (float(x) for x in found.mean(axis=0))
    if least == 0:
        return Measure(np.inf if mean > 0 else np.nan, exact=exact)
    value = mean / least
    if exact:
        return Measure(value)
    # standard error of a ratio of means, by linearisation
    half = Z95 * float(np.std(found[:, 0] - value * found[:, 1], ddof=1)) / (least * np.sqrt(len(found)))
    return Measure(value, max(0.0, value - half), value + half, exact=False)


def hardly_differ(contrast: Measure) -> bool:
    """Return whether distances are so concentrated that nearest neighbours are hardly nearer than other points."""
    return contrast.high < LOW


def warn_of_concentration(contrast: Measure, owner: str) -> str | None:
    """Warn if distances are concentrated, and return the message."""
    if not hardly_differ(contrast):
        return None
    text = Message(
        Owner(owner),
        f"distances in the data hardly differ (the mean distance to the nearest neighbour is "
        f"{1 / contrast:.0%} of the mean distance), so nearest neighbours are hardly nearer than other rows; select "
        "fewer columns, or use another metric",
    )
    warnings.warn(text, LowlandWarning, stacklevel=level_of_the_caller())
    return text


def warn_of_dominance(side: BoundMetric, names: Sequence[Any] | None, owner: str) -> str | None:
    """Warn if one or two columns dominate the distances, and return the message."""
    if not isinstance(side, EuclideanRows) or side.finish_as == "cosine" or side.n < _POINTS_FOR_SHARES:
        return None
    spread = np.zeros(side.width)
    for part in tiles(side.n, max(1, _DISTANCES_AT_ONCE // side.width)):
        spread += ((side.X[part] - side.shift) ** 2).sum(axis=0)
    found = dominant_words(spread, names)
    if found is None:
        return None
    text = Message(Owner(owner), dominance(found, "so it dominates the distances in the data", SCALED_METRIC))
    warnings.warn(text, DominantColumnWarning, stacklevel=level_of_the_caller())
    return text
