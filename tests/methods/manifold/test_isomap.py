"""Isomap against classical scaling, R's vegan, known sheets; landmarks, new rows, pieces, residual variances."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.manifold
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

import lowland
from lowland.data import swiss_roll
from lowland.methods.manifold import path_map
from lowland.methods.manifold.isomap import Isomap
from lowland.methods.manifold.path_map import residual_variances
from lowland.spectral.procrustes import procrustes
from sample_tables import REFERENCE, lit_bumps
from signs import up_to_sign


def rank_correlations(Y, truth):
    return [abs(spearmanr(Y[:, c], truth[:, c])[0]) for c in range(truth.shape[1])]


@pytest.fixture(scope="module")
def roll():
    return swiss_roll(3000)


@pytest.fixture(scope="module")
def exact(roll):
    return Isomap().fit(roll[0])


# -- identities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_complete_graph_is_classical_scaling(metric, rng):
    X = rng.standard_normal((80, 6)) * [6, 5, 4, 3, 2, 1]
    model = Isomap(3, n_neighbors=79, metric=metric).fit(X)
    peer = lowland.ClassicalMDS(3, metric=metric, landmarks=None).fit(X)
    scale = np.abs(peer.embedding_).max()
    np.testing.assert_allclose(model.embedding_, peer.embedding_, atol=1e-8 * scale)
    np.testing.assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-8)
    new = rng.standard_normal((20, 6))
    delta, D = cdist(new, X, metric), cdist(X, X, metric)
    last = delta.argmax(axis=1)  # no neighbour of the 79: the way there is over another point
    round_about = delta[:, :, None] + D
    round_about[np.arange(20), last] = np.inf
    delta[np.arange(20), last] = round_about.min(axis=1)[np.arange(20), last]
    want = lowland.ClassicalMDS(3, metric="precomputed").fit(D).transform(delta)
    np.testing.assert_allclose(model.transform(new), want, atol=1e-8 * scale)


def test_it_is_classical_scaling_of_shortest_paths(rng):
    X = swiss_roll(400)[0]
    near = np.argsort(cdist(X, X), axis=1, kind="stable")[:, 1:9]
    W = np.zeros((400, 400))
    np.put_along_axis(W, near, np.take_along_axis(cdist(X, X), near, axis=1), axis=1)
    D = dijkstra(sp.csr_array(np.maximum(W, W.T)), directed=False)
    peer = lowland.ClassicalMDS(4, metric="precomputed").fit(D)
    model = Isomap(4, n_neighbors=8).fit(X)
    np.testing.assert_allclose(model.embedding_, peer.embedding_, atol=1e-8 * np.abs(peer.embedding_).max())
    for name in ("goodness of fit", "goodness of fit, positive part", "negative share"):
        assert model.fit_info_.evidence[name] == pytest.approx(peer.fit_info_.evidence[name], rel=1e-8)


def test_the_krylov_solve_is_the_dense_one():
    """1500 points are solved densely, 1501 by iteration: one point more changes little, the residual is measured."""
    X = swiss_roll(1501)[0]
    dense, iterated = Isomap().fit(X[:1500]), Isomap().fit(X)
    assert dense.fit_info_.solver != iterated.fit_info_.solver
    assert iterated.fit_info_.residual < 1e-9
    np.testing.assert_allclose(iterated.eigenvalues_, dense.eigenvalues_, rtol=0.01)
    D = iterated.pieces_[0]["geodesics"]
    J = np.eye(1501) - 1 / 1501
    want = np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)[::-1][:2]
    np.testing.assert_allclose(iterated.eigenvalues_, want, rtol=1e-10)


@pytest.mark.parametrize(("name", "k"), [("swiss", 10), ("iris_unique", 25)])
def test_points_as_R_has_them(name, k):
    X = pd.read_csv(REFERENCE / f"{name}.csv", index_col=0).select_dtypes("number").to_numpy(float)
    want = pd.read_csv(REFERENCE / f"isomap_{name}_k{k}_points.csv", index_col=0).to_numpy(float)
    model = Isomap(want.shape[1], n_neighbors=k, ties="keep").fit(X)
    np.testing.assert_allclose(up_to_sign(model.embedding_, want), want, atol=1e-8 * np.abs(want).max())


def test_ties_are_what_iris_differs_by():
    X = pd.read_csv(REFERENCE / "iris_unique.csv", index_col=0).select_dtypes("number").to_numpy(float)
    kept, cut = (Isomap(n_neighbors=25, ties=ties).fit(X).embedding_ for ties in ("keep", "cut"))
    assert np.abs(kept - cut).max() > 1e-6


def test_images_with_three_parameters():
    """The residual variance levels off at 3, and the map holds position and light, which PCA's does not."""
    X, params = lit_bumps(900)
    model = Isomap(6, n_neighbors=8).fit(X)
    falls = -np.diff(model.residual_variance_)
    assert falls[:2].min() > 10 * falls[2:].max()
    P = np.linalg.qr(params - params.mean(axis=0))[0]
    maps = model.embedding_[:, :3], lowland.PCA(3).fit_transform(X)
    curved, flat = (np.linalg.svd(np.linalg.qr(Y)[0].T @ P)[1].min() for Y in maps)
    assert curved > 0.85
    assert curved > flat + 0.2


# -- known shapes -----------------------------------------------------------------------------------------


def test_swiss_roll_of_5000():
    X, truth = swiss_roll(5000)
    arc, height = rank_correlations(Isomap().fit_transform(X), truth)
    assert arc >= 0.999
    assert height >= 0.998


def test_a_curve_becomes_its_arc_length():
    t = np.linspace(0, 3, 300)
    X = np.column_stack([np.cos(2 * t), np.sin(2 * t), t])
    Y = Isomap(1, n_neighbors=2).fit_transform(X)
    steps = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(X, axis=0), axis=1))])
    Y = Y[:, 0] * np.sign(Y[-1, 0] - Y[0, 0])
    np.testing.assert_allclose((Y - Y[1])[1:-1], (steps - steps[1])[1:-1], atol=1e-7)
    np.testing.assert_allclose(Y[-1] - Y[0], steps[-1], atol=1e-5)  # both neighbours of an end lie on one side


def test_residual_variance_says_two_dimensions(exact):
    assert exact.residual_variance_[0] > 0.01
    assert exact.residual_variance_[1] < 0.001


def test_residual_variances_by_their_definition(rng):
    Y, D = rng.standard_normal((50, 3)), np.abs(rng.standard_normal((50, 50)))
    D = (D + D.T) * (1 - np.eye(50))
    upper = D[np.triu_indices(50, 1)]
    want = [1 - np.corrcoef(upper, pdist(Y[:, :c]))[0, 1] ** 2 for c in (1, 2, 3)]
    np.testing.assert_allclose(residual_variances(D, Y, Y), want, atol=1e-12)
    pairs = [(i, j) for i in range(50) for j in (4, 9) if i != j]
    few = [1 - np.corrcoef([D[p] for p in pairs], [np.linalg.norm(Y[i] - Y[j]) for i, j in pairs])[0, 1] ** 2]
    assert residual_variances(D[:, [4, 9]], Y, Y[[4, 9]])[2] == pytest.approx(few[0], abs=1e-12)


# -- landmarks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [100, 500])
def test_landmarks_lie_near_the_exact_map_and_say_how_near(count, roll, exact):
    model = Isomap(landmarks=count).fit(roll[0])
    true = procrustes(model.embedding_, exact.embedding_, scale=False).error
    info = model.fit_info_
    assert info.approximate
    assert info.algorithm == f"{count} landmarks (uniform)"
    assert true < 0.15 / count**0.5
    assert 0.5 * true < info.approximation_error < 4 * true
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=0.05)
    np.testing.assert_allclose(model.residual_variance_, exact.residual_variance_, rtol=0.5)
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-9)


def test_as_many_landmarks_as_points_is_exact(roll):
    X = roll[0][:300]
    few, exact = Isomap(landmarks=300).fit(X), Isomap(landmarks=None).fit(X)
    np.testing.assert_array_equal(few.embedding_, exact.embedding_)
    assert not few.fit_info_.approximate


def test_auto_takes_landmarks_above_10000():
    X, truth = swiss_roll(10_001)
    model = Isomap().fit(X)
    assert model.fit_info_.algorithm == "500 landmarks (uniform)"
    assert min(rank_correlations(model.embedding_, truth)) > 0.998
    plan = lowland.plan(Isomap(), X)
    assert plan.approximate
    assert plan.model_bytes > model.pieces_[0]["geodesics"].nbytes == 8 * 500 * 10_001
    assert not lowland.plan(Isomap(), X[:-1]).approximate
    assert lowland.plan(Isomap(), X[:-1]).model_bytes > 8 * 10_000**2


def test_many_distances_are_kept_in_single_precision(roll, exact, monkeypatch):

    double = Isomap(landmarks=200).fit(roll[0])
    monkeypatch.setattr(path_map, "_FLOAT32_ABOVE", 1000)
    single = Isomap(landmarks=200).fit(roll[0])
    assert single.pieces_[0]["geodesics"].dtype == np.float32
    np.testing.assert_allclose(single.embedding_, double.embedding_, atol=1e-5 * np.abs(double.embedding_).max())
    assert Isomap(landmarks=None).fit(roll[0][:300]).pieces_[0]["geodesics"].dtype == np.float64


def test_too_few_landmarks():
    """Each half of them must span the map, or its error cannot be measured."""
    X = swiss_roll(100)[0]
    for count in (3, 7):
        with pytest.raises(lowland.DataError, match=f"{count} landmarks are too few for .*: use at least 8"):
            Isomap(3, landmarks=count).fit(X)


def test_landmarks_that_do_not_agree_are_told(rng):
    with pytest.warns(lowland.LowlandWarning, match="two sets of 3 landmarks do not agree"):
        model = Isomap(landmarks=6).fit(rng.standard_normal((500, 10)))
    assert model.fit_info_.approximation_error > 0.3


@pytest.mark.parametrize("n", [60, 1600])
def test_equal_eigenvalues_that_the_map_cuts_are_told(n):
    """A circle has two equal ones: with one component any turn of it is as good."""
    X = lowland.data.circle(n, n_features=3)[0]
    with pytest.warns(lowland.DegenerateWarning, match="eigenvalues 1 and 2 are equal"):
        Isomap(1, n_neighbors=4).fit(X)
    assert Isomap(2, n_neighbors=4).fit(X).fit_info_.warnings == ()


# -- new rows ---------------------------------------------------------------------------------------------


def local_error(truth, Y, truth_new, Y_new, k=10):
    """Median distance of points of a map from where the affine map (truth to map) of their k nearest puts them."""
    same = truth_new is truth
    errors = []
    for i, found in enumerate(cKDTree(truth).query(truth_new, k + same)[1]):
        near = found[1:] if same else found
        L = np.linalg.lstsq(np.column_stack([np.ones(k), truth[near]]), Y[near])[0]
        errors.append(np.linalg.norm(Y_new[i] - np.r_[1.0, truth_new[i]] @ L))
    return float(np.median(errors))


@pytest.mark.parametrize("landmarks", [None, 300])
def test_held_out_rows_join_as_well_as_training_rows_lie(landmarks):
    X, truth = swiss_roll(3000)
    train, test = slice(0, 2500), slice(2500, None)
    model = Isomap(landmarks=landmarks).fit(X[train])
    Y = model.embedding_
    own = local_error(truth[train], Y, truth[train], Y)
    assert local_error(truth[train], Y, truth[test], model.transform(X[test])) < 2 * own
    nearest = cKDTree(X[train]).query(X[test])[1]
    assert local_error(truth[train], Y, truth[test], Y[nearest]) > 2 * own


@pytest.mark.parametrize("landmarks", [None, 60])
def test_rows_are_placed_one_by_one(landmarks, rng):
    X = swiss_roll(600)[0]
    model = Isomap(landmarks=landmarks).fit(X[:500])
    together = model.transform(X[500:])
    alone = np.concatenate([model.transform(row[None]) for row in X[500:]])
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-12 * np.abs(together).max())
    np.testing.assert_allclose(model.transform(X[:500]), model.embedding_, atol=1e-12)


def test_a_new_row_goes_through_its_neighbours(rng):
    X = swiss_roll(300)[0]
    model = Isomap(n_neighbors=7).fit(X)
    x = X[10] + 0.1
    D, d = model.pieces_[0]["geodesics"], np.linalg.norm(X - x, axis=1)
    near = np.argsort(d)[:7]
    delta = (D[near] + d[near, None]).min(axis=0)
    half = ((D**2).mean(axis=0) - delta**2) / 2
    want = half @ model.embedding_ / model.eigenvalues_
    np.testing.assert_allclose(model.transform(x[None])[0], want, atol=1e-9)


def test_inverse_returns_to_the_sheet(roll, exact):
    X = roll[0]
    np.testing.assert_allclose(exact.inverse_transform(exact.embedding_[:50]), X[:50], atol=1e-9)
    between = (exact.embedding_[:200] + exact.embedding_[cKDTree(X).query(X[:200], 2)[1][:, 1]]) / 2
    assert cKDTree(X).query(exact.inverse_transform(between))[0].max() < 2.0


# -- pieces, duplicates, other input ----------------------------------------------------------------------


@pytest.fixture
def islands(rng):
    return np.concatenate([rng.standard_normal((60, 3)), rng.standard_normal((40, 3)) + 30, [[100.0, 0, 0]] * 2])


def test_pieces_bridged(islands):
    with pytest.warns(lowland.DisconnectedWarning, match="connected components is 3|connected components is 2"):
        model = Isomap(n_neighbors=5).fit(islands)
    assert np.isfinite(model.embedding_).all()
    assert np.linalg.norm(model.embedding_[0] - model.embedding_[70]) > 30


def test_pieces_separate(islands):
    with pytest.warns(lowland.DisconnectedWarning, match="side by side"):
        model = Isomap(n_neighbors=5, disconnected="separate").fit(islands[:100])
    assert np.bincount(model.component_labels_).tolist() == [60, 40]
    alone = Isomap(n_neighbors=5).fit(islands[:60])
    np.testing.assert_allclose(pdist(model.embedding_[:60]), pdist(alone.embedding_), atol=1e-9)
    np.testing.assert_allclose(model.residual_variance_, alone.residual_variance_, atol=1e-12)
    first, second = model.embedding_[:60, 0], model.embedding_[60:, 0]
    assert first.max() < second.min()
    np.testing.assert_allclose(model.transform(islands[:100]), model.embedding_, atol=1e-12)
    new = model.transform(islands[60:63] + 0.01)
    assert np.linalg.norm(new - model.embedding_[60:63], axis=1).max() < 0.5


def test_small_pieces_keep_their_distances(rng):
    few = rng.standard_normal((6, 3)) + 50  # with 5 neighbours each, all are neighbours
    X = np.concatenate([rng.standard_normal((60, 3)), few])
    with pytest.warns(lowland.DisconnectedWarning, match=r"connected components is 2 \(60 and 6 points\)"):
        model = Isomap(6, n_neighbors=5, disconnected="separate").fit(X)
    np.testing.assert_allclose(pdist(model.embedding_[60:]), pdist(few), atol=1e-9)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-12)
    assert model.transform(few.mean(axis=0, keepdims=True))[0, 0] > model.embedding_[:60, 0].max()


def test_pieces_refused(islands):
    with pytest.raises(lowland.DisconnectedError, match="connected components is 2"):
        Isomap(n_neighbors=5, disconnected="error").fit(islands)


def test_equal_rows_get_equal_points(rng):
    X = swiss_roll(300)[0]
    model = Isomap().fit(np.concatenate([X, X[:50], X[:50]]))
    np.testing.assert_array_equal(model.embedding_[300:350], model.embedding_[:50])
    np.testing.assert_allclose(pdist(model.embedding_[:300]), pdist(Isomap().fit_transform(X)), atol=1e-9)


def test_distances_instead_of_rows():
    X = swiss_roll(400)[0]
    D = cdist(X[:350], X[:350])
    want = Isomap().fit(X[:350])
    model = Isomap(metric="precomputed").fit(D)
    np.testing.assert_allclose(model.embedding_, want.embedding_, atol=1e-8)
    np.testing.assert_allclose(model.transform(cdist(X[350:], X[:350])), want.transform(X[350:]), atol=1e-8)


def test_sparse_distances_are_the_graph():
    X = swiss_roll(400)[0]
    d, i = cKDTree(X).query(X, 13)
    S = sp.csr_array((d[:, 1:].ravel(), i[:, 1:].ravel(), np.arange(401) * 12), shape=(400, 400))
    model = Isomap(metric="precomputed").fit(S.maximum(S.T))
    np.testing.assert_allclose(model.embedding_, Isomap().fit(X).embedding_, atol=1e-8)


def test_float32_rows():
    X = swiss_roll(500)[0]
    Y = Isomap().fit_transform(X.astype(np.float32))
    assert Y.dtype == np.float32
    assert procrustes(Y, Isomap().fit_transform(X), scale=False).error < 1e-2


def test_threads_and_seeds_do_not_matter(roll):
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(Isomap(landmarks=150, random_state=3).fit_transform(roll[0]))
    np.testing.assert_array_equal(*found)
    other = Isomap(landmarks=150, random_state=4).fit_transform(roll[0])
    assert np.abs(found[0] - other).max() > 1e-6


def test_saved_and_loaded(tmp_path, exact, roll):
    model = Isomap(landmarks=50).fit(roll[0][:500])
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(again.transform(roll[0][500:520]), model.transform(roll[0][500:520]))
    np.testing.assert_array_equal(again.residual_variance_, model.residual_variance_)


def test_the_plan_holds(roll):
    for landmarks in (None, 200):
        plan = lowland.plan(Isomap(landmarks=landmarks), roll[0])
        model = Isomap(landmarks=landmarks).fit(roll[0])
        assert model.fit_info_.peak_bytes < 1.2 * plan.bytes + 60e6  # what compiling and threads take besides


def test_cancel_leaves_no_model(roll):
    model = Isomap()
    with (
        lowland.config(progress=lambda stage, done, total: stage != "shortest paths"),
        pytest.raises(lowland.Cancelled, match="shortest paths"),
    ):
        model.fit(roll[0])
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize(
    "bad", [{"n_neighbors": 0}, {"n_neighbors": -3}, {"ties": "all"}, {"landmarks": "farthest:10"}]
)
def test_bad_parameters(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Isomap(**bad).fit(swiss_roll(50)[0])


def test_bad_data():
    X = swiss_roll(50)[0]
    with pytest.raises(lowland.DataError, match="n_neighbors=50 must be less"):
        Isomap(n_neighbors=50).fit(X)
    with pytest.raises(lowland.DataError, match="all rows are equal"):
        Isomap().fit(np.ones((30, 3)))
    with pytest.raises(lowland.DataError, match="overflow"):
        Isomap(metric=lambda a, b: 1e120 * float(np.linalg.norm(a - b))).fit(X)


@pytest.mark.parametrize("landmarks", [None, 60])
def test_a_row_is_placed_alike_alone_and_among_others(landmarks):
    X = lowland.data.swiss_roll(600)[0]
    model = lowland.Isomap(n_neighbors=8, landmarks=landmarks).fit(X)
    new = X[:40] + 0.05
    together = model.transform(new)
    np.testing.assert_array_equal(np.concatenate([model.transform(row[None]) for row in new]), together)


@pytest.mark.parametrize("scale", [1.0, 2.0**-200])
def test_error_and_path_lengths_are_scikit_learns(scale):
    X = swiss_roll(300)[0]
    want, got = sklearn.manifold.Isomap(n_neighbors=10).fit(X), Isomap(n_neighbors=10).fit(X * scale)
    assert got.reconstruction_error() == pytest.approx(want.reconstruction_error() * scale**2, rel=1e-8)
    np.testing.assert_allclose(got.dist_matrix_, want.dist_matrix_ * scale, rtol=1e-12)
    assert Isomap(n_neighbors=10).fit(X.astype(np.float32)).dist_matrix_.dtype == np.float32


def test_path_lengths_of_equal_rows_and_of_components():
    X = swiss_roll(100)[0]
    one = Isomap(n_neighbors=8).fit(X).dist_matrix_
    repeated = Isomap(n_neighbors=8).fit(np.vstack([X, X[::-1]]))
    np.testing.assert_array_equal(repeated.dist_matrix_, np.block([[one, one[:, ::-1]], [one[::-1], one[::-1, ::-1]]]))
    with pytest.warns(lowland.DisconnectedWarning, match="number of connected components is 2"):
        apart = Isomap(n_neighbors=8, disconnected="separate").fit(np.vstack([X, X + 1000]))
    np.testing.assert_allclose(apart.dist_matrix_[:100, :100], one, atol=1e-10)
    assert np.isinf(apart.dist_matrix_[:100, 100:]).all()


def test_path_lengths_of_a_saved_model(tmp_path):
    X = np.repeat(swiss_roll(60)[0], 2, axis=0)
    model = Isomap(n_neighbors=8).fit(X)
    lowland.save(model, tmp_path / "isomap.lowland")
    loaded = lowland.load(tmp_path / "isomap.lowland")
    np.testing.assert_array_equal(loaded.dist_matrix_, model.dist_matrix_)
    assert loaded.reconstruction_error() == model.reconstruction_error()
    del loaded.point_numbers_  # as models were saved before
    with pytest.raises(AttributeError, match="fit it again"):
        loaded.dist_matrix_  # noqa: B018


def test_landmarks_have_no_path_lengths_of_all_pairs():
    model = Isomap(landmarks=30).fit(swiss_roll(200)[0])
    assert not hasattr(model, "dist_matrix_")
    with pytest.raises(lowland.DataError, match="fit with landmarks=None"):
        model.reconstruction_error()
