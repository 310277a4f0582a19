"""Which tables are rows of numbers and categories: `mixed_rows` opens them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core import arrays
from ..core.errors import DataError
from ..data.scans.table_scan import TableScan
from ..engines import holds
from . import columns
from .columns import ColumnRequest, TableBlock
from .engine_rows import EngineRows
from .mixed_source import PIECE_ROWS, Learned, Levels, MixedRows, rest_of
from .mixed_table import mixed_table
from .row_source import BlockRows, RowSource, as_rows, require_names, single_pass_error
from .scan_rows import ScanRows, table_blocks

# -- input ----------------------------------------------------------------------------------------------------------


def mixed_rows(
    X: Any,
    categorical: str | Sequence[str | int] = "auto",
    *,
    only: bool = False,
    missing: str = "error",
    owner: str = "Lowland",
) -> RowSource:
    """Return the input as a `MixedRows` if some column holds categories, else as rows of numbers.

    Categories are text, booleans of a data frame, categorical columns, and the columns named by ``categorical``;
    with ``only``, just the latter, for rows of a fitted model.

    >>> mixed_rows([[1, "red", 7], [2, "blue", 7]], [2]).categorical
    (1, 2)
    >>> type(mixed_rows([[1, 2], [3, 4]])).__name__
    'ArrayRows'
    """
    request = ColumnRequest(() if isinstance(categorical, str) else tuple(categorical), only)
    if isinstance(X, Iterator) or (isinstance(X, RowSource) and not X.reiterable):
        raise single_pass_error(owner)  # the levels are read first
    if isinstance(X, MixedRows):
        return X if X.all_columns is None else _of_blocks(X.all_columns, request, X.n_rows, missing) or X
    if isinstance(X, TableScan):
        return _of_blocks(table_blocks(X), request, X.n_rows, missing) or as_rows(X, owner=owner)
    if isinstance(X, BlockRows | ScanRows):  # from the original blocks: the converted ones have lost their categories
        return _of_blocks(X.all_columns, request, X.n_rows, missing) or as_rows(X, allow_sparse=False, owner=owner)
    if callable(X) and not hasattr(X, "__array__"):
        return _of_blocks(X, request, None, missing) or as_rows(X, allow_sparse=False, owner=owner)
    if holds(X) or isinstance(X, EngineRows):
        found = mixed_table(X, request, missing)
        if found is not None:
            return found
        if request.columns:
            raise DataError(f"{owner} takes no categorical columns from Dask: encode them, or pass blocks of a table")
        return as_rows(X, allow_sparse=False, owner=owner)
    if isinstance(X, RowSource):
        return _of_source(X, request, missing) or as_rows(X, allow_sparse=False, owner=owner)
    table = columns.of_table(X)
    if table is None or not table.columns:
        return as_rows(X, allow_sparse=False, owner=owner)
    chosen = columns.categorical(table, request)
    if not chosen:
        return as_rows(X, allow_sparse=False, owner=owner)
    if table.n_rows == 0:
        shape = (0, len(table.columns))
        raise DataError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    carrier = X if hasattr(X, "columns") and not type(X).__module__.startswith("pyarrow") else None
    copied = 8 * table.n_rows * len(table.columns) if isinstance(X, list | tuple) else 0
    source = MixedRows(
        lambda: _cuts(table), table, chosen, n_rows=table.n_rows, carrier=carrier, copied=copied, missing=missing
    )
    source.in_memory = True
    return source


def mixed_blocks(blocks: Iterable[Any] | Callable[[], Iterable[Any]], n_rows: int | None = None) -> MixedRows | None:
    """Return the rows of blocks with categorical columns, or None if there are none.

    >>> mixed_blocks([[[1, "red"]], [[2, "blue"], [3, "red"]]]).learn().levels.values
    (['blue', 'red'],)
    """
    make = blocks if callable(blocks) else lambda: blocks
    found = _of_blocks(make, ColumnRequest(), n_rows, "error")
    if found is not None:
        found.all_columns = make
    return found


def _cuts(piece: TableBlock) -> Iterator[TableBlock]:
    """Yield a few rows at a time: threads encode them in parallel, and blocks of the user may be long."""
    return (piece.cut(a, a + PIECE_ROWS) for a in range(0, piece.n_rows, PIECE_ROWS))


def _of_blocks(
    make: Callable[[], Iterable[Any]], request: ColumnRequest, n_rows: int | None, missing: str
) -> MixedRows | None:
    """Return the rows of the blocks that a function yields, or None if no column is categorical."""

    def blocks() -> Iterator[tuple[int, TableBlock]]:
        for number, block in enumerate(make()):
            piece = columns.of_table(block)
            if piece is None:  # an array of numbers, or invalid input, for which `as_rows` raises
                piece = columns.of_numbers(as_rows(block, allow_sparse=False, owner=f"block {number}"))
            if piece.n_rows:
                yield number, piece

    _, first = next(blocks(), (0, None))
    chosen = () if first is None else columns.categorical(first, request)
    if first is None or not chosen:
        return None
    numeric, width, names = rest_of(first, chosen), len(first.columns), first.names
    kind = columns.precision(first, numeric)

    def pieces() -> Iterator[TableBlock]:
        start = 0
        for number, piece in blocks():
            if len(piece.columns) != width:
                raise DataError(f"block {number} has {len(piece.columns)} columns; block 0 had {width}")
            require_names(piece.names, names, number)
            dtype = columns.precision(piece, numeric)
            if dtype.itemsize > kind.itemsize:  # it would be rounded silently
                raise DataError(f"block {number} is {dtype}; block 0 was {kind}: use the same dtype for all")
            yield from _cuts(replace(piece, start=start, names=names))
            start += piece.n_rows

    return MixedRows(
        pieces, replace(first, columns=[c[:0] for c in first.columns]), chosen, n_rows=n_rows, missing=missing
    )


def _of_source(source: RowSource, request: ColumnRequest, missing: str) -> MixedRows | None:
    """Return rows of numbers with categorical columns, or None if no column is categorical."""
    names = None if source.names is None else tuple(source.names)
    home = arrays.like(np.empty(0), source.reference)
    first = TableBlock(0, [np.empty(0, dtype=source.dtype)] * source.n_features, names, home)
    chosen = columns.resolve(first, request)

    def pieces() -> Iterator[TableBlock]:
        for block in source.blocks():
            rows = arrays.to_numpy(block.rows)
            yield TableBlock(block.start, list(rows.T), names)

    return MixedRows(pieces, first, chosen, n_rows=source.n_rows, missing=missing) if chosen else None


__all__ = ["PIECE_ROWS", "Learned", "Levels", "MixedRows", "mixed_blocks", "mixed_rows"]
