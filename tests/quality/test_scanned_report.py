"""Reports of tables that are read in blocks: the numbers of the tables in memory, with the same anchors."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import polars as pl
import pytest

import lowland
from lowland import quality
from lowland.core.errors import Cancelled
from lowland.data import scan
from lowland.quality import block_counting, block_ranks, ranks, ranks_loops
from lowland.quality.anchors import labels
from lowland.rows import paired_rows, sampling

NEIGHBOURS = ("trustworthiness", "continuity", "neighborhood_overlap", "lcmc")
POINTS = ("point", "kept", "false", "missing", "stretch")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A sample has 300 rows, and tables with more are compared in blocks of 256 rows."""
    monkeypatch.setattr(sampling, "SCAN_ROWS", 300)
    in_blocks_of(monkeypatch, 256)


def in_blocks_of(monkeypatch, rows):
    monkeypatch.setattr(paired_rows, "block_rows", lambda width: rows)
    monkeypatch.setattr(paired_rows, "_ROWS", rows)


@pytest.fixture
def scanned(tmp_path):
    """Saves arrays and opens them for reading in blocks."""

    def make(*tables):
        files = [tmp_path / f"table{number}.npy" for number, _ in enumerate(tables)]
        for file, rows in zip(files, tables, strict=True):
            np.save(file, rows)
        return [scan(file) for file in files]

    return make


def require_equal(found, want, rtol=1e-12):
    """The numbers of neighbours are those of the tables in memory."""
    assert found.n == want.n
    for name in NEIGHBOURS:
        for part in ("low", "high"):
            assert getattr(found[name], part) == pytest.approx(getattr(want[name], part), rel=rtol, abs=rtol), name
        assert float(found[name]) == pytest.approx(float(want[name]), rel=rtol, abs=rtol), name
        if want[name].groups is not None:
            assert dict(found[name].groups) == pytest.approx(dict(want[name].groups), rel=rtol, abs=rtol)
    for name in POINTS:
        got, expected = getattr(found.points, name), getattr(want.points, name)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, err_msg=name)
    assert [point.number for point in found.worst] == [point.number for point in want.worst]
    assert float(found.contrast) == pytest.approx(float(want.contrast), rel=rtol)
    assert found.chance == want.chance
    if want.purity is not None:
        for side in ("data", "map"):
            got, expected = getattr(found.purity, side), getattr(want.purity, side)
            assert float(got) == pytest.approx(float(expected), rel=rtol)
            assert dict(got.groups) == pytest.approx(dict(expected.groups), rel=rtol)


def hard(name, rng, n):
    """Return data whose distances rounding confuses, or that are tied."""
    if name == "plain":
        return rng.standard_normal((n, 5))
    if name == "far from zero":
        return rng.standard_normal((n, 5)) + 1e8
    if name == "float32":
        return (rng.standard_normal((n, 5)) + 100).astype(np.float32)
    if name == "clusters":
        return rng.standard_normal((n, 5)) * 1e-6 + 1e3 * rng.integers(0, 3, (n, 1))
    if name == "grid":
        return rng.integers(0, 4, (n, 3)).astype(float)
    if name == "sorted":
        return np.sort(rng.standard_normal((n, 3)), axis=0)
    assert name == "equal rows"
    return rng.standard_normal((n // 9, 5))[rng.integers(0, n // 9, n)]


HARD = ("plain", "far from zero", "float32", "clusters", "grid", "sorted", "equal rows")


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", HARD)
def test_anchors_have_the_numbers_of_arrays_in_memory(name, kind, rng, scanned):
    X = hard(name, rng, 1400)
    Y = ((X - X.mean(axis=0))[:, :2] + 0.3 * rng.standard_normal((1400, 2))).astype(kind)
    if name in ("grid", "equal rows"):
        Y[:400] = np.round(Y[:400])  # ties on both sides
        Y[400:500] = Y[400]
    groups = np.where(rng.random(1400) < 0.1, None, rng.integers(0, 4, 1400).astype(object))
    given = {"n_neighbors": 6, "anchors": 350, "groups": groups, "random_state": 3}
    want = quality.report(X, Y, **given)
    found = quality.report(*scanned(X, Y), **given)
    require_equal(found, want)
    assert len(found.points) == len(want.points) >= 350


@pytest.mark.parametrize("name", ["plain", "grid"])
def test_numbers_without_equal_rows_are_the_same_bits(name, rng, scanned):
    X, Y = hard(name, rng, 1400), rng.standard_normal((1400, 2))
    want = quality.report(X, Y, 5, anchors=300)
    found = quality.report(*scanned(X, Y), 5, anchors=300)
    for measure in NEIGHBOURS:
        assert found[measure] == want[measure]
    for part in POINTS:
        np.testing.assert_array_equal(getattr(found.points, part), getattr(want.points, part))


@pytest.mark.parametrize("rows", [64, 1000, 4096])
def test_blocks_and_threads_change_nothing(rows, rng, scanned, monkeypatch):
    X = hard("grid", rng, 1200)
    tables = scanned(X, X[:, :2] + 0.1 * rng.standard_normal((1200, 2)))
    with lowland.config(threads=1):
        want = quality.report(*tables, 5, anchors=200)
    in_blocks_of(monkeypatch, rows)
    with lowland.config(threads=3):
        found = quality.report(*tables, 5, anchors=200)
    for name in NEIGHBOURS:
        assert found[name] == want[name]
    assert found.measures["stress"] == want.measures["stress"]
    for name in POINTS:
        np.testing.assert_array_equal(getattr(found.points, name), getattr(want.points, name))


def test_one_of_both_may_be_in_memory(rng, scanned):
    X = rng.standard_normal((900, 4))
    Y = X[:, :2] + 0.2 * rng.standard_normal((900, 2))
    data, map = scanned(X, Y)
    want = quality.report(X, Y, anchors=200)
    for pair in ((data, Y), (X, map), (data, pl.DataFrame(Y, schema=["a", "b"])), (pl.DataFrame(X), map)):
        require_equal(quality.report(*pair, anchors=200), want)


@pytest.mark.parametrize(
    "metric", ["sqeuclidean", "cosine", "correlation", "seuclidean", "cityblock", "chebyshev", "canberra"]
)
def test_metrics(metric, rng, scanned):
    X = rng.standard_normal((900, 4)) * [1, 3, 1, 2] + 1
    X[100:200] = X[0]
    Y = X[:, :2] + 0.2 * rng.standard_normal((900, 2))
    want = quality.report(X, Y, 5, anchors=150, metric=metric)
    found = quality.report(*scanned(X, Y), 5, anchors=150, metric=metric)
    require_equal(found, want, rtol=1e-9 if metric == "seuclidean" else 1e-12)
    assert found.metric == metric
    assert found.sample_rows == 300


def test_ties_of_integers_in_a_metric_of_blocks(rng, scanned):
    X = rng.integers(0, 3, (900, 4))
    Y = X[:, :2] + 0.2 * rng.standard_normal((900, 2))
    given = {"n_neighbors": 5, "anchors": 150, "metric": "cityblock"}
    require_equal(quality.report(*scanned(X, Y), **given), quality.report(X, Y, **given))


def test_float32_rows_are_compared_in_float64_where_that_saves_time(rng, scanned, monkeypatch):
    X = hard("clusters", rng, 1400)
    kinds = []
    learn = block_counting.AnchorSide.learn

    def told(side, counter):
        learn(side, counter)
        kinds.append(side._kind)

    monkeypatch.setattr(block_counting.AnchorSide, "learn", told)
    quality.report(*scanned(X, rng.standard_normal((1400, 2))), 5, anchors=100)
    assert {kind.name for kind in kinds} == {"float32", "float64"}


def test_a_table_with_categories_is_compared_as_famd_codes_it(rng, tmp_path):
    n = 900
    frame = pl.DataFrame(
        {"a": rng.standard_normal(n), "b": rng.standard_normal(n), "kind": rng.choice(["red", "blue", "green"], n)}
    )
    frame.write_parquet(tmp_path / "table.parquet")
    Y = frame.select("a", "b").to_numpy() + 0.2 * rng.standard_normal((n, 2))
    want = quality.report(frame, Y, 5, anchors=150)
    found = quality.report(scan(tmp_path / "table.parquet"), Y, 5, anchors=150)
    require_equal(found, want)
    assert found.metric == want.metric == "famd"
    numbers = scan(tmp_path / "table.parquet", columns=["a", "b"])
    require_equal(quality.report(numbers, Y, 5, anchors=150), quality.report(frame.select("a", "b"), Y, 5, anchors=150))


def test_small_tables_are_measured_as_arrays(rng, tmp_path, scanned):
    X = rng.standard_normal((250, 4)) * [1, 1, 1, 50]
    Y = X[:, 2:]
    with pytest.warns(lowland.DominantColumnWarning, match="column 3"):
        want = quality.report(X, Y)
    with pytest.warns(lowland.DominantColumnWarning, match="column 3"):
        found = quality.report(*scanned(X, Y))
    assert found.to_dict() == want.to_dict()
    frame = pl.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "red", "blue")})
    frame.write_parquet(tmp_path / "mixed.parquet")
    mixed = quality.report(scan(tmp_path / "mixed.parquet"), Y)
    np.testing.assert_equal(mixed.to_dict(), quality.report(frame, Y).to_dict())


def test_the_report_says_what_is_of_a_sample(rng, scanned):
    X = rng.standard_normal((900, 4))
    Y = X[:, :2]
    found = quality.report(*scanned(X, Y), anchors=200, groups=np.arange(900) % 2)
    assert found.n == 900
    assert found.sample_rows == 300
    assert set(found.of_sample) == set(found.measures) - set(NEIGHBOURS)
    assert found.warnings[0] == found.scope
    assert "compare 200 anchors with all 900 rows" in found.scope
    assert "the other measures are of a sample of 300 rows" in found.scope
    assert "purity" in found.scope
    assert found.scope in str(found)
    assert not any(measure.exact for measure in found.measures.values())
    assert found.to_dict()["sample_rows"] == 300
    assert pickle.loads(pickle.dumps(found)).of_sample == found.of_sample
    # measures of pairs are those of a report of the sampled rows
    numbers = sampling.numbers_of(900, 300)
    few = quality.report(X[numbers], Y[numbers], anchors=200, groups=numbers % 2)
    for name in ("stress", "spearman", "rnx_auc", "geodesic_spearman"):
        assert float(found[name]) == float(few[name])
        assert dict(found[name].groups) == dict(few[name].groups)
    in_memory = quality.report(X, Y)
    assert in_memory.of_sample == ()
    assert in_memory.scope == ""


def test_a_group_without_sampled_rows_has_measures_of_neighbours_only(rng, scanned):
    X = rng.standard_normal((900, 3))
    numbers = sampling.numbers_of(900, 300)
    lone = np.setdiff1d(np.arange(900), numbers)[:5]
    groups = np.full(900, "many")
    groups[lone] = "few"
    found = quality.report(*scanned(X, X[:, :2]), anchors=200, groups=groups)
    assert set(found["trustworthiness"].groups) == {"few", "many"}
    assert set(found["stress"].groups) == {"many"}
    assert "few" in str(found)


def test_a_map_of_shuffled_rows_is_found_out(rng, scanned):
    X = rng.standard_normal((900, 3))
    found = quality.report(*scanned(X, rng.permutation(X)), anchors=200)
    assert found.by_chance
    assert "same order?" in found.sentence


def test_metrics_that_need_all_rows_are_measured_on_the_sample(rng, scanned):
    X = rng.standard_normal((900, 3))
    tables = scanned(X, X[:, :2])
    found = quality.report(*tables, metric="mahalanobis")
    assert found.n == 300
    assert found.warnings[0].startswith(
        "measured on a sample of 300 of the 900 rows: neighbours are the nearest rows of"
    )
    assert "the metric mahalanobis" in found.warnings[0]
    numbers = sampling.numbers_of(900, 300)
    assert set(found.points.point) == set(numbers)
    assert found["stress"] == quality.report(X[numbers], X[numbers, :2], metric="mahalanobis")["stress"]
    with pytest.raises(lowland.DataError, match="takes a matrix of distances in memory"):
        quality.report(*tables, metric="precomputed")


def test_errors_name_the_table(rng, scanned, tmp_path):
    X = rng.standard_normal((900, 3))
    data, map = scanned(X, X[:, :2])
    with pytest.raises(lowland.DataError, match="X has 900 rows and Y has 899"):
        quality.report(data, X[1:, :2])
    with pytest.raises(lowland.DataError, match="X has 899 rows and Y has 900"):
        quality.report(X[1:], map)
    bad = X[:, :2].copy()
    bad[700, 1] = np.nan
    with pytest.raises(lowland.DataError, match="report, Y contains NaN at row 700, column 1"):
        quality.report(data, bad)
    with pytest.raises(lowland.DataError, match="report, Y contains NaN at row 700, column 1"):
        quality.report(*scanned(X, bad))
    worse = X.copy()
    worse[5, 0] = np.inf
    with pytest.raises(lowland.DataError, match="report, X contains infinity"):
        quality.report(*scanned(worse, X[:, :2]))
    with pytest.raises(lowland.DataError, match="the largest allowed is 299"):
        quality.report(*scanned(X, X[:, :2]), 300)
    with pytest.raises(lowland.DataError, match="a map must be a 2-D table"):
        quality.report(data, ["a"] * 900)


def test_a_file_that_changes_is_an_error(rng, scanned, tmp_path):
    X = rng.standard_normal((900, 3))
    data, map = scanned(X, X[:, :2])

    def change(stage, done, total):
        if stage == "ranks of anchors" and done == 1:
            file = tmp_path / "table1.npy"
            file.write_bytes(file.read_bytes()[:-8000])

    with (
        lowland.config(progress=change, threads=1),
        pytest.raises(lowland.DataError, match=r"table1\.npy: it (was truncated|changed)"),
    ):
        quality.report(data, map, anchors=100)


def test_it_reports_progress_and_can_be_cancelled(rng, scanned):
    X = rng.standard_normal((900, 3))
    tables, seen = scanned(X, X[:, :2]), []
    with lowland.config(progress=lambda *step: seen.append(step)):
        quality.report(*tables, anchors=100)
    for stage in ("sample", "neighbours of anchors", "ranks of anchors"):
        assert [step for step in seen if step[0] == stage] == [(stage, done, 4) for done in (1, 2, 3, 4)]
    assert tables[0].passes == tables[1].passes == 3
    for stage in ("sample", "neighbours of anchors", "ranks of anchors"):
        with lowland.config(progress=lambda name, done, total, stop=stage: name != stop), pytest.raises(Cancelled):
            quality.report(*tables, anchors=100)


def test_anchors_of_scans(rng, scanned, monkeypatch):
    X = rng.standard_normal((900, 3))
    tables = scanned(X, X[:, :2])
    every = quality.report(*tables)
    assert len(every.points) == 900  # all up to 10,000 rows
    assert every["trustworthiness"].exact
    require_equal(every, quality.report(X, X[:, :2]))
    with pytest.raises(ValueError, match="anchors must be"):
        quality.report(*tables, anchors="some")
    with pytest.raises(ValueError, match="random_state must be"):
        quality.report(*tables, random_state=-1)


def test_many_ties_that_nothing_unites_raise_before_memory_is_full(rng, scanned, monkeypatch):
    X = rng.integers(0, 2, (3000, 3)).astype(float)
    Y = rng.standard_normal((3000, 2))
    tables = scanned(X, Y)
    monkeypatch.setattr(block_ranks, "_WAITING", 1000)
    monkeypatch.setattr(ranks, "_RANKS_AT_ONCE", 1 << 9)  # sorting takes little memory
    with lowland.config(memory_limit="8MB"), pytest.raises(lowland.MemoryLimitError, match="fewer anchors"):
        quality.report(*tables, anchors=300)
    with lowland.config(memory_limit="8MB"):  # of equal rows in data and map an entry of a list is enough
        quality.report(*scanned(X, X[:, :2]), anchors=300)


@pytest.mark.parametrize("k", [40, 120])
def test_many_neighbours(k, rng, scanned):
    X = hard("grid", rng, 1200)
    Y = X[:, :2] + 0.1 * rng.standard_normal((1200, 2))
    require_equal(quality.report(*scanned(X, Y), k, anchors=60), quality.report(X, Y, k, anchors=60))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_looking_up_scores_counts_as_comparing_with_each(kind, rng):
    m, n, each = 7, 300, 50
    S = np.round(rng.standard_normal((m, n)), 1).astype(kind)
    middle = -np.sort(-rng.standard_normal((m, each)), axis=1)
    far, near = ((middle + x).astype(kind).ravel() for x in (-0.04, 0.04))
    start = np.arange(m + 1) * each
    found = []
    for loop in (ranks_loops.count_nearer, ranks_loops.count_nearer_ascending):
        less, i, j = np.zeros(m * each, dtype=np.int64), *np.empty((2, m * n), dtype=np.int32)
        count = loop(S, start, far, near, less, i, j)
        found.append((less, {*zip(i[:count].tolist(), j[:count].tolist(), strict=True)}, count))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]
    assert 0 < found[0][2] < m * n


def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch):
    """Twice as many rows are read in the same memory, which is less than that of the rows."""
    in_blocks_of(monkeypatch, 4096)
    monkeypatch.setattr(sampling, "_NUMBERS_AT_ONCE", 1 << 14)

    def peak(n):
        def blocks(width):
            rng = np.random.default_rng(0)
            return (rng.standard_normal((10_000, 10)).astype(np.float32)[:, :width] for _ in range(n // 10_000))

        data, map = (scan(lambda width=width: blocks(width), n_rows=n) for width in (10, 2))
        tracemalloc.start()
        with lowland.config(threads=1):
            quality.report(data, map, 5, anchors=50)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(20_000)  # loads the compiled loops
    few, many = peak(200_000), peak(400_000)
    assert many < 1.1 * few  # the rows in memory would be another quarter


def test_labels_of_rows_are_shared_by_all_measures(rng, scanned):
    X = rng.standard_normal((900, 3))
    named = labels([None, "a", "b"] * 300, 900)
    found = quality.report(*scanned(X, X[:, :2]), anchors=200, groups=named)
    want = quality.report(X, X[:, :2], anchors=200, groups=named)
    require_equal(found, want)
    assert found.groups == ("a", "b")
