"""What is measured of a map, with all rows and without each fold of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr

from lowland import quality
from lowland.comparison.dataset import read
from lowland.comparison.measuring import Placed, criteria
from lowland.comparison.structure import Truth, direct_distances
from lowland.comparison.voting import guesses
from lowland.quality.class_accuracy import voted
from lowland.quality.leave_out import rank_sums
from lowland.quality.rank_measures import at_chance
from lowland.quality.ranks import rank_table
from lowland.quality.spaces import sides


def measured(X: np.ndarray, Y: np.ndarray, kinds: np.ndarray | None = None, held: float = 0.2, k: int = 5) -> tuple:
    given, _ = read(X, kinds, "euclidean", None, held, 0)
    there = np.arange(len(X))
    return given, criteria(given, Truth(direct_distances(given), {}), Placed(Y, there), k, False)


@pytest.mark.parametrize(("n", "levels"), [(80, 0), (80, 3), (1050, 0), (1050, 7)])
def test_rank_sums_without_a_fold_are_those_of_the_rows_left(n, levels, rng):
    """Against tables of ranks made anew: with and without ties, by sorting (few rows) and by counting."""
    X = rng.integers(levels, size=(n, 4)).astype(float) if levels else rng.standard_normal((n, 4))
    Y, fold = X[:, :2] + (0 if levels else rng.standard_normal((n, 2))), rng.integers(4, size=n)
    numbers = np.sort(rng.choice(n, n // 2, replace=False))
    found = rank_sums(sides(X, Y), np.full(5, 6), numbers, fold)
    for column in range(5):
        left = np.flatnonzero(fold != column - 1)
        table = rank_table(sides(X[left], Y[left]), 6, None)
        place = np.full(n, -1)
        place[left] = np.arange(len(left))
        rows = place[numbers]
        for values, expected in ((found.false, table.false_ranks), (found.missing, table.missing_ranks)):
            np.testing.assert_allclose(values[rows >= 0, column], expected[rows[rows >= 0]], rtol=1e-12, atol=1e-12)
            assert np.isnan(values[rows < 0, column]).all(), "a row that is left out is not judged"


def test_lists_that_are_too_short_without_a_fold_are_looked_up_again(rng):
    """All near rows of some are in one fold, so that the k nearest without it lie far down the list."""
    X = rng.standard_normal((1100, 3))
    fold = rng.integers(5, size=1100)
    fold[np.argsort(np.linalg.norm(X - X[7], axis=1))[1:60]] = 4
    fold[7] = 0
    found = rank_sums(sides(X, X[:, :2]), np.full(6, 6), np.array([7]), fold)
    left = np.flatnonzero(fold != 4)
    table = rank_table(sides(X[left], X[left, :2]), 6, None)
    assert found.false[0, 5] == table.false_ranks[np.flatnonzero(left == 7)[0]]


def test_criteria_without_a_fold_are_those_of_the_rows_left(rng):
    """Values and those without each fold, fitted and held-out rows at once, all measured from the beginning.

    Fitted rows are judged among fitted rows, held-out ones among all.
    """
    X, kinds = rng.integers(20, size=(70, 4)).astype(float), rng.integers(2, size=70)  # many equal distances
    Y = X[:, :2]
    given, found = measured(X, Y, kinds)
    for part in range(-1, 10):
        left = given.fold != part
        fitted, held = np.flatnonzero(left & ~given.held), np.flatnonzero(left & given.held)
        both = np.flatnonzero(left)
        for side, judged, among in (("training", fitted, fitted), ("held-out", held, both)):
            values = []
            for name in ("trustworthiness", "continuity"):
                groups = np.isin(among, judged)
                told = getattr(quality, name)(X[among], Y[among], n_neighbors=5, groups=groups).groups[True]
                chance = at_chance(name, len(among), 5)
                values.append((told - chance) / (1 - chance))
            guess = [vote(Y, kinds, i, among) for i in judged]
            expected = {
                "local": np.mean(values),
                "global": spearmanr(pdist(X[judged]), pdist(Y[judged])).statistic,
                "target": np.mean(guess == kinds[judged]),
            }
            for name, value in expected.items():
                told = found[name][side]
                assert (told["value"] if part < 0 else told["without"][part]) == pytest.approx(value, abs=1e-12), name


def vote(Y: np.ndarray, kinds: np.ndarray, i: int, among: np.ndarray) -> int:
    """Most of the 5 nearest others, of equally near ones the first in the table; of equal votes the nearest's."""
    others = among[among != i]
    near = others[np.argsort(cdist(Y[[i]], Y[others])[0], kind="stable")[:5]]
    counts = np.bincount(kinds[near], minlength=2)
    return next(kind for kind in kinds[near] if counts[kind] == counts.max())


def test_votes_and_their_ties():
    assert voted(np.array([[0, 1, 1, 2, 2, 0], [2, 1, 1, 0, 2, 1]]), 3).tolist() == [0, 1]
    line = np.array([0.0, 1.0, 2.5, 4.5, 7.0])[:, None]
    fold, codes = np.array([0, 1, 1, 1, 0]), np.array([0, 1, 0, 1, 1])
    found = guesses(line, codes, 2, 1, np.array([0, 2]), fold, 2)
    assert found.tolist() == [[1, -1, 1], [1, 1, -1]], "without a fold its points neither vote nor are judged"


def test_a_map_without_held_out_places_is_measured_as_any_other_on_fitted_rows(rng):
    X = rng.standard_normal((120, 4))
    given, whole = measured(X, X[:, :2].copy())
    fitted = np.flatnonzero(~given.held)
    bound = criteria(given, Truth(direct_distances(given), {}), Placed(X[fitted, :2], fitted), 5, False)
    for name in ("local", "global"):
        assert bound[name]["training"] == whole[name]["training"]
        assert "held-out" not in bound[name]


def test_of_many_rows_the_same_are_judged_whether_others_have_a_place_or_not(rng, monkeypatch):
    monkeypatch.setattr("lowland.comparison.measuring.ANCHORS", 40)
    X = rng.standard_normal((120, 4))
    given, whole = measured(X, X[:, :2].copy())
    fitted = np.flatnonzero(~given.held)
    bound = criteria(given, Truth(direct_distances(given), {}), Placed(X[fitted, :2], fitted), 5, False)
    assert bound["local"]["training"] == whole["local"]["training"]


@pytest.mark.parametrize(("known", "told"), [(9, False), (10, True)])
def test_few_held_out_classes_do_not_count_as_much_as_all_fitted_ones(rng, known, told):
    X, kinds = rng.standard_normal((100, 3)), np.array(["a", "b"] * 50, dtype=object)
    held = np.flatnonzero(read(X, None, "euclidean", None, 0.2, 0)[0].held)
    kinds[held[known:]] = None
    _, found = measured(X, X[:, :2].copy(), kinds)
    assert ("held-out" in found["target"]) is told
    assert "held-out" in found["local"]


def test_many_rows_have_no_other_rule(rng):
    """Without a fold of 640 rows distances are those between the rows left, and neighbours are searched among them."""
    X = rng.standard_normal((640, 3))
    given, found = measured(X, X[:, :2].copy(), held=0.0)
    left = np.flatnonzero(given.fold != 3)
    told = [quality.trustworthiness(X[left], X[left, :2], 5), quality.continuity(X[left], X[left, :2], 5)]
    chance = at_chance("continuity", len(left), 5)
    kept = np.mean([(value - chance) / (1 - chance) for value in told])
    assert found["local"]["training"]["without"][3] == pytest.approx(kept, abs=1e-12)
    apart = spearmanr(pdist(X[left]), pdist(X[left, :2])).statistic
    assert found["global"]["training"]["without"][3] == pytest.approx(apart, abs=1e-12)
