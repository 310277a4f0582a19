"""Distinct, checked points with neighbours and distances, for any metric whose values are lengths."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError, LowlandWarning
from ..core.message import Message, Owner, Setting
from ..graph.distinct import distinct
from ..graph.geometry import Coordinates, Geometry, Metric, Square
from ..graph.measures import BoundMetric, SparseRows, comparable, measure
from ..graph.neighbors import objects, searcher
from ..pairs.distances import DEGREES, MOVABLE, learn
from ..pairs.distances import metric as bind
from ..rows import units
from ..rows.object_rows import gather
from ..rows.row_source import RowSource, as_rows

Array = Any
Spec = str | Callable[[Any, Any], Any]

FEWEST = 10  # least number of distinct points
ANGLES = ("cosine", "correlation")  # metrics of directions
ANCHORS = 10_000  # most anchors with "auto"


@dataclass(frozen=True)
class Points:
    """Distinct points and their metric; ``n_rows`` is the number of rows including duplicates."""

    items: Array
    spec: Spec
    state: dict[str, Array] | None
    geometry: Geometry
    n: int
    n_rows: int
    exponent: int = 0  # distances times 2^exponent are those of the rows as given

    def bound(self, among: Array) -> BoundMetric:
        """Return some of the points, bound to the metric."""
        return measure(self.spec, self._among(among), self.state)

    def nearest(self, anchors: Array, among: Array, k: int) -> tuple[Array, Array]:
        """Return the numbers and distances (m × k) of the nearest neighbours of some points, themselves excluded."""
        search = searcher(self.spec, self._among(among), self.state)
        block = self.items[anchors]
        if self.spec == "precomputed" and len(among) < self.n:
            block = block[:, among]
        indices, distances = search.query(block, min(k + 1, len(among)))
        numbers = among[indices]
        keep = numbers != anchors[:, None]
        whole = keep.all(axis=1)
        if numbers.shape[1] > k:
            keep[whole, -1] = False
        elif whole.any():  # too few points are searched for anchors that are not among them
            raise DataError(f"{k} neighbours are too many for {len(among)} searched points; use fewer neighbours")
        numbers, distances = numbers[keep].reshape(len(anchors), -1), distances[keep].reshape(len(anchors), -1)
        if not (distances[:, 0] > 0).all():
            row = int(anchors[np.flatnonzero(~(distances[:, 0] > 0))[0]])
            raise DataError(
                f"the metric gives a distance of zero between different objects (distinct object {row} and another): "
                "give each of them once",
                row=row,
            )
        return numbers, distances

    def part(self, numbers: Array) -> Points:
        """Return some of the points."""
        items = self._among(numbers)
        return replace(self, items=items, geometry=_geometry(items, self.spec, self.state), n=len(numbers))

    def _among(self, among: Array) -> Array:
        if len(among) == self.n and (np.diff(among) == 1).all():
            return self.items
        return self.items[np.ix_(among, among)] if self.spec == "precomputed" else self.items[among]


def points_of(X: Any, metric: Spec = "euclidean", owner: str = "dimension") -> Points:
    """Return the distinct points of X, checked.

    The dimension is the growth of volume with length, so squared distances are replaced by their roots: ``sqeuclidean``
    by ``euclidean``, ``cosine`` and ``correlation`` by chords between unit rows. Values whose squares overflow or
    underflow are scaled by a power of two, which does not change the dimension.
    """
    if isinstance(X, Points):
        return X
    items, exponent = objects(in_memory(X), metric, owner), 0
    if isinstance(metric, str) and metric in DEGREES:
        exponent = units.exponent_of(as_rows(items, owner=owner), spread=metric in MOVABLE)
        items, exponent = units.times(items, -exponent), exponent * min(1, DEGREES[metric])
    n, square = int(items.shape[0]), isinstance(metric, str) and metric == "precomputed"
    if square and sp.issparse(items):
        raise DataError(
            Message(
                Owner(owner),
                "a sparse distance matrix is incomplete, and distances among neighbours are needed; give the "
                "rows, or all distances as a dense matrix",
            )
        )
    if metric in ANGLES:
        items, metric = unit_rows(items, str(metric)), "euclidean"
    elif metric == "sqeuclidean":
        metric = "euclidean"
    same = distinct(items, square=square)
    if len(same.first) < n:
        items = items[np.ix_(same.first, same.first)] if square else items[same.first]
    if len(same.first) < FEWEST:
        raise DataError(
            Message(
                Owner(owner),
                f"{len(same.first)} distinct points are too few to estimate a dimension; give at least {FEWEST}",
            )
        )
    state = None if callable(metric) or square else learn(metric, items)
    return Points(items, metric, state, _geometry(items, metric, state), len(same.first), n, exponent)


def distinct_points(X: Any, metric: Spec, owner: str) -> Points:
    """Return the distinct points of X, and warn if duplicates were left out."""
    points = points_of(X, metric, owner)
    if points.n < points.n_rows and not isinstance(X, Points):
        warnings.warn(Message(Owner(owner), left_out(points)), LowlandWarning, stacklevel=3)
    return points


def left_out(points: Points) -> str:
    """Return the note about duplicate rows.

    >>> left_out(points_of([[i % 11, 0.0] for i in range(12)]))
    '1 of 12 rows equal an earlier one and are left out: estimates need distances above zero'
    """
    return (
        f"{points.n_rows - points.n:,} of {points.n_rows:,} rows equal an earlier one and are left out: estimates need "
        "distances above zero"
    )


def _geometry(items: Array, metric: Spec, state: dict[str, Array] | None) -> Geometry:
    if metric == "precomputed":
        return Square(items)
    if metric == "euclidean":
        return Coordinates(items if sp.issparse(items) else arrays.to_numpy(items))
    return Metric(bind(metric, items, state), items)


def in_memory(X: Any) -> Any:
    """Return rows that can be read several times; a stream is loaded into memory."""
    return gather(X, sparse=True) if isinstance(X, RowSource) and X.array is None else X


def unit_rows(items: Array, metric: str) -> Array:
    """Return rows of unit length for a metric of directions; rows with the same direction become equal."""
    items = units.times(items, -units.exponent_of(as_rows(items), spread=False))
    bound = measure(metric, items, None) if sp.issparse(items) else None
    return bound.X if isinstance(bound, SparseRows) else comparable(metric, items)


def choose_anchors(
    n: int, anchors: int | str | None, rng: np.random.Generator, owner: str, auto: int = ANCHORS
) -> Array:
    """Return the numbers of the anchors, ascending: all points, or a random sample.

    >>> choose_anchors(5, None, np.random.default_rng(0), "two_nn").tolist()
    [0, 1, 2, 3, 4]
    """
    wanted = check_anchors(anchors, n, auto, owner)
    return np.arange(n) if wanted >= n else np.sort(rng.choice(n, wanted, replace=False))


def check_anchors(anchors: int | str | None, n: int, auto: int, owner: str) -> int:
    """Return the number of anchors among n points."""
    if anchors is None:
        return n
    if isinstance(anchors, str) and anchors == "auto":
        return min(n, auto)
    if isinstance(anchors, bool) or not isinstance(anchors, int | np.integer) or anchors < FEWEST:
        allowed = f" must be a whole number of at least {FEWEST}, None (all points) or 'auto'; it is {anchors!r}"
        raise ValueError(Message(Owner(owner), Setting("anchors"), allowed))
    return min(n, int(anchors))


def ties(distances: Array) -> float:
    """Return the share of points whose two nearest neighbours are equally far; 0 for continuous values."""
    return float(np.mean(distances[:, 0] == distances[:, 1]))
