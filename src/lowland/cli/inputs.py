"""From a file to the rows that a model takes, with the names and the columns that go along."""

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
from .wording import without_function

if TYPE_CHECKING:
    import polars as pl

    from ..contract.reducer import Reducer
    from ..data.table import MixedSelection, Selection, Table


_MISSING = {"NaN": "missing value", "a missing category": "missing category"}


@dataclass(frozen=True)
class Input:
    """Rows for a model; a sparse matrix has neither names nor a table. ``id``: the column that names the rows."""

    rows: Any
    shape: tuple[int, int]
    source: str
    names: list[str] | None = None
    table: Table | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    pairwise: bool = False

    def locate(self, error: ValueError) -> Message:
        """Say what is wrong and where in the file, as the file counts and not as the library's arrays do."""
        if isinstance(error, CellError) and error.row is not None and error.column is not None:
            name = f"x{error.column}" if self.names is None else self.names[error.column]
            place = f"{self.source}, row {error.row}, column {name!r}"
            if self.table is not None:
                place = self.table.place(error.row, name)
            what = _MISSING.get(error.what, f"it contains {error.what.rstrip(',')}")
            return Message(f"{place}: {what}: ", error.advice)
        text = without_function(error.args[0] if error.args else "")
        return Message(f"{self.source}: ", *(self._named(part) for part in parts_of(text)))

    def _named(self, part: str | Part) -> str | Part:
        """Put the object's name beside its number."""
        names = self.labels() if self.pairwise and isinstance(part, Item) else None
        if names is None or not isinstance(part, Item) or part.number >= len(names):
            return part
        return f"{part} ({names[part.number]})"

    def labels(self) -> list[str] | None:
        """Return a name for each row: the identifier, or of a square the names of its columns; None without names."""
        if self.table is None:
            return None
        if self.id is not None:
            return ["" if value is None else str(value) for value in self.table.column(self.id).to_list()]
        return self.names if self.pairwise and _has_names(self.table) else None

    def kept(self, keep: KeepOptions) -> tuple[pl.Series | None, pl.DataFrame | None]:
        """Return the identifier and the columns that go before the coordinates."""
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
    """Read the rows to fit: the numeric columns, or those that were asked for.

    ``keep`` may depend on the names of the columns; ``pairwise``: they must be a square; ``categories``: columns of
    text are taken, too.
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
    _tell_left_out(selection)
    if chosen is None:
        _warn_of_row_numbers(table, selection)
    return replace(_rows_of(table, selection), id=keep.id)


def _square(table: Table, chosen: list[str] | None, drop: Sequence[str], keep: KeepOptions) -> Input:
    """Read a square of values for pairs; a column that repeats the header names its objects."""
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
    _tell_left_out(selection)
    return replace(_dense(table, selection), id=id, pairwise=True)


def read_array(path: Path) -> Any:
    """Read a matrix that a parameter takes, such as weights: the square of a table that has one, or all its numbers."""
    from ..data.reading import read_table
    from ..data.squares import find_square

    table = read_table(path)
    square = find_square(table)
    return table.select(columns=None if square is None else square.columns).X


def read_for(model: Reducer, path: Path, aside: Sequence[str] = ()) -> Input:
    """Read rows for a fitted model: by column name where both have names, else by position."""
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
    # Rows chosen by position take the model's names, for the model checks them.
    rows = RowSource.from_array(selection.X, names=None if own is None else wanted)
    return replace(_dense(table, selection), rows=rows)


def read_coordinates(model: Reducer, path: Path) -> Input:
    """Read the coordinates that a model can take back: its own column names, or exactly as many columns."""
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
    """Tell whether one column or two hold most of the variance, by the warnings' rule: the next step should scale."""
    import numpy as np

    from ..core.dominance import dominant_columns

    table: Any = getattr(given.rows, "array", None)
    if given.pairwise or not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
        return False
    return dominant_columns(np.var(table, axis=0, dtype=np.float64)) is not None


def row_names(given: Input) -> list[str]:
    """Return what each row is called: its identifier, or its place in the file, as errors about data have it."""
    labels = given.labels()
    if labels is not None:
        return labels
    first = None if given.table is None else given.table.first_line
    word, start = ("row", 0) if first is None else ("line", first)
    return [f"{word} {start + i}" for i in range(given.shape[0])]


def _tell_left_out(selection: Selection | MixedSelection) -> None:
    if selection.left_out:
        left = ", ".join(f"{name} ({reason})" for name, reason in selection.left_out.items())
        note(f"left out: {left}")


def _require(table: Table, wanted: Sequence[str]) -> None:
    """Raise an error that lists all missing columns, each with the near names."""
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
    """Return the rows of a choice of columns: numbers, or a data frame where some are categories."""
    from ..data.table import Selection

    if isinstance(selection, Selection):
        return _dense(table, selection)
    rows = _mixed(selection.frame, selection.names if _has_names(table) else None)
    return Input(rows, selection.frame.shape, table.source, selection.names, table, selection.left_out)


def _mixed(frame: pl.DataFrame, names: Sequence[str] | None) -> Any:
    """Return columns under the names that a model knows, or cells without any."""
    return (
        frame.to_numpy().astype(object) if names is None else frame.rename(dict(zip(frame.columns, names, strict=True)))
    )


def _only_numbers(table: Table) -> bool:
    """Tell whether a table is one array of numbers, which needs no look at its columns."""
    from ..data.table import ArrayTable

    return isinstance(table, ArrayTable)


def _sparse(matrix: Any, path: Path) -> Input:
    return Input(matrix, matrix.shape, path.name)


def default_names(n: int) -> list[str]:
    """Return the names of columns that have none of their own."""
    return [f"x{i}" for i in range(n)]


def _has_names(table: Table) -> bool:
    """Tell whether the columns were named by the file, or by us because the file had no names."""
    return bool(table.names != default_names(table.n_columns))
