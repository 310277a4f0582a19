"""Unfolding by coordinates: points move apart as far as rods between neighbours let them.

    max Σ|y_i|²   subject to   c_e = |y_i − y_j|² − d_e² = 0 for each rod e = (i, j),   Σ y_i = 0.

Each rod has a tension t_e, all have a stiffness ρ, and rounds of two steps follow each other (augmented Lagrangian):

    Y ← argmin −½Σ|y_i|² + Σ_e (t_e + ρc_e)²/(4ρ);      t_e ← t_e + ρc_e.

The gradient is (L_w − I)Y, L_w the Laplacian of the graph with weights w = t + ρc: at the end tensions balance what
drives the points apart. Where no points have these lengths, tensions grow for ever and the errors c tend to their least
squares; so rounds also end when neither lengths nor balance get better.

L-BFGS does the first step, preconditioned by the Laplacian with equal weights, so that the number of steps hardly
depends on the number of points: a plain gradient would carry news of a stretched end along the sheet edge by edge.
Along a direction f is a polynomial of degree four, minimised exactly. SciPy's L-BFGS-B takes no preconditioner: used
here, it leaves lengths on swiss rolls of 1500 and 4000 points wrong by 0.3 % and 1.7 % (RMS), these steps by 0.09 %, in
1.3 to 1.6 times the time.

References: S. Burer, R. D. C. Monteiro, Math. Program. 95 (2003), on semidefinite programs by coordinates; J. Nocedal,
S. J. Wright, Numerical Optimization (2006), chapters 7 and 17; S. Z. Kovalsky, M. Galun, Y. Lipman, ACM Trans. Graph.
35 (2016), on the Laplacian as preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core import settings, thread_pool
from ...graph.graph import Graph

Array = np.ndarray[Any, Any]

_SOFT = 0.2  # what rods give in the first round, relative to their squared lengths; softer ones flatten sooner
_MEMORY = 8  # pairs of steps and gradients that L-BFGS keeps
_ROUND, _LARGE = 20, 20_000  # steps after which tensions are renewed in any case, and more steps for more points
_PATIENCE, _BETTER = 10, 0.95  # rounds in which the error or the imbalance must fall to such a share of its lowest
_STIFF = 1e4  # over the first stiffness: the most, beyond which rounding rules the steps
_STILL = 1e-7  # a step that gains less of f ends a round
_GROUND = 0.01  # over the rods' weight: what keeps the Laplacian of the preconditioner definite
_POINTS = 8192  # that one task goes over
_LU_LIMIT = 5000  # points up to which SciPy's factor is the faster one


class Rods:
    """A connected graph whose edges have given squared lengths, of mean 1."""

    def __init__(self, graph: Graph) -> None:
        """Take a symmetric graph."""
        squares = graph.distances**2
        self.scale = float(squares.mean())
        self.squares = squares / self.scale
        self.indptr, self.indices = graph.indptr.astype(np.int64), graph.indices.astype(np.int32)
        self.n, self.total = graph.n, float(self.squares.sum()) / 2
        self._parts = [(s, min(self.n, s + _POINTS)) for s in range(0, self.n, _POINTS)]

    def _over(self, kernel: Any, count: int, *args: Any) -> Array:
        """Run a kernel over all points, on all threads; return the sums."""

        def work(part: tuple[int, int]) -> Array:
            sums = np.zeros(count)
            kernel(self.indptr, self.indices, self.squares, *args, sums, *part)
            return sums

        return np.asarray(sum(thread_pool.run(work, self._parts)))

    def value(self, tension: Array, rho: float, Y: Array) -> tuple[float, Array]:
        """Return f and its gradient."""
        from . import mvu_descent_loops as kernels

        G = np.empty_like(Y)
        size, force = self._over(kernels.pull, 2, tension, rho, Y, G)
        G -= G.mean(axis=0)
        return float(-size / 2 + force / (8 * rho)), G

    def step(self, tension: Array, rho: float, Y: Array, D: Array) -> tuple[float, float]:
        """Return the h that minimises f(Y + hD) among those above 0, and by how much f falls; 0 if it does not."""
        from . import mvu_descent_loops as kernels

        product, size, *force = self._over(kernels.along, 6, tension, rho, Y, D)
        powers = np.array([0.0, -product, -size / 2, 0.0, 0.0]) + np.array([0.0, *force]) / (8 * rho)
        largest = float(np.abs(powers).max())
        if not largest > 0:
            return 0.0, 0.0
        f = np.polynomial.Polynomial(powers / largest)
        roots = f.deriv().roots()
        h = roots[np.abs(roots.imag) <= 1e-8 * np.abs(roots)].real
        h = h[h > 0]
        if not len(h):
            return 0.0, 0.0
        best = float(h[np.argmin(f(h))])
        return best, max(0.0, -float(f(best)) * largest)

    def tighten(self, tension: Array, rho: float, Y: Array) -> tuple[float, float]:
        """Renew the tensions; return the RMS error of lengths relative to their RMS, and Σtd² over all rods."""
        from . import mvu_descent_loops as kernels

        error, size, work = self._over(kernels.tighten, 3, tension, rho, Y)
        return float(np.sqrt(error / size)), float(work) / 2

    def error(self, Y: Array) -> float:
        """Return the RMS error of the rods' lengths, relative to their RMS."""
        return self.tighten(np.zeros(len(self.squares)), 0.0, Y)[0]

    def median_error(self, Y: Array) -> float:
        """Return the median of the rods' errors, each relative to its own length: long rods do not hide short ones."""
        from . import mvu_descent_loops as kernels

        errors = np.empty(len(self.squares))
        self._over(kernels.misses, 1, Y, errors)
        return float(np.median(errors))

    def edges(self) -> tuple[Array, Array, Array]:
        """Return both ends of each rod and its squared length, each rod once."""
        sources = np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))
        once = sources < self.indices
        return sources[once], self.indices[once], self.squares[once]

    def laplacian(self) -> Any:
        """Return the graph's Laplacian, all weights 1."""
        W = sp.csr_array((np.ones(len(self.indices)), self.indices.copy(), self.indptr), shape=(self.n, self.n))
        W.sort_indices()
        return sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W)


@dataclass(frozen=True)
class Unfolded:
    """Points whose rods balance, up to ``error`` (RMS of lengths, relative) and ``imbalance``.

    That is the gap |Σtd² − Σ|y|²| between dual and primal over the larger of both: 0 at the end, near 1 where tensions
    are still far too large, above 1 where Σtd² < 0, which bounds no variance.
    ``stuck``: rounds ended because neither got better, as where no points have such lengths.
    """

    points: Array
    error: float
    imbalance: float
    steps: int
    solver: str
    stuck: bool


@thread_pool.one_blas_thread()
def unfold(rods: Rods, Y: Array, *, steps: int, tolerance: float) -> Unfolded:
    """Move points, given near an unfolding, to one: rounds end when error and imbalance are within the tolerance.

    Where both no longer fall, the points of least error so far are returned.
    Y is taken in the units of the rods, whose mean square is 1; so are the points returned.
    """
    Y = np.ascontiguousarray(Y - Y.mean(axis=0))
    weight = float((Y * Y).sum()) / rods.total  # mean tension: Σtd² = Σ|y|² at the end
    solve, solver = _preconditioner(rods, weight)
    tension, rho = np.zeros(len(rods.squares)), weight / _SOFT
    stiffest, done, last, lowest, waited = _STIFF * rho, 0, np.inf, [np.inf, np.inf], 0
    now = best = Unfolded(Y, np.inf, np.inf, 0, solver, False)
    while done < steps:
        Y, used, still = _settle(rods, tension, rho, Y, solve, done, steps)
        done += used
        error, work = rods.tighten(tension, rho, Y)
        size = float((Y * Y).sum())
        now = Unfolded(Y, error, abs(work - size) / max(abs(work), size), done, solver, False)
        if max(now.error, now.imbalance) <= tolerance or used == 0:
            return now
        best = min(now, best, key=lambda u: u.error)
        waited += 1
        for which, value in enumerate((now.error, abs(work / size - 1))):
            if value <= _BETTER * lowest[which]:
                lowest[which], waited = value, 0
        if waited == _PATIENCE:
            return replace(best, steps=done, stuck=True)
        if still and error > last / 2:
            rho = min(4 * rho, stiffest)  # the round was finished, so it is the tensions that come too slowly
        last = error
    return now


def _preconditioner(rods: Rods, weight: float) -> tuple[Callable[[Array], Array], str]:
    """Return V ↦ (wL + gI)⁻¹V between centred points, and the name of the factor."""
    from ...spectral.factor import Cholesky, SuperLU

    A = weight * (rods.laplacian() + _GROUND * sp.eye_array(rods.n, format="csr"))
    factor = SuperLU(A) if rods.n <= _LU_LIMIT else Cholesky(A)

    def solve(V: Array) -> Array:
        out = np.ascontiguousarray(factor.solve(V))
        out -= out.mean(axis=0)
        return out

    return solve, factor.name


def _settle(
    rods: Rods, tension: Array, rho: float, Y: Array, solve: Callable[[Array], Array], done: int, steps: int
) -> tuple[Array, int, bool]:
    """Minimise f for these tensions by L-BFGS; return the points, the steps made, and whether f came to rest."""
    memory: list[tuple[Array, Array, float]] = []
    f, G = rods.value(tension, rho, Y)
    limit = min(int(_ROUND * max(1.0, rods.n / _LARGE) ** 0.3), steps - done)
    for step in range(limit):
        D = -_quasi_newton(G, memory, solve)
        if np.vdot(D, G) >= 0:  # rounding has spoilt the memory
            memory.clear()
            D = -solve(G)
        h, gain = rods.step(tension, rho, Y, D)
        if h == 0:
            return Y, step, True
        D *= h
        Y = Y + D
        f, new = rods.value(tension, rho, Y)
        change = new - G
        curvature = float(np.vdot(D, change))
        if curvature > 0:
            memory.append((D, change, 1 / curvature))
            del memory[:-_MEMORY]
        G = new
        settings.report_progress("unfolding", done + step + 1, steps)
        if gain <= _STILL * abs(f):
            return Y, step + 1, True
    return Y, limit, False


def _quasi_newton(G: Array, memory: list[tuple[Array, Array, float]], solve: Callable[[Array], Array]) -> Array:
    """Return the inverse Hessian times G, as the last steps tell it (two-loop recursion, Nocedal 1980)."""
    # Not shared with stress and ICA: this one multiplies by 1/sᵀy, which rounds otherwise than their division.
    q, shares = G.copy(), []
    for s, y, inverse in reversed(memory):
        shares.append(inverse * np.vdot(s, q))
        q -= shares[-1] * y
    q = solve(q)
    for (s, y, inverse), share in zip(memory, reversed(shares), strict=True):
        q += (share - inverse * np.vdot(y, q)) * s
    return q
