"""Which columns name the rows and which label them, told by their names and by how often their values repeat."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from .table import Table

MOST_LABELS = 20  # different values of a label: as many as pictures have colours
MOST_NUMBERS = 12  # of whole numbers: more of them are drawn as a scale
_LONGEST_NAME = 40  # characters: longer texts are prose, and name no row
_FEWEST_ROWS = 3
_IDENTIFIER = {"id", "ids", "uid", "uuid", "guid", "nr", "no", "num", "number", "index", "idx", "key", "rownames"}
_STRICT = {"id", "ids", "uid", "uuid", "guid"}  # what is called that names something even where some values repeat
_LABEL = {
    *("label", "labels", "class", "classes", "species", "target", "type", "group", "diagnosis", "category", "kind"),
    *("outcome", "cluster", "variety", "cultivar", "genus", "genre", "y"),
}


def last_word(name: str) -> str:
    """Return the last word of a column's name in lower case.

    >>> [last_word(name) for name in ("patient_id", "PatientID", "Customer No.", "grid")]
    ['id', 'id', 'no', 'grid']
    """
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())
    return words[-1] if words else ""


def called_identifier(name: str) -> bool:
    """Tell whether a column is called an identifier: id, patient_id, index, number."""
    return last_word(name) in _IDENTIFIER


def called_label(name: str) -> bool:
    """Tell whether a column is called a label: class, species, blood_type, diagnosis."""
    return last_word(name) in _LABEL


def identifiers(table: Table, counting: str | None) -> list[str]:
    """Return the columns that name the rows, the likeliest first: ``counting`` is the one that only counts them.

    Whole numbers must be called so and differ in every row, or be called an id and differ in most rows: a measurement
    may have different values in all rows, too. Text that differs in every row names the rows whatever it is called.

    >>> frame = pl.DataFrame({"city": ["a", "b", "c"], "patient_id": [907, 13, 422], "age": [51, 48, 60]})
    >>> from lowland.data.table import Table
    >>> identifiers(Table(frame, "small.csv"), None)
    ['patient_id', 'city']
    """
    if table.n_rows < _FEWEST_ROWS or table.n_columns < 2:
        return []
    called: list[str] = []
    others: list[str] = []
    for name in table.names:
        if name == counting or name in table.faults:
            continue
        dtype = table.frame.schema[name]
        text, so_called = dtype == pl.String, called_identifier(name)
        if not text and not (so_called and dtype.is_integer()):
            continue
        column = table.frame[name]
        if column.null_count() or (text and (column.str.len_chars() > _LONGEST_NAME).any()):
            continue
        different = column.n_unique()
        strict = last_word(name) in _STRICT and different > max(MOST_LABELS, table.n_rows // 2)
        if different == table.n_rows or strict:
            (called if so_called else others).append(name)
    return [*called, *([] if counting is None else [counting]), *others]


def labels(table: Table, apart: Collection[str]) -> dict[str, int]:
    """Return the columns that can label the rows, the likeliest first, with the number of their values.

    Text with few different values, and whole numbers or truth values that are called a label. A column that is called
    one comes before others, and one whose every value repeats before one with values that do not.

    >>> frame = pl.DataFrame({"town": list("aabb"), "sex": list("mffm"), "diagnosis": [1, 0, 1, 0]})
    >>> from lowland.data.table import Table
    >>> labels(Table(frame, "small.csv"), ())
    {'diagnosis': 2, 'town': 2, 'sex': 2}
    """
    found: list[tuple[bool, bool, str, int]] = []
    for name in table.names:
        if name in apart or name in table.faults:
            continue
        dtype, named = table.frame.schema[name], called_label(name)
        text = isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))
        if not text and not (named and (dtype.is_integer() or dtype == pl.Boolean)):
            continue
        counts = table.frame[name].drop_nulls().value_counts()["count"]
        if 2 <= len(counts) <= min(MOST_LABELS if text else MOST_NUMBERS, table.n_rows // 2):
            found.append((not named, bool((counts < 2).any()), name, len(counts)))
    found.sort(key=lambda entry: entry[:2])  # stable: equals stay in the order of the file
    return {name: count for *_, name, count in found}
