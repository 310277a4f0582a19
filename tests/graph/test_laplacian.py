"""Weights, Laplacians and their smoothest functions, against spectra that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial import cKDTree

from lowland import config
from lowland.core.errors import DataError, MemoryLimitError
from lowland.data import swiss_roll
from lowland.graph.graph import Graph
from lowland.graph.laplacian import (
    FLOOR,
    affinity,
    compact,
    degrees,
    edge_weights,
    harmonics,
    laplacian,
    median_distance,
    normalized,
    without_density,
)


def lists(X, k):
    distances, indices = cKDTree(X).query(X, k + 1)
    return Graph.of_lists(indices[:, 1:], distances[:, 1:])


def path(n):
    return sp.csr_array(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]))


def seeded():
    return np.random.default_rng(0)


@pytest.fixture
def W(rng):
    graph = lists(rng.standard_normal((80, 3)), 6)
    return affinity(graph, median_distance(graph))


def test_weights_of_distances():
    d = np.array([0.0, 1.0, 2.0, 1e3])
    np.testing.assert_allclose(edge_weights(d, 2.0), [1, np.exp(-1 / 8), np.exp(-1 / 2), FLOOR], rtol=1e-15)
    np.testing.assert_array_equal(edge_weights(d, np.inf), 1)
    assert edge_weights(np.array([5.2]), 1.0) > FLOOR == edge_weights(np.array([5.3]), 1.0)


def test_two_points_are_linked_when_either_says_so(rng):
    graph = lists(rng.standard_normal((50, 2)), 4)
    far = graph.csr().toarray()
    W = affinity(graph, 1.5).toarray()
    linked = far > 0
    np.testing.assert_array_equal(W > 0, linked | linked.T)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_array_equal(np.diag(W), 0)
    i, j = np.argwhere(linked)[17]
    assert W[i, j] == pytest.approx(np.exp(-(far[i, j] ** 2) / 4.5), rel=1e-14)


def test_a_bandwidth_that_makes_every_weight_vanish_is_refused(rng):
    graph = lists(rng.standard_normal((50, 2)), 4)
    with pytest.raises(DataError, match=r"bandwidth=0\.001 is too small.*median distance of neighbours is 0\.\d"):
        affinity(graph, 1e-3)


def test_a_grid_has_the_cosines_as_its_spectrum():
    """The Laplacian of a product of paths: 4 − 2 cos(πi/m) − 2 cos(πj/n)."""
    m, n = 7, 5
    W = sp.kron(path(m), sp.eye_array(n)) + sp.kron(sp.eye_array(m), path(n))
    found = np.linalg.eigvalsh(laplacian(sp.csr_array(W)).toarray())
    waves = [2 - 2 * np.cos(np.pi * np.arange(size) / size) for size in (m, n)]
    np.testing.assert_allclose(found, np.sort(np.add.outer(*waves).ravel()), atol=1e-13)


@pytest.mark.parametrize("n", [40, 2000])
def test_the_normalised_spectrum_of_a_path(n):
    """λ = 1 − cos(πj/(n − 1)), with the functions cos(πji/(n − 1))."""
    found = harmonics(path(n), 3, seeded())
    angle = np.pi / (n - 1) * np.arange(1, 4)
    np.testing.assert_allclose(found.values, 2 * np.sin(angle / 2) ** 2, rtol=1e-7, atol=1e-14)
    waves = np.sqrt(2) * np.cos(np.outer(np.arange(n), angle))
    np.testing.assert_allclose(np.abs(found.functions), np.abs(waves), atol=1e-7)


def test_the_normalised_laplacian_is_symmetric_and_knows_its_null_vector(W):
    N, null = normalized(W)
    dense = N.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    root = np.diag(degrees(W) ** -0.5)
    np.testing.assert_allclose(dense, np.eye(80) - root @ W.toarray() @ root, atol=1e-15)
    np.testing.assert_allclose(dense @ null, 0, atol=1e-15)
    assert np.linalg.norm(null) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("solver", ["dense", "auto"])
@pytest.mark.parametrize("n", [300, 1800])
def test_each_solver_agrees_with_lapack(n, solver):
    graph = lists(swiss_roll(n)[0], 10)
    W = affinity(graph, median_distance(graph))
    found = harmonics(W, 5, seeded(), solver=solver)
    values, Y = scipy.linalg.eigh(laplacian(W).toarray(), np.diag(degrees(W)), subset_by_index=(1, 5))
    np.testing.assert_allclose(found.values, values, rtol=1e-8)
    np.testing.assert_allclose(np.abs(found.functions), np.abs(Y) * np.sqrt(degrees(W).sum()), atol=1e-8)


def test_compact_graphs_are_multiplied_and_others_factored(rng):
    """Both ways give the same pairs; which is taken follows from the graph."""
    cloud = lists(rng.standard_normal((2000, 6)), 10)
    sheet = lists(swiss_roll(2000)[0], 10)
    for graph, solver, other in ((cloud, "krylov", "superlu"), (sheet, "superlu", "krylov")):
        W = affinity(graph, median_distance(graph))
        assert compact(W) == (solver == "krylov")
        found, again = harmonics(W, 4, seeded()), harmonics(W, 4, seeded(), solver=other)
        assert (found.solver, again.solver) == (solver, other)
        assert max(found.residual, again.residual) < 1e-8
        np.testing.assert_allclose(found.values, again.values, rtol=1e-9)
        np.testing.assert_allclose(found.functions, again.functions, atol=1e-7)


def test_the_basis_of_a_compact_graph_is_held_to_the_memory_limit(rng):
    W = affinity(lists(rng.standard_normal((4000, 6)), 10), 1.0)
    with config(memory_limit="5MB"), pytest.raises(MemoryLimitError, match=r"a Krylov basis of \d+ vectors for 4,000"):
        harmonics(W, 2, seeded())


def test_multiplying_gives_way_where_it_is_slow_or_edges_hardly_count(rng, monkeypatch):
    X = rng.standard_normal((2000, 6))
    W = affinity(lists(X, 10), 1.0)
    weak = W.copy()
    i, j = 0, W.indices[W.indptr[0]]
    weak[i, j] = weak[j, i] = 1e-9
    assert compact(W)
    assert not compact(weak)
    monkeypatch.setattr("lowland.spectral.walks.PRODUCTS", 3)
    found = harmonics(W, 2, seeded())
    assert found.solver == "superlu"
    np.testing.assert_allclose(found.values, harmonics(W, 2, seeded(), solver="krylov").values, rtol=1e-9)


def test_functions_have_mean_0_and_variance_1_under_the_degrees(W):
    found = harmonics(W, 4, seeded())
    weight = found.degrees / found.degrees.sum()
    np.testing.assert_allclose(weight @ found.functions, 0, atol=1e-14)
    np.testing.assert_allclose(found.functions.T @ (weight[:, None] * found.functions), np.eye(4), atol=1e-12)


def test_points_of_tiny_degree_keep_their_digits(rng):
    """u = √d y of a far point is as small as rounding; y is still the mean of its neighbours over 1 − λ."""
    X = np.vstack([rng.standard_normal((1600, 2)), [[40.0, 0.0]]])
    W = affinity(lists(X, 8), 0.15)
    found = harmonics(W, 3, seeded())
    assert found.degrees[-1] < 1e-4
    want = (W @ found.functions)[-1] / found.degrees[-1] / (1 - found.values)
    np.testing.assert_allclose(found.functions[-1], want, rtol=1e-9)


def test_the_density_is_divided_out(W):
    K, q = without_density(W, 0.5)
    d = degrees(W)
    np.testing.assert_allclose(q, np.sqrt(d), rtol=1e-15)
    np.testing.assert_allclose(K.toarray(), W.toarray() / np.sqrt(np.outer(d, d)), rtol=1e-14)
    np.testing.assert_array_equal(without_density(W, 0.0)[0].toarray(), W.toarray())
