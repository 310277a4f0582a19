"""Rows of numbers and categories that an engine holds: levels are counted and cells coded where the rows are."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import Any

from ..core.errors import NoRowsError
from ..engines import FrameTable, Piece, holds, open_frames
from . import columns
from .columns import ColumnRequest, Level, TableBlock
from .engine_rows import EngineRows, Place, a_pass
from .mixed_source import PIECE_ROWS, Learned, Levels, MixedRows, Tally
from .moments import column_moments
from .row_source import RowSource

Array = Any
Prepare = Callable[[Any], Any]


class MixedTable(MixedRows):
    """Rows of numbers and categories in a table of an engine; ``prepare`` makes a data frame of its rows.

    ``place`` returns the place of a row in its source, for errors about a cell.
    """

    elsewhere = True

    def __init__(
        self,
        table: FrameTable,
        prepare: Prepare,
        first: TableBlock,
        categorical: tuple[int, ...],
        missing: str,
        place: Place | None = None,
    ) -> None:
        super().__init__(lambda: iter(()), first, categorical, n_rows=table.known_rows, missing=missing)
        self._collection: Any = table
        self._prepare, self._place = prepare, place

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_pieces": None, "_collection": None, "_found": None, "_home": None, "_place": None}

    def count(self) -> int:
        """Return the number of rows; if it is unknown, the engine counts them."""
        self.n_rows = self._collection.count()
        if self.n_rows == 0:
            raise NoRowsError("the table has no rows; a table needs at least one row")
        return self.n_rows

    def _learn(self) -> Learned:
        start = time.perf_counter()
        known = [Tally() for _ in self.categorical]
        pieces = self._collection.frame_pieces(PIECE_ROWS)
        counted = self._collection.engine.map(_Tallies(self), pieces, stage="levels")
        with a_pass(self._collection, self._place), closing(counted):
            for part in chain.from_iterable(counted):
                self._add(known, part)
        return self._learned(known, column_moments(self._made(_Numbers(self))), time.perf_counter() - start)

    def coded(self, levels: Levels, unseen: str = "error") -> RowSource:
        """Return the rows as numbers and codes, which are made where the rows are."""
        return self._made(_Codes(self, levels, unseen))

    def _made(self, work: Callable[[Any], Array]) -> EngineRows:
        made = EngineRows(self._collection.changed(work, self.n_features, self.dtype, self.names))
        made.place = self._place
        return made

    def block_of(self, rows: Any, start: int = 0) -> TableBlock:
        """Return rows of the collection as columns."""
        found = columns.of_table(self._prepare(rows))
        assert found is not None
        return replace(found, start=start, names=None if self.names is None else tuple(self.names))


class _Tallies:
    """Counts the levels of a piece, and checks its cells."""

    def __init__(self, rows: MixedTable) -> None:
        self._rows = rows

    def __call__(self, piece: Piece) -> list[list[tuple[list[Level], Array]]]:
        block = self._rows.block_of(piece.rows, piece.start)
        return [self._rows.tallied(block.cut(a, a + PIECE_ROWS))[1] for a in range(0, block.n_rows, PIECE_ROWS)]


class _Numbers:
    """The numbers of some rows, with zeros in place of categories."""

    def __init__(self, rows: MixedTable) -> None:
        self._rows = rows

    def __call__(self, rows: Any) -> Array:
        return self._rows.numbers(self._rows.block_of(rows))


class _Codes:
    """Some rows as numbers and codes of levels."""

    def __init__(self, rows: MixedTable, levels: Levels, unseen: str) -> None:
        self._rows, self._levels, self._unseen = rows, levels, unseen

    def __call__(self, rows: Any) -> Array:
        return self._rows.coded_block(self._rows.block_of(rows), self._levels, self._unseen)


def mixed_table(X: Any, request: ColumnRequest, missing: str) -> MixedTable | None:
    """Return a collection of an engine as rows of numbers and categories; None if it has numbers alone.

    Where its types do not tell, its first rows do.
    """
    if holds(X):
        table, prepare, empty = open_frames(X), _itself, None
    elif hasattr(X, "frame_table"):  # a file that workers read, or a collection that steps have changed
        table, prepare, empty = X.frame_table()
    else:
        return None
    first = columns.of_table(table.empty if empty is None else empty)
    if first is None or not (request.columns or _has_others(first)):
        return None
    if not request.only:
        found = next(table.parts(), None)
        if found is None:
            raise NoRowsError("the table has no rows; a table needs at least one row")
        first = columns.of_table(prepare(found))
        assert first is not None
    chosen = columns.categorical(first, request)
    first = replace(first, columns=[column[:0] for column in first.columns])
    return MixedTable(table, prepare, first, chosen, missing, getattr(X, "place", None)) if chosen else None


def _has_others(piece: TableBlock) -> bool:
    """Return whether some columns of a data frame are not of a type of numbers."""
    return any(hasattr(column, "to_numpy") and not column.dtype.is_numeric() for column in piece.columns)


def _itself(rows: Any) -> Any:
    return rows
