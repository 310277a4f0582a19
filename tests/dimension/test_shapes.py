"""What `estimate` says of shapes whose dimension is known."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from dimension_estimates import pair, quiet
from lowland.dimension.angles import plateau

# -- S4's four clouds, drawn so that they have about the spectra that are printed there --------------------------------


def line(rng, n):
    t = rng.uniform(0, 1.06, n)
    return np.column_stack([0.9 * t, 0.43 * t]) + 0.026 * rng.standard_normal((n, 2))


def bent(rng, n):
    t = rng.uniform(-0.6, 0.6, n)
    return np.column_stack([t, 0.6 * t**2]) + 0.02 * rng.standard_normal((n, 2))


def circle(rng, n):
    t = rng.uniform(0, 2 * np.pi, n)
    return 0.4 * np.column_stack([np.cos(t), np.sin(t)]) + 0.01 * rng.standard_normal((n, 2))


def square(rng, n):
    return rng.uniform(size=(n, 2))


@pytest.mark.parametrize("n", [100, 300, 2000])
@pytest.mark.parametrize(("cloud", "truth"), [(line, (1, 1)), (bent, (1, 1)), (circle, (2, 1)), (square, (2, 2))])
def test_l12_m8_the_four_clouds_are_told_apart(cloud, truth, n):
    for seed in range(3):
        assert pair(quiet(cloud(np.random.default_rng(seed), n))) == truth


def test_spectra_alone_do_not_tell_circle_from_square():
    rng = np.random.default_rng(0)
    ring, filled = quiet(circle(rng, 500)), quiet(square(rng, 500))
    assert ring.linear["variance_share"] == filled.linear["variance_share"] == 2
    assert "the shape is curved and closed" in ring.sentence
    assert "PCA is sufficient" in filled.sentence


# -- shapes ------------------------------------------------------------------------------------------------------------


def cube(rng, n, d):
    return rng.uniform(size=(n, d))


def sphere(rng, n, d):
    X = rng.standard_normal((n, d + 1))
    return X / np.linalg.norm(X, axis=1)[:, None]


def affine(rng, n, d, noise=0.01):
    Q = np.linalg.qr(rng.standard_normal((20, d)))[0]
    return cube(rng, n, d) @ Q.T + noise * rng.standard_normal((n, 20))


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def within(value, d):
    return abs(value - d) <= (0.5 if d <= 5 else 0.1 * d)


SHAPES = [(cube, 2), (cube, 5), (cube, 8), (sphere, 3), (sphere, 9), (affine, 1), (affine, 6), (gaussian, 10)]


@pytest.mark.parametrize(("shape", "d"), SHAPES)
def test_known_dimensions_come_out(shape, d):
    """Also without the rank, which by itself bounds a cube and a Gaussian cloud by d."""
    found = quiet(shape(np.random.default_rng(d), 3000, d))
    assert within(found.consensus["nonlinear"], d)
    assert within(plateau(found.scales).value, d)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5000, 20_000])
@pytest.mark.parametrize("shape", [cube, sphere, affine, lambda r, n, d: affine(r, n, d, 0.03)])
def test_all_dimensions_from_1_to_10(shape, n):
    for d in range(1, 11):
        found = quiet(shape(np.random.default_rng(100 + d), n, d))
        for value in (found.consensus["nonlinear"], plateau(found.scales).value):
            assert within(value, d), (d, value)


def test_swiss_roll_is_2_and_3():
    X, _ = lowland.data.swiss_roll(3000, random_state=0)
    assert pair(quiet(X)) == (3, 2)


def test_strong_curvature_is_followed_back_to_zero():
    """A flat torus of 5 circles turns within the distance of neighbours: directions alone say 6 and more."""
    t = np.random.default_rng(0).uniform(0, 2 * np.pi, (5000, 5))
    found = quiet(np.column_stack([np.cos(t), np.sin(t)]))
    assert found.plateau.rising
    assert found.scales.value[0] > 5.5
    assert found.consensus["nonlinear"] == pytest.approx(5, abs=0.5)
    assert any("extrapolated" in text for text in found.warnings)


def test_empty_columns_do_not_hide_that_noise_fills_the_rest():
    X = affine(np.random.default_rng(2), 3000, 2, noise=0.04)
    wide = np.hstack([X, np.zeros((3000, 30))])
    found = quiet(X).consensus["nonlinear"]
    assert quiet(wide).consensus["nonlinear"] == pytest.approx(found, rel=1e-6)
    assert found == pytest.approx(2, abs=0.5)


def test_noise_is_a_dimension_only_below_its_scale():
    found = quiet(affine(np.random.default_rng(1), 4000, 2, noise=0.03))
    assert found.nonlinear["two_nn"] > 8
    assert found.consensus["nonlinear"] == pytest.approx(2, abs=0.5)
    assert found.plateau.first > 3
    assert any("the estimate depends on the scale" in text for text in found.warnings)


def test_the_interval_holds_the_truth():
    """Chance and the bias of borders together, on a cube whose every point is near one."""
    held = 0
    for seed in range(20):
        found = quiet(cube(np.random.default_rng(seed), 600, 4), anchors=300).consensus["nonlinear"]
        held += found.low <= 4 <= found.high
    assert held >= 18


def fractal(corners, ratio, n=4000):
    """Rows of the set that is itself in each corner, smaller by the ratio: of ln(corners)/ln(ratio) dimensions."""
    rng = np.random.default_rng(11)
    return sum((ratio - 1) * corners[rng.integers(0, len(corners), n)] / ratio ** (j + 1) for j in range(24))


def test_directions_and_distances_that_disagree_are_told():
    """Four corners, a fifth as large each: distances grow as in 0.86 dimensions, and directions fill more than 1.5."""
    found = quiet(fractal(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 5))
    assert found.nonlinear["correlation_dimension"] == pytest.approx(np.log(4) / np.log(5), abs=0.05)
    assert found.consensus["nonlinear"] > 1.5
    assert any("a fractal" in text for text in found.warnings)


def test_a_dimension_is_not_rounded_out_of_its_interval():
    """Sierpinski's triangle has ln 3/ln 2 = 1.58 dimensions."""
    found = quiet(fractal(np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8]]), 2))
    assert found.nonlinear["correlation_dimension"] == pytest.approx(np.log(3) / np.log(2), abs=0.1)
    value = found.consensus["nonlinear"]
    assert not value.low <= 2 <= value.high
    assert found.sentence.startswith(f"The data have about {float(value):.1f} dimensions (")
    assert found.sentence.endswith("and 2 linear dimensions: PCA is sufficient.")
