"""Neighbours within a radius instead of a number of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.arrays import to_numpy
from ...core.errors import DataError
from ...core.message import Message, Setting, message
from ...graph.points import Neighborhood, Piece
from ...pairs.distances import DEGREES, learn, metric
from ...rows.object_rows import gather, take
from ...rows.row_source import RowSource

TYPICAL_NEIGHBORS = 10  # assumed for plans that see no rows
_SAMPLE_ROWS, _SAMPLE_OBJECTS = 500, 50  # whose pairs are counted for a plan; a function is slow


def of(model: Any) -> float | None:
    """Return the radius in the unit of the fit; None where neighbours are counted."""
    if (radius := getattr(model, "radius", None)) is None:
        return None
    return float(model._in_unit(float(radius), DEGREES.get(model._input.name(model), 0)))


def require_one(model: Any) -> None:
    """Raise unless exactly one of ``n_neighbors`` and ``radius`` is given."""
    name, both = type(model).__name__, {"n_neighbors": ..., "radius": ...}
    if model.n_neighbors is not None:
        text = f"Both {{n_neighbors}} and {{radius}} are provided. {name} needs one of them: for a radius, use "
        raise DataError(Message(message(text, **both), Setting("n_neighbors", None)))
    if getattr(model, "radius", None) is None:
        raise DataError(message(f"{name}: set {{n_neighbors}} or {{radius}}", **both))


def require_links(model: Any, hood: Neighborhood) -> None:
    """Raise if no two points are within the radius."""
    if not len(hood.graph.indices):
        text = ": no two rows are within {radius} of each other; use a larger one"
        raise DataError(message(type(model).__name__ + text, radius=model.radius))


def require_degrees(model: Any, pieces: list[Piece]) -> None:
    """Raise if points have fewer neighbours within the radius than the method needs."""
    least = model._least_neighbors
    short = sum(int((piece.graph.degrees < least).sum()) for piece in pieces)
    if short:
        count = sum(piece.n for piece in pieces)
        text = (
            f": {short} of {count} points have fewer than {least} neighbours within {{radius}}, which {{n_components}} "
        )
        values = {"radius": model.radius, "n_components": model.n_components}
        raise DataError(message(type(model).__name__ + text + "needs: use a larger radius, or n_neighbors", **values))


def planned_neighbors(model: Any, rows: RowSource | None, n: int) -> int:
    """Return the rough mean number of n rows within the radius, from pairs of a sample."""
    if rows is None:
        return TYPICAL_NEIGHBORS
    radius = of(model)
    if model._pairwise:
        D = gather(rows, sparse=True)
        if sp.issparse(D):
            return round(2 * int((D.data <= radius).sum()) / n)
        D = to_numpy(D[np.linspace(0, n - 1, min(n, _SAMPLE_ROWS)).astype(np.int64)])
        return round(float((radius >= D).mean()) * n)
    size = _SAMPLE_ROWS if isinstance(model.metric, str) else _SAMPLE_OBJECTS
    items = take(rows, np.linspace(0, n - 1, min(n, size)).astype(np.int64))
    items = items if sp.issparse(items) else to_numpy(items)
    state = {} if callable(model.metric) else learn(model.metric, items)
    D = to_numpy(metric(model.metric, items, state)(items, items))
    return round((int((radius >= D).sum()) - len(D)) / max(1, len(D) * (len(D) - 1)) * n)
