"""`TableScan`: a table that is read in blocks and never whole."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.errors import DataError

if TYPE_CHECKING:
    import polars as pl

Array = Any
PIECE_BYTES = 1 << 23  # of an array, where the caller does not say how many rows it wants


@dataclass(frozen=True)
class ScanOptions:
    """How a table is to be scanned: the columns, and the options of its format."""

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    given: Mapping[str, Any] = field(default_factory=dict)


class Span(NamedTuple):
    """Consecutive rows that can be read by themselves; ``place`` is what their format needs to find them."""

    start: int
    stop: int
    place: Any = None


class TableScan(ABC):
    """A table that is read in blocks of rows: created by `lowland.data.scan`.

    ``source`` is its name in messages; ``n_rows`` is None until the rows are counted. Every pass reads the files again
    and checks that they are as they were when the scan was created.
    """

    source: str
    n_rows: int | None
    has_names: bool = False  # columns have names and types of their own, which `frames` yields
    passes: int = 0  # that read all rows
    keys: Mapping[str, Sequence[int | str]] = {}  # of folders: values of a key for the files

    # -- what a format writes -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def names(self) -> list[str] | None:
        """The names of the columns of `arrays`; None if the format has no names and all columns are read."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of columns of `arrays`."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of `arrays`: float32 if all columns have at most 32-bit floats, else float64."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, pl.DataType]:
        """The names and types of the columns of `frames`."""

    @abstractmethod
    def _arrays(self, start: int, rows: int) -> Iterator[Array]:
        """Yield the rows from ``start`` on as new C-ordered arrays of the scan's dtype; ``rows`` is a wish."""

    @abstractmethod
    def _frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows from ``start`` on with all columns and their types."""

    def _number_frames(self, start: int, rows: int) -> Iterator[pl.DataFrame]:
        """Yield the same as `_frames`, but columns of whole numbers may have fractions in some pieces."""
        return self._frames(start, rows)

    @abstractmethod
    def _identity(self) -> dict[str, Any]:
        """Return what identifies the data, as plain values."""

    def spans(self, rows: int) -> list[Span]:
        """Return all rows as spans of about ``rows`` rows, which other processes can read in any order.

        Raise `DataError` where the format can be read only from its beginning.
        """
        n = self.count()
        return [Span(start, min(n, start + rows)) for start in range(0, n, rows)]

    def _span_arrays(self, span: Span) -> Iterator[Array]:
        """Yield the rows of a span, and perhaps rows after it."""
        return self._arrays(span.start, span.stop - span.start)

    def _span_frames(self, span: Span) -> Iterator[pl.DataFrame]:
        """Yield the rows of a span, and perhaps rows after it, as `_number_frames`."""
        return self._frames(span.start, span.stop - span.start)

    def _counted(self) -> Iterator[Any]:
        """Yield anything with the shapes of the rows, to count them."""
        return self._arrays(0, max(1, PIECE_BYTES // (self.n_features * self.dtype.itemsize)))

    def _stamp(self) -> Any:
        """Return what changes when the data change; it is compared during a pass."""
        return None

    def _where(self, row: int) -> str:
        """Return the place of a row in the source."""
        return f"{self.source}, row {row}"

    # -- what it gets -------------------------------------------------------------------------------------------------

    def arrays(self, start: int = 0, *, rows: int | None = None) -> Iterator[Array]:
        """Yield the numbers of consecutive rows from ``start`` on as 2-D arrays, which the caller may keep.

        ``rows`` is the length that the caller would like; arrays may be longer or shorter.
        """
        size = rows or max(1, PIECE_BYTES // (self.n_features * self.dtype.itemsize))
        return self._watched(self._arrays(start, size), start)

    def frames(self, start: int = 0, *, rows: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield the same rows as polars data frames with all columns and their types."""
        return self._watched(self._frames(start, rows or self._frame_rows), start)

    def number_frames(self, start: int = 0, *, rows: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield frames in which whole numbers may be floats where a text has fractions later, as in arrays."""
        return self._watched(self._number_frames(start, rows or self._frame_rows), start)

    def first_frames(self) -> Iterator[pl.DataFrame]:
        """Yield the first rows, and those after them as long as they are asked for: a look, which is no pass."""
        return self._number_frames(0, self._frame_rows)

    def first_array(self, rows: int) -> Array:
        """Return the numbers of the first rows; ``rows`` is a wish. It is no pass."""
        return next(self._arrays(0, rows))

    @property
    def _frame_rows(self) -> int:
        return max(1, PIECE_BYTES // (8 * max(1, len(self.schema))))

    def span_array(self, span: Span) -> Array:
        """Return the numbers of the rows of a span."""
        parts = self._cut(self._span_arrays(span), span)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def span_frame(self, span: Span) -> pl.DataFrame:
        """Return the rows of a span with all columns, as `number_frames`."""
        import polars as pl

        frames: list[pl.DataFrame] = self._cut(self._span_frames(span), span)
        return pl.concat(frames, how="vertical_relaxed")

    def missing_file(self) -> str | None:
        """Return the path of the file if it does not exist here, such as on another machine."""
        path = getattr(getattr(self, "file", None), "path", None)
        return None if path is None or path.exists() else str(path)

    def require_unchanged(self) -> None:
        """Raise if the source is not as it was when it was opened."""
        self._require_stamp(self._first_stamp, "since it was opened")

    def _cut(self, pieces: Iterator[Any], span: Span) -> list[Any]:
        """Return the first pieces that have the rows of a span; raise if the source changed."""
        if self._stamp_often:
            self._require_stamp(self._first_stamp, "since it was opened")
        found, left = list[Any](), span.stop - span.start
        for piece in pieces:
            found.append(piece[:left])
            left -= found[-1].shape[0]
            if left <= 0:
                break
        if self._stamp_often:
            self._require_stamp(self._first_stamp, "while it was read")
        if left > 0:
            raise self._changed(f"rows {span.start} to {span.stop} are no longer complete")
        return found

    def count(self) -> int:
        """Return the number of rows, by a pass over the source if it is not known."""
        if self.n_rows is None:
            for _ in self._watched(self._counted(), 0):
                pass
        assert self.n_rows is not None
        return self.n_rows

    def fingerprint(self) -> str:
        """Return a digest of what identifies the data and how they are read; it changes when the data change."""
        text = json.dumps(self._identity(), sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def unrecognised(self) -> str | None:
        """Return why `fingerprint` may stay the same when the data change, and what to do; None if it changes."""
        file = getattr(self, "file", None)
        if file is not None and file.remote and len(file.stamp()) == 1:
            return "its file system tells no time of the last change; copy the file to a disk first"
        return None

    def place(self, row: int, column: str | int | None = None) -> str:
        """Return the place of a cell for messages, with the line for text files."""
        name = None if column is None or self.names is None else column
        if isinstance(column, int) and self.names is not None:
            name = self.names[column]
        shown = "" if column is None else f", column {column if name is None else repr(name)}"
        return self._where(row) + shown

    def __repr__(self) -> str:
        rows = "?" if self.n_rows is None else self.n_rows
        return f"{type(self).__name__}({self.source!r}, {rows} × {self.n_features}, {self.dtype})"

    def _watched(self, pieces: Iterator[Any], start: int) -> Iterator[Any]:
        """Yield the pieces; raise if the source changes meanwhile or has another number of rows than before."""
        if start < 0 or (self.n_rows is not None and start > self.n_rows):
            raise DataError(f"{self.source} has {self.n_rows} rows; a pass cannot begin at row {start}")
        return self._checked(pieces, start)

    def _checked(self, pieces: Iterator[Any], start: int) -> Iterator[Any]:
        before, found, often = self._first_stamp, start, self._stamp_often
        self._require_stamp(before, "since it was opened")
        for piece in pieces:
            found += piece.shape[0]
            if often:
                self._require_stamp(before, "while it was read")
            if self.n_rows is not None and found > self.n_rows:
                raise self._changed(f"it has more than the {self.n_rows} rows that it had")
            if piece.shape[0]:
                yield piece
            del piece  # the caller may have dropped it
        self._require_stamp(before, "while it was read")
        if self.n_rows is not None and found < self.n_rows:
            raise self._changed(f"it has {found} rows and had {self.n_rows}")
        if found == 0:
            raise DataError(f"{self.source} has no rows; a table needs at least one row")
        self.n_rows = found
        self.passes += start == 0

    _first_stamp: Any = None  # set by formats that have files
    _stamp_often: bool = True  # after each piece; else at both ends of a pass

    def _require_stamp(self, before: Any, when: str) -> None:
        try:
            now = self._stamp()
        except OSError as error:
            raise DataError(f"{self.source}: it was removed {when} ({error.strerror or error})") from error
        if now != before:
            raise self._changed(f"it changed {when}")

    def _changed(self, what: str) -> DataError:
        return DataError(f"{self.source}: {what}; wait until the file is complete, then scan it again")


def working(kinds: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of arrays from columns of these dtypes: float32 if all are floats of at most 32 bits.

    >>> working([np.dtype(np.float16), np.dtype(np.float32)]), working([np.dtype(np.int8)])
    (dtype('float32'), dtype('float64'))
    """
    single = all(kind.kind == "f" and kind.itemsize <= 4 for kind in kinds)
    return np.dtype(np.float32 if single else np.float64)
