"""Power iteration with deflation.

v ← Av/‖Av‖ converges to the eigenvector of the largest eigenvalue at the rate λ₂/λ₁; keeping v orthogonal to the
vectors already found gives the next one. For teaching and for few, well separated components; `krylov` needs far fewer
products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import arrays
from ..core.settings import report_progress
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
