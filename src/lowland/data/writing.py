"""Writing of tables (`write_table`) and tables of coordinates (`embedding_frame`)."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from ..core.errors import DataError
from ..core.formatting import first_line
from .atomic import atomic_file
from .formats import WRITABLE, suffix
from .table import Table, not_numeric


def check_output(path: str | Path) -> str:
    """Return the suffix if a table can be written to this file, else raise; call it before long work.

    >>> check_output("embedding.csv")
    '.csv'
    """
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder; give a file name")
    ending = suffix(file, WRITABLE, "write")
    if not file.parent.is_dir():
        raise DataError(f"{file}: folder {file.parent} does not exist; create it first")
    return ending


def write_table(path: str | Path, frame: pl.DataFrame) -> None:
    """Write a table as ``.csv .tsv`` (also with ``.gz``), ``.parquet .arrow .feather .xlsx .npy`` or ``.npz``.

    The suffix of the file's name decides.
    The file is written completely or not at all. Missing values are empty cells in text files and NaN in arrays.
    Arrays hold only numbers; ``.npz`` also stores the column names. The same table gives the same bytes.

    Examples
    --------
    >>> import os, tempfile
    >>> from lowland.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "pair.tsv")
    ...     write_table(file, pl.DataFrame({"a": [1, 2], "b": [0.1, None]}))
    ...     read_table(file).frame.rows()
    [(1, 0.1), (2, None)]
    """
    ending = check_output(path)
    name = Path(path).name
    matrix = _matrix(name, frame) if ending in (".npy", ".npz") else None
    with atomic_file(path) as file:
        if matrix is None:
            _write_frame(file, name, ending, frame)
        elif ending == ".npy":
            np.save(file, matrix, allow_pickle=False)
        else:
            np.savez(file, X=matrix, columns=np.array(frame.columns, dtype=np.str_))


def embedding_frame(
    Y: ArrayLike, names: Sequence[str], ids: pl.Series | None = None, keep: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return a table of the kept columns followed by the coordinates.

    Parameters
    ----------
    Y : coordinates, rows by components.
    names : a name for each coordinate; a name already in use gets the suffix ``_1``, ``_2``, …
    ids : a column that identifies the rows; it comes first, unless ``keep`` contains it.
    keep : further columns of the table.

    Examples
    --------
    >>> embedding_frame([[0.5], [1.5]], ["pca0"], keep=pl.DataFrame({"pca0": ["a", "b"]})).columns
    ['pca0', 'pca0_1']
    """
    coordinates = np.asarray(Y)
    if coordinates.ndim != 2 or coordinates.shape[1] != len(names):
        raise DataError(f"coordinates of shape {coordinates.shape} do not fit {len(names)} names")
    kept: list[pl.Series] = [] if keep is None else keep.get_columns()
    if ids is not None and not any(column.name == ids.name and column.equals(ids) for column in kept):
        kept = [ids.alias(free_name(ids.name, [column.name for column in kept])), *kept]
    columns: dict[str, Any] = {column.name: column for column in kept}
    for column in kept:
        if len(column) != coordinates.shape[0]:
            raise DataError(f"column {column.name!r} has {len(column)} rows, the coordinates {coordinates.shape[0]}")
    for j, name in enumerate(names):
        values = np.ascontiguousarray(coordinates[:, j])
        columns[free_name(name, columns)] = values.tolist() if values.dtype == object else values  # decoded categories
    return pl.DataFrame(columns)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name for a new column: with the suffix ``_1``, ``_2``, … where it is taken."""
    label, count = name, 0
    while label in taken:
        count += 1
        label = f"{name}_{count}"
    return label


def _matrix(file: str, frame: pl.DataFrame) -> NDArray[Any]:
    others = [name for name, dtype in frame.schema.items() if not_numeric(dtype) not in (None, "empty")]
    if others:
        raise DataError(
            f"{file} can store only numbers, and these columns are not numeric: {', '.join(others)}; "
            "use .csv or .parquet"
        )
    if frame.width == 0:
        raise DataError(f"{file}: the table has no columns")
    return Table(frame, file)._matrix(frame.columns)


def _write_frame(file: BinaryIO, name: str, ending: str, frame: pl.DataFrame) -> None:
    try:
        if ending == ".parquet":
            frame.write_parquet(file)
            return
        if ending in (".arrow", ".feather"):
            frame.write_ipc(file)
            return
        if ending == ".xlsx":
            from .workbooks import write_xlsx

            write_xlsx(file, name, frame)
            return
        separator = "\t" if ending.startswith(".tsv") else ","
        if not ending.endswith(".gz"):
            frame.write_csv(file, separator=separator)
            return
        # No file name and no time stamp in the gzip header: the same table gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            frame.write_csv(cast(BinaryIO, packed), separator=separator)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{name} cannot store this table: {first_line(error)}; .parquet can store every type"
        ) from error
