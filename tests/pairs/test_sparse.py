"""Sparse rows: the same values as of dense rows, by products where few entries are stored, by dense tiles else."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lowland
from lowland.core.cost import DataShape
from lowland.pairs import sparse
from lowland.pairs.distances import SPARSE_METRICS, learn, metric
from lowland.pairs.kernels import KERNELS, SPARSE_KERNELS, kernel
from lowland.pairs.pairwise import against, cut, square

WIDTHS = {0.5: 30, 0.03: 700}  # columns, by the share of entries that are stored


def table(rng, density, n=120, dtype=np.float64):
    width = WIDTHS[density]
    X = np.where(rng.random((n, width)) < density, 3 * rng.standard_normal((n, width)) + 1, 0.0)
    X[:, 0] = np.where(X.any(axis=1), X[:, 0], 1.0)
    X[7] = X[3]  # equal rows, and nearly equal ones, for which products lose their digits
    X[8] = X[3] * (1 + 1e-9)
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("density", WIDTHS)
@pytest.mark.parametrize("name", SPARSE_METRICS)
def test_metrics_of_sparse_and_dense_rows_agree(name, density, dtype, rng):
    X = table(rng, density, dtype=dtype)
    state = learn(name, X)
    want, S = square(metric(name, X, state), X), sp.csr_array(X)
    rule = sparse.for_storage(metric(name, S, state), S)
    assert isinstance(rule, sparse.FilledRows) == (density > sparse.MIN_FILLED_DENSITY)
    got = square(rule, S)
    if isinstance(rule, sparse.FilledRows):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-14 * want.max())
    np.testing.assert_array_equal(got, got.T)
    np.testing.assert_array_equal(np.diag(got), 0.0)
    np.testing.assert_allclose(got[3, 8], want[3, 8], rtol=1e-6, atol=1e-30)  # taken from differences
    new = against(rule, S)(sp.csc_array(X[:5]).tocsr())
    np.testing.assert_allclose(new, got[:5], rtol=1e-12, atol=1e-14 * want.max())


@pytest.mark.parametrize("density", WIDTHS)
@pytest.mark.parametrize("name", SPARSE_KERNELS)
def test_kernels_of_sparse_and_dense_rows_agree(name, density, rng):
    X = table(rng, density)
    S, options = sp.csr_array(X), {"gamma": 0.01, "degree": 3, "coef0": 0.5, "shift": X.mean(axis=0)}
    dense, rule = kernel(name, X, **options), sparse.for_storage(kernel(name, S, **options), S)
    want = square(dense, X)
    np.testing.assert_allclose(square(rule, S), want, rtol=1e-11, atol=1e-14 * np.abs(want).max())
    np.testing.assert_allclose(rule.diagonal(S), dense.diagonal(X), rtol=1e-12)
    assert (rule.psd, rule.doubt) == (dense.psd, dense.doubt)


def test_a_row_of_zeros_has_a_cosine_kernel_and_no_cosine_distance():
    S = sp.csr_array(np.vstack([np.zeros(50), np.eye(50)[:2]]))
    assert kernel("cosine", S)(S, S).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(lowland.DataError, match=r"undefined for a row that is zero \(row 0"):
        metric("cosine", S)(S, S)


def test_entries_stored_twice_are_added(rng):
    X = table(rng, 0.03)
    S = sp.csr_array(X)
    double = sp.csr_array((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    rule = metric("euclidean", S)
    np.testing.assert_allclose(rule(double, double), rule(S, S), atol=1e-12)


def test_sparse_rows_are_compared_with_dense_ones(rng):
    X = table(rng, 0.03)
    rule, S = metric("euclidean", X), sp.csr_array(X)
    want = rule(X[:9], X)
    for A, B in ((S[:9], X), (X[:9], S)):
        np.testing.assert_allclose(rule(A, B), want, rtol=1e-9, atol=1e-13)


def test_means_have_the_bits_of_a_dense_array(rng):
    X = table(rng, 0.5)
    np.testing.assert_array_equal(sparse.column_means(sp.csr_array(X)), X.mean(axis=0))


def test_rows_that_are_wide_are_made_dense_a_few_at_a_time():
    assert sparse.filled_rows(100) == 512
    assert sparse.filled_rows(1 << 20) == 4
    assert sparse.filled_rows(1 << 30) == 1


def test_what_has_no_sparse_form_is_refused():
    words = (
        "Isomap: sparse rows support the kernels 'linear', 'poly', 'rbf', 'laplacian', 'sigmoid' and 'cosine', not a "
        "function; use"
    )
    assert set(KERNELS) == set(SPARSE_KERNELS)
    with pytest.raises(lowland.DataError, match=words):
        sparse.require_sparse_form("function", SPARSE_KERNELS, "Isomap", "kernel")
    words = "metrics 'euclidean', 'sqeuclidean', 'cosine' and 'cityblock', not 'chebyshev'"
    with pytest.raises(lowland.DataError, match=words):
        sparse.require_sparse_form("chebyshev", SPARSE_METRICS, "X", "metric")


@pytest.mark.parametrize("density", WIDTHS)
@pytest.mark.parametrize(
    "model",
    [
        lowland.ClassicalMDS(2, metric="cityblock"),
        lowland.KernelPCA(2, kernel="laplacian"),
        lowland.Isomap(2, metric="cityblock", n_neighbors=20),
        lowland.LaplacianEigenmaps(2, metric="cityblock", affinity="rbf"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_maps_by_city_block_distances_of_sparse_rows_are_those_of_dense_rows(model, density, rng):
    X = table(rng, density)
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    given, want = clone(model).fit(S), clone(model).fit(X)
    for rows, dense in ((S, X), (S[:9], X[:9]), (S[:9] * 1.01, X[:9] * 1.01)):
        got, expected = given.transform(rows), want.transform(dense)
        np.testing.assert_allclose(got, expected, atol=1e-6 * np.abs(expected).max())


def test_city_block_distances_of_sparse_and_dense_rows_mix(rng):
    X = table(rng, 0.03)
    S, rule = sp.csr_array(X), metric("cityblock", X)
    for A, B in ((S, X), (X, S), (S, S)):
        np.testing.assert_allclose(rule(A, B), rule(X, X), rtol=1e-12, atol=1e-12)
    with pytest.raises(lowland.DataError, match="overflow"):
        rule(S * 1e307, -S * 1e307)


def test_costs_of_sparse_rows_follow_the_stored_entries():
    few, many = (DataShape(1000, 10**6, np.dtype(np.float64), density, sparse=True) for density in (1e-4, 0.3))
    assert sparse.stored_bytes(few, 1000) == 12 * 10**5 + 4000
    assert sparse.sparse_bytes(few, 1000) < 10**7
    assert sparse.sparse_bytes(many, 1000) < 2 * 10**9  # tiles, not the table of 8 GB
    assert sparse.compared_columns(few) < 1 < sparse.compared_columns(many) == 10**6


def test_planned_memory_of_tiles_is_what_comparing_sparse_rows_takes(rng):
    n, columns, stored = 600, 60_000, 600
    X = sp.csr_array(sp.random_array((n, columns), density=stored / columns, rng=rng))
    shape = DataShape(n, columns, X.dtype, stored / columns, sparse=True)
    rule = metric("euclidean", X, learn("euclidean", X))
    prepared = rule.prepare(X)
    with lowland.config(threads=1):
        planned = sparse.tile_bytes(shape, n)
        tracemalloc.start()
        rule.between(cut(prepared, slice(0, 512)), cut(prepared, slice(88, 600)))
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert 0.6 < planned / taken < 1.4
    with lowland.config(threads=8):
        assert sparse.tile_bytes(shape, n) == 3 * planned  # two tiles on the diagonal, one above
    assert sparse.tile_bytes(shape, n - 1) == 0  # landmarks


def test_sparse_rows_that_are_prepared_unchanged_are_cut_once(rng):
    X = sp.csr_array(table(rng, 0.03))
    prepared = metric("euclidean", X, learn("euclidean", X)).prepare(X)
    rows, squares, own = cut(prepared, slice(3, 9))
    assert rows is own
    np.testing.assert_array_equal(own.toarray(), X[3:9].toarray())
    np.testing.assert_array_equal(squares, prepared[1][3:9])
