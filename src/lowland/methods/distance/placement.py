"""New points among fixed ones: each row is moved until its distances to the anchors fit best.

f(y) = Σ_j w_j (‖y − z_j‖ − t_j)². Majorisation, y ← Σ_j w_j (z_j + t_j (y − z_j)/‖y − z_j‖) / Σ_j w_j, never raises f
(the one-point case of de Leeuw, Heiser 1980); near a minimum Newton's step takes its place, to all digits. f can have
several minima, so a row starts three times: where squared distances put it (triangulation of landmark MDS, de Silva,
Tenenbaum 2004), at its nearest anchor, and across the centre from the better of these; the lowest end counts. A row at
distance 0 from an anchor is that anchor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...spectral import dense

Array = Any


class Placement:
    """Places rows by their distances to anchors at the positions Z (m × k).

    Parameters
    ----------
    Z : array
        Positions of the anchors.
    power : int
        Weights are δ^(−power): 0 for raw stress, 1 for Sammon's, 2 for elastic scaling.
    closest : float
        Distances below it weigh as much as it does.
    curve : callable, optional
        Turns distances into targets; the distances themselves by default.
    """

    def __init__(
        self, Z: Array, power: int = 0, closest: float = 0.0, curve: Callable[[Array], Array] | None = None
    ) -> None:
        Z = np.asarray(Z, dtype=np.float64)
        mean = Z.mean(axis=0)
        U, s, V = dense.svd(Z - mean)
        keep = s > 1e-10 * s[0]
        self._Z = np.ascontiguousarray(Z.T)
        self._P = np.ascontiguousarray(-0.5 * (V[:, keep] / s[keep]) @ U[:, keep].T)
        self._offset = mean
        self._norms = ((Z - mean) ** 2).sum(axis=1)[None, :]
        self._scale = float(np.sqrt((s**2).sum() / len(Z)))
        self._power, self._closest, self._curve = power, closest, curve

    def __call__(self, delta: Array) -> Array:
        """Return the places of rows, given their distances to the anchors (NaN where one is not known)."""
        from .placement_loops import place

        delta = np.ascontiguousarray(delta, dtype=np.float64)
        target = delta.copy() if self._curve is None else np.ascontiguousarray(self._curve(delta))
        out = np.empty((len(delta), len(self._Z)))
        numbers = (self._power, self._scale, self._closest)
        place(self._Z, self._P, self._norms, delta, target, *numbers, self._offset, out)
        if np.isnan(out).any():
            row = int(np.flatnonzero(np.isnan(out).any(axis=1))[0])
            raise DataError(f"row {row} of its block has no known distance to any training object: it cannot be placed")
        return out
