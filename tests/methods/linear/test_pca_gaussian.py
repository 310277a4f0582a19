"""The Gaussian of PCA: noise variance, covariance, precision, likelihood, and Minka's number of components."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV

import lowland
from lowland.rows.units import times

LN2 = float(np.log(2))


def planted(rng, n, d, k, noise=0.3):
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + noise * rng.standard_normal((n, d)) + 4


@pytest.mark.parametrize(("n", "d", "k"), [(200, 12, 1), (200, 12, 5), (200, 12, 11), (200, 12, 12), (40, 300, 7)])
def test_all_of_it_is_scikit_learns(rng, n, d, k):
    X, new = planted(rng, n, d, 5), planted(rng, 20, d, 5)
    ours, theirs = lowland.PCA(k).fit(X), sklearn.decomposition.PCA(k, svd_solver="full").fit(X)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-10, abs=0)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-10)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-10)


@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "krylov", "power"])
def test_solvers_agree(rng, solver):
    X = planted(rng, 300, 20, 5)
    want, got = lowland.PCA(6).fit(X), lowland.PCA(6, solver=solver).fit(X)
    assert got.noise_variance_ == pytest.approx(want.noise_variance_, rel=1e-10)
    assert got.score(X) == pytest.approx(want.score(X), rel=1e-10)


@pytest.mark.parametrize("solver", ["auto", "svd"])
def test_batches_give_the_same(rng, solver):
    X = planted(rng, 200, 12, 5)
    want, got = lowland.PCA(3).fit(X), lowland.PCA(3, solver=solver)
    for batch in np.array_split(X, 5):
        got.partial_fit(batch)
    assert got.score(X) == pytest.approx(want.score(X), rel=1e-10)
    np.testing.assert_allclose(got.get_covariance(), want.get_covariance(), atol=1e-10)
    assert got.noise_variance_ == pytest.approx(want.noise_variance_, rel=1e-10)


@pytest.mark.parametrize("options", [{"whiten": True}, {"scale": True}, {"center": False}, {"scale": True, "ddof": 0}])
def test_the_density_is_normal_with_this_covariance_in_the_units_of_the_rows(rng, options):
    X, new = planted(rng, 200, 8, 3) * np.geomspace(1, 2, 8), planted(rng, 9, 8, 3)
    model = lowland.PCA(3, **options).fit(X)
    C = model.get_covariance()
    np.testing.assert_allclose(C @ model.get_precision(), np.eye(8), atol=1e-10)
    np.testing.assert_allclose(model.score_samples(new), multivariate_normal(model.mean_, C).logpdf(new), rtol=1e-9)
    if "whiten" in options:
        plain = lowland.PCA(3).fit(X)
        np.testing.assert_array_equal(model.score_samples(new), plain.score_samples(new))
        np.testing.assert_array_equal(C, plain.get_covariance())
    if options.get("scale"):  # all of the rank: the covariance of the rows
        np.testing.assert_allclose(
            lowland.PCA(**options).fit(X).get_covariance(), np.cov(X.T, **_ddof(options)), atol=1e-10
        )


def _ddof(options):
    return {"ddof": options["ddof"]} if "ddof" in options else {}


@pytest.mark.parametrize("exponent", [-1000, -500, 100, 600])
@pytest.mark.parametrize("options", [{}, {"scale": True}])
@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")  # of numbers that pass the range
def test_rows_of_any_size(rng, exponent, options):
    X, new = planted(rng, 100, 6, 2), planted(rng, 9, 6, 2)
    want, got = lowland.PCA(2, **options).fit(X), lowland.PCA(2, **options).fit(times(X, exponent))
    lost = 6 * exponent * LN2
    np.testing.assert_allclose(got.score_samples(times(new, exponent)), want.score_samples(new) - lost, rtol=1e-10)
    if abs(exponent) <= 500:
        np.testing.assert_array_equal(got.get_covariance(), times(want.get_covariance(), 2 * exponent))
        np.testing.assert_array_equal(got.get_precision(), times(want.get_precision(), -2 * exponent))


@pytest.mark.parametrize("form", ["sparse", "float32", "blocks", "torch"])
def test_rows_of_any_form(rng, form):
    X = np.where(rng.random((300, 30)) < 0.2, rng.standard_normal((300, 30)), 0.0)
    want = lowland.PCA(4).fit(X)
    if form == "sparse":
        rows = sp.csr_array(X)
    elif form == "blocks":
        rows = lowland.RowSource.from_blocks(lambda: (X[:100], X[100:]))
    elif form == "torch":
        rows = pytest.importorskip("torch").from_numpy(X)
    else:
        rows = X.astype(np.float32)
    got = lowland.PCA(4).fit(rows)
    tolerance = 1e-5 if form == "float32" else 1e-11
    np.testing.assert_allclose(np.asarray(got.score_samples(rows)), want.score_samples(X), rtol=tolerance)
    assert got.get_covariance().dtype == got.get_precision().dtype == got.components_.dtype


def test_scores_of_wide_rows_need_no_square_of_the_columns(rng):
    X = sp.random_array((100, 20_000), density=0.01, rng=rng, format="csr")
    model = lowland.PCA(3).fit(X)
    for rows in (X, X.toarray()):
        tracemalloc.start()
        assert np.isfinite(model.score(rows))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000**2  # a tenth of the bytes of a 20,000 × 20,000 matrix


def test_there_is_no_noise_once_the_rank_is_kept(rng):
    X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 8)) + 4
    model = lowland.PCA(3).fit(X)
    assert model.noise_variance_ == 0
    np.testing.assert_allclose(model.get_covariance(), np.cov(X.T), atol=1e-12)
    for work in (model.get_precision, lambda: model.score(X)):
        with pytest.raises(
            lowland.DataError, match="noise variance is zero, so the covariance of 8 columns has rank 3"
        ):
            work()
    assert lowland.PCA().fit(rng.standard_normal((5, 9))).noise_variance_ == 0
    assert lowland.PCA(2).fit(X).noise_variance_ > 0


def test_the_model_is_kept_and_chosen_by_its_score(rng, tmp_path):
    X = planted(rng, 300, 8, 3, noise=0.5)
    model = lowland.PCA(3).fit(X)
    lowland.save(model, tmp_path / "pca.lowland")
    for again in (lowland.load(tmp_path / "pca.lowland"), pickle.loads(pickle.dumps(model))):
        assert again.score(X) == model.score(X)
    found = GridSearchCV(lowland.PCA(), {"n_components": [1, 2, 3, 4, 6]}).fit(X)
    assert found.best_params_ == {"n_components": 3}


# -- Minka's rule -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "covariance", "svd"])
def test_mle_counts_what_was_planted(solver):
    for seed in range(3):
        X = planted(np.random.default_rng(seed), 300, 10, 3)
        model = lowland.PCA("mle", solver=solver).fit(X)
        assert (
            model.n_components_
            == 3
            == sklearn.decomposition.PCA("mle").fit(X).n_components_
            == lowland.dimension.minka(X)
        )
        doubled = lowland.PCA("mle", solver=solver).fit(X, sample_weight=np.full(300, 2))
        assert doubled.n_components_ == lowland.PCA("mle").fit(np.repeat(X, 2, axis=0)).n_components_


def test_mle_of_batches_scaled_columns_and_rows_in_a_subspace(rng):
    X = planted(rng, 300, 10, 3)
    model = lowland.PCA("mle")
    for batch in np.array_split(X, 3):
        model.partial_fit(batch)
    assert model.n_components_ == 3
    scaled = lowland.PCA("mle", scale=True).fit(X * np.geomspace(1, 1e6, 10))
    assert scaled.n_components_ == lowland.dimension.minka(X, scale=True)
    assert lowland.PCA("mle").fit(np.column_stack([X, np.full(300, 5.1)])).n_components_ == 3
    assert lowland.PCA("mle").fit(X @ np.diag([1.0] * 5 + [0.0] * 5)).n_components_ <= 5
    assert lowland.PCA("mle").fit(rng.standard_normal((100, 2)) @ rng.standard_normal((2, 9))).n_components_ == 2


def test_mle_needs_as_many_rows_as_columns(rng):
    X = rng.standard_normal((20, 21))
    match = "n_components='mle' is only supported if n_samples >= n_features; there are 20 rows of 21 columns"
    with pytest.raises(lowland.DataError, match=match):
        lowland.PCA("mle").fit(X)
    with pytest.raises(lowland.DataError, match=match):
        lowland.plan(lowland.PCA("mle"), X)
    with pytest.raises(lowland.DataError, match=match):
        lowland.PCA("mle").fit(iter((X[:10], X[10:])))
    with pytest.raises(lowland.DataError, match=match):
        lowland.PCA("mle").partial_fit(X).transform(X)


@pytest.mark.parametrize(("n", "options"), [(300, {}), (300, {"solver": "krylov"}), (6, {}), (300, {"scale": True})])
@pytest.mark.parametrize("unit", [1.0, 2.0**-300])
def test_a_model_file_without_noise_variance(rng, tmp_path, monkeypatch, n, options, unit):
    """Files of earlier versions lack it: it is computed from the spectrum and the total variance."""
    X = planted(rng, n, 8, 3, noise=0.5) * unit
    model, file = lowland.PCA(3, **options).fit(X), tmp_path / "pca.lowland"
    with monkeypatch.context() as earlier:
        earlier.setattr(lowland.PCA, "_state", tuple(n for n in lowland.PCA._state if n != "noise_variance_"))
        lowland.save(model, file)
    loaded = lowland.load(file)
    assert "noise_variance_" not in vars(loaded)
    assert loaded.noise_variance_ == pytest.approx(model.noise_variance_, rel=1e-9)
    assert loaded.score(X) == pytest.approx(model.score(X), rel=1e-9)


def test_a_model_file_without_noise_variance_of_full_rank(rng):
    model = lowland.PCA().fit(rng.standard_normal((5, 9)).astype(np.float32))
    del model.noise_variance_
    assert model.noise_variance_ == 0
