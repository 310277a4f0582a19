"""`ChangedScan`: a scanned table with row-wise changes, made when the rows are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...core import thread_pool
from ...core.errors import CellError
from .table_scan import Array, Span, TableScan, working

Change = Callable[[pl.DataFrame], pl.DataFrame]

_PIECE_ENTRIES = 1 << 20  # of rows that are changed at once: each change costs some time, however few rows it gets


class ChangedScan(TableScan):
    """A scan whose frames are changed when they are read; each resulting row depends on one row.

    Integers become floats, since a gap may make them so in other rows. Changes of a changed scan are added to its own,
    so that rows are read and changed at once. ``named``: whether columns have names of their own; default: as before.
    ``block``: a change whose rounding depends on the rows beside gets whole blocks of so many rows.
    """

    def __init__(self, scan: TableScan, change: Change, *, named: bool | None = None, block: int = 1) -> None:
        before = scan.changes if isinstance(scan, ChangedScan) else ()
        self.base: TableScan = scan.base if isinstance(scan, ChangedScan) else scan
        self.changes: Sequence[Change] = (*before, change)
        self.source, self.n_rows = self.base.source, self.base.n_rows
        self._named = scan.has_names if named is None else named
        self.block: int = math.lcm(block, scan.block if isinstance(scan, ChangedScan) else 1)
        self._stamp_often = False  # the base looks at its source
        self._spans: dict[int, list[Span]] = scan._spans if isinstance(scan, ChangedScan) else {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "types": self.types, "_spans": {}}  # workers need not find the types

    @cached_property
    def types(self) -> dict[str, pl.DataType]:
        """The types of the columns as the changes leave them."""
        return dict(self._applied(pl.DataFrame(schema=self.base.schema)).schema)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        return dict(as_floats(pl.DataFrame(schema=self.types)).schema)

    @property
    def has_names(self) -> bool:  # type: ignore[override]
        """Whether columns have names of their own: those of an array have none while all are numbers."""
        return self._named or not all(kind.is_numeric() for kind in self.types.values())

    @cached_property
    def _numeric(self) -> list[str]:
        return numeric_columns(self.types)

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of arrays: those of numbers."""
        return self._numeric if self.has_names else None

    @property
    def n_features(self) -> int:
        """The number of columns of arrays."""
        return len(self._numeric)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays."""
        return working_type(self.types)

    def _applied(self, frame: pl.DataFrame) -> pl.DataFrame:
        for change in self.changes:
            frame = change(frame)
        return frame

    def _changed_frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        return as_floats(self._applied(frame))

    def _changed_array(self, frame: pl.DataFrame) -> Array:
        return as_array(self._applied(frame), self._numeric)

    def _mapped(self, work: Callable[[pl.DataFrame], Any], start: int, rows: int) -> Iterator[Any]:
        """Yield what work makes of each frame, on the thread pool; errors about a cell name its row and place."""

        before, least = start % self.block, max(1, _PIECE_ENTRIES // max(1, len(self.base.schema)))

        def numbered() -> Iterator[tuple[int, pl.DataFrame]]:
            first = start - before
            pieces = self.base.number_frames(first, rows=max(rows, least))
            for frame in in_blocks(pieces, self.block, least):
                yield first, frame
                first += frame.height

        def step(item: tuple[int, pl.DataFrame]) -> Any:
            return self._located(_placed, work, *item)

        found = thread_pool.run(step, numbered())
        return found if before == 0 else _without_first(found, before)

    def _located(self, work: Callable[..., Any], *words: Any) -> Any:
        try:
            return work(*words)
        except CellError as error:
            raise error.changed(where=self.base.place(error.row or 0)) from error.__cause__

    def first_frames(self) -> Iterator[pl.DataFrame]:
        """Yield the first rows, changed one piece after the other, so that no more are read than are asked for."""
        start = 0
        for frame in self.base.first_frames():
            yield self._located(_placed, self._changed_frame, start, frame)
            start += frame.height

    def first_array(self, rows: int) -> Array:
        """Return the numbers of the first rows."""
        return as_array(next(self.first_frames())[:rows], self._numeric)

    def _frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        return self._mapped(self._changed_frame, start, rows)

    def _arrays(self, start: int, rows: int) -> Iterator[Array]:
        return self._mapped(self._changed_array, start, rows)

    def count(self) -> int:
        """Return the number of rows."""
        self.n_rows = self.base.count()
        return self.n_rows

    def spans(self, rows: int) -> list[Span]:
        """Return the spans of the table as it is stored."""
        if rows not in self._spans:
            self._spans[rows] = self.base.spans(rows)
        return self._spans[rows]

    def _span_arrays(self, span: Span) -> Iterator[Array]:
        yield _placed(self._changed_array, span.start, self.base.span_frame(span))

    def _span_frames(self, span: Span) -> Iterator[pl.DataFrame]:
        yield _placed(self._changed_frame, span.start, self.base.span_frame(span))

    def missing_file(self) -> str | None:
        """Return the path of a file that does not exist here, if any."""
        return self.base.missing_file()

    def require_unchanged(self) -> None:
        """Raise if the source is not as it was when it was opened."""
        self.base.require_unchanged()

    def unrecognised(self) -> str | None:
        """Return why the fingerprint may stay the same when the data change."""
        return self.base.unrecognised()

    def _identity(self) -> dict[str, Any]:
        return {**self.base._identity(), "changes": [repr(change) for change in self.changes]}

    def _where(self, row: int) -> str:
        return self.base._where(row)


def as_floats(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with its integers as floats."""
    whole = {name: pl.Float64 for name, kind in frame.schema.items() if kind.is_integer()}
    return frame.cast(whole) if whole else frame  # type: ignore[arg-type]


def numeric_columns(types: Mapping[str, pl.DataType]) -> list[str]:
    """Return the columns of numbers and of true and false."""
    return [name for name, kind in types.items() if kind.is_numeric() or kind == pl.Boolean]


def working_type(types: Mapping[str, pl.DataType]) -> np.dtype[Any]:
    """Return the type of arrays of the numeric columns: float32 if all are, else float64."""
    return working([np.dtype(np.float32 if types[n] == pl.Float32 else np.float64) for n in numeric_columns(types)])


def as_array(frame: pl.DataFrame, columns: Sequence[str]) -> Array:
    """Return numeric columns as a C-ordered array."""
    schema = frame.schema
    kind = pl.Float32 if all(schema[name] == pl.Float32 for name in columns) else pl.Float64
    return np.ascontiguousarray(of_type(picked(frame, list(columns)), kind).to_numpy(order="c"))


def picked(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return columns in this order; `DataFrame.select` plans a query, which takes longer than the columns of a block.

    >>> picked(pl.DataFrame({"a": [1], "b": [2]}), ["b"]).rows()
    [(2,)]
    """
    return frame if frame.columns == names else frame[names] if names else frame.select([])


def of_type(frame: pl.DataFrame, kind: Any) -> pl.DataFrame:
    """Return a frame with all columns of one type, planning no query where they have it.

    >>> of_type(pl.DataFrame({"a": [1]}), pl.Float64).rows()
    [(1.0,)]
    """
    return frame if all(own == kind for own in frame.dtypes) else frame.cast(kind)


def in_blocks(frames: Iterator[pl.DataFrame], size: int, least: int = 1) -> Iterator[pl.DataFrame]:
    """Yield frames of whole multiples of ``size`` rows, and of at least so many; the last may be shorter.

    >>> [frame.height for frame in in_blocks(iter([pl.DataFrame({"a": range(n)}) for n in (5, 4, 1)]), 4)]
    [4, 4, 2]
    """
    held, height = list[pl.DataFrame](), 0
    for frame in frames:
        held.append(frame)
        height += frame.height
        if height >= max(size, least):
            whole = held[0] if len(held) == 1 else _joined(held)
            cut = height // size * size
            yield whole if cut == height else whole[:cut]
            height -= cut
            held = [whole[cut:]] if height else []
    if held:
        yield held[0] if len(held) == 1 else _joined(held)


def _joined(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames, how="vertical_relaxed", rechunk=True)  # whole numbers may be floats in some


def _without_first(pieces: Iterator[Any], count: int) -> Iterator[Any]:
    for piece in pieces:
        if count < piece.shape[0]:
            yield piece[count:]
        count = max(0, count - piece.shape[0])


def _placed(work: Callable[[pl.DataFrame], Any], start: int, frame: pl.DataFrame) -> Any:
    """Apply work to rows from ``start`` on; an error about a cell names its row in the table."""
    try:
        return work(frame)
    except CellError as error:
        raise error.changed(row=(error.row or 0) + start) from error.__cause__
