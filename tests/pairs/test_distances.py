"""Metrics: SciPy's values, digits kept beside a large mean, parameters from the training rows, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland.pairs.distances import METRICS, metric, squared_norms
from lowland.pairs.pairwise import Function, against, square

BOOLEAN = {"hamming", "jaccard", "dice", "matching", "rogerstanimoto", "sokalsneath", "yule"}


def table(name, rng, n):
    X = rng.standard_normal((n, 6))
    if name in BOOLEAN:
        return (X > 0).astype(float)
    return np.abs(X) if name == "jensenshannon" else X


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_scipys(name, rng):
    X, Y = table(name, rng, 40), table(name, rng, 9)
    options = {}
    if name == "seuclidean":
        options = {"V": X.var(axis=0, ddof=1)}
    if name == "mahalanobis":
        options = {"VI": np.linalg.inv(np.cov(X, rowvar=False))}
    want = cdist(Y, X, name, **options)
    np.testing.assert_allclose(metric(name, X)(Y, X), want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", METRICS)
def test_a_row_does_not_depend_on_its_block(name, rng):
    X, Y = table(name, rng, 40), table(name, rng, 9)
    compare = against(metric(name, X), X)
    np.testing.assert_allclose(compare(Y)[4:5], compare(Y[4:5]), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", METRICS)
def test_every_object_is_at_distance_zero_from_itself(name, rng):
    marks = (rng.standard_normal((60, 6)) > 0).astype(float)
    marks = marks[marks.std(axis=1) > 0]  # SciPy's metrics of yes and no take these, and all others do too
    for X in (marks,) if name in BOOLEAN else (table(name, rng, 40), marks):
        np.testing.assert_allclose(np.diagonal(metric(name, X)(X, X)), 0, atol=1e-7)


@pytest.mark.parametrize("name", ["euclidean", "cosine", "correlation"])
def test_the_layout_in_memory_does_not_count(name, rng):
    X = rng.standard_normal((200, 30))
    F = np.asfortranarray(X)
    assert (np.diagonal(metric(name, F)(F, X)) == 0).all()
    np.testing.assert_array_equal(metric(name, X)(F, X), metric(name, X)(X, X))


@pytest.mark.parametrize("name", ["cosine", "correlation"])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_angles_do_not_depend_on_the_size(name, size, rng):
    X = rng.standard_normal((20, 5))
    np.testing.assert_allclose(metric(name, X)(size * X, X), cdist(X, X, name), rtol=1e-12, atol=1e-14)


def test_rows_whose_squares_overflow(rng):
    X = 1e170 * rng.standard_normal((20, 5))
    with pytest.raises(lowland.DataError, match=r"squares of the rows overflow.*e\+170.*divide the rows by a constant"):
        metric("euclidean", X)(X, X)


@pytest.mark.parametrize(("dtype", "mean"), [(np.float32, 1e5), (np.float64, 1e8)])
def test_a_large_mean_costs_no_digits(dtype, mean, rng):
    X = (rng.standard_normal((60, 5)) + mean).astype(dtype)
    want = cdist(X.astype(float), X.astype(float))
    np.testing.assert_allclose(metric("euclidean", X)(X, X), want, rtol=1e-13)


def test_near_pairs_keep_their_distance(rng):
    X = 1e3 * rng.standard_normal((30, 8))
    Y = X + 1e-6 * rng.standard_normal(X.shape)
    got = np.diagonal(metric("euclidean", X)(X, Y))
    np.testing.assert_allclose(got, np.linalg.norm(X - Y, axis=1), rtol=1e-8)
    assert (np.diagonal(metric("euclidean", X)(X, X)) == 0).all()
    assert (np.diagonal(metric("cosine", X)(X, X)) == 0).all()


@pytest.mark.parametrize("name", ["euclidean", "cityblock", "cosine"])
def test_square_is_symmetric_and_in_tiles(name, rng):
    X = rng.standard_normal((1100, 4))
    D = square(metric(name, X), X)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_allclose(D, cdist(X, X, name), rtol=1e-11, atol=1e-13)


def test_square_is_the_same_on_any_number_of_threads(rng):
    X = rng.standard_normal((1500, 30))
    found = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            found.append(square(metric("euclidean", X), X))
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_square_refuses_what_does_not_fit(rng):
    X = rng.standard_normal((500, 3))
    with lowland.config(memory_limit="1MB"), pytest.raises(lowland.MemoryLimitError, match=r"500 × 500.*landmarks"):
        square(metric("euclidean", X), X)


def test_backends_agree(backend, rng):
    X = rng.standard_normal((70, 4))
    for name in ("euclidean", "cosine", "cityblock"):
        got = metric(name, backend(X))(backend(X), backend(X))
        np.testing.assert_allclose(np.asarray(got), cdist(X, X, name), rtol=1e-11, atol=1e-14)


def test_functions_of_objects_and_of_blocks():
    words = np.array(["abc", "abd", "xyz"], dtype=object)
    apart = Function(lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)), "metric", words)
    assert not apart.of_blocks
    assert apart(words, words).tolist() == [[0, 1, 3], [1, 0, 3], [3, 3, 0]]
    X = np.arange(6.0).reshape(3, 2)
    block = Function(lambda A, B: cdist(A, B), "metric", X)
    assert block.of_blocks
    np.testing.assert_allclose(block(X, X[:2]), cdist(X, X[:2]))
    single = Function(lambda a, b: float(np.abs(a - b).sum()), "metric", X)
    assert not single.of_blocks
    np.testing.assert_allclose(single(X, X), cdist(X, X, "cityblock"))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_a_product_of_two_objects_is_not_taken_for_a_function_of_blocks(width, rng):
    X = rng.standard_normal((6, width))
    assert not Function(lambda a, b: a @ b, "kernel", X).of_blocks
    assert Function(lambda A, B: A @ B.T, "kernel", X).of_blocks
    np.testing.assert_allclose(Function(lambda a, b: a @ b, "kernel", X)(X, X), X @ X.T)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: float(a[0] - b[0]), r"is negative: -\d.* for the objects array\(\[.*\) and array"),
        (lambda a, b: float(max(a[0] - b[0], 0)), r"is not symmetric: \S+ for the objects .*, \S+ in reverse order"),
        (lambda a, b: float(np.exp(-((a - b) ** 2).sum())), r"returns 1 for the object array.* and itself"),
    ],
    ids=["negative", "asymmetric", "likeness"],
)
@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS])
def test_functions_that_are_no_metric(method, function, message, rng):
    with pytest.raises(lowland.DataError, match=f"{method.__name__}: the metric function {message}"):
        method(metric=function).fit(rng.standard_normal((50, 3)))


def test_a_metric_by_products_may_miss_zero_by_rounding(rng):
    def by_products(A, B):
        S = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
        return np.sqrt(np.maximum(S, 0))

    X = rng.standard_normal((50, 3)) + 100
    assert metric(by_products, X)(X, X).diagonal().max() > 0
    assert lowland.ClassicalMDS(metric=by_products).fit(X).n_components_ == 2


def test_functions_that_do_not_answer_with_numbers():
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(lowland.DataError, match=r"metric must return a number.*shape \(2,\)"):
        Function(lambda a, b: a - b, "metric", X)
    with pytest.raises(lowland.DataError, match=r"returned nan for the objects"):
        Function(lambda a, b: float("nan"), "metric", X)(X, X)
    grows = Function(lambda A, B: np.zeros((len(A), len(B) if len(B) < 5 else 2)), "metric", X)
    with pytest.raises(lowland.DataError, match=r"returned shape \(3, 2\) for blocks of 3 and 5 objects"):
        grows(X, np.zeros((5, 2)))


def test_errors_of_a_users_function_are_shown():
    def broken(a, b):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        Function(broken, "metric", np.ones((2, 2)))


@pytest.mark.parametrize("name", sorted(BOOLEAN - {"hamming", "matching"}))
def test_metrics_of_true_and_false_refuse_numbers(name, rng):
    X = rng.integers(0, 4, (20, 6)).astype(float)
    for method in (lowland.ClassicalMDS, lowland.MetricMDS, lowland.NonmetricMDS):
        with pytest.raises(lowland.DataError, match=rf"{name} distance needs booleans, and the rows contain"):
            method(metric=name).fit(X)
    assert np.isfinite(lowland.ClassicalMDS(metric=name).fit(X > 1).embedding_).all()


@pytest.mark.parametrize("name", ["manhattan", "l1", "minkowski", "sokalmichener", "l2", "linf"])
def test_other_names_of_metrics_lead_to_ours(name):
    from lowland.contract.parameters import parse

    ours = {
        "minkowski": "a function",
        "sokalmichener": "metric='rogerstanimoto'",
        "l2": "metric='euclidean'",
        "linf": "metric='chebyshev'",
    }
    text = rf"^ClassicalMDS: metric='{name}' is not known by that name; use " + ours.get(name, "metric='cityblock'")
    with pytest.raises(ValueError, match=text):
        lowland.ClassicalMDS(metric=name).fit(np.eye(4))
    with pytest.raises(ValueError, match=text):
        parse("ClassicalMDS", lowland.ClassicalMDS._parameters, "metric", name)


def test_rows_that_a_metric_has_no_value_for(rng):
    X = rng.standard_normal((5, 3))
    X[2] = 0
    with pytest.raises(lowland.DataError, match=r"cosine.*zero \(row 2"):
        metric("cosine", X)(X, X)
    X[2] = 1
    with pytest.raises(lowland.DataError, match=r"correlation.*constant \(row 2"):
        metric("correlation", X)(X, X)
    with_constant = np.column_stack([np.arange(4.0), np.ones(4)])
    assert np.allclose(
        metric("seuclidean", with_constant)(with_constant, with_constant),
        metric("seuclidean", with_constant[:, :1])(with_constant[:, :1], with_constant[:, :1]),
    )
    with pytest.raises(lowland.DataError, match=r"linearly independent"):
        metric("mahalanobis", np.column_stack([np.arange(4.0), 2 * np.arange(4.0)]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_in_float32_are_compared_without_a_second_copy(order, rng):
    X = np.asarray(rng.standard_normal((60, 40)), dtype=np.float32, order=order)
    X[1] = X[0] + np.float32(1e-5)  # so near that the difference is taken
    rule = metric("euclidean", X)
    shifted, _, kept = rule.prepare(X)
    assert kept is X
    assert shifted.dtype == np.float64
    np.testing.assert_array_equal(rule(X, X), rule(X.astype(np.float64), X.astype(np.float64)))


def test_norms_of_many_rows_are_those_of_each(rng):
    Z = rng.standard_normal((300, 1 << 13))
    np.testing.assert_array_equal(squared_norms(Z), (Z * Z).sum(axis=1))
