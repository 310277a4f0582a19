"""UMAP: the fuzzy graph of umap-learn and of its definition, the same steps, its quality, its refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

import lowland
from lowland.graph.neighbors import neighbor_graph
from lowland.methods.neighbor_embedding import package
from lowland.methods.umap import fuzzy_union, memberships


def learned(X, **parameters):
    """A model of umap-learn, whose warnings are its own business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return package("umap", "the test").UMAP(**parameters).fit(X)


def test_memberships_add_up(rng):
    d = np.sort(rng.random((50, 14)), axis=1).astype(np.float32)
    w = memberships(d)
    np.testing.assert_allclose(w.sum(axis=1), np.log2(15), rtol=1e-5)
    np.testing.assert_array_equal(w[:, 0], 1.0)
    assert (np.diff(w, axis=1) <= 0).all()
    new = memberships(d, nearest=False)
    np.testing.assert_allclose(new[:, 1:].sum(axis=1), np.log2(14), rtol=1e-5)
    np.testing.assert_array_equal(memberships(d[3:4]), w[3:4])


def test_equal_distances_have_no_bandwidth_of_zero():
    w = memberships(np.full((2, 14), 3.0, dtype=np.float32))
    np.testing.assert_array_equal(w, 1.0)  # more than log₂ 15 in all: none is nearer than the nearest
    assert np.isfinite(memberships(np.array([[1.0, 1.0, 1.0, 9.0]], dtype=np.float32))).all()


def test_digits_are_drawn_as_well_as_by_the_library():
    X = load_digits().data[:500]
    W = fuzzy_union(neighbor_graph(X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape), 14))
    ours = [lowland.UMAP(random_state=s).fit(X).embedding_ for s in range(2)]
    theirs = [learned(X, random_state=s, n_jobs=1) for s in range(2)]
    got = [trustworthiness(X, Y, n_neighbors=10) for Y in ours]
    want = [trustworthiness(X, peer.embedding_, n_neighbors=10) for peer in theirs]
    assert min(got) > 0.97
    assert abs(np.mean(got) - np.mean(want)) < 0.004
    V = theirs[0].graph_
    assert abs(W - V).sum() < 0.01 * V.sum()  # digits have ties at the last neighbour, and there the choice is free


def test_the_graph_is_that_of_the_library(rng):
    X = rng.standard_normal((300, 8))
    library = package("umap.umap_", "the test")
    found = neighbor_graph(X, 14)
    numbers = np.c_[np.arange(300), found.indices.reshape(300, 14)]
    distances = np.c_[np.zeros(300), found.distances.reshape(300, 14)]
    want, _, _ = library.fuzzy_simplicial_set(X, 15, None, "euclidean", knn_indices=numbers, knn_dists=distances)
    W = fuzzy_union(found)
    assert abs(W - want).max() < 1e-4
    assert abs(W - W.T).max() < 1e-6


@pytest.mark.parametrize(
    "other",
    [{"n_neighbors": 20}, {"min_dist": 0.5}, {"spread": 2.0}, {"n_epochs": 61}],
    ids=lambda o: next(iter(o)),
)
def test_every_parameter_does_something(other, rng):
    X = rng.standard_normal((80, 4))
    plain = {"n_neighbors": 10, "n_epochs": 60}
    Y = lowland.UMAP(**plain).fit_transform(X)
    assert np.abs(lowland.UMAP(**plain | other).fit_transform(X) - Y).max() > 1e-3


def test_the_curve_follows_min_dist_and_spread(rng):
    X = rng.standard_normal((60, 4))
    a, b = lowland.UMAP(n_neighbors=10, n_epochs=5).fit(X).curve_
    assert (a, b) == (pytest.approx(1.577, abs=1e-3), pytest.approx(0.8951, abs=1e-3))  # McInnes' default
    close, wide = (lowland.UMAP(n_neighbors=10, n_epochs=200, min_dist=m).fit_transform(X) for m in (0.0, 0.99))

    def nearest(Y):
        D = np.linalg.norm(Y[:, None] - Y, axis=2)
        return np.median(np.sort(D, axis=1)[:, 1])

    assert nearest(wide) > 1.5 * nearest(close)


def test_refusals(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="min_dist=2 must be at most spread=1"):
        lowland.UMAP(min_dist=2.0, n_neighbors=5).fit(X)
    with pytest.raises(lowland.DataError, match="n_neighbors=21 must be at most the number of distinct rows, 20"):
        lowland.UMAP(n_neighbors=21).fit(X)
    assert lowland.UMAP(n_neighbors=20, n_epochs=5).fit(X).neighbors_ == 19
    with pytest.warns(lowland.LowlandWarning, match=r"only 9 distinct rows.*n_neighbors=9"):
        assert lowland.UMAP(n_epochs=5).fit(X[:9]).neighbors_ == 8
    with pytest.raises(ValueError, match="n_neighbors must be a whole number ≥ 2"):
        lowland.UMAP(n_neighbors=1).fit(X)


def test_many_dimensions(rng):
    X = np.vstack([rng.standard_normal((40, 12)), rng.standard_normal((40, 12)) + 9])
    Y = lowland.UMAP(8, n_epochs=60).fit_transform(X)
    assert Y.shape == (80, 8)
    assert np.linalg.norm(Y[:40].mean(axis=0) - Y[40:].mean(axis=0)) > 2 * Y[:40].std(axis=0).max()
