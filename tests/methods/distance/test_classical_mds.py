"""Classical MDS against PCA, R's cmdscale, known maps; landmarks, new rows, constants, bad distances."""

from __future__ import annotations

import json
import weakref

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist, pdist
from threadpoolctl import threadpool_info, threadpool_limits

import lowland
from lowland.methods.shared import distance_based, extension
from lowland.spectral.procrustes import procrustes
from sample_tables import REFERENCE
from signs import up_to_sign


def test_K10_euclidean_rows_are_pca_however_given(rng):
    X = rng.standard_normal((90, 6)) * [5, 4, 3, 2, 1, 1] + 7
    want = lowland.PCA(3).fit_transform(X)
    scale = np.abs(want).max()
    for model, data in (
        (lowland.ClassicalMDS(3), X),
        (lowland.ClassicalMDS(3, metric="precomputed"), cdist(X, X)),
        (lowland.ClassicalMDS(3, metric=lambda a, b: float(np.linalg.norm(a - b))), X),
        (lowland.ClassicalMDS(3, landmarks=90), X),
    ):
        got = model.fit_transform(data)
        np.testing.assert_allclose(up_to_sign(got, want), want, atol=1e-10 * scale)
        np.testing.assert_allclose(model.transform(data), got, atol=1e-10 * scale)
        np.testing.assert_allclose(model.eigenvalues_, lowland.PCA(3).fit(X).singular_values_ ** 2, rtol=1e-10)


@pytest.mark.parametrize("name", ["eurodist", "UScitiesD"])
def test_D1_D2_cities_as_R_has_them(name):
    want = json.loads((REFERENCE / "results.json").read_text())[f"cmdscale_{name}_k2"]
    D = pd.read_csv(REFERENCE / f"{name}.csv", index_col=0).to_numpy(float)
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    points = np.array(want["points"]["values"])
    np.testing.assert_allclose(up_to_sign(model.embedding_, points), points, atol=1e-8 * np.abs(points).max())
    found = np.sort(np.r_[model.spectrum_, 0.0])  # the constant vector's zero is left out of ours
    np.testing.assert_allclose(found, np.sort(want["eig"]), atol=1e-8 * max(want["eig"]))
    evidence = model.fit_info_.evidence
    assert [evidence["goodness of fit"], evidence["goodness of fit, positive part"]] == pytest.approx(want["GOF"])


def test_additive_constant_as_R_has_it():
    D = pd.read_csv(REFERENCE / "eurodist.csv", index_col=0).to_numpy(float)
    model = lowland.ClassicalMDS(metric="precomputed", additive="cailliez").fit(D)
    assert model.additive_constant_ == pytest.approx(2132.678, abs=5e-4)


@pytest.mark.parametrize("additive", ["cailliez", "lingoes"])
def test_a_constant_makes_distances_euclidean(additive, rng):
    D = cdist(X := rng.standard_normal((40, 5)), X, "cityblock")
    plain = lowland.ClassicalMDS(38, metric="precomputed")
    with pytest.warns(lowland.RankWarning, match="positive eigenvalues"):
        plain.fit(D)
    assert plain.n_components_ < 38
    assert plain.fit_info_.evidence["negative share"] > 0.05
    model = lowland.ClassicalMDS(38, metric="precomputed", additive=additive).fit(D)
    assert model.fit_info_.evidence["negative share"] == pytest.approx(0, abs=1e-9)
    c = model.additive_constant_
    want = (D + c if additive == "cailliez" else np.sqrt(D**2 + 2 * c)) * (1 - np.eye(40))
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), want, atol=1e-6 * want.max())
    np.testing.assert_allclose(model.transform(D), model.embedding_, atol=1e-6)


def test_D4_rotation_and_translation_of_the_input(rng):
    X = rng.standard_normal((60, 4)) * [4, 3, 2, 1]
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    a, b = lowland.ClassicalMDS().fit_transform(X), lowland.ClassicalMDS().fit_transform(X @ Q + 100)
    np.testing.assert_allclose(b, a, atol=1e-10)


def test_D4_the_order_of_precomputed_objects_and_how_their_points_lay(rng):
    X = rng.standard_normal((60, 4)) * [4, 3, 2, 1]
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    model = lowland.ClassicalMDS(metric="precomputed")
    a = model.fit_transform(cdist(X, X))
    np.testing.assert_allclose(model.fit_transform(cdist(Z := X @ Q + 100, Z)), a, atol=1e-10)
    order = rng.permutation(60)
    np.testing.assert_allclose(
        up_to_sign(model.fit_transform(cdist(X[order], X[order])), a[order]), a[order], atol=1e-10
    )


def sheet(rng, n):
    """A flat sheet of known shape, seen through city-block distances of its own two coordinates and noise."""
    return rng.uniform(-1, 1, (n, 2)) * [3, 1]


@pytest.mark.parametrize("landmarks", [None, 60])
def test_held_out_rows_land_where_they_belong(landmarks, rng):
    T = sheet(rng, 460)
    X = np.column_stack([T, 0.02 * rng.standard_normal((460, 6))])
    model = lowland.ClassicalMDS(metric=lambda A, B: cdist(A, B), landmarks=landmarks).fit(X[:400])
    motion = procrustes(model.embedding_, T[:400], scale=False)
    own = np.linalg.norm(motion(model.embedding_) - T[:400], axis=1).mean()
    new = np.linalg.norm(motion(model.transform(X[400:])) - T[400:], axis=1).mean()
    nearest = cdist(X[400:], X[:400]).argmin(axis=1)
    copied = np.linalg.norm(motion(model.embedding_[nearest]) - T[400:], axis=1).mean()
    assert new < 2 * own
    assert copied > 2 * own


def test_landmarks_err_by_what_they_claim(rng):
    X = rng.standard_normal((1800, 8)) * [6, 4, 2, 1, 1, 1, 1, 1]
    exact = lowland.ClassicalMDS(metric="cityblock", landmarks=None).fit(X)
    for count in (50, 300):
        model = lowland.ClassicalMDS(metric="cityblock", landmarks=count).fit(X)
        truth = procrustes(model.embedding_, exact.embedding_, scale=False).error
        assert model.fit_info_.approximate
        assert 0.5 * truth < model.fit_info_.approximation_error < 2 * truth
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
        np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-10)
        covariance = model.embedding_.T @ model.embedding_
        np.testing.assert_allclose(covariance, np.diag(model.eigenvalues_), atol=1e-9 * covariance[0, 0])


@pytest.mark.parametrize("strategy", ["uniform", "farthest", "kmeans++"])
def test_every_strategy_finds_a_flat_map(strategy, rng):
    T = sheet(rng, 300)
    model = lowland.ClassicalMDS(metric="euclidean", landmarks=f"{strategy}:20").fit(T)
    assert procrustes(model.embedding_, T, scale=False).error < 1e-10
    assert model.fit_info_.approximation_error < 1e-10


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def test_objects_need_only_distances():
    words = ["cat", "cart", "dog", "dig", "cut", "dogs", "cots"]
    model = lowland.ClassicalMDS(metric=edits).fit(words)
    np.testing.assert_allclose(model.transform(words), model.embedding_, atol=1e-12)
    new = model.transform(["dug"])[0]
    near = words[np.linalg.norm(model.embedding_ - new, axis=1).argmin()]
    assert near in ("dog", "dig", "dogs")


def test_the_whole_spectrum_is_estimated_past_the_dense_limit(rng):
    X = rng.standard_normal((1600, 6)) * np.linspace(3, 1, 6)
    D = cdist(X, X, "cityblock")
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    J = np.eye(1600) - 1 / 1600
    values = np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)
    evidence = model.fit_info_.evidence
    kept = values[-2:].sum()
    slack = 3 * evidence["goodness of fit, error"]
    assert evidence["goodness of fit"] == pytest.approx(kept / np.abs(values).sum(), abs=slack)
    assert evidence["goodness of fit, positive part"] == pytest.approx(kept / values.clip(0).sum(), abs=2 * slack)
    assert evidence["negative share"] == pytest.approx(-values.clip(None, 0).sum() / np.abs(values).sum(), rel=0.05)
    assert evidence["smallest eigenvalue"] == pytest.approx(values[0], rel=0.05)
    np.testing.assert_allclose(model.eigenvalues_, values[:-3:-1], rtol=1e-9)


def spoiled(D, *changes):
    D = D.copy()
    for i, j, value in changes:
        D[i, j] = value
    return D


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: D[:, :-1], r"square distance matrix; this one is 12 × 11"),
        (lambda D: spoiled(D, (3, 5, D[3, 5] + 1)), r"not symmetric: .* at row 3, column 5.*\(D \+ D.T\) / 2"),
        (lambda D: spoiled(D, (3, 5, -1), (5, 3, -1)), r"negative: -1 at row 3, column 5"),
        (
            lambda D: spoiled(D, (4, 2, np.nan)),
            r"distance at row 4, column 2 is missing \(NaN\); MetricMDS.* with weights=~np.isnan\(D\)",
        ),
        (lambda D: spoiled(D, (6, 6, 0.5)), r"object 6 has distance 0.5 to itself"),
        (np.zeros_like, r"rank 0: all distances are zero, so the metric sees equal objects"),
        (np.triu, r"not symmetric.*one half is all zero, so use D \+ D.T$"),
        (lambda D: np.where(np.tri(12, k=-1), np.nan, D), r"one half is all NaN, so use np.fmax\(D, D.T\)"),
    ],
    ids=["not square", "asymmetric", "negative", "NaN", "diagonal", "all equal", "upper half", "NaN below"],
)
def test_bad_distances_name_the_place(change, message, rng):
    D = cdist(X := rng.standard_normal((12, 3)), X)
    for method in (lowland.ClassicalMDS, lowland.NonmetricMDS):
        with pytest.raises(lowland.DataError, match=message):
            method(metric="precomputed").fit(change(D))


def test_half_a_square_is_mended_as_the_error_says(rng):
    D = cdist(X := rng.standard_normal((12, 3)), X)
    upper, gaps = np.triu(D), np.where(np.tri(12, k=-1), np.nan, D)
    np.testing.assert_array_equal(upper + upper.T, D)
    np.testing.assert_array_equal(np.fmax(gaps, gaps.T), D)
    for mended in (upper + upper.T, np.fmax(gaps, gaps.T)):
        lowland.ClassicalMDS(metric="precomputed").fit(mended)


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS, lowland.NonmetricMDS])
def test_bad_distances_of_new_rows(method, rng):
    D = cdist(X := rng.standard_normal((12, 3)), X)
    model = method(metric="precomputed").fit(D)
    with pytest.raises(lowland.DataError, match="negative: -2 to training object 7"):
        model.transform(spoiled(D, (1, 7, -2.0)))
    with pytest.raises(lowland.DataError, match="for each new object: its distances to the 12 training objects"):
        model.transform(D[:, :11])
    with pytest.raises(lowland.DataError, match=r"a row of its own: give X.reshape\(1, -1\), whose 12 columns"):
        model.transform(D[0])
    gap = spoiled(D, (1, 7, np.nan))
    if method is lowland.MetricMDS:
        np.testing.assert_allclose(model.transform(gap), model.embedding_, atol=0.2)
        return
    with pytest.raises(lowland.DataError, match=r"distance to training object 7 is missing \(NaN\).*use MetricMDS"):
        model.transform(gap)


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS, lowland.NonmetricMDS, lowland.KernelPCA])
def test_one_line_of_pairs_is_no_square(method, rng):
    parameters = {"kernel" if method is lowland.KernelPCA else "metric": "precomputed"}
    line = pdist(rng.standard_normal((12, 3)))
    for given in (line, line.tolist()):
        for call in (method(**parameters).fit, lambda X: lowland.plan(method(**parameters), X)):
            with pytest.raises(lowland.DataError, match=r"66 values; .*for 12 objects.*distance.squareform\(X\)"):
                call(given)
    with pytest.raises(lowland.DataError, match=r"one line of 65 values; one half .* would have N\(N − 1\)/2"):
        method(**parameters).fit(line[:-1])


@pytest.mark.parametrize("n", [30, 1600])  # beyond 1500 points the next eigenvalue is not computed, but bounded
def test_equal_eigenvalues_make_axes_arbitrary(n):
    D = 3.0 * (1 - np.eye(n))
    with pytest.warns(lowland.DegenerateWarning, match=r"eigenvalues 2 and 3 are equal \(4.5\), so the axes are arb"):
        model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    assert "axes are arbitrary" in model.fit_info_.warnings[0]
    assert ("n_components=29 includes all" in model.fit_info_.warnings[0]) == (n == 30)


def test_axes_are_arbitrary_only_where_equal_ones_are_left_out():
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    for X in (corners, np.column_stack([corners, [1e-3, -1e-3, -1e-3, 1e-3]])):
        lowland.ClassicalMDS(2).fit(X)
        lowland.ClassicalMDS(2, metric="precomputed").fit(cdist(X, X))
        for model, given in (
            (lowland.ClassicalMDS(1), X),
            (lowland.ClassicalMDS(1, metric="precomputed"), cdist(X, X)),
        ):
            with pytest.warns(lowland.DegenerateWarning, match="eigenvalues 1 and 2 are equal"):
                model.fit(given)
    lowland.ClassicalMDS(3, metric="precomputed").fit(1 - np.eye(4))


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.NonmetricMDS])
def test_landmarks_that_do_not_agree_are_told(method, rng):
    X = rng.standard_normal((400, 10))
    with pytest.warns(lowland.LowlandWarning, match=r"two sets of 30 landmarks do not agree on one map"):
        model = method(metric="cityblock", landmarks=30).fit(X)
    assert model.fit_info_.approximation_error > 0.3
    flat = method(metric="cityblock", landmarks=30).fit(X * ([8, 4] + 8 * [0.1]))
    assert flat.fit_info_.approximation_error < 0.3


def test_the_plan_refuses_what_the_fit_refuses(rng):
    X = rng.standard_normal((20, 4))
    for method in (lowland.ClassicalMDS, lowland.MetricMDS, lowland.NonmetricMDS):
        for model, message in (
            (method(5), r"n_components=5 is more than min\(rows, columns\) = 4"),
            (method(20, metric="cityblock"), "n_components=20 is more than the number of points less one = 19"),
        ):
            for call in (model.fit, lambda X, model=model: lowland.plan(model, X)):
                with pytest.raises(lowland.DataError, match=message):
                    call(X)


def test_the_plan_counts_the_calls_of_a_function():
    def far(a, b):
        return abs(a - b)

    for method in (lowland.ClassicalMDS, lowland.MetricMDS):
        named, own = (lowland.plan(method(1, metric=m), shape=(3000, 1)).seconds for m in ("cityblock", far))
        assert own > named + 4  # 4,498,500 calls


def test_as_many_components_as_points(rng):
    D = cdist(X := rng.standard_normal((6, 9)), X)
    assert lowland.ClassicalMDS(5, metric="precomputed").fit(D).n_components_ == 5
    with pytest.raises(lowland.DataError, match=r"n_components=6 is more than .* = 5"):
        lowland.ClassicalMDS(6, metric="precomputed").fit(D)


@pytest.mark.parametrize("additive", [None, "cailliez", "lingoes"])
def test_landmarks_of_precomputed_distances_are_those_of_the_rows(additive, rng):
    X = rng.standard_normal((300, 4)) * [4, 2, 1, 1]
    D = cdist(X, X, "cityblock")
    rows = lowland.ClassicalMDS(metric="cityblock", landmarks=80, additive=additive).fit(X)
    model = lowland.ClassicalMDS(metric="precomputed", landmarks=80, additive=additive).fit(D)
    np.testing.assert_allclose(model.embedding_, rows.embedding_, atol=1e-8)
    np.testing.assert_allclose(model.transform(D), model.embedding_, atol=1e-9)
    assert model.additive_constant_ == pytest.approx(rows.additive_constant_)
    assert (model.additive_constant_ > 0) == (additive is not None)
    np.testing.assert_array_equal(D[:, model.anchors_][model.anchors_] == 0, np.eye(80, dtype=bool))


@pytest.mark.parametrize("strategy", ["uniform", "farthest", "kmeans++"])
def test_landmarks_of_objects(strategy, rng):
    T = sheet(rng, 200)
    places = [f"{x!r} east, {y!r} north" for x, y in T.tolist()]

    def apart(a, b):
        (x, y), (u, v) = ([float(word) for word in place.split()[::2]] for place in (a, b))
        return float(np.hypot(x - u, y - v))

    model = lowland.ClassicalMDS(metric=apart, landmarks=f"{strategy}:10").fit(places)
    assert len(model.anchors_) == 10
    assert set(model.anchors_) <= set(places)
    assert procrustes(model.embedding_, T, scale=False).error < 1e-9
    np.testing.assert_allclose(model.transform(places[:7]), model.embedding_[:7], atol=1e-9)


def test_float32_distances_keep_a_weak_axis_and_no_more(rng):
    X = rng.standard_normal((1000, 2)) * [1, 0.02]  # of λ₁ the second eigenvalue is 4e-4
    D = cdist(X, X).astype(np.float32)
    for landmarks in (None, 700):
        with pytest.warns(lowland.RankWarning, match="rank 2"):
            model = lowland.ClassicalMDS(5, metric="precomputed", landmarks=landmarks).fit(D)
        assert model.n_components_ == 2
        assert model.embedding_.dtype == np.float32
        assert procrustes(model.embedding_, X, scale=False).error < 1e-4


@pytest.mark.parametrize(("size", "what", "remedy"), [(1e170, "overflow", "divide"), (1e-170, "underflow", "multiply")])
@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS])
def test_distances_that_cannot_be_squared(method, size, what, remedy, rng):
    X = rng.standard_normal((12, 3))
    with pytest.raises(lowland.DataError, match=rf"largest distance is .*{what}; {remedy} the distances by a constant"):
        method(metric=lambda a, b: size * float(np.linalg.norm(a - b))).fit(X)  # of a function the unit is not known


@pytest.mark.parametrize("k", [-566, 566])  # about 1e-170 and 1e170
@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS])
def test_given_distances_are_scaled_before_they_are_squared(method, k, rng):
    D = cdist(X := rng.standard_normal((12, 3)), X)
    with pytest.warns(lowland.LowlandWarning, match="cannot be represented"):
        model = method(metric="precomputed").fit(D * 2.0**k)
    np.testing.assert_array_equal(model.embedding_, method(metric="precomputed").fit(D).embedding_ * 2.0**k)


@pytest.mark.parametrize("size", [1e-60, 1e60])
@pytest.mark.parametrize("n", [50, 1600])
def test_distances_of_unusual_size(size, n, rng):
    D = cdist(X := rng.standard_normal((n, 3)), X)
    want = lowland.ClassicalMDS(metric="precomputed").fit(D)
    model = lowland.ClassicalMDS(metric="precomputed").fit(D * size)
    np.testing.assert_allclose(model.embedding_ / size, want.embedding_, atol=1e-8)
    assert model.fit_info_.evidence["goodness of fit"] == pytest.approx(want.fit_info_.evidence["goodness of fit"])


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS])
def test_the_model_does_not_hold_the_callers_array(method, rng):
    X = rng.standard_normal((40, 3))
    new = X[:5] + 0.1
    model = method(metric="cityblock").fit(X)
    before = model.transform(new)
    X[:] = 0
    np.testing.assert_array_equal(model.transform(new), before)


def test_the_plan_counts_the_anchors():
    def rows(dtype):
        shape = lowland.core.cost.DataShape(5000, 3000, np.dtype(dtype))
        return lowland.ClassicalMDS(metric="cityblock")._plan(shape).parts["rows"]

    assert rows(np.float64) == 8 * 5000 * 3000  # kept; the metric takes them as they are
    assert rows(np.float32) == (8 + 4) * 5000 * 3000  # as the metric wants them, and kept


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS])
def test_a_row_of_a_frame_alone_goes_where_it_went(method, metric, rng):
    frame = pd.DataFrame(rng.standard_normal((60, 30)) + 1).add_prefix("x")
    model = method(metric=metric).fit(frame)
    whole = model.transform(frame)
    for i in (0, 17, 59):
        np.testing.assert_allclose(model.transform(frame.iloc[[i]])[0], whole[i], rtol=0, atol=1e-12)
    np.testing.assert_allclose(whole, model.embedding_, atol=1e-12)


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS, lowland.NonmetricMDS])
def test_fewer_landmarks_than_components(method, rng):
    X = rng.standard_normal((60, 8))
    with pytest.raises(
        lowland.DataError, match=r"4 landmarks span at most 3 dimensions.*more landmarks than n_components=4"
    ):
        method(4, metric="cityblock", landmarks=4).fit(X)
    assert method(4, metric="cityblock", landmarks="auto")._landmarks(20_000).count == method._landmark_defaults.count
    assert method(700, metric="cityblock", landmarks="auto")._landmarks(20_000).count == 2800


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.MetricMDS])
def test_blocks_that_can_be_read_only_once(method, rng):
    X = rng.standard_normal((60, 4)) * [8, 4, 1, 1]
    for once in (iter([X[:30], X[30:]]), lowland.RowSource.from_blocks(iter([X[:30], X[30:]]), n_rows=60)):
        with pytest.raises(
            lowland.DataError, match=r"only once; pass one array, or a function that returns new blocks"
        ):
            method(metric="cityblock").fit(once)
    again = lowland.RowSource.from_blocks(lambda: iter([X[:30], X[30:]]))
    want = method(metric="cityblock", landmarks=20).fit(X).embedding_
    np.testing.assert_allclose(method(metric="cityblock", landmarks=20).fit(again).embedding_, want, atol=1e-12)


def test_the_landmarks_told_are_those_found(rng):
    X = np.repeat(rng.standard_normal((10, 3)), 5, axis=0)
    model = lowland.ClassicalMDS(metric="cityblock", landmarks="farthest:30").fit(X)
    assert len(model.anchors_) == 10
    assert model.fit_info_.algorithm == "10 landmarks (farthest)"


def test_one_set_of_landmarks_is_freed_before_the_second(rng, monkeypatch):
    kept, keep = [], lowland.ClassicalMDS._keep

    def watched(self, items, numbers):
        alive.append(sum(reference() is not None for reference in kept))
        D = keep(self, items, numbers)
        kept.append(weakref.ref(D))
        return D

    alive = []
    monkeypatch.setattr(lowland.ClassicalMDS, "_keep", watched)
    lowland.ClassicalMDS(metric="cityblock", landmarks=50).fit(rng.standard_normal((200, 3)) * [8, 4, 1])
    assert alive == [0, 0]


def test_blas_has_one_thread_all_through_a_fit(rng, monkeypatch):
    seen = []

    def constant(D, eps):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["internal_api"] == "openblas")
        return 1.0

    monkeypatch.setattr(extension, "cailliez", constant)
    D = cdist(X := rng.standard_normal((30, 3)), X, "cityblock")
    with threadpool_limits(2, user_api="blas"):
        lowland.ClassicalMDS(metric="precomputed", additive="cailliez").fit(D)
    assert set(seen) == {1}


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.NonmetricMDS, lowland.MetricMDS])
@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "cityblock", "precomputed"])
@pytest.mark.parametrize("landmarks", [None, 30])
def test_parameters_set_after_a_fit_wait_for_the_next(method, metric, landmarks, rng):
    X = rng.random((60, 4))
    X = cdist(X, X, "cityblock") if metric == "precomputed" else X
    model = method(metric=metric, landmarks=landmarks).fit(X)
    before = model.transform(X[:9])
    for changed in ("cosine", "precomputed", "euclidean", lambda a, b: float(abs(a - b).max())):
        np.testing.assert_array_equal(model.set_params(metric=changed).transform(X[:9]), before)
        np.testing.assert_array_equal(model.set_params(landmarks=None, n_components=3).transform(X[:9]), before)


def test_a_correction_set_after_a_fit_waits_for_the_next(rng):
    X = rng.standard_normal((50, 4))
    for additive, other in ((None, "lingoes"), ("cailliez", None), ("lingoes", "cailliez")):
        model = lowland.ClassicalMDS(metric="cityblock", additive=additive).fit(X)
        before = model.transform(X)
        np.testing.assert_array_equal(model.set_params(additive=other).transform(X), before)


def test_a_function_must_be_there_when_rows_come(rng):
    X = rng.standard_normal((30, 3))
    model = lowland.ClassicalMDS(metric=lambda a, b: float(abs(a - b).max())).fit(X)
    with pytest.raises(lowland.DataError, match="a function as metric, which is now 'euclidean'; fit it again"):
        model.set_params(metric="euclidean").transform(X)


def test_the_check_of_a_square_tells_how_far_it_is_and_can_be_stopped(rng):
    D = cdist(X := rng.standard_normal((1100, 3)), X)
    seen = []

    def progress(stage, done, total):
        seen.append((stage, done, total))
        return len(seen) < 3

    for model in (lowland.ClassicalMDS(metric="precomputed"), lowland.KernelPCA(kernel="precomputed")):
        seen.clear()
        with lowland.config(progress=progress), pytest.raises(lowland.Cancelled):
            model.fit(D)
        assert seen[-1][0].startswith("check ")
        assert seen[-1][1:] == (3, 6)  # 1100 rows are three tiles: six pairs of them


def test_the_plan_counts_the_additive_constant():
    shape = lowland.core.cost.DataShape(1400, 3, np.dtype(np.float64))
    plan = lowland.ClassicalMDS(metric="cityblock", additive="cailliez")._plan(shape)
    assert plan.parts["additive constant"] == 8 * 6 * 1400**2  # the dense problem, should the iteration fail
    assert "eigenvectors" in lowland.ClassicalMDS(metric="cityblock", additive="lingoes")._plan(shape).parts


def test_a_metric_in_float32_is_judged_by_its_own_precision(rng):
    X = rng.standard_normal((120, 3))

    def single(A, B):
        return cdist(A, B).astype(np.float32)

    for metric in (single, lambda a, b: np.float32(np.linalg.norm(a - b))):
        with pytest.warns(lowland.RankWarning, match="rank 3"):
            assert lowland.ClassicalMDS(10, metric=metric).fit(X).n_components_ == 3
    with pytest.warns(lowland.RankWarning, match="rank 3"):
        assert lowland.ClassicalMDS(10, metric=single, landmarks=60).fit(X).n_components_ == 3
    assert lowland.ClassicalMDS(3, metric=single, additive="cailliez").fit(X).additive_constant_ == 0


@pytest.mark.parametrize("method", [lowland.ClassicalMDS, lowland.NonmetricMDS])
def test_a_sample_of_equal_rows_says_nothing_of_the_error(method, monkeypatch):
    monkeypatch.setattr(distance_based, "REPLICA_ROWS", 3)
    X = np.zeros((60, 2))
    X[59] = 1.0
    with pytest.warns(lowland.LowlandWarning, match="do not agree"):
        model = method(1, metric="cityblock", landmarks="farthest:2").fit(X)
    assert model.fit_info_.approximation_error == 1.0
    assert abs(model.embedding_[59, 0] - model.embedding_[0, 0]) == pytest.approx(2.0)


@pytest.mark.parametrize("columns", [3, 5])
def test_a_circle_of_rows_has_no_first_axis(columns):
    X = lowland.data.circle(60, n_features=columns)[0]
    with pytest.warns(lowland.DegenerateWarning, match="eigenvalues 1 and 2 are equal"):
        lowland.ClassicalMDS(1).fit(X)
