"""Stress, its minimisation, monotone regression, placement among anchors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform

import lowland
from lowland.methods.distance.order_stress import Curve, OrderStress
from lowland.methods.distance.placement import Placement
from lowland.methods.distance.stress import (
    Stress,
    classical_start,
    descend,
    filled,
    posed,
    require_connected,
    same_objects,
    shaken,
)
from lowland.spectral.procrustes import procrustes


def slope(function, X, direction, h=1e-6):
    return (function(X + h * direction) - function(X - h * direction)) / (2 * h)


def raw(D, W=None):
    i, j = np.triu_indices(len(D), 1)
    w = 1.0 if W is None else W[i, j]
    return lambda X: float((w * (cdist(X, X)[i, j] - D[i, j]) ** 2).sum())


@pytest.fixture
def D(rng):
    return squareform(pdist(rng.standard_normal((60, 5))))


@pytest.mark.parametrize("weighted", [False, True])
def test_value_gradient_and_guttman_step_agree_with_their_definitions(D, rng, weighted):
    W = rng.random(D.shape) if weighted else None
    if weighted:
        W = W + W.T
        np.fill_diagonal(W, 0.0)
    point = Stress(D, W)(rng.standard_normal((60, 2)))
    assert point.value == pytest.approx(raw(D, W)(point.X), rel=1e-12)
    direction = rng.standard_normal(point.X.shape)
    assert slope(raw(D, W), point.X, direction) == pytest.approx(np.vdot(point.gradient, direction), rel=1e-6)
    assert slope(raw(D, W), point.X, point.X) == pytest.approx(0.0, abs=1e-6 * point.value)  # the best scale
    V = np.diag(W.sum(axis=1)) - W if weighted else 60 * np.eye(60) - 1
    np.testing.assert_allclose(V @ point.step, point.gradient, atol=1e-9 * np.abs(point.gradient).max())
    guttman = point.X - point.step / 2
    assert point.value - raw(D, W)(guttman) >= point.gain * (1 - 1e-9)
    assert raw(D, W)(point.X - point.step) <= point.value  # relaxed


def test_pieces_of_the_triangle_add_up_to_the_whole(rng):
    D = squareform(pdist(rng.standard_normal((700, 4))))
    point = Stress(D)(rng.standard_normal((700, 3)))  # several pieces, run on the pool
    assert point.value == pytest.approx(raw(D)(point.X), rel=1e-12)
    assert Stress(D).size == pytest.approx((D**2).sum() / 2, rel=1e-12)


@pytest.mark.parametrize("start", ["classical", "random"])
def test_descent_never_rises_and_ends_where_the_gradient_is_zero(D, rng, start):
    X = classical_start(D, 2, rng) if start == "classical" else rng.standard_normal((60, 2))
    found = descend(Stress(D), X, max_iter=2000, tol=1e-14)
    assert found.converged
    assert (np.diff(found.history) <= 0).all()
    for _ in range(5):
        direction = rng.standard_normal(found.point.X.shape)
        assert abs(slope(raw(D), found.point.X, direction, 1e-4)) < 1e-4 * found.point.value
    reference = minimize(lambda x: raw(D)(x.reshape(-1, 2)), found.point.X.ravel(), method="BFGS")
    assert found.point.value <= reference.fun * (1 + 1e-9)


def test_plain_relaxed_majorisation_is_slower_and_no_lower(D, rng):
    problem, X = Stress(D), classical_start(D, 2, rng)
    fast = descend(problem, X, max_iter=1000, tol=1e-10)
    point = problem(X)
    for _ in range(len(fast.history)):
        point = problem(point.X - point.step)
    assert fast.point.value < point.value


def test_both_rules_for_ties_on_a_worked_example():
    # δ = 1, 2, 2, 3 for the pairs in order; d = 1, 5, 3, 4. Primary: ties in the order of d, 1 3 5 4 -> 1 3 4.5 4.5.
    # Secondary: the tie is 4 on average, 1 4 4 4.
    D = np.zeros((4, 4))
    D[np.triu_indices(4, 1)] = [1, 2, 2, 3, 9, 9]
    d = np.array([1.0, 5.0, 3.0, 4.0, 10.0, 10.0])
    assert OrderStress(D + D.T, "primary").regress(d).tolist() == [1.0, 4.5, 3.0, 4.5, 10.0, 10.0]
    assert OrderStress(D + D.T, "secondary").regress(d).tolist() == [1.0, 4.0, 4.0, 4.0, 10.0, 10.0]


def test_primary_ties_do_not_depend_on_what_was_asked_before(rng):
    D = np.round(squareform(pdist(rng.standard_normal((30, 3)))), 1)
    d = rng.random(435)
    problem = OrderStress(D, "primary")
    want = problem.regress(d)
    problem.regress(rng.random(435))
    np.testing.assert_array_equal(problem.regress(d), want)


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_order_stress_has_its_gradient_and_falls_with_the_relaxed_step(rng, ties):
    D = np.round(squareform(pdist(rng.standard_normal((40, 4)))), 1)
    problem = OrderStress(D, ties)
    point = problem(rng.standard_normal((40, 2)))
    direction = rng.standard_normal(point.X.shape)
    want = slope(lambda X: problem(X).value, point.X, direction)
    assert want == pytest.approx(np.vdot(point.gradient, direction), rel=1e-4)
    assert problem(point.X - point.reach * point.step).value <= point.value
    d = problem.distances(point.X)
    assert point.value == pytest.approx(((d - problem.regress(d)) ** 2).sum() / (d**2).sum(), rel=1e-12)
    found = descend(problem, point.X, max_iter=500, tol=1e-12)
    assert (np.diff(found.history) <= 0).all()


def test_frozen_curve():
    curve = Curve(np.array([1.0, 2.0, 4.0]), np.array([3.0, 3.0, 5.0]))
    assert curve(np.array([0.0, 0.5, 1.5, 3.0, 8.0])).tolist() == [0.0, 1.5, 3.0, 4.0, 10.0]
    assert np.isnan(curve(np.array([np.nan])))[0]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_placement_finds_points_again(rng, k, power):
    Z, Y = rng.standard_normal((200, k)) + 7, 2 * rng.standard_normal((50, k)) + 7
    place = Placement(Z, power)
    np.testing.assert_allclose(place(cdist(Y, Z)), Y, atol=1e-10)
    np.testing.assert_array_equal(place(cdist(Z, Z)), Z)


def test_placement_is_the_best_of_many_starts(rng):
    X = rng.standard_normal((230, 8))
    D = squareform(pdist(X[:200]))
    Z = descend(Stress(D), classical_start(D, 2, rng), max_iter=300, tol=1e-8).point.X + 3
    E = cdist(X[200:], X[:200])
    Y = Placement(Z)(E)

    def cost(y, row):
        return float(((np.sqrt(((y - Z) ** 2).sum(axis=1)) - row) ** 2).sum())

    worse = 0
    for y, row in zip(Y, E, strict=True):
        best = min(minimize(cost, start, args=(row,)).fun for start in Z[:6])
        worse += cost(y, row) > best * 1.001
    assert worse <= 1  # of 30


def test_placement_without_some_distances(rng):
    Z, Y = rng.standard_normal((100, 2)), rng.standard_normal((20, 2))
    E = cdist(Y, Z)
    E[rng.random(E.shape) < 0.4] = np.nan
    np.testing.assert_allclose(Placement(Z)(E), Y, atol=1e-9)
    E[3] = np.nan
    with pytest.raises(lowland.DataError, match=r"row 3 .*no known distance"):
        Placement(Z)(E)


def test_of_two_anchors_at_distance_zero_the_fitting_one_is_taken():
    Z = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    E = cdist(Z[1:2], Z)
    E[0, 0] = 0.0  # not a metric: object 1 is at distance 0 from object 0 too
    np.testing.assert_array_equal(Placement(Z)(E), Z[1:2])


def test_start_helpers(rng):
    X = rng.standard_normal((30, 2))
    D = squareform(pdist(X))
    assert procrustes(classical_start(D, 5, rng), X).error < 1e-7
    assert classical_start(D, 5, rng).shape == (30, 2)  # the rank
    twice = squareform(pdist(np.vstack([X, X[3:5]])))
    assert same_objects(twice)[30:].tolist() == [3, 4]
    assert same_objects(D).tolist() == list(range(30))
    Y = shaken(np.zeros((10, 1)) + np.arange(10)[:, None], 2, rng)
    assert Y.shape == (10, 2)
    assert len(np.unique(Y[:, 1])) == 10


def test_parameters_set_after_a_nonmetric_fit_do_not_change_where_new_rows_go(rng):
    X, new = rng.standard_normal((40, 4)), rng.standard_normal((7, 4))
    model = lowland.NonmetricMDS(metric="cityblock").fit(X)
    want = model.transform(new)
    model.set_params(metric="euclidean", ties="secondary", n_components=3, landmarks=9, init="random", tol=0.5)
    np.testing.assert_array_equal(model.transform(new), want)


def test_rounded_distances_add_no_column_to_the_start(rng):
    x = rng.standard_normal((60, 1))
    D = squareform(pdist(x)).astype(np.float32).astype(np.float64)
    assert classical_start(D, 3, rng, float(np.finfo(np.float32).eps)).shape == (60, 1)
    assert classical_start(D, 3, rng).shape[1] > 1  # what rounding looks like where it is taken for data


def test_shaking_does_not_depend_on_where_the_points_lie(rng):
    X = rng.standard_normal((20, 2))
    X[4] = X[9]
    near, far = (shaken(X + shift, 2, np.random.default_rng(0)) for shift in (0.0, 1e6))
    np.testing.assert_allclose(near, far, atol=1e-8)
    assert 0 < np.abs(near - (X - X.mean(axis=0))).max() < 0.01


def test_equal_objects_have_equal_weights_too(rng):
    X = rng.standard_normal((8, 2))
    X[5], X[7] = X[2], X[2]
    D, W = squareform(pdist(X)), np.ones((8, 8))
    assert same_objects(D, W)[[5, 7]].tolist() == [2, 2]
    W[0, 7] = W[7, 0] = 3.0
    assert same_objects(D, W)[[5, 7]].tolist() == [2, 7]
    X[6] = X[2]
    W[0, 6] = W[6, 0] = 3.0  # 6 is not like 2, the first on its spot, but like 7, which comes after
    assert same_objects(squareform(pdist(X)), W)[[5, 6, 7]].tolist() == [2, 6, 6]
    W[2, 5] = W[5, 2] = 0.0  # not known to be 0
    assert same_objects(D, W)[5] == 5
    np.fill_diagonal(W, 0.0)
    assert same_objects(D[:3, :3], W[:3, :3]).tolist() == [0, 1, 2]


def test_weights_too_far_apart_are_refused(rng):
    W = np.ones((20, 20))
    W[3] = W[:, 3] = 1e-25
    with pytest.raises(lowland.DataError, match="from 1e-25 to 1"):
        Stress(squareform(pdist(rng.standard_normal((20, 3)))), W)


def test_looking_for_equal_rows_and_paths_can_be_cancelled(rng):
    D = squareform(pdist(rng.random((1100, 2))))
    few = np.abs(np.subtract.outer(np.arange(1100), np.arange(1100))) < 10
    many = D < 0.9

    for stages, work in (
        ({"equal rows"}, lambda: same_objects(D)),
        ({"paths"}, lambda: filled(D, many)),
        ({"paths"}, lambda: filled(D, few)),
    ):
        seen = set()
        with (
            lowland.config(progress=lambda stage, done, total, seen=seen: bool(seen.add(stage))),
            pytest.raises(lowland.Cancelled),
        ):
            work()
        assert seen == stages


def test_paths_over_more_than_one_other_object():
    x = np.arange(1100.0)
    D = np.abs(np.subtract.outer(x, x))
    known = D < 200  # no path through one other object reaches the far end
    np.testing.assert_allclose(filled(np.where(known, D, np.nan), known), D, rtol=1e-12)


def test_missing_pairs_are_bridged_by_shortest_paths():
    D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    known = D <= 1
    np.testing.assert_allclose(filled(np.where(known, D, np.nan), known), D, atol=1e-9)
    D[0, 1] = D[1, 0] = 0.0  # a zero distance is an edge
    assert filled(D, known)[0, 2] == pytest.approx(1.0)


def test_groups_without_a_pair_between_them_are_named():
    known = np.zeros((9, 9), dtype=bool)
    known[:6, :6] = known[6:8, 6:8] = True
    with pytest.raises(lowland.DataError, match=r"3 groups .* 6 \(0, 1, 2, 3, 4, …\); 2 \(6, 7\); 1 \(8\)"):
        require_connected(known, "MetricMDS")


def test_pose_is_one_for_all_rotations(rng):
    X = rng.standard_normal((40, 3)) * [3, 2, 1]
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    np.testing.assert_allclose(posed(X @ Q + 5), posed(X), atol=1e-12)


def test_missing_pairs_of_many_objects_are_bridged_too(rng):
    X = rng.random((1100, 2))
    D = squareform(pdist(X))
    gone = np.triu(rng.random(D.shape) < 0.5, 1)
    known = ~(gone | gone.T)
    found = filled(np.where(known, D, np.nan), known)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[known], D[known])
    assert (found[~known] >= D[~known] - 1e-12).all()
    assert np.median(found[~known] / D[~known]) < 1.1
