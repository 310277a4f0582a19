"""Compiled search for shortest paths from one source at a time, for graphs in which 16 sources at once are slow.

Few graphs need it, so it is a module of its own: Isomap's first call does not compile it.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP
from .geodesics_loops import INTS, LANES, LINE, LONGS, PLANE, rise, sink

_rise = nb.njit(nb.void(INTS, LINE, INTS, nb.int64, nb.int32, nb.float64), **LOOP)(rise.py_func)
_sink = nb.njit(nb.void(INTS, LINE, INTS, nb.int64), **LOOP)(sink.py_func)


@nb.njit(nb.void(LONGS, INTS, LINE, INTS, PLANE), **LOOP)
def search_each(indptr, indices, weights, sources, label):  # type: ignore[no-untyped-def]
    """Fill label (N × 16) with the distances from 16 sources; each visits a point once (Dijkstra 1959)."""
    n = len(indptr) - 1
    heap, keys, where = np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32)
    for lane in range(LANES):
        for v in range(n):
            label[v, lane], where[v] = np.inf, -1
        source = sources[lane]
        label[source, lane] = 0.0
        heap[0], keys[0], where[source] = source, 0.0, 0
        size = 1
        while size > 0:
            u = heap[0]
            where[u] = -1
            size -= 1
            if size > 0:
                _sink(heap, keys, where, size)
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                way = label[u, lane] + weights[e]
                if way < label[v, lane]:
                    label[v, lane] = way
                    i = where[v]
                    if i < 0:
                        i = size
                        size += 1
                    _rise(heap, keys, where, i, v, way)
