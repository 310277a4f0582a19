"""Check output files before the work starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.formats import IMAGES, READABLE, WRITABLE
from .answer import UsageError

if TYPE_CHECKING:
    import polars as pl


def is_table(path: Path) -> bool:
    """Return whether a file name is that of a table; other files are treated as models."""
    return path.name.lower().endswith(READABLE)


def check_outputs(
    named: Mapping[str, str] | None = None,
    /,
    *,
    out: Path | None = None,
    keep: Path | None = None,
    model: Path | None = None,
    report: Path | None = None,
    figure: Path | None = None,
    inputs: tuple[Path, ...] = (),
    json: bool = False,
) -> None:
    """Raise `UsageError` if an output cannot be written to its place or in its format.

    ``named`` gives the options of a command that are named otherwise than their kinds, such as {"model": "--out"}.
    """
    if json and out is None:
        raise UsageError("--json prints to stdout, so the data must be written to a file: add --out FILE")
    option_of = {kind: f"--{kind}" for kind in ("out", "keep", "model", "report", "figure")} | dict(named or {})
    for option, path in ((option_of["out"], out), (option_of["keep"], keep)):
        if path is not None and not path.name.lower().endswith(WRITABLE):
            raise UsageError(f"{option} {path}: the name must end in one of {', '.join(WRITABLE)}")
    if model is not None and (is_table(model) or model.suffix.lower() in (".html", ".htm")):
        raise UsageError(
            f"{option_of['model']} {model}: this file extension is for tables and reports; use a name such as "
            "model.lowland"
        )
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--report {report}: the name must end in .html")
    taken = {_key(path): str(path) for path in inputs}
    for kind, path in {"out": out, "keep": keep, "model": model, "report": report, "figure": figure}.items():
        option = option_of[kind]
        if path is None:
            continue
        check_place(option, path)
        if _key(path) in taken:
            raise UsageError(f"{option} {path} would overwrite {taken[_key(path)]}; choose another name")
        for folder in inputs:
            if path.is_file() and folder.is_dir() and _is_inside(path, folder):
                raise UsageError(f"{option} {path} would overwrite a file of the folder {folder}; choose another name")
        taken[_key(path)] = f"{option} {path}"


def only_numbers(out: Path | None) -> bool:
    """Return whether a file's format can store only numbers."""
    return out is not None and out.suffix.lower() in (".npy", ".npz")


def check_kept(out: Path | None, ids: pl.Series | None, kept: pl.DataFrame | None, option: str = "--out") -> None:
    """Raise `UsageError` if the file format cannot store the columns to keep."""
    from ..data.table import not_numeric

    if not only_numbers(out):
        return
    columns = [*([] if ids is None else [ids]), *([] if kept is None else kept.get_columns())]
    wrong = [column.name for column in columns if not_numeric(column.dtype) is not None]
    if wrong:
        raise UsageError(
            f"{option} {out} can store only numbers, and these columns are not numeric: {', '.join(wrong)}; "
            "use .csv or .parquet, or do not keep them"
        )


def _key(path: Path) -> str:
    return os.path.realpath(path)


def _is_inside(path: Path, folder: Path) -> bool:
    """Return whether a file is one of those that are read from a folder: tables, texts and images."""
    read = path.name.lower().endswith((*READABLE, *IMAGES))
    return read and Path(_key(path)).is_relative_to(_key(folder))


def check_place(option: str, path: Path) -> None:
    """Raise `UsageError` if the folder of a file does not exist or is not writable."""
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{option} {path}: folder {str(folder)!r} does not exist; create it first")
    if path.is_dir():
        raise UsageError(f"{option} {path} is a folder; give a file name")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option} {path}: folder {str(folder)!r} is not writable")
