"""Documents from lists, files, folders, columns of tables and streams."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from ..contract.fit_info import level_of_the_caller
from ..core.errors import DataError, LowlandWarning
from ..core.message import Message, Setting
from ..data.source import Source

_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")


@dataclass
class Documents:
    """Texts that can be read once; ``ids`` has their names, or is None, after they have been read."""

    texts: Iterable[Any]
    ids: list[str] | None = None
    name: str = "the documents"
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
    """Return the documents of a list, an iterator, a column, a table, a file or a folder.

    ``column`` names the column of text (default: the longest), ``id`` a column with the name of each document. A file
    of JSON lines is read line by line.

    >>> list(documents_of(["a wing", None]))
    ['a wing', '']
    """
    if isinstance(source, Documents):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _from_path(source, column, id)
    if isinstance(source, pl.DataFrame | pl.LazyFrame) or (hasattr(source, "columns") and hasattr(source, "iloc")):
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


def _from_path(source: Any, column: str | None, id: str | None) -> Documents:
    text = os.fspath(source)
    try:
        exists = text == "-" or os.path.exists(text) or any(sign in text for sign in "*?[")
    except ValueError:
        exists = False
    if not exists:
        shown = text if len(text) <= 60 else text[:59] + "…"
        raise DataError(f"{shown!r} is no file or folder; documents in memory are a list of texts, such as [text]")
    path = Path(text)
    if path.name.lower().endswith(_LINES) and path.is_file():
        return _from_lines(path, column, id)
    from ..data.reading import read

    return _from_table(read(text), column, id)


def _from_table(table: Any, column: str | None, id: str | None) -> Documents:
    if not hasattr(table, "frame"):
        raise DataError(f"{table.source} contains numbers; an index needs texts")
    name = column or table.roles.get("text") or _longest(table)
    series = table.column(name)
    if series.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise DataError(f"{table.source}, column {name!r}: it contains {series.dtype}, not text")
    if id is None and table.roles.get("text") == "text" and "file" in table.names:
        id = "file"  # of a folder
    ids = None if id is None else ["" if v is None else str(v) for v in table.column(id).to_list()]
    return Documents(series.cast(pl.String), ids, table.source)


def _longest(table: Any) -> str:
    texts = [c for c in table.frame.iter_columns() if c.dtype in (pl.String, pl.Categorical, pl.Enum)]
    if not texts:
        raise DataError(f"{table.source} has no column of texts")
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
                                Setting("text" if name == chosen else "id"),
                            )
                        )
                if ids is not None and id is not None:
                    ids.append(str(record[id]))
                yield record[chosen]

    return Documents(texts(), ids, path.name)


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
        raise DataError(f"{path.name}, line 1 has no text; name the field with column")
    return max(lengths, key=lambda name: lengths[name])
