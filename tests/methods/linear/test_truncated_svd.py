"""TruncatedSVD against LAPACK, published tables, and its own updates against refits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD as Reference

from lowland import TruncatedSVD
from lowland.core.errors import DataError, RankWarning
from lowland.rows.row_source import RowSource

SOLVERS = ("auto", "covariance", "gram", "svd", "krylov", "power")


def table(rng, n, d, rank=None, mean=0.5):
    """Rows with a decaying spectrum and a mean that is not zero."""
    rank = rank or min(n, d)
    U = np.linalg.qr(rng.standard_normal((n, rank)))[0]
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    return (U * (10.0 * 0.7 ** np.arange(rank))) @ V.T + (mean if rank == min(n, d) else 0.0)


def assert_triplets(model, X, k, tol=1e-10):
    """Check values, both sides' residuals and orthonormality against LAPACK."""
    X = X.toarray() if sp.issparse(X) else X
    X = X.astype(np.float64)
    U, s, V = model.U_.astype(np.float64), model.singular_values_, model.components_.T.astype(np.float64)
    expected = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(s, expected[:k], rtol=0, atol=tol * expected[0])
    assert (np.diff(s) <= 0).all()
    assert np.abs(X @ V - U * s).max() < tol * expected[0]
    assert np.abs(X.T @ U - V * s).max() < tol * expected[0]
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=10 * tol)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=10 * tol)


# -- fit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("shape", [(60, 12), (12, 60)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_agrees_with_lapack(rng, solver, shape, form):
    X = table(rng, *shape)
    if form == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > np.quantile(np.abs(X), 0.6), X, 0.0))
    model = TruncatedSVD(4, solver=solver).fit(X)
    assert_triplets(model, X, 4, tol=1e-9)
    assert model.fit_info_.residual < 1e-10
    assert not model.fit_info_.approximate


@pytest.mark.parametrize("solver", SOLVERS)
def test_float32_stays_float32_and_is_right_to_its_precision(rng, solver):
    X = table(rng, 80, 15).astype(np.float32)
    model = TruncatedSVD(3, solver=solver).fit(X)
    assert model.U_.dtype == model.components_.dtype == model.transform(X).dtype == np.float32
    assert_triplets(model, X, 3, tol=3e-6)


def test_all_triplets_rebuild_the_table(rng):
    X = table(rng, 20, 7)
    model = TruncatedSVD(7).fit(X)
    np.testing.assert_allclose((model.U_ * model.singular_values_) @ model.components_, X, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    assert model.energy_ratio_.sum() == pytest.approx(1, abs=1e-13)


def test_k_triplets_leave_exactly_the_discarded_energy(rng):
    X = table(rng, 30, 9)
    s = np.linalg.svd(X, compute_uv=False)
    model = TruncatedSVD(3).fit(X)
    assert np.sum(model.residual(X) ** 2) == pytest.approx((s[3:] ** 2).sum(), rel=1e-10)
    assert model.energy_ == pytest.approx((X**2).sum(), rel=1e-13)
    np.testing.assert_allclose(model.energy_ratio_, s[:3] ** 2 / (s**2).sum(), rtol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 3.0, 1e6])
def test_explained_variance_is_that_of_the_coordinates(rng, mean):
    X = rng.standard_normal((200, 6)) * [3, 2, 1, 1, 1, 1] + mean
    model = TruncatedSVD(3, solver="svd").fit(X)
    Y = model.transform(X)
    np.testing.assert_allclose(model.explained_variance_, Y.var(axis=0), rtol=1e-8)
    share = Y.var(axis=0) / X.var(axis=0).sum()
    np.testing.assert_allclose(model.explained_variance_ratio_, share, rtol=1e-8)


def test_matches_scikit_learn_but_orders_by_singular_value(rng):
    X = sp.random_array((120, 40), density=0.2, rng=rng, format="csr")
    model, other = TruncatedSVD(5).fit(X), Reference(5, algorithm="arpack", random_state=0).fit(X)
    np.testing.assert_allclose(model.singular_values_, other.singular_values_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, other.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(model.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-7)
    # The first concept of rows with a mean is strong but varies little: variance does not set the order.
    assert model.explained_variance_[0] < model.explained_variance_[1]


def test_transform_is_u_sigma_and_row_wise(rng):
    X = table(rng, 50, 8)
    model = TruncatedSVD(3).fit(X)
    np.testing.assert_allclose(model.transform(X), model.U_ * model.singular_values_, atol=1e-12)
    np.testing.assert_allclose(model.transform(X[7:8])[0], model.transform(X)[7], rtol=1e-12)
    np.testing.assert_allclose(model.transform(sp.csr_array(X)), model.transform(X), atol=1e-12)


def test_rank_below_n_components_is_told(rng):
    X = table(rng, 20, 6, rank=2)
    with pytest.warns(RankWarning, match="rank 2, so only 2 of the 4 requested components"):
        model = TruncatedSVD(4).fit(X)
    assert model.n_components_ == 2
    assert_triplets(model, X, 2)


def test_refuses_what_cannot_be(rng):
    X = table(rng, 6, 9)
    with pytest.raises(DataError, match=r"n_components=7 is more than min\(rows, columns\) = 6"):
        TruncatedSVD(7).fit(X)
    X[4, 2] = np.nan
    with pytest.raises(DataError, match="NaN at row 4, column 2"):
        TruncatedSVD(2).fit(X)
    with pytest.raises(DataError, match="partial_fit"):
        TruncatedSVD(2).fit(RowSource.from_blocks(iter([np.eye(4)])))


# -- tables from the literature --------------------------------------------------------------------------


# Counts of 12 terms (human … minors) in 9 titles (c1 … c5, m1 … m4), in the order of Deerwester et al. (1990), table 2.
DEERWESTER = """100100000 101000000 110000000 011010000 011200000 010010000
                010010000 001100000 010000001 000001110 000000111 000000011"""


def test_deerwester_singular_values():
    X = np.array([[float(c) for c in row] for row in DEERWESTER.split()])
    published = [3.34, 2.54, 2.35, 1.64, 1.50, 1.31, 0.85, 0.56, 0.36]
    model = TruncatedSVD(9).fit(X)  # rows are terms, columns documents
    assert np.abs(model.singular_values_ - published).max() <= 0.00501
    first = np.array([[0.22, -0.11], [0.20, -0.07], [0.24, 0.04], [0.40, 0.06], [0.64, -0.17]])
    signs = np.sign((model.U_[:5, :2] * first).sum(axis=0))
    assert np.abs(model.U_[:5, :2] * signs - first).max() <= 0.00501


# -- partial_fit -----------------------------------------------------------------------------------------


def batches(X, *sizes):
    return [X[a:b] for a, b in pairwise(np.cumsum([0, *sizes]))]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("sizes", [(20, 20), (5, 30, 5), (10, *[1] * 30), (1,) * 40, (2, 38)])
def test_updates_are_exact_while_the_rank_fits(rng, sizes, form):
    X = table(rng, 40, 12, rank=3)
    model = TruncatedSVD(3)
    for batch in batches(form(X), *sizes):
        model.partial_fit(batch)
    assert_triplets(model, X, 3, tol=1e-12)
    np.testing.assert_allclose((model.U_ * model.singular_values_) @ model.components_, X, atol=1e-12)
    assert model.n_samples_ == 40
    assert not model.fit_info_.approximate
    refit = TruncatedSVD(3).fit(X)
    np.testing.assert_allclose(model.components_, refit.components_, atol=1e-11)
    np.testing.assert_allclose(model.explained_variance_, refit.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, refit.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(model.energy_ratio_, refit.energy_ratio_, rtol=1e-11)


def test_first_call_is_fit(rng):
    X = table(rng, 30, 8)
    a, b = TruncatedSVD(3).partial_fit(X), TruncatedSVD(3).fit(X)
    np.testing.assert_array_equal(a.U_, b.U_)
    np.testing.assert_array_equal(a.components_, b.components_)
    assert a.fit_info_.algorithm == b.fit_info_.algorithm


def test_blocks_that_can_be_read_again_go_the_way_of_one_array(rng):
    X = table(rng, 60, 12)
    whole, blocks = TruncatedSVD(3).fit(X), TruncatedSVD(3).fit(RowSource.from_blocks(lambda: (X[:25], X[25:])))
    assert blocks.fit_info_.algorithm == whole.fit_info_.algorithm == "svd"
    np.testing.assert_array_equal(blocks.U_, whole.U_)


def test_what_is_lost_is_reported_and_bounds_the_shortfall(rng):
    X = rng.standard_normal((120, 20)) * 0.9 ** np.arange(20)
    model = TruncatedSVD(4)
    for batch in batches(X, 40, 40, 40):
        model.partial_fit(batch)
    s = np.linalg.svd(X, compute_uv=False)
    energy = (X**2).sum()
    shortfall = ((s[:4] ** 2).sum() - (model.singular_values_**2).sum()) / energy
    assert model.fit_info_.approximate
    assert 0 < shortfall <= model.fit_info_.approximation_error < 1
    assert (model.singular_values_ <= s[:4] * (1 + 1e-12)).all()  # an update never invents strength
    # The first fit and the updates together have cut off what the triplets do not hold.
    first = np.linalg.svd(X[:40], compute_uv=False)
    held = (model.singular_values_**2).sum()
    assert held + model.lost_energy_ + (first[4:] ** 2).sum() == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(model.U_.T @ model.U_, np.eye(4), atol=1e-13)


def test_rows_that_lie_almost_in_the_known_space_keep_the_vectors_orthonormal(rng):
    X = table(rng, 20, 10, rank=2)
    near = X[:5] + 1e-9 * rng.standard_normal((5, 10))
    with pytest.warns(RankWarning):
        model = TruncatedSVD(6).fit(X)
    model.partial_fit(near)
    assert model.n_components_ == 6
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-13)
    assert_triplets(model, np.vstack([X, near]), 6, tol=1e-13)


def test_float32_updates_do_not_take_rounding_for_concepts(rng):
    X = table(rng, 40, 10, rank=2).astype(np.float32)
    with pytest.warns(RankWarning):
        model = TruncatedSVD(5).fit(X[:20])
    for batch in batches(X[20:], *[5] * 4):
        model.partial_fit(batch)
    assert model.n_components_ == 2
    assert model.U_.dtype == np.float32
    assert not model.fit_info_.approximate
    assert_triplets(model, X, 2, tol=3e-6)


def test_a_stream_that_is_read_once_can_be_added(rng):
    X = table(rng, 50, 9, rank=4)
    model = TruncatedSVD(4).partial_fit(RowSource.from_blocks(X[a : a + 7] for a in range(0, 50, 7)))
    assert_triplets(model, X, 4, tol=1e-12)


def test_a_failed_update_changes_nothing(rng):
    X = table(rng, 30, 6)
    model = TruncatedSVD(2).fit(X)
    before = {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    bad = np.ones((10_000, 6))  # the second block fails after the first was added
    bad[9_000, 3] = np.inf
    with pytest.raises(DataError, match="row 9000, column 3"):
        model.partial_fit(bad)
    assert model.n_samples_ == 30
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.partial_fit(np.ones((3, 5)))
    fresh = TruncatedSVD(3)
    with pytest.raises(DataError, match="rank 0"):
        fresh.partial_fit(np.zeros((2, 5)))
    assert not hasattr(fresh, "components_")
    with pytest.raises(DataError, match="n_components=8 is more than"):
        TruncatedSVD(8).partial_fit(np.ones((2, 5)))


def test_updates_survive_a_model_file(rng, tmp_path):
    import lowland

    X = table(rng, 40, 8, rank=3)
    lowland.save(TruncatedSVD(3).fit(X[:20]), tmp_path / "half.lowland")
    model = lowland.load(tmp_path / "half.lowland").partial_fit(X[20:])
    assert_triplets(model, X, 3, tol=1e-12)


# -- an asked accuracy -------------------------------------------------------------------------------------


def flat(rng, n=1800, d=2400, density=0.01):
    """A sparse table whose singular values hardly fall, too large for a direct route."""
    return sp.random_array((n, d), density=density, rng=rng, format="csr")


@pytest.mark.parametrize("tol", [0.3, 3e-2, 1e-3, 1e-6])
def test_tol_bounds_the_residual_and_the_values(rng, tol):
    X = flat(rng)
    exact, rough = TruncatedSVD(12, solver="krylov").fit(X), TruncatedSVD(12, solver="krylov", tol=tol).fit(X)
    U, s, V = rough.U_, rough.singular_values_, rough.components_.T
    miss = max(np.linalg.norm(X @ V - U * s, axis=0).max(), np.linalg.norm(X.T @ U - V * s, axis=0).max())
    info = rough.fit_info_
    assert info.residual <= tol
    assert info.approximation_error == info.residual
    np.testing.assert_allclose(info.residual, miss / s[0], rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(U.T @ U, np.eye(12), atol=1e-10)
    assert np.abs(s - exact.singular_values_).max() <= tol * s[0]
    assert info.approximate
    assert info.iterations <= exact.fit_info_.iterations
    assert "checked (randomised)" in info.evidence["missed eigenpairs"]


def test_tol_saves_products_and_none_is_exact(rng):
    X = flat(rng)
    steps = [TruncatedSVD(12, solver="krylov", tol=tol).fit(X).fit_info_.iterations for tol in (1e-1, 1e-2, None)]
    assert steps[0] < steps[1] < steps[2]
    assert not TruncatedSVD(12, solver="krylov").fit(X).fit_info_.approximate
    assert not TruncatedSVD(3, tol=0.1).fit(X[:60]).fit_info_.approximate  # a direct route does not iterate


def test_tol_misses_no_copy_of_a_repeated_value(rng):
    """Twenty equal singular values: a block of 8 holds eight of them."""
    Q = np.linalg.qr(rng.standard_normal((1700, 60)))[0]
    X = sp.csr_array((Q * np.r_[[5.0] * 20, [1.0] * 40]) @ np.linalg.qr(rng.standard_normal((2500, 60)))[0].T)
    found = TruncatedSVD(20, solver="krylov", tol=1e-2).fit(X).singular_values_
    np.testing.assert_allclose(found, 5.0, rtol=1e-2)


@pytest.mark.parametrize("tol", [0, -1.0, 1.0, "1e-3", True])
def test_tol_is_checked(rng, tol):
    with pytest.raises(ValueError, match="TruncatedSVD: tol must be"):
        TruncatedSVD(2, tol=tol).fit(rng.standard_normal((9, 5)))
