"""How new points join a map: by their squared distances to points whose coordinates are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import arrays
from ...core.cost import check_allocation
from ...spectral import dense
from ...spectral.distance import Scaled, cailliez, lingoes, scale
from ...spectral.procrustes import procrustes
from .landmarks import memory_remedy

Array = Any


@dataclass(frozen=True)
class Triangulation:
    """y = (origin − δ²) M + shift, with the distances made Euclidean first where ``kind`` says so.

    For anchors with B = −½ J Δ² J = V Λ Vᵀ: M = ½ V Λ^(−½), origin = the mean squared distances of the anchors; an
    anchor is mapped to its own coordinates V Λ^½ (Gower 1968; de Silva & Tenenbaum 2004).
    """

    map: Array
    origin: Array
    shift: Array
    kind: str | None = None
    constant: float = 0.0

    @classmethod
    def of(cls, anchors: Scaled, kind: str | None = None, constant: float = 0.0) -> Triangulation:
        """Return what places points by their distances to anchors that were scaled."""
        size = anchors.vectors / (2 * np.sqrt(anchors.values))
        return cls(size, anchors.B.mean_squares, np.zeros(anchors.rank), kind, constant)

    def place(self, D: Array) -> Array:
        """Return the coordinates of rows of distances to the anchors."""
        return (self.origin - squared(D, self.kind, self.constant)) @ self.map + self.shift

    def turned(self, rotation: Array, center: Array) -> Triangulation:
        """Return the map followed by y ↦ (y − center) R."""
        return Triangulation(
            self.map @ rotation, self.origin, (self.shift - center) @ rotation, self.kind, self.constant
        )


def scale_anchors(
    D: Array, k: int, additive: str | None, eps: float, rng: np.random.Generator
) -> tuple[Scaled, Triangulation]:
    """Scale anchors by their distances, made Euclidean first if ``additive`` says how; return also what places others.

    ``eps`` is the precision of the metric.
    """
    constant, eps = 0.0, max(eps, float(np.finfo(arrays.dtype_of(D)).eps))
    if additive is not None:
        constant = cailliez(D, eps) if additive == "cailliez" else lingoes(D, rng)
        check_allocation(8 * len(D) ** 2, "corrected distances", memory_remedy(len(D), None))
        D = np.sqrt(squared(arrays.to_numpy(D), additive, constant))
    anchors = scale(D, k, eps, rng)
    return anchors, Triangulation.of(anchors, additive, constant)


def to_principal_axes(Y: Array, placement: Triangulation) -> tuple[Array, Array, Triangulation]:
    """Centre a map and turn it to its principal axes; return it, its sums of squares, and what places others on it."""
    center = Y.mean(axis=0)
    values, R = dense.eigh((Y - center).T @ (Y - center))
    R = R[:, ::-1]
    return (Y - center) @ R, values[::-1].copy(), placement.turned(R, center)


def disagreement(one: Array, other: Array, *, scale: bool) -> float:
    """Return the error of either of two independent maps of the same points: how far they lie apart, over √2."""
    k = max(one.shape[1], other.shape[1])
    one, other = (np.pad(Y, ((0, 0), (0, k - Y.shape[1]))) for Y in (one, other))
    if not (np.ptp(one, axis=0).any() and np.ptp(other, axis=0).any()):  # maps of equal points cannot be compared
        return 1.0
    return procrustes(one, other, scale=scale).error / 2**0.5


def squared(D: Array, kind: str | None = None, constant: float = 0.0) -> Array:
    """Return squared distances, of different objects made Euclidean by an additive constant.

    >>> D = np.array([0.0, 3.0])
    >>> squared(D, "cailliez", 1.0).tolist(), squared(D, "lingoes", 1.0).tolist()
    ([0.0, 16.0], [0.0, 11.0])
    """
    D = np.asarray(D, dtype=np.float64)
    if kind is None:
        return D * D
    changed = (D + constant) ** 2 if kind == "cailliez" else D * D + 2 * constant
    return np.where(D > 0, changed, 0.0)
