"""Searches against brute force: every kind of data, ties, duplicates, large means; one row or many, any threads."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist, squareform

import lowland
from lowland.graph import blocked, measures, neighbors
from lowland.graph.blocked import BlockSearcher
from lowland.graph.measures import measure
from lowland.graph.neighbors import distinct, neighbor_graph, searcher
from lowland.graph.search import Searcher
from lowland.graph.trees import TreeSearcher


def exact(A, X):
    """Distances from differences in float64, added up column by column: the bits that every search gives."""
    total = np.zeros((len(A), len(X)))
    for c in range(A.shape[1]):
        total += (A[:, c, None].astype(float) - X[:, c].astype(float)) ** 2
    return np.sqrt(total)


def nearest(D, k, itself=False):
    """The k nearest of each row of a matrix, ties by number."""
    D = D.copy()
    if not itself:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def all_ties(D, k):
    """Row, number and distance of all as far as the k-th, in order."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    kth = np.sort(D, axis=1)[:, k - 1 : k]
    i, j = np.nonzero(kth >= D)
    order = np.lexsort((j, D[i, j], i))
    return i[order], j[order], D[i, j][order]


def edges(graph):
    return np.repeat(np.arange(graph.n), graph.degrees), graph.indices, graph.distances


def assert_lists(graph, k, D):
    indices, distances = nearest(D, k)
    np.testing.assert_array_equal(graph.indices.reshape(-1, k), indices)
    np.testing.assert_array_equal(graph.distances.reshape(-1, k), distances)


def grid(rng, D=3, side=7):
    points = np.stack(np.meshgrid(*[np.arange(float(side))] * D), axis=-1).reshape(-1, D)
    return rng.permutation(points)


TABLES = {
    "random": lambda rng: rng.standard_normal((700, 5)),
    "grid": grid,
    "wide": lambda rng: rng.standard_normal((500, 40)),
    "bits": lambda rng: np.unique((rng.random((400, 24)) < 0.2).astype(float), axis=0),
    "large mean, float32": lambda rng: (rng.standard_normal((400, 30)) + 1e5).astype(np.float32),
    "large mean": lambda rng: rng.standard_normal((400, 30)) + 1e8,
    "tight pairs": lambda rng: np.repeat(rng.standard_normal((200, 20)), 3, axis=0) + 1e-7 * rng.random((600, 20)),
    "outliers": lambda rng: np.concatenate([rng.standard_normal((400, 20)), 1e7 * rng.standard_normal((5, 20))]),
    "tiny": lambda rng: 1e-150 * rng.standard_normal((300, 20)),
    "integers": lambda rng: rng.permutation(2000).reshape(200, 10),
    "one column": lambda rng: rng.permutation(300)[:, None].astype(float),
}


@pytest.fixture(params=["tree", "plain", "compiled"])
def kind(request, monkeypatch):
    """Each search of Euclidean rows, whatever the data would be given."""
    if request.param == "compiled":
        monkeypatch.setattr(blocked, "_PLAIN", 0)
        monkeypatch.setattr(blocked, "_TILE", 128)
        monkeypatch.setattr(measures, "_COMPILED", 0)
    return {"tree": TreeSearcher, "plain": Searcher, "compiled": BlockSearcher}[request.param]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("k", [1, 10, 150])
def test_graph_is_that_of_brute_force(kind, table, k, rng):
    X = TABLES[table](rng)
    assert_lists(kind(measure("euclidean", X, None)).graph(k), k, exact(X, X))


@pytest.mark.parametrize("table", TABLES)
def test_all_ties_can_be_kept(kind, table, rng):
    X = TABLES[table](rng)
    graph = kind(measure("euclidean", X, None)).graph(8, ties="keep")
    want = all_ties(exact(X, X), 8)
    for got, expected in zip(edges(graph), want, strict=True):
        np.testing.assert_array_equal(got, expected)
    if table in ("grid", "bits"):
        assert graph.degrees.max() > 8


@pytest.mark.parametrize("table", TABLES)
def test_new_rows_one_or_many(kind, table, rng):
    X = TABLES[table](rng)
    new = np.concatenate([X[:30], X[30:60] + 0.5 * X[:30].std(axis=0).astype(X.dtype), 100 * X[:2]]).astype(X.dtype)
    search = kind(measure("euclidean", X, None))
    indices, distances = search.query(new, 6)
    want = nearest(exact(new, X), 6, itself=True)
    np.testing.assert_array_equal(indices, want[0])
    np.testing.assert_array_equal(distances, want[1])
    for row in (0, 31, len(new) - 1):
        one = search.query(new[row : row + 1], 6)
        np.testing.assert_array_equal(one[0][0], indices[row])
        np.testing.assert_array_equal(one[1][0], distances[row])
    assert search.query(new[:0], 6)[0].shape == (0, 6)


@pytest.mark.parametrize("table", ["random", "grid", "wide", "bits"])
def test_radius(kind, table, rng):
    X = TABLES[table](rng)
    D = exact(X, X)
    np.fill_diagonal(D, np.inf)
    r = float(np.sort(D, axis=1)[:, 4].max())
    i, j = np.nonzero(r >= D)
    order = np.lexsort((j, D[i, j], i))
    graph = kind(measure("euclidean", X, None)).radius(r)
    for got, want in zip(edges(graph), (i[order], j[order], D[i, j][order]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_any_number_of_threads_gives_the_same_bits(kind, rng):
    X = rng.standard_normal((3000, 18)).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            search = kind(measure("euclidean", X, None))
            found.append((search.graph(9), search.query(X[:700] + 1, 4)))
    for graph, answer in found[1:]:
        np.testing.assert_array_equal(graph.indices, found[0][0].indices)
        np.testing.assert_array_equal(graph.distances, found[0][0].distances)
        for got, want in zip(answer, found[0][1], strict=True):
            np.testing.assert_array_equal(got, want)


def test_large_tables_are_searched_in_float32_and_checked_in_float64(rng):
    X = rng.standard_normal((3000, 40)).astype(np.float32)
    search = searcher("euclidean", X)
    assert isinstance(search, BlockSearcher)
    assert_lists(search.graph(15), 15, exact(X, X))
    indices, distances = search.query(X[:900] + 0.1, 15)
    want = nearest(exact(X[:900] + np.float32(0.1), X), 15, itself=True)
    np.testing.assert_array_equal(indices, want[0])
    np.testing.assert_array_equal(distances, want[1])


def test_lists_that_float32_cannot_tell_are_not_certified(rng):
    """Points 1e-5 apart beside norms of 1: float32 products see nothing of it, and must not claim otherwise."""
    X = np.repeat(rng.standard_normal((3, 20)), 700, axis=0) + 1e-5 * rng.standard_normal((2100, 20))
    search = BlockSearcher(measure("euclidean", X, None))
    search._prepare()
    table = search._table(blocked.SINGLE)
    sure = search._refined(X[search.order], table.sizes, search._meet(table, 18), 10, None).sure
    assert not sure.any()
    assert_lists(search.graph(10), 10, exact(X, X))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_certified_lists_are_right_and_most_lists_are_certified(precision, rng):
    X = rng.standard_normal((3000, 50))
    search = BlockSearcher(measure("euclidean", X, None))
    search._prepare()
    table = search._table(np.dtype(precision))
    indices, _, sure = search._refined(X[search.order], table.sizes, search._meet(table, 18), 10, None)
    assert sure.mean() > 0.99
    want = nearest(exact(X, X), 10)[0][search.order]
    np.testing.assert_array_equal(indices[sure, :10], want[sure])


def clusters(rng, count, size, columns=20, spread=1e-4):
    centers = 1e3 * rng.standard_normal((count, columns))
    return rng.permutation(np.repeat(centers, size, axis=0) + spread * rng.standard_normal((count * size, columns)))


@pytest.mark.parametrize("ties", ["cut", "keep"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("spread", [1e-4, 1e-8])
def test_clusters_far_apart_are_searched_one_by_one(spread, metric, ties, rng, monkeypatch):
    monkeypatch.setattr(blocked, "_PLAIN", 0)
    apart, sizes = BlockSearcher._apart, []

    def seen(self, groups, k, ties):
        sizes.append(sorted(len(group) for group in groups))
        return apart(self, groups, k, ties)

    monkeypatch.setattr(BlockSearcher, "_apart", seen)
    X = np.concatenate([clusters(rng, 6, 250, spread=spread), 1e3 * rng.standard_normal((2, 20))])
    graph = BlockSearcher(measure(metric, X, None)).graph(10, ties)
    assert sizes[0] == [1, 1, *[250] * 6]
    plain = Searcher(measure(metric, X, None)).graph(10, ties)
    for got, want in zip(edges(graph), edges(plain), strict=True):
        np.testing.assert_array_equal(got, want)


def test_points_without_clusters_are_not_split(rng):
    search = BlockSearcher(measure("euclidean", rng.standard_normal((3000, 20)), None))
    search._prepare()
    assert len(blocked.split(search._table(blocked.SINGLE).rows, 10)) == 1


def test_no_neighbour_of_a_split_lies_outside(rng):
    """Clusters at random distances: whatever is split, the lists stay inside, and near clusters stay together."""
    X = np.concatenate([10.0**s + 10.0 ** (s - 2) * rng.standard_normal((300, 20)) for s in (0, 1, 1.02, 2, 3)])
    search = BlockSearcher(measure("euclidean", X, None))
    search._prepare()
    groups = [search.order[g] for g in blocked.split(search._table(blocked.SINGLE).rows, 10)]
    assert len(groups) > 1
    inside = nearest(exact(X, X), 10)[0]
    for group in groups:
        assert np.isin(inside[group], group).all()


def test_many_rows_that_float32_leaves_open_are_searched_in_float64(rng, monkeypatch):
    """A dense spot in a cloud: the cloud is certified in float32, the spot in float64 without comparing all pairs."""
    compared = []
    compare = type(measure("euclidean", np.eye(3), None)).compare
    X = np.concatenate([rng.standard_normal((2600, 20)), 2 + 1e-4 * rng.standard_normal((500, 20))])
    search = BlockSearcher(measure("euclidean", X, None))
    monkeypatch.setattr(
        type(search.measure), "compare", lambda m, rows: compared.append(len(rows.rows)) or compare(m, rows)
    )
    graph = search.graph(10)
    assert not compared
    assert set(search._tables) == {blocked.SINGLE, blocked.DOUBLE}
    assert_lists(graph, 10, exact(X, X))
    monkeypatch.setattr(blocked, "_PLAIN", 0)
    indices, distances = search.query(X[2400:] + 1e-6, 10)
    assert not compared
    want = nearest(exact(X[2400:] + 1e-6, X), 10, itself=True)
    np.testing.assert_array_equal(indices, want[0])
    np.testing.assert_array_equal(distances, want[1])


def test_rows_that_all_fail_and_do_not_split_are_searched_in_float64(rng):
    """Scales from 1e-8 to 1 without a gap."""
    X = 10 ** np.linspace(-8, 0, 3000)[:, None] * (1 + 1e-3 * rng.standard_normal((3000, 20)))
    search = BlockSearcher(measure("euclidean", X, None))
    assert_lists(search.graph(10), 10, exact(X, X))
    assert set(search._tables) == {blocked.DOUBLE}


@pytest.mark.parametrize("columns", [3, 12, 30])
def test_no_order_of_the_rows_matters(columns, rng):
    X = np.sort(rng.random((2500, 1)), axis=0) @ np.ones((1, columns)) + 1e-3 * rng.random((2500, columns))
    assert_lists(searcher("euclidean", X).graph(5), 5, exact(X, X))


def test_the_tree_is_for_few_true_dimensions(rng):
    flat = rng.random((20_000, 2)) @ rng.standard_normal((2, 12))
    assert searcher("euclidean", flat).algorithm == "KD-tree"
    assert searcher("euclidean", rng.standard_normal((20_000, 12))).algorithm == "blocked"
    assert searcher("euclidean", rng.standard_normal((2000, 3))).algorithm == "KD-tree"


def test_many_ties_take_no_quadratic_work(rng, monkeypatch):
    asked = []
    search = TreeSearcher(measure("euclidean", grid(rng, 2, 200), None))
    candidates = TreeSearcher._candidates

    def counted(self, rows, own, m):
        asked.append(len(rows) * m)
        return candidates(self, rows, own, m)

    monkeypatch.setattr(TreeSearcher, "_candidates", counted)
    assert (search.graph(6, ties="keep").degrees <= 9).all()
    assert sum(asked) < 40 * 40_000


def test_new_rows_of_another_precision_or_very_far_off(kind, rng):
    X = rng.standard_normal((400, 20)).astype(np.float32)
    search = kind(measure("euclidean", X, None))
    new = np.concatenate([rng.standard_normal((40, 20)), 1e12 * rng.standard_normal((2, 20)), np.full((1, 20), 1e60)])
    want = nearest(exact(new, X), 5, itself=True)
    indices, distances = search.query(new, 5)
    np.testing.assert_array_equal(indices, want[0])
    np.testing.assert_array_equal(distances, want[1])


def test_functions_that_are_no_metric():
    with pytest.raises(lowland.DataError, match="neighbor_graph: the metric function is negative"):
        neighbor_graph(np.arange(9.0)[:, None], 2, metric=lambda a, b: float(a[0] - b[0]))


# -- other metrics ----------------------------------------------------------------------------------------


METRICS = ["sqeuclidean", "cosine", "correlation", "cityblock", "chebyshev", "seuclidean", "braycurtis", "hamming"]


@pytest.mark.parametrize("columns", [6, 30])
@pytest.mark.parametrize("name", METRICS)
def test_other_metrics(name, columns, rng):
    X = rng.standard_normal((300, columns))
    X = np.round(X) if name == "hamming" else X
    options = {"V": X.var(axis=0, ddof=1)} if name == "seuclidean" else {}
    D = cdist(X, X, name, **options)
    graph = neighbor_graph(X, 7, metric=name)
    indices, distances = nearest(D, 7)
    np.testing.assert_allclose(graph.distances.reshape(-1, 7), distances, rtol=1e-12, atol=1e-15)
    if name != "hamming":
        np.testing.assert_array_equal(graph.indices.reshape(-1, 7), indices)
    search = searcher(name, X)
    many, one = search.query(X[:20] + 0.1, 3), search.query(X[4:5] + 0.1, 3)
    np.testing.assert_array_equal(many[0][4:5], one[0])
    np.testing.assert_array_equal(many[1][4:5], one[1])
    r = float(np.sort(D, axis=1)[:, 3].max()) * (1 + 1e-9)
    np.testing.assert_array_equal(neighbor_graph(X, radius=r, metric=name).degrees, (r >= D).sum(axis=1) - 1)


def test_integers_far_apart_tie_exactly_in_other_metrics(rng):
    X = rng.integers(0, 4, (200, 3)).astype(float)
    X = X[distinct(X).first]
    assert_lists(neighbor_graph(X, 9, metric="cityblock"), 9, cdist(X, X, "cityblock"))


def test_functions_and_objects():
    words = ["lamb", "lamp", "camp", "cramp", "clam", "ram", "rum", "drum", "lamb"]

    def apart(a, b):
        return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b, strict=False))

    D = np.array([[float(apart(a, b)) for b in words] for a in words])
    assert_lists(neighbor_graph(words, 3, metric=apart), 3, D)
    objects = np.array(words, dtype=object)
    indices, distances = searcher(apart, objects).query(objects[3:4], 2)
    assert (indices[0, 0], distances[0, 0]) == (3, 0)


def test_a_function_of_blocks_is_asked_row_by_row(rng):
    X = rng.standard_normal((150, 4))
    sizes = []

    def blocks(A, B):
        sizes.append(len(A))
        return cdist(A, B)

    search = searcher(blocks, X)
    sizes.clear()
    assert_lists(search.graph(5), 5, cdist(X, X))
    search.query(X[:10], 3)
    assert set(sizes) == {1}


# -- sparse rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["euclidean", "cosine", "sqeuclidean"])
def test_sparse_rows(name, rng):
    X = sp.random_array((250, 90), density=0.08, rng=rng, format="csr")
    X = X[np.diff(X.indptr) > 0]
    dense = X.toarray()
    D = cdist(dense, dense, name)
    graph = neighbor_graph(X, 6, metric=name)
    np.testing.assert_allclose(graph.distances.reshape(-1, 6), nearest(D, 6)[1], rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(graph.indices.reshape(-1, 6)[:, 0], nearest(D, 1)[0][:, 0])
    search = searcher(name, X)
    many, one = search.query(X[:9], 4), search.query(X[5:6], 4)
    np.testing.assert_array_equal(many[0][5:6], one[0])
    np.testing.assert_array_equal(many[1][5:6], one[1])
    np.testing.assert_array_equal(many[0][:, 0], np.arange(9))


def test_sparse_ties_are_exact(rng):
    X = sp.csr_array(np.unique((rng.random((150, 30)) < 0.1).astype(float), axis=0))
    D = exact(X.toarray(), X.toarray())
    assert_lists(neighbor_graph(X, 5), 5, D)


@pytest.mark.parametrize("spec", ["chebyshev", lambda a, b: 0.0], ids=["chebyshev", "function"])
def test_sparse_rows_take_few_metrics(spec):
    with pytest.raises(lowland.DataError, match=r"sparse rows support the metrics 'euclidean'.*toarray"):
        neighbor_graph(sp.eye_array(9).tocsr(), 2, metric=spec)


def test_sparse_rows_have_the_city_block_neighbors_of_dense_rows(rng):
    X = np.round(rng.random((90, 30)) * (rng.random((90, 30)) < 0.2) * 8) / 8  # sums are exact, and many are tied
    sparse, dense = (neighbor_graph(rows, 6, metric="cityblock") for rows in (sp.csr_array(X), X))
    np.testing.assert_array_equal(sparse.indices, dense.indices)
    np.testing.assert_array_equal(sparse.distances, dense.distances)


def test_a_sparse_row_of_zeros_has_no_angle():
    with pytest.raises(lowland.DataError, match="row that is zero"):
        neighbor_graph(sp.csr_array(np.diag([1.0, 2.0, 0.0, 3.0])), 2, metric="cosine")


# -- given distances --------------------------------------------------------------------------------------


def test_a_square_of_distances(rng):
    X = rng.integers(0, 6, (120, 2)).astype(float)
    D = exact(X, X)
    assert_lists(neighbor_graph(D, 6, metric="precomputed"), 6, D)
    points = searcher("precomputed", D)
    indices, distances = points.query(D[:4] + 1, 3)
    want = nearest(D[:4] + 1, 3, itself=True)
    np.testing.assert_array_equal(indices, want[0])
    np.testing.assert_array_equal(distances, want[1])
    with pytest.raises(lowland.DataError, match=r"120 objects.*got 7"):
        points.query(D[:2, :7], 3)
    with pytest.raises(lowland.DataError, match="negative or not a number: -1 at row 1"):
        points.query(D[:2] * [[1], [0]] - [[0], [1]], 3)


def square(entries, n=5):
    """A symmetric sparse square of the given distances, zeros stored."""
    i, j, d = (np.array(x) for x in zip(*entries, strict=True))
    return sp.coo_array((np.r_[d, d], (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()


RING = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 0.0), (3, 4, 1.0), (4, 0, 5.0)]


def test_stored_distances_are_the_known_ones():
    search = searcher("precomputed", square(RING))
    graph = search.graph(1)
    assert graph.indices.tolist() == [1, 0, 3, 2, 3]
    assert graph.distances.tolist() == [1, 1, 0, 0, 1]
    assert search.graph(4).degrees.tolist() == [2] * 5
    assert search.radius(1.5).degrees.tolist() == [1, 1, 1, 2, 1]
    indices, distances = search.query(sp.csr_array(np.array([[0.0, 3.0, 2.0, 0.0, 0.0]])), 2)
    assert (indices.tolist(), distances.tolist()) == ([[2, 1]], [[2, 3]])
    with pytest.raises(lowland.DataError, match="row 0 of its block has 2 known distances, fewer than 3"):
        search.query(sp.csr_array(np.array([[0.0, 3.0, 2.0, 0.0, 0.0]])), 3)


def test_objects_at_a_stored_zero_keep_the_distances_that_each_knows():
    graph = neighbor_graph(square(RING), 1, metric="precomputed")
    assert graph.indices.tolist() == [1, 0, 3, 2, 3]
    assert graph.distances.tolist() == [1, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D[:4], "must be a square distance matrix; this one is 4 × 5"),
        (lambda D: D + sp.csr_array(([3.0], ([0], [1])), shape=(5, 5)), r"not symmetric: 4 at row 0, column 1, and 1"),
        (lambda D: -D, r"is negative: -1 at row 0, column 1"),
        (lambda D: D * np.nan, r"is not a number: nan at row 0"),
        (lambda D: square([(0, 1, 1.0), (3, 4, 1.0)]), r"row 2 has no stored distance to any other \(1 such rows\)"),
    ],
    ids=["not square", "asymmetric", "negative", "nan", "isolated"],
)
def test_what_is_no_sparse_square_of_distances(change, message):
    with pytest.raises(lowland.DataError, match=message):
        searcher("precomputed", change(square(RING)))


def test_distances_stored_in_one_direction_hold_in_both():
    one_way = sp.triu(square(RING), format="csr")
    graph, both = (neighbor_graph(D, 4, metric="precomputed") for D in (one_way, square(RING)))
    assert all((getattr(graph, name) == getattr(both, name)).all() for name in ("indptr", "indices", "distances"))


def test_rounding_of_squared_distances_is_no_asymmetry():
    D = square([(0, 1, 1.0), (1, 2, 1000.0), (0, 2, 1000.0)])[:3, :3]
    for value, accepted in ((1.00001, True), (1.1, False)):
        D[0, 1] = value
        if accepted:
            assert neighbor_graph(D, 1, metric="precomputed").distances.tolist() == [1, 1, 1000]
        else:
            with pytest.raises(lowland.DataError, match=r"not symmetric: 1.1 at row 0, column 1, and 1 .*maximum"):
                neighbor_graph(D, 1, metric="precomputed")


def test_a_dense_square_is_checked():
    D = exact(np.arange(6.0)[:, None], np.arange(6.0)[:, None])
    D[1, 2] = -1
    with pytest.raises(lowland.DataError, match="negative"):
        neighbor_graph(D, 2, metric="precomputed")


# -- equal rows -------------------------------------------------------------------------------------------


def test_distinct_rows(rng):
    X = rng.integers(0, 3, (500, 3)).astype(float)
    X[X == 0] *= rng.choice([-1.0, 1.0], (X == 0).sum())  # −0 is 0
    same = distinct(X)
    np.testing.assert_array_equal(X[same.first][same.inverse], X)
    assert len(same.first) == len(np.unique(X, axis=0))
    assert (np.diff(same.first) > 0).all()
    assert all((X[: same.first[p]] != X[same.first[p]]).any(axis=1).all() for p in range(len(same.first)))
    for other in (distinct(X.astype(np.float32)), distinct(sp.csr_array(X)), distinct(X.astype(int))):
        np.testing.assert_array_equal(other.inverse, same.inverse)
        np.testing.assert_array_equal(other.first, same.first)


def test_distinct_objects_and_squares():
    assert distinct(np.array(["b", "a", "b"], dtype=object)).inverse.tolist() == [0, 1, 0]
    unhashable = np.empty(2, dtype=object)
    unhashable[:] = [[1], [1]]
    assert distinct(unhashable).inverse.tolist() == [0, 1]
    D = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)
    assert distinct(D, square=True).first.tolist() == [0, 1]
    assert distinct(square(RING), square=True).inverse.tolist() == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("columns", [2, 20])
@pytest.mark.parametrize("k", [1, 4, 30])
def test_equal_rows_are_neighbours_at_distance_zero(columns, k, rng):
    few = rng.standard_normal((30, columns))
    X = few[np.minimum(rng.geometric(0.25, 300) - 1, 29)]  # a few rows make up most of them
    D = exact(X, X)
    assert_lists(neighbor_graph(X, k), k, D)
    for got, want in zip(edges(neighbor_graph(X, k, ties="keep")), all_ties(D, k), strict=True):
        np.testing.assert_array_equal(got, want)
    r = float(np.sort(D, axis=1)[:, 100].max())
    np.testing.assert_array_equal(neighbor_graph(X, radius=r).degrees, (r >= D).sum(axis=1) - 1)


def test_all_rows_equal():
    assert_lists(neighbor_graph(np.ones((6, 3)), 2), 2, np.zeros((6, 6)))


def test_many_equal_rows_take_no_quadratic_work(rng):
    X = rng.integers(0, 9, (60_000, 2)).astype(float)
    graph = neighbor_graph(X, 5)
    assert (graph.distances == 0).all()
    assert (graph.degrees == 5).all()
    assert (X[graph.indices] == np.repeat(X, 5, axis=0)).all()


@pytest.mark.parametrize("name", ["seuclidean", "mahalanobis"])
def test_a_metric_learns_from_all_rows_also_from_equal_ones(name, rng):
    X = rng.standard_normal((50, 3))
    X = np.concatenate([X, np.repeat(5 * X[:1], 200, axis=0)])
    i, j, d = edges(neighbor_graph(X, 3, metric=name))
    np.testing.assert_allclose(d, squareform(pdist(X, name))[i, j], rtol=1e-9, atol=1e-12)


def multiples(rng, n, columns, directions=4):
    """Rows of a few directions, each of its own length."""
    which = rng.integers(directions, size=n)
    return rng.standard_normal((directions, columns))[which] * rng.uniform(0.1, 10, (n, 1)), which


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, form) for name in ("cosine", "correlation") for form in ("tree", "plain", "compiled")]
    + [("cosine", "sparse")],
)
def test_rows_of_one_direction_are_at_distance_zero(form, name, rng, monkeypatch):
    X, which = multiples(rng, 400, 5, directions=40)
    if form == "sparse":
        search = searcher(name, sp.csr_array(X))
    else:
        monkeypatch.setattr(blocked, "_PLAIN", 0)
        search = {"tree": TreeSearcher, "plain": Searcher, "compiled": BlockSearcher}[form](measure(name, X, None))
    same = which[:, None] == which
    assert np.bincount(which).max() > 12
    for ties in ("cut", "keep"):
        i, j, d = edges(search.graph(12, ties))
        np.testing.assert_array_equal(d == 0, same[i, j])
    i, j, _ = edges(search.radius(1e-20))
    np.testing.assert_array_equal(np.bincount(i, minlength=400), same.sum(axis=1) - 1)
    indices, distances = search.query(search_block(3.7 * X, form), 3)
    np.testing.assert_array_equal(distances == 0, same[np.arange(400)[:, None], indices])
    first = [np.flatnonzero(row)[:3] for row in same]  # of equal distances the lowest numbers
    for row, want in zip(indices, first, strict=True):
        np.testing.assert_array_equal(row[: len(want)], want)


def search_block(X, form):
    return sp.csr_array(X) if form == "sparse" else X


def counted_candidates(monkeypatch):
    """What the tree is asked for: the numbers of candidates, and those compared with all points."""
    asked, candidates = [], TreeSearcher._candidates

    def counted(self, rows, own, m):
        asked.append(len(rows) * m)
        return candidates(self, rows, own, m)

    monkeypatch.setattr(TreeSearcher, "_candidates", counted)
    return asked


def test_rows_of_few_directions_take_no_quadratic_work(rng, monkeypatch):
    asked = counted_candidates(monkeypatch)
    axes = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [3, 4], [4, 3]])
    X = axes[rng.integers(6, size=20_000)] * rng.integers(1, 100, (20_000, 1))
    graph = neighbor_graph(X, 10, metric="cosine")
    assert (graph.distances == 0).all()
    assert sum(asked) < 20_000


def test_rows_with_many_ties_are_held_a_few_at_a_time(rng, monkeypatch):
    """A quarter of all points tie in each list: what is asked for at once must not grow with the square of them."""
    asked = counted_candidates(monkeypatch)
    n, k = 4000, 10
    X, which = multiples(rng, n, 3)
    search = TreeSearcher(measure("cosine", X, None))
    graph = search.graph(k)
    assert sum(asked) < n * n / 8
    assert (graph.distances == 0).all()
    lists = graph.indices.reshape(n, k)
    for c in range(4):
        mine = np.flatnonzero(which == c)
        for row in mine[[0, 5, -1]]:
            np.testing.assert_array_equal(lists[row], mine[mine != row][:k])


@pytest.mark.parametrize(("kind", "most"), [(TreeSearcher, 3e7), (Searcher, 4e8)])
def test_a_radius_that_reaches_too_many_points_is_refused_before(kind, most, rng):
    """36 million edges would take over a gigabyte; the tree counts them, the plain search stops on its way."""
    search = kind(measure("euclidean", rng.random((6000, 3)), None))
    assert traced_peak(lambda: search.radius(5.0)) < most
    assert len(search.radius(0.1).indices) > 6000


@pytest.mark.parametrize("form", ["square", "tree", "compiled"])
def test_ties_that_take_too_much_memory_are_refused(form, monkeypatch):
    n = 2500
    if form == "square":
        search = searcher("precomputed", np.ones((n, n)) - np.eye(n))
    else:  # two tight heaps: every point of the other one is as far
        angle = np.arange(n) % 2
        X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n)]) * np.linspace(1, 2, n)[:, None]
        monkeypatch.setattr(blocked, "_PLAIN", 0)
        search = {"tree": TreeSearcher, "compiled": BlockSearcher}[form](measure("cosine", X, None))
    with lowland.config(memory_limit="60MB"), pytest.raises(lowland.MemoryLimitError, match="ties='cut'"):
        search.graph(5, ties="keep")
    assert len(search.graph(5).indices) == 5 * n


def traced_peak(work):
    """The most memory that refused work held."""
    tracemalloc.start()
    try:
        with lowland.config(memory_limit="100MB"), pytest.raises(lowland.MemoryLimitError, match="smaller radius"):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- bad input, progress ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (20, r"n_neighbors=20 must be less than the number of rows, 20.*use n_neighbors=10"),
        (0, "whole number of at least 1; it is 0"),
        (-3, "whole number of at least 1; it is -3"),
        (2.5, "whole number of at least 1; it is 2.5"),
        (True, "whole number of at least 1; it is True"),
    ],
)
def test_numbers_of_neighbours_that_make_no_sense(k, message, rng):
    with pytest.raises(lowland.DataError, match=message):
        neighbor_graph(rng.standard_normal((20, 2)), k)


def test_a_radius_that_leaves_rows_alone():
    X = np.array([[0.0], [1.0], [10.0], [20.0]])
    with pytest.raises(lowland.DataError, match=r"too small: 2 of 4 rows.*\(rows 2, 3\).*larger radius") as error:
        neighbor_graph(X, radius=2.0)
    assert error.value.row == 2
    with pytest.raises(lowland.DataError, match="positive number"):
        neighbor_graph(X, radius=0.0)


@pytest.mark.parametrize("columns", [2, 20])
def test_missing_values_are_named(columns, rng):
    X = rng.standard_normal((30, columns))
    X[7, 1] = np.nan
    with pytest.raises(lowland.DataError, match="NaN at row 7, column 1"):
        neighbor_graph(X, 3)
    with pytest.raises(lowland.DataError, match="NaN at row 7, column 1"):
        searcher("euclidean", X)


def test_squares_that_overflow(rng):
    with pytest.raises(lowland.DataError, match="overflow"):
        neighbor_graph(1e170 * rng.standard_normal((30, 20)), 3)


@pytest.mark.parametrize("scale", [1e-158, 1e-170, 1e-300])
@pytest.mark.parametrize("columns", [3, 20])
def test_squares_that_underflow(scale, columns, rng):
    with pytest.raises(lowland.DataError, match=r"underflow.*multiply"):
        neighbor_graph(scale * rng.standard_normal((30, columns)), 3)
    assert (neighbor_graph(np.full((30, columns), scale), 3).distances == 0).all()


def test_ties_must_be_named(rng):
    with pytest.raises(ValueError, match="'cut' or 'keep'"):
        neighbor_graph(rng.standard_normal((30, 2)), 3, ties="all")


def test_objects_need_a_function():
    with pytest.raises(lowland.DataError, match="metric function"):
        neighbor_graph(["a", "b", "c"], 1)


@pytest.mark.parametrize("columns", [3, 30])
def test_searches_tell_their_progress_and_can_be_cancelled(columns, rng):
    X = rng.standard_normal((20_000, columns))
    heard = []
    with lowland.config(progress=lambda *said: heard.append(said)):
        neighbor_graph(X, 3)
    assert {stage for stage, _, _ in heard} == {"neighbours"}
    assert heard[-1][1] == heard[-1][2]
    with lowland.config(progress=lambda *said: False), pytest.raises(lowland.Cancelled):
        neighbor_graph(X, 3)


def test_the_cost_of_a_search_is_known_before(rng):
    from lowland.core.cost import DataShape

    for columns, metric in ((3, "euclidean"), (30, "euclidean"), (30, "cityblock"), (1000, "precomputed")):
        small = neighbors.search_cost(DataShape(1000, columns, np.dtype(np.float64)), 10, metric)
        large = neighbors.search_cost(DataShape(100_000, columns, np.dtype(np.float64)), 10, metric)
        assert large[1] > 50 * small[1] > 0
        assert sum(large[0].values()) > sum(small[0].values())


@pytest.mark.slow
def test_very_many_rows_are_searched_approximately_with_measured_recall(rng, monkeypatch):
    X = (rng.standard_normal((20_000, 6)) @ rng.standard_normal((6, 24))).astype(np.float32)
    want = searcher("euclidean", X).graph(10)
    monkeypatch.setattr(neighbors, "APPROXIMATE", 1e9)
    first, again = (neighbor_graph(X, 10, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.indices, again.indices)
    assert first.algorithm == "nearest neighbour descent"
    true = (first.distances.reshape(-1, 10) <= want.distances.reshape(-1, 10)[:, -1:]).mean()
    assert first.recall == pytest.approx(true, abs=0.01)
    assert first.recall > 0.98
    new = searcher("euclidean", X).query(X[:5] + 1, 4)
    np.testing.assert_array_equal(new[0], nearest(exact(X[:5] + np.float32(1), X), 4, itself=True)[0])


def test_scaled_columns_are_searched_as_euclidean_ones(rng):
    """The standardised Euclidean distance is that of columns divided by their standard deviations."""
    X = rng.normal(size=(2000, 20)) * np.logspace(-3, 3, 20)
    found, plain = neighbor_graph(X, 7, metric="seuclidean"), neighbor_graph(X / X.std(axis=0, ddof=1), 7)
    assert found.algorithm == plain.algorithm
    assert np.array_equal(found.indices, plain.indices)
    assert np.allclose(found.distances, plain.distances, rtol=1e-12)
