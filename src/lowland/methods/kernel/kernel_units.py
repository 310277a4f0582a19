"""Units of what kernel PCA learns: powers of the rows' unit, by the kernel of the fit."""

from __future__ import annotations

from typing import Any

from ...rows.units import Power, Units
from ..shared.pair_units import of_anchors

_KERNEL_DEGREES = {"linear": 2, "precomputed": 1}  # other kernels have values without a unit
_GAMMA_DEGREES = {"rbf": -2, "laplacian": -1, "poly": -2, "sigmoid": -2}


def scales(model: Any) -> bool:
    """Return whether scaling the rows scales the kernel: γ must follow the rows, as a learned one does."""
    if not isinstance(model.kernel, str):
        return False
    free = model.kernel in ("linear", "cosine", "precomputed")
    return free or (model.kernel in _GAMMA_DEGREES and isinstance(model.gamma, str))


def _degree(model: Any) -> Power:
    return _KERNEL_DEGREES.get(model.kernel_["name"], 0)


def _root(model: Any) -> Power:
    """Return the power of coordinates, whose squares are values of the kernel."""
    return _degree(model) / 2


def _gamma(model: Any) -> Power:
    return _GAMMA_DEGREES.get(model.kernel_["name"], 0)


KERNEL_UNITS: Units = {
    **dict.fromkeys(("eigenvalues_", "spectrum_", "kernel_mean_", "feature_space_error"), _degree),
    **dict.fromkeys(("least eigenvalue", "least eigenvalue of the landmarks"), _degree),
    **dict.fromkeys(("embedding_", "transform", "distance_error"), _root),
    **dict.fromkeys(("gamma_", "gamma"), _gamma),
    **dict.fromkeys(("shift_", "inverse_transform"), 1),
    "anchors_": of_anchors,
    "dual_": lambda model: -_root(model),
    "score": 2,
}
