"""Several files as one table: their places, and what is said of files that are not read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from ..core.errors import DataError, NoRowsError
from .formats import Format
from .kinds import not_numeric
from .options import OptionError, ReadOptions

File = TypeVar("File")
Part = TypeVar("Part")


def place_of(root: Path, files: Sequence[Path]) -> pl.DataFrame:
    """Return the columns ``file`` and ``folder`` (below the root, empty in it) of files."""
    return pl.DataFrame(
        {
            "file": [file.relative_to(root).as_posix() for file in files],
            "folder": ["" if file.parent == root else file.parent.relative_to(root).as_posix() for file in files],
        }
    )


def check_options(options: ReadOptions, row: Format, name: str) -> None:
    """Raise if an option is set that the format does not take."""
    for option in options.set_options():
        if option not in (*row.options, "format", "names"):
            raise OptionError(name, option, row.name)


def with_rows(files: Sequence[File], read: Callable[[File], Part]) -> tuple[list[File], list[Part], list[str]]:
    """Read the files of one table; return those that have rows, what was read of them, and the errors of the others.

    Programs that write a table in parts leave parts without rows. If no part has rows, the first error is raised.
    """
    found, parts, errors = list[File](), list[Part](), list[NoRowsError]()
    for file in files:
        try:
            parts.append(read(file))
        except NoRowsError as error:
            errors.append(error)
        else:
            found.append(file)
    if not parts:
        raise errors[0]
    return found, parts, [str(error).partition(";")[0] for error in errors]


def empty_note(errors: Sequence[str]) -> tuple[str, ...]:
    """Return a note on files of a table that have no rows.

    >>> empty_note(["b.csv has a header but no rows", "c.npy: shape (0, 2): the table has no rows"])
    ('2 files without rows were left out: b.csv has a header but no rows; …',)
    """
    more = "; …" if len(errors) > 1 else ""
    count = f"{len(errors)} file{'s' * (len(errors) != 1)} without rows {'were' if len(errors) > 1 else 'was'} left out"
    return (f"{count}: {errors[0]}{more}",) if errors else ()


def require_same_kinds(source: str, schemas: Sequence[Mapping[str, pl.DataType]]) -> None:
    """Raise if a column of the files of one table has numbers in one and dates in another; text may hold anything."""
    for name in schemas[0]:
        kinds = {not_numeric(schema[name]) or "numbers" for schema in schemas} - {"empty"}
        if len(kinds) > 1 and "text" not in kinds:
            raise DataError(
                f"{source}, column {name!r}: it contains {' and '.join(sorted(kinds))}; the files of one table must "
                "have columns of the same types"
            )


def unread_note(n_files: int) -> tuple[str, ...]:
    """Return a note on files of other kinds in a folder."""
    return (f"not read: {n_files} file{'s' * (n_files != 1)} of other kinds",) if n_files else ()
