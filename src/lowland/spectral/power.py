"""Power iteration with deflation.

v ← Av/‖Av‖ converges to the eigenvector of the largest eigenvalue at the rate λ₂/λ₁; keeping v orthogonal to the
vectors already found gives the next one. For teaching and for few, well separated components; `krylov` needs far fewer
products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arrays
from ..core.message import Message, Setting
from ..core.settings import report_progress
from . import dense
from .krylov import KrylovResult
from .operators import Operator

Array = Any


def power(A: Operator, k: int, *, tol: float, rng: np.random.Generator, max_iter: int = 20_000) -> KrylovResult:
    """Return the k largest eigenpairs of a positive semidefinite operator, component by component."""
    if not A.psd:
        raise ValueError(
            "power iteration needs a positive semidefinite operator: it could converge to a negative eigenvalue"
        )
    n, xp = A.shape[0], arrays.namespace(A.reference())
    Q = arrays.like(np.zeros((n, 0)), A.reference(), np.float64) if A.null is None else A.null
    known = Q.shape[1]
    values: list[float] = []
    products, norm, converged = 0, 0.0, True
    for component in range(k):
        v, value = _deflate(A.randn(n, 1, rng), Q), 0.0
        v = v / xp.linalg.vector_norm(v)
        for _ in range(max_iter):
            w = _deflate(A.matmul(v), Q)
            products += 1
            report_progress("power", component, k)
            value = float(xp.sum(v * w))
            norm = max(norm, value)
            residual = float(xp.linalg.vector_norm(w - value * v))
            length = float(xp.linalg.vector_norm(w))
            if length <= np.finfo(float).eps * norm * n:  # the rest is zero: use any direction
                value = max(value, 0.0)
                break
            if residual <= tol * norm:
                break
            v = w / length
        else:
            converged = False
        values.append(value)
        Q = xp.concat([Q, v], axis=1)
        report_progress("power", component + 1, k)
    order = np.argsort(values, kind="stable")[::-1]
    vectors = arrays.like(arrays.to_numpy(Q)[:, known:][:, order], A.reference(), np.float64)
    return KrylovResult(
        None,
        arrays.like(np.asarray(values)[order], A.reference(), np.float64),
        vectors,
        products,
        converged,
        norm,
    )


def _deflate(v: Array, Q: Array) -> Array:
    for _ in range(2):
        v = v - Q @ (arrays.t(Q) @ v)
    return v


@dataclass(frozen=True, eq=False)
class PowerPath:
    """Successive vectors of power iteration, (steps + 1, D), and their angles in degrees to the first eigenvector.

    ``eigenvalues`` and ``first`` are those of the matrix, by LAPACK, in descending order.
    """

    vectors: Array
    angles: Array
    eigenvalues: Array
    first: Array

    @property
    def rate(self) -> float:
        """λ₂/λ₁, the factor by which the tangent of the angle shrinks in a step, at least in the end."""
        return float(self.eigenvalues[1] / self.eigenvalues[0]) if len(self.eigenvalues) > 1 else 0.0


def power_path(C: Any, start: Any = None, steps: int = 8) -> PowerPath:
    """Return the successive unit vectors v, Cv/‖Cv‖, C²v/‖C²v‖, … of a small matrix, for teaching.

    Parameters
    ----------
    C : (D, D) symmetric matrix without negative eigenvalues.
    start : vector of D numbers; default: 80 degrees from the first eigenvector, towards the second.
    steps : number of multiplications.

    Examples
    --------
    >>> path = power_path([[2.0, 0.0], [0.0, 1.0]], [1.0, 1.0], 2)
    >>> path.vectors.round(3).tolist(), path.angles.round(1).tolist()
    ([[0.707, 0.707], [0.894, 0.447], [0.97, 0.243]], [45.0, 26.6, 14.0])
    """
    C = np.asarray(C, dtype=np.float64)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not np.isfinite(C).all() or not np.allclose(C, C.T):
        raise ValueError(f"power iteration needs a symmetric matrix of finite numbers; got shape {C.shape}")
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise ValueError(Message(Setting("steps"), f" must be a whole number of at least 1; got {steps!r}"))
    ascending, columns = dense.eigh(C)
    values, vectors = ascending[::-1], columns[:, ::-1].T
    if values[-1] < -1e-10 * abs(values[0]) or values[0] <= 0:
        raise ValueError("power iteration needs a positive semidefinite matrix, such as a covariance matrix")
    if start is None:
        tilt = np.deg2rad(80.0)
        start = vectors[0] if len(C) == 1 else np.cos(tilt) * vectors[0] + np.sin(tilt) * vectors[1]
    v = np.asarray(start, dtype=np.float64)
    if v.shape != (len(C),) or not np.linalg.norm(v) > 0:
        raise ValueError(
            Message(Setting("start"), f" must be a vector of {len(C)} numbers, not all zero; got shape {v.shape}")
        )
    path = [v / np.linalg.norm(v)]
    for _ in range(steps):
        w = C @ path[-1]
        if not np.linalg.norm(w) > 0:
            raise ValueError("the start is orthogonal to all directions that vary (Cv = 0); choose another one")
        path.append(w / np.linalg.norm(w))
    first = vectors[0] if path[-1] @ vectors[0] >= 0 else -vectors[0]
    along = np.array(path) @ first
    across = np.linalg.norm(np.array(path) - np.outer(along, first), axis=1)
    return PowerPath(np.array(path), np.rad2deg(np.arctan2(across, np.abs(along))), values, first)
