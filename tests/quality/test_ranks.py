"""Ranks on two sides: exact on hard data by both roads, ties as expected values, any order of rows, any threads."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import lowland
from lowland.quality import rank_counting, ranks, ranks_loops
from lowland.quality.rank_lists import Ranks
from lowland.quality.ranks import Sorted, rank_table
from lowland.quality.spaces import sides

COLUMNS = (
    "false_ranks",
    "missing_ranks",
    "shared",
    "data_reach",
    "map_reach",
    "false_reach",
    "missing_reach",
)


def columns(table):
    return np.array([getattr(table, name) for name in COLUMNS])


def by_counting(monkeypatch):
    monkeypatch.setattr(rank_counting, "SMALL", 0)


def by_sorting(monkeypatch):
    monkeypatch.setattr(rank_counting, "SHORT", 0)


def reference(D, E, k):
    """Return the columns from all distances, one pair at a time: ranks by comparison, ties by their expected values."""
    n = len(D)
    out = np.zeros((7, n))
    for i in range(n):
        others = [j for j in range(n) if j != i]

        def rank(M, j, i=i, others=others):
            return sum(M[i, h] < M[i, j] for h in others), sum(M[i, h] == M[i, j] for h in others)

        for j in others:
            a, g = rank(D, j)
            b, h = rank(E, j)
            near = sum(r <= k for r in range(a + 1, a + g + 1)) / g
            near_map = sum(r <= k for r in range(b + 1, b + h + 1)) / h
            beyond = sum(max(0, r - k) for r in range(a + 1, a + g + 1)) / g
            beyond_map = sum(max(0, r - k) for r in range(b + 1, b + h + 1)) / h
            out[0, i] += near_map * beyond
            out[1, i] += near * beyond_map
            out[2:, i] += (
                np.array([near * near_map, near * D[i, j], near_map * E[i, j], near_map * D[i, j], near * E[i, j]]) / k
            )
    return out


def hard(name, rng, n):
    """Return data whose distances rounding confuses, or that are tied."""
    if name == "plain":
        return rng.standard_normal((n, 7))
    if name == "far from zero":
        return rng.standard_normal((n, 7)) + 1e9
    if name == "float32":
        return (rng.standard_normal((n, 7)) + 100).astype(np.float32)
    if name == "clusters":
        return rng.standard_normal((n, 7)) * 1e-6 + 1e3 * rng.integers(0, 3, (n, 1))
    if name == "grid":
        return rng.integers(0, 4, (n, 3)).astype(float)
    if name == "equal rows":
        return rng.standard_normal((n // 3, 7))[rng.integers(0, n // 3, n)]
    if name == "near ties":
        angle = rng.random(n) * 2 * np.pi  # all at one distance from a point in the middle, up to rounding
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        X[0] = 0.0
        return X
    raise AssertionError(name)


HARD = ("plain", "far from zero", "float32", "clusters", "grid", "equal rows", "near ties")


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("k", [1, 4, 40])
def test_sorting_is_the_definition_on_hard_data(name, k, rng):
    X, Y = hard(name, rng, 60), hard("grid" if name == "plain" else "plain", rng, 60)[:, :2]
    space = sides(X, Y)
    n = np.arange(60)
    D, E = (
        np.array([side.exact(side.own(n), np.full(60, i), n, np.empty(0)) for i in range(60)]) for side in space[:2]
    )
    np.testing.assert_allclose(columns(rank_table(space, k)), reference(D, E, k), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("side", ["data", "map"])
def test_counting_gives_the_bits_of_sorting_on_hard_data(name, side, rng, monkeypatch):
    X, Y = hard(name, rng, 400), rng.standard_normal((400, 2))
    space = sides(X, Y) if side == "data" else sides(Y, X)
    groups = rng.integers(0, 3, 400)
    with monkeypatch.context() as patch:
        by_sorting(patch)
        want = rank_table(space, 5, groups=groups)
    by_counting(monkeypatch)
    assert rank_counting.counters(space, 5) is not None
    got = rank_table(space, 5, groups=groups)
    np.testing.assert_array_equal(columns(got), columns(want))
    np.testing.assert_array_equal(got.data_purity, want.data_purity)
    np.testing.assert_array_equal(got.map_purity, want.map_purity)


def test_counting_decides_in_float64_where_float32_cannot(rng, monkeypatch):
    X, Y = hard("clusters", rng, 3000), rng.standard_normal((3000, 2))
    space = sides(X, Y)
    quick = rank_counting.counters(space, 5)
    assert quick.data.table.kind == np.float64
    assert quick.map.table.kind == np.float32
    got = rank_table(space, 5, anchors=200)
    by_sorting(monkeypatch)
    np.testing.assert_array_equal(columns(got), columns(rank_table(space, 5, anchors=200)))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_counts_with_windows_are_the_counts_of_exact_distances(kind, rng, monkeypatch):
    """Points that straddle a threshold by a few roundings are left open by products and decided exactly."""
    X = np.repeat(rng.standard_normal((1, 20)), 1500, axis=0)
    X[1:] += rng.standard_normal((1499, 20))
    X[1:] = X[0] + (X[1:] - X[0]) / np.linalg.norm(X[1:] - X[0], axis=1, keepdims=True)  # on a sphere around the first
    counter = rank_counting.Counter(sides(X, X).data)
    monkeypatch.setattr(counter, "_chosen", lambda: counter._table(np.dtype(kind)))
    counter.start(5)
    d = np.linalg.norm(X - X[0], axis=1)
    exact = counter.measure.raw(X[:1], np.zeros(1499, dtype=np.int64), np.arange(1, 1500))
    assert 2 < len(np.unique(exact)) < 20
    assert np.ptp(d[1:]) < 1e-14
    asked = np.unique(exact)
    found = counter.nearer(np.array([0]), np.array([len(asked)]), asked)
    np.testing.assert_array_equal(found.less, [(exact < t).sum() for t in asked])
    np.testing.assert_array_equal(found.equal, [(exact == t).sum() for t in asked])


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "chebyshev", "sqeuclidean"])
def test_metrics(metric, rng):
    X, Y = rng.standard_normal((80, 5)), rng.standard_normal((80, 2))
    got = columns(rank_table(sides(X, Y, metric), 6))
    np.testing.assert_allclose(got, reference(cdist(X, X, metric), cdist(Y, Y), 6), rtol=1e-9)


def test_rows_of_one_direction_are_tied_for_the_cosine(rng, monkeypatch):
    """Their distance is zero but for rounding, which must not order them: two twins share the first two ranks."""
    X = np.concatenate([rng.standard_normal((100, 5))] * 3) * (0.1 + rng.random((300, 1)))
    Y = rng.standard_normal((300, 2))
    twins = (np.arange(300)[:, None] + [100, 200]) % 300
    found = Sorted(sides(X, Y, "cosine").data, np.arange(300)).ranks
    assert (found.less[np.arange(300)[:, None], twins] == 0).all()
    assert (found.equal[np.arange(300)[:, None], twins] == 2).all()
    want = columns(rank_table(sides(X, Y, "cosine"), 1))
    assert (want[3] == 0).all()
    by_counting(monkeypatch)
    np.testing.assert_array_equal(columns(rank_table(sides(X, Y, "cosine"), 1)), want)


def test_sparse_rows_distances_and_functions_are_the_same_data(rng):
    X = rng.integers(0, 3, (90, 12)) * (rng.random((90, 12)) < 0.4).astype(float)
    Y = rng.standard_normal((90, 2))
    want = columns(rank_table(sides(X, Y), 7))
    others = (
        sides(sp.csr_array(X), Y),
        sides(np.sqrt(cdist(X, X, "sqeuclidean")), Y, "precomputed"),
        sides(X, Y, lambda a, b: float(np.sqrt(((a - b) ** 2).sum()))),
    )
    for other in others:
        np.testing.assert_allclose(columns(rank_table(other, 7)), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("road", [by_sorting, by_counting])
@pytest.mark.parametrize("name", ["plain", "grid", "equal rows"])
def test_the_order_of_the_rows_does_not_matter(road, name, rng, monkeypatch):
    road(monkeypatch)
    X, Y = hard(name, rng, 300), hard("grid", rng, 300)[:, :2] + rng.integers(0, 2, (300, 1))
    order = rng.permutation(300)
    a, b = columns(rank_table(sides(X, Y), 4)), columns(rank_table(sides(X[order], Y[order]), 4))
    np.testing.assert_array_equal(b, a[:, order])


def test_threads_and_blocks_do_not_matter(rng, monkeypatch):
    X, Y = rng.standard_normal((2500, 8)), rng.standard_normal((2500, 2))
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(columns(rank_table(sides(X, Y), 10, anchors=600)))
    monkeypatch.setattr(ranks, "_ANCHORS_COUNTED", 37)
    found.append(columns(rank_table(sides(X, Y), 10, anchors=600)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_anchors_are_compared_with_all_points(rng):
    X, Y = rng.standard_normal((500, 5)), rng.standard_normal((500, 2))
    whole, some = rank_table(sides(X, Y), 8), rank_table(sides(X, Y), 8, anchors=60)
    assert len(some.anchors.numbers) == 60
    np.testing.assert_array_equal(columns(some), columns(whole)[:, some.anchors.numbers])


def test_progress_is_told_and_may_cancel(rng):
    X = rng.standard_normal((3000, 5))
    told = []
    with lowland.config(progress=lambda *step: told.append(step)):
        rank_table(sides(X, X[:, :2]), 5)
    assert [step[1] for step in told if step[0] == "ranks"][-1] == [step[2] for step in told if step[0] == "ranks"][-1]
    with lowland.config(progress=lambda *step: False), pytest.raises(lowland.Cancelled):
        rank_table(sides(X, X[:, :2]), 5)


def test_sorting_refuses_what_does_not_fit(rng):
    X = rng.standard_normal((5000, 3))
    with lowland.config(memory_limit="1MB"), pytest.raises(lowland.MemoryLimitError, match="fewer points"):
        rank_table(sides(X, X), 200)


MEASURED = """
import json, sys
import numpy as np
import lowland
from lowland.quality import rank_curves, ranks
from lowland.quality.spaces import sides
def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key))
X = np.random.default_rng(0).standard_normal((200_000, 5))
X = np.round(X) if sys.argv[1] == "tied" else X
asked = []
ranks.check_allocation = lambda bytes, *more: asked.append(bytes)
with lowland.config(threads=1):
    rank_curves.curve_of(sides(X[:3000], X[:3000, :2]), 20)  # imports warm
    both = sides(X, X[:, :2])
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    rank_curves.curve_of(both, 4)
print(json.dumps({"asked": asked[-1], "measured": status("VmHWM") - before}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the highest memory of a process is read as Linux tells it")
@pytest.mark.parametrize("kind", ["tied", pytest.param("plain", marks=pytest.mark.slow)])
def test_sorting_takes_the_memory_it_asks_for(kind):
    done = subprocess.run([sys.executable, "-c", MEASURED, kind], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert 0.3 * found["asked"] < found["measured"] < found["asked"]


def test_ranks_share_their_places():
    tied = Ranks(np.array([2]), np.array([4]))  # ranks 3, 4, 5, 6
    assert tied.among(4) == 0.5
    assert tied.beyond(4) == (1 + 2) / 4
    assert tied.beyond(2) == (1 + 2 + 3 + 4) / 4
    assert tied.beyond(6) == 0
    alone = Ranks(np.array([7]), np.array([1]))
    assert (alone.among(7), alone.among(8), alone.beyond(5), alone.beyond(8)) == (0, 1, 3, 0)


@pytest.mark.parametrize("n", [3, 500, 5000])
@pytest.mark.parametrize("kind", ["plain", "one far away", "equal", "few values", "infinite", "tiny", "both signs"])
def test_sorting_by_digits(n, kind, rng):
    """Values whose range leaves no digits to most of them, or that cannot be scaled, are sorted all the same."""
    V = {
        "plain": rng.random((3, n)),
        "one far away": np.where(np.arange(n) == 1, 1e300, rng.random((3, n))),
        "equal": np.ones((3, n)),
        "few values": rng.integers(0, 5, (3, n)).astype(float),
        "infinite": np.where(rng.random((3, n)) < 0.1, np.inf, rng.random((3, n))),
        "tiny": rng.integers(0, 9, (3, n)) * 5e-324,
        "both signs": rng.choice([-1e308, 1e308, 0.0], (3, n)),
    }[kind]
    own = np.array([0, n - 1, n // 2])
    order, joined = np.empty((3, n - 1), dtype=np.int32), np.empty((3, n - 1), dtype=bool)
    ranks_loops.sort_rows(V, np.zeros((3, n)), -np.inf, own, order, joined)
    for i in range(3):
        assert sorted([*order[i].tolist(), own[i]]) == list(range(n))
        line = V[i, order[i]]
        assert (line[1:] >= line[:-1]).all()
        np.testing.assert_array_equal(joined[i, 1:], line[1:] == line[:-1])


def test_an_anchor_is_no_neighbour_of_its_own(rng):
    X = np.repeat(rng.standard_normal((5, 2)), 2, axis=0)
    side = sides(X, X).data
    found = Sorted(side, np.arange(10)).ranks
    assert (np.diag(found.equal) == 0).all()
    assert (found.less[np.arange(10), np.arange(10) ^ 1] == 0).all()  # its twin comes first
    assert ((found.equal > 0).sum(axis=1) == 9).all()
