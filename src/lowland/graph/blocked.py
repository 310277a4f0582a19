"""Exact search by products of blocks, for dense rows of many columns.

Rows are shifted by their mean, scaled, rounded to float32 (z) and lengthened by two columns, so that one product gives
s = zᵢᵀzⱼ − ½‖zᵢ‖² − ½‖zⱼ‖² = −½‖zᵢ − zⱼ‖² (`scores`). Each point keeps the best few scores. Their distances are then
taken exactly, and a bound on the rounding shows that no other point can be among the k nearest; where it does not, the
row is searched again in float64. So results are exact, and float32 only saves time.

With tight clusters far from each other, float32 cannot resolve the distances within them. A few rows are tried first.
If many of them fail, the set is split into clusters so far apart that no point has a neighbour in another (`split`),
and each is searched around its own mean; if there are no such clusters, all products are in float64 from the start,
which takes twice the time.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from ..core import settings, thread_pool
from ..core.cost import check_allocation
from ..pairs.pairwise import tiles
from .graph import Graph
from .measures import EuclideanRows, row_tiles
from .scores import DOUBLE, SINGLE, TINY, UNIT, error, fill, is_wide, products, split, tail
from .search import SLACK, NeighborLists, Searcher, check_edges, cut_rows, within_memory

Array = Any

_PLAIN = 1 << 27  # multiplications below which float64 is fast enough
_TILE = 1024  # a product of two such blocks stays in the cache
_NEW_ROWS_AT_ONCE = 256  # new rows looked up at a time
_REFINED = 2048  # points whose candidates are refined at a time
_FAR = 1e6  # new rows farther away than this multiple of the points' size are compared with all points
_TRIAL_POINTS = 64  # points of the first trial in float32
_WIDE_COLUMNS = 512  # with at least so many columns, up to as many new rows are compared faster than a table is built
_FAILED = 0.25  # share of uncertified trial lists above which float64 is faster
_ROWS_WORTH_FLOAT64 = 16  # uncertified new rows of a block above which a float64 table is worth its time
FEW_ENTRIES = 1 << 19  # pairs compared at a time for the remaining rows
_MAX_SPLIT_DEPTH = 4  # nested splits


class _Candidates(NamedTuple):
    """Scores of the best few points (heaps: the worst first), and which points they are."""

    worst: Array
    heaps: Array
    places: Array

    @classmethod
    def empty(cls, n: int, m: int, kind: np.dtype[Any]) -> _Candidates:
        heaps = np.full((n, m), -np.inf, dtype=kind)
        return cls(np.full(n, -np.inf, dtype=kind), heaps, np.full((n, m), -1, dtype=np.int32))


class _Table(NamedTuple):
    """The points in random order as rows z, 1, −½‖z‖², and ‖z‖."""

    rows: Array
    sizes: Array

    @property
    def kind(self) -> np.dtype[Any]:
        kind: np.dtype[Any] = self.rows.dtype
        return kind


class _Lists(NamedTuple):
    """Neighbours of all points nearest first, their Euclidean distances, and whether the first k are the nearest."""

    indices: Array
    d: Array
    sure: Array


class BlockSearcher(Searcher):
    """Products of blocks in float32; each list is certified or searched again in float64."""

    measure: EuclideanRows

    def __init__(self, measure: EuclideanRows, depth: int = 0) -> None:
        super().__init__(measure)
        self.algorithm, self._depth = "blocked", depth
        self._room = threading.local()
        self._lock = threading.Lock()
        self._tables: dict[np.dtype[Any], _Table] = {}
        self._hard: bool | None = None  # whether float32 certifies too few lists; not known yet

    def row_cost(self) -> float:
        """Return the estimated microseconds per row of the graph."""
        return 14.0 + float(self.n * (0.45e-3 + 0.006e-3 * self.measure.width))

    # -- tables -------------------------------------------------------------------------------------------

    def _prepare(self, k: int = 10) -> None:
        """Choose the precision for lists of about k neighbours by a trial of float32 on a few rows."""
        with self._lock:
            if self._hard is not None:
                return
            # the order is random, so that no order of the rows makes lists change often
            self.order = np.random.default_rng(0).permutation(self.n)
            self.scale = float(np.sqrt(self.measure.squares.max())) or 1.0
            with thread_pool.one_blas_thread():
                self._hard = self._failed(self._table(SINGLE), min(k, self.n - 1)) > _FAILED

    def _failed(self, table: _Table, k: int) -> float:
        """Return the share of uncertified lists among those of the first points of a table.

        Their rows are in the table already, so of wide rows only the few that are refined at a time are copied.
        """
        tried = self.order[:_TRIAL_POINTS]
        found = self._scored(table, table.rows[: len(tried)], min(_count(k, table.kind) + 1, self.n))
        sure = []
        for part in row_tiles(len(tried), self.measure.width):
            inside = _Candidates(*(x[part] for x in found))
            rows = self.measure.X[tried[part]]
            sure.append(self._refined(rows, table.sizes[part], inside, k, tried[part]).sure)
        return float(np.mean(~np.concatenate(sure)))

    def _chosen(self) -> _Table:
        """Return the rows to multiply, in the precision that certifies most lists."""
        with self._lock:
            if self._hard:
                self._tables.pop(SINGLE, None)
                return self._table(DOUBLE)
            return self._table(SINGLE)

    def _table(self, kind: np.dtype[Any]) -> _Table:
        """Return the points in a precision; the caller holds the lock."""
        if kind not in self._tables:
            wide = self.measure.width + 2
            check_allocation(2 * kind.itemsize * self.n * wide, "the search for neighbours", "use fewer rows")
            table = _Table(np.empty((self.n, wide), dtype=kind), np.empty(self.n))
            for part in row_tiles(self.n, wide):
                shifted = self.measure.X[self.order[part]] - self.measure.shift
                table.sizes[part] = fill(table.rows[part], shifted, self.scale)
            self._tables[kind] = table
        return self._tables[kind]

    def _score(self, left: Array, end: Array, right: Array) -> Array:
        """Return the scores of rows, whose `tail` is ``end``, with points, in a buffer of the thread."""
        shape, kind = (len(end), len(right)), right.dtype
        room = getattr(self._room, "room", None)
        if room is None or room.shape[1] < shape[0] * shape[1] or room.dtype != kind:
            size = max(shape[0] * shape[1], _NEW_ROWS_AT_ONCE * _TILE)
            room = self._room.room = np.empty((1 + is_wide(self.measure.width), size), dtype=kind)
        S, part = (x[: shape[0] * shape[1]].reshape(shape) for x in (room[0], room[-1]))
        products(left, end, right, S, part)
        return S

    # -- the set with itself ------------------------------------------------------------------------------

    def graph(self, k: int, ties: str = "cut") -> Graph:
        """Return the k nearest others of each point."""
        self._require(k, self.n - 1)
        if self.n * self.n * self.measure.width <= _PLAIN:
            return super().graph(k, ties)
        self._prepare(k)
        groups = self._groups(k)
        if len(groups) > 1:
            return self._apart(groups, k, ties)
        lists = self._lists(k, ties)
        if not self._hard:
            self._take_again(lists, k)
        return self._assembled(lists, k, ties)

    def _groups(self, k: int) -> list[Array]:
        """Return groups of positions in the random order that can be searched separately; possibly only one."""
        if not self._hard or self._depth == _MAX_SPLIT_DEPTH:
            return [np.arange(self.n)]
        with self._lock, thread_pool.one_blas_thread():
            return split(self._table(SINGLE).rows, k)

    def _apart(self, groups: list[Array], k: int, ties: str) -> Graph:
        """Return the graph of a set whose groups contain their own neighbours; small groups are compared with all."""
        self._tables.clear()
        found: list[tuple[Array, Array, Array]] = []
        held = 0
        for numbers in (np.sort(self.order[group]) for group in groups):
            if len(numbers) > k:
                measure = EuclideanRows(self.measure.X[numbers], lambda rows: rows, self.measure.finish_as)
                inside = BlockSearcher(measure, self._depth + 1).graph(k, ties)
                i, j = np.repeat(numbers, inside.degrees), numbers[inside.indices]
                found.append((i, j, inside.distances))
                held += len(j)
                check_edges(held)
                continue
            for few in (numbers[part] for part in tiles(len(numbers), self._step())):
                lone = self._pick(self.measure.own(few), few, k, ties)
                found.append((np.repeat(few, lone.counts), lone.indices, lone.distances))
        i, j, d = (np.concatenate(x) for x in zip(*found, strict=True))
        return Graph.of_edges(self.n, i, j, d, algorithm=self.algorithm)

    def _lists(self, k: int, ties: str) -> _Lists:
        """Return the lists of all points and whether they are certified; with ties="keep", all candidates."""
        table = self._chosen()
        found = self._meet(table, min(_count(k, table.kind), self.n - 1))
        shape = self.n, k if ties == "cut" else found.places.shape[1]
        lists = _Lists(np.empty(shape, dtype=np.int32), np.empty(shape), np.empty(self.n, dtype=bool))

        def refine(part: slice) -> None:
            numbers = self.order[part]
            inside = _Candidates(*(x[part] for x in found))
            self._put(lists, numbers, self._refined(self.measure.X[numbers], table.sizes[part], inside, k, None))

        for _ in thread_pool.run(refine, row_tiles(self.n, self.measure.width, _REFINED)):
            pass
        return lists

    def _put(self, lists: _Lists, numbers: Array, part: _Lists) -> None:
        kept = lists.d.shape[1]
        lists.indices[numbers], lists.d[numbers] = part.indices[:, :kept], part.d[:, :kept]
        lists.sure[numbers] = part.sure

    def _take_again(self, lists: _Lists, k: int) -> None:
        """Search again in float64 the points whose lists float32 did not certify."""
        again = np.flatnonzero(~lists.sure)
        if len(again) <= _NEW_ROWS_AT_ONCE:  # too few for a second table
            return
        with self._lock:
            table = self._table(DOUBLE)

        def look(numbers: Array) -> None:
            self._put(lists, numbers, self._looked(table, self.measure.own(numbers), k, numbers))

        parts = [again[part] for part in row_tiles(len(again), self.measure.width, _NEW_ROWS_AT_ONCE)]
        for _ in thread_pool.run(look, parts, stage="neighbours, again", total=len(parts)):
            pass

    def _meet(self, table: _Table, m: int) -> _Candidates:
        """Compare all pairs of blocks, in rounds in which no block occurs twice.

        Both blocks of a pair change their lists, so no two threads write to the same list.
        """
        from .search_loops import take_both, take_rows

        rows, end = table.rows, tail(table.rows)
        found = _Candidates.empty(self.n, m, table.kind)
        blocks = tiles(self.n, min(_TILE, max(128, -(-self.n // 512) * 32)))

        def meet(pair: tuple[slice, slice]) -> None:
            a, b = pair
            S = self._score(rows[a], end[a], rows[b])
            if a == b:
                np.fill_diagonal(S, -np.inf)
                take_rows(S, *found, a.start, b.start)
            else:
                take_both(S, *found, a.start, b.start)

        plan = rounds(blocks)
        with thread_pool.one_blas_thread():
            for done, pairs in enumerate(plan, start=1):
                for _ in thread_pool.run(meet, pairs):
                    pass
                settings.report_progress("neighbours", done, len(plan))
        return found

    def _assembled(self, lists: _Lists, k: int, ties: str) -> Graph:
        """Return the graph of the lists; points with uncertified lists are compared with all points."""
        indices, d, sure = lists
        again = np.flatnonzero(~sure)
        step = self._step() if len(again) > _REFINED else max(1, FEW_ENTRIES // self.n)  # a few need no more memory
        parts = [again[part] for part in tiles(len(again), step)]

        def search(numbers: Array) -> Any:
            rows = self.measure.own(numbers)
            upper = (np.maximum(d[numbers, k - 1], self.measure.floor) * (1 + SLACK)) ** 2
            return self._list(rows, self._values(rows, numbers), upper, k, ties)

        found = within_memory(
            thread_pool.run(search, parts, stage="neighbours, ties", total=len(parts)), int(sure.sum()) * k
        )
        if ties == "cut":
            distances = self.measure.finish(d)
            for numbers, f in zip(parts, found, strict=True):
                indices[numbers], distances[numbers] = f.indices.reshape(-1, k), f.distances.reshape(-1, k)
            return Graph.of_lists(indices, distances, algorithm=self.algorithm)
        keep = (d <= d[:, k - 1 : k]) & sure[:, None]
        pieces = [(np.nonzero(keep)[0], indices[keep], self.measure.finish(d[keep]))]
        pieces += [(np.repeat(a, f.counts), f.indices, f.distances) for a, f in zip(parts, found, strict=True)]
        i, j, d = (np.concatenate(x) for x in zip(*pieces, strict=True))
        return Graph.of_edges(self.n, i, j, d, algorithm=self.algorithm)

    # -- new rows -----------------------------------------------------------------------------------------

    def query(self, block: Array, k: int) -> tuple[Array, Array]:
        """Return the numbers and distances of the points nearest to new rows."""
        self._require(k, self.n)
        few = len(block) <= _TRIAL_POINTS and self.measure.width >= _WIDE_COLUMNS and self._hard is None
        if few or len(block) * self.n * self.measure.width <= _PLAIN:
            return super().query(block, k)
        self._prepare(min(k, self.n - 1))
        rows = self.measure.prepare(block)
        return self._looked_up(rows, lambda part: self._look_up(part, k), _NEW_ROWS_AT_ONCE, k)

    def _look_up(self, rows: Any, k: int) -> NeighborLists:
        table = self._chosen()
        lists = _Lists(*(x[:, :k].copy() if x.ndim == 2 else x for x in self._looked(table, rows, k, None)))
        again = np.flatnonzero(~lists.sure)
        if table.kind == SINGLE and len(again) >= _ROWS_WORTH_FLOAT64:
            with self._lock:
                table = self._table(DOUBLE)
            self._put(lists, again, self._looked(table, cut_rows(rows, again), k, None))
            again = np.flatnonzero(~lists.sure)
        indices, d, _ = lists
        finished = self.measure.finish(d)
        for part in tiles(len(again), self._step()):
            few = cut_rows(rows, again[part])
            upper = (np.maximum(d[again[part], k - 1], self.measure.floor) * (1 + SLACK)) ** 2
            f = self._list(few, self._values(few, None), upper, k, "cut")
            indices[again[part]], finished[again[part]] = f.indices.reshape(-1, k), f.distances.reshape(-1, k)
        return NeighborLists(np.full(len(indices), k), indices, finished)

    def _looked(self, table: _Table, rows: Any, k: int, own: Array | None) -> _Lists:
        """Return the lists of a few rows; ``own`` are their own numbers, which do not count."""
        left = np.empty((len(rows.rows), table.rows.shape[1]), dtype=table.kind)
        sizes = fill(left, rows.shifted, self.scale)
        far = ~(sizes < _FAR)
        left[far] = 0.0
        found = self._scored(table, left, min(_count(k, table.kind) + (own is not None), self.n))
        lists = self._refined(rows.rows, sizes, found, k, own)
        return lists._replace(sure=lists.sure & ~far)

    def _scored(self, table: _Table, left: Array, m: int) -> _Candidates:
        """Return the m best of all points for each of a few rows z, 1, −½‖z‖²."""
        from .search_loops import take_rows

        end, found = tail(left), _Candidates.empty(len(left), m, table.kind)
        for part in tiles(self.n, _TILE):
            take_rows(self._score(left, end, table.rows[part]), *found, 0, part.start)
        return found

    # -- from candidates to neighbours --------------------------------------------------------------------

    def _refined(self, rows: Array, sizes: Array, found: _Candidates, k: int, own: Array | None) -> _Lists:
        """Return the candidates nearest first, their Euclidean distances, and whether the first k are the nearest.

        A point that was left out scored no better than the worst candidate: s ≤ w, so ½‖zᵢ − zⱼ‖² ≥ −w − e, e the bound
        of `scores.error` with ‖zⱼ‖ ≤ ‖zᵢ‖ + d (a point farther out than that is farther than d anyway). Rounding to z
        moves a distance by 2u(‖zᵢ‖ + ‖zⱼ‖) at most.
        """
        n, m = found.places.shape
        kind = found.heaps.dtype
        indices = self.order[found.places]
        d = self.measure.raw(rows, np.repeat(np.arange(n), m), indices.ravel()).reshape(n, m)
        if own is not None:
            d[indices == own[:, None]] = np.inf
        by_number = np.argsort(indices, axis=1)
        indices, d = (np.take_along_axis(x, by_number, axis=1) for x in (indices, d))
        by_distance = np.argsort(d, axis=1, kind="stable")
        indices, d = (np.take_along_axis(x, by_distance, axis=1) for x in (indices, d))
        last = np.maximum(d[:, k - 1], self.measure.floor) / self.scale * (1 + 1e-9)  # far above exact sums' rounding
        reach = 1.001 * (2 * sizes + last)
        gap = -2 * (found.worst.astype(np.float64) + error(kind, self.measure.width, reach))
        sure = np.sqrt(np.maximum(gap, 0.0)) - 2.01 * UNIT[kind] * reach - TINY[kind] > last
        return _Lists(indices, d, sure)


def _count(k: int, kind: np.dtype[Any]) -> int:
    """Return the number of candidates kept for k neighbours; more in float32."""
    return k + (max(8, k // 4) if kind == SINGLE else max(32, k))


def rounds(blocks: list[Any]) -> list[list[tuple[Any, Any]]]:
    """Return rounds of pairs: every block with itself, then with every other, none twice in a round.

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
