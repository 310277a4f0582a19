"""`scan`: opens a table that is read in blocks; the table of formats says by which module."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.message import Advice, Message, Setting
from ..fileset import empty_note, with_rows
from ..formats import BY_NAME as READ_FORMATS
from ..formats import format_of_bytes, listed
from ..source import Source
from .remote import is_url, remote_files
from .table_scan import ScanOptions, TableScan

_GLOB = "*?["
_NOT_OF_TEXT = ("text", "image", "normalize", "vector")
_TEXT = (*(name for name in READ_FORMATS["csv"].options if name not in _NOT_OF_TEXT), "n_rows", "types")


@dataclass(frozen=True)
class ScanFormat:
    """A row of the table of formats: the suffixes, the module and its function, the options that it takes."""

    name: str
    suffixes: tuple[str, ...]
    opener: str
    options: tuple[str, ...] = ()


FORMATS = (
    *(ScanFormat(name, READ_FORMATS[name].suffixes, "text:scan_text_file", _TEXT) for name in ("csv", "tsv", "txt")),
    ScanFormat("parquet", READ_FORMATS["parquet"].suffixes, "columnar:scan_parquet", ("vector",)),
    ScanFormat("arrow", READ_FORMATS["arrow"].suffixes, "columnar:scan_arrow", ("vector",)),
    ScanFormat("npy", (".npy",), "binary:scan_npy"),
    ScanFormat("raw", (), "binary:scan_raw", ("dtype", "n_columns", "offset")),
    ScanFormat("zarr", (".zarr",), "zarr_arrays:scan_zarr", ("array", "storage_options")),
)
BLOCKS = ScanFormat("blocks", (), "callables:scan_blocks", ("n_rows", "name"))
BY_NAME = {row.name: row for row in FORMATS}
SUFFIXES = tuple(suffix for row in FORMATS for suffix in row.suffixes)


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    keys: Sequence[str] = (),
    **options: Any,
) -> TableScan:
    """Open a table that is read in blocks and never whole; every method takes the result in place of an array.

    Parameters
    ----------
    source : a path, a pattern such as ``"part-*.parquet"``, a folder or a list with the files of one table, a URL
        (needs ``lowland[remote]``), a zarr array (needs ``lowland[zarr]``), or a function that returns an iterator of
        2-D arrays, new at each call.
    columns : names of the columns to read, in this order. Default: all; of these, methods take the numeric ones.
    drop : names of columns to leave out.
    keys : keys of folders named key=value that ``frames()`` contains as columns. Methods take none of them.
    **options : ``format``, for files whose suffix does not tell it. Text files take the options of `read` for text,
        ``types={"a": "number"}`` (or ``"whole"``, ``"text"``, ``"category"``) for columns that do not begin as they go
        on, and ``n_rows``, which saves counting the lines; ``scratch`` is a folder for a temporary binary copy, or True
        for the system's: the first pass writes it, and later ones read it instead of the text. ``vector``: a column of
        equally long lists of numbers (Parquet, Arrow). ``dtype``, ``n_columns`` and ``offset`` (bytes) describe
        ``format="raw"``. ``array`` names an array of a zarr group. ``storage_options`` are those of fsspec for URLs.
        ``n_rows`` and ``name`` describe a function.

    Returns
    -------
    TableScan : with ``arrays()``, ``frames()``, ``n_rows`` (None until counted), ``names`` and ``fingerprint()``.

    Results are those of the table in memory, bit for bit. The types of a text file are settled by its first 4 MB; a
    later cell that does not fit is an error that names its line.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, lowland
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "rows.npy")
    >>> X = np.random.default_rng(0).standard_normal((5000, 3))
    >>> np.save(file, X)
    >>> table = scan(file)
    >>> table
    BinaryScan('rows.npy', 5000 × 3, float64)
    >>> np.array_equal(lowland.PCA(2).fit(table).components_, lowland.PCA(2).fit(X).components_)
    True
    >>> folder.cleanup()
    """
    form, scratch = options.pop("format", None), options.pop("scratch", None)
    if scratch:
        return _with_scratch(scan(source, columns=columns, drop=drop, keys=keys, format=form, **options), scratch)
    chosen = ScanOptions(None if columns is None else tuple(columns), tuple(drop or ()), options)
    if not isinstance(source, str | os.PathLike) and keys:
        raise DataError(Message(Setting("keys"), ": only the files of a folder or pattern have keys"))
    if callable(source):
        return _open(BLOCKS, source, "a function", chosen)
    if isinstance(source, list | tuple):
        if not source:
            raise DataError("the list of files is empty; a table needs at least one file")
        found = [_files(os.fspath(part), form, chosen)[1] for part in source]
        return _parts(f"{len(source)} files", [file for files in found for file in files], form, chosen)
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"scan takes a path, a list of paths or a function that returns arrays, not {type(source).__name__}; give "
            "a table in memory to the method itself"
        )
    name = os.fspath(source)
    if _zarr_at(name, form):
        return _open(BY_NAME["zarr"], name, name, chosen)
    root, files = _files(name, form, chosen)
    return _parts(Path(name).name or name, files, form, chosen, root, keys)


def _with_scratch(found: TableScan, folder: Any) -> TableScan:
    from .scratch import Scratch, ScratchScan, scratch_folder

    if not is_text(found):
        where = True if folder is True else str(folder)
        raise DataError(Message(Setting("scratch", where), f": only text is copied; {found.source} is none"))
    return ScratchScan(found, Scratch(found, scratch_folder() if folder is True else Path(folder)))


def is_text(found: TableScan) -> bool:
    """Return whether a scan parses text."""
    from .parts import PartsScan
    from .scratch import ScratchScan
    from .text import TextScan

    found = found.scan if isinstance(found, ScratchScan) else found
    return isinstance(found.parts[0] if isinstance(found, PartsScan) else found, TextScan)


def _zarr_at(name: str, form: str | None) -> bool:
    if form is not None or is_url(name):
        return form == "zarr" or (form is None and name.rstrip("/").endswith(".zarr"))
    from .zarr_arrays import is_zarr

    return is_zarr(Path(name))


def _files(name: str, form: str | None, options: ScanOptions) -> tuple[Path | None, list[Source]]:
    """Return the files of a path, a pattern, a folder or a URL, and the folder below which folders may be keys."""
    if is_url(name):
        found: list[Source] = [*remote_files(name, options.given.get("storage_options") or {})]
        return None, _tables(name, found, form)
    from ..folders import files_inside, files_matching

    path = Path(name)
    if path.is_file():
        return None, [Source.of(path)]
    pattern = not path.exists() and any(sign in name for sign in _GLOB)
    if not pattern and not path.is_dir():
        raise DataError(f"{path}: no such file")
    files = files_matching(path) if pattern else files_inside(path)
    root = Path(os.path.commonpath([file.parent for file in files])) if pattern and files else path
    return root, _tables(name, [Source.of(file) for file in files], form)


def _tables(name: str, files: list[Source], form: str | None) -> list[Source]:
    """Return the files that can be scanned; all if their format is given, or if there is only one."""
    if form is None and len(files) > 1:
        files = [file for file in files if file.name.lower().endswith(SUFFIXES)]
    if not files:
        raise DataError(f"{name}: no file that scan reads ({listed(SUFFIXES)})")
    return files


def _parts(
    name: str,
    files: list[Source],
    form: str | None,
    options: ScanOptions,
    root: Path | None = None,
    beside: Sequence[str] = (),
) -> TableScan:
    """Open the files of one table; types of text files are settled by the first.

    ``beside``: keys of the folders below ``root`` that frames contain.
    """
    from ..folders import folder_keys, key_note, keys_of_files

    known = () if root is None else tuple(folder_keys(root, files[0].path or Path()))
    if unknown := [key for key in beside if key not in known]:
        has = f"the keys {', '.join(known)}" if known else "no such folders"
        raise DataError(Message(f"{name}: ", Setting("keys", unknown), f": it has {has}"))
    if named := [key for key in options.columns or () if key in known]:
        raise DataError(
            f"{name}: {named[0]} is a key of the folders, and tables that are read in blocks are reduced without keys; "
            "leave it out"
        )
    options = replace(options, drop=tuple(column for column in options.drop if column not in known))
    rows = [_format(file, form) for file in files]
    given = {key: value for key, value in options.given.items() if key != "storage_options" or not files[0].remote}
    options = replace(options, given=given)
    if len(files) == 1 and not known:
        return _open(rows[0], files[0], files[0].name, options)
    if len({row.name for row in rows}) > 1:
        other = next(i for i, row in enumerate(rows) if row.name != rows[0].name)
        raise DataError(
            f"{files[other].name} is {rows[other].name} and {files[0].name} is {rows[0].name}; the files of one "
            "table must have one format"
        )
    from .parts import PartsScan

    first: list[TableScan] = []

    def opened(file: Source) -> TableScan:
        part = _open(rows[0], file, file.name, options, *first)
        first[:] = first or [part]
        return part

    files, parts, empty = with_rows(files, opened)
    keys = keys_of_files(root, [file.path or Path() for file in files]) if root is not None else {}
    return PartsScan(name, parts, (*empty_note(empty), *key_note(keys)), keys, beside)


def _format(file: Source, form: str | None) -> ScanFormat:
    if form is not None:
        plain = form.lower().lstrip(".")
        row = BY_NAME.get(plain) or next((row for row in FORMATS if f".{plain}" in row.suffixes), None)
        if row is None:
            raise DataError(Message(Setting("format", form), f": scan reads {', '.join(BY_NAME)}"))
        return row
    name = file.name.lower()
    found = next((row for row in FORMATS if name.endswith(row.suffixes or ("\0",))), None)
    if found is None:
        told = format_of_bytes(file.head(16))
        found = None if told is None else BY_NAME.get(told.name)
    if found is None:
        raise DataError(
            Message(
                f"{file.path or file.name}: scan reads {listed(SUFFIXES)}",
                Advice("; for other files name the ", Setting("format"), ", such as ", Setting("format", "raw")),
                Advice(" for numbers without a header"),
            )
        )
    return found


def _open(row: ScanFormat, source: Any, name: str, options: ScanOptions, like: TableScan | None = None) -> TableScan:
    """Open one source; ``like`` is the first part of the same table."""
    if "names" in options.given and "names" not in row.options:  # other formats know types already
        options = replace(options, given={name: value for name, value in options.given.items() if name != "names"})
    for option in options.given:
        if option not in row.options:
            takes = f"it takes {', '.join(row.options)}" if row.options else "it takes none"
            raise DataError(
                Message(f"{name}: ", Setting(option), f" is not an option of scanning the format {row.name}; {takes}")
            )
    module, _, function = row.opener.partition(":")
    call = getattr(importlib.import_module(f".{module}", __package__), function)
    more = (READ_FORMATS[row.name].separator, like) if module == "text" else ()
    opened: TableScan = call(source, options, *more)
    return opened
