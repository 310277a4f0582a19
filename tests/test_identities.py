"""Invariances, for any data: rotation, translation, scale, order of rows; and identities between routes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import lowland

SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
pytestmark = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")


@st.composite
def tables(draw):
    """A table of moderate condition with separated eigenvalues, so that vectors are well defined."""
    n, d = draw(st.integers(8, 40)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = np.linalg.qr(rng.standard_normal((n, d)))[0]
    V = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = (U * 2.0 ** -np.arange(d)) @ V.T * draw(st.sampled_from([1e-3, 1.0, 1e4]))
    return X + rng.standard_normal(d) * np.abs(X).max(), rng


@given(tables())
@SETTINGS
def test_translation_changes_only_the_mean(case):
    X, rng = case
    shift = 10 * np.abs(X).max() * rng.standard_normal(X.shape[1])
    a, b = lowland.PCA().fit(X), lowland.PCA().fit(X + shift)
    np.testing.assert_allclose(b.eigenvalues_, a.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(b.mean_, a.mean_ + shift, rtol=1e-12, atol=1e-12 * np.abs(shift).max())
    np.testing.assert_allclose(b.transform(X + shift), a.transform(X), atol=1e-9 * np.abs(X).max())


@given(tables())
@SETTINGS
def test_rotation_turns_the_directions(case):
    X, rng = case
    Q = np.linalg.qr(rng.standard_normal((X.shape[1],) * 2))[0]
    a, b = lowland.PCA().fit(X), lowland.PCA().fit(X @ Q)
    np.testing.assert_allclose(b.eigenvalues_, a.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(b.components_ * (a.components_ @ Q), axis=1)), 1, atol=1e-9)


@given(tables(), st.sampled_from([2.0**-20, 3.0, 1e6]))
@SETTINGS
def test_scale_multiplies_the_spectrum(case, factor):
    X, _ = case
    a, b = lowland.PCA().fit(X), lowland.PCA().fit(factor * X)
    np.testing.assert_allclose(b.eigenvalues_, factor**2 * a.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(b.components_, a.components_, atol=1e-9)


@given(tables())
@SETTINGS
def test_order_of_rows_does_not_matter(case):
    X, rng = case
    order = rng.permutation(len(X))
    a, b = lowland.PCA().fit(X), lowland.PCA().fit(X[order])
    np.testing.assert_allclose(b.eigenvalues_, a.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(b.transform(X), a.transform(X), atol=1e-9 * np.abs(X).max())


@given(tables(), st.lists(st.integers(0, 3), min_size=8, max_size=40))
@SETTINGS
def test_weights_are_repetitions(case, weights):
    X, _ = case
    w = np.resize(weights, len(X))
    w[:2] += 1
    repeated = np.repeat(X, w, axis=0)
    assume(len(np.unique(repeated, axis=0)) >= 3)
    for solver in ("covariance", "svd", "gram", "krylov"):
        a = lowland.PCA(2, solver=solver).fit(X, sample_weight=w)
        b = lowland.PCA(2).fit(repeated)
        np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=1e-8, atol=1e-12 * b.eigenvalues_[0])
        np.testing.assert_allclose(a.mean_, b.mean_, rtol=1e-12)


@given(tables(), st.integers(1, 7), st.randoms(use_true_random=False))
@SETTINGS
def test_partial_fit_in_any_batches_and_order_is_one_fit(case, size, random):
    X, _ = case
    starts = list(range(0, len(X), size))
    random.shuffle(starts)
    for solver in ("auto", "svd"):
        model = lowland.PCA(2, solver=solver)
        for start in starts:
            model.partial_fit(X[start : start + size])
        one = lowland.PCA(2, solver="svd").fit(X)
        np.testing.assert_allclose(model.eigenvalues_, one.eigenvalues_, rtol=1e-10)
        np.testing.assert_allclose(model.components_, one.components_, atol=1e-10 / 0.5)


@given(tables(), st.sampled_from(["pca", "truncated_svd", "probabilistic_pca"]))
@SETTINGS
def test_every_method_ignores_the_order_of_rows(case, name):
    X, rng = case
    order = rng.permutation(len(X))
    cls = lowland.registry.method(name).load()
    a, b = cls(1).fit(X), cls(1).fit(X[order])
    np.testing.assert_allclose(b.transform(X), a.transform(X), atol=1e-8 * np.abs(a.transform(X)).max())


def test_all_routes_agree_on_their_subspace(rng):
    X = rng.standard_normal((400, 30)) * np.r_[5, 4, 4, 3, np.ones(26)]
    spaces = [lowland.PCA(4, solver=s).fit(X).components_ for s in ("covariance", "gram", "svd", "krylov", "power")]
    for other in spaces[1:]:
        np.testing.assert_allclose(other.T @ other, spaces[0].T @ spaces[0], atol=1e-10)


def test_pca_is_svd_of_centred_rows(rng):
    X = rng.standard_normal((60, 8)) * np.linspace(2, 1, 8) + 5
    pca, svd = lowland.PCA(3).fit(X), lowland.TruncatedSVD(3).fit(X - X.mean(axis=0))
    np.testing.assert_allclose(pca.singular_values_, svd.singular_values_, rtol=1e-12)
    np.testing.assert_allclose(pca.components_, svd.components_, atol=1e-12)


def test_probabilistic_pca_spans_the_pca_subspace(rng):
    X = rng.standard_normal((60, 8)) * np.linspace(3, 1, 8)
    np.testing.assert_allclose(
        lowland.ProbabilisticPCA(3).fit(X).components_, lowland.PCA(3).fit(X).components_, atol=1e-12
    )
