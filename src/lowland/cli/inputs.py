"""Read the rows for a model from a file, with row names and columns to keep."""

from __future__ import annotations

import difflib
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import CellError, DataError, DistanceMatrixWarning, LowlandWarning
from ..core.message import Item, Message, Part, parts_of
from .answer import UsageError, note
from .options import ColumnOptions, KeepOptions, split_names

if TYPE_CHECKING:
    import polars as pl

    from ..contract.reducer import Reducer
    from ..data.table import MixedSelection, Selection, Table


_MISSING = {"NaN": "missing value", "a missing category": "missing category"}


@dataclass(frozen=True)
class Input:
    """Rows for a model; a sparse matrix has neither names nor a table. ``id``: the column of row identifiers."""

    rows: Any
    shape: tuple[int, int]
    source: str
    names: list[str] | None = None
    table: Table | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    pairwise: bool = False

    def locate(self, error: ValueError) -> Message:
        """Return the message of an error with its place in the file (line, column name) instead of array indices."""
        if isinstance(error, CellError) and error.row is not None and error.column is not None:
            name = f"x{error.column}" if self.names is None else self.names[error.column]
            place = f"{self.source}, row {error.row}, column {name!r}"
            if self.table is not None:
                place = self.table.place(error.row, name)
            what = _MISSING.get(error.what, f"it contains {error.what.rstrip(',')}")
            return Message(f"{place}: {what}: ", error.advice)
        text = error.args[0] if error.args else ""
        return Message(f"{self.source}: ", *(self._with_name(part) for part in parts_of(text)))

    def _with_name(self, part: str | Part) -> str | Part:
        """Append the name of an object to its number."""
        names = self.labels() if self.pairwise and isinstance(part, Item) else None
        if names is None or not isinstance(part, Item) or part.number >= len(names):
            return part
        return f"{part} ({names[part.number]})"

    def labels(self) -> list[str] | None:
        """Return a name for each row: its identifier, or for a square matrix its column name; None without names."""
        if self.table is None:
            return None
        if self.id is not None:
            return ["" if value is None else str(value) for value in self.table.column(self.id).to_list()]
        return self.names if self.pairwise and _has_names(self.table) else None

    def kept(self, keep: KeepOptions) -> tuple[pl.Series | None, pl.DataFrame | None]:
        """Return the identifier column and the columns to write before the coordinates."""
        if self.table is None:
            return None, None
        ids = None if self.id is None else self.table.column(self.id)
        if keep.keep_columns:
            return ids, self.table.frame
        return ids, None if keep.color is None else self.table.column(keep.color).to_frame()


def read_input(
    path: Path,
    columns: ColumnOptions,
    keep: KeepOptions | Callable[[Sequence[str]], KeepOptions],
    *,
    pairwise: bool = False,
    categories: bool = False,
) -> Input:
    """Read the rows to fit: the numeric columns, or the chosen ones.

    ``keep`` may be a function of the column names; ``pairwise``: the columns must be a square matrix; ``categories``:
    columns of text are used, too.
    """
    from ..data.reading import read_any
    from ..data.table import Table

    chosen, drop = split_names(columns.columns, "--columns"), split_names(columns.drop, "--drop")
    table = read_any(path)
    if callable(keep):
        keep = keep(table.names if isinstance(table, Table) else ())
    if not isinstance(table, Table):
        if chosen or drop or keep.aside or keep.keep_columns:
            raise UsageError(
                f"{path.name} is a sparse matrix without column names: remove "
                "--columns, --drop, --color, --id and --keep-columns"
            )
        return _sparse(table, path)
    for text in table.notes:
        note(text)
    if pairwise:
        return _square(table, chosen, drop or [], keep)
    choose = table.select_mixed if categories and not _only_numbers(table) else table.select
    selection = choose(columns=chosen, drop=drop, keep_aside=keep.aside)
    _note_left_out(selection)
    if chosen is None:
        _warn_of_row_numbers(table, selection)
    return replace(_rows_of(table, selection), id=keep.id)


def _square(table: Table, chosen: list[str] | None, drop: Sequence[str], keep: KeepOptions) -> Input:
    """Read a square matrix of pairwise values; a column equal to the header contains the names of the objects."""
    from ..data.squares import find_square

    found = None
    if chosen is None:
        found = find_square(table, drop, keep.aside, keep.id)
        chosen = None if found is None else found.columns
    id = keep.id if found is None or keep.id is not None else found.id
    aside = [*keep.aside, *([] if id is None else [id])]
    selection = table.select(columns=chosen, drop=drop, keep_aside=aside)
    if len(selection.names) != table.n_rows:
        raise DataError(
            f"{table.source} has {table.n_rows} rows and {len(selection.names)} numeric columns; a precomputed matrix "
            "must be square, with one row and one column for each object"
        )
    if found is not None:
        selection = replace(selection, left_out=found.left_out)
        if found.reordered:
            note(f"the columns were reordered to match the order of the rows in column {found.id}")
    _note_left_out(selection)
    return replace(_dense(table, selection), id=id, pairwise=True)


def read_array(path: Path) -> Any:
    """Read a matrix for a parameter such as weights: the square part of the table if any, else all numeric columns."""
    from ..data.reading import read_table
    from ..data.squares import find_square

    table = read_table(path)
    square = find_square(table)
    return table.select(columns=None if square is None else square.columns).X


def read_for(model: Reducer, path: Path, aside: Sequence[str] = ()) -> Input:
    """Read rows for a fitted model; columns are matched by name if both have names, otherwise by position."""
    from ..data.reading import read_any
    from ..data.table import Selection, Table
    from ..rows.row_source import RowSource

    table = read_any(path)
    if not isinstance(table, Table):
        return _sparse(table, path)
    own = getattr(model, "feature_names_in_", None)
    wanted = default_names(model.n_features_in_) if own is None else [str(name) for name in own]
    if own is not None and _has_names(table):
        _require(table, wanted)
    by_name = set(wanted) <= set(table.names)
    mixed = bool(getattr(model, "categorical_columns_", None)) and not _only_numbers(table)
    choose = table.select_mixed if mixed else table.select
    selection = choose(columns=wanted) if by_name else choose(keep_aside=aside)
    if len(selection.names) != len(wanted):
        kind = "" if mixed else "numeric "
        raise DataError(
            f"{table.source} has {len(selection.names)} {kind}columns; the model was fitted on {len(wanted)}"
        )
    if not isinstance(selection, Selection):
        return replace(_rows_of(table, selection), rows=_mixed(selection.frame, None if own is None else wanted))
    # Columns matched by position get the model's names, because the model checks the names.
    rows = RowSource.from_array(selection.X, names=None if own is None else wanted)
    return replace(_dense(table, selection), rows=rows)


def read_coordinates(model: Reducer, path: Path) -> Input:
    """Read coordinates for an inverse transform: the columns named by the model, or exactly as many columns."""
    from ..data.reading import read_table

    table = read_table(path)
    wanted = [str(name) for name in model.get_feature_names_out()]
    by_name = set(wanted) <= set(table.names)
    selection = table.select(columns=wanted) if by_name else table.select()
    listed = f"{', '.join(wanted[:6])}{' …' if len(wanted) > 6 else ''}"
    if len(selection.names) != len(wanted):
        raise DataError(
            f"{table.source} has {len(selection.names)} numeric columns; the model expects {len(wanted)}: {listed}"
        )
    if not by_name and _has_names(table):
        warnings.warn(
            f"{table.source} has no columns named {listed}; its numeric columns are used as the coordinates, in order",
            LowlandWarning,
            stacklevel=2,
        )
    return replace(_dense(table, selection), rows=selection.X)


def warn_of_square(given: Input) -> None:
    """Warn if a table is a distance matrix and is about to be used as rows."""
    if given.pairwise or given.table is None:
        return
    from ..data.squares import missing_pairs, square_words

    if missing_pairs(given.table) is not None:
        warnings.warn(square_words(given.source), DistanceMatrixWarning, stacklevel=2)


def dominated(given: Input) -> bool:
    """Return whether one or two columns dominate the variance, by the rule of the warnings."""
    import numpy as np

    from ..core.dominance import dominant_columns

    table: Any = getattr(given.rows, "array", None)
    if given.pairwise or not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
        return False
    return dominant_columns(np.var(table, axis=0, dtype=np.float64)) is not None


def row_names(given: Input) -> list[str]:
    """Return a name for each row: its identifier, or its line or row number in the file."""
    labels = given.labels()
    if labels is not None:
        return labels
    first = None if given.table is None else given.table.first_line
    word, start = ("row", 0) if first is None else ("line", first)
    return [f"{word} {start + i}" for i in range(given.shape[0])]


def _note_left_out(selection: Selection | MixedSelection) -> None:
    if selection.left_out:
        left = ", ".join(f"{name} ({reason})" for name, reason in selection.left_out.items())
        note(f"left out: {left}")


def _require(table: Table, wanted: Sequence[str]) -> None:
    """Raise `DataError` if columns are missing; the message lists them with similar names."""
    missing = [name for name in wanted if name not in table.names]
    if missing:
        lost = "a column" if len(missing) == 1 else f"{len(missing)} columns"
        raise DataError(f"{table.source} is missing {lost} that the model requires: {_near(missing, table)}")


def _near(missing: Sequence[str], table: Table) -> str:
    texts = []
    for name in missing[:5]:
        near = difflib.get_close_matches(name, table.names, n=3, cutoff=0.5)
        texts.append(f"{name!r}" + (f" (similar: {', '.join(near)})" if near else ""))
    return ", ".join(texts) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")


def _warn_of_row_numbers(table: Table, selection: Selection | MixedSelection) -> None:
    """Warn if a column of row numbers would be reduced with the other columns."""
    from ..data.squares import row_numbers
    from ..data.table import name_list

    name = row_numbers(table)
    if name is not None and name in selection.names:
        warnings.warn(
            f"{table.source}: column {name!r} contains row numbers and is reduced like the other columns; to exclude "
            f"it, add --drop {shlex.quote(name_list([name]))}",
            LowlandWarning,
            stacklevel=3,
        )


def _dense(table: Table, selection: Selection) -> Input:
    from ..rows.row_source import RowSource

    rows = RowSource.from_array(selection.X, names=selection.names if _has_names(table) else None)
    shape = (table.n_rows, len(selection.names))
    return Input(rows, shape, table.source, selection.names, table, selection.left_out)


def _rows_of(table: Table, selection: Selection | MixedSelection) -> Input:
    """Return the rows of the selected columns: numbers, or a data frame if some are categories."""
    from ..data.table import Selection

    if isinstance(selection, Selection):
        return _dense(table, selection)
    rows = _mixed(selection.frame, selection.names if _has_names(table) else None)
    return Input(rows, selection.frame.shape, table.source, selection.names, table, selection.left_out)


def _mixed(frame: pl.DataFrame, names: Sequence[str] | None) -> Any:
    """Return columns with the names of the model, or an array of cells if there are none."""
    return (
        frame.to_numpy().astype(object) if names is None else frame.rename(dict(zip(frame.columns, names, strict=True)))
    )


def _only_numbers(table: Table) -> bool:
    """Return whether a table is a single array of numbers, without columns of other types."""
    from ..data.table import ArrayTable

    return isinstance(table, ArrayTable)


def _sparse(matrix: Any, path: Path) -> Input:
    return Input(matrix, matrix.shape, path.name)


def default_names(n: int) -> list[str]:
    """Return default names for n unnamed columns."""
    return [f"x{i}" for i in range(n)]


def _has_names(table: Table) -> bool:
    """Return whether the file has column names; otherwise they are the default names."""
    return bool(table.names != default_names(table.n_columns))
