"""Columns with a long tail to large values, which logarithms shorten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from .table import name_list

if TYPE_CHECKING:
    from .table import Table

_SKEWED = 2.0  # least skewness of a long tail: that of an exponential distribution
_ROWS = 20  # of fewer rows a skewness says little
_ROWS_READ = 10_000  # at most, in equal steps
_VALUES = 10  # fewer different values are codes
_LISTED = 12  # names in a proposal
_ALL = "log1p=all"


@dataclass(frozen=True)
class LongTails:
    """The columns with long tails, and the value of the option or parameter ``transform`` that shortens them.

    ``transform`` is for all columns if half of them or more than 12 have such tails and none is negative, else for
    these columns; None if there are none, or more than 12 beside negative columns.
    """

    columns: list[str]
    transform: str | None

    def shortens(self, name: str) -> bool:
        """Return whether ``transform`` takes the logarithm of a column."""
        return self.transform == _ALL or (self.transform is not None and name in self.columns)


def long_tails(table: Table, names: Sequence[str]) -> LongTails:
    """Return the columns of numbers among ``names`` that start at 0 and have a long tail that logarithms halve.

    Pixels have none, nor have columns that end where most do: brightness and scores have a bound.

    >>> from lowland.data.table import Table
    >>> values = np.random.default_rng(0).normal(25, 3, (50, 3))
    >>> values[:, 0] = np.exp(values[:, 0] / 2)
    >>> frame = pl.DataFrame(values, ["crp", "age", "bmi"])
    >>> long_tails(Table(frame, "lab.csv"), frame.columns)
    LongTails(columns=['crp'], transform='log1p=crp')
    """
    if getattr(table, "image_shape", None) is not None or table.n_rows < _ROWS:
        return LongTails([], None)
    highest, tails = dict[str, float](), list[str]()
    for column in _sampled(table, names):
        values = column.cast(pl.Float64)
        values = values.filter(values.is_finite())
        low, high = values.min(), values.max()
        if not isinstance(low, float) or not isinstance(high, float) or low == high:
            continue
        highest[column.name] = high
        if low >= 0 and _has_tail(values):
            tails.append(column.name)
    bound = next((high for high, n in Counter(highest.values()).most_common(1) if 2 * n > len(highest) > 1), None)
    lowest = _lowest(table, names) if tails else {}
    tails = [name for name in tails if lowest[name] >= 0 and highest[name] != bound]
    if not tails:
        return LongTails([], None)
    if min(lowest.values()) >= 0 and (2 * len(tails) >= len(highest) or len(tails) > _LISTED):
        return LongTails(tails, _ALL)
    return LongTails(tails, f"log1p={name_list(tails)}" if len(tails) <= _LISTED else None)


def _sampled(table: Table, names: Sequence[str]) -> Iterable[pl.Series]:
    """Return the columns, of a long table only rows in equal steps."""
    from .arraytable import ArrayTable

    step = -(-table.n_rows // _ROWS_READ)
    if isinstance(table, ArrayTable) and set(names) <= set(table.names):
        place = {name: j for j, name in enumerate(table.names)}
        rows = np.asfortranarray(table.array[::step][:, [place[name] for name in names]])
        return (pl.Series(name, rows[:, j]) for j, name in enumerate(names))
    return (table.column(name).gather_every(step) for name in names)


def _lowest(table: Table, names: Sequence[str]) -> dict[str, float]:
    """Return the smallest known value of each column, of all rows."""
    from .arraytable import ArrayTable

    if isinstance(table, ArrayTable) and set(names) <= set(table.names):
        known = np.fmin.reduce(table.array, axis=0)
        lowest = dict(zip(table.names, known.tolist(), strict=True))
        return {name: 0.0 if np.isnan(lowest[name]) else float(lowest[name]) for name in names}
    found: dict[str, float] = {}
    for name in names:
        low: Any = table.column(name).cast(pl.Float64).min()
        found[name] = 0.0 if low is None or np.isnan(low) else low
    return found


def _has_tail(values: pl.Series) -> bool:
    """Return whether a column from 0 has a long tail that logarithms halve at least."""
    if len(values) < _ROWS:
        return False
    skew = values.skew()
    if skew is None or not skew > _SKEWED or values.n_unique() < _VALUES:
        return False
    after = (values + 1).log().skew()
    return after is not None and abs(after) < skew / 2
