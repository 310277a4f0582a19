"""How right a fit is: a reference answer for each kind of case, and the errors of a result against it.

``value_error`` is what a target allows or not; ``vector_error`` is shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import eigsh, svds
from scipy.spatial.distance import pdist

Arrays = dict[str, np.ndarray]
Errors = dict[str, float]
SEED = 20_240_602


@dataclass(frozen=True)
class Judge:
    """``reference`` answers the case by a slow and sure way, ``errors`` compares a result with that answer."""

    reference: Callable[[Any, int], Arrays]
    errors: Callable[[Any, Any, Mapping[str, np.ndarray]], Errors]


def principal(X: np.ndarray, k: int) -> Arrays:
    """Return variances and axes by LAPACK on the float64 covariance, or the Gram matrix if it is smaller."""
    rows, columns = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    if rows < columns:
        centred = X.astype(np.float64) - mean
        values, U = scipy.linalg.eigh(centred @ centred.T, subset_by_index=(rows - k, rows - 1))
        return {"values": values[::-1] / (rows - 1), "vectors": np.linalg.qr(centred.T @ U[:, ::-1])[0].T}
    C = np.zeros((columns, columns))
    for start in range(0, rows, 50_000):
        block = X[start : start + 50_000].astype(np.float64) - mean
        C += block.T @ block
    values, V = scipy.linalg.eigh(C / (rows - 1), subset_by_index=(columns - k, columns - 1))
    return {"values": values[::-1], "vectors": V[:, ::-1].T}


def singular(X: Any, k: int) -> Arrays:
    """Return singular values and right vectors by ARPACK, to full precision."""
    start = np.random.default_rng(SEED).standard_normal(min(X.shape))
    _, values, vectors = svds(X, k=k, tol=0, v0=start)
    return {"values": values[::-1], "vectors": vectors[::-1]}


def relative(found: Any, values: np.ndarray) -> float:
    found = np.asarray(found, np.float64)
    if found.shape != values.shape:
        raise ValueError(f"{len(found)} components came back, {len(values)} were asked for")
    return float(np.max(np.abs(found - values) / values))


def angle(W: np.ndarray, V: np.ndarray) -> float:
    """Return the sine of the largest angle between two subspaces, each the columns of a matrix."""
    Q = np.linalg.qr(np.asarray(W, np.float64))[0]
    return float(np.linalg.norm(Q - V @ (V.T @ Q), 2))


def principal_errors(model: Any, X: Any, stored: Mapping[str, np.ndarray]) -> Errors:
    """Variances, and the angle between the axes and those of the reference."""
    return {
        "value_error": relative(model.explained_variance_, stored["values"]),
        "vector_error": angle(model.components_.T, stored["vectors"].T),
    }


def singular_errors(model: Any, X: Any, stored: Mapping[str, np.ndarray]) -> Errors:
    """Singular values, and the largest ‖Xᵀu − σv‖/σ₁ with u = Xv/‖Xv‖: close values leave the subspace open."""
    W = np.asarray(model.components_, np.float64).T
    U = X @ W
    R = X.T @ (U / np.linalg.norm(U, axis=0)) - W * model.singular_values_
    return {
        "value_error": relative(model.singular_values_, stored["values"]),
        "vector_error": float(np.linalg.norm(R, axis=0).max() / stored["values"][0]),
    }


def width(X: np.ndarray) -> float:
    """Return the γ that every contender is given: 1/(D · variance)."""
    return float(1 / (X.shape[1] * X.var()))


def centred(K: np.ndarray) -> np.ndarray:
    mean = K.mean(axis=0)
    K -= mean
    K -= mean[:, None]
    K += mean.mean()
    return K


def largest(B: np.ndarray, k: int) -> Arrays:
    start = np.random.default_rng(SEED).standard_normal(len(B))
    values, vectors = eigsh(B, k=k, which="LA", tol=0, v0=start)
    return {"values": values[::-1], "vectors": vectors[:, ::-1].T}


def kernel(X: np.ndarray, k: int) -> Arrays:
    """Return the eigenpairs of the centred Gaussian kernel by ARPACK, to full precision."""
    from sklearn.metrics.pairwise import rbf_kernel

    return largest(centred(rbf_kernel(X, gamma=width(X))), k)


def scaling(D: np.ndarray, k: int) -> Arrays:
    """Return the eigenpairs of −½ J Δ² J by ARPACK, to full precision."""
    return largest(centred(-0.5 * D**2), k)


def embedding_errors(model: Any, X: Any, stored: Mapping[str, np.ndarray]) -> Errors:
    """Eigenvalues as squared lengths of the coordinates, and the angle between the maps."""
    Y = np.asarray(model.embedding_, np.float64)
    return {
        "value_error": relative((Y * Y).sum(axis=0), stored["values"]),
        "vector_error": angle(Y, stored["vectors"].T),
    }


def nothing(X: Any, k: int) -> Arrays:
    return {"values": np.zeros(0)}


def inverse_errors(model: Any, X: Any, stored: Mapping[str, np.ndarray]) -> Errors:
    """How far rows that were not trained on come back: mean squared pre-image error over their variance."""
    from .datasets import correlated

    new = correlated(len(X) + 500, X.shape[1], "float64")[len(X) :]
    back = model.inverse_transform(model.transform(new))
    error = float(((back - new) ** 2).mean() / X.var(axis=0).mean())
    return {"value_error": error, "vector_error": error}


def stress_errors(model: Any, X: np.ndarray, stored: Mapping[str, np.ndarray]) -> Errors:
    """Stress-1 of the map: √(Σ(d − δ)²/Σδ²)."""
    delta, d = pdist(X), pdist(np.asarray(model.embedding_, np.float64))
    stress = float(np.sqrt(((d - delta) ** 2).sum() / (delta**2).sum()))
    return {"value_error": stress, "vector_error": stress}


PRINCIPAL = Judge(principal, principal_errors)
SINGULAR = Judge(singular, singular_errors)
KERNEL = Judge(kernel, embedding_errors)
SCALING = Judge(scaling, embedding_errors)
INVERSE = Judge(nothing, inverse_errors)
STRESS = Judge(nothing, stress_errors)
