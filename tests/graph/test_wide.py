"""Few rows of very many columns: neighbours, patches and their cost. Work and memory are counted, never timed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from counting import lines_run
from lowland.core.cost import DataShape
from lowland.core.spmm import outer
from lowland.graph import blocked, measures, neighbor_graph, scores
from lowland.graph.blocked import BlockSearcher
from lowland.graph.geometry import Coordinates, around_bytes
from lowland.graph.measures import EuclideanRows, SparseRows, pair_distances
from lowland.graph.neighbors import search_cost, searcher
from lowland.graph.patches import Patches, flatness
from lowland.graph.scores import SINGLE
from lowland.methods.linear.projections import principal_axes
from lowland.rows.row_source import as_rows
from lowland.spectral import dual as dual_module
from lowland.spectral.solved import Scaling

GRAPH = [
    lowland.Isomap,
    lowland.LLE,
    lowland.ModifiedLLE,
    lowland.HessianLLE,
    lowland.LTSA,
    lowland.LaplacianEigenmaps,
    lowland.DiffusionMaps,
    lowland.LPP,
    lowland.NPE,
    lowland.MVU,
    lowland.TSNE,
    lowland.UMAP,
]


def genes(rng, n, columns, dtype=float):
    """Counts of many genes along a plane of states, as logarithms: most entries are zero, and noise is large."""
    state, loadings = rng.uniform(-1, 1, (n, 2)), rng.standard_normal((2, columns))
    return np.log1p(rng.poisson(np.exp(state @ loadings + rng.uniform(-5, 0, columns)))).astype(dtype)


def peak_of(call):
    """Return the peak of memory that NumPy takes for a call."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- scores and their bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 511, 512, 513, 1024, 1025, 6000])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("signs", ["normal", "positive"])
def test_scores_err_by_no_more_than_their_bound(width, precision, signs, rng):
    kind = np.dtype(precision)
    shifted = rng.standard_normal((40, width))
    shifted = np.abs(shifted) if signs == "positive" else shifted  # sums that only grow round worst
    rows = np.empty((40, width + 2), dtype=kind)
    sizes = scores.fill(rows, shifted, float(np.linalg.norm(shifted, axis=1).max()))
    S, room = np.empty((2, 40, 40), dtype=kind)
    scores.products(rows, scores.tail(rows), rows, S, room)
    z = rows[:, :-2].astype(np.longdouble)
    true = -0.5 * ((z[:, None] - z[None]) ** 2).sum(axis=2)
    bound = scores.error(kind, width, sizes[:, None] + sizes[None])
    assert (np.abs(S - true) <= bound).all()
    assert (bound <= 2 * (width + 9) * 2 * scores.UNIT[kind] * 2).all()  # never worse than one sum of all columns
    if kind == np.float32 and width >= 6000:
        assert (bound <= 600 * scores.UNIT[kind] * 2).all()


def test_float32_certifies_the_neighbours_of_wide_rows(rng):
    X = genes(rng, 400, 20_000)
    search = BlockSearcher(EuclideanRows(X, lambda rows: rows, "euclidean"))
    graph = search.graph(10)
    assert set(search._tables) == {blocked.SINGLE}  # with a bound that grew with the columns, no list was certain
    d = np.sqrt(np.maximum(0, (X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T))
    np.fill_diagonal(d, np.inf)
    np.testing.assert_array_equal(graph.indices.reshape(400, 10), np.argsort(d, axis=1)[:, :10])


def test_a_search_of_wide_rows_makes_no_copy_of_the_table_in_float64(rng):
    X = rng.standard_normal((600, 3)) @ rng.standard_normal((3, 20_000))
    neighbor_graph(X[:, :1000], 5)  # loads what is compiled
    assert peak_of(lambda: neighbor_graph(X, 5)) < 0.9 * X.nbytes  # 0.5 is the table in float32


def test_few_new_rows_of_wide_tables_are_compared_without_a_table(rng):
    X, new = rng.standard_normal((300, 8000)), rng.standard_normal((70, 8000))
    few, many = searcher("euclidean", X), searcher("euclidean", X)
    for found, again in zip(few.query(new[:64], 4), many.query(new, 4), strict=True):
        np.testing.assert_array_equal(found, again[:64])
    assert not few._tables
    assert many._tables


# -- exact distances ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 3, 64, 65, 1000, 70_000])
@pytest.mark.parametrize("pairs", [1, 2, 7])
def test_distances_are_added_up_column_by_column_whatever_the_width(width, pairs, dtype, rng, monkeypatch):
    X = rng.standard_normal((9, width)).astype(dtype)
    i, j = rng.integers(0, 9, (2, pairs))
    squares = (X[i].astype(np.float64) - X[j]) ** 2
    want = np.zeros(pairs)
    for column in squares.T:
        want += column
    want = np.sqrt(want)
    for limit, at_once in ((1 << 30, 1 << 20), (1 << 30, 5000), (0, 1)):  # NumPy, in several parts; the compiled loop
        monkeypatch.setattr(measures, "_COMPILED", limit)
        monkeypatch.setattr(measures, "SHIFTED_ENTRIES", at_once)
        np.testing.assert_array_equal(pair_distances(X, X, i, j), want)


def test_a_new_row_takes_no_call_for_each_column(rng):
    X = rng.standard_normal((30, 100_000))
    search = searcher("euclidean", X)
    assert lines_run(lambda: search.query(X[:1] + 0.1, 3), measures) < 500


@pytest.mark.parametrize("stored", ["plain", "zeros"])
def test_sparse_rows_have_the_bits_of_dense_rows(stored, rng, monkeypatch):
    X = genes(rng, 60, 3000)
    S = sp.csr_array(X)
    if stored == "zeros":
        S.data[::7] = 0.0
        X = S.toarray()
    monkeypatch.setattr(measures, "_COMPILED", 0)
    bound = measures.measure("euclidean", S, None)
    assert isinstance(bound, SparseRows)
    i, j = rng.integers(0, 60, (2, 500))
    own = bound.own(np.arange(60))
    fast = bound.exact(own, i, j, np.empty(0))
    monkeypatch.setattr(measures, "_COMPILED", 1 << 40)
    np.testing.assert_array_equal(fast, bound.exact(own, i, j, np.empty(0)))
    np.testing.assert_array_equal(fast, pair_distances(X, X, i, j))


@pytest.mark.parametrize("long_numbers", [False, True])
def test_products_of_sparse_rows_are_scipys(long_numbers, rng, monkeypatch):
    from lowland.core import spmm

    X = sp.csr_array(genes(rng, 150, 2000))
    T = X.T.tocsr()
    if long_numbers:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    want = (X @ T).toarray()
    for small in (0, 1 << 40):
        monkeypatch.setattr(spmm, "_SCIPY_BELOW", small)
        monkeypatch.setattr(spmm, "_EACH", 0)
        np.testing.assert_array_equal(outer(X, T), want)
        with lowland.config(threads=3):
            np.testing.assert_array_equal(outer(X, T), want)


@pytest.mark.parametrize("ties", ["cut", "keep"])
def test_sparse_and_dense_wide_rows_have_the_same_graph(ties, rng):
    X = np.round(np.expm1(genes(rng, 200, 4000)))  # counts: many exact ties
    dense, sparse = (neighbor_graph(form(X), 6, ties=ties) for form in (np.asarray, sp.csr_array))
    for name in ("indptr", "indices", "distances"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name))


# -- patches --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [600, 30_000], ids=["narrow", "wide"])
def test_columns_of_sparse_patches_are_marked_or_sorted_alike(columns, rng, monkeypatch):
    from lowland.graph import geometry

    X = sp.csr_array(sp.random_array((40, columns), density=200 / columns, rng=rng))
    X.sum_duplicates()
    lists = np.stack([rng.permutation(40)[:6] for _ in range(40)])
    want = Coordinates(X.toarray()).around(np.arange(40), lists)
    for limit in (1, 1 << 40):
        monkeypatch.setattr(geometry, "_SPARSE_LIST", limit)
        np.testing.assert_allclose(Coordinates(X).around(np.arange(40), lists), want, rtol=1e-12)


def test_products_of_wide_rows_are_taken_once_for_work_that_looks_twice(rng, monkeypatch):
    X = rng.standard_normal((200, 500))
    graph = neighbor_graph(X, 6)
    patches, geometry, asked = Patches.of_graph(graph), Coordinates(X), []
    plain = Coordinates.around

    def around(self, points, neighbors):
        asked.extend(points.tolist())
        return plain(self, points, neighbors)

    monkeypatch.setattr(Coordinates, "around", around)
    want = patches.each(geometry, lambda G: flatness(G, 2))
    kept = patches.remembered(geometry)
    asked.clear()
    np.testing.assert_array_equal(patches.each(kept, lambda G: flatness(G, 2)), want)
    np.testing.assert_array_equal(
        patches.over(kept, lambda G: np.pad(G, ((0, 0), (1, 0), (0, 0))), 6),
        patches.over(geometry, lambda G: np.pad(G, ((0, 0), (1, 0), (0, 0))), 6),
    )
    assert sorted(asked) == list(range(200))  # by the last line alone
    assert patches.remembered(Coordinates(X[:, :100])).width == 100  # products would be as large as such rows
    asked.clear()
    lowland.ModifiedLLE(2, n_neighbors=6).fit(X)
    assert sorted(asked) == list(range(200))


# -- few wide rows by their coordinates -----------------------------------------------------------------------


def wide_rows(rng, n, columns, condition):
    """Rows of full rank, centred, with singular values from 1 down to 1/condition, far from zero."""
    U = rng.standard_normal((n, n - 1))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((columns, n - 1)))[0]
    return (U * np.geomspace(1, 1 / condition, n - 1)) @ V.T + 3.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("condition", [3.0, 1e3, 1e6])
def test_coordinates_of_wide_rows_are_those_of_the_svd(condition, weighted, rng):
    X = wide_rows(rng, 50, 900, condition)
    w = rng.uniform(0.5, 2.0, 50) if weighted else np.ones(50)
    found = dual_module.dual(as_rows(X).weighted(w), Scaling(True, False, 0), rng=rng)
    Z = (X - np.average(X, axis=0, weights=w)) * np.sqrt(w)[:, None]
    np.testing.assert_allclose(found.values, np.linalg.svd(Z, compute_uv=False)[:49], rtol=1e-14 * condition)
    np.testing.assert_allclose(found.left.T @ found.left, np.eye(49), atol=1e-12)
    V = found.directions_times(np.eye(49))
    np.testing.assert_allclose(V.T @ V, np.eye(49), atol=1e-14 * condition)
    np.testing.assert_allclose((found.left * found.values) @ V.T, Z, atol=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_coordinates_of_rows_of_low_rank(form, rng):
    X = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 2000))
    found = dual_module.dual(as_rows(form(X)), Scaling(True, False, 0), rng=rng)
    assert found.left.shape == (60, 5)
    Z = X - X.mean(axis=0)
    tolerance = 1e-5 if form is np.float32 else 1e-12
    np.testing.assert_allclose(found.values, np.linalg.svd(Z, compute_uv=False)[:5], rtol=tolerance)
    V = found.directions_times(np.eye(5))
    np.testing.assert_allclose((found.left * found.values) @ V.T, Z, atol=tolerance * 10)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scaling", [Scaling(True, True, 0), Scaling(True, False, 0), Scaling(False, False, 0)])
def test_what_is_left_outside_of_directions(form, scaling, rng):
    X = np.where(rng.random((40, 3000)) < 0.3, rng.standard_normal((40, 3000)) + 2.0, 0.0)
    w = rng.uniform(0.5, 2.0, 40)
    rows = as_rows(form(X)).weighted(w)
    found = dual_module.dual(rows, scaling, rng=rng)
    few = found.left[:, :7]
    Z = (found.left * found.values) @ found.directions_times(np.eye(len(found.values))).T
    want = np.linalg.norm(Z - few @ (few.T @ Z))
    assert dual_module.left_over(found._side, few) == pytest.approx(want, rel=1e-10)


def test_rows_whose_squares_say_too_little_are_not_taken_by_coordinates(rng):
    hidden = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 2000))
    hidden += 1e-10 * rng.standard_normal((60, 2000))  # more than rounding, and less than squares show
    steep = wide_rows(rng, 60, 2000, 1e4).astype(np.float32)
    for X in (hidden, sp.csr_array(hidden), wide_rows(rng, 60, 2000, 1e9), steep, np.ones((60, 2000))):
        assert dual_module.dual(as_rows(X), Scaling(True, False, 0), rng=rng) is None


@pytest.mark.parametrize("Model", [lowland.LPP, lowland.NPE])
@pytest.mark.parametrize("noise", [0.0, 1e-10])
def test_wide_rows_of_low_rank_have_the_rank_and_the_map_that_they_had(Model, noise, rng, monkeypatch):
    X = lowland.data.swiss_roll(400)[0] @ rng.standard_normal((3, 5000)) + noise * rng.standard_normal((400, 5000))
    found = Model(2).fit(X)
    monkeypatch.setattr("lowland.methods.linear.projections.dual", lambda *_, **__: None)
    want = Model(2).fit(X)
    assert found.rank_ == want.rank_ == (3 if noise == 0 else 399)
    np.testing.assert_allclose(found.components_, want.components_, atol=1e-9 * np.abs(want.components_).max())


@pytest.mark.parametrize("Model", [lowland.LPP, lowland.NPE])
@pytest.mark.parametrize("form", ["float64", "float32", "sparse"])
def test_wide_projections_are_those_of_the_directions(Model, form, rng, monkeypatch):
    X = genes(rng, 200, 4000)
    X = sp.csr_array(X) if form == "sparse" else X.astype(form)
    found = Model(3).fit(X)
    monkeypatch.setattr("lowland.methods.linear.projections.dual", lambda *_, **__: None)
    want = Model(3).fit(X)
    assert found.fit_info_.algorithm == want.fit_info_.algorithm == "principal axes by gram"
    assert found.rank_ == want.rank_ == 199
    rtol = 1e-5 if form == "float32" else 1e-9
    np.testing.assert_allclose(found.eigenvalues_, want.eigenvalues_, rtol=rtol)
    np.testing.assert_allclose(found.components_, want.components_, atol=rtol * np.abs(want.components_).max())


def test_wide_projections_hold_no_direction_for_each_row(rng):
    X = rng.standard_normal((300, 24_000))
    tracemalloc.start()
    try:
        axes = principal_axes(as_rows(X).weighted(np.ones(300)), rng)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert axes.rank == 299
    assert held < 0.1 * X.nbytes  # the directions alone would be as large as X
    P = axes.back(np.eye(299)[:, :2])
    np.testing.assert_allclose(((X - X.mean(axis=0)) @ P).T @ ((X - X.mean(axis=0)) @ P), np.eye(2), atol=1e-12)


# -- plans ----------------------------------------------------------------------------------------------------


def shaped(n, columns, density=None):
    return DataShape(n, columns, np.dtype(float), 1.0 if density is None else density, density is not None)


@pytest.mark.parametrize("Model", GRAPH)
@pytest.mark.parametrize("density", [None, 0.1])
def test_plans_of_wide_tables_grow_with_the_columns(Model, density):
    def seconds(columns):
        with lowland.config(threads=1):
            return lowland.plan(Model(2), shape=(1000, columns), density=density).seconds

    narrow, wide, wider = (seconds(columns) for columns in (30_000, 60_000, 120_000))
    assert wide - narrow > 0.5  # the steps that read the columns show
    assert wider - wide == pytest.approx(2 * (wide - narrow), rel=0.01)
    assert wide < 60


def test_plans_know_the_density_and_the_neighbours():
    with lowland.config(threads=1):
        few, many = (search_cost(shaped(1000, 60_000, density), 10, "euclidean")[1] for density in (0.01, 0.2))
        near, far = (search_cost(shaped(1000, 60_000), k, "euclidean")[1] for k in (10, 90))
    assert 20 < many / few < 400  # above 20: pairs of entries stored in one column are most of the work
    assert far > 1.5 * near


def sparse_rows(rng, n, columns, stored):
    """Return sparse rows of so many entries each."""
    X = sp.csr_array(
        (
            rng.standard_normal(n * stored),
            np.sort(rng.integers(0, columns // stored, (n, stored)) + np.arange(stored) * (columns // stored)).ravel(),
            np.arange(n + 1) * stored,
        ),
        shape=(n, columns),
    )
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


@pytest.mark.parametrize(("n", "columns", "stored", "k"), [(300, 100_000, 1000, 10), (2000, 5000, 20, 10)])
def test_planned_memory_of_sparse_searches_and_patches_is_that_of_each_thread(rng, n, columns, stored, k):
    X = sparse_rows(rng, n, columns, stored)
    shape = DataShape(n, columns, X.dtype, stored / columns, sparse=True)
    with lowland.config(threads=1):
        search = searcher("euclidean", X)
        planned = measures.sparse_search_bytes(n, columns, stored, k)
        assert 0.5 < planned / peak_of(lambda: search.graph(k)) < 1.5
        patches, geometry = Patches.of_graph(search.graph(k)), Coordinates(X)
        planned_around = around_bytes(shape, n, k, copies=1)
        taken = peak_of(lambda: patches.each(geometry, lambda G: flatness(G, 2)))
        assert 0.5 < planned_around / taken < 1.5
    with lowland.config(threads=3):
        assert measures.sparse_search_bytes(n, columns, stored, k) == 3 * planned
        assert around_bytes(shape, n, k, copies=1) <= 3 * planned_around
    with lowland.config(threads=1000):  # more threads than parts: the others have nothing to do
        assert measures.sparse_search_bytes(n, columns, stored, k) == -(-n // SparseRows.rows_at_once) * planned


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "columns"), [(300, 40_000), (1500, 3000)])
def test_planned_memory_of_dense_searches_and_patches_is_what_they_take(rng, n, columns, dtype):
    X, k = rng.standard_normal((n, columns), dtype=np.dtype(dtype).type), 10
    shape = DataShape(n, columns, X.dtype)
    with lowland.config(threads=1):
        searcher("euclidean", X[:, :3000]).graph(k)  # compiled loops are loaded
        planned = sum(search_cost(shape, k, "euclidean")[0].values())
        assert 0.8 < planned / peak_of(lambda: searcher("euclidean", X).graph(k)) < 1.25  # no second copy of the rows
        patches, geometry = Patches.of_graph(searcher("euclidean", X).graph(k)), Coordinates(X)
        planned = around_bytes(shape, n, k, copies=1)
        assert 0.8 < planned / peak_of(lambda: patches.each(geometry, lambda G: flatness(G, 2))) < 1.25


def test_threads_are_planned_with_rows_in_their_own_precision():
    def compared(dtype):
        parts, _ = search_cost(DataShape(3000, 3000, np.dtype(dtype)), 10, "euclidean")
        return parts["rows compared"]

    with lowland.config(threads=1):
        assert compared("float32") == compared("float64")  # one thread shifts rows, in float64
    with lowland.config(threads=8):
        assert compared("float64") - compared("float32") == 8 * 4 * measures.SHIFTED_ENTRIES


@pytest.mark.parametrize("clusters", [False, True])
def test_the_trial_of_single_precision_is_that_of_a_look_up(rng, clusters):
    X = rng.standard_normal((500, 2000))
    X[250:] += 1e7 * clusters  # of tight clusters far apart, single precision certifies no list
    search = BlockSearcher(EuclideanRows(X, lambda rows: rows, "euclidean"))
    search._prepare(10)
    assert search._hard is clusters
    tried = search.order[:64]
    looked = search._looked(search._table(SINGLE), search.measure.own(tried), 10, tried)
    assert search._failed(search._table(SINGLE), 10) == np.mean(~looked.sure)


def test_differences_of_sparse_rows_have_the_same_bits_in_any_number_of_pieces(rng, monkeypatch):
    search = searcher("euclidean", sparse_rows(rng, 200, 50_000, 300))
    once = search.graph(8)
    monkeypatch.setattr(measures, "_DIFFERENCE_ENTRIES", 1000)
    again = search.graph(8)
    np.testing.assert_array_equal(once.indices, again.indices)
    np.testing.assert_array_equal(once.distances, again.distances)


@pytest.mark.parametrize("Model", GRAPH)
def test_plans_of_wide_sparse_tables_stay_small_on_many_threads(Model):
    with lowland.config(threads=8):
        plan = lowland.plan(Model(2), shape=(1000, 200_000), density=0.005)
    assert 50e6 < plan.bytes < 150e6
