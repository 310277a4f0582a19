"""Locality preserving projections: the generalised problem, its identities, and that it is a linear map."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

import lowland
from lowland.data import digits, flat_grid, swiss_roll
from lowland.methods.linear.lpp import LPP
from lowland.methods.manifold.laplacian_eigenmaps import LaplacianEigenmaps
from sample_tables import connections
from signs import same_up_to_sign


def weights(X, k, sigma):
    D = cdist(X, X)
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1, kind="stable")[:, 1 : k + 1], True, axis=1)
    return np.where(near | near.T, np.exp(-(D**2) / (2 * sigma**2)), 0.0)


@pytest.mark.parametrize("kind", ["heat", "binary"])
def test_the_map_solves_the_generalised_problem(rng, kind):
    """XᵀLX a = λ XᵀDX a with rows centred by the D-weighted mean (He & Niyogi 2004)."""
    X = rng.standard_normal((150, 6)) * np.arange(1, 7) + 4
    model = LPP(3, n_neighbors=8, weights=kind).fit(X)
    W = weights(X, 8, model.bandwidth_)
    d = W.sum(axis=1)
    np.testing.assert_allclose(model.mean_, d @ X / d.sum(), rtol=1e-12)
    Z = X - model.mean_
    values, A = scipy.linalg.eigh(Z.T @ (np.diag(d) - W) @ Z, Z.T @ (d[:, None] * Z))
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-9)
    same_up_to_sign(model.components_.T, A[:, :3] * np.sqrt(d.sum()), atol=1e-9)
    Y = model.transform(X)
    np.testing.assert_allclose(Y.T @ (d[:, None] * Y) / d.sum(), np.eye(3), atol=1e-10)
    assert model.fit_info_.residual < 1e-12


def test_in_enough_dimensions_it_is_laplacian_eigenmaps(rng):
    """rank(X − D-weighted mean) = N − 1: every function on the points is linear in the rows."""
    X = rng.standard_normal((60, 90))
    linear, free = LPP(4, n_neighbors=6).fit(X), LaplacianEigenmaps(4, n_neighbors=6).fit(X)
    assert linear.rank_ == 59
    np.testing.assert_allclose(linear.eigenvalues_, free.eigenvalues_, atol=1e-10)
    same_up_to_sign(linear.transform(X), free.embedding_, atol=1e-8)


def test_no_linear_map_does_better_than_the_free_one():
    X, _ = swiss_roll(800)
    linear, free = LPP(2).fit(X), LaplacianEigenmaps(2).fit(X)
    assert (linear.eigenvalues_ > free.eigenvalues_).all()


def test_a_long_grid_is_projected_on_its_length():
    X, truth = flat_grid(60, 5, n_features=4, noise=1e-3)
    Y = LPP(1, weights="binary").fit_transform(X)
    assert abs(np.corrcoef(Y[:, 0], truth[:, 0])[0, 1]) > 0.9999


def test_dependent_and_shifted_columns_change_nothing(rng):
    """Only the span of the centred columns matters, for a graph that stays the same."""
    X = rng.standard_normal((200, 5))
    model = LPP(2).fit(X)
    doubled = LPP(2).fit(np.column_stack([X, X, np.full(200, 3.0)]) / np.sqrt(2) + 1e4)
    assert doubled.rank_ == 5
    other = doubled.transform(np.column_stack([X, X, np.full(200, 3.0)]) / np.sqrt(2) + 1e4)
    same_up_to_sign(model.transform(X), other, atol=1e-7)


def test_a_large_mean_costs_no_digits(rng):
    X = rng.standard_normal((300, 4)) * [1, 2, 3, 4]
    moved = X + 1e7
    X = moved - 1e7  # what is left of the digits, exactly
    same_up_to_sign(LPP(2).fit(X).transform(X), LPP(2).fit(moved).transform(moved), atol=1e-8)


def test_rows_go_there_and_back(rng):
    X = rng.standard_normal((100, 5)) + 2
    model = LPP(5).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    part = LPP(2).fit(X)
    Y = part.transform(X)
    np.testing.assert_allclose(part.transform(part.inverse_transform(Y)), Y, atol=1e-10)
    np.testing.assert_allclose(part.transform(part.mean_[None]), 0, atol=1e-12)
    A, a, B, b = part.compressor()
    np.testing.assert_allclose(Y, X @ A.T + a, atol=1e-10)
    np.testing.assert_allclose(part.inverse_transform(Y), Y @ B.T + b, atol=1e-10)


def test_the_model_holds_no_training_rows(rng):
    X = rng.standard_normal((500, 4))
    model = LPP().fit(X)
    learned = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert max(np.size(value) for value in learned.values() if isinstance(value, np.ndarray)) == 8
    assert set(learned) - {"fit_info_", "n_features_in_"} == set(LPP._state)


def test_sparse_rows_are_rows():
    X, _, _ = digits()
    S = sp.csr_array(X)
    dense, sparse = LPP(3).fit(X), LPP(3).fit(S)
    np.testing.assert_allclose(sparse.transform(S), dense.transform(X), atol=1e-9)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-9)


def test_single_precision(rng):
    X = rng.standard_normal((300, 6)) * np.arange(1, 7)
    model = LPP().fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    np.testing.assert_allclose(model.transform(X.astype(np.float32)), LPP().fit_transform(X), atol=1e-3)


def test_threads_leave_no_trace(rng):
    X = rng.standard_normal((12_000, 40)) * np.linspace(3, 1, 40)
    results = []
    for threads in (1, 2):
        with lowland.config(threads=threads):
            results.append(LPP().fit(X).components_)
    np.testing.assert_array_equal(*results)


def test_equal_rows_count_once(rng):
    X = rng.standard_normal((80, 3))
    often = np.vstack([X, X[:10], X[:10]])
    np.testing.assert_allclose(LPP().fit(often).components_, LPP().fit(X).components_, atol=1e-10)


def test_pieces_are_bridged_or_refused(rng):
    X = np.vstack([rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 30])
    with pytest.raises(ValueError, match="disconnected must be 'bridge' or 'error'; got 'separate'"):
        LPP(disconnected="separate").fit(X)
    with pytest.raises(lowland.DisconnectedError, match="connected components is 2"):
        LPP(disconnected="error").fit(X)
    with pytest.warns(lowland.DisconnectedWarning, match="joined by the shortest missing edge"):
        Y = LPP(1).fit_transform(X)
    assert abs(np.corrcoef(Y[:, 0], np.repeat([0, 1], 60))[0, 1]) > 0.99


def test_rank_and_counts(rng):
    line = np.outer(rng.standard_normal(40), [1.0, -2.0, 1.5]) + 1
    with pytest.warns(lowland.RankWarning, match="rank 1"):
        model = LPP(3).fit(line)
    assert model.transform(line).shape == (40, 1)
    with pytest.raises(lowland.DataError, match="rank 0"):
        LPP(1).fit(np.full((20, 4), 3.7))
    message = r"n_components=8 is more than min\(rows, columns\) = 7 \(n_samples = 50, n_features = 7\)"
    with pytest.raises(lowland.DataError, match=message):
        LPP(8).fit(rng.standard_normal((50, 7)))
    with pytest.raises(ValueError, match="metric must be"):
        LPP(metric="precomputed").fit(np.eye(20))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lowland.DisconnectedWarning")
@pytest.mark.parametrize("name", ["digits", "connections"])
def test_large_tables(name):
    X = load_digits().data if name == "digits" else connections(20_000).astype(np.float64)
    Y = LPP(5).fit_transform(X)
    assert np.isfinite(Y).all()
    assert (Y.std(axis=0) > 0).all()
