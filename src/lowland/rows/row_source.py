"""`RowSource`: the common interface of all input rows.

Arrays, sparse matrices, data frames and iterators of blocks become consecutive blocks of rows of a fixed size, in
float32 or float64, with the first row number of each block for messages. Files, clusters and devices can be further
sources.
"""

from __future__ import annotations

import copy
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .. import engines
from ..core import arrays
from ..core.cost import DataShape
from ..core.errors import DataError
from ..core.message import DENSE, Message, Setting, message_of
from ..data.scans.table_scan import TableScan
from ..engines import Engine
from ..engines.local import LOCAL
from . import conversion
from .block import Block, block_rows, require_finite
from .journal import Journal

Array = Any
Result = TypeVar("Result")

__all__ = ["ArrayRows", "Block", "BlockRows", "RowSource", "as_rows", "block_rows", "require_finite"]

_FRAMES = ("__dataframe__", "__narwhals_dataframe__", "__arrow_c_stream__")


class RowSource(ABC):
    """Rows read in blocks: created by `from_array`, `from_blocks`, or by `fit` from its input."""

    n_rows: int | None
    n_features: int
    dtype: np.dtype[Any]
    reiterable: bool = True
    allow_empty: bool = False
    allow_nan: bool = False
    weights: np.ndarray[Any, Any] | None = None
    names: Sequence[str] | None = None
    elsewhere: bool = False  # whether an engine holds the rows outside this process: methods send work to them
    engine: Engine = LOCAL
    home: Array | None = None  # rows of a library that Lowland does not compute with: results go back to it
    journal: Journal | None = None  # keeps the sums of passes over these rows, for a fit that may be interrupted

    @property
    @abstractmethod
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""

    @property
    def sparse(self) -> bool:
        """Whether blocks are scipy.sparse (CSR)."""
        return False

    @property
    def array(self) -> Array | None:
        """The whole table if it is in memory, else None."""
        return None

    @property
    def reference(self) -> Array:
        """An array of the library and device of the rows."""
        return self.array if arrays.is_foreign(self.array) else np.empty(0)

    @abstractmethod
    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        """Yield blocks of ``size`` rows in order; the first has ``first`` rows, the last may be shorter."""

    def blocks(self, size: int | None = None, first: int | None = None) -> Iterator[Block]:
        """Yield consecutive blocks of ``size`` rows (default: `block_rows`); the last may be shorter.

        ``first`` is the length of the first block, for a reader that still holds rows of an earlier one.
        """
        size = size or block_rows(self.n_features, self.sparse)
        return self._blocks(size, first or size)

    def blocks_from(self, start: int, size: int) -> Iterator[Block]:
        """Yield the blocks of ``size`` rows from row ``start`` on, a multiple of ``size``; those before are skipped."""
        return itertools.dropwhile(lambda block: block.start < start, self.blocks(size))

    def named(self) -> Any:
        """Return an object with the column names (a data frame), or an array of the same width."""
        return np.empty((1, self.n_features), dtype=np.float32) if self.names is None else conversion.header(self.names)

    def weighted(self, sample_weight: Any) -> RowSource:
        """Attach a weight to each row: weight 2 counts a row twice, 0 leaves it out."""
        if sample_weight is None:
            return self
        if self.n_rows is None:
            raise DataError("sample_weight needs a known number of rows; pass the blocks as one array")
        w = np.asarray(arrays.to_numpy(sample_weight), dtype=np.float64)
        if w.shape != (self.n_rows,):
            raise DataError(
                f"sample_weight must have one value for each of the {self.n_rows} rows; its shape is {w.shape}"
            )
        if not np.isfinite(w).all() or (w < 0).any():
            bad = int(np.flatnonzero(~(np.isfinite(w) & (w >= 0)))[0])
            raise DataError(
                Message(Setting("sample_weight"), f" must be finite and not negative; row {bad} has {w[bad]}")
            )
        if not w.any():
            raise DataError("all sample weights are zero")
        twin = self._twin()  # weights belong to one fit, not to the source
        twin.weights = w
        return twin

    def _twin(self) -> RowSource:
        return copy.copy(self)

    def count(self) -> int:
        """Return the number of rows, reading the source if it is unknown."""
        if self.n_rows is None:
            self.n_rows = sum(block.rows.shape[0] for block in self.blocks())
        return self.n_rows

    def check(self, block: Block) -> None:
        """Raise if a block contains NaN or infinity."""
        require_finite(block, self.allow_nan)

    def map_blocks(self, work: Callable[[Array], Array], width: int, dtype: Any = None) -> Array:
        """Apply row-wise work to every block on the pool and join the results, in ``dtype`` (default: the source's)."""
        kind = self.dtype if dtype is None else np.dtype(dtype)

        def step(block: Block) -> Array:
            self.check(block)
            return arrays.cast(work(block.rows), kind)

        if self.home is not None:
            host = copy.copy(self)
            host.home = None
            return arrays.back(host.map_blocks(work, width, dtype), self.home)
        if self.n_rows == 0:
            return arrays.like(np.empty((0, width)), self.reference, kind)
        known = None if arrays.is_foreign(self.reference) else self.n_rows
        parts = self.engine.map(step, self.blocks(), stage="transform", total=self.block_count())
        if known is None:
            found = list(parts)
            return arrays.namespace(*found).concat(found, axis=0)
        out, start = np.empty((known, width), dtype=kind), 0
        for part in parts:
            out[start : start + len(part)] = part
            start += len(part)
        return out

    def map(
        self,
        work: Callable[[Block], Result],
        size: int | None = None,
        *,
        stage: str | None = None,
        beside: Array | None = None,
        start: int = 0,
    ) -> Iterator[Result]:
        """Apply ``work`` to every block and yield the results in row order.

        ``beside`` is an array with a row for each row of the source; a block has its part of it. ``start`` leaves out
        the rows before it, which are a multiple of ``size``.

        This is how methods go through rows. Here the work runs on the thread pool; a source of another place runs it
        there, so ``work`` must not change anything outside itself, and cloudpickle must be able to send it.
        """
        size, total = size or block_rows(self.n_features, self.sparse), self.block_count(size)
        blocks = self.blocks_from(start, size) if start else self.blocks(size)
        if beside is not None:
            blocks = (b._replace(beside=beside[b.start : b.start + b.rows.shape[0]]) for b in blocks)
        return self.engine.map(work, blocks, stage=stage, total=None if total is None else total - start // size)

    def block_count(self, size: int | None = None) -> int | None:
        """Return the number of blocks, or None if the number of rows is unknown."""
        size = size or block_rows(self.n_features, self.sparse)
        return None if self.n_rows is None else -(-self.n_rows // size)

    @staticmethod
    def from_array(X: Any, names: Sequence[str] | None = None) -> RowSource:
        """Return a source of one array, sparse matrix or tensor, with column names if given.

        >>> import numpy as np
        >>> RowSource.from_array(np.eye(3), names=["a", "b", "c"]).names
        ('a', 'b', 'c')
        """
        source = _source(X, "RowSource.from_array")
        if not isinstance(source, ArrayRows):
            raise DataError("RowSource.from_array takes one table in memory; use from_blocks for blocks")
        if names is None:
            return source
        texts = [name for name in names if isinstance(name, str)]
        if not len(texts) == len(set(texts)) == len(names) == source.n_features:
            raise DataError(
                Message(
                    Setting("names"),
                    f" must be {source.n_features} distinct strings, one for each column; "
                    f"got {len(names)}, of which {len(set(texts))} are distinct strings",
                )
            )
        return ArrayRows(source.array, carrier=conversion.header(texts), copied=source.shape.copied)

    @staticmethod
    def from_blocks(blocks: Iterable[Any] | Callable[[], Iterable[Any]], *, n_rows: int | None = None) -> RowSource:
        """Return a source of blocks of rows.

        ``blocks`` is an iterator or generator (can be read once), or a list of blocks or a function that returns new
        blocks (can be read repeatedly). Results do not depend on how the rows are cut into blocks.

        >>> import numpy as np
        >>> X = np.arange(12.0).reshape(6, 2)
        >>> source = RowSource.from_blocks(lambda: (X[:4], X[4:]))
        >>> [block.rows.shape for block in source.blocks(3)]
        [(3, 2), (3, 2)]
        """
        try:
            return BlockRows(blocks, n_rows=n_rows)
        except (DataError, TypeError):
            from .mixed_rows import mixed_blocks

            found = None if isinstance(blocks, Iterator) else mixed_blocks(blocks, n_rows)
            if found is None:
                raise
            return found  # blocks with categories, for methods that accept them


READ_ONCE = "these blocks can be read only once"


def single_pass_error(owner: str, instead: str = "") -> DataError:
    """Return the error of a method that reads the rows several times, for blocks that can be read only once.

    ``instead`` is a further remedy.
    """
    once = f" reads the rows several times, and {READ_ONCE}; pass one array, or a function that "
    blocks = "returns new blocks: RowSource.from_blocks(lambda: …)"
    return DataError(Message(owner, once, blocks, f"; or {instead}" if instead else ""))


class ArrayRows(RowSource):
    """Rows of an array or sparse matrix in memory (or memory-mapped)."""

    def __init__(self, array: Array, carrier: Any = None, copied: int = 0) -> None:
        self._array, self._carrier, self._copied = array, carrier, copied
        self.n_rows, self.n_features = int(array.shape[0]), int(array.shape[1])
        kind = arrays.dtype_of(array)
        self.dtype = conversion.working(kind)
        columns = [] if carrier is None else list(carrier.columns)
        self.names = tuple(columns) if columns and all(isinstance(c, str) for c in columns) else None

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""
        density = self._array.nnz / max(1, self._array.shape[0] * self.n_features) if self.sparse else 1.0
        return DataShape(self.n_rows, self.n_features, self.dtype, density, self.sparse, copied=self._copied)

    @property
    def sparse(self) -> bool:
        """Whether the rows are scipy.sparse."""
        return bool(sp.issparse(self._array))

    @property
    def array(self) -> Array | None:
        """The whole table."""
        return self._array

    def named(self) -> Any:
        """Return the data frame of the rows, or an empty array of the same width."""
        return super().named() if self._carrier is None else self._carrier

    def replaced(self, array: Array) -> ArrayRows:
        """Return this source with a converted copy of its rows."""
        twin = copy.copy(self)
        twin._array, twin._copied = array, self._copied + int((array.data if self.sparse else array).nbytes)
        return twin

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        start, stop = 0, first
        while start < self._array.shape[0]:
            weights = None if self.weights is None else self.weights[start:stop]
            yield Block(start, arrays.cast(self._array[start:stop], self.dtype), weights, self.names)
            start, stop = stop, stop + size


class BlockRows(RowSource):
    """Rows in blocks of any size, readable once or repeatedly."""

    def __init__(self, blocks: Iterable[Any] | Callable[[], Iterable[Any]], *, n_rows: int | None = None) -> None:
        self.reiterable = not isinstance(blocks, Iterator)
        self.all_columns = blocks if callable(blocks) else lambda: blocks
        self._pending: Iterator[_Numbered] | None = _numbered(self.all_columns())
        self.n_rows = n_rows
        self._first = next(self._pending, None)
        if self._first is None:
            raise DataError("the blocks contain no rows: the iterator or all of its blocks are empty")
        first = self._first[1]
        self.n_features, self.dtype, self._is_sparse = first.n_features, first.dtype, first.sparse
        self.names, self._density = first.names, first.shape.density  # assumed for all blocks
        self._reference = arrays.like(np.empty(0), first.reference)  # not a view, which would keep the block alive

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows, for plans."""
        kind = self._density, self._is_sparse, self.reiterable
        return DataShape(self.n_rows, self.n_features, self.dtype, *kind, blocks=True)

    @property
    def sparse(self) -> bool:
        """Whether the first block was scipy.sparse."""
        return self._is_sparse

    @property
    def reference(self) -> Array:
        """An array of the library and device of the first block."""
        return self._reference

    def first_block(self) -> Array:
        """Return the first block unconverted; the next pass still begins with it."""
        return self._begun()[1].array

    def _begun(self) -> _Numbered:
        """Return the first block with its number, from the pass already begun or from a new one."""
        if self._first is None:
            if not self.reiterable:
                raise DataError(f"{READ_ONCE} and were already read; pass a function instead")
            self._pending = _numbered(self.all_columns())
            self._first = next(self._pending, None)
            if self._first is None:
                raise DataError("the second pass had no rows: the function must return new blocks at each call")
        return self._first

    def _pieces(self) -> Iterator[Array]:
        """Yield the blocks unconverted, each checked against the first."""
        first, rest = self._begun(), self._pending
        self._first = self._pending = None
        for number, rows in itertools.chain([first], rest or ()):
            if rows.n_features != self.n_features or rows.sparse != self._is_sparse:
                raise DataError(
                    f"block {number} has {rows.n_features} columns ({'sparse' if rows.sparse else 'dense'}); "
                    f"block 0 had {self.n_features} ({'sparse' if self._is_sparse else 'dense'})"
                )
            require_names(rows.names, self.names, number)
            if rows.dtype.itemsize > self.dtype.itemsize:
                raise DataError(f"block {number} is {rows.dtype}; block 0 was {self.dtype}: use the same dtype for all")
            yield rows.array

    def _twin(self) -> RowSource:
        twin = super()._twin()
        self._first = self._pending = None  # the pass already begun belongs to the copy
        return twin

    def _check_count(self, found: int, *, ended: bool) -> None:
        if self.n_rows is not None and (found > self.n_rows or (ended and found < self.n_rows)):
            raise DataError(f"the blocks have {found} rows{'' if ended else ' or more'}, but n_rows={self.n_rows}")

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        start, held, full, waiting = 0, 0, first, list[Array]()
        for piece in self._pieces():
            offset = 0
            while offset < piece.shape[0]:
                part = piece[offset : offset + full - held]
                waiting.append(_own(part, self.dtype))
                held, offset = held + part.shape[0], offset + part.shape[0]
                self._check_count(start + held, ended=False)
                if held == full:
                    yield self._block(start, waiting)
                    start, held, full, waiting = start + full, 0, size, []
        self._check_count(start + held, ended=True)
        if waiting:
            yield self._block(start, waiting)
        self.n_rows = start + held

    def _block(self, start: int, parts: list[Array]) -> Block:
        if len(parts) == 1:
            rows = parts[0]
        elif self._is_sparse:
            rows = sp.vstack(parts, format="csr")
        else:
            rows = arrays.namespace(*parts).concat(parts, axis=0)
        weights = None if self.weights is None else self.weights[start : start + rows.shape[0]]
        return Block(start, rows, weights, self.names)


def _own(part: Array, dtype: np.dtype[Any]) -> Array:
    """Copy rows of a block: the user's generator may reuse its buffer before they are processed."""
    if arrays.is_foreign(part):
        return arrays.cast(part, dtype) + 0
    return part.astype(dtype) if sp.issparse(part) else np.array(part, dtype=dtype, order="C")


def require_names(found: Sequence[str] | None, expected: Sequence[str] | None, number: int) -> None:
    """Raise if the column names of a block differ from those of the first."""
    if found is None or expected is None or found == expected:
        return
    i = next(i for i, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
    raise DataError(
        f"block {number}: column {i} is {found[i]!r}; in block 0 it was {expected[i]!r}: use the same order in all",
        column=i,
    )


_Numbered = tuple[int, RowSource]


def _numbered(pieces: Iterable[Any]) -> Iterator[_Numbered]:
    """Yield each block that has rows, with its number, which is added to error messages."""
    for number, piece in enumerate(pieces):
        try:
            rows = _source(piece, "Lowland")
        except DataError as error:
            raise DataError(Message(f"block {number}: ", message_of(error)), column=error.column) from None
        if rows.n_rows != 0:
            yield number, rows


def has_no_rows(X: Any) -> bool:
    """Return whether X is a table with columns and without rows.

    >>> has_no_rows(np.empty((0, 3))), has_no_rows([])
    (True, False)
    """
    if engines.holds(X):
        return False  # the number of rows may be unknown
    shape: Any = (X.n_rows, X.n_features) if isinstance(X, RowSource) else getattr(X, "shape", ())
    return isinstance(shape, tuple) and len(shape) == 2 and shape[0] == 0


def as_rows(
    X: Any,
    *,
    allow_nan: bool = False,
    allow_sparse: bool = True,
    allow_empty: bool = False,
    owner: str = "Lowland",
) -> RowSource:
    """Return a `RowSource` of an array, sparse matrix, data frame, Arrow table, tensor or blocks.

    An array of floats is not copied. ``allow_empty``: a table may have no rows.
    """
    source = _source(X, owner)
    if source.sparse and not allow_sparse:
        raise DataError(Message(f"{owner} does not take sparse data; pass ", DENSE, " if it fits in memory"))
    for n, what in ((source.n_features, "feature"), (source.n_rows, "sample")):
        if n == 0 and not (what == "sample" and (allow_empty or source.allow_empty)):
            raise DataError(f"Found array with 0 {what}(s) (shape={_shape_text(X)}) while a minimum of 1 is required.")
    if allow_empty and source is X:
        source = copy.copy(source)  # a fit of the caller's own source still refuses no rows
    source.allow_nan, source.allow_empty = allow_nan, allow_empty or source.allow_empty
    return source


def _source(X: Any, owner: str) -> RowSource:
    if isinstance(X, RowSource):
        return X
    if isinstance(X, TableScan):
        from .scan_rows import ScanRows

        return ScanRows(X)
    if engines.holds(X):
        from .engine_rows import EngineRows

        return EngineRows(engines.open_table(X, _numbers))
    if sp.issparse(X):
        csr = conversion.sparse(X)
        shared = np.may_share_memory(csr.data, X.data) if X.format == "csr" else False
        return ArrayRows(csr, copied=0 if shared else csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes)
    if arrays.is_foreign(X):
        return ArrayRows(conversion.dense(X))
    if arrays.is_standard(X) and arrays.dispatched(X):
        source = ArrayRows(conversion.dense(arrays.to_numpy(X)))
        source.home = X
        return source
    if isinstance(X, Iterator) or (callable(X) and not hasattr(X, "__array__")):
        return BlockRows(X)
    if len(getattr(X, "shape", (0, 0))) == 2 and any(hasattr(X, name) for name in _FRAMES):  # not a Series
        return _frame(X)
    if isinstance(X, str | bytes | os.PathLike):
        text = os.fspath(X)
        raise DataError(f"{owner} needs rows, not a file name; read it first with lowland.data.read_table({text!r})")
    if hasattr(X, "collect"):
        raise DataError(f"{owner} needs rows, not a lazy table: pass X.collect()")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise DataError("the array has masked values: fill them, or use NaN for a method that takes missing values")
    if isinstance(X, np.ma.MaskedArray | np.matrix):  # their operators differ from those of arrays
        return ArrayRows(conversion.dense(np.asarray(X)))
    array = conversion.dense(X if isinstance(X, np.ndarray) else conversion.from_lists(X))
    return ArrayRows(array, copied=0 if array is X else array.nbytes)


def _frame(X: Any) -> RowSource:
    """Read a pandas, polars, Arrow or other data frame through narwhals; every column must be numeric."""
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except ValueError as error:  # two columns with the same name
        raise DataError(f"{' '.join(str(error).split())}: rename the columns") from None
    columns = list(frame.iter_columns())
    plain = all(c.dtype.is_numeric() or c.dtype == nw.Boolean for c in columns)
    array = frame.to_numpy() if plain and columns else np.empty(0, dtype=object)
    if array.dtype.kind not in "fiub":  # objects, nullable types, text: by column, so that an error names the cell
        values = [conversion.column(str(c.name), j, c.to_numpy()) for j, c in enumerate(columns)]
        array = np.column_stack(values) if values else np.empty((len(frame), 0))
    carrier = X if hasattr(X, "columns") and not type(X).__module__.startswith("pyarrow") else frame.to_polars()
    return ArrayRows(conversion.dense(array), carrier=carrier, copied=array.nbytes)


def _numbers(X: Any) -> Array:
    """Return the numbers of a data frame."""
    return _frame(X).array


def _shape_text(X: Any) -> str:
    if isinstance(X, RowSource):
        return str((X.n_rows, X.n_features))
    return str(tuple(getattr(X, "shape", (len(X),) if hasattr(X, "__len__") else ("?",))))
