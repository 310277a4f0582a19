"""The nearest landmarks along a graph, and weights on them."""

import numpy as np
from scipy.sparse.csgraph import dijkstra

from lowland.graph import landmark_weights
from lowland.graph.geometry import Coordinates
from lowland.graph.neighbors import neighbor_graph


def test_nearest_along_is_dijkstra(rng, monkeypatch):
    graph = neighbor_graph(rng.standard_normal((200, 3)), 6)
    chosen = np.sort(rng.permutation(200)[:40])
    D = dijkstra(graph.symmetric().csr(), indices=chosen).T
    want = np.sort(D, axis=1)[:, :7]
    for held in (1 << 25, 1):  # all at once, or 16 landmarks at a time
        monkeypatch.setattr(landmark_weights, "PATHS", held)
        numbers, lengths = landmark_weights.nearest_along(graph, chosen, 7)
        np.testing.assert_allclose(lengths, want, rtol=1e-6)
        np.testing.assert_allclose(np.take_along_axis(D, numbers, axis=1), want, rtol=1e-6)


def test_the_least_of_rows_with_ties_are_the_first(rng):
    D = rng.integers(0, 5, (300, 40)).astype(np.float32)
    D[:150] += rng.random((150, 40), dtype=np.float32)
    for k in (1, 7, 40):
        np.testing.assert_array_equal(landmark_weights._least(D, k), np.argsort(D, axis=1, kind="stable")[:, :k])


def test_weights_on_landmarks_make_up_the_points(rng):
    X = rng.standard_normal((150, 2))
    chosen = np.sort(rng.permutation(150)[:60])
    near = landmark_weights.nearest_along(neighbor_graph(X, 8), chosen, 6)
    Z = landmark_weights.landmark_weights(Coordinates(X), chosen, *near)
    np.testing.assert_allclose(Z.sum(axis=1), 1.0)
    np.testing.assert_array_equal(Z.toarray()[chosen], np.eye(60))
    inside = np.linalg.norm(X, axis=1) < 1
    np.testing.assert_allclose((Z @ X[chosen])[inside], X[inside], atol=0.1)
