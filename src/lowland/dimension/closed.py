"""Test whether a shape is closed, like a ring or a sphere: a map then needs one more coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from .points import Points

Array = Any

_POINTS_TESTED = 2000  # sampled points: with more, the share near an edge would be small
_LEAST_POINTS = 100  # with fewer points the answer is False
_NEIGHBORS = 15  # least number of neighbours in the graph of a curve; n/100 if that is more
_PART = 0.1  # smaller components are outliers
_EDGE_NEIGHBORS = 40  # neighbours in the test for an edge
_NEAR_SHARE, _FAR_SHARE = 0.25, 0.75  # shares of the longest path between which a closed curve has two branches
_EDGE_OFFSET = 0.28  # mean offset over the farthest distance: 0.42 on the edge of a surface, 0.11 by chance inside
_EDGE_SHARE = 0.02  # a smaller share of edge points is chance


def is_closed(points: Points, d: int, rng: np.random.Generator) -> bool:
    """Return whether points of dimension d lie on a closed shape; False also if this is unknown.

    A curve is closed if it has two branches from any point that meet again. A surface is closed if it has no edge, that
    is, no point whose neighbours are all on one side. This test needs coordinates and at most 3 dimensions: in more,
    most points of any shape are near its edge.
    """
    few = (
        np.arange(points.n)
        if points.n <= _POINTS_TESTED
        else np.sort(rng.choice(points.n, _POINTS_TESTED, replace=False))
    )
    if len(few) < _LEAST_POINTS:
        return False
    return _closed_curve(points, few) if d == 1 else d <= 3 and _without_edge(points, few)


def _closed_curve(points: Points, few: Array) -> bool:
    n = len(few)
    numbers, distances = points.nearest(few, few, max(_NEIGHBORS, n // 100))
    ends = np.searchsorted(few, numbers).ravel()
    graph = sp.csr_array((distances.ravel(), (np.repeat(np.arange(n), numbers.shape[1]), ends)), shape=(n, n))
    graph = graph.maximum(graph.T)
    if len(_parts(graph)) > 1:
        return False
    path = _paths(graph, int(np.argmax(_paths(graph, 0))))  # from an end of the curve, if it has one
    longest = float(path.max())
    between, far = (path > _NEAR_SHARE * longest) & (path < _FAR_SHARE * longest), path >= _FAR_SHARE * longest
    return len(_parts(graph[between][:, between])) == 2 and len(_parts(graph[far][:, far])) == 1


def _paths(graph: Any, start: int) -> Array:
    """Return the lengths of the shortest paths from a point; 0 to other components."""
    found = csgraph.dijkstra(graph, directed=False, indices=start)
    return np.where(np.isfinite(found), found, 0.0)


def _parts(graph: Any) -> Array:
    """Return the sizes of the connected components, without outliers."""
    sizes = np.bincount(csgraph.connected_components(graph, directed=False)[1])
    return sizes[sizes >= _PART * graph.shape[0]]


def _without_edge(points: Points, few: Array) -> bool:
    if points.spec != "euclidean" or sp.issparse(points.items):
        return False
    numbers, distances = points.nearest(few, few, _EDGE_NEIGHBORS)
    X = np.asarray(points.items, dtype=np.float64)
    aside = np.linalg.norm(X[numbers].mean(axis=1) - X[few], axis=1) / distances[:, -1]
    return bool((aside > _EDGE_OFFSET).mean() < _EDGE_SHARE)
