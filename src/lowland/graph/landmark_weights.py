"""Landmarks of a graph: those with the shortest paths to each point, and the point's weights on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import thread_pool
from ..pairs.pairwise import tiles
from .geometry import Geometry
from .graph import Graph
from .patches import barycentric

Array = Any

PATHS = 1 << 25  # path lengths to landmarks that are held at a time


def nearest_along(graph: Graph, chosen: Array, k: int) -> tuple[Array, Array]:
    """Return the k of the points ``chosen`` with the shortest paths to each point, as numbers among them, and lengths.

    The nearest by straight distance may lie on another turn of a roll: with 200 landmarks among 6,000 points such maps
    were folded, and two sets of landmarks agreed on the folds.

    >>> line = Graph.of_lists([[1], [2], [1]], [[1.0], [0.5], [0.5]])
    >>> nearest_along(line, np.array([0, 2]), 1)[0].ravel().tolist()
    [0, 1, 1]
    """
    from .geodesics import geodesics

    edges, n = graph.symmetric(), graph.n
    numbers, lengths = np.empty((n, 0), dtype=np.int64), np.empty((n, 0), dtype=np.float32)
    step = max(16, PATHS // n)
    for start in range(0, len(chosen), step):
        D = geodesics(edges, chosen[start : start + step], dtype=np.float32, by_point=True, stage="landmarks")

        def merge(
            part: slice, D: Array = D, start: int = start, numbers: Array = numbers, lengths: Array = lengths
        ) -> tuple[Array, Array]:
            near = _least(D[part], k)
            both = np.concatenate([lengths[part], np.take_along_axis(D[part], near, axis=1)], axis=1)
            order = np.argsort(both, axis=1, kind="stable")[:, :k]
            among = np.concatenate([numbers[part], start + near], axis=1)
            return np.take_along_axis(among, order, axis=1), np.take_along_axis(both, order, axis=1)

        found = list(thread_pool.run(merge, tiles(n, 1 << 11)))
        numbers, lengths = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        del D, merge  # free them before the next lengths are computed
    return numbers, lengths


def _least(D: Array, k: int) -> Array:
    """Return the positions of the k smallest of each row, ascending; of equal values the first."""
    if k >= D.shape[1]:
        return np.argsort(D, axis=1, kind="stable")
    near = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(D, near, axis=1)
    near = np.take_along_axis(near, np.argsort(values, axis=1, kind="stable"), axis=1)
    tied = (values.max(axis=1, keepdims=True) >= D).sum(axis=1) > k  # argpartition may take any of them
    near[tied] = np.argsort(D[tied], axis=1, kind="stable")[:, :k]
    return near


def landmark_weights(geometry: Geometry, chosen: Array, nearest: Array, distances: Array) -> Any:
    """Return Z (n × L): each point's barycentric weights on the landmarks nearest to it; a landmark is itself.

    ``nearest`` (n × k) counts among the landmarks, which are the points ``chosen``.
    """
    import scipy.sparse as sp

    n, k = nearest.shape
    w = np.concatenate(geometry.over(chosen[nearest], lambda G, _: barycentric(G), stage="landmarks"))
    w[distances[:, 0] == 0] = np.eye(k)[0]
    return sp.csr_array((w.ravel(), nearest.ravel(), np.arange(n + 1) * k), shape=(n, len(chosen)))
