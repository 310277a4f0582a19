"""Dimension from ratios of the distances to nearest neighbours, which do not depend on the density."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core.errors import DataError, LowlandWarning
from ..core.measure import Z95, Measure
from ..core.message import Message, Owner, Setting
from ..core.random import seed
from .points import Spec, choose_anchors, distinct_points, ties
from .repeats import repeated

Array = Any

# Neighbourhoods share points, so their values are correlated: on flat periodic boxes of 1, 2 and 5 dimensions the
# variance of the mean was 1.4 to 2.0 times that of independent values.
OVERLAP = 2.0
TIED = 0.02  # share of ties above which values are discrete


def two_nn(
    X: Any,
    *,
    discard: float = 0.1,
    metric: Spec = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
) -> Measure:
    """Return the dimension by the ratio of the distances to the two nearest neighbours (TwoNN).

    The volumes between successive neighbours of a point are independent and exponential, so µ = r₂/r₁ has
    P(µ > x) = x^−d if the density is locally constant. The largest µ violate this; a share ``discard`` is censored, and
    d is the maximum likelihood estimate:

        d = r/(Σ_{i≤r} ln µ_i + (n − r) ln µ_r).

    It uses the finest scale only: noise counts as dimensions, and in many dimensions borders make it too low.
    `lowland.dimension.estimate` uses several scales.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The rows; with ``metric="precomputed"`` their distances. Equal rows are left out, with a warning.
    discard : float
        Share of the largest ratios to censor.
    metric : str or callable
        Metric of the rows. Squared distances (sqeuclidean, cosine, correlation) are replaced by their roots.
    anchors : int, None or "auto"
        Number of points whose neighbours are searched, among all points: None: all; "auto": all up to 10,000.
    random_state : int, optional
        Random seed of the anchors; None is 0.

    Returns
    -------
    Measure
        The dimension with its 95 % interval, which covers chance but not the bias of borders and noise.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.random.default_rng(0).uniform(0, 6, 1000)
    >>> d = two_nn(np.column_stack([np.cos(t), np.sin(t), t]))
    >>> d.low < 1 < d.high
    True

    References
    ----------
    E. Facco, M. d'Errico, A. Rodriguez, A. Laio, Estimating the intrinsic dimension of datasets by a minimal
    neighborhood information, Scientific Reports 7 (2017).
    """
    if not 0 <= discard < 1:
        raise ValueError(
            Message(Owner("two_nn"), Setting("discard"), f" must be a number in [0, 1); it is {discard!r}")
        )
    points = distinct_points(X, metric, "two_nn")
    numbers = choose_anchors(points.n, anchors, seed(random_state), "two_nn")
    _, distances = points.nearest(numbers, np.arange(points.n), 2)
    _warn_of_ties(distances, "two_nn")
    return two_nn_of(distances, discard, exact=len(numbers) == points.n)


def two_nn_of(distances: Array, discard: float = 0.1, *, exact: bool = True) -> Measure:
    """Return TwoNN's estimate from distances to neighbours, nearest first (m × 2 or more)."""
    logs = np.sort(np.log(distances[:, 1] / distances[:, 0]))
    n = len(logs)
    kept = max(2, round(n * (1 - discard)))
    inverse = (logs[:kept].sum() + (n - kept) * logs[kept - 1]) / kept
    if not inverse > 0:
        raise DataError(
            Message(
                Owner("two_nn"), "the two nearest neighbours of every point are equally far, as on a grid; add noise"
            )
        )
    error = np.sqrt(OVERLAP / kept)  # relative standard error of an exponential mean
    return _inverted(inverse, error * inverse, exact)


def levina_bickel(
    X: Any,
    *,
    n_neighbors: int | tuple[int, int] = (10, 20),
    metric: Spec = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
) -> Measure:
    """Return the maximum likelihood dimension from the distances to k neighbours, averaged over k.

    The estimate at a point is 1/d = 1/(k − 1) Σ_{j<k} ln(r_k/r_j). The inverses are averaged over points (MacKay and
    Ghahramani: averaging d itself is biased), and the result over a range of k.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The rows; with ``metric="precomputed"`` their distances. Equal rows are left out, with a warning.
    n_neighbors : int or (int, int)
        One k, or the smallest and the largest of them.
    metric : str or callable
        Metric of the rows. Squared distances (sqeuclidean, cosine, correlation) are replaced by their roots.
    anchors : int, None or "auto"
        Number of points whose neighbours are searched, among all points: None: all; "auto": all up to 10,000.
    random_state : int, optional
        Random seed of the anchors; None is 0.

    Returns
    -------
    Measure
        The dimension with its 95 % interval, which covers chance but not the bias of borders and noise.

    Examples
    --------
    >>> import numpy as np
    >>> sphere = np.random.default_rng(0).standard_normal((2000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    >>> round(levina_bickel(sphere), 1)
    2.0

    References
    ----------
    E. Levina, P. J. Bickel, Maximum likelihood estimation of intrinsic dimension, NIPS 17 (2004);
    D. J. C. MacKay, Z. Ghahramani, Comments on that paper (2005).
    """
    points = distinct_points(X, metric, "levina_bickel")
    low, high = neighbor_range(n_neighbors, points.n, "levina_bickel")
    numbers = choose_anchors(points.n, anchors, seed(random_state), "levina_bickel")
    _, distances = points.nearest(numbers, np.arange(points.n), high)
    _warn_of_ties(distances, "levina_bickel")
    return levina_bickel_of(distances, low, high, exact=len(numbers) == points.n)


def levina_bickel_of(distances: Array, low: int, high: int, *, exact: bool = True) -> Measure:
    """Return the estimate from distances to neighbours, nearest first (m × high)."""
    logs = np.log(distances)
    sums = np.cumsum(logs, axis=1)
    values, errors = [], []
    for k in range(low, high + 1):
        inverse = logs[:, k - 1] - sums[:, k - 2] / (k - 1)
        mean = inverse.mean()
        if not mean > 0:
            raise DataError(
                Message(Owner("levina_bickel"), "all neighbours are equally far, as on a grid; use more neighbours")
            )
        values.append(1 / mean)
        errors.append(np.sqrt(OVERLAP / len(inverse)) * inverse.std() / mean**2)
    d = float(np.mean(values))
    error = Z95 * float(np.mean(errors))  # all k use the same points, so averaging does not reduce the error
    return Measure(d, max(0.0, d - error), d + error, exact=exact)


def _inverted(inverse: float, error: float, exact: bool) -> Measure:
    """Return 1/x with its interval."""
    low, high = inverse + Z95 * error, inverse - Z95 * error
    return Measure(1 / inverse, 1 / low, 1 / high if high > 0 else np.inf, exact=exact)


def neighbor_range(n_neighbors: Any, n: int, owner: str) -> tuple[int, int]:
    """Return the smallest and the largest k, checked against the number of points."""
    pair = n_neighbors if isinstance(n_neighbors, tuple | list) else (n_neighbors, n_neighbors)
    whole = len(pair) == 2 and all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in pair)
    if not whole or not 2 <= pair[0] <= pair[1]:
        allowed = f" must be a whole number of at least 2, or a range (smallest, largest); it is {n_neighbors!r}"
        raise ValueError(Message(Owner(owner), Setting("n_neighbors"), allowed))
    if pair[1] > n - 1:
        large = f" is too large for {n} distinct points; use at most {n - 1}"
        raise DataError(Message(Owner(owner), Setting("n_neighbors", n_neighbors), large))
    return int(pair[0]), int(pair[1])


def _warn_of_ties(distances: Array, owner: str) -> None:
    share = ties(distances)
    if share > TIED:
        warnings.warn(Message(Owner(owner), discrete(share)), LowlandWarning, stacklevel=3)
    if repeated(distances):
        warnings.warn(
            Message(
                Owner(owner),
                "most rows are ten times as near to one row as to the next, like repeated measurements, and the "
                "distances between repetitions do not describe the shape; give one row of each group",
            ),
            LowlandWarning,
            stacklevel=3,
        )


def discrete(share: float) -> str:
    """Return the warning about ties."""
    return (
        f"{100 * share:.0f} % of the points have two nearest neighbours at the same distance: the values are discrete "
        "(integers, rounded, or on a grid), and estimates from neighbour distances are unreliable"
    )
