"""One verdict about a map, whoever is asked: `quality.report`, a comparison, a report's page, `lowland evaluate`."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland import quality
from lowland.comparison.recommendation import verdict
from lowland.quality.verdicts import Verdict
from lowland.report import trust

TABLES = {
    "roll": lambda: lowland.data.swiss_roll(600, random_state=0)[0],
    "digits": lambda: lowland.data.digits()[0][::4],
    "cloud": lambda: np.random.default_rng(0).normal(size=(400, 5)),
}


def test_words_follow_the_figures():
    said = Verdict(0.99, 0.86, 0.371, 0.77)
    assert said.words == {"neighbours": "fair", "distances": "poor", "geodesic distances": "fair"}
    assert said.poor == ["distances"]
    assert Verdict(0.99, 0.99).words == {"neighbours": "good"}, "what is not known is not judged"


@pytest.mark.parametrize("method", ["pca", "isomap"])
@pytest.mark.parametrize(
    "table", [pytest.param(name, marks=[pytest.mark.slow] if name == "cloud" else []) for name in TABLES]
)
def test_all_agree_on_the_same_map_in_the_same_space(table, method):
    """Without held-out rows a comparison maps what a fit maps, so that figures are the same, not only words."""
    X = TABLES[table]()
    found = lowland.compare(X, [method], budget=None, sample=None, held_out=0.0)
    (entry,) = found.ranked()
    compared = verdict(entry)
    model = lowland.registry.method(method).load()(**entry["parameters"]).fit(X)
    Y = model.transform(X)
    reported = quality.report(X, Y).verdict
    assert trust.measure(model, X, Y).picture.verdict == reported
    assert compared.words == reported.words
    for name in ("trustworthiness", "continuity", "direct", "geodesic"):
        assert getattr(compared, name) == pytest.approx(getattr(reported, name), abs=0.02), name
    assert found.recommend().verdict == compared.sentence()
    assert "the columns as given (euclidean distances)" in str(found.recommend())


def test_a_mixed_table_is_judged_as_famd_codes_it():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 200)
    frame = pl.DataFrame(
        {
            "height": kind + rng.normal(0, 0.3, 200),
            "income": rng.normal(0, 1e4, 200),
            "city": np.array(["a", "b", "c"])[kind],
        }
    )
    found = lowland.compare(frame, ["famd", "pca"], budget=None, held_out=0.0)
    entries = {entry["method"]: entry for entry in found.ranked()}
    assert set(entries) == {"famd", "pca"}, "neither is left out because of the other"
    assert entries["pca"]["parameters"]["scale"] is True
    model = lowland.FAMD(n_components=2).fit(frame)
    picture = trust.measure(model, frame, model.transform(frame)).picture
    assert picture.space == "the columns as FAMD codes them"
    assert verdict(entries["famd"]).words == picture.verdict.words
    # PCA saw the numbers alone, and is judged in the space of all columns
    numbers = frame.select("height", "income").to_numpy()
    Y = lowland.PCA(n_components=2, scale=True).fit_transform(numbers)
    coded = quality.spaces.famd_axes(frame).transform(frame)
    assert verdict(entries["pca"]).trustworthiness == pytest.approx(quality.trustworthiness(coded, Y), abs=1e-9)
    found.record["candidates"] = [entries["pca"]]
    assert found.fit_best(frame).transform(frame) == pytest.approx(Y)


def test_scaled_pca_is_tried_where_units_differ():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)) * [1e4, 1, 1, 1]
    with pytest.warns(lowland.DominantColumnWarning, match="seuclidean"):
        found = lowland.compare(X, budget="2s")
    assert "pca(scale=True)" in {entry["key"] for entry in found.record["candidates"]}
    scaled = lowland.compare(X, ["pca", "isomap"], metric="seuclidean", budget=None)
    assert {entry["key"] for entry in scaled.ranked()} == {"pca(scale=True)", "isomap(metric=seuclidean)"}
    assert "each divided by its standard deviation" in scaled.recommend().space
    # Held-out rows would leave PCA other deviations than the whole table's, and another plane of nearly equal axes.
    same = lowland.compare(X / X.std(axis=0), ["pca"], budget=None, held_out=0.0).ranked()[0]
    pca = lowland.compare(X, ["pca"], metric="seuclidean", budget=None, held_out=0.0).ranked()[0]
    assert verdict(pca).trustworthiness == pytest.approx(verdict(same).trustworthiness, abs=1e-9)


def test_class_accuracy_stands_beside_its_baseline():
    """87 % of one class: 87 % are right without any map, and the balanced accuracy tells."""
    rng = np.random.default_rng(0)
    kind = np.where(rng.random(600) < 0.87, "usual", "rare")
    found = lowland.compare(rng.normal(size=(600, 4)), ["pca"], target=kind, budget=None)
    evidence, share = found.record["evidence"], np.mean(kind == "usual")
    assert evidence["baseline"] == pytest.approx(share)
    assert evidence["balanced_accuracy"] == pytest.approx(np.mean(list(evidence["class_accuracy"].values())))
    assert evidence["balanced_accuracy"] < 0.6 < 0.8 < evidence["accuracy"]
    (told,) = [text for text in found.recommend().reasons if text.startswith("Class accuracy")]
    assert f"always naming the largest class: {100 * share:.0f} %" in told
    assert "Balanced accuracy: 5" in told
    assert "no better at this than always naming the largest class" in told


def test_purity_is_relative_to_what_a_group_can_reach():
    """Three points far from all others have two neighbours of their own: all that there are."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(80, 3)), rng.normal(size=(3, 3)) + 50])
    groups = ["many"] * 80 + ["few"] * 3
    found = quality.neighbor_purity(X, X[:, :2], groups, 10)
    assert found.data.groups["few"] == 1
    assert found.map.groups["few"] == 1
    assert found.small == ("few",)
    assert "relative to the maximum for a group of its size" in found.sentence
    random = quality.neighbor_purity(rng.normal(size=(83, 3)), X[:, :2], groups, 10)
    assert random.data == pytest.approx(random.chance, abs=0.05), "chance is relative, too"
    alone = quality.neighbor_purity(X, X[:, :2], [*groups[:-1], "single"], 10)
    assert set(alone.data.groups) == {"many", "few"}
    assert 0.99 < alone.data <= 1
    with pytest.raises(lowland.DataError, match="single point"):
        quality.neighbor_purity(X, X[:, :2], list(range(83)), 10)


def test_paths_in_pieces_and_few_rows_have_no_correlation():
    rng = np.random.default_rng(0)
    apart = np.vstack([rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 100])
    assert np.isnan(quality.geodesic_correlation(apart, apart[:, :2], 5))
    assert np.isnan(quality.geodesic_correlation(apart[:10], apart[:10, :2], 5))
    assert "Geodesic" not in quality.report(apart, apart[:, :2]).sentence


def test_drawn_paths_have_an_interval_that_holds_the_value_of_all():
    X, truth = lowland.data.swiss_roll(3000, random_state=0)
    drawn = [quality.geodesic_correlation(X, truth, random_state=seed) for seed in (1, 2)]
    assert drawn[0] == quality.geodesic_correlation(X, truth, random_state=1)
    assert drawn[0] != drawn[1]
    assert all(not found.exact and found.low < found < found.high for found in drawn)
    assert max(d.low for d in drawn) <= min(d.high for d in drawn)


def test_scaled_columns_are_scaled_by_all_rows(rng):
    """Of 6,000 rows 5,000 are drawn; a column whose deviation comes from few rows must not be scaled by chance."""
    X = rng.normal(size=(6000, 4)) * [1, 5, 1, 1]
    X[::500, 3] += 300
    scaled = X / X.std(axis=0, ddof=1)
    found = quality.geodesic_correlation(X, X[:, :2], metric="seuclidean")
    assert found == pytest.approx(quality.geodesic_correlation(scaled, X[:, :2]), abs=1e-9)


def test_a_comparison_scales_by_the_whole_table(rng):
    """Its sample and its training rows have other deviations; maps are measured against one space."""
    from lowland.comparison.dataset import Dataset, read

    X = rng.normal(size=(900, 4)) * [1, 20, 1, 1]
    X[::90, 3] += 300
    given, _ = read(X, None, "seuclidean", 300, 0.2, 0)
    assert given.n == 300
    rows, metric = given.space
    assert metric == "euclidean"
    assert np.allclose(rows, X[given.numbers] / X.std(axis=0, ddof=1))
    assert isinstance(given, Dataset)
    scaled = lowland.compare(X, ["pca"], metric="seuclidean", budget=None, held_out=0.0).ranked()[0]
    plain = lowland.compare(X / X.std(axis=0, ddof=1), ["pca"], budget=None, held_out=0.0).ranked()[0]
    for name in ("trustworthiness", "continuity", "direct", "geodesic"):
        assert getattr(verdict(scaled), name) == pytest.approx(getattr(verdict(plain), name), abs=1e-6), name
