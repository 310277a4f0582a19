"""The shortest path between two points of a neighbour graph, with the points on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Setting
from .graph import Graph

Array = Any


class Path(NamedTuple):
    """The points of a path, from its start to its end, and its length."""

    points: Array
    length: float


def shortest_path(graph: Graph, start: int, end: int) -> Path:
    """Return the shortest path between two points; `DataError` if none connects them.

    Parameters
    ----------
    graph : Graph
        Symmetric: what `Graph.symmetric` returns.
    start, end : int
        Numbers of the points, from 0.

    Examples
    --------
    >>> line = Graph.of_lists([[1], [2], [1]], [[1.0], [0.5], [0.5]]).symmetric()
    >>> path = shortest_path(line, 0, 2)
    >>> path.points.tolist(), path.length
    ([0, 1, 2], 1.5)
    """
    from scipy.sparse.csgraph import dijkstra

    for point in (start, end):
        if isinstance(point, bool) or not isinstance(point, int | np.integer) or not 0 <= point < graph.n:
            raise DataError(f"a path begins and ends at points with numbers from 0 to {graph.n - 1}; got {point!r}")
    lengths, before = dijkstra(graph.csr(), indices=int(start), return_predecessors=True)
    if not np.isfinite(lengths[end]):
        raise DataError(
            Message(
                f"no path connects the points {start} and {end}: they are in different connected components of the "
                "neighbour graph; increase ",
                Setting("n_neighbors"),
            )
        )
    points = [int(end)]
    while points[-1] != start:
        points.append(int(before[points[-1]]))
    return Path(np.array(points[::-1]), float(lengths[end]))
