"""How anchors are compared with a block of rows, in the metric of one side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..graph.blocked import BlockSearcher
from ..graph.graph import starts
from ..graph.measures import BoundMetric, EuclideanRows, RuleRows
from ..graph.scores import DOUBLE, SINGLE
from ..graph.search import Searcher
from ..pairs.pairwise import cut, tiles
from .rank_counting import FEW, TILE, WIDEST, Counter
from .rank_lists import Ranks

Array = Any

ANCHORS_AT_ONCE = 256
_DOUBTFUL = 0.02  # share of doubtful pairs above which products in float64 save time
_ABOVE = 1 + 1e-9  # more than the rounding of a distance


class RuleCounter:
    """Count the points nearer than given ones, for a metric whose values count as exact; see `Counter`."""

    doubtful = 0

    def __init__(self, measure: RuleRows) -> None:
        self.measure, self.n = measure, measure.n

    def count(self, rows: Any, own: Array, counts: Array, d: Array, *, ascending: bool = False) -> Ranks:
        """Return how many points are nearer to prepared rows than distances d, and how many as far."""
        from .ranks_loops import count_nearer, count_nearer_ascending, settle

        if not len(d):
            return Ranks(*np.zeros((2, 0), dtype=np.int64))
        start, limits = starts(counts), -d
        less, equal = np.zeros((2, len(d)), dtype=np.int64)
        i, j = np.empty((2, len(own) * TILE), dtype=np.int32)
        loop = count_nearer_ascending if ascending and counts.max() > FEW else count_nearer
        for _, V in self._values(rows, own):
            S = -V
            found = loop(S, start, limits, limits, less, i, j)  # undecided are the points as far as one of d
            if found:
                a, b = i[:found], j[:found]
                settle(a, S[a, b], V[a, b], start, limits, limits, d, less, equal)
        return Ranks(less, equal)

    def within(self, rows: Any, own: Array, reach: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield row, point and distance of the points within ``reach`` of each row, some points at a time."""
        for part, V in self._values(rows, own):
            a, b = np.nonzero(reach[:, None] >= V)
            yield a, b + part.start, V[a, b]

    def distances(self, rows: Any, i: Array, j: Array) -> Array:
        """Return the distances of prepared rows i and points j."""
        out = np.empty(len(i))
        order = np.argsort(i, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(i[order])) + 1):
            if len(some):
                row = slice(int(i[some[0]]), int(i[some[0]]) + 1)
                out[some] = self.measure.rule.between(cut(rows, row), cut(self.measure.prepared, j[some]))[0]
        return out

    def _values(self, rows: Any, own: Array) -> Iterator[tuple[slice, Array]]:
        for part in tiles(self.n, TILE):
            V = np.array(self.measure.rule.between(rows, cut(self.measure.prepared, part)), dtype=np.float64, order="C")
            here = np.flatnonzero((part.start <= own) & (own < part.stop))
            V[here, own[here] - part.start] = np.inf
            yield part, V


class AnchorSide:
    """The anchors on one side, and bounds on the distance of each to its k-th nearest neighbour.

    ``sample`` is the metric bound to a sample of the points, whose distances are the first bounds. Distances are those
    that a `Counter` compares: Euclidean ones for the metrics made of them.
    """

    def __init__(self, sample: BoundMetric, anchors: Array, k: int) -> None:
        self.sample, self.anchors = sample, anchors
        self._kind = DOUBLE if isinstance(sample, EuclideanRows) and sample.width > WIDEST else SINGLE
        self._size = self._largest_norm()
        search = BlockSearcher(sample) if isinstance(sample, EuclideanRows) else Searcher(sample)
        _, d = search.query(anchors, k + 1)  # an anchor may be in the sample and is then its own nearest
        last = d[:, k]
        if isinstance(sample, EuclideanRows):
            last = np.array([sample.reach(value) for value in last]) * _ABOVE
        self.reach = last

    def keep(self, places: Array) -> None:
        """Keep these anchors only."""
        self.anchors, self.reach = self.anchors[places], self.reach[places]

    def block(self, rows: Array) -> Counter | RuleCounter:
        """Return what compares anchors with these rows."""
        if isinstance(self.sample, EuclideanRows):
            return Counter.of_block(self.sample.on(rows), self._kind, self._size)
        assert isinstance(self.sample, RuleRows)  # other metrics have no blocks of rows
        return RuleCounter(self.sample.on(rows))

    def _largest_norm(self) -> float:
        """Return the largest norm of an anchor, by which products are scaled; 0 if there are none."""
        if not isinstance(self.sample, EuclideanRows):
            return 0.0
        parts = tiles(len(self.anchors), ANCHORS_AT_ONCE)
        return max(float(np.sqrt(self.sample.prepare(self.anchors[part]).squares.max())) for part in parts)

    def prepared(self, part: slice) -> Any:
        """Return some of the anchors, prepared."""
        return self.sample.prepare(self.anchors[part])

    def finish(self, d: Array) -> Array:
        """Turn the compared distances into those of the metric."""
        return self.sample.finish(d) if isinstance(self.sample, EuclideanRows) else d

    def learn(self, counter: Counter | RuleCounter) -> None:
        """Choose the precision of later blocks by the number of doubtful pairs in this one; results do not change."""
        if counter.doubtful > _DOUBTFUL * counter.n * len(self.anchors):
            self._kind = DOUBLE
