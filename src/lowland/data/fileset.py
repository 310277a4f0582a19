"""Several files as one table: their places, and what is said of files that are not read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from .formats import Format
from .options import OptionError, ReadOptions


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
    for option in options.given():
        if option not in (*row.options, "format"):
            raise OptionError(name, option, row.name)


def unread_note(n_files: int) -> tuple[str, ...]:
    """Return a note on files of other kinds in a folder."""
    return (f"not read: {n_files} file{'s' * (n_files != 1)} of other kinds",) if n_files else ()
