"""Surfaces and curves for tests of neighbour methods, each with its flat or angular coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DataError
from .samples import Floats, Seed, _spiral_angle, _spiral_length, _start

_HEIGHT = 21.0  # of the swiss roll's sheet
_HOLE = ((0.35, 0.65), (0.3, 0.7))  # of its length and height


def swiss_hole(n: int, noise: float = 0.0, random_state: Seed = 0) -> tuple[Floats, Floats]:
    """Return a swiss roll whose sheet has a rectangular hole, and its flat coordinates.

    The sheet and its truth (arc length, height) are those of `swiss_roll`; no point lies in the middle 30 % of its
    length and 40 % of its height. Shortest paths along the sheet go around the hole, so their lengths are not the
    distances in the truth: the sheet is flat but not convex.

    Parameters
    ----------
    n : number of points.
    noise : standard deviation of the Gaussian noise added to each coordinate.
    random_state : a seed or a generator.

    Examples
    --------
    >>> X, truth = swiss_hole(300)
    >>> middle = np.array([89.37, 21.0]) / 2
    >>> bool((np.abs(truth - middle) < [13.4, 4.2]).all(axis=1).any())
    False
    """
    rng = _start(n, noise, random_state)
    ends = _spiral_length(np.array([1.5 * np.pi, 4.5 * np.pi]))
    size = np.array([ends[1] - ends[0], _HEIGHT])
    low, high = np.array(_HOLE).T * size[:, None].T
    truth = np.empty((0, 2))
    while len(truth) < n:
        drawn = rng.uniform(0.0, 1.0, (n, 2)) * size
        truth = np.vstack([truth, drawn[~((drawn > low) & (drawn < high)).all(axis=1)]])
    truth = truth[:n]
    theta = _spiral_angle(truth[:, 0] + ends[0])
    X = np.column_stack([theta * np.cos(theta), truth[:, 1], theta * np.sin(theta)])
    return X + noise * rng.standard_normal(X.shape), truth


def circle(n: int, noise: float = 0.0, n_features: int = 2, random_state: Seed = 0) -> tuple[Floats, Floats]:
    """Return n evenly spaced points of the unit circle in a plane of ``n_features`` dimensions, and their angles.

    Unlike in `noisy_circle`, the angles 2πi/n are not random, so the exact result of a graph method is known.

    >>> X, angle = circle(4)
    >>> X.round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [-0.0, -1.0]]
    """
    rng = _start(n, noise, random_state)
    angle = 2 * np.pi * np.arange(n) / n
    return _in_space(np.column_stack([np.cos(angle), np.sin(angle)]), n_features, noise, rng), angle


def punctured_sphere(n: int, cap: float = 0.25, noise: float = 0.0, random_state: Seed = 0) -> tuple[Floats, Floats]:
    """Return points spread evenly over the unit sphere without a cap around its north pole, and their projection.

    ``cap`` is the share of the surface that is cut off. The truth is the stereographic projection from the north
    pole to a plane: it preserves angles and neighbours but not distances, because a sphere is not flat.

    >>> X, truth = punctured_sphere(200, cap=0.25)
    >>> bool(X[:, 2].max() <= 0.5), bool(np.allclose(np.linalg.norm(X, axis=1), 1))
    (True, True)
    """
    rng = _start(n, noise, random_state)
    _check_cap(cap)
    z = rng.uniform(-1.0, 1.0 - 2 * cap, n)  # the area of a slice is proportional to its height
    angle = rng.uniform(0.0, 2 * np.pi, n)
    ring = np.sqrt(1 - z**2)
    X = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
    return X + noise * rng.standard_normal(X.shape), X[:, :2] / (1 - z)[:, None]


def fishbowl(n: int, cap: float = 0.1, noise: float = 0.0, random_state: Seed = 0) -> tuple[Floats, Floats]:
    """Return the inverse stereographic projection of points spread evenly over a disc, and the points of the disc.

    The projection covers the unit sphere except a cap at the top with the share ``cap`` of the surface. It preserves
    angles, not lengths, so points are dense near the rim (de Silva & Tenenbaum 2003).

    >>> X, truth = fishbowl(200, cap=0.1)
    >>> bool(np.hypot(*truth.T).max() <= 3), bool(np.allclose(np.linalg.norm(X, axis=1), 1))
    (True, True)
    """
    rng = _start(n, noise, random_state)
    _check_cap(cap)
    rim = np.sqrt((1 - cap) / cap)  # radius of the projection of the cap's edge, z = 1 − 2 cap
    r, angle = rim * np.sqrt(rng.uniform(0.0, 1.0, n)), rng.uniform(0.0, 2 * np.pi, n)
    truth = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    X = np.column_stack([2 * truth, r**2 - 1]) / (1 + r**2)[:, None]
    return X + noise * rng.standard_normal(X.shape), truth


def flat_grid(
    rows: int, columns: int, n_features: int = 3, noise: float = 0.0, random_state: Seed = 0
) -> tuple[Floats, Floats]:
    """Return a grid with steps of 1, rotated in ``n_features`` dimensions, and its flat coordinates (row, column).

    The distances of both are equal.

    >>> X, truth = flat_grid(2, 3)
    >>> X.shape, truth.tolist()
    ((6, 3), [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    """
    rng = _start(rows, noise, random_state)
    _start(columns, noise, 0)
    truth: Floats = np.indices((rows, columns)).reshape(2, -1).T.astype(np.float64)
    return _in_space(truth, n_features, noise, rng), truth


def _in_space(flat: Floats, n_features: int, noise: float, rng: np.random.Generator) -> Floats:
    """Return points of a plane, with noise, in a random plane of ``n_features`` dimensions; unrotated in two."""
    if not n_features >= 2:
        raise DataError(f"this shape needs at least 2 features; n_features is {n_features}")
    if n_features > 2:
        flat = flat @ np.linalg.qr(rng.standard_normal((n_features, 2)))[0].T
    return np.asarray(flat + noise * rng.standard_normal(flat.shape), dtype=np.float64)


def _check_cap(cap: Any) -> None:
    if not 0 < cap < 1:
        raise DataError(f"cap is the share of the sphere that is cut off, between 0 and 1; got {cap!r}")
