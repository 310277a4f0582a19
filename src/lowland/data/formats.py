"""Which file formats there are, told by the end of the name, and how their bytes are opened."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import DataError

READABLE = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".parquet", ".npy", ".npz")
WRITABLE = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".npy", ".npz")


def suffix(path: Path, known: Sequence[str], verb: str) -> str:
    """Return the known ending of a file's name; DataError that lists the known ones.

    >>> suffix(Path("Sales.2024.CSV.gz"), READABLE, "read")
    '.csv.gz'
    """
    name = path.name.lower()
    for ending in sorted(known, key=len, reverse=True):
        if name.endswith(ending) and len(name) > len(ending):
            return ending
    raise DataError(f"{path}: Lowland cannot {verb} this kind of file; it can {verb} {', '.join(known)}")


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacking ``.gz``; what the system or gzip reports becomes a DataError."""
    try:
        if path.name.lower().endswith(".gz"):
            with gzip.open(path, "rb") as packed:
                yield cast(BinaryIO, packed)
        else:
            with path.open("rb") as plain:
                yield plain
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(
            f"{path.name}: the gzip data are damaged or cut short ({error}); copy or download the file again"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
