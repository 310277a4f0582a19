"""Sums over a whole spectrum without computing it: stochastic Lanczos quadrature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import arrays
from . import dense
from .operators import Dense, Operator
from .solve import Pairs

Array = Any

_PROBES, _STEPS = 8, 12


class AbsoluteTrace(NamedTuple):
    """Σ|λ| over the whole spectrum, its standard error, and the smallest eigenvalue."""

    value: float
    error: float
    least: float


def absolute_trace(A: Operator, pairs: Pairs, rng: np.random.Generator) -> AbsoluteTrace:
    """Estimate Σ|λ| of a symmetric operator of which some eigenpairs are known.

    Known values are summed. The rest is averaged over random directions: a few Lanczos steps turn vᵀ|A|v into a
    quadrature whose nodes are Ritz values (Ubaru, Chen, Saad 2017). A Krylov solve without a restart also began from
    random directions and approximates the large values of both ends: its projection is then used, without further
    products. ``error`` combines the standard error over the directions with the change in the second half of the
    steps.

    >>> import numpy as np
    >>> from lowland.spectral import Dense, eigen
    >>> A = Dense(np.diag([5.0, -1.0, 1.0, -1.0]), symmetric=True)
    >>> found = absolute_trace(A, eigen(A, 1), np.random.default_rng(0))
    >>> round(found.value, 6), round(found.least, 6)
    (8.0, -1.0)
    """
    if pairs.ritz is not None:
        T, b, Q, values = pairs.ritz.T, pairs.ritz.block, pairs.ritz.vectors, pairs.ritz.values
        small: Operator = Dense(T, symmetric=True, check=False)
        start, steps, known = np.eye(len(T), b), pairs.ritz.steps, Q.shape[1]
    else:
        V, values = arrays.to_numpy(pairs.vectors), arrays.to_numpy(pairs.values)
        Q = V if A.null is None else np.concatenate([arrays.to_numpy(A.null), V], axis=1)
        small, start = A, rng.standard_normal((A.shape[0], _PROBES))
        steps, known = _STEPS, V.shape[1]
    total, least = float(np.abs(values).sum()), float(values.min(initial=0.0))
    free = A.shape[0] - known - (0 if A.null is None else A.null.shape[1])
    if free < 1:
        return AbsoluteTrace(total, 0.0, least)
    start = start - Q @ (Q.T @ start)
    alphas, betas = _lanczos(small, start / np.linalg.norm(start, axis=0), Q, min(steps, free))
    whole, half = (free * _quadrature(alphas, betas, m) for m in (len(alphas), max(1, len(alphas) // 2)))
    spread = float(whole.std(ddof=1) / np.sqrt(len(whole)))
    change = float(whole.mean() - half.mean())
    nodes = dense.eigh(_tridiagonal(alphas, betas, len(alphas), 0))[0]
    return AbsoluteTrace(total + float(whole.mean()), float(np.hypot(spread, change)), min(least, float(nodes[0])))


def _tridiagonal(alphas: Array, betas: Array, m: int, j: int) -> Array:
    off = betas[: m - 1, j]
    return np.diag(alphas[:m, j]) + np.diag(off, 1) + np.diag(off, -1)


def _quadrature(alphas: Array, betas: Array, m: int) -> Array:
    """Return Σ|node|·weight of each column's first m steps."""
    out = np.empty(alphas.shape[1])
    for j in range(len(out)):
        nodes, vectors = dense.eigh(_tridiagonal(alphas, betas, m, j))
        out[j] = np.abs(nodes) @ vectors[0] ** 2
    return out


def _lanczos(A: Operator, V: Array, Q: Array, steps: int) -> tuple[Array, Array]:
    """Run one three-term recurrence per column, orthogonal to Q, and return its coefficients (steps × columns)."""
    alphas, betas = np.zeros((steps, V.shape[1])), np.zeros((steps, V.shape[1]))
    before, last = np.zeros_like(V), np.zeros(V.shape[1])
    for i in range(steps):
        W = arrays.to_numpy(A.matmul(arrays.like(V, A.reference(), np.float64)))
        W = W - Q @ (Q.T @ W)
        alphas[i] = (V * W).sum(axis=0)
        W = W - V * alphas[i] - before * last
        last = np.linalg.norm(W, axis=0)
        last[last < 1e-10 * max(float(np.abs(alphas).max()), float(betas.max()))] = 0.0  # the Krylov space is exhausted
        betas[i] = last
        before, V = V, np.divide(W, last, out=np.zeros_like(W), where=last > 0)
    return alphas, betas
