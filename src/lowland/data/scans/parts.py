"""Scans of several files of one table: one below another, in the order of their names."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import DataError
from ...core.formatting import first_line
from ..fileset import require_same_kinds
from .frame_scan import FrameScan
from .table_scan import Array, Span, TableScan

if TYPE_CHECKING:
    import polars as pl


class PartsScan(TableScan):
    """The rows of several scans, one after another; all must have the same columns. ``notes``: of files left out.

    ``keys``: values of the keys of folders, one for each part. They are not in arrays, and in frames only those that
    ``beside`` names.
    """

    def __init__(
        self,
        source: str,
        parts: Sequence[TableScan],
        notes: tuple[str, ...] = (),
        keys: Mapping[str, Sequence[int | str]] | None = None,
        beside: Sequence[str] = (),
    ) -> None:
        self.source, self.parts, self.notes = source, list(parts), notes
        self.keys, self.beside = dict(keys or {}), tuple(beside)
        first = self.parts[0]
        self.has_names = first.has_names
        counts = [part.n_rows for part in self.parts]
        self.n_rows = sum(n for n in counts if n is not None) if None not in counts else None
        if first.has_names:
            self._choose()
        for part in self.parts[1:]:
            if part.has_names != first.has_names or part.n_features != first.n_features:
                raise DataError(
                    f"{part.source} has {part.n_features} columns and {first.source} has {first.n_features}; the files "
                    "of one table must have the same columns"
                )

    def _choose(self) -> None:
        """Check that all parts have the same columns, and choose the same ones in all."""
        import polars as pl

        first, parts = self.parts[0], [part for part in self.parts if isinstance(part, FrameScan)]
        for part in parts[1:]:
            differ = sorted(({*part.schema} ^ {*first.schema}).difference(self.keys))
            if differ:
                raise DataError(
                    f"{part.source} and {first.source} have different columns: {', '.join(map(repr, differ[:5]))}; the "
                    "files of one table must have the same"
                )
        order = [name for name in first.schema if name not in self.keys]  # a column of that name yields to the key
        require_same_kinds(self.source, [{name: part.schema[name] for name in order} for part in parts])
        heads = [part.head.frame.select(order).clear() for part in parts]
        try:
            self._types = dict(pl.concat(heads, how="vertical_relaxed").schema)
        except pl.exceptions.PolarsError as error:
            raise DataError(
                f"{self.source}: the files of one table must have columns of the same types: {first_line(error)}"
            ) from error
        empty = set.intersection(*(part.empty for part in parts))
        for part in parts:
            part.unify(self._types, empty)

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of arrays."""
        return self.parts[0].names

    @property
    def n_features(self) -> int:
        """The number of columns of arrays."""
        return self.parts[0].n_features

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of the arrays."""
        return np.result_type(*(part.dtype for part in self.parts))

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of frames."""
        if not self.has_names:
            return self.parts[0].schema
        import polars as pl

        return self._types | {key: pl.Series(self.keys[key]).dtype for key in self.beside}

    def _from(self, start: int) -> Iterator[tuple[int, TableScan, int]]:
        """Yield number, part and its first row from a row on; parts before are skipped if their length is known."""
        for number, part in enumerate(self.parts):
            if start and start >= part.count():
                start -= part.count()
                continue
            yield number, part, start
            start = 0

    def _arrays(self, start: int, rows: int) -> Iterator[Array]:
        for _, part, first in self._from(start):
            for piece in part.arrays(first, rows=rows):
                yield np.ascontiguousarray(piece, dtype=self.dtype)

    def _frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        for number, part, first in self._from(start):
            for frame in part.frames(first, rows=rows):
                yield self._unified(frame, number)

    def _number_frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        for number, part, first in self._from(start):
            for frame in part.number_frames(first, rows=rows):
                yield self._unified(frame, number)

    def _unified(self, frame: pl.DataFrame, number: int) -> pl.DataFrame:
        """Return rows of a part with the columns and types of the table; floats among integers stay floats."""
        import polars as pl

        if not self.has_names:
            return frame
        types = {
            name: pl.Float64() if kind.is_integer() and frame.schema[name].is_float() else kind
            for name, kind in self._types.items()
        }
        made = frame.select(list(types)).cast(pl.Schema(types))
        schema = self.schema
        return made.with_columns(pl.lit(self.keys[key][number], schema[key]).alias(key) for key in self.beside)

    def spans(self, rows: int) -> list[Span]:
        """Return the spans of all parts; ``place`` is the number of the part and the span within it."""
        found, start = list[Span](), 0
        for number, part in enumerate(self.parts):
            inner = part.spans(rows)
            found += [Span(start + own.start, start + own.stop, (number, tuple(own))) for own in inner]
            start += inner[-1].stop
        self.n_rows = start
        return found

    def _span_arrays(self, span: Span) -> Iterator[Array]:
        number, own = span.place
        yield np.ascontiguousarray(self.parts[number].span_array(Span(*own)), dtype=self.dtype)

    def _span_frames(self, span: Span) -> Iterator[pl.DataFrame]:
        number, own = span.place
        yield self._unified(self.parts[number].span_frame(Span(*own)), number)

    def missing_file(self) -> str | None:
        """Return the path of a part that does not exist here, if any."""
        return next((path for part in self.parts if (path := part.missing_file()) is not None), None)

    def require_unchanged(self) -> None:
        """Raise if a part is not as it was when the table was opened."""
        for part in self.parts:
            part.require_unchanged()

    def count(self) -> int:
        """Return the number of rows of all parts."""
        self.n_rows = sum(part.count() for part in self.parts)
        return self.n_rows

    def unrecognised(self) -> str | None:
        """Return why the fingerprint may stay the same when the data change."""
        return next((why for part in self.parts if (why := part.unrecognised()) is not None), None)

    def _identity(self) -> dict[str, Any]:
        parts = {"parts": [part._identity() for part in self.parts]}
        return parts | ({"keys": {key: list(self.keys[key]) for key in self.beside}} if self.beside else {})

    def _where(self, row: int) -> str:
        ends = list(accumulate(part.count() for part in self.parts))
        number = min(bisect_right(ends, row), len(ends) - 1)
        return self.parts[number]._where(row - (ends[number - 1] if number else 0))
