"""Neighbour lists with their ranks on two sides, and the sums over them.

Ties: points at equal distance have no order. Each measure is the expected value over all orders of tied points,
independently on both sides. If a points are nearer than j, and g are at the same distance (j included), the rank of j
is uniform on a + 1, …, a + g, so

    P(j is among the k nearest) = min(1, max(0, (k − a)/g)),    E max(0, rank − k) = Σ_{r = a+1}^{a+g} max(0, r − k)/g.

The value lies within the range over all orders and does not depend on the order of the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..graph.graph import starts

Array = Any


class Ranks(NamedTuple):
    """For each point, the number of nearer points and of equally distant ones (itself included)."""

    less: Array
    equal: Array

    def among(self, k: int) -> Array:
        """Return the probability of being among the k nearest."""
        return np.clip((k - self.less) / self.equal, 0.0, 1.0)

    def beyond(self, k: int) -> Array:
        """Return the expected value of max(0, rank − k) over the possible ranks."""
        a, g = self.less.astype(np.float64), self.equal.astype(np.float64)
        first = np.maximum(a + 1 - k, 1.0)  # smallest rank beyond k, minus k; ``last`` is the largest
        last = a + g - k
        return np.where(last >= first, (last - first + 1) * (first + last) / (2 * g), 0.0)


class Listed(NamedTuple):
    """Neighbours of a block of anchors on one side: anchor, point, distances and ranks on both sides.

    ``weights``: how many points each entry stands for, if some stand for several, which are equal in all of this.
    """

    i: Array
    j: Array
    d: Array
    ranks: Ranks
    other_d: Array
    other_ranks: Ranks
    weights: Array | None = None

    def among(self, k: int) -> Array:
        """Return the expected number of points of each entry among the k nearest."""
        near = self.ranks.among(k)
        return near if self.weights is None else near * self.weights


def ranks_in_lists(i: Array, p: Array, d: Array, weights: Array | None = None) -> Ranks:
    """Return the ranks of points in sorted lists that include all ties of their last point.

    ``p`` is the number of points before each entry in its list, ``weights`` the number of points that it stands for.
    """
    first = np.ones(len(i), dtype=bool)
    first[1:] = (i[1:] != i[:-1]) | (d[1:] != d[:-1])
    group = np.cumsum(first) - 1
    sizes = np.bincount(group, weights).astype(np.int64)
    return Ranks(p[first][group], sizes[group])


def summed(data: Listed, map: Listed, numbers: Array, k: int, codes: Array | None) -> Array:
    """Return the columns from the lists of both sides."""
    from .ranks_loops import sums

    m = len(numbers)

    def add(listed: Listed, values: Array) -> Array:
        out = np.empty(m)
        sums(np.ascontiguousarray(values, dtype=np.float64), starts(np.bincount(listed.i, minlength=m)), out)
        return out

    near_data, near_map = data.among(k), map.among(k)
    columns = [
        add(map, near_map * map.other_ranks.beyond(k)),
        add(data, near_data * data.other_ranks.beyond(k)),
        add(map, near_map * map.other_ranks.among(k)) / k,
        add(data, near_data * data.d) / k,
        add(map, near_map * map.d) / k,
        add(map, near_map * map.other_d) / k,
        add(data, near_data * data.other_d) / k,
    ]
    if codes is None:
        return np.array([*columns, np.zeros(m), np.zeros(m)])
    mine = codes[numbers]
    pure = [
        np.where(mine < 0, np.nan, add(side, near * (codes[side.j] == mine[side.i])) / k)
        for side, near in ((data, near_data), (map, near_map))
    ]
    return np.array([*columns, *pure])
