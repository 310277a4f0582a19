"""Exact search by products of blocks, for dense rows of many columns.

Rows are shifted by their mean, scaled, rounded to float32 (z) and lengthened by two columns, so that one product gives
s = zᵢᵀzⱼ − ½‖zᵢ‖² − ½‖zⱼ‖² = −½‖zᵢ − zⱼ‖². Each point keeps the best few scores. Their distances are then taken
exactly, and a bound on the rounding shows that no other point can be among the k nearest; where it does not, the row is
searched again in float64. So answers are exact, and float32 shows only in the time.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from .. import pool, settings
from ..pairwise import tiles
from .graph import Graph
from .measures import EuclideanRows
from .search import SLACK, Found, Searcher, cut_rows, within_memory

Array = Any

UNIT = 2.0**-24  # rounding of float32
_TINY = 1e-37  # more than what underflow takes off a product of float32
_PLAIN = 1 << 27  # multiplications below which float64 throughout is quick enough
_TILE = 1024  # a product of two such blocks stays in the cache
_ROWS = 256  # new rows looked up at a time
_REFINED = 2048  # points whose candidates are looked at again at a time
_FAR = 1e6  # new rows farther off than this, beside the points, are left to float64


class _Candidates(NamedTuple):
    """Scores of the best few points (heaps: the worst first), and which points they are."""

    worst: Array
    heaps: Array
    places: Array

    @classmethod
    def empty(cls, n: int, m: int) -> _Candidates:
        heaps = np.full((n, m), -np.inf, dtype=np.float32)
        return cls(np.full(n, -np.inf, dtype=np.float32), heaps, np.full((n, m), -1, dtype=np.int32))


class BlockSearcher(Searcher):
    """Products of blocks in float32, each list certified or taken again in float64."""

    measure: EuclideanRows

    def __init__(self, measure: EuclideanRows) -> None:
        super().__init__(measure)
        self.algorithm = "blocked"
        self._room = threading.local()
        self._lock = threading.Lock()
        self._table: Array | None = None

    def row_cost(self) -> float:
        """Return the microseconds that a row of the graph should take."""
        return 14.0 + float(self.n * (0.45e-3 + 0.006e-3 * self.measure.width))

    # -- tables -------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Make the float32 rows once, in an order of chance: no order of the rows then keeps the lists changing."""
        with self._lock:
            if self._table is not None:
                return
            self.order = np.random.default_rng(0).permutation(self.n)
            self.scale = float(np.sqrt(self.measure.squares.max())) or 1.0
            right = np.empty((self.n, self.measure.width + 2), dtype=np.float32)
            self.sizes = np.empty(self.n)
            for part in tiles(self.n, 4096):
                self.sizes[part] = self._fill(right[part], self.measure.X[self.order[part]] - self.measure.shift)
            self._table = right

    def _fill(self, out: Array, shifted: Array) -> Array:
        """Write rows z, 1, −½‖z‖²; return ‖z‖."""
        with np.errstate(all="ignore"):  # new rows may lie anywhere; those too far off are not looked up by this table
            out[:, :-2] = shifted / self.scale
            z = out[:, :-2].astype(np.float64)
            squares = np.einsum("ij,ij->i", z, z)
            out[:, -2], out[:, -1] = 1.0, -0.5 * squares
        return np.sqrt(squares)

    def _buffer(self, rows: int, columns: int) -> Array:
        """Return room for a product, one for each thread."""
        room = getattr(self._room, "room", None)
        if room is None or room.size < rows * columns:
            room = self._room.room = np.empty(max(rows * columns, _ROWS * _TILE), dtype=np.float32)
        return room[: rows * columns].reshape(rows, columns)

    # -- the set with itself ------------------------------------------------------------------------------

    def graph(self, k: int, ties: str = "cut") -> Graph:
        """Return the k nearest others of each point."""
        self._require(k, self.n - 1)
        if self.n * self.n * self.measure.width <= _PLAIN:
            return super().graph(k, ties)
        self._prepare()
        found = self._meet(min(_count(k), self.n - 1))
        parts = tiles(self.n, _REFINED)

        def refine(part: slice) -> Any:
            numbers = self.order[part]
            inside = _Candidates(*(x[part] for x in found))
            return self._refined(self.measure.X[numbers], self.sizes[part], inside, k)

        lists = list(pool.run(refine, parts))
        indices, d, sure = (np.concatenate(x) for x in zip(*lists, strict=True))
        return self._assembled(indices, d, sure, k, ties)

    def _meet(self, m: int) -> _Candidates:
        """Let all blocks meet all others, each pair once, in rounds in which no block is in two pairs.

        Both blocks of a pair change their lists, so no two threads ever write to one.
        """
        from .search_kernels import take_both, take_rows

        right = self._table
        assert right is not None
        left = right.copy()
        left[:, -2], left[:, -1] = right[:, -1], right[:, -2]
        found = _Candidates.empty(self.n, m)
        blocks = tiles(self.n, min(_TILE, max(128, -(-self.n // 512) * 32)))

        def meet(pair: tuple[slice, slice]) -> None:
            a, b = pair
            S = self._buffer(a.stop - a.start, b.stop - b.start)
            np.matmul(left[a], right[b].T, out=S)
            if a == b:
                np.fill_diagonal(S, -np.inf)
                take_rows(S, *found, a.start, b.start)
            else:
                take_both(S, *found, a.start, b.start)

        plan = rounds(blocks)
        with pool.one_blas_thread():
            for done, pairs in enumerate(plan, start=1):
                for _ in pool.run(meet, pairs):
                    pass
                settings.report_progress("neighbours", done, len(plan))
        return found

    def _assembled(self, indices: Array, d: Array, sure: Array, k: int, ties: str) -> Graph:
        """Put the lists in the order of the points; those not certified are searched again."""
        place = np.empty(self.n, dtype=np.int64)
        place[self.order] = np.arange(self.n)
        indices, d, sure = indices[place], d[place], sure[place]
        again = np.flatnonzero(~sure)
        parts = [again[part] for part in tiles(len(again), self._step())]

        def search(numbers: Array) -> Any:
            rows = self.measure.own(numbers)
            upper = (np.maximum(d[numbers, k - 1], self.measure.floor) * (1 + SLACK)) ** 2
            return self._list(rows, self._values(rows, numbers), upper, k, ties)

        found = within_memory(pool.run(search, parts, stage="neighbours, ties", total=len(parts)), int(sure.sum()) * k)
        if ties == "cut":
            indices, d = indices[:, :k].copy(), self.measure.finish(d[:, :k])
            for numbers, f in zip(parts, found, strict=True):
                indices[numbers], d[numbers] = f.indices.reshape(-1, k), f.distances.reshape(-1, k)
            return Graph.of_lists(indices, d, algorithm=self.algorithm)
        keep = (d <= d[:, k - 1 : k]) & sure[:, None]
        pieces = [(np.nonzero(keep)[0], indices[keep], self.measure.finish(d[keep]))]
        pieces += [(np.repeat(a, f.counts), f.indices, f.distances) for a, f in zip(parts, found, strict=True)]
        i, j, d = (np.concatenate(x) for x in zip(*pieces, strict=True))
        return Graph.of_edges(self.n, i, j, d, algorithm=self.algorithm)

    # -- new rows -----------------------------------------------------------------------------------------

    def query(self, block: Array, k: int) -> tuple[Array, Array]:
        """Return the numbers and distances of the points nearest to new rows."""
        self._require(k, self.n)
        if len(block) * self.n * self.measure.width <= _PLAIN:
            return super().query(block, k)
        self._prepare()
        rows = self.measure.prepare(block)
        return self._looked_up(rows, lambda part: self._look_up(part, k), _ROWS, k)

    def _look_up(self, rows: Any, k: int) -> Found:
        from .search_kernels import take_rows

        right = self._table
        assert right is not None
        left = np.empty((len(rows.rows), right.shape[1]), dtype=np.float32)
        sizes = self._fill(left, rows.shifted)
        far = ~(sizes < _FAR)
        left[far] = 0.0
        left[:, -2], left[:, -1] = left[:, -1].copy(), 1.0
        found = _Candidates.empty(len(left), min(_count(k), self.n))
        for part in tiles(self.n, _TILE):
            S = self._buffer(len(left), part.stop - part.start)
            np.matmul(left, right[part].T, out=S)
            take_rows(S, *found, 0, part.start)
        indices, d, sure = self._refined(rows.rows, sizes, found, k)
        indices, d, again = indices[:, :k].copy(), d[:, :k].copy(), np.flatnonzero(~sure | far)
        finished = self.measure.finish(d)
        for part in tiles(len(again), self._step()):
            few = cut_rows(rows, again[part])
            upper = (np.maximum(d[again[part], k - 1], self.measure.floor) * (1 + SLACK)) ** 2
            f = self._list(few, self._values(few, None), upper, k, "cut")
            indices[again[part]], finished[again[part]] = f.indices.reshape(-1, k), f.distances.reshape(-1, k)
        return Found(np.full(len(indices), k), indices, finished)

    # -- from candidates to neighbours --------------------------------------------------------------------

    def _refined(self, rows: Array, sizes: Array, found: _Candidates, k: int) -> tuple[Array, Array, Array]:
        """Return the candidates nearest first, their Euclidean distances, and whether the first k are the nearest.

        A point that was left out scored no better than the worst candidate: s ≤ w, so ½‖zᵢ − zⱼ‖² ≥ −w − e. With
        ‖zⱼ‖ ≤ ‖zᵢ‖ + d (a point farther out than that is farther than d anyway), products of D + 2 terms in float32 err
        by e ≤ γ·½(‖zᵢ‖ + ‖zⱼ‖)², γ = m/(2²⁴ − m) with m = D + 4 (Higham 2002, section 3.1), and rounding to z moves a
        distance by 2⁻²⁴(‖zᵢ‖ + ‖zⱼ‖) at most.
        """
        n, m = found.places.shape
        indices = self.order[found.places]
        d = self.measure.raw(rows, np.repeat(np.arange(n), m), indices.ravel()).reshape(n, m)
        by_number = np.argsort(indices, axis=1)
        indices, d = (np.take_along_axis(x, by_number, axis=1) for x in (indices, d))
        by_distance = np.argsort(d, axis=1, kind="stable")
        indices, d = (np.take_along_axis(x, by_distance, axis=1) for x in (indices, d))
        last = (
            np.maximum(d[:, k - 1], self.measure.floor) / self.scale * (1 + 1e-9)
        )  # far above the rounding of exact sums
        reach = 1.001 * (2 * sizes + last)
        terms = self.measure.width + 4
        e = terms * (UNIT / max(1 - terms * UNIT, UNIT) * reach**2 / 2 + _TINY)
        gap = -2 * (found.worst.astype(np.float64) + e)
        sure = np.sqrt(np.maximum(gap, 0.0)) - 1.01 * UNIT * reach - _TINY > last
        return indices, d, sure


def _count(k: int) -> int:
    """Return how many candidates are kept for k neighbours."""
    return k + max(8, k // 4)


def rounds(blocks: list[Any]) -> list[list[tuple[Any, Any]]]:
    """Return rounds of pairs in which every block meets itself, then every other, none twice in a round.

    >>> rounds([1, 2, 3])
    [[(1, 1), (2, 2), (3, 3)], [(2, 3)], [(1, 3)], [(1, 2)]]
    """
    ring = [*blocks, *([None] if len(blocks) % 2 else [])]
    out = [[(block, block) for block in blocks]]
    for _ in range(len(ring) - 1):
        pairs = zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True)
        out.append([(a, b) for a, b in pairs if a is not None and b is not None])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return out
