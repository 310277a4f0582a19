import numpy as np
import pytest

from lowland.methods.manifold.mvu_program import full_gram, gram_in_basis
from mvu_reference import edges_of, exact_gram


def _half_cylinder(n, seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(0, 1, n)])


def _complete(X):
    i, j = np.triu_indices(len(X), 1)
    return i, j, ((X[i] - X[j]) ** 2).sum(axis=1)


def _both(*program):
    return [exact_gram(*program), full_gram(*program).gram]


def test_a_triangle_is_held_by_its_sides():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    Z = X - X.mean(axis=0)
    for K in _both(3, *_complete(X)):
        np.testing.assert_allclose(K, Z @ Z.T, atol=1e-4)
        assert np.trace(K) == pytest.approx(1.0, rel=1e-5)


def test_a_chain_is_pulled_straight():
    lengths = np.array([1.0, 2.0, 0.5, 1.5, 1.0])
    x = np.concatenate([[0], np.cumsum(lengths)])
    x -= x.mean()
    for K in _both(6, np.arange(5), np.arange(1, 6), lengths**2):
        np.testing.assert_allclose(K, np.outer(x, x), atol=1e-3 * x @ x)


def test_a_ring_of_four_rods_has_many_optima_of_one_trace():
    """A ring of four rods of length 1: the trace is 2 for the square, for the line, and for all between."""
    for K in _both(4, np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), np.ones(4)):
        assert np.trace(K) == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize(("n", "k", "seed"), [(30, 4, 5), (40, 4, 11)])
def test_both_solvers_agree(n, k, seed):
    edges = edges_of(_half_cylinder(n, seed), k)
    found, expected = full_gram(n, *edges), exact_gram(n, *edges)
    assert np.trace(found.gram) == pytest.approx(np.trace(expected), rel=1e-3)
    assert found.gap < 1e-3
    i, j, squares = edges
    K = found.gram
    np.testing.assert_allclose(K[i, i] + K[j, j] - 2 * K[i, j], squares, atol=1e-4 * squares.mean())
    assert np.abs(K.sum(axis=0)).max() < 1e-9 * np.trace(K)


def test_a_rigid_graph_is_solved_to_the_end():
    """All distances in three dimensions leave one K and no interior: that of the points, although forces grow."""
    X = _half_cylinder(30, 7)
    Z = X - X.mean(axis=0)
    found = full_gram(30, *edges_of(X, 14))
    assert found.gap < 1e-4
    assert found.error <= 1e-8  # where rounds end
    np.testing.assert_allclose(found.gram, Z @ Z.T, atol=1e-3 * np.abs(Z @ Z.T).max())


def test_the_trace_is_no_less_than_that_of_the_data():
    """The data themselves keep all distances, so the optimum cannot have less variance."""
    X = _half_cylinder(40, 2)
    own = ((X - X.mean(axis=0)) ** 2).sum()
    assert np.trace(full_gram(40, *edges_of(X, 5)).gram) > 1.05 * own


def test_all_functions_and_stiff_edges_give_the_exact_program():
    import scipy.linalg

    lengths = np.array([1.0, 0.8, 1.2, 1.0, 0.9, 1.1])
    x = np.concatenate([[0], np.cumsum(lengths)])
    Q = scipy.linalg.helmert(7).T
    Y = gram_in_basis(Q, np.arange(6), np.arange(1, 7), lengths**2, float(((x - x.mean()) ** 2).sum()), 1e-4)
    np.testing.assert_allclose(Q @ Y @ Q.T, np.outer(x - x.mean(), x - x.mean()), atol=2e-3 * x @ x)


def test_softer_edges_give_more_variance():
    Q = np.linalg.qr(np.column_stack([np.ones(9), np.cos(np.pi * (np.arange(9)[:, None] + 0.5) / 9 * [1, 2, 3])]))[0]
    edges = np.arange(8), np.arange(1, 9), np.ones(8)
    traces = [np.trace(gram_in_basis(Q[:, 1:], *edges, 60.0, slack)) for slack in (0.01, 0.1, 1.0)]
    assert traces[0] < traces[1] < traces[2]


def _star():
    """Four points: a hub at 1 from three leaves that are 2 from each other. A metric, but of no Euclidean points."""
    i, j = np.triu_indices(4, 1)
    return i, j, np.where(i == 0, 1.0, 4.0)


def test_lengths_that_no_points_have_are_proved_to_be_so():
    """The nearest are 1.3 and 3.9: leaves around a hub have b ≤ 3a, and (a − 1)² + (b − 4)² is least there."""
    i, j, squares = _star()
    off = np.where(i == 0, 0.3, -0.1)
    least = np.linalg.norm(off) / np.linalg.norm(squares)
    assert 0.5 * least < full_gram(4, i, j, squares).contradiction <= least
    assert full_gram(4, i, j, squares + off).contradiction == 0


def test_springs_come_to_the_least_squares():
    i, j, squares = _star()
    for scale in (1.0, 1e-6, 1e6):
        found = full_gram(4, i, j, scale * squares, give=1e-4 * scale)
        K = found.gram / scale
        assert found.gap < 1e-6
        np.testing.assert_allclose(K[i, i] + K[j, j] - 2 * K[i, j], np.where(i == 0, 1.3, 3.9), atol=1e-3)


def test_springs_stretch_a_chain_by_their_forces():
    """Of three points in line the outer ones are at ±|a|, tr K = 2a²; a spring's force is 1, whatever its length."""
    for give in (0.0, 1e-6, 0.1, 1.0):
        K = full_gram(3, np.array([0, 1]), np.array([1, 2]), np.ones(2), give=give).gram
        assert np.trace(K) == pytest.approx(2 * (1 + give), rel=1e-5)


def test_rounding_of_distances_is_no_contradiction():
    i, j, squares = _complete(_half_cylinder(20, 3).astype(np.float32))
    assert full_gram(20, i, j, squares.astype(np.float64)).contradiction == 0
