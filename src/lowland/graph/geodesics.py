"""Shortest paths from many points of a neighbour graph.

A label δ_ℓ(v) ← min(δ_ℓ(v), δ_ℓ(u) + w_uv) is lowered along edges until none changes. The end does not depend on the
order, only the work does: rounded sums grow with their terms, so it is the least rounded sum over all paths, as in
Dijkstra's method (1959), to the last bit.

Sixteen sources that lie together share one search. A point holds a vector of labels, and the next point is the one
whose largest label is least; a point that some lane has not reached waits. Far from the sources all lanes pass a point
from the same side, so it is looked at about once (1.0 times on average for all of 10,000 points of a swiss roll, 1.5
for 500 landmarks among 100,000), and each look serves all lanes. Ordered by the least label instead, each lane comes by
for itself: 6 times. Where this order fails, in graphs whose edges span many orders of magnitude, each lane goes by
itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import settings, thread_pool
from ..core.cost import check_allocation
from ..core.errors import DataError
from .graph import Graph

Array = Any

LANES = 16  # as in the kernels, which take time to import
_EDGE_SECONDS = 1.5e-9  # for a step along an edge in one lane, on one core, while labels fit the cache


def geodesics(
    graph: Graph, sources: Array, *, dtype: Any = np.float64, by_point: bool = False, stage: str = "geodesics"
) -> Array:
    """Return the lengths of the shortest paths from some points to all, infinity where there is none.

    Parameters
    ----------
    graph : Graph
        Symmetric: what `Graph.symmetric` returns.
    sources : array of int
        Numbers of points.
    dtype : NumPy dtype
        Of the result, float64 or float32; sums are taken in float64.
    by_point : bool
        Return points × sources, each point's distances in one piece, instead of sources × points.
    stage : str
        The name under which progress is reported.

    Examples
    --------
    >>> line = Graph.of_lists([[1], [2], [1]], [[1.0], [0.5], [0.5]]).symmetric()
    >>> geodesics(line, [0, 2]).tolist()
    [[0.0, 1.0, 1.5], [1.5, 0.5, 0.0]]
    """
    from .geodesics_loops import search, write

    sources = np.asarray(sources, dtype=np.int64)
    n, kind = graph.n, np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"geodesics are float64 or float32, not {kind}")
    if len(sources) and not (sources.min() >= 0 and sources.max() < n):
        raise DataError(f"sources must be numbers of the {n} points, from 0")
    if len(graph.distances) and not graph.distances.min() >= 0:
        raise DataError("shortest paths need edges of length zero or more")
    distinct, again = np.unique(sources, return_inverse=True)
    if len(distinct) < len(sources):
        found = geodesics(graph, distinct, dtype=kind, by_point=by_point, stage=stage)
        return np.take(found, again, axis=1 if by_point else 0)
    check_allocation(kind.itemsize * n * len(sources), "geodesic distances", "use landmarks, or fewer rows")
    number = _near_in_memory(graph.indptr, graph.indices)
    place = np.empty(n, dtype=np.int32)
    place[number] = np.arange(n, dtype=np.int32)
    indptr, indices, weights = _renumbered(graph, number, place)
    order = _together(indptr, indices, weights, place[sources])
    out = np.empty((n, len(sources)), dtype=kind).T if by_point else np.empty((len(sources), n), dtype=kind)

    spare: list[Array] = []  # labels of searches that are done, to be used again

    def work(rows: Array) -> None:
        lanes = np.resize(place[sources[rows]], LANES)  # too few are repeated
        label = spare.pop() if spare else np.empty((n, LANES))
        if search(indptr, indices, weights, lanes, label) < 0:
            from .single_source_loops import search_each

            search_each(indptr, indices, weights, lanes, label)
        write(label, place, rows, out)
        spare.append(label)

    groups = [order[start : start + LANES] for start in range(0, len(order), LANES)]
    for _ in thread_pool.run(work, groups, stage=stage, total=len(groups)):
        pass
    return out.T if by_point else out


def geodesic_cost(n: int, neighbors: int, sources: int, itemsize: int = 8) -> tuple[dict[str, int], float]:
    """Return the memory of the distances and of their search, and rough seconds, for a symmetric graph."""
    edges = int(1.3 * n * neighbors)
    parts = {
        "geodesic distances": itemsize * n * sources,
        "search for paths": 4 * 16 * edges + min(settings.threads(), -(-sources // LANES)) * n * (8 * LANES + 16),
    }
    return parts, sources * edges * _EDGE_SECONDS * (1 + min(2.5, n / 1e5)) / settings.threads()


def _near_in_memory(indptr: Array, indices: Array) -> Array:
    """Return an order of the points in which neighbours are near: 1.6 times faster at 100,000."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = len(indptr) - 1
    pattern = sp.csr_array((np.ones(len(indices)), indices, _short(indptr)), shape=(n, n))
    return reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int32)


def _short(indptr: Array) -> Array:
    """Return where the points' edges begin as SciPy wants it; refuse what would wrap around."""
    if indptr[-1] >= 2**31:
        raise DataError(
            f"shortest paths are found in graphs of up to {2**31 - 1:,} edges, and this one has {int(indptr[-1]):,}; "
            "use fewer neighbours or rows"
        )
    return indptr.astype(np.int32)


def _renumbered(graph: Graph, number: Array, place: Array) -> tuple[Array, Array, Array]:
    """Return the graph whose point i is point number[i], each one's neighbours still nearest first."""
    degrees = graph.degrees[number]
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    edges = np.arange(indptr[-1]) + np.repeat(graph.indptr[number] - indptr[:-1], degrees)
    return indptr, place[graph.indices[edges]], np.ascontiguousarray(graph.distances[edges], dtype=np.float64)


def _together(indptr: Array, indices: Array, weights: Array, sources: Array) -> Array:
    """Return an order of the sources in which each 16 are close together."""
    from .geodesics_loops import gather

    m = len(sources)
    if m <= LANES:
        return np.arange(m)
    out = np.empty(m, dtype=np.int32)
    if m == len(indptr) - 1:
        gather(indptr, indices, np.arange(m, dtype=np.int32), out)
        index = np.empty(m, dtype=np.int64)
        index[sources] = np.arange(m)
        return index[out]
    around = _cells(indptr, indices, weights, sources)
    gather(*around, _near_in_memory(*around), out)
    return out.astype(np.int64)


def _cells(indptr: Array, indices: Array, weights: Array, sources: Array) -> tuple[Array, Array]:
    """Return the graph of sources with adjacent cells, nearest first; a cell holds the points nearest to a source."""
    from scipy.sparse.csgraph import dijkstra

    n, m = len(indptr) - 1, len(sources)
    graph = sp.csr_array((weights, indices, _short(indptr)), shape=(n, n))
    near, _, owner = dijkstra(graph, indices=sources, min_only=True, return_predecessors=True)
    index = np.full(n + 1, -1, dtype=np.int64)
    index[sources] = np.arange(m)
    cell = index[np.where(owner >= 0, owner, n)]
    tails = np.repeat(np.arange(n), np.diff(indptr))
    a, b = cell[tails], cell[indices]
    cross = np.flatnonzero((a != b) & (a >= 0) & (b >= 0))
    a, b = a[cross], b[cross]
    length = near[tails[cross]] + weights[cross] + near[indices[cross]]
    order = np.lexsort((b, length, a))
    a, b = a[order], b[order]
    _, first = np.unique(a * m + b, return_index=True)
    kept = np.sort(first)
    counts = np.bincount(a[kept], minlength=m)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), b[kept].astype(np.int32)
