"""Shapes for methods on neighbours: the truth that is promised is the truth of the points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from lowland.core.errors import DataError
from lowland.data import circle, fishbowl, flat_grid, punctured_sphere, swiss_hole

ENDS = np.array([1.5, 4.5]) * np.pi
LENGTH, HEIGHT = np.diff(ENDS * np.sqrt(1 + ENDS**2) + np.arcsinh(ENDS))[0] / 2, 21.0  # of the spiral ρ = θ


def test_the_hole_is_empty_and_the_sheet_around_it_is_not():
    X, truth = swiss_hole(20_000, random_state=1)
    part = truth / [LENGTH, HEIGHT]
    inside = (part > [0.35, 0.3]).all(axis=1) & (part < [0.65, 0.7]).all(axis=1)
    assert X.shape == (20_000, 3)
    assert not inside.any()
    counts = np.histogram2d(*part.T, bins=[[0, 0.35, 0.65, 1], [0, 0.3, 0.7, 1]])[0]
    area = np.outer([0.35, 0.3, 0.35], [0.3, 0.4, 0.3]) / 0.88
    area[1, 1] = 0
    assert np.abs(counts - 20_000 * area).max() < 5 * np.sqrt(20_000 * 0.16)


def test_the_sheet_with_a_hole_is_bent_and_not_stretched():
    X, truth = swiss_hole(6000)
    along, pairs = cKDTree(truth).query(truth, 5)
    across = np.linalg.norm(X[pairs] - X[:, None, :], axis=2)
    assert (across <= along + 1e-9).all()
    np.testing.assert_allclose(across[:, 1:], along[:, 1:], rtol=0.05)


def test_a_circle_has_equal_steps():
    X, angle = circle(12, n_features=5)
    steps = np.linalg.norm(X - np.roll(X, 1, axis=0), axis=1)
    np.testing.assert_allclose(steps, 2 * np.sin(np.pi / 12), rtol=1e-12)
    assert np.linalg.matrix_rank(X) == 2
    np.testing.assert_allclose(angle, np.arange(12) * np.pi / 6)


@pytest.mark.parametrize(("make", "cap"), [(punctured_sphere, 0.25), (fishbowl, 0.1)])
def test_the_truth_of_a_bowl_is_its_stereographic_projection(make, cap):
    X, truth = make(5000, cap=cap)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-12)
    assert 1 - 2 * cap - 0.05 < X[:, 2].max() <= 1 - 2 * cap
    r2 = (truth**2).sum(axis=1)
    np.testing.assert_allclose(X, np.column_stack([2 * truth, r2 - 1]) / (1 + r2)[:, None], atol=1e-12)


def test_what_is_spread_evenly():
    """The sphere over its surface, hence over heights; the fishbowl over its disc, hence over squared radii."""
    heights = punctured_sphere(20_000, cap=0.5)[0][:, 2]
    squares = (fishbowl(20_000, cap=0.2)[1] ** 2).sum(axis=1)
    for values, top in ((heights + 1, 1.0), (squares, 4.0)):
        counts = np.histogram(values, bins=10, range=(0, top))[0]
        assert counts.sum() == 20_000
        assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)


def test_a_grid_is_turned_and_nothing_else():
    X, truth = flat_grid(4, 6, n_features=7)
    assert X.shape == (24, 7)
    far = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.testing.assert_allclose(far, np.linalg.norm(truth[:, None] - truth[None], axis=2), atol=1e-12)
    np.testing.assert_array_equal(flat_grid(4, 6, n_features=2)[0], truth)


@pytest.mark.parametrize("make", [swiss_hole, circle, punctured_sphere, fishbowl, lambda n, **o: flat_grid(n, n, **o)])
def test_seeds_and_noise(make):
    X, truth = make(50, noise=0.1, random_state=4)
    again, same = make(50, noise=0.1, random_state=4)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(truth, same)
    assert not np.array_equal(make(50, noise=0.1, random_state=5)[0], X)
    with pytest.raises(DataError, match="noise must be"):
        make(50, noise=-1.0)
    with pytest.raises(DataError, match="whole number"):
        make(0)


def test_bad_shapes():
    with pytest.raises(DataError, match="between 0 and 1; got 1"):
        fishbowl(10, cap=1.0)
    with pytest.raises(DataError, match="at least 2 features; n_features is 1"):
        circle(10, n_features=1)
