"""Writing of tables in pieces: `table_stream`."""

from __future__ import annotations

import gzip
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.message import Message, Setting
from .atomic import atomic_file
from .table import not_numeric
from .writing import check_output

STREAMED = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".arrow", ".feather", ".npy")
_GROUP_ROWS = 1 << 17  # of a row group: fewer make larger files that are slower to read


@contextmanager
def table_stream(path: str | Path) -> Iterator[TableStream]:
    """Open a file to which a table is written in pieces; it gets its name when the block ends without an error.

    >>> import os, tempfile
    >>> from lowland.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with table_stream(os.path.join(folder, "a.csv")) as table:
    ...         table.write(pl.DataFrame({"a": [1, 2]}))
    ...         table.write(pl.DataFrame({"a": [3]}))
    ...     read_table(os.path.join(folder, "a.csv")).frame["a"].to_list()
    [1, 2, 3]
    """
    ending = check_streamed(path)
    with atomic_file(path) as file:
        table = _WRITERS[ending.removesuffix(".gz")](file, Path(path).name, ending)
        try:
            yield table
            table.close()
        except BaseException:
            table.abandon()
            raise


def check_streamed(path: str | Path) -> str:
    """Return the suffix if a table can be written to this file in pieces, else raise; call it before long work."""
    ending = check_output(path)
    if ending not in STREAMED:
        raise DataError(
            f"{Path(path).name}: {ending} files are written from a table in memory; for coordinates that are written "
            f"in pieces use {', '.join(STREAMED)}"
        )
    return ending


class TableStream(ABC):
    """A table that is written in pieces with the same columns."""

    def __init__(self, file: BinaryIO, name: str, ending: str) -> None:
        self.file, self.name, self.ending = file, name, ending
        self.n_rows = 0
        self.schema: dict[str, Any] | None = None

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows; the first piece decides the columns and their types."""
        if self.schema is None:
            self.schema = dict(frame.schema)
        elif dict(frame.schema) != self.schema:
            frame = self._alike(frame)
        self._write(frame)
        self.n_rows += frame.height

    def _alike(self, frame: pl.DataFrame) -> pl.DataFrame:
        assert self.schema is not None
        if list(frame.columns) != list(self.schema):
            raise DataError(f"{self.name}: a piece has the columns {frame.columns}; the first had {list(self.schema)}")
        for name, kind in frame.schema.items():
            values = frame[name]
            if kind.is_float() and self.schema[name].is_integer() and (fractions := values != values.floor()).any():
                row = self.n_rows + int(fractions.arg_max() or 0)  # a cast would cut the fractions off
                raise DataError(
                    Message(
                        f"{self.name}: column {name!r} has a fraction in row {row}, and had whole numbers before; read "
                        "it with ",
                        Setting("types", {name: "number"}),
                    )
                )
        try:
            return frame.cast(pl.Schema(self.schema))
        except pl.exceptions.PolarsError as error:
            changed = [name for name, kind in frame.schema.items() if kind != self.schema[name]]
            raise DataError(
                f"{self.name}: column {changed[0]!r} is {frame.schema[changed[0]]} from row {self.n_rows} on, and was "
                f"{self.schema[changed[0]]} before; a file has one type for a column"
            ) from error

    @abstractmethod
    def _write(self, frame: pl.DataFrame) -> None:
        """Write a piece."""

    def close(self) -> None:
        """Complete the file."""
        return

    def abandon(self) -> None:
        """Release what is open after an error."""
        return


class _Text(TableStream):
    def __init__(self, file: BinaryIO, name: str, ending: str) -> None:
        super().__init__(file, name, ending)
        self.separator = "\t" if ending.startswith(".tsv") else ","
        self.out = file
        if ending.endswith(".gz"):  # without a name and a time: the same table gives the same bytes
            self.out = cast(BinaryIO, gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0))

    def _write(self, frame: pl.DataFrame) -> None:
        text = io.BytesIO()  # so that a full disk is an OSError of the file
        frame.write_csv(text, separator=self.separator, include_header=self.n_rows == 0)
        self.out.write(text.getbuffer())

    def close(self) -> None:
        if self.out is not self.file:
            self.out.close()


class _Columnar(TableStream):
    """Parquet and Arrow: rows are collected to groups."""

    def __init__(self, file: BinaryIO, name: str, ending: str) -> None:
        super().__init__(file, name, ending)
        self.waiting: list[pl.DataFrame] = []
        self.held = 0
        self.writer: Any = None

    def _write(self, frame: pl.DataFrame) -> None:
        self.waiting.append(frame)
        self.held += frame.height
        if self.held >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        group = pl.concat(self.waiting, rechunk=True)
        self.waiting, self.held = [], 0
        table = group.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self.writer is None:
            self.writer = self._opened(table.schema)
        self.writer.write_table(table)

    def _opened(self, schema: Any) -> Any:
        if self.ending == ".parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self.file, schema, compression="zstd")
        import pyarrow as pa

        return pa.ipc.new_file(self.file, schema)

    def close(self) -> None:
        if self.waiting:
            self._flush()
        if self.writer is not None:
            self.writer.close()

    def abandon(self) -> None:
        writer, self.writer = self.writer, None
        if writer is not None:
            try:
                writer.close()
            except OSError:
                return  # the error that is being raised says more


class _Array(TableStream):
    """One array: float32 if all columns are, else float64."""

    dtype: np.dtype[Any] | None = None
    width: int = 0
    header_bytes: int = 0

    def _write(self, frame: pl.DataFrame) -> None:
        if self.dtype is None:
            others = [name for name, kind in frame.schema.items() if not_numeric(kind) not in (None, "empty")]
            if others:
                raise DataError(
                    f"{self.name} can store only numbers, and these columns are not numeric: {', '.join(others)}; "
                    "use .csv or .parquet"
                )
            single = all(kind == pl.Float32 for kind in frame.dtypes)
            self.dtype, self.width = np.dtype(np.float32 if single else np.float64), frame.width
            self._header(0)
        kind = pl.Float32 if self.dtype == np.float32 else pl.Float64
        values = frame.select(pl.all().cast(kind)).to_numpy(order="c")
        self.file.write(np.ascontiguousarray(values).data)

    def _header(self, n_rows: int) -> None:
        assert self.dtype is not None
        text = io.BytesIO()
        form = {"descr": self.dtype.str, "fortran_order": False, "shape": (n_rows, self.width)}
        np.lib.format.write_array_header_1_0(text, form)
        content = text.getvalue()
        if n_rows and len(content) != self.header_bytes:
            raise DataError(f"{self.name}: {n_rows} rows are too many for the header of a .npy file; use .parquet")
        self.header_bytes = len(content)
        self.file.write(content)

    def close(self) -> None:
        if self.dtype is not None:
            self.file.seek(0)
            self._header(self.n_rows)
            self.file.seek(0, io.SEEK_END)


_WRITERS: dict[str, type[TableStream]] = {
    ".csv": _Text,
    ".tsv": _Text,
    ".parquet": _Columnar,
    ".arrow": _Columnar,
    ".feather": _Columnar,
    ".npy": _Array,
}
