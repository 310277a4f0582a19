"""Files as tables of Dask: the workers read parts of a file, and the client none of its rows.

The scan is sent once for each pass; a task names the number of its part. Parts are ranges of rows that the format can
find by itself: bytes of text, row groups of Parquet, record batches of Arrow, rows of arrays.
"""

from __future__ import annotations

import operator
import socket
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import cloudpickle
import numpy as np
import polars as pl

from ..core import settings
from ..core.errors import ClusterError, DataError
from ..data.scans.table_scan import Span, TableScan
from .dask_engine import ChunkName, TaskGraph, packed
from .dask_table import DaskTable
from .engine import Piece, ScanTable

# isort: split
import dask.array as da
from dask._task_spec import Task, TaskRef
from dask.base import get_scheduler
from dask.highlevelgraph import HighLevelGraph

CHUNK_BYTES = 1 << 25  # of the numbers of a part
_LEAST_ROWS = 4096
_PARTS_A_THREAD = 4  # of a short table, so that all workers have work


class _Reader:
    """Reads a part of a table, on a worker."""

    def __init__(self, scan: TableScan, spans: Sequence[Span], *, frames: bool) -> None:
        self._scan, self._spans, self._frames = scan, spans, frames

    def __call__(self, number: int) -> Any:
        span = self._spans[number]
        try:
            return self._scan.span_frame(span) if self._frames else self._scan.span_array(span)
        except (DataError, OSError) as error:
            missing = self._scan.missing_file()
            if missing is None:
                raise
            raise ClusterError(
                f"a worker on {socket.gethostname()} finds no file {missing}: put it into a folder that all workers "
                "see under the same path, or use workers on this machine"
            ) from error


class _Join:
    """Joins rows of consecutive parts."""

    def __call__(self, bounds: Sequence[tuple[int, int]], *parts: pl.DataFrame) -> pl.DataFrame:
        cut = [part[first:last] for part, (first, last) in zip(parts, bounds, strict=True)]
        return pl.concat(cut, how="vertical_relaxed")  # whole numbers may be floats in some


class _FileTable(DaskTable):
    """An array whose chunks come from parts of a file."""

    def __init__(self, scan: TableScan, array: Any, names: Sequence[str] | None) -> None:
        super().__init__(array, names)
        self.scan = scan

    def pieces(self, size: int, within: int, weights: Any = None, beside: Any = None) -> Iterator[Piece]:
        """Yield pieces of whole blocks; raise if the file changed before."""
        self.scan.require_unchanged()
        yield from super().pieces(size, within, weights, beside)

    def require_unchanged(self) -> None:
        """Raise if the file is not as it was when it was opened."""
        self.scan.require_unchanged()


class DaskScan(_FileTable, ScanTable):
    """A scanned table as a Dask array whose chunks the workers read."""

    def __init__(self, scan: TableScan, rows: int) -> None:
        self.scan, self.spans, self.part_rows = scan, scan.spans(rows), rows
        name = f"lowland-rows-{uuid.uuid4().hex}"
        array = self._array_of(name, self._readers(name, (0,), frames=False), scan.n_features, scan.dtype)
        super().__init__(scan, array, None if scan.names is None else tuple(scan.names))
        self.empty = pl.DataFrame(schema=scan.schema)

    def _array_of(self, name: str, tasks: dict[Any, Any], width: int, dtype: Any) -> Any:
        """Return the array whose chunks are made of the parts."""
        graph = HighLevelGraph.from_collections(name, tasks)
        lengths = tuple(span.stop - span.start for span in self.spans)
        return da.Array(graph, name, (lengths, (width,)), dtype=dtype)

    def _readers(self, name: str, more: tuple[int, ...], *, frames: bool) -> dict[Any, Any]:
        """Return the tasks that read the parts."""
        sent = f"lowland-work-{name}"
        tasks: dict[Any, Any] = {
            sent: Task(sent, cloudpickle.loads, packed(_Reader(self.scan, self.spans, frames=frames)))
        }
        for i in range(len(self.spans)):
            key = (name, i, *more)
            tasks[key] = Task(key, operator.call, TaskRef(sent), i)
        return tasks

    @property
    def known_rows(self) -> int:
        """The number of rows."""
        return self.count()

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield the rows as data frames that this process reads."""
        return self.scan.number_frames()

    def changed(self, work: Callable[[Any], Any], width: int, dtype: Any, names: Sequence[str] | None) -> DaskTable:
        """Return the table of the arrays that row-wise work makes of the data frames of parts."""
        name = f"lowland-changed-{uuid.uuid4().hex}"
        read, sent = f"lowland-frames-{name}", f"lowland-work-{name}"
        tasks = self._readers(read, (), frames=True)
        tasks[sent] = Task(sent, cloudpickle.loads, packed(work))
        for i in range(len(self.spans)):
            tasks[name, i, 0] = Task((name, i, 0), operator.call, TaskRef(sent), TaskRef((read, i)))
        return _FileTable(self.scan, self._array_of(name, tasks, width, np.dtype(dtype)), names)

    def frame_pieces(self, size: int) -> Iterator[Piece]:
        """Yield pieces of whole blocks as data frames: the edges of parts are moved down to blocks."""
        self.scan.require_unchanged()
        name = f"lowland-frames-{uuid.uuid4().hex}"
        tasks, join = self._readers(name, (), frames=True), f"lowland-join-{name}"
        tasks[join] = Task(join, cloudpickle.loads, packed(_Join()))
        ends = np.array([span.stop for span in self.spans])
        cuts = np.unique([0, *(ends // size * size), ends[-1]]).tolist()
        graph = TaskGraph(tasks, name)
        for number, (first, last) in enumerate(pairwise(cuts)):
            own = range(int(np.searchsorted(ends, first, "right")), int(np.searchsorted(ends, last, "left")) + 1)
            spans = [self.spans[i] for i in own]
            bounds = tuple((max(first, span.start) - span.start, min(last, span.stop) - span.start) for span in spans)
            key = (join, number)
            tasks[key] = Task(key, operator.call, TaskRef(join), bounds, *(TaskRef((name, i)) for i in own))
            yield Piece(first, ChunkName(graph, key))


def open_scan(scan: TableScan, rows: int | None = None) -> DaskScan:
    """Return a scanned table for the workers of the current client; ``rows`` is about the length of a part."""
    if rows is None:
        rows = max(_LEAST_ROWS, CHUNK_BYTES // (8 * scan.n_features))
        if scan.n_rows is not None:
            client = getattr(get_scheduler(), "__self__", None)
            threads = settings.threads() if client is None else max(1, sum(client.nthreads().values()))
            rows = min(rows, max(_LEAST_ROWS, -(-scan.n_rows // (_PARTS_A_THREAD * threads))))
        rows = max(1, rows // _LEAST_ROWS) * _LEAST_ROWS
    return DaskScan(scan, rows)
