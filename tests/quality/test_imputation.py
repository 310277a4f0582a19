"""Covariances of the places of rows with missing cells, against formulas and simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import lowland
from lowland.quality import imputation_covariances


def rows(n: int = 120, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 5)) * [1, 2, 1, 5, 1] + 0.3 * rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0] = np.nan
    X[1] = np.arange(5.0)
    X[2, :4] = np.nan
    return X


def test_of_probabilistic_pca_it_is_what_the_missing_cells_add_to_the_posterior() -> None:
    X = rows()
    model = lowland.ProbabilisticPCA(2).fit(X)
    C = imputation_covariances(model, X)
    W, noise = model.weights_, model.noise_variance_
    whole = np.linalg.inv(np.eye(2) + W.T @ W / noise)
    for i in range(40):
        o = ~np.isnan(X[i])
        if o.all():
            assert np.isnan(C[i]).all()
            continue
        partial = np.linalg.inv(np.eye(2) + W[o].T @ W[o] / noise)
        np.testing.assert_allclose(C[i], partial - whole, atol=1e-9)


@pytest.mark.filterwarnings(
    "ignore::lowland.DominantColumnWarning"
)  # a component of the first PCA dominates the second
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("method", ["pca", "pca of pca"])
def test_of_a_recipe_it_is_the_covariance_of_maps_of_drawn_cells(scale: str | None, method: str) -> None:
    X = rows()
    model = lowland.recipe(
        lowland.PCA(2), missing="ppca", scale=scale, pre="pca:4" if method == "pca of pca" else None
    ).fit(X)
    C = imputation_covariances(model, X)
    step = model.named_steps["missing"]
    S, mu = step.model_.get_covariance(), step.model_.mean_
    tail = model[[name for name, _ in model.steps].index("missing") + 1 :]
    Z, filled = (X - step.fill_) / step.scale_, model[: -len(tail.steps)].transform(X)
    rng = np.random.default_rng(1)
    for i in (0, 2, int(np.flatnonzero(np.isnan(X[3:]).any(axis=1))[0]) + 3):
        m = np.isnan(X[i])
        o = ~m
        cond = S[np.ix_(m, m)] - S[np.ix_(m, o)] @ np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)])
        mean = mu[m] + S[np.ix_(m, o)] @ np.linalg.solve(S[np.ix_(o, o)], Z[i, o] - mu[o])
        drawn = np.repeat(filled[i : i + 1], 40_000, axis=0)
        drawn[:, m] = rng.multivariate_normal(mean, cond, len(drawn)) * step.scale_[m] + step.fill_[m]
        Y = tail.transform(drawn)
        np.testing.assert_allclose(np.cov(Y.T), C[i], atol=0.03 * np.trace(C[i]))
        np.testing.assert_allclose(Y.mean(axis=0), model.transform(X[i : i + 1])[0], atol=0.02 * np.trace(C[i]) ** 0.5)


def test_tables_with_categories_and_the_same_rows_in_other_units() -> None:
    X = rows()
    frame = pl.DataFrame(X, schema=list("abcde")).with_columns(pl.Series("kind", ["u", "v"] * 60)).fill_nan(None)
    model = lowland.recipe(lowland.PCA(2), missing="ppca", categories="one-hot", scale="standard").fit(frame)
    C = imputation_covariances(model, frame)
    other = frame.with_columns(pl.col("b") * 1000)
    again = lowland.recipe(lowland.PCA(2), missing="ppca", categories="one-hot", scale="standard").fit(other)
    np.testing.assert_allclose(imputation_covariances(again, other), C, rtol=1e-3, atol=1e-6)
    assert np.isfinite(C).all(axis=(1, 2)).tolist() == np.isnan(X).any(axis=1).tolist()


def test_the_fewer_cells_are_there_the_larger_is_the_spread() -> None:
    X = rows()
    model = lowland.ProbabilisticPCA(2).fit(X)
    some = np.arange(5.0)[None] + np.zeros((5, 1))
    for i in range(1, 5):
        some[i, :i] = np.nan
    spreads = np.trace(imputation_covariances(model, some), axis1=1, axis2=2)
    assert np.isnan(spreads[0])
    assert (np.diff(spreads[1:]) > 0).all()


def test_models_without_such_a_distribution_are_refused() -> None:
    X = rows()
    with pytest.raises(lowland.DataError, match="missing='ppca'"):
        imputation_covariances(lowland.recipe(lowland.PCA(2), missing="mean").fit(X), X)
    curved = lowland.recipe(lowland.KernelPCA(2, kernel="rbf"), missing="ppca").fit(X)
    with pytest.raises(lowland.DataError, match="linear method"):
        imputation_covariances(curved, X)


def test_complete_rows_have_none() -> None:
    X = rows()
    model = lowland.ProbabilisticPCA(2).fit(X)
    whole = X[~np.isnan(X).any(axis=1)]
    assert np.isnan(imputation_covariances(model, whole)).all()
    assert imputation_covariances(model, whole).shape == (len(whole), 2, 2)
