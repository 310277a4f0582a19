"""Dask data frames and arrays with columns of any type, for the steps of recipes."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import cloudpickle
import numpy as np

from .dask_engine import ENGINE, ChunkName, TaskGraph, packed  # first: it names the extra that is missing
from .dask_table import DaskTable, _checked, _length
from .engine import CollectionTable, Piece

# isort: split
import dask
import dask.array as da
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph


class _Join:
    """Joins rows of consecutive partitions."""

    def __call__(self, bounds: Sequence[tuple[int, int]], *parts: Any) -> Any:
        cut = [_rows(part, first, last) for part, (first, last) in zip(parts, bounds, strict=True)]
        if len(cut) == 1:
            return cut[0]
        if isinstance(cut[0], np.ndarray):
            return np.concatenate(cut)
        import pandas as pd

        return pd.concat(cut)


def _rows(part: Any, first: int, last: int) -> Any:
    return part.iloc[first:last] if hasattr(part, "iloc") else part[first:last]


class DaskFrames(CollectionTable):
    """The partitions of a data frame, or the chunks of whole rows of an array."""

    def __init__(self, X: Any) -> None:
        self.engine = ENGINE
        self._is_array = isinstance(X, da.Array)
        if self._is_array:
            self._given = DaskTable(_checked(X))._row_chunks()
            (self._lean,) = dask.optimize(self._given)
            self._keys = [(self._lean.name, i, 0) for i in range(self._lean.numblocks[0])]
            lengths = np.asarray(self._lean.chunks[0], dtype=float)
            self.empty: Any = np.empty((0, X.shape[1]), dtype=X.dtype)
        else:
            self._given, self._lean = X, X.optimize()
            self._keys = list(self._lean.__dask_keys__())
            lengths = np.full(len(self._keys), np.nan)
            self.empty = X._meta
        self._graph = TaskGraph(dict(self._lean.__dask_graph__()), "")
        self._lengths = None if np.isnan(lengths).any() else [int(n) for n in lengths]

    @property
    def known_rows(self) -> int | None:
        """The number of rows, if it is known."""
        return None if self._lengths is None else sum(self._lengths)

    def count(self) -> int:
        """Return the number of rows; if it is unknown, the engine counts them."""
        return sum(self._counted())

    def _counted(self) -> list[int]:
        if self._lengths is None:
            pieces = [Piece(0, ChunkName(self._graph, key)) for key in self._keys]
            self._lengths = list(self.engine.map(_length, pieces, stage="rows", total=len(pieces)))
        return self._lengths

    def parts(self) -> Iterator[Any]:
        """Yield the partitions in this process, in row order; they need not be counted."""
        return self._fetched([Piece(0, ChunkName(self._graph, key)) for key in self._keys])

    def frame_pieces(self, size: int) -> Iterator[Piece]:
        """Yield pieces of whole blocks: the edges of partitions are moved down to blocks."""
        lengths = self._counted()
        ends = np.cumsum(lengths)
        starts = ends - lengths
        join = f"lowland-join-{uuid.uuid4().hex}"
        tasks = {**self._graph.tasks, join: Task(join, cloudpickle.loads, packed(_Join()))}
        graph = TaskGraph(tasks, "")
        cuts = np.unique([0, *(ends // size * size), ends[-1]]).tolist()
        for number, (first, last) in enumerate(pairwise(cuts)):
            own = range(int(np.searchsorted(ends, first, "right")), int(np.searchsorted(ends, last, "left")) + 1)
            bounds = tuple((max(first, starts[i]) - starts[i], min(last, ends[i]) - starts[i]) for i in own)
            key = (join, number)
            tasks[key] = Task(key, operator.call, TaskRef(join), bounds, *(TaskRef(self._keys[i]) for i in own))
            yield Piece(first, ChunkName(graph, key))

    def changed(self, work: Callable[[Any], Any], width: int, dtype: Any, names: Sequence[str] | None) -> DaskTable:
        """Return the table of the arrays that row-wise work makes of partitions."""
        lengths = tuple(self._counted())
        name = f"lowland-changed-{uuid.uuid4().hex}"
        sent = f"lowland-work-{name}"
        layer: dict[Any, Any] = {sent: Task(sent, cloudpickle.loads, packed(work))}
        for i, key in enumerate(self._keys):
            layer[name, i, 0] = Task((name, i, 0), operator.call, TaskRef(sent), TaskRef(key))
        graph = HighLevelGraph.from_collections(name, layer, dependencies=[self._lean])
        return DaskTable(da.Array(graph, name, (lengths, (width,)), dtype=np.dtype(dtype)), names)

    def lazily(self, work: Callable[[Any], Any], like: Any) -> Any:
        """Return a lazy data frame, or a lazy array of the same chunks if ``like`` is one."""
        if not self._is_array:
            return self._given.map_partitions(work, meta=like)
        if isinstance(like, np.ndarray):
            chunks = (self._given.chunks[0], (like.shape[1],))
            return self._given.map_blocks(work, dtype=like.dtype, chunks=chunks, meta=like)
        import dask.dataframe as dd

        return dd.from_dask_array(self._given).map_partitions(work, meta=like)


def open_frames(X: Any) -> DaskFrames:
    """Return the rows of a Dask array or data frame."""
    return DaskFrames(X)
