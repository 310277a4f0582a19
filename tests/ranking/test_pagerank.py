"""PageRank against dense algebra, published values and its identities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from lowland.ranking import pagerank

KARATE = json.loads((Path(__file__).parents[1] / "data" / "karate.json").read_text())


def dense(edges, n, damping=0.85, v=None, weights=None):
    """The stationary distribution of the Google matrix, by a linear solve."""
    A = np.zeros((n, n))
    np.add.at(A, tuple(np.asarray(edges).T), 1.0 if weights is None else weights)
    v = np.full(n, 1 / n) if v is None else np.asarray(v) / np.sum(v)
    out = A.sum(axis=1, keepdims=True)
    P = np.where(out > 0, A / np.where(out > 0, out, 1), v)
    return np.linalg.solve(np.eye(n) - damping * P.T, (1 - damping) * v)


@pytest.fixture
def graph(rng):
    """Skewed degrees, self-loops, repeated edges, dangling nodes, nodes without links in, and one without edges."""
    n, m = 60, 240
    edges = np.stack([(50 * rng.random(m) ** 2).astype(int), 5 + (54 * rng.random(m) ** 2).astype(int)], axis=1)
    return np.concatenate([edges, edges[:20], [[7, 7], [7, 7], [30, 30]]]), n


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.85, 0.99])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_a_dense_solve(graph, rng, damping, weighted):
    edges, n = graph
    weights = rng.uniform(0.0, 3.0, len(edges)) if weighted else None
    given = np.column_stack([edges, weights]) if weighted else edges
    result = pagerank(given, damping, n_nodes=n, max_iter=10_000)
    np.testing.assert_allclose(result.scores, dense(edges, n, damping, weights=weights), atol=1e-10 / (1 - damping))
    assert result.converged
    assert result.residual <= 1e-10
    assert result.scores.sum() == pytest.approx(1, abs=1e-14)
    assert result.dangling == n - len(np.unique(edges[:, 0]))


def test_personalization_by_name_by_position_and_on_a_dangling_node(graph, rng):
    edges, n = graph
    v = rng.random(n)
    want = dense(edges, n, v=v)
    np.testing.assert_allclose(pagerank(edges, personalization=v, n_nodes=n).scores, want, atol=1e-9)
    by_name = dict(enumerate(v.tolist()))
    np.testing.assert_array_equal(
        pagerank(edges, personalization=by_name, n_nodes=n).scores, pagerank(edges, personalization=v, n_nodes=n).scores
    )
    alone = pagerank(edges, personalization={59: 2.5}, n_nodes=n).scores  # the walk never leaves it
    np.testing.assert_array_equal(alone, np.eye(n)[59])


def test_is_linear_in_the_personalization(graph, rng):
    edges, n = graph
    everywhere = np.append(edges, np.column_stack([np.arange(n), np.roll(np.arange(n), 1)]), axis=0)  # none dangles
    u, v = rng.random(n), rng.random(n)
    u, v = u / u.sum(), v / v.sum()
    x, y, both = (pagerank(everywhere, personalization=w, tol=1e-13).scores for w in (u, v, 0.3 * u + 0.7 * v))
    np.testing.assert_allclose(both, 0.3 * x + 0.7 * y, atol=1e-12)


def test_a_permutation_of_the_nodes_permutes_the_scores(graph, rng):
    edges, n = graph
    order = rng.permutation(n)
    scores = pagerank(edges, n_nodes=n, tol=1e-13).scores
    np.testing.assert_allclose(pagerank(order[edges], n_nodes=n, tol=1e-13).scores[order], scores, atol=1e-13)


def test_karate_club_as_igraph_has_it():
    """34 members and 78 friendships (Zachary 1977), ranked by igraph 1.3.5 of R."""
    result = pagerank(np.array(KARATE["edges"]), directed=False, tol=1e-13)
    np.testing.assert_allclose(result.scores, KARATE["pagerank"], atol=1e-12)
    assert [name for name, _ in result.top(3)] == [33, 0, 32]


def test_small_graphs_by_hand():
    two = pagerank([(0, 1)], 0.5).scores  # y = v + d Pᵀy: (½, ¾), divided by its sum
    np.testing.assert_allclose(two, [0.4, 0.6], atol=1e-15)
    ring = pagerank([(0, 1), (1, 2), (2, 0)])
    np.testing.assert_allclose(ring.scores, np.full(3, 1 / 3), atol=1e-15)
    np.testing.assert_allclose(pagerank([(0, 0)]).scores, [1.0])
    trap = pagerank([(0, 1), (1, 1), (1, 1)], 0.9)  # a link to itself is solved for, not iterated
    assert trap.iterations <= 3
    np.testing.assert_allclose(trap.scores, dense([(0, 1), (1, 1)], 2, 0.9), atol=1e-14)


def test_no_edges_give_equal_scores():
    np.testing.assert_array_equal(pagerank(sp.csr_array((4, 4))).scores, np.full(4, 0.25))
    np.testing.assert_array_equal(pagerank(np.empty((0, 2), dtype=int), n_nodes=2).scores, [0.5, 0.5])


def test_disconnected_parts_keep_their_share(rng):
    part = rng.integers(0, 20, (80, 2))
    both = pagerank(np.concatenate([part, part + 20]), n_nodes=40, tol=1e-13).scores
    np.testing.assert_allclose(both[:20], both[20:], atol=1e-14)
    np.testing.assert_allclose(2 * both[:20], pagerank(part, n_nodes=20, tol=1e-13).scores, atol=1e-13)


def test_weights_of_any_size(graph):
    edges, n = graph
    want = pagerank(edges, n_nodes=n).scores
    for size in (1e-300, 1e307):
        weighted = np.column_stack([edges, np.full(len(edges), size)])
        np.testing.assert_allclose(pagerank(weighted, n_nodes=n).scores, want, atol=1e-10)
    mixed = [(0, 1, 1e-150), (0, 2, 1e-150), (1, 0, 1e150), (2, 0, 1.0)]
    np.testing.assert_allclose(pagerank(mixed).scores, dense([(0, 1), (0, 2), (1, 0), (2, 0)], 3), atol=1e-9)


def test_a_link_of_weight_zero_is_none():
    result = pagerank([(0, 1, 0.0), (1, 0, 2.0), (1, 2, 0.0)])
    np.testing.assert_allclose(result.scores, dense([(1, 0)], 3), atol=1e-10)
    assert result.dangling == 2


def test_same_bits_on_any_number_of_threads(rng):
    n, m = 30_000, 1_500_000  # several tasks of every kind
    edges = (n * rng.random((m, 2)) ** 2).astype(np.int64)
    weighted = np.column_stack([edges, rng.random(m)])
    found = []
    for threads in (1, 2, 5):
        with lowland.config(threads=threads):
            found.append([pagerank(edges).scores.tobytes(), pagerank(weighted).scores.tobytes()])
    assert found[0] == found[1] == found[2]
    A = sp.csr_array((np.ones(m), (edges[:, 1], edges[:, 0])), shape=(n, n))
    x, out = np.frombuffer(found[0][0]), np.bincount(edges[:, 0], minlength=n)
    step = 0.85 * (A @ np.divide(x, out, out=np.zeros(n), where=out > 0))
    assert np.abs(step + (1 - step.sum()) / n - x).sum() < 1e-10


def test_too_few_steps_warn_and_report_the_change(graph):
    edges, n = graph
    with pytest.warns(lowland.NotConvergedWarning, match="raise max_iter"):
        result = pagerank(edges, n_nodes=n, max_iter=2)
    assert not result.converged
    assert result.residual > 1e-10
    assert np.abs(result.scores - dense(edges, n)).sum() <= result.residual * 0.85 / 0.15
    assert "Not converged" in result.sentence


def test_no_more_steps_than_max_iter(graph):
    edges, n = graph
    for most in (1, 2, 3):
        with pytest.warns(lowland.NotConvergedWarning, match=f"the last of {most} step"):
            assert pagerank(edges, n_nodes=n, max_iter=most).iterations == most
    needed = pagerank(edges, n_nodes=n)
    assert needed.converged
    exact = pagerank(edges, n_nodes=n, max_iter=needed.iterations)
    np.testing.assert_array_equal(exact.scores, needed.scores)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"damping": 1.0}, r"damping must be .*0\.999"),
        ({"damping": -0.1}, "damping must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"personalization": {"bb": 1.0}}, "names the node 'bb', which the graph does not have; similar: b"),
        ({"personalization": {"a": 0.0}}, "has the sum 0"),
        ({"personalization": {"a": -1.0}}, "the weight -1 for node 'a'"),
        ({"personalization": {"a": float("nan")}}, "the weight nan"),
        ({"personalization": {"a": "much"}}, "weights must be numbers"),
        ({"personalization": [1.0, 2.0]}, "has 2 weights; the graph has 3 nodes"),
        ({"personalization": "a"}, "must be a mapping"),
    ],
)
def test_parameters_that_cannot_be(options, problem):
    with pytest.raises(ValueError, match=problem):
        pagerank([("a", "b"), ("b", "c")], **options)
