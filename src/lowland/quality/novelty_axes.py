"""The principal axes of a fitted method, for T² and SPE; and the rows before a method that comes before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..contract.reducer import Reducer
from ..core import arrays
from .limits import hotelling
from .robust_pca import RobustAxes
from .training_tails import t2_limit, tails_of

Array = Any

_LEAST_RESIDUAL_ROWS = 10  # rows minus components: with fewer, limits of SPE are off by a factor of several
_FAR = 4.0  # times the limit of T², twice the distance: not merely rare
_FAR_SHARE = 0.001  # of normal rows beyond the limit
_ORTHONORMAL = 1e-4  # largest deviation from orthonormality; float32 leaves less


def axes_of(model: Reducer) -> RobustAxes | str:
    """Return the principal axes of a model, with variances for the divisor n − 1; or why it has none."""
    name = type(model).__name__
    if hasattr(model, "coded"):
        return _famd_axes(model)
    wanted = ("components_", "mean_", "explained_variance_", "spectrum_", "total_variance_", "n_samples_")
    if not all(hasattr(model, attribute) for attribute in wanted):
        return f"{name} has no principal axes with variances"
    if not getattr(model, "center", True):
        return f"{name} was fitted without centring, so its variances are not about the mean"
    fitted: Any = model
    V = np.asarray(fitted.components_, dtype=np.float64).T
    if np.abs(V.T @ V - np.eye(V.shape[1])).max() > _ORTHONORMAL:
        return f"the components of {name} are not orthogonal"
    n, k = int(fitted.n_samples_), V.shape[1]
    if n < k + 3:
        return f"{name} was fitted on {n} rows, too few for limits of {k} components"
    values = np.asarray(fitted.explained_variance_, dtype=np.float64)
    single = getattr(fitted, "singular_values_", None)
    # the divisor of the model's variances
    divisor = n if single is None else float(np.median(np.asarray(single) ** 2 / values))
    factor = divisor / (n - 1)
    scale = getattr(fitted, "scale_", None)
    spectrum, total = np.asarray(fitted.spectrum_, dtype=np.float64), float(fitted.total_variance_)
    return RobustAxes(fitted.mean_, scale, V, values * factor, spectrum * factor, total * factor, np.empty(0), n)


def far_coordinates(model: Reducer, Y: Any) -> Array | None:
    """Return which coordinates are far outside the training rows: T² above four times its limit; None if unknown."""
    axes = axes_of(model)
    if isinstance(axes, str):
        return None
    variances = np.ones(axes.k) if getattr(model, "whiten", False) else np.maximum(axes.variances, np.finfo(float).tiny)
    t2 = (np.asarray(arrays.to_numpy(Y), dtype=np.float64) ** 2 / variances).sum(axis=1)
    return np.asarray(t2 > _FAR * t2_limit(tails_of(model), axes, hotelling(axes.k, axes.n), _FAR_SHARE))


def _famd_axes(model: Any) -> RobustAxes | str:
    """Return the axes of FAMD among coded rows, whose mean is 0."""
    V, n = np.asarray(model.components_, dtype=np.float64).T, int(model.n_samples_)
    if n < V.shape[1] + 3:
        return f"FAMD was fitted on {n} rows, too few for limits of {V.shape[1]} components"
    factor = n / (n - 1)
    spectrum, total = np.asarray(model.spectrum_, dtype=np.float64) * factor, float(model.total_variance_) * factor
    values = np.asarray(model.eigenvalues_, dtype=np.float64) * factor
    return RobustAxes(np.zeros(len(V)), None, V, values, spectrum, total, np.empty(0), n)


def no_residual(axes: RobustAxes, name: str) -> str | None:
    """Return why SPE is not available, or None."""
    if axes.k == len(axes.mean):
        return f"{name} kept all dimensions, so there is no residual"
    if axes.n - axes.k <= _LEAST_RESIDUAL_ROWS and not axes.flat:
        return f"{name} has {axes.k} components from {axes.n} rows, too few rows to estimate the residual variance"
    return None


def method_before(steps: Sequence[Any], *, with_rows: bool = False) -> Any:
    """Return the last of some fitted steps if it is a method (``pre``) before which new rows can be judged, or None.

    It has principal axes; otherwise the training rows are needed (``with_rows``).
    """
    last = steps[-1] if len(steps) else None
    if not isinstance(last, Reducer) or hasattr(last, "coded"):
        return None
    return last if with_rows or not isinstance(axes_of(last), str) else None


def differences_before(pre: Any, block: Array, items: Array) -> Array:
    """Return the differences of rows before a method and the places before it of coordinates that it made."""
    rows = block.toarray() if sp.issparse(block) else arrays.to_numpy(block)
    between = rows - arrays.to_numpy(pre.inverse_transform(items))
    scale = getattr(pre, "scale_", None)
    return between if scale is None else between / scale
