"""Correlation dimension: growth of the number of close pairs with the distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import thread_pool
from ..core.errors import DataError
from ..core.measure import Z95, Measure
from ..core.message import Message, Owner, Setting
from ..core.random import seed
from ..pairs.pairwise import tiles
from .points import Points, Spec, check_anchors, distinct_points

Array = Any

ANCHORS = 2000  # points whose distances to others are computed
OTHERS = 10_000  # most points they are compared with
PAIRS = 100  # least number of close pairs at the finest scale
_STEPS = 16  # distances used for the slope
_GROUPS = 40  # jackknife groups of points and of pairs


def correlation_dimension(
    X: Any,
    *,
    shares: tuple[float, float] | None = None,
    metric: Spec = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
) -> Measure:
    """Return the slope of ln C(r) against ln r, where C(r) is the share of pairs nearer than r.

    C(r) ∝ r^d if r is small compared with the extent of the data and large compared with the noise. The slope is fitted
    by least squares at distances for which ln C takes equal steps over the range ``shares``.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The rows; with ``metric="precomputed"`` their distances. Equal rows are left out, with a warning.
    shares : (float, float), optional
        The smallest and the largest C; default: from 0.001, or as much as holds 100 pairs, to ten times that.
    metric : str or callable
        Metric of the rows. Squared distances (sqeuclidean, cosine, correlation) are replaced by their roots.
    anchors : int, None or "auto"
        Number of points compared with the others: None: all; "auto": all up to 2,000. At most 10,000 points, drawn at
        random, are used in any case, because all close pairs are stored.
    random_state : int, optional
        Random seed of the sampled points; None is 0.

    Returns
    -------
    Measure
        The dimension with its 95 % interval by the jackknife, which covers chance but not the bias of borders and
        noise.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.random.default_rng(0).uniform(0, 6.28, 1000)
    >>> round(correlation_dimension(np.column_stack([np.cos(t), np.sin(t)])), 1)
    1.0

    References
    ----------
    P. Grassberger, I. Procaccia, Measuring the strangeness of strange attractors, Physica D 9 (1983).
    """
    points = distinct_points(X, metric, "correlation_dimension")
    rng = seed(random_state)
    wanted = check_anchors(anchors, points.n, ANCHORS, "correlation_dimension")
    order = rng.permutation(points.n)
    others = np.sort(order[:OTHERS])
    few = rng.permutation(others)[:wanted]
    pairs = len(few) * (len(others) - 1)
    low, high = _range(shares, pairs // 2)
    lengths, ends = _close(points, few, others, high)
    order = np.argsort(lengths, kind="stable")
    lengths, ends = lengths[order], ends[:, order]
    levels = np.exp(np.linspace(np.log(low), np.log(high), _STEPS))
    slope = _slope(lengths, levels, pairs)
    error = Z95 * _error(lengths, ends, levels, (np.searchsorted(others, few), len(others)), rng)
    return Measure(slope, max(0.0, slope - error), slope + error, exact=len(few) == points.n)


def _range(shares: Any, pairs: int) -> tuple[float, float]:
    if shares is None:
        low = min(0.05, max(1e-3, PAIRS / pairs))
        return low, 10 * low
    if not isinstance(shares, tuple | list) or len(shares) != 2 or not 0 < shares[0] < shares[1] <= 1:
        raise ValueError(
            Message(
                Owner("correlation_dimension"),
                Setting("shares"),
                f" must be the smallest and the largest share of pairs, between 0 and 1; it is {shares!r}",
            )
        )
    low, high = (float(share) for share in shares)
    if low * pairs < 10:
        raise DataError(
            Message(
                Owner("correlation_dimension"),
                f"a share of {low:g} of {pairs:,} pairs is fewer than 10; give a larger share or more rows",
            )
        )
    return low, high


def _close(points: Points, few: Array, others: Array, share: float) -> tuple[Array, Array]:
    """Return the lengths of the closest pairs, at least a share of all, and the positions of their ends."""
    bound = points.bound(others)
    place: Array = np.searchsorted(others, few)
    step = max(1, (1 << 21) // len(others))
    parts = tiles(len(few), step)

    def compared(part: slice) -> Array:
        V = bound.compare(bound.own(place[part]))
        V[np.arange(len(V)), place[part]] = np.inf
        return V

    pilot = compared(slice(0, min(len(few), step)))
    limit = float(np.quantile(pilot[np.isfinite(pilot)], min(1.0, 1.5 * share + 1e-3)))
    wanted = int(np.ceil(share * len(few) * (len(others) - 1)))
    while True:

        def near(part: slice, limit: float = limit) -> tuple[Array, Array]:
            V = compared(part)
            i, j = np.nonzero(limit >= V)
            return bound.exact(bound.own(place[part]), i, j, V[i, j]), np.stack([place[part][i], j])

        found = list(thread_pool.run(near, parts, stage="pairs", total=len(parts)))
        lengths, ends = (np.concatenate(x, axis=-1) for x in zip(*found, strict=True))
        if len(lengths) >= wanted:
            return lengths, ends
        limit *= 2  # the pilot anchors had more near points than most


def _error(lengths: Array, ends: Array, levels: Array, sizes: tuple[Array, int], rng: np.random.Generator) -> float:
    """Return the standard error of the slope, by the jackknife.

    A sum over pairs has variance from its points (A) and from each pair (B). Leaving out groups of points with all of
    their pairs gives A + 2B, because a pair goes with either end; leaving out groups of pairs gives B.
    """
    anchors, n = sizes
    numbers = np.arange(_GROUPS)
    group = rng.permutation(np.arange(n) * _GROUPS // n)
    size, looking = np.bincount(group, minlength=_GROUPS), np.bincount(group[anchors], minlength=_GROUPS)
    one, other = group[ends]
    both = (one + other) % _GROUPS  # the same for a pair counted from both ends
    of_points, of_pairs = np.empty(_GROUPS), np.empty(_GROUPS)
    for g in range(_GROUPS):
        left = (len(anchors) - looking[g]) * (n - 1 - size[g])
        of_points[g] = _slope(lengths[(one != g) & (other != g)], levels, left)
        gone = looking @ size[(g - numbers) % _GROUPS] - looking[2 * numbers % _GROUPS == g].sum()
        of_pairs[g] = _slope(lengths[both != g], levels, len(anchors) * (n - 1) - gone)
    A2B, B = ((_GROUPS - 1) * found.var() for found in (of_points, of_pairs))
    return float(np.sqrt(max(A2B - B, A2B / 2)))


def _slope(lengths: Array, levels: Array, pairs: int) -> float:
    """Return the slope of ln C against ln r by least squares; ``lengths`` ascend."""
    at = np.clip(np.ceil(levels * pairs).astype(np.int64) - 1, 0, len(lengths) - 1)
    r = lengths[at]
    if not r[0] > 0 or not r[-1] > r[0]:
        raise DataError(
            Message(
                Owner("correlation_dimension"),
                "all close pairs have the same distance, as on a grid; give larger shares",
            )
        )
    x = np.log(r)
    y = np.log(np.maximum(levels, 1 / pairs))
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())
