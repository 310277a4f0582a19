"""Samples of anchors and their intervals; groups as strata; which labels, seeds and numbers are taken."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl
import pytest

import lowland
from lowland import quality
from lowland.core.measure import Measure
from lowland.quality import rank_curves
from lowland.quality.anchors import MOST_GROUPS, choose, labels
from lowland.quality.rank_measures import (
    MEASURES,
    from_table,
    trustworthiness,
    worst_ranks,
)
from lowland.quality.ranks import rank_table
from lowland.quality.spaces import sides

FUNCTIONS = {name: getattr(lowland.quality, name) for name in MEASURES}


# -- samples and groups -----------------------------------------------------------------------------------


def coverage(X, Y, counts, groups, repeats=100):
    """Return how many samples hold the value of all points, for each number of anchors, measure and group."""
    both, n = sides(X, Y), len(X)
    table = rank_table(both, 10, None, groups=groups)
    names = ("false_ranks", "missing_ranks", "shared", "data_purity", "map_purity")
    columns = {name: getattr(table, name) for name in names}
    areas = rank_curves._curves(both, np.arange(n), rank_curves._sizes(n))[1]
    worst = rank_curves.least_area(n)

    def values(some, chosen):
        found = {name: from_table(name, some) for name in FUNCTIONS} | {
            "auc": chosen.mean(areas[chosen.numbers], worst)
        }
        purity = quality.purity.purity_of(some)
        return found | {"purity in the data": purity.data, "purity in the map": purity.map}

    truth = values(table, table.anchors)
    held = {}
    for count in counts:
        for seed in range(repeats):
            chosen = choose(n, count, seed, groups)
            some = replace(table, anchors=chosen, **{name: column[chosen.numbers] for name, column in columns.items()})
            for name, got in values(some, chosen).items():
                assert not got.exact
                for group, part in ((None, got), *got.groups.items()):
                    whole = truth[name] if group is None else truth[name].groups[group]
                    key = (count, name, group)
                    held[key] = held.get(key, 0) + (part.low <= whole <= part.high)
    return held


def test_a_sample_holds_the_value_in_its_interval(rng):
    """Of 100 samples of 200 anchors about 95 should; 88 is what chance falls below once in 500."""
    X = rng.standard_normal((2000, 5))
    groups = np.repeat(["rare", "common", "usual"], [100, 1500, 400])
    held = coverage(X, X[:, :2], [200], groups)
    assert len(held) == 28
    assert min(held.values()) >= 88, held


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["smooth", "heavy tails"])
def test_a_sample_of_20000_points_holds_the_value_in_its_interval(kind, rng):
    X = rng.standard_normal((20_000, 5)) if kind == "smooth" else rng.standard_t(2, size=(20_000, 5))
    Y = X[:, :2].copy()
    if kind == "heavy tails":  # and one map point in a hundred is a stray
        stray = rng.random(20_000) < 0.01
        Y[stray] = Y[stray][rng.permutation(stray.sum())]
    groups = np.repeat(["rare", "common", "usual"], [200, 15_800, 4000])
    held = coverage(X, Y, [1000, 5000], groups)
    assert min(held.values()) >= 90, {key: count for key, count in held.items() if count < 92}


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


@pytest.mark.parametrize("anchors", [0, 1, -3, 2.5, True, "all"])
def test_bad_anchors(anchors, rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="anchors must be"):
        trustworthiness(X, X, 5, anchors=anchors)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True, np.random.default_rng(0)])
@pytest.mark.parametrize("anchors", [10, None])
def test_bad_seeds(seed, anchors, rng):
    """They are refused where nothing is drawn, too: a call does not turn wrong as the data grow."""
    X = rng.standard_normal((20, 3))
    calls = {
        "trustworthiness": lambda: trustworthiness(X, X, 5, anchors=anchors, random_state=seed),
        "pointwise": lambda: quality.pointwise(X, X, 5, anchors=anchors, random_state=seed),
        "rnx_curve": lambda: quality.rnx_curve(X, X, anchors=anchors, random_state=seed),
        "neighbor_purity": lambda: quality.neighbor_purity(X, X, [0, 1] * 10, 5, anchors=anchors, random_state=seed),
        "report": lambda: quality.report(X, X, 5, anchors=anchors, random_state=seed),
    }
    for owner, call in calls.items():
        with pytest.raises(ValueError, match=f"{owner}: random_state must be a whole number of at least 0"):
            call()


def test_bad_groups(rng):
    X = rng.standard_normal((20, 3))
    wrong = {
        "7 labels for 20 points": ["a"] * 7,
        "none of the 20 points has a label": [None] * 20,
        r"its shape is \(20, 2\), not \(20,\)": np.zeros((20, 2), dtype=int),
        r"its shape is \(20, 1\)": pl.DataFrame({"kind": ["a", "b"] * 10}),
        "the label of point 3 in groups is a list": ["a", "b", "c", ["d"]] * 5,
        "the label of point 0 in groups is a ndarray": [np.zeros(2)] * 20,
        "groups must contain one label for each point; it is 5": 5,
        "the labels 1 and '1' in groups are written the same": [1, "1"] * 10,
    }
    for text, groups in wrong.items():
        for function in (trustworthiness, quality.kruskal_stress):
            with pytest.raises(lowland.DataError, match=f"{function.__name__}: .*{text}"):
                function(X, X[:, :2], groups=groups)


def test_names_of_points_are_no_groups(rng):
    """The same for ranks and pairs, for all points and for samples."""
    X = rng.standard_normal((MOST_GROUPS + 1, 3))
    for function, more in (
        (trustworthiness, {}),
        (trustworthiness, {"anchors": 100}),
        (quality.kruskal_stress, {}),
        (quality.kruskal_stress, {"pairs": 1000}),
    ):
        with pytest.raises(lowland.DataError, match="1001 different labels for 1001 points, and at most 1000 groups"):
            function(X, X[:, :2], groups=np.arange(len(X)), **more)


def test_many_groups_do_not_multiply_the_anchors():
    for count, many in ((5000, 1000), (5000, 30), (100, 100)):
        sizes = np.bincount(choose(200_000, count, 0, np.arange(200_000) % many).strata)
        assert sizes.min() >= max(2, min(30, count // many))
        assert sizes.sum() <= 2 * count
    uneven = np.where(np.arange(50_000) < 45_000, 0, np.arange(50_000))
    kinds = np.unique(uneven // 6, return_inverse=True)[1]  # 834 small groups beside a large one
    assert len(choose(50_000, 5000, 0, kinds).numbers) <= 10_000


def test_labels_of_all_kinds(rng):
    X = rng.standard_normal((30, 3))
    got = trustworthiness(X, X[:, :2], 5, groups=[1, "x", 2.5] * 10)
    assert set(got.groups) == {1, "x", 2.5}
    assert all(isinstance(part, Measure) for part in got.groups.values())
    pd = pytest.importorskip("pandas")
    assert set(trustworthiness(X, X[:, :2], 5, groups=pd.Series(["u", "v"] * 15)).groups) == {"u", "v"}


@pytest.mark.parametrize("kind", ["object", "string", "Int64", "category", "datetime64[ns]", "timedelta64[ns]"])
def test_missing_labels_of_pandas_are_no_group(kind):
    pd = pytest.importorskip("pandas")
    given = {
        "object": [1, pd.NA, "x", pd.NaT, None, float("nan")],
        "Int64": [1, pd.NA, 2, pd.NA, None, None],
        "datetime64[ns]": ["2020-01-01", pd.NaT, "2021-01-01", None, None, None],
        "timedelta64[ns]": ["1 day", pd.NaT, "2 days", None, None, None],
    }.get(kind, ["a", None, "b", None, None, None])
    found = labels(pd.Series(given, dtype=kind), 6)
    assert len(found.names) == 2
    assert (found.codes == [0, -1, 1, -1, -1, -1]).all()


def test_times_stay_times():
    found = labels(np.array(["2021", "NaT", "2020"], dtype="datetime64[ns]"), 3)
    assert [str(name)[:4] for name in found.names] == ["2020", "2021"]
    assert found.codes.tolist() == [1, -1, 0]
    assert labels([datetime(2020, 1, 1), None], 2).names == (datetime(2020, 1, 1),)
