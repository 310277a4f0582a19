"""Procrustes alignment of two configurations of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError
from . import dense

Array = Any


@dataclass(frozen=True)
class Alignment:
    """The similarity transform of A that is closest to B: scale · A rotation + shift.

    ``error`` is the relative residual √(Σ‖b − b̂‖² / Σ‖b − b̄‖²): 0 for the same shape, 1 for unrelated points.
    """

    rotation: Array
    scale: float
    shift: Array
    error: float

    def __call__(self, A: Array) -> Array:
        """Return A aligned to B."""
        return self.scale * (np.asarray(A) @ self.rotation) + self.shift


def procrustes(A: Array, B: Array, *, scale: bool = True, reflection: bool = True) -> Alignment:
    """Return the rotation, scale and shift that align the points A to the points B (Schönemann 1966).

    (A − ā)ᵀ(B − b̄) = UΣVᵀ;  rotation UVᵀ;  scale ΣΣ/‖A − ā‖².

    Parameters
    ----------
    A, B : array
        Points in the same order, N × k each.
    scale : bool
        Whether A may be scaled.
    reflection : bool
        Whether A may be reflected.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> found = procrustes(A, 3 * A @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5)
    >>> round(found.scale, 12), found.error < 1e-12
    (3.0, True)
    """
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if A.shape != B.shape or A.ndim != 2:
        raise DataError(f"Procrustes needs two configurations of the same shape; got {A.shape} and {B.shape}")
    a, b = A.mean(axis=0), B.mean(axis=0)
    size_a, size_b = float(((A - a) ** 2).sum()), float(((B - b) ** 2).sum())
    if not (size_a > 0 and size_b > 0):
        raise DataError("Procrustes needs distinct points: all points of a configuration are equal")
    U, s, V = dense.svd((A - a).T @ (B - b))
    signs = np.ones(len(s))
    if not reflection and np.linalg.det(U @ V.T) < 0:
        signs[-1] = -1.0
    R = (U * signs) @ V.T
    c = float((s * signs).sum()) / size_a if scale else 1.0
    left = B - b - c * (A - a) @ R
    return Alignment(R, c, b - c * a @ R, float(np.sqrt((left**2).sum() / size_b)))
