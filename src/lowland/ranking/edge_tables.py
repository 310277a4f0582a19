"""Edges from tables whose columns name the nodes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError, LowlandWarning
from ..core.message import Message, Phrase, Setting
from ..data.table import Table
from .raw_edges import RawEdges

Array = Any


def array_of_rows(rows: Sequence[Any]) -> Array:
    """Return a list of pairs or triples as an array; names keep their types."""
    if any(isinstance(cell, str) for row in rows[:1] for cell in (row if isinstance(row, list | tuple) else ())):
        lengths = {len(row) for row in rows if isinstance(row, list | tuple)}
        if len(lengths) != 1 or not all(isinstance(row, list | tuple) for row in rows):
            raise DataError("the edges must be pairs, or triples with weights, all of one length")
        array = np.empty((len(rows), lengths.pop()), dtype=object)
        array[:] = rows
        return array
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise DataError("the edges must be pairs, or triples with weights, all of one length") from error
    return array if array.size else np.empty((0, 2), dtype=np.int64)


def edges_of_names(array: Array, weighted: bool) -> RawEdges:
    """Return the edges of an array of names; the third column, if any, holds weights."""
    ends = []
    for column in (array[:, 0], array[:, 1]):
        cells = column.tolist()
        missing = [cell is None or (isinstance(cell, float) and np.isnan(cell)) for cell in cells]
        if any(missing):
            row = missing.index(True)
            raise DataError(f"row {row} of the edges has no name; leave the edge out or name the node", row=row)
        ends.append(cells)
    numbers: dict[Any, int] = {}
    for pair in zip(*ends, strict=True):
        for name in pair:
            numbers.setdefault(name, len(numbers))
    source, target = (np.fromiter((numbers[name] for name in cells), np.int32, len(cells)) for cells in ends)
    weights = _numbers_of(array[:, 2]) if array.shape[1] == 3 and weighted else None
    return RawEdges(source, target, weights, len(numbers), list(numbers))


def _numbers_of(column: Array) -> Array:
    try:
        return np.asarray([np.nan if cell is None else cell for cell in column.tolist()], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("the third column of the edges holds weights, and some are not numbers") from error


def read_edges(file: Any, source: str | None, target: str | None, weight: str | bool | None, **options: Any) -> Table:
    """Read a file of edges; the cells of columns that may hold nodes are names, so that ``007`` is not ``7``."""
    from ..data.options import read_options
    from ..data.reading import read
    from ..data.textcolumns import CELL_OPTIONS, retyped

    named = [name for name in (source, target) if name is not None]
    # if they are not named, nodes are in the first two columns that are not the weight
    first: list[int | str] = [] if len(named) == 2 else [0, 1, 2] if isinstance(weight, str) else [0, 1]
    table = read(file, names=(*first, *named), **options)
    if type(table) is not Table or not isinstance(weight, str) or table.column(weight).dtype != pl.String:
        return table
    cells = read_options({name: value for name, value in options.items() if name in CELL_OPTIONS})
    typed = retyped(table.source, replace(table, frame=table.frame.select(weight)), cells, always=True)
    return replace(table, frame=table.frame.with_columns(typed.frame[weight]), faults=typed.faults)


def edges_of_table(table: Table, source: str | None, target: str | None, weight: str | bool | None) -> RawEdges:
    """Return the edges of a table; nodes are numbered in the order of their first edge."""
    columns = _chosen(table, source, target, weight)
    names = [table.column(name) for name in columns[:2]]
    for series in names:
        if series.null_count():
            row = int(series.is_null().arg_max() or 0)
            raise DataError(f"{table.place(row, series.name)} is missing; leave the edge out or name the node", row=row)
    first, second = _same_type(*names)
    both = pl.concat([first.alias("node"), second.alias("node")])
    known = both.unique(maintain_order=True)
    numbered = pl.DataFrame([known]).with_row_index("number")
    numbers = pl.DataFrame([both]).join(numbered, on="node", how="left", maintain_order="left")["number"].to_numpy()
    nodes = np.ascontiguousarray(numbers, dtype=np.int32)
    labels = known.to_list()
    if table.first_line is not None and {*columns[:2]} & {str(label) for label in labels}:
        warnings.warn(
            Message(
                f"{table.source}: its first line was read as names of columns, but {columns[0]!r} or {columns[1]!r} is "
                "also a node; if it is an edge, read the file with ",
                Phrase("header=False", "--no-header"),
            ),
            LowlandWarning,
            stacklevel=5,
        )
    return RawEdges(nodes[: len(first)], nodes[len(first) :], _weights(table, columns[2]), len(labels), labels)


def _chosen(
    table: Table, source: str | None, target: str | None, weight: str | bool | None
) -> tuple[str, str, str | None]:
    """Return the columns of the sources, the targets and the weights."""
    own = weight if isinstance(weight, str) else None
    if source is not None and target is not None:
        return source, target, own
    rest = [name for name in table.names if name not in (source, target, own)]
    if source is not None or target is not None:
        if len(rest) != 1:
            lacking = "target" if target is None else "source"
            raise DataError(Message(f"{table.source}: name the other column of nodes, too, with ", Setting(lacking)))
        return (source or rest[0], target or rest[0], own)
    if len(rest) == 2:
        return rest[0], rest[1], own
    if len(rest) == 3 and own is None and weight is None and table.column(rest[2]).dtype.is_numeric():
        return rest[0], rest[1], rest[2]
    if len(rest) == 3 and weight is False:
        return rest[0], rest[1], None
    if len(rest) == 3 and own is None and weight is None:
        raise DataError(
            Message(
                f"{table.source}: the third column, {rest[2]!r}, contains no numbers, so no weights; ignore it with ",
                Phrase("weight=False", "--weight none"),
                ", or, if the nodes are in other columns, choose them with ",
                Setting("source"),
                " and ",
                Setting("target"),
            )
        )
    if len(table.names) == 1:
        raise DataError(
            Message(
                f"{table.source} has one column ({table.names[0]!r}), and edges have two columns of names; if a space "
                "separates them, say so: ",
                Phrase("lowland.data.read(file, sep=' ')", "--sep space"),
            )
        )
    listed = ", ".join(map(repr, table.names[:8])) + (", …" if len(table.names) > 8 else "")
    raise DataError(
        Message(
            f"{table.source} has {len(table.names)} columns ({listed}); edges have two columns of names and perhaps "
            "one of weights: choose them with ",
            Setting("source"),
            " and ",
            Setting("target"),
        )
    )


def _same_type(first: pl.Series, second: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return two columns of names in one type: numbers beside text become text."""
    if first.dtype == second.dtype:
        return first, second
    if first.dtype.is_integer() and second.dtype.is_integer():
        return first.cast(pl.Int64), second.cast(pl.Int64)
    return _text(first), _text(second)


def _text(series: pl.Series) -> pl.Series:
    if series.dtype.is_float() and bool((series == series.floor()).all()):
        series = series.cast(pl.Int64)  # 7.0 is the node "7"
    return series.cast(pl.String)


def _weights(table: Table, name: str | None) -> Array | None:
    if name is None:
        return None
    if name in table.faults:
        raise DataError(table.faults[name])
    series = table.column(name)
    if not series.dtype.is_numeric():
        raise DataError(f"{table.source}, column {name!r}: weights must be numbers; it contains {series.dtype}")
    values = series.cast(pl.Float64).to_numpy()
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        kind = "is missing" if np.isnan(values[row]) else f"is {values[row]:g}"
        raise DataError(
            f"{table.place(row, name)}: the weight {kind}; weights must be finite and not negative", row=row
        )
    return np.array(values)
