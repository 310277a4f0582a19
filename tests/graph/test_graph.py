"""The graph of neighbours: both ways, parts of it, further edges; zeros are edges; compiled loops and NumPy agree."""

from __future__ import annotations

import numpy as np
import pytest

from lowland.graph import graph as module
from lowland.graph.graph import Graph
from lowland.graph.neighbors import neighbor_graph


@pytest.fixture(params=["numpy", "compiled"])
def road(request, monkeypatch):
    """Both ways to work on edges: small graphs never see the compiled loops otherwise."""
    if request.param == "compiled":
        monkeypatch.setattr(module, "_COMPILED", 0)


def chance(rng, n=60, most=9, levels=4):
    """Edges of a few lengths, so that there are ties and zeros; some points have none, one has most of them."""
    lists = [rng.permutation(np.delete(np.arange(n), i))[: rng.integers(0, most)] for i in range(n)]
    lists[3] = np.delete(np.arange(n), 3)  # a hub, longer than lists that are sorted by insertion
    i = np.repeat(np.arange(n), [len(x) for x in lists])
    j = np.concatenate(lists)
    D = rng.integers(0, levels, (n, n)).astype(float)
    return Graph.of_edges(n, i, j, np.minimum(D, D.T)[i, j], algorithm="chance", recall=0.5)


def listed(graph):
    """Each list as pairs of distance and number."""
    ends, d = graph.indices, graph.distances
    cuts = list(zip(graph.indptr[:-1], graph.indptr[1:], strict=True))
    return [list(zip(d[a:b].tolist(), ends[a:b].tolist(), strict=True)) for a, b in cuts]


def test_lists_are_sorted_by_distance_then_number(rng):
    for row in listed(chance(rng)):
        assert row == sorted(row)


def test_symmetric_has_every_edge_both_ways(rng, road):
    graph = chance(rng)
    both = graph.symmetric()
    edges = {(i, j): d for i, row in enumerate(listed(graph)) for d, j in row}
    want = edges | {(j, i): d for (i, j), d in edges.items()}
    found = [(i, j, d) for i, row in enumerate(listed(both)) for d, j in row]
    assert len(found) == len(want)
    assert {(i, j): d for i, j, d in found} == want
    assert any(d == 0 for d in want.values())
    assert all(row == sorted(row) for row in listed(both))
    assert both.indices.dtype == np.int32
    assert both.indptr.dtype == np.int64
    assert (both.algorithm, both.recall) == ("chance", 0.5)


def test_of_two_distances_the_shorter_stays(road):
    graph = Graph.of_edges(2, np.array([0, 1]), np.array([1, 0]), np.array([3.0, 2.0]))
    assert listed(graph.symmetric()) == [[(2.0, 1)], [(2.0, 0)]]


def test_symmetric_twice_changes_nothing(rng, road):
    once = chance(rng).symmetric()
    assert listed(once.symmetric()) == listed(once)


def test_further_edges(rng, road):
    graph = chance(rng)
    a, b, d = np.array([0, 3, 7]), np.array([50, 4, 9]), np.array([0.0, 0.5, 1e6])
    grown = listed(graph.linked(a, b, d))
    old = {(i, j): x for i, row in enumerate(listed(graph)) for x, j in row}
    for i, j, x in [*zip(a, b, d, strict=True), *zip(b, a, d, strict=True)]:
        old[int(i), int(j)] = min(float(x), old.get((int(i), int(j)), np.inf))
    assert {(i, j): x for i, row in enumerate(grown) for x, j in row} == old
    assert all(row == sorted(row) for row in grown)


@pytest.mark.parametrize("shuffled", [False, True])
def test_part(rng, shuffled):
    graph = chance(rng)
    points = rng.permutation(60)[:25]
    points = points if shuffled else np.sort(points)
    part = graph.part(points)
    number = {int(p): i for i, p in enumerate(points)}
    want = [sorted((d, number[j]) for d, j in listed(graph)[p] if j in number) for p in points]
    assert listed(part) == want
    assert sum(map(len, want)) > 0


def test_as_a_matrix_zeros_stay_stored():
    graph = Graph.of_lists([[1], [0]], [[0.0], [0.0]])
    assert graph.csr().nnz == 2
    assert graph.csr(np.array([5.0, 6.0])).toarray().tolist() == [[0, 5], [6, 0]]
    assert graph.degrees.tolist() == [1, 1]


def test_large_graphs_take_the_compiled_loops_on_any_number_of_threads(rng):
    import lowland

    n, k = 70_000, 10
    j = rng.integers(0, n - 1, (n, k))
    j += j >= np.arange(n)[:, None]
    j.sort(axis=1)
    keep = np.concatenate([np.ones((n, 1), dtype=bool), j[:, 1:] != j[:, :-1]], axis=1)
    i = np.nonzero(keep)[0]
    graph = Graph.of_edges(n, i, j[keep], rng.integers(0, 50, len(i)).astype(float))
    assert len(graph.indices) > module._COMPILED
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(graph.symmetric())
    edges = np.concatenate([np.stack([i, graph.indices]), np.stack([graph.indices, i])], axis=1)
    order = np.lexsort((np.tile(graph.distances, 2), edges[1], edges[0]))
    edges, d = edges[:, order], np.tile(graph.distances, 2)[order]
    fresh = np.concatenate([[True], (edges[:, 1:] != edges[:, :-1]).any(axis=0)])
    want = Graph.of_edges(n, *edges[:, fresh], d[fresh])
    for name in ("indptr", "indices", "distances"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(want, name))
    for name in ("indptr", "indices", "distances"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


def test_split_is_the_part_of_each_label(rng):
    labels = rng.integers(0, 4, 60)
    X = rng.standard_normal((60, 2)) + 100.0 * labels[:, None]
    graph = neighbor_graph(X.round(1), 3, ties="keep")
    pieces = graph.split(labels)
    assert len(pieces) == 4
    for label, (piece, points) in enumerate(pieces):
        want = graph.part(np.flatnonzero(labels == label))
        np.testing.assert_array_equal(points, np.flatnonzero(labels == label))
        for name in ("indptr", "indices", "distances"):
            found, wanted = getattr(piece, name), getattr(want, name)
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
