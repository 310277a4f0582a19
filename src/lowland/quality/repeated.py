"""Ranks for tables with many duplicate rows: each distinct row is a point with a weight.

Matrix products cannot decide ties, so nearly all duplicates would be compared by exact distances for every anchor. The
table kdd99 of network connections has 494,021 rows, of which 141,480 are distinct and 39 % are copies of one. Here rows
that are equal on both sides are one weighted point, equal anchors share their result, and all distances are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import thread_pool
from ..graph.distinct import distinct
from ..graph.measures import EuclideanRows
from ..pairs.pairwise import tiles
from .anchors import Anchors
from .rank_lists import Ranks
from .spaces import Sides

Array = Any

MANY = 10_000  # least number of rows: fewer are fast to sort
SHARE = 0.75  # with a larger share of distinct rows, counting by matrix products is faster
_MOST_BYTES = 1 << 30  # largest copy of the distinct rows
_ANCHORS_AT_ONCE = 32  # anchors evaluated by one thread at a time


class _Points(NamedTuple):
    """Distinct points on both sides as columns, with their weights; ``of`` is the point of each row."""

    data: Array
    map: Array
    weights: Array
    of: Array


def repeated(sides: Sides) -> _Points | None:
    """Return the distinct points if there are far fewer than rows, else None."""
    both = (sides.data, sides.map)
    if sides.n < MANY or not all(isinstance(side, EuclideanRows) for side in both):
        return None
    X, Y = (side.X for side in both)  # type: ignore[attr-defined]
    same = distinct(X)
    if len(same.first) > SHARE * sides.n or len(same.first) * X.shape[1] * X.itemsize > _MOST_BYTES:
        return None
    joint = distinct(np.column_stack([same.inverse.astype(np.float64), Y]))
    if len(joint.first) > SHARE * sides.n:
        return None
    data, map = (_turned(Z[joint.first]) for Z in (X, Y))
    return _Points(data, map, np.bincount(joint.inverse).astype(np.int64), joint.inverse)


def _turned(rows: Array) -> Array:
    """Return rows as columns, in float32 or float64."""
    return np.ascontiguousarray(rows.T, dtype=rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64)


class _List(NamedTuple):
    """The nearest points of an anchor on one side: numbers, weights, and distances and ranks on both sides."""

    j: Array
    weights: Array
    d: Array
    ranks: Ranks
    other_d: Array
    other_ranks: Ranks


def columns(sides: Sides, points: _Points, k: int, chosen: Anchors) -> Array:
    """Return the columns of a table of ranks: nine rows, one value for each anchor."""
    own = points.of[chosen.numbers]
    code = np.zeros(len(own), dtype=np.int64) if chosen.codes is None else chosen.codes[chosen.numbers]
    _, once, back = np.unique(np.column_stack([own, code]), axis=0, return_index=True, return_inverse=True)
    groups = _Groups.of(points, chosen.codes)

    def some(part: slice) -> Array:
        return np.column_stack([_one(sides, points, int(own[i]), int(code[i]), k, groups) for i in once[part]])

    parts = tiles(len(once), _ANCHORS_AT_ONCE)
    found = list(thread_pool.run(some, parts, stage="ranks", total=len(parts)))
    return np.concatenate(found, axis=1)[:, back.ravel()]


def _one(sides: Sides, points: _Points, a: int, code: int, k: int, groups: _Groups | None) -> Array:
    """Return the column of one anchor."""
    from .repeated_loops import distances

    weights = points.weights.copy()
    weights[a] -= 1  # an anchor is not its own neighbour
    d = [np.empty(len(weights)) for _ in range(2)]
    for Z, side, out in zip((points.data, points.map), (sides.data, sides.map), d, strict=True):
        distances(Z, a, float(side.floor or 0.0), out)
    data, map = _nearest(d[0], d[1], weights, k), _nearest(d[1], d[0], weights, k)
    near_data, near_map = data.ranks.among(k) * data.weights, map.ranks.among(k) * map.weights
    to_data, to_map = sides.data.finish, sides.map.finish  # type: ignore[attr-defined]
    values = [
        near_map @ map.other_ranks.beyond(k),
        near_data @ data.other_ranks.beyond(k),
        near_map @ map.other_ranks.among(k) / k,
        near_data @ to_data(data.d) / k,
        near_map @ to_map(map.d) / k,
        near_map @ to_data(map.other_d) / k,
        near_data @ to_map(data.other_d) / k,
    ]
    if groups is None:
        return np.array([*values, 0.0, 0.0])
    pure = [groups.share(found, weights, a, code) @ near / k for found, near in ((data, near_data), (map, near_map))]
    return np.array([*values, *(pure if code >= 0 else (np.nan, np.nan))])


def _nearest(d: Array, other: Array, weights: Array, k: int) -> _List:
    """Return the k nearest points on one side, counted with their weights, and all ties of the last."""
    from .repeated_loops import weigh

    there = np.where(weights > 0, d, np.inf)
    last = np.partition(there, min(k, len(there)) - 1)[min(k, len(there)) - 1]
    j = np.flatnonzero(there <= last)
    j = j[np.argsort(d[j], kind="stable")]
    reach = d[j][np.searchsorted(np.cumsum(weights[j]), k)]
    j = j[d[j] <= reach]
    ranks = []
    for values in (d, other):
        limits, place = np.unique(values[j], return_inverse=True)
        less, equal = np.zeros((2, len(limits)), dtype=np.int64)
        weigh(values, weights, limits, less, equal)
        ranks.append(Ranks(less[place], equal[place]))
    return _List(j, weights[j].astype(np.float64), d[j], ranks[0], other[j], ranks[1])


class _Groups(NamedTuple):
    """Number of rows of each point in each group: sorted keys point · groups + code, and counts."""

    keys: Array
    counts: Array
    size: int

    @classmethod
    def of(cls, points: _Points, codes: Array | None) -> _Groups | None:
        if codes is None:
            return None
        size = int(codes.max(initial=0)) + 2
        keys, counts = np.unique(points.of * size + codes + 1, return_counts=True)
        return cls(keys, counts, size)

    def share(self, found: _List, weights: Array, a: int, code: int) -> Array:
        """Return the share of each listed point's rows in the anchor's group, without the anchor itself."""
        wanted = found.j * self.size + code + 1
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        counts = np.where(self.keys[place] == wanted, self.counts[place], 0) - (found.j == a)
        return counts / weights[found.j]
