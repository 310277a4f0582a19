"""How points join a map: principal axes, and how far two maps lie apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.methods.shared.extension import Triangulation, disagreement, to_principal_axes
from lowland.spectral.distance import scale

EPS = float(np.finfo(float).eps)


@pytest.fixture
def points(rng):
    return rng.standard_normal((60, 3)) * [5.0, 2.0, 1.0]


def test_anchors_and_others_are_placed_where_they_lie(points, rng):
    anchors = points[:20]
    placement = Triangulation.of(scale(cdist(anchors, anchors), 3, EPS, rng))
    Y = placement.place(cdist(points, anchors))
    np.testing.assert_allclose(cdist(Y, Y), cdist(points, points), atol=1e-10)


def test_a_map_on_its_principal_axes_places_others_as_before(points, rng):
    anchors = points[:20]
    placement = Triangulation.of(scale(cdist(anchors, anchors), 3, EPS, rng))
    D = cdist(points, anchors)
    Y, values, turned = to_principal_axes(placement.place(D), placement)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y.T @ Y, np.diag(values), atol=1e-9)
    assert (np.diff(values) < 0).all()
    np.testing.assert_allclose(turned.place(D), Y, atol=1e-11)


def test_two_maps_disagree_by_their_distance(points, rng):
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert disagreement(points, points @ Q + 4, scale=False) < 1e-12
    assert disagreement(points, 2 * points @ Q, scale=True) < 1e-12
    assert disagreement(points, 2 * points @ Q, scale=False) > 0.3
    noisy = [points + 0.01 * rng.standard_normal(points.shape) for _ in range(2)]
    true = np.sqrt(3 * 0.01**2 * 60 / ((points - points.mean(axis=0)) ** 2).sum())
    assert disagreement(*noisy, scale=False) == pytest.approx(true, rel=0.2)


def test_maps_of_fewer_coordinates_are_filled_up(points):
    flat = points * [1, 1, 0]
    assert disagreement(flat[:, :2], flat, scale=False) < 1e-12
    assert disagreement(np.zeros((60, 2)), points, scale=False) == 1.0
