"""Further row sources: objects that are not rows of numbers, and rows mapped as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, thread_pool
from ..core.cost import DataShape
from ..core.errors import DataError
from ..engines import holds
from .row_source import Block, RowSource, block_rows

Array = Any


class ObjectRows(RowSource):
    """Objects of any kind, compared by a kernel or metric function; a block is an array of objects."""

    def __init__(self, objects: Any) -> None:
        self._objects = np.empty(len(objects), dtype=object)
        self._objects[:] = list(objects)
        self.n_rows, self.n_features, self.dtype = len(objects), 1, np.dtype(np.float64)

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""
        return DataShape(self.n_rows, 1, self.dtype)

    @property
    def array(self) -> Array | None:
        """All objects."""
        return self._objects

    def check(self, block: Block) -> None:
        """Accept every block: only the function that compares objects can check them."""

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        start, stop = 0, first
        while start < len(self._objects):
            yield Block(start, self._objects[start:stop], None)
            start, stop = stop, stop + size


def are_objects(X: Any) -> bool:
    """Return whether X is a list (or 1-D array, or column of a data frame) of objects that are not rows of numbers.

    >>> are_objects(["abc", "abd"]), are_objects([[1.0, 2.0], [3.0, 4.0]])
    (True, False)
    """
    if isinstance(X, RowSource) or sp.issparse(X) or arrays.is_foreign(X) or isinstance(X, str | bytes) or holds(X):
        return False
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OUS"
    if hasattr(X, "to_numpy"):
        return _is_column_of_objects(X)
    if not isinstance(X, list | tuple) or not len(X):
        return False
    try:
        form = np.asarray(X)
    except ValueError:  # sequences of different lengths are not rows
        return True
    return form.ndim != 2 or form.dtype.kind not in "fiub"


def _is_column_of_objects(X: Any) -> bool:
    """Return whether X is a Series of objects; raise for a data frame with one column of text."""
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) == 2 and shape[0] > 0 and shape[1] == 1 and isinstance(X.to_numpy()[0, 0], str):
        name = next(iter(X.columns))
        raise DataError(
            f"a data frame must contain numbers, but its only column {name!r} contains text: pass the column itself, "
            f"X[{name!r}], or a list"
        )
    return len(shape) == 1


class MappedRows(RowSource):
    """Rows of another source, mapped block by block as they are read and not stored."""

    def __init__(self, source: RowSource, work: Callable[[Array], Array], width: int) -> None:
        self._source, self._work = source, work
        self.n_rows, self.n_features, self.dtype = source.n_rows, width, np.dtype(np.float64)
        self.reiterable, self.weights = source.reiterable, source.weights
        self._reference = source.reference

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""
        return DataShape(self.n_rows, self.n_features, self.dtype, reiterable=self.reiterable, blocks=True)

    @property
    def reference(self) -> Array:
        """An array of the library and device of the rows."""
        return self._reference

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        def mapped(block: Block) -> Block:
            self._source.check(block)
            return Block(block.start, self._work(block.rows), block.weights)

        return thread_pool.run(
            mapped, self._source.blocks(size, first)
        )  # on the pool: the reader would otherwise wait for one thread


def gather(source: RowSource, *, sparse: bool = False) -> Array:
    """Return all rows as one checked array, without a copy if they are in memory; ``sparse`` allows CSR."""
    if source.sparse and not sparse:
        raise DataError("sparse rows cannot be compared pair by pair here; pass a dense array if it fits in memory")
    if source.array is None and source.n_rows is not None and _plain(source):
        return _filled(source, source.n_rows)
    pieces = []
    for block in source.blocks():
        source.check(block)
        if source.array is None:
            pieces.append(block.rows)
    if source.array is None:
        return sp.vstack(pieces).tocsr() if source.sparse else arrays.namespace(*pieces).concat(pieces, axis=0)
    if source.sparse or source.array.dtype == object:
        return source.array
    return arrays.cast(source.array, source.dtype)


def _plain(source: RowSource) -> bool:
    """Return whether blocks are NumPy arrays of numbers, which can be copied into one array."""
    objects = source.array is not None and source.array.dtype == object
    return not source.sparse and not objects and not arrays.is_foreign(source.reference)


def _filled(source: RowSource, n: int) -> Array:
    """Return the rows of NumPy blocks in one array; only one block is held beside it."""
    out = np.empty((n, source.n_features), dtype=source.dtype)
    for block in source.blocks():
        source.check(block)
        out[block.start : block.start + len(block.rows)] = block.rows
    return out


def take(source: RowSource, numbers: Array) -> Array:
    """Return the rows with these ascending numbers; every row of the source is checked."""
    pieces: list[Array] = []
    out, filled = (np.empty((len(numbers), source.n_features), dtype=source.dtype) if _plain(source) else None), 0

    def work(block: Block) -> Array:
        source.check(block)
        first, last = np.searchsorted(numbers, (block.start, block.start + block.rows.shape[0]))
        return block.rows[numbers[first:last] - block.start]

    for piece in source.map(work):
        if out is None:
            pieces.append(piece)
        else:
            out[filled : filled + len(piece)] = piece
        filled += piece.shape[0]
    if out is not None:
        return out
    return sp.vstack(pieces, format="csr") if source.sparse else arrays.namespace(*pieces).concat(pieces, axis=0)


def packed(points: Array) -> Any:
    """Return rows as a model stores them: a copied array, or the arrays of a sparse matrix."""
    if not sp.issparse(points):
        return np.array(points)
    csr = points.tocsr()
    names = ("data", "indices", "indptr")
    return {**{name: getattr(csr, name).copy() for name in names}, "columns": int(csr.shape[1])}


def on_host(block: Array) -> Array:
    """Return rows or objects as a NumPy array or a sparse matrix, copied from a device if needed."""
    return block if sp.issparse(block) or isinstance(block, np.ndarray) else arrays.to_numpy(block)


def stored_like(block: Array, points: Array) -> Array:
    """Return rows on the host, sparse or dense as these points are."""
    block = on_host(block)
    if sp.issparse(points):
        return block if sp.issparse(block) else sp.csr_array(block)
    return block.toarray() if sp.issparse(block) else block


def dense_parts(block: Array) -> Iterator[Array]:
    """Yield a block as dense rows: sparse rows a few at a time, no more than a block of dense rows has."""
    if not sp.issparse(block):
        yield block
        return
    size = block_rows(block.shape[1])
    for start in range(0, block.shape[0], size):
        yield block[start : start + size].toarray()


def unpacked(anchors: Any) -> Array:
    """Undo `packed`."""
    if not isinstance(anchors, dict):
        return anchors
    shape = (len(anchors["indptr"]) - 1, anchors["columns"])
    return sp.csr_array((anchors["data"], anchors["indices"], anchors["indptr"]), shape=shape)
