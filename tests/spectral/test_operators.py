"""Operators multiply like their matrices, and every solver agrees with the dense one on each of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from lowland import RowSource, config
from lowland.core.arrays import to_numpy
from lowland.core.spmm import spmm
from lowland.rows.row_source import as_rows
from lowland.spectral import Centered, Dense, DoublyCentered, Gram, Operator, Sparse, eigen, singular

N = 260  # large enough for the Krylov methods to iterate
K = 6


def rotation(rng, n, k=None):
    return np.linalg.qr(rng.standard_normal((n, k or n)))[0]


def table(rng, rows, columns, ratio=0.8):
    """A matrix whose singular values fall by a constant ratio."""
    m = min(rows, columns)
    return (rotation(rng, rows, m) * ratio ** np.arange(m)) @ rotation(rng, columns, m).T


def symmetric(rng, n=N, ratio=0.7, signs=False):
    Q = rotation(rng, n)
    values = ratio ** np.arange(n) * (np.where(np.arange(n) % 3 == 1, -1, 1) if signs else 1)
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


def squared_distances(rng):
    P = rng.standard_normal((N, 9)) * 0.6 ** np.arange(9)
    return ((P[:, None, :] - P[None, :, :]) ** 2).sum(axis=2)


J = np.eye(N) - 1 / N


def build_symmetric(name, rng, wrap):
    """Return an operator and the matrix it stands for."""
    A = symmetric(rng)
    if name == "dense":
        return Dense(wrap(A), psd=True), A
    if name == "indefinite":
        A = symmetric(rng, signs=True)
        return Dense(wrap(A), symmetric=True), A
    if name == "sparse":
        A = np.diag(0.7 ** np.arange(N) + 2) + np.diag(np.full(N - 1, 0.1), 1) + np.diag(np.full(N - 1, 0.1), -1)
        return Sparse(sp.csr_array(A), psd=True), A
    if name.startswith("gram"):
        X = table(rng, 300, N)
        outer = name == "gram outer"
        return Gram(Dense(wrap(X.T if outer else X)), outer=outer), X.T @ X
    if name == "scatter":
        X = table(rng, 300, N) + 3
        m = X.mean(axis=0)
        return Gram(Centered(as_rows(wrap(X)), wrap(m))), (X - m).T @ (X - m)
    if name == "doubly centred":
        D = squared_distances(rng)
        return DoublyCentered(Dense(wrap(D), symmetric=True), factor=-0.5, psd=True), -0.5 * J @ D @ J
    if name == "low rank":
        F = table(rng, N, 30, 0.7)
        return Gram(Dense(wrap(F)), outer=True), F @ F.T
    Q = np.linalg.eigh(A)[1][:, -2:]
    P = np.eye(N) - Q @ Q.T
    op = Dense(wrap(P @ A @ P), psd=True)
    op.null = wrap(Q)
    return op, P @ A @ P


SYMMETRIC = (
    "dense",
    "indefinite",
    "sparse",
    "gram",
    "gram outer",
    "scatter",
    "doubly centred",
    "low rank",
    "known null vectors",
)


def build_rows(name, rng, wrap):
    tall = not name.startswith("wide")
    X = table(rng, *((400, N) if tall else (N, 400)))
    if name.endswith("matrix"):
        return Dense(wrap(X)), X
    if name.endswith("sparse matrix") or name == "sparse":
        X = X * (rng.random(X.shape) < 0.3)
        return Sparse(sp.csr_array(X)), X
    s, w = np.linspace(1, 2, X.shape[1]), rng.random(len(X))
    m = np.average(X + 1, axis=0, weights=w)
    rows = as_rows(wrap(X + 1))
    if name == "centred sparse":
        rows = as_rows(sp.csr_array(X + 1))
    if name == "centred blocks":
        rows = RowSource.from_blocks(lambda: iter([wrap(X[:7] + 1), wrap(X[7:] + 1)]), n_rows=len(X))
    if name == "centred sparse blocks":
        rows = RowSource.from_blocks(lambda: iter([sp.csr_array(X[:7] + 1), sp.csr_array(X[7:] + 1)]))
        return Centered(rows, X.mean(axis=0) + 1, s), (X - X.mean(axis=0)) / s
    root = np.sqrt(w)[:, None]
    mean = m if rows.sparse else wrap(m)
    return Centered(rows.weighted(w), mean, s), root * (X + 1 - m) / s


ROWS = (
    "matrix",
    "wide matrix",
    "sparse",
    "centred",
    "wide centred",
    "centred sparse",
    "centred blocks",
    "centred sparse blocks",
)


def same_space(A, B, tol):
    """Compare the spans of two sets of orthonormal columns."""
    np.testing.assert_allclose(A @ (A.T @ B), B, atol=tol)


def spans(values, k, gap=1e-7):
    """Cut the first k values into groups that are distinct: vectors are compared group by group."""
    edges = [0, *(np.flatnonzero(np.abs(np.diff(values)) > gap * abs(values).max()) + 1), len(values)]
    return [(a, b) for a, b in itertools.pairwise(edges) if b <= k]


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_operators_multiply_like_their_matrices(name, rng, backend):
    op, A = build_symmetric(name, rng, backend)
    V = rng.standard_normal((N, 3))
    V = V if name == "sparse" else backend(V)
    assert op.symmetric
    assert op.shape == (N, N)
    for product in (op.matmul(V), op.rmatmul(V)):
        assert type(product) is type(V)
        np.testing.assert_allclose(to_numpy(product), A @ to_numpy(V), atol=1e-12 * np.linalg.norm(A, 2) * N)
    if op.null is not None:
        null = to_numpy(op.null)
        np.testing.assert_allclose(null.T @ null, np.eye(null.shape[1]), atol=1e-12)
        np.testing.assert_allclose(A @ null, 0, atol=1e-12 * np.linalg.norm(A, 2) * N)
    if op.dense() is not None:
        np.testing.assert_allclose(to_numpy(op.dense()), A, atol=1e-12 * np.linalg.norm(A, 2) * N)


@pytest.mark.parametrize("name", ROWS)
def test_tables_multiply_like_their_matrices(name, rng, backend):
    op, A = build_rows(name, rng, backend)
    wrap = np.asarray if "sparse" in name else backend
    V, U = rng.standard_normal((A.shape[1], 3)), rng.standard_normal((A.shape[0], 3))
    assert op.shape == A.shape
    np.testing.assert_allclose(to_numpy(op.matmul(wrap(V))), A @ V, atol=1e-12)
    np.testing.assert_allclose(to_numpy(op.rmatmul(wrap(U))), A.T @ U, atol=1e-12)


@pytest.mark.parametrize("which", ["largest", "smallest"])
@pytest.mark.parametrize("solver", ["dense", "krylov", "power"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_every_solver_on_every_symmetric_operator(name, solver, which, rng, backend):
    op, A = build_symmetric(name, rng, backend)
    if solver == "power" and (which == "smallest" or name == "indefinite"):
        with pytest.raises(ValueError, match=r"no solver 'power'|needs a positive semidefinite"):
            eigen(op, K, which=which, solver=solver)
        return
    found = eigen(op, K, which=which, solver=solver)
    values, vectors = np.linalg.eigh(A)
    if op.null is not None:  # take the known null vectors out of the reference
        keep = np.linalg.norm(to_numpy(op.null).T @ vectors, axis=0) < 0.5
        values, vectors = values[keep], vectors[:, keep]
    if which == "largest":
        values, vectors = values[::-1], vectors[:, ::-1]
    norm = np.linalg.norm(A, 2)
    got, V = to_numpy(found.values), to_numpy(found.vectors)
    np.testing.assert_allclose(got, values[:K], atol=1e-10 * norm)
    np.testing.assert_allclose(V.T @ V, np.eye(K), atol=1e-11)
    for a, b in spans(values, K):
        same_space(V[:, a:b], vectors[:, a:b], 1e-4)
    true = np.linalg.norm(A @ V - V * got, axis=0).max() / norm
    assert true <= 1e-10
    assert found.converged
    assert found.solver == solver
    assert true / 3 - 1e-14 <= found.residual <= 1e-9  # never kinder than the truth
    if op.null is not None:
        np.testing.assert_allclose(to_numpy(op.null).T @ V, 0, atol=1e-10)


@pytest.mark.parametrize("solver", ["dense", "krylov"])
@pytest.mark.parametrize("name", ROWS)
def test_every_solver_on_every_table(name, solver, rng, backend):
    op, A = build_rows(name, rng, backend)
    found = singular(op, K, solver=solver)
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    U, got, V = (to_numpy(x) for x in (found.left, found.values, found.right))
    np.testing.assert_allclose(got, s[:K], rtol=1e-11)
    for a, b in spans(s, K):
        same_space(V[:, a:b], Vt[a:b].T, 1e-8)
    for Q in (U, V):
        np.testing.assert_allclose(Q.T @ Q, np.eye(K), atol=1e-11)
    true = max(np.linalg.norm(A @ V - U * got, axis=0).max(), np.linalg.norm(A.T @ U - V * got, axis=0).max()) / s[0]
    assert true <= 1e-10
    assert true / 3 - 1e-14 <= found.residual <= 1e-10


# -- details -------------------------------------------------------------------------------------------------


def test_tensors_with_gradients_are_taken(rng):
    torch = pytest.importorskip("torch")
    A = symmetric(rng)
    tracked = torch.from_numpy(A).requires_grad_()
    found = eigen(Dense(tracked, psd=True), 2)
    assert not found.vectors.requires_grad
    np.testing.assert_allclose(found.values.numpy(), np.linalg.eigvalsh(A)[::-1][:2], rtol=1e-11)
    np.testing.assert_allclose(
        eigen(Gram(Dense(tracked), outer=True), 1).values.numpy(), float(found.values[0]) ** 2, rtol=1e-11
    )


def test_what_needs_symmetry_says_so(rng):
    A = Dense(rng.standard_normal((4, 4)))
    with pytest.raises(ValueError, match="double centring needs a symmetric matrix"):
        DoublyCentered(A)
    with pytest.raises(ValueError, match="expected a square matrix; got shape"):
        Dense(np.ones((3, 2)), symmetric=True)
    with pytest.raises(ValueError, match="expected a matrix"):
        Dense(np.ones(3))


def test_an_operator_says_what_it_is():
    assert repr(Dense(np.eye(3), psd=True)) == "Dense(3 × 3, symmetric, psd)"
    assert repr(Dense(np.ones((3, 2)))) == "Dense(3 × 2)"
    op = Operator()
    for call in (op.matmul, op.rmatmul):
        with pytest.raises(NotImplementedError):
            call(np.eye(2))


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_kinds_of_numbers(dtype, rng, backend):
    A = (100 * symmetric(rng)).astype(dtype)
    A = A + A.T
    for solver in ("krylov", "dense"):
        values = eigen(Dense(backend(A), symmetric=True), 3, solver=solver).values
        np.testing.assert_allclose(to_numpy(values), np.linalg.eigvalsh(A.astype(float))[::-1][:3], rtol=1e-5)


def test_start_blocks_are_the_same_on_every_backend(backend):
    block = Dense(backend(np.eye(3))).randn(3, 2, np.random.default_rng(1))
    np.testing.assert_array_equal(to_numpy(block), np.random.default_rng(1).standard_normal((3, 2)))


@pytest.mark.parametrize("data", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_products_on_threads(data, index, rng):
    A = sp.random_array((3000, 2000), density=0.05, rng=rng, format="csr")
    A = sp.csr_array(((A.data * 100).astype(data), A.indices.astype(index), A.indptr.astype(index)), shape=A.shape)
    for part in (A.data, A.indices, A.indptr):
        part.setflags(write=False)  # as memory-mapped files and worker processes give them
    V = np.asfortranarray(rng.standard_normal((2000, 16)))
    V.setflags(write=False)
    assert A.nnz * 16 > 4_000_000  # past the size where our kernel takes over
    with config(threads=2):
        two = Sparse(A).matmul(V)
    with config(threads=1):
        one = Sparse(A).matmul(V)
    np.testing.assert_array_equal(two, one)
    np.testing.assert_allclose(one, A.astype(float) @ V, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(Sparse(A).rmatmul(one), A.T.astype(float) @ one, rtol=1e-10, atol=1e-6)


def test_sparse_products_with_empty_rows():
    A = sp.csr_array((np.ones(2), ([0, 4], [1, 0])), shape=(6, 3))
    np.testing.assert_array_equal(spmm(A, np.eye(3)), A.toarray())
