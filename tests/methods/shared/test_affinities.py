"""Affinities: heat weights between all points, given squares and functions, against dense references."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

import lowland
from lowland.data import s_curve

MODELS = (lowland.LaplacianEigenmaps, lowland.DiffusionMaps)
SIGMA = 0.4
KERNEL = pytest.mark.parametrize("form", ["rbf", "precomputed", "sparse", "function"])
pytestmark = pytest.mark.filterwarnings("ignore:.*separates about:lowland.LowlandWarning")  # points far from others
each = pytest.mark.parametrize("Model", MODELS)


def kernel(A, B=None):
    """The heat weights of two sets of rows."""
    return rbf_kernel(A, B, gamma=1 / (2 * SIGMA**2))


def reference(Model, W, k):
    """Eigenvalues of P = D⁻¹K and functions, by a dense solver."""
    W = W.copy()
    if Model is lowland.LaplacianEigenmaps:
        np.fill_diagonal(W, 0)
    q = W.sum(axis=1) if Model is lowland.DiffusionMaps else np.ones(len(W))
    K = W / np.outer(q, q)
    d = K.sum(axis=1)
    root = np.sqrt(d)
    values, V = eigh(K / np.outer(root, root), subset_by_index=[len(K) - k - 1, len(K) - 2])
    values, V = values[::-1], V[:, ::-1] / root[:, None] * np.sqrt(d.sum())
    return values, V * (values if Model is lowland.DiffusionMaps else 1), q


def fitted(Model, form, X, **options):
    if form == "rbf":
        return Model(affinity="rbf", bandwidth=SIGMA, **options).fit(X), lambda Z: Z
    if form == "function":
        return Model(affinity=kernel, **options).fit(X), lambda Z: Z
    as_given = sp.csr_array if form == "sparse" else np.asarray
    return Model(affinity="precomputed", **options).fit(as_given(kernel(X))), lambda Z: as_given(kernel(Z, X))


@each
@KERNEL
@pytest.mark.parametrize("n", [150, pytest.param(1700, marks=pytest.mark.slow)])
def test_all_forms_are_the_dense_reference(Model, form, n):
    check_reference(Model, form, n)


def test_many_points_are_the_dense_reference():
    check_reference(lowland.DiffusionMaps, "rbf", 1700)  # past the limit of dense solvers


def check_reference(Model, form, n):
    X, new = s_curve(n)[0], s_curve(25, random_state=5)[0]
    model, given = fitted(Model, form, X, n_components=3)
    values, functions, q = reference(Model, kernel(X), 3)
    found = model.eigenvalues_ if Model is lowland.DiffusionMaps else 1 - model.eigenvalues_
    np.testing.assert_allclose(found, values, atol=1e-9)
    functions *= np.sign((functions * model.embedding_).sum(axis=0))
    np.testing.assert_allclose(model.embedding_, functions, atol=1e-6)
    p = kernel(new, X) / q
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(given(new)), p @ functions / values, atol=1e-6)
    if form != "function":  # the bits of a user's function may depend on the batch
        np.testing.assert_array_equal(model.transform(given(new))[3:4], model.transform(given(new)[3:4]))
    if Model is lowland.DiffusionMaps or form == "rbf":  # eigenmaps leave the diagonal out, which new rows have
        np.testing.assert_allclose(model.transform(given(X)), model.embedding_, atol=1e-8)
    assert model.affinity_ == {"sparse": "precomputed"}.get(form, form)


@each
def test_the_width_of_a_full_kernel_is_that_of_the_nearest_neighbours(Model):
    X = s_curve(200)[0]
    for rule in ("median", "adaptive"):
        full, near = (Model(affinity=a, bandwidth=rule, n_neighbors=7).fit(X) for a in ("rbf", "nearest_neighbors"))
        assert full.bandwidth_ == pytest.approx(near.bandwidth_)
    assert full.fit_info_.evidence["mean neighbours"] == 199


@each
@KERNEL
def test_models_come_back_from_a_file(Model, form, tmp_path):
    X = s_curve(90)[0]
    model, given = fitted(Model, form, X)
    lowland.save(model, tmp_path / "m.lowland")
    back = lowland.load(tmp_path / "m.lowland", **({"affinity": kernel} if form == "function" else {}))
    np.testing.assert_array_equal(back.transform(given(X + 0.1)), model.transform(given(X + 0.1)))


@each
@pytest.mark.parametrize("policy", ["bridge", "separate", "error"])
def test_affinities_in_pieces(Model, policy, rng):
    sizes = (40, 25, 1)
    labels = np.repeat(np.arange(3), sizes)
    points = rng.standard_normal((66, 2))
    W = np.where(labels[:, None] == labels, kernel(points), 0)
    order = rng.permutation(66)
    W, labels = W[np.ix_(order, order)], labels[order]
    model = Model(affinity="precomputed", disconnected=policy)
    if policy == "error":
        with pytest.raises(lowland.DisconnectedError, match="affinities fall into 3 pieces"):
            model.fit(W)
        return
    with pytest.warns(lowland.LowlandWarning, match="fall into 3 pieces"):
        Y = model.fit_transform(W)
    np.testing.assert_array_equal(model.component_labels_, labels)
    assert np.isfinite(Y).all()
    if policy == "separate":
        alone = Model(affinity="precomputed").fit_transform(W[np.ix_(labels == 0, labels == 0)])
        shift = Y[labels == 0][0] - alone[0]
        np.testing.assert_allclose(Y[labels == 0] - shift, alone, atol=1e-8)
        if Model is lowland.DiffusionMaps:
            np.testing.assert_allclose(model.transform(W), Y, atol=1e-8)


def test_two_pieces_are_told_apart_by_the_first_coordinate(rng):
    labels = np.repeat([0, 1], 50)
    W = np.where(labels[:, None] == labels, rng.random((100, 100)) + 1, 0)
    with pytest.warns(lowland.DisconnectedWarning):
        Y = lowland.LaplacianEigenmaps(1, affinity="precomputed").fit_transform(W + W.T)[:, 0]
    assert len({*np.sign(Y[:50])}) == len({*np.sign(Y[50:])}) == 1
    assert Y[0] * Y[-1] < 0


@each
def test_affinities_have_no_unit(Model, rng):
    W = kernel(rng.standard_normal((60, 3)))
    one, other = (Model(affinity="precomputed").fit(s * W) for s in (1.0, 1e-200))
    np.testing.assert_allclose(other.embedding_, one.embedding_, atol=1e-7)
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_, rtol=1e-9)


@each
@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda W: W[:, :-1], "square"),
        (lambda W: -W, "at least 0"),
        (lambda W: W * np.nan, "at least 0"),
        (np.triu, "not symmetric"),
        (lambda W: sp.csr_array(np.triu(W)), "not symmetric"),
        (lambda W: np.eye(len(W)), "no two objects have an affinity"),
    ],
    ids=["square", "negative", "nan", "one half", "sparse half", "nothing"],
)
@pytest.mark.filterwarnings("ignore::lowland.DisconnectedWarning")
def test_what_are_no_affinities(Model, spoil, text, rng):
    W = kernel(rng.standard_normal((30, 2)))
    with pytest.raises(lowland.DataError, match=text):
        Model(affinity="precomputed", disconnected="separate").fit(spoil(W))


@each
def test_new_rows_that_are_no_affinities(Model, rng):
    X = rng.standard_normal((30, 2))
    model = Model(affinity="precomputed").fit(kernel(X))
    for row, text in ((np.zeros((1, 30)), "no affinity to any"), (-np.ones((1, 30)), "not negative")):
        with pytest.raises(lowland.DataError, match=text):
            model.transform(row)
    one_sided = Model(affinity=lambda A: kernel(A)).fit(X)
    with pytest.raises(lowland.DataError, match="does not take two"):
        one_sided.transform(X)


def test_novelty_takes_no_affinity_for_a_distance():
    X = s_curve(80)[0]
    model = lowland.DiffusionMaps(affinity=kernel).fit(X)
    with pytest.raises(lowland.DataError, match="compares training rows by affinities"):
        lowland.quality.novelty(model, X[:5])


def test_landmarks_need_distances(rng):
    with pytest.raises(lowland.DataError, match="landmarks need distances"):
        lowland.LaplacianEigenmaps(affinity=kernel, landmarks=20).fit(rng.standard_normal((60, 2)))


@each
@pytest.mark.parametrize("affinity", ["rbf", "precomputed"])
def test_the_plan_counts_all_pairs(Model, affinity):
    near = lowland.plan(Model(), shape=(3000, 300)).bytes
    assert lowland.plan(Model(affinity=affinity), shape=(3000, 300)).bytes > 10 * near


@each
def test_the_full_kernel_costs_what_the_plan_says_and_little_more_than_a_given_one(Model):
    X = s_curve(1600)[0]
    W, peaks = kernel(X), {}
    for form, options, data in (("rbf", {"bandwidth": SIGMA}, X), ("precomputed", {}, W)):
        Model(affinity=form, **options).fit(data)  # compiles
        tracemalloc.start()
        Model(affinity=form, **options).fit(data)
        peaks[form] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peaks["rbf"] < 1.2 * peaks["precomputed"]  # as a graph of all pairs it took 72 bytes a pair
    assert peaks["rbf"] < 48 * 1600**2
    assert 0.5 * peaks["rbf"] < lowland.plan(Model(affinity="rbf"), X).bytes < 2 * peaks["rbf"]


@each
@pytest.mark.parametrize("metric", ["cosine", "cityblock", "precomputed", "function", "sparse"])
@pytest.mark.parametrize("bandwidth", [0.7, "median", "adaptive"])
def test_the_full_kernel_of_any_metric_is_the_precomputed_one(Model, metric, bandwidth, rng):
    X = rng.standard_normal((60, 5)) + 2
    X[41] = X[40]  # equal rows are one point
    name = "cityblock" if metric in ("function", "precomputed") else "euclidean" if metric == "sparse" else metric
    D = cdist(X, X, name)
    given = {"precomputed": D, "sparse": sp.csr_array(X)}.get(metric, X)
    rule = (lambda a, b: abs(a - b).sum()) if metric == "function" else "euclidean" if metric == "sparse" else metric
    model = Model(affinity="rbf", metric=rule, bandwidth=bandwidth).fit(given)
    own = np.delete(np.arange(60), 41)
    D = D[np.ix_(own, own)]
    near = np.sort(D, axis=1)[:, 1:11]
    width = {"median": np.median(near), "adaptive": np.sqrt(np.outer(near[:, 4], near[:, 4]))}.get(bandwidth, bandwidth)
    again = Model(affinity="precomputed").fit(np.exp(-((D / width) ** 2) / 2))
    np.testing.assert_allclose(model.eigenvalues_, again.eigenvalues_, atol=1e-10)
    np.testing.assert_allclose(model.embedding_[own], again.embedding_, atol=1e-6)
    np.testing.assert_array_equal(model.embedding_[41], model.embedding_[40])
    assert model.fit_info_.evidence["distinct rows"] == 59
    if metric != "precomputed":
        np.testing.assert_allclose(model.transform(given), model.embedding_, atol=1e-8)


@each
def test_a_full_kernel_of_a_long_line_is_the_precomputed_one(Model, rng):
    X = rng.random((600, 1)) * 1000  # of all pairs most have weights that vanish, and no point is alone
    model = Model(2, affinity="rbf", bandwidth=4.0).fit(X)
    given = Model(2, affinity="precomputed").fit(rbf_kernel(X, gamma=1 / 32))
    np.testing.assert_allclose(model.eigenvalues_, given.eigenvalues_, rtol=1e-9)
    signs = np.sign((model.embedding_ * given.embedding_).sum(axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, given.embedding_, atol=1e-5)
    with pytest.raises(
        lowland.DataError, match=r"bandwidth=0\.001 is too small: the nearest points of most points are more"
    ):
        Model(2, affinity="rbf", bandwidth=0.001).fit(X)


@each
def test_a_full_kernel_needs_neither_neighbors_nor_a_radius(Model):
    X = s_curve(80)[0]
    one, other = (Model(affinity="rbf", n_neighbors=None, radius=r, bandwidth=SIGMA).fit(X) for r in (None, 3.0))
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    whole = Model(affinity="rbf", n_neighbors=None).fit(X)
    assert whole.bandwidth_ == pytest.approx(np.median(cdist(X, X)[~np.eye(80, dtype=bool)]))
    with pytest.raises(lowland.DataError, match="Both n_neighbors and radius"):
        Model(affinity="rbf", radius=1.0).fit(X)


def test_a_full_kernel_with_equal_weights_is_refused():
    X = s_curve(80)[0]
    with pytest.raises(lowland.DataError, match=r"LaplacianEigenmaps: weights='binary' with affinity='rbf' makes all"):
        lowland.LaplacianEigenmaps(affinity="rbf", weights="binary").fit(X)


@KERNEL
@pytest.mark.parametrize("unit", [1.0, 2.0**-200])
def test_the_affinity_matrix_is_the_kernel(form, unit):
    X = s_curve(80)[0].astype(np.float32)
    model = fitted(lowland.LaplacianEigenmaps, form, X)[0]
    got = model.affinity_matrix_
    np.testing.assert_allclose(got.toarray() if sp.issparse(got) else got, kernel(X), atol=1e-6)
    W = kernel(X.astype(np.float64)) * unit
    given = lowland.LaplacianEigenmaps(affinity="precomputed").fit(W).affinity_matrix_
    np.testing.assert_array_equal(given, W)


@pytest.mark.parametrize("weights", ["binary", "heat"])
@pytest.mark.parametrize("policy", ["bridge", "separate"])
@pytest.mark.filterwarnings("ignore::lowland.DisconnectedWarning")
def test_the_affinity_matrix_of_neighbors(weights, policy):
    """Its eigenvectors are the map; equal rows have equal affinities."""
    X = s_curve(90)[0]
    X = np.vstack([X, X[:5], X[:40] + 100])
    model = lowland.LaplacianEigenmaps(n_neighbors=6, weights=weights, disconnected=policy).fit(X)
    W = model.affinity_matrix_
    assert W.shape == (135, 135)
    assert W.dtype == np.float64
    np.testing.assert_array_equal(W.toarray(), W.toarray().T)
    np.testing.assert_array_equal(W[90:95].toarray(), W[:5].toarray())
    own = np.r_[:90] if policy == "separate" else np.r_[:90, 95:135]
    D = W[own][:, own].toarray()
    y, d = model.embedding_[own, 0], D.sum(axis=1)
    if policy == "separate":
        y = y - (d @ y) / d.sum()
    np.testing.assert_allclose(d * y - D @ y, model.eigenvalues_[0] * d * y, atol=1e-8)


def test_the_affinity_matrix_after_loading(tmp_path):
    X = s_curve(60)[0]
    lowland.save(lowland.LaplacianEigenmaps(affinity="rbf").fit(X), tmp_path / "rbf.lowland")
    lowland.save(lowland.LaplacianEigenmaps(affinity="precomputed").fit(kernel(X)), tmp_path / "given.lowland")
    rbf, given = (lowland.load(tmp_path / f"{name}.lowland") for name in ("rbf", "given"))
    np.testing.assert_allclose(rbf.affinity_matrix_, rbf_kernel(X, gamma=1 / (2 * rbf.bandwidth_**2)), atol=1e-12)
    with pytest.raises(AttributeError, match="a model that was loaded does not keep its affinities"):
        given.affinity_matrix_  # noqa: B018
