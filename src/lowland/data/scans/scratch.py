"""A temporary binary copy of a text table, written in its first whole pass and read in later ones: text is parsed once.

The copy has the rows as `number_frames` yields them: record batches one after another, each with its own types.

The copy has no name where the system allows it, so that nothing is left behind if the process is killed. While it is
written, a tenth of the disk stays free: without room, text is parsed again in each pass.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc

from ...core.errors import WriteError
from .changed import of_type, picked
from .table_scan import Array, Span, TableScan

_FREE_SHARE = 0.1  # of the disk, which stays free
_BATCH_ENTRIES = 1 << 20  # of a batch, 8 MB of numbers: many short ones would take longer to read
_LOOK_EVERY = 16  # batches between two looks at the free space
_WAITING = 4  # batches that wait to be written
_OPEN_FILES = Path("/proc/self/fd")


def scratch_folder() -> Path:
    """Return the folder for temporary copies: that of TMPDIR, else one on a disk, since others may be in memory."""
    large = Path("/var/tmp")
    if "TMPDIR" in os.environ or not os.access(large, os.W_OK):
        return Path(tempfile.gettempdir())
    return large


class Scratch:
    """The rows of a scan in a temporary file of ``folder``, once a pass has read all of them.

    ``failure`` says why there is no copy, if the disk has no room for it.
    """

    def __init__(self, scan: TableScan, folder: Path) -> None:
        if not folder.is_dir():
            raise WriteError(f"{folder}: the folder for temporary copies does not exist; create it or name another one")
        self.scan, self.folder = scan, folder
        self.failure: str | None = None
        self._copy: _Copy | None = None

    def frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows from ``start`` on, with all columns; whole numbers may be floats in some frames."""
        if self._copy is not None:
            yield from self._copy.frames(start)
        elif start or self.failure is not None:
            yield from self.scan.number_frames(start, rows=rows)
        else:
            yield from self._copied(rows)

    def copied_frames(self) -> Iterator[pl.DataFrame] | None:
        """Return the rows of the copy, or None if there is none yet."""
        return None if self._copy is None else self._copy.frames(0)

    def _copied(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield all rows and write them to a new copy, on a thread of its own."""
        writing, waiting = ThreadPoolExecutor(1, thread_name_prefix="lowland-copy"), deque[Future[None]]()
        copy: _Copy | None = _Copy(self.folder)
        try:
            for frame in self.scan.number_frames(rows=rows):
                if copy is not None:
                    waiting.append(writing.submit(copy.add, frame))
                    if len(waiting) > _WAITING and not self._written(waiting.popleft()):
                        copy = None
                yield frame
            while copy is not None and waiting:
                copy = copy if self._written(waiting.popleft()) else None
            if copy is not None:
                waiting.append(writing.submit(copy.finish))
                self._copy = copy if self._written(waiting.popleft()) else None
        finally:
            writing.shutdown(wait=True, cancel_futures=True)

    def _written(self, one: Future[None]) -> bool:
        try:
            one.result()
        except OSError as error:
            self.failure = f"{self.folder} has no room for a temporary copy ({error.strerror or error})"
            return False
        return True


class _Copy:
    """Record batches in a temporary file."""

    def __init__(self, folder: Path) -> None:
        handle, name = tempfile.mkstemp(prefix="lowland-", suffix=".copy", dir=folder)
        self._folder, self._name = folder, name
        self._held: list[pl.DataFrame] = []
        self._ends: list[int] = []  # rows up to the end of each batch
        self._places: list[tuple[int, pa.Schema]] = []  # of batches in the file
        self._looked = 0
        if _OPEN_FILES.is_dir():
            os.unlink(name)
            self._name = str(_OPEN_FILES / str(handle))
            weakref.finalize(self, os.close, handle)
        else:
            os.close(handle)
            weakref.finalize(self, os.unlink, name)
        self._file: Any = None

    def add(self, frame: pl.DataFrame) -> None:
        """Write some rows, joined to long batches; raise where the disk is nearly full."""
        if self._held and self._held[0].schema != frame.schema:
            self._write()
        self._held.append(frame)
        if sum(part.height for part in self._held) * frame.width >= _BATCH_ENTRIES:
            self._write()

    def _write(self) -> None:
        if self._looked % _LOOK_EVERY == 0:
            disk = shutil.disk_usage(self._folder)
            if disk.free < _FREE_SHARE * disk.total:
                raise OSError("the disk is nearly full")
        self._looked += 1
        frame = self._held[0] if len(self._held) == 1 else pl.concat(self._held, rechunk=True)
        table = frame.to_arrow().combine_chunks()
        if self._file is None:
            self._file = pa.OSFile(self._name, "wb")
        for batch in table.to_batches():
            self._places.append((self._file.tell(), batch.schema))
            self._file.write(batch.serialize())
            self._ends.append(batch.num_rows + (self._ends[-1] if self._ends else 0))
        self._held = []

    def finish(self) -> None:
        """End the file: it can be read now."""
        if self._held:
            self._write()
        self._file.close()
        self._file = None

    def frames(self, start: int) -> Iterator[pl.DataFrame]:
        """Yield the rows from ``start`` on, as they were written."""
        first = bisect_right(self._ends, start)
        start -= self._ends[first - 1] if first else 0
        with pa.OSFile(self._name) as opened:
            for place, schema in self._places[first:]:
                opened.seek(place)
                frame = pl.from_arrow(pa.ipc.read_record_batch(pa.ipc.read_message(opened), schema))
                assert isinstance(frame, pl.DataFrame)
                yield frame[start:]
                start = 0


class ScratchScan(TableScan):
    """A scan whose rows come from a temporary copy of it, or of the same table with more columns."""

    def __init__(self, scan: TableScan, scratch: Scratch) -> None:
        self.scan, self.scratch = scan, scratch
        self.source, self.n_rows, self.has_names, self.keys = scan.source, scan.n_rows, scan.has_names, scan.keys
        self._stamp_often = False  # the scan looks at its files; a copy does not change

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of arrays."""
        return self.scan.names

    @property
    def n_features(self) -> int:
        """The number of columns of arrays."""
        return self.scan.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays."""
        return self.scan.dtype

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        return self.scan.schema

    def _frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        for frame in self._number_frames(start, rows):
            if frame.schema != self.schema:  # a fraction among whole numbers, which the scan refuses by its line
                yield from self.scan._frames(start, rows)
                return
            yield frame
            start += frame.height

    def _number_frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        columns = list(self.schema)
        for frame in self.scratch.frames(start, rows):
            yield picked(frame, columns)

    def first_frames(self) -> Iterator[pl.DataFrame]:
        """Yield the first rows; a copy is not begun for them."""
        columns, copied = list(self.schema), self.scratch.copied_frames()
        for frame in self.scratch.scan.first_frames() if copied is None else copied:
            yield picked(frame, columns)

    def first_array(self, rows: int) -> Array:
        """Return the numbers of the first rows."""
        return self.scan.first_array(rows)

    def _arrays(self, start: int, rows: int) -> Iterator[Array]:
        kind = pl.Float32 if self.dtype == np.float32 else pl.Float64
        chosen = list(self.names or [])
        for frame in self.scratch.frames(start, rows):
            yield np.ascontiguousarray(of_type(picked(frame, chosen), kind).to_numpy(order="c"))

    def count(self) -> int:
        """Return the number of rows."""
        if self.n_rows is None:
            self.n_rows = self.scratch.scan.count()
        return self.n_rows

    def spans(self, rows: int) -> list[Span]:
        """Return the spans of the table as it is stored."""
        return self.scan.spans(rows)

    def _span_arrays(self, span: Span) -> Iterator[Array]:
        return self.scan._span_arrays(span)

    def _span_frames(self, span: Span) -> Iterator[pl.DataFrame]:
        return self.scan._span_frames(span)

    def missing_file(self) -> str | None:
        """Return the path of a file that does not exist here, if any."""
        return self.scan.missing_file()

    def require_unchanged(self) -> None:
        """Raise if the source is not as it was when it was opened."""
        self.scan.require_unchanged()

    def unrecognised(self) -> str | None:
        """Return why the fingerprint may stay the same when the data change."""
        return self.scan.unrecognised()

    def _identity(self) -> dict[str, Any]:
        return self.scan._identity()

    def _where(self, row: int) -> str:
        return self.scratch.scan._where(row)
