"""Columns of text in files that know types: the same words, marks and limits as in text files."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from .cleaning import type_columns
from .dialect import Dialect
from .marks import marks_of
from .options import ReadOptions
from .table import Table

CELL_OPTIONS = ("na", "below_limit", "above_limit", "decimal", "thousands")


def retyped(name: str, table: Table, options: ReadOptions, *, always: bool = False) -> Table:
    """Return a table whose columns of text are typed by their cells, if some option for cells is set (or ``always``).

    Without such an option, text in a file that knows types is text.
    """
    if not always and not any(option in options.set_options() for option in CELL_OPTIONS):
        return table
    texts = [column for column, dtype in table.frame.schema.items() if dtype == pl.String]
    if not texts:
        return table
    cells = table.frame.select(texts)
    trimmed = [column.str.strip_chars().drop_nulls() for column in cells.head(1000).get_columns()]
    marks = marks_of(trimmed, options.decimal, options.thousands, "")
    dialect = Dialect("", True, texts, marks=marks)
    columns = [column.to_arrow().cast("string") for column in cells.get_columns()]
    typed = type_columns(dialect, columns[::-1], options)
    lines: dict[int, int] = {}
    return replace(
        table,
        frame=table.frame.with_columns(typed.frame.get_columns()),
        faults={**table.faults, **{problem.name: problem.message(name, lines) for problem in typed.problems}},
        stray={**table.stray, **{problem.name: problem.located(lines) for problem in typed.problems}},
        notes=(*table.notes, *typed.notes),
    )
