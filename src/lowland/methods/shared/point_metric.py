"""How points are compared: the metric of a fit, with what it learned of the training rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from ...graph.geometry import Coordinates, EdgeLengths, Geometry, Metric, Square
from ...graph.neighbors import Searcher, searcher
from ...pairs.distances import metric

Array = Any


@dataclass(frozen=True)
class PointMetric:
    """A metric by name or as a function, and its learned state; ``owner`` names the method in messages."""

    owner: str
    metric: str | Callable[[Any, Any], Any]
    state: Mapping[str, Array]

    @classmethod
    def of(cls, model: Any) -> PointMetric:
        """Return the metric of a fitted model."""
        return cls(type(model).__name__, model._input.fitted(model), model.metric_state_)

    @property
    def precomputed(self) -> bool:
        """Tell whether distances are given."""
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def search(self, points: Array, start: int = 0) -> Searcher:
        """Return the search; ``start`` is where an approximate graph begins, and nothing else depends on it."""
        return searcher(self.metric, points, dict(self.state), rng_seed=start)

    def geometry(self, points: Array) -> Geometry:
        """Return inner products around points, from coordinates or from distances."""
        if self.precomputed:
            return EdgeLengths(self.owner) if sp.issparse(points) else Square(points)
        if isinstance(self.metric, str) and self.metric == "euclidean":
            return Coordinates(points)
        return Metric(metric(self.metric, points, dict(self.state)), points)


def take(items: Array, numbers: Array, square: bool) -> Array:
    """Return some of the objects; of a square of distances rows and columns."""
    if len(numbers) == items.shape[0]:
        return items
    return items[numbers][:, numbers] if square else items[numbers]
