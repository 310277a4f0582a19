"""Laplacian eigenmaps: known spectra and shapes, policies for pieces, new rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import lowland
from lowland.data import circle, s_curve, swiss_roll
from lowland.methods.manifold.diffusion_maps import DiffusionMaps
from lowland.methods.manifold.laplacian_eigenmaps import LaplacianEigenmaps
from lowland.spectral.procrustes import procrustes
from sample_tables import connections


def lonely(X, k, sigma):
    """W by brute force: heat weights where either is among the other's k nearest."""
    D = cdist(X, X)
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1, kind="stable")[:, 1 : k + 1], True, axis=1)
    return np.where(near | near.T, np.exp(-(D**2) / (2 * sigma**2)), 0.0)


def local_error(truth_new, Y_new, truth, Y, own=False, k=12):
    """Distance of each point to what an affine fit of the map on the truth says, from its k nearest training rows."""
    numbers = cKDTree(truth).query(truth_new, k + 1)[1]
    numbers = numbers[:, 1:] if own else numbers[:, :k]
    out = np.empty(len(Y_new))
    for i, row in enumerate(numbers):
        A = np.column_stack([np.ones(k), truth[row] - truth_new[i]])
        out[i] = np.linalg.norm(Y_new[i] - np.linalg.lstsq(A, Y[row], rcond=None)[0][0])
    return np.sqrt((out**2).mean())


@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_a_circle_becomes_a_circle_with_the_known_spectrum(weights):
    """Each point has two neighbours on each side: λ = 1 − (w₁ cos θ + w₂ cos 2θ)/(w₁ + w₂), twice each."""
    n = 60
    X, angle = circle(n, n_features=5)
    model = LaplacianEigenmaps(4, n_neighbors=4, weights=weights).fit(X)
    chords = 2 * np.sin(np.pi * np.array([1, 2]) / n)
    sigma = chords.mean() if weights == "heat" else np.inf
    assert model.bandwidth_ == pytest.approx(sigma, rel=1e-9)
    w = np.exp(-(chords**2) / (2 * sigma**2))
    theta = 2 * np.pi * np.array([1, 1, 2, 2]) / n
    want = 1 - (w[0] * np.cos(theta) + w[1] * np.cos(2 * theta)) / w.sum()
    np.testing.assert_allclose(model.eigenvalues_, want, rtol=1e-9)
    Y = model.embedding_[:, :2]
    np.testing.assert_allclose(np.hypot(*Y.T), np.sqrt(2), rtol=1e-9)
    turned = np.unwrap(np.arctan2(Y[:, 1], Y[:, 0]))
    np.testing.assert_allclose(np.abs(turned - turned[0]), angle, atol=1e-8)


def test_a_grid_on_a_torus_has_its_cosines():
    """Four neighbours each, at one distance: λ = 1 − (cos 2πi/m + cos 2πj/n)/2."""
    m, n = 14, 9
    a, b = (2 * np.pi * v for v in np.meshgrid(np.arange(m) / m, np.arange(n) / n, indexing="ij"))
    r, s = 1 / np.sin(np.pi / m), 1 / np.sin(np.pi / n)
    X = np.stack([r * np.cos(a), r * np.sin(a), s * np.cos(b), s * np.sin(b)], axis=-1).reshape(-1, 4)
    model = LaplacianEigenmaps(8, n_neighbors=4, weights="binary").fit(X)
    waves = [np.cos(2 * np.pi * np.arange(size) / size) for size in (m, n)]
    want = np.sort(1 - np.add.outer(*waves).ravel() / 2)[1:9]
    np.testing.assert_allclose(model.eigenvalues_, want, atol=1e-12)


@pytest.mark.parametrize("n", [200, 1700])
def test_the_embedding_solves_the_generalised_problem(n):
    X, _ = s_curve(n, random_state=2)
    model = LaplacianEigenmaps(3, n_neighbors=8).fit(X)
    sigma = np.median(cKDTree(X).query(X, 9)[0][:, 1:])
    assert model.bandwidth_ == pytest.approx(sigma, rel=1e-12)
    W = lonely(X, 8, sigma)
    d = W.sum(axis=1)
    values, U = eigsh(sp.csc_array(W / np.sqrt(np.outer(d, d))), 4, sigma=1.001, v0=np.ones(n))
    np.testing.assert_allclose(model.eigenvalues_, 1 - values[2::-1], rtol=1e-8)
    Y = U[:, 2::-1] * np.sqrt(d.sum() / d)[:, None]
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(Y), atol=1e-8)
    assert model.fit_info_.residual < 1e-8


@pytest.mark.parametrize("make", [swiss_roll, s_curve])
def test_the_first_coordinate_goes_along_the_sheet(make):
    X, truth = make(5000)
    Y = LaplacianEigenmaps().fit_transform(X)
    assert abs(spearmanr(Y[:, 0], truth[:, 0]).statistic) > 0.999


def test_noise_does_not_break_the_order():
    X, truth = s_curve(3000, noise=0.03)
    Y = LaplacianEigenmaps(1).fit_transform(X)
    assert abs(spearmanr(Y[:, 0], truth[:, 0]).statistic) > 0.995


def test_turning_moving_and_scaling_change_nothing(rng):
    X, _ = s_curve(400)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    want = LaplacianEigenmaps().fit_transform(X)
    got = LaplacianEigenmaps().fit_transform(7.0 * X @ Q + [1.0, -20.0, 3.0])
    np.testing.assert_allclose(got, want, atol=1e-9)


def test_bandwidth_and_weights_are_used():
    X, _ = s_curve(300)
    wide = LaplacianEigenmaps(bandwidth=1e6).fit(X)
    assert wide.bandwidth_ == 1e6
    binary = LaplacianEigenmaps(weights="binary").fit(X)
    assert binary.bandwidth_ == np.inf
    np.testing.assert_allclose(wide.embedding_, binary.embedding_, atol=1e-9)
    heat = LaplacianEigenmaps().fit(X)
    assert np.abs(heat.eigenvalues_ / binary.eigenvalues_ - 1).min() > 0.01
    with pytest.raises(lowland.DataError, match="bandwidth=1e-05 is too small"):
        LaplacianEigenmaps(bandwidth=1e-5).fit(X)


@pytest.mark.parametrize("parameters", [{"bandwidth": 0.0}, {"bandwidth": "mean"}, {"weights": "cosine"}])
def test_bad_parameters(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name} must be"):
        LaplacianEigenmaps(**parameters).fit(np.eye(20))


# -- pieces -----------------------------------------------------------------------------------------------------


@pytest.fixture
def pieces(rng):
    far = np.array([[0, 0, 0], [30, 0, 0], [0, 40, 0]])
    sizes = (200, 120, 60)
    return np.vstack([rng.uniform(-1, 1, (n, 3)) + at for n, at in zip(sizes, far, strict=True)])


def test_pieces_are_an_error_where_that_was_asked_for(pieces):
    with pytest.raises(lowland.DisconnectedError, match=r"connected components is 3 \(200, 120 and 60 points\)"):
        LaplacianEigenmaps(disconnected="error").fit(pieces)


def test_separate_pieces_are_embedded_as_if_alone(pieces):
    with pytest.warns(lowland.DisconnectedWarning, match="connected components is 3"):
        model = LaplacianEigenmaps(disconnected="separate").fit(pieces)
    np.testing.assert_array_equal(model.component_labels_, np.repeat([0, 1, 2], [200, 120, 60]))
    right = -np.inf
    for c, part in enumerate(np.split(np.arange(380), [200, 320])):
        alone = LaplacianEigenmaps().fit(pieces[part])
        Y = model.embedding_[part]
        shift = Y[0] - alone.embedding_[0]
        np.testing.assert_allclose(Y - shift, alone.embedding_, atol=1e-9)
        assert Y[:, 0].min() > right
        right = Y[:, 0].max()
        assert model.pieces_[c]["bandwidth"] == alone.bandwidth_
        new = pieces[part][:20] + 0.01
        np.testing.assert_allclose(model.transform(new) - shift, alone.transform(new), atol=1e-9)


def test_bridged_pieces_lie_apart_and_within_a_piece_points_still_differ(pieces):
    """The links are far longer than σ: their weights would vanish, and with them all but the pieces."""
    with pytest.warns(lowland.DisconnectedWarning, match="2 shortest missing edges"):
        model = LaplacianEigenmaps(4).fit(pieces)
    assert model.fit_info_.evidence["links added"] == 2
    assert (model.eigenvalues_ > 0).all()
    assert model.eigenvalues_[1] < 1e-4 * model.eigenvalues_[2]
    Y = model.embedding_
    assert np.isfinite(Y).all()
    means = [Y[part, :2].mean(axis=0) for part in np.split(np.arange(380), [200, 320])]
    assert min(np.linalg.norm(means[a] - means[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > 0.5
    assert max(Y[part, 2:].std(axis=0).max() for part in np.split(np.arange(380), [200, 320])) > 0.5


def test_pieces_of_a_few_points_and_their_new_rows(rng):
    X = np.vstack([rng.standard_normal((50, 2)), [[100.0, 0], [101.0, 0]]])
    with pytest.warns(lowland.DisconnectedWarning):
        model = LaplacianEigenmaps(n_neighbors=1, disconnected="separate").fit(X)
    assert np.isfinite(model.embedding_).all()
    new = model.transform(np.array([[100.4, 0.0], [100.6, 0.1]]))
    assert np.isfinite(new).all()
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


# -- new rows ---------------------------------------------------------------------------------------------------


def test_new_rows_follow_the_formula(rng):
    X, _ = s_curve(300)
    model = LaplacianEigenmaps(3, n_neighbors=7).fit(X)
    new = s_curve(20, random_state=9)[0]
    d, j = cKDTree(X).query(new, 7)
    w = np.exp(-(d**2) / (2 * model.bandwidth_**2))
    want = (w[:, :, None] * model.embedding_[j]).sum(axis=1) / w.sum(axis=1)[:, None] / (1 - model.eigenvalues_)
    np.testing.assert_allclose(model.transform(new), want, atol=1e-12)
    singles = np.vstack([model.transform(row[None]) for row in new])
    np.testing.assert_allclose(singles, want, atol=1e-12)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.parametrize("method", [LaplacianEigenmaps, DiffusionMaps])
@pytest.mark.parametrize("make", [swiss_roll, s_curve])
def test_held_out_rows_land_where_training_rows_do_and_copies_of_neighbours_do_not(make, method):
    X, truth = make(3000)
    model = method().fit(X[:2500])
    Y = model.embedding_
    own = local_error(truth[:2500], Y, truth[:2500], Y, own=True)
    new = local_error(truth[2500:], model.transform(X[2500:]), truth[:2500], Y)
    copied = local_error(truth[2500:], Y[cKDTree(X[:2500]).query(X[2500:])[1]], truth[:2500], Y)
    assert new < 2 * own < copied


def test_far_rows_are_finite(rng):
    model = LaplacianEigenmaps().fit(rng.standard_normal((100, 3)))
    assert np.isfinite(model.transform(np.full((1, 3), 1e6))).all()


def test_a_map_of_enough_coordinates_goes_back_to_the_rows():
    X, _ = circle(200, n_features=4)
    model = LaplacianEigenmaps(n_neighbors=6).fit(X)
    between = (model.embedding_[:50] + model.embedding_[1:51]) / 2
    back = model.inverse_transform(between)
    np.testing.assert_allclose(back, (X[:50] + X[1:51]) / 2, atol=1e-3)


# -- other ways to give points ------------------------------------------------------------------------------------


def test_distances_functions_and_rows_give_the_same(rng):
    X = rng.standard_normal((90, 3))
    new = rng.standard_normal((15, 3))
    model = LaplacianEigenmaps().fit(X)
    given = LaplacianEigenmaps(metric="precomputed").fit(cdist(X, X))
    np.testing.assert_allclose(given.embedding_, model.embedding_, atol=1e-8)
    np.testing.assert_allclose(given.transform(cdist(new, X)), model.transform(new), atol=1e-8)
    own = LaplacianEigenmaps(metric=lambda a, b: float(np.sqrt(((a - b) ** 2).sum()))).fit(X)
    np.testing.assert_allclose(own.embedding_, model.embedding_, atol=1e-8)


def test_equal_rows_are_one_point(rng):
    X = rng.standard_normal((80, 3))
    order = np.concatenate([np.arange(80), rng.integers(0, 80, 300)])
    model = LaplacianEigenmaps().fit(X[order])
    np.testing.assert_allclose(model.embedding_, LaplacianEigenmaps().fit_transform(X)[order], atol=1e-9)
    assert model.fit_info_.evidence["distinct rows"] == 80


def test_threads_and_seeds(rng):
    X, _ = swiss_roll(2500)
    results = []
    for threads in (1, 2):
        with lowland.config(threads=threads):
            results.append(LaplacianEigenmaps().fit_transform(X))
    np.testing.assert_array_equal(*results)
    other = LaplacianEigenmaps(random_state=7).fit_transform(X)
    np.testing.assert_allclose(other, results[0], atol=1e-8)


def test_the_model_is_as_large_as_the_plan_says_and_the_memory_near_it():
    X, _ = swiss_roll(60_000)
    model = LaplacianEigenmaps()
    plan = lowland.plan(model, X)
    model.fit(X)
    kept = model.anchors_.nbytes + model.embedding_.nbytes + model.component_labels_.nbytes
    kept += sum(np.asarray(value).nbytes for piece in model.pieces_ for value in piece.values())
    assert 0.7 * kept < plan.model_bytes < 1.5 * kept


# -- real data ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lowland.DisconnectedWarning")
def test_digits():
    X = load_digits().data
    model = LaplacianEigenmaps(3).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert (model.embedding_.std(axis=0) > 0).all()
    np.testing.assert_allclose(model.transform(X[:50]), model.embedding_[:50], atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
@pytest.mark.parametrize("policy", ["bridge", "separate"])
def test_heavy_tails_and_duplicates(policy):
    X = connections(20_000).astype(np.float64)
    model = LaplacianEigenmaps(disconnected=policy).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert model.fit_info_.evidence["distinct rows"] < len(X)
    _, first = np.unique(X, axis=0, return_inverse=True)
    pairs = np.argsort(first, kind="stable")
    same = first.ravel()[pairs][1:] == first.ravel()[pairs][:-1]
    np.testing.assert_array_equal(model.embedding_[pairs][1:][same], model.embedding_[pairs][:-1][same])


@pytest.mark.parametrize("Model", [LaplacianEigenmaps, lowland.DiffusionMaps])
@pytest.mark.parametrize(("n", "neighbors", "solver"), [(60, 4, "dense"), (1600, 4, "superlu"), (1600, 180, "krylov")])
def test_equal_eigenvalues_that_the_map_cuts_are_told(Model, n, neighbors, solver):
    """A circle has two equal ones: with one component any turn of it is as good."""
    X = circle(n, n_features=3)[0]
    with pytest.warns(lowland.DegenerateWarning, match="n_components=2 includes all of it"):
        model = Model(1, n_neighbors=neighbors).fit(X)
    assert model.fit_info_.solver == solver
    assert Model(2, n_neighbors=neighbors).fit(X).fit_info_.warnings == ()


# -- landmarks ------------------------------------------------------------------------------------------------


def test_landmarks_come_near_the_exact_map_and_say_how_near():
    X, _ = swiss_roll(5000)
    exact = LaplacianEigenmaps().fit(X)
    model = LaplacianEigenmaps(landmarks=500).fit(X)
    true = procrustes(model.embedding_, exact.embedding_, scale=False).error
    info = model.fit_info_
    assert true < 0.02
    assert true < info.approximation_error < 0.05
    assert info.approximate
    assert info.algorithm == lowland.plan(LaplacianEigenmaps(landmarks=500), X).algorithm
    assert (model.eigenvalues_ >= exact.eigenvalues_ * (1 - 1e-9)).all()  # Rayleigh quotients


def test_a_model_of_landmarks_places_rows_and_comes_back_from_a_file(tmp_path):
    X, _ = swiss_roll(900)
    model = LaplacianEigenmaps(landmarks=200, weights="binary").fit(X[:800])
    np.testing.assert_array_equal(model.transform(X[:800]), model.embedding_)
    new = model.transform(X[800:])
    np.testing.assert_array_equal(np.vstack([model.transform(row[None]) for row in X[800:820]]), new[:20])
    lowland.save(model, tmp_path / "map.lowland")
    np.testing.assert_array_equal(lowland.load(tmp_path / "map.lowland").transform(X[800:]), new)


def test_landmarks_need_all_distances():
    X, _ = s_curve(400)
    D = cdist(X, X)
    dense = LaplacianEigenmaps(landmarks=100, metric="precomputed").fit(D).embedding_
    rows = LaplacianEigenmaps(landmarks=100).fit(X).embedding_
    assert procrustes(dense, rows, scale=False).error < 1e-6
    near = sp.csr_array(np.where(D < 0.8, D, 0.0))
    with pytest.raises(lowland.DataError, match="needs the distances among neighbours"):
        LaplacianEigenmaps(landmarks=100, metric="precomputed").fit(near)


def test_a_bad_number_of_landmarks(rng):
    X = rng.standard_normal((60, 4))
    with pytest.raises(lowland.DataError, match="landmarks=3 is too few"):
        LaplacianEigenmaps(landmarks=3).fit(X)
    with pytest.raises(lowland.DataError, match="landmarks=60 must be less than"):
        LaplacianEigenmaps(landmarks=60).fit(X)


def test_a_map_of_a_few_points_is_told():
    with pytest.warns(
        lowland.LowlandWarning, match=r"coordinate 2 mainly separates about \d+ of 2000.*larger bandwidth"
    ):
        LaplacianEigenmaps().fit(lowland.data.fishbowl(2000)[0])
