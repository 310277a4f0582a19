"""Compiled loops: the shortest links between components, by a tree of bounding boxes."""

from __future__ import annotations

import numba as nb
import numpy as np

from ..core.jit import LOOP

TABLE = nb.types.Array(nb.float64, 2, "C", readonly=True)
NUMBERS = nb.types.Array(nb.int64, 1, "C", readonly=True)


@nb.njit([nb.float64(TABLE, TABLE, nb.int64, nb.float64[::1])], inline="always", **LOOP)
def _from_box(low, high, node, x):  # type: ignore[no-untyped-def]
    """Return the squared distance of a point from a box."""
    total = 0.0
    for c in range(len(x)):
        off = max(low[node, c] - x[c], x[c] - high[node, c], 0.0)
        total += off * off
    return total


@nb.njit(
    [
        nb.void(
            TABLE, NUMBERS, NUMBERS, TABLE, TABLE, NUMBERS, nb.int64, NUMBERS, nb.int64, nb.int64, nb.float64[::1],
            nb.int64[::1], nb.int64[::1],
        )
    ],
    **LOOP,
)  # fmt: skip
def ways_out(X, order, labels, low, high, pure, size, rows, base, shift, best, inside, outside):  # type: ignore[no-untyped-def]
    """Find the shortest link from the components of some points to a point of another component.

    X and ``labels`` stand in the order of the tree, whose numbers are ``order``. Node i has the children 2i and 2i + 1;
    ``base`` is the first leaf, and leaves hold ``size`` points. ``pure`` is the label of nodes with one. The bound
    of a component is that of its best link so far, so most points look at a few boxes only.
    """
    n, width = X.shape
    stack, gaps = np.empty(128, dtype=np.int64), np.empty(128)
    x = np.empty(width)
    for at in rows:
        mine = labels[at]
        slot = mine - shift
        x[:] = X[at]
        stack[0], gaps[0], top = 1, 0.0, 1
        while top > 0:
            top -= 1
            node = stack[top]
            if gaps[top] > best[slot] * best[slot] * (1 + 1e-12):
                continue
            if node < base:
                left, right = 2 * node, 2 * node + 1
                a = _from_box(low, high, left, x) if pure[left] != mine else np.inf
                b = _from_box(low, high, right, x) if pure[right] != mine else np.inf
                if a < b:
                    left, right, a, b = right, left, b, a
                if a < np.inf:
                    stack[top], gaps[top] = left, a
                    top += 1
                if b < np.inf:
                    stack[top], gaps[top] = right, b
                    top += 1
                continue
            for other in range((node - base) * size, min(n, (node - base + 1) * size)):
                if labels[other] == mine:
                    continue
                total = 0.0
                for c in range(width):
                    difference = x[c] - X[other, c]
                    total += difference * difference
                d = np.sqrt(total)
                if d > best[slot]:
                    continue
                here, there = order[at], order[other]
                first, second = min(here, there), max(here, there)
                if d < best[slot] or (
                    first < min(inside[slot], outside[slot])
                    or (first == min(inside[slot], outside[slot]) and second < max(inside[slot], outside[slot]))
                ):
                    best[slot], inside[slot], outside[slot] = d, here, there
