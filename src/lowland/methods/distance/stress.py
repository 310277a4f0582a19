"""Stress of a configuration of points, and its minimisation by majorisation.

σ(X) = Σ_{i<j} w_ij (d_ij(X) − δ_ij)²,  d_ij = ‖x_i − x_j‖.  Guttman's transform Γ(X) = V⁺B(X)X minimises a quadratic
that lies above σ and touches it at X, so σ(Γ(X)) ≤ σ(X), and σ(2Γ(X) − X) ≤ σ(X) as well, at twice the pace (de Leeuw,
Heiser 1980). Γ does not depend on the scale of X, so X is first brought to the scale α = Σwδd/Σwd² that suits δ best.

2V(X − Γ(X)) is the gradient of σ. `descend` therefore gets, for the same evaluation, quasi-Newton steps (Liu, Nocedal
1989) with V⁺ as the first guess of the inverse Hessian; where such a step would raise the stress, it is taken back and
the relaxed Guttman step made instead. So the stress never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from ...core import thread_pool
from ...core.errors import DataError
from ...core.settings import report_progress
from ...spectral import dense, fix_signs
from ...spectral.distance import scale

Array = Any

EPS = float(np.finfo(np.float64).eps)
MAX_QUASI_NEWTON_PAIRS = 10
MAX_ALL_PATHS_OBJECTS = 1000  # up to which all shortest paths are sought
INTERMEDIATE_OBJECTS = 128  # beyond that: paths through one of so many


@dataclass(frozen=True)
class StressPoint:
    """A configuration and what is known there.

    ``gradient`` is that of ``value``; ``step`` = V⁺ gradient, and X − reach·step is the relaxed Guttman step.
    ``gain`` is by how much a plain Guttman step lowers the value at least.
    """

    X: Array
    value: float
    gradient: Array
    step: Array
    reach: float = 1.0

    @property
    def gain(self) -> float:
        """The least decrease that Guttman's step brings."""
        return 0.25 * self.reach * float(np.vdot(self.gradient, self.step))


@dataclass(frozen=True)
class Descent:
    """The end of a minimisation: the last point, the values on the way, and whether it stands still."""

    point: StressPoint
    history: Array
    converged: bool

    @property
    def steps(self) -> int:
        """The number of steps taken."""
        return len(self.history) - 1

    @property
    def pace(self) -> float:
        """The share by which the next Guttman step would lower the value."""
        return self.point.gain / self.point.value if self.point.value > 0 else 0.0


def triangle_edges(n: int) -> list[tuple[int, int]]:
    """Cut the rows of a triangle of pairs into pieces of like work; they depend on n alone.

    >>> triangle_edges(100)
    [(0, 100)]
    """
    pieces = min(32, max(1, n // 128))
    share = 1.0 - np.sqrt(1.0 - np.arange(pieces + 1) / pieces)
    edges = np.round(n * share).astype(int)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


class Stress:
    """Σw(d − δ)² of one matrix of distances; ``weights`` None means all 1.

    Both matrices are symmetric; where a weight is 0 the distance is not looked at, but must be a number.
    """

    def __init__(self, delta: Array, weights: Array | None = None) -> None:
        self.delta, self.n = np.ascontiguousarray(delta, dtype=np.float64), len(delta)
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self._edges = triangle_edges(self.n)
        self._factor = None if weights is None else _factor_of_v(self.weights)
        self.size = self._size()

    def _size(self) -> float:
        """Return Σwδ² over pairs."""
        total = 0.0
        for start in range(0, self.n, 256):  # few rows at a time: no second matrix
            part = slice(start, start + 256)
            squares = self.delta[part] ** 2
            total += float(squares.sum() if self.weights is None else (self.weights[part] * squares).sum())
        return total / 2

    def __call__(self, X: Array) -> StressPoint:
        """Return the point at the best scale of X, after subtracting its mean."""
        X = X - X.mean(axis=0)
        B, VX, (stress, slope, size) = self._sums(np.ascontiguousarray(X.T))
        excess = slope / size if size > 0 else 0.0
        X = X * (1.0 + excess)
        VX = VX * (1.0 + excess)
        step = 2.0 * (X - self._solve(B))
        return StressPoint(X, max(0.0, stress - size * excess**2), 2.0 * (VX - B), step)

    def _sums(self, Xt: Array) -> tuple[Array, Array, Array]:
        """Return B(X)X, VX (each n × k) and the three sums over pairs."""
        from .stress_loops import guttman

        weighted = self.weights is not None
        W = self.weights if weighted else np.empty((1, 1))

        def piece(edge: tuple[int, int]) -> tuple[Array, Array, Array]:
            B, V, sums = np.zeros_like(Xt), np.zeros_like(Xt if weighted else W), np.zeros(3)
            guttman(Xt, self.delta, W, weighted, B, V, sums, *edge)
            return B, V, sums

        parts = [piece(self._edges[0])] if len(self._edges) == 1 else list(thread_pool.run(piece, self._edges))
        B, V, sums = (sum(part[c] for part in parts) for c in range(3))
        return B.T, V.T if weighted else self.n * Xt.T, sums

    def _solve(self, B: Array) -> Array:
        """Return V⁺B; B has columns of sum 0."""
        if self._factor is None:
            return B / self.n
        out = scipy.linalg.cho_solve(self._factor, B, check_finite=False)
        return out - out.mean(axis=0)


def _factor_of_v(W: Array) -> Any:
    """Factor V + c·11ᵀ, V = diag(W1) − W; c makes the added eigenvalue one like the others."""
    V = -W
    np.fill_diagonal(V, 0.0)
    degrees = -V.sum(axis=1)
    V += degrees.mean() / len(W)
    V[np.diag_indices_from(V)] += degrees
    try:
        with thread_pool.one_blas_thread():
            return scipy.linalg.cho_factor(
                V.T, overwrite_a=True, check_finite=False
            )  # V = Vᵀ in LAPACK's order: no copy
    except np.linalg.LinAlgError:
        least, most = W.min(where=W > 0, initial=np.inf), W.max()
        raise DataError(
            f"the weights of pairs range from {least:.2g} to {most:.2g}, too far for double precision; raise the least "
            "weights, or set them to 0 to ignore their pairs"
        ) from None


def descend(
    evaluate: Callable[[Array], StressPoint],
    X: Array,
    *,
    max_iter: int,
    tol: float,
    floor: float = 0.0,
    stage: str = "stress",
) -> Descent:
    """Lower a value from X until Guttman's step would lower it by no more than the share ``tol``, or ``floor``."""
    with thread_pool.one_blas_thread():
        point = evaluate(X)
        history, pairs = [point.value], list[tuple[Array, Array, Array, float]]()
        for done in range(max_iter):
            if point.gain <= max(tol * point.value, floor):
                return Descent(point, np.array(history), True)
            trial = evaluate(point.X + _direction(point, pairs))
            if pairs and not trial.value < point.value:
                pairs.clear()
                trial = evaluate(point.X - point.reach * point.step)
            if not trial.value < point.value:  # only rounding is left
                return Descent(point, np.array(history), True)
            _remember(pairs, point, trial)
            point = trial
            history.append(point.value)
            report_progress(stage, done + 1, max_iter)
        return Descent(point, np.array(history), point.gain <= max(tol * point.value, floor))


def _remember(pairs: list[tuple[Array, Array, Array, float]], old: StressPoint, new: StressPoint) -> None:
    moved, turned = new.X - old.X, new.gradient - old.gradient
    curvature = float(np.vdot(moved, turned))
    if curvature > 1e-12 * np.linalg.norm(moved) * np.linalg.norm(turned):
        pairs.append((moved, turned, new.step - old.step, curvature))
        del pairs[:-MAX_QUASI_NEWTON_PAIRS]


def _direction(point: StressPoint, pairs: list[tuple[Array, Array, Array, float]]) -> Array:
    """Return the two-loop quasi-Newton step; without pairs the relaxed Guttman step."""
    if not pairs:
        return -point.reach * point.step
    # Not shared with MVU and ICA, which apply an inverse between the loops: here that would be one more solve with V in
    # each step. Instead V⁺ of each pair is kept and carried along.
    g, step, used = point.gradient.copy(), point.step.copy(), []
    for moved, turned, bent, curvature in reversed(pairs):  # step stays V⁺g
        a = float(np.vdot(moved, g)) / curvature
        g -= a * turned
        step -= a * bent
        used.append(a)
    _, turned, bent, curvature = pairs[-1]
    step *= curvature / float(np.vdot(turned, bent))
    for (moved, turned, _, curvature), a in zip(pairs, reversed(used), strict=True):
        step += (a - float(np.vdot(turned, step)) / curvature) * moved
    return -step


# -- starts and poses -------------------------------------------------------------------------------------


def classical_start(D: Array, k: int, rng: np.random.Generator, eps: float = EPS, row_eps: float = 0.0) -> Array:
    """Return the configuration of classical MDS: at most k columns, those of eigenvalues above rounding.

    ``eps`` is the precision of the distances, ``row_eps`` that of the rows they were taken of: rounding errors of rows
    add eigenvalues of their squared size.
    """
    found = scale(D, k, eps, rng, solver="krylov")  # LAPACK would take longer than the descent
    keep = found.values > 10 * len(D) * max(EPS, row_eps**2) * found.values.max(initial=0.0)
    return found.vectors[:, keep] * np.sqrt(found.values[keep])


def random_start(size: float, n: int, k: int, rng: np.random.Generator) -> Array:
    """Return normal points whose squared distances have the mean ``size``."""
    return rng.standard_normal((n, k)) * np.sqrt(size / (2 * k))


def shaken(X: Array, k: int, rng: np.random.Generator) -> Array:
    """Return X about its mean with k columns, no two rows equal: the gradient does not separate coinciding points.

    Where columns are missing or rows coincide, every row is moved by about a thousandth of the extent of X.
    """
    X = X - X.mean(axis=0)
    extent = float(np.sqrt((X**2).sum() / X.size)) or 1.0
    full = np.zeros((len(X), k))
    full[:, : X.shape[1]] = X
    seen = np.unique(np.round(X / extent, 9), axis=0)
    if X.shape[1] == k and len(seen) == len(X):
        return full
    return full + 1e-3 * extent * rng.standard_normal(full.shape)


def filled(D: Array, known: Array) -> Array:
    """Return the distances with those of unknown pairs replaced by shortest paths over known ones.

    Of more than 1000 objects by paths through one other, of 128 that are tried, where all pairs have such a path.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra, shortest_path

    if len(D) > MAX_ALL_PATHS_OBJECTS:
        found = _through_few(D, known)
        if np.isfinite(found).all():
            return found
    i, j = np.nonzero(known)
    values = D[i, j]
    positive = values[values > 0]
    if len(positive):  # a stored zero would mean no edge
        values = np.maximum(values, 1e-12 * positive.min())
    graph = csr_array((values, (i, j)), shape=D.shape)
    if len(D) <= MAX_ALL_PATHS_OBJECTS:
        return np.where(known, D, shortest_path(graph, directed=False))
    for start in range(0, len(D), 64):
        part = slice(start, min(start + 64, len(D)))
        found[part] = np.where(known[part], D[part], dijkstra(graph, indices=range(part.start, part.stop)))
        report_progress("longer paths", part.stop, len(D))
    return found


def _through_few(D: Array, known: Array) -> Array:
    """Return the distances, of unknown pairs by the shortest path through one of 128 objects; infinity if none."""
    others = np.linspace(0, len(D) - 1, INTERMEDIATE_OBJECTS).astype(int)
    legs = np.where(known[:, others], D[:, others], np.inf)
    out = np.where(known, D, np.inf)

    def strip(start: int) -> None:
        part = slice(start, start + 64)
        paths = np.full((len(legs[part]), len(D)), np.inf)
        for c in range(INTERMEDIATE_OBJECTS):
            np.minimum(paths, np.add.outer(legs[part, c], legs[:, c]), out=paths)
        np.copyto(out[part], paths, where=~known[part])

    starts = range(0, len(D), 64)
    for _ in thread_pool.run(strip, starts, stage="paths", total=len(starts)):
        pass
    np.fill_diagonal(out, 0.0)
    return out


def require_connected(known: Array, owner: str) -> None:
    """Refuse known pairs that leave groups of objects without any pair between them."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(csr_array(known), directed=False)
    if count == 1:
        return
    sizes = np.bincount(labels)
    named = []
    for group in np.argsort(-sizes, kind="stable")[:4]:
        members = np.flatnonzero(labels == group)
        text = ", ".join(map(str, members[:5])) + (", …" if len(members) > 5 else "")
        named.append(f"{len(members)} ({text})")
    raise DataError(
        f"{owner}: the pairs with a weight leave {count} groups of objects that no pair connects, "
        f"of sizes {'; '.join(named)}{'; …' if count > 4 else ''}, "
        "so their relative position is unknown. Give some pairs between them a weight, or fit each group separately"
    )


def same_objects(D: Array, weights: Array | None = None) -> Array:
    """Return for each object the first one that has distance 0 to it and the same distances to all (itself mostly).

    With ``weights`` only pairs that have one count, and the weights of both objects must be the same as well.
    """
    first = np.arange(len(D))
    for i in range(len(D)):
        zero = (D[i] == 0) & (True if weights is None else weights[i] > 0)
        for j in np.flatnonzero(zero[:i]).tolist():
            if first[j] == j and np.allclose(D[i], D[j], rtol=1e-9, atol=0.0) and _alike(weights, i, j):
                first[i] = j
                break
        if i % 256 == 255:
            report_progress("equal rows", i + 1, len(D))
    return first


def _alike(weights: Array | None, i: int, j: int) -> bool:
    """Tell whether two objects have the same weights to all others."""
    if weights is None:
        return True
    differ = weights[i] != weights[j]
    differ[[i, j]] = False
    return not differ.any()


def posed(X: Array) -> Array:
    """Return X centred, along its principal axes, signed by the one rule: distances determine no more than that."""
    X = X - X.mean(axis=0)
    _, _, V = dense.svd(X)
    return fix_signs(X @ V)
