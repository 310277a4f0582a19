"""The routes from rows to singular values and directions; `rowspace` chooses among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, thread_pool
from ..core.errors import ScaleError
from ..core.spmm import outer
from ..rows.gram_sums import Scratch, subtract, symmetric_sum
from ..rows.moments import Accumulator, Moments, RFactor, column_moments, moments, r_factor
from ..rows.object_rows import gather
from ..rows.row_source import RowSource
from . import dense
from . import krylov as iterations
from .krylov import KrylovResult
from .operators import Centered, Dense, Gram, Operator
from .rounding import varies
from .solve import DENSE_LIMIT, certified_triplets, eigen, fix_signs, sign_of_columns, singular, tolerance
from .solved import ComponentRule, Scaling, Solved

Array = Any

PANEL_ENTRIES = 1 << 22  # entries of the columns multiplied at once
SCREE = 10  # eigenvalues computed for a scree plot even if fewer components are wanted
_EPS = float(np.finfo(np.float64).eps)


def rank_tolerance(n: int, d: int, dtype: Any) -> float:
    """Return the ratio to σ₁ below which a singular value is rounding of the data or of the solver."""
    return float(8 * np.sqrt(min(n, d)) * np.finfo(dtype).eps)


def square_tolerance(n: int, eps: float = _EPS) -> float:
    """Return the same for squared values: the scatter is accurate only to eps·σ₁², with the eps of the products."""
    return float(np.sqrt(10 * np.sqrt(n) * eps))


def degrees(weight: float, ddof: int) -> float:
    """Return the divisor of variances; if ddof leaves none, the plain count."""
    return weight - ddof if weight > ddof else weight


def deviations(variances: Array, mean: Array) -> Array:
    """Return standard deviations, 1 for columns that are constant to rounding."""
    return np.sqrt(np.where(varies(variances, mean), variances, 1.0))


def _start(name: str, seen: Accumulator, squares: Array, scaling: Scaling) -> Solved:
    """Return the fields that all routes know before they solve; raise if sums overflow."""
    mean = arrays.to_numpy(seen.mean)
    with np.errstate(over="ignore", invalid="ignore"):
        variances = arrays.to_numpy(squares).clip(0) / degrees(seen.weight, scaling.ddof)
        scale = deviations(variances, mean) if scaling.scale else None
        sums = variances * degrees(seen.weight, scaling.ddof) + (0.0 if scaling.center else seen.weight * mean**2)
        total = float((sums / (1.0 if scale is None else scale**2)).sum())
    if not np.isfinite(total):
        raise ScaleError("the scatter of the data overflows: divide the large columns by a constant")
    return Solved(
        name,
        seen.n_rows,
        seen.weight,
        mean,
        scale,
        variances,
        scaling.center,
        total,
        spectrum=np.empty(0),
        vectors=np.empty((len(mean), 0)),
        complete=False,
        tolerance=rank_tolerance(seen.n_rows, len(mean), seen.dtype or np.float64),
    )


def operator(rows: RowSource, solved: Solved, scaling: Scaling) -> Centered:
    """Return the rows as an operator, centred and scaled as the fit does it."""
    mean = arrays.like(solved.mean, rows.reference) if scaling.center else None
    return Centered(rows, mean, solved.scale)


# -- covariance, svd and power: from the sums of one pass ------------------------------------------------------------


def covariance(
    rows: RowSource, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator, *, precise: bool = False
) -> Solved:
    """Solve by eigenvectors of the scatter; with ``precise``, or if they can be read only once, products in float64."""
    precise = precise or not rows.reiterable
    eps = _EPS if precise or rows.sparse else float(np.finfo(rows.dtype).eps)
    return from_accumulator(moments(rows, precise=precise), wanted, scaling, rng, eps=eps)


def svd(rows: RowSource, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator) -> Solved:
    """Solve by singular vectors of the R factor, without squares."""
    return from_accumulator(r_factor(rows), wanted, scaling, rng)


def power(rows: RowSource, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator) -> Solved:
    """Solve by power iteration with deflation, on the scatter if it is no larger than the rows, else on the rows."""
    if forms_scatter(rows.count(), rows.n_features):
        sums = moments(rows, precise=True)  # there is no second pass to correct float32 products
        return replace(from_accumulator(sums, wanted, scaling, rng, "power"), route="power")
    seen = column_moments(rows)
    start = _start("power", seen, seen.squares, scaling)
    return _leading(Gram(operator(rows, start, scaling)), wanted, start, rng, "power")


def forms_scatter(n: int, d: int) -> bool:
    """Return whether `power` forms the scatter, because a product with it costs less than one with the rows."""
    return d <= min(n, 5000)


def from_accumulator(
    seen: Accumulator,
    wanted: ComponentRule,
    scaling: Scaling,
    rng: np.random.Generator,
    solver: str = "auto",
    eps: float = _EPS,
) -> Solved:
    """Solve for the rows of an accumulator; ``eps`` is the precision of its products."""
    done = seen.finished()
    if isinstance(done, RFactor):
        return _from_r(done, scaling)
    assert isinstance(done, Moments)
    S = done.scatter
    start = _start("covariance", done, arrays.namespace(S).linalg.diagonal(S), scaling)
    if not scaling.center:
        S = S + done.weight * done.mean[:, None] * done.mean[None, :]
    if start.scale is not None:
        s = arrays.like(start.scale, S)
        S = S / s[:, None]
        S /= s[None, :]
    return _leading(Dense(S, psd=True, check=False), wanted, start, rng, solver, eps)


def _from_r(done: RFactor, scaling: Scaling) -> Solved:
    R, xp = done.R, arrays.namespace(done.R)
    with np.errstate(over="ignore"):
        squares = xp.sum(R * R, axis=0)
    start = _start("svd", done, squares, scaling)
    if not scaling.center:
        R = xp.concat([R, done.mean[None, :] * done.weight**0.5], axis=0)
    if start.scale is not None:
        R = R / arrays.like(start.scale, R)[None, :]
    U, s, V = dense.svd(R)
    found = certified_triplets(Dense(R), KrylovResult(U, s, V, 0, True, float(s[0])), "dense")
    return replace(
        start,
        spectrum=arrays.to_numpy(found.values) ** 2,
        vectors=found.right,
        complete=True,
        residual=found.residual,
        solver="dense",
    )


def _leading(
    op: Operator,
    wanted: ComponentRule,
    start: Solved,
    rng: np.random.Generator,
    solver: str = "auto",
    eps: float = _EPS,
) -> Solved:
    """Solve for the wanted pairs of a scatter or Gram operator; more of them until the rule can decide."""
    least = max(start.tolerance, square_tolerance(op.shape[0], eps))
    if solver == "power":  # it resolves values no better than its residual
        least = max(least, float(np.sqrt(10 * tolerance(op))))
    size = op.shape[0] - (0 if op.null is None else op.null.shape[1])
    if solver == "auto" and (wanted.whole or (op.shape[0] <= DENSE_LIMIT and not wanted.leading)):
        ask = size
    elif wanted.count is not None:
        ask = min(size, wanted.count if solver == "power" else max(wanted.count, SCREE))
    else:
        ask = min(size, 32) if wanted.share is not None else size
    kept = None if wanted.count is None else max(wanted.count, SCREE)

    def enough(values: Array) -> int:
        """Return how many vectors the rule keeps of the values, so that no others are computed."""
        seen = replace(start, spectrum=arrays.to_numpy(values).clip(0), tolerance=least)
        return wanted.pick(seen) or ask

    picks = wanted.count is not None and wanted.rule is not None
    while True:
        name = "dense" if ask == size and solver == "auto" else solver
        pairs = eigen(op, ask, rng=rng, solver=name, certify=kept, enough=enough if picks and ask < size else None)
        solved = replace(
            start,
            spectrum=arrays.to_numpy(pairs.values).clip(0),
            vectors=pairs.vectors,
            complete=ask == size,
            tolerance=least,
            residual=pairs.residual,
            solver=pairs.solver,
            products=pairs.products,
            converged=pairs.converged,
            checked=pairs.checked,
        )
        if solved.complete or wanted.pick(solved) is not None:
            return solved
        ask = size if 8 * ask > size else 2 * ask


# -- gram: the dual problem ----------------------------------------------------------------------------------------


def gram(rows: RowSource, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator) -> Solved:
    """Solve by eigenvectors u of K = XXᵀ, then v = Xᵀu/σ, for fewer rows than columns."""
    seen = column_moments(rows)
    start = _start("gram", seen, seen.squares, scaling)
    side = Columns(rows, start, scaling)
    op = Dense(side.gram(), psd=True, check=False)
    if scaling.center:  # Xᵀ√w = 0: √w is a known null vector
        op.null = arrays.like(side.root / np.linalg.norm(side.root), op.A)[:, None]
        if start.n_rows == 1:
            op.null = None
    eps = _EPS if rows.sparse else float(np.finfo(rows.dtype).eps)
    solved = _leading(op, wanted, start, rng, eps=eps)
    return back_to_columns(side.transposed_times, solved, solved.vectors, wanted)


def back_to_columns(back: Callable[[Array], Array], solved: Solved, U: Array, wanted: ComponentRule) -> Solved:
    """Return directions Y = XᵀU of the wanted left vectors; the SVD of Y separates vectors that squaring mixed."""
    rank = max(1, int((solved.spectrum > solved.tolerance**2 * solved.spectrum[0]).sum()))
    k = min(wanted.pick(solved) or rank, rank, U.shape[1], len(solved.mean))
    Q, R = dense.orthonormal_near(back(U[:, :k]), np.sqrt(solved.spectrum[:k]))
    P, s, Y = dense.svd(R)
    V = thread_pool.matmul(Q, P)
    del Q  # for wide rows as large as the result
    signs = sign_of_columns(V)
    spectrum = solved.spectrum.copy()
    spectrum[:k] = arrays.to_numpy(s) ** 2
    left = arrays.namespace(U).concat([U[:, :k] @ Y * signs, U[:, k:]], axis=1)  # a second pass needs all of them
    return replace(solved, spectrum=spectrum, vectors=V * signs, left=left)


class Columns:
    """The centred, scaled, weighted rows read by panels of columns."""

    def __init__(self, rows: RowSource, start: Solved, scaling: Scaling) -> None:
        self.rows, self.start, self.scaling = rows, start, scaling
        self.n = rows.count()
        self.root = np.ones(self.n) if rows.weights is None else np.sqrt(rows.weights)
        self.X = rows.array if rows.array is not None else gather(rows, sparse=True)
        self._width = max(64, PANEL_ENTRIES // self.n)

    def _panel(self, first: int, scratch: Scratch) -> Array:
        """Return Zᵀ for columns from ``first`` on: (columns × rows)."""
        cols = slice(first, first + self._width)
        X = arrays.cast(self.X[:, cols], self.rows.dtype)
        mean = self.start.mean[cols] if self.scaling.center else 0.0
        Z = subtract(X, mean, scratch)
        if self.start.scale is not None:
            Z /= arrays.like(self.start.scale[cols], Z, arrays.dtype_of(Z))[None, :]
        if self.rows.weights is not None:
            Z *= arrays.like(self.root, Z, arrays.dtype_of(Z))[:, None]
        return arrays.t(Z)

    def gram(self) -> Array:
        """Return XXᵀ of the prepared rows."""
        if self.rows.sparse:
            return self._sparse_gram()
        panels = range(0, self.rows.n_features, self._width)
        return symmetric_sum(panels, self._panel, self.n, stage="Gram", total=len(panels))

    def _sparse_gram(self) -> Array:
        X, start = self.X.astype(np.float64), self.start
        if start.scale is not None:
            X = X @ sp.diags_array(1 / start.scale)
        K = outer(X, X.T.tocsr())
        if self.scaling.center:
            m = start.mean if start.scale is None else start.mean / start.scale
            a = X @ m
            K -= a[:, None]
            K -= a[None, :]
            K += m @ m
        K *= self.root[:, None]
        K *= self.root[None, :]
        return K

    def transposed_times(self, U: Array) -> Array:
        """Return Xᵀ U."""
        if self.rows.sparse:
            return operator(self.rows, self.start, self.scaling).rmatmul(U)
        scratch = Scratch()
        kind = arrays.cast(U, self.rows.dtype)
        panels = range(0, self.rows.n_features, self._width)
        parts = thread_pool.run(lambda first: self._panel(first, scratch) @ kind, panels)
        if arrays.is_foreign(kind):
            found = list(parts)
            return arrays.cast(arrays.namespace(*found).concat(found, axis=0), np.float64)
        out = np.empty((self.rows.n_features, kind.shape[1]))
        for first, part in zip(panels, parts, strict=True):
            out[first : first + len(part)] = part
        return out

    def whitened(self, W: Array) -> Array:
        """Return the scatter of XᵀW, in float64."""

        def prepare(first: int, scratch: Scratch) -> Array:
            return arrays.cast(self._panel(first, scratch), np.float64) @ W

        if self.rows.sparse:
            Z = operator(self.rows, self.start, self.scaling).rmatmul(W)
            return Z.T @ Z
        panels = range(0, self.rows.n_features, self._width)
        return symmetric_sum(panels, prepare, W.shape[1], stage="second pass", total=len(panels))


# -- krylov: the rows themselves -----------------------------------------------------------------------------------


def krylov(rows: RowSource, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator) -> Solved:
    """Solve by block Golub–Kahan on the rows, which are centred during multiplication."""
    seen = column_moments(rows)
    start = _start("krylov", seen, seen.squares, scaling)
    op = operator(rows, start, scaling)
    size = min(op.shape)
    ask = min(size, max(wanted.count, SCREE) if wanted.count is not None else size if wanted.whole else 32)
    while True:
        found = singular(op, ask, rng=rng, solver="krylov", tol=wanted.tol)
        solved = replace(
            start,
            spectrum=arrays.to_numpy(found.values) ** 2,
            vectors=found.right,
            complete=ask == size,
            residual=found.residual,
            solver="krylov",
            products=found.products,
            converged=found.converged,
            checked=found.checked,
            left=found.left,
        )
        if solved.complete or wanted.pick(solved) is not None:
            return solved
        ask = min(size, 2 * ask)


def lanczos(rows: RowSource, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator) -> Solved:
    """Solve by block Lanczos on XᵀX or XXᵀ, whichever is smaller, never formed, until the wanted pairs have converged.

    Squares lose no precision if the values are of similar size, as those of indicators are, and only the shorter
    vectors are stored. Further pairs are often clustered and would take most of the time: they are reported only if
    they have converged as well.
    """
    assert wanted.count is not None
    seen = column_moments(rows)
    start = _start("krylov", seen, seen.squares, scaling)
    op = operator(rows, start, scaling)
    wide = op.shape[0] < op.shape[1]
    side, size, k = Gram(op, outer=wide), min(op.shape), wanted.count
    limit = tolerance(side)
    found = iterations.lanczos(side, min(size, max(k, SCREE)), largest=True, tol=limit, rng=rng, sure=k)
    B, values, xp = found.right, arrays.to_numpy(found.values), arrays.namespace(found.right)
    miss = side.matmul(B) - B * arrays.like(values, B)[None, :]
    misses = arrays.to_numpy(xp.linalg.vector_norm(miss, axis=0)) / (found.norm or 1.0)
    sure = k + int(np.cumprod(misses[k:] <= 10 * limit).sum())
    solved = replace(
        start,
        spectrum=values[:sure].clip(0),
        vectors=fix_signs(B[:, :sure]),
        complete=sure == size,
        tolerance=max(start.tolerance, square_tolerance(size)),
        residual=float(misses[:k].max()),
        solver="krylov",
        products=found.products,
        converged=found.converged,
        checked=found.checked,
    )
    return back_to_columns(op.rmatmul, solved, solved.vectors, wanted) if wide else solved
