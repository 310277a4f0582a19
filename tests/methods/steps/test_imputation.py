"""Imputation by probabilistic PCA beats means and medians: hidden cells and the map."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from lowland import PCA, steps
from lowland.quality import procrustes


def tables():
    rng = np.random.default_rng(0)
    low = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 20)) + 0.5 * rng.standard_normal((300, 20))
    return {"wine": load_wine().data, "rank 3": low * np.exp(rng.uniform(-3, 3, 20))}


def planar_map(X):
    return PCA(2, scale=True).fit_transform(X)


@pytest.mark.parametrize("table", ["wine", "rank 3"])
@pytest.mark.parametrize("share", [0.05, 0.15, 0.3])
def test_ppca_beats_mean_and_median(table, share):
    X = tables()[table]
    hidden = np.random.default_rng(7).random(X.shape) < share
    gaps, complete, found = np.where(hidden, np.nan, X), planar_map(X), {}
    for method in ("mean", "median", "ppca"):
        filled = steps.ImputeMissing(method).fit_transform(gaps)
        np.testing.assert_array_equal(filled[~hidden], X[~hidden])
        error = np.sqrt((((filled - X) / X.std(axis=0))[hidden] ** 2).mean())
        found[method] = float(error), procrustes(planar_map(filled), complete).error
    least = 0.9 if table == "wine" else 0.5
    assert found["ppca"][0] < least * min(found["mean"][0], found["median"][0])
    assert found["ppca"][1] < least * min(found["mean"][1], found["median"][1])


def test_ppca_without_directions_is_described_as_column_means(rng):
    """As cross-validation has it for columns that do not predict each other."""
    X = rng.normal(size=(200, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    step = steps.ImputeMissing("ppca").fit(X)
    assert step.n_components_ == 0
    assert len(step.errors_) > 1, "other numbers were tried"
    assert step.describe() == (
        "missing numbers filled by column means (in cross-validation, probabilistic PCA of the other columns was not "
        "measurably better)"
    )
    np.testing.assert_allclose(step.transform(X)[np.isnan(X)], np.broadcast_to(np.nanmean(X, 0), X.shape)[np.isnan(X)])
    one = steps.ImputeMissing("ppca").fit(X[:, :1])
    assert "too few columns or observed cells" in one.describe()
    none = steps.ImputeMissing("ppca", n_components=0).fit(X)
    assert "column means (probabilistic PCA without directions)" in none.describe()
    related = np.outer(rng.normal(size=200), [1.0, 2.0, 3.0]) + 0.1 * rng.normal(size=(200, 3))
    related[::7, 1] = np.nan
    found = steps.ImputeMissing("ppca").fit(related)
    assert found.n_components_ > 0
    assert found.describe() == f"missing numbers filled by probabilistic PCA of {found.n_components_} direction" + (
        "s" if found.n_components_ > 1 else ""
    )
