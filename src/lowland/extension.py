"""How new points join a map: by their squared distances to points whose coordinates are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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

    def place(self, D: Array) -> Array:
        """Return the coordinates of rows of distances to the anchors."""
        return (self.origin - squared(D, self.kind, self.constant)) @ self.map + self.shift

    def turned(self, rotation: Array, center: Array) -> Triangulation:
        """Return the map followed by y ↦ (y − center) R."""
        return Triangulation(
            self.map @ rotation, self.origin, (self.shift - center) @ rotation, self.kind, self.constant
        )


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
