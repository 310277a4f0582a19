"""Ranks of neighbours on two sides: of the map's neighbours in the data, and of the data's neighbours in the map.

For every anchor the k nearest are listed on both sides, and for each listed point the nearer points on the other side
are counted. This compares each anchor with all points, a block of anchors at a time, without an N × N matrix. Two
algorithms give the same numbers. For dense rows, distances are compared by matrix products in float32 or float64, and
cases within the rounding error by exact distances. For other metrics, large k and many ties, all points are sorted on
both sides.

For ties see `lowland.quality.rank_lists`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import settings, thread_pool
from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..graph.measures import BoundMetric
from ..pairs.pairwise import tiles
from .anchors import Anchors, choose
from .rank_counting import counted, counters
from .rank_lists import Listed, Ranks, summed
from .repeated import columns as columns_of_repeated
from .repeated import repeated
from .spaces import Sides

Array = Any

_RANKS_AT_ONCE = 1 << 19  # ranks sorted at a time
_LEAST_ANCHORS_SORTED = 2  # least number of anchors sorted at a time: preparing the points has a fixed cost
_SORT_BYTES = 128  # memory for sorting a rank, if all are tied; 110 to 120 measured
_ANCHORS_COUNTED = 256  # anchors counted at a time


@dataclass(frozen=True, eq=False)
class RankTable:
    """Neighbourhood statistics of some anchors, one value for each anchor.

    Attributes
    ----------
    n, n_neighbors : int
        Number of points, and of neighbours k.
    anchors : Anchors
        The evaluated points.
    false_ranks : array
        Σ max(0, rank − k) over the k nearest in the map, by their ranks in the data.
    missing_ranks : array
        The same over the k nearest in the data, by their ranks in the map.
    shared : array
        Share of the k neighbours common to both sides.
    data_reach, map_reach : array
        Mean distance to the k nearest: in the data, and in the map.
    false_reach : array
        Mean distance in the data to the k nearest in the map.
    missing_reach : array
        Mean distance in the map to the k nearest in the data.
    data_purity, map_purity : array or None
        With groups, the share of the k nearest in the anchor's group; NaN for points without a label.
    """

    n: int
    n_neighbors: int
    anchors: Anchors
    false_ranks: Array
    missing_ranks: Array
    shared: Array
    data_reach: Array
    map_reach: Array
    false_reach: Array
    missing_reach: Array
    data_purity: Array | None
    map_purity: Array | None


def rank_table(
    sides: Sides,
    n_neighbors: int = 10,
    anchors: int | str | Anchors | None = "auto",
    random_state: int | None = None,
    groups: Any = None,
    *,
    owner: str = "quality",
) -> RankTable:
    """Compare the neighbourhoods of anchors on two sides.

    Parameters
    ----------
    sides : Sides
        The data and the map, see `lowland.quality.spaces.sides`.
    n_neighbors : int
        Number of neighbours k, at most N − 2.
    anchors, random_state, groups
        See `lowland.quality.anchors.choose`; or the anchors themselves.
    owner : str
        Name of the function in error messages.
    """
    k = check_count(n_neighbors, sides.n, owner)
    chosen = anchors if isinstance(anchors, Anchors) else choose(sides.n, anchors, random_state, groups, owner=owner)
    columns = _columns(sides, k, chosen)
    purity = (columns[7], columns[8]) if chosen.codes is not None else (None, None)
    return RankTable(sides.n, k, chosen, *columns[:7], *purity)


def check_count(k: Any, n: int, owner: str) -> int:
    """Return a valid number of neighbours: at least one other point must not be a neighbour."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        whole = f" must be a whole number of at least 1; it is {k!r}"
        raise ValueError(Message(Owner(owner), Setting("n_neighbors"), whole))
    if k > n - 2:
        large = f" is too large for {n} points: if all {n - 1} others are neighbours, every map is equal"
        usual = f"; the largest allowed is {n - 2}, and {max(1, min(10, n // 4))} is a good choice"
        raise DataError(Message(Owner(owner), Setting("n_neighbors", k), large + usual))
    return int(k)


def _columns(sides: Sides, k: int, chosen: Anchors) -> Array:
    """Return the table's columns: nine rows, one value for each anchor."""
    equal = repeated(sides)
    if equal is not None:
        return columns_of_repeated(sides, equal, k, chosen)
    quick = counters(sides, k)
    out = np.empty((9, len(chosen.numbers)))
    left = chosen.numbers
    if quick is not None:
        parts = tiles(len(left), _ANCHORS_COUNTED)
        found = thread_pool.run(
            lambda p: counted(quick, left[p], k, chosen.codes), parts, stage="ranks", total=len(parts)
        )
        done = np.ones(len(left), dtype=bool)
        for part, (values, sure) in zip(parts, found, strict=True):
            out[:, part], done[part] = values, sure
        again = np.flatnonzero(~done)
    else:
        again = np.arange(len(left))
    rest = [again[p] for p in sort_tiles(len(again), sides.n)]
    sorted = thread_pool.run(
        lambda p: _sorted(sides, left[p], k, chosen.codes), rest, stage="ranks, sorted", total=len(rest)
    )
    for some, values in zip(rest, sorted, strict=True):
        out[:, some] = values
    return out


# -- by sorting -------------------------------------------------------------------------------------------


def sort_tiles(count: int, n: int) -> list[slice]:
    """Return the parts of the anchors to sort at a time; raise `MemoryLimitError` if even the smallest does not fit."""
    step = max(_LEAST_ANCHORS_SORTED, _RANKS_AT_ONCE // n)
    check_allocation(settings.threads() * step * n * _SORT_BYTES, "sorting points by distance", "use fewer points")
    return tiles(count, step)


class Sorted:
    """Distances and ``ranks`` of all points for some anchors (m × N).

    An anchor is not ranked in its own row: both of its counts are zero.
    """

    def __init__(self, side: BoundMetric, numbers: Array) -> None:
        self.side, self.rows = side, side.own(numbers)
        self.values = np.ascontiguousarray(side.compare(self.rows), dtype=np.float64)
        self.ranks = self._ranks(numbers)

    def exact(self, i: Array, j: Array) -> Array:
        """Return the distances of the anchors i to the points j."""
        return self.side.exact(self.rows, i, j, self.values[i, j])

    def _ranks(self, numbers: Array) -> Ranks:
        from .ranks_loops import assign, sort_rows

        m, n = self.values.shape
        errors = np.zeros((m, n))
        errors += self.side.slack(self.rows, np.arange(n)[None, :])
        order, joined = np.empty((m, n - 1), dtype=np.int32), np.empty((m, n - 1), dtype=bool)
        floor = self.side.floor**2 if self.side.floor else -np.inf
        sort_rows(self.values, errors, floor, numbers, order, joined)
        i, p = np.nonzero(_in_chains(joined))
        ranks = Ranks(np.zeros((m, n), dtype=np.int32), np.zeros((m, n), dtype=np.int32))
        assign(order, joined, self.exact(i, order[i, p].astype(np.int64)), *ranks)
        return ranks


def _in_chains(joined: Array) -> Array:
    """Return the points of chains: those joined to their predecessor, and the predecessors."""
    chained = joined.copy()
    chained[:, :-1] |= joined[:, 1:]
    return chained


def _sorted(sides: Sides, numbers: Array, k: int, codes: Array | None) -> Array:
    """Return the columns of some anchors from the ranks of all points."""
    data, map = Sorted(sides.data, numbers), Sorted(sides.map, numbers)
    return summed(_taken(data, map, k), _taken(map, data, k), numbers, k, codes)


def _taken(own: Sorted, other: Sorted, k: int) -> Listed:
    """Return the points that may be among the k nearest on one side."""
    i, j = np.nonzero((own.ranks.less < k) & (own.ranks.equal > 0))
    ranks, other_ranks = (Ranks(x.ranks.less[i, j], x.ranks.equal[i, j]) for x in (own, other))
    return Listed(i, j, own.exact(i, j), ranks, other.exact(i, j), other_ranks)
