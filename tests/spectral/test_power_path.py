"""Power iteration step by step, and the null spectrum of parallel analysis."""

import numpy as np
import pytest

from lowland.dimension import eigengap, null_shares, parallel_analysis
from lowland.spectral.power import power_path


def test_the_tangent_shrinks_by_the_ratio_of_eigenvalues():
    path = power_path(np.diag([3.0, 1.5]), [1.0, 2.0], 6)
    np.testing.assert_allclose(np.tan(np.deg2rad(path.angles)), 2 * 0.5 ** np.arange(7))
    assert path.rate == 0.5
    np.testing.assert_allclose(np.linalg.norm(path.vectors, axis=1), 1)
    for v, w in zip(path.vectors, path.vectors[1:], strict=False):
        np.testing.assert_allclose(w, np.array([3.0, 1.5]) * v / np.linalg.norm(np.array([3.0, 1.5]) * v))


def test_the_default_start_is_far_and_the_end_is_the_first_eigenvector(rng):
    A = rng.normal(size=(30, 5))
    path = power_path(A.T @ A, steps=200)
    assert path.angles[0] == pytest.approx(80)
    assert path.angles[-1] < 1e-4
    assert abs(path.vectors[-1] @ path.first) == pytest.approx(1)
    assert path.eigenvalues[0] == pytest.approx(np.linalg.svd(A)[1][0] ** 2)


def test_bad_matrices_and_starts_are_refused():
    for C, text in (([[1.0, 2.0]], "symmetric"), ([[1.0, 2.0], [0.0, 1.0]], "symmetric"), (-np.eye(2), "semidefinite")):
        with pytest.raises(ValueError, match=text):
            power_path(C)
    with pytest.raises(ValueError, match="vector of 2 numbers"):
        power_path(np.eye(2), [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="orthogonal to all directions that vary"):
        power_path(np.diag([1.0, 0.0]), [0.0, 1.0])
    with pytest.raises(ValueError, match="steps must be"):
        power_path(np.eye(2), steps=0)


@pytest.mark.parametrize("scale", [False, True])
def test_the_line_of_parallel_analysis_gives_its_count(rng, scale):
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8)) + rng.normal(size=(200, 8))
    X = X * np.linspace(1, 3, 8)
    Z = X / X.std(axis=0) if scale else X
    values = np.linalg.eigvalsh(np.cov(Z, rowvar=False))[::-1]
    line = null_shares(X, scale=scale)
    above = values / values.sum() > line
    assert parallel_analysis(X, scale=scale) == int(np.argmin(above)) == 2
    assert 1 < line.sum() < 1.5  # a quantile of each value, so more than the whole together


def test_gaps_of_both_kinds_of_spectra():
    assert eigengap([9.0, 8.0, 0.5, 0.4, -3.0]) == (2, 16.0)
    place, size = eigengap([0.0, 0.1, 0.7, 0.8])
    assert (place, size) == (2, pytest.approx(0.6))
    assert eigengap([1.0]) == (None, None)
