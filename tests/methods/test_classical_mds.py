"""Classical MDS against PCA, R's cmdscale, known maps; landmarks, new rows, constants, bad distances."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland.alignment import procrustes


def up_to_sign(A, B):
    return A * np.sign((A * B).sum(axis=0))


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
def test_D1_D2_cities_as_R_has_them(name, shared_data):
    folder = shared_data / "r_reference"
    want = json.loads((folder / "r_reference.json").read_text())[f"cmdscale_{name}_k2"]
    D = pd.read_csv(folder / f"{name}.csv", index_col=0).to_numpy(float)
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    points = np.array(want["points"]["values"])
    np.testing.assert_allclose(up_to_sign(model.embedding_, points), points, atol=1e-8 * np.abs(points).max())
    found = np.sort(np.r_[model.spectrum_, 0.0])  # the constant vector's zero is left out of ours
    np.testing.assert_allclose(found, np.sort(want["eig"]), atol=1e-8 * max(want["eig"]))
    evidence = model.fit_info_.evidence
    assert [evidence["goodness of fit"], evidence["goodness of fit, positive part"]] == pytest.approx(want["GOF"])


def test_additive_constant_as_R_has_it(shared_data):
    D = pd.read_csv(shared_data / "r_reference" / "eurodist.csv", index_col=0).to_numpy(float)
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


def test_objects_need_only_distances():
    words = ["cat", "cart", "dog", "dig", "cut", "dogs", "cots"]

    def edits(a, b):
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            last, row[0] = row[0], i
            for j, y in enumerate(b, 1):
                last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
        return row[-1]

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
        (lambda D: D[:, :-1], r"square matrix; this one is 12 × 11"),
        (lambda D: spoiled(D, (3, 5, D[3, 5] + 1)), r"not symmetric: .* at row 3, column 5.*\(D \+ D.T\) / 2"),
        (lambda D: spoiled(D, (3, 5, -1), (5, 3, -1)), r"negative: -1 at row 3, column 5"),
        (lambda D: spoiled(D, (4, 2, np.nan)), r"NaN at row 4, column 2"),
        (lambda D: spoiled(D, (6, 6, 0.5)), r"object 6 has distance 0.5 to itself"),
        (np.zeros_like, r"rank 0"),
    ],
    ids=["not square", "asymmetric", "negative", "NaN", "diagonal", "all equal"],
)
def test_bad_distances_name_the_place(change, message, rng):
    D = cdist(X := rng.standard_normal((12, 3)), X)
    with pytest.raises(lowland.DataError, match=message):
        lowland.ClassicalMDS(metric="precomputed").fit(change(D))


def test_negative_distances_of_new_rows(rng):
    D = cdist(X := rng.standard_normal((12, 3)), X)
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    with pytest.raises(lowland.DataError, match="negative: -2 to training object 7"):
        model.transform(spoiled(D, (1, 7, -2.0)))


def test_as_many_components_as_points(rng):
    D = cdist(X := rng.standard_normal((6, 9)), X)
    assert lowland.ClassicalMDS(5, metric="precomputed").fit(D).n_components_ == 5
    with pytest.raises(lowland.DataError, match=r"n_components=6 is more than .* = 5"):
        lowland.ClassicalMDS(6, metric="precomputed").fit(D)
