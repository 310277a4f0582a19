"""Measures on pairs: the definitions, what they cannot be changed by, drawn pairs and their intervals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr
from sklearn.isotonic import IsotonicRegression

import lowland
from lowland import quality
from lowland.methods.distance.order_stress import OrderStress, levels
from lowland.quality.contrast import contrast_of
from lowland.quality.pair_values import scaled_sammon
from lowland.quality.pairs import ALL_ORDERED, PairTable, Pilot, pair_sums
from lowland.quality.spaces import one_side, sides

MEASURES = {
    "stress": quality.kruskal_stress,
    "plain stress": lambda X, Y, **more: quality.kruskal_stress(X, Y, scale=False, **more),
    "monotone stress": lambda X, Y, **more: quality.kruskal_stress(X, Y, monotone=True, **more),
    "sammon": quality.sammon_stress,
    "plain sammon": lambda X, Y, **more: quality.sammon_stress(X, Y, scale=False, **more),
    "pearson": quality.distance_correlation,
    "spearman": lambda X, Y, **more: quality.distance_correlation(X, Y, kind="spearman", **more),
    "residual variance": quality.residual_variance,
    "error": quality.distance_error,
    "absolute error": lambda X, Y, **more: quality.distance_error(X, Y, absolute=True, **more),
}


def by_definition(delta, d):
    b, c = (d @ delta) / (delta @ delta), d.sum() / (d * d / delta).sum()
    hat = IsotonicRegression().fit(delta, d).predict(delta)
    r = pearsonr(delta, d)[0]
    return {
        "stress": np.sqrt(((d - b * delta) ** 2).sum() / (d @ d)),
        "plain stress": np.sqrt(((d - delta) ** 2).sum() / (d @ d)),
        "monotone stress": np.sqrt(((d - hat) ** 2).sum() / (d @ d)),
        "sammon": ((delta - c * d) ** 2 / delta).sum() / delta.sum(),
        "plain sammon": ((delta - d) ** 2 / delta).sum() / delta.sum(),
        "pearson": r,
        "spearman": spearmanr(delta, d)[0],
        "residual variance": 1 - r * r,
        "error": (delta - d).mean(),
        "absolute error": np.abs(delta - d).mean(),
    }


@pytest.fixture
def cloud(rng):
    X = rng.normal(size=(150, 5)) * [3.0, 2.0, 1.0, 1.0, 0.5]
    return X, X[:, :2] * [1.0, 0.7] + 0.1 * rng.normal(size=(150, 2))


def test_the_definitions(cloud):
    X, Y = cloud
    expected = by_definition(pdist(X), pdist(Y))
    for name, measure in MEASURES.items():
        found = measure(X, Y)
        assert found == pytest.approx(expected[name], rel=1e-12, abs=1e-14), name
        assert found.exact
        assert found.low == found == found.high


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "correlation", "sqeuclidean", "chebyshev"])
def test_other_metrics(cloud, metric):
    X, Y = cloud
    expected = by_definition(pdist(X, metric), pdist(Y))
    for name, measure in MEASURES.items():
        assert measure(X, Y, metric=metric) == pytest.approx(expected[name], rel=1e-9), name


def test_rows_sparse_rows_distances_and_objects_agree(cloud):
    X, Y = cloud
    X[np.abs(X) < 0.5] = 0.0
    square = squareform(pdist(X))
    for name, measure in MEASURES.items():
        value = measure(X, Y)
        assert measure(sp.csr_array(X), Y) == pytest.approx(value, rel=1e-10), name
        assert measure(square, Y, metric="precomputed") == pytest.approx(value, rel=1e-10), name
    words = ["cat", "cart", "dog", "do", "art", "tart"]
    lengths = np.array([[len(word)] for word in words], dtype=float)
    found = quality.distance_correlation(words, lengths, metric=lambda a, b: abs(len(a) - len(b)))
    assert found == pytest.approx(1.0, abs=1e-12)


def test_a_map_that_is_right_scores_perfectly(rng):
    X = rng.normal(size=(80, 4)) + 1e6  # far from zero, where products lose digits
    turned = 7.0 * X @ np.linalg.qr(rng.normal(size=(4, 4)))[0] - 3.0
    assert quality.kruskal_stress(X, turned) < 1e-8
    assert quality.kruskal_stress(X, X) == 0
    assert quality.sammon_stress(X, X, scale=False) == 0
    assert quality.distance_error(X, X) == 0
    assert quality.residual_variance(X, turned) < 1e-15
    assert quality.distance_correlation(X, turned, kind="spearman") > 1 - 1e-9


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_units_at_the_ends_of_the_range(cloud, unit):
    X, Y = cloud
    for name, measure in MEASURES.items():
        whole = unit if "error" in name else 1.0
        assert measure(unit * X, unit * Y) / whole == pytest.approx(measure(X, Y), rel=1e-9), name


def test_a_map_by_chance_scores_at_chance(rng):
    X, Y = rng.normal(size=(400, 3)), rng.normal(size=(400, 2))
    assert abs(quality.distance_correlation(X, Y)) < 0.05
    assert abs(quality.distance_correlation(X, X[rng.permutation(400)], kind="spearman")) < 0.05
    assert quality.residual_variance(X, Y) > 0.99


def test_neither_order_nor_unit_nor_threads_change_a_value(cloud, rng):
    X, Y = cloud
    new = rng.permutation(len(X))
    for name, measure in MEASURES.items():
        value = measure(X, Y)
        assert measure(X[new], Y[new]) == pytest.approx(value, rel=1e-11), name
        with lowland.config(threads=1):
            alone = measure(X, Y, pairs=2000)
        with lowland.config(threads=3):
            assert measure(X, Y, pairs=2000) == alone, name
        if "plain" not in name and "error" not in name:
            assert measure(X, 1000 * Y) == pytest.approx(value, rel=1e-9), name


def test_ties_share_the_mean_of_their_ranks(rng):
    grid = np.array([[i, j] for i in range(7) for j in range(7)], dtype=float)
    Y = 0.1 * grid[:, :1] + 0.01 * grid[:, 1:]
    delta, d = pdist(grid), np.round(pdist(Y), 9)  # decimal steps are ties up to rounding
    assert quality.distance_correlation(grid, Y, kind="spearman") == pytest.approx(spearmanr(delta, d)[0], abs=1e-12)
    order = np.lexsort((d, delta))
    hat = IsotonicRegression().fit(np.arange(len(d)), d[order]).predict(np.arange(len(d)))
    primary = np.sqrt(((d[order] - hat) ** 2).sum() / (d @ d))
    assert quality.kruskal_stress(grid, Y, monotone=True) == pytest.approx(primary, rel=1e-9)


def test_one_far_point_does_not_tie_the_others(rng):
    X, Y = rng.normal(size=(150, 4)), rng.normal(size=(150, 2))
    X[0] = Y[0] = 1e10
    expected = by_definition(pdist(X), pdist(Y))
    assert abs(expected["spearman"]) < 0.1
    for name in ("spearman", "monotone stress"):
        assert MEASURES[name](X, Y) == pytest.approx(expected[name], rel=1e-5, abs=0), name
    stress = OrderStress(squareform(pdist(X)), "primary")
    assert len(np.unique(stress.level)) > 0.99 * len(stress.level)


def test_near_ties_do_not_chain():
    steps = 1.0 + 4e-13 * np.arange(300)  # each a tie with the next two, and not with the others
    found = levels(steps)
    assert found[-1] == 99
    assert (np.bincount(found) == 3).all()
    assert levels(np.array([0.0, 0.0, 1e-300, 2.0, 2.0 + 1e-13])).tolist() == [0, 0, 1, 2, 2]


def test_a_map_that_piles_up_all_points_but_one_has_every_measure(rng):
    """Some pairs, which steady the sums, may then show no distance in the map at all."""
    n, unit = 2500, 1e-9
    X, Y = rng.normal(size=(n, 3)), np.zeros((n, 2))
    some = np.random.default_rng(0)
    i, j = some.integers(n, size=2000), some.integers(n - 1, size=2000)
    apart = np.setdiff1d(np.arange(n), np.concatenate([i, j + (j >= i)]))[0]
    Y[apart] = unit
    delta = np.linalg.norm(X - X[apart], axis=1)
    delta, d, total = np.delete(delta, apart), np.sqrt(2) * unit * np.ones(n - 1), pdist(X).sum()
    c = d.sum() / (d * d / delta).sum()
    expected = 1 + (c * c * d * d / delta - 2 * c * d).sum() / total
    assert PairTable(sides(X, Y)).pilot.slope == pytest.approx(unit, rel=1)
    assert quality.sammon_stress(X, Y) == pytest.approx(expected, rel=1e-9)
    assert quality.kruskal_stress(X, Y) > 0.99


def test_a_map_without_distances_is_not_perfect():
    """Every scale then leaves all of δ, as may happen to the pairs of one group."""
    pilot = Pilot(2.0, 0.5)
    sums = pair_sums(np.array([[1.0, 2.0, 4.0]]), np.zeros((1, 3)), pilot)[0]
    assert scaled_sammon(sums, pilot) == 1
    assert np.isnan(scaled_sammon(np.zeros(9), pilot))


def test_equal_rows_have_no_weight_in_sammons_stress(cloud):
    X, Y = cloud
    X[1] = X[0]
    delta, d = pdist(X), pdist(Y)
    apart = delta > 0
    expected = ((delta - d)[apart] ** 2 / delta[apart]).sum() / delta.sum()
    assert quality.sammon_stress(X, Y, scale=False) == pytest.approx(expected, rel=1e-12)


def test_groups_are_pairs_that_begin_in_them(cloud):
    X, Y = cloud
    groups = np.array(["a", "b", "b"] * 50, dtype=object)
    groups[7] = None
    delta, d = squareform(pdist(X)), squareform(pdist(Y))
    off = ~np.eye(len(X), dtype=bool)
    for name, measure in MEASURES.items():
        found = measure(X, Y, groups=groups)
        assert found == pytest.approx(measure(X, Y), rel=1e-13)
        assert set(found.groups) == {"a", "b"}
        for group in "ab":
            begin = off & (groups == group)[:, None]
            expected = by_definition(delta[begin], d[begin])[name]
            assert found.groups[group] == pytest.approx(expected, rel=1e-9), name


def test_drawn_pairs_of_any_metric_estimate_all(rng):
    X = rng.normal(size=(600, 6)) * [3, 2, 1, 1, 1, 1]
    Y = X[:, :2]
    for metric in ("euclidean", "cityblock"):
        for name, measure in MEASURES.items():
            whole = measure(X, Y, metric=metric, pairs=None)
            drawn = measure(X, Y, metric=metric, pairs=100_000, groups=np.arange(600) % 2)
            assert not drawn.exact
            assert whole.exact
            half = drawn.high - drawn.low
            assert half > 0, name
            assert drawn.low - half < whole < drawn.high + half, name
            assert all(not part.exact and part.low < part < part.high for part in drawn.groups.values()), name


def test_the_same_seed_gives_the_same_draw(cloud):
    X, Y = cloud
    one, two, other = (quality.kruskal_stress(X, Y, pairs=1000, random_state=seed) for seed in (3, 3, 4))
    assert one == two
    assert (one.low, one.high) == (two.low, two.high)
    assert one != other


def test_more_points_than_can_be_sorted_are_drawn(rng):
    X = rng.normal(size=(ALL_ORDERED + 1, 3))
    both = sides(X, X[:, :2])
    table = PairTable(both)
    assert table.everything(10_000)
    assert not table.everything(ALL_ORDERED)
    assert quality.kruskal_stress(X, X[:, :2]).exact
    found = quality.distance_correlation(X, X[:, :2], kind="spearman")
    assert not found.exact
    assert found.high - found.low < 0.01


def test_distance_error_of_kernel_pca_is_what_its_projection_loses(rng):
    X = rng.normal(size=(60, 3))
    K = np.exp(-0.5 * squareform(pdist(X)) ** 2)
    D = np.sqrt(np.maximum(0.0, 2 - 2 * K))
    losses = []
    for k in (1, 3, 59):
        Y = lowland.KernelPCA(n_components=k, kernel="precomputed").fit_transform(K)
        losses.append(quality.distance_error(D, Y, metric="precomputed"))
        assert quality.distance_error(D, Y, metric="precomputed", absolute=True) == pytest.approx(losses[-1], abs=1e-9)
    assert losses[0] > losses[1] > losses[2] > -1e-9
    assert losses[2] == pytest.approx(0, abs=1e-6)


def test_shepard_shows_pairs_and_the_line(cloud):
    X, Y = (rows[:120] for rows in cloud)  # 7,140 pairs: all of them are shown
    found = quality.shepard(X, Y)
    assert np.allclose(np.sort(found.data_distances), np.sort(pdist(X)))
    assert (np.diff(found.fit_x) >= 0).all()
    assert (np.diff(found.fit_y) >= 0).all()
    hat = IsotonicRegression().fit(pdist(X), pdist(Y)).predict(pdist(X))
    assert np.allclose(np.interp(pdist(X), found.fit_x, found.fit_y), hat)
    assert found.stress == quality.kruskal_stress(X, Y, monotone=True)
    assert found.figure().axes[0].get_xlabel() == "distance in the data"


def test_shepard_compares_and_sorts_pairs_once(cloud, monkeypatch):
    made, all_pairs = [], PairTable._all_pairs
    monkeypatch.setattr(PairTable, "_all_pairs", lambda self: made.append(1) or all_pairs(self))
    assert quality.shepard(*cloud).spearman.exact
    assert len(made) == 1


def test_memory_for_sorting_is_that_of_the_largest_group(rng):
    X = rng.normal(size=(300, 3))
    with lowland.config(memory_limit="5MB"):
        whole = quality.distance_correlation(X, X[:, :2], kind="spearman")
        with pytest.raises(lowland.MemoryLimitError, match=r"sorting all pairs would take 7\.\d+ MB.*pairs="):
            quality.distance_correlation(X, X[:, :2], kind="spearman", groups=["a"] * 290 + ["b"] * 10)
    assert whole.exact


def test_contrast_takes_no_more_memory_on_more_threads(rng):
    side = one_side(rng.normal(size=(200_000, 3)), "euclidean", "here, X")
    peaks = []
    for threads in (1, 4):
        with lowland.config(threads=threads):
            tracemalloc.start()
            contrast_of(side)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_contrast_falls_with_dimensions_and_is_told():
    rng = np.random.default_rng(5)
    flat, deep = rng.normal(size=(600, 2)), rng.normal(size=(600, 2000))
    D = squareform(pdist(flat[:120]))
    np.fill_diagonal(D, np.inf)
    nearest = D.min(axis=1).mean()
    np.fill_diagonal(D, 0)
    assert quality.relative_contrast(flat[:120]) == pytest.approx(D.sum() / (120 * 119) / nearest, rel=1e-12)
    low = quality.relative_contrast(deep)
    assert low < 1.1
    assert low.low < low < low.high
    with pytest.warns(lowland.LowlandWarning, match=r"distances in the data hardly differ.*select fewer columns"):
        found = quality.report(deep, flat)
    assert "hardly differ" in found.warnings[0]


# -- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_bad_input_is_named(measure, cloud):
    X, Y = cloud
    with pytest.raises(lowland.DataError, match=r"X has 150 rows and Y has 149"):
        measure(X, Y[:-1])
    with pytest.raises(lowland.DataError, match=r"all points of Y are equal"):
        measure(X, np.ones((150, 2)))
    for value in (np.nan, np.inf):
        wrong = Y.copy()
        wrong[3, 1] = value
        with pytest.raises(lowland.DataError, match=r"row 3, column 1"):
            measure(X, wrong)
    with pytest.raises(
        ValueError, match=r"^\w+: pairs must be 'auto', None \(all\) or a whole number of at least 1000"
    ):
        measure(X, Y, pairs=10)
    with pytest.raises(lowland.DataError, match=r"groups has 2 labels for 150 points"):
        measure(X, Y, groups=["a", "b"])
    with pytest.raises(lowland.DataError, match=r"at least 3"):
        measure(X[:2], Y[:2])
    for seed in (1.5, True, -1, "x"):
        with pytest.raises(
            ValueError, match=r"^\w+: random_state must be a whole number of at least 0, or None; it is"
        ):
            measure(X, Y, random_state=seed)


def test_squares_are_not_taken_for_rows_in_silence(cloud):
    X, Y = cloud
    D = squareform(pdist(X))
    with pytest.warns(
        lowland.LowlandWarning, match=r"kruskal_stress, X looks like a distance matrix.*metric='precomputed'"
    ):
        quality.kruskal_stress(D, Y)
    with pytest.warns(lowland.LowlandWarning, match=r"kruskal_stress, Y looks like a distance matrix.*coordinates"):
        quality.kruskal_stress(X, D)
    with pytest.raises(lowland.DataError, match=r"kruskal_stress, X"):
        quality.kruskal_stress(X, Y, metric="precomputed")
    with pytest.raises(lowland.DataError, match=r"sparse distance matrix is incomplete"):
        quality.kruskal_stress(sp.csr_array(D), Y, metric="precomputed")


def test_what_has_no_value_says_so():
    simplex = np.eye(6)
    Y = np.arange(12.0).reshape(6, 2)
    for measure in ("pearson", "spearman", "residual variance"):
        with pytest.raises(lowland.DataError, match=r"all distances in the data or all in the map are equal"):
            MEASURES[measure](simplex, Y)
    with pytest.raises(lowland.DataError, match=r"all points of X are equal"):
        quality.sammon_stress(np.ones((5, 2)), Y[:5])


def test_wrong_parameters(cloud):
    X, Y = cloud
    with pytest.raises(ValueError, match=r"kind must be 'pearson' or 'spearman'"):
        quality.distance_correlation(X, Y, kind="kendall")
    with pytest.raises(ValueError, match=r"a monotone fit has no scale"):
        quality.kruskal_stress(X, Y, monotone=True, scale=False)
    with pytest.raises(lowland.DataError, match=r"is not symmetric"):
        quality.kruskal_stress(X, Y, metric=lambda a, b: max(0.0, float(a[0] - b[0])))


def test_errors_name_the_side(cloud):
    X, Y = cloud
    with pytest.raises(lowland.DataError, match=r"^report, Y: the squares of the rows underflow"):
        quality.report(X, 1e-160 * Y)
    with pytest.raises(lowland.DataError, match=r"^kruskal_stress, X: the squares of the rows overflow"):
        quality.kruskal_stress(1e160 * X, Y)
    for column in (pl.Series(Y[:, 0]), list(Y[:, 0])):
        with pytest.raises(
            lowland.DataError, match=r"^report, Y: a map must be a 2-D table of numbers.*column\.to_frame"
        ):
            quality.report(X, column)
    with pytest.raises(lowland.DataError, match=r"^shepard: all distances in the data or all in the map are equal"):
        quality.shepard(np.eye(6), np.arange(12.0).reshape(6, 2))


def test_contrast_that_there_is_not(rng):
    for rows, text in (([[1.0]], "at least 2 points are needed"), (np.ones((5, 2)), "points of X are equal")):
        with pytest.raises(lowland.DataError, match=rf"^relative_contrast: .*{text}"):
            quality.relative_contrast(rows)
    with pytest.raises(ValueError, match=r"^relative_contrast: random_state must be a whole number"):
        quality.relative_contrast(rng.normal(size=(200, 2)), random_state=-1)


def test_warnings_point_at_the_caller(cloud, rng):
    X, Y = cloud
    D, deep = squareform(pdist(X)), rng.normal(size=(150, 2000))
    calls = (
        lambda: quality.kruskal_stress(D, Y),
        lambda: quality.shepard(D, Y),
        lambda: quality.trustworthiness(D, Y),
        lambda: quality.relative_contrast(D),
        lambda: quality.report(deep, Y),
    )
    for call in calls:
        with pytest.warns(lowland.LowlandWarning) as told:
            call()
        assert [warning.filename for warning in told] == [__file__]
