"""Scans of formats with named and typed columns: the choice of columns, and their numbers as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError
from ..table import Table
from .table_scan import Array, ScanOptions, TableScan, working

_FLOATS: dict[Any, Any] = {pl.Float32: np.float32, getattr(pl, "Float16", None): np.float16}


class FrameScan(TableScan):
    """A table with named columns. ``head`` is its beginning, by which columns are chosen as `Table.select` does.

    With ``vector``, a column of lists of numbers, the arrays are its vectors.
    """

    def __init__(self, source: str, n_rows: int | None, head: Table, options: ScanOptions) -> None:
        self.source, self.n_rows, self.options = source, n_rows, options
        self.head = head
        self.vector: str | None = options.given.get("vector")
        self.has_names = self.vector is None
        self._all = _kept(head, options)
        self.empty: set[str] = {name for name, kind in head.frame.schema.items() if kind == pl.Null}
        if self.vector is not None:
            head.column(self.vector)  # raises if there is none

    def unify(self, types: Mapping[str, pl.DataType], empty: set[str]) -> None:
        """Choose columns by the types of a table of which this scan is a part, and by its empty columns."""
        self.head = replace(self.head, frame=self.head.frame.cast(pl.Schema(types), strict=False))
        self.empty = empty
        self._all = [name for name in types if name in set(self._all)]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process: the columns are chosen, so the first rows need not be sent."""
        chosen = {"_chosen": self._chosen, **({} if self.vector is None else {"_first_vectors": self._first_vectors})}
        return {**vars(self), **chosen, "head": replace(self.head, frame=self.head.frame.clear())}

    @abstractmethod
    def _read(self, start: int, rows: int, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows with these columns, in this order, of the types of `schema`."""

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        own = self.head.frame.schema
        return {name: own[name] for name in self._all}

    @cached_property
    def _chosen(self) -> list[str]:
        """The numeric columns that are reduced."""
        if self.vector is not None:
            return [self.vector]
        # A column without values so far may have some later: only those known to be empty count as empty.
        filled = self.head.frame.with_columns(
            pl.col(name).fill_null(strategy="zero")
            for name, kind in self.head.frame.schema.items()
            if name not in self.empty and (kind.is_numeric() or kind == pl.Boolean)
        )
        faults = {name: text for name, text in self.head.faults.items() if name in self._all}
        table = Table(filled.select(self._all), self.source, self.head.first_line, faults)
        return table._checked_choice(self.options.columns, (), ())[0]

    @property
    def names(self) -> list[str] | None:
        """The names of the columns that are reduced; None for vectors."""
        return None if self.vector is not None else list(self._chosen)

    @property
    def n_features(self) -> int:
        """The number of columns that are reduced, or the length of the vectors."""
        return len(self._chosen) if self.vector is None else self._first_vectors.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays."""
        if self.vector is not None:
            return working([self._first_vectors.dtype])
        schema = self.schema
        return working([np.dtype(_FLOATS.get(schema[name], np.float64)) for name in self._chosen])

    @cached_property
    def _first_vectors(self) -> Array:
        assert self.vector is not None
        return self._vectors(self.head.frame, 0)[:1].copy()

    def _vectors(self, frame: pl.DataFrame, start: int) -> Array:
        from ..vectors import array_of

        column = frame[self.vector].to_arrow() if self.vector is not None else None
        return array_of(column, f"{self.source}, column {self.vector!r}", start)

    def _arrays(self, start: int, rows: int) -> Iterator[Array]:
        kind = pl.Float32 if self.dtype == np.float32 else pl.Float64
        for frame in self._read(start, rows, self._chosen):
            if self.vector is None:
                yield np.ascontiguousarray(frame.select(pl.all().cast(kind)).to_numpy(order="c"))
            elif frame.height:
                found = self._vectors(frame, start)
                if found.shape[1] != self.n_features:
                    raise DataError(
                        f"{self.source}, column {self.vector!r}, row {start}: the vector has {found.shape[1]} numbers, "
                        f"those before it {self.n_features}; vectors must be equally long"
                    )
                yield np.array(found, dtype=self.dtype, order="C")
            start += frame.height

    def _frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        return self._read(start, rows, self._all)

    def _counted(self) -> Iterator[pl.DataFrame]:
        return self._read(0, 1 << 20, self._all[:1])

    def _identity(self) -> dict[str, Any]:
        types = {name: str(kind) for name, kind in self.schema.items()}
        given = {name: str(value) for name, value in self.options.given.items()}
        return {"schema": types, "columns": self.options.columns, "drop": list(self.options.drop), "options": given}


def _kept(head: Table, options: ScanOptions) -> list[str]:
    """Return the columns of frames: those that are named, or all, less those that are dropped."""
    head._require([*(options.columns or ()), *options.drop])
    wanted = head.names if options.columns is None else list(options.columns)
    return [name for name in wanted if name not in set(options.drop)]


def in_pieces(frame: pl.DataFrame, rows: int, skip: int = 0) -> Iterator[pl.DataFrame]:
    """Yield a long frame without its first rows, in pieces of at most so many rows."""
    for first in range(skip, frame.height, rows):
        yield frame[first : first + rows]
