"""Scans of formats that hold one array of numbers: columns without names, all of one type."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import DataError
from .table_scan import Array, ScanOptions, TableScan, working

if TYPE_CHECKING:
    import polars as pl


class ArrayScan(TableScan):
    """A table that is one array of numbers of one type; columns are called x0, x1, … where names are needed."""

    def __init__(self, source: str, n_rows: int | None, width: int, kind: np.dtype[Any], options: ScanOptions) -> None:
        self.source, self.n_rows, self.width, self.kind, self.options = source, n_rows, width, kind, options
        self._chosen = _chosen(source, width, options)

    @abstractmethod
    def _read(self, start: int, rows: int) -> Iterator[Array]:
        """Yield new arrays of all columns, of the type of the source."""

    @property
    def names(self) -> list[str] | None:
        """The names of the chosen columns; None if all columns are read."""
        return None if self._chosen is None else [f"x{j}" for j in self._chosen]

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.width if self._chosen is None else len(self._chosen)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays."""
        return working([self.kind])

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        import polars as pl

        kind = pl.Series(np.empty(0, dtype=self._frame_kind)).dtype
        return dict.fromkeys(self.names or [f"x{j}" for j in range(self.width)], kind)

    @property
    def _frame_kind(self) -> np.dtype[Any]:
        own = self.kind.newbyteorder("=")
        return own if own.kind in "iub" else self.dtype  # integers may be codes, which steps of recipes tell apart

    def _pieces(self, start: int, rows: int, kind: np.dtype[Any]) -> Iterator[Array]:
        for piece in self._read(start, rows):
            part = piece if self._chosen is None else piece[:, self._chosen]
            yield np.ascontiguousarray(part, dtype=kind)

    def _arrays(self, start: int, rows: int) -> Iterator[Array]:
        return self._pieces(start, rows, self.dtype)

    def _frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        import polars as pl

        for piece in self._pieces(start, rows, self._frame_kind):
            yield pl.DataFrame(piece, schema=list(self.schema), orient="row")

    def _identity(self) -> dict[str, Any]:
        return {"kind": str(self.kind), "width": self.width, "columns": self._chosen}


def _chosen(source: str, width: int, options: ScanOptions) -> list[int] | None:
    """Return the numbers of the chosen columns; None for all."""
    if options.columns is None and not options.drop:
        return None
    place = {f"x{j}": j for j in range(width)}
    for name in (*(options.columns or ()), *options.drop):
        if name not in place:
            raise DataError(f"{source} has no column {name!r}; its columns are x0 … x{width - 1}")
    wanted = list(place) if options.columns is None else list(options.columns)
    if len(set(wanted)) < len(wanted):
        twice = sorted(name for name in set(wanted) if wanted.count(name) > 1)
        raise DataError(f"{source}: these columns are listed twice: {', '.join(twice)}")
    left = [place[name] for name in wanted if name not in set(options.drop)]
    if not left:
        raise DataError(f"{source}: no column is left to reduce; drop fewer columns")
    return left
