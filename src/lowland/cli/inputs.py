"""Read the rows for a model from a file, with row names and columns to keep."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, LowlandWarning
from ..core.message import Message
from .answer import UsageError, note
from .column_notes import say_of_columns
from .input import Input, default_names, has_names, require_columns, step_for
from .name_lists import split_names
from .options import KeepOptions, TableOptions
from .reading_options import ReadingOptions
from .recipe_options import RecipeOptions
from .stray_cells import naming_info
from .units import warn_of_units

if TYPE_CHECKING:
    import polars as pl
    from sklearn.pipeline import Pipeline

    from ..contract.reducer import Reducer
    from ..data.arraytable import SparseTable
    from ..data.table import MixedSelection, Selection, Table


def read_input(
    path: Path,
    columns: TableOptions,
    keep: KeepOptions | Callable[[Sequence[str]], KeepOptions],
    *,
    method: Any = None,
    scale: bool = False,
    pairwise: bool = False,
    categories: bool = False,
    id: str | None = None,
) -> Input:
    """Read the rows to fit: the numeric columns, or the chosen ones, as the steps of a recipe make them.

    ``keep`` may be a function of the column names, with ``id`` for that of identifiers; ``method``: the model that the
    steps are for; ``scale``: scale the columns in a step; ``pairwise``: the columns must be a square matrix;
    ``categories``: columns of text are used, too.
    """
    from ..data.arraytable import SparseTable

    needed = columns.recipe.needed or scale
    if needed and pairwise:
        raise UsageError("steps before the method need rows, and a precomputed matrix has none; remove the steps")
    chosen, drop = split_names(columns.columns, "--columns"), split_names(columns.drop, "--drop")
    named = id if callable(keep) else keep.id
    table = columns.reading.naming(named).read(path)
    if callable(keep):
        keep = keep(() if isinstance(table, SparseTable) else table.names)
    if isinstance(table, SparseTable):
        if chosen or drop or keep.aside or keep.shown or keep.keep_columns:
            raise UsageError(
                f"{path.name} is a sparse matrix without column names: remove "
                "--columns, --drop, --color, --id, --hover, --supplementary and --keep-columns"
            )
        if needed:
            raise UsageError(f"{path.name} is a sparse matrix, and steps before the method take tables; remove them")
        return _sparse(table)
    for text in table.notes:
        note(text)
    _warn_of_repeated_ids(table, keep.id)
    with naming_info(table, path, columns.reading):
        return _rows_to_fit(table, columns.recipe, keep, chosen, drop, method, needed, scale, pairwise, categories)


def _rows_to_fit(
    table: Table,
    recipe: RecipeOptions,
    keep: KeepOptions,
    chosen: list[str] | None,
    drop: list[str] | None,
    method: Any,
    needed: bool,
    scale: bool,
    pairwise: bool,
    categories: bool,
) -> Input:
    """Return the rows of a table that was read, as `read_input` describes them; ``needed``: after steps."""
    if pairwise:
        return _square(table, chosen, drop or [], keep)
    if needed:
        from .preparing import prepared

        return prepared(table, method, recipe, keep, chosen, drop or (), scale=scale)
    if chosen is not None and not categories:
        _refuse_text(table, chosen)
    choose = table.select_mixed if categories and not _only_numbers(table) else table.select
    selection = choose(columns=chosen, drop=drop, keep_aside=keep.aside)
    _note_left_out(selection)
    coded: Sequence[str] = ()
    if chosen is None:
        _warn_of_row_numbers(table, selection)
        coded = say_of_columns(table, selection.names, famd=categories, labelled=keep.color is not None)
    excluded = dict.fromkeys(drop or (), "dropped")
    if chosen is not None:
        kept = {*chosen, *keep.aside, *excluded, *selection.left_out}
        excluded |= {name: "not chosen" for name in table.names if name not in kept}
    left_out = {**selection.left_out, **excluded}
    return replace(rows_of(table, selection), id=keep.id, left_out=left_out, coded=coded)


def _warn_of_repeated_ids(table: Table, id: str | None) -> None:
    """Warn if the column of row identifiers has the same value in several rows."""
    if id is None:
        return
    values = table.column(id).drop_nulls()
    different = values.n_unique()
    if different < len(values):
        warnings.warn(
            f"{table.source}: column {id!r} of --id does not identify the rows: {different:,} different values in "
            f"{len(values):,} rows",
            LowlandWarning,
            stacklevel=3,
        )


def _refuse_text(table: Table, chosen: Sequence[str]) -> None:
    """Raise `DataError` for columns of text or dates that were asked for and need a step."""
    from ..data.table import not_numeric

    for name in chosen:
        kind = not_numeric(table.column(name).dtype)
        if kind in ("text", "dates") and name not in table.faults:
            raise DataError(f"{table.source}: column {name!r} contains {kind}; {step_for(kind)}, or leave it out")


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


def read_for(
    model: Reducer,
    path: Path,
    aside: Sequence[str] = (),
    *,
    reading: ReadingOptions | None = None,
    steps: Pipeline | None = None,
    unseen: str | None = None,
    id: str | None = None,
) -> Input:
    """Read rows for a fitted model, after its steps; columns are matched by name where both have names.

    ``id``: the column of identifiers, which are kept as they are written unless the model reduces this column.
    """
    from ..data.arraytable import SparseTable
    from ..data.table import Selection
    from ..rows.row_source import RowSource

    used = getattr(model if steps is None else steps.steps[0][1], "feature_names_in_", None)
    named = None if used is not None and id in list(used) else id
    table = (reading or ReadingOptions()).naming(named).read(path)
    for text in table.notes:
        note(text)
    if unseen is not None:
        from .preparing import set_unseen

        set_unseen(steps, model, unseen)
    if steps is not None:
        from .preparing import prepared_again

        return prepared_again(table, steps)
    if isinstance(table, SparseTable):
        return _sparse(table)
    own = getattr(model, "feature_names_in_", None)
    wanted = default_names(model.n_features_in_) if own is None else [str(name) for name in own]
    if own is not None and has_names(table):
        require_columns(table, wanted)
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
        warn_of_units(model, wanted, selection.frame.get_columns())
        return replace(rows_of(table, selection), rows=_mixed(selection.frame, None if own is None else wanted))
    warn_of_units(model, wanted, selection.X.T)
    # Columns matched by position get the model's names, because the model checks the names.
    rows = RowSource.from_array(selection.X, names=None if own is None else wanted)
    return replace(_dense(table, selection), rows=rows)


def read_coordinates(model: Reducer, path: Path, reading: ReadingOptions | None = None, id: str | None = None) -> Input:
    """Read coordinates for an inverse transform: the columns named by the model, or exactly as many columns."""
    from ..data.arraytable import SparseTable

    table = (reading or ReadingOptions()).naming(id).read(path)
    if isinstance(table, SparseTable):
        raise DataError(f"{path.name} is a sparse matrix; coordinates are a table")
    for text in table.notes:
        note(text)
    wanted = [str(name) for name in model.get_feature_names_out()]
    by_name = set(wanted) <= set(table.names)
    selection = table.select(columns=wanted) if by_name else table.select()
    listed = f"{', '.join(wanted[:6])}{' …' if len(wanted) > 6 else ''}"
    if len(selection.names) != len(wanted):
        raise DataError(
            f"{table.source} has {len(selection.names)} numeric columns; the model expects {len(wanted)}: {listed}"
        )
    if not by_name and has_names(table):
        warnings.warn(
            f"{table.source} has no columns named {listed}; its numeric columns are used as the coordinates, in order",
            LowlandWarning,
            stacklevel=2,
        )
    return replace(_dense(table, selection), rows=selection.X)


def needs_scale(given: Input, columns: TableOptions, scale: bool, metric: str, variances: Any = None) -> bool:
    """Return whether the next command should have --scale: nothing sets the units, and one or two columns dominate.

    This is the rule of `lowland info` and of the warnings. ``variances``: of the columns, where they are known. Metrics
    of angles compare unit rows, whose columns have no units.
    """
    import numpy as np

    from ..core.dominance import dominant_columns

    if scale or columns.recipe.sets_units or given.pairwise or metric in ("cosine", "correlation"):
        return False
    if variances is None:
        table: Any = getattr(given.rows, "array", None)
        if not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
            return False
        variances = np.var(table, axis=0, dtype=np.float64)
    return dominant_columns(variances) is not None


def _note_left_out(selection: Selection | MixedSelection) -> None:
    if selection.left_out:
        left = ", ".join(f"{name} ({reason})" for name, reason in selection.left_out.items())
        note(f"left out: {left}")


def _warn_of_row_numbers(table: Table, selection: Selection | MixedSelection) -> None:
    """Warn if a column of row numbers would be reduced with the other columns."""
    from ..data.squares import row_numbers
    from ..data.table import TEXTS_TO_NUMBERS, name_list

    name = row_numbers(table)
    if selection.names == [name]:
        others = ", ".join(f"{other} ({reason})" for other, reason in selection.left_out.items())
        raise DataError(
            Message(
                f"{table.source} has nothing to reduce: column {name!r} contains row numbers, and the others were left "
                f"out: {others or 'none'}. ",
                *([TEXTS_TO_NUMBERS] if "text" in others else []),
            )
        )
    if name is not None and name in selection.names:
        warnings.warn(
            f"{table.source}: column {name!r} contains row numbers and is reduced like the other columns; to exclude "
            f"it, add --drop {shlex.quote(name_list([name]))}",
            LowlandWarning,
            stacklevel=3,
        )


def _dense(table: Table, selection: Selection) -> Input:
    from ..rows.row_source import RowSource

    rows = RowSource.from_array(selection.X, names=selection.names if has_names(table) else None)
    shape = (table.n_rows, len(selection.names))
    return Input(rows, shape, table.source, selection.names, table, selection.left_out)


def rows_of(table: Table, selection: Selection | MixedSelection) -> Input:
    """Return the rows of the selected columns: numbers, or a data frame if some are categories."""
    from ..data.table import Selection

    if isinstance(selection, Selection):
        return _dense(table, selection)
    rows = _mixed(selection.frame, selection.names if has_names(table) else None)
    return Input(rows, selection.frame.shape, table.source, selection.names, table, selection.left_out)


def _mixed(frame: pl.DataFrame, names: Sequence[str] | None) -> Any:
    """Return columns with the names of the model, or an array of cells if there are none."""
    return (
        frame.to_numpy().astype(object) if names is None else frame.rename(dict(zip(frame.columns, names, strict=True)))
    )


def _only_numbers(table: Table) -> bool:
    """Return whether a table is a single array of numbers, without columns of other types."""
    from ..data.arraytable import ArrayTable

    return isinstance(table, ArrayTable)


def _sparse(table: SparseTable) -> Input:
    return Input(table.matrix, table.matrix.shape, table.source)
