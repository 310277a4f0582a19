"""LLE against scikit-learn and the equations; what all four methods share is in test_patch_alignment.py."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

import lowland
from lle_reference import span_angle, theirs
from lowland.graph.geometry import Coordinates
from lowland.graph.patches import RIDGE, barycentric
from lowland.methods.manifold.lle import LLE
from lowland.methods.shared.placing import NewRows


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_same_map_as_scikit_learn(d):
    X, _ = lowland.data.swiss_roll(400)
    want = theirs("standard", X, n_components=d, reg=1e-3)
    got = LLE(d, n_neighbors=12, reg=1e-3).fit_transform(X)
    assert span_angle(got, want) < 1e-6
    np.testing.assert_allclose(np.abs(got), np.abs(want) * 20.0, atol=1e-4)


def test_neighbours_make_up_points_on_the_map():
    X, _ = lowland.data.s_curve(500)
    model = LLE(reg=1e-3).fit(X)
    lists = NewRows(model).metric.search(X).graph(10).indices.reshape(500, 10)
    w = barycentric(Coordinates(X).around(np.arange(500), lists), RIDGE)
    rest = model.embedding_ - (w[:, None, :] @ model.embedding_[lists])[:, 0]
    np.testing.assert_allclose((rest**2).sum(axis=0) / 500, model.eigenvalues_, rtol=1e-4)


def test_new_rows_are_made_up_as_training_rows_are():
    X, _ = lowland.data.s_curve(500)
    model, new = LLE(reg=0.01).fit(X), X[:50] + 0.01
    near = NewRows(model).metric.search(X).query(new, 10)[0]
    Z = X[near] - new[:, None]
    w = barycentric(Z @ Z.transpose(0, 2, 1), 0.01)
    np.testing.assert_allclose(model.transform(new), (w[:, None] @ model.embedding_[near])[:, 0], atol=1e-10)


def test_reg_does_something():
    X, _ = lowland.data.swiss_roll(400)
    maps = [LLE(reg=reg).fit_transform(X) for reg in ("auto", 1e-3, 1e-1)]
    assert span_angle(maps[0], maps[1]) > 1e-3
    assert span_angle(maps[1], maps[2]) > 1e-3


def test_eigenvalues_of_larger_sets_fall():
    found = [LLE(reg=1e-3).fit(lowland.data.swiss_roll(n)[0]).eigenvalues_[0] for n in (500, 2000)]
    assert found[1] < found[0] / 2


@pytest.mark.parametrize("reg", [1e-18, 1e-30])
def test_a_ridge_below_rounding_is_one_of_rounding(reg, rng):
    """Of 4 points on a line the products have rank 1: with no ridge there is nothing to solve."""
    t = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    w = barycentric((t @ t.T)[None], reg)[0]
    assert w.sum() == pytest.approx(1)
    assert abs(w @ t[:, 0]) < 1e-6
    X = rng.standard_normal((80, 12))  # fewer neighbours than columns: a ridge is hardly needed
    np.testing.assert_allclose(LLE(reg=reg).fit_transform(X), LLE(reg=1e-13).fit_transform(X), atol=1e-6)


@pytest.mark.parametrize(("cls", "method"), [(LLE, "standard"), (lowland.ModifiedLLE, "modified")])
def test_the_reconstruction_error_is_scikit_learns(cls, method):
    X, _ = lowland.data.swiss_roll(400)
    want = LocallyLinearEmbedding(n_neighbors=12, method=method, eigen_solver="dense").fit(X)
    got = cls(n_neighbors=12).fit(X)
    assert got.reconstruction_error_ == pytest.approx(want.reconstruction_error_, rel=1e-6)


def test_the_reconstruction_error_is_the_mean_over_points():
    X, _ = lowland.data.swiss_roll(400)
    model = LLE(n_neighbors=12).fit(X)
    W = barycenter_kneighbors_graph(X, 12, reg=1e-3).toarray()
    mean = np.mean(np.sum((model.embedding_ - W @ model.embedding_) ** 2, axis=1))
    assert model.reconstruction_error_ == pytest.approx(mean, rel=1e-6)
    assert not hasattr(LLE(), "reconstruction_error_")
