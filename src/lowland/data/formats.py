"""File formats by the suffix of the name, and opening of plain and gzip files."""

from __future__ import annotations

import gzip
import shlex
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..core.errors import DataError

READABLE = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".parquet", ".npy", ".npz")
WRITABLE = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".npy", ".npz")

# Table formats that cannot be read: the name, and how to convert them (a function of polars, or instructions).
_SPREADSHEET = "save the sheet as CSV in the program that made it (File, Save as)"
_FOREIGN = {
    ".jsonl": ("JSON Lines", "read_ndjson"),
    ".ndjson": ("JSON Lines", "read_ndjson"),
    ".json": ("JSON", "read_json"),
    ".feather": ("Feather (Arrow)", "read_ipc"),
    ".arrow": ("Arrow", "read_ipc"),
    ".ipc": ("Arrow", "read_ipc"),
    ".avro": ("Avro", "read_avro"),
    ".xlsx": ("Excel", _SPREADSHEET),
    ".xls": ("Excel", _SPREADSHEET),
    ".ods": ("OpenDocument spreadsheet", _SPREADSHEET),
    ".rds": ("R data", "in R: write.csv(readRDS(FILE), OUT, row.names = FALSE)"),
    ".rda": ("R data", "in R: load(FILE), then write.csv(TABLE, OUT, row.names = FALSE)"),
    ".rdata": ("R data", "in R: load(FILE), then write.csv(TABLE, OUT, row.names = FALSE)"),
    ".dta": ("Stata", "with pandas: read_stata(FILE).to_csv(OUT, index=False)"),
    ".sav": ("SPSS", "with pandas: read_spss(FILE).to_csv(OUT, index=False)"),
    ".sas7bdat": ("SAS", "with pandas: read_sas(FILE).to_csv(OUT, index=False)"),
    ".pkl": ("pickle", "in the program that wrote it: a pickle can run code, so Lowland never loads one"),
    ".pickle": ("pickle", "in the program that wrote it: a pickle can run code, so Lowland never loads one"),
    ".h5": ("HDF5", "with h5py and numpy: save the array as .npy"),
    ".hdf5": ("HDF5", "with h5py and numpy: save the array as .npy"),
    ".mat": ("MATLAB", "with scipy.io.loadmat and numpy: save the array as .npy"),
    ".sqlite": ("SQLite", 'sqlite3 -header -csv FILE "select * from TABLE" > OUT'),
    ".db": ("SQLite", 'sqlite3 -header -csv FILE "select * from TABLE" > OUT'),
}


def foreign_table(path: Path) -> str | None:
    """Return the error message for a known format that cannot be read, or None for other files.

    >>> print(foreign_table(Path("log.jsonl")).partition("; ")[2])
    convert it: python -c "import polars; polars.read_ndjson('log.jsonl').write_csv('log.csv')"
    """
    packed = path.suffix.lower() == ".gz"
    file = path.with_suffix("") if packed else path
    kind, how = _FOREIGN.get(file.suffix.lower(), (None, ""))
    if kind is None:
        return None
    made = str(file.with_suffix(".csv"))
    if how.startswith("read_"):
        how = f'python -c "import polars; polars.{how}({str(file)!r}).write_csv({made!r})"'
    how = how.replace("FILE", shlex.quote(str(file))).replace("OUT", shlex.quote(made))
    first = f"gunzip {shlex.quote(str(path))}, then " if packed else ""
    return f"{path}: Lowland cannot read {kind} files, only {', '.join(READABLE)}; convert it: {first}{how}"


def suffix(path: Path, known: Sequence[str], verb: str) -> str:
    """Return the known suffix of a file name; otherwise raise a DataError that lists the known ones.

    >>> suffix(Path("Sales.2024.CSV.gz"), READABLE, "read")
    '.csv.gz'
    """
    name = path.name.lower()
    for ending in sorted(known, key=len, reverse=True):
        if name.endswith(ending) and len(name) > len(ending):
            return ending
    foreign = foreign_table(path) if verb == "read" else None
    raise DataError(foreign or f"{path}: Lowland cannot {verb} this kind of file; it can {verb} {', '.join(known)}")


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressing ``.gz``; errors of the system or gzip become a DataError."""
    try:
        if path.name.lower().endswith(".gz"):
            with gzip.open(path, "rb") as packed:
                yield cast(BinaryIO, packed)
        else:
            with path.open("rb") as plain:
                yield plain
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(
            f"{path.name}: the gzip data are damaged or truncated ({error}); copy or download the file again"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
