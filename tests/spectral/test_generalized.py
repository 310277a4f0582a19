"""The generalised problem: argmin tr(BCBᵀ) subject to BDBᵀ = I (requirement L14)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from lowland import MemoryLimitError, config
from lowland.core.arrays import to_numpy
from lowland.spectral import fix_signs, generalized_eigen

N = 12


@pytest.fixture
def C(rng):
    A = rng.standard_normal((N, N))
    return A + A.T


@pytest.fixture
def D(rng):
    A = rng.standard_normal((N, N))
    return A @ A.T + np.eye(N)


@pytest.mark.parametrize("which", ["smallest", "largest"])
@pytest.mark.parametrize("k", [1, 2, 5, N])
def test_pairs_against_scipy(C, D, k, which, backend):
    values, V = (to_numpy(x) for x in generalized_eigen(backend(C), backend(D), k, which))
    expected = scipy.linalg.eigh(C, D, eigvals_only=True)
    np.testing.assert_allclose(
        values, expected[:k] if which == "smallest" else expected[::-1][:k], rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(V.T @ D @ V, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(C @ V, D @ V * values, atol=1e-11)
    np.testing.assert_array_equal(V, fix_signs(V))


@pytest.mark.parametrize(("which", "sign"), [("smallest", 1), ("largest", -1)])
def test_no_feasible_matrix_does_better(C, D, which, sign, rng):
    k = 3
    values, V = generalized_eigen(C, D, k, which)
    B = V.T
    best = np.trace(B @ C @ B.T)
    assert best == pytest.approx(values.sum(), rel=1e-12)
    L = np.linalg.inv(np.linalg.cholesky(D))
    for trial in range(300):
        Q = np.linalg.qr(rng.standard_normal((N, k)))[0]
        if trial % 2:  # close to the optimum, where a wrong answer would be beaten
            Q = np.linalg.qr(np.linalg.solve(L.T, V) + 10.0 ** -(trial % 9) * rng.standard_normal((N, k)))[0]
        other = Q.T @ L
        np.testing.assert_allclose(other @ D @ other.T, np.eye(k), atol=1e-10)
        assert sign * (np.trace(other @ C @ other.T) - best) >= -1e-11 * abs(best)


def test_the_constraint_matters(C):
    """With D = I it is the ordinary problem, and scaling D divides the values."""
    plain = np.linalg.eigvalsh(C)
    np.testing.assert_allclose(generalized_eigen(C, np.eye(N), N)[0], plain, rtol=1e-12)
    np.testing.assert_allclose(generalized_eigen(C, 4 * np.eye(N), N)[0], plain / 4, rtol=1e-12)


def test_precision_follows_the_input(C, D, backend):
    values, V = generalized_eigen(backend(C.astype(np.float32)), backend(D.astype(np.float32)), 3)
    assert to_numpy(values).dtype == to_numpy(V).dtype == np.float32
    np.testing.assert_allclose(to_numpy(values), scipy.linalg.eigh(C, D, eigvals_only=True)[:3], rtol=1e-3, atol=1e-4)
    whole = np.diag(np.arange(1, 6))
    assert generalized_eigen(backend(whole), backend(np.eye(5, dtype=int)), 2)[0].tolist() == [1.0, 2.0]


def test_two_precisions_give_the_higher_one(C, D, backend):
    values, V = generalized_eigen(backend(C.astype(np.float32)), backend(D), 2)
    assert to_numpy(values).dtype == to_numpy(V).dtype == np.float64
    expected = scipy.linalg.eigh(C.astype(np.float32).astype(float), D, eigvals_only=True)[:2]
    np.testing.assert_allclose(to_numpy(values), expected, rtol=1e-10)


def test_tensors_with_gradients_are_taken(C, D):
    torch = pytest.importorskip("torch")
    values, V = generalized_eigen(torch.from_numpy(C).requires_grad_(), torch.from_numpy(D).requires_grad_(), 2)
    assert not values.requires_grad
    assert not V.requires_grad


def test_dense_matrices_beyond_the_limit_are_refused():
    eye = sp.eye_array(LARGE, format="csr")
    with config(memory_limit="50MB"), pytest.raises(MemoryLimitError, match="dense 1600 × 1600 matrices"):
        generalized_eigen(eye, eye, LARGE // 2)
    with config(memory_limit="50MB"):
        generalized_eigen(path(LARGE), eye, 1)


def test_input_is_not_changed(C, D):
    before = C.copy(), D.copy()
    generalized_eigen(C, D, 2)
    np.testing.assert_array_equal(C, before[0])
    np.testing.assert_array_equal(D, before[1])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_refusals(C, D, make):
    singular = D.copy()
    singular[:, 3] = singular[3, :] = 0
    crooked = C.copy()
    crooked[0, 1] += 1
    gap = C.copy()
    gap[2, 2] = np.nan
    for args, text in (
        ((C, D, 0), f"k must be from 1 to {N}; got 0"),
        ((C, D, N + 1), f"k must be from 1 to {N}; got {N + 1}"),
        ((C, D[:5, :5], 1), "square and of one size"),
        ((C[:, :5], D, 1), "square and of one size"),
        ((crooked, D, 1), r"C is not symmetric.*numpy\.linalg\.eig\(C\) or scipy\.linalg\.eig\(C, D\)"),
        ((C, crooked, 1), "D is not symmetric"),
        ((gap, D, 1), "C contains NaN"),
        ((C, singular, 1), "D is not positive definite.*range of D"),
        ((C, -D, 1), "D is not positive definite"),
    ):
        with pytest.raises(ValueError, match=text):
            generalized_eigen(make(args[0]), make(args[1]), args[2])
    with pytest.raises(ValueError, match="which must be 'largest' or 'smallest'; got 'both'"):
        generalized_eigen(make(C), make(D), 1, "both")


def test_a_matrix_that_is_not_symmetric_is_not_called_its_symmetric_part():
    A = np.array([[2.0, 3.0], [2.0, 1.0]])  # eigenvalues 4 and −1; those of (A + Aᵀ)/2 are 4.05 and −1.05
    with pytest.raises(ValueError, match=r"C − Cᵀ reaches 1\. .*numpy\.linalg\.eig") as error:
        generalized_eigen(A, np.eye(2), 1)
    assert "/2" not in str(error.value)


# -- large and sparse ----------------------------------------------------------------------------------------

LARGE = 1600


def path(n):
    """The Laplacian of a path, whose eigenvalues are 2 − 2cos(πj/n)."""
    L = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]).tolil()
    L[0, 0] = L[n - 1, n - 1] = 1.0
    return L.tocsr()


@pytest.mark.parametrize("which", ["smallest", "largest"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_matrix])
def test_sparse_with_a_known_answer(which, kind):
    L, k = path(LARGE), 4
    j = np.arange(LARGE)
    exact = np.sort((2 - 2 * np.cos(np.pi * j / LARGE)) / 2)
    values, V = generalized_eigen(kind(L), kind(2 * sp.eye_array(LARGE)), k, which)
    np.testing.assert_allclose(values, exact[:k] if which == "smallest" else exact[::-1][:k], atol=1e-10)
    np.testing.assert_allclose(2 * V.T @ V, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(L @ V, 2 * V * values, atol=1e-9)


def test_sparse_agrees_with_dense_and_with_whole_numbers(rng):
    L = path(LARGE)
    D = sp.diags_array(np.round(10 * rng.random(LARGE)) + 1).tocsr()
    indefinite = (L - 0.5 * sp.eye_array(LARGE)).tocsr()
    for C, which in ((L, "smallest"), (indefinite, "largest"), (L.astype(np.int64), "largest")):
        values, _ = generalized_eigen(C, D.astype(C.dtype), 3, which)
        d = D.diagonal() ** -0.5  # D^(−½) C D^(−½) is tridiagonal and has the same eigenvalues
        expected = scipy.linalg.eigh_tridiagonal(C.diagonal() * d * d, C.diagonal(1) * d[1:] * d[:-1], True)
        np.testing.assert_allclose(values, expected[:3] if which == "smallest" else expected[::-1][:3], atol=1e-9)


def test_large_sparse_refusals():
    L, eye = path(LARGE), sp.eye_array(LARGE, format="csr")
    hole = eye.tolil()
    hole[7, 7] = 0
    gap, crooked = L.copy(), L.tolil()
    gap.data[5] = np.nan
    crooked[0, 5] = 1.0
    for C, D, text in (
        (L, L, "D is not positive definite"),  # singular: the constant vector
        (L, hole.tocsr(), "D is not positive definite"),
        (L, -eye, "D is not positive definite"),
        (gap, eye, "C contains NaN"),
        (crooked.tocsr(), eye, r"C is not symmetric: C − Cᵀ reaches \S+\. .*numpy\.linalg\.eig"),
    ):
        with pytest.raises(ValueError, match=text):
            generalized_eigen(C, D, 2)
