"""In which columns a row is unusual: robust z-scores, |x − median| over the spread of the middle half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse as sp

from ..core.errors import DataError
from ..core.message import Message, Owner
from ..methods.steps.frames import to_frame
from .robust_pca import middle_and_spread

Array = Any

LISTED = 3  # most columns listed for a row
ODD = 3.5  # least z-score of a listed column (Iglewicz and Hoaglin 1993)
_ROUNDING = 1e-13  # medians below this share of the largest value are rounding
_QUARTILES = 1.349  # distance between the quartiles of normal values, in standard deviations
_ENTRIES_AT_ONCE = 1 << 21  # entries of rows compared at a time


class OddColumn(NamedTuple):
    """A column in which a row is unusual: its name, the row's value, the median, and the z-score."""

    column: str
    value: float
    median: float
    z: float

    def __str__(self) -> str:
        return f"{self.column} = {self.value:.4g} (median {self.median:.4g})"


def odd_columns(rows: Array, some: Array, names: Sequence[Any] | None) -> tuple[tuple[OddColumn, ...], ...]:
    """Return, for each row, the columns in which it is most unusual compared with ``some`` rows.

    z = 1.349 |x − median| / (interquartile range), or with the standard deviation if the quartiles are equal; for
    sparse rows, mean and standard deviation. The list is empty if only the combination of values is unusual.

    >>> some = np.random.default_rng(0).standard_normal((100, 3))
    >>> [[odd.column for odd in row] for row in odd_columns(np.array([[0.0, 9.0, -50.0]]), some, ["a", "b", "c"])]
    [['c', 'b']]
    """
    middle, spread, by_quartiles = middle_and_spread(some)
    spread = np.where(by_quartiles, spread / _QUARTILES, spread)
    if not sp.issparse(some) and len(some):  # a median that is only rounding, such as of a column of sums, is 0
        middle = np.where(np.abs(middle) <= _ROUNDING * np.abs(some).max(axis=0), 0.0, middle)
    step = max(1, _ENTRIES_AT_ONCE // max(1, len(middle)))
    found: list[tuple[OddColumn, ...]] = []
    for start in range(0, rows.shape[0], step):
        block = rows[start : start + step]
        X = np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
        away = np.abs(X - middle)
        z = np.divide(away, spread, out=np.where(away > 0, np.inf, 0.0), where=spread > 0)
        order = np.lexsort((-away, -z))[:, :LISTED]
        found += [
            tuple(
                OddColumn(
                    f"column {j}" if names is None else str(names[j]), float(x[j]), float(middle[j]), float(own[j])
                )
                for j in best
                if own[j] >= ODD
            )
            for x, own, best in zip(X, z, order, strict=True)
        ]
    return tuple(found)


def indicators(table: Any, n: int) -> tuple[Array, list[str]]:
    """Return the columns of a table of n rows as numbers: categories as indicators of their levels; and their names.

    >>> import polars as pl
    >>> indicators(pl.DataFrame({"age": [31, 54], "sex": ["f", "m"]}), 2)
    (array([[31.,  1.,  0.],
           [54.,  0.,  1.]]), ['age', 'sex=f', 'sex=m'])
    """
    frame, _ = to_frame(table, "outliers, table")
    if frame.height != n:
        raise DataError(Message(Owner("outliers"), f"table has {frame.height} rows and X {n}; give the rows of X"))
    columns: list[Array] = []
    names: list[str] = []
    for column in frame.get_columns():
        if column.dtype.is_numeric():
            values = column.cast(pl.Float64).to_numpy().copy()
            values[~np.isfinite(values)] = np.nan
            middle = np.nanmedian(values) if np.isfinite(values).any() else 0.0
            columns.append(np.where(np.isnan(values), middle, values))  # a missing value is not unusual
            names.append(column.name)
            continue
        texts = column.cast(pl.String)
        for level in sorted(texts.drop_nulls().unique()):
            columns.append((texts == level).fill_null(False).cast(pl.Float64).to_numpy())
            names.append(f"{column.name}={level}")
    return np.column_stack(columns) if columns else np.empty((n, 0)), names
