"""Maximum variance unfolding as a semidefinite program, for few points or few basis functions.

    max tr K   subject to   K ⪰ 0,   K1 = 0,   K_ii + K_jj − 2 K_ij = d_ij² for neighbours i, j.

With orthonormal columns Q ⊥ 1 and K = QYQᵀ the centring holds by itself. As a constraint 1ᵀK1 = 0 it would leave no
interior to K ⪰ 0, in which interior-point methods move. The dual is

    min Σ w d²   subject to   S = Σ w aaᵀ − I ⪰ 0,   a = q_i − q_j for each edge.

Any such w bounds tr K, so one with Σ w d² < 0 proves that no points have these distances: errors c of squared lengths
have Σ w c ≥ −Σ w d², so |c| ≥ −Σ w d²/|w|. Springs in place of rods always fit; with c = give · w they are at
max tr K − Σ c²/(2 give), the least squares of c as give → 0.

References: K. Q. Weinberger, L. K. Saul, IJCV 70 (2006); K. Q. Weinberger, F. Sha, Q. Zhu, L. K. Saul, NIPS 19 (2006);
J. Sun, S. Boyd, L. Xiao, P. Diaconis, SIAM Review 48 (2006), on the dual; C. Helmberg, F. Rendl, R. J. Vanderbei,
H. Wolkowicz, SIAM J. Optim. 6 (1996), and Y. E. Nesterov, M. J. Todd, Math. Oper. Res. 22 (1997), on the directions
taken; A. J. Cox, N. J. Higham, Numerical Analysis 1997, on QR of rows of all sizes; P. J. Goulart, Y. Chen, Clarabel
(2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core import thread_pool
from ...core.errors import SolveError
from ...spectral import dense

Array = np.ndarray[Any, Any]

PROGRAM_LIMIT, EDGE_LIMIT = 100, 400  # points and edges for which our own solver takes some seconds
_ITERATIONS, _GAP = 100, 1e-6
_STRICT = 100  # weight of lengths: tr K may change with the root of their error
_LOST = 1e12  # a gap from which no step leads back
_PATIENCE = 8  # iterations without a better one
_CONTRADICTION = 1e-3  # error of squared lengths that is proved and is more than rounding of distances
_RIDGE = 1e-13  # relative, for edges that depend on others
_BACK = 0.95  # of the way to the boundary
_BATCH = 4096  # edges whose products are held at once
_DONE = ("Solved", "AlmostSolved")


@dataclass(frozen=True)
class Program:
    """A solved program: K, the gap between primal and dual, and the error of squared lengths, both relative.

    ``contradiction``: no points are nearer to these squared lengths than that, relative; above 0, K is no answer.
    """

    gram: Array
    gap: float
    error: float
    iterations: int
    contradiction: float = 0.0
    forces: Array | None = None  # w of the dual


@thread_pool.one_blas_thread()
def full_gram(n: int, i: Array, j: Array, squares: Array, give: float = 0.0) -> Program:
    """Return the K of largest trace for the edges of a connected graph, by an interior-point method of its own.

    ``give`` is by how much a unit of force changes a squared length: 0 for rods, more for springs.

    Each constraint is a single aaᵀ, so the matrix of a Newton step, (A Y Aᵀ) ∘ (A S⁻¹ Aᵀ) with the rows a of A, has a
    row for each edge and two products make it. Where edges hold the points so tightly that Y has no interior, w grows
    without limit and that matrix loses the digits which count: then steps that square nothing go on (`_finer`). ``gap``
    tells how far they came.

    Why not Clarabel, which solves `gram_in_basis`: it works on n²/2 dense rows, so 60 points took it 14 to 71 s (ours
    0.3 to 2.5 s) and 80 points 71 s (5 s), on one core. Its trace was off by 1e-6 to 9e-5 with 4 neighbours and by 1e-3
    to 6e-3 with 5 or 6 ("AlmostSolved"), ours by 1e-6 or less; narrower tolerances ended in numerical errors.

    Examples
    --------
    >>> import numpy as np
    >>> found = full_gram(3, np.array([0, 1]), np.array([1, 2]), np.ones(2))  # two links of a chain
    >>> found.gram.round(4).diagonal().tolist()
    [1.0, 0.0, 1.0]
    """
    import scipy.linalg

    Q = scipy.linalg.helmert(n).T
    A, scale = Q[i] - Q[j], float(np.mean(squares))
    s, identity, give = np.asarray(squares) / scale, np.eye(n - 1), give / scale
    w = np.full(len(s), 2 / dense.eigh(A.T @ A)[0][0])
    Y = identity * s.max()
    best, least, since, fine = _State(w, Y, np.inf, np.inf, 0), 0.0, 0, False
    best_held = np.inf
    for iteration in range(_ITERATIONS):
        S = (A.T * w) @ A - identity
        lengths = s + give * w
        held = float(np.linalg.norm(((A @ Y) * A).sum(axis=1) - lengths) / np.linalg.norm(lengths))
        # Σwd² − tr Y = ⟨S, Y⟩ − Σwc: where lengths are off the difference may vanish, but not the product.
        trace = float(np.trace(Y))
        gap = max(abs(float(lengths @ w) / trace - 1), float(np.vdot(S, Y)) / trace)
        now = _State(w, Y, gap, held, iteration)
        since += 1
        better = now.rank < best.rank
        if better or (fine and held < best_held):  # gaps may rise again while lengths come right
            since = 0
        # Once they are right, the smallest gap counts.
        if better or (fine and _STRICT * best.held > _GAP and held < best.held):
            best = now
        best_held = min(best_held, held)
        if now.rank <= _GAP:
            break
        proved = -float(s @ w) / float(np.linalg.norm(s) * np.linalg.norm(w))
        if give == 0 and proved > _CONTRADICTION and dense.eigh(S)[0][0] > 0:
            least = proved
            break
        try:
            if since == _PATIENCE or not gap < _LOST:
                raise np.linalg.LinAlgError
            w, Y = _finer(A, s, w, S, Y) if fine else _newton(A, s, w, S, Y, give)
        except np.linalg.LinAlgError:  # the end of what rounding allows
            if fine or give > 0:
                break
            fine, since, w, Y = True, 0, best.w, best.Y
    K = Q @ best.Y @ Q.T * scale
    return Program(K, best.gap, best.held, best.iteration if least == 0 else iteration, least, best.w)


@dataclass(frozen=True)
class _State:
    """Where the iteration stands: dual w, primal Y, relative gap and error of squared lengths."""

    w: Array
    Y: Array
    gap: float
    held: float
    iteration: int

    @property
    def rank(self) -> float:
        """What is to become small."""
        return max(self.gap, _STRICT * self.held)


def _newton(A: Array, s: Array, w: Array, S: Array, Y: Array, give: float) -> tuple[Array, Array]:
    """Return w and Y after a predictor and a corrector step to YS = σμI."""
    import scipy.linalg as la

    m = len(S)
    root_S, root_Y = np.linalg.cholesky(S), np.linalg.cholesky(Y)
    inverse = la.cho_solve((root_S, True), np.eye(m))
    AY, AS = A @ Y, A @ inverse
    barrier, mu = (AS * A).sum(axis=1), float(np.vdot(Y, S)) / m
    M = (AY @ A.T) * (AS @ A.T)
    M[np.diag_indices(len(M))] *= 1 + _RIDGE
    M[np.diag_indices(len(M))] += give
    factor = la.cho_factor((M + M.T) / 2)

    def direction(target: float, second: Array) -> tuple[Array, Array, Array]:
        right = target * barrier - s - give * w - ((A @ second) * A).sum(axis=1)
        dw = la.cho_solve(factor, right)
        dw += la.cho_solve(factor, right - M @ dw)
        dS = (A.T * dw) @ A
        dY = target * inverse - Y - Y @ dS @ inverse - second
        return dw, dS, (dY + dY.T) / 2

    dw, dS, dY = direction(0.0, np.zeros_like(Y))
    after = np.vdot(Y + _longest(root_Y, dY) * dY, S + _longest(root_S, dS) * dS) / m
    second = dY @ dS @ inverse
    dw, dS, dY = direction(mu * _centring(float(after), mu), (second + second.T) / 2)
    return w + _longest(root_S, dS) * dw, Y + _longest(root_Y, dY) * dY


def _finer(A: Array, s: Array, w: Array, S: Array, Y: Array) -> tuple[Array, Array]:
    """Return w and Y after the same two steps in the coordinates of Nesterov and Todd, by least squares.

    There RᵀSR = R⁻¹YR⁻ᵀ = D, and a step is dY + dS = T with dS = Σ dw aaᵀ, a ← Rᵀa: dS is the projection of T on the
    span of all aaᵀ. A QR factor of these finds it. Normal equations would square their condition, 1e12 on rigid graphs.
    Rows are sorted by size, since theirs spans as many orders (Cox & Higham). dY is taken from the projection and
    not by way of dw, which is large: so lengths stay right.
    """
    import scipy.linalg as la
    from scipy.linalg.lapack import dormqr

    m = len(S)
    root_S, root_Y = np.linalg.cholesky(S), np.linalg.cholesky(Y)
    _, D, V = dense.svd(root_S.T @ root_Y)
    R = root_Y @ V / np.sqrt(D)
    P = _products(A @ R).T
    rows, sizes = np.argsort(-np.abs(P).max(axis=1), kind="stable"), np.linalg.norm(P, axis=0)
    (reflectors, tau), r = la.qr(P[rows] / sizes, mode="raw", overwrite_a=True, check_finite=False)
    r = r[: len(s)]
    if len(r) < len(s) or not np.abs(r.diagonal()).min() > 0:
        raise np.linalg.LinAlgError  # edges that depend on others

    def turned(x: Array, trans: str) -> Array:
        return np.asarray(dormqr("L", trans, reflectors, tau, x[:, None], 64 * len(tau))[0][:, 0])

    missing = la.solve_triangular(r, (s - ((A @ Y) * A).sum(axis=1)) / sizes, trans="T")
    back, root, mu = np.argsort(rows), np.diag(np.sqrt(D)), float(D @ D) / m

    def direction(T: Array) -> tuple[Array, Array, Array]:
        shares = turned(_packed(T)[rows], "T")[: len(s)] - missing
        dS = _unpacked(turned(np.pad(shares, (0, len(P) - len(s))), "N")[back], m)
        return la.solve_triangular(r, shares) / sizes, dS, T - dS

    dw, dS, dY = direction(-np.diag(D))
    after = np.vdot(np.diag(D) + _longest(root, dY) * dY, np.diag(D) + _longest(root, dS) * dS) / m
    second = dS @ dY
    target = 2 * np.diag(mu * _centring(float(after), mu) - D * D) - second - second.T
    dw, dS, dY = direction(target / (D[:, None] + D))
    change = R @ dY @ R.T
    return w + _longest(root, dS) * dw, Y + _longest(root, dY) * (change + change.T) / 2


def _centring(after: float, mu: float) -> float:
    """Return the share of μ to aim at, small where the predictor came far (Mehrotra 1992)."""
    return min(1.0, max(1e-4, (after / mu) ** 2))


def _longest(root: Array, D: Array) -> float:
    """Return the step, 1 at most, that keeps LLᵀ + hD positive definite."""
    import scipy.linalg as la

    X = la.solve_triangular(root, D, lower=True)
    X = la.solve_triangular(root, X.T, lower=True)
    lowest = float(dense.eigh((X + X.T) / 2)[0][0])
    return min(1.0, _BACK / -lowest) if lowest < 0 else 1.0


def gram_in_basis(Q: Array, i: Array, j: Array, squares: Array, reach: float, slack: float) -> Array:
    """Return the Y of largest tr Y − (ν/2) Σ_e (|F_i − F_j|² − d²)², F = QY^½, over the edges given; Y ⪰ 0.

    Few smooth functions Q cannot keep all distances, so these are drawn to their values and not held to them. At the
    optimum Σ w d² ≈ tr Y with forces w = ν (|F_i − F_j|² − d²): with ν = reach/(slack · Σ d²) the squared lengths of
    edges are off by about ``slack`` where ``reach`` is tr Y, for d² of mean 1.

    Examples
    --------
    >>> import numpy as np
    >>> Q = np.array([[1.0], [0.0], [-1.0]]) / np.sqrt(2)
    >>> gram_in_basis(Q, np.array([0, 1]), np.array([1, 2]), np.ones(2), 2.0, 1e-6).round(4).tolist()
    [[2.0]]
    """
    m, ones = Q.shape[1], _packed(np.eye(Q.shape[1]))
    force = reach / (slack * float(np.sum(squares)))

    def batch(start: int) -> tuple[Array, Array]:
        part = slice(start, start + _BATCH)
        A = _products(Q[i[part]] - Q[j[part]])
        return A.T @ A, A.T @ squares[part]

    P, pull = np.zeros((len(ones), len(ones))), np.zeros(len(ones))
    for square, linear in thread_pool.run(batch, range(0, len(i), _BATCH)):
        P += square
        pull += linear
    # The unknown is Y/reach, of trace about 1.
    matrix = sp.csc_array(np.triu(force * reach * P))
    solution = _solve(matrix, -ones - force * pull, -sp.eye_array(len(ones)), np.zeros(len(ones)), m)
    return _unpacked(np.array(solution.x), m) * reach


@thread_pool.one_blas_thread()
def _solve(P: Any, q: Array, A: Any, b: Array, m: int) -> Any:
    """Minimise ½xᵀPx + qᵀx with b − Ax the packed triangle of a positive semidefinite m × m matrix."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.direct_solve_method, settings.max_threads = "faer", 1  # the same sums on every machine
    cones = [clarabel.PSDTriangleConeT(m)]
    matrix = sp.csc_matrix(P), sp.csc_matrix(A)
    solution = clarabel.DefaultSolver(matrix[0], q, matrix[1], b, cones, settings).solve()
    if str(solution.status) not in _DONE:
        raise SolveError(
            f"the semidefinite program of size {m} was not solved ({solution.status}): distances may span too many "
            "orders of magnitude; look for nearly equal rows or outliers, or take more neighbours"
        )
    return solution


def _triangle(m: int) -> tuple[Array, Array, Array]:
    """Return rows and columns of the upper triangle, column by column, and the factors that keep inner products."""
    column, row = np.tril_indices(m)
    return row, column, np.where(row == column, 1.0, np.sqrt(2.0))


def _packed(M: Array) -> Array:
    row, column, factor = _triangle(len(M))
    return np.asarray(M[row, column] * factor)


def _unpacked(x: Array, m: int) -> Array:
    row, column, factor = _triangle(m)
    M = np.zeros((m, m))
    M[row, column] = x / factor
    return M + np.triu(M, 1).T


def _products(Z: Array) -> Array:
    """Return the packed zzᵀ of each row z: their inner product with a packed Y is zᵀYz."""
    row, column, factor = _triangle(Z.shape[1])
    return np.asarray(Z[:, row] * Z[:, column] * factor)
