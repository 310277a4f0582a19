"""New rows of every graph method: what changes nothing, sparse rows and squares, generators, the way back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist

import lowland
from lowland.contract.registry import METHODS
from lowland.data import swiss_roll

GRAPH = [m for m in METHODS if m.family in ("manifold", "linear") and "n_neighbors" in m.load()._parameters]
JOINED = [m for m in METHODS if "sparse" in m.abilities and m.family in ("manifold", "embedding")]
QUICK = {"tsne": {"perplexity": 10.0, "max_iter": 60}, "umap": {"n_epochs": 30}}
FORMS = (np.asarray, sp.csr_array)
EDGES_ONLY = [lowland.Isomap, lowland.LaplacianEigenmaps, lowland.DiffusionMaps]
CHANGED = {
    "n_components": 1,
    "n_neighbors": 3,
    "radius": 0.5,
    "affinity": "rbf",
    "metric": "cityblock",
    "disconnected": "error",
    "random_state": 7,
    "reg": "auto",
    "bandwidth": 0.5,
    "weights": "binary",
    "alpha": 0.25,
    "n_steps": 5,
    "diagonal": False,
    "landmarks": 20,
    "ties": "keep",
    "basis": 5,
}


def closest(X, k):
    """The distances of each row to its k nearest others, both ways, as a sparse square with a stored diagonal."""
    d, j = cKDTree(X).query(X, k + 1)
    one_way = sp.csr_array((d.ravel(), j.ravel(), np.arange(len(X) + 1) * (k + 1)), shape=(len(X), len(X)))
    i, j = (one_way + one_way.T + sp.eye_array(len(X))).nonzero()
    return sp.csr_array((np.linalg.norm(X[i] - X[j], axis=1), (i, j)), shape=(len(X), len(X)))


# -- a fitted model stays as it is --------------------------------------------------------------------------


def test_the_registry_has_the_graph_methods():
    assert len(GRAPH) >= 10


@pytest.mark.parametrize("method", GRAPH, ids=lambda m: m.name)
def test_parameters_changed_after_the_fit_change_no_new_row(method):
    X = swiss_roll(120)[0]
    model = method.load()(2, n_neighbors=8).fit(X[:100])
    want = model.transform(X[100:])
    changed = {name: value for name, value in CHANGED.items() if name in model.get_params()}
    assert set(model.get_params()) == set(changed)  # every parameter is tried
    model.set_params(**changed)
    np.testing.assert_array_equal(model.transform(X[100:]), want)


def test_the_automatic_ridge_is_that_of_the_fit():
    X = swiss_roll(220)[0]
    model = lowland.LLE(reg="auto").fit(X[:200])
    want = model.transform(X[200:])
    np.testing.assert_array_equal(model.set_params(reg=1e-1, n_components=1).transform(X[200:]), want)
    assert not np.array_equal(lowland.LLE(reg=1e-1).fit(X[:200]).transform(X[200:]), want)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_new_rows_draw_nothing_from_a_generator(make):
    X, generator = swiss_roll(200)[0], make(3)
    model = lowland.LTSA(random_state=generator).fit(X)
    before = pickle.dumps(generator)
    model.transform(X[:5] + 0.01)
    assert pickle.dumps(generator) == before


# -- sparse rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("Model", [lowland.LLE, lowland.LTSA, lowland.Isomap, lowland.LaplacianEigenmaps])
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # what such distances say of a roll is not the point
def test_sparse_rows_by_other_metrics_are_dense_rows(Model, metric):
    X = swiss_roll(300)[0]
    dense, sparse = (Model(metric=metric, n_neighbors=12).fit(A) for A in (X, sp.csr_array(X)))
    scale = np.abs(dense.embedding_).max()
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-4 * scale)
    new = X[:20] + 0.01
    np.testing.assert_allclose(sparse.transform(sp.csr_array(new)), dense.transform(new), atol=1e-4 * scale)


@pytest.mark.parametrize("options", [{"metric": "cosine"}, {"disconnected": "separate"}], ids=["cosine", "separate"])
@pytest.mark.parametrize("method", JOINED, ids=lambda m: m.name)
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # two clouds of few rows are no sheet
def test_new_rows_may_be_dense_where_the_training_rows_are_sparse(method, options, rng):
    if not set(options) <= set(method.load()._parameters):
        pytest.skip("embeds all components of the graph together")
    rows = rng.standard_normal((110, 3)) @ rng.standard_normal((3, 8)) + rng.standard_normal((110, 8))
    if "disconnected" in options:
        rows[::2] += 40.0  # two connected components
    rows[rows < 0] = 0.0
    X, new = rows[:90], rows[90:]
    dense, sparse = (method.load()(2, **options, **QUICK.get(method.name, {})).fit(form(X)) for form in FORMS)
    for model in (dense, sparse):
        both = [model.transform(form(new)) for form in FORMS]
        np.testing.assert_array_equal(*both)  # they are compared with the training rows in one way
        one_by_one = [model.transform(form(new[i : i + 1]))[0] for i, form in enumerate(FORMS)]
        np.testing.assert_allclose(one_by_one, both[0][:2], atol=1e-12 * np.abs(both[0]).max())
        np.testing.assert_array_equal(*(model.transform(form(X)) for form in FORMS))


@pytest.mark.parametrize("metric", ["cityblock", "correlation", lambda a, b: float(np.abs(a - b).sum())])
def test_sparse_new_rows_take_every_metric_of_dense_training_rows(metric, rng):
    X = np.abs(rng.standard_normal((60, 5)))
    model = lowland.Isomap(metric=metric).fit(X)
    np.testing.assert_array_equal(model.transform(sp.csr_array(X + 0.1)), model.transform(X + 0.1))


# -- sparse squares -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("Model", EDGES_ONLY)
def test_a_sparse_row_may_know_fewer_distances_than_neighbours_are_wanted(Model):
    X = swiss_roll(300)[0]
    S = closest(X, 4)
    lengths = np.diff(S.indptr)
    assert lengths.min() < 10
    assert len(np.unique(lengths)) > 2
    model = Model(metric="precomputed").fit(S)
    np.testing.assert_array_equal(model.transform(S), model.embedding_)
    new = cdist(X[:6] + 0.05, X)
    far = np.argsort(new, axis=1)
    for row, known in enumerate((1, 2, 5, 12, 5, 300)):
        new[row, far[row, known:]] = 0  # not stored
    new = sp.csr_array(new)
    together = model.transform(new)
    alone = np.concatenate([model.transform(new[[row]]) for row in range(6)])
    np.testing.assert_allclose(together, alone, atol=1e-12 * np.abs(alone).max())
    np.testing.assert_array_equal(alone[5], model.transform(new[[5]].toarray())[0])


def test_a_sparse_row_that_knows_nothing_is_refused():
    S = closest(swiss_roll(60)[0], 5)
    model = lowland.Isomap(metric="precomputed").fit(S)
    new = sp.csr_array((np.array([1.0]), np.array([4]), np.array([0, 1, 1])), shape=(2, 60))
    with pytest.raises(lowland.DataError, match=r"row 1 of its block holds no distance .* \(1 such rows\)"):
        model.transform(new)
    new.data[0] = -1.0
    with pytest.raises(lowland.DataError, match="negative: -1 to training object 4"):
        model.transform(new)


@pytest.mark.parametrize("Model", EDGES_ONLY)
def test_a_small_piece_of_a_sparse_square_keeps_its_shape(Model):
    X = np.concatenate([swiss_roll(100)[0], [[500.0, 0, 0], [503.0, 0, 0], [500.0, 4, 0]]])
    D = cdist(X, X)
    D[:100, 100:] = D[100:, :100] = 0  # not stored
    with pytest.warns(lowland.DisconnectedWarning, match=r"connected components is 2 \(100 and 3 points\)"):
        model = Model(metric="precomputed", disconnected="separate").fit(sp.csr_array(D))
    lengths = np.sort(pdist(model.embedding_[100:]))
    np.testing.assert_allclose(lengths / lengths[0], np.array([3, 4, 5]) / 3, atol=1e-9)
    if Model is lowland.Isomap:  # whose maps are in the units of the data; those of the others have variance 1
        assert lengths[0] == pytest.approx(3)


def test_thousands_of_pieces(rng):
    pairs = rng.permutation(6000).reshape(3000, 2) * 100.0
    X = (pairs[:, :1, None] + np.array([0.0, 1.0])[None, :, None]).reshape(-1, 1)
    with pytest.warns(lowland.DisconnectedWarning, match="connected components is 3000"):
        model = lowland.LLE(1, n_neighbors=1, disconnected="separate").fit(X)
    np.testing.assert_array_equal(np.bincount(model.component_labels_), np.full(3000, 2))
    np.testing.assert_allclose(np.abs(model.embedding_[::2] - model.embedding_[1::2]), 2.0, atol=1e-9)  # variance 1
    np.testing.assert_array_equal(model.transform(X[:40]), model.embedding_[:40])


# -- the way back -------------------------------------------------------------------------------------------


def test_single_precision_points_return_their_rows():
    X = swiss_roll(300)[0].astype(np.float32)
    model = lowland.Isomap().fit(X)
    back = model.inverse_transform(model.embedding_)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, X)


def test_the_way_back_to_sparse_rows_and_to_rows_that_a_function_compares():
    X = swiss_roll(300)[0]
    rows = lowland.LTSA().fit(X)
    between = (rows.embedding_[:50] + rows.embedding_[1:51]) / 2
    want = rows.inverse_transform(between)
    sparse = lowland.LTSA().fit(sp.csr_array(X))
    sparse.pieces_ = rows.pieces_  # the same map, to the bit
    np.testing.assert_allclose(sparse.inverse_transform(between), want, atol=1e-9)
    function = lowland.LTSA(metric=lambda a, b: float(np.linalg.norm(a - b))).fit(X)
    np.testing.assert_array_equal(function.inverse_transform(function.embedding_), X)


def test_there_is_no_way_back_to_objects_or_distances():
    X = swiss_roll(60)[0]
    with pytest.raises(lowland.DataError, match="fitted on distances"):
        lowland.Isomap(metric="precomputed").fit(cdist(X, X)).inverse_transform(np.zeros((1, 2)))
    words = ["a" * i + "b" * j for i in range(6) for j in range(6)]

    def apart(a, b):
        return float(abs(a.count("a") - b.count("a")) + abs(a.count("b") - b.count("b")))

    model = lowland.Isomap(n_neighbors=6, metric=apart).fit(words)
    with pytest.raises(lowland.DataError, match="fitted on objects"):
        model.inverse_transform(model.embedding_)
