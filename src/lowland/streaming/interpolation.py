"""Places of new rows by interpolation: a weighted mean of the places of the nearest training rows.

t-SNE and UMAP move each new row in the field of all training points, which takes milliseconds. Their maps keep
neighbours together, so the places of a row's neighbours tell its own. The weights are 1/d², which give a training row
its own place. How far these places are from those of `transform` is measured on a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contract.reducer import Reducer
from ..core.errors import DataError
from ..core.message import Message, Setting
from ..methods.shared.placing import NewRows, points_of
from ..rows import units

Array = Any

_NEIGHBORS = 5


def interpolator(model: Reducer) -> Callable[[Array], Array]:
    """Return the row map that interpolates, in the unit of the fit."""
    if not hasattr(model, "pieces_") or not hasattr(model, "anchors_"):
        raise DataError(
            Message(
                f"{type(model).__name__} keeps no training rows with their places, so rows cannot be placed by "
                "interpolation; use ",
                Setting("placement", "transform"),
            )
        )
    view = units.fit_view(model)
    new, points = NewRows(view), points_of(view.pieces_, view.n_components_)
    search, k = new.metric.query(new.anchors), min(_NEIGHBORS, len(points))

    def place(block: Array) -> Array:
        neighbors, distances = search(block, k)
        weights = weights_of(distances)
        return np.einsum("ij,ijk->ik", weights, points[neighbors])

    return new.alike(place)


def weights_of(distances: Array) -> Array:
    """Return weights 1/d² with sum 1; where a distance is zero, its row has all of the weight.

    >>> weights_of(np.array([[1.0, 2.0], [0.0, 3.0], [0.0, 0.0]])).round(3).tolist()
    [[0.8, 0.2], [1.0, 0.0], [1.0, 0.0]]
    """
    nearest = distances[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = (nearest / distances) ** 2  # at most 1, whatever the unit; infinite distances count nothing
    weights[nearest[:, 0] == 0] = np.eye(1, distances.shape[1])[0]
    return weights / weights.sum(axis=1, keepdims=True)
