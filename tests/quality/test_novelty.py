"""Novelty: limits for rows that were not fitted, in tables of all shapes, and models from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import lowland
from lowland.core.errors import DataError
from lowland.quality import keep_row_tails
from lowland.quality.limits import residual_law
from lowland.quality.novelty_detection import novelty
from lowland.quality.residuals import as_new, new_law
from sample_tables import plane


@pytest.fixture(scope="module", autouse=True)
def tails():
    """Fits keep the tails of their rows."""
    with keep_row_tails():
        yield


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"whiten": True}, {"ddof": 0}, {"solver": "krylov"}])
def test_of_new_rows_like_the_old_about_the_stated_share_is_novel(options: dict) -> None:
    model = lowland.PCA(2, **options).fit(plane(2000))
    found = novelty(model, plane(20_000, seed=1), level=0.99)
    assert set(found.limits) == {"t2", "spe", "cell"}
    assert 0.006 < found.novel.mean() < 0.014
    assert np.mean(found.t2 > found.limits["t2"]) == pytest.approx(0.01 / 3, abs=0.002)


@pytest.mark.parametrize(
    ("n", "d", "k", "signals"),
    [(500, 50, 10, 0), (200, 50, 10, 3), (100, 200, 20, 3), (60, 500, 40, 3), (40, 40, 15, 0)],
)
def test_few_rows_do_not_make_ordinary_new_rows_novel(n: int, d: int, k: int, signals: int) -> None:
    rng = np.random.default_rng(0)
    A = 2 * rng.standard_normal((signals, d))
    old, new = (rng.standard_normal((m, signals)) @ A + rng.standard_normal((m, d)) for m in (n, 5000))
    model = lowland.PCA(k).fit(old)
    found = novelty(model, new, level=0.99)
    assert 0.0015 < np.mean(found.spe > found.limits["spe"]) < 0.015  # stated for each of the two: 0.005
    assert found.novel.mean() < 0.02
    assert novelty(model, old, level=0.99).novel.mean() < 0.02  # nor those that it was fitted on


def test_what_is_off_the_plane_without_a_row_is_what_a_fit_without_it_leaves() -> None:
    from lowland.quality.residuals_loops import left_out

    X = np.random.default_rng(0).standard_normal((12, 7)) * np.linspace(3, 1, 7)
    thin = X * [1e4, 1e4, 1e4, 0.1, 0.1, 0.1, 0.1]  # what is off the plane is no difference of large numbers
    for rows in (X, thin, X @ np.eye(7, 20) + 0.1 * np.random.default_rng(1).standard_normal((12, 20))):
        Z = rows - rows.mean(axis=0)
        U, s, _ = np.linalg.svd(Z, full_matrices=False)
        values = s[: min(11, rows.shape[1])] ** 2
        masses = np.ascontiguousarray(12 / 11 * (U * s)[:, : len(values)] ** 2)
        off, fallen = np.empty(12), np.empty(12)
        left_out(values, masses, 3, off, fallen)
        for i in range(12):
            others = np.delete(rows, i, axis=0)
            middle = others.mean(axis=0)
            _, t, V = np.linalg.svd(others - middle, full_matrices=False)
            z = rows[i] - middle
            assert 12 / 11 * off[i] == pytest.approx(((z - V[:3].T @ (V[:3] @ z)) ** 2).sum(), rel=1e-8)
            assert values[:3].sum() - fallen[i] == pytest.approx((t[:3] ** 2).sum(), rel=1e-12)


def test_fitted_and_new_rows_exceed_a_limit_alike() -> None:
    shares = []
    for repeat in range(20):
        rng = np.random.default_rng(repeat)
        X, new = rng.standard_normal((40, 30)), rng.standard_normal((400, 30))
        fitted = lowland.PCA(10).fit(X)
        spectrum = fitted.spectrum_
        law = new_law(spectrum[:10], spectrum[10:], 40)
        own, others = (
            ((rows - fitted.inverse_transform(fitted.transform(rows))) ** 2).sum(axis=1) for rows in (X, new)
        )
        edge = law.beyond(0.1)
        shares.append(
            [np.mean(as_new(own, spectrum[10:], 40, law) > edge), np.mean(others > edge), np.mean(own > edge)]
        )
    of_fitted, of_new, untouched = np.mean(shares, axis=0)
    assert of_fitted == pytest.approx(0.1, abs=0.025)
    assert of_new == pytest.approx(0.1, abs=0.025)
    assert untouched < 0.01  # what a fitted row leaves says nothing before it is turned


def test_many_rows_are_as_good_as_new() -> None:
    rest = np.array([3.0, 2.0, 1.0, 0.5])
    x = np.array([0.01, 1.0, 10.0, 40.0])
    assert as_new(x, rest, 10**6, residual_law(rest)) == pytest.approx(x, rel=2e-3)
    assert new_law(np.array([50.0, 30.0]), rest, 10**6).beyond(0.001) == pytest.approx(
        residual_law(rest).beyond(0.001), rel=0.02
    )


def test_blocks_that_can_be_read_once_are_judged_by_all_measures() -> None:
    X, new = plane(300), plane(50, seed=1)
    model = lowland.PCA(2).fit(X)
    once = novelty(model, iter([new[:20], new[20:]]), X_train=X)
    whole = novelty(model, new, X_train=X)
    for name in ("t2", "spe", "distance"):
        assert np.array_equal(getattr(once, name), getattr(whole, name))


def test_rows_with_gaps_are_left_unjudged_where_the_model_takes_them() -> None:
    X = plane(200)
    model = lowland.ProbabilisticPCA(2).fit(X)
    new = X[:5].copy()
    new[3] += 100.0
    whole = novelty(model, new)
    new[1, 2] = np.nan
    found = novelty(model, new, X_train=X)
    assert found.judged.tolist() == [True, False, True, True, True]
    assert found.novel.tolist() == [False, False, False, True, False]
    assert np.isnan([found.spe[1], found.distance[1]]).all()
    assert np.array_equal(np.delete(found.t2, 1), np.delete(whole.t2, 1))
    assert found.sentence == (
        "1 of 4 rows without missing values is unlike the training rows: row 3. "
        f"Unusual in it: {', '.join(map(str, found.unusual[3]))}. "
        "The other row has missing values and cannot be judged."
    )
    assert novelty(model, np.full((2, new.shape[1]), np.nan)).sentence.startswith("None of 2 rows can be judged")
    assert found.table()["novel"].to_list() == [False, None, False, True, False]


def test_t2_and_spe_are_told_apart() -> None:
    X = plane(500)
    model = lowland.PCA(2).fit(X)
    along = model.mean_ + 9 * np.sqrt(model.explained_variance_[0]) * model.components_[0]
    normal = np.linalg.svd(model.components_)[2][-1]
    off = model.mean_ + 5 * normal
    found = novelty(model, np.vstack([model.mean_, along, off]))
    assert found.t2 == pytest.approx([0, 81, 0], abs=1e-6)
    assert found.spe == pytest.approx([0, 0, 25], abs=1e-6)
    assert found.novel.tolist() == [False, True, True]
    assert found.sentence.startswith("2 of 3 rows are unlike the training rows")
    assert found.table().columns == ["t2", "spe", "cell", "novel", "unusual"]
    ways = "to measure the distance to them, give them as X_train=… or fit a method that stores them, such as Isomap"
    assert found.missing == {"distance": f"PCA stores no training rows; {ways}"}


def test_the_distance_to_the_training_rows_needs_them() -> None:
    X = plane(600)
    model = lowland.PCA(2).fit(X)
    new = plane(5000, seed=1)
    found = novelty(model, new, X_train=X, level=0.99)
    assert not found.missing
    scaled = lowland.PCA(2, scale=True).fit(X)
    own = novelty(scaled, X, X_train=X)
    for rows, train in ((sp.csr_array(X), X), (X, sp.csr_array(X)), (sp.csr_array(X), sp.csr_array(X))):
        assert novelty(scaled, rows, X_train=train).distance == pytest.approx(own.distance, rel=1e-9)
    assert found.novel.mean() < 0.02
    d = np.sort(np.sqrt(((new[:20, None] - X[None]) ** 2).sum(axis=2)), axis=1)[:, 9]
    assert found.distance[:20] == pytest.approx(d, rel=1e-9)
    with pytest.raises(DataError, match="X_train has 3 columns"):
        novelty(model, new, X_train=X[:, :3])


@pytest.mark.parametrize(
    "model", [lowland.Isomap(2), lowland.LLE(2), lowland.MetricMDS(2), lowland.Isomap(2, metric="cityblock")]
)
def test_models_that_hold_their_rows_tell_who_is_far_from_them(model: lowland.Reducer, tmp_path: Path) -> None:
    X = plane(300)
    fitted = model.fit(X)
    new = np.vstack([X[:50], X[:5] + 30])
    found = novelty(fitted, new)
    assert found.novel.tolist() == [False] * 50 + [True] * 5
    assert set(found.missing) == {"t2", "spe"}
    lowland.save(fitted, tmp_path / "model.lowland")
    loaded = novelty(lowland.load(tmp_path / "model.lowland"), new)
    assert np.array_equal(loaded.distance, found.distance)
    assert loaded.limits == found.limits


@pytest.mark.parametrize("model", [lowland.Isomap(2), lowland.LLE(2), lowland.DiffusionMaps(2, bandwidth="adaptive")])
def test_models_of_sparse_rows_tell_who_is_far_from_them(model: lowland.Reducer, tmp_path: Path) -> None:
    X = plane(300)
    new = np.vstack([plane(20, seed=1), X[:5] + 30])
    want = novelty(model.fit(X), new)
    fitted = model.fit(sp.csr_array(X))
    lowland.save(fitted, tmp_path / "model.lowland")
    for held in (fitted, lowland.load(tmp_path / "model.lowland")):
        for form in (np.asarray, sp.csr_array, sp.coo_matrix):
            found = novelty(held, form(new))
            assert np.array_equal(found.distance, want.distance)
            assert np.array_equal(found.novel, want.novel)


def test_distances_of_new_objects_to_those_of_the_fit() -> None:
    X = plane(120)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = lowland.LLE(2, metric="precomputed").fit(D)
    new = np.vstack([X[:3] + 0.01, X[:1] + 40])
    found = novelty(model, np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2)))
    assert found.novel.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    "model", [lowland.PCA(3), lowland.PCA(8), lowland.ProbabilisticPCA(2), lowland.PCA(2, scale=True)]
)
def test_a_model_file_alone_is_enough(model: lowland.Reducer, tmp_path: Path) -> None:
    fitted = model.fit(plane(300))
    lowland.save(fitted, tmp_path / "model.lowland")
    new = plane(40, seed=3)
    there, back = novelty(fitted, new), novelty(lowland.load(tmp_path / "model.lowland"), new)
    assert there.limits == back.limits
    assert np.array_equal(there.t2, back.t2)
    if fitted.n_components_ == 8:
        assert "spe" in back.missing
    else:
        assert np.array_equal(there.spe, back.spe)
    far = plane(3, seed=4)
    far[0] += 100
    assert novelty(fitted, far).novel.tolist() == [True, False, False]


def test_what_a_model_cannot_say_is_told() -> None:
    X = plane(200)
    with pytest.raises(
        DataError, match="no principal axes with variances, and RandomProjection stores no training rows"
    ):
        novelty(lowland.RandomProjection(2).fit(X), X)
    found = novelty(lowland.RandomProjection(2).fit(X), X[:5], X_train=X)
    assert set(found.missing) == {"t2", "spe"}
    with pytest.raises(DataError, match="with a kernel"):
        novelty(lowland.KernelPCA(2).fit(X), X)
    crowded = novelty(lowland.PCA(6).fit(X[:15]), X)
    assert "6 components from 15 rows" in crowded.missing["spe"]
    assert set(crowded.limits) == {"t2"}
    uncentred = novelty(lowland.PCA(2, center=False).fit(X), X[:5], X_train=X)
    assert "without centring" in uncentred.missing["t2"]
    with pytest.raises(DataError, match="9 features"):
        novelty(lowland.PCA(2).fit(X), np.ones((3, 9)))
    with pytest.raises(ValueError, match="level"):
        novelty(lowland.PCA(2).fit(X), X, level=2)


def test_new_rows_are_called_by_their_names() -> None:
    X = plane(100)
    new = X[:3].copy()
    new[1] += 100.0
    model = lowland.PCA(2).fit(X)
    assert novelty(model, new).sentence.startswith("1 of 3 rows is unlike the training rows: row 1. Unusual in it: x")
    assert novelty(model, new, names=["a", "b", "c"]).sentence.startswith("1 of 3 rows is unlike the training rows: b.")
    with pytest.raises(DataError, match="2 names for 3 rows"):
        novelty(model, new, names=["a", "b"])
