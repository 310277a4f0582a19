"""File formats: their suffixes, their readers and writers, and the options that each takes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import DataError
from ..core.message import Advice, Message, Setting

_CELLS = ("na", "below_limit", "above_limit", "decimal", "thousands")
_TEXT = (*_CELLS, "sep", "encoding", "header", "units", "skip_rows", "comment", "names")
_COLUMNS = ("vector", "text", "image", "normalize")
_PACKED = ("", ".gz", ".zst")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")


@dataclass(frozen=True)
class Format:
    """A row of the table of formats; ``reader`` is a module of this package and its function; empty for formats of
    folders.

    ``separator`` is that of a delimited text, if its suffix tells it. ``magic``: the first bytes of such files.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    options: tuple[str, ...] = (*_CELLS, *_COLUMNS)
    writes: tuple[str, ...] = ()
    separator: str | None = None
    magic: bytes | None = None


def _packed(*suffixes: str) -> tuple[str, ...]:
    return tuple(f"{suffix}{packing}" for suffix in suffixes for packing in _PACKED)


FORMATS = (
    Format("csv", _packed(".csv"), "delimited:read_delimited", (*_TEXT, *_COLUMNS), (".csv", ".csv.gz"), ","),
    Format("tsv", _packed(".tsv", ".tab"), "delimited:read_delimited", (*_TEXT, *_COLUMNS), (".tsv", ".tsv.gz"), "\t"),
    Format("txt", _packed(".txt", ".dat", ".data"), "delimited:read_delimited", (*_TEXT, *_COLUMNS)),
    Format("parquet", (".parquet", ".pq"), "tablefiles:read_parquet", writes=(".parquet",), magic=b"PAR1"),
    Format(
        "arrow",
        (".arrow", ".feather", ".ipc"),
        "tablefiles:read_arrow",
        writes=(".arrow", ".feather"),
        magic=b"ARROW1",
    ),
    Format("ndjson", _packed(".ndjson", ".jsonl"), "jsonfiles:read_ndjson"),
    Format("json", _packed(".json"), "jsonfiles:read_json"),
    Format(
        "xlsx",
        (".xlsx", ".xlsm"),
        "workbooks:read_xlsx",
        (*_CELLS, *_COLUMNS, "sheet", "header", "units", "skip_rows"),
        (".xlsx",),
    ),
    Format("npy", (".npy",), "arrayfiles:read_npy", ("normalize",), (".npy",), magic=b"\x93NUMPY"),
    Format("npz", (".npz",), "arrayfiles:read_npz", ("normalize",), (".npz",)),
    Format("mtx", (".mtx", ".mtx.gz"), "matrixmarket:read_mtx", ("normalize",), magic=b"%%MatrixMarket"),
    Format("images", (), "", ("image_size", "image_mode", "normalize")),
    Format("texts", (), "", ("encoding",)),
)
BY_NAME = {row.name: row for row in FORMATS}
READABLE = tuple(suffix for row in FORMATS for suffix in row.suffixes)
WRITABLE = tuple(suffix for row in FORMATS for suffix in row.writes)

# Table formats that cannot be read: the name, and how to convert them (a function of polars, or instructions).
_SPREADSHEET = "save the sheet as .xlsx or CSV in the program that made it (File, Save as)"
_FOREIGN = {
    ".avro": ("Avro", "read_avro"),
    ".xls": ("old Excel", _SPREADSHEET),
    ".xlsb": ("binary Excel", _SPREADSHEET),
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

    >>> print(foreign_table(Path("log.avro")).partition("; ")[2])
    convert it: python -c "import polars; polars.read_avro('log.avro').write_csv('log.csv')"
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
    return f"{path}: Lowland cannot read {kind} files, only {listed(READABLE)}; convert it: {first}{how}"


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
    refusal = f"{path}: Lowland cannot {verb} this kind of file; it can {verb} {listed(known)}"
    if verb == "read" and foreign is None:
        raise DataError(
            Message(refusal, Advice("; if it is a table, name its format, such as ", Setting("format", "csv")))
        )
    raise DataError(foreign or refusal)


def listed(suffixes: Sequence[str]) -> str:
    """Return suffixes for a message, the packed ones in words.

    >>> listed((".csv", ".csv.gz", ".npy"))
    '.csv, .npy (text also with .gz)'
    """
    plain = [ending for ending in suffixes if not ending.endswith(_PACKED[1:])]
    packed = " or ".join(packing for packing in _PACKED[1:] if any(ending.endswith(packing) for ending in suffixes))
    return ", ".join(plain) + (f" (text also with {packed})" if packed else "")


def format_of_bytes(head: bytes) -> Format | None:
    """Return the format that the first bytes of a file tell, or None.

    >>> format_of_bytes(b"PAR1").name
    'parquet'
    """
    return next((row for row in FORMATS if row.magic is not None and head.startswith(row.magic)), None)


def format_of(path: Path, head: bytes) -> Format:
    """Return the format of a file by the suffix of its name, or else by its first bytes."""
    name = path.name.lower()
    if not any(name.endswith(ending) and len(name) > len(ending) for ending in READABLE):
        row = format_of_bytes(head)
        if row is not None:
            return row
    ending = suffix(path, READABLE, "read")
    return next(row for row in FORMATS if ending in row.suffixes)
