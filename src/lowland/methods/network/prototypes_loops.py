"""The loops over prototypes: the two nearest, sums of the rows of each, and the nearest point of their mesh."""

from __future__ import annotations

import numba as nb
import numpy as np

from ...core.jit import LOOP

_LINE, _PLANE, _LONG, _TABLE = nb.float64[::1], nb.float64[:, ::1], nb.int64[::1], nb.int64[:, ::1]


@nb.njit(nb.float64(_LINE, _LINE), **LOOP)
def squared(x, w):  # type: ignore[no-untyped-def]
    """Return |x − w|², added up in one order, so that a row's value does not depend on its batch."""
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - w[j]) ** 2
    return total


@nb.njit(nb.void(_PLANE, _LONG, _LINE, _PLANE), **LOOP)
def add_rows(Z, slots, weights, sums):  # type: ignore[no-untyped-def]
    """Add each row, times its weight, to the sum of its slot."""
    for i in range(len(Z)):
        s, w = slots[i], weights[i]
        for j in range(Z.shape[1]):
            sums[s, j] += w * Z[i, j]


@nb.njit(
    [
        nb.void(_PLANE, _PLANE, rough, line, nb.int64, _LONG)
        for rough, line in ((nb.float32[:, ::1], nb.float32[::1]), (_PLANE, _LINE))
    ],
    **LOOP,
)
def settle(Z, W, rough, slack, most, won):  # type: ignore[no-untyped-def]
    """Turn the nearest prototypes by products into the nearest, the first of equal ones.

    ``rough`` has ½|w|² − z·w, right to ``slack``; ``won`` has the least of each row. Where others lie within the slack,
    distances decide. Where more than ``most`` do, the row is left open: -1.
    """
    for i in range(len(Z)):
        limit = rough[i, won[i]] + slack[i]
        near = nb.int32(0)
        for k in range(len(W)):
            near += nb.int32(rough[i, k] <= limit)
        if near == 1:
            continue
        best, least = -1, np.inf
        if near <= most:
            for k in range(len(W)):
                if rough[i, k] <= limit:
                    d = squared(Z[i], W[k])
                    if d < least:
                        best, least = k, d
        won[i] = best


@nb.njit(nb.void(_PLANE, _PLANE, _PLANE, _LINE, _TABLE, _PLANE), **LOOP)
def two_nearest(Z, W, rough, slack, units, squares):  # type: ignore[no-untyped-def]
    """Write the two nearest prototypes of each row and their squared distances, in the order of distance and number.

    ``rough`` has ½|w|² − z·w from a product, right to ``slack``: whatever that leaves open is measured again.
    """
    for i in range(len(Z)):
        least, next_least = np.inf, np.inf
        for k in range(len(W)):
            value = rough[i, k]
            if value < least:
                least, next_least = value, least
            elif value < next_least:
                next_least = value
        limit = next_least + slack[i]
        first, second, d1, d2 = 0, 0, np.inf, np.inf
        for k in range(len(W)):
            if rough[i, k] <= limit:
                d = squared(Z[i], W[k])
                if d < d1:
                    first, second, d1, d2 = k, first, d, d1
                elif d < d2:
                    second, d2 = k, d
        units[i, 0], units[i, 1] = first, second if d2 < np.inf else first
        squares[i, 0], squares[i, 1] = d1, d2 if d2 < np.inf else d1


@nb.njit(nb.types.UniTuple(nb.float64, 2)(nb.float64, nb.float64, nb.float64), **LOOP)
def on_edge(da, db, length):  # type: ignore[no-untyped-def]
    """Return the place on an edge, 0 at a and 1 at b, that is nearest to a point, and its squared distance.

    All from squared distances: to the ends and between them.
    """
    if not length > 0.0:
        return 0.0, da
    s = min(1.0, max(0.0, (da + length - db) / (2.0 * length)))
    return s, (1.0 - s) * da + s * db - s * (1.0 - s) * length


@nb.njit(nb.void(_LINE, _LINE, _LINE), **LOOP)
def on_triangle(d, edges, out):  # type: ignore[no-untyped-def]
    """Write the barycentric weights of the point of a triangle that is nearest to a point, and its squared distance.

    ``d`` are squared distances to the corners a, b, c; ``edges`` those of ab, ac, bc.
    """
    ab, ac, bc = edges[0], edges[1], edges[2]
    dot = 0.5 * (ab + ac - bc)
    area = ab * ac - dot * dot
    p, q = 0.5 * (d[0] + ab - d[1]), 0.5 * (d[0] + ac - d[2])
    if area > 1e-12 * ab * ac:  # else the corners lie on a line, whose edges hold every point of it
        s, t = (ac * p - dot * q) / area, (ab * q - dot * p) / area
        if s >= 0.0 and t >= 0.0 and s + t <= 1.0:
            r = 1.0 - s - t
            out[0], out[1], out[2] = r, s, t
            # Not d₀ − sp − tq: this holds for the weights as they are rounded, and those of needles are rounded much.
            out[3] = r * d[0] + s * d[1] + t * d[2] - r * s * ab - r * t * ac - s * t * bc
            return
    s, best = on_edge(d[0], d[1], ab)
    out[0], out[1], out[2], out[3] = 1.0 - s, s, 0.0, best
    s, value = on_edge(d[0], d[2], ac)
    if value < out[3]:
        out[0], out[1], out[2], out[3] = 1.0 - s, 0.0, s, value
    s, value = on_edge(d[1], d[2], bc)
    if value < out[3]:
        out[0], out[1], out[2], out[3] = 0.0, 1.0 - s, s, value


@nb.njit(nb.void(_PLANE, _PLANE, _PLANE, _LINE, _LONG, _LONG, _TABLE, _PLANE, _LINE, _LONG, _TABLE, _PLANE), **LOOP)
def nearest_on_mesh(  # type: ignore[no-untyped-def]
    Z, W, rough, slack, first, around, triangles, edges, room, nearest, corners, weights
):
    """Write the corners and weights of the point of the mesh that is nearest to each row.

    The triangles around unit k are ``around[first[k]:first[k + 1]]``. A point with weights λ between corners at squared
    distances d and with squared edges e lies at Σλd − Σλλ′e, and the second sum is at most a third of the longest. So
    a triangle can only be nearer than what is found if a corner's d is below that plus ``room``, its third. ``rough``
    has ½|w|² − z·w, right to ``slack``, and ``nearest`` the unit where it is least.
    """
    seen, known = np.full(len(W), -1, dtype=np.int64), np.empty(len(W))
    tried = np.full(len(triangles), -1, dtype=np.int64)
    d, found = np.empty(3), np.empty(4)
    for i in range(len(Z)):
        length = 0.0
        for j in range(Z.shape[1]):
            length += Z[i, j] ** 2
        least, best = np.inf, -1
        for c in range(3):
            corners[i, c], weights[i, c] = nearest[i], 1.0 if c == 0 else 0.0
        for turn in range(-1, len(W)):  # the nearest unit first: what lies around it rules most others out
            k = nearest[i] if turn < 0 else turn
            if turn >= 0 and rough[i, k] > 0.5 * (least + room[k] - length) + slack[i]:
                continue
            for place in range(first[k], first[k + 1]):
                t = around[place]
                if tried[t] == i:
                    continue
                tried[t] = i
                for c in range(3):
                    v = triangles[t, c]
                    if seen[v] != i:
                        seen[v] = i
                        known[v] = squared(Z[i], W[v])
                    d[c] = known[v]
                on_triangle(d, edges[t], found)
                if found[3] < least or (found[3] == least and t < best):
                    least, best = found[3], t
                    for c in range(3):
                        corners[i, c], weights[i, c] = triangles[t, c], found[c]
