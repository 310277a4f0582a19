"""Invariances, for any data: rotation, translation, scale, order of rows; and identities between routes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
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


LENGTHS = ("isomap", "mvu")  # maps in the units of the rows; the others have unit variance
GRAPHS = (*LENGTHS, "lle", "modified_lle", "hessian_lle", "ltsa", "laplacian_eigenmaps", "diffusion_maps", "lpp", "npe")


@pytest.mark.parametrize("name", GRAPHS)
def test_graph_methods_follow_the_scale(name, rng):
    """A power of two rounds nothing, so neighbours and weights are the same to the last bit."""
    X, cls = rng.standard_normal((70, 3)) * [3, 2, 0.3], lowland.registry.method(name).load()
    want = cls(2, n_neighbors=12).fit(X)
    for factor in (2.0**-30, 2.0**20):
        got = cls(2, n_neighbors=12).fit(factor * X)
        expected = want.transform(X) * (factor if name in LENGTHS else 1)
        np.testing.assert_allclose(got.transform(factor * X), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", LENGTHS)
def test_a_chain_is_pulled_straight(name, rng):
    """Paths along a chain are the distances of a line, and no unfolding of it has more variance."""
    steps = rng.uniform(0.5, 1.5, 39)
    chain = sp.diags_array([steps, steps], offsets=[-1, 1], shape=(40, 40)).tocsr()
    Y = lowland.registry.method(name).load()(1, metric="precomputed", n_neighbors=2).fit_transform(chain)[:, 0]
    line = np.r_[0.0, steps.cumsum()]
    line -= line.mean()
    np.testing.assert_allclose(Y * np.sign(Y @ line), line, atol=(1e-10 if name == "isomap" else 1e-3) * line.max())
