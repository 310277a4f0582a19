"""Downloaded images and letters: Letter Recognition, Olivetti faces, USPS digits."""

from __future__ import annotations

import bz2
import io
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ...core.errors import DataError
from ...core.formatting import first_line
from ..arraytable import ArrayTable
from ..pixels import pixel_names
from .dataset import Dataset
from .fetching import fetch

_LETTER_COLUMNS = (
    *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar", "y2bar", "xybar", "x2ybr", "xy2br"),
    *("x-ege", "xegvy", "y-ege", "yegvx"),
)
_FACES_OF_A_PERSON = 10
_USPS_PIXELS = 256


def letters(row: Dataset) -> ArrayTable:
    """Load the letters: a line of the file has the letter and 16 whole numbers."""
    content = fetch(row.files[0], row.name).read_bytes()
    frame = pl.read_csv(io.BytesIO(content), has_header=False, new_columns=["letter", *_LETTER_COLUMNS])
    X = np.ascontiguousarray(frame.drop("letter").to_numpy(), dtype=np.uint8)
    return ArrayTable(X, row.name, _LETTER_COLUMNS, aside=frame.select("letter"), notes=row.notes, roles=row.roles)


def faces(row: Dataset) -> ArrayTable:
    """Load the faces: a MATLAB file whose columns are images of 64 × 64, stored column by column."""
    from scipy.io import loadmat

    path = fetch(row.files[0], row.name)
    try:
        stored = loadmat(path, variable_names=["faces"])["faces"]
    except Exception as error:  # SciPy raises errors of many classes
        raise DataError(f"{path}: the faces cannot be read: {first_line(error)}") from error
    height, width = row.image or (64, 64)
    images = stored.T.reshape(-1, width, height).transpose(0, 2, 1)
    X = np.ascontiguousarray(images.reshape(len(images), -1), dtype=np.uint8)
    person = pl.Series("person", np.arange(len(X)) // _FACES_OF_A_PERSON)
    return ArrayTable(
        X, row.name, pixel_names(height, width), aside=person.to_frame(), notes=row.notes, roles=row.roles
    )


def postal_digits(row: Dataset, part: str) -> ArrayTable:
    """Load the digits of the US Postal Service: the training part, the test part, or both."""
    chosen = {"train": row.files[:1], "test": row.files[1:], "all": row.files}[part]
    pieces = [_svm_light(fetch(file, row.name)) for file in chosen]
    splits = ("train", "test") if part == "all" else (part,)
    aside = pl.DataFrame(
        {
            "digit": np.concatenate([labels for _, labels in pieces]) - 1,  # the file counts from 1
            "split": [split for split, (_, labels) in zip(splits, pieces, strict=True) for _ in labels],
        }
    )
    X = np.concatenate([pixels for pixels, _ in pieces])
    return ArrayTable(X, row.name, pixel_names(*(row.image or (16, 16))), aside=aside, notes=row.notes, roles=row.roles)


def _svm_light(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Read lines such as ``7 1:-1 2:-0.5 …`` packed by bzip2: the label, and the values by their numbers from 1."""
    try:
        lines = bz2.decompress(path.read_bytes()).decode("ascii").splitlines()
        X = np.zeros((len(lines), _USPS_PIXELS), np.float32)
        labels = np.empty(len(lines), np.int64)
        for i, line in enumerate(lines):
            label, *cells = line.split()
            labels[i] = int(float(label))
            pairs = [cell.split(":") for cell in cells]
            X[i, [int(place) - 1 for place, _ in pairs]] = [float(value) for _, value in pairs]
    except (OSError, ValueError, IndexError) as error:
        raise DataError(f"{path}: the digits cannot be read: {first_line(error)}") from error
    return X, labels
