import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

import lowland
from lowland.core.errors import DataError, DisconnectedError, DisconnectedWarning, NotConvergedWarning
from lowland.graph.neighbors import neighbor_graph
from lowland.methods.manifold.mvu import MVU
from lowland.methods.manifold.mvu_descent import Rods, unfold
from lowland.methods.manifold.mvu_program import full_gram
from mvu_reference import edges_of, exact_gram

KEPT = "error of neighbours' distances"
ON_MAP = "error of neighbours' distances on the map"


def _half_cylinder(n, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(0, 1, n)])


@pytest.fixture(scope="module")
def roll():
    X, truth = lowland.data.swiss_roll(2300)
    return X[:2000], truth[:2000], X[2000:], MVU().fit(X[:2000])


# -- the steps of all points -------------------------------------------------------------------------------


def _tense(n=40, r=3):
    rng = np.random.default_rng(0)
    rods = Rods(neighbor_graph(rng.standard_normal((n, 3)), 5).symmetric())
    Y = rng.standard_normal((n, r))
    weights = rng.standard_normal((n, n))
    tension = (weights + weights.T)[np.repeat(np.arange(n), np.diff(rods.indptr)), rods.indices]
    return rods, tension, Y - Y.mean(axis=0), rng


def test_the_gradient_is_that_of_the_function():
    rods, tension, Y, rng = _tense()
    D = rng.standard_normal(Y.shape)
    D -= D.mean(axis=0)
    h = 1e-5
    up, down = (rods.value(tension, 3.0, Y + s * h * D)[0] for s in (1, -1))
    assert np.vdot(rods.value(tension, 3.0, Y)[1], D) == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_a_step_goes_to_the_lowest_point_and_knows_its_gain():
    rods, tension, Y, _ = _tense()
    f, G = rods.value(tension, 3.0, Y)
    h, gain = rods.step(tension, 3.0, Y, -G)
    at = {s: rods.value(tension, 3.0, Y - s * h * G)[0] for s in (0.99, 1.0, 1.01)}
    assert gain > 0
    assert f - at[1.0] == pytest.approx(gain, rel=1e-9)
    assert at[1.0] < min(at[0.99], at[1.01])


def test_steps_pull_a_zigzag_straight():
    x = np.arange(12.0)
    lengths = 1 + 0.3 * np.sin(x[:-1])
    graph = lowland.graph.graph.Graph.of_edges(12, np.arange(11), np.arange(1, 12), lengths).symmetric()
    start = np.column_stack([np.cumsum([0, *lengths]) * 0.7, x % 2])
    rods = Rods(graph)
    found = unfold(rods, start / np.sqrt(rods.scale), steps=500, tolerance=1e-6)
    straight = np.cumsum([0, *lengths])
    assert found.error <= 1e-6
    assert (found.points**2).sum() * rods.scale == pytest.approx(((straight - straight.mean()) ** 2).sum(), rel=1e-4)


# -- against the exact program -----------------------------------------------------------------------------


def _proved_bound(n, i, j, squares, w):
    """Return Σwd²/λ, λ the least eigenvalue of L_w off the constant: no K with these lengths has a larger trace."""
    L = np.zeros((n, n))
    np.add.at(L, (np.r_[i, j], np.r_[j, i]), -np.r_[w, w])
    L -= np.diag(L.sum(axis=1))
    Q = scipy.linalg.helmert(n)
    lowest = np.linalg.eigvalsh(Q @ L @ Q.T)[0]
    assert lowest > 0
    return w @ squares / lowest


@pytest.mark.parametrize("k", [4, 6])
@pytest.mark.parametrize("seed", [0, 1, 3, 21])
def test_sixty_points_reach_the_optimum(seed, k):
    """Weak duality proves it, whoever found the forces: lengths are kept and no variance can be larger."""
    X = _half_cylinder(60, seed=seed)
    edges = edges_of(X, k)
    bound = _proved_bound(60, *edges, full_gram(60, *edges).forces)
    info = MVU(n_neighbors=k).fit(X).fit_info_
    assert info.algorithm == "semidefinite program"
    assert info.evidence["variance"] * 60 == pytest.approx(bound, rel=1e-4)
    assert info.evidence[KEPT] < 1e-6
    # On rigid edges Y loses all digits of its least eigenvalues, and the steps end: here at 1.6e-5 (seed 21, k = 6).
    assert info.residual < 2e-5
    assert not info.approximate


@pytest.mark.parametrize("seed", [21, *(pytest.param(s, marks=pytest.mark.slow) for s in (0, 1, 3))])
def test_sixty_points_agree_with_the_general_solver(seed):
    X = _half_cylinder(60, seed=seed)
    optimum = np.trace(exact_gram(60, *edges_of(X, 4)))
    assert MVU(n_neighbors=4).fit(X).fit_info_.evidence["variance"] * 60 == pytest.approx(optimum, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 21])
def test_the_general_solver_stops_above_what_is_possible_where_points_are_rigid(seed):
    """With 6 neighbours Clarabel ends "AlmostSolved": lengths off by 1e-6 let its trace pass the proved bound."""
    edges = edges_of(_half_cylinder(60, seed=seed), 6)
    bound = _proved_bound(60, *edges, full_gram(60, *edges).forces)
    assert 1.001 < np.trace(exact_gram(60, *edges)) / bound < 1.01


def test_an_arc_is_pulled_straight_by_both_roads():
    angle = np.linspace(0, 4, 60)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    program, steps = MVU(n_neighbors=2).fit(X), MVU(n_neighbors=2, basis=20).fit(X)
    assert program.fit_info_.algorithm == "semidefinite program"
    assert steps.fit_info_.algorithm == "20 Laplacian functions, then all points"
    variances = [m.fit_info_.evidence["variance"] for m in (program, steps)]
    assert variances[1] == pytest.approx(variances[0], rel=1e-3)
    for model in (program, steps):
        gaps = np.abs(np.diff(model.embedding_[:, 0]))
        np.testing.assert_allclose(gaps[1:-1], np.linalg.norm(X[1] - X[0]), rtol=5e-3)
        assert model.embedding_[:, 1].std() < 0.02 * model.embedding_[:, 0].std()


def test_steps_come_near_the_optimum_from_above():
    """They end with lengths off by a little, which lets the points a little further apart than is allowed."""
    X = _half_cylinder(60, seed=21)
    program, steps = MVU(n_neighbors=4).fit(X), MVU(n_neighbors=4, basis=20).fit(X)
    ratio = steps.fit_info_.evidence["variance"] / program.fit_info_.evidence["variance"]
    assert 1 < ratio < 1.02
    assert steps.fit_info_.evidence[KEPT] < 0.01


# -- the swiss roll ----------------------------------------------------------------------------------------


def test_the_roll_is_unrolled(roll):
    _, truth, _, model = roll
    evidence = model.fit_info_.evidence
    assert evidence[KEPT] < 0.01
    assert evidence[ON_MAP] < 0.01
    assert abs(spearmanr(model.embedding_[:, 0], truth[:, 0]).statistic) > 0.999
    assert abs(spearmanr(model.embedding_[:, 1], truth[:, 1]).statistic) > 0.999
    assert evidence["variance"] == pytest.approx(truth.var(axis=0).sum(), rel=0.01)
    assert evidence["share of variance"] > 0.999
    assert sum(evidence["spectrum"]) == pytest.approx(1)
    assert model.eigenvalues_.sum() / 2000 == pytest.approx(evidence["variance"] * evidence["share of variance"])


def test_the_errors_told_are_those_of_the_map(roll):
    X, _, _, model = roll
    graph = neighbor_graph(X, 10).symmetric()
    i = np.repeat(np.arange(2000), graph.degrees)
    lengths = np.linalg.norm(model.embedding_[i] - model.embedding_[graph.indices], axis=1)
    expected = np.sqrt(((lengths - graph.distances) ** 2).sum() / (graph.distances**2).sum())
    assert model.fit_info_.evidence[ON_MAP] == pytest.approx(expected, rel=1e-6)


def test_points_lie_along_their_principal_axes(roll):
    Y = roll[3].embedding_
    assert np.abs(Y.mean(axis=0)).max() < 1e-8
    gram = Y.T @ Y
    np.testing.assert_allclose(gram, np.diag(roll[3].eigenvalues_), atol=1e-6 * gram[0, 0])


def _local_error(rows, places, X, Y, skip):
    """RMS error of the distances to the ten nearest training rows, relative; ``skip`` leaves out the row itself."""
    D = cdist(rows, X)
    near = np.argsort(D, axis=1)[:, skip : 10 + skip]
    d = np.take_along_axis(D, near, axis=1)
    on_map = np.linalg.norm(places[:, None] - Y[near], axis=2)
    return np.sqrt(((on_map - d) ** 2).sum() / (d**2).sum())


def test_held_out_rows_join_as_well_as_training_rows(roll):
    X, _, new, model = roll
    Y = model.embedding_
    bound = 2 * _local_error(X, Y, X, Y, 1)
    assert _local_error(new, model.transform(new), X, Y, 0) <= bound
    copied = Y[cdist(new, X).argmin(axis=1)]
    assert _local_error(new, copied, X, Y, 0) > bound


def test_rows_are_placed_one_by_one(roll):
    X, _, new, model = roll
    together = model.transform(new[:20])
    np.testing.assert_array_equal(together[7:8], model.transform(new[7:8]))
    np.testing.assert_array_equal(model.transform(X[:50]), model.embedding_[:50])


def test_the_map_is_read_backwards(roll):
    X, _, new, model = roll
    np.testing.assert_allclose(model.inverse_transform(model.embedding_[:30]), X[:30])
    back = model.inverse_transform(model.transform(new))
    assert np.sqrt(((back - new) ** 2).sum(axis=1).mean()) < 0.2  # neighbours are 1 apart


# -- what must not matter ----------------------------------------------------------------------------------


def test_threads_and_repetition_leave_no_trace():
    X, _ = lowland.data.swiss_roll(9000)  # more than one task
    model = MVU(n_neighbors=8)
    import lowland.methods.manifold.mvu as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_STEPS", 30)
        with lowland.config(threads=1), pytest.warns(NotConvergedWarning, match="kept to"):
            one = model.fit(X).embedding_
        with lowland.config(threads=2), pytest.warns(NotConvergedWarning, match="kept to"):
            two = model.fit(X).embedding_
    np.testing.assert_array_equal(one, two)


def test_rotation_scale_and_distances_give_the_same_map():
    X = _half_cylinder(60, seed=3)
    R = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    Y = MVU(n_neighbors=5).fit_transform(X)
    moved = MVU(n_neighbors=5).fit_transform(1000 * X @ R + 7)
    np.testing.assert_allclose(np.abs(moved), 1000 * np.abs(Y), atol=3 * np.abs(Y).max())
    given = MVU(n_neighbors=5, metric="precomputed").fit_transform(cdist(X, X))
    np.testing.assert_allclose(np.abs(given), np.abs(Y), atol=3e-3 * np.abs(Y).max())


def test_equal_rows_get_equal_places():
    X = _half_cylinder(50, seed=4)
    Y = MVU(n_neighbors=5).fit_transform(np.vstack([X, X[:5]]))
    np.testing.assert_array_equal(Y[:5], Y[50:])


# -- distances that no points have -------------------------------------------------------------------------


def _told(model, distances, k):
    """Fit, and check what the record says of the map against the distances of neighbours."""
    with pytest.warns(NotConvergedWarning, match="contradict each other"):
        model.fit(distances)
    graph = neighbor_graph(distances, k, metric="precomputed").symmetric()
    i, d = np.repeat(np.arange(graph.n), graph.degrees), graph.distances
    lengths = np.linalg.norm(model.embedding_[i] - model.embedding_[graph.indices], axis=1)
    info = model.fit_info_
    assert info.evidence[ON_MAP] == pytest.approx(np.sqrt(((lengths - d) ** 2).sum() / (d**2).sum()), rel=1e-6)
    assert info.approximate
    assert info.approximation_error == info.evidence[KEPT]
    return info


_STEPPED = "20 Laplacian functions, then all points"


@pytest.mark.parametrize(
    ("metric", "n", "way"),
    [
        ("cosine", 50, "semidefinite program"),
        ("correlation", 50, "semidefinite program"),
        ("cityblock", 50, "semidefinite program"),
        ("cosine", 200, _STEPPED),
        ("correlation", 200, _STEPPED),
    ],
)
def test_a_metric_that_is_not_euclidean_is_kept_as_well_as_can_be(metric, n, way):
    X = np.random.default_rng(0).standard_normal((n, 7)) @ np.diag([3, 2, 2, 0.5, 0.5, 0.5, 0.5]) + 1
    distances = cdist(X, X, metric)
    model = MVU(metric="precomputed")
    info = _told(model, distances, 10)
    assert info.algorithm == way
    assert info.evidence[KEPT] < 0.25
    assert np.abs(model.embedding_).max() < 3 * distances.max()
    with pytest.warns(NotConvergedWarning):
        again = MVU(metric="precomputed").fit_transform(distances)
    np.testing.assert_array_equal(again, model.embedding_)


@pytest.mark.parametrize(("n", "basis"), [(60, "auto"), (60, 20), (250, "auto")])
def test_random_numbers_for_distances_are_told(n, basis):
    D = np.random.default_rng(1).random((n, n))
    D = np.triu(D, 1) + np.triu(D, 1).T
    model = MVU(metric="precomputed", basis=basis)
    info = _told(model, D, 10)
    assert info.evidence[KEPT] > 0.1
    assert np.abs(model.embedding_).max() < n * D.max()
    if n == 60 and basis == "auto":
        assert 0 < info.evidence["least error of squared distances"] < 1
        assert info.residual < 1e-5  # the springs did come to rest


@pytest.mark.parametrize("n", [5, 40, 150])
def test_distances_of_all_magnitudes_stay_bounded(n):
    """Least squares of squared lengths leave lengths off by about 100 %, as do points that all fall together."""
    D = np.exp(6 * np.random.default_rng(0).standard_normal((n, n)))
    D = np.triu(D, 1) + np.triu(D, 1).T
    k = min(10, n - 1)
    info = _told(MVU(n_neighbors=k, metric="precomputed"), D, k)
    assert info.evidence[KEPT] < 1.5


def test_a_star_of_four_points_takes_the_nearest_lengths():
    D = np.where(np.eye(4) == 1, 0.0, 2.0)
    D[0, 1:] = D[1:, 0] = 1
    model = MVU(n_neighbors=3, metric="precomputed")
    _told(model, D, 3)
    squares = cdist(model.embedding_, model.embedding_) ** 2
    np.testing.assert_allclose(squares[0, 1:], 1.3, atol=0.02)
    np.testing.assert_allclose(squares[[1, 1, 2], [2, 3, 3]], 3.9, atol=0.06)


def test_steps_stop_where_lengths_get_no_better():
    D = np.where(np.eye(4) == 1, 0.0, 2.0)
    D[0, 1:] = D[1:, 0] = 1
    rods = Rods(neighbor_graph(D, 3, metric="precomputed").symmetric())
    start = np.random.default_rng(0).standard_normal((4, 3))
    found = unfold(rods, start, steps=100_000, tolerance=1e-6)
    assert found.stuck
    assert found.steps < 2000
    squares = cdist(found.points, found.points)[0, 1:] ** 2 * rods.scale
    np.testing.assert_allclose(squares, 1.3, atol=0.03)


# -- lengths that need room, lengths of all sizes ------------------------------------------------------------


def test_dimensions_are_added_where_lengths_have_no_room():
    """A thick sheet in ten dimensions: neighbours do not fit in five, the functions of the basis give them the room."""
    X = np.random.default_rng(0).standard_normal((300, 10))
    X[:, :2] = np.random.default_rng(1).uniform(-1, 1, (300, 2)) * [10, 5]
    info = MVU(n_neighbors=8).fit(X).fit_info_
    assert len(info.evidence["spectrum"]) == 20
    assert info.evidence[KEPT] < 0.01
    with pytest.warns(NotConvergedWarning, match=r"kept to [1-9][0-9.]*% RMS only: in 5 dimensions"):
        narrow = MVU(n_neighbors=8, basis=5).fit(X).fit_info_
    assert narrow.evidence[KEPT] > 0.01


def test_long_distances_do_not_hide_short_ones():
    """A few rows a million times further away: RMS errors see nothing but their edges."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X[:40] *= 1e6
    with pytest.warns(NotConvergedWarning, match="kept"):
        info = MVU(n_neighbors=8).fit(X).fit_info_
    assert info.evidence["median relative error of a neighbour's distance"] > 0.01
    assert 0 <= info.residual <= 2


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_residual_has_no_units(scale):
    X, _ = lowland.data.swiss_roll(400)
    here, there = MVU().fit(X).fit_info_, MVU().fit(X * scale).fit_info_
    assert here.residual < 0.05
    assert there.residual == pytest.approx(here.residual, rel=0.2, abs=1e-3)


def test_the_median_error_is_that_of_single_distances(roll):
    X, _, _, model = roll
    rods = Rods(neighbor_graph(X, 10).symmetric())
    Y = np.ascontiguousarray(model.embedding_ / np.sqrt(rods.scale))
    i = np.repeat(np.arange(2000), np.diff(rods.indptr))
    own = np.linalg.norm(Y[i] - Y[rods.indices], axis=1) / np.sqrt(rods.squares)
    assert rods.median_error(Y) == pytest.approx(np.median(np.abs(own - 1)), rel=1e-9)


# -- pieces and bad input ----------------------------------------------------------------------------------


def _two_pieces():
    X = _half_cylinder(40, seed=5)
    return np.vstack([X, X[:30] + 20])


def test_pieces_are_bridged_laid_side_by_side_or_refused():
    X = _two_pieces()
    with pytest.warns(DisconnectedWarning, match="connected components is 2"):
        bridged = MVU(n_neighbors=5).fit(X)
    assert bridged.fit_info_.evidence["links added"] == 1
    assert bridged.fit_info_.evidence[KEPT] < 1e-3
    with pytest.warns(DisconnectedWarning, match="side by side"):
        apart = MVU(n_neighbors=5, disconnected="separate").fit(X)
    first, second = apart.embedding_[:40, 0], apart.embedding_[40:, 0]
    assert first.max() < second.min()
    with pytest.raises(DisconnectedError, match="connected components is 2"):
        MVU(n_neighbors=5, disconnected="error").fit(X)


def test_distances_that_fit_in_no_few_dimensions_are_told():
    """The neighbours of a point in 30 dimensions are all far from each other: 5 dimensions have no room for them."""
    X = np.random.default_rng(0).standard_normal((200, 30))
    with pytest.warns(NotConvergedWarning, match="kept to"):
        model = MVU(n_neighbors=20, basis=5).fit(X)
    assert model.fit_info_.approximate
    assert model.fit_info_.approximation_error > 0.1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_neighbors": 60}, "less than the number of rows"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"basis": 1}, "basis=1 gives too few functions for n_components=2"),
        ({"basis": 0}, "basis"),
        ({"n_components": 60}, "n_components"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        MVU(**parameters).fit(_half_cylinder(60))


def test_equal_rows_only_are_refused():
    with pytest.raises(DataError, match="all rows are equal"):
        MVU().fit(np.ones((20, 3)))


def test_few_points_keep_their_distances():
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    with pytest.warns(lowland.LowlandWarning, match="only 3 distinct rows"):
        Y = MVU().fit_transform(X)
    np.testing.assert_allclose(cdist(Y, Y), cdist(X, X), atol=1e-9)
