"""`SharedScan`: a scanned file whose parts are read by the workers of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Owner, Setting
from ..data.scans.table_scan import TableScan
from ..engines import FrameTable, Piece, open_scan
from .engine_rows import EngineRows, a_pass, pieces_from
from .row_source import Result

if TYPE_CHECKING:
    import polars as pl


class SharedScan(EngineRows):
    """Rows of a file that workers read, in parts of about ``rows`` rows; all of them see it under the same path.

    Numbers are read as arrays, by fits; tables with other columns as data frames, by `map_frames`.
    """

    def __init__(self, scan: TableScan, engine: str = "dask", rows: int | None = None) -> None:
        self.scan, self.engine_name, self.place = scan, engine, scan.place
        table = open_scan(scan, engine, rows)
        self._part_rows = table.part_rows
        super().__init__(table)

    def with_scan(self, scan: TableScan) -> SharedScan:
        """Return the rows of a scan of the same file, which workers read in the same parts."""
        if scan is self.scan:
            return self
        twin = SharedScan(scan, self.engine_name, self._part_rows)
        twin.journal = self.journal
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "scan": None}

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        return self.scan.schema

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield the rows with all columns, read by this process; whole numbers may be floats in some frames."""
        return self.scan.number_frames()

    def frame_table(self) -> tuple[FrameTable, Callable[[Any], Any], Any]:
        """Return the table of data frames, what makes of its rows those that a method takes, and that without rows."""
        if self.scan.has_names:
            return self._table, _itself, self._table.empty
        prepare = _Numbers(self.scan.dtype)
        return self._table, prepare, prepare(self._table.empty)

    def map_frames(
        self, work: Callable[[Piece], list[Result]], size: int, *, large: bool, stage: str = "transform", start: int = 0
    ) -> Iterator[Result]:
        """Apply work to data frames of whole blocks of ``size`` rows on the workers; yield its results in row order.

        Work returns the results of a piece in a list. ``start`` leaves out the rows before it; work then returns one
        result for each block.
        """
        known, pieces = pieces_from(start, self._table.frame_pieces(size))
        engine = self._table.engine
        with a_pass(self._table, self.place), closing(engine.map(work, pieces, stage=stage, large=large)) as found:
            yield from islice(chain.from_iterable(found), known // size, None)


def read_by(rows: Any, engine: str, owner: str) -> Any:
    """Return a scan as rows that the workers of an engine read; of "local", the rows as they are."""
    if engine == "local":
        return rows
    if not isinstance(rows, TableScan):
        needed = " reads files: give lowland.data.scan(path), or a collection of Dask and no engine"
        raise DataError(Message(Owner(owner), Setting("engine", engine), needed))
    return SharedScan(rows, engine)


class _Numbers:
    """The numbers of a data frame as an array."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype

    def __call__(self, frame: pl.DataFrame) -> Any:
        return np.ascontiguousarray(frame.to_numpy(), dtype=self._dtype)


def _itself(rows: Any) -> Any:
    return rows
