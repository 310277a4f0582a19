"""UMAP: the fuzzy graph of umap-learn and of its definition, the same steps, its quality, its refusals."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import lowland
from lowland.graph.neighbors import neighbor_graph
from lowland.graph.points import PointSet
from lowland.methods.embedding.fuzzy_graph import SupervisedTarget, fuzzy_union, memberships
from lowland.methods.embedding.neighbor_embedding import package
from lowland.methods.embedding.umap import curve


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
    ours = [lowland.UMAP(random_state=s).fit(X).embedding_ for s in range(2)]
    theirs = [learned(X, random_state=s, n_jobs=1) for s in range(2)]
    got = [trustworthiness(X, Y, n_neighbors=10) for Y in ours]
    want = [trustworthiness(X, peer.embedding_, n_neighbors=10) for peer in theirs]
    assert min(got) > 0.97
    assert abs(np.mean(got) - np.mean(want)) < 0.004


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


def test_the_steps_are_those_of_the_library_bit_for_bit(rng, monkeypatch):
    """With the graph, the start and the random numbers of our fit, umap-learn's own fit gives our map."""
    X = np.vstack([rng.standard_normal((60, 6)), rng.standard_normal((60, 6)) + 5])
    library, seen = package("umap.umap_", "the test"), {}
    inner = library.simplicial_set_embedding

    def watched(data, graph, d, rate, a, b, gamma, negative, epochs, init, state, *rest, **options):
        seen.update(graph=graph.copy(), init=init.copy(), state=copy.deepcopy(state))
        return inner(data, graph, d, rate, a, b, gamma, negative, epochs, init, state, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(library, "simplicial_set_embedding", watched)
        ours = lowland.UMAP(n_neighbors=10, min_dist=0.2, n_epochs=70).fit(X)
    monkeypatch.setattr(library, "fuzzy_simplicial_set", lambda *_, **__: (seen["graph"], None, None, None))
    given = {"n_neighbors": 10, "min_dist": 0.2, "n_epochs": 70, "n_jobs": 1}
    theirs = learned(X, init=seen["init"], random_state=seen["state"], **given).embedding_
    signs = np.sign(ours.embedding_[0] * theirs[0])
    np.testing.assert_array_equal(ours.embedding_, theirs * signs)
    other = learned(X, init=seen["init"], random_state=1, **given).embedding_
    assert np.abs(other - theirs).max() > 0.01


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


@pytest.mark.parametrize("spread", [1e-3, 0.1, 1.0, 3.0, 10.0, 1e3])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_the_curve_is_the_nearest_at_any_spread(spread, share):
    """No other a and b come nearer to the function that it stands for."""
    a, b = curve(share * spread, spread)
    x = np.linspace(0, 3 * spread, 300)
    want = np.where(x < share * spread, 1.0, np.exp(-(x - share * spread) / spread))

    def miss(a, b):
        return np.sum((1 / (1 + a * x ** (2 * b)) - want) ** 2)

    assert miss(a, b) / len(x) < 0.01
    for factor in (0.98, 1.02):
        assert miss(a, b) < miss(factor * a, b)
        assert miss(a, b) < miss(a / spread ** (-2 * b) * spread ** (-2 * b * factor), b * factor)


@pytest.mark.parametrize("spread", [0.1, 10.0])
def test_the_spread_is_a_unit_of_length(spread, rng):
    X = np.vstack([rng.standard_normal((50, 4)), rng.standard_normal((50, 4)) + 8])
    model = lowland.UMAP(n_neighbors=10, n_epochs=100, min_dist=0.5 * spread, spread=spread).fit(X)
    plain = lowland.UMAP(n_neighbors=10, n_epochs=5, min_dist=0.5).fit(X).curve_
    assert model.curve_[1] == plain[1]
    assert model.curve_[0] == pytest.approx(plain[0] * spread ** (-2 * plain[1]))
    Y = model.embedding_
    assert np.linalg.norm(Y[:50].mean(axis=0) - Y[50:].mean(axis=0)) > 2 * Y[:50].std(axis=0).max()


def test_refusals(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match=r"min_dist=2\.0 must be at most spread=1\.0"):
        lowland.UMAP(min_dist=2.0, n_neighbors=5).fit(X)
    with pytest.raises(lowland.DataError, match="n_neighbors=21 is more than the number of rows, 20"):
        lowland.UMAP(n_neighbors=21).fit(X)
    with pytest.raises(lowland.DataError, match="n_neighbors=21 is more than the number of distinct rows, 20"):
        lowland.UMAP(n_neighbors=21).fit(np.vstack([X, X]))
    assert lowland.UMAP(n_neighbors=20, n_epochs=5).fit(X).neighbors_ == 19
    with pytest.warns(lowland.LowlandWarning, match=r"only 9 distinct rows.*n_neighbors=9"):
        assert lowland.UMAP(n_epochs=5).fit(X[:9]).neighbors_ == 8
    with pytest.raises(ValueError, match=r"min_dist must be a number in \[0, inf\); got -0\.1"):
        lowland.UMAP(min_dist=-0.1).fit(X)
    with pytest.raises(ValueError, match="spread=1e-300 is too far from 1"):
        lowland.UMAP(min_dist=0.0, spread=1e-300).fit(X)
    with pytest.raises(ValueError, match="n_neighbors must be a whole number ≥ 2"):
        lowland.UMAP(n_neighbors=1).fit(X)


def test_many_dimensions(rng):
    X = np.vstack([rng.standard_normal((40, 12)), rng.standard_normal((40, 12)) + 9])
    Y = lowland.UMAP(8, n_epochs=60).fit_transform(X)
    assert Y.shape == (80, 8)
    assert np.linalg.norm(Y[:40].mean(axis=0) - Y[40:].mean(axis=0)) > 2 * Y[:40].std(axis=0).max()


# -- supervised -----------------------------------------------------------------------------------------------


def overlapping(rng, n=150):
    """Three groups that overlap, and their numbers."""
    y = np.arange(n) % 3
    return rng.standard_normal((n, 6)) + 0.8 * np.eye(6)[y], y


def purity(Y, y, k=10):
    D = np.linalg.norm(Y[:, None] - Y, axis=2)
    return np.mean(y[np.argsort(D, axis=1)[:, 1 : k + 1]] == y[:, None])


@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9, 1.0])
def test_labels_change_the_graph_as_in_umap_learn(weight, rng):
    X, y = overlapping(rng)
    y[::7] = -1
    hood = PointSet.of(X, "euclidean", "UMAP").neighbors(lambda n: 14)
    W = fuzzy_union(hood.graph)
    got = SupervisedTarget.of(y, 150, "categorical", weight).of_points(hood, None).intersected(W, 14)
    library = package("umap.umap_", "the test")
    far = 2.5 / (1 - weight) if weight < 1 else 1e12
    want = library.discrete_metric_simplicial_set_intersection(sp.csr_matrix(W), y, far_dist=far)
    assert abs(got - want).max() == 0


def test_a_numeric_target_changes_the_graph_as_in_umap_learn(rng):
    X, y = rng.standard_normal((150, 5)), rng.standard_normal(150)
    hood = PointSet.of(X, "euclidean", "UMAP").neighbors(lambda n: 14)
    W = sp.csr_matrix(fuzzy_union(hood.graph))
    got = SupervisedTarget.of(y, 150, "euclidean", 0.3).of_points(hood, None).intersected(W, 14)
    library = package("umap.umap_", "the test")
    D = np.abs(y[:, None] - y)
    T, _, _ = library.fuzzy_simplicial_set(D, 15, None, "precomputed", {}, None, None, False, 1.0, 1.0, False)
    both = library.general_simplicial_set_intersection(W, T, 0.3)
    want = library.reset_local_connectivity(both)
    assert abs(got - want).max() < 1e-3


def test_labels_draw_groups_apart(rng):
    X, y = overlapping(rng)
    plain = lowland.UMAP(n_epochs=100).fit(X)
    for labels in (y, y.astype(float), [f"group {i}" for i in y], pd.Series(y), pd.Categorical(y), y[:, None]):
        model = lowland.UMAP(n_epochs=100).fit(X, labels)
        assert purity(model.embedding_, y) > 0.95 > 0.8 > purity(plain.embedding_, y)
        assert model.fit_info_.evidence["target"] == "3 labels"
    np.testing.assert_array_equal(
        lowland.UMAP(n_epochs=100).fit_transform(X, y), lowland.UMAP(n_epochs=100).fit(X, y).embedding_
    )
    assert "target" not in plain.fit_info_.evidence
    chain = make_pipeline(lowland.UMAP(n_epochs=100), KNeighborsClassifier(5)).fit(X, y)
    assert chain.score(X, y) > 0.95


def test_a_weight_of_labels_counts(rng):
    X, y = overlapping(rng)
    shares = [purity(lowland.UMAP(n_epochs=100, target_weight=w).fit_transform(X, y), y) for w in (0.0, 0.99)]
    assert shares[0] < shares[1]


def test_unknown_labels(rng):
    X, y = overlapping(rng)
    known = y.astype(object)
    known[::4] = None
    model = lowland.UMAP(n_epochs=50).fit(X, known)
    assert model.fit_info_.evidence["target"] == "3 labels, 38 rows without"
    for unknown in (-1, np.nan):
        same = np.where(np.arange(150) % 4 == 0, unknown, y)
        np.testing.assert_array_equal(lowland.UMAP(n_epochs=50).fit(X, same).embedding_, model.embedding_)


def test_a_numeric_target_orders_the_map(rng):
    X = rng.standard_normal((200, 12))
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    plain, drawn = (
        lowland.UMAP(1, n_epochs=200, target_metric="euclidean", target_weight=0.8).fit(X, target).embedding_[:, 0]
        for target in (None, y)
    )
    order = [abs(np.corrcoef(np.argsort(np.argsort(v)), np.argsort(np.argsort(y)))[0, 1]) for v in (plain, drawn)]
    assert order[1] > 0.8 > 0.6 > order[0]
    both = lowland.UMAP(n_epochs=20, target_metric="cityblock").fit(X, np.column_stack([y, y]))
    assert both.fit_info_.evidence["target"] == "cityblock distances"


def test_equal_rows_with_different_labels(rng):
    X, y = overlapping(rng)
    twice, labels = np.vstack([X, X[:4]]), np.append(y, [y[0], y[1], (y[2] + 1) % 3, -1])
    with pytest.warns(lowland.LowlandWarning, match="1 groups of equal rows have different labels"):
        got = lowland.UMAP(n_epochs=20).fit(twice, labels)
    want = lowland.UMAP(n_epochs=20).fit(X, np.where(np.arange(150) == 2, -1, y))
    np.testing.assert_array_equal(got.embedding_[:150], want.embedding_)


def test_new_rows_of_a_supervised_map(rng, tmp_path):
    X, y = overlapping(rng)
    model = lowland.UMAP(n_epochs=50, target_weight=0.7).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    assert again.target_weight == 0.7
    np.testing.assert_array_equal(again.transform(X[:9] + 0.1), model.transform(X[:9] + 0.1))


@pytest.mark.parametrize(
    ("y", "metric", "words"),
    [
        (np.arange(149), "categorical", r"y must have one label for each of the 150 rows; its shape is \(149,\)"),
        (np.zeros((150, 2)), "categorical", r"one label .* \(150, 2\)"),
        (np.arange(150) / 2, "categorical", r"fractions \(0.5 at row 1\).* use target_metric='euclidean'"),
        (["a"] * 150, "euclidean", "not a finite number; use target_metric='categorical'"),
        (np.full(150, np.nan), "euclidean", "not a finite number"),
        (np.arange(150), "manhattan", "use target_metric='cityblock'"),
    ],
    ids=["length", "columns", "fractions", "text", "nan", "name"],
)
def test_targets_that_are_refused(y, metric, words, rng):
    with pytest.raises(ValueError, match=words):
        lowland.UMAP(target_metric=metric).fit(rng.standard_normal((150, 3)), y)


@pytest.mark.filterwarnings("ignore:.*too few to optimise:lowland.LowlandWarning")
def test_a_target_of_too_few_rows_is_said_to_have_no_effect(rng):
    with pytest.warns(lowland.LowlandWarning, match="y has no effect"):
        lowland.UMAP().fit(rng.standard_normal((3, 3)), [0, 1, 1])
