"""Reading of tables: `read`, and the older names `read_table`, `read_matrix` and `read_any`."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, FileSizeError, MemoryLimitError
from ..core.message import Advice, Message, Setting
from .formats import BY_NAME, FORMATS, IMAGES, READABLE, Format, format_of, format_of_bytes
from .options import OptionError, ReadOptions, read_options
from .source import Source

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from .table import Table

_GLOB = "*?["


def read(source: Any, **options: Any) -> Table:
    """Read a table from a file, a folder, standard input or an object in memory.

    Parameters
    ----------
    source : a path, a pattern such as ``"part-*.parquet"``, a folder (of images, of texts, or of the files of one
        table), ``"-"`` for standard input, an open file, or an object: NumPy, scipy.sparse, pandas, polars, torch, or
        anything with ``__arrow_c_stream__``.
    **options : see `ReadOptions`. Everything about a text file that is not set is detected, and the table's ``notes``
        say what was.

    Returns
    -------
    `Table` with named columns; `ArrayTable` for arrays and columns of vectors; `SparseTable` for sparse matrices.

    Text files may use any common separator, decimal comma, thousands marks and encoding, and may be packed (``.gz``,
    ``.zst``). Empty cells and NA, N/A, NaN, nan, null, NULL, None and ? are missing. A column's type depends on all of
    its cells. A column of numbers with some text in it raises an error when it is selected, and the message names the
    line; a column mostly of text is text. Nothing is ever unpickled.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "small.csv")
    ...     _ = file.write_text("# made by hand\\na;b;kind\\n1,5;2;x\\n-0,5;NA;y\\n")
    ...     table = read(file)
    >>> table.notes
    ('read as semicolon-separated, decimal comma, 1 comment line skipped',)
    >>> table.select().X
    array([[ 1.5,  2. ],
           [-0.5,  nan]])
    """
    chosen = read_options(options)
    try:
        return _read(source, chosen)
    except FileSizeError:
        raise
    except MemoryLimitError as error:
        raise FileSizeError(error.args[0], reason=error.reason) from error


def _read(source: Any, chosen: ReadOptions) -> Table:
    if isinstance(source, (str, os.PathLike)):
        return _read_path(os.fspath(source), chosen)
    if hasattr(source, "read") and not hasattr(source, "__arrow_c_stream__"):
        content = source.read()
        return _read_bytes(content.encode() if isinstance(content, str) else content, "the open file", chosen)
    from .objects import read_object

    return read_object(source, chosen)


def read_table(path: str | Path) -> Table:
    """Read a table from a file as `read` does; a sparse matrix is an error."""
    from .arraytable import SparseTable

    table = read(path)
    if isinstance(table, SparseTable):
        raise DataError(f"{table.source} contains a sparse matrix; read it with lowland.data.read")
    return table


def read_matrix(path: str | Path) -> csr_array[Any]:
    """Read a sparse matrix, written by `scipy.sparse.save_npz` or in Matrix Market form, as a CSR array."""
    from .arraytable import SparseTable

    table = read(path)
    if not isinstance(table, SparseTable):
        raise DataError(f"{table.source} contains no sparse matrix; read a dense table with lowland.data.read")
    return table.matrix


def read_any(path: str | Path) -> Table:
    """Read a file as `read` does."""
    return read(path)


def read_source(source: Source, row: Format, options: ReadOptions) -> Table:
    """Read one file of a known format, and check the options."""
    if not row.reader:
        raise DataError(Message(f"{source.name}: ", Setting("format", row.name), " is for folders, and this is a file"))
    refused = [name for name in options.set_options() if name not in (*row.options, "format", "names")]
    if refused:
        raise OptionError(source.name, refused[0], row.name)
    module, _, function = row.reader.partition(":")
    call = getattr(importlib.import_module(f".{module}", __package__), function)
    table: Table = call(source, options, row.separator) if module == "delimited" else call(source, options)
    from .columns import finished

    return finished(table, options)


def _read_path(name: str, options: ReadOptions) -> Table:
    if name == "-":
        return _read_bytes(sys.stdin.buffer.read(), "standard input", options)
    path = Path(name)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:  # too long a name, or one with null characters
        raise DataError(f"{name[:100]!r} is not the name of a file: {error}") from error
    if is_folder or (not exists and any(sign in name for sign in _GLOB)):
        from .folders import read_folder

        return read_folder(path, options, read)
    if not exists:
        raise DataError(f"{path}: no such file")
    if options.format == "images" or (options.format is None and path.name.lower().endswith(IMAGES)):
        from .imagefiles import read_images

        return read_images(path.parent, [path], options)
    source = Source.of(path)
    return read_source(source, _format(path, source, options), options)


def _read_bytes(content: bytes, name: str, options: ReadOptions) -> Table:
    source = Source.in_memory(content, name)
    if options.format is not None:
        return read_source(source, named_format(options.format), options)
    head = source.head(16)
    row = format_of_bytes(head) or BY_NAME["txt"]
    if head.startswith(b"PK\x03\x04"):
        raise DataError(Message(f"{name} is a zip archive", Advice("; set ", Setting("format"), " to 'xlsx' or 'npz'")))
    return read_source(source, row, options)


def named_format(name: str) -> Format:
    """Return a format by its name or its suffix; an unknown one raises a DataError that lists the known ones."""
    plain = name.lower().lstrip(".")
    row = BY_NAME.get(plain) or next((row for row in FORMATS if f".{plain}" in row.suffixes), None)
    if row is None:
        raise DataError(Message(Setting("format", name), f": the formats are {', '.join(BY_NAME)}"))
    return row


def _format(path: Path, source: Source, options: ReadOptions) -> Format:
    if options.format is not None:
        return named_format(options.format)
    known = path.name.lower().endswith(READABLE)
    return format_of(path, b"" if known else source.head(16))
