"""HITS against dense algebra, published values, ties and its identities."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import lowland
from lowland.ranking import hits

KARATE = json.loads((Path(__file__).parents[1] / "data" / "karate.json").read_text())


def matrix(edges, n, weights=None):
    A = np.zeros((n, n))
    np.add.at(A, tuple(np.asarray(edges).T), 1.0 if weights is None else weights)
    return A


def limit(A, steps=20_000):
    """Kleinberg's iteration from equal scores."""
    a = np.ones(len(A))
    for _ in range(steps):
        a = A.T @ (A @ a)
        a /= np.linalg.norm(a)
    h = A @ a
    return h / np.linalg.norm(h), a


@pytest.fixture
def graph(rng):
    edges = (40 * rng.random((150, 2)) ** 2).astype(int)
    return np.concatenate([edges, edges[:10]]), 42


@pytest.mark.parametrize("weighted", [False, True])
def test_authorities_are_the_leading_eigenvector(graph, rng, weighted):
    edges, n = graph
    weights = rng.uniform(0.5, 2, len(edges)) if weighted else None
    A = matrix(edges, n, weights)
    result = hits(np.column_stack([edges, weights]) if weighted else edges, "l2", n_nodes=n)
    values, vectors = np.linalg.eigh(A.T @ A)
    np.testing.assert_allclose(result.authorities, np.abs(vectors[:, -1]), atol=1e-10)
    assert result.eigenvalue == pytest.approx(values[-1], rel=1e-12)
    assert result.gap == pytest.approx(1 - np.sqrt(values[-2] / values[-1]), rel=1e-6)
    np.testing.assert_allclose(result.hubs, A @ result.authorities / np.sqrt(values[-1]), atol=1e-10)
    assert result.tied == 1
    assert result.residual < 1e-10


def test_conventions_of_normalisation(graph):
    edges, n = graph
    by = {how: hits(edges, how, n_nodes=n) for how in ("max", "sum", "l2")}
    for name in ("hubs", "authorities"):
        scores = {how: getattr(result, name) for how, result in by.items()}
        assert scores["max"].max() == 1
        assert scores["sum"].sum() == pytest.approx(1, abs=1e-14)
        assert np.linalg.norm(scores["l2"]) == pytest.approx(1, abs=1e-14)
        np.testing.assert_allclose(scores["sum"] / scores["sum"].max(), scores["max"], atol=1e-14)


def test_karate_club_as_igraph_has_it():
    result = hits(np.array(KARATE["edges"]), directed=False)
    np.testing.assert_allclose(result.hubs, KARATE["hub"], atol=1e-12)
    np.testing.assert_allclose(result.authorities, result.hubs, atol=1e-12)


def test_a_permutation_of_the_nodes_permutes_the_scores(graph, rng):
    edges, n = graph
    order = rng.permutation(n)
    before, after = hits(edges, n_nodes=n), hits(order[edges], n_nodes=n)
    np.testing.assert_allclose(after.hubs[order], before.hubs, atol=1e-12)
    np.testing.assert_allclose(after.authorities[order], before.authorities, atol=1e-12)


def block(rng, size=6):
    return np.concatenate([rng.integers(0, size, (3 * size, 2)), [[i, (i + 1) % size] for i in range(size)]])


@pytest.mark.parametrize("copies", [2, 3, 11])
def test_equal_components_are_a_tie_of_known_size(rng, copies):
    part = block(rng)
    edges = np.concatenate([part + 6 * i for i in range(copies)])
    with pytest.warns(lowland.TieWarning, match=rf"tied \({copies} times\)"):
        result = hits(edges, "l2")
    assert result.tied == copies
    h, a = limit(matrix(part, 6))
    np.testing.assert_allclose(result.authorities, np.tile(a, copies) / np.sqrt(copies), atol=1e-10)
    np.testing.assert_allclose(result.hubs, np.tile(h, copies) / np.sqrt(copies), atol=1e-10)


def test_tied_components_of_different_shape_have_the_limit_of_the_iteration():
    """σ = 2 of a square of links, of one hub with four links, and of one link of weight 2."""
    edges = [(0, 2, 1), (0, 3, 1), (1, 2, 1), (1, 3, 1), (4, 5, 1), (4, 6, 1), (4, 7, 1), (4, 8, 1), (9, 9, 2)]
    edges += [(10, 14, 1), (11, 14, 1), (12, 14, 1), (13, 14, 1), (15, 16, 1.5)]
    with pytest.warns(lowland.TieWarning):
        result = hits(edges, "l2")
    pairs, weights = np.array(edges)[:, :2].astype(int), np.array(edges)[:, 2]
    h, a = limit(matrix(pairs, 17, weights), 200)
    np.testing.assert_allclose(result.authorities, a, atol=1e-12)
    np.testing.assert_allclose(result.hubs, h, atol=1e-12)
    assert result.tied == 4
    assert result.eigenvalue == pytest.approx(4)
    assert result.gap == pytest.approx(0.25)


def test_a_component_that_is_slightly_stronger_has_all_scores(rng):
    part = block(rng)
    weights = np.concatenate([np.ones(len(part)), np.full(len(part), 1 + 1e-7)])
    result = hits(np.column_stack([np.concatenate([part, part + 6]), weights]))
    assert result.tied == 1
    assert (result.authorities[:6] == 0).all()
    assert (result.hubs[:6] == 0).all()
    assert result.gap == pytest.approx(1e-7, rel=1e-3)


def test_a_near_tie_inside_of_a_component_is_told(rng):
    """Two equal halves, joined by a link of weight 1e-13: the vectors are a tie in the last digits."""
    part = block(rng)
    weights = np.append(np.ones(2 * len(part)), 1e-13)
    edges = np.concatenate([part, part + 6, [[0, 6]]])
    with pytest.warns(lowland.TieWarning):
        result = hits(np.column_stack([edges, weights]), "l2")
    assert result.tied == 2
    np.testing.assert_allclose(result.authorities[:6], result.authorities[6:], atol=1e-9)


def test_very_many_equal_components():
    nodes = np.arange(40_000).reshape(-1, 2)
    with pytest.warns(lowland.TieWarning, match="20000 times"):
        result = hits(nodes)
    assert (result.hubs[::2] == 1).all()
    assert (result.authorities[1::2] == 1).all()
    assert (result.hubs[1::2] == 0).all()


def test_a_large_graph_has_small_residuals(rng):
    edges = (20_000 * rng.random((100_000, 2)) ** 3).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = hits(edges, "l2")
    import scipy.sparse as sp

    A = sp.csr_array((np.ones(len(edges)), tuple(edges.T)), shape=(result.n_nodes,) * 2)
    a = result.authorities
    assert np.linalg.norm(A.T @ (A @ a) - result.eigenvalue * a) < 1e-10 * result.eigenvalue
    assert (a >= 0).all()
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(hits(edges).hubs.tobytes())
    assert found[0] == found[1]


def test_a_graph_without_links_has_no_hubs():
    for edges in ([(0, 1, 0.0)], np.zeros((1, 3))):
        with pytest.raises(lowland.DataError, match="no links"):
            hits(edges)


def test_an_unknown_normalisation():
    with pytest.raises(ValueError, match="normalize must be 'max' or 'sum' or 'l2'"):
        hits([(0, 1)], "l1")
