"""Columns of whole numbers that are codes of groups, such as 1, 2, 3 for three cultivars."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl

from .column_names import called_label, called_time
from .kinds import column_kind

if TYPE_CHECKING:
    from .table import Table

_LEAST_GROUPS = 3  # of a column without the name of a label: two values may be a yes or no that is measured
_EACH = 5  # rows of each such group at least
_UNEVEN = 4.0  # times the smallest group that the largest may be: counts fall off, groups of a study do not
_OTHERS = 20  # other columns that are looked at


def coded_labels(table: Table, names: Collection[str]) -> dict[str, int]:
    """Return the columns among ``names`` that look like coded labels, with their numbers of different values.

    They are whole numbers of few different values in a column with the name of a label; or, whatever the name, in the
    first or last column, if the codes are 1, 2, 3, … or 0, 1, 2, …, the groups are of similar size, and most other
    columns have fractions. Counts and ratings, 0/1 columns without such a name, and pixels are none.

    >>> from lowland.data.table import Table
    >>> frame = pl.DataFrame({"cultivar": [1, 1, 2, 2, 3, 3], "children": [0, 0, 0, 1, 2, 0], "ash": [2.4] * 6})
    >>> coded_labels(Table(frame, "wine.csv"), frame.columns)
    {'cultivar': 3}
    """
    if getattr(table, "image_shape", None) is not None:
        return {}
    found = {}
    for name in table.names:
        if name not in names or name in table.faults:
            continue
        named, at_the_edge = called_label(name), name in (table.names[0], table.names[-1])
        if not (named or (at_the_edge and not called_time(name))):
            continue
        column = table.column(name)
        kind = column_kind(column)
        if kind.kind != "number" or kind.proposed != "category":
            continue
        if named or (_are_codes(column) and _most_have_fractions(table, name, names)):
            found[name] = column.drop_nulls().n_unique()
    return found


def _are_codes(column: pl.Series) -> bool:
    """Return whether the values are consecutive from 0 or 1, each of a group, and the groups are of similar size."""
    if column.dtype == pl.Boolean:
        return False
    counts = column.cast(pl.Float64).fill_nan(None).drop_nulls().value_counts().sort(column.name)
    values, sizes = counts[column.name].to_list(), counts["count"].to_list()
    if len(values) < _LEAST_GROUPS or values[0] not in (0.0, 1.0):
        return False
    consecutive = values == [values[0] + i for i in range(len(values))]
    return consecutive and min(sizes) >= _EACH and max(sizes) <= _UNEVEN * min(sizes)


def _most_have_fractions(table: Table, name: str, names: Collection[str]) -> bool:
    """Return whether at least half of the other columns, or of some of them, have numbers that are not whole."""
    others = [other for other in table.names if other != name and other in names and other not in table.faults]
    others = others[:: max(1, len(others) // _OTHERS)]
    columns = [column for other in others if (column := table.column(other)).dtype.is_numeric()]
    broken = [column for column in columns if column.dtype.is_float() and _has_fractions(column)]
    return len(columns) > 0 and 2 * len(broken) >= len(columns)


def _has_fractions(column: pl.Series) -> bool:
    values = column.filter(column.is_finite())
    return bool((values != values.round()).any())
