"""The table of solvers; sorted, signed pairs with a measured residual from all of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from lowland import config
from lowland.core.arrays import to_numpy
from lowland.core.errors import Cancelled
from lowland.spectral import (
    Dense,
    DoublyCentered,
    Gram,
    Sparse,
    choose,
    dense,
    eigen,
    fix_signs,
    generalized_eigen,
    krylov,
    singular,
    table,
)
from lowland.spectral.solve import DENSE_LIMIT, tolerance

SOLVERS = ("dense", "krylov", "power")


def with_values(rng, values):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2, Q


# -- the choice ----------------------------------------------------------------------------------------------


def test_the_table_says_which_solver_and_why():
    rows = table()
    assert [row.solver for row in rows] == ["dense", "dense", "krylov"]
    assert all(row.when and row.why for row in rows)
    assert str(DENSE_LIMIT) in rows[0].when
    assert rows[-1].applies(Dense(np.eye(2)), 1)  # some row always does


class Huge(Gram):
    """An operator of a shape without a matrix behind it: to choose must not cost a product."""

    def __init__(self, n, m):
        self.shape = (n, m)


@pytest.mark.parametrize(
    ("op", "k", "solver"),
    [
        (Dense(np.empty((DENSE_LIMIT, DENSE_LIMIT)), psd=True), 2, "dense"),
        (Dense(np.empty((DENSE_LIMIT + 1, DENSE_LIMIT + 1)), psd=True), 2, "krylov"),
        (Dense(np.empty((2000, 2000)), psd=True), 401, "dense"),
        (Dense(np.empty((2000, 2000)), psd=True), 400, "krylov"),
        (Dense(np.empty((5000, 100))), 2, "dense"),
        (Sparse(sp.csr_array((10**6, 1000))), 2, "krylov"),  # would be 8 GB if it were filled in
        (Huge(10**6, 10**6), 900_000, "krylov"),
        (Huge(1000, 1000), 2, "dense"),
    ],
)
def test_choices(op, k, solver):
    assert choose(op, k).solver == solver


def test_to_choose_for_few_pairs_forms_no_matrix(monkeypatch):
    op = DoublyCentered(Dense(np.zeros((2000, 2000)), symmetric=True))
    monkeypatch.setattr(op, "dense", lambda: pytest.fail("a centred copy was made only to choose"))
    assert choose(op, 2).solver == "krylov"


def test_wrong_questions_are_refused(rng):
    A = Dense(np.eye(5), psd=True)
    for k in (0, 6, -1):
        with pytest.raises(ValueError, match=rf"k must be from 1 to 5 for Dense\(5 × 5, symmetric, psd\); got {k}"):
            eigen(A, k)
        with pytest.raises(ValueError, match="k must be from 1 to 5"):
            singular(A, k)
    with pytest.raises(ValueError, match="which must be 'largest' or 'smallest'; got 'top'"):
        eigen(A, 1, which="top")
    with pytest.raises(ValueError, match=r"Dense\(2 × 2\) is not marked as symmetric.*numpy\.linalg\.eig"):
        eigen(Dense(np.array([[2.0, 3.0], [2.0, 1.0]])), 2)
    for crooked in (np.array([[2.0, 3.0], [2.0, 1.0]]), np.triu(rng.random((600, 600)))):
        for marks in ({"symmetric": True}, {"psd": True}):
            with pytest.raises(ValueError, match="the matrix is not symmetric: A − Aᵀ reaches"):
                Dense(crooked, **marks)
    assert Dense(np.triu(np.ones((3, 3))), symmetric=True, check=False).symmetric
    even = rng.random((600, 600)).astype(np.float32)
    assert Dense(even @ even.T, psd=True).symmetric  # up to rounding
    for solve in (eigen, singular):
        with pytest.raises(
            TypeError, match=rf"{solve.__name__} takes an operator, not ndarray: .*lowland\.spectral\.Dense"
        ):
            solve(np.eye(3), 1)
        with pytest.raises(TypeError, match=r"not csr_array: .*lowland\.spectral\.Sparse"):
            solve(sp.eye_array(3, format="csr"), 1)
    for solve in (eigen, singular):
        with pytest.raises(ValueError, match=r"no solver 'magic'.*known: auto, dense, krylov"):
            solve(A, 1, solver="magic")
    with pytest.raises(ValueError, match="k must be from 1 to 4"):
        eigen(DoublyCentered(A), 5)  # the constant vector is spoken for


# -- order, number, signs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_k_pairs_sorted_and_signed(solver, k, rng, backend):
    A, _ = with_values(rng, np.concatenate([0.8 ** np.arange(40), np.zeros(240)]))
    found = eigen(Dense(backend(A), psd=True), k, solver=solver)
    values, V = to_numpy(found.values), to_numpy(found.vectors)
    assert values.shape == (k,)
    assert V.shape == (280, k)
    np.testing.assert_allclose(values, 0.8 ** np.arange(k), rtol=1e-9)
    np.testing.assert_array_equal(V, fix_signs(V))
    smallest = eigen(Dense(backend(A), psd=True), k, which="smallest", solver="dense")
    assert (np.diff(to_numpy(smallest.values)) >= 0).all()


def test_signs_do_not_depend_on_the_solver_or_the_library(rng):
    torch = pytest.importorskip("torch")
    A, _ = with_values(rng, 0.8 ** np.arange(280.0))
    reference = eigen(Dense(A, psd=True), 6).vectors
    for op in (Dense(A, psd=True), Dense(torch.from_numpy(A), psd=True)):
        for solver in SOLVERS:
            np.testing.assert_allclose(to_numpy(eigen(op, 6, solver=solver).vectors), reference, atol=1e-9)


def test_the_sign_rule(backend):
    V = np.array([[-0.8, 0.1, 0.5, 0.0], [0.6, -0.9, -0.5, 0.0], [0.0, 0.2, 0.5, 0.0]])
    expected = np.array([[0.8, -0.1, 0.5, 0.0], [-0.6, 0.9, -0.5, 0.0], [0.0, -0.2, 0.5, 0.0]])
    np.testing.assert_array_equal(to_numpy(fix_signs(backend(V))), expected)
    near = V[:, 2:3] * np.array([[-(1 - 1e-9)], [1.0], [1.0]])  # a tie up to rounding: the first one decides
    assert to_numpy(fix_signs(backend(near)))[0, 0] > 0


# -- hard spectra --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_eigenvalues_give_the_right_space(solver, rng, backend):
    values = np.concatenate([[5, 5, 5, 2, 2], np.full(275, 0.01)])
    A, Q = with_values(rng, values)
    found = eigen(Dense(backend(A), psd=True), 5, solver=solver)
    V = to_numpy(found.vectors)
    np.testing.assert_allclose(to_numpy(found.values), values[:5], rtol=1e-10)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-10)
    for part in (slice(0, 3), slice(3, 5)):
        np.testing.assert_allclose(V[:, part] @ V[:, part].T, Q[:, part] @ Q[:, part].T, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rank", [1, 3, 9])
def test_more_pairs_than_the_rank(solver, rank, rng, backend):
    F = rng.standard_normal((400, rank))
    found = eigen(Gram(Dense(backend(F)), outer=True), 12, solver=solver)
    V, values = to_numpy(found.vectors), to_numpy(found.values)
    np.testing.assert_allclose(values[:rank], np.linalg.svd(F)[1] ** 2, rtol=1e-11)
    np.testing.assert_allclose(values[rank:], 0, atol=1e-10 * values[0])
    np.testing.assert_allclose(V.T @ V, np.eye(12), atol=1e-11)


@pytest.mark.parametrize("solver", ["dense", "krylov"])
@pytest.mark.parametrize("rank", [1, 3, 9])
def test_more_triplets_than_the_rank(solver, rank, rng, backend):
    A = rng.standard_normal((500, rank)) @ rng.standard_normal((rank, 300))
    found = singular(Dense(backend(A)), 12, solver=solver)
    np.testing.assert_allclose(to_numpy(found.values), np.linalg.svd(A)[1][:12], atol=1e-10 * float(found.values[0]))
    for Q in (found.left, found.right):
        np.testing.assert_allclose(to_numpy(Q).T @ to_numpy(Q), np.eye(12), atol=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_zero_matrix(solver, backend):
    found = eigen(Dense(backend(np.zeros((300, 300))), psd=True), 3, solver=solver)
    V = to_numpy(found.vectors)
    np.testing.assert_array_equal(to_numpy(found.values), 0)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    centred = eigen(DoublyCentered(Dense(backend(np.zeros((300, 300))), symmetric=True), psd=True), 3, solver=solver)
    np.testing.assert_allclose(to_numpy(centred.vectors).sum(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("which", ["largest", "smallest"])
def test_slow_spectra_past_the_dense_limit(which, rng):
    n = DENSE_LIMIT + 100
    expected = np.linspace(0.0, 1.0, n)
    found = eigen(Dense(np.diag(expected), psd=True), 4, which=which)
    assert (found.solver, found.converged) == ("krylov", True)
    np.testing.assert_allclose(found.values, expected[::-1][:4] if which == "largest" else expected[:4], atol=1e-10)
    assert found.products > 0


def test_singular_values_over_many_orders_of_magnitude(rng):
    U, V = (np.linalg.qr(rng.standard_normal((n, 12)))[0] for n in (2000, 400))
    s = 10.0 ** -np.arange(12)
    found = singular(Dense((U * s) @ V.T), 8, solver="krylov")
    np.testing.assert_allclose(found.values, s[:8], rtol=1e-6, atol=1e-14)
    assert found.residual < 1e-13


def test_an_iteration_that_cannot_end_says_so(rng, monkeypatch):
    monkeypatch.setattr(krylov, "_MAX_RESTARTS", 0)
    A = np.diag(np.linspace(0.999, 1.0, 1600))
    for found in (eigen(Dense(A, psd=True), 3, solver="krylov"), singular(Dense(A), 3, solver="krylov")):
        assert not found.converged
        assert found.residual > tolerance(Dense(A))
    slow = eigen(Dense(np.diag(np.linspace(0.9999, 1.0, 300)), psd=True), 1, solver="power", tol=1e-15)
    assert not slow.converged


# -- evidence ------------------------------------------------------------------------------------------------


def turned(vectors, angle=1e-3):
    """Mix the first vector with the second: still orthonormal, but no longer eigenvectors."""
    V = vectors + 0.0
    V[:, 0], V[:, 1] = (
        np.cos(angle) * vectors[:, 0] + np.sin(angle) * vectors[:, 1],
        np.cos(angle) * vectors[:, 1] - np.sin(angle) * vectors[:, 0],
    )
    return V


def test_the_residual_reacts_when_a_solver_errs(rng, monkeypatch, backend):
    A, _ = with_values(rng, 0.5 ** np.arange(300.0))
    op = Dense(backend(A), psd=True)
    honest = {name: eigen(op, 3, solver=name).residual for name in SOLVERS}
    assert max(honest.values()) < 1e-10
    real_eigh, real_lanczos = dense.eigh, krylov.lanczos

    def bad_eigh(M, *arguments):
        values, vectors = real_eigh(M, *arguments)
        flipped = turned(vectors[:, [-1, -2, *range(vectors.shape[1] - 3, -1, -1)]])
        vectors[:, -1], vectors[:, -2] = flipped[:, 0], flipped[:, 1]
        return values, vectors

    def bad_lanczos(*args, **options):
        found = real_lanczos(*args, **options)
        return krylov.KrylovResult(None, found.values, turned(found.right), found.products, True, found.norm)

    monkeypatch.setattr(krylov, "lanczos", bad_lanczos)
    expected = 0.5e-3  # sin(angle) times the gap, over the norm
    assert eigen(op, 3, solver="krylov").residual == pytest.approx(expected, rel=0.01)
    monkeypatch.setattr(dense, "eigh", bad_eigh)
    assert eigen(op, 3, solver="dense").residual == pytest.approx(expected, rel=0.01)


def test_the_residual_of_triplets_reacts(rng, monkeypatch, backend):
    A = rng.standard_normal((400, 300))
    op = Dense(backend(A))
    real = dense.svd

    def bad(M):
        U, s, V = real(M)
        return U, s, turned(V)

    assert singular(op, 3, solver="dense").residual < 1e-13
    monkeypatch.setattr(dense, "svd", bad)
    assert singular(op, 3, solver="dense").residual > 1e-5


def test_a_tiny_end_of_the_spectrum_is_measured_against_the_whole(rng):
    A, _ = with_values(rng, np.concatenate([np.full(5, 1e-14), np.linspace(1, 2, 295)]))
    for solver in ("dense", "krylov"):
        assert eigen(Dense(A, psd=True), 3, which="smallest", solver=solver).residual < 1e-11


# -- same bits, progress, cancel -----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["krylov", "power"])
def test_threads_and_repetition_leave_no_trace(solver, rng):
    F = rng.standard_normal((3000, 40)) * 0.8 ** np.arange(40)
    found = []
    for threads in (1, 2, 2):
        with config(threads=threads):
            found.append(eigen(Gram(Dense(F), outer=True), 5, solver=solver).vectors.tobytes())
            found.append(singular(Dense(F @ F[:200].T), 5, solver="krylov").right.tobytes())
    assert found[::2] == found[:1] * 3
    assert found[1::2] == found[1:2] * 3


def test_the_threads_of_blas_leave_no_trace(rng):
    A, _ = with_values(rng, 0.9 ** np.arange(600.0))
    op, B = Dense(A, psd=True), np.eye(600) + A

    def bits():
        pairs = [eigen(op, 5, solver=solver).vectors for solver in SOLVERS]
        triplets = [singular(Dense(A[:, :500]), 5, solver=solver).right for solver in ("dense", "krylov")]
        return [V.tobytes() for V in (*pairs, *triplets, generalized_eigen(A, B, 5)[1])]

    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(bits())
    assert found[0] == found[1]


@pytest.mark.parametrize(("solver", "stage"), [("krylov", "Krylov"), ("power", "power")])
def test_iterations_report_and_obey(solver, stage, rng):
    A, _ = with_values(rng, 0.9 ** np.arange(300.0))
    seen = []
    with config(progress=lambda *what: seen.append(what)):
        eigen(Dense(A, psd=True), 4, solver=solver)
    assert {s for s, _, _ in seen} == {stage}
    assert seen[-1] == (stage, 4, 4)
    assert len(seen) > 1
    with config(progress=lambda *what: False), pytest.raises(Cancelled, match=stage):
        eigen(Dense(A, psd=True), 4, solver=solver)
    with config(progress=lambda *what: False), pytest.raises(Cancelled, match="Krylov"):
        singular(Dense(A), 4, solver="krylov")


def test_power_obeys_within_one_component():
    slow, calls = Dense(np.diag(np.linspace(0.999, 1.0, 300)), psd=True), []
    with config(progress=lambda *what: calls.append(what) or len(calls) < 3), pytest.raises(Cancelled):
        eigen(slow, 1, solver="power", tol=1e-15)
    assert len(calls) == 3
