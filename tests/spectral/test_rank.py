"""The number of components that every route finds, against the exact rank: none invented, none lost."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.spectral.rowspace import ROUTES

SHAPES = {"tall": (120, 30), "wide": (30, 100), "square": (50, 50), "very wide": (20, 1100), "very tall": (1100, 20)}
RANK = 6


def full(rng, n, d):
    return rng.standard_normal((n, d)), min(n - 1, d)


def whole_numbers(rng, n, d):
    """Products of whole numbers, exact in either precision; the rank of the centred rows is that of a factor."""
    A = rng.integers(-3, 4, (n, RANK)).astype(float)
    return A @ rng.integers(-3, 4, (RANK, d)), int(np.linalg.matrix_rank(A - A.mean(axis=0)))


def rounded(rng, n, d):
    """Rows whose last digits were rounded away, and which lie far from zero."""
    return rng.standard_normal((n, RANK)) @ rng.standard_normal((RANK, d)) + 10.0, RANK


def constant_columns(rng, n, d):
    X = rng.standard_normal((n, d))
    X[:, ::3] = 7.3
    return X, min(n - 1, d - len(range(0, d, 3)))


def collinear_columns(rng, n, d):
    X = rng.standard_normal((n, d))
    X[:, d // 2 :] = X[:, : d - d // 2]
    return X, min(n - 1, d // 2)


@pytest.mark.parametrize("make", [full, whole_numbers, rounded, constant_columns, collinear_columns])
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["auto", *(name for name in ROUTES if name != "power")])
def test_the_rank_is_exact(make, shape, dtype, solver, rng):
    X, rank = make(rng, *SHAPES[shape])
    model = lowland.PCA(solver=solver).fit(X.astype(dtype))
    assert model.n_components_ == rank
    assert len(model.spectrum_) == rank
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(rank), atol=1e-5)


def in_squares(n_components, X, way):
    """A model whose fit keeps sums of squares alone."""
    model = lowland.PCA(n_components, solver="power" if way == "power" else "auto")
    if way == "partial_fit":
        return model.partial_fit(X[:10]).partial_fit(X[10:])
    return model.fit(iter([X[:10], X[10:]]) if way == "blocks" else X)


@pytest.mark.parametrize("make", [whole_numbers, rounded])
@pytest.mark.parametrize("shape", ["tall", "wide", "square"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", ["power", "partial_fit", "blocks"])
def test_the_rank_is_exact_in_squares(make, shape, dtype, way, rng):
    X, rank = make(rng, *SHAPES[shape])
    with pytest.warns(lowland.RankWarning, match=f"at least rank {rank}: .*the result has {rank} components"):
        found = in_squares(None, X.astype(dtype), way).n_components_
    assert found == rank


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_rank_is_exact_in_triangles(shape, dtype, rng):
    X, rank = rounded(rng, *SHAPES[shape])
    X = X.astype(dtype)
    assert lowland.PCA(solver="svd").partial_fit(X[:10]).partial_fit(X[10:]).n_components_ == rank


@pytest.mark.filterwarnings("ignore::lowland.NotConvergedWarning")  # of normal rows ICA finds no sources
@pytest.mark.parametrize("method", ["TruncatedSVD", "ProbabilisticPCA", "ICA", "LPP", "NPE"])
@pytest.mark.parametrize("shape", ["tall", "wide", "square"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_linear_methods_find_the_same_rank(method, shape, dtype, rng):
    X, rank = rounded(rng, *SHAPES[shape])
    if method == "TruncatedSVD":
        X = X - 10.0
    with pytest.warns(lowland.RankWarning, match=f"rank {rank}"):
        found = getattr(lowland, method)(rank + 4).fit(X.astype(dtype)).n_components_
    assert found == rank


# -- values that span many orders of magnitude ------------------------------------------------------------------


@pytest.fixture
def spread(rng):
    """Rows of known singular values, from 1 down to 1e-13."""
    n, d = 200, 60
    U, V = rng.standard_normal((n, d)), rng.standard_normal((d, d))
    values = np.logspace(0, -13, d)
    return (np.linalg.qr(U - U.mean(axis=0))[0] * values) @ np.linalg.qr(V)[0].T, values


def test_small_singular_values_are_kept(spread):
    X, values = spread
    for solver in ("auto", "svd", "covariance", "krylov"):
        found = lowland.PCA(solver=solver).fit(X)
        assert found.n_components_ == 60
        np.testing.assert_allclose(found.singular_values_, values, rtol=0.1)
    np.testing.assert_allclose(lowland.PCA(solver="svd").partial_fit(X).singular_values_, values, rtol=0.1)


@pytest.mark.parametrize("way", ["partial_fit", "blocks", "power"])
def test_squares_say_what_they_cannot_see(spread, way):
    X, values = spread
    with pytest.warns(lowland.RankWarning, match=r"at least rank \d+: .* squares, .*below \S+ of the largest.*'svd'"):
        found = in_squares(None, X, way).singular_values_
    assert 20 < len(found) < 40
    np.testing.assert_allclose(found, values[: len(found)], rtol=0.05)  # and what is told is right
    with pytest.warns(lowland.RankWarning, match=r"at least rank \d+, below the 50 requested components"):
        assert in_squares(50, X, way).n_components_ == len(found)
    assert in_squares(15, X, way).n_components_ == 15  # without a word
    assert in_squares(0.999, X, way).n_components_ < 15


def test_blocks_of_few_varying_columns_need_no_warning(rng):
    X = np.column_stack([rng.standard_normal((50, 3)), np.full((50, 2), 4.1)])
    assert lowland.PCA().partial_fit(X).n_components_ == 3
    with pytest.warns(lowland.RankWarning, match=r"ProbabilisticPCA: .*at least rank 3, below the 4"):
        assert lowland.ProbabilisticPCA(4).fit(iter([X])).n_components_ == 3


@pytest.mark.parametrize("method", [lowland.PCA, lowland.ICA, lowland.ClassicalMDS])
def test_rows_that_differ_by_rounding_alone_are_not_called_equal(method, rng):
    X = np.tile(100 * rng.random(5), (20, 1))
    X[::2] = np.nextafter(np.nextafter(X[::2], np.inf), np.inf)
    with pytest.raises(lowland.DataError, match=r"rank 0\): they are equal, or differ only by rounding; a reduction"):
        method(1).fit(X)
