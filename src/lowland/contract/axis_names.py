"""Names of a fitted model's method and of its axes, for figures and reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import registry


def method_title(model: Any) -> str:
    """Return the title of a model's method, or the class name if it is not registered."""
    name = type(model).__name__
    return next((row.title for row in registry.methods() if row.class_name == name), name)


def shares_of(model: Any) -> np.ndarray[Any, Any] | None:
    """Return the share of variance of each kept component, or None if the method has none."""
    shares = getattr(model, "explained_variance_ratio_", None)
    return None if shares is None else np.asarray(shares, dtype=np.float64)


def has_meaningful_axes(model: Any) -> bool:
    """Return whether the numbers on the axes mean something: those of linear methods do, those of other maps do not."""
    return shares_of(model) is not None or hasattr(model, "components_")


def axis_labels(model: Any, *, shares: bool = True) -> list[str]:
    """Name the axes, counted from 1, with their shares of variance where known.

    >>> import lowland
    >>> axis_labels(lowland.PCA(n_components=1).fit([[0.0, 0.0], [2.0, 1.0]]))
    ['PCA 1 (100.0 %)']
    """
    title = method_title(model)
    names = [f"{title} {number + 1}" for number in range(len(model.get_feature_names_out()))]
    known = shares_of(model) if shares else None
    if known is None:
        return names
    return [f"{name} ({100 * share:.1f} %)" for name, share in zip(names, known, strict=True)]
