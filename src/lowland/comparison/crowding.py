"""Whether rows have more structure than a covariance: distances to neighbours against Gaussian reference clouds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from ..core import thread_pool
from ..graph.components import components
from ..graph.neighbors import searcher
from ..spectral import dense

Array = Any

GAUSSIAN = 0.9  # neighbours nearer than this share of a cloud's indicate structure
COLUMNS = 500  # up to which their own distributions are compared: with more columns the skew of each has little effect
_NEIGHBORS = 5  # neighbours whose distance is measured: more would include points of the next turn of a roll
_CLOUDS = 5
_STRAYS = 0.1  # most rows, as a share, that are left out as strays: more belong to the data
_ROUNDS = 3  # rounds of leaving strays out: far strays mask nearer ones, which the next round finds


class Crowding(NamedTuple):
    """How near neighbours are, over how near they are in a Gaussian cloud, and how many stray rows were left out.

    ``columns`` is the same over clouds whose columns are distributed as the data's; None where it was not needed or
    there are no columns. ``apart``: the neighbour graph of the rows is not connected.
    """

    ratio: float
    strays: int
    columns: float | None = None
    apart: bool = False

    @property
    def structured(self) -> bool:
        """Whether the rows hold more than a covariance and the distributions of their columns."""
        return self.ratio < GAUSSIAN and (self.apart or self.columns is None or self.columns < GAUSSIAN)


def crowded(points: Array, n_neighbors: int, random_state: int, *, columns: bool = True) -> Crowding:
    """Return the distance to neighbours, divided by that in Gaussian reference clouds.

    The median over the points of the mean distance to the 5 nearest, divided by the mean of the same over five clouds
    of as many points. A Gaussian cloud of the same covariance is all covariance, which PCA shows; curves, sheets and
    clusters crowd their points, so the ratio falls below 1 (after the surrogate data of Theiler et al. 1992).

    A few outlying rows widen the clouds, which makes the ratio of all others small. So where the ratio is small, rows
    whose distance to neighbours, in medians, exceeds that of every point of the clouds are left out, a tenth of them
    at most, and the clouds are drawn again.

    Skewed columns lower the ratio, too. So if it is still small, all rows are compared with clouds that are monotone
    functions of a Gaussian one and have the columns' own distributions (`_shaped`; the amplitude-adjusted surrogates
    of Theiler et al.), unless the neighbour graph is disconnected, which skew cannot cause. Rows that were left out
    then belong to a tail. No two points may be equal.

    >>> rng = np.random.default_rng(0)
    >>> found = crowded(rng.standard_normal((500, 5)), 10, 0)
    >>> bool(0.95 < found.ratio < 1.05), found.strays, found.structured
    (True, 0, False)
    """
    rng = np.random.default_rng(random_state)
    Z = np.asarray(points, dtype=np.float64)
    most = int(_STRAYS * len(Z))
    kept, ratio, apart = np.arange(len(Z)), 1.0, False
    for _ in range(_ROUNDS):
        own, widths = Z[kept] - Z[kept].mean(axis=0), _widths(Z[kept])
        if not len(widths):
            break
        k = min(n_neighbors, len(kept) - 1)
        reach, apart = _reach(own, k)
        clouds = [_reach(rng.standard_normal((len(kept), len(widths))) * widths, k)[0] for _ in range(_CLOUDS)]
        ratio = _over(reach, clouds)
        if ratio >= GAUSSIAN:
            break
        limit = max(float(cloud.max() / np.median(cloud)) for cloud in clouds)
        far = np.flatnonzero(reach > limit * np.median(reach))
        far = far[np.argsort(-reach[far], kind="stable")][: most - (len(Z) - len(kept))]
        if not len(far):
            break
        kept = np.delete(kept, far)
    found = Crowding(ratio, len(Z) - len(kept), apart=apart)
    if not found.structured or apart or not columns or Z.shape[1] > COLUMNS:
        return found
    k = min(n_neighbors, len(Z) - 1)
    reach = _reach(Z - Z.mean(axis=0), k)[0]
    found = found._replace(columns=_over(reach, [_reach(cloud, k)[0] for cloud in _shaped(Z, rng)]))
    return found if found.structured else found._replace(strays=0)


def _reach(points: Array, k: int) -> tuple[Array, bool]:
    """Return each point's mean distance to its nearest others, and whether the graph of k neighbours has pieces."""
    lists = searcher("euclidean", points).graph(k)
    near = np.asarray(lists.distances).reshape(len(points), k)[:, :_NEIGHBORS]
    return near.mean(axis=1), bool(components(lists).any())


def _over(reach: Array, clouds: list[Array]) -> float:
    """Return the typical reach over that in clouds; where points of clouds coincide, nothing is crowded beside them."""
    typical = float(np.mean([np.median(cloud) for cloud in clouds]))
    return float(np.median(reach)) / typical if typical > 0 else 1.0


def _widths(Z: Array) -> Array:
    """Return the standard deviations along the principal axes of the points."""
    n, Z = len(Z), Z - Z.mean(axis=0)
    if Z.shape[1] > n:
        Z = Z.T  # the same eigenvalues, of a smaller matrix
    variances = dense.eigh(thread_pool.matmul(np.ascontiguousarray(Z.T), np.ascontiguousarray(Z)))[0] / n
    variances = variances[variances > max(variances[-1], 0.0) * 1e-14]
    return np.sqrt(variances)


def _shaped(X: Array, rng: np.random.Generator) -> list[Array]:
    """Draw clouds with the correlations of the columns' normal scores, each column distributed as the data's.

    Where a column has several humps, its distribution is the nearest one with a single hump (`one_hump`): several are
    clusters, which the clouds must not have.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    n = len(X)
    scores = ndtri((rankdata(X, axis=0) - 0.5) / n)
    values, V = dense.eigh(thread_pool.matmul(np.ascontiguousarray(scores.T), scores) / n)
    root = np.ascontiguousarray((V * np.sqrt(np.maximum(values, 0))).T)
    ranked = np.sort(X - X.mean(axis=0), axis=0)
    values = np.column_stack([one_hump(column) for column in ranked.T])
    out = []
    for _ in range(_CLOUDS):
        order = np.argsort(thread_pool.matmul(rng.standard_normal(scores.shape), root), axis=0, kind="stable")
        cloud = np.empty_like(values)
        np.put_along_axis(cloud, order, values, axis=0)
        out.append(cloud)
    return out


def one_hump(ranked: Array) -> Array:
    """Return the sorted values of a distribution with one hump that is near to that of these sorted values.

    Where there is one hump, gaps between values shrink towards it and grow behind it: the gaps are made so by monotone
    regression on either side of the middle of the shortest stretch that holds half of the values.

    >>> one_hump(np.array([0.0, 1.0, 1.5, 2.0, 3.0])).tolist()
    [0.0, 1.0, 1.5, 2.0, 3.0]
    >>> one_hump(np.array([0.0, 0.0, 0.0, 8.0, 8.0])).tolist()
    [0.0, 0.0, 0.0, 4.0, 8.0]
    """
    half = len(ranked) // 2
    mode = int(np.argmin(ranked[half:] - ranked[: len(ranked) - half])) + half // 2
    gaps = np.diff(ranked)
    left, right = gaps[:mode][::-1], gaps[mode:]
    gaps = np.concatenate([isotonic_regression(side).x if len(side) else side for side in (left, right)])
    gaps[:mode] = gaps[:mode][::-1].copy()
    return ranked[0] + np.concatenate([[0.0], np.cumsum(gaps)])
