"""Orders of elimination and the sparse Cholesky factor: exact counts, exact solves, the same bits on any threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lowland import config
from lowland.core.errors import MemoryLimitError, SolveError
from lowland.spectral import factor as factors
from lowland.spectral.factor import Cholesky, Structure, SuperLU
from lowland.spectral.ordering import analysed, followed, minimum_degree


def grid(rows: int, columns: int) -> sp.csr_array:
    """Laplacian of a grid, made definite."""
    A, B = (sp.csgraph.laplacian(sp.diags_array([np.ones(m - 1)] * 2, offsets=[-1, 1])) for m in (rows, columns))
    return sp.csr_array(sp.kron(A, sp.eye_array(columns)) + sp.kron(sp.eye_array(rows), B)) + 0.1 * sp.eye_array(
        rows * columns, format="csr"
    )


def scattered(n: int, seed: int = 0, density: float = 0.01) -> sp.csr_array:
    """A definite matrix without any geometry: its factor is nearly dense at the end."""
    S = sp.random_array((n, n), density=density, rng=np.random.default_rng(seed), format="csr")
    return (S @ S.T + sp.eye_array(n)).tocsr()


def pieces() -> sp.csr_array:
    """Several components, one of them a single node."""
    return sp.csr_array(sp.block_diag([grid(6, 7), sp.eye_array(1), scattered(60, 1), grid(3, 3)], format="csr"))


MATRICES = {
    "grid": lambda: grid(23, 31),
    "scattered": lambda: scattered(400),
    "pieces": pieces,
    "diagonal": lambda: sp.diags_array(np.arange(1.0, 30.0)).tocsr(),
    "one": lambda: sp.csr_array([[4.0]]),
    "dense": lambda: scattered(90, 2, 0.5),
    "arrow": lambda: sp.csr_array(10 * np.eye(40) + np.eye(40)[:, :1] + np.eye(40)[:1]),
}


@pytest.fixture(params=MATRICES)
def A(request) -> sp.csr_array:
    return MATRICES[request.param]()


def entries_of_factor(A: sp.csr_array, perm: np.ndarray) -> np.ndarray:
    """Eliminate symbolically, on a dense pattern."""
    P = A.toarray()[np.ix_(perm, perm)] != 0
    for j in range(len(P)):
        below = j + 1 + np.flatnonzero(P[j + 1 :, j])
        P[np.ix_(below, below)] = True
    return np.tril(P).sum(axis=0)


def test_counts_of_the_factor_are_exact(A):
    ordering = analysed(A)
    np.testing.assert_array_equal(np.sort(ordering.perm), np.arange(A.shape[0]))
    np.testing.assert_array_equal(ordering.counts, entries_of_factor(A, ordering.perm))


def test_counts_are_exact_in_any_order(rng):
    A = grid(9, 11)
    ordering = followed(A, rng.permutation(A.shape[0]))
    np.testing.assert_array_equal(ordering.counts, entries_of_factor(A, ordering.perm))


def test_the_tree_is_in_postorder_and_joins_each_column_to_its_first_entry_below(A):
    ordering = analysed(A)
    L = np.linalg.cholesky(A.toarray()[np.ix_(ordering.perm, ordering.perm)])
    for j, parent in enumerate(ordering.parent):
        below = np.flatnonzero(np.abs(L[j + 1 :, j]) > 1e-14)
        assert parent == (j + 1 + below[0] if len(below) else -1)


def test_minimum_degree_beats_the_order_of_the_rows(rng):
    A = grid(40, 40)
    shuffled = rng.permutation(A.shape[0])
    assert analysed(A).fill < 0.7 * followed(A, np.arange(A.shape[0])).fill
    assert followed(A, minimum_degree(A)).fill < 0.2 * followed(A, shuffled).fill


def test_solves(A, rng):
    B = rng.standard_normal((A.shape[0], 3))
    X = Cholesky(A).solve(B)
    np.testing.assert_allclose(X, np.linalg.solve(A.toarray(), B), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(X, SuperLU(A).solve(B), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tasks", [1, 4, 10_000])
def test_solves_however_the_tree_is_cut(A, tasks, rng, monkeypatch):
    monkeypatch.setattr(factors, "_TASKS", tasks)
    B = rng.standard_normal((A.shape[0], 2))
    np.testing.assert_allclose(Cholesky(A).solve(B), np.linalg.solve(A.toarray(), B), rtol=1e-9, atol=1e-12)


def test_wide_fronts_are_eliminated_by_panels(A, rng, monkeypatch):
    monkeypatch.setattr(factors, "_WIDE", 8)
    monkeypatch.setattr(factors, "_STEP", 5)
    monkeypatch.setattr(factors, "_TASKS", 10_000)  # every supernode at the top
    B = rng.standard_normal((A.shape[0], 2))
    np.testing.assert_allclose(Cholesky(A).solve(B), np.linalg.solve(A.toarray(), B), rtol=1e-9, atol=1e-12)


def test_a_bad_pivot_in_a_wide_front_is_seen(monkeypatch):
    monkeypatch.setattr(factors, "_WIDE", 8)
    monkeypatch.setattr(factors, "_STEP", 5)
    A = scattered(90, 2, 0.5)
    lowest = np.linalg.eigvalsh(A.toarray())[0]
    Cholesky(A - (lowest - 1e-6) * sp.eye_array(90, format="csr"))
    with pytest.raises(SolveError, match=r"pivot 8. of 90"):
        Cholesky(A - (lowest + 1e-6) * sp.eye_array(90, format="csr"))


def test_columns_past_one_panel(rng):
    A = scattered(300, 3, 0.2)  # all but dense: one supernode of some hundred columns
    assert np.diff(Structure(A).first).max() > 100
    B = rng.standard_normal((300, 2))
    np.testing.assert_allclose(A @ Cholesky(A).solve(B), B, atol=1e-9)


def test_threads_leave_no_trace(rng):
    A = grid(60, 50)
    B = rng.standard_normal((A.shape[0], 4))
    found = []
    for threads in (1, 2, 3):
        with config(threads=threads):
            found.append(Cholesky(A).solve(B))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_fill_is_foretold(A):
    made = Cholesky(A)
    blocks = [made.structure.blocks(made.L, s) for s in range(len(made.structure.above))]
    entries = sum(np.count_nonzero(np.triu(T)) + np.count_nonzero(R) for T, R in blocks)
    assert made.predicted == analysed(A).fill
    assert 0.98 * made.predicted <= entries <= made.predicted  # a few cancel


@pytest.mark.parametrize("name", ["grid", "scattered", "dense"])
def test_what_is_stored_is_near_what_was_foretold(name):
    made = Cholesky(MATRICES[name]())
    assert made.predicted <= made.fill <= 3 * made.predicted
    assert made.structure.bytes >= made.L.nbytes == 8 * made.fill


def test_the_matrix_stays_as_it_is(rng):
    A = scattered(200)
    assert not A.has_sorted_indices, "the order of a sorted matrix cannot be spoilt"
    before = A.copy()
    Cholesky(A)
    np.testing.assert_array_equal(A.indices, before.indices)
    np.testing.assert_array_equal(A.data, before.data)


def test_refuses_before_the_factor_is_made(monkeypatch):
    monkeypatch.setattr(Cholesky, "_factor", lambda self, A: pytest.fail("the factor was made"))
    with config(memory_limit="100kB"), pytest.raises(MemoryLimitError, match="take a nap"):
        Cholesky(grid(40, 40), remedy="take a nap")


@pytest.mark.parametrize("shift", [-0.2, -50.0])
@pytest.mark.parametrize("make", [Cholesky, SuperLU])
def test_an_indefinite_matrix_has_no_factor(shift, make):
    with pytest.raises(SolveError, match="not positive definite"):
        make(grid(30, 30) + shift * sp.eye_array(900, format="csr"))


def test_a_matrix_without_a_diagonal_has_no_factor():
    with pytest.raises(SolveError, match="a diagonal entry is 0"):
        Cholesky(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))


def test_a_singular_matrix_has_no_lu():
    with pytest.raises(SolveError, match="not positive definite"):
        SuperLU(sp.csr_array(np.zeros((3, 3))))
