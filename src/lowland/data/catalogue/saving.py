"""Write a data set to a file or a folder that `lowland.data.read` reads back."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError, WriteError
from ..arraytable import SparseTable
from ..atomic import atomic_file
from ..formats import WRITABLE, listed
from ..table import Table
from ..writing import check_output, write_table
from .dataset import Dataset

_LINES = (".jsonl", ".ndjson")  # one JSON object a row


def check_dataset_output(path: Path, row: Dataset) -> None:
    """Raise a DataError unless the set can be written there: to a file, or images and texts to a new folder."""
    if path.name.lower().endswith(_LINES):
        if not path.parent.is_dir():
            raise DataError(f"{path}: folder {path.parent} does not exist; create it first")
        return
    if path.suffix or row.form not in ("images", "texts"):
        if not path.suffix:
            raise DataError(
                f"{path}: name a file that ends in one of {listed((*WRITABLE, *_LINES))}; only images and texts are "
                "written to a folder"
            )
        check_output(path)
        return
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DataError(f"{path} exists; name a new folder for the {row.form}")
    if not path.absolute().parent.is_dir():
        raise DataError(f"{path}: folder {path.absolute().parent} does not exist; create it first")


def write_dataset(path: Path, table: Table, row: Dataset) -> list[str]:
    """Write a data set; return the columns that the format could not store.

    ``.npz`` stores the numbers, their names and the columns kept aside as separate arrays; ``.npy`` only the numbers.
    A name without a suffix is a folder: images as ``.png``, texts as ``.txt``, in a subfolder for each group.
    """
    check_dataset_output(path, row)
    ending = path.suffix.lower()
    if not ending:
        _write_folder(path, _images(table, row) if row.form == "images" else _texts(table))
        return []
    if ending in (".npz", ".npy"):
        return _write_arrays(path, table)
    if isinstance(table, SparseTable):
        raise DataError(f"{path}: this is a sparse matrix of {table.n_columns:,} columns; write it as .npz")
    if ending in _LINES:
        with atomic_file(path) as file:
            table.to_polars().write_ndjson(file)
    else:
        write_table(path, table.to_polars())
    return []


def _write_arrays(path: Path, table: Table) -> list[str]:
    chosen = table.select()
    beside = {column.name: column for column in table.aside.get_columns()}
    with atomic_file(path) as file:
        if path.suffix.lower() == ".npy":
            if isinstance(table, SparseTable):
                raise DataError(f"{path}: .npy cannot store a sparse matrix; write it as .npz")
            np.save(file, chosen.X, allow_pickle=False)
            return [*beside, *chosen.left_out]
        arrays: dict[str, Any] = {name: np.array(column.to_list()) for name, column in beside.items()}
        arrays["columns"] = np.array(chosen.names, dtype=np.str_)
        if isinstance(table, SparseTable):
            matrix = table.matrix
            arrays |= {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
            arrays |= {
                "format": np.array("csr".encode("ascii")),
                "shape": np.array(matrix.shape),
                "_is_array": np.array(True),
            }
        else:
            arrays["X"] = chosen.X
        np.savez_compressed(file, **arrays)
    return list(chosen.left_out)


def _images(table: Table, row: Dataset) -> Callable[[Path], None]:
    """Return what writes the images into a folder, each to a subfolder named by its group."""
    from PIL import Image

    black, white = row.grey
    pixels = np.clip(np.rint((table.X - black) * (255 / (white - black))), 0, 255).astype(np.uint8)
    groups = ["" if table.y is None else str(label) for label in (range(len(pixels)) if table.y is None else table.y)]

    def write(folder: Path) -> None:
        digits = len(str(len(pixels) - 1))
        for i, (group, values) in enumerate(zip(groups, pixels.reshape(-1, *(row.image or (1, -1))), strict=True)):
            (folder / group).mkdir(exist_ok=True)
            Image.fromarray(values).save(folder / group / f"{i:0{digits}d}.png")

    return write


def _texts(table: Table) -> Callable[[Path], None]:
    """Return what writes each text to a file that is named by its number."""
    if "text" not in table.roles:
        raise DataError("this part of the data set is a table; name a file such as out.csv")
    numbers: list[int] = table.aside.get_columns()[0].to_list()
    columns = [name for name in ("title", "text") if name in table.names]
    texts = table.frame.select(pl.concat_str(columns, separator="\n")).to_series().to_list()

    def write(folder: Path) -> None:
        for number, text in zip(numbers, texts, strict=True):
            (folder / f"{number:04d}.txt").write_text(f"{text}\n", encoding="utf-8")

    return write


def _write_folder(path: Path, write: Callable[[Path], None]) -> None:
    """Write a folder completely or not at all."""
    target = path.absolute()
    draft = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        try:
            draft.mkdir()
            write(draft)
            if target.exists():
                target.rmdir()  # it is empty
            os.replace(draft, target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        failure = WriteError(f"{path}: cannot be written: {error.strerror or error}")
        failure.errno = error.errno
        raise failure from error
