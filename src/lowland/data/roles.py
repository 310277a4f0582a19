"""Detection of identifier and label columns by their names and by how often their values repeat."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl

from .column_names import (
    MAX_INTEGER_LABELS,
    MAX_LABELS,
    MAX_NAMED_LABELS,
    called_identifier,
    called_label,
    called_trait,
    is_label,
    is_row_name,
    last_word,
)

if TYPE_CHECKING:
    from .table import Table

_MAX_NAME_LENGTH = 40  # characters: longer texts are prose, not identifiers
_MIN_ROWS = 3
_STRICT = {"id", "ids", "uid", "uuid", "guid"}  # names of identifiers even if some values repeat


def identifiers(table: Table, counting: str | None) -> list[str]:
    """Return the identifier columns, the likeliest first; ``counting`` is a column that only counts the rows, if any.

    Integers need the name of an identifier and a different value in every row, or the name id and different values in
    most rows: the values of a measurement may all differ, too. Text that differs in every row needs no special name.

    >>> frame = pl.DataFrame({"city": ["a", "b", "c"], "patient_id": [907, 13, 422], "age": [51, 48, 60]})
    >>> from lowland.data.table import Table
    >>> identifiers(Table(frame, "small.csv"), None)
    ['patient_id', 'city']
    """
    if table.n_rows < _MIN_ROWS or table.n_columns < 2:
        return []
    called: list[str] = []
    others: list[str] = []
    for column in table.frame.get_columns():
        name, dtype = column.name, column.dtype
        if name == counting or name in table.faults:
            continue
        if name in table.codes:
            (called if called_identifier(name) else others).append(name)
            continue
        text, so_called = dtype == pl.String, called_identifier(name)
        if not text and not (so_called and dtype.is_integer()):
            continue
        if column.null_count() or (text and (column.str.len_chars() > _MAX_NAME_LENGTH).any()):
            continue
        different = column.n_unique()
        strict = last_word(name) in _STRICT and different > max(MAX_LABELS, table.n_rows // 2)
        if different == table.n_rows or strict:
            (called if so_called and not (text and is_row_name(name)) else others).append(name)
    return [*called, *([] if counting is None else [counting]), *others]


def labels(table: Table, apart: Collection[str]) -> dict[str, int]:
    """Return the label columns, the likeliest first, with their numbers of distinct values.

    They are text with few distinct values, and integers or booleans with the name of a label. Columns whose whole name
    is that of a label come first, then those whose last word is, then columns in which every value repeats; among
    equals, sex or gender comes last.

    >>> frame = pl.DataFrame({"sex": list("mffm"), "town": list("aabb"), "diagnosis": [1, 0, 1, 0]})
    >>> from lowland.data.table import Table
    >>> labels(Table(frame, "small.csv"), ())
    {'diagnosis': 2, 'town': 2, 'sex': 2}
    """
    found: list[tuple[int, bool, bool, str, int]] = []
    for column in table.frame.get_columns():
        name, dtype = column.name, column.dtype
        if name in apart or name in table.faults:
            continue
        named = called_label(name)
        text = isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))
        if not text and not (named and (dtype.is_integer() or dtype == pl.Boolean)):
            continue
        counts = column.drop_nulls().value_counts()["count"]
        most = MAX_INTEGER_LABELS if not text else MAX_NAMED_LABELS if is_label(name) else MAX_LABELS
        if 2 <= len(counts) <= min(most, table.n_rows // 2):
            rank = 2 - named - is_label(name)
            found.append((rank, bool((counts < 2).any()), called_trait(name), name, len(counts)))
    found.sort(key=lambda entry: entry[:3])  # stable: ties keep the order of the file
    return {name: count for *_, name, count in found}
