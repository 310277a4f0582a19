"""Rank measures against their definitions, all orders of ties, chance, scikit-learn, zadu and pyDRMetrics."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

import lowland
from lowland.quality.rank_curves import coranking, rnx_curve
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

FUNCTIONS = {name: getattr(lowland.quality, name) for name in MEASURES}


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


def waves(n):
    """Return data and a map that need no generator: the same numbers for every package and version."""
    i, j = np.arange(float(n))[:, None], np.arange(4.0)
    X = np.sin(1.3 * i * (j + 1) + j * j)
    return X, X[:, :2] + 0.4 * np.cos(0.7 * i * (j[:2] + 2))


# zadu 0.5.4: zadu.measures.trustworthiness_continuity.measure(X, Y, k=k), and local_continuity_meta_criteria likewise;
# X, Y = waves(30). The package needs hdbscan, so it is asked by benchmarks.trust only.
ZADU = {
    3: {"trustworthiness": 0.7622222222222222, "continuity": 0.8577777777777776, "lcmc": 0.28544061302681994},
    7: {"trustworthiness": 0.7892230576441104, "continuity": 0.7977443609022558, "lcmc": 0.27290640394088667},
}

# pyDRMetrics 0.0.8: DRMetrics(X, Y).Q[1:, 1:], X, Y = waves(12). Its other values count a point as its own neighbour.
PYDRMETRICS = [
    [9, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0],
    [1, 2, 3, 2, 0, 0, 0, 3, 0, 1, 0],
    [0, 1, 3, 3, 1, 2, 2, 0, 0, 0, 0],
    [1, 2, 2, 2, 1, 1, 1, 0, 2, 0, 0],
    [0, 0, 0, 2, 4, 3, 1, 2, 0, 0, 0],
    [0, 2, 3, 1, 1, 1, 0, 1, 0, 3, 0],
    [1, 1, 1, 0, 0, 0, 2, 1, 2, 3, 1],
    [0, 1, 0, 0, 3, 3, 2, 0, 1, 0, 2],
    [0, 0, 0, 1, 1, 0, 1, 1, 1, 2, 5],
    [0, 2, 0, 0, 1, 0, 3, 3, 1, 0, 2],
    [0, 0, 0, 0, 0, 2, 0, 1, 4, 3, 2],
]


@pytest.mark.parametrize("k", ZADU)
def test_zadu_agrees(k):
    for name, value in ZADU[k].items():
        assert FUNCTIONS[name](*waves(30), k) == pytest.approx(value, abs=1e-12), name


def test_pydrmetrics_agrees():
    np.testing.assert_array_equal(coranking(*waves(12)), PYDRMETRICS)


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


def test_the_formula_of_chance_in_the_text_is_the_one_used():
    text = re.search(r"random map scores (.*?) for k < N/2", trustworthiness.__doc__)[1]
    formula = re.sub(r"(?<=\d)(?=[Nk])", "*", text.replace("−", "-").replace(")(", ")*("))
    for N, k in ((20, 3), (500, 100), (1000, 499)):
        assert eval(formula, {"N": N, "k": k}) == pytest.approx(at_chance("continuity", N, k), abs=1e-12)


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
    with pytest.raises(lowland.DataError, match="are equal"):
        function(X, np.ones((20, 2)))
    with pytest.raises(lowland.DataError, match="square"):
        function(X, X[:, :2], metric="precomputed")
