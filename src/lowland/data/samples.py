"""Sample data whose true structure is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DataError
from ..core.message import Message, Setting

Floats = NDArray[np.float64]
Seed = int | np.random.Generator | None


def digits() -> tuple[Floats, NDArray[np.int64], list[str]]:
    """Return scikit-learn's bundled digits: 1797 × 64 grey values, their labels and the pixels' names.

    >>> X, labels, names = digits()
    >>> X.shape, int(labels[0]), names[9]
    ((1797, 64), 0, 'pixel_1_1')
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    names = [str(name) for name in bunch.feature_names]
    return np.ascontiguousarray(bunch.data, dtype=np.float64), np.asarray(bunch.target, dtype=np.int64), names


def swiss_roll(n: int, noise: float = 0.0, random_state: Seed = 0) -> tuple[Floats, Floats]:
    """Return a sheet rolled up in three dimensions, and its flat coordinates.

    The roll is the spiral ρ = θ, θ from 3π/2 to 9π/2, of height 21. The truth (arc length, height) is an
    isometry: distances in it are distances along the sheet. Points are spread evenly over the sheet.

    Parameters
    ----------
    n : number of points.
    noise : standard deviation of the Gaussian noise added to each coordinate.
    random_state : a seed or a generator.

    Examples
    --------
    >>> X, truth = swiss_roll(100)
    >>> bool(np.allclose(X[:, 1], truth[:, 1]))
    True
    """
    rng = _start(n, noise, random_state)
    ends = _spiral_length(np.array([1.5 * np.pi, 4.5 * np.pi]))
    length = rng.uniform(ends[0], ends[1], n)
    height = rng.uniform(0.0, 21.0, n)
    theta = _spiral_angle(length)
    X = np.column_stack([theta * np.cos(theta), height, theta * np.sin(theta)])
    return X + noise * rng.standard_normal(X.shape), np.column_stack([length - ends[0], height])


def s_curve(n: int, noise: float = 0.0, random_state: Seed = 0) -> tuple[Floats, Floats]:
    """Return a sheet bent into an S in three dimensions, and its flat coordinates (arc length, height).

    Two three-quarter circles of radius 1 joined at the origin; the truth is an isometry, as in `swiss_roll`.

    >>> X, truth = s_curve(100)
    >>> X.shape, truth.shape
    ((100, 3), (100, 2))
    """
    rng = _start(n, noise, random_state)
    angle = rng.uniform(-1.5 * np.pi, 1.5 * np.pi, n)
    height = rng.uniform(0.0, 2.0, n)
    X = np.column_stack([np.sin(angle), height, np.sign(angle) * (np.cos(angle) - 1.0)])
    return X + noise * rng.standard_normal(X.shape), np.column_stack([angle, height])


def noisy_circle(
    n: int, noise: float = 0.05, radius: float = 1.0, n_features: int = 2, random_state: Seed = 0
) -> tuple[Floats, Floats]:
    """Return points around a circle and their angles: one-dimensional data that PCA needs two components for.

    ``n_features`` above 2 adds coordinates that contain only noise.

    >>> X, angle = noisy_circle(50, noise=0.0)
    >>> bool(np.allclose(np.hypot(X[:, 0], X[:, 1]), 1.0))
    True
    """
    rng = _start(n, noise, random_state)
    if n_features < 2:
        raise DataError(f"a circle needs at least 2 features; n_features is {n_features}")
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    X = np.zeros((n, n_features))
    X[:, 0], X[:, 1] = radius * np.cos(angle), radius * np.sin(angle)
    return X + noise * rng.standard_normal(X.shape), angle


def spheres(
    n: int, radii: tuple[float, ...] = (40.0, 100.0), noise: float = 0.0, random_state: Seed = 0
) -> tuple[Floats, NDArray[np.int64]]:
    """Return points spread evenly on concentric spheres in three dimensions, and which sphere each is on.

    No plane separates the spheres, so no linear reduction can; their radius does.

    >>> X, which = spheres(100)
    >>> bool(np.allclose(np.linalg.norm(X, axis=1), np.array([40.0, 100.0])[which]))
    True
    """
    rng = _start(n, noise, random_state)
    if not radii or not min(radii) > 0:
        raise DataError(Message(Setting("radii"), f" must be positive numbers; got {radii!r}"))
    direction = rng.standard_normal((n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    which = np.arange(n) % len(radii)
    X = direction * np.asarray(radii, dtype=np.float64)[which, None]
    return X + noise * rng.standard_normal(X.shape), which


def low_rank(n: int, d: int, rank: int, noise: float = 0.0, random_state: Seed = 0) -> Floats:
    """Return centred data whose covariance has the eigenvalues rank², (rank − 1)², …, 4, 1, 0, …, 0.

    X = U Σ Vᵀ with random orthonormal U and V, the columns of U summing to zero, and
    σᵢ = (rank − i + 1)·√(n − 1): exact to rounding for 1/(n − 1) and ``noise = 0``. Noise adds about noise²
    to every eigenvalue.

    >>> X = low_rank(50, 8, 3)
    >>> bool(np.allclose(np.linalg.eigvalsh(np.cov(X.T))[::-1][:4], [9, 4, 1, 0]))
    True
    """
    rng = _start(n, noise, random_state)
    if not 1 <= rank <= min(n - 1, d):
        raise DataError(f"rank must lie between 1 and min(n − 1, d) = {min(n - 1, d)}; got {rank}")
    U = rng.standard_normal((n, rank))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    X = (U * (np.arange(rank, 0, -1) * np.sqrt(n - 1.0))) @ V.T
    return np.asarray(X + noise * rng.standard_normal(X.shape), dtype=np.float64)


def _start(n: Any, noise: float, random_state: Seed) -> np.random.Generator:
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise DataError(f"n must be a whole number of at least 1; got {n!r}")
    if not noise >= 0 or not np.isfinite(noise):
        raise DataError(Message(Setting("noise"), f" must be a finite number of at least 0; got {noise!r}"))
    return np.random.default_rng(random_state)


def _spiral_length(theta: Floats) -> Floats:
    """Return the arc length of the spiral ρ = θ from its centre: ½(θ√(1+θ²) + arsinh θ)."""
    return np.asarray(0.5 * (theta * np.sqrt(1.0 + theta**2) + np.arcsinh(theta)))


def _spiral_angle(length: Floats) -> Floats:
    """Return the angle at an arc length, by Newton's method: the derivative of the length is √(1+θ²)."""
    theta = np.sqrt(2.0 * length)
    for _ in range(20):
        theta = theta - (_spiral_length(theta) - length) / np.sqrt(1.0 + theta**2)
    return theta
