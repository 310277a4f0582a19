"""Shortest paths with the points on them."""

import numpy as np
import pytest

import lowland
from lowland.graph import neighbor_graph, shortest_path
from lowland.graph.geodesics import geodesics


def test_a_path_is_as_long_as_geodesics_say():
    X, _ = lowland.data.swiss_roll(200, random_state=0)
    graph = neighbor_graph(X, 6).symmetric()
    lengths = geodesics(graph, [0, 17])
    for row, start in enumerate((0, 17)):
        for end in (5, 120, 199):
            path = shortest_path(graph, start, end)
            assert path.length == pytest.approx(lengths[row, end], rel=1e-12)
            assert path.points[[0, -1]].tolist() == [start, end]
            steps = np.linalg.norm(np.diff(X[path.points], axis=0), axis=1)
            assert steps.sum() == pytest.approx(path.length)
            edges = graph.csr()
            assert all(edges[a, b] > 0 for a, b in zip(path.points[:-1], path.points[1:], strict=True))


def test_equal_rows_and_a_path_to_itself():
    graph = neighbor_graph([[0.0], [1.0], [1.0], [2.0]], 2).symmetric()
    assert shortest_path(graph, 0, 3).length == 2.0
    assert shortest_path(graph, 1, 1) == (np.array([1]), 0.0)


def test_what_has_no_path_is_refused():
    graph = neighbor_graph([[0.0], [1.0], [10.0], [11.0]], 1).symmetric()
    with pytest.raises(lowland.DataError, match=r"no path connects the points 0 and 3.*increase n_neighbors"):
        shortest_path(graph, 0, 3)
    for wrong in (4, -1, 0.5, True):
        with pytest.raises(lowland.DataError, match="numbers from 0 to 3"):
            shortest_path(graph, 0, wrong)
