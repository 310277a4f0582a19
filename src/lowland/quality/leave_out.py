"""Rank sums with all points and without each fold of them, for a jackknife of trustworthiness.

The points of a left-out fold are neither anchors nor neighbours, and the ranks of others decrease. A list of somewhat
more than k neighbours still contains the k nearest of the remaining points, and if nearer points are counted by fold,
the rank without a fold is a difference of counts. So one search serves all folds. Ties are treated as in `ranks`: the
expected value over all orders of tied points.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from ..core import thread_pool
from ..graph.graph import starts
from ..pairs.pairwise import tiles
from .rank_counting import Counter, counters
from .ranks import Sorted, sort_tiles
from .spaces import Sides

Array = Any

_ANCHORS_AT_ONCE = 256  # anchors counted at a time


class RankSums(NamedTuple):
    """Σ max(0, rank − k) of each anchor (m × (F + 1)): with all points, then without each fold; NaN without its own.

    ``false`` is over the k nearest in the map, by their ranks in the data; ``missing`` the other way round.
    """

    false: Array
    missing: Array


def rank_sums(sides: Sides, counts: Array, numbers: Array, fold: Array) -> RankSums:
    """Compare the neighbourhoods of anchors on two sides, with all points and without each fold in turn.

    Parameters
    ----------
    sides : Sides
        The data and the map.
    counts : array of int
        Neighbours k: with all points, and without each of the F folds; at most 2 fewer than there are points.
    numbers : array of int
        The anchors.
    fold : array of int
        The fold of every point, 0, …, F − 1.
    """
    counts, fold = (np.ascontiguousarray(x, dtype=np.int64) for x in (counts, fold))
    work = _Work(sides, counts, fold)
    out = np.empty((2, len(numbers), len(counts)))
    again = np.arange(len(numbers))
    if work.quick is not None:
        enough = np.empty(len(numbers), dtype=bool)
        parts = tiles(len(numbers), _ANCHORS_AT_ONCE)
        found = thread_pool.run(lambda p: work.count(numbers[p]), parts, stage="ranks", total=len(parts))
        for part, (values, sure) in zip(parts, found, strict=True):
            out[:, part], enough[part] = values, sure
        again = np.flatnonzero(~enough)
    rest = [again[p] for p in sort_tiles(len(again), sides.n)]
    found = thread_pool.run(lambda p: work.sort(numbers[p]), rest, stage="ranks, sorted", total=len(rest))
    for some, (values, _) in zip(rest, found, strict=True):
        out[:, some] = values
    return RankSums(*out)


class _RankedLists(NamedTuple):
    """The neighbours of some anchors: the start of each list, the points, and whether each begins a group of ties."""

    start: Array
    points: Array
    first: Array


class _Work:
    """Two sides with their points in folds."""

    def __init__(self, sides: Sides, counts: Array, fold: Array) -> None:
        self.sides, self.counts, self.fold = sides, counts, fold
        self.k = int(counts.max())
        self.wide = self.k + self.k // 2 + 4  # with ten folds, one list in a thousand is too short without a fold
        self.quick = counters(sides, self.wide)
        if self.quick is not None:
            self.parts = [[_only(side, fold == f) for f in range(len(counts) - 1)] for side in self.quick]

    def count(self, numbers: Array) -> tuple[Array, Array]:
        """Return the sums of some anchors by counting, and which of them are exact."""
        assert self.quick is not None
        found = [side.near(numbers, self.wide) for side in self.quick]
        sure = found[0][2] & found[1][2]
        few, out, certain = numbers[sure], np.empty((2, len(numbers), len(self.counts))), sure.copy()
        for side, (own, judge) in enumerate(((1, 0), (0, 1))):  # false neighbours: those of the map, ranked in the data
            indices, d = (x[sure] for x in found[own][:2])
            keep = d <= d[:, self.wide - 1 : self.wide]
            i, _ = np.nonzero(keep)
            d, points = d[keep], indices[keep].astype(np.int64)
            first = np.ones(len(i), dtype=bool)
            first[1:] = (i[1:] != i[:-1]) | (d[1:] != d[:-1])
            measure = self.quick[judge].measure
            far, sizes = measure.raw(measure.own(few).rows, i, points), np.bincount(i, minlength=len(few))
            ranks = [part.nearer(few, sizes, far) for part in self.parts[judge]]
            nearer, level = (np.array([found[c] for found in ranks]) for c in (0, 1))
            out[side, sure], enough = self._add(_RankedLists(starts(sizes), points, first), few, nearer, level)
            certain[sure] &= enough
        return out, certain

    def sort(self, numbers: Array) -> tuple[Array, Array]:
        """Return the sums of some anchors by sorting all points."""
        from .leave_out_loops import nearest_first, ranks_by_fold

        ranks = [Sorted(side, numbers).ranks for side in (self.sides.data, self.sides.map)]
        orders = [np.empty((len(numbers), self.sides.n), dtype=np.int32) for _ in ranks]
        lengths = np.empty((2, len(numbers)), dtype=np.int64)
        for (less, equal), order, length in zip(ranks, orders, lengths, strict=True):
            nearest_first(less, equal, self.fold, self.fold[numbers], self.k, order, length)
        out = np.empty((2, len(numbers), len(self.counts)))
        enough = np.ones(len(numbers), dtype=bool)
        for side, (own, judge) in enumerate(((1, 0), (0, 1))):
            keep = np.arange(self.sides.n) < lengths[own][:, None]
            i, p = np.nonzero(keep)
            points = orders[own][keep].astype(np.int64)
            lists = _RankedLists(starts(lengths[own]), points, ranks[own].less[i, points] == p)
            nearer, level = np.zeros((2, len(self.counts) - 1, len(points)), dtype=np.int64)
            ranks_by_fold(*ranks[judge], orders[judge], self.fold, lists.start, points, nearer, level)
            out[side], enough = self._add(lists, numbers, nearer, level)
        return out, enough

    def _add(self, lists: _RankedLists, numbers: Array, nearer: Array, level: Array) -> tuple[Array, Array]:
        from .leave_out_loops import add_ranks

        out = np.empty((len(numbers), len(self.counts)))
        enough = np.ones(len(numbers), dtype=bool)
        own = self.fold[numbers]
        add_ranks(lists.start, lists.first, self.fold[lists.points], own, nearer, level, self.counts, out, enough)
        return out, enough


def _only(side: Counter, chosen: Array) -> Counter:
    """Return a counter restricted to some points; anchors may be any point."""
    places = np.flatnonzero(chosen[side.order])
    part = copy.copy(side)
    part.n, part.order = len(places), side.order[places]
    part.table = side.table._replace(rows=np.ascontiguousarray(side.table.rows[places]), sizes=side.table.sizes[places])
    part.place = np.full(side.n, -1)
    part.place[part.order] = np.arange(part.n)
    return part


def rank_correlations(a: Array, b: Array, i: Array, j: Array, fold: Array, folds: int) -> Array:
    """Return Spearman's correlation over pairs: of all, then without the points of each fold; 0 if a side is constant.

    Pairs are sorted once; without a fold the others keep their order, so counting gives their ranks.

    >>> apart = np.array([1.0, 2.0, 4.0, 1.0, 3.0, 2.0])  # four points on a line, and a map that swaps two
    >>> i, j = np.triu_indices(4, 1)
    >>> rank_correlations(apart, np.array([1.0, 3.0, 4.0, 2.0, 3.0, 1.0]), i, j, np.array([0, 0, 1, 1]), 0).round(3)
    array([0.773])
    """
    from .leave_out_loops import rank_products

    (order, first), (other, other_first) = thread_pool.run(_sorted_values, (a, b))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order))
    other = place[other]
    i, j = (fold[ends[order]].astype(np.int16) for ends in (i, j))

    def one(f: int) -> float:
        products, left, right = rank_products(first, other, other_first, i, j, f)
        return float(products / np.sqrt(float(left) * float(right))) if left and right else 0.0

    return np.array(list(thread_pool.run(one, range(-1, folds))))


def _sorted_values(values: Array) -> tuple[Array, Array]:
    """Return the sorting order of values, and which sorted values are greater than the previous one."""
    order = np.argsort(values)
    first = np.ones(len(order), dtype=bool)
    first[1:] = values[order[1:]] != values[order[:-1]]
    return order, first
