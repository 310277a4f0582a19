"""The links of a graph by their targets, built from a list of edges by counting.

The edges are first moved to buckets of a few thousand targets and then sorted within each bucket, so that every pass
writes to places in the cache. Both passes split the work in a way that does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import thread_pool
from ..core.cost import check_allocation
from .edges import Edges

Array = Any

_SHIFT = 12  # buckets of 4,096 targets
_EDGES_PER_TASK = 1 << 19
_BYTES_PER_EDGE, _BYTES_PER_WEIGHT, _BYTES_PER_NODE = 12, 32, 100


@dataclass(frozen=True, eq=False)
class Links:
    """The links into each node, in an order of the nodes that serves the iteration.

    First come the ``n_core`` nodes with links in and out, then those with links out only, then those without links out
    (``n_linking`` have some). ``order`` holds the original number of each. The sources of the links into node i are
    ``indices[indptr[i]:indptr[i + 1]]``, with their ``values`` (none if all weights are 1). ``strength`` is the sum of
    the weights of the links out of each node, ``loops`` that of its links to itself.
    """

    indptr: Array
    indices: Array
    values: Array
    order: Array
    n_core: int
    n_linking: int
    strength: Array
    loops: Array

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.order)

    def cuts(self, rows: int) -> Array:
        """Return the ends of tasks of about equal work on the first rows."""
        work = self.indptr[: rows + 1] + np.arange(rows + 1)
        tasks = int(work[-1]) // _EDGES_PER_TASK + 1
        return np.unique(np.searchsorted(work, np.linspace(0, work[-1], tasks + 1)))


def links_of(edges: Edges) -> Links:
    """Sort the edges by target; weights are divided by the sum over the links of their source."""
    from . import links_loops as loops

    m, n, weighted = len(edges.source), edges.n, edges.weights is not None
    size = m * (_BYTES_PER_EDGE + weighted * _BYTES_PER_WEIGHT) + n * _BYTES_PER_NODE
    check_allocation(size, "the links of the graph", "rank a part of the graph")
    weights, strength = _weights(edges)
    into = np.zeros(n, dtype=np.int64)
    loops.count(edges.target, into)
    linking = strength > 0
    groups = [np.flatnonzero(mask) for mask in (linking & (into > 0), linking & (into == 0), ~linking)]
    order = np.concatenate(groups)
    new = np.empty(n, dtype=np.int32)
    new[order] = np.arange(n, dtype=np.int32)
    indptr = np.concatenate(([0], np.cumsum(into[order])))
    indices, values = _sorted(edges, weights, new, indptr)
    n_core, n_linking = len(groups[0]), len(groups[0]) + len(groups[1])
    own = edges.source == edges.target
    to_self = np.bincount(edges.source[own], None if weights is None else weights[own], minlength=n)
    return Links(indptr, indices, values, order, n_core, n_linking, strength[order], to_self[order].astype(np.float64))


def _weights(edges: Edges) -> tuple[Array | None, Array]:
    """Return the weights as shares of the links of their source, and the sums of the weights of links out."""
    from . import links_loops as loops

    if edges.weights is None:
        counts = np.zeros(edges.n, dtype=np.int64)
        loops.count(edges.source, counts)
        return None, counts.astype(np.float64)
    strength = np.zeros(edges.n)
    loops.add_weights(edges.source, edges.weights, strength)
    divisor = strength[edges.source]
    shares = np.divide(edges.weights, divisor, out=np.zeros(len(divisor)), where=divisor > 0)
    return shares, (strength > 0).astype(np.float64)


def _sorted(edges: Edges, weights: Array | None, new: Array, indptr: Array) -> tuple[Array, Array]:
    """Return the sources in the order of their targets, with their weights."""
    from . import links_loops as loops

    m, n = len(edges.source), edges.n
    starts = np.arange(0, n + (1 << _SHIFT), 1 << _SHIFT).clip(max=n)
    tasks = np.linspace(0, m, m // _EDGES_PER_TASK + 2).astype(np.int64)
    counts = np.zeros((len(tasks) - 1, len(starts) - 1), dtype=np.int64)
    everywhere(lambda k: loops.count_buckets(edges.target, new, _SHIFT, counts[k], tasks[k], tasks[k + 1]), len(counts))
    places = indptr[starts[:-1]] + np.cumsum(counts, axis=0) - counts
    sources, rows = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    came = np.empty(0 if weights is None else m, dtype=np.int64)
    everywhere(
        lambda k: loops.scatter(
            edges.source, edges.target, new, _SHIFT, places[k], sources, rows, came, tasks[k], tasks[k + 1]
        ),
        len(counts),
    )
    indices, values = np.empty(m, dtype=np.int32), np.empty(len(came))
    given = values if weights is None else weights
    everywhere(
        lambda b: loops.place(sources, rows, came, given, indptr, starts[b], starts[b + 1], indices, values),
        len(starts) - 1,
    )
    return indices, values


def everywhere(work: Callable[[int], None], tasks: int) -> None:
    """Do numbered tasks on all threads."""
    for _ in thread_pool.run(work, range(tasks)):
        pass
