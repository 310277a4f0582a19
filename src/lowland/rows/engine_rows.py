"""`EngineRows`: rows that an engine holds elsewhere, such as a Dask array on the workers of a cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain, groupby, islice
from typing import Any, Self, TypeVar

import numpy as np

from ..core import arrays
from ..core.cost import DataShape
from ..core.errors import CellError, ClusterError, NoRowsError
from ..core.settings import report_progress
from ..engines import Piece, Table, Watched
from . import conversion
from .block import SEGMENT_BLOCKS, Block, block_rows
from .row_source import ArrayRows, Result, RowSource

Array = Any
Sums = TypeVar("Sums")
Change = Callable[[Array], Array]
Place = Callable[[int], str]

_WIDE_ROWS = 16  # rows of a segment of wide sums, for each column: D × D sums are then a 16th of the rows


class Cutter:
    """Cuts a piece into blocks, in the place where its rows are."""

    def __init__(self, dtype: np.dtype[Any], names: Sequence[str] | None, change: Change | None) -> None:
        self._dtype, self._names, self._change = dtype, names, change

    def rows(self, piece: Piece) -> ArrayRows:
        """Return the rows of a piece as a source of blocks, numbered as in the table."""
        array = np.ascontiguousarray(piece.rows)  # sums must not depend on the layout
        return ChunkRows(array if self._change is None else self._change(array), piece, self._dtype, self._names)


class ChunkRows(ArrayRows):
    """The rows of one piece."""

    def __init__(self, array: Array, piece: Piece, dtype: np.dtype[Any], names: Sequence[str] | None) -> None:
        super().__init__(array)
        self._start, self.dtype, self.names = piece.start, dtype, names
        self.weights, self._beside = piece.weights, piece.beside

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        for block in super()._blocks(size, first):
            own = slice(block.start, block.start + len(block.rows))
            beside = None if self._beside is None else self._beside[own]
            yield block._replace(start=block.start + self._start, beside=beside)


class _OverBlocks:
    """Work on each block of a piece."""

    def __init__(self, work: Callable[[Block], Any], size: int, cutter: Cutter) -> None:
        self._work, self._size, self._cutter = work, size, cutter

    def __call__(self, piece: Piece) -> list[Any]:
        return [self._work(block) for block in self._cutter.rows(piece).blocks(self._size)]


class _Joined(_OverBlocks):
    """Row-wise work on each block of a piece, joined."""

    def __call__(self, piece: Piece) -> Any:
        parts = super().__call__(piece)
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else self._nothing(piece)

    def _nothing(self, piece: Piece) -> Array:
        """Return the result of a piece without rows: that of one row, cut off."""
        one = np.zeros((1, piece.rows.shape[1]), dtype=piece.rows.dtype)
        return _OverBlocks.__call__(self, piece._replace(rows=one))[0][:0]


class _Update:
    """Adds a piece to sums; the sums that it receives are left unchanged."""

    def __init__(self, cutter: Cutter, stage: str) -> None:
        self._cutter, self._stage = cutter, stage

    def __call__(self, sums: Any, piece: Piece) -> Any:
        return copy.copy(sums).update(self._cutter.rows(piece), stage=self._stage)


class EngineRows(RowSource):
    """Rows of a table that an engine holds. Pickled, it has no rows: what is left can check blocks.

    ``place`` returns the place of a row in its source, for errors about a cell.
    """

    elsewhere = True
    place: Place | None = None

    def __init__(self, table: Table) -> None:
        self._table: Any = table
        self.n_rows, self.n_features, self.names = table.n_rows, table.n_features, table.names
        self.dtype = conversion.working(table.dtype)
        self._change: Change | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_table": None, "_change": None, "weights": None, "journal": None, "place": None}

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        return twin

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""
        return DataShape(self.n_rows, self.n_features, self.dtype, blocks=True)

    @property
    def whole_numbers(self) -> bool:
        """Whether the rows are integers or booleans."""
        return bool(self._table.dtype.kind != "f")

    def count(self) -> int:
        """Return the number of rows; if it is unknown, the engine counts them."""
        if self.n_rows is None:
            self.n_rows = self._table.count()
        if self.n_rows == 0 and not self.allow_empty:
            raise NoRowsError("the table has no rows; a table needs at least one row")
        return int(self.n_rows)

    def changed(self, change: Change) -> EngineRows:
        """Return these rows with a row-wise change of each piece, made where the rows are."""
        twin, before = copy.copy(self), self._change
        twin._change = change if before is None else lambda array: change(before(array))
        return twin

    def _cutter(self) -> Cutter:
        return Cutter(self.dtype, self.names, self._change)

    def _pieces(self, size: int, within: int | None = None, beside: Array | None = None) -> Iterator[Piece]:
        found: Iterator[Piece] = self._table.pieces(size, within or SEGMENT_BLOCKS * size, self.weights, beside)
        return found

    def some(self, count: int) -> Array:
        """Return about this many rows, evenly spaced in the first block."""
        size = block_rows(self.n_features)
        first = next(self._pieces(size))
        (found,) = self._table.engine.map(_Spaced(count, size, self._cutter()), [first])
        return found

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        """Yield blocks in this process: each piece is fetched, a few ahead."""
        unit = block_rows(self.n_features)
        pieces, work = self._pieces(unit), _OverBlocks(_itself, unit, self._cutter())
        waiting: list[Block] = []
        held, full = 0, first
        with a_pass(self._table, self.place):
            for block in chain.from_iterable(self._table.engine.map(work, pieces, large=True)):
                while len(block.rows):
                    part = _part(block, 0, full - held)
                    waiting.append(part)
                    held, block = held + len(part.rows), _part(block, full - held, len(block.rows))
                    if held == full:
                        yield _joined(waiting)
                        waiting, held, full = [], 0, size
        if waiting:
            yield _joined(waiting)

    def map(
        self,
        work: Callable[[Block], Result],
        size: int | None = None,
        *,
        stage: str | None = None,
        beside: Array | None = None,
        start: int = 0,
    ) -> Iterator[Result]:
        """Apply ``work`` to every block where its rows are and yield the results in row order."""
        size = size or block_rows(self.n_features)
        done, total = start // size, -(-self.count() // size)
        over = _OverBlocks(work, size, self._cutter())
        known, pieces = pieces_from(start, self._pieces(size, beside=beside))
        with a_pass(self._table, self.place), closing(self._table.engine.map(over, pieces)) as found:
            for result in islice(chain.from_iterable(found), known // size, None):
                done += 1
                if stage is not None:
                    report_progress(stage, done, total)
                yield result

    def map_blocks(self, work: Callable[[Array], Array], width: int, dtype: Any = None) -> Array:
        """Apply row-wise work to every block; the results stay where the rows are, and may be lazy."""
        kind = self.dtype if dtype is None else np.dtype(dtype)

        def step(block: Block) -> Array:
            self.check(block)
            return arrays.cast(work(block.rows), kind)

        over = _Joined(step, block_rows(self.n_features), self._cutter())
        return self._table.map_rows(over, width, kind)

    def folded(self, empty: Sums, size: int, stage: str, *, wide: bool, start: int = 0) -> Iterator[tuple[int, Sums]]:
        """Yield the end and the sums of each segment in row order, from blocks of ``size`` rows, where its rows are.

        A segment of wide sums has more than 16 blocks. ``start`` leaves out the segments before a row.
        """
        blocks = SEGMENT_BLOCKS if not wide else max(SEGMENT_BLOCKS, -(-_WIDE_ROWS * self.n_features // size))
        length, n = blocks * size, self.count()
        _, pieces = pieces_from(start, self._pieces(size, length))
        groups = (list(group) for _, group in groupby(pieces, lambda piece: piece.start // length))
        work = _Update(self._cutter(), stage)
        with a_pass(self._table, self.place), closing(self._table.engine.fold(work, empty, groups)) as found:
            for number, sums in enumerate(found, start=1):
                stop = min(n, start + number * length)
                report_progress(stage, -(-stop // size), -(-n // size))
                yield stop, sums


def pieces_from(start: int, pieces: Iterator[Piece]) -> tuple[int, Iterator[Piece]]:
    """Return the pieces from the one that has row ``start``, and how many rows of that one come before it.

    >>> known, left = pieces_from(5, iter([Piece(0, "a"), Piece(4, "b"), Piece(8, "c")]))
    >>> known, [piece.rows for piece in left]
    (1, ['b', 'c'])
    """
    if not start:
        return 0, pieces
    piece = next(pieces)
    for after in pieces:
        if after.start > start:
            return start - piece.start, chain([piece, after], pieces)
        piece = after
    return start - piece.start, iter([piece])


@contextmanager
def a_pass(table: Watched, place: Place | None) -> Iterator[None]:
    """Raise if the source changed during a pass, and add the place in the source to errors about a cell."""
    try:
        yield
        table.require_unchanged()
    except ClusterError:
        table.require_unchanged()  # it may be gone here, too
        raise
    except CellError as error:
        if place is None or error.where is not None or error.row is None:
            raise
        raise error.changed(where=place(error.row)) from error.__cause__


class _Spaced:
    """Takes evenly spaced rows of the first block of a piece."""

    def __init__(self, count: int, size: int, cutter: Cutter) -> None:
        self._count, self._size, self._cutter = count, size, cutter

    def __call__(self, piece: Piece) -> Array:
        block = next(self._cutter.rows(piece).blocks(self._size))
        return block.rows[:: max(1, len(block.rows) // self._count)].copy()


def _itself(block: Block) -> Block:
    return block


def _part(block: Block, first: int, last: int) -> Block:
    weights = None if block.weights is None else block.weights[first:last]
    return block._replace(start=block.start + first, rows=block.rows[first:last], weights=weights)


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    weights = None if blocks[0].weights is None else np.concatenate([b.weights for b in blocks])
    return blocks[0]._replace(rows=np.concatenate([b.rows for b in blocks]), weights=weights)
