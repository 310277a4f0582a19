"""Run the steps between a table and a method: on the rows of a fit, and again on new rows."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, LowlandWarning
from ..core.message import CountedItem, Message, Setting, parts_of, settings_of
from .answer import UsageError, note
from .column_notes import say_of_columns
from .input import Input, require_columns, row_names, step_for
from .name_lists import split_names
from .other_models import OTHER_MODELS
from .recipe_options import ALL, RecipeOptions
from .running import run
from .stray_cells import naming_info

if TYPE_CHECKING:
    import polars as pl
    from sklearn.pipeline import Pipeline

    from ..data.table import Table
    from ..methods.steps import AlignMap
    from ..report.mixed import MixedColumns
    from .options import KeepOptions, TableOptions

MOSTLY_UNIQUE = "mostly unique text"  # such as a name for each row
_DATE_TYPES = ("date", "dmy", "mdy")
_NAMED = 6  # columns that a message lists


def prepared(
    table: Table,
    method: Any,
    recipe: RecipeOptions,
    keep: KeepOptions,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    *,
    scale: bool = False,
) -> Input:
    """Fit the steps to a table and return the rows that they make, with the fitted steps."""
    steps = recipe.steps(method, scale=scale)
    coded: tuple[str, ...] = ()
    if recipe.texts is not None:
        frame, left_out = chosen_texts(table, keep, columns, drop)
        steps.steps[0][1].set_params(columns=list(frame.columns))
    else:
        famd = recipe.categories is not None or "category" in steps.steps[0][1].kinds
        frame, left_out, coded = _chosen(table, recipe, steps, keep, columns, drop, famd=famd)
    if recipe.missing == "drop-rows":
        table, frame = _without_gaps(table, frame)
    raw = Input(frame, frame.shape, table.source, list(frame.columns), table, left_out, keep.id, coded=coded)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LowlandWarning)
            made = run(steps.fit_transform, raw)
    except DataError as error:
        raise _of_pre(error, recipe.pre) from error.__cause__
    said = _warned_again(caught, raw)
    return replace(_as_rows(made, raw, steps), warnings=list(dict.fromkeys(said)))


def _of_pre(error: DataError, pre: str | None) -> DataError:
    """Return an error of a fit of the steps; the number of components in it is that of --pre, not --components."""
    text = error.args[0] if error.args else ""
    if pre is None or all(setting.name != "n_components" for setting in settings_of(text)):
        return error
    option = f"--pre {shlex.quote(pre)}"
    named = (isinstance(part, Setting) and part.name == "n_components" for part in parts_of(text))
    return DataError(
        Message(*(option if is_count else part for is_count, part in zip(named, parts_of(text), strict=True)))
    )


def unprepared(
    path: Path, columns: TableOptions, keep: KeepOptions, *, scale: bool = False
) -> tuple[Input, pl.DataFrame, Pipeline]:
    """Read the columns for the steps and return them as they are, with the unfitted steps: for cross-validation."""
    from ..data.arraytable import SparseTable

    chosen, drop = split_names(columns.columns, "--columns"), split_names(columns.drop, "--drop")
    table = columns.reading.naming(keep.id).read(path)
    if isinstance(table, SparseTable):
        raise UsageError(f"{path.name} is a sparse matrix, and steps before the method take tables; remove them")
    for text in table.notes:
        note(text)
    steps = columns.recipe.steps(None, scale=scale)
    with naming_info(table, path, columns.reading):
        frame, left_out, coded = _chosen(table, columns.recipe, steps, keep, chosen, drop or ())
    if columns.recipe.missing == "drop-rows":
        table, frame = _without_gaps(table, frame)
    names = list(frame.columns)
    return Input(frame, frame.shape, table.source, names, table, left_out, keep.id, coded=coded), frame, steps


def steps_in_words(steps: Pipeline) -> str:
    """Return what the steps do, such as "missing numbers filled by column means, columns scaled to unit variance"."""
    words = [
        f"{type(step).__name__} of {step.n_components_} components" if name == "pre" else step.describe()
        for name, step in steps.steps
    ]
    return ", ".join(filter(None, words)) or "columns"


def mixed_columns(given: Input) -> MixedColumns | None:
    """Return the columns of the table behind rows that a step has mixed; None if no step has."""
    if given.steps is None or given.table is None:
        return None
    from ..report.mixed import columns_before

    return columns_before(given.steps, given.table.with_aside())


def parts_of_model(model: Any) -> tuple[Pipeline | None, Any, AlignMap | None]:
    """Return the steps of a model, its method, and the alignment after it; None for those it does not have."""
    if (other := OTHER_MODELS.get(type(model).__name__)) is not None:
        raise UsageError(f"this is {other.what}: use `lowland {other.command} MODEL {other.argument}`")
    if not hasattr(model, "steps"):
        return None, model, None
    from ..methods.steps.chain import split_at_method

    return split_at_method(model)


def set_unseen(steps: Pipeline | None, method: Any, unseen: str) -> None:
    """Set what a model does with new levels: by its step for categories, or by its method, such as FAMD."""
    step = None if steps is None else steps.named_steps.get("categories")
    parts = [part for part in (step, method) if part is not None and "unseen" in part.get_params(deep=False)]
    if not parts:
        raise UsageError(f"--unseen {unseen}: the model uses no categories; remove the option")
    fill = None if steps is None else steps.named_steps.get("missing")
    for part in (*parts, *([fill] if hasattr(fill, "unseen") else [])):
        part.set_params(unseen=unseen)


def prepared_again(table: Table, steps: Pipeline) -> Input:
    """Return the rows that fitted steps make of new rows; nothing is fitted."""
    needed = steps.steps[0][1].names_in_
    require_columns(table, needed, filled=_fills(steps))
    for name in needed:
        if name in table.faults:
            raise DataError(table.faults[name])
    frame = table.with_aside()
    raw = Input(frame, frame.shape, table.source, list(frame.columns), table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LowlandWarning)
        made = run(steps.transform, raw)
    _warned_again(caught, raw)
    return _as_rows(made, raw, steps)


def columns_before_mixing(given: Input) -> pl.DataFrame | None:
    """Return the columns before the first step that mixes them, such as FAMD or --pre; None if no step does."""
    from ..methods.steps.origins import origins

    if given.steps is None or given.table is None or given.names is None:
        return None
    traced = origins([step for _, step in given.steps.steps], given.names)
    if traced.from_table and traced.rotation is None:
        return None
    kept = [name for name, _ in given.steps.steps if name in ("columns", "dates", "transform", "missing")]
    if not kept or "texts" in given.steps.named_steps:  # terms are no columns of the table
        return None
    frame = given.table.with_aside()
    raw = replace(given, rows=frame, shape=frame.shape, names=list(frame.columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        made: pl.DataFrame = run(given.steps[: len(kept)].transform, raw)
    return made


def rows_before(given: Input, steps: Pipeline) -> Input:
    """Return the rows that the first of fitted steps made of the same table; what they warn of was said."""
    assert given.table is not None
    frame = given.table.with_aside()
    raw = replace(given, rows=frame, shape=frame.shape, names=list(frame.columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        return _as_rows(run(steps.transform, raw), raw, steps)


def _warned_again(caught: Sequence[warnings.WarningMessage], raw: Input) -> list[str]:
    """Warn again of what was caught, rows by their lines or identifiers; return the texts of Lowland's warnings."""
    said = list[str]()
    for warning in caught:
        made = warning.message
        if not isinstance(made, LowlandWarning):
            warnings.warn(made, stacklevel=3)
            continue
        text = made.args[0]
        if any(isinstance(part, CountedItem) for part in parts_of(text)):
            names, column = row_names(raw), "" if raw.id is None else f"{raw.id} "
            named = (
                f"the text of {column}{names[p.number]}" if isinstance(p, CountedItem) else p for p in parts_of(text)
            )
            text = Message(*named)
        warnings.warn(text, type(made), stacklevel=3)
        said.append(str(text))
    return said


def _fills(steps: Pipeline) -> bool:
    """Return whether fitted steps fill missing values of every column."""
    step = steps.named_steps.get("missing")
    if step is None or step.method == "keep":
        return False
    return step.categories != "error" or "category" not in step.kinds_in_


def _as_rows(made: Any, raw: Input, steps: Pipeline) -> Input:
    """Return what the steps made as rows for a method: one array if all columns are numbers."""
    import numpy as np
    from scipy.sparse import issparse

    from ..rows.row_source import RowSource

    names = [str(name) for name in steps.get_feature_names_out()]
    raw = replace(raw, shape=made.shape, names=names, steps=steps)
    if hasattr(made, "dtypes") and not all(kind.is_numeric() for kind in made.dtypes):
        return replace(raw, rows=made)
    if issparse(made):
        return replace(raw, rows=RowSource.from_array(made, names=names))
    X = np.ascontiguousarray(made)  # a frame, or the coordinates of a method before the method
    if X.dtype.kind != "f":
        X = X.astype(np.float64)
    return replace(raw, rows=RowSource.from_array(X, names=names))


def _chosen(
    table: Table,
    recipe: RecipeOptions,
    steps: Pipeline,
    keep: KeepOptions,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    *,
    famd: bool = False,
) -> tuple[pl.DataFrame, dict[str, str], tuple[str, ...]]:
    """Return the columns for the steps, the others, each with the reason, and the coded labels among the first.

    ``famd``: the method takes categories.
    """
    from ..data.dates import is_ambiguous
    from ..data.table import not_numeric

    typed, named = recipe.column_types(), set(table.aside.columns).intersection(columns or ())
    frame = table.frame.hstack(table.aside.select(sorted(named)).get_columns())
    for name in (*(columns or ()), *drop, *keep.aside, *typed):
        table.column(name)  # an unknown name is an error that lists similar ones
    kinds = set(steps.steps[0][1].kinds)
    left_out: dict[str, str] = {}
    for name, dtype in frame.schema.items():
        what = "dates" if typed.get(name) in _DATE_TYPES else not_numeric(dtype)
        what = {"number": None, "category": "text"}.get(typed.get(name, ""), what)
        wanted = columns is not None and name in columns
        if name in keep.aside:
            left_out[name] = "kept aside"
        elif name in drop or (columns is not None and not wanted):
            left_out[name] = "dropped" if name in drop else "not chosen"
        elif (role := _role(table, name)) is not None and not wanted:
            left_out[name] = role
        elif name in table.faults and name not in typed:
            raise DataError(table.faults[name])
        elif what == "text" and "date" in kinds and name not in typed and is_ambiguous(frame[name].cast(str)):
            left_out[name] = _order_unknown(name)
            if wanted:
                raise DataError(f"{table.source}, column {name!r}: {left_out[name]}")
        elif what == "text" and "category" in kinds:
            if not wanted and name not in typed and 2 * frame[name].n_unique() > frame.height:
                left_out[name] = MOSTLY_UNIQUE
        elif what is not None and not (what == "dates" and "date" in kinds):
            if wanted:
                is_what = "is to be a category" if what == "text" and name in typed else f"contains {what}"
                raise UsageError(f"column {name!r} {is_what}: {step_for(what)}")
            left_out[name] = what
    names = [name for name in (columns or frame.columns) if name not in left_out]
    for option, asked in (
        ("--types", typed),
        ("--transform", [n for some in recipe.functions().values() if some != ALL for n in some]),
    ):
        for name in asked:
            if name not in names:
                table.column(name)
                if typed.get(name) in _DATE_TYPES and "date" not in kinds:
                    raise UsageError(f"{option}: column {name!r} is to be a date: {step_for('dates')}")
                beside = "beside the table unless --columns names it" if name in table.aside.columns else "not chosen"
                why = left_out.get(name, beside)
                if typed.get(name) == "category" and why == "text":
                    raise UsageError(f"{option}: column {name!r} is to be a category: {step_for('text')}")
                raise UsageError(
                    f"{option}: column {name!r} is not reduced ({why}); the reduced columns are {_some(names)}"
                )
    if not names:
        raise DataError(f"{table.source} has no columns to reduce: {_listed(left_out)}")
    shown = {name: why for name, why in left_out.items() if why not in ("kept aside", "dropped", "not chosen")}
    if shown:
        note(f"left out: {_listed(shown)}")
    coded: tuple[str, ...] = ()
    if columns is None:
        coded = say_of_columns(
            table,
            [name for name in names if typed.get(name, "number") == "number"],
            famd=famd,
            tails=not recipe.transform,
            labelled=keep.color is not None,
        )
    return frame.select(names), left_out, coded


def chosen_texts(
    table: Table, keep: KeepOptions, columns: Sequence[str] | None, drop: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the columns of text: --columns, --text, or the only one; and the others, each with the reason."""
    for name in (*(columns or ()), *drop, *keep.aside):
        table.column(name)
    role = table.roles.get("text")
    names = list(columns) if columns else [role] if role else []
    if not names:
        kinds = {name: kind.kind for name, kind in table.kinds().items() if name not in (*keep.aside, *drop)}
        names = [name for name, kind in kinds.items() if kind == "text"] or [
            name for name in kinds if not_text(table.column(name)) is None
        ]
        if len(names) != 1:
            several = f"{len(names)} columns of text ({', '.join(names[:5])})" if names else "no column of text"
            raise UsageError(f"{table.source} has {several}; --texts needs one: name it with --text COLUMN")
    for name in names:
        if (what := not_text(table.column(name))) is not None:
            raise DataError(f"{table.source}, column {name!r}: it contains {what}, not text; name another with --text")
    return table.with_aside().select(names), {
        name: "not chosen" for name in table.frame.columns if name not in (*names, *keep.aside)
    }


def not_text(column: pl.Series) -> str | None:
    """Return what a column contains that is not text, or None."""
    from ..data.table import not_numeric

    kind = not_numeric(column.dtype)
    return None if kind == "text" else (kind or "numbers")


def _order_unknown(name: str) -> str:
    from ..data.table import name_list

    day, month = (shlex.quote(f"{order}={name_list([name])}") for order in ("dmy", "mdy"))
    return f"dates, day or month first: add --types {day} or --types {month}"


def _role(table: Table, name: str) -> str | None:
    return next((f"{role} of the rows" for role, column in table.roles.items() if column == name), None)


def _listed(left_out: dict[str, str]) -> str:
    return ", ".join(f"{name} ({reason})" for name, reason in left_out.items())


def _some(names: list[str]) -> str:
    """Return the first names of a list."""
    return ", ".join(names[:_NAMED]) + (f", … ({len(names):,} in all)" if len(names) > _NAMED else "")


def _without_gaps(table: Table, frame: pl.DataFrame) -> tuple[Table, pl.DataFrame]:
    """Return the rows without missing cells in the chosen columns, and say how many there were."""
    import polars as pl

    from ..data.table import Table

    floats = [name for name, kind in frame.schema.items() if kind.is_float()]
    gaps = frame.with_columns(pl.col(floats).fill_nan(None)) if floats else frame
    whole = ~gaps.select(pl.any_horizontal(pl.all().is_null()).alias("gap"))["gap"]
    if whole.all():
        return table, frame
    if not whole.any():
        raise DataError(f"{table.source}: every row has a missing value; use --missing ppca, median or mean")
    dropped = int((~whole).sum())
    note(f"dropped {dropped:,} of {frame.height:,} rows with missing values; --missing ppca would keep them")
    aside = table.aside.filter(whole) if table.aside.width else table.aside
    kept = Table(
        table.frame.filter(whole), table.source, None, table.faults, table.notes, aside=aside, roles=table.roles
    )
    return kept, frame.filter(whole)
