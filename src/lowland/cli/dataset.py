"""`lowland dataset`: write a data set by its name, or list them."""

from __future__ import annotations

import ast
import difflib
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.command_line import command_line
from .answer import Answer, UsageError, note
from .options import OUT, Common
from .progress import progress_bar

if TYPE_CHECKING:
    from ..data.catalogue.dataset import Dataset
    from ..data.table import Table

KEYS = {
    "datasets": "a list (with NAME: of this set only) of name, size, shows, source, licence, kind (bundled, "
    "scikit-learn, generated, fetched), form (table, images, texts, distances), target, aside, parameters, "
    "files (to be downloaded: name, address, checksum)",
    "out": "the file or folder that was written; null for the list",
    "rows": "its number of rows; null for the list",
    "columns": "names of its columns of data",
    "left_out": "columns that the format of the file cannot store",
}

_FIELDS = (
    "name",
    "size",
    "shows",
    "source",
    "licence",
    "kind",
    "form",
    "target",
    "aside",
    "parameters",
)


def dataset(
    name: Annotated[str | None, Parameter(help="Data set to write. Default: list all.")] = None,
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            name=OUT,
            help="Write the set here: .csv, .tsv (also .gz), .parquet, .arrow, .xlsx, .jsonl, .npy or .npz; for images "
            "and texts also a new folder (a name without a suffix). Default: CSV on stdout.",
        ),
    ] = None,
    set: Annotated[
        tuple[str, ...],
        Parameter(
            help="Set a parameter of the data set, as key=value, such as n=500; may be repeated.", show_default=False
        ),
    ] = (),
    common: Common | None = None,
) -> Answer:
    """Write a data set by its name, or list the data sets.

    Labels and true coordinates are columns of the output. Four sets are downloaded once, to LOWLAND_DATA or the cache
    of the system.

    Example: lowland dataset swiss_roll --set n=500 --out roll.csv
    """
    if name is None:
        if out is not None or set:
            raise UsageError("name a data set for --out and --set; `lowland dataset` lists them")
        return _list()
    from ..data.catalogue.loading import find_dataset, load_dataset
    from ..data.catalogue.saving import check_dataset_output, write_dataset

    try:
        row = find_dataset(name)
    except ValueError as error:
        raise UsageError(f"{error.args[0]}") from error
    if common is not None and common.json and out is None:
        raise UsageError("--json prints to stdout, so the data must be written to a file: add --out FILE")
    parameters = _parameters(row, set)
    if out is not None:
        try:
            check_dataset_output(out, row)
        except ValueError as error:
            raise UsageError(f"--out {error.args[0]}") from error
    with progress_bar():
        table = load_dataset(row.name, **parameters)
    if out is None:
        following = command_line("dataset", row.name, set=list(set), out=f"{row.name}.csv")
        return Answer({}, _summary(row, table, parameters), following, rows=_rows(table))
    left_out = write_dataset(out, table, row)
    if left_out:
        note(f"{out.name} stores only numbers; left out: {', '.join(left_out)}. .npz and .csv store them, too")
    return Answer(
        _facts([row], out, table, left_out), f"Wrote {out}. {_summary(row, table, parameters)}", _next(row, table, out)
    )


def _list() -> Answer:
    from rich.table import Table as Listing

    from ..data.catalogue.rows import DATASETS

    listing = Listing(box=None, pad_edge=False, leading=1)
    for heading, ratio in (("name", None), ("size", None), ("what it shows", 5), ("where it comes from", 4)):
        listing.add_column(heading, overflow="fold", no_wrap=ratio is None, ratio=ratio)
    for row in DATASETS:
        listing.add_row(row.name, row.size, row.shows, f"{row.kind}: {row.source}")
    number = Counter(row.kind for row in DATASETS)
    summary = (
        f"There are {len(DATASETS)} data sets: {number['bundled']} are bundled, {number['scikit-learn']} come from "
        f"scikit-learn, {number['generated']} are generated, and {number['fetched']} are downloaded once."
    )
    return Answer(_facts(DATASETS), summary, "lowland dataset iris --out iris.csv", shown=[listing])


def _facts(
    rows: Sequence[Dataset], out: Path | None = None, table: Table | None = None, left_out: Sequence[str] = ()
) -> dict[str, Any]:
    size, columns = (None, []) if table is None else (table.n_rows, table.names)
    described = [_describe(row) for row in rows]
    return {"datasets": described, "out": out, "rows": size, "columns": columns, "left_out": list(left_out)}


def _describe(row: Dataset) -> dict[str, Any]:
    files = [{"name": file.name, "address": file.address, "checksum": file.checksum} for file in row.files]
    return {**{field: getattr(row, field) for field in _FIELDS}, "files": files}


def _parameters(row: Dataset, items: tuple[str, ...]) -> dict[str, Any]:
    """Read ``key=value``: numbers, pairs of numbers such as 40,100, none, else words."""
    values: dict[str, Any] = {}
    for item in items:
        key, separator, text = (part.strip() for part in item.partition("="))
        key = key.replace("-", "_")
        if not separator or not key:
            raise UsageError(f"--set {item}: write it as key=value, such as --set n=500")
        if key not in row.parameters:
            own = ", ".join(f"{known}={_typed(value)}" for known, value in row.parameters.items())
            near = difflib.get_close_matches(key, row.parameters, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            known = f"its parameters are {own}" if own else "it has no parameters"
            raise UsageError(f"--set {key}: {row.name} has no such parameter; {known}.{hint}")
        if key in values:
            raise UsageError(f"--set {key} is given twice")
        try:
            values[key] = None if text.lower() == "none" else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[key] = text
    return values


def _typed(value: Any) -> str:
    """Return a value as it is typed after --set."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _rows(table: Table) -> Any:
    from ..data.arraytable import SparseTable

    if isinstance(table, SparseTable):
        raise UsageError(f"this is a sparse matrix of {table.n_columns:,} columns; write it to a file: add --out X.npz")
    return table.to_polars()


def _summary(row: Dataset, table: Table, given: dict[str, Any]) -> str:
    beside = f", with {', '.join(table.aside.columns)}" if table.aside.width else ""
    own = ", ".join(f"{key}={_typed(value)}" for key, value in {**row.parameters, **given}.items())
    default = f" Parameters: {own}." if own else ""
    size = f"{table.n_rows:,} rows, {table.n_columns:,} columns{beside}"
    return f"{row.name}: {size}. {row.shows}{default} Source: {row.source}."


def _next(row: Dataset, table: Table, out: Path) -> str:
    """Return a command that reduces the written set, with labels and true coordinates kept out of the data."""
    if row.form == "texts" or row.name == "sphere_in_cube":
        return command_line("info", out)
    if row.name == "cities" and table.n_columns == 2:
        return command_line("info", out)
    kept = out.suffix.lower() not in ("", ".npy", ".npz")
    target = row.target if kept else None
    named = [name for name in table.aside.columns if name != target and f"--id {name}" not in row.advice]
    numbers = [name for name in named if table.aside[name].dtype.is_numeric()] if kept else []
    words = command_line("reduce", out, color=target, drop=",".join(numbers) or None)
    return f"{words} {row.advice} --out {shlex.quote(f'{row.name}-map.csv')}"


__all__ = ["KEYS", "dataset"]
