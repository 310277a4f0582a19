"""Exact search by products of blocks, for dense rows of many columns.

Rows are shifted by their mean, scaled, rounded to float32 (z) and lengthened by two columns, so that one product gives
s = zᵢᵀzⱼ − ½‖zᵢ‖² − ½‖zⱼ‖² = −½‖zᵢ − zⱼ‖². Each point keeps the best few scores. Their distances are then taken
exactly, and a bound on the rounding shows that no other point can be among the k nearest; where it does not, the row is
searched again in float64. So answers are exact, and float32 shows only in the time.

Tight clusters far from each other leave no digits of float32 for what is near. A few rows are tried first. Where many
of them fail, the set is split into clusters so far apart that no point has a neighbour in another (`split`), each of
which is searched by itself, around its own mean; where it does not fall into such, all products are in float64 from the
start: twice the time, not the time of both.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from .. import pool, settings
from ..pairwise import tiles
from ..planning import check_allocation
from .graph import Graph
from .measures import EuclideanRows
from .search import SLACK, Found, Searcher, check_edges, cut_rows, within_memory

Array = Any

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
UNIT = {SINGLE: 2.0**-24, DOUBLE: 2.0**-53}  # rounding
_TINY = {SINGLE: 1e-37, DOUBLE: 1e-307}  # more than what underflow takes off a product
_PLAIN = 1 << 27  # multiplications below which float64 throughout is quick enough
_TILE = 1024  # a product of two such blocks stays in the cache
_ROWS = 256  # new rows looked up at a time
_REFINED = 2048  # points whose candidates are looked at again at a time
_FAR = 1e6  # new rows farther off than this, beside the points, are left to the search of all pairs
_TRIED = 64  # points looked up before all are
_FAILED = 0.25  # share of them whose lists are not certified, from which float64 throughout is quicker
_FEW = 16  # new rows of a block that repay a second look in float64
FEW_ENTRIES = 1 << 19  # pairs compared at a time for rows that are left
_DEPTH = 4  # splits within splits
_PIVOTS = 256  # clusters looked for at once
_LONE = 1 / 64  # share of the points that may be left over by a split


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
    """The points in an order of chance as rows z, 1, −½‖z‖², and ‖z‖."""

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
    """Products of blocks in float32, each list certified or taken again in float64."""

    measure: EuclideanRows

    def __init__(self, measure: EuclideanRows, depth: int = 0) -> None:
        super().__init__(measure)
        self.algorithm, self._depth = "blocked", depth
        self._room = threading.local()
        self._lock = threading.Lock()
        self._tables: dict[np.dtype[Any], _Table] = {}
        self._hard: bool | None = None  # whether float32 certifies too few lists; not known yet

    def row_cost(self) -> float:
        """Return the microseconds that a row of the graph should take."""
        return 14.0 + float(self.n * (0.45e-3 + 0.006e-3 * self.measure.width))

    # -- tables -------------------------------------------------------------------------------------------

    def _prepare(self, k: int = 10) -> None:
        """Try float32 on a few rows once, which tells the precision that lists of about k neighbours want."""
        with self._lock:
            if self._hard is not None:
                return
            self.order = np.random.default_rng(0).permutation(self.n)  # no order of the rows keeps lists changing
            self.scale = float(np.sqrt(self.measure.squares.max())) or 1.0
            tried = self.order[:_TRIED]
            with pool.one_blas_thread():
                lists = self._looked(self._table(SINGLE), self.measure.own(tried), min(k, self.n - 1), tried)
            self._hard = bool(np.mean(~lists.sure) > _FAILED)

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
            for part in tiles(self.n, 4096):
                shifted = self.measure.X[self.order[part]] - self.measure.shift
                table.sizes[part] = self._fill(table.rows[part], shifted)
            self._tables[kind] = table
        return self._tables[kind]

    def _fill(self, out: Array, shifted: Array) -> Array:
        """Write rows z, 1, −½‖z‖²; return ‖z‖."""
        with np.errstate(all="ignore"):  # new rows may lie anywhere; those too far off are not looked up by this table
            out[:, :-2] = shifted / self.scale
            z = out[:, :-2].astype(np.float64)
            squares = np.einsum("ij,ij->i", z, z)
            out[:, -2], out[:, -1] = 1.0, -0.5 * squares
        return np.sqrt(squares)

    def _buffer(self, rows: int, columns: int, kind: np.dtype[Any]) -> Array:
        """Return room for a product, one for each thread."""
        room = getattr(self._room, "room", None)
        if room is None or room.size < rows * columns or room.dtype != kind:
            room = self._room.room = np.empty(max(rows * columns, _ROWS * _TILE), dtype=kind)
        return room[: rows * columns].reshape(rows, columns)

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
        """Return groups of places in the order of chance that can be searched one by one; one of all, if need be."""
        if not self._hard or self._depth == _DEPTH:
            return [np.arange(self.n)]
        with self._lock, pool.one_blas_thread():
            return split(self._table(SINGLE).rows, k)

    def _apart(self, groups: list[Array], k: int, ties: str) -> Graph:
        """Return the graph of a set whose groups hold each other's neighbours; those of few points see all others."""
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
        """Return the lists of all points, and which are certified; to keep ties, all candidates."""
        table = self._chosen()
        found = self._meet(table, min(_count(k, table.kind), self.n - 1))
        shape = self.n, k if ties == "cut" else found.places.shape[1]
        lists = _Lists(np.empty(shape, dtype=np.int32), np.empty(shape), np.empty(self.n, dtype=bool))

        def refine(part: slice) -> None:
            numbers = self.order[part]
            inside = _Candidates(*(x[part] for x in found))
            self._put(lists, numbers, self._refined(self.measure.X[numbers], table.sizes[part], inside, k, None))

        for _ in pool.run(refine, tiles(self.n, _REFINED)):
            pass
        return lists

    def _put(self, lists: _Lists, numbers: Array, part: _Lists) -> None:
        kept = lists.d.shape[1]
        lists.indices[numbers], lists.d[numbers] = part.indices[:, :kept], part.d[:, :kept]
        lists.sure[numbers] = part.sure

    def _take_again(self, lists: _Lists, k: int) -> None:
        """Look up in float64 the points that float32 left uncertain."""
        again = np.flatnonzero(~lists.sure)
        if len(again) <= _ROWS:  # these do not repay a second table
            return
        with self._lock:
            table = self._table(DOUBLE)

        def look(numbers: Array) -> None:
            self._put(lists, numbers, self._looked(table, self.measure.own(numbers), k, numbers))

        parts = [again[part] for part in tiles(len(again), _ROWS)]
        for _ in pool.run(look, parts, stage="neighbours, again", total=len(parts)):
            pass

    def _meet(self, table: _Table, m: int) -> _Candidates:
        """Let all blocks meet all others, each pair once, in rounds in which no block is in two pairs.

        Both blocks of a pair change their lists, so no two threads ever write to one.
        """
        from .search_kernels import take_both, take_rows

        right = table.rows
        left = right.copy()
        left[:, -2], left[:, -1] = right[:, -1], right[:, -2]
        found = _Candidates.empty(self.n, m, table.kind)
        blocks = tiles(self.n, min(_TILE, max(128, -(-self.n // 512) * 32)))

        def meet(pair: tuple[slice, slice]) -> None:
            a, b = pair
            S = self._buffer(a.stop - a.start, b.stop - b.start, table.kind)
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

    def _assembled(self, lists: _Lists, k: int, ties: str) -> Graph:
        """Return the graph of the lists; those still not certified are compared with all points."""
        indices, d, sure = lists
        again = np.flatnonzero(~sure)
        step = self._step() if len(again) > _REFINED else max(1, FEW_ENTRIES // self.n)  # a few need no more memory
        parts = [again[part] for part in tiles(len(again), step)]

        def search(numbers: Array) -> Any:
            rows = self.measure.own(numbers)
            upper = (np.maximum(d[numbers, k - 1], self.measure.floor) * (1 + SLACK)) ** 2
            return self._list(rows, self._values(rows, numbers), upper, k, ties)

        found = within_memory(pool.run(search, parts, stage="neighbours, ties", total=len(parts)), int(sure.sum()) * k)
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
        if len(block) * self.n * self.measure.width <= _PLAIN:
            return super().query(block, k)
        self._prepare(min(k, self.n - 1))
        rows = self.measure.prepare(block)
        return self._looked_up(rows, lambda part: self._look_up(part, k), _ROWS, k)

    def _look_up(self, rows: Any, k: int) -> Found:
        table = self._chosen()
        lists = _Lists(*(x[:, :k].copy() if x.ndim == 2 else x for x in self._looked(table, rows, k, None)))
        again = np.flatnonzero(~lists.sure)
        if table.kind == SINGLE and len(again) >= _FEW:
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
        return Found(np.full(len(indices), k), indices, finished)

    def _looked(self, table: _Table, rows: Any, k: int, own: Array | None) -> _Lists:
        """Return the lists of a few rows; ``own`` are their own numbers, which do not count."""
        from .search_kernels import take_rows

        left = np.empty((len(rows.rows), table.rows.shape[1]), dtype=table.kind)
        sizes = self._fill(left, rows.shifted)
        far = ~(sizes < _FAR)
        left[far] = 0.0
        left[:, -2], left[:, -1] = left[:, -1].copy(), 1.0
        m = min(_count(k, table.kind) + (own is not None), self.n)
        found = _Candidates.empty(len(left), m, table.kind)
        for part in tiles(self.n, _TILE):
            S = self._buffer(len(left), part.stop - part.start, table.kind)
            np.matmul(left, table.rows[part].T, out=S)
            take_rows(S, *found, 0, part.start)
        lists = self._refined(rows.rows, sizes, found, k, own)
        return lists._replace(sure=lists.sure & ~far)

    # -- from candidates to neighbours --------------------------------------------------------------------

    def _refined(self, rows: Array, sizes: Array, found: _Candidates, k: int, own: Array | None) -> _Lists:
        """Return the candidates nearest first, their Euclidean distances, and whether the first k are the nearest.

        A point that was left out scored no better than the worst candidate: s ≤ w, so ½‖zᵢ − zⱼ‖² ≥ −w − e. With
        ‖zⱼ‖ ≤ ‖zᵢ‖ + d (a point farther out than that is farther than d anyway), products of D + 2 terms in float32 err
        by e ≤ γ·½(‖zᵢ‖ + ‖zⱼ‖)², γ = mu/(1 − mu) with m = D + 4, u = 2⁻²⁴ (Higham 2002, section 3.1), and rounding to z
        moves a distance by 2u(‖zᵢ‖ + ‖zⱼ‖) at most. In float64, u = 2⁻⁵³, the sums ‖z‖² err as much again.
        """
        n, m = found.places.shape
        kind = found.heaps.dtype
        unit, tiny = UNIT[kind], _TINY[kind]
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
        terms = (self.measure.width + 4) * (1 if kind == SINGLE else 2)
        e = terms * (unit / max(1 - terms * unit, unit) * reach**2 / 2 + tiny)
        gap = -2 * (found.worst.astype(np.float64) + e)
        sure = np.sqrt(np.maximum(gap, 0.0)) - 2.01 * unit * reach - tiny > last
        return _Lists(indices, d, sure)


def _count(k: int, kind: np.dtype[Any]) -> int:
    """Return how many candidates are kept for k neighbours; more of them, where few digits tell them apart."""
    return k + (max(8, k // 4) if kind == SINGLE else max(32, k))


def split(rows: Array, k: int) -> list[Array]:
    """Return groups of points (rows z, 1, −½‖z‖² in float32) such that the k nearest of each lie in its own group.

    Points are chosen as pivots, each the farthest from those before, until the distance ρ to the nearest pivot falls
    to less than a quarter in one step. Pivots then lie more than 4ρ apart: what is in the cell of another is more than
    2ρ away, and all in the own cell are within 2ρ. Cells of k points or fewer are no such groups. The distances are
    taken with the bound of `BlockSearcher._refined` on their rounding: ρ from above, those between pivots from below.
    Where no such step is found, all points are one group.
    """
    n, width = rows.shape
    u = UNIT[SINGLE]
    error = (width + 2) * u / (1 - (width + 2) * u) * 2 * 1.01  # no ‖z‖ is above 1, up to rounding
    moved = 4.1 * u
    pivots = [0]
    nearest, cell = np.full(n, np.inf), np.zeros(n, dtype=np.int32)
    apart = np.inf
    while True:
        pivot = rows[pivots[-1]].copy()
        pivot[-2], pivot[-1] = pivot[-1], 1.0
        half = -(rows @ pivot).astype(np.float64)
        if len(pivots) > 1:
            apart = min(apart, float(half[pivots[:-1]].min()))
        closer = half < nearest
        nearest[closer], cell[closer] = half[closer], len(pivots) - 1
        farthest = int(nearest.argmax())
        radius = np.sqrt(2 * max(0.0, nearest[farthest] + error)) + moved
        if len(pivots) > 1 and np.sqrt(2 * max(0.0, apart - error)) - moved > 4.01 * radius:
            break
        if len(pivots) == min(_PIVOTS, n // 64):
            return [np.arange(n)]
        pivots.append(farthest)
    counts = np.bincount(cell, minlength=len(pivots))
    if counts[counts <= k].sum() > _LONE * n:
        return [np.arange(n)]
    return np.split(np.argsort(cell, kind="stable"), np.cumsum(counts)[:-1])


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
