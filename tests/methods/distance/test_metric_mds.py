"""MetricMDS: reference values, weights and masks, new rows, many rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits, make_swiss_roll

import lowland
from lowland.methods.distance.metric_mds import MetricMDS
from lowland.methods.distance.stress import Stress
from lowland.methods.distance.stress import descend as lowest
from lowland.rows.row_source import as_rows
from lowland.spectral.procrustes import procrustes
from sample_tables import REFERENCE


@pytest.fixture(scope="module")
def swiss():
    return np.loadtxt(REFERENCE / "swiss.csv", delimiter=",", skiprows=1, usecols=range(1, 7))


def test_sammon_is_no_worse_than_r(swiss):
    reference = json.loads((REFERENCE / "results.json").read_text())
    model = MetricMDS(stress="sammon").fit(swiss[:, 1:])
    assert model.stress_ <= reference["sammon_swiss_minus1"]["stress"]
    assert model.stress_ == pytest.approx(0.0038093184, rel=1e-6)
    # all six columns: R never leaves its start, 0.0195929; its best of many starts is 0.0091390618399051
    assert MetricMDS(stress="sammon").fit(swiss).stress_ == pytest.approx(0.0096668108, rel=1e-6)
    assert MetricMDS(stress="sammon", init="random", random_state=23, tol=1e-10).fit(
        swiss
    ).stress_ <= 0.0091390618399051 * (1 + 1e-7)


@pytest.mark.filterwarnings("ignore::lowland.DominantColumnWarning")  # of the Catholic share among the Swiss
@pytest.mark.parametrize("name", ["digits", "roll", "swiss"])
def test_no_more_stress_than_scikit_learn_from_the_same_start(name, request):
    from sklearn.manifold import MDS

    X = {"digits": lambda: load_digits().data[:300], "roll": lambda: make_swiss_roll(300, random_state=0)[0]}
    data = request.getfixturevalue("swiss") if name == "swiss" else X[name]()
    start = lowland.PCA(2).fit_transform(data)  # classical MDS
    theirs = MDS(2, n_init=1, init="random", max_iter=300)
    theirs.fit(data, init=start)
    ours = MetricMDS(init=start).fit(data)
    assert ours.raw_stress_ <= theirs.stress_ * (1 + 1e-9)


def test_exact_distances_are_found_again(rng):
    X = rng.standard_normal((80, 3)) * [3, 2, 1]
    for stress in ("raw", "sammon", "elastic"):
        for init in ("classical", X + 0.05 * rng.standard_normal(X.shape)):
            model = MetricMDS(3, stress=stress, init=init).fit(X)
            np.testing.assert_allclose(pdist(model.embedding_), pdist(X), atol=1e-8)
            assert model.stress_ < 1e-8


def test_stress_is_what_it_says(rng):
    X = rng.standard_normal((50, 6))
    D = pdist(X)
    for stress, w in (("raw", np.ones_like(D)), ("sammon", 1 / D), ("elastic", 1 / D**2)):
        model = MetricMDS(stress=stress).fit(X)
        value = float((w * (pdist(model.embedding_) - D) ** 2).sum())
        share = value / float((w * D**2).sum())
        assert model.raw_stress_ == pytest.approx(value, rel=1e-9)
        assert model.stress_ == pytest.approx(share if stress == "sammon" else share**0.5, rel=1e-9)
        assert (np.diff(model.stress_history_) <= 0).all()
        assert model.stress_history_[-1] == model.stress_


@pytest.mark.parametrize("kind", ["euclidean", "cityblock", "any"])
def test_D3_distances_on_the_map_are_near_those_given(rng, kind):
    X = rng.standard_normal((40, 3))
    delta = pdist(X, kind) if kind != "any" else 1 + rng.random(780)  # numbers that belong to no points at all
    D = squareform(delta)
    model = MetricMDS(3, metric="precomputed").fit(D)

    def sigma(Y):
        d = pdist(Y)
        return float(((d * (d @ delta) / (d @ d) - delta) ** 2).sum())

    assert sigma(model.embedding_) == pytest.approx(model.raw_stress_, rel=1e-6, abs=1e-12)
    assert sigma(model.embedding_) <= sigma(lowland.ClassicalMDS(3, metric="precomputed").fit_transform(D)) + 1e-12
    for size in (1e-3, 1e-2, 0.1):  # and no map nearby does better
        assert sigma(model.embedding_) < sigma(model.embedding_ + size * rng.standard_normal((40, 3)))
    if kind == "euclidean":
        np.testing.assert_allclose(pdist(model.embedding_), delta, atol=1e-8)
    else:
        assert model.stress_ < {"cityblock": 0.1, "any": 0.3}[kind]


def test_D4_rotation_and_translation_of_the_input_change_nothing(rng):
    X = rng.standard_normal((60, 4)) * [4, 3, 1, 1]
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    first, second = MetricMDS().fit(X), MetricMDS().fit(X @ Q + 100)
    np.testing.assert_allclose(first.embedding_, second.embedding_, atol=1e-5 * np.abs(first.embedding_).max())
    assert first.stress_ == pytest.approx(second.stress_, rel=1e-9)


def test_numerical_gradient_vanishes_at_the_end(rng):
    X = rng.standard_normal((30, 5))
    model = MetricMDS(tol=1e-14, max_iter=3000).fit(X)

    def sigma(Y):
        return float(((pdist(Y) - pdist(X)) ** 2).sum())

    for _ in range(5):
        e = rng.standard_normal((30, 2))
        slope = (sigma(model.embedding_ + 1e-5 * e) - sigma(model.embedding_ - 1e-5 * e)) / 2e-5
        assert abs(slope) < 1e-5 * model.raw_stress_
    assert model.fit_info_.residual < 1e-6


# -- weights ----------------------------------------------------------------------------------------------


def test_a_map_is_found_again_from_60_percent_of_its_distances(rng):
    X = rng.random((60, 2)) * [10, 6]
    D = squareform(pdist(X))
    gone = np.triu(rng.random(D.shape) < 0.4, 1)
    D[gone | gone.T] = np.nan
    model = MetricMDS(metric="precomputed", weights=~np.isnan(D)).fit(D)
    assert procrustes(model.embedding_, X).error < 1e-6
    assert procrustes(model.embedding_, X).scale == pytest.approx(1, abs=1e-6)


def test_masked_pairs_are_not_looked_at_and_scaled_weights_change_nothing(rng):
    D = squareform(pdist(rng.standard_normal((30, 3))))
    gone = np.triu(rng.random(D.shape) < 0.2, 1)
    gone = gone | gone.T
    fits = []
    for value, factor in ((np.nan, 1.0), (1e6, 1.0), (0.0, 7.0)):
        E = np.where(gone, value, D)
        fits.append(MetricMDS(metric="precomputed", weights=factor * ~gone).fit(E).embedding_)
    np.testing.assert_allclose(fits[1], fits[0], atol=1e-12)
    np.testing.assert_allclose(fits[2], fits[0], atol=1e-5)
    ones = MetricMDS(metric="precomputed", weights=np.ones((30, 30)), tol=1e-13, max_iter=3000).fit(D)
    plain = MetricMDS(metric="precomputed", tol=1e-13, max_iter=3000).fit(D)
    np.testing.assert_allclose(ones.embedding_, plain.embedding_, atol=1e-5)


def test_a_zero_distance_is_a_distance(rng):
    X = rng.standard_normal((40, 2))
    X[7] = X[3]
    D = squareform(pdist(X))
    model = MetricMDS(metric="precomputed").fit(D)
    np.testing.assert_array_equal(model.embedding_[7], model.embedding_[3])
    assert procrustes(model.embedding_, X).error < 1e-8
    D[3, 7] = D[7, 3] = 2.0  # now they are apart, and the map says so
    apart = MetricMDS(metric="precomputed").fit(D)
    assert np.linalg.norm(apart.embedding_[3] - apart.embedding_[7]) > 0.01
    for stress in ("sammon", "elastic"):
        with pytest.warns(lowland.LowlandWarning, match=r"1 pair of different rows has distance 0"):
            model = MetricMDS(stress=stress).fit(X)
        assert procrustes(model.embedding_, X).error < 1e-8


def test_a_pair_that_nearly_coincides_gets_no_boundless_weight(rng):
    X = rng.standard_normal((60, 4))
    twice = np.vstack([X, X[:1] + np.array([1e-9, 0, 0, 0])])
    with pytest.warns(lowland.LowlandWarning, match=r"1 pair .* 0 or nearly 0"):
        elastic = MetricMDS(stress="elastic").fit(twice)
    for model in (elastic, MetricMDS(stress="sammon").fit(twice)):
        assert model.stress_ == pytest.approx(MetricMDS(stress=model.stress).fit(X).stress_, rel=0.1)
        assert np.linalg.norm(model.embedding_[0] - model.embedding_[60]) < 1e-5


def test_a_row_far_beyond_all_landmarks_is_measured_too(rng):
    X = rng.standard_normal((500, 3))
    X[77] += 1e12
    model = MetricMDS(stress="elastic", landmarks=40).fit(X)
    assert 77 not in np.flatnonzero((X[:, None] == model.anchors_).all(axis=2).any(axis=1))
    assert 0 <= model.fit_info_.approximation_error < 1


def test_equal_rows_of_equal_weights_stay_together(rng):
    X = rng.standard_normal((30, 4))
    X[20] = X[4]
    W = rng.random((30, 30)) + 0.5
    W = W + W.T
    W[20], W[:, 20] = W[4], W[:, 4]
    model = MetricMDS(weights=W, init="random").fit(X)
    np.testing.assert_array_equal(model.embedding_[20], model.embedding_[4])
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


def test_weights_that_cannot_be_used_are_refused(rng):
    X = rng.standard_normal((12, 3))
    with pytest.raises(ValueError, match="weights must be None, or a dense matrix"):
        MetricMDS(weights=sp.csr_array(np.ones((12, 12)))).fit(X)
    mask = np.zeros((12, 12), dtype=bool)
    mask[:7, :7] = mask[7:, 7:] = True
    with pytest.raises(lowland.DataError, match=r"2 groups .* 7 \(0, 1, 2, 3, 4, …\); 5 \(7, 8, 9, 10, 11\)"):
        MetricMDS(weights=mask).fit(X)
    with pytest.raises(lowland.DataError, match="12 × 12"):
        MetricMDS(weights=np.ones((3, 3))).fit(X)
    W = np.ones((12, 12))
    W[2, 5] = -1
    with pytest.raises(lowland.DataError, match="row 2, column 5 is -1"):
        MetricMDS(weights=W).fit(X)
    W[2, 5] = 3
    with pytest.raises(lowland.DataError, match="not symmetric: 3 at row 2, column 5"):
        MetricMDS(weights=W).fit(X)
    with pytest.raises(lowland.DataError, match="landmarks=None"):
        MetricMDS(weights=np.ones((12, 12)), landmarks=5).fit(X)


# -- bad and hard data ------------------------------------------------------------------------------------


def test_bad_distances_are_named():
    D = squareform(pdist(np.random.default_rng(0).standard_normal((6, 2))))

    def broken(i, j, value, both=True):
        E = D.copy()
        E[i, j] = value
        if both:
            E[j, i] = value
        return E

    cases = [
        (broken(1, 4, -2.0), "negative: -2 at row 1, column 4"),
        (broken(1, 4, np.nan), r"row 1, column 4 is missing \(NaN\); weights=~np.isnan"),
        (broken(1, 4, 9.0, both=False), "not symmetric"),
        (broken(2, 2, 1.0), "object 2 has distance 1 to itself"),
        (D[:, :5], "square"),
    ]
    for bad, message in cases:
        with pytest.raises(lowland.DataError, match=message):
            MetricMDS(metric="precomputed").fit(bad)
    with pytest.raises(lowland.DataError, match="infinity"):
        MetricMDS(metric="precomputed").fit(broken(0, 1, np.inf))
    with pytest.raises(lowland.DataError, match="n_components=6 is more than the number of points less one = 5"):
        MetricMDS(6, metric="precomputed").fit(D)
    with pytest.raises(lowland.DataError, match="rank 0"):
        MetricMDS(metric="precomputed").fit(np.zeros((5, 5)))
    for stress in ("raw", "sammon", "elastic"):
        with pytest.raises(lowland.DataError, match="rank 0"):
            MetricMDS(1, stress=stress).fit(np.ones((5, 3)))
    with pytest.raises(lowland.DataError, match="one row for each of the 6 training rows and 2 columns"):
        MetricMDS(metric="precomputed", init=np.ones((4, 2))).fit(D)


def test_points_that_start_on_one_spot_part():
    # the corners of a cube: seen along an axis two and two coincide, and classical MDS may look along it
    X = np.array([[a, b, c] for a in (0.0, 3.0) for b in (0.0, 2.0) for c in (0.0, 1.0)])
    model = MetricMDS(2).fit(X)
    assert pdist(model.embedding_).min() > 0.3
    flat = MetricMDS(2, init=X[:, :2]).fit(X)
    assert flat.stress_ == pytest.approx(model.stress_, rel=0.2)


def test_stopping_early_warns():
    X = load_digits().data[:200]
    with pytest.warns(lowland.NotConvergedWarning, match=r"after 3 steps: .* increase max_iter"):
        model = MetricMDS(max_iter=3).fit(X)
    assert model.n_iter_ == 3
    assert len(model.stress_history_) == 4


def test_rank_below_the_components(rng):
    X = np.outer(rng.standard_normal(30), [1.0, 2.0, -1.0])
    for dtype in (np.float64, np.float32):
        with pytest.warns(lowland.RankWarning, match="rank 1"):
            model = MetricMDS(2).fit(X.astype(dtype))
        assert model.n_components_ == 1
        with pytest.warns(lowland.RankWarning, match="rank 1"):
            model = MetricMDS(2, metric="precomputed").fit(squareform(pdist(X)).astype(dtype))
        assert model.n_components_ == 1
    D = squareform(pdist(np.eye(4)))  # a regular simplex, less than its dimensions
    assert MetricMDS(2, metric="precomputed").fit(D).embedding_.shape == (4, 2)


def test_any_metric_and_any_objects():
    words = ["ant", "ants", "aunt", "bee", "been", "beech", "wasp"]

    def edits(a, b):
        return float(len(set(a) ^ set(b)) + abs(len(a) - len(b)))

    model = MetricMDS(metric=edits).fit(words)
    np.testing.assert_array_equal(model.transform(words), model.embedding_)
    assert model.transform(["anti"]).shape == (1, 2)
    X = load_digits().data[:100] + 1
    for metric in ("cityblock", "cosine", "canberra"):
        D = squareform(pdist(X, metric))
        got, want = MetricMDS(metric=metric).fit(X), MetricMDS(metric="precomputed").fit(D)
        assert got.stress_ == pytest.approx(want.stress_, rel=1e-6)


# -- new rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stress", ["raw", "sammon", "elastic"])
@pytest.mark.parametrize("landmarks", [None, 200])
def test_new_rows_of_a_known_shape_land_where_they_belong(rng, stress, landmarks):
    # a sheet, slightly bent: its two coordinates are known
    T = rng.random((700, 2)) * [4, 2]
    X = np.column_stack([T, 0.1 * np.sin(2 * T[:, 0])]) @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    train, new = slice(0, 400), slice(400, 700)
    model = MetricMDS(stress=stress, landmarks=landmarks).fit(X[train])
    align = procrustes(model.embedding_, T[train], scale=False)
    own = np.linalg.norm(align(model.embedding_) - T[train], axis=1)
    error = np.linalg.norm(align(model.transform(X[new])) - T[new], axis=1)
    copied = align(model.embedding_)[cdist(X[new], X[train]).argmin(axis=1)]
    assert np.median(error) <= 2 * np.median(own)
    assert np.median(np.linalg.norm(copied - T[new], axis=1)) > 2 * np.median(own)


@pytest.mark.parametrize("landmarks", [None, 30])
def test_parameters_set_after_the_fit_do_not_change_where_new_rows_go(rng, landmarks):
    X, new = rng.standard_normal((60, 5)), rng.standard_normal((9, 5))
    for stress, other in (("raw", "elastic"), ("sammon", "raw"), ("elastic", "sammon")):
        model = MetricMDS(stress=stress, landmarks=landmarks, metric="cityblock").fit(X)
        want = model.transform(new)
        changed = {"stress": other, "metric": "euclidean", "n_components": 4, "landmarks": 7, "init": "random"}
        model.set_params(**changed, weights=np.eye(60), max_iter=1, tol=0.5, random_state=3)
        np.testing.assert_array_equal(model.transform(new), want)
        model.set_params(metric="precomputed")
        np.testing.assert_array_equal(model.transform(new), want)
        with pytest.raises(lowland.DataError, match="NaN"):
            model.transform(np.where(new > 1, np.nan, new))
    given = MetricMDS(metric="precomputed", landmarks=landmarks).fit(squareform(pdist(X)))
    rows = cdist(new, X)
    rows[:, ::4] = np.nan
    want = given.transform(rows)
    np.testing.assert_array_equal(given.set_params(metric="euclidean").transform(rows), want)


def test_equal_rows_go_together_whatever_lies_on_their_spot(rng):
    X = rng.standard_normal((30, 4))
    X[[12, 20]] = X[4]
    W = rng.random((30, 30)) + 0.5
    W = W + W.T
    W[20], W[:, 20] = W[12], W[:, 12]  # 20 is like 12, and neither like 4
    model = MetricMDS(weights=W, init="random").fit(X)
    np.testing.assert_array_equal(model.embedding_[20], model.embedding_[12])
    assert (model.embedding_[12] != model.embedding_[4]).any()


def test_new_rows_with_some_distances_missing(rng):
    X = rng.standard_normal((60, 2))
    D = squareform(pdist(X))
    model = MetricMDS(metric="precomputed").fit(D[:50, :50])
    new = D[50:, :50].copy()
    want = model.transform(new)
    new[:, ::3] = np.nan
    np.testing.assert_allclose(model.transform(new), want, atol=1e-7)


# -- many rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stress", ["raw", "sammon"])
def test_landmarks_cost_what_they_say(stress):
    X = load_digits().data
    exact = MetricMDS(stress=stress, landmarks=None, init="classical").fit(X)
    model = MetricMDS(stress=stress, landmarks=600).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    d, D = pdist(model.embedding_), pdist(X)
    w = np.ones_like(D) if stress == "raw" else 1 / D
    value = float((w * (d - D) ** 2).sum())
    from_here = MetricMDS(stress=stress, landmarks=None, init=model.embedding_).fit(X)
    info = model.fit_info_
    assert info.approximate
    assert info.approximation_error == pytest.approx(1 - from_here.raw_stress_ / value, rel=0.1)
    assert value < 1.05 * exact.raw_stress_
    share = value / float((w * D**2).sum())
    assert model.raw_stress_ == pytest.approx(value, rel=0.05)
    name = "Sammon's stress" if stress == "sammon" else "stress-1"
    want = share if stress == "sammon" else share**0.5
    assert abs(model.stress_ - want) < 4 * info.evidence[f"{name}, standard error"]


@pytest.mark.parametrize("stress", ["raw", "sammon", "elastic"])
def test_no_stress_has_no_error(stress, monkeypatch):
    monkeypatch.setattr("lowland.methods.distance.pair_sample.GROUPS", 4)
    X = np.zeros((3000, 2))
    X[1234] = 1.0  # the pairs that are measured are all equal rows
    model = MetricMDS(1, stress=stress, landmarks="farthest:2").fit(X)
    name = "Sammon's stress" if stress == "sammon" else "stress-1"
    assert model.fit_info_.evidence[name] == model.fit_info_.evidence[f"{name}, standard error"] == model.stress_ == 0
    assert model.raw_stress_ == 0


@pytest.mark.parametrize(("landmarks", "rows"), [(50, 1000), (300, 1200), (2000, 2500)])
def test_measuring_takes_rows_in_proportion_to_the_landmarks(landmarks, rows, monkeypatch):
    seen = []

    def descend(problem, *arguments, **options):
        seen.append(problem.n)
        return lowest(problem, *arguments, **options)

    for module in ("stress_fit", "metric_mds"):
        monkeypatch.setattr(f"lowland.methods.distance.{module}.descend", descend)
    X = np.random.default_rng(0).standard_normal((2500, 3)) * [8, 4, 0.1]
    MetricMDS(landmarks=landmarks, max_iter=3, tol=1e-3).fit(X)
    assert seen == [landmarks, rows]


@pytest.mark.parametrize("method", [MetricMDS, lowland.NonmetricMDS])
def test_the_plan_follows_the_work(method):
    """Twice the points take four times as long, and measuring what landmarks cost is part of the time."""
    few, many, more = (lowland.plan(method(landmarks=None), shape=(n, 10)).seconds for n in (2000, 4000, 8000))
    assert 3.5 < many / few < 4.5
    assert 3.5 < more / many < 4.5
    exact, through = (lowland.plan(method(landmarks=m), shape=(n, 10)).seconds for m, n in ((None, 500), (500, 3000)))
    assert through > 2 * exact
    short, long = (lowland.plan(method(max_iter=k), shape=(1000, 10)).seconds for k in (5, 1000))
    assert long > 2 * short


def test_the_plan_counts_the_matrices_a_file_holds(rng, tmp_path):
    X = rng.standard_normal((100, 3))
    shape = as_rows(X).shape
    plain = MetricMDS()._plan(shape).model_bytes
    model = MetricMDS(weights=np.ones((100, 100)), init=X[:, :2].tolist())
    planned = model._plan(shape).model_bytes
    assert planned == plain + 8 * 100 * 100 + 8 * 100 * 2
    lowland.save(model.fit(X), tmp_path / "m.lowland")
    assert (tmp_path / "m.lowland").stat().st_size == pytest.approx(planned, rel=0.1)


def test_distances_in_either_order_are_not_copied(rng, monkeypatch):
    seen = []

    class Watched(Stress):
        def __init__(self, delta, weights=None):
            seen.append(delta)
            super().__init__(delta, weights)
            assert self.delta is delta

    monkeypatch.setattr("lowland.methods.distance.metric_mds.Stress", Watched)
    for D in (np.ascontiguousarray, np.asfortranarray):
        given = D(squareform(pdist(rng.standard_normal((30, 4)))))
        MetricMDS(metric="precomputed").fit(given)
        assert np.shares_memory(seen[-1], given)


def test_same_bits_on_any_number_of_threads():
    X = load_digits().data[:700]
    for parameters in ({}, {"landmarks": 100}, {"stress": "elastic"}):
        found = []
        for threads in (1, 2, 3):
            with lowland.config(threads=threads):
                found.append(MetricMDS(**parameters).fit(X).embedding_)
        assert all(np.array_equal(found[0], other) for other in found[1:])


def test_strategies_and_precomputed_landmarks():
    X = load_digits().data[:300]
    D = squareform(pdist(X))
    for landmarks in ("farthest:60", "kmeans++:60", "uniform:60"):
        model = MetricMDS(landmarks=landmarks).fit(X)
        np.testing.assert_array_equal(model.transform(X), model.embedding_)
    given = MetricMDS(metric="precomputed", landmarks="uniform:60").fit(D)
    np.testing.assert_array_equal(given.transform(D), given.embedding_)
    np.testing.assert_allclose(given.embedding_, model.embedding_, atol=1e-6 * np.abs(given.embedding_).max())
