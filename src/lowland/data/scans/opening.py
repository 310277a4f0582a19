"""`scan`: opens a table that is read in blocks; the table of formats says by which module."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.message import Message, Setting
from ..formats import BY_NAME as READ_FORMATS
from ..formats import format_of_bytes, listed
from ..source import Source
from .table_scan import ScanOptions, TableScan

_GLOB = "*?["


@dataclass(frozen=True)
class ScanFormat:
    """A row of the table of formats: the suffixes, the module and its function, the options that it takes."""

    name: str
    suffixes: tuple[str, ...]
    opener: str
    options: tuple[str, ...] = ()


FORMATS = (
    ScanFormat("npy", (".npy",), "binary:scan_npy"),
    ScanFormat("raw", (), "binary:scan_raw", ("dtype", "n_columns", "offset")),
    ScanFormat("parquet", READ_FORMATS["parquet"].suffixes, "columnar:scan_parquet", ("vector",)),
    ScanFormat("arrow", READ_FORMATS["arrow"].suffixes, "columnar:scan_arrow", ("vector",)),
)
BLOCKS = ScanFormat("blocks", (), "callables:scan_blocks", ("n_rows", "name"))
BY_NAME = {row.name: row for row in FORMATS}
SUFFIXES = tuple(suffix for row in FORMATS for suffix in row.suffixes)


def scan(
    source: Any, *, columns: Sequence[str] | None = None, drop: Sequence[str] | None = None, **options: Any
) -> TableScan:
    """Open a table that is read in blocks and never whole; every method takes the result in place of an array.

    Parameters
    ----------
    source : a path, or a function that returns an iterator of 2-D arrays, new at each call.
    columns : names of the columns to read, in this order. Default: all; of these, methods take the numeric ones.
    drop : names of columns to leave out.
    **options : ``format``, for files whose suffix does not tell it; ``vector``, a column of equally long lists of
        numbers (Parquet, Arrow); ``dtype``, ``n_columns`` and ``offset`` (bytes) of ``format="raw"``; ``n_rows`` and
        ``name`` of a function.

    Returns
    -------
    TableScan : with ``arrays()``, ``frames()``, ``n_rows`` (None until counted), ``names`` and ``fingerprint()``.

    Results are those of the table in memory, bit for bit.

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
    form = options.pop("format", None)
    chosen = ScanOptions(None if columns is None else tuple(columns), tuple(drop or ()), options)
    if callable(source):
        return _open(BLOCKS, source, "a function", chosen)
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"scan takes a path or a function that returns arrays, not {type(source).__name__}; give a table in memory "
            "to the method itself"
        )
    path = Path(os.fspath(source))
    if not path.exists():
        raise DataError(f"{path}: no such file")
    file = Source.of(path)
    return _open(_format(path, file, form), file, file.name, chosen)


def _format(path: Path, file: Source, form: str | None) -> ScanFormat:
    if form is not None:
        plain = form.lower().lstrip(".")
        row = BY_NAME.get(plain) or next((row for row in FORMATS if f".{plain}" in row.suffixes), None)
        if row is None:
            raise DataError(Message(Setting("format", form), f": scan reads {', '.join(BY_NAME)}"))
        return row
    name = path.name.lower()
    found = next((row for row in FORMATS if name.endswith(row.suffixes or ("\0",))), None)
    if found is None:
        told = format_of_bytes(file.head(16))
        found = None if told is None else BY_NAME.get(told.name)
    if found is None:
        raise DataError(
            Message(
                f"{path}: scan reads {listed(SUFFIXES)}; for other files name the ",
                *(Setting("format"), ", such as ", Setting("format", "raw"), " for numbers without a header"),
            )
        )
    return found


def _open(row: ScanFormat, source: Any, name: str, options: ScanOptions) -> TableScan:
    for option in options.given:
        if option not in row.options:
            takes = f"it takes {', '.join(row.options)}" if row.options else "it takes none"
            raise DataError(
                Message(f"{name}: ", Setting(option), f" is not an option of scanning the format {row.name}; {takes}")
            )
    module, _, function = row.opener.partition(":")
    opened: TableScan = getattr(importlib.import_module(f".{module}", __package__), function)(source, options)
    return opened
