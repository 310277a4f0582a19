"""Sparse rows in the methods on kernels and distances, in SOM and in ICA: no dense table, the maps of dense rows."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import lowland

PAIRS = [lowland.ClassicalMDS, lowland.MetricMDS, lowland.NonmetricMDS]


def groups(rng, n=150, width=600, density=0.04):
    """Three groups of sparse rows, each with columns of its own, so that maps have clear axes."""
    X = np.where(rng.random((n, width)) < density, rng.random((n, width)) + 0.5, 0.0)
    for g, size in enumerate((0.8, 0.5, 0.3)):
        rows, columns = np.arange(n) % 3 == g, slice(10 * g, 10 * g + 10)
        X[rows, columns] += size * 4 * (rng.random((rows.sum(), 10)) < 0.8)
    return X


@pytest.mark.filterwarnings("ignore::lowland.DegenerateWarning")  # groups whose order allows it collapse
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("landmarks", [None, 60])
@pytest.mark.parametrize("Model", PAIRS)
def test_maps_of_few_stored_entries(Model, metric, landmarks, rng, tmp_path):
    X = groups(rng)
    S, new = sp.csr_array(X[:120]), X[120:]
    dense, sparse = (Model(metric=metric, landmarks=landmarks).fit(rows) for rows in (X[:120], S))
    scale = np.abs(dense.embedding_).max()
    tolerance = 1e-10 if Model is lowland.ClassicalMDS else 1e-4  # steps of a descent enlarge rounding
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=tolerance * scale)
    if Model is not lowland.ClassicalMDS:
        assert sparse.stress_ == pytest.approx(dense.stress_, rel=1e-6)
    np.testing.assert_allclose(sparse.transform(new), sparse.transform(sp.csr_array(new)), atol=1e-12 * scale)
    lowland.save(sparse, tmp_path / "m.lowland")
    np.testing.assert_array_equal(lowland.load(tmp_path / "m.lowland").transform(new), sparse.transform(new))


@pytest.mark.filterwarnings("ignore::lowland.IndefiniteWarning")  # the sigmoid kernel is
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
@pytest.mark.parametrize("landmarks", [None, 50, "uniform:50"])
def test_kernels_of_few_stored_entries(kernel, landmarks, rng, tmp_path):
    X = groups(rng)
    S, new = sp.csr_array(X[:120]), X[120:]
    dense, sparse = (lowland.KernelPCA(kernel=kernel, landmarks=landmarks).fit(rows) for rows in (X[:120], S))
    scale = np.abs(dense.embedding_).max()
    np.testing.assert_allclose(sparse.embedding_, dense.embedding_, atol=1e-10 * scale)
    np.testing.assert_allclose(sparse.transform(sp.csr_array(new)), dense.transform(new), atol=1e-10 * scale)
    Y = dense.transform(new)
    np.testing.assert_allclose(sparse.inverse_transform(Y), dense.inverse_transform(Y), atol=1e-6)
    for measure in ("score", "distance_error"):
        assert getattr(sparse, measure)(sp.csr_array(new)) == pytest.approx(getattr(dense, measure)(new), rel=1e-6)
    np.testing.assert_allclose(sparse.feature_space_error(S), dense.feature_space_error(X[:120]), atol=1e-9 * scale**2)
    lowland.save(sparse, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(again.transform(new), sparse.transform(new))
    np.testing.assert_array_equal(again.inverse_transform(Y), sparse.inverse_transform(Y))


@pytest.mark.parametrize("Model", PAIRS)
def test_refusals_of_the_methods_on_distances(Model, rng):
    S = sp.csr_array(groups(rng, 20))
    for metric in ("chebyshev", lambda a, b: 0.0):
        for refused in (Model(metric=metric).fit, lambda X, m=metric: lowland.plan(Model(metric=m), X)):
            with pytest.raises(lowland.DataError, match=r"sparse rows support the metrics 'euclidean', .*, not"):
                refused(S)
    with pytest.raises(
        lowland.DataError, match="does not take a sparse matrix of precomputed values: it needs all pairs"
    ):
        Model(metric="precomputed").fit(sp.csr_array(np.ones((4, 4)) - np.eye(4)))


def test_refusals_of_kernel_pca(rng):
    S = sp.csr_array(groups(rng, 20))
    with pytest.raises(lowland.DataError, match=r"sparse rows support the kernels 'linear', .*, not a function"):
        lowland.KernelPCA(kernel=lambda a, b: 0.0).fit(S)
    with pytest.raises(lowland.DataError, match="does not take a sparse matrix of precomputed values"):
        lowland.KernelPCA(kernel="precomputed").fit(sp.csr_array(np.eye(4)))
    with pytest.raises(lowland.DataError, match="means of rows, and those of sparse rows are dense"):
        lowland.KernelPCA(landmarks="kmeans:5").fit(S)


def test_a_dense_model_of_any_metric_places_sparse_rows(rng):
    X = groups(rng, 40, 30, 0.4)
    for model in (lowland.MetricMDS(metric="cityblock"), lowland.KernelPCA(kernel="laplacian")):
        model.fit(X[:30])
        np.testing.assert_array_equal(model.transform(sp.csr_array(X[30:])), model.transform(X[30:]))


WIDE = {
    "ClassicalMDS": lambda: lowland.ClassicalMDS(metric="cosine"),
    "ClassicalMDS, PCA": lowland.ClassicalMDS,
    "ClassicalMDS, landmarks": lambda: lowland.ClassicalMDS(metric="cosine", landmarks=100),
    "MetricMDS": lambda: lowland.MetricMDS(max_iter=3, tol=1e-2),
    "NonmetricMDS": lambda: lowland.NonmetricMDS(max_iter=3, tol=1e-2),
    "KernelPCA": lambda: lowland.KernelPCA(preimage=None),
    "KernelPCA, landmarks": lambda: lowland.KernelPCA(preimage=None, landmarks=100),
    "ICA": lambda: lowland.ICA(2),
    "SOM": lambda: lowland.SOM((3, 3), epochs=2),
}


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # such rows have no axes, and few steps are taken
@pytest.mark.parametrize("name", WIDE)
def test_wide_sparse_rows_are_never_made_dense(name, rng):
    S = sp.random_array((800, 100_000), density=1e-3, format="csr", rng=rng)  # 0.64 GB as a dense table
    model = WIDE[name]()
    with lowland.config(threads=2, memory_limit="600MB"):
        tracemalloc.start()
        try:
            assert model.fit_transform(S).shape[0] == 800
            assert model.transform(S[:40]).shape[0] == 40
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 3e8
    assert peak < 1.3 * lowland.plan(model, S).bytes + 5e7
