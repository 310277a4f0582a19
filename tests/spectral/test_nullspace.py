"""The small end of neighbourhood matrices: every solver against LAPACK and against known eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial import cKDTree

from lowland import config
from lowland.core.errors import MemoryLimitError, SolveError
from lowland.spectral import nullspace, reduced, smallest

SPARSE = ["superlu", "cholesky"]


# -- matrices ---------------------------------------------------------------------------------------------


def roll(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])


def neighbours(X: np.ndarray, k: int) -> np.ndarray:
    return cKDTree(X).query(X, k + 1)[1][:, 1:]


def lle(X: np.ndarray, k: int = 10) -> sp.csr_array:
    """(I − W)ᵀ(I − W) with rows of W that rebuild each point from its neighbours."""
    n, near = len(X), neighbours(X, k)
    Z = X[near] - X[:, None]
    C = Z @ Z.transpose(0, 2, 1)
    C[:, range(k), range(k)] += 1e-3 * np.trace(C, axis1=1, axis2=2)[:, None]
    w = np.linalg.solve(C, np.ones((n, k, 1)))[..., 0]
    W = sp.csr_array(((w / w.sum(axis=1, keepdims=True)).ravel(), (np.repeat(np.arange(n), k), near.ravel())), (n, n))
    B = sp.eye_array(n, format="csr") - W
    return sp.csr_array(B.T @ B)


def ltsa(X: np.ndarray, k: int = 10, d: int = 2) -> sp.csr_array:
    """Σ S(I − GGᵀ)Sᵀ, G the constant and the leading tangents of each neighbourhood."""
    n, near = len(X), np.column_stack([np.arange(len(X)), neighbours(X, k)])
    Z = X[near] - X[near].mean(axis=1, keepdims=True)
    U = np.linalg.svd(Z, full_matrices=False)[0][:, :, :d]
    G = np.concatenate([np.full((n, k + 1, 1), (k + 1) ** -0.5), U], axis=2)
    blocks = np.eye(k + 1) - G @ G.transpose(0, 2, 1)
    rows, columns = np.repeat(near, k + 1, axis=1).ravel(), np.tile(near, (1, k + 1)).ravel()
    M = sp.coo_array((blocks.ravel(), (rows, columns)), (n, n)).tocsr()
    return sp.csr_array((M + M.T) / 2)


def affinity(X: np.ndarray, k: int = 10) -> sp.csr_array:
    n, near = len(X), neighbours(X, k)
    W = sp.csr_array((np.ones(n * k), (np.repeat(np.arange(n), k), near.ravel())), (n, n))
    return sp.csr_array(W.maximum(W.T))


def normalised(X: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    L, root = sp.csgraph.laplacian(affinity(X), normed=True, return_diag=True)
    return sp.csr_array(L), (root / np.linalg.norm(root))[:, None]


def constant(n: int) -> np.ndarray:
    return np.full((n, 1), n**-0.5)


def path(n: int) -> sp.csr_array:
    return sp.csr_array(sp.csgraph.laplacian(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1])))


def waves(n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of the path's Laplacian, from the constant on."""
    j = np.arange(count)
    V = np.cos(np.pi * j * (np.arange(n)[:, None] + 0.5) / n)
    return 4 * np.sin(np.pi * j / (2 * n)) ** 2, V / np.linalg.norm(V, axis=0)


def grid(m: int) -> sp.csr_array:
    P, E = path(m), sp.eye_array(m)
    return sp.csr_array(sp.kron(P, E) + sp.kron(E, P))


PROBLEMS = {
    "lle": lambda: (lle(roll(1600)), constant(1600)),
    "ltsa": lambda: (ltsa(roll(1600)), constant(1600)),
    "laplacian": lambda: normalised(roll(1600)),
}


def angle(U: np.ndarray, V: np.ndarray) -> float:
    """Sine of the largest angle between two subspaces."""
    U, V = np.linalg.qr(U)[0], np.linalg.qr(V)[0]
    return float(np.linalg.norm(V - U @ (U.T @ V), 2))


# -- every solver agrees ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request):
    M, null = PROBLEMS[request.param]()
    return M, null, smallest(M, 3, null=null, solver="dense")


@pytest.mark.parametrize("solver", SPARSE)
def test_sparse_solvers_agree_with_lapack(problem, solver):
    M, null, exact = problem
    found = smallest(M, 3, null=null, solver=solver)
    assert found.solver == solver
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-5, atol=1e-15)
    np.testing.assert_allclose(found.vectors, exact.vectors, atol=1e-5 / found.gap / 40)
    assert found.residual < 1e-5
    assert exact.residual < 1e-5
    assert found.backward < 1e-14


def test_vectors_are_orthonormal_signed_and_free_of_the_known_ones(problem):
    M, null, _ = problem
    found = smallest(M, 3, null=null, solver="cholesky")
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(null.T @ found.vectors, 0, atol=1e-12)
    assert (np.diff(found.values) >= 0).all()
    largest = np.abs(found.vectors).argmax(axis=0)
    assert (found.vectors[largest, range(3)] > 0).all()


@pytest.mark.parametrize("solver", ["dense", *SPARSE])
def test_values_near_the_rounding_of_the_matrix(solver):
    """The square of the path's Laplacian: λ₂ = (π/n)⁴ is 7.5e-14 at 6000, and ‖M‖ = 16."""
    n = 1500 if solver == "dense" else 6000
    L = path(n)
    values, V = waves(n, 4)
    found = smallest(sp.csr_array(L @ L), 3, null=constant(n), solver=solver)
    np.testing.assert_allclose(found.values, values[1:] ** 2, rtol=1e-4)
    errors = [angle(V[:, j + 1 : j + 2], found.vectors[:, j : j + 1]) for j in range(3)]
    assert max(errors) < 1e-4
    assert max(errors) < 10 * found.residual, "the residual promises more than is true"


@pytest.mark.parametrize("solver", ["dense", *SPARSE])
def test_double_eigenvalues_are_found_as_planes(solver):
    m = 40
    values, V = waves(m, 3)
    found = smallest(grid(m), 5, null=constant(m * m), solver=solver)
    truth = np.array([values[1]] * 2 + [2 * values[1]] + [values[2]] * 2)
    np.testing.assert_allclose(found.values, truth, rtol=1e-11)
    one, x, y = V[:, 0], V[:, 1], V[:, 2]
    assert angle(np.column_stack([np.kron(x, one), np.kron(one, x)]), found.vectors[:, :2]) < 1e-10
    assert angle(np.kron(x, x)[:, None], found.vectors[:, 2:3]) < 1e-10
    assert angle(np.column_stack([np.kron(y, one), np.kron(one, y)]), found.vectors[:, 3:]) < 1e-10
    assert found.residual < 1e-9, "a double value must not count as a gap of zero"
    assert found.gap == pytest.approx(values[1] / (values[1] + values[2]), rel=1e-6)  # to (1, 2), a guard


def test_a_plane_cut_by_k_still_lies_in_its_eigenspace():
    m = 40
    _, V = waves(m, 2)
    plane = np.column_stack([np.kron(V[:, 1], V[:, 0]), np.kron(V[:, 0], V[:, 1])])
    found = smallest(grid(m), 1, null=constant(m * m), solver="cholesky")
    assert angle(plane, found.vectors) < 1e-10
    assert found.gap == 0
    assert found.whole == 2


def test_which_number_of_pairs_cuts_no_eigenspace():
    """A grid has the values a, a, 2a, b, b, …; a square of pieces many zeros."""
    for k, whole in ((1, 2), (2, 2), (3, 3), (4, 5)):
        found = smallest(grid(40), k, null=constant(1600), solver="cholesky")
        assert found.whole == whole
        assert found.above_rounding
        assert (found.gap == 0) == (k != whole)
    pieces = sp.block_diag([path(5)] * 12, format="csr")
    found = smallest(pieces, 2)
    assert found.whole is None
    assert not found.above_rounding


def test_flat_points_have_a_null_space_that_is_wanted(rng):
    """LTSA of a plane: the two coordinates themselves have the value 0."""
    X = rng.random((1800, 2))
    for solver in ("dense", "superlu", "cholesky"):
        found = smallest(ltsa(X), 2, null=constant(len(X)), solver=solver)
        assert np.abs(found.values).max() < 1e-14
        assert angle(X - X.mean(axis=0), found.vectors) < 1e-6
        assert found.residual < 1e-2


# -- disconnected, tiny and large parts ---------------------------------------------------------------------


def three_pieces() -> tuple[sp.csr_array, np.ndarray]:
    """Three rolls, far apart, as one matrix; the pieces' constants are its null vectors."""
    parts = [lle(roll(n, n)) for n in (900, 500, 300)]
    M = sp.csr_array(sp.block_diag(parts, format="csr"))
    return M, scipy.linalg.block_diag(*[constant(P.shape[0]) for P in parts])


@pytest.mark.parametrize("solver", ["dense", *SPARSE])
def test_pieces_whose_null_vectors_are_named(solver):
    M, null = three_pieces()
    found = smallest(M, 2, null=null, solver=solver)
    each = np.sort(np.concatenate([smallest(lle(roll(n, n)), 2, null=constant(n)).values for n in (900, 500, 300)]))
    np.testing.assert_allclose(found.values, each[:2], rtol=1e-5)


@pytest.mark.parametrize("solver", ["dense", *SPARSE])
def test_pieces_whose_null_vectors_nobody_named(solver):
    M, null = three_pieces()
    named = smallest(M, 2, null=null, solver="dense")
    found = smallest(M, 5, solver=solver)
    assert np.abs(found.values[:3]).max() < 1e-15
    assert angle(null, found.vectors[:, :3]) < 1e-6
    np.testing.assert_allclose(found.values[3:], named.values, rtol=1e-5)
    assert angle(named.vectors, found.vectors[:, 3:]) < 1e-5


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_matrices(n):
    k = max(1, n - 1)
    null = None if n == 1 else constant(n)
    found = smallest(path(n) if n > 1 else sp.csr_array([[2.0]]), k, null=null)
    truth = waves(n, n)[0][1:] if n > 1 else [2.0]
    np.testing.assert_allclose(found.values, truth, rtol=1e-12)
    assert found.vectors.shape == (n, k)


def test_all_pairs_at_once():
    n = 60
    found = smallest(path(n), n - 1, null=constant(n))
    np.testing.assert_allclose(found.values, waves(n, n)[0][1:], rtol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(n - 1), atol=1e-12)


def test_many_pairs_are_solved_whole_whatever_was_asked():
    assert smallest(path(300), 100, null=constant(300), solver="cholesky").solver == "dense"


def test_the_zero_matrix():
    found = smallest(sp.csr_array((8, 8)), 2)
    np.testing.assert_array_equal(found.values, 0)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(2), atol=1e-14)


# -- evidence -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1e-2])
def test_the_residual_sees_a_turned_vector(size):
    """A vector turned towards its neighbour by an angle has about that residual, though ‖Mv − λv‖ stays at rounding."""
    n = 3000
    L = path(n)
    M = sp.csr_array(L @ L)
    norm = float(abs(M).sum(axis=1).max())
    factor, shift = nullspace._factored(M, norm, "superlu", "")
    values, V = waves(n, 5)
    values, V = values[1:] ** 2, V[:, 1:].copy()
    clean = nullspace._evidence(M, values, V, 2, constant(n), factor, shift, norm)
    V[:, :2] = V[:, :2] @ np.array([[1.0, -size], [size, 1.0]]) / np.hypot(1.0, size)
    residual, backward, _ = nullspace._evidence(M, values, V, 2, constant(n), factor, shift, norm)
    assert residual == pytest.approx(size, rel=0.2, abs=2 * clean[0])
    assert clean[0] < 0.3 * size or size == 1e-6
    assert backward < 1e-13


def test_the_residual_tells_a_vector_that_is_none(rng):
    M, null = PROBLEMS["laplacian"]()
    norm = float(abs(M).sum(axis=1).max())
    factor, shift = nullspace._factored(M, norm, "superlu", "")
    V = np.linalg.qr(rng.standard_normal((1600, 3)))[0]
    values = np.sort(np.einsum("ij,ij->j", V, M @ V))
    assert nullspace._evidence(M, values, V, 3, null, factor, shift, norm)[0] > 1


def test_fill_and_seconds_are_told():
    M, null = PROBLEMS["lle"]()
    found = smallest(M, 2, null=null, solver="cholesky")
    assert found.predicted is not None
    assert found.predicted <= found.fill <= 3 * found.predicted
    assert set(found.seconds) == {"factor", "solve"}
    assert found.approximate is False
    assert M.nnz / 2 < found.predicted < 1600 * 1601 / 2


# -- choices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "solver"), [(1500, "dense"), (1501, "superlu"), (5000, "superlu"), (5001, "cholesky")])
def test_the_solver_follows_from_the_size_alone(n, solver):
    found = smallest(path(n), 1, null=constant(n))
    assert found.solver == solver
    np.testing.assert_allclose(found.values, waves(n, 2)[0][1:], rtol=1e-6)


def test_threads_leave_no_trace():
    M, null = PROBLEMS["lle"]()
    found = []
    for threads in (1, 2):
        with config(threads=threads):
            found.append(smallest(M, 2, null=null, solver="cholesky"))
    np.testing.assert_array_equal(found[0].vectors, found[1].vectors)
    np.testing.assert_array_equal(found[0].values, found[1].values)


def test_the_seed_decides_and_changes_little():
    M, null = PROBLEMS["lle"]()
    one, again, other = (
        smallest(M, 2, null=null, solver="cholesky", rng=np.random.default_rng(seed)).vectors for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert (one != other).any()


# -- landmarks ------------------------------------------------------------------------------------------------


def hats(n: int, count: int) -> sp.csr_array:
    """Weights of linear interpolation between equally spaced landmarks on a line."""
    place = np.linspace(0, count - 1, n)
    left = np.minimum(place.astype(int), count - 2)
    part = place - left
    rows = np.arange(n)
    return sp.csr_array(
        (np.concatenate([1 - part, part]), (np.tile(rows, 2), np.concatenate([left, left + 1]))), (n, count)
    )


def test_landmarks_give_a_rayleigh_quotient_from_above_that_tightens():
    n = 2000
    truth, V = waves(n, 3)
    errors = []
    for count in (10, 40, 160):
        found = reduced(path(n), hats(n, count), 2, null=constant(n))
        assert found.approximate
        assert (found.values >= truth[1:] * (1 - 1e-9)).all()
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(2), atol=1e-10)
        np.testing.assert_allclose(constant(n).T @ found.vectors, 0, atol=1e-10)
        errors.append(angle(V[:, 1:], found.vectors))
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[2] < 1e-3


def test_landmarks_at_every_point_are_exact():
    M, null = PROBLEMS["laplacian"]()
    exact = smallest(M, 2, null=null)
    found = reduced(M, sp.eye_array(1600, format="csr"), 2, null=null)
    np.testing.assert_allclose(found.values, exact.values, rtol=1e-9)
    np.testing.assert_allclose(found.vectors, exact.vectors, atol=1e-8)
    assert found.residual < 1e-7


def test_the_error_of_landmarks_is_a_true_bound():
    n = 500
    truth = waves(n, n)[0]
    found = reduced(path(n), hats(n, 12), 2, null=constant(n))
    for value in found.values:
        assert np.abs(truth - value).min() <= found.residual * value
    assert found.residual > 1e-3


def test_landmarks_that_no_point_uses_do_no_harm():
    n = 300
    Z = sp.csr_array(sp.hstack([hats(n, 20), sp.csr_array((n, 3))]))
    np.testing.assert_allclose(
        reduced(path(n), Z, 2, null=constant(n)).values, reduced(path(n), hats(n, 20), 2, null=constant(n)).values
    )


def test_too_few_landmarks():
    with pytest.raises(ValueError, match="too few for 3 pairs"):
        reduced(path(50), hats(50, 3), 3, null=constant(50))


# -- refusals -------------------------------------------------------------------------------------------------


def test_refuses_past_the_memory_limit_and_names_the_remedy():
    M = lle(roll(6000))
    with config(memory_limit="2MB"), pytest.raises(MemoryLimitError, match="use landmarks"):
        smallest(M, 2, null=constant(6000), remedy="use landmarks")


@pytest.mark.parametrize("n", [900, 2000, 6000])
def test_an_indefinite_matrix_is_refused(n):
    with pytest.raises(SolveError, match="positive"):
        smallest(path(n) - 0.01 * sp.eye_array(n, format="csr"), 1)


def test_a_hair_below_zero_is_refused_too():
    """So little that a factor with a larger shift exists: then the value itself tells."""
    with pytest.raises(SolveError, match="not positive semidefinite: it has the eigenvalue"):
        smallest(path(900) - 1e-11 * sp.eye_array(900, format="csr"), 1)


def test_an_iteration_that_does_not_converge_raises(monkeypatch):
    from dataclasses import replace

    honest = nullspace.lanczos
    monkeypatch.setattr(nullspace, "lanczos", lambda *a, **o: replace(honest(*a, **o), converged=False))
    with pytest.raises(SolveError, match="did not converge"):
        smallest(path(2000), 1, null=constant(2000))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"M": sp.csr_array(np.ones((3, 4)))}, "square"),
        ({"M": sp.csr_array(np.array([[1.0, np.nan], [np.nan, 1.0]]))}, "NaN"),
        ({"M": sp.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))}, "not symmetric.*numpy.linalg.eig"),
        ({"k": 0}, "k must be from 1 to 9"),
        ({"k": 10}, "k must be from 1 to 9"),
        ({"null": np.ones((10, 1))}, "orthonormal"),
        ({"null": np.ones((3, 1))}, "must be 10"),
        ({"null": np.eye(10)[:, :1]}, "does not map"),
        ({"solver": "magic"}, "solver must be one of"),
    ],
)
def test_bad_arguments(change, message):
    given = {"M": path(10), "k": 1, "null": constant(10)} | change
    if "M" in change:
        given["null"] = None
    with pytest.raises(ValueError, match=message):
        smallest(given.pop("M"), given.pop("k"), **given)


def test_the_matrix_stays_as_it_is():
    M = lle(roll(400))
    M.has_sorted_indices  # noqa: B018  (computed once and kept)
    before = M.copy()
    smallest(M, 2, null=constant(400))
    np.testing.assert_array_equal(M.indices, before.indices)
    np.testing.assert_array_equal(M.data, before.data)


def test_smoothing_takes_the_kinks_out_of_a_map_of_landmarks():
    """LLE's matrix punishes kinks: the map of straight pieces is far from the exact one, the smoothed one is not."""
    n = 2000
    M = path(n) @ path(n)
    exact = smallest(M, 2, null=constant(n)).vectors
    plain, smooth = (reduced(M, hats(n, 100), 2, null=constant(n), smooth=degree) for degree in (0, 40))
    assert (smooth.values < plain.values).all()
    np.testing.assert_allclose(smooth.vectors.T @ smooth.vectors, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(constant(n).T @ smooth.vectors, 0, atol=1e-10)
    assert angle(exact, smooth.vectors) < angle(exact, plain.vectors)


def test_values_within_rounding_of_zero_on_both_sides_are_one_eigenspace():
    """They differ by more than the rounding of one value, and no vector between them is more right than another."""
    rounding = 1e-14
    values = np.array([-0.9 * rounding, 0.9 * rounding, 1.0])
    gaps = nullspace._gaps(values, 0, 64 * rounding)
    assert np.isinf(gaps[:2]).all()
    assert gaps[2] == pytest.approx(1.0)
    apart = np.array([-0.9 * rounding, 3 * rounding, 1.0])  # the second is not zero
    assert np.isfinite(nullspace._gaps(apart, 0, 64 * rounding)[1])
