"""Intervals, ties, and what is recommended for which reasons."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from lowland.comparison import recommendation
from lowland.comparison.candidates import EXCLUDED
from lowland.comparison.ranking import SIDES, Judge, jackknife
from lowland.core.errors import LowlandError


def made(key: str, local: float, wide: float, *, noise: float = 0.0, seconds: float = 1.0, **more: object) -> dict:
    """A candidate's record with such criteria; those without folds lie evenly around them."""
    shifts = noise * np.linspace(-1, 1, 10)
    sides = {
        name: {side: {"value": v, "without": (v + shifts).tolist()} for side in SIDES}
        for name, v in (("local", local), ("global", wide))
    }
    for side in sides["local"].values():
        side |= {"trustworthiness": 0.5 + side["value"] / 2, "continuity": 0.5 + side["value"] / 2}
    sides["direct"] = {side: {"value": wide} for side in SIDES}
    entry = {"key": key, "method": key, "parameters": {"n_components": 2}, "kind": "default", "status": "done"}
    return {**entry, "criteria": sides, "seconds": {"fit": seconds}, "approximate": False, **more}


def one_side(value: float, without: object) -> dict:
    return {"training": {"value": value, "without": list(np.asarray(without)), "rows": 100}}


def record(*entries: dict, structured: bool | None = True, rows: int = 100, **evidence: object) -> dict:
    told = {"structured": structured, "crowding": 0.6 if structured else 1.0, "distances": "direct", "accuracy": None}
    told |= {"strays": 0, "class_accuracy": None, "dimensions": None, **evidence}
    counts = {"all": rows, "compared": 100, "training": 80, "held-out": 20}
    data, settings = {"dominant": None, "kind": "rows"}, {"metric": "euclidean"}
    return {"candidates": list(entries), "evidence": told, "rows": counts, "data": data, "settings": settings}


# -- intervals --------------------------------------------------------------------------------------------


def test_the_interval_of_a_difference_is_students_for_paired_folds(rng):
    """Of means of equal folds the jackknife is the paired t interval over the folds."""
    from scipy.stats import ttest_rel

    folds = rng.normal(0.75, 0.05, (2, 10))
    a, b = ({"criteria": {"local": one_side(v.mean(), (v.sum() - v) / 9)}} for v in folds)
    judge = Judge([a, b])
    middle, half = judge.difference(a, b)
    interval = ttest_rel(*folds).confidence_interval()
    assert (middle - half, middle + half) == pytest.approx((interval.low, interval.high))
    # two criteria of the same rows are added fold by fold: of the same folds, the second says nothing new
    for entry in (a, b):
        entry["criteria"]["global"] = entry["criteria"]["local"]
    assert Judge([a, b]).difference(a, b) == pytest.approx((middle, half))


def test_both_sides_of_a_fold_are_left_out_at_once(rng):
    """Held-out values hang on fitted rows: what moves both sides together counts in full, not as if independent."""
    together = 0.01 * rng.standard_normal(10)
    same = made("a", 0.5, 0.5)
    same["criteria"]["local"] = {side: {"value": 0.5, "without": (0.5 + together).tolist()} for side in SIDES}
    against = copy.deepcopy(same)
    against["criteria"]["local"]["held-out"]["without"] = (0.5 - together).tolist()
    judge = Judge([same, against])
    assert judge.measure(same, "local").high - 0.5 == pytest.approx(jackknife(together))
    assert judge.measure(against, "local").high == pytest.approx(0.5), "what cancels is certain"


@pytest.mark.parametrize(("criterion", "least"), [("local", -1.0), ("global", -1.0), ("target", 0.0)])
def test_intervals_stay_within_what_can_be(criterion, least):
    for middle, bound in ((0.97, 1.0), (least + 0.03, least)):
        a = made("a", 0.5, 0.5)
        a["criteria"][criterion] = one_side(middle, middle + 0.1 * np.linspace(-1, 1, 10))
        found = Judge([a]).measure(a, criterion)
        assert bound in (found.low, found.high)
        assert least <= found.low < found < found.high <= 1


def test_no_error_in_a_hundred_rows_does_not_prove_that_there_is_none():
    a = made("a", 0.5, 0.5)
    a["criteria"]["target"] = one_side(1.0, [1.0] * 10)
    found = Judge([a]).measure(a, "target")
    assert (found.low, found.high) == pytest.approx((0.97, 1.0)), "the rule of three"


def test_candidates_are_compared_on_rows_that_all_have():
    """One without held-out places is not the better for it: .95 on fitted rows is more than .90, whatever else."""
    whole, bound = made("isomap", 0.95, 0.95), made("tsne", 0.90, 0.90)
    for sides in whole["criteria"].values():
        sides["held-out"]["value"] = 0.80
    for sides in bound["criteria"].values():
        del sides["held-out"]
    judge = Judge([whole, bound])
    assert [entry["key"] for entry in judge.ranked([bound, whole])] == ["isomap", "tsne"]
    assert judge.difference(whole, bound)[0] == pytest.approx(0.05)
    assert Judge([whole]).score(whole) == pytest.approx(0.875), "alone, it has both sides"
    advice = recommendation.recommend(record(whole, bound))
    assert advice.method == "isomap"
    assert "All candidates are judged by the 80 training rows alone, because tsne has no transform for new rows." in (
        advice.reasons
    )
    assert "new rows: it has no transform." not in advice.not_good_for


# -- ties -------------------------------------------------------------------------------------------------


def test_what_is_hard_for_both_is_held_against_neither():
    noisy = [made("pca", 0.80, 0.8, noise=0.03), made("isomap", 0.84, 0.8, noise=0.03)]
    judge = Judge(noisy)
    assert judge.measure(noisy[0], "local").high > 0.84, "alone, either could be the other"
    assert not judge.tied(*noisy, ["local"]), "but one is better in every fold"


@pytest.mark.parametrize(("gap", "tie"), [(0.005, True), (0.03, False)])
def test_small_differences_count_for_nothing(gap, tie):
    a, b = made("isomap", 0.9 + gap, 0.9 + gap), made("pca", 0.9, 0.9)
    assert Judge([a, b]).tied(a, b) is tie
    advice = recommendation.recommend(record(a, b))
    assert advice.method == ("pca" if tie else "isomap")
    assert advice.ties == (("Isomap",) if tie else ())
    assert ("is the simpler method" in " ".join(advice.reasons)) is tie


def test_uncertain_differences_are_ties():
    a, b = made("isomap", 0.93, 0.9), made("pca", 0.9, 0.9)
    b["criteria"]["local"]["training"]["without"] = (0.9 + 0.1 * np.linspace(1, -1, 10)).tolist()
    assert Judge([a, b]).tied(a, b, ["local"])
    assert recommendation.recommend(record(a, b)).method == "pca"


# -- recommendations --------------------------------------------------------------------------------------


def test_preferences():
    wide, near, quick = (
        made("isomap", 0.6, 0.9, seconds=9),
        made("tsne", 0.99, 0.5),
        made("pca", 0.7, 0.75, seconds=0.1),
    )
    held = record(wide, near, quick)
    assert recommendation.recommend(held).method == "isomap"
    assert recommendation.recommend(held, "local").method == "tsne"
    assert recommendation.recommend(held, "global").method == "isomap"
    assert recommendation.recommend(held, "speed").method == "pca"
    with pytest.raises(ValueError, match="prefer must be"):
        recommendation.recommend(held, "beauty")
    with pytest.raises(ValueError, match="prefer='target' needs a comparison with a target"):
        recommendation.recommend(held, "target")


def test_speed_is_that_of_all_rows():
    """The sample's seconds say nothing about a million rows, and the first fit of a package loads it, too."""
    slow = made("isomap", 0.9, 0.9, seconds=0.1, whole_seconds=3030.0, whole_approximate=True)
    quick = made("umap", 0.9, 0.9, seconds=5.0, whole_seconds=40.0, whole_approximate=False, approximate=True)
    held = record(slow, quick, rows=1_000_000)
    fast = recommendation.recommend(held, "speed")
    assert fast.method == "umap"
    assert "UMAP is the fastest (estimated: about 40 s for all 1,000,000 rows)" in fast.reasons[1]
    assert not any("exact results" in text for text in fast.not_good_for), "the plan for all rows decides"
    taken = recommendation.recommend(held)
    assert taken.method == "isomap"
    assert "quick results: the estimated time for all 1,000,000 rows is about 50 min." in taken.not_good_for
    assert "exact results: for 1,000,000 rows it is approximate." in taken.not_good_for


def test_a_sample_is_told():
    one = made("isomap", 0.9, 0.9)
    told = "Compared on a random sample of 100 of 5,000 rows."
    assert told in recommendation.recommend(record(one, rows=5000)).reasons
    assert not any("sample" in text for text in recommendation.recommend(record(one)).reasons)


def test_a_cloud_is_for_pca_unless_a_target_objects():
    entries = [made("tsne", 0.9, 0.9), made("pca", 0.4, 0.4)]
    assert recommendation.recommend(record(*entries)).method == "tsne"
    assert recommendation.recommend(record(*entries, structured=None)).method == "tsne"
    assert recommendation.recommend(record(*entries, structured=False)).method == "pca"
    for entry, share in zip(entries, (0.95, 0.6), strict=True):
        entry["criteria"]["target"] = {
            **one_side(share, [share] * 10),
            "classes": {},
            "balanced": share,
            "confused": {},
        }
    assert recommendation.recommend(record(*entries, structured=False)).method == "tsne"


def test_skew_that_looks_crowded_is_told_with_what_it_is_compared_with():
    entries = [made("tsne", 0.9, 0.9), made("pca", 0.4, 0.4)]
    plain = recommendation.recommend(record(*entries, structured=False)).reasons[0]
    assert "1.00 times as far apart as in Gaussian data of the same covariance; a ratio below 0.9" in plain
    evidence = {"crowding": 0.81, "column_crowding": 1.01}
    told = recommendation.recommend(record(*entries, structured=False, **evidence)).reasons[0]
    assert "0.81 times as far apart" in told
    assert "(1.01 times in data with these column distributions and rank correlations); a ratio" in told


@pytest.mark.parametrize(
    ("method", "true", "linear", "against"),
    [("pca", 2.0, 3.0, True), ("isomap", 2.0, 3.0, False), ("isomap", 3.0, 3.0, True), ("pca", 3.0, 3.0, False),
     ("classical_mds", 3.0, 3.0, False), ("classical_mds", 2.0, 3.0, True),
     ("pca", 4.0, 3.0, False), ("isomap", 4.0, 3.0, False), ("isomap", None, 3.0, False)],
)  # fmt: skip
def test_a_count_of_dimensions_that_speaks_against_the_choice_is_told_as_such(method, true, linear, against):
    dimensions = {"nonlinear": true, "linear": linear, "sentence": "The data have so many dimensions."}
    reasons = recommendation.recommend(record(made(method, 0.9, 0.9), dimensions=dimensions)).reasons
    told = "It is recommended although the data have so many dimensions."
    assert (told in reasons) is against
    assert (dimensions["sentence"] in reasons) is not against


def test_a_recommendation_says_what_it_is_not_good_for():
    advice = recommendation.recommend(record(made("tsne", 0.95, 0.4), made("pca", 0.3, 0.3)))
    text = str(advice)
    assert text.startswith("Recommended: t-SNE.\nNeighbours: good (trustworthiness 0.975, ")
    assert "Distances: poor (rank correlation 0.400)." in text, "the word that its own report would use"
    assert "Not suited for: comparing distances, such as those between groups (rank correlation 0.40)." in text
    assert "it has no inverse" in text
    assert advice.call == "lowland.TSNE(n_components=2)"
    assert pickle.loads(pickle.dumps(advice)) == advice
    assert copy.deepcopy(advice) == advice
    only = recommendation.recommend(record(made("isomap", 0.9, 0.9)))
    assert "Isomap is the only candidate that finished" in only.reasons[0]


def test_why_nothing_ran_is_not_why_others_were_left_out_from_the_start():
    excluded = {"key": "lpp", "status": "skipped", "reason": "it does not take sparse rows", "kind": EXCLUDED}
    late = {"key": "pca", "status": "skipped", "reason": "the budget was used up", "kind": "default", "cause": "budget"}
    with pytest.raises(LowlandError, match=r"\(pca skipped: the budget was used up\); give a larger budget"):
        recommendation.recommend(record(excluded, late))
    broken = late | {"reason": "ValueError: no budget column", "cause": "other"}  # only the cause counts, not the words
    with pytest.raises(LowlandError, match=r"no budget column\)$"):
        recommendation.recommend(record(broken))
