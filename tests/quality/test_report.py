"""The report: the same numbers as the measures by themselves, words that follow from them, groups, spaces."""

from __future__ import annotations

import json
import pickle

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

import lowland
from lowland import quality
from lowland.plots import quality_map
from lowland.plots.quality import rnx, shepard
from lowland.quality.chance import _near_by_chance
from lowland.quality.ranks import rank_table
from lowland.quality.spaces import sides


@pytest.fixture(scope="module")
def digits():
    X, labels, _ = lowland.data.digits()
    few = np.arange(0, 1797, 3)
    return X[few], labels[few]


def test_it_holds_what_the_measures_say(rng):
    X = rng.normal(size=(300, 5)) * [3, 2, 1, 1, 1]
    Y, groups = X[:, :2], np.arange(300) % 3
    found = quality.report(X, Y, n_neighbors=7, groups=groups)
    more = {"groups": groups}
    expected = {
        "trustworthiness": quality.trustworthiness(X, Y, 7, **more),
        "continuity": quality.continuity(X, Y, 7, **more),
        "neighborhood_overlap": quality.neighborhood_overlap(X, Y, 7, **more),
        "lcmc": quality.lcmc(X, Y, 7, **more),
        "rnx_auc": quality.rnx_curve(X, Y, **more).auc,
        "spearman": quality.distance_correlation(X, Y, kind="spearman", **more),
        "geodesic_spearman": quality.geodesic_correlation(X, Y, 7, **more),
        "pearson": quality.distance_correlation(X, Y, **more),
        "monotone_stress": quality.kruskal_stress(X, Y, monotone=True, **more),
        "stress": quality.kruskal_stress(X, Y, **more),
        "sammon_stress": quality.sammon_stress(X, Y, **more),
        "residual_variance": quality.residual_variance(X, Y, **more),
        "distance_error": quality.distance_error(X, Y, **more),
    }
    assert list(found.measures) == list(expected)
    for name, value in expected.items():
        assert found[name] == value, name
        assert dict(found[name].groups) == dict(value.groups), name
    assert found.exact
    assert found.contrast == quality.relative_contrast(X)
    assert found.purity.map == quality.neighbor_purity(X, Y, groups, 7).map
    points = quality.pointwise(X, Y, 7)
    assert np.array_equal(found.points.kept, points.kept)
    with pytest.raises(KeyError, match="trustworthiness"):
        found["trust"]


def test_chance_is_what_chance_gives(rng):
    X = rng.normal(size=(600, 4))
    for Y in (rng.normal(size=(600, 2)), X[rng.permutation(600)][:, :2]):
        found = quality.report(X, Y)
        for name, value in found.chance.items():
            assert found[name] == pytest.approx(value, abs=0.04), name
        assert found.by_chance
        assert found.sentence.startswith("No better than chance (trustworthiness ")
        assert found.sentence.endswith("are the rows of the data and of the map in the same order?")


def test_the_data_themselves_are_a_perfect_map(rng):
    X = rng.normal(size=(200, 3))
    found = quality.report(X, X)
    ones = ("trustworthiness", "continuity", "neighborhood_overlap", "rnx_auc", "pearson", "spearman")
    zeros = ("stress", "monotone_stress", "sammon_stress", "residual_variance", "distance_error")
    assert all(found[name] == pytest.approx(1, abs=1e-12) for name in ones)
    assert all(found[name] == pytest.approx(0, abs=1e-12) for name in zeros)
    assert found.sentence.startswith("Neighbours: good")
    assert "Distances: good" in found.sentence


def test_what_lies_near_and_what_lies_far_are_told_apart():
    X, truth = lowland.data.swiss_roll(700, random_state=1)
    unrolled, shadow = quality.report(X, truth), quality.report(X, X[:, [0, 2]])
    assert "Neighbours: good" in unrolled.sentence
    assert "Distances: poor" in unrolled.sentence
    assert "Geodesic distances: good" in unrolled.sentence
    assert shadow["geodesic_spearman"] < 0.6
    assert shadow["spearman"] > unrolled["spearman"]
    assert shadow["trustworthiness"] < unrolled["trustworthiness"]


def test_groups_that_the_map_mixes_are_named(rng):
    """Two groups differ in a column of little variance, which principal components leave out."""
    kind = np.repeat(["left", "right"], 150)
    apart = (kind == "left") * 2.0 + rng.normal(0, 0.1, 300)
    X = np.column_stack([rng.normal(0, 3, 300), rng.normal(0, 2.5, 300), apart])
    Y = lowland.PCA(n_components=2).fit_transform(X)
    found = quality.report(X, Y, groups=kind)
    assert found.purity.data > 0.9
    assert found.purity.map == pytest.approx(found.purity.chance, abs=0.1)
    assert set(found.purity.mixed) == {"left", "right"}
    assert "mixes groups that are separate in the data" in found.sentence
    kept = quality.report(X, X[:, [0, 2]] * [1, 10], groups=kind)
    assert kept.purity.mixed == ()


def test_the_worst_group_and_the_worst_points(rng):
    X = np.vstack([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 20])
    Y = X.copy()
    Y[100:] = Y[100 + rng.permutation(100)]
    found = quality.report(X, Y, groups=["kept"] * 100 + ["mixed"] * 100)
    assert found.worst_group == "mixed"
    assert "Neighbours are kept worst in group mixed (" in found.sentence
    assert all(point.number >= 100 for point in found.worst)
    assert quality.report(X, Y).worst_group is None


def test_purity_by_definition(digits):
    X, labels = digits
    Y = X[:, 20:40]
    k = 6
    found = quality.neighbor_purity(X, Y, labels, k)
    for side, measure in ((X, found.data), (Y, found.map)):
        graph = lowland.graph.neighbor_graph(side, k, ties="keep")
        values = []
        for i in range(len(side)):
            part = slice(graph.indptr[i], graph.indptr[i + 1])
            d, same = graph.distances[part], labels[graph.indices[part]] == labels[i]
            nearer = d < d[k - 1]
            tied = d == d[k - 1]
            values.append((same[nearer].sum() + (k - nearer.sum()) * same[tied].mean()) / k)
        assert measure == pytest.approx(np.mean(values), rel=1e-12)
        assert measure.groups[3] == pytest.approx(np.mean(np.array(values)[labels == 3]), rel=1e-12)
    counts = np.bincount(labels)
    assert found.chance == pytest.approx((counts * (counts - 1)).sum() / (len(X) * (len(X) - 1)))


def test_points_without_a_label_are_not_asked(rng):
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 50, rng.normal(size=(20, 2)) + 500])
    labels = ["a"] * 40 + ["b"] * 40 + [None] * 20
    found = quality.neighbor_purity(X, X, labels, 5)
    assert found.data == 1
    assert found.map == 1
    with pytest.raises(ValueError, match="groups must contain a label"):
        quality.neighbor_purity(X, X, None)


def test_it_prints_and_can_be_kept(digits):
    X, labels = digits
    found = quality.report(X, lowland.PCA(n_components=2).fit_transform(X), groups=labels, space="the pixels")
    text = str(found)
    assert "599 points, 10 neighbours" in text
    assert "the pixels (euclidean)" in text
    assert found.sentence in text
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["measures"]["pearson"]["groups"]["3"]["value"] == found["pearson"].groups[3]
    frame = found.to_frame()
    assert frame.height == len(found.measures) * 11
    whole = frame.filter(pl.col("group").is_null() & (pl.col("measure") == "stress"))
    assert whole["value"].item() == found["stress"]
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == plain
    assert "<table>" in found._repr_html_()


def test_the_table_is_told_without_what_follows_it(rng):
    X = rng.normal(size=(60, 3))
    found = quality.report(X, X[:, :2], 5, groups=["a", "b"] * 30)
    lines = found.table_lines()
    assert str(found) == "\n".join([*lines, found.sentence])
    worst = [point.number for point in found.worst]
    assert lines[-1] == f"least trusted points: {', '.join(map(str, worst))}"
    assert [line.split()[0] for line in lines[-5:-2]] == ["group", "a", "b"]
    named = found.table_lines([f"row {i}" for i in range(60)])
    assert named[:-1] == lines[:-1]
    assert named[-1].startswith(f"least trusted rows: row {worst[0]}, row {worst[1]}")
    some = quality.report(X, X[:, :2], 5, anchors=20)
    assert some.table_lines()[-1].startswith("least trusted of the 20 evaluated points: ")


def test_results_of_arrays_are_equal_to_themselves_alone(rng):
    """Comparing their arrays would give arrays, which are neither true nor false."""
    X = rng.normal(size=(40, 3))
    for make in (
        lambda: quality.report(X, X[:, :2], 5),
        lambda: quality.pointwise(X, X[:, :2], 5),
        lambda: rank_table(sides(X, X[:, :2]), 5),
        lambda: rank_table(sides(X, X[:, :2]), 5).anchors,
    ):
        one = make()
        assert one == one
        assert one != make()
        assert len({one, one}) == 1


def test_drawn_reports_cover_the_exact_ones(rng):
    X = rng.normal(size=(1500, 4)) * [3, 2, 1, 1]
    Y, groups = X[:, :2], np.arange(1500) % 2
    whole = quality.report(X, Y)
    drawn = quality.report(X, Y, anchors=300, pairs=30_000, groups=groups, random_state=2)
    again = quality.report(X, Y, anchors=300, pairs=30_000, groups=groups, random_state=2)
    assert drawn.to_dict() == again.to_dict()
    assert not drawn.exact
    for name, measure in whole.measures.items():
        slack = drawn[name].high - drawn[name].low
        if name == "geodesic_spearman":  # of up to 2,000 rows all are looked at
            assert drawn[name] == measure
        else:
            assert slack > 0, name
            assert drawn[name].low - slack < measure < drawn[name].high + slack, name
        assert set(drawn[name].groups) == {0, 1}
    assert "[" in str(drawn)


def test_a_square_of_distances_gives_the_same_report(rng):
    X = rng.normal(size=(120, 3))
    rows, square = quality.report(X, X[:, :2]), quality.report(squareform(pdist(X)), X[:, :2], metric="precomputed")
    for name in rows.measures:
        assert rows[name] == pytest.approx(square[name], rel=1e-9, abs=1e-12), name


def test_measures_without_a_value_are_nan_and_the_others_stay():
    with pytest.warns(lowland.LowlandWarning, match="hardly differ"):
        found = quality.report(np.eye(30), np.random.default_rng(0).normal(size=(30, 2)), n_neighbors=3)
    assert np.isnan(found["pearson"])
    assert np.isnan(found["spearman"])
    assert 0 < found["stress"] < 1
    assert "Distances: " not in found.sentence
    assert "trustworthiness" in str(found)


def test_bad_input():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(lowland.DataError, match=r"report: X has 20 rows and Y has 19"):
        quality.report(X, X[:19])
    with pytest.raises(lowland.DataError, match=r"n_neighbors=19 is too large for 20 points"):
        quality.report(X, X, 19)
    with pytest.raises(lowland.DataError, match=r"all points of Y are equal"):
        quality.report(X, np.zeros((20, 2)))
    with pytest.raises(lowland.DataError, match=r"row 4, column 1"):
        quality.report(X, np.where(np.arange(40).reshape(20, 2) == 9, np.nan, 1.0))
    with pytest.warns(lowland.LowlandWarning, match=r"report, X looks like a distance matrix"):
        quality.report(squareform(pdist(X)), X[:, :2])


def test_errors_say_which_side_they_are_about():
    X = np.random.default_rng(0).normal(size=(20, 3))
    gap = np.where(np.arange(60).reshape(20, 3) == 13, np.nan, X)
    for name, given in (("X", (gap, X)), ("Y", (X, gap))):
        with pytest.raises(lowland.DataError) as caught:
            quality.report(*given)
        expected = f"report, {name} contains NaN at row 4, column 1: fill it or leave the row out of data and map"
        assert str(caught.value) == expected
        assert (caught.value.row, caught.value.column) == (4, 1)
    with pytest.raises(lowland.DataError, match=r"^trustworthiness, Y: Expected a 2-D table .* shape \(20,\)"):
        quality.trustworthiness(X, X[:, 0])
    with pytest.raises(lowland.DataError, match=r"^report, Y: Found array with 0 sample"):
        quality.report(X, X[:0])


@pytest.mark.parametrize(
    ("X", "metric"),
    [
        (np.full((20, 3), 7.0), "euclidean"),
        (np.full((20, 3), 7.0), "cityblock"),
        (sp.csr_array(np.full((20, 3), 7.0)), "euclidean"),
        (np.zeros((20, 20)), "precomputed"),
    ],
)
def test_data_that_do_not_vary_are_refused(X, metric):
    Y = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(lowland.DataError, match=r"report: all points of X are equal"):
        quality.report(X, Y, 5, metric=metric)


def test_shuffled_rows_are_told_from_a_poor_map(digits, rng):
    X = digits[0][:400]
    Y = lowland.PCA(n_components=2).fit_transform(X)
    for k in (2, 10, 50):
        assert quality.report(X, Y[rng.permutation(400)], k).by_chance
        assert not quality.report(X, Y, k).by_chance
    poor = Y / Y.std(axis=0) + rng.normal(size=Y.shape) * 1.5
    found = quality.report(X, poor)
    assert found["trustworthiness"] < 0.75
    assert not found.by_chance
    assert found.sentence.startswith("Neighbours: poor")
    assert quality.report(X, Y[rng.permutation(400)]).to_dict()["by_chance"]


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed", "sparse"])
def test_the_order_of_rows_is_judged_by_any_metric(metric, rng):
    X = rng.normal(size=(60, 3))
    Y = X[:, :2] + 0.3 * rng.normal(size=(60, 2))
    given = {"precomputed": squareform(pdist(X)), "sparse": sp.csr_array(X)}.get(metric, X)
    for map, expected in ((Y, False), (Y[rng.permutation(60)], True)):
        found = quality.report(given, map, metric="euclidean" if metric == "sparse" else metric)
        assert found.by_chance == expected


@pytest.mark.parametrize("n", [4, 5, 6, 8, 12])
def test_maps_of_few_points_are_not_called_chance(n):
    """Few points have few orders, so a shuffling may well be as good, or be none at all."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(n, 2))
        assert not quality.report(Z, Z, 1).by_chance
        assert not quality.report(Z, Z + 0.1 * rng.normal(size=(n, 2)), 1).by_chance


def test_chance_weighs_groups_by_their_size(rng):
    """A group of 40 that is kept among 3,000 that are not: its anchors are many, its weight is small."""
    X = rng.normal(size=(3000, 5))
    Y = rng.normal(size=(3000, 2))
    X[:40] = X[:40] * 0.01 + 100
    Y[:40] = X[:40, :2]
    groups = np.arange(3000) < 40
    table = rank_table(sides(X, Y), 10, 60, groups=groups)
    assert table.shared.mean() > 0.1  # 0.0033 by chance
    assert not _near_by_chance(rank_table(sides(X, Y), 10, None))  # all points: 40 kept ones do show
    assert _near_by_chance(table)  # a few anchors cannot tell


def test_far_points_alone_are_better_than_chance(rng):
    blocks = np.repeat(np.arange(4) * 100.0, 50)[:, None] + rng.normal(size=(200, 5))
    order = np.concatenate([50 * b + rng.permutation(50) for b in range(4)])  # shuffled within each clump only
    assert not quality.report(blocks, blocks[order][:, :2]).by_chance


def test_pictures(digits):
    X = digits[0]
    Y = lowland.PCA(n_components=2).fit_transform(X)
    axes = shepard(quality.shepard(X, Y))
    assert len(axes.collections[0].get_offsets()) == 10_000
    curve = quality.rnx_curve(X, Y)
    assert np.array_equal(rnx(curve).lines[0].get_xdata(), curve.k)
    axes = quality_map(Y, trust=quality.pointwise(X, Y, anchors=100))
    assert sum(len(c.get_offsets()) for c in axes.collections) == len(X)


def test_a_column_that_decides_alone_is_told_with_the_remedy(rng):
    X = pl.DataFrame(rng.normal(size=(60, 4)) * [1, 1, 1, 500], schema=["a", "b", "c", "proline"])
    Y = X.to_numpy()[:, :2]
    with pytest.warns(lowland.DominantColumnWarning, match="'proline' holds"):
        found = quality.report(X, Y)
    assert "use metric='seuclidean'" in found.warnings[-1]
    scaled = quality.report(X, Y, metric="seuclidean")
    assert scaled.warnings == ()
    Z = X.to_numpy() / X.to_numpy().std(axis=0, ddof=1)
    assert scaled["trustworthiness"] == pytest.approx(quality.report(Z, Y)["trustworthiness"], abs=1e-12)


@pytest.mark.parametrize(("n", "k"), [(6, 1), (12, 3), (39, 9), (40, 10), (80, 10)])
def test_few_points_have_fewer_neighbours(rng, n, k):
    X = rng.normal(size=(n, 3))
    assert quality.report(X, X[:, :2]).n_neighbors == k


def test_points_that_lost_nothing_are_not_called_the_least_trusted(rng):
    X = rng.normal(size=(30, 2))
    assert quality.report(X, X).worst == ()
    assert "none, all keep their neighbours" in str(quality.report(X, X))
    Y = X.copy()
    Y[7] += 100.0
    named = {point.number for point in quality.report(X, Y).worst}
    assert 7 in named
    points = quality.report(X, Y).points
    assert named <= set(points.point[points.kept < 1].tolist())
