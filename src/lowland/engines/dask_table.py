"""Dask arrays and data frames as tables: chunks of whole blocks, lengths, names."""

from __future__ import annotations

import math
import operator
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cloudpickle
import numpy as np

from ..core.errors import DataError
from .dask_engine import ENGINE, ChunkName, OnWorker, TaskGraph, packed  # first: it names the extra that is missing
from .engine import Array, Piece, PieceStep, Table

# isort: split
import dask.array as da
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph

_BLOCK_ENTRIES = 1 << 22  # of a chunk of joined columns, where the chunks that were given are smaller


class DaskTable(Table):
    """A 2-D array of Dask."""

    def __init__(self, array: Any, names: Sequence[str] | None = None) -> None:
        self.engine, self.names = ENGINE, names
        self._array = array
        self.n_features, self.dtype = int(array.shape[1]), array.dtype
        known = not any(math.isnan(n) for n in array.chunks[0])
        self.n_rows = int(array.shape[0]) if known else None
        self._cuts: dict[tuple[int, int], tuple[TaskGraph, tuple[int, ...]]] = {}

    def count(self) -> int:
        """Return the number of rows; unknown lengths of chunks are computed by the workers."""
        if self.n_rows is None:
            array = self._array
            graph = TaskGraph.of(array)
            keys = [(graph.name, i, *(0 for _ in array.chunks[1:])) for i in range(array.numblocks[0])]
            pieces = [Piece(0, ChunkName(graph, key)) for key in keys]
            lengths = tuple(self.engine.map(_length, pieces, stage="rows", total=len(pieces)))
            self._array = da.Array(
                array.dask, array.name, (lengths, *array.chunks[1:]), dtype=array.dtype, meta=array._meta
            )
            self.n_rows = sum(lengths)
        return self.n_rows

    def _largest(self) -> int:
        """Return the entries of the largest chunk."""
        return int(np.prod([max(lengths) for lengths in self._array.chunks]))

    def _lengths(self, size: int, within: int) -> tuple[int, ...]:
        """Return the lengths of pieces: the edges of chunks moved down to whole blocks, so that few rows change place.

        A piece is shorter than a chunk and a block together.
        """
        n, most = self.count(), size * -(-self._largest() // (size * self.n_features))
        edges = np.cumsum(self._array.chunks[0], dtype=np.int64) // size * size
        cuts = np.unique(np.concatenate([[0], edges, np.arange(0, n, within), [n]]))
        lengths: list[int] = []
        for length in np.diff(cuts[cuts <= n]).tolist():
            lengths += [most] * (length // most) + ([length % most] if length % most else [])
        return tuple(lengths)

    def pieces(
        self, size: int, within: int, weights: Array | None = None, beside: Array | None = None
    ) -> Iterator[Piece]:
        """Yield pieces of whole blocks."""
        if (size, within) not in self._cuts:
            lengths = self._lengths(size, within)
            cut = self._array.rechunk((lengths, (self.n_features,)), method="tasks")
            self._cuts = {(size, within): (TaskGraph.of(cut), lengths)}  # one: a method uses one size after the other
        graph, lengths = self._cuts[size, within]
        start = 0
        for i, length in enumerate(lengths):
            parts = (None if a is None else a[start : start + length] for a in (weights, beside))
            yield Piece(start, ChunkName(graph, (graph.name, i, 0)), *parts)
            start += length

    def map_rows(self, work: Callable[[Piece], Array], width: int, dtype: Any) -> Array:
        """Return a lazy array of the results, with the chunks of the rows."""
        array = self._row_chunks()
        token = uuid.uuid4().hex
        name, sent = f"lowland-transform-{token}", f"lowland-work-{token}"
        lengths = array.chunks[0]
        starts = np.cumsum([0, *lengths[:-1]]) if self.n_rows is not None else np.zeros(len(lengths))
        step = OnWorker(PieceStep(work), None)
        layer: dict[Any, Any] = {sent: Task(sent, cloudpickle.loads, packed(step))}
        for i, start in enumerate(starts):
            chunk = TaskRef((array.name, i, 0))
            layer[name, i, 0] = Task((name, i, 0), operator.call, TaskRef(sent), None, chunk, int(start))
        graph = HighLevelGraph.from_collections(name, layer, dependencies=[array])
        return da.Array(graph, name, (lengths, (width,)), dtype=np.dtype(dtype))

    def _row_chunks(self) -> Any:
        """Return the array with whole rows in each chunk, none much larger than the chunks that were given."""
        array = self._array
        if array.numblocks[1] == 1:
            return array
        if self.n_rows is None:
            return array.rechunk({1: -1}, method="tasks")
        rows = max(1, max(self._largest(), _BLOCK_ENTRIES) // self.n_features)
        return array.rechunk({1: -1} if rows >= max(array.chunks[0]) else {0: rows, 1: -1}, method="tasks")


def _length(piece: Piece) -> int:
    return len(piece.rows)


def open_table(X: Any, numbers: Callable[[Any], Array]) -> DaskTable:
    """Return the table of a Dask array or data frame; ``numbers`` converts a partition to a 2-D array."""
    if isinstance(X, da.Array):
        return DaskTable(_checked(X))
    if hasattr(X, "npartitions") and hasattr(X, "columns") and hasattr(X, "_meta"):
        return _of_frame(X, numbers)
    raise DataError(
        f"{type(X).__module__}.{type(X).__name__} is not a table: pass a dask array of two dimensions or a dask data "
        "frame"
    )


def _checked(X: Any) -> Any:
    if X.ndim != 2:
        raise DataError(
            f"Expected a 2-D table of rows and columns, got a {X.ndim}-D dask array of shape {X.shape}. "
            "Reshape your data, or use X[:, None] if it has a single feature."
        )
    if X.dtype.kind not in "fiub":
        raise DataError(f"a dask array must contain real numbers; its dtype is {X.dtype}")
    if not isinstance(X._meta, np.ndarray):
        kind = type(X._meta).__name__
        raise DataError(
            f"the chunks of the dask array are {kind}: convert them to NumPy arrays, such as by "
            "X.map_blocks(lambda part: part.toarray()) for sparse ones"
        )
    if math.isnan(X.shape[1]):
        raise DataError("the number of columns of the dask array is unknown: call X.compute_chunk_sizes() first")
    return X


def _of_frame(X: Any, numbers: Callable[[Any], Array]) -> DaskTable:
    """Return the table of a data frame, its partitions converted to arrays by the workers."""
    from pandas.api.types import is_numeric_dtype

    names = tuple(X.columns)
    for j, kind in enumerate(X._meta.dtypes):
        if not is_numeric_dtype(kind):
            shown = str(names[j])
            raise DataError(
                f"column {j} ({shown!r}) of the dask data frame is {kind}, not numeric: leave it out, "
                f"X.drop(columns=[{shown!r}]), or encode it, dask.dataframe.get_dummies(X.categorize([{shown!r}]))",
                column=j,
            )
    lean = X.optimize()
    name = f"lowland-numbers-{uuid.uuid4().hex}"
    sent = f"lowland-work-{name}"
    layer: dict[Any, Any] = {sent: Task(sent, cloudpickle.loads, packed(numbers))}
    for i, key in enumerate(lean.__dask_keys__()):
        layer[name, i, 0] = Task((name, i, 0), operator.call, TaskRef(sent), TaskRef(key))
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[lean])
    lengths = (float("nan"),) * lean.npartitions
    array = da.Array(graph, name, (lengths, (len(names),)), dtype=numbers(X._meta).dtype)
    return DaskTable(array, names if all(isinstance(n, str) for n in names) else None)
