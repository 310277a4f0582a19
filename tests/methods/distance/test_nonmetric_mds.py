"""NonmetricMDS: reference values, ties, degenerate data, new rows, many rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

import lowland
from lowland import DegenerateWarning, NonmetricMDS
from lowland.methods.distance.metric_mds import MetricMDS
from lowland.methods.distance.order_stress import Curve
from lowland.methods.distance.placement import Placement
from lowland.spectral.procrustes import procrustes
from sample_tables import REFERENCE


def kruskal(D, Y, ties="primary"):
    """Stress-1 by scikit-learn's monotone regression."""
    from sklearn.isotonic import isotonic_regression

    delta, d = squareform(D), pdist(Y)
    if ties == "secondary":
        _, level = np.unique(delta, return_inverse=True)
        counts = np.bincount(level)
        fitted = isotonic_regression(np.bincount(level, weights=d) / counts, sample_weight=counts)[level]
    else:
        order = np.lexsort((d, delta))
        fitted = np.empty_like(d)
        fitted[order] = isotonic_regression(d[order])
    return float(np.sqrt(((d - fitted) ** 2).sum() / (d**2).sum()))


@pytest.fixture(scope="module")
def swiss():
    return np.loadtxt(REFERENCE / "swiss.csv", delimiter=",", skiprows=1, usecols=range(1, 7))


def test_no_worse_than_r(swiss):
    reference = json.loads((REFERENCE / "results.json").read_text())
    model = NonmetricMDS().fit(swiss[:, 1:])
    want = reference["isoMDS_swiss_minus1_converged"]
    assert 100 * model.stress_ <= want["stress_percent"]
    assert procrustes(model.embedding_, np.array(want["points"]["values"])).error < 1e-3
    assert round(NonmetricMDS().fit(swiss).stress_, 9) <= 0.042192857  # vegan::monoMDS from the same start


@pytest.mark.parametrize("ties", ["primary", "secondary"])
def test_stress_is_kruskals(rng, ties):
    D = np.round(squareform(pdist(rng.standard_normal((40, 4)))), 1)  # many ties
    model = NonmetricMDS(metric="precomputed", ties=ties).fit(D)
    assert model.stress_ == pytest.approx(kruskal(D, model.embedding_, ties), rel=1e-9)
    assert (np.diff(model.stress_history_) <= 0).all()
    assert model.stress_ < kruskal(D, MetricMDS(metric="precomputed").fit(D).embedding_, ties)


def test_secondary_ties_ask_for_more(rng):
    D = np.round(squareform(pdist(rng.standard_normal((40, 4)))), 0)
    first, second = (NonmetricMDS(metric="precomputed", ties=t).fit(D).stress_ for t in ("primary", "secondary"))
    assert first < second


@pytest.mark.parametrize("kind", ["euclidean", "any"])
def test_D3_distances_on_the_map_have_the_order_of_those_given(rng, kind):
    X = rng.random((40, 2))
    delta = pdist(X) ** 3 if kind == "euclidean" else 1 + rng.random(780)  # numbers that belong to no points at all
    D = squareform(delta)
    model = NonmetricMDS(metric="precomputed").fit(D)
    assert model.stress_ <= kruskal(D, lowland.ClassicalMDS(metric="precomputed").fit_transform(D))
    for size in (1e-3, 1e-2, 0.1):  # and no map nearby does better
        scale = size * model.embedding_.std()
        assert model.stress_ < kruskal(D, model.embedding_ + scale * rng.standard_normal((40, 2)))
    if kind == "euclidean":
        assert spearmanr(pdist(model.embedding_), delta).statistic > 0.9999


def test_D4_rotation_and_translation_of_the_input_change_nothing(rng):
    X = rng.standard_normal((60, 4)) * [4, 3, 1, 1]
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    first, second = NonmetricMDS().fit(X), NonmetricMDS().fit(X @ Q + 100)
    assert first.stress_ == pytest.approx(second.stress_, rel=1e-6)
    np.testing.assert_allclose(first.embedding_, second.embedding_, atol=1e-3 * np.abs(first.embedding_).max())


def test_only_the_order_counts(rng):
    D = squareform(pdist(rng.standard_normal((50, 4))))
    start = rng.standard_normal((50, 2))
    first = NonmetricMDS(metric="precomputed", init=start).fit(D)
    second = NonmetricMDS(metric="precomputed", init=start).fit(D**3)
    assert procrustes(first.embedding_, second.embedding_).error < 1e-6
    assert first.stress_ == pytest.approx(second.stress_, rel=1e-9)


def test_a_map_is_found_again_from_the_order_of_its_distances(rng):
    X = rng.random((80, 2)) * [3, 2]
    ranks = np.argsort(np.argsort(pdist(X))).astype(float) + 1
    model = NonmetricMDS(metric="precomputed").fit(squareform(ranks))
    assert model.stress_ < 0.002
    assert procrustes(model.embedding_, X).error < 0.02


def test_numerical_gradient_vanishes_at_the_end(rng):
    X = rng.standard_normal((30, 5))
    D = squareform(pdist(X))
    model = NonmetricMDS(tol=1e-14, max_iter=3000).fit(X)
    for _ in range(4):
        e = rng.standard_normal((30, 2))
        slope = (kruskal(D, model.embedding_ + 1e-5 * e) - kruskal(D, model.embedding_ - 1e-5 * e)) / 2e-5
        assert abs(slope) < 1e-5


def test_scale_is_that_of_the_distances(rng):
    X = 100 * rng.standard_normal((60, 4))
    model = NonmetricMDS().fit(X)
    d, D = pdist(model.embedding_), pdist(X)
    assert (d @ D) / (d @ d) == pytest.approx(1.0, rel=1e-9)


def test_collapse_is_never_silent(rng):
    centers = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    X = np.repeat(centers, 15, axis=0) + 8 * rng.random((45, 2))
    X = np.column_stack([X, 8 * rng.random((45, 3))])
    with pytest.warns(DegenerateWarning, match=r"degenerate: \d+% of the pairs collapsed"):
        model = NonmetricMDS(init="random", max_iter=1000).fit(X)
    assert model.fit_info_.evidence["pairs fallen together"] > 0.2
    assert model.fit_info_.evidence["degenerate"] is True


def test_few_points_that_can_all_be_equally_far(rng):
    D = squareform(np.array([3.0, 4.0, 5.0]))
    with pytest.warns(DegenerateWarning, match="equal"):
        NonmetricMDS(metric="precomputed", init=np.array([[0.0, 1.0], [0.75**0.5, -0.5], [-(0.75**0.5), -0.5]])).fit(D)


def test_duplicates_rank_and_equal_points(rng):
    X = rng.standard_normal((40, 3))
    X[7] = X[3]
    model = NonmetricMDS().fit(X)
    np.testing.assert_array_equal(model.embedding_[7], model.embedding_[3])
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    with pytest.warns(lowland.RankWarning, match="rank 1"):
        assert NonmetricMDS(2).fit(np.outer(rng.standard_normal(30), [1.0, 2.0])).n_components_ == 1
    with pytest.raises(lowland.DataError, match="rank 0"):
        NonmetricMDS(1).fit(np.full((10, 3), 2.0))


def test_bad_input_is_named(rng):
    D = squareform(pdist(rng.standard_normal((6, 2))))
    lopsided, missing, own = D.copy(), D.copy(), D.copy()
    lopsided[1, 4], missing[1, 4], own[2, 2] = 9.0, np.nan, 1.0
    cases = [
        (-D, "negative"),
        (lopsided, "not symmetric: .* at row 1, column 4"),
        (missing, "row 1, column 4"),
        (own, "object 2 has distance 1 to itself"),
        (D[:, :5], "square"),
    ]
    for bad, message in cases:
        with pytest.raises(lowland.DataError, match=message):
            NonmetricMDS(metric="precomputed").fit(bad)
    with pytest.raises(lowland.DataError, match="n_components=6 is more than the number of points less one = 5"):
        NonmetricMDS(6, metric="precomputed").fit(D)
    with pytest.raises(lowland.DataError, match="one row for each of the 6 training rows and 2 columns"):
        NonmetricMDS(metric="precomputed", init=np.ones((4, 2))).fit(D)
    with pytest.raises(lowland.DataError, match="not a finite number"):
        NonmetricMDS(metric="precomputed", init=np.full((6, 2), np.nan)).fit(D)
    with pytest.raises(ValueError, match="init must be 'classical' or 'random', or a dense matrix"):
        NonmetricMDS(metric="precomputed", init="spectral").fit(D)


def test_all_dissimilarities_tied():
    D = 1 - np.eye(8)
    with pytest.warns(DegenerateWarning, match=r"all dissimilarities are equal \(tied\).*every map has stress 0"):
        NonmetricMDS(metric="precomputed").fit(D)
    with pytest.warns(DegenerateWarning, match="no axis is better than another"):
        NonmetricMDS(metric="precomputed", ties="secondary").fit(D)
    NonmetricMDS(7, metric="precomputed").fit(D)  # there is room for all: the map is the simplex


@pytest.mark.parametrize("landmarks", [None, 200])
def test_new_rows_of_a_known_shape_land_where_they_belong(rng, landmarks):
    T = rng.random((700, 2)) * [4, 2]
    X = np.column_stack([T, 0.1 * np.sin(2 * T[:, 0])])
    train, new = slice(0, 400), slice(400, 700)
    model = NonmetricMDS(landmarks=landmarks).fit(X[train])
    align = procrustes(model.embedding_, T[train])
    own = np.linalg.norm(align(model.embedding_) - T[train], axis=1)
    error = np.linalg.norm(align(model.transform(X[new])) - T[new], axis=1)
    copied = align(model.embedding_)[cdist(X[new], X[train]).argmin(axis=1)]
    assert np.median(error) <= 2 * np.median(own)
    assert np.median(np.linalg.norm(copied - T[new], axis=1)) > 2 * np.median(own)


def test_placed_rows_do_not_shrink(rng):
    """Targets are d̂/(1 − S²): with d̂ itself, rows of badly fitting data would be drawn to the centre."""
    X = rng.standard_normal((900, 10))
    with pytest.warns(lowland.LowlandWarning, match="do not agree on one map"):  # all directions are alike
        model = NonmetricMDS(landmarks=300).fit(X)

    def size(curve):
        placed = model._measure(Placement(model.positions_, curve=curve))(X)
        return np.sqrt((placed**2).sum(axis=1).mean() / (model.positions_**2).sum(axis=1).mean())

    assert 0.9 < size(Curve(model.curve_[0], model.curve_[2])) < 1.1
    assert size(Curve(model.curve_[0], model.curve_[1])) < 0.92
    evidence = model.fit_info_.evidence
    assert evidence["stress-1"] < 1.1 * evidence["stress-1 of the landmarks"]


def test_landmarks_cost_what_they_say(rng):
    X = rng.standard_normal((1000, 6)) * [4, 2.5, 1, 1, 1, 1]
    exact = NonmetricMDS(landmarks=None).fit(X)
    model = NonmetricMDS(landmarks=200).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert model.fit_info_.approximate
    true = procrustes(model.embedding_, exact.embedding_).error
    assert model.fit_info_.approximation_error == pytest.approx(true, rel=0.5)
    assert kruskal(squareform(pdist(X)), model.embedding_) < 1.05 * exact.stress_


@pytest.mark.parametrize("landmarks", ["farthest:2", "uniform:30"])
def test_no_stress_has_no_error(landmarks, monkeypatch):
    monkeypatch.setattr("lowland.methods.distance.pair_sample.GROUPS", 4)
    X = np.zeros((3000, 2))
    X[1234] = 1.0  # the pairs that are measured are all equal rows
    X[:20] = 1.0 if landmarks == "uniform:30" else 0.0
    with pytest.warns(lowland.LowlandWarning, match="do not agree on one map"):  # no two rows of the sample differ
        model = NonmetricMDS(1, landmarks=landmarks).fit(X)
    evidence = model.fit_info_.evidence
    assert evidence["stress-1"] == pytest.approx(0, abs=1e-12)
    assert evidence["stress-1, standard error"] == pytest.approx(0, abs=1e-12)


def test_same_bits_on_any_number_of_threads():
    X = load_digits().data[:600] * np.where(np.arange(64) % 8 == 2, 5.0, 1.0)  # of which 100 landmarks give one map
    for parameters in ({}, {"landmarks": 100}):
        found = []
        for threads in (1, 2, 3):
            with lowland.config(threads=threads):
                found.append(NonmetricMDS(max_iter=300, **parameters).fit(X).embedding_)
        assert all(np.array_equal(found[0], other) for other in found[1:])
