"""Kernels: against scikit-learn and plain formulas, at large means, by function, precomputed; the median rule."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

import lowland
from lowland.pairs import distance_checks, distances, kernels
from lowland.pairs.kernels import KERNELS, GivenKernel, kernel, median_gamma, median_rows
from lowland.pairs.pairwise import check_symmetric, square


@pytest.fixture
def X(rng):
    return rng.standard_normal((40, 6)) + 1.0


def options(name):
    return {
        "poly": {"gamma": 0.3, "degree": 4, "coef0": 0.5},
        "sigmoid": {"gamma": 0.3, "coef0": 0.5},
        "rbf": {"gamma": 0.3},
        "laplacian": {"gamma": 0.3},
    }.get(name, {})


@pytest.mark.parametrize("name", KERNELS)
def test_values_and_diagonal(X, rng, name):
    Z = rng.standard_normal((15, 6))
    rule = kernel(name, X, **options(name))
    want = pairwise_kernels(X, Z, metric=name, **options(name))
    np.testing.assert_allclose(rule(X, Z), want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        rule.diagonal(X), np.diagonal(pairwise_kernels(X, metric=name, **options(name))), rtol=1e-12
    )


@pytest.mark.parametrize("name", KERNELS)
def test_square_is_exactly_symmetric(rng, name):
    X = rng.standard_normal((600, 3))  # more than one tile
    K = square(kernel(name, X, **options(name)), X)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize(
    ("name", "coef0", "psd"), [("poly", 1.0, True), ("poly", -1.0, False), ("sigmoid", 1.0, False)]
)
def test_what_is_known_to_be_semidefinite(X, name, coef0, psd):
    assert kernel(name, X, coef0=coef0).psd is psd
    assert kernel("rbf", X).psd
    assert not kernel(lambda a, b: 1.0, X).psd


def test_semidefinite_kernels_have_no_negative_eigenvalue(X):
    for name in ("linear", "poly", "rbf", "laplacian", "cosine"):
        rule = kernel(name, X, **options(name))
        values = np.linalg.eigvalsh(rule(X, X))
        assert rule.psd
        assert values[0] > -1e-12 * values[-1]


def test_a_large_mean_costs_no_digits(rng):
    """The mean of the training rows is the origin of kernels that do not depend on one."""
    Z = np.round(rng.standard_normal((30, 4)) * 1024) / 1024  # exact beside 1e8
    for name in ("rbf", "linear"):
        near = kernel(name, Z, gamma=0.5, shift=0.0 * Z[0])(Z, Z)
        far = kernel(name, Z + 1e8, gamma=0.5, shift=np.full(4, 1e8))(Z + 1e8, Z + 1e8)
        np.testing.assert_allclose(far, near, rtol=1e-12, atol=1e-12)


def test_cosine_of_a_zero_row_is_zero():
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(kernel("cosine", X)(X, X), [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(kernel("cosine", X).diagonal(X), [0.0, 1.0])


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e-310])
def test_cosine_of_rows_whose_squares_are_no_numbers(X, size):
    want = kernel("cosine", X)(X, X)
    tolerance = 1e-12 if size > 1e-300 else 1e-4  # numbers that small have few digits
    np.testing.assert_allclose(kernel("cosine", X)(size * X, X), want, atol=tolerance)
    np.testing.assert_allclose(kernel("cosine", X).diagonal(size * X), 1.0, rtol=1e-12)


def test_the_diagonal_of_a_function_of_blocks_takes_few_calls(rng):
    calls = []

    def product(A, B):
        calls.append(len(A))
        return A @ B.T

    X = rng.standard_normal((150, 3))
    rule = kernel(product, X)
    calls.clear()
    np.testing.assert_allclose(rule.diagonal(X), (X * X).sum(axis=1), rtol=1e-12)
    assert calls == [64, 64, 22]


def test_functions_of_objects_and_of_blocks():
    words = np.array(["ab", "abc", "b"], dtype=object)
    shared = lambda a, b: float(len(set(a) & set(b)))  # noqa: E731
    rule = kernel(shared, words)
    assert not rule.of_blocks
    np.testing.assert_array_equal(rule(words, words), [[2, 2, 1], [2, 3, 1], [1, 1, 1]])
    np.testing.assert_array_equal(rule.diagonal(words), [2, 3, 1])
    X = np.arange(6.0).reshape(3, 2)
    blocks = kernel(lambda A, B: A @ B.T, X)
    assert blocks.of_blocks
    np.testing.assert_array_equal(blocks.diagonal(X), (X * X).sum(axis=1))


def test_precomputed_rows_do_not_know_their_own_kernel(X):
    K = X @ X.T
    rule = kernel("precomputed", K)
    np.testing.assert_array_equal(rule(K[:5], np.array([3, 7])), K[:5][:, [3, 7]])
    with pytest.raises(lowland.DataError, match="do not contain k"):
        rule.diagonal(K[:5])


def test_given_squares_take_numbers(X):
    K = X @ X.T
    rule = GivenKernel(K)
    np.testing.assert_array_equal(rule(np.array([1, 5]), np.array([2])), K[[1, 5]][:, [2]])
    np.testing.assert_array_equal(rule.diagonal(np.array([[4.0], [9.0]])), K[[4, 9], [4, 9]])


def test_squares_are_checked_with_slack_for_their_precision(X):
    def check(M):
        return check_symmetric(M, "it", "values", "K")

    K = X @ X.T
    assert check(K) == pytest.approx(1e-10 * np.abs(K).max())
    check(K + 1e-12 * np.tri(40))
    rounded = K.astype(np.float32)
    rounded[2, 3] = np.nextafter(rounded[2, 3], np.float32(np.inf))
    check(rounded)
    with pytest.raises(lowland.DataError, match="it: precomputed values must be a square matrix; this one is 3 × 40"):
        check(K[:3])
    K[2, 30] += 1e-3
    with pytest.raises(lowland.DataError, match="row 2, column 30"):
        check(K)


@pytest.mark.parametrize(
    ("bind", "check", "steps"),
    [(kernel, kernels.check_function, 1), (distances.metric, distance_checks.check_function, 20)],
    ids=["kernel", "metric"],
)
def test_a_function_may_err_by_its_own_precision(X, bind, check, steps):
    def crooked(dtype):
        def function(a, b):
            return dtype(np.linalg.norm(a - b)) * dtype(1 + steps * np.finfo(np.float32).eps * (a[0] > b[0]))

        return bind(function, X)

    check(crooked(np.float32), X, "it")
    with pytest.raises(lowland.DataError, match="function is not symmetric"):
        check(crooked(np.float64), X, "it")


def test_the_median_rule(rng):
    X = rng.standard_normal((300, 4))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))[np.triu_indices(300, 1)]
    assert median_gamma("rbf", X) == pytest.approx(1 / (2 * np.median(D) ** 2), rel=1e-12)
    D = np.abs(X[:, None] - X[None]).sum(axis=2)[np.triu_indices(300, 1)]
    assert median_gamma("laplacian", X) == pytest.approx(1 / np.median(D), rel=1e-12)


def test_the_median_of_a_sample_is_near_that_of_all(rng):
    X = rng.standard_normal((6000, 3))
    few = median_gamma("rbf", X[median_rows(6000, np.random.default_rng(0))], 6000)
    assert few == pytest.approx(median_gamma("rbf", X[:3000]), rel=0.05)
    assert len(median_rows(6000, np.random.default_rng(0))) == 1000
    np.testing.assert_array_equal(median_rows(10, np.random.default_rng(0)), np.arange(10))


def test_equal_pairs_do_not_count_in_the_median():
    X = np.concatenate([np.zeros((50, 2)), [[3.0, 4.0]]])
    assert median_gamma("rbf", X) == pytest.approx(1 / 50)


def test_the_median_of_equal_rows():
    with pytest.raises(lowland.DataError, match="rank 0"):
        median_gamma("rbf", np.ones((5, 2)))
    with pytest.raises(lowland.DataError, match="give a number for gamma"):
        median_gamma("rbf", np.ones((5, 2)), 100)
    with pytest.raises(lowland.DataError, match="scale the columns"):
        median_gamma("rbf", np.array([[0.0], [1e-155]]))
