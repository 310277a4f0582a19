"""From a file to the rows that a model takes, with the names and the columns that go along."""

from __future__ import annotations

import difflib
import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, LowlandWarning
from .answer import UsageError, note
from .options import ColumnOptions, KeepOptions, split_names

if TYPE_CHECKING:
    import polars as pl

    from ..data.table import Selection, Table
    from ..reducer import Reducer


@dataclass(frozen=True)
class Input:
    """Rows for a model; a sparse matrix has neither names nor a table."""

    rows: Any
    shape: tuple[int, int]
    source: str
    names: list[str] | None = None
    table: Table | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    def locate(self, error: ValueError) -> str:
        """Say what is wrong and where in the file, as the file counts and not as the library's arrays do."""
        row, column, text = getattr(error, "row", None), getattr(error, "column", None), str(error)
        if row is None or column is None:
            return f"{self.source}: {text}"
        name = f"x{column}" if self.names is None else self.names[column]
        for place in (f" at row {row}, column {column} ({name!r})", f" at row {row}, column {column}"):
            text = text.replace(place, "")  # said already, and better
        where = f"{self.source}, row {row}, column {name!r}" if self.table is None else self.table.place(row, name)
        return f"{where}: {text}"

    def kept(self, keep: KeepOptions) -> tuple[pl.Series | None, pl.DataFrame | None]:
        """Return the identifier and the columns that go before the coordinates."""
        if self.table is None:
            return None, None
        ids = None if keep.id is None else self.table.column(keep.id)
        if keep.keep_columns:
            return ids, self.table.frame
        return ids, None if keep.color is None else self.table.column(keep.color).to_frame()


def read_input(path: Path, columns: ColumnOptions, keep: KeepOptions) -> Input:
    """Read the rows to fit: the numeric columns, or those that were asked for."""
    from ..data.reading import read_any
    from ..data.table import Table

    chosen, drop = split_names(columns.columns, "--columns"), split_names(columns.drop, "--drop")
    table = read_any(path)
    if not isinstance(table, Table):
        if chosen or drop or keep.aside or keep.keep_columns:
            raise UsageError(
                f"{path.name} is a sparse matrix: its columns have no names, so leave out "
                "--columns, --drop, --color, --id and --keep-columns"
            )
        return _sparse(table, path)
    for text in table.notes:
        note(text)
    selection = table.select(columns=chosen, drop=drop, keep_aside=keep.aside)
    if selection.left_out:
        left = ", ".join(f"{name} ({reason})" for name, reason in selection.left_out.items())
        note(f"left out: {left}")
    if chosen is None:
        _warn_of_row_numbers(table, selection)
    return _dense(table, selection)


def read_for(model: Reducer, path: Path, aside: Sequence[str] = ()) -> Input:
    """Read rows for a fitted model: by column name where both have names, else by position."""
    from ..data.reading import read_any
    from ..data.table import Table
    from ..rows import RowSource

    table = read_any(path)
    if not isinstance(table, Table):
        return _sparse(table, path)
    own = getattr(model, "feature_names_in_", None)
    wanted = default_names(model.n_features_in_) if own is None else [str(name) for name in own]
    if own is not None and _has_names(table):
        _require(table, wanted)
    by_name = set(wanted) <= set(table.names)
    selection = table.select(columns=wanted) if by_name else table.select(keep_aside=aside)
    if len(selection.names) != len(wanted):
        raise DataError(
            f"{table.source} has {len(selection.names)} numeric columns; the model was fitted on {len(wanted)}"
        )
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
            f"{table.source} has {len(selection.names)} numeric columns; the model takes back {len(wanted)}: {listed}"
        )
    if not by_name and _has_names(table):
        warnings.warn(
            f"{table.source} has no columns named {listed}: its numeric columns are taken for the coordinates, in "
            "their order",
            LowlandWarning,
            stacklevel=2,
        )
    return replace(_dense(table, selection), rows=selection.X)


def _require(table: Table, wanted: Sequence[str]) -> None:
    """Raise an error that lists all missing columns, each with the near names."""
    missing = [name for name in wanted if name not in table.names]
    if missing:
        lost = "a column that" if len(missing) == 1 else f"{len(missing)} columns that"
        raise DataError(f"{table.source} lacks {lost} the model was fitted on: {_near(missing, table)}")


def _near(missing: Sequence[str], table: Table) -> str:
    texts = []
    for name in missing[:5]:
        near = difflib.get_close_matches(name, table.names, n=3, cutoff=0.5)
        texts.append(f"{name!r}" + (f" (near: {', '.join(near)})" if near else ""))
    return ", ".join(texts) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")


def _warn_of_row_numbers(table: Table, selection: Selection) -> None:
    """Speak up where a counter that another program wrote beside the rows would be reduced with them."""
    from ..data.inspection import row_numbers
    from ..data.table import name_list

    name = row_numbers(table)
    if name is not None and name in selection.names:
        warnings.warn(
            f"{table.source}: column {name!r} only counts the rows and is reduced like the others; if it should "
            f"not be, leave it out with --drop {shlex.quote(name_list([name]))}",
            LowlandWarning,
            stacklevel=3,
        )


def _dense(table: Table, selection: Selection) -> Input:
    from ..rows import RowSource

    rows = RowSource.from_array(selection.X, names=selection.names if _has_names(table) else None)
    shape = (table.n_rows, len(selection.names))
    return Input(rows, shape, table.source, selection.names, table, selection.left_out)


def _sparse(matrix: Any, path: Path) -> Input:
    return Input(matrix, matrix.shape, path.name)


def default_names(n: int) -> list[str]:
    """Return the names of columns that have none of their own."""
    return [f"x{i}" for i in range(n)]


def _has_names(table: Table) -> bool:
    """Tell whether the columns were named by the file, or by us because the file had no names."""
    return bool(table.names != default_names(table.n_columns))
