"""Square matrices in tables (distances or kernel values): their columns and the names of their objects."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..core.errors import DistanceMatrixWarning
from ..core.message import Message, Setting
from .arraytable import ArrayTable
from .column_names import called_identifier
from .table import Table

_ROWS_AT_ONCE = 512  # rows, and as many columns, compared at a time


@dataclass(frozen=True)
class NamedSquare:
    """The columns of a square matrix in a table.

    ``left_out`` maps each excluded column to the reason. ``id`` is the column with the same names as the header;
    ``reordered``: the header had another order, and ``columns`` has that of the rows.
    """

    columns: list[str]
    left_out: dict[str, str]
    id: str | None = None
    reordered: bool = False


def find_square(
    table: Table, drop: Sequence[str] = (), keep_aside: Sequence[str] = (), id: str | None = None
) -> NamedSquare | None:
    """Return the square matrix of the numeric columns of a table, or None if they are not as many as the rows.

    If a column (``id``, else the first) has the same names as the header, it names the objects, and columns are put in
    the order of its rows. A first column that only counts the rows is left out.

    Examples
    --------
    >>> frame = pl.DataFrame({"who": ["a", "b"], "b": [3.0, 0.0], "a": [0.0, 3.0]})
    >>> find_square(Table(frame, "small.csv")).columns
    ['a', 'b']
    """
    chosen, left_out = table._choose(None, set(drop), set(keep_aside))
    naming = table.names[0] if id is None else id
    if len(chosen) == table.n_rows + 1:
        first, *others = chosen
        if first == row_numbers(table):
            left_out[first] = "row numbers"
            chosen = others
        elif first == naming and set(_texts(table, first)) == set(others):
            chosen = others
    if len(chosen) != table.n_rows:
        return None
    apart = naming in (*chosen, *drop) or left_out.get(naming) == "row numbers"
    order = [] if apart else _texts(table, naming)
    if set(order) != set(chosen):
        return NamedSquare(chosen, left_out)
    left_out.pop(naming, None)
    return NamedSquare(order, left_out, naming, reordered=order != chosen)


def missing_pairs(table: Table) -> int | None:
    """Return the number of missing pairs of a table that is a distance matrix; None if it is not one.

    A distance matrix is square, symmetric up to rounding, nonnegative and zero on the diagonal, and most of its other
    entries are positive (unlike those of an adjacency matrix).

    >>> missing_pairs(Table(pl.DataFrame({"a": [0.0, 1.0, None], "b": [1, 0, 2], "c": [None, 2.0, 0.0]}), "small.csv"))
    1
    """
    square = None if table.faults or table.n_rows < 3 else find_square(table)
    if square is None:
        return None
    X = table.select(columns=square.columns).X
    n, missing, apart = len(X), 0, 0
    for start in range(0, n, _ROWS_AT_ONCE):
        rows, columns = X[start : start + _ROWS_AT_ONCE], X[:, start : start + _ROWS_AT_ONCE].T
        gap = np.isnan(rows) | np.isnan(columns)
        largest = float(np.max(rows, where=~gap, initial=0.0))
        if not largest < np.inf or (rows < 0).any():
            return None
        slack = 1e-6 * largest
        if (np.abs(rows - columns) > slack).any():  # false for NaN
            return None
        if (np.abs(np.diagonal(rows, start)) > slack).any():
            return None
        missing += int(gap.sum()) - int(np.diagonal(gap, start).sum())
        apart += int((np.where(gap, 0.0, rows) > slack).sum())
    known = n * (n - 1) - missing
    return missing // 2 if 2 * apart > known > 0 else None


PRECOMPUTED = Message("use ", Setting("metric", "precomputed"))


def warn_of_square(items: Any, owner: str, remedy: Message = PRECOMPUTED, *, stacklevel: int = 3) -> None:
    """Warn if a distance matrix is passed as rows."""
    if not hasattr(items, "__array__") or len(items.shape) != 2 or items.shape[0] != items.shape[1]:
        return  # lists, sparse rows and row sources are never distance matrices
    if missing_pairs(ArrayTable(np.asarray(items), owner)) is not None:
        warnings.warn(square_words(owner, remedy), DistanceMatrixWarning, stacklevel=stacklevel)


def square_words(owner: str, remedy: Message = PRECOMPUTED) -> Message:
    """Return the warning that a distance matrix is used as rows.

    >>> square_words("D.npy").split(";")[0]
    'D.npy looks like a distance matrix but is used as a table of rows and columns'
    """
    text = " looks like a distance matrix but is used as a table of rows and columns; if it is one, "
    return Message(owner, text, remedy)


def known_pairs(X: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the mask of the pairs known in both directions."""
    known: NDArray[np.bool_] = ~np.isnan(X)
    return np.logical_and(known, known.T)


def row_numbers(table: Table) -> str | None:
    """Return the first column's name if it counts the rows: from 0 or 1, or from any number if it is named an id.

    >>> row_numbers(Table(pl.DataFrame({"row": [1, 2, 3], "a": [7, 0, 5]}), "small.csv"))
    'row'
    >>> row_numbers(Table(pl.DataFrame({"Customer ID": [1000, 1001, 1002], "a": [7, 0, 5]}), "small.csv"))
    'Customer ID'
    """
    name = table.names[0]
    column = table.column(name)
    if not column.dtype.is_integer() or table.n_columns < 2 or table.n_rows < 3 or column.null_count():
        return None
    counting = (called_identifier(name) or int(column[0]) in (0, 1)) and bool(
        (column.cast(pl.Int64).diff().drop_nulls() == 1).all()
    )
    return name if counting else None


def _texts(table: Table, name: str) -> list[str]:
    return [str(value) for value in table.column(name).to_list()]
