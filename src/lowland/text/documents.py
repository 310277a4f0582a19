"""Documents from lists, files, folders, columns of tables and streams."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from .. import engines
from ..contract.fit_info import level_of_the_caller
from ..core.errors import DataError, FileSizeError, LowlandWarning
from ..core.formatting import count
from ..core.message import Message, Phrase, Setting
from ..data.scans.table_scan import TableScan
from ..data.source import Source

_ROWS = 4096  # rows of a table that are held at a time
_TEXTS = (pl.String, pl.Categorical, pl.Enum)
_COLUMN = Phrase("column", "--text")  # the option that names the texts
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")


@dataclass
class Documents:
    """Texts that can be read once; ``ids`` has their names, or is None, after they have been read.

    ``passes``: how often a file that is read in blocks is read; None for documents that are held in memory.
    """

    texts: Iterable[Any]
    ids: list[str] | None = None
    name: str = "the documents"
    passes: int | None = None
    seen: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            if text is None or (isinstance(text, float) and text != text):
                text = ""
            if not isinstance(text, str):
                raise DataError(f"{self.name}: document {self.seen} is a {type(text).__name__}, not a text")
            self.seen += 1
            yield text


def documents_of(source: Any, column: str | None = None, id: str | None = None) -> Documents:
    """Return the documents of a list, an iterator, a dict from names to texts, a table, a scan, a file or a folder.

    ``column`` names the column of text (default: the longest), ``id`` a column with the name of each document. JSON
    lines and folders of texts are read one document at a time, a scan and a table that does not fit in memory in
    blocks.

    >>> list(documents_of(["a wing", None]))
    ['a wing', '']
    """
    if isinstance(source, Documents):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _from_path(source, column, id)
    if isinstance(source, TableScan):
        return _from_scan(source, column, id)
    if engines.holds(source):
        return _from_collection(source, column, id)
    if isinstance(source, Mapping) and all(isinstance(text, str) for text in source.values()):
        return Documents(list(source.values()), [str(name) for name in source])
    if isinstance(source, Mapping | pl.DataFrame | pl.LazyFrame) or (
        hasattr(source, "columns") and hasattr(source, "iloc")
    ):
        from ..data.reading import read

        return _from_table(read(source), column, id)
    if hasattr(source, "frame") and hasattr(source, "roles"):
        return _from_table(source, column, id)
    if column is not None or id is not None:
        raise DataError("column and id name columns of a table, and these documents are a list; leave them out")
    if not isinstance(source, Iterable) or isinstance(source, bytes):
        raise DataError(f"documents are a list of texts, a table, a file or a folder; got {type(source).__name__}")
    return Documents(source)


def warn_of_repeated(ids: list[str] | None) -> None:
    """Warn of names that several documents have."""
    if ids is None or len(set(ids)) == len(ids):
        return
    again = Counter(ids).most_common(1)[0][0]
    warnings.warn(
        f"{len(ids) - len(set(ids)):,} of {len(ids):,} documents have the name of an earlier one, such as {again!r}; "
        "only the first one is found by its name",
        LowlandWarning,
        stacklevel=level_of_the_caller(),
    )


def warn_of_empty(empty: Sequence[int], n: int, ids: list[str] | None) -> None:
    """Warn of documents, given by their numbers among ``n`` that are added, that have no terms of the index."""
    if not empty:
        return
    first = f"number {empty[0]}, counted from 0" if ids is None else ids[empty[0]]
    warnings.warn(
        f"{len(empty):,} of {count(n, 'added document')} {'has' if len(empty) == 1 else 'have'} no terms of the index "
        f"(the first: {first}); nothing is similar to documents that are empty or have unknown words only",
        LowlandWarning,
        stacklevel=level_of_the_caller(),
    )


def _from_path(source: Any, column: str | None, id: str | None) -> Documents:
    text = os.fspath(source)
    try:
        exists = text == "-" or os.path.exists(text) or any(sign in text for sign in "*?[")
    except ValueError:
        exists = False
    if not exists:
        shown = text if len(text) <= 60 else text[:59] + "…"
        in_memory = Phrase("; documents in memory are a list of texts, such as [text]", "")
        raise DataError(Message(f"{shown!r} is no file or folder", in_memory))
    path = Path(text)
    if path.name.lower().endswith(_LINES) and path.is_file():
        return _from_lines(path, column, id)
    if text != "-" and column in (None, "text"):
        from ..data.folders import text_files

        files = text_files(path)
        if files is not None:
            return _from_folder(*files, id)
        _refuse_mixed(path)
    from ..data.reading import read
    from ..data.scans.opening import SUFFIXES

    try:
        table = read(text, names=() if id is None else (id,))
    except FileSizeError:
        if not path.name.lower().endswith(SUFFIXES):
            raise
        return _from_scan(scanned(path, id), column, id)
    return _from_table(table, column, id)


def scanned(path: Path, id: str | None = None) -> TableScan:
    """Return a scan of a file whose column of names is read as it is written."""
    from ..data.options import IfThere
    from ..data.scans.opening import scan

    return scan(path, **({} if id is None else {"names": (IfThere(id),)}))


def _refuse_mixed(folder: Path) -> None:
    """Raise for a folder of texts and of tables, which is neither a collection of texts nor a table in parts."""
    if not folder.is_dir():
        return
    from ..data.folders import files_inside
    from ..data.formats import READABLE

    names = [file.name.lower() for file in files_inside(folder)]
    texts = sum(name.endswith(".txt") for name in names)
    tables = sum(name.endswith(READABLE) for name in names) - texts
    if texts and tables:
        raise DataError(
            f"{folder} contains {count(texts, '.txt file')} and {count(tables, 'table')}; for the texts alone give a "
            f"pattern, such as {str(folder / '*.txt')!r}"
        )


def _from_folder(root: Path, files: list[Path], id: str | None) -> Documents:
    """Read a folder of texts one by one; the names are those of the files."""
    from ..data.fileset import place_of
    from ..data.folders import read_text
    from ..data.table import Table

    places = Table(place_of(root, files), root.name or str(root))
    ids = [str(name) for name in places.column(id or "file").to_list()]
    return Documents((read_text(file) for file in files), ids, places.source, 1)


def _from_scan(table: TableScan, column: str | None, id: str | None) -> Documents:
    """Read a column of a scan in blocks; without a name, a pass finds the column with most text."""
    for name in (column, id):
        if name is not None and name not in table.schema:
            raise DataError(f"{table.source} has no column {name!r}; it has {', '.join(list(table.schema)[:12])}")
    if not table.has_names:
        raise DataError(f"{table.source} contains numbers; an index needs texts")
    candidates = [name for name, kind in table.schema.items() if kind in _TEXTS]
    if column is not None and column not in candidates:
        raise DataError(f"{table.source}, column {column!r}: it contains {table.schema[column]}, not text")
    if not candidates:
        raise DataError(
            f"{table.source} has no column of texts; give a table with such a column, or a folder of text files"
        )
    searched = column is None and len(candidates) > 1
    chosen = column or (_longest_of_scan(table, candidates) if searched else candidates[0])
    ids: list[str] | None = None if id is None else []

    def texts() -> Iterator[Any]:
        for frame in table.frames(rows=_ROWS):
            if ids is not None and id is not None:
                ids.extend(_names(frame[id].to_list()))
            yield from frame[chosen].cast(pl.String)

    return Documents(texts(), ids, table.source, 2 if searched else 1)


def _from_collection(source: Any, column: str | None, id: str | None) -> Documents:
    """Read a column of a Dask data frame, one partition after another."""
    names = [str(name) for name in getattr(source, "columns", ())]
    for name in (column, id):
        if name is not None and name not in names:
            raise DataError(f"the Dask collection has no column {name!r}; it has {', '.join(names[:12]) or 'no names'}")
    candidates = [name for name in names if _may_be_text(source.dtypes[name])]
    if column is None and len(candidates) != 1:
        held = f"{len(candidates)} columns that may be text" if candidates else "no column of texts"
        raise DataError(Message(f"the Dask collection has {held}; name the texts with ", Setting("column")))
    chosen = column or candidates[0]
    if chosen not in candidates:
        raise DataError(f"the Dask collection, column {chosen!r}: it contains {source.dtypes[chosen]}, not text")
    ids: list[str] | None = None if id is None else []
    table = engines.open_frames(source[list(dict.fromkeys([chosen, *([] if id is None else [id])]))])

    def texts() -> Iterator[Any]:
        for part in table.parts():
            if ids is not None:
                ids.extend(_names(part[id].astype(object).where(part[id].notna(), None).tolist()))
            yield from part[chosen].astype(object).where(part[chosen].notna(), None)

    return Documents(texts(), ids, "the Dask collection", 1)


def _may_be_text(kind: Any) -> bool:
    return str(kind) in ("object", "category") or str(kind).startswith(("str", "large_str"))


def _longest_of_scan(table: TableScan, names: list[str]) -> str:
    lengths = dict.fromkeys(names, 0)
    for frame in table.frames(rows=_ROWS):
        for name in names:
            lengths[name] += int(frame[name].cast(pl.String).str.len_chars().sum() or 0)
    return max(lengths, key=lambda name: lengths[name])


def _from_table(table: Any, column: str | None, id: str | None) -> Documents:
    if not hasattr(table, "frame"):
        raise DataError(f"{table.source} contains numbers; an index needs texts")
    name = column or table.roles.get("text") or _longest(table)
    series = table.column(name)
    if series.dtype not in _TEXTS:
        raise DataError(f"{table.source}, column {name!r}: it contains {series.dtype}, not text")
    if id is None and table.roles.get("text") == "text" and "file" in table.names:
        id = "file"  # of a folder
    ids = None if id is None else _names(table.column(id).to_list())
    return Documents(series.cast(pl.String), ids, table.source)


def _names(cells: list[Any]) -> list[str]:
    return ["" if cell is None else str(cell).strip() for cell in cells]


def _longest(table: Any) -> str:
    texts = [c for c in table.frame.iter_columns() if c.dtype in _TEXTS]
    if not texts:
        raise DataError(
            f"{table.source} has no column of texts; give a table with such a column, or a folder of text files"
        )
    return str(max(texts, key=lambda c: int(c.cast(pl.String).str.len_chars().sum() or 0)).name)


def _from_lines(path: Path, column: str | None, id: str | None) -> Documents:
    """Read JSON lines one by one; the column of text is the longest of the first line."""
    ids: list[str] | None = None if id is None else []

    def texts() -> Iterator[Any]:
        chosen = column
        with Source.of(path).open() as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                record = _record(path, number, line)
                if chosen is None:
                    chosen = _longest_value(path, record)
                for name in (chosen, *([] if id is None else [id])):
                    if name not in record:
                        raise DataError(
                            Message(
                                f"{path.name}, line {number} has no field {name!r}; it has "
                                f"{', '.join(map(repr, list(record)[:8]))}; set ",
                                _COLUMN if name == chosen else Setting("id"),
                            )
                        )
                if ids is not None and id is not None:
                    ids.append(str(record[id]))
                yield record[chosen]

    return Documents(texts(), ids, path.name, 1)


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name}, line {number}: it is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise DataError(f'{path.name}, line {number}: it must be a JSON object, such as {{"text": "…"}}')
    return record


def _longest_value(path: Path, record: dict[str, Any]) -> str:
    lengths = {name: len(value) for name, value in record.items() if isinstance(value, str)}
    if "text" in lengths:
        return "text"
    if not lengths:
        raise DataError(Message(f"{path.name}, line 1 has no text; name the field with ", _COLUMN))
    return max(lengths, key=lambda name: lengths[name])
