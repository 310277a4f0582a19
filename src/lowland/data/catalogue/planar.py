"""Point sets in a plane whose mean, directions and eigenvalues are exactly those that a lecture prints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.errors import DataError
from ..samples import Floats, Seed, _start, noisy_circle

Pair = tuple[float, float]
_DIAGONAL = (1.0, 0.8)  # direction of the straight line


def line(
    n: int, noise: float = 0.03, eigenvalues: Pair | None = (0.0938, 0.0007), random_state: Seed = 0
) -> tuple[Floats, Floats]:
    """Return points near a straight line, and their places along it: PCA needs one component.

    Parameters
    ----------
    n : number of points.
    noise : standard deviation of the Gaussian noise added to each coordinate.
    eigenvalues : of the covariance (divisor n − 1). The points are stretched along their principal axes to have them
        exactly; None leaves the points as drawn.
    random_state : a seed or a generator.

    Examples
    --------
    >>> X, place = line(50)
    >>> np.linalg.eigvalsh(np.cov(X.T)).round(12).tolist()
    [0.0007, 0.0938]
    """
    rng = _start(n, noise, random_state)
    place = rng.uniform(0.0, 1.0, n)
    X = place[:, None] * np.array(_DIAGONAL) + noise * rng.standard_normal((n, 2))
    return with_eigenvalues(X, eigenvalues), place


def bent_line(
    n: int, noise: float = 0.015, eigenvalues: Pair | None = (0.1260, 0.0054), random_state: Seed = 0
) -> tuple[Floats, Floats]:
    """Return points near a bent line (a parabola), and their places along it: one component explains most variance.

    Parameters as in `line`.

    >>> X, place = bent_line(50, eigenvalues=None, noise=0)
    >>> bool(np.allclose(X[:, 1], X[:, 0] ** 2))
    True
    """
    rng = _start(n, noise, random_state)
    place = rng.uniform(0.0, 1.0, n)
    X = np.column_stack([place, place**2]) + noise * rng.standard_normal((n, 2))
    return with_eigenvalues(X, eigenvalues), place


def ring(
    n: int, noise: float = 0.02, eigenvalues: Pair | None = (0.0884, 0.0725), random_state: Seed = 0
) -> tuple[Floats, Floats]:
    """Return points near a circle of radius 0.4 at random angles, and the angles.

    The data have one dimension, and PCA needs two components. Parameters as in `line`.

    >>> X, angle = ring(50, eigenvalues=None, noise=0)
    >>> bool(np.allclose(np.hypot(*X.T), 0.4))
    True
    """
    X, angle = noisy_circle(n, noise, radius=0.4, random_state=random_state)
    return with_eigenvalues(X, eigenvalues), angle


def square(n: int, eigenvalues: Pair | None = (0.0881, 0.0769), random_state: Seed = 0) -> tuple[Floats, None]:
    """Return points spread over a square: no structure, with almost the spectrum of `ring`.

    Parameters as in `line`.

    >>> X, _ = square(50, eigenvalues=None)
    >>> bool(X.min() >= 0), bool(X.max() <= 1)
    (True, True)
    """
    rng = _start(n, 0.0, random_state)
    return with_eigenvalues(rng.uniform(0.0, 1.0, (n, 2)), eigenvalues), None


def cloud(
    n: int,
    mean: Pair = (0.54, 0.52),
    direction: Pair = (1.0, 0.45),
    eigenvalues: Pair = (0.04, 0.008),
    random_state: Seed = 0,
) -> tuple[Floats, None]:
    """Return normally distributed points whose mean and first principal direction are exactly these.

    Examples
    --------
    >>> X, _ = cloud(50)
    >>> X.mean(axis=0).round(12).tolist()
    [0.54, 0.52]
    """
    rng = _start(n, 0.0, random_state)
    if not np.hypot(*direction) > 0:
        raise DataError(f"direction must not be zero; got {direction!r}")
    scores = _uncorrelated(rng.standard_normal((n, 2))) * np.sqrt(_checked(eigenvalues))
    c, s = np.array(direction, dtype=np.float64) / np.hypot(*direction)
    return scores @ np.array([[c, s], [-s, c]]) + np.array(mean, dtype=np.float64), None


def correlated(n: int, correlation: float = 0.8, random_state: Seed = 0) -> tuple[Floats, None]:
    """Return two standardised variables with exactly this correlation coefficient.

    >>> X, _ = correlated(50, correlation=-0.5)
    >>> round(float(np.corrcoef(X.T)[0, 1]), 12)
    -0.5
    """
    rng = _start(n, 0.0, random_state)
    if not -1 <= correlation <= 1:
        raise DataError(f"correlation must lie between -1 and 1; got {correlation!r}")
    first, other = _uncorrelated(rng.standard_normal((n, 2))).T
    return np.column_stack([first, correlation * first + np.sqrt(1 - correlation**2) * other]), None


def hidden_classes(
    n: int, length: float = 4.0, gap: float = 2.0, random_state: Seed = 0
) -> tuple[Floats, NDArray[np.int64]]:
    """Return two long parallel clouds and the cloud of each point: the direction of largest variance mixes them.

    ``length`` is the standard deviation along the clouds, ``gap`` the distance between them; across, the standard
    deviation is 0.3. The first component of PCA runs along the clouds, the classes differ along the second.

    >>> X, which = hidden_classes(100)
    >>> bool((X[which == 1, 1].min() > X[which == 0, 1].max()))
    True
    """
    rng = _start(n, 0.0, random_state)
    which = np.arange(n) % 2
    X = rng.standard_normal((n, 2)) * [length, 0.3]
    X[:, 1] += gap * (which - 0.5)
    return X, which


def with_eigenvalues(X: Floats, eigenvalues: Pair | None) -> Floats:
    """Return points in a plane stretched along their principal axes so that the covariance has these eigenvalues."""
    if eigenvalues is None:
        return X
    mean = X.mean(axis=0)
    angle = _principal_angle(X)
    axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    scores = (X - mean) @ axes.T
    return np.asarray(mean + scores * np.sqrt(_checked(eigenvalues) / _variances(scores)) @ axes)


def _uncorrelated(X: Floats) -> Floats:
    """Return points with mean 0, variances 1 and no correlation (divisor n − 1)."""
    X = X - X.mean(axis=0)
    angle = _principal_angle(X)
    scores = X @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(scores / np.sqrt(_variances(scores)))


def _principal_angle(X: Floats) -> float:
    """Return the angle of the first principal axis of points in a plane: tan 2θ = 2 c₁₂ / (c₁₁ − c₂₂)."""
    x, y = (X - X.mean(axis=0)).T
    return 0.5 * float(np.arctan2(2 * x @ y, x @ x - y @ y))


def _variances(scores: Floats) -> Floats:
    if len(scores) < 3:
        raise DataError(f"n must be at least 3 for a plane with exact variances; got {len(scores)}")
    variances = scores.var(axis=0, ddof=1)
    if not variances.min() > 1e-12 * variances.max():
        raise DataError("the points lie on one line, so their second eigenvalue is 0; set noise above 0")
    return np.asarray(variances)


def _checked(eigenvalues: Pair) -> Floats:
    values = np.array(eigenvalues, dtype=np.float64)
    if values.shape != (2,) or not (np.isfinite(values) & (values > 0)).all() or values[0] < values[1]:
        raise DataError(f"eigenvalues must be two positive numbers, the larger first; got {eigenvalues!r}")
    return values
