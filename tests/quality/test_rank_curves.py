"""Neighbourhoods of every size: co-ranks and their identities, the curve and its area, ties at any size."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.quality import rank_curves
from lowland.quality.anchors import labels
from lowland.quality.rank_curves import RnxCurve, coranking, rnx_curve
from lowland.quality.rank_measures import continuity, neighborhood_overlap, trustworthiness, worst_ranks


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((120, 6))
    return X, X[:, :2] + 0.3 * rng.standard_normal((120, 2))


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


def area(X, Y):
    """Return the area under the curve from all co-ranks."""
    n = len(X)
    K = np.arange(1, n - 1)
    kept = np.cumsum(np.cumsum(coranking(X, Y), axis=0), axis=1)[K - 1, K - 1] / (K * n)
    return (((n - 1) * kept - K) / (n - 1 - K) / K).sum() / (1 / K).sum()


def test_fewer_sizes_of_a_larger_set_are_of_the_same_curve(rng, monkeypatch):
    """And its area is that of all sizes: of clumps that are mixed inside, lines between a few would miss it."""
    clump = np.repeat(np.arange(8), 150)
    centers = 50 * rng.standard_normal((8, 5))
    X = centers[clump] + rng.standard_normal((1200, 5))
    Y = centers[clump, :2] + rng.standard_normal((1200, 2))
    few = rnx_curve(X, Y)
    monkeypatch.setattr(rank_curves, "_ALL_SIZES", 5000)
    all = rnx_curve(X, Y)
    assert len(few.k) < 130
    assert (few.k[0], few.k[-1], len(all.k)) == (1, 1198, 1198)
    np.testing.assert_array_equal(few.values, all.values[few.k - 1])
    assert few.auc.exact
    assert few.auc == pytest.approx(area(X, Y), abs=1e-12)
    assert few.auc == pytest.approx((all.values / all.k).sum() / (1 / all.k).sum(), abs=1e-12)


@pytest.mark.parametrize("sides", ["both", "data", "map"])
def test_the_area_of_tied_points_is_that_of_their_coranks(sides, rng):
    plain, tied = rng.standard_normal((1100, 3)), rng.integers(0, 2, (1100, 7)).astype(float)
    X, Y = {"both": (tied, tied[:, :4]), "data": (tied, plain), "map": (plain, tied)}[sides]
    assert rnx_curve(X, Y).auc == pytest.approx(area(X, Y), abs=1e-12)


def test_coranks_of_tied_points_by_brute_force(rng):
    """A point tied with others on both sides fills a rectangle of ranks; nothing is left outside by rounding."""
    X, Y = rng.integers(0, 2, (40, 3)).astype(float), rng.integers(0, 3, (40, 2)).astype(float)
    D, E = (np.sqrt(((Z[:, None] - Z) ** 2).sum(axis=2)) for Z in (X, Y))
    Q = np.zeros((39, 39))
    for i in range(40):
        others = np.arange(40) != i
        for j in np.flatnonzero(others):
            a, g = (D[i, others] < D[i, j]).sum(), (D[i, others] == D[i, j]).sum()
            b, h = (E[i, others] < E[i, j]).sum(), (E[i, others] == E[i, j]).sum()
            Q[a : a + g, b : b + h] += 1 / (g * h)
    found = coranking(X, Y)
    np.testing.assert_allclose(found, Q, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found == 0, Q == 0)


def test_work_on_ties_grows_with_the_points_alone():
    """Each tied point changes four entries, however many ranks it shares."""
    from lowland.quality.ranks_loops import add_coranks

    changed = []
    for g in (2, 40):
        corners = Counted(np.zeros((41, 41)))
        ranks = ((np.arange(40) // g) * g)[None, :], np.full((1, 40), g)
        add_coranks.py_func(*ranks, *ranks, Counted(np.zeros((40, 40))), corners)
        changed.append(corners.changed)
    assert changed == [4 * 40, 4 * 40]


class Counted:
    """A matrix that counts how often an entry is changed."""

    def __init__(self, values):
        self.values, self.shape, self.changed = values, values.shape, 0

    def __getitem__(self, place):
        return self.values[place]

    def __setitem__(self, place, value):
        self.values[place] = value
        self.changed += 1


def test_of_more_groups_than_anchors_the_largest_are_told(rng):
    X = rng.standard_normal((900, 3))
    groups = np.concatenate([np.arange(60), np.repeat([3, 7, 11, 50], 210)])
    found = rnx_curve(X, X[:, :2], anchors=4, groups=groups).auc
    assert set(found.groups) == {3, 7, 11, 50}
    assert not found.exact
    chosen = rank_curves._largest(labels(groups, 900), 4)
    assert (np.bincount(chosen.codes + 1) == [56, 211, 211, 211, 211]).all()
    assert set(rnx_curve(X, X[:, :2], anchors=None, groups=groups).auc.groups) == set(range(60))


def test_the_curve_draws_itself_and_is_equal_to_itself_alone(pair):
    curve = rnx_curve(*pair)
    np.testing.assert_array_equal(curve.figure().axes[0].lines[0].get_xdata(), curve.k)
    assert curve in [rnx_curve(*pair), curve]
    assert curve != rnx_curve(*pair)


@pytest.mark.parametrize("largest", [0, 20, 1.5, True])
def test_bad_largest_rank(largest, rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="between 1 and 19"):
        coranking(X, X, largest)


def test_coranking_that_does_not_fit_is_refused(rng):
    X = rng.standard_normal((5000, 3))
    with lowland.config(memory_limit="100MB"), pytest.raises(lowland.MemoryLimitError, match="largest="):
        coranking(X, X)
