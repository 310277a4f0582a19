"""The rows that a step learns from: a table in memory, a scan, or a file that workers read, in blocks.

Blocks have a fixed number of rows that depends only on the number of columns, and what they give is added up in row
order. So a table in memory and a file teach a step the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from ...core import thread_pool
from ...core.errors import CellError, DataError
from ...core.read_ahead import ahead
from ...data.scans.changed import ChangedScan, picked
from ...data.scans.table_scan import TableScan
from ...engines import Piece
from ...rows.journal import Journal, Progress
from ...rows.sampling import cut
from ...rows.scan_rows import ScanRows
from ...rows.shared_scan import SharedScan
from . import frames
from .folds import Fold

Change = Callable[[pl.DataFrame], pl.DataFrame]
Passes = Iterator[list[Fold]]  # what a step learns from, pass by pass

_BLOCK_ENTRIES = 1 << 21  # 16 MB of numbers
_MAX_ROWS, _MIN_ROWS = 1 << 16, 128


def learning_rows(width: int) -> int:
    """Return the fixed number of rows in a block of so many columns.

    >>> learning_rows(10), learning_rows(60_000)
    (65536, 128)
    """
    return max(_MIN_ROWS, min(_MAX_ROWS, _BLOCK_ENTRIES // max(1, width)))


class TrainingRows(ABC):
    """Rows that are read in blocks as often as a step needs.

    ``named``: whether the columns have names of their own; else they are called x0, x1, ….
    """

    named: bool
    names: list[str]

    @property
    @abstractmethod
    def known_rows(self) -> int | None:
        """The number of rows, if it is known before a pass."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows; they are counted if need be."""

    @abstractmethod
    def first(self) -> pl.DataFrame:
        """Return the first rows; of a table in memory, all."""

    @abstractmethod
    def kinds(self) -> list[str]:
        """Return what each column holds; reading ends when every column has shown a value."""

    @abstractmethod
    def types(self) -> dict[str, pl.DataType]:
        """Return the type of each column."""

    @abstractmethod
    def changed(self, change: Change, *, named: bool | None = None, block: int = 1) -> TrainingRows:
        """Return the rows with a row-wise change; the options are those of `ChangedScan`."""

    @abstractmethod
    def run(self, *folds: Fold) -> None:
        """Make one pass over the rows for some folds."""

    @abstractmethod
    def table(self) -> Any:
        """Return the rows as a method or another step takes them."""

    def lazily(self) -> Any:
        """Return the rows as a table of their own kind."""
        return self.table()

    def selected(self, names: Sequence[str]) -> TrainingRows:
        """Return the rows with these columns."""
        return self.changed(Selection(names))

    def typed(self, kinds: Sequence[str]) -> TrainingRows:
        """Return the rows with the same types in blocks in which a column has no values; all rows tell the kinds."""
        return self.changed(Typing(kinds))

    def whole(self, owner: str) -> pl.DataFrame:
        """Return all rows as one frame; raise `DataError` where they are read in blocks."""
        raise DataError(f"{owner} needs the table in memory, and these rows are read in blocks; use a smaller table")


class FrameRows(TrainingRows):
    """A frame in memory."""

    def __init__(self, frame: pl.DataFrame, named: bool = True) -> None:
        self.frame, self.named, self.names = frame, named, frame.columns

    @property
    def known_rows(self) -> int:
        """The number of rows."""
        return self.frame.height

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.frame.height

    def first(self) -> pl.DataFrame:
        """Return the frame."""
        return self.frame

    def kinds(self) -> list[str]:
        """Return what each column holds."""
        return [frames.kind_of(column) for column in self.frame.iter_columns()]

    def types(self) -> dict[str, pl.DataType]:
        """Return the type of each column."""
        return dict(self.frame.schema)

    def changed(self, change: Change, *, named: bool | None = None, block: int = 1) -> FrameRows:
        """Return the changed frame."""
        return FrameRows(change(self.frame), self.named if named is None else named)

    def typed(self, kinds: Sequence[str]) -> FrameRows:
        """Return the rows: there is one block."""
        return self

    def run(self, *folds: Fold) -> None:
        """Make a pass over the blocks on the thread pool."""
        size = learning_rows(self.frame.width)
        work = PartsOfBlock(folds)
        starts = range(0, self.n_rows, size)
        for parts in thread_pool.run(lambda start: work((start, self.frame[start : start + size])), starts):
            add_parts(folds, parts)

    def table(self) -> pl.DataFrame:
        """Return the frame."""
        return self.frame

    def whole(self, owner: str) -> pl.DataFrame:
        """Return the frame."""
        return self.frame


class ScannedRows(TrainingRows):
    """A scanned table, read by this process. With a journal, a pass that was interrupted continues."""

    def __init__(self, scan: TableScan, journal: Journal | None = None) -> None:
        self.scan, self.named, self._journal = scan, scan.has_names, journal
        self.names = list(scan.schema)

    @property
    def known_rows(self) -> int | None:
        """The number of rows, if it is known before a pass."""
        return self.scan.n_rows

    @property
    def n_rows(self) -> int:
        """The number of rows; they are counted if need be."""
        return self.scan.count()

    def first(self) -> pl.DataFrame:
        """Return the first block."""
        size, held = learning_rows(len(self.names)), list[pl.DataFrame]()
        wanted = size if self.known_rows is None else min(size, self.known_rows)
        for frame in self.scan.first_frames():
            held.append(frame)
            if sum(part.height for part in held) >= wanted:
                break
        return pl.concat(held, how="vertical_relaxed")[:size]

    def kinds(self) -> list[str]:
        """Return what each column holds, from as many rows as it takes until every column has shown a value."""
        schema = self.scan.schema
        unseen = set(schema)
        for frame in self.scan.first_frames():
            unseen -= {name for name in unseen if frame[name].null_count() < frame.height}
            if not unseen:
                break
        values = {name: [None] if name in unseen else [] for name in schema}
        return [frames.kind_of(pl.Series(name, values[name], kind)) for name, kind in schema.items()]

    def types(self) -> dict[str, pl.DataType]:
        """Return the type of each column."""
        return self.scan.types if isinstance(self.scan, ChangedScan) else self.scan.schema

    def changed(self, change: Change, *, named: bool | None = None, block: int = 1) -> ScannedRows:
        """Return the rows with a change that is made when they are read."""
        return ScannedRows(ChangedScan(self.scan, change, named=named, block=block), self._journal)

    def run(self, *folds: Fold) -> None:
        """Make a pass over the blocks, which are read ahead, on the thread pool."""
        size = learning_rows(len(self.names))
        known = self.n_rows if self._journal is not None else self.known_rows

        def parts_from(start: int) -> Iterator[list[Any]]:
            def blocks() -> Iterator[tuple[int, pl.DataFrame]]:
                return _numbered(cut(self.scan.number_frames(start), size), start)

            total = None if known is None else -(-known // size)
            return thread_pool.run(PartsOfBlock(folds, self.scan), ahead(blocks), stage="learn", total=total)

        _add_all(folds, parts_from, size, known, self.names, self._journal)

    def table(self) -> Any:
        """Return the rows as a method takes them."""
        if self._journal is None:
            return self.scan
        source = ScanRows(self.scan)
        source.journal = self._journal
        return source


class SharedRows(TrainingRows):
    """A file whose parts the workers of an engine read."""

    def __init__(self, shared: SharedScan) -> None:
        self._shared, self._here = shared, ScannedRows(shared.scan)
        self.named, self.names = self._here.named, self._here.names

    @property
    def known_rows(self) -> int | None:
        """The number of rows, if it is known before a pass."""
        return self._shared.n_rows

    @property
    def n_rows(self) -> int:
        """The number of rows; they are counted if need be."""
        return self._shared.count()

    def first(self) -> pl.DataFrame:
        """Return the first block, read by this process."""
        return self._here.first()

    def kinds(self) -> list[str]:
        """Return what each column holds, as this process reads it."""
        return self._here.kinds()

    def types(self) -> dict[str, pl.DataType]:
        """Return the type of each column."""
        return self._here.types()

    def changed(self, change: Change, *, named: bool | None = None, block: int = 1) -> SharedRows:
        """Return the rows with a change that the workers make."""
        return SharedRows(self._shared.with_scan(ChangedScan(self._shared.scan, change, named=named, block=block)))

    def run(self, *folds: Fold) -> None:
        """Make a pass over the blocks on the workers."""
        size = learning_rows(len(self.names))
        work = _PartsOfPiece(folds, size).over

        def parts_from(start: int) -> Iterator[list[Any]]:
            return self._shared.map_frames(work, size, large=False, stage="learn", start=start)

        _add_all(folds, parts_from, size, self.n_rows, self.names, self._shared.journal)

    def table(self) -> SharedScan:
        """Return the rows as a method takes them."""
        return self._shared


class Selection:
    """The columns of these names, as a change of rows."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns of some rows."""
        return picked(frame, self._names)


class Typing:
    """Columns without values in the types of their kinds, as a change of rows."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._kinds = list(kinds)

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return some rows with these types."""
        return pl.DataFrame(list(map(frames.with_type, frame.iter_columns(), self._kinds)))


class PartsOfBlock:
    """What each fold makes of a block; errors about a cell name its row in the table, and its place in the source."""

    def __init__(self, folds: Sequence[Fold], scan: TableScan | None = None) -> None:
        self._folds, self._scan = folds, scan

    def __call__(self, item: tuple[int, pl.DataFrame]) -> list[Any]:
        """Return the part of each fold; ``item`` is the number of the first row, and the rows."""
        start, frame = item
        try:
            return [fold.part(start, frame) for fold in self._folds]
        except CellError as error:
            row = (error.row or 0) + start
            where = error.where if self._scan is None else self._scan.place(row)
            raise error.changed(row=row, where=where) from error.__cause__


class _PartsOfPiece(PartsOfBlock):
    """The same for each block of a piece, on a worker."""

    def __init__(self, folds: Sequence[Fold], size: int) -> None:
        super().__init__(folds)
        self._size = size

    def over(self, piece: Piece) -> list[list[Any]]:
        """Return the parts of each block."""
        starts = range(0, piece.rows.height, self._size)
        return [self((piece.start + start, piece.rows[start : start + self._size])) for start in starts]


def _numbered(blocks: Iterator[pl.DataFrame], start: int) -> Iterator[tuple[int, pl.DataFrame]]:
    for block in blocks:
        yield start, block
        start += block.height


def add_parts(folds: Sequence[Fold], parts: Sequence[Any]) -> None:
    """Add the parts of a block to the folds that made them."""
    for fold, part in zip(folds, parts, strict=True):
        fold.add(part)


def _add_all(
    folds: Sequence[Fold],
    parts_from: Callable[[int], Iterator[Sequence[Any]]],
    size: int,
    n_rows: int | None,
    names: Sequence[str],
    journal: Journal | None,
) -> None:
    """Add the parts of all blocks of ``size`` rows to the folds; with a journal, continue an interrupted pass.

    ``parts_from`` returns the parts of the blocks from a row on.
    """
    rows = 0
    known = None if journal is None else journal.begin(f"{_listed(folds)} of {len(names)} columns")
    if known is not None:
        for number, fold in enumerate(folds):
            fold.resume(known.state[str(number)])
        if known.ended:
            return
        rows = known.rows
    for parts in parts_from(rows):
        add_parts(folds, parts)
        rows += size
        if journal is not None and n_rows is not None and rows < n_rows and journal.due():
            journal.keep(Progress(rows, _state(folds)))
    if journal is not None:
        journal.keep(Progress(n_rows or rows, _state(folds), ended=True))


def _listed(folds: Sequence[Fold]) -> str:
    return ", ".join(type(fold).__name__ for fold in folds)


def _state(folds: Sequence[Fold]) -> dict[str, Any]:
    return {str(number): fold.state() for number, fold in enumerate(folds)}
