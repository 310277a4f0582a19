"""Rank measures against their definitions, all orders of ties, chance, scikit-learn and zadu; samples and groups."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

import lowland
from lowland.measure import Measure
from lowland.quality.anchors import choose
from lowland.quality.rank_curves import RnxCurve, coranking, rnx_curve
from lowland.quality.rank_measures import (
    MEASURES,
    at_chance,
    continuity,
    from_table,
    lcmc,
    neighborhood_overlap,
    trustworthiness,
    worst_ranks,
)
from lowland.quality.ranks import rank_table
from lowland.quality.spaces import sides

FUNCTIONS = {
    "trustworthiness": trustworthiness,
    "continuity": continuity,
    "neighborhood_overlap": neighborhood_overlap,
    "lcmc": lcmc,
}


def order_of(D, i):
    return sorted((j for j in range(len(D)) if j != i), key=lambda j: D[i][j])


def plain(data, map, k):
    """Return the four measures from orders of neighbours, written out as they are defined."""
    n = len(data)
    lost = torn = shared = 0
    for i in range(n):
        ranks, places = ({j: r for r, j in enumerate(side[i], start=1)} for side in (data, map))
        lost += sum(ranks[j] - k for j in map[i][:k] if ranks[j] > k)
        torn += sum(places[j] - k for j in data[i][:k] if places[j] > k)
        shared += len(set(data[i][:k]) & set(map[i][:k]))
    most = n * k * (2 * n - 3 * k - 1) if k < n / 2 else n * (n - k) * (n - k - 1)
    overlap = shared / (k * n)
    return {
        "trustworthiness": 1 - 2 * lost / most,
        "continuity": 1 - 2 * torn / most,
        "neighborhood_overlap": overlap,
        "lcmc": overlap - k / (n - 1),
    }


def worst_possible(n, k):
    """Return the largest loss of one point over all places that k neighbours can have."""
    return max(sum(max(0, r - k) for r in chosen) for chosen in itertools.combinations(range(1, n), k))


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((120, 6))
    return X, X[:, :2] + 0.3 * rng.standard_normal((120, 2))


# -- definitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 10, 59, 60, 61, 100, 118])
def test_values_are_the_definitions(k, pair):
    X, Y = pair
    D, E = cdist(X, X), cdist(Y, Y)
    want = plain([order_of(D, i) for i in range(120)], [order_of(E, i) for i in range(120)], k)
    for name, function in FUNCTIONS.items():
        got = function(X, Y, k)
        assert got == pytest.approx(want[name], abs=1e-12), name
        assert (got.low, got.high, got.exact) == (float(got), float(got), True)


@pytest.mark.parametrize("n", [3, 4, 7, 8])
def test_the_worst_map_scores_zero(n):
    for k in range(1, n - 1):
        assert worst_ranks(n, k) == worst_possible(n, k)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_scikit_learn_agrees(metric, k, pair):
    X, Y = pair
    want = sklearn_trustworthiness(X, Y, n_neighbors=k, metric=metric)
    assert trustworthiness(X, Y, k, metric=metric) == pytest.approx(want, abs=1e-12)


def test_zadu_agrees(pair):
    missing = "zadu is not installed: this check did NOT run"
    both = pytest.importorskip("zadu.measures.trustworthiness_continuity", reason=missing)
    criterion = pytest.importorskip("zadu.measures.local_continuity_meta_criteria", reason=missing)
    X, Y = pair
    found = both.measure(X, Y, k=7)
    assert trustworthiness(X, Y, 7) == pytest.approx(found["trustworthiness"], abs=1e-12)
    assert continuity(X, Y, 7) == pytest.approx(found["continuity"], abs=1e-12)
    assert lcmc(X, Y, 7) == pytest.approx(criterion.measure(X, Y, k=7)["lcmc"], abs=1e-12)


def test_the_identity_is_perfect(pair):
    X, _ = pair
    for k in (1, 10, 118):
        values = [trustworthiness(X, X, k), continuity(X, X, k), neighborhood_overlap(X, X, k)]
        assert values == [1.0, 1.0, 1.0]
        assert lcmc(X, X, k) == pytest.approx(1 - k / 119, abs=1e-15)
    turned = np.linalg.qr(np.random.default_rng(3).standard_normal((6, 6)))[0]
    assert trustworthiness(X, 5 + X @ turned / 7) == 1.0
    curve = rnx_curve(X, X)
    np.testing.assert_allclose(curve.values, 1.0, rtol=1e-13)
    assert curve.auc == pytest.approx(1.0, abs=1e-13)


# -- ties -------------------------------------------------------------------------------------------------


def tie_orders(D, i):
    """Return all orders of the others that the distances allow."""
    others = order_of(D, i)
    blocks = [list(block) for _, block in itertools.groupby(others, key=lambda j: D[i][j])]
    return [
        list(itertools.chain(*choice)) for choice in itertools.product(*(itertools.permutations(b) for b in blocks))
    ]


TIED = {
    "a line of equal steps": ([[0.0], [1.0], [2.0], [3.0], [4.0]], [[0.0], [0.0], [1.0], [3.0], [3.0]]),
    "equal rows": ([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [2.0, 1.0], [5.0, 0.0]], [[0.0], [4.0], [9.0], [1.0], [1.0]]),
    "a square": ([[0, 0], [0, 1], [1, 0], [1, 1], [3, 3.0]], [[0.0], [1.0], [5.0], [7.0], [2.0]]),
    "no ties in the data": ([[0.0], [1.0], [2.5], [4.5], [9.0]], [[1.0], [1.0], [1.0], [2.0], [1.0]]),
}


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_ties_are_the_mean_over_all_orders(name, k):
    """Orders are drawn for each point and side by itself, so the mean over all is the mean of each point's."""
    X, Y = (np.array(side, dtype=float) for side in TIED[name])
    n = len(X)
    D, E = cdist(X, X), cdist(Y, Y)
    means, lows, highs = (dict.fromkeys(FUNCTIONS, 0.0) for _ in range(3))
    for i in range(n):
        found = []
        for a, b in itertools.product(tie_orders(D, i), tie_orders(E, i)):
            # a point's part of the measure: that of a set in which all others are perfect
            data = [order_of(D, h) for h in range(n)]
            map = [list(order) for order in data]
            data[i], map[i] = a, b
            found.append(plain(data, map, k))
        for m in FUNCTIONS:
            rest = (n - 1) / n * plain(data := [order_of(D, h) for h in range(n)], data, k)[m]
            parts = [one[m] - rest for one in found]
            means[m] += math.fsum(parts) / len(parts)
            lows[m] += min(parts)
            highs[m] += max(parts)
    for m, function in FUNCTIONS.items():
        got = function(X, Y, k)
        assert got == pytest.approx(means[m], abs=1e-12), m
        assert lows[m] - 1e-12 <= got <= highs[m] + 1e-12
    assert k == 3 or any(highs[m] > lows[m] for m in FUNCTIONS)  # the orders matter


def test_the_order_of_the_rows_does_not_change_a_bit(rng):
    X = rng.integers(0, 4, (150, 3)).astype(float)
    Y = rng.integers(0, 3, (150, 2)).astype(float)
    curve = rnx_curve(X, Y)
    for _ in range(3):
        order = rng.permutation(150)
        for name, function in FUNCTIONS.items():
            assert float(function(X[order], Y[order], 6)) == float(function(X, Y, 6)), name
        again = rnx_curve(X[order], Y[order])
        np.testing.assert_allclose(again.values, curve.values, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(coranking(X[order], Y[order]), coranking(X, Y), rtol=1e-12, atol=1e-12)


# -- chance -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 10, 300, 450])
def test_chance_is_the_mean_over_all_maps(k):
    """By brute force: the mean loss of a neighbour whose rank is any of 1, …, N − 1."""
    n = 500
    loss = np.maximum(0, np.arange(1, n) - k).mean() * k
    assert at_chance("trustworthiness", n, k) == pytest.approx(1 - loss / worst_ranks(n, k), abs=1e-12)
    assert at_chance("neighborhood_overlap", n, k) == k / (n - 1)
    assert at_chance("lcmc", n, k) == 0.0


@pytest.mark.parametrize("kind", ["random map", "permuted rows"])
def test_maps_by_chance_score_at_chance(kind, rng):
    """Within four standard errors over ten maps, each of which says nothing about the data."""
    X = rng.standard_normal((300, 8))
    found = {name: [] for name in MEASURES}
    areas = []
    for _ in range(10):
        Y = rng.standard_normal((300, 2)) if kind == "random map" else X[rng.permutation(300), :2]
        table = rank_table(sides(X, Y), 12)
        for name in MEASURES:
            found[name].append(from_table(name, table))
        areas.append(rnx_curve(X, Y).auc)
    for name, values in found.items():
        error = np.std(values, ddof=1) / np.sqrt(10)
        assert abs(np.mean(values) - at_chance(name, 300, 12)) < 4 * error, name
        assert error < 0.01
    assert abs(np.mean(areas)) < 4 * np.std(areas, ddof=1) / np.sqrt(10)
    assert np.std(areas) < 0.01


# -- all sizes --------------------------------------------------------------------------------------------


def test_coranking_identities(pair, rng):
    X, Y = pair
    Q = coranking(X, Y)
    assert Q.shape == (119, 119)
    np.testing.assert_array_equal(Q.sum(axis=0), 120)
    np.testing.assert_array_equal(Q.sum(axis=1), 120)
    np.testing.assert_array_equal(coranking(Y, X), Q.T)
    np.testing.assert_array_equal(coranking(X, X), 120 * np.eye(119))
    np.testing.assert_array_equal(coranking(X, Y, largest=17), Q[:17, :17])
    r = np.arange(1, 120)
    for k in (1, 9, 70):
        lost = (Q[k:, :k] * (r[k:, None] - k)).sum()
        torn = (Q[:k, k:] * (r[k:] - k)).sum()
        assert trustworthiness(X, Y, k) == pytest.approx(1 - lost / (120 * worst_ranks(120, k)), abs=1e-12)
        assert continuity(X, Y, k) == pytest.approx(1 - torn / (120 * worst_ranks(120, k)), abs=1e-12)
        assert neighborhood_overlap(X, Y, k) == pytest.approx(Q[:k, :k].sum() / (120 * k), abs=1e-12)


def test_coranking_spreads_ties_over_their_ranks(rng):
    X = rng.integers(0, 3, (70, 3)).astype(float)
    Y = rng.integers(0, 2, (70, 2)).astype(float)
    Q = coranking(X, Y)
    np.testing.assert_allclose(Q.sum(axis=0), 70, rtol=1e-12)
    np.testing.assert_allclose(Q.sum(axis=1), 70, rtol=1e-12)
    np.testing.assert_allclose(coranking(X, Y, largest=11), Q[:11, :11], rtol=1e-12)
    r = np.arange(1, 70)
    for k in (1, 5, 40):
        lost = (Q[k:, :k] * (r[k:, None] - k)).sum()
        assert trustworthiness(X, Y, k) == pytest.approx(1 - lost / (70 * worst_ranks(70, k)), abs=1e-12)
        assert neighborhood_overlap(X, Y, k) == pytest.approx(Q[:k, :k].sum() / (70 * k), abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_the_curve_follows_from_coranks(tied, pair, rng):
    X, Y = (rng.integers(0, 3, (120, 2)).astype(float) for _ in range(2)) if tied else pair
    Q, n = coranking(X, Y), 120
    K = np.arange(1, n - 1)
    kept = np.array([Q[:k, :k].sum() / (k * n) for k in K])
    want = ((n - 1) * kept - K) / (n - 1 - K)
    curve = rnx_curve(X, Y)
    assert isinstance(curve, RnxCurve)
    np.testing.assert_array_equal(curve.k, K)
    np.testing.assert_allclose(curve.values, want, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(curve.low, curve.values)
    assert curve.auc == pytest.approx((want / K).sum() / (1 / K).sum(), abs=1e-13)
    assert curve.best == K[want.argmax()]


def test_fewer_sizes_of_a_larger_set_give_the_same_curve(rng, monkeypatch):
    X = rng.standard_normal((1200, 5))
    Y = X[:, :2] + 0.1 * rng.standard_normal((1200, 2))
    few = rnx_curve(X, Y)
    monkeypatch.setattr("lowland.quality.rank_curves._ALL_SIZES", 5000)
    all = rnx_curve(X, Y)
    assert len(few.k) < 130
    assert (few.k[0], few.k[-1], len(all.k)) == (1, 1198, 1198)
    np.testing.assert_array_equal(few.values, all.values[few.k - 1])
    assert few.auc == pytest.approx(all.auc, abs=2e-4)


# -- samples and groups -----------------------------------------------------------------------------------


def test_a_sample_holds_the_value_in_its_interval(rng):
    """Of 100 samples of 200 anchors about 95 should; 88 is what chance falls below once in 500."""
    X = rng.standard_normal((2000, 5))
    Y = X[:, :2]
    whole = {name: f(X, Y, 5) for name, f in FUNCTIONS.items()}
    auc = rnx_curve(X, Y, anchors=None).auc
    held = dict.fromkeys([*FUNCTIONS, "auc"], 0)
    table = rank_table(sides(X, Y), 5)
    full = {name: getattr(table, name) for name in ("false_ranks", "missing_ranks", "shared")}
    for seed in range(100):
        chosen = choose(2000, 200, seed)
        some = replace(table, anchors=chosen, **{name: values[chosen.numbers] for name, values in full.items()})
        for name in FUNCTIONS:
            got = from_table(name, some)
            assert not got.exact
            held[name] += got.low <= whole[name] <= got.high
    for seed in range(0, 100, 10):
        got = rnx_curve(X, Y, anchors=200, random_state=seed).auc
        held["auc"] += got.low <= auc <= got.high
    assert held.pop("auc") >= 7
    assert min(held.values()) >= 88


def test_samples_are_seeded(rng):
    X = rng.standard_normal((600, 4))
    first, second = (trustworthiness(X, X[:, :2], anchors=80, random_state=s) for s in (None, 0))
    assert (float(first), first.low, first.high) == (float(second), second.low, second.high)
    assert float(trustworthiness(X, X[:, :2], anchors=80, random_state=1)) != float(first)
    assert trustworthiness(X, X[:, :2], anchors=600).exact
    assert trustworthiness(X, X[:, :2], anchors=601).exact


def test_strays_that_a_small_sample_misses_are_in_its_interval(rng):
    """One point in fifty is a stray: most samples of 30 show none, and their spread alone would be sure of itself."""
    point = np.where(rng.random(5000) < 0.02, 0.5, 1 - 1e-4 * rng.random(5000))
    held = 0
    for seed in range(200):
        chosen = choose(5000, 30, seed)
        got = chosen.mean(point[chosen.numbers])
        held += got.low <= point.mean() <= got.high
    assert held >= 190


def test_groups_are_means_over_their_points(rng):
    X = rng.standard_normal((400, 5))
    Y = X[:, :2].copy()
    groups = np.array(["a", "b", "b", "b"])[rng.integers(0, 4, 400)]
    Y[groups == "a"] = rng.standard_normal(((groups == "a").sum(), 2))
    table = rank_table(sides(X, Y), 10)
    got = trustworthiness(X, Y, groups=groups)
    point = 1 - table.false_ranks / worst_ranks(400, 10)
    assert set(got.groups) == {"a", "b"}
    for name, value in got.groups.items():
        assert value == pytest.approx(point[groups == name].mean(), abs=1e-14)
        assert value.exact
    assert float(got) == float(trustworthiness(X, Y))
    assert got.groups["a"] < got < got.groups["b"]


def test_rare_groups_are_sampled_and_the_total_is_weighted(rng):
    """A group of 50 among 3,000 gets 30 anchors, ten times its share; the total must not lean towards it."""
    X = rng.standard_normal((3000, 5))
    Y = X[:, :2].copy()
    groups = np.zeros(3000, dtype=int)
    groups[rng.permutation(3000)[:50]] = 1
    tiny = rng.permutation(np.flatnonzero(groups == 0))[:7]
    groups[tiny] = 2
    Y[groups == 1] = rng.standard_normal((50, 2))
    whole = trustworthiness(X, Y, groups=groups)
    got = trustworthiness(X, Y, anchors=300, groups=groups)
    table = rank_table(sides(X, Y), 10, anchors=300, groups=groups)
    assert np.bincount(table.anchors.strata).tolist() == [295, 30, 7]
    assert got.groups[2].exact
    assert float(got.groups[2]) == float(whole.groups[2])
    assert got.low <= whole <= got.high
    assert got.groups[1].low <= whole.groups[1] <= got.groups[1].high
    assert got.groups[1].high - got.groups[1].low > got.high - got.low


def test_points_without_a_label_count_in_the_total_alone(rng):
    X = rng.standard_normal((200, 5))
    groups = ["a", None, float("nan"), "b"] * 50
    got = trustworthiness(X, X[:, :2], groups=groups)
    assert set(got.groups) == {"a", "b"}
    assert float(got) == float(trustworthiness(X, X[:, :2]))
    sampled = trustworthiness(X, X[:, :2], anchors=100, groups=groups)
    assert sampled.low <= got <= sampled.high


def test_a_sample_of_every_second_point_is_surer(rng):
    """The correction for a finite set: of 1,000 points 990 are known, so little is left open."""
    point = rng.random(1000)
    most, few = (choose(1000, m, 0) for m in (990, 100))
    widths = [c.mean(point[c.numbers]).high - c.mean(point[c.numbers]).low for c in (most, few)]
    expected = np.sqrt((1 - 0.99) / 990) / np.sqrt((1 - 0.1) / 100)
    assert widths[0] / widths[1] == pytest.approx(expected, rel=0.15)


def test_a_sample_without_spread_still_doubts(rng):
    """Thirty perfect anchors do not show that all points are: up to one in ten may not be (rule of three)."""
    X = rng.standard_normal((1000, 2))
    got = trustworthiness(X, X, anchors=30)
    assert (float(got), got.high, got.exact) == (1.0, 1.0, False)
    assert got.low == pytest.approx(1 - 3 / 30 * (1 - 30 / 1000))


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_bad_input(function, rng):
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    with pytest.raises(lowland.DataError, match="20 rows and Y has 19"):
        function(X, Y[:19])
    for k in (19, 20, 500):
        with pytest.raises(lowland.DataError, match=f"n_neighbors={k} .* largest allowed is 18"):
            function(X, Y, k)
    for k in (0, -1, 2.5, True, "5"):
        with pytest.raises(ValueError, match="n_neighbors must be a whole number"):
            function(X, Y, k)
    Y[3, 1] = np.nan
    with pytest.raises(lowland.DataError, match="row 3"):
        function(X, Y)
    with pytest.raises(lowland.DataError, match="one place"):
        function(X, np.ones((20, 2)))
    with pytest.raises(lowland.DataError, match="square"):
        function(X, X[:, :2], metric="precomputed")


@pytest.mark.parametrize("anchors", [0, 1, -3, 2.5, True, "all"])
def test_bad_anchors(anchors, rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="anchors must be"):
        trustworthiness(X, X, 5, anchors=anchors)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_bad_seeds(seed, rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="random_state must be"):
        trustworthiness(X, X, 5, anchors=10, random_state=seed)


def test_bad_groups(rng):
    X = rng.standard_normal((3000, 3))
    with pytest.raises(lowland.DataError, match="7 labels for 3000 points"):
        trustworthiness(X, X, groups=["a"] * 7)
    with pytest.raises(lowland.DataError, match="none of the 3000 points has a label"):
        trustworthiness(X, X, groups=[None] * 3000)
    with pytest.raises(lowland.DataError, match="3000 groups of 3000 points are too many"):
        trustworthiness(X, X, anchors=100, groups=range(3000))


@pytest.mark.parametrize("largest", [0, 20, 1.5, True])
def test_bad_largest_rank(largest, rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="between 1 and 19"):
        coranking(X, X, largest)


def test_coranking_that_does_not_fit_is_refused(rng):
    X = rng.standard_normal((5000, 3))
    with lowland.config(memory_limit="100MB"), pytest.raises(lowland.MemoryLimitError, match="largest="):
        coranking(X, X)


def test_labels_of_all_kinds(rng):
    X = rng.standard_normal((30, 3))
    got = trustworthiness(X, X[:, :2], 5, groups=[1, "x", 2.5] * 10)
    assert set(got.groups) == {1, "x", 2.5}
    assert all(isinstance(part, Measure) for part in got.groups.values())
    pd = pytest.importorskip("pandas")
    assert set(trustworthiness(X, X[:, :2], 5, groups=pd.Series(["u", "v"] * 15)).groups) == {"u", "v"}
