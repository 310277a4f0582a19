"""Squared distances as an operator, additive constants, sums over a spectrum that is not computed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland.spectral import Dense, distance, eigen
from lowland.spectral.density import absolute_trace
from lowland.spectral.distance import DistanceGram, cailliez, lingoes, scale
from lowland.spectral.rounding import rounding_floor


@pytest.fixture
def D(rng):
    return cdist(X := rng.standard_normal((80, 5)), X, "cityblock")


def gower(S):
    J = np.eye(len(S)) - 1 / len(S)
    return -0.5 * J @ S @ J


def test_the_operator_is_the_centred_matrix(D, backend, rng):
    B = DistanceGram(backend(D))
    V = rng.standard_normal((80, 3))
    np.testing.assert_allclose(np.asarray(B.matmul(backend(V))), gower(D**2) @ V, atol=1e-10)
    np.testing.assert_allclose(np.asarray(B.dense()), gower(D**2), atol=1e-10)
    assert B.trace() == pytest.approx(np.trace(gower(D**2)), rel=1e-13)


def test_centred_coordinates_are_recovered(rng):
    X = rng.standard_normal((50, 3))
    X -= X.mean(axis=0)
    found = eigen(DistanceGram(cdist(X, X)), 3)
    np.testing.assert_allclose(found.values, np.linalg.svd(X)[1] ** 2, rtol=1e-12)


@pytest.mark.parametrize("n", [80, 700])
def test_cailliez_is_the_least_constant(n, rng):
    D = cdist(X := rng.standard_normal((n, 5)), X, "cityblock")
    c = cailliez(D)
    off = 1 - np.eye(n)
    enough = np.linalg.eigvalsh(gower((D + c) ** 2 * off))
    less = np.linalg.eigvalsh(gower((D + 0.999 * c) ** 2 * off))
    assert enough[0] > -1e-8 * enough[-1]
    assert less[0] < -1e-6 * less[-1]


def test_cailliez_by_products_is_the_dense_one(rng, monkeypatch):
    D = cdist(X := rng.standard_normal((650, 4)), X, "cityblock")
    found = cailliez(D)
    monkeypatch.setattr(distance, "_DENSE_CAILLIEZ", 1000)
    assert found == pytest.approx(cailliez(D), rel=1e-9)


def test_cailliez_where_the_iteration_fails(D, monkeypatch):
    want = cailliez(D)
    monkeypatch.setattr(distance, "_DENSE_CAILLIEZ", 10)
    monkeypatch.setattr(distance, "_RESTARTS", 1)
    with pytest.raises(Exception, match="No convergence"):
        distance._cailliez_iterated(D)
    assert cailliez(D) == pytest.approx(want, rel=1e-9)
    monkeypatch.setattr(distance, "_DENSE_FALLBACK", 20)
    with pytest.raises(lowland.DataError, match=r"constant of 80 points was not found.*lingoes"):
        cailliez(D)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_floor_lies_between_rounding_and_what_is_there(dtype, rng):
    X = rng.standard_normal((300, 3)) * [1.0, 0.5, 0.01]
    D = cdist(X, X).astype(dtype)
    B = DistanceGram(D)
    values = np.abs(eigen(B, 299).values)
    floor = rounding_floor(300, float(values[0]), B.squares.norm(), float(np.finfo(dtype).eps))
    assert B.squares.norm() == pytest.approx(np.linalg.norm(D.astype(float) ** 2))
    assert np.sort(values)[-4] < floor < np.sort(values)[-3]


def test_lingoes_is_the_least_constant(D, rng):
    c = lingoes(D, rng)
    values = np.linalg.eigvalsh(gower(D**2 + 2 * c * (1 - np.eye(80))))
    assert values[0] == pytest.approx(0, abs=1e-10 * values[-1])
    assert c == pytest.approx(-np.linalg.eigvalsh(gower(D**2))[0])


def test_euclidean_distances_need_no_constant(rng):
    for n in (30, 700):
        D = cdist(X := rng.standard_normal((n, 4)), X)
        assert cailliez(D) == cailliez(D.astype(np.float32)) == 0
        assert lingoes(D, rng) == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("tail", [0.01, 1.0, 3.0])
@pytest.mark.parametrize("solver", ["krylov", "dense"])
def test_absolute_trace_lies_within_its_error(tail, solver, rng):
    Q = np.linalg.qr(rng.standard_normal((600, 600)))[0]
    values = np.r_[500.0, 300.0, -200.0, rng.standard_normal(597) * np.linspace(3, tail, 597)]
    A = Dense((Q * values) @ Q.T, symmetric=True)
    truth = np.abs(values).sum()
    inside = 0
    for seed in range(20):
        pairs = eigen(A, 3 if solver == "dense" else 2, solver=solver, rng=np.random.default_rng(seed))
        assert (pairs.ritz is None) == (solver == "dense")
        found = absolute_trace(A, pairs, np.random.default_rng(seed))
        inside += abs(found.value - truth) < 2 * found.error
        assert abs(found.value - truth) < 5 * found.error
        assert found.error < 0.3 * truth
        assert found.least == pytest.approx(-200, rel=1e-3)
    assert inside >= 15


def test_nothing_is_left_when_all_is_known(rng):
    A = Dense(np.diag([3.0, -2.0]), symmetric=True)
    assert absolute_trace(A, eigen(A, 2), rng) == (5.0, 0.0, -2.0)


def test_what_a_krylov_space_saw_of_the_spectrum(rng):
    Q = np.linalg.qr(rng.standard_normal((800, 800)))[0]
    A = Dense((Q * np.r_[100.0 * 0.8 ** np.arange(30), -50.0, np.full(769, 1e-3)]) @ Q.T, symmetric=True)
    ritz = eigen(A, 3, solver="krylov").ritz
    np.testing.assert_allclose(ritz.vectors.T @ ritz.vectors, np.eye(len(ritz.values)), atol=1e-10)
    np.testing.assert_allclose(ritz.T @ ritz.vectors, ritz.vectors * ritz.values, atol=1e-10)
    assert ritz.values.min() == pytest.approx(-50.0, rel=1e-3)
    assert ritz.values[:3] == pytest.approx([100, 80, 64])


# -- classical scaling --------------------------------------------------------------------------------------


def test_scaling_gives_no_more_coordinates_than_the_points_have(rng):
    X = rng.standard_normal((40, 3))
    found = scale(cdist(X, X), 6, float(np.finfo(float).eps), rng)
    assert found.rank == 3
    np.testing.assert_allclose(cdist(found.points, found.points), cdist(X, X), atol=1e-10)
    assert scale(np.zeros((5, 5)), 2, float(np.finfo(float).eps), rng).rank == 0


def test_what_scaling_tells_of_its_fit(D, rng):
    values = np.linalg.eigvalsh(gower(D**2))[::-1]
    told = scale(D, 2, float(np.finfo(float).eps), rng).evidence(rng)
    kept, absolute = values[:2].sum(), np.abs(values).sum()
    assert told["goodness of fit"] == pytest.approx(kept / absolute, rel=1e-10)
    assert told["goodness of fit, positive part"] == pytest.approx(kept / values[values > 0].sum(), rel=1e-10)
    assert told["negative share"] == pytest.approx(-values[values < 0].sum() / absolute, rel=1e-8)
    assert told["smallest eigenvalue"] == pytest.approx(values[-1], rel=1e-10)
