"""`SharedScan`: a scanned file whose parts are read by the workers of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from ..core.errors import CellError, DataError
from ..data.scans.table_scan import TableScan
from ..engines import Piece, open_scan
from .block import Block
from .engine_rows import EngineRows, Sums
from .row_source import Result

if TYPE_CHECKING:
    import polars as pl


class SharedScan(EngineRows):
    """Rows of a file that workers read, in parts of about ``rows`` rows; all of them see it under the same path.

    Numbers are read as arrays, by fits; tables with other columns as data frames, by `map_frames`.
    """

    def __init__(self, scan: TableScan, engine: str = "dask", rows: int | None = None) -> None:
        self.scan, self._engine = scan, engine
        table = open_scan(scan, engine, rows)
        self._part_rows = table.part_rows
        super().__init__(table)

    def with_scan(self, scan: TableScan) -> SharedScan:
        """Return the rows of a scan of the same file, which workers read in the same parts."""
        return self if scan is self.scan else SharedScan(scan, self._engine, self._part_rows)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "scan": None}

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        return self.scan.schema

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows with all columns, read by this process; whole numbers may be floats in some frames."""
        return self.scan.number_frames()

    def require_numbers(self, owner: str) -> None:
        """Raise if there are columns of other types, which a method would take as categories."""
        others = [name for name in self.schema if self.names is not None and name not in self.names]
        if others:
            raise DataError(
                f"column {others[0]!r} of {self.scan.source} is {self.schema[others[0]]}: {owner} takes no categories "
                "from files that workers read; choose columns of numbers, or fit without an engine"
            )

    def map_frames(
        self, work: Callable[[Piece], Result], size: int, *, large: bool, stage: str = "transform"
    ) -> Iterator[Result]:
        """Apply work to data frames of whole blocks of ``size`` rows on the workers; yield the results in row order."""
        pieces = self._table.frame_pieces(size)
        with self._located(), closing(self._table.engine.map(work, pieces, stage=stage, large=large)) as found:
            yield from found

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Add the place in the file to errors about a cell."""
        try:
            yield
        except CellError as error:
            if error.where is not None or error.row is None:
                raise
            raise error.changed(where=self.scan.place(error.row)) from error.__cause__

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        with self._located():
            yield from super()._blocks(size, first)

    def map(
        self, work: Callable[[Block], Result], size: int | None = None, *, stage: str | None = None, beside: Any = None
    ) -> Iterator[Result]:
        """Apply ``work`` to every block where its rows are and yield the results in row order."""
        with self._located():
            yield from super().map(work, size, stage=stage, beside=beside)

    def folded(self, empty: Sums, size: int, stage: str, *, wide: bool) -> Iterator[Sums]:
        """Yield sums of segments in row order, each made where its rows are."""
        with self._located():
            yield from super().folded(empty, size, stage, wide=wide)
