"""Shortest paths: the bits of SciPy's Dijkstra, on any threads; pieces, zero edges, few and repeated sources."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

import lowland
from lowland.data import swiss_roll
from lowland.graph import geodesics as module
from lowland.graph.geodesics import LANES, geodesic_cost, geodesics
from lowland.graph.graph import Graph


def neighbors(X, k):
    d, i = cKDTree(X).query(X, k + 1)
    return Graph.of_lists(i[:, 1:], d[:, 1:]).symmetric()


def peer(graph, sources):
    return dijkstra(graph.csr(), directed=True, indices=sources)


SHAPES = {
    "sheet": lambda rng: swiss_roll(1500)[0],
    "ball": lambda rng: rng.standard_normal((800, 8)),
    "heavy tails": lambda rng: rng.standard_cauchy((900, 2)),
    "pieces": lambda rng: np.concatenate([rng.standard_normal((150, 3)) * 10.0**-c + 20 * c for c in range(5)]),
    "line": lambda rng: np.cumsum(rng.exponential(size=(700, 1)), axis=0),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, LANES, 3 * LANES + 5, None])
def test_the_same_bits_as_dijkstra(shape, count, rng):
    graph = neighbors(SHAPES[shape](rng), 6)
    sources = rng.permutation(graph.n)[:count]
    np.testing.assert_array_equal(geodesics(graph, sources), peer(graph, sources))


def test_pieces_are_infinitely_far(rng):
    graph = neighbors(SHAPES["pieces"](rng), 5)
    D = geodesics(graph, np.arange(graph.n))
    assert np.isinf(D[0, -1])
    assert np.isfinite(D[:150, :150]).all()


def test_zero_edges_and_isolated_points():
    a, b, d = np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0.0, 2.0, 0.0])
    graph = Graph(np.zeros(7, np.int64), np.empty(0, np.int32), np.empty(0)).linked(a, b, d)
    want = np.full((6, 6), np.inf)
    np.fill_diagonal(want, 0)
    want[:3, :3] = [[0, 0, 2], [0, 0, 2], [2, 2, 0]]
    want[3:5, 3:5] = 0
    np.testing.assert_array_equal(geodesics(graph, np.arange(6)), want)


def test_only_zero_edges_on_a_long_line():
    n = 200
    graph = Graph(np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0))
    graph = graph.linked(np.arange(n - 1), np.arange(1, n), np.zeros(n - 1))
    assert not geodesics(graph, np.arange(n)).any()


def test_huge_edges_do_not_stop_the_search():
    n = 40
    graph = Graph(np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0))
    graph = graph.linked(np.arange(n - 1), np.arange(1, n), np.where(np.arange(n - 1) == 20, 1e307, 1.0))
    sources = np.arange(0, n, 2)
    np.testing.assert_array_equal(geodesics(graph, sources), peer(graph, sources))


def test_repeated_sources_come_back_as_asked(rng):
    graph = neighbors(rng.standard_normal((100, 2)), 5)
    sources = [7, 3, 7, 7, 50]
    np.testing.assert_array_equal(geodesics(graph, sources), peer(graph, sources))
    by_point = geodesics(graph, sources, by_point=True)
    assert by_point.flags.c_contiguous
    np.testing.assert_array_equal(by_point, peer(graph, sources).T)


def test_float32_is_the_rounded_sum(rng):
    graph = neighbors(swiss_roll(600)[0], 8)
    D = geodesics(graph, np.arange(0, 600, 7), dtype=np.float32)
    assert D.dtype == np.float32
    np.testing.assert_array_equal(D, peer(graph, np.arange(0, 600, 7)).astype(np.float32))


def test_same_bits_on_any_threads():
    graph = neighbors(swiss_roll(2000)[0], 8)
    found = []
    for threads in (1, 2, 5):
        with lowland.config(threads=threads):
            found.append(geodesics(graph, np.arange(0, 2000, 9)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def looks_of(monkeypatch):
    from lowland.graph import geodesics_loops as kernels

    looks, search = [], kernels.search

    def counted(*given):
        looks.append(search(*given))
        return looks[-1]

    monkeypatch.setattr(kernels, "search", counted)
    return looks


def test_one_look_at_a_point_serves_its_lanes(monkeypatch):
    """The order of the search is what makes it fast: about one look at each point, for all sources and for few."""
    looks = looks_of(monkeypatch)
    graph = neighbors(swiss_roll(4000)[0], 10)
    geodesics(graph, np.arange(4000))
    assert np.mean(looks) / 4000 < 1.1
    looks.clear()
    geodesics(graph, np.random.default_rng(0).permutation(4000)[:400])
    assert np.mean(looks) / 4000 < 1.6


@pytest.mark.parametrize("far", [1e12, 1e16, 1e18])
def test_one_long_edge_does_not_disturb_the_order(far, monkeypatch):
    """A length beside which all others vanish in rounding must not enter the keys of the search."""
    looks, X = looks_of(monkeypatch), swiss_roll(1500)[0]
    sheet = neighbors(X, 8)
    graph = Graph(np.append(sheet.indptr, sheet.indptr[-1]), sheet.indices, sheet.distances)
    graph = graph.linked(np.array([3]), np.array([1500]), np.array([far])).symmetric()
    sources = np.arange(0, 1500, 40)
    geodesics(sheet, sources)
    plain = np.mean(looks)
    looks.clear()
    np.testing.assert_array_equal(geodesics(graph, sources), peer(graph, sources))
    assert np.mean(looks) < plain + 16
    assert min(looks) > 0


def test_lengths_of_many_orders_of_magnitude(monkeypatch, rng):
    looks, side = looks_of(monkeypatch), 40
    number = np.arange(side * side).reshape(side, side)
    a = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    b = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    empty = Graph(np.zeros(side * side + 1, np.int64), np.empty(0, np.int32), np.empty(0))
    graph = empty.linked(a, b, np.exp(9 * rng.standard_normal(len(a)))).symmetric()
    sources = rng.permutation(graph.n)[:LANES]
    np.testing.assert_array_equal(geodesics(graph, sources), peer(graph, sources))
    assert 0 < looks[0] < 16 * graph.n


def test_where_the_order_fails_each_source_goes_by_itself(monkeypatch, rng):
    """A line and random detours of twice its length: what comes first by them is bettered over and over."""
    from lowland.graph import geodesics_loops as kernels

    looks, n = looks_of(monkeypatch), 400
    line, (i, j) = np.arange(n - 1), rng.integers(0, n, (2, 3 * n))
    i, j = i[i != j], j[i != j]
    lengths = np.concatenate([rng.exponential(size=n - 1), 2 * np.abs(i - j) * rng.uniform(0.5, 1.5, len(i))])
    empty = Graph(np.zeros(n + 1, np.int64), np.empty(0, np.int32), np.empty(0))
    graph = empty.linked(np.append(line, i), np.append(line + 1, j), lengths).symmetric()
    sources = np.linspace(0, n - 1, LANES).astype(int)
    np.testing.assert_array_equal(geodesics(graph, sources), peer(graph, sources))
    assert looks == [-kernels.MOST * n], "this graph no longer needs the way out: take another"


def test_too_many_edges_for_their_numbers_are_refused():
    np.testing.assert_array_equal(module._short(np.array([0, 2**31 - 1])), [0, 2**31 - 1])
    with pytest.raises(lowland.DataError, match="2,147,483,648"):
        module._short(np.array([0, 2**31]))


def test_cancel():
    graph = neighbors(swiss_roll(500)[0], 8)
    calls = []

    def stop(stage, done, total):
        calls.append((stage, done, total))
        return False

    with lowland.config(progress=stop), pytest.raises(lowland.Cancelled, match="paths"):
        geodesics(graph, np.arange(500), stage="paths")
    assert calls == [("paths", 1, -(-500 // LANES))]


def test_bad_requests(rng):
    graph = neighbors(rng.standard_normal((30, 2)), 4)
    with pytest.raises(lowland.DataError, match="numbers of the 30 points"):
        geodesics(graph, [30])
    with pytest.raises(ValueError, match="float64 or float32"):
        geodesics(graph, [0], dtype=np.int32)
    minus = Graph(graph.indptr, graph.indices, -graph.distances)
    with pytest.raises(lowland.DataError, match="zero or more"):
        geodesics(minus, [0])
    with lowland.config(memory_limit="1kB"), pytest.raises(lowland.MemoryLimitError, match="geodesic distances"):
        geodesics(graph, np.arange(30))


def test_cost_counts_the_result():
    parts, seconds = geodesic_cost(10_000, 10, 10_000)
    assert parts["geodesic distances"] == 8 * 10_000**2
    assert 0.1 < seconds < 60
    assert geodesic_cost(10_000, 10, 500, 4)[0]["geodesic distances"] == 4 * 500 * 10_000


def test_lanes_are_those_of_the_kernels():
    from lowland.graph import geodesics_loops

    assert geodesics_loops.LANES == module.LANES
