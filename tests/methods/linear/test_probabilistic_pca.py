"""ProbabilisticPCA: the formulas, the density, and EM against checks that know nothing of EM."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import lowland
from lowland import PCA, ProbabilisticPCA
from lowland.contract.reducer import Recorder
from lowland.core.errors import DataError, DominantColumnWarning, NotConvergedWarning, RankWarning
from lowland.methods.linear.gaussian_em import closed_form, expectation_maximisation, expected_moments
from lowland.methods.linear.missing_patterns import Patterns, batches, survey
from lowland.rows.row_source import RowSource, as_rows
from sample_tables import flights


def planted(rng, n, d, k, noise=0.3):
    """Return rows of the model itself, and its covariance."""
    W = rng.standard_normal((d, k)) * np.linspace(2, 1, k)
    X = rng.standard_normal((n, k)) @ W.T + noise * rng.standard_normal((n, d)) + np.arange(d)
    return X, W @ W.T + noise**2 * np.eye(d)


def with_gaps(rng, X, share):
    X = X.copy()
    X[rng.random(X.shape) < share] = np.nan
    return X


def covariance(model):
    return model.weights_ @ model.weights_.T + model.noise_variance_ * np.eye(model.n_features_in_)


def density(X, mean, C):
    """Log-density of the observed part of each row, by SciPy."""
    out = np.zeros(len(X))
    for i, x in enumerate(X):
        o = ~np.isnan(x)
        if o.any():
            out[i] = multivariate_normal(mean[o], C[np.ix_(o, o)]).logpdf(x[o])
    return out


# -- closed form -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 7), (9, 30)])
def test_l16_closed_form_follows_the_formulas(rng, shape):
    X, _ = planted(rng, *shape, 2)
    d, k = shape[1], 2
    model = ProbabilisticPCA(k).fit(X)
    lam, V = np.linalg.eigh(np.cov(X.T, ddof=0))
    lam, V = lam[::-1], V[:, ::-1]
    noise = lam[k:].mean()
    assert model.noise_variance_ == pytest.approx(noise, rel=1e-10)
    np.testing.assert_allclose(model.explained_variance_, lam[:k], rtol=1e-10)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    W = V[:, :k] * np.sqrt(lam[:k] - noise)
    W *= np.sign((W * model.weights_).sum(axis=0))
    np.testing.assert_allclose(model.weights_, W, atol=1e-9)
    posterior = (X - X.mean(axis=0)) @ W @ np.linalg.inv(W.T @ W + noise * np.eye(k))
    np.testing.assert_allclose(model.transform(X), posterior, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), posterior @ W.T + model.mean_, atol=1e-8)
    assert model.total_variance_ == pytest.approx(X.var(axis=0).sum(), rel=1e-12)
    assert (model.n_iter_, model.n_components_, d) == (1, k, model.n_features_in_)


def test_directions_are_those_of_pca_and_all_but_one_component_is_the_full_gaussian(rng):
    X, _ = planted(rng, 200, 5, 2)
    np.testing.assert_allclose(ProbabilisticPCA(3).fit(X).components_, PCA(3).fit(X).components_, atol=1e-10)
    np.testing.assert_allclose(covariance(ProbabilisticPCA(4).fit(X)), np.cov(X.T, ddof=0), atol=1e-10)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_score_samples_is_the_density_of_what_is_observed(rng, share):
    X = with_gaps(rng, planted(rng, 120, 6, 2)[0], share)
    X[5] = np.nan if share else X[5]
    model = ProbabilisticPCA(2).fit(X)
    expected = density(X, model.mean_, covariance(model))
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9, atol=1e-10)
    assert model.score(X) == pytest.approx(expected.mean(), rel=1e-10)
    assert model.log_likelihood_ == pytest.approx(expected.sum(), rel=1e-10)


def test_a_small_noise_costs_the_density_no_digits(rng):
    X, _ = planted(rng, 200, 5, 2, noise=1e-5)
    model = ProbabilisticPCA(2).fit(X)
    assert model.noise_variance_ == pytest.approx(1e-10, rel=0.2)
    assert model.score_samples(X).sum() == pytest.approx(model.log_likelihood_, rel=1e-6)


def test_samples_have_the_moments_of_the_model(rng):
    X, _ = planted(rng, 400, 4, 1)
    model = ProbabilisticPCA(1, random_state=3).fit(X)
    Y = model.sample(200_000)
    C = covariance(model)
    error = 5 / np.sqrt(len(Y))  # five standard errors
    assert (np.abs(Y.mean(axis=0) - model.mean_) < error * np.sqrt(np.diag(C))).all()
    spread = np.sqrt(np.outer(np.diag(C), np.diag(C)) + C**2)
    assert (np.abs(np.cov(Y.T) - C) < error * spread).all()
    np.testing.assert_array_equal(model.sample(5), model.sample(5))
    assert (model.sample(5, random_state=1) != model.sample(5)).any()


# -- EM --------------------------------------------------------------------------------------------------


def collected(X):
    patterns = Patterns(X.shape[1])
    patterns.collect(as_rows(X, allow_nan=True))
    return patterns


def test_em_without_gaps_ends_at_the_closed_form(rng):
    X, _ = planted(rng, 150, 6, 2)
    exact = ProbabilisticPCA(2).fit(X)
    patterns = collected(X)
    poor = closed_form(np.diag(rng.uniform(1, 2, 6)), 2)
    mean, model, history = expectation_maximisation(
        patterns, np.zeros(6), poor, Recorder("ProbabilisticPCA"), tol=1e-9, max_iter=1000
    )
    np.testing.assert_allclose(mean, exact.mean_, atol=1e-12)
    np.testing.assert_allclose(model.W, exact.weights_, atol=1e-10)
    assert model.noise == pytest.approx(exact.noise_variance_, rel=1e-10)
    assert history[-1] == pytest.approx(exact.log_likelihood_, rel=1e-12)


def test_em_never_lowers_the_likelihood(rng):
    X = with_gaps(rng, planted(rng, 80, 6, 2)[0], 0.4)
    groups = batches(collected(X).groups.values(), 6)
    mean, model = rng.standard_normal(6), closed_form(np.diag(rng.uniform(1, 9, 6)), 2)
    history = []
    for _ in range(200):
        mean, S, likelihood = expected_moments(groups, mean, model)
        history.append(likelihood)
        model = closed_form(S, 2)
    gains = np.diff(history)
    assert (gains >= -1e-10 * np.abs(history[1:])).all()
    assert gains[0] > 1  # it did start away from the top


def observed_likelihood(theta, X, k):
    """The log-likelihood of PPCA as a plain function of (mean, W, ln σ²)."""
    d = X.shape[1]
    mean, W = theta[:d], theta[d : d + d * k].reshape(d, k)
    return density(X, mean, W @ W.T + np.exp(theta[-1]) * np.eye(d)).sum()


def test_em_with_gaps_is_at_a_maximum_of_the_observed_likelihood(rng):
    X = with_gaps(rng, planted(rng, 50, 4, 1)[0], 0.25)
    model = ProbabilisticPCA(1, tol=1e-15, max_iter=5000).fit(X)
    theta = np.concatenate([model.mean_, model.weights_.ravel(), [np.log(model.noise_variance_)]])
    top = observed_likelihood(theta, X, 1)
    assert top == pytest.approx(model.log_likelihood_, rel=1e-12)
    step = 1e-5
    gradient = [
        (observed_likelihood(theta + step * e, X, 1) - observed_likelihood(theta - step * e, X, 1)) / (2 * step)
        for e in np.eye(len(theta))
    ]
    assert np.abs(gradient).max() < 1e-4  # against a curvature of hundreds
    for _ in range(20):
        assert observed_likelihood(theta + 0.01 * rng.standard_normal(len(theta)), X, 1) < top
    start = theta + 0.3 * rng.standard_normal(len(theta))
    other = minimize(lambda t: -observed_likelihood(t, X, 1), start, method="BFGS", options={"maxiter": 60})
    assert -other.fun <= top + 1e-6
    assert -other.fun == pytest.approx(top, abs=1e-3)


def test_em_recovers_the_planted_model_with_a_fifth_missing(rng):
    X, C = planted(rng, 4000, 8, 2)
    gappy = with_gaps(rng, X, 0.2)
    model, full = ProbabilisticPCA(2).fit(gappy), ProbabilisticPCA(2).fit(X)
    assert np.abs(covariance(model) - C).max() < 0.08 * np.abs(C).max()
    assert model.noise_variance_ == pytest.approx(0.09, rel=0.05)
    assert subspace_angles(model.weights_, full.weights_).max() < 0.02
    missing = np.isnan(gappy)
    error = np.sqrt(np.mean((model.fill(gappy) - X)[missing] ** 2))
    assert error < 0.5 < 1.5 < np.sqrt(np.mean((X - X.mean(axis=0))[missing] ** 2))  # against filling by means


def test_rows_with_nothing_observed_change_nothing(rng):
    X = with_gaps(rng, planted(rng, 100, 5, 1)[0], 0.1)
    X = X[~np.isnan(X).all(axis=1)]
    empty = np.full((30, 5), np.nan)
    a = ProbabilisticPCA(1, tol=1e-15, max_iter=5000).fit(X)
    b = ProbabilisticPCA(1, tol=1e-15, max_iter=5000).fit(np.vstack([empty, X]))
    np.testing.assert_allclose(covariance(b), covariance(a), atol=1e-5)
    assert b.log_likelihood_ == pytest.approx(a.log_likelihood_, rel=1e-9)
    assert b.n_samples_ == a.n_samples_ + 30
    np.testing.assert_array_equal(b.transform(empty[:2]), np.zeros((2, 1)))
    np.testing.assert_array_equal(b.fill(empty[:1])[0], b.mean_)
    np.testing.assert_array_equal(b.score_samples(empty[:2]), [0.0, 0.0])


def test_em_takes_as_many_steps_in_any_unit(rng):
    X = with_gaps(rng, planted(rng, 200, 6, 2)[0], 0.2)
    plain, small, large = (ProbabilisticPCA(2).fit(X * unit) for unit in (1.0, 2.0**-100, 2.0**100))
    assert plain.n_iter_ == small.n_iter_ == large.n_iter_ > 5
    np.testing.assert_array_equal(small.transform(X * 2.0**-100), plain.transform(X))
    np.testing.assert_array_equal(large.transform(X * 2.0**100), plain.transform(X))


def test_em_that_may_not_run_on_says_so(rng):
    X = with_gaps(rng, planted(rng, 80, 6, 2)[0], 0.4)
    with pytest.warns(NotConvergedWarning, match="did not converge in 3 steps"):
        model = ProbabilisticPCA(2, max_iter=3).fit(X)
    assert model.n_iter_ == model.fit_info_.iterations == 3
    assert model.log_likelihood_ == pytest.approx(model.score_samples(X).sum(), rel=1e-12)
    assert "did not converge" in model.fit_info_.warnings[0]


# -- gaps in use -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fill_keeps_what_is_observed_bit_by_bit(rng, dtype):
    X = with_gaps(rng, planted(rng, 200, 6, 2)[0], 0.2).astype(dtype)
    model = ProbabilisticPCA(2).fit(X)
    filled = model.fill(X)
    there = ~np.isnan(X)
    assert filled.dtype == model.transform(X).dtype == model.components_.dtype == dtype
    np.testing.assert_array_equal(filled[there], X[there])
    assert np.isfinite(filled).all()
    conditional, C = [], covariance(model).astype(np.float64)
    for x in X[:40].astype(np.float64):
        o, m = ~np.isnan(x), np.isnan(x)
        conditional.append(model.mean_[m] + C[np.ix_(m, o)] @ np.linalg.solve(C[np.ix_(o, o)], (x - model.mean_)[o]))
    expected = np.concatenate(conditional)
    np.testing.assert_allclose(filled[:40][~there[:40]], expected, atol=1e-9 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("k", [2, 5])
def test_transform_does_not_depend_on_the_rows_beside(rng, k, backend):
    X = with_gaps(rng, planted(rng, 60, 5, 5)[0] * [1, 1, 1, 1, 1e-4], 0.15)
    X[0], X[1] = X[0].copy(), np.nan
    X[2] = np.nan_to_num(X[2], nan=1.0)  # one row without gaps among rows with them
    model = ProbabilisticPCA(k, max_iter=5000, tol=1e-7).fit(X)
    whole = np.asarray(model.transform(backend(X)))
    for i in range(10):
        np.testing.assert_allclose(np.asarray(model.transform(backend(X[i : i + 1])))[0], whole[i], rtol=1e-12)


def test_a_complete_row_is_mapped_alike_among_rows_with_gaps(rng):
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    X = (rng.standard_normal((60, 5)) * [1, 1, 1, 1, 1e-5]) @ turn
    model = ProbabilisticPCA(5).fit(X)  # ill-conditioned, no noise: another route would differ in the tenth digit
    alone = model.transform(X[:20])
    mixed = np.vstack([X[:20], np.where(rng.random((20, 5)) < 0.5, np.nan, X[20:40])])
    np.testing.assert_allclose(model.transform(mixed)[:20], alone, rtol=1e-12, atol=1e-13)


def test_missing_coordinates_count_as_their_mean(rng):
    model = ProbabilisticPCA(2).fit(planted(rng, 50, 4, 2)[0])
    Y = np.array([[1.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_allclose(model.inverse_transform(Y)[0], model.mean_ + model.weights_[:, 0], rtol=1e-13)
    np.testing.assert_array_equal(model.inverse_transform(Y)[1], model.mean_)


def test_bad_values_are_refused_with_their_place(rng):
    pd = pytest.importorskip("pandas")
    X = with_gaps(rng, planted(rng, 30, 4, 1)[0], 0.1)
    bad = X.copy()
    bad[17, 2] = -np.inf
    with pytest.raises(DataError, match=r"infinity \(-inf\) at row 17, column 2"):
        ProbabilisticPCA(1).fit(bad)
    model = ProbabilisticPCA(1).fit(X)
    for use in (model.transform, model.fill, model.score_samples):
        with pytest.raises(DataError, match="row 17, column 2"):
            use(bad)
    X[:, 3] = np.nan
    with pytest.raises(DataError, match="column 3 has no observed value"):
        ProbabilisticPCA(1).fit(X)
    with pytest.raises(DataError, match="column 'depth' has no observed value"):
        ProbabilisticPCA(1).fit(pd.DataFrame(X, columns=["a", "b", "c", "depth"]))
    with pytest.raises(DataError, match="column 3 has no observed value"):
        ProbabilisticPCA(1).fit(RowSource.from_blocks(iter([X])))
    with pytest.raises(DataError, match="n_components=5 is more than"):
        ProbabilisticPCA(5).fit(X[:, :3])


# -- cost ------------------------------------------------------------------------------------------------


def test_the_survey_counts_the_patterns_that_are_collected(rng):
    X = with_gaps(rng, planted(rng, 9000, 6, 2)[0], 0.2)
    found, patterns = survey(as_rows(X, allow_nan=True)), collected(X)
    counted = sorted(zip(found.n.tolist(), found.observed.tolist(), strict=True))
    assert counted == sorted((int(g.n), len(g.observed)) for g in patterns.groups.values())
    assert patterns.missing == np.isnan(X).sum()
    assert survey(as_rows(planted(rng, 50, 6, 2)[0])) is None


@pytest.mark.parametrize("form", ["array", "stream"])
def test_patterns_past_the_memory_limit_are_refused(rng, form):
    X = with_gaps(rng, planted(rng, 20_000, 40, 2)[0], 0.3)  # a pattern for each row: all rows are kept
    source = RowSource.from_blocks(X[a : a + 4096] for a in range(0, 20_000, 4096)) if form == "stream" else X
    model = ProbabilisticPCA(2)
    with (
        lowland.config(memory_limit="25MB"),
        pytest.raises(lowland.MemoryLimitError, match="leave out the columns with most gaps"),
    ):
        model.fit(source)
    assert not [name for name in vars(model) if name.endswith("_")]


# -- streams ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_streams_give_what_one_array_gives(rng, share):
    X = with_gaps(rng, planted(rng, 500, 6, 2)[0], share)
    model = ProbabilisticPCA(2).fit(X)

    def cut():
        return (X[a : a + 37] for a in range(0, 500, 37))

    for source in (RowSource.from_blocks(cut()), RowSource.from_blocks(cut)):
        other = ProbabilisticPCA(2).fit(source)
        np.testing.assert_allclose(other.components_, model.components_, atol=1e-10)
        np.testing.assert_allclose(other.explained_variance_, model.explained_variance_, rtol=1e-10)
        assert other.noise_variance_ == pytest.approx(model.noise_variance_, rel=1e-9)
        assert other.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-10)
        assert (other.n_samples_, other.n_iter_) == (500, model.n_iter_)


def test_sums_over_blocks_are_those_of_all_rows(rng):
    X = with_gaps(rng, planted(rng, 1000, 4, 1)[0] + 1e6, 0.1)
    whole, parts = collected(X), Patterns(4)
    for a in range(0, 1000, 90):
        parts.collect(as_rows(X[a : a + 90], allow_nan=True))
    assert whole.groups.keys() == parts.groups.keys()
    for key, g in whole.groups.items():
        h = parts.groups[key]
        assert g.n == h.n
        np.testing.assert_allclose(h.mean, g.mean, rtol=1e-14)
        np.testing.assert_allclose(h.factor.T @ h.factor, g.factor.T @ g.factor, rtol=1e-7, atol=1e-6)


# -- no noise, no rank -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["array", "stream", "gaps"])
def test_rank_deficient_rows_have_no_density_and_say_so(rng, form, tmp_path):
    full = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 6)) + 3
    X = with_gaps(rng, full, 0.1) if form == "gaps" else full
    source = RowSource.from_blocks(iter([X])) if form == "stream" else X
    with pytest.warns(RankWarning, match="rank 2, below the 4 components"):
        model = ProbabilisticPCA(4).fit(source)
    assert model.n_components_ == 2
    assert model.noise_variance_ == 0
    assert model.log_likelihood_ == np.inf
    np.testing.assert_allclose(model.fill(X), full, atol=1e-5 if form == "gaps" else 1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(full)), full, atol=1e-5)
    with pytest.raises(
        DataError, match="noise variance is zero, so the covariance of 6 columns has rank 2 and no inverse"
    ):
        model.score_samples(full)
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_as_many_components_as_columns_is_the_full_gaussian_without_noise(rng, share):
    X = with_gaps(rng, planted(rng, 300, 4, 2)[0], share)
    model = ProbabilisticPCA(4, max_iter=5000).fit(X)
    assert model.noise_variance_ == 0
    one_less = ProbabilisticPCA(3, max_iter=5000).fit(X)
    np.testing.assert_allclose(covariance(model), covariance(one_less), atol=1e-4)
    assert model.log_likelihood_ == pytest.approx(one_less.log_likelihood_, rel=1e-6)
    there = ~np.isnan(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X))[there], X[there], atol=1e-9)
    assert model.score(X) == pytest.approx(model.log_likelihood_ / len(X), rel=1e-9)  # of the observed parts


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_covariance_and_precision_are_those_of_the_density(rng, share):
    X = with_gaps(rng, planted(rng, 300, 6, 2)[0], share)
    model = ProbabilisticPCA(2).fit(X)
    C, new = model.get_covariance(), rng.standard_normal((7, 6))
    np.testing.assert_allclose(C, model.weights_ @ model.weights_.T + model.noise_variance_ * np.eye(6), atol=1e-12)
    np.testing.assert_allclose(C @ model.get_precision(), np.eye(6), atol=1e-10)
    np.testing.assert_allclose(model.score_samples(new), density(new, model.mean_, C), rtol=1e-10)


@pytest.mark.parametrize(
    "X",
    [np.ones((5, 3)), [[np.nan, 1, 2], [1, 1, 2]], [[1, np.nan], [np.nan, 2]]],
    ids=["complete", "gaps", "apart"],
)
def test_rows_that_do_not_vary_are_refused(X):
    with pytest.raises(DataError, match="rank 0"):
        ProbabilisticPCA(1).fit(np.asarray(X, dtype=np.float64))


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_column_that_owns_the_variance_is_named(rng, share):
    X = with_gaps(rng, planted(rng, 100, 4, 1)[0] * [1, 1, 1000, 1], share)
    with pytest.warns(DominantColumnWarning, match="column 2 holds"):
        ProbabilisticPCA(1).fit(X)


# -- a large table ----------------------------------------------------------------------------------------


def test_flights_with_gaps_converge():
    X = np.asfortranarray(flights(200_000))
    model = ProbabilisticPCA(3).fit(X)
    info = model.fit_info_
    assert info.algorithm == "EM"
    assert info.iterations < 100
    assert info.evidence["missing"] == pytest.approx(np.isnan(X).mean(), rel=1e-12)
    some = np.flatnonzero(np.isnan(X).any(axis=1))[:2000]
    filled, there = model.fill(X[some]), ~np.isnan(X[some])
    np.testing.assert_array_equal(filled[there], X[some][there])
    assert np.isfinite(filled).all()
    assert model.score(X) == pytest.approx(model.log_likelihood_ / len(X), rel=1e-5)
