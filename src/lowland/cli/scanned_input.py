"""Rows for a command: a table in memory, or one that is read in blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from .answer import UsageError, note
from .column_notes import note_coded_labels_of_scan
from .input import Input
from .inputs import read_input
from .name_lists import split_names
from .options import KeepOptions, TableOptions
from .streaming import opened, too_large


def read_or_scan(path: Path, columns: TableOptions, keep: KeepOptions, *, stream: bool, pairwise: bool) -> Input:
    """Read the rows, or open them for reading in blocks: with ``stream``, or if the table does not fit in memory."""

    def in_blocks() -> Input:
        return scanned(path, columns, keep, pairwise=pairwise)

    if stream:
        return in_blocks()
    found: Any = too_large(lambda: read_input(path, columns, keep, pairwise=pairwise), in_blocks, path)
    assert isinstance(found, Input)
    return found


def scanned(
    path: Path, columns: TableOptions, keep: KeepOptions, *, pairwise: bool, categories: bool | None = None
) -> Input:
    """Open the rows for reading in blocks.

    ``categories``: read the columns of text, too, or cut the table to its numbers; None: what uses the rows decides.
    """
    if pairwise:
        raise UsageError("a precomputed matrix is needed as a whole: leave out --stream, or give rows and a metric")
    types = columns.recipe.column_types()
    if replace(columns.recipe, types=()).needed or set(types.values()) - {"number"}:
        raise UsageError("steps before the method need the table in memory; remove them, or prepare the table first")
    drop = [*(split_names(columns.drop, "--drop") or []), *keep.aside]
    table = opened(path, columns.reading, split_names(columns.columns, "--columns"), drop, types=types)
    left_out = [name for name in table.schema if table.has_names and name not in (table.names or ())]
    if categories:
        left_out = []
    elif left_out and categories is not None:
        table = opened(path, columns.reading, table.names, types=types)  # else the library would code them
    if left_out:
        note(f"left out: {', '.join(f'{name} (not numeric)' for name in left_out)}")
    coded: tuple[str, ...] = ()
    if not columns.columns:
        coded = note_coded_labels_of_scan(table, types, labelled=keep.color is not None)
    shape = (table.count(), table.n_features)
    note(f"{table.source}: {shape[0]:,} rows are read in blocks")
    names = None if keep.id is None else opened(path, columns.reading, [keep.id], id=keep.id)
    reasons = dict.fromkeys(left_out, "not numeric")
    made = Input(table, shape, table.source, table.names, left_out=reasons, id=keep.id, coded=coded)
    return replace(made, scanned=True, id_scan=names)


def scanned_names(given: Input) -> list[str] | None:
    """Return the identifiers of the rows of a table that is read in blocks; None without a column of them."""
    if given.id_scan is None:
        return None
    return ["" if v is None else str(v) for frame in given.id_scan.frames() for v in frame[given.id].to_list()]
