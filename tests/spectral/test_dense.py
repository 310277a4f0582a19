"""Some eigenpairs of a dense symmetric matrix, by inverse iteration, beside all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.linalg.lapack

from lowland.spectral import Dense, dense, eigen

N = 300
SPECTRA = {
    "equal": np.ones(N),
    "repeated": np.repeat(np.arange(10.0), 30),
    "low rank": np.r_[np.zeros(260), np.arange(1.0, 41)],
    "half of rank": np.r_[np.zeros(150), np.linspace(1, 2, 150)],
    "both signs": np.linspace(-1, 1, N),
    "decaying": np.logspace(-20, 0, N),
    "a large cluster": np.r_[np.arange(200) * 1e-3, np.full(100, 7.0)],
    "nearly equal": 1 + 1e-10 * np.arange(N),
}
SUBSETS = [(N - 75, N - 1), (0, 74), (N - 1, N - 1), (0, 0), (100, 140)]


def turned(values, rng):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


def assert_pairs(A, subset):
    norm = np.abs(A).max() or 1.0
    expected = np.linalg.eigvalsh(A / norm)[subset[0] : subset[1] + 1]
    values, V = dense.eigh(A, subset)
    assert V.shape == (len(A), subset[1] - subset[0] + 1)
    assert (np.diff(values) >= 0).all()
    size = np.abs(np.linalg.eigvalsh(A / norm)).max() or 1.0
    np.testing.assert_allclose(values / norm, expected, atol=1e-13 * size)
    np.testing.assert_allclose(A / norm @ V, V * (values / norm), atol=1e-14 * size)
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)


@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("name", SPECTRA)
def test_pairs_of_planted_spectra(name, subset, rng):
    assert_pairs(turned(SPECTRA[name], rng), subset)


@pytest.mark.parametrize("factor", [1e-160, 1e-60, 1e60, 1e150])
@pytest.mark.parametrize("subset", SUBSETS[:2])
def test_pairs_of_tiny_and_huge_entries(factor, subset, rng):
    assert_pairs(turned(np.arange(float(N)), rng) * factor, subset)


@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize(
    "A",
    [
        np.zeros((N, N)),
        np.eye(N),
        np.diag(np.arange(float(N))),
        scipy.linalg.block_diag(*[np.ones((20, 20))] * 15),
        2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1),
        np.diag(np.abs(np.arange(N) - N // 2.0)) + np.eye(N, k=1) + np.eye(N, k=-1),
    ],
    ids=["zero", "identity", "diagonal", "blocks", "path", "wilkinson"],
)
def test_pairs_of_matrices_that_fall_apart(A, subset):
    assert_pairs(A, subset)


@pytest.mark.parametrize("name", SPECTRA)
def test_only_as_many_vectors_as_the_values_ask_for(name, rng):
    A = turned(SPECTRA[name], rng)
    asked = []

    def enough(values):
        asked.append(values.copy())
        return 12

    found = eigen(Dense(A, symmetric=True), 60, solver="dense", enough=enough)
    whole = eigen(Dense(A, symmetric=True), 60, solver="dense")
    assert found.values.shape == (60,)
    assert found.vectors.shape == (N, 12)
    np.testing.assert_allclose(asked[0], whole.values, atol=1e-13 * np.abs(whole.values).max())
    np.testing.assert_allclose(found.values, whole.values, atol=1e-13 * np.abs(whole.values).max())
    np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values[:12], atol=1e-13)
    assert found.residual < 1e-13


def test_rows_of_either_order_give_the_same_bits(rng):
    A = turned(SPECTRA["decaying"], rng)
    first, second = dense.eigh(A, (200, N - 1)), dense.eigh(np.asfortranarray(A), (200, N - 1))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_inverse_iteration_that_fails_is_replaced(rng, monkeypatch):
    A = turned(SPECTRA["repeated"], rng)
    whole = scipy.linalg.lapack.dstein
    tried = []

    def fails(*arguments, **options):
        tried.append(whole(*arguments, **options))
        return tried[-1][0] * np.nan, 3

    monkeypatch.setattr(scipy.linalg.lapack, "dstein", fails)
    assert_pairs(A, (100, 140))
    assert tried
