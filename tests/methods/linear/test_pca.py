"""PCA: options, streaming, hard data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris

import lowland
from lowland.rows.row_source import RowSource
from sample_tables import connections


def test_swapping_the_import_drops_nothing():
    from sklearn.decomposition import PCA

    X = load_digits().data
    ours, theirs = lowland.PCA(10).fit(X), PCA(10, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-9)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=1e-12)


def test_sign_rule(rng):
    for solver in ("covariance", "gram", "svd", "krylov", "power"):
        V = lowland.PCA(4, solver=solver).fit(rng.standard_normal((50, 9)) * np.linspace(3, 1, 9)).components_
        top = np.abs(V).argmax(axis=1)
        assert (V[np.arange(4), top] > 0).all()


def test_constant_columns_and_duplicates(rng):
    X = rng.standard_normal((200, 4))
    X = np.column_stack([X, np.full(200, 7.3), X[:, 0]])
    model = lowland.PCA(scale=True).fit(np.repeat(X, 2, axis=0))
    assert model.n_components_ == 4
    assert model.scale_[4] == 1
    assert np.isfinite(model.transform(X)).all()
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "krylov"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_whitening_does_not_explode_on_low_rank(rng, solver, dtype):
    X = (rng.standard_normal((300, 5)) @ rng.standard_normal((5, 30)) + 2).astype(dtype)
    with pytest.warns(lowland.RankWarning, match="rank 5, so only 5 of the 20"):
        model = lowland.PCA(20, whiten=True, solver=solver).fit(X)
    Z = model.transform(X)
    assert model.n_components_ == 5
    np.testing.assert_allclose(Z.std(axis=0, ddof=1), 1, rtol=1e-3)
    assert np.abs(Z).max() < 10


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n, rng):
    X = rng.standard_normal((n, 5))
    if n == 1:
        with pytest.raises(lowland.DataError, match="1 sample"):
            lowland.PCA().fit(X)
        return
    model = lowland.PCA().fit(X)
    assert model.n_components_ == n - 1
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)


def test_dominant_column_is_named():
    import pandas as pd

    frame = pd.DataFrame(
        {
            "length": [1.0, 2.0, 1.5, 2.5],
            "weight": [1000.0, 4000.0, 2000.0, 500.0],
            "age": [3.0, 1.0, 2.0, 2.5],
        }
    )
    with pytest.warns(lowland.DominantColumnWarning, match=r"column 'weight' holds more than 99.9 %.*scale=True"):
        model = lowland.PCA().fit(frame)
    assert "weight" in str(model.fit_info_)
    lowland.PCA(scale=True).fit(frame)  # warnings are errors here: the remedy silences it
    lowland.PCA().fit(load_iris().data)


def test_share_of_variance(rng):
    X = rng.standard_normal((3000, 12)) * np.r_[7, 5, 5, np.ones(9)]
    model = lowland.PCA(0.9).fit(X)
    held = np.cumsum(model.spectrum_) / model.total_variance_
    assert held[model.n_components_ - 1] >= 0.9 > held[model.n_components_ - 2]


def test_share_grows_on_a_large_operator(rng):
    X = rng.standard_normal((4000, 1600)) * np.r_[np.full(60, 20.0), np.ones(1540)]
    model = lowland.PCA(0.8).fit(X)
    assert model.explained_variance_ratio_.sum() >= 0.8 > model.explained_variance_ratio_[:-1].sum()
    assert model.n_components_ < 61


def test_auto_components(rng):
    noise = lowland.PCA("auto").fit(rng.standard_normal((500, 10)))
    assert noise.n_components_ == 1
    planted = rng.standard_normal((500, 3)) @ np.linalg.qr(rng.standard_normal((10, 3)))[0].T * 3
    assert lowland.PCA("auto").fit(planted + rng.standard_normal((500, 10))).n_components_ == 3
    with pytest.raises(lowland.DataError, match="limited to 1500"):
        lowland.PCA("auto").fit(rng.standard_normal((1800, 1700)))


def test_scree_is_never_two_bars(rng):
    X = rng.standard_normal((2500, 1700)) * np.linspace(2, 1, 1700)
    model = lowland.PCA(2).fit(X)
    assert len(model.spectrum_) >= 10
    assert model.total_variance_ == pytest.approx(X.var(axis=0, ddof=1).sum())
    assert len(lowland.PCA(2).fit(X[:, :20]).spectrum_) == 20


# -- partial_fit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "svd", "covariance", "power"])
@pytest.mark.parametrize("size", [1, 7, 999])
def test_partial_fit_is_exact(rng, solver, size):
    X = rng.standard_normal((1500, 6)) * [9, 7, 5, 3, 2, 1] + 40
    model = lowland.PCA(4, solver=solver)
    for a in range(0, len(X), size):
        model.partial_fit(X[a : a + size])  # the last batch has fewer rows than components
    one = lowland.PCA(4, solver="svd").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, one.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(model.components_, one.components_, atol=1e-10 if solver != "power" else 1e-8)
    np.testing.assert_allclose(model.mean_, one.mean_, rtol=1e-12)


def test_partial_fit_can_be_read_between_batches_and_reused(rng):
    X = rng.standard_normal((300, 5)) * [5, 4, 3, 2, 1]
    model = lowland.PCA(2)
    for a in range(0, 300, 100):
        model.partial_fit(X[a : a + 100])
        np.testing.assert_allclose(model.eigenvalues_, lowland.PCA(2).fit(X[: a + 100]).eigenvalues_, rtol=1e-10)
    batch = X[:100].copy()
    again = lowland.PCA(2).partial_fit(batch)
    batch[:] = 0  # the caller may reuse its array
    np.testing.assert_allclose(again.eigenvalues_, lowland.PCA(2).fit(X[:100]).eigenvalues_, rtol=1e-10)


def test_partial_fit_gives_the_bits_of_one_fit(rng):
    X = rng.standard_normal((20_000, 30))
    model = lowland.PCA(3, solver="covariance")
    for a in range(0, len(X), 777):
        model.partial_fit(X[a : a + 777])
    one = lowland.PCA(3, solver="covariance").fit(X)
    np.testing.assert_array_equal(model.components_, one.components_)
    np.testing.assert_array_equal(model.eigenvalues_, one.eigenvalues_)


def test_partial_fit_refuses(rng):
    X = rng.standard_normal((50, 5))
    with pytest.raises(ValueError, match=r"6 features.*5 features"):
        lowland.PCA().partial_fit(X).partial_fit(rng.standard_normal((5, 6)))
    with pytest.raises(lowland.DataError, match="NaN at row 3, column 1"):
        lowland.PCA().partial_fit(X).partial_fit(np.where(np.arange(250).reshape(50, 5) == 16, np.nan, X))
    with pytest.raises(ValueError, match="solver='krylov'"):
        lowland.PCA(solver="krylov").partial_fit(X)
    with (
        lowland.config(memory_limit=10_000),
        pytest.raises(lowland.MemoryLimitError, match="exact partial_fit on 50 columns"),
    ):
        lowland.PCA().partial_fit(X.T)
    few = lowland.PCA(3).partial_fit(X[:2])
    with pytest.raises(lowland.DataError, match="n_components=3"):
        few.transform(X)
    assert few.partial_fit(X[2:]).transform(X).shape == (50, 3)


def test_partial_fit_after_fit_begins_anew_and_says_so(rng):
    X = rng.standard_normal((50, 5))
    with pytest.warns(lowland.LowlandWarning, match="starts again with these rows alone"):
        model = lowland.PCA(2).fit(X).partial_fit(X[:20])
    np.testing.assert_allclose(model.eigenvalues_, lowland.PCA(2).fit(X[:20]).eigenvalues_, rtol=1e-10)
    assert model.partial_fit(X[20:]).n_samples_ == 50


# -- sparse, wide, hard -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3000, 200), (200, 3000), (1800, 1700)])
@pytest.mark.parametrize("scale", [False, True])
def test_sparse_is_centred_without_becoming_dense(rng, shape, scale, monkeypatch):
    S = sp.random_array(shape, density=0.02, rng=rng, format="csr") * 3
    dense = lowland.PCA(4, solver="svd" if max(shape) < 2501 else "auto", scale=scale).fit(S.toarray())
    monkeypatch.setattr(sp.csr_array, "toarray", _refuse(S.shape))
    model = lowland.PCA(4, scale=scale).fit(S)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(S), dense.transform(S), atol=1e-7 * np.abs(dense.transform(S)).max())


def _refuse(shape):
    original = sp.csr_array.toarray

    def toarray(self, *args, **kwargs):
        assert self.shape != shape, "the whole table was made dense"
        assert self.shape[0] * self.shape[1] < shape[0] * shape[1]
        return original(self, *args, **kwargs)

    return toarray


def test_blocks_of_unknown_length_in_one_pass(rng):
    X = rng.standard_normal((5000, 20)) * np.linspace(3, 1, 20)
    source = RowSource.from_blocks(X[a : a + 333] for a in range(0, 5000, 333))
    assert source.n_rows is None
    model = lowland.PCA(3).fit(source)
    np.testing.assert_allclose(model.eigenvalues_, lowland.PCA(3).fit(X).eigenvalues_, rtol=1e-12)
    assert model.n_samples_ == 5000
    with pytest.raises(lowland.DataError, match="only once"):
        lowland.PCA(3, solver="krylov").fit(X[a : a + 333] for a in range(0, 5000, 333))


def test_residual_reacts_to_wrong_vectors(rng, monkeypatch):
    from lowland.spectral import dense

    X = rng.standard_normal((20_000, 80)) * np.linspace(3, 1, 80)
    assert lowland.PCA(3).fit(X).fit_info_.residual < 1e-13
    honest = dense.eigh

    def disturbed(A, *arguments):
        values, vectors = honest(A, *arguments)
        return values, vectors + 1e-6 * rng.standard_normal(vectors.shape)

    monkeypatch.setattr(dense, "eigh", disturbed)
    assert lowland.PCA(3).fit(X).fit_info_.residual > 1e-8


def test_contributions_and_cos2():
    X = load_iris().data
    for options in ({}, {"whiten": True}, {"scale": True}):
        model = lowland.PCA(**options).fit(X)
        np.testing.assert_allclose(model.contributions(X).sum(axis=0), 1, rtol=1e-12)
        np.testing.assert_allclose(model.cos2(X).sum(axis=1), 1, rtol=1e-10)
    np.testing.assert_allclose(model.cos2(model.mean_[None]), 0)
    scaled = lowland.PCA(scale=True).fit(X)
    Y = scaled.transform(X)
    correlations = np.corrcoef(np.hstack([X, Y]).T)[:4, 4:]
    np.testing.assert_allclose(scaled.loadings_, correlations, atol=1e-12)


def test_weights_that_leave_no_freedom(rng):
    with pytest.raises(lowland.DataError, match="weights sum to 1"):
        lowland.PCA().fit(rng.standard_normal((10, 3)), sample_weight=np.full(10, 0.1))
    with pytest.raises(lowland.DataError, match="row 2 has -1"):
        lowland.PCA().fit(rng.standard_normal((3, 3)), sample_weight=[1, 1, -1])


def test_heavy_tails_and_repeated_rows():
    data = np.asfortranarray(connections(300_000))
    model = lowland.PCA(scale=True).fit(data)
    X = data.astype(np.float64)
    spread = X.std(axis=0, ddof=1)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    want = np.linalg.eigvalsh(Z.T @ Z)[::-1] / (len(X) - 1)
    np.testing.assert_allclose(model.eigenvalues_, want[: model.n_components_], atol=1e-6)
    assert 30 < model.n_components_ < 38
    with pytest.warns(lowland.DominantColumnWarning):
        raw = lowland.PCA(5).fit(data)
    exact = lowland.PCA(5, solver="svd")
    with pytest.warns(lowland.DominantColumnWarning):
        exact.fit(data)
    np.testing.assert_allclose(raw.eigenvalues_[:3], exact.eigenvalues_[:3], rtol=1e-5)


@pytest.mark.slow
def test_sparse_hundred_thousand_by_a_million(rng):
    n, d, entries = 100_000, 1_000_000, 10_000_000
    popularity = rng.zipf(1.3, size=entries) % d
    rows = rng.integers(0, n, entries)
    S = sp.csr_array((np.ones(entries), (rows, popularity)), shape=(n, d))
    model = lowland.PCA(5)
    assert lowland.plan(model, S).bytes < 16e9
    model.fit(S)
    assert model.fit_info_.residual < 1e-9
    assert model.components_.shape == (5, d)


def test_constant_columns_are_named_as_such_and_not_to_be_scaled():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0], "year": 2024.0, "weight": 70.0})
    with pytest.warns(lowland.DominantColumnWarning) as caught:
        lowland.PCA(1).fit(frame)
    assert [str(warning.message) for warning in caught] == [
        "PCA: column 'a' holds all of the variance, because the other 2 columns are constant"
    ]
