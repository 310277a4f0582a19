"""The whole answer: S4's cases, known shapes, several scales, warnings and forms."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from lowland import RowSource
from lowland.dimension import Estimate, estimate
from lowland.dimension.angles import Curve, plateau
from lowland.errors import DataError, DominantColumnWarning, LowlandWarning


def quiet(X, **options):
    """Estimate where warnings are beside the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        return estimate(X, **options)


def pair(found):
    return round(found.consensus["linear"]), round(found.consensus["nonlinear"])


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
    assert "they curve" in ring.sentence
    assert "PCA can show them" in filled.sentence


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
    found = quiet(shape(np.random.default_rng(d), 3000, d)).consensus["nonlinear"]
    assert within(found, d)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5000, 20_000])
@pytest.mark.parametrize("shape", [cube, sphere, affine, lambda r, n, d: affine(r, n, d, 0.03)])
def test_all_dimensions_from_1_to_10(shape, n):
    for d in range(1, 11):
        found = quiet(shape(np.random.default_rng(100 + d), n, d)).consensus["nonlinear"]
        assert within(found, d), (d, found)


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
    assert any("followed back" in text for text in found.warnings)


def test_empty_columns_do_not_hide_that_noise_fills_the_rest():
    X = affine(np.random.default_rng(2), 3000, 2, noise=0.04)
    wide = np.hstack([X, np.zeros((3000, 30))])
    assert quiet(wide).consensus["nonlinear"] == pytest.approx(quiet(X).consensus["nonlinear"], rel=1e-6)
    assert quiet(X).consensus["nonlinear"] == pytest.approx(2, abs=0.5)


def test_noise_is_a_dimension_only_below_its_scale():
    found = quiet(affine(np.random.default_rng(1), 4000, 2, noise=0.03))
    assert found.nonlinear["two_nn"] > 8
    assert found.consensus["nonlinear"] == pytest.approx(2, abs=0.5)
    assert found.plateau.first > 3
    assert any("scales disagree" in text for text in found.warnings)


# -- identities --------------------------------------------------------------------------------------------------------


def test_units_rotation_and_further_columns_change_nothing():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(400, 3))
    Q = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    a, b = estimate(X), estimate(50 * X @ Q.T + 3)
    for kind in ("linear", "nonlinear"):
        assert a.consensus[kind] == pytest.approx(b.consensus[kind], rel=1e-6)
    np.testing.assert_allclose(a.scales.value, b.scales.value, rtol=1e-6)
    np.testing.assert_allclose(50 * a.scales.radius, b.scales.radius, rtol=1e-9)


def test_distances_alone_give_the_nonlinear_part():
    X = np.random.default_rng(3).standard_normal((300, 3))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    given = estimate(D, metric="precomputed")
    assert set(given.consensus) == {"nonlinear"}
    assert given.linear == {}
    np.testing.assert_allclose(given.scales.value, estimate(X).scales.value, rtol=1e-6)
    assert given.spectrum is None


def test_sparse_rows_streams_and_frames_are_rows():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 4))
    expected = estimate(X)
    for other in (sp.csr_array(X), RowSource.from_blocks(iter([X[:100], X[100:]]))):
        found = estimate(other)
        assert found.consensus["linear"] == expected.consensus["linear"]
        assert found.consensus["nonlinear"] == pytest.approx(expected.consensus["nonlinear"], rel=1e-6)


def test_same_seed_same_bits_on_any_number_of_threads():
    X = np.random.default_rng(5).standard_normal((2500, 18))
    plain = []
    for threads in (1, 4):
        with lowland.config(threads=threads):
            plain.append(json.dumps(quiet(X, anchors=300, random_state=7).to_dict()))
    assert plain[0] == plain[1]


def test_scaling_columns_is_scaling_them_first():
    X = np.random.default_rng(6).standard_normal((300, 4)) * [100, 1, 1, 1]
    found, flat = estimate(X, scale=True), estimate(X / X.std(axis=0))
    assert found.consensus["linear"] == flat.consensus["linear"] == 4
    assert found.consensus["nonlinear"] == pytest.approx(flat.consensus["nonlinear"], rel=1e-6)


def test_the_interval_holds_the_truth():
    """Chance and the bias of borders together, on a cube whose every point is near one."""
    held = 0
    for seed in range(20):
        found = quiet(cube(np.random.default_rng(seed), 600, 4), anchors=300).consensus["nonlinear"]
        held += found.low <= 4 <= found.high
    assert held >= 18


# -- the plateau -------------------------------------------------------------------------------------------------------


def curve_of(values, distances=None):
    v = np.asarray(values, dtype=float)
    n = len(v)
    radius = 1.5 ** np.arange(n)
    d = v if distances is None else np.asarray(distances, dtype=float)
    draws = np.tile(v, (10, 1))
    return Curve(2.0 ** np.arange(n), radius, v, v, d, np.zeros(n, bool), v, draws, draws)


def test_the_lowest_level_stretch_is_the_plateau():
    found = plateau(curve_of([9.0, 9.0, 8.9, 5.0, 2.1, 2.0, 2.0, 2.1, 2.6, 3.0]))
    assert found.level
    assert (found.first, found.last) == (4, 7)
    assert found.value == pytest.approx(2.03, abs=0.05)


def test_a_fall_without_an_end_is_told():
    found = plateau(curve_of([20.0, 20.0, 19.8, 19.0, 15.0, 9.0, 5.0, 2.5]))
    assert not found.level
    assert found.value == 2.5
    assert found.value.low == 1
    assert found.value.high >= 9


def test_a_rise_from_the_start_is_followed_to_zero():
    radius = 1.5 ** np.arange(8)
    values = 3 * np.exp(0.02 * radius**2)
    found = plateau(curve_of(values, np.full(8, 3.0)))
    assert found.rising
    assert found.value == pytest.approx(3, rel=1e-9)


def test_a_long_shape_is_not_noise():
    """Fine scales that stay at 5 of 20 dimensions are no noise, whatever the coarse ones say; at 18 of 20 they are."""
    values = [5.1, 5.0, 5.0, 4.6, 1.2, 1.0, 1.0, 1.0]
    assert plateau(curve_of(values), 20).value == pytest.approx(5, abs=0.1)
    assert plateau(curve_of(values), 7).value == pytest.approx(1, abs=0.1)
    assert plateau(curve_of(values)).value == pytest.approx(1, abs=0.1)


# -- warnings ----------------------------------------------------------------------------------------------------------


def test_one_column_that_owns_the_variance_is_named():
    X = np.random.default_rng(7).standard_normal((200, 3)) * [500, 1, 1]
    with pytest.warns(DominantColumnWarning, match="column 0 owns"):
        found = estimate(X)
    assert any("column 0 owns" in text for text in found.warnings)
    import pandas as pd

    with pytest.warns(DominantColumnWarning, match="column 'income' owns"):
        estimate(pd.DataFrame(X, columns=["income", "b", "c"]))


def test_m9_few_points_for_many_dimensions_are_told():
    found = quiet(np.random.default_rng(8).standard_normal((300, 30)))
    assert any(text.startswith("300 points are few for ") for text in found.warnings)
    assert any("as far as all others" in text for text in found.warnings)


def test_whole_numbers_are_told():
    X = np.random.default_rng(9).integers(0, 6, (600, 5))
    with pytest.warns(LowlandWarning) as caught:
        found = estimate(X)
    assert any("discrete" in str(w.message) for w in caught)
    assert any("discrete" in text for text in found.warnings)


def test_equal_rows_are_told():
    X = np.random.default_rng(10).standard_normal((100, 3))
    with pytest.warns(LowlandWarning, match="40 of 140 rows"):
        found = estimate(np.vstack([X, X[:40]]))
    assert found.n_rows == 140
    assert found.scales.value.tolist() == estimate(X).scales.value.tolist()


def test_directions_and_distances_that_disagree_are_told():
    """Sierpinski's triangle: its distances grow as in ln 3/ln 2 = 1.58 dimensions, its directions fill the plane."""
    rng = np.random.default_rng(11)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.8]])
    X = sum(corners[rng.integers(0, 3, 4000)] / 2 ** (j + 1) for j in range(40))
    found = quiet(X)
    assert found.nonlinear["correlation_dimension"] == pytest.approx(np.log(3) / np.log(2), abs=0.1)


# -- forms and bad input -----------------------------------------------------------------------------------------------


def test_table_frame_dictionary_and_figure():
    found = quiet(circle(np.random.default_rng(12), 300))
    assert isinstance(found, Estimate)
    text = str(found)
    assert "two_nn" in text
    assert "consensus" in text
    assert found.sentence in text
    frame = found.to_frame()
    assert frame.columns == ["kind", "rule", "value", "low", "high", "exact"]
    assert len(frame) == len(found.linear) + len(found.nonlinear) + 2
    assert json.loads(json.dumps(found.to_dict()))["consensus"]["nonlinear"]["value"] == found.consensus["nonlinear"]
    with pytest.raises(AttributeError):
        found.sentence = ""
    figure = found.figure()
    assert [axes.get_xlabel() for axes in figure.axes] == ["distance within which neighbours lie", "component"]
    assert figure.axes[0].lines[0].get_ydata().tolist() == found.scales.value.tolist()


def test_bad_input_is_refused():
    X = np.random.default_rng(13).standard_normal((50, 3))
    with pytest.raises(DataError, match="too few"):
        estimate(X[:5])
    with pytest.raises(DataError, match="do not vary"):
        estimate(np.ones((20, 2)))
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="row 3, column 1"):
        estimate(X)
    with pytest.raises(ValueError, match="anchors must be"):
        estimate(np.eye(20), anchors=-1)


@pytest.mark.parametrize("n", [10, 12, 20, 35, 64, 65])
def test_few_points_give_an_answer(n):
    found = quiet(np.random.default_rng(n).standard_normal((n, 2)))
    assert 1 <= found.consensus["nonlinear"] <= 3


def test_one_column_is_one_dimension():
    assert pair(quiet(np.random.default_rng(0).standard_normal((100, 1)))) == (1, 1)


def test_values_on_a_grid_silence_one_rule_only():
    found = quiet(np.random.default_rng(0).integers(0, 3, size=(500, 6)).astype(float))
    assert "equally far" in found.skipped["two_nn"]
    assert set(found.nonlinear) == {"directions", "levina_bickel", "correlation_dimension"}


def test_no_curvature_is_claimed_where_the_notes_doubt_it():
    X = sp.random(400, 50, density=0.1, random_state=np.random.default_rng(0), format="csr")
    found = quiet(X)
    assert round(found.consensus["linear"]) > round(found.consensus["nonlinear"])
    assert found.warnings
    assert "they curve, and" not in found.sentence
    assert "does not prove that they curve" in found.sentence


def test_a_square_of_distances_is_not_taken_for_rows_silently(rng):
    X = rng.standard_normal((40, 3))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lowland.dimension.estimate(D)
    assert any("looks like a square of distances" in str(w.message) for w in told)
