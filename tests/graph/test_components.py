"""Connected components of a graph, and the shortest links between them: a minimum spanning tree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

import lowland
from lowland.graph import trees
from lowland.graph.components import bridge, components
from lowland.graph.graph import Graph
from lowland.graph.neighbors import searcher


def test_pieces_are_numbered_by_size_then_first_member():
    edges = [(6, 0), (1, 2), (3, 4), (5, 3)]
    i, j = np.array(edges).T
    graph = Graph.of_edges(7, i, j, np.zeros(4))  # zero distances and one way: edges all the same
    assert components(graph).tolist() == [1, 2, 2, 0, 0, 0, 1]


@pytest.fixture(params=["all pairs", "boxes"])
def road(request, monkeypatch):
    if request.param == "boxes":
        monkeypatch.setattr(trees, "_PLAIN", 0)


def total_of_tree(D, labels):
    """Length of the minimum spanning tree of the pieces, by brute force."""
    pieces = labels.max() + 1
    W = np.array([[D[np.ix_(labels == a, labels == b)].min() for b in range(pieces)] for a in range(pieces)])
    return minimum_spanning_tree(W).sum()


CLOUDS = {
    "scattered": lambda rng: rng.standard_normal((600, 2)),
    "wide": lambda rng: rng.standard_normal((400, 20)),
    "satellites": lambda rng: np.concatenate(
        [rng.random((500, 3)), *(rng.random((4, 3)) * 0.1 + 5 * rng.standard_normal(3) for _ in range(12))]
    ),
    "integers": lambda rng: np.unique(rng.integers(0, 90, (600, 2)), axis=0).astype(float),
}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_links_are_the_shortest_that_join_all_pieces(cloud, metric, road, rng):
    X = CLOUDS[cloud](rng) + (0.5 if metric == "cosine" else 0.0)
    search = searcher(metric, X)
    graph = search.graph(1)
    labels = components(graph)
    joined, links = bridge(graph, search)
    assert labels.max() > 5
    assert links == labels.max()
    assert components(joined).max() == 0
    D = cdist(X, X, metric)
    both_ways, _ = bridge(graph.symmetric(), search)
    added = (both_ways.csr().sum() - graph.symmetric().csr().sum()) / 2
    assert added == pytest.approx(total_of_tree(D, labels), rel=1e-9)
    assert len(joined.indices) == len(graph.indices) + 2 * links


def test_equal_links_are_chosen_by_the_numbers_of_their_points(road):
    X = np.array([[0.0, 0], [0, 1], [5, 0], [5, 1]])
    search = searcher("euclidean", X)
    joined, links = bridge(search.graph(1), search)
    assert links == 1
    assert joined.csr().toarray()[0, 2] == 5
    assert joined.csr().toarray()[1, 3] == 0


def test_roads_threads_and_given_labels_agree(rng, monkeypatch):
    X = rng.standard_normal((3000, 3))
    search = searcher("euclidean", X)
    graph = search.graph(2)
    want, links = bridge(graph, search)
    assert links > 20
    monkeypatch.setattr(trees, "_PLAIN", 0)
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found, _ = bridge(graph, search, components(graph))
        np.testing.assert_array_equal(found.indices, want.indices)
        np.testing.assert_array_equal(found.distances, want.distances)


def test_points_that_cannot_be_nearer_are_not_looked_at_again(rng, monkeypatch):
    X = np.concatenate([rng.standard_normal((40, 20)) + 30 * rng.standard_normal(20) for _ in range(40)])
    search = searcher("euclidean", X)
    graph = search.graph(5)
    looked = []
    way_out = type(search)._way_out

    def counted(self, numbers, labels, seen):
        looked.append(len(numbers))
        return way_out(self, numbers, labels, seen)

    monkeypatch.setattr(type(search), "_way_out", counted)
    _, links = bridge(graph, search)
    assert links == 39
    assert sum(looked) < 1.5 * len(X)


def test_a_connected_graph_is_left_alone(rng):
    search = searcher("euclidean", rng.standard_normal((50, 2)))
    graph = search.graph(20)
    assert bridge(graph, search) == (graph, 0)


def stored(entries, n):
    i, j, d = (np.array(x) for x in zip(*entries, strict=True))
    return sp.coo_array((np.r_[d, d], (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()


def test_stored_distances_join_pieces_where_they_can():
    search = searcher("precomputed", stored([(0, 1, 1.0), (2, 3, 1.0), (1, 2, 9.0), (0, 3, 7.0)], 4))
    joined, links = bridge(search.graph(1), search)
    assert links == 1
    assert joined.csr().toarray()[0, 3] == 7


def test_stored_distances_that_cannot_join_pieces():
    search = searcher("precomputed", stored([(0, 1, 1.0), (2, 3, 1.0), (3, 4, 1.0)], 5))
    with pytest.raises(
        lowland.DisconnectedError,
        match=r"components is 2, and no distance is known from the component of row 0 to any other.*'separate'",
    ):
        bridge(search.graph(1), search)
