"""Folders and patterns of file names: images, texts, and the files of one table."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.formatting import first_line
from .fileset import check_options, empty_note, place_of, require_same_kinds, unread_note, with_rows
from .formats import BY_NAME, IMAGES, READABLE
from .options import ReadOptions
from .source import Source
from .table import Table

_GLOB = "*?["


def read_folder(path: Path, options: ReadOptions, read: Callable[..., Table]) -> Table:
    """Read a folder, or the files that a pattern matches: images, texts, or parts of one table, by ``read``."""
    pattern = any(sign in str(path) for sign in _GLOB) and not path.is_dir()
    files = files_matching(path) if pattern else files_inside(path)
    root = _common(files) if pattern else path
    if not files:
        raise DataError(f"{path}: no file matches" if pattern else f"{path}: the folder contains no files")
    names = [file.name.lower() for file in files]
    images = [file for file, name in zip(files, names, strict=True) if name.endswith(IMAGES)]
    texts = [file for file, name in zip(files, names, strict=True) if name.endswith(".txt")]
    tables = [file for file, name in zip(files, names, strict=True) if name.endswith(READABLE)]
    if options.format == "images" or (options.format is None and len(images) > len(tables)):
        from .imagefiles import read_images

        return read_images(root, images or files, options, len(files) - len(images))
    if options.format == "texts" or (options.format is None and texts and len(texts) == len(tables)):
        return _read_texts(root, texts or files, options, len(files) - len(texts))
    parts = files if options.format else tables
    return _read_parts(root, parts, options, len(files) - len(parts), read)


def files_inside(folder: Path) -> list[Path]:
    """Return all files of a folder and its subfolders, without hidden ones and markers such as _SUCCESS."""
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        files += [Path(parent, name) for name in names if not name.startswith((".", "_"))]
    return sorted(files)


def files_matching(path: Path) -> list[Path]:
    """Return the files that a pattern matches, sorted."""
    return sorted(Path(name) for name in glob.glob(str(path), recursive=True) if os.path.isfile(name))


def _common(files: Sequence[Path]) -> Path:
    return Path(os.path.commonpath([file.parent for file in files])) if files else Path()


def text_files(path: Path) -> tuple[Path, list[Path]] | None:
    """Return the folder and the files of a folder or pattern that `read` takes as texts, or None for others."""
    pattern = any(sign in str(path) for sign in _GLOB) and not path.is_dir()
    if not pattern and not path.is_dir():
        return None
    files = files_matching(path) if pattern else files_inside(path)
    texts = [file for file in files if file.name.lower().endswith(".txt")]
    n_tables, n_images = (sum(file.name.lower().endswith(ends) for file in files) for ends in (READABLE, IMAGES))
    if not texts or n_images > n_tables or len(texts) != n_tables:
        return None
    return _common(files) if pattern else path, texts


def read_text(file: Path, encoding: str | None = None) -> str:
    """Return the text of a file."""
    from .encodings import decode, scan_text

    source = Source.of(file)
    content = source.read()
    return decode(source, content, scan_text(source, encoding).encoding) if content else ""


def _read_texts(root: Path, files: Sequence[Path], options: ReadOptions, n_other: int) -> Table:
    check_options(options, BY_NAME["texts"], str(root))
    texts = [read_text(file, options.encoding) for file in files]
    frame = place_of(root, files).with_columns(pl.Series("text", texts))
    return Table(frame, root.name or str(root), notes=unread_note(n_other), roles={"text": "text"})


def _read_parts(
    root: Path, files: Sequence[Path], options: ReadOptions, n_other: int, read: Callable[..., Table]
) -> Table:
    """Read the files of one table, one below another; folders named key=value add columns beside those of the files.

    A key says where a row is filed, so it is kept aside: it is reduced only if it is named.
    """
    if not files:
        raise DataError(f"{root}: the folder contains no images, texts or tables ({', '.join(READABLE)})")
    given = {name: getattr(options, name) for name in options.set_options() if name != "normalize"}
    files, parts, empty = with_rows(files, lambda file: read(file, **given))
    first = parts[0]
    if type(first) is not Table or any(type(part) is not Table for part in parts):
        return _stacked_arrays(root, files, parts, options, empty_note(empty))
    keys = keys_of_files(root, files)
    for file, part in zip(files, parts, strict=True):
        if differ := sorted(({*part.names} ^ {*first.names}).difference(keys)):
            raise _different(file, files[0], differ)
    faults = {name: text for part in reversed(parts) for name, text in part.faults.items()}
    stray = {name: cells for part in reversed(parts) for name, cells in part.stray.items()}
    frames = [part.frame.select(name for name in first.names if name not in keys) for part in parts]
    require_same_kinds(str(root), [frame.schema for frame in frames])
    texts = [name for name in frames[0].columns if any(frame.schema[name] == pl.String for frame in frames)]
    try:
        whole = pl.concat(
            [frame.with_columns(pl.col(texts).cast(pl.String)) for frame in frames], how="vertical_relaxed"
        )
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{root}: the files of one table must have columns of the same types: {first_line(error)}"
        ) from error
    notes = (
        f"read {len(files)} file{'s' * (len(files) != 1)}",
        *dict.fromkeys(note for part in parts for note in part.notes),
        *empty_note(empty),
    )
    notes = (*notes, *key_note(keys), *unread_note(n_other))
    aside = _key_columns(keys, [part.n_rows for part in parts])
    return Table(whole, root.name or str(root), None, faults, notes, stray, aside=aside, roles=first.roles)


def _stacked_arrays(
    root: Path, files: Sequence[Path], parts: Sequence[Table], options: ReadOptions, empty: Sequence[str]
) -> Table:
    from .arraytable import ArrayTable
    from .columns import finished

    arrays = [part.array for part in parts if isinstance(part, ArrayTable)]
    if len(arrays) < len(parts):
        raise DataError(f"{root}: sparse matrices, arrays and tables in one folder cannot be read as one table")
    for file, array in zip(files, arrays, strict=True):
        if array.shape[1] != arrays[0].shape[1]:
            raise DataError(f"{file} has {array.shape[1]} columns and {files[0]} has {arrays[0].shape[1]}")
    asides = [part.aside for part in parts]
    keys = keys_of_files(root, files)
    aside = _key_columns(keys, [part.n_rows for part in parts])
    if all(own.width for own in asides):
        own = pl.concat(asides, how="diagonal_relaxed").drop(keys, strict=False)
        aside = own.hstack(aside.get_columns())
    notes = (f"read {len(files)} file{'s' * (len(files) != 1)}", *empty, *key_note(keys))
    table = ArrayTable(
        np.concatenate(arrays), root.name or str(root), parts[0].names, aside=aside, notes=notes, roles=parts[0].roles
    )
    return finished(table, ReadOptions(normalize=options.normalize))


def folder_keys(root: Path, file: Path) -> dict[str, str]:
    """Return the key=value folders between the root and a file."""
    folders = file.relative_to(root).parts[:-1] if file.is_relative_to(root) else ()
    return dict(folder.split("=", 1) for folder in folders if "=" in folder)


def keys_of_files(root: Path, files: Sequence[Path]) -> dict[str, list[int] | list[str]]:
    """Return the value of each key for each file: whole numbers if all are. A column of that name yields to the key."""
    found = [folder_keys(root, file) for file in files]
    for file, keys in zip(files, found, strict=True):
        if differ := sorted({*keys} ^ {*found[0]}):
            raise _different(file, files[0], differ)
    texts = {key: [keys[key] for keys in found] for key in found[0]}
    return {key: [int(text) for text in own] if all(map(_is_whole, own)) else own for key, own in texts.items()}


def key_note(keys: Collection[str]) -> tuple[str, ...]:
    """Return a note on the keys of folders, which are not reduced.

    >>> print(*key_note(["year", "month"]))
    year, month: keys of the folders, which are not reduced unless they are named; they can colour or name the rows
    """
    rule = "of the folders, which are not reduced unless they are named; they can colour or name the rows"
    return (f"{', '.join(keys)}: keys {rule}",) if keys else ()


def _key_columns(keys: Mapping[str, Sequence[Any]], lengths: Sequence[int]) -> pl.DataFrame:
    """Return the keys as columns; ``lengths`` are the numbers of rows of the files."""
    places = np.repeat(np.arange(len(lengths)), lengths)
    return pl.DataFrame([pl.Series(key, values).gather(places) for key, values in keys.items()])


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal()


def _different(file: Path, first: Path, names: Sequence[str]) -> DataError:
    return DataError(
        f"{file} and {first} have different columns: {', '.join(map(repr, names[:5]))}; the files of one table must "
        "have the same"
    )
