"""Estimates from distances and directions: identities, known shapes, other metrics, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from lowland.core.errors import DataError, LowlandWarning
from lowland.core.measure import Z95
from lowland.dimension import correlation_dimension, levina_bickel, two_nn
from lowland.dimension.angles import dimensions, kept_by_half, moments
from lowland.dimension.neighbors import levina_bickel_of, two_nn_of

RULES = (two_nn, levina_bickel, correlation_dimension)
each = pytest.mark.parametrize("rule", RULES, ids=lambda f: f.__name__)


def sphere(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d + 1))
    return X / np.linalg.norm(X, axis=1)[:, None]


def square_of(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


# -- identities --------------------------------------------------------------------------------------------------------


@each
def test_units_rotation_and_further_columns_change_nothing(rule):
    X = np.random.default_rng(1).uniform(size=(400, 3))
    Q = np.linalg.qr(np.random.default_rng(2).standard_normal((7, 3)))[0]
    assert rule(1e3 * X @ Q.T - 5) == pytest.approx(rule(X), rel=1e-6)


@each
def test_distances_tell_what_rows_tell(rule):
    X = sphere(300, 2)
    assert rule(square_of(X), metric="precomputed") == pytest.approx(rule(X), rel=1e-9)
    assert rule(sp.csr_array(X)) == pytest.approx(rule(X), rel=1e-9)
    assert rule(list(X), metric=lambda a, b: float(np.linalg.norm(a - b))) == pytest.approx(rule(X), rel=1e-9)


@each
def test_squares_of_lengths_are_taken_by_their_roots(rule):
    X = sphere(400, 2) * np.random.default_rng(3).uniform(1, 2, (400, 1))  # one more dimension, which angles do not see
    flat = rule(X / np.linalg.norm(X, axis=1)[:, None])
    assert rule(X, metric="cosine") == pytest.approx(flat, rel=1e-6)
    assert rule(sp.csr_array(X), metric="cosine") == pytest.approx(flat, rel=1e-6)
    assert rule(X, metric="sqeuclidean") == rule(X)


@each
def test_rows_of_one_direction_are_one_point_for_an_angle(rule):
    """Also where they are sparse: counts, and three times as many of each."""
    X = np.random.default_rng(3).poisson(30, (150, 5)).astype(float)
    expected = rule(X, metric="cosine")
    for both in (np.vstack([X, 3 * X]), sp.csr_array(np.vstack([X, 3 * X]))):
        with pytest.warns(LowlandWarning, match="150 of 300 rows equal an earlier one"):
            found = rule(both, metric="cosine")
        assert found == pytest.approx(expected, rel=1e-6)


def test_sparse_rows_have_no_correlation_distance():
    with pytest.raises(DataError, match="sparse rows support the metrics"):
        two_nn(sp.csr_array(sphere(50, 2)), metric="correlation")


@each
def test_a_stream_of_sparse_blocks_is_gathered(rule):
    X = sphere(200, 2)
    blocks = lowland.RowSource.from_blocks(iter([sp.csr_array(X[:90]), sp.csr_array(X[90:])]))
    assert rule(blocks) == pytest.approx(rule(X), rel=1e-9)


@each
def test_a_value_is_exact_where_all_points_are_looked_at(rule):
    X = sphere(300, 2)
    assert rule(X).exact
    assert rule(X, anchors=None).exact
    assert not rule(X, anchors=100).exact


@pytest.mark.parametrize("rule", [two_nn, levina_bickel], ids=lambda f: f.__name__)
def test_repeated_measurements_are_told(rule):
    X = sphere(100, 2)
    with pytest.warns(LowlandWarning, match="ten times as near to one row as to the next"):
        rule(np.vstack([X, X + 1e-6 * np.random.default_rng(1).standard_normal(X.shape)]))


@each
def test_equal_rows_are_left_out_with_a_word(rule):
    X = sphere(200, 2)
    with pytest.warns(LowlandWarning, match="50 of 250 rows equal an earlier one"):
        assert rule(np.vstack([X, X[:50]])) == rule(X)


@each
def test_same_seed_same_bits_on_any_number_of_threads(rule):
    X = np.random.default_rng(4).standard_normal((3000, 20))
    found = []
    for threads in (1, 4):
        with lowland.config(threads=threads):
            found.append(rule(X, anchors=500, random_state=3))
    assert (found[0], found[0].low, found[0].high) == (found[1], found[1].low, found[1].high)
    assert rule(X, anchors=500, random_state=4) != found[0]


def test_two_nn_is_the_censored_likelihood():
    logs = np.array([0.1, 0.2, 0.4, 0.9])
    distances = np.column_stack([np.ones(4), np.exp(logs)])
    assert two_nn_of(distances, 0.0) == pytest.approx(4 / logs.sum())
    assert two_nn_of(distances, 0.25) == pytest.approx(3 / (0.1 + 0.2 + 0.4 + 0.4))


def test_levina_bickel_averages_inverses():
    distances = np.array([[1.0, 2.0, 4.0], [1.0, 1.0, 3.0]])
    inverse = [(np.log(4) + np.log(2)) / 2, np.log(3)]
    assert levina_bickel_of(distances, 3, 3) == pytest.approx(1 / np.mean(inverse))


# -- shapes whose dimension is known -----------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("d", [1, 2, 3])
def test_spheres_have_no_border_and_come_out(rule, d):
    assert rule(sphere(3000, d)) == pytest.approx(d, rel=0.05)


@pytest.mark.parametrize("rule", [two_nn, levina_bickel], ids=lambda f: f.__name__)
def test_intervals_hold_the_truth_on_a_sphere(rule):
    """Archimedes: on the ordinary sphere areas grow exactly as squared chords, so there is no bias."""
    held = sum(found.low <= 2 <= found.high for found in (rule(sphere(250, 2, seed)) for seed in range(100)))
    assert held >= 90


@pytest.mark.parametrize("anchors", [None, 80])
def test_correlation_dimension_covers_a_circle(anchors):
    """Of the arc, whose pairs grow as their distance; of the chord it is 1.005 or so."""
    held, found = 0, []
    for seed in range(100):
        t = np.random.default_rng(seed).uniform(0, 2 * np.pi, 250)
        found.append(correlation_dimension(np.column_stack([np.cos(t), np.sin(t)]), anchors=anchors))
        held += found[-1].low <= 1.005 and found[-1].high >= 1.0
    assert held >= 90
    claimed = np.mean([(value.high - value.low) / (2 * Z95) for value in found])
    assert 0.8 < claimed / np.std(found) < 1.4


def test_two_nn_reads_noise_as_a_dimension():
    rng = np.random.default_rng(5)
    t = rng.uniform(0, 1, 1000)
    assert two_nn(np.column_stack([t, t]) + 0.03 * rng.standard_normal((1000, 2))) > 1.7


def test_fewer_anchors_agree_within_their_interval():
    X = sphere(4000, 2)
    few = two_nn(X, anchors=400)
    assert few.low <= two_nn(X) <= few.high
    assert few.high - few.low > two_nn(X).high - two_nn(X).low


# -- directions --------------------------------------------------------------------------------------------------------


def test_moments_are_means_over_distinct_neighbours():
    """Against all tuples, one by one."""
    Z = np.random.default_rng(6).standard_normal((6, 3)) + 0.5
    G = Z @ Z.T
    four = list(itertools.permutations(range(6), 4))
    expected = [
        np.mean([G[i, i] for i, *_ in four]),
        np.mean([G[i, i] - G[i, j] for i, j, *_ in four]),
        np.mean([G[i, i] * G[j, j] for i, j, *_ in four]),
        np.mean([G[i, i] * G[j, k] for i, j, k, _ in four]),
        np.mean([G[i, j] ** 2 for i, j, *_ in four]),
        np.mean([G[i, j] * G[j, k] for i, j, k, _ in four]),
        np.mean([G[i, j] * G[k, m] for i, j, k, m in four]),
    ]
    np.testing.assert_allclose(moments(G[None])[0], expected, rtol=1e-12)


def ball(rng, count, k, d):
    Z = rng.standard_normal((count, k, d))
    return Z / np.linalg.norm(Z, axis=2)[..., None] * rng.uniform(size=(count, k, 1)) ** (1 / d)


@pytest.mark.parametrize(("d", "faces"), [(2, 0), (2, 1), (6, 0), (6, 1), (20, 3)])
def test_a_ball_cut_by_a_face_through_its_centre_is_exact(d, faces):
    """By several faces nearly so: in many dimensions the coordinates of a ball hardly depend on each other."""
    Z = ball(np.random.default_rng(7), 4000, 24, d)
    Z[..., :faces] = np.abs(Z[..., :faces])
    inner, outer = dimensions(moments(Z @ Z.transpose(0, 2, 1)).mean(axis=0))
    assert outer == pytest.approx(d, rel=0.01)
    assert inner < d * (0.97 if 0 < faces < d else 1.01)


def test_a_density_that_changes_linearly_is_exact():
    rng, d = np.random.default_rng(8), 5
    Z = ball(rng, 4000, 60, d)
    keep = np.argsort(rng.uniform(size=Z.shape[:2]) > (1 + Z[..., 0]) / 2, axis=1, kind="stable")[:, :20]
    Z = np.take_along_axis(Z, keep[..., None], axis=1)
    inner, outer = dimensions(moments(Z @ Z.transpose(0, 2, 1)).mean(axis=0))
    assert outer == pytest.approx(d, rel=0.01)
    assert inner < outer - 0.01


def test_curvature_out_of_the_data_is_not_taken_for_a_border():
    rng, d = np.random.default_rng(9), 4
    Z = 0.5 * ball(rng, 4000, 24, d)
    Z = np.concatenate([Z, -(Z**2).sum(axis=2, keepdims=True) / 2], axis=2)
    inner, outer = dimensions(moments(Z @ Z.transpose(0, 2, 1)).mean(axis=0))
    assert inner == pytest.approx(d, rel=0.02)
    assert outer == pytest.approx(d, rel=0.02)


def test_share_that_half_a_ball_keeps():
    assert kept_by_half(np.array(1.0)) == pytest.approx(0.25)
    assert kept_by_half(np.array(1e6)) == pytest.approx(1 - 2 / np.pi, rel=1e-5)


# -- what is refused ---------------------------------------------------------------------------------------------------


@each
def test_bad_input_is_refused(rule):
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(DataError, match="9 distinct points are too few"):
        rule(X[:9])
    X[7, 2] = np.nan
    with pytest.raises(DataError, match="row 7, column 2"):
        rule(X)
    with pytest.raises(DataError, match="square"):
        rule(X[:, :2], metric="precomputed")
    with pytest.raises(DataError, match="all distances as a dense matrix"):
        rule(sp.csr_array(square_of(sphere(20, 2))), metric="precomputed")
    for anchors in (3, 0, 2.5, "many", True):
        with pytest.raises(ValueError, match="anchors must be"):
            rule(sphere(50, 2), anchors=anchors)


def test_bad_parameters_are_refused():
    X = sphere(50, 2)
    for discard in (-0.1, 1.0):
        with pytest.raises(ValueError, match="discard"):
            two_nn(X, discard=discard)
    for k in (1, (5, 3), (2.5, 4), (1, 4), (1, 2, 3), True):
        with pytest.raises(ValueError, match="n_neighbors must be"):
            levina_bickel(X, n_neighbors=k)
    with pytest.raises(DataError, match="use at most 49"):
        levina_bickel(X, n_neighbors=50)
    for shares in ((0.1, 0.05), (0, 0.5), (0.1, 1.5)):
        with pytest.raises(ValueError, match="shares must be"):
            correlation_dimension(X, shares=shares)
    with pytest.raises(DataError, match="fewer than 10"):
        correlation_dimension(X, shares=(1e-5, 0.1))


def test_a_grid_has_no_ratios():
    grid = np.indices((12, 12)).reshape(2, -1).T.astype(float)
    with (
        pytest.warns(LowlandWarning, match="100 % of the points.*discrete"),
        pytest.raises(DataError, match="as on a grid"),
    ):
        two_nn(grid)
    with pytest.warns(LowlandWarning, match="discrete"):
        levina_bickel(grid)


def test_a_metric_that_cannot_tell_objects_apart_is_named():
    X = [[float(i)] for i in range(30)]
    with pytest.raises(DataError, match="distance of zero between different objects"):
        two_nn(X, metric=lambda a, b: float(np.floor(abs(a - b)[0] / 2)))
