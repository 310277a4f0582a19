"""Intervals of drawn pairs and of rows: what they are by definition, and how often they hold the value of all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import stdtrit

import lowland
from lowland import quality
from lowland.quality.intervals import of_batches, of_parts, ratio
from lowland.quality.pair_measures import (
    MONOTONE,
    SPEARMAN,
    correlation_of,
    error_of,
    residual_of,
    sammon_of,
    stress_of,
)
from lowland.quality.pair_values import pearson
from lowland.quality.pairs import PairTable, Pilot
from lowland.quality.pairs_of_rows import correlation_over_rows
from lowland.quality.spaces import sides

SUMS = {
    "stress": stress_of,
    "sammon": sammon_of,
    "pearson": correlation_of,
    "residual variance": residual_of,
    "error": error_of,
}
ORDERS = ("spearman", "monotone stress")


def heavy_tailed(rng, n):
    X = rng.standard_t(3, size=(n, 8)) * np.linspace(3, 0.3, 8)
    return sides(X, X[:, :2])


def measured(table):
    """All measures on one table of pairs; those of an order share one sorting."""
    return {name: measure(table) for name, measure in SUMS.items()} | dict(
        zip(ORDERS, table.of_order(SPEARMAN, MONOTONE), strict=True)
    )


def coverage(both, truth, pairs, repeats):
    """How many of so many intervals hold the true value."""
    held = dict.fromkeys(truth, 0)
    for repeat in range(repeats):
        for name, found in measured(PairTable(both, pairs, random_state=repeat)).items():
            assert not found.exact
            held[name] += found.low <= truth[name] <= found.high
    return held


@pytest.mark.parametrize("pairs", [1_000, 5_000])
def test_the_interval_holds_the_value_of_all_pairs(rng, pairs):
    """95 of 100 intervals should, and no fewer than 90 do; 1,000 pairs are the fewest, a group has 5,000."""
    both = heavy_tailed(rng, 500)
    held = coverage(both, measured(PairTable(both, None)), pairs, repeats=100)
    assert min(held.values()) >= 90, held


@pytest.mark.slow
def test_the_interval_holds_the_value_of_all_pairs_of_20000_points(rng):
    both = heavy_tailed(rng, 20_000)
    whole = PairTable(both, None)
    truth = {name: measure(whole) for name, measure in SUMS.items()}
    # 200,000,000 pairs are too many to be sorted: sixteen times the pairs stand for all, with a quarter of the error
    truth |= dict(zip(ORDERS, PairTable(both, 16_000_000, 1000).of_order(SPEARMAN, MONOTONE), strict=True))
    held = coverage(both, truth, "auto", repeats=100)
    assert min(held.values()) >= 90, held


def test_a_line_that_follows_few_pairs_too_closely_reaches_up(rng):
    both = heavy_tailed(rng, 500)
    truth = float(stress_of(PairTable(both, None), monotone=True))
    found = [stress_of(PairTable(both, 1000, random_state=s), monotone=True) for s in range(40)]
    assert np.mean(found) < truth - 0.01
    above, below = np.mean([m.high - m for m in found]), np.mean([m - m.low for m in found])
    assert above - below == pytest.approx(truth - np.mean(found), rel=0.5)
    plain = [correlation_of(PairTable(both, 1000, random_state=s), "spearman") for s in range(5)]
    assert all(m.high - m == pytest.approx(m - m.low) for m in plain)


def test_leaving_parts_out_by_definition():
    parts = np.array([[2.0, 1.0], [3.0, 2.0], [4.0, 2.0], [9.0, 3.0]])
    found = of_parts(parts, lambda s: s[0] / s[1], (0.0, 9.0), exact=True)
    without = [np.delete(parts, b, axis=0).sum(axis=0) for b in range(4)]
    values = np.array([upper / lower for upper, lower in without])
    half = stdtrit(3, 0.975) * np.sqrt(3 / 4 * ((values - values.mean()) ** 2).sum())
    assert found == pytest.approx(18 / 8)
    assert (found.low, found.high) == pytest.approx((18 / 8 - half, 18 / 8 + half))
    assert found.exact
    assert of_parts(parts[:1], lambda s: s[0], (0.0, 9.0)).high == 9
    assert np.isnan(of_parts(parts, lambda s: np.nan, (0.0, 9.0)))
    mean = ratio(parts[:, 0], np.ones(4))
    assert mean.high - mean == pytest.approx(stdtrit(3, 0.975) * parts[:, 0].std(ddof=1) / 2)
    assert of_batches(0.5, [0.5], (0.0, 1.0)).low == 0
    assert np.isnan(of_batches(np.nan, [0.4, 0.5], (0.0, 1.0)))


def left_out(delta, d, new, r):
    """The correlation over pairs that begin at new rows, without those that begin or end at one of these."""
    there = (new[:, None] != np.arange(delta.shape[1])) & (new[:, None] != r) & (np.arange(delta.shape[1]) != r)
    return np.corrcoef(delta[there], d[there])[0, 1]


@pytest.mark.parametrize("old", [0, 100])
def test_new_rows_have_an_interval_over_rows(rng, old):
    """Of distances, too: a row goes with all of its pairs, those that begin at it and those that end there."""
    X = rng.standard_t(4, size=(160, 5)) * [5, 3, 1, 1, 1]
    model = lowland.PCA(n_components=2).fit(X[:100])
    new, X = np.arange(old, old + 60), X[100 - old :]
    given = (model, X[old:], X[:old] if old else None)
    found = quality.held_out(*given)["pearson"]
    Y = model.transform(X)
    delta, d = cdist(X[new], X), cdist(Y[new], Y)
    z = np.arctanh([left_out(delta, d, new, r) for r in new])
    half = stdtrit(59, 0.975) * np.sqrt(59 / 60 * ((z - z.mean()) ** 2).sum())
    r = left_out(delta, d, new, -1)
    assert found == pytest.approx(r, rel=1e-12)
    assert (found.low, found.high) == pytest.approx(np.tanh([np.arctanh(r) - half, np.arctanh(r) + half]), rel=1e-9)
    assert found.exact
    if old:
        some = quality.held_out(*given, anchors=60, pairs=4000)
        assert not any(measure.exact for name, measure in some.measures.items() if name != "reconstruction_error")
        assert some["reconstruction_error"].exact
        assert some["pearson"].high - some["pearson"].low == pytest.approx(found.high - found.low, rel=0.6)


@pytest.mark.parametrize(
    ("old", "pairs", "metric"),
    [
        (0, None, "euclidean"),
        (120, None, "euclidean"),
        (120, 3000, "euclidean"),
        (120, 3000, "cityblock"),
    ],
)
def test_the_interval_of_new_rows_holds_the_value_of_many(rng, old, pairs, metric):
    """95 of 100 should, and no fewer than 90 do; many rows are as many tables of that size."""

    def table(random_state, pairs):
        X = np.concatenate([training, rng.normal(size=(80, 4)) * [3, 2, 1, 1]])
        return PairTable(sides(X, X[:, :2], metric), pairs, random_state)

    training, new = rng.normal(size=(old, 4)) * [3, 2, 1, 1], np.arange(old, old + 80)
    many, pilot = np.zeros(9), Pilot(3.0, 0.8)
    for _ in range(100):
        whole = table(0, None)
        whole.pilot = pilot  # sums around the same values can be added
        many += whole.all_sums[new].sum(axis=0)
    truth = pearson(many, pilot)
    found = [correlation_over_rows(table(repeat, pairs), new) for repeat in range(100)]
    assert all(m.exact == (pairs is None) for m in found)
    assert 90 <= sum(m.low <= truth <= m.high for m in found) <= 99


def test_a_second_look_at_the_same_rows_is_the_same(rng):
    table = PairTable(heavy_tailed(rng, 200), 2000, random_state=3)
    first, second = (correlation_over_rows(table, np.arange(150, 200)) for _ in range(2))
    assert (first, first.low, first.high) == (second, second.low, second.high)


def test_the_interval_of_few_new_rows_is_all_there_is(rng):
    X = rng.normal(size=(3, 4))
    found = correlation_over_rows(PairTable(sides(X, X[:, :2])), np.arange(3))
    assert (found.low, found.high) == (-1, 1)
    same = rng.normal(size=(20, 2))
    found = correlation_over_rows(PairTable(sides(same, same)), np.arange(20))
    assert (found.low, found.high) == pytest.approx((1, 1), abs=1e-12)
    even = sides(np.eye(4), np.arange(4.0)[:, None])  # all distances in the data are equal
    assert np.isnan(correlation_over_rows(PairTable(even), np.arange(4)))
