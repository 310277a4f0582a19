"""Procrustes: the motion is found, and what it cannot remove is measured."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.spectral.procrustes import procrustes


@pytest.mark.parametrize("reflect", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_a_motion_is_undone(reflect, scale, rng):
    A = rng.standard_normal((30, 3))
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    Q[:, 0] *= np.sign(np.linalg.det(Q)) * (-1 if reflect else 1)
    B = (2.5 if scale else 1.0) * A @ Q + [1.0, -2.0, 3.0]
    found = procrustes(A, B, scale=scale)
    assert found.error < 1e-13
    np.testing.assert_allclose(found.rotation, Q, atol=1e-12)
    np.testing.assert_allclose(found(A), B, atol=1e-12)


def test_no_other_motion_is_better(rng):
    A, B = rng.standard_normal((20, 2)), rng.standard_normal((20, 2))
    best = procrustes(A, B, scale=False)
    left = np.linalg.norm(best(A) - B)
    assert best.error == pytest.approx(left / np.linalg.norm(B - B.mean(axis=0)))
    for angle in np.linspace(0, 2 * np.pi, 50):
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        for turn in (R, R @ np.diag([1.0, -1.0])):
            moved = (A - A.mean(axis=0)) @ turn + B.mean(axis=0)
            assert np.linalg.norm(moved - B) >= left - 1e-12


def test_without_reflection_a_mirror_image_does_not_fit(rng):
    A = rng.standard_normal((12, 2))
    mirrored = A * [1.0, -1.0]
    assert procrustes(A, mirrored).error < 1e-12
    kept = procrustes(A, mirrored, reflection=False)
    assert kept.error > 0.1
    assert np.linalg.det(kept.rotation) == pytest.approx(1.0)


def test_different_points_are_refused():
    with pytest.raises(lowland.DataError, match=r"\(3, 2\) and \(4, 2\)"):
        procrustes(np.ones((3, 2)), np.ones((4, 2)))
