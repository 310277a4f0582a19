"""Known shapes: the truth that is promised is the truth of the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowland.core.errors import DataError
from lowland.data import cities, digits, low_rank, noisy_circle, s_curve, spheres, swiss_roll


@pytest.mark.parametrize("make", [swiss_roll, s_curve])
def test_the_truth_of_a_sheet_is_an_isometry(make: Callable[..., Any]) -> None:
    """Near points are as far apart in space as in the flat truth; no two points are nearer in it."""
    X, truth = make(3000, random_state=3)
    across = np.linalg.norm(X[:, None, :] - X[None, :200, :], axis=2)
    along = np.linalg.norm(truth[:, None, :] - truth[None, :200, :], axis=2)
    assert (across <= along + 1e-9).all()
    near = (along > 0) & (along < np.quantile(along, 0.002))
    np.testing.assert_allclose(across[near], along[near], rtol=0.02)


def test_the_sheet_is_evenly_covered() -> None:
    truth = swiss_roll(20_000, random_state=0)[1]
    counts = np.histogram2d(truth[:, 0], truth[:, 1], bins=4)[0]
    assert np.abs(counts - 1250).max() < 5 * np.sqrt(1250)


def test_the_spectrum_of_low_rank_data_is_known() -> None:
    X = low_rank(60, 12, 5, random_state=1)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-13)
    values = np.linalg.svd(X, compute_uv=False) ** 2 / 59
    np.testing.assert_allclose(values, [25, 16, 9, 4, 1, *[0] * 7], atol=1e-12)


def test_noise_has_the_size_that_was_asked_for() -> None:
    X, angle = noisy_circle(20_000, noise=0.1, radius=2.0, n_features=5, random_state=0)
    clean = np.zeros_like(X)
    clean[:, 0], clean[:, 1] = 2 * np.cos(angle), 2 * np.sin(angle)
    np.testing.assert_allclose((X - clean).std(axis=0), 0.1, rtol=0.05)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: swiss_roll(20, 0.1, seed)[0],
        lambda seed: s_curve(20, 0.1, seed)[0],
        lambda seed: noisy_circle(20, random_state=seed)[0],
        lambda seed: low_rank(20, 5, 2, 0.1, seed),
    ],
)
def test_the_seed_decides(make: Callable[[int], Any]) -> None:
    np.testing.assert_array_equal(make(1), make(1))
    assert not np.array_equal(make(1), make(2))


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(DataError, match="n must be a whole number"):
        swiss_roll(0)
    with pytest.raises(DataError, match="noise must be a finite number"):
        s_curve(5, noise=-1)
    with pytest.raises(DataError, match=r"rank must lie between 1 and .* = 4; got 5"):
        low_rank(5, 9, 5)
    with pytest.raises(DataError, match="at least 2 features"):
        noisy_circle(5, n_features=1)


def test_the_bundled_digits() -> None:
    X, labels, names = digits()
    assert X.shape == (1797, 64)
    assert X.dtype == np.float64
    assert (X.min(), X.max()) == (0, 16)
    assert sorted(set(labels.tolist())) == list(range(10))
    assert len(names) == len(set(names)) == 64


def test_spheres_differ_by_their_radius_alone():
    X, which = spheres(4000, radii=(1.0, 2.0, 5.0))
    assert np.bincount(which).tolist() == [1334, 1333, 1333]
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.array([1.0, 2.0, 5.0])[which])
    for i in range(3):
        assert np.abs(X[which == i].mean(axis=0)).max() < 0.06 * (1.0, 2.0, 5.0)[i]
    with pytest.raises(DataError, match="radii must be positive"):
        spheres(10, radii=(1.0, 0.0))


def test_cities_lie_on_a_sphere():
    D, names, places = cities()
    assert D.shape == (len(names), len(names)) == (22, 22)
    np.testing.assert_array_equal(D, D.T)
    half_way = np.pi * 6371
    assert 0 < D[D > 0].min() < D.max() < half_way
    north = np.radians(places[:, 0])
    i, j = names.index("Oslo"), names.index("Rome")
    assert D[i, j] >= 6371 * abs(north[i] - north[j])  # never shorter than the difference of latitudes
