"""Pre-images: the ridge against its normal equations and leave-one-out, the fixed point against its equation."""

from __future__ import annotations

import numpy as np
import pytest

import lowland
from lowland.methods.kernel import preimage
from lowland.methods.kernel.feature_space import from_pairs
from lowland.methods.kernel.kernel_pca import KernelPCA
from lowland.methods.kernel.preimage import FixedPoint, Ridge, fit_ridge
from lowland.pairs.distances import SquaredEuclidean
from lowland.pairs.kernels import Exponential
from lowland.rows.row_source import RowSource


def curve(rng, n, noise=0.05):
    """A reduced coordinate of mean zero, and rows that bend with it."""
    y = np.sort(rng.uniform(-1, 1, (n, 1)), axis=0)
    y -= y.mean()
    X = np.column_stack([np.sin(3 * y), np.cos(3 * y), y**2, 5.0 + y])
    return y, X + noise * rng.standard_normal(X.shape)


def test_without_gaussians_it_is_least_squares(rng):
    Y = rng.standard_normal((200, 3))
    Y -= Y.mean(axis=0)
    X = Y @ rng.standard_normal((3, 6)) + rng.standard_normal((200, 6)) + 100.0
    ridge = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 0, rng)
    want = np.linalg.lstsq(np.column_stack([np.ones(200), Y]), X, rcond=None)[0]
    np.testing.assert_allclose(ridge.intercept, want[0], rtol=1e-12)
    np.testing.assert_allclose(ridge.linear, want[1:], rtol=1e-10, atol=1e-12)
    assert (ridge.weights.shape, ridge.freedom) == ((0, 6), 4.0)


def test_it_solves_its_normal_equations(rng):
    """Gradient of Σ‖x − b − By − Cg‖² + α tr(CᵀHC) is zero, in b, B and C."""
    Y, X = curve(rng, 300)
    ridge = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 20, rng)
    left = X - ridge(Y)
    bumps = Exponential(SquaredEuclidean(0.0), ridge.gamma)
    G, H = bumps(Y, ridge.centers), bumps(ridge.centers, ridge.centers)
    np.testing.assert_allclose(left.sum(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(Y.T @ left, 0.0, atol=1e-8)
    gradient = G.T @ left - ridge.strength * H @ ridge.weights
    # H has directions that are rounding; in the others the gradient vanishes
    values, Q = np.linalg.eigh(H)
    kept = Q[:, values > 1e-8 * values[-1]]
    np.testing.assert_allclose(kept.T @ gradient, 0.0, atol=1e-6)


def test_cross_validation_finds_the_smoothness(rng):
    """The strength it takes predicts new rows nearly as well as the best of all strengths, and follows the noise."""
    (Y, X), (new, clean) = curve(rng, 300, noise=0.3), curve(rng, 300, noise=0.0)
    ridge = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 100, rng)
    error = np.mean((ridge(new) - clean) ** 2)
    assert error < 0.05 * 0.3**2 * 4
    affine = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 0, rng)
    assert error < np.mean((affine(new) - clean) ** 2) / 20
    Y, X = curve(rng, 300, noise=0.001)
    calm = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 100, rng)
    assert calm.freedom > ridge.freedom


def test_freedom_is_the_trace_of_the_hat_matrix(rng):
    """In coordinates where the penalty is the identity; directions below 1e-8 of the largest are not used."""
    Y, X = curve(rng, 60)
    rows = RowSource.from_array(X)
    ridge = fit_ridge(rows, Y, X.mean(axis=0), 10, np.random.default_rng(0))
    bumps = Exponential(SquaredEuclidean(0.0), ridge.gamma)
    G, H = bumps(Y, ridge.centers), bumps(ridge.centers, ridge.centers)
    values, Q = np.linalg.eigh(H)
    kept = values > 1e-8 * values[-1]
    Z = np.column_stack([np.ones(60), Y, G @ Q[:, kept] / np.sqrt(values[kept])])
    penalty = np.diag([0.0, 0.0, *np.full(kept.sum(), ridge.strength)])
    assert ridge.freedom == pytest.approx(np.trace(Z @ np.linalg.solve(Z.T @ Z + penalty, Z.T)), rel=1e-6)


def test_noise_alone_gives_the_affine_map(rng):
    Y = rng.standard_normal((500, 2))
    Y -= Y.mean(axis=0)
    X = Y @ rng.standard_normal((2, 3)) + rng.standard_normal((500, 3))
    ridge = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 100, rng)
    assert ridge.freedom < 15
    exact = Y @ rng.standard_normal((2, 3)) + 1.0
    ridge = fit_ridge(RowSource.from_array(exact), Y, exact.mean(axis=0), 100, rng)
    np.testing.assert_allclose(ridge(Y), exact, atol=1e-9)


def test_blocks_and_state(rng):
    Y, X = curve(rng, 900)
    blocks = RowSource.from_blocks(lambda: (X[:100], X[100:]))
    a = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 30, np.random.default_rng(0))
    b = fit_ridge(blocks, Y, X.mean(axis=0), 30, np.random.default_rng(0))
    np.testing.assert_array_equal(a(Y), b(Y))
    np.testing.assert_array_equal(Ridge(**vars(a))(Y), a(Y))


def test_hardly_any_rows(rng):
    for n in (2, 3, 5):
        X = rng.standard_normal((n, 4))
        model = KernelPCA(1).fit(X)
        assert np.isfinite(model.inverse_transform(model.embedding_)).all()
    every = KernelPCA(49).fit(rng.standard_normal((50, 3)))  # no row is left to judge Gaussians by
    assert np.isfinite(every.inverse_transform(every.embedding_)).all()


def fixed_point(X, k, gamma):
    rule = Exponential(SquaredEuclidean(X.mean(axis=0)), gamma)
    found = from_pairs(rule(X, X), k, psd=True, rng=np.random.default_rng(0))
    Y = found.expansion.dual * found.values
    ridge = fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 50, np.random.default_rng(0))
    return FixedPoint(rule, X, found.expansion, Y, ridge), Y, rule, found.expansion


def test_the_fixed_point_satisfies_its_equation(rng):
    X = rng.standard_normal((150, 4))
    back, Y, rule, expansion = fixed_point(X, 5, 0.1)
    Z = back(Y)
    beta = expansion.weights + Y @ expansion.dual.T
    w = beta * rule(Z, X)
    np.testing.assert_allclose(w @ X / w.sum(axis=1, keepdims=True), Z, atol=1e-8)


def test_the_fixed_point_is_nearest_in_feature_space(rng):
    """h(x) = Σβ_j k(x, z_j) is higher than at the ridge's answer, at every anchor and at nearby points."""
    X = rng.standard_normal((150, 4))
    back, Y, rule, expansion = fixed_point(X, 5, 0.1)
    Z = back(Y)
    beta = expansion.weights + Y @ expansion.dual.T
    height = (beta * rule(Z, X)).sum(axis=1)
    assert (height >= (beta * rule(back.start(Y), X)).sum(axis=1) - 1e-12).all()
    assert (height >= (beta @ rule(X, X)).max(axis=1) - 1e-12).mean() > 0.97  # one start may miss the highest hill
    for _ in range(5):
        near = Z + 0.01 * rng.standard_normal(Z.shape)
        assert (height > (beta * rule(near, X)).sum(axis=1)).all()


def test_all_components_give_back_the_training_rows(rng):
    X = rng.standard_normal((80, 3))
    back, Y, *_ = fixed_point(X, 79, 1.0)
    np.testing.assert_allclose(back(Y), X, atol=1e-4)


def test_a_wide_kernel_goes_back_as_pca_does(rng):
    X = rng.standard_normal((200, 5)) * np.array([3, 2, 1, 0.5, 0.2])
    pca = lowland.PCA(2).fit(X)
    model = KernelPCA(2, gamma=1e-7).fit(X)
    want = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), want, atol=1e-3)


def test_coordinates_far_from_all_data_keep_a_finite_start(rng):
    X = rng.standard_normal((100, 3))
    for options in ({}, {"landmarks": 30}):
        model = KernelPCA(3, **options).fit(X)
        far = np.array([[1e3, -1e3, 1e3], [0.0, 0.0, 0.0], [-50.0, 0.0, 0.0]])
        assert np.isfinite(model.inverse_transform(far)).all()


def test_wide_rows_are_summed_by_strips_and_narrow_ones_by_blocks(rng):
    """Both sums solve the same normal equations, on any number of threads."""
    X, Y = rng.standard_normal((200, 30_000)), rng.standard_normal((200, 2))
    Y -= Y.mean(axis=0)
    assert preimage.in_strips(2 + 80, X.shape[1])
    assert not preimage.in_strips(2 + 80, 300)
    ridges = []
    for threads in (1, 4):
        with lowland.config(threads=threads):
            ridges.append(fit_ridge(RowSource.from_array(X), Y, X.mean(axis=0), 80, np.random.default_rng(0)))
    np.testing.assert_array_equal(ridges[0](Y), ridges[1](Y))
    narrow = X[:, :300]
    few = fit_ridge(RowSource.from_array(narrow), Y, narrow.mean(axis=0), 80, np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preimage, "in_strips", lambda width, columns: True)
        same = fit_ridge(RowSource.from_array(narrow), Y, narrow.mean(axis=0), 80, np.random.default_rng(0))
    np.testing.assert_allclose(same(Y), few(Y), atol=1e-8)
