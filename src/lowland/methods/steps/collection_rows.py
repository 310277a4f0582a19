"""Collections of an engine, such as a Dask data frame, as training rows: steps learn where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import NoRowsError
from ...data.scans.changed import as_array, as_floats, numeric_columns, working_type
from ...engines import CollectionTable, FrameTable, Piece
from ...rows.engine_rows import EngineRows
from . import frames
from .folds import Fold, ValueCounts
from .training_rows import Change, PartsOfBlock, TrainingRows, add_parts, learning_rows

Array = Any


class CollectionRows(TrainingRows):
    """The rows of a collection, with changes that are made where they are."""

    def __init__(self, table: CollectionTable, changes: Sequence[Change] = (), named: bool | None = None) -> None:
        self._table, self._changes = table, tuple(changes)
        self._named = self._empty[1] if named is None else named
        self.names = self._empty[0].columns

    @property
    def named(self) -> bool:  # type: ignore[override]
        """Whether columns have names of their own: those of an array have none while all are numbers."""
        return self._named or not all(kind.is_numeric() for kind in self.types().values())

    @property
    def known_rows(self) -> int | None:
        """The number of rows, if it is known."""
        return self._table.known_rows

    @property
    def n_rows(self) -> int:
        """The number of rows; they are counted if need be."""
        return self._table.count()

    @cached_property
    def _empty(self) -> tuple[pl.DataFrame, bool]:
        """The changed columns without rows, and whether the collection has names."""
        return _Changing(self._changes).frame(self._table.empty)

    @cached_property
    def _first(self) -> pl.DataFrame:
        if self.n_rows == 0:
            raise NoRowsError("the table has no rows; a table needs at least one row")
        pieces = self._table.frame_pieces(learning_rows(len(self.names)))
        (found,) = self._table.engine.map(_Whole(self._changes), [next(pieces)])
        return found

    def first(self) -> pl.DataFrame:
        """Return the first block."""
        return self._first

    def types(self) -> dict[str, pl.DataType]:
        """Return the type of each column."""
        return dict(self._empty[0].schema)

    def kinds(self) -> list[str]:
        """Return what each column holds; only if the first block does not show it, all rows are read."""
        kinds = [frames.kind_of(column) for column in self.first().iter_columns()]
        if frames.EMPTY not in kinds:
            return kinds
        values = ValueCounts(self.names)
        self.run(values)
        types = self.types()
        return [
            frames.kind_of(pl.Series(name, [], types[name])) if values.counts[j] else kind
            for j, (name, kind) in enumerate(zip(self.names, kinds, strict=True))
        ]

    def changed(self, change: Change, *, named: bool | None = None, block: int = 1) -> CollectionRows:
        """Return the rows with a change that is made where they are."""
        return CollectionRows(self._table, (*self._changes, change), self.named if named is None else named)

    def run(self, *folds: Fold) -> None:
        """Make a pass over the blocks where the rows are."""
        size = learning_rows(len(self.names))
        work, pieces = _Parts(folds, size, self._changes), self._table.frame_pieces(size)
        for blocks in self._table.engine.map(work, pieces, stage="learn"):
            for parts in blocks:
                add_parts(folds, parts)

    def table(self) -> ChangedRows:
        """Return the rows as a method takes them."""
        return ChangedRows(self)

    def frame_table(self) -> tuple[FrameTable, Callable[[Any], pl.DataFrame], pl.DataFrame]:
        """Return the collection, what makes the changed data frame of its rows, and that without rows."""
        return self._table, _Frames(self._changes), as_floats(self._empty[0])

    def numbers(self) -> Any:
        """Return the table of the changed numbers, which an engine computes."""
        types = self.types()
        columns = numeric_columns(types)
        names = columns if self.named else None
        return self._table.changed(_Numbers(self._changes, columns), len(columns), working_type(types), names)

    def lazily(self) -> Any:
        """Return a collection of the changed rows."""
        made, named = as_floats(self._empty[0]), self.named
        like = made.to_pandas() if named else np.empty((0, made.width), dtype=working_type(self.types()))
        return self._table.lazily(_Collection(self._changes, named), like)


class ChangedRows(EngineRows):
    """The rows of a collection after some steps, as numbers; further steps learn from ``rows``."""

    def __init__(self, rows: CollectionRows) -> None:
        self.rows: CollectionRows | None = rows
        super().__init__(rows.numbers())

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "rows": None}

    def frame_table(self) -> tuple[FrameTable, Callable[[Any], pl.DataFrame], pl.DataFrame]:
        """Return the collection, what makes the changed data frame of its rows, and that without rows."""
        assert self.rows is not None
        return self.rows.frame_table()


class _Changing:
    """Row-wise changes of a piece that an engine holds."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = tuple(changes)

    def frame(self, rows: Any) -> tuple[pl.DataFrame, bool]:
        """Return the changed rows, and whether columns have names."""
        frame, named = frames.to_frame(rows, "recipe")
        unknown = [name for name, kind in frame.schema.items() if kind in (pl.Null, pl.Object)]
        frame = frame.cast(dict.fromkeys(unknown, pl.String)) if unknown else frame  # objects without values
        for change in self._changes:
            frame = change(frame)
        return frame, named


class _Whole(_Changing):
    def __call__(self, piece: Piece) -> pl.DataFrame:
        return self.frame(piece.rows)[0]


class _Frames(_Changing):
    def __call__(self, rows: Any) -> pl.DataFrame:
        return as_floats(self.frame(rows)[0])


class _Numbers(_Changing):
    def __init__(self, changes: Sequence[Change], columns: Sequence[str]) -> None:
        super().__init__(changes)
        self._columns = list(columns)

    def __call__(self, rows: Any) -> Array:
        return as_array(self.frame(rows)[0], self._columns)


class _Collection(_Changing):
    def __init__(self, changes: Sequence[Change], named: bool) -> None:
        super().__init__(changes)
        self._named = named

    def __call__(self, rows: Any) -> Any:
        frame = as_floats(self.frame(rows)[0])
        if not self._named:
            return as_array(frame, frame.columns)
        made = frame.to_pandas()
        return made.set_index(rows.index) if hasattr(rows, "index") else made


class _Parts(_Changing):
    def __init__(self, folds: Sequence[Fold], size: int, changes: Sequence[Change]) -> None:
        super().__init__(changes)
        self._work, self._size = PartsOfBlock(folds), size

    def __call__(self, piece: Piece) -> list[list[Any]]:
        return list(self._blocks(piece))

    def _blocks(self, piece: Piece) -> Iterator[list[Any]]:
        frame = self.frame(piece.rows)[0]
        for start in range(0, frame.height, self._size):
            yield self._work((piece.start + start, frame[start : start + self._size]))
