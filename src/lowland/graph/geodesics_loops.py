"""Compiled search for shortest paths from 16 sources at once.

See `lowland.graph.geodesics` for what it does. The step along an edge is written in LLVM's vectors: the compiler did
not find them in a loop. Arrays are filled and copied one number at a time: slices and `np.full` take far longer to
compile.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

from ..core.jit import LOOP

LANES = 16  # sources that share a search; 8 and 32 measured slower
LINE, PLANE, INTS, LONGS = nb.float64[::1], nb.float64[:, ::1], nb.int32[::1], nb.int64[::1]

SAME = 2**63 - 1  # above all keys
MOST = 16  # mean visits of a point after which a search is given up; each source separately takes as many

_I32, _I64, _MASK = ir.IntType(32), ir.IntType(64), ir.IntType(LANES)
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def _all(value: float) -> Any:
    return ir.Constant(_VECTOR, [value] * LANES)


def _spread(builder: Any, value: Any) -> Any:
    """Return a vector with the value in every lane."""
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))


def _largest(builder: Any, vector: Any) -> Any:
    """Return the largest of the lanes."""
    size = LANES
    while size > 1:
        half, kind = size // 2, ir.VectorType(_I32, size // 2)
        empty = ir.Constant(vector.type, ir.Undefined)
        low = builder.shuffle_vector(vector, empty, ir.Constant(kind, list(range(half))))
        high = builder.shuffle_vector(vector, empty, ir.Constant(kind, list(range(half, size))))
        vector = builder.select(builder.fcmp_ordered(">", low, high), low, high)
        size = half
    return builder.extract_element(vector, ir.Constant(_I32, 0))


@intrinsic  # type: ignore[untyped-decorator]
def _relax(_: Any, label: Any, u: Any, v: Any, weight: Any) -> Any:
    """Set label[v] = min(label[v], label[u] + weight), lane by lane, and return the key of v; `SAME` if none changed.

    The key is the largest label, of those known where lanes have not arrived. The bits of numbers from 0 up are in
    their order as integers, so a sign bit puts points that all lanes have reached before those that wait, exactly.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        start = builder.bitcast(array.data, _VECTOR.as_pointer())
        here, there = builder.gep(start, [arguments[1]]), builder.gep(start, [arguments[2]])
        way = builder.fadd(builder.load(here, align=8), _spread(builder, arguments[3]))
        old = builder.load(there, align=8)
        better = builder.fcmp_ordered("<", way, old)
        new = builder.select(better, way, old)
        builder.store(new, there, align=8)
        changed = builder.icmp_unsigned("!=", builder.bitcast(better, _MASK), ir.Constant(_MASK, 0))
        known = builder.fcmp_ordered("<", new, _all(float("inf")))
        complete = builder.icmp_unsigned("==", builder.bitcast(known, _MASK), ir.Constant(_MASK, -1))
        largest = _largest(builder, builder.select(known, new, _all(0.0)))
        waiting = builder.bitcast(largest, _I64)
        key = builder.select(complete, builder.or_(waiting, ir.Constant(_I64, 1 << 63)), waiting)
        return builder.select(changed, key, ir.Constant(_I64, SAME))

    return types.int64(label, types.int64, types.int64, types.float64), code


@nb.njit(nb.void(INTS, LONGS, INTS, nb.int64, nb.int32, nb.int64), **LOOP)
def rise(heap, keys, where, i, v, key):  # type: ignore[no-untyped-def]
    """Insert v at the empty place i of the heap, or above it."""
    while i > 0:
        parent = (i - 1) // 4
        if keys[parent] <= key:
            break
        heap[i], keys[i] = heap[parent], keys[parent]
        where[heap[i]] = i
        i = parent
    heap[i], keys[i], where[v] = v, key, i


@nb.njit(nb.void(INTS, LONGS, INTS, nb.int64), **LOOP)
def sink(heap, keys, where, size):  # type: ignore[no-untyped-def]
    """Move the entry after the last to the empty root, and down to its place."""
    v, key, i = heap[size], keys[size], 0
    while True:
        first = 4 * i + 1
        if first >= size:
            break
        best, least = first, keys[first]
        for c in range(first + 1, min(first + 4, size)):
            best = c if keys[c] < least else best
            least = min(keys[c], least)
        if least >= key:
            break
        heap[i], keys[i] = heap[best], least
        where[heap[i]] = i
        i = best
    heap[i], keys[i], where[v] = v, key, i


@nb.njit(nb.int64(LONGS, INTS, LINE, INTS, PLANE), **LOOP)
def search(indptr, indices, weights, sources, label):  # type: ignore[no-untyped-def]
    """Fill label (N × 16) with the distances from 16 sources; return the number of visits of points.

    Lengths that span many orders of magnitude can have points looked at without end: such a search is given up, and
    the number is returned with a minus sign.
    """
    n = len(indptr) - 1
    heap, keys, where = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int32)
    for v in range(n):
        where[v] = -1
        for lane in range(LANES):
            label[v, lane] = np.inf
    size, looks = 0, 0
    for lane in range(LANES):
        s = sources[lane]
        label[s, lane] = 0.0
        if where[s] < 0:
            heap[size], keys[size], where[s] = s, 0, size
            size += 1
    while size > 0 and looks < MOST * n:
        u = heap[0]
        where[u] = -1
        size -= 1
        if size > 0:
            sink(heap, keys, where, size)
        looks += 1
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            key = _relax(label, np.int64(u), np.int64(v), weights[e])
            if key == SAME:
                continue
            i = where[v]
            if i < 0:
                i = size
                size += 1
            elif keys[i] <= key:
                continue
            rise(heap, keys, where, i, v, key)
    return -looks if size > 0 else looks


_BLOCK = 256
_ROWS = (nb.float64[:, :], nb.float32[:, :])


@nb.njit([nb.void(PLANE, INTS, LONGS, out) for out in _ROWS], **LOOP)
def write(label, place, rows, out):  # type: ignore[no-untyped-def]
    """Write each lane into its row of the result; point j is point place[j] of the search."""
    n = len(place)
    for start in range(0, n, _BLOCK):  # the labels of a block stay in the cache while all lanes are written
        stop = min(n, start + _BLOCK)
        for lane in range(len(rows)):
            row = out[rows[lane]]
            for j in range(start, stop):
                row[j] = label[place[j], lane]


@nb.njit(nb.void(LONGS, INTS, INTS, INTS), **LOOP)
def gather(indptr, indices, order, out):  # type: ignore[no-untyped-def]
    """Write the points in an order in which each 16 are near each other: a point and unused points around it.

    Groups start from points in the given order; points without enough unused points nearby come last.
    """
    n = len(order)
    free, seen = np.empty(n, np.bool_), np.empty(n, np.int32)
    for v in range(n):
        free[v], seen[v] = True, -1
    queue, alone = np.empty(n, np.int32), np.empty(n, np.int32)
    done, left = 0, 0
    for number in range(n):
        start = order[number]
        if not free[start]:
            continue
        queue[0], seen[start] = start, start
        head, tail, count = 0, 1, 0
        while head < tail and head < 8 * LANES and count < LANES:
            u = queue[head]
            head += 1
            if free[u]:
                free[u] = False
                out[done + count] = u
                count += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if seen[v] != start:
                    seen[v] = start
                    queue[tail] = v
                    tail += 1
        if count == LANES:
            done += LANES
        else:
            for c in range(count):
                alone[left + c] = out[done + c]
            left += count
    for c in range(left):
        out[done + c] = alone[c]
