"""Inspection of a table: contents, and problems for a reduction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from .long_tails import LongTails, long_tails
from .roles import identifiers, labels
from .squares import missing_pairs, row_numbers
from .table import Table, not_numeric

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Inspection:
    """Findings of `inspect_table`; every mapping holds only the columns that it concerns.

    ``types``: the type of each column. ``missing`` (null or NaN) and ``infinite``: counts. ``dominant``: the
    column that holds most of the variance of all numeric columns except identifiers, with its share (None if there are
    faults);
    ``dominant_pair``: if no single column does, two that do together (see `lowland.core.dominance`).
    ``duplicate_columns``: column → the earlier one it repeats (constant columns excluded). ``duplicate_rows``:
    number of rows that repeat an earlier row, ignoring row numbers. ``non_numeric``: column → its type.
    ``faults``: columns of numbers with text in them, with the place. ``categories``: columns with few
    distinct values, for colours, the likeliest labels first. ``row_numbers``: the first column, if it
    only counts the rows. ``identifiers``: columns that name the rows, the likeliest first.
    ``missing_pairs``: number of missing pairs if the table is a distance matrix, else None. ``skewed``: columns of
    numbers from 0 with a long tail to large values, which logarithms make shorter; ``transform``: the value of the
    option or parameter that takes these logarithms.
    """

    source: str
    n_rows: int
    n_columns: int
    types: dict[str, str]
    missing: dict[str, int]
    infinite: dict[str, int]
    empty: list[str]
    constant: list[str]
    dominant: tuple[str, float] | None
    dominant_pair: tuple[str, str, float] | None
    duplicate_columns: dict[str, str]
    duplicate_rows: int
    non_numeric: dict[str, str]
    faults: dict[str, str]
    categories: dict[str, int]
    row_numbers: str | None
    identifiers: list[str]
    missing_pairs: int | None = None
    skewed: list[str] = field(default_factory=list)
    transform: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain values."""
        return asdict(self)

    @property
    def reducible(self) -> list[str]:
        """The columns of finite numbers that vary, without identifiers."""
        apart = {*self.identifiers, *self.non_numeric, *self.empty, *self.faults, *self.infinite, *self.constant}
        return [name for name in self.types if name not in apart]

    @property
    def tails(self) -> LongTails:
        """The columns with long tails, and what shortens them."""
        return LongTails(self.skewed, self.transform)

    @property
    def dominated(self) -> bool:
        """Whether one or two columns hold most of the variance."""
        return self.dominant is not None or self.dominant_pair is not None


@dataclass(frozen=True)
class MatrixInspection:
    """Findings of `inspect_matrix` on a sparse matrix."""

    source: str
    n_rows: int
    n_columns: int
    stored: int
    density: float
    missing: int
    infinite: int
    empty_rows: int
    empty_columns: int

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Numbers:
    """Statistics of a numeric column; the spread is that of its finite values."""

    missing: int
    infinite: int
    low: float | None
    high: float | None
    std: float

    @property
    def constant(self) -> bool:
        return self.low is not None and self.low == self.high and self.infinite == 0


def inspect_table(table: Table) -> Inspection:
    """Inspect a table: shape, types, missing values, constant, dominant and duplicate columns, duplicate rows.

    Examples
    --------
    >>> table = Table(pl.DataFrame({"a": [1.0, 2.0, None], "b": [1000.0, 0.0, 50.0]}), "small.csv")
    >>> found = inspect_table(table)
    >>> found.missing, found.dominant[0]
    ({'a': 1}, 'b')
    """
    frame = table.frame
    counting = row_numbers(table)
    reasons = {name: "text among numbers" if name in table.faults else table._reason(name) for name in frame.columns}
    numbers = {name: _figures(frame[name]) for name, reason in reasons.items() if reason is None}
    others = {name: reason for name, reason in reasons.items() if reason is not None}
    empty = [name for name, reason in others.items() if reason == "empty"]
    missing = {name: numbers[name].missing if name in numbers else frame[name].null_count() for name in frame.columns}
    constant = [
        name
        for name in frame.columns
        if name not in table.codes  # their last digits may be lost
        and (numbers[name].constant if name in numbers else name not in empty and _one_value(frame[name]))
    ]
    naming = identifiers(table, counting)
    spread = {name: f.std for name, f in numbers.items() if name not in naming}
    tails = long_tails(table, list(spread))
    top, share = _dominant({} if table.faults else spread)  # columns with faults may vary most
    return Inspection(
        source=table.source,
        n_rows=table.n_rows,
        n_columns=table.n_columns,
        types={name: _kind(frame[name].dtype) for name in frame.columns},
        missing={name: count for name, count in missing.items() if count},
        infinite={name: figures.infinite for name, figures in numbers.items() if figures.infinite},
        empty=empty,
        constant=constant,
        dominant=(top[0], share) if len(top) == 1 else None,
        dominant_pair=(top[0], top[1], share) if len(top) == 2 else None,
        duplicate_columns=_duplicate_columns(frame, numbers, {*constant, *empty}),
        duplicate_rows=table.n_rows - (frame if counting is None else frame.drop(counting)).n_unique(),
        non_numeric={name: reason for name, reason in others.items() if reason != "empty" and name not in table.faults},
        faults=dict(table.faults),
        categories=labels(table, {*empty, *naming}),
        row_numbers=counting,
        identifiers=naming,
        missing_pairs=missing_pairs(table),
        skewed=tails.columns,
        transform=tails.transform,
    )


def inspect_matrix(matrix: csr_array[Any], source: str) -> MatrixInspection:
    """Inspect a sparse matrix: shape, density, non-finite values, empty rows and columns."""
    values = np.asarray(matrix.data)
    floating = values.dtype.kind == "f"
    n_rows, n_columns = matrix.shape
    return MatrixInspection(
        source=source,
        n_rows=int(n_rows),
        n_columns=int(n_columns),
        stored=int(matrix.nnz),
        density=float(matrix.nnz / (n_rows * n_columns)),
        missing=int(np.isnan(values).sum()) if floating else 0,
        infinite=int(np.isinf(values).sum()) if floating else 0,
        empty_rows=int(n_rows - np.count_nonzero(np.diff(matrix.indptr))),
        empty_columns=int(n_columns - np.unique(matrix.indices).size),
    )


def _figures(column: pl.Series) -> _Numbers:
    values = column.cast(pl.Float64)
    nan = int(values.is_nan().sum() or 0)
    infinite = int(values.is_infinite().sum() or 0)
    finite = values.filter(values.is_finite()) if nan + infinite + values.null_count() else values
    if len(finite) == 0:
        return _Numbers(values.null_count() + nan, infinite, None, None, 0.0)
    low, high = _float(finite.min()), _float(finite.max())
    std = 0.0
    if low < high:
        size = max(abs(low), abs(high))  # squares of very large or small values would not be finite
        std = size * _float((finite / size).std())
    return _Numbers(values.null_count() + nan, infinite, low, high, std)


def _float(value: Any) -> float:
    return float(value)


def _one_value(column: pl.Series) -> bool:
    return column.drop_nulls().n_unique() == 1


def _dominant(spread: Mapping[str, float]) -> tuple[list[str], float]:
    """Return the columns that hold most of the variance, by the rule of PCA's warning, and their share."""
    from ..core.dominance import dominant_columns

    names = list(spread)
    top = max(spread.values(), default=0.0)
    found = dominant_columns([(s / top) ** 2 for s in spread.values()]) if 0 < top < math.inf else None
    return ([], 0.0) if found is None else ([names[column] for column in found[0]], found[1])


def _duplicate_columns(frame: pl.DataFrame, numbers: Mapping[str, _Numbers], skip: set[str]) -> dict[str, str]:
    """Return the duplicate columns; only columns with equal statistics or first cells are compared in full."""
    groups: dict[Any, list[str]] = {}
    found: dict[str, str] = {}
    for name in (name for name in frame.columns if name not in skip):
        column = frame[name]
        key: Any = numbers.get(name) or (column.dtype, column.null_count(), str(column.head(50).to_list()))
        rivals = groups.setdefault(key, [])
        twin = next((rival for rival in rivals if _same(column, frame[rival], name in numbers)), None)
        if twin is None:
            rivals.append(name)
        else:
            found[name] = twin
    return found


def _same(a: pl.Series, b: pl.Series, numeric: bool) -> bool:
    if numeric:
        a, b = a.cast(pl.Float64).fill_nan(None), b.cast(pl.Float64).fill_nan(None)
    return a.equals(b, null_equal=True)


def _kind(dtype: pl.DataType) -> str:
    other = not_numeric(dtype)
    if other is not None:
        return other
    if dtype == pl.Boolean:
        return "true/false"
    return "whole numbers" if dtype.is_integer() else "numbers"
