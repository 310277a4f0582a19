"""Accuracy as LAPACK tests itself, on graded, clustered and shifted spectra, in float64 and float32.

For right vectors V the left vectors U are the orthonormal factor of XV: u = Xv/‖Xv‖ taken alone would carry the
rounding of v, eps·σ₁ along u₁, enlarged by σ₁/σ_k; LAPACK's own V fails that test by factors of a thousand.
"""

from __future__ import annotations

import numpy as np
import pytest

import lowland

pytestmark = pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")

SPECTRA = {
    "flat": lambda r: np.ones(r),
    "mild": lambda r: np.logspace(0, -3, r),
    "graded": lambda r: np.logspace(0, -7, r),
    "steep": lambda r: np.logspace(0, -12, r),
    "gap": lambda r: np.r_[np.ones(r // 2), np.full(r - r // 2, 1e-6)],
}


def make(rng, n, d, spectrum, shift=0.0):
    r = min(n - 1, d)
    U = rng.standard_normal((n, r))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((d, r)))[0]
    return (U * SPECTRA[spectrum](r)) @ V.T + shift * rng.standard_normal(d)


def lapack_ratios(X, model, threshold):
    """Return the residual and the loss of orthogonality over their bounds, for σ above the threshold."""
    eps = np.finfo(X.dtype).eps
    wide = X.astype(np.longdouble)
    Xc = (wide - wide.mean(axis=0)).astype(np.float64)
    keep = model.singular_values_ > threshold * model.singular_values_[0]
    V, s = model.components_.astype(np.float64).T[:, keep], model.singular_values_[keep]
    image = Xc @ V
    U = np.linalg.qr(image)[0]
    U *= np.sign(np.sum(U * image, axis=0))
    norm = np.linalg.norm(Xc, 2)
    worst = max(np.linalg.norm(image - U * s, axis=0).max(), np.linalg.norm(Xc.T @ U - V * s, axis=0).max())
    loss = np.linalg.norm(V.T @ V - np.eye(len(s)), 2)
    return worst / (30 * min(X.shape) * eps * norm), loss / (30 * len(s) * eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("shape", [(300, 40), (9000, 60), (60, 500)])
@pytest.mark.parametrize("solver", ["auto", "svd", "covariance", "gram", "krylov"])
def test_backward_error(rng, shape, spectrum, dtype, solver):
    if solver == "gram" and shape[0] > 1000:
        pytest.skip("the dual route of 9000 rows is not what it is for")
    X = make(rng, *shape, spectrum).astype(dtype)
    squares = solver in ("covariance", "gram")  # certified for σ_k > √eps·σ₁ only
    for k in (None, 5):
        model = lowland.PCA(k, solver=solver).fit(X)
        residual, loss = lapack_ratios(X, model, np.sqrt(np.finfo(dtype).eps) if squares else 0.0)
        assert residual <= 1
        assert loss <= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_auto_leaves_the_squares_below_the_root_of_eps(rng, dtype):
    steep = make(rng, 20_000, 80, "steep").astype(dtype)
    mild = make(rng, 20_000, 80, "flat").astype(dtype)
    assert lowland.PCA(80, solver="auto").fit(mild).fit_info_.algorithm == "covariance"
    assert lowland.PCA(80, solver="auto").fit(steep).fit_info_.algorithm == "svd"
    assert lowland.PCA(3, solver="auto").fit(steep).fit_info_.algorithm == "covariance"


@pytest.mark.parametrize("solver", ["auto", "covariance", "gram", "svd", "krylov"])
@pytest.mark.parametrize(("dtype", "mean", "rtol"), [(np.float32, 1e5, 2e-3), (np.float64, 1e8, 1e-7)])
def test_large_mean_small_spread(rng, dtype, mean, rtol, solver):
    n, d = (20_000, 8) if solver != "gram" else (300, 400)
    Z = rng.standard_normal((n, d)) * np.linspace(2, 1, d)
    X = (mean + Z).astype(dtype)
    exact = X.astype(np.longdouble)  # the truth about the rounded table
    exact = (exact - exact.mean(axis=0)).astype(np.float64)
    want = np.linalg.svd(exact, compute_uv=False)[:5]
    model = lowland.PCA(5, solver=solver).fit(X)
    np.testing.assert_allclose(model.singular_values_, want, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert model.mean_.dtype == np.float64
    got = model.transform(X).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(got, axis=0), want, rtol=rtol)


@pytest.mark.parametrize("spectrum", ["harmonic", "linear", "noise"])
def test_krylov_is_right_on_slow_spectra(rng, spectrum):
    n, d, k = 3000, 1800, 10
    values = {"harmonic": 1 / np.arange(1, d + 1), "linear": np.linspace(1, 0.5, d), "noise": np.ones(d)}[spectrum]
    X = rng.standard_normal((n, d)) * values
    exact = lowland.PCA(k, solver="covariance").fit(X)
    krylov = lowland.PCA(k, solver="krylov").fit(X)
    np.testing.assert_allclose(krylov.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
    cosines = np.linalg.svd(krylov.components_ @ exact.components_.T, compute_uv=False)
    assert np.sqrt(max(0.0, 1 - cosines.min() ** 2)) < 1e-6
    assert krylov.fit_info_.residual < 1e-10
