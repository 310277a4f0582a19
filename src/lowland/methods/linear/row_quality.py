"""How well principal components show each row: shares of the variance, and squared cosines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import arrays
from ...rows.units import scaled_back

Array = Any


@scaled_back("contributions")
def contributions(model: Any, X: Any) -> Array:
    """Return each row's share of each component's variance, y²/((N − ddof) λ): 1 in sum over the training rows."""
    degrees_of_freedom = model.singular_values_**2 / model.explained_variance_
    return _coordinates(model, X) ** 2 / (model.explained_variance_ * degrees_of_freedom)


@scaled_back("cos2")
def cos2(model: Any, X: Any) -> Array:
    """Return how well each component shows each row: y²/‖x − m‖², between 0 and 1; 0 for a row at the mean."""
    Y, scale = _coordinates(model, X), 1.0 if model.scale_ is None else model.scale_

    def squares(block: Array) -> Array:
        B = block.toarray() if hasattr(block, "toarray") else arrays.to_numpy(block)
        return (((B.astype(np.float64) - model.mean_) / scale) ** 2).sum(axis=1, keepdims=True)

    length = arrays.to_numpy(model._rows(X, reset=False).map_blocks(squares, 1)).astype(np.float64)
    return np.divide(Y**2, length, out=np.zeros_like(Y), where=length > 0)


def _coordinates(model: Any, X: Any) -> Array:
    """Return coordinates in float64 with their variances, whitened or not."""
    Y = arrays.to_numpy(model.transform(X)).astype(np.float64)
    return Y * np.sqrt(model.explained_variance_) if model.whiten else Y
