"""`lowland downstream`: what a reduction before a learner costs and saves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import name_after
from .answer import Answer, UsageError, note, warn
from .figure_options import FIGURE, LookOptions, MapFigureOptions
from .figures import draw_with, write_figure
from .input import Input
from .inputs import read_input
from .name_lists import split_counts, split_names
from .next_commands import SameRows
from .options import COMPONENTS, OUT, Common, DataFile, KeepOptions, RowNames, TableOptions
from .outputs import check_outputs, only_numbers
from .running import run
from .wording import in_words

if TYPE_CHECKING:
    from ..quality.downstream_result import Downstream, Trial

KEYS = {
    "data": "the file that was read",
    "target": "the column that is predicted",
    "learner": "the learner, in words",
    "task": "classes or regression",
    "baseline": "score of always naming the largest class, or 0, the r² of the mean",
    "n_rows": "rows used",
    "n_columns": "columns of the learner without a reduction",
    "folds": "number of folds of the cross-validation",
    "tolerance": "a loss that counts as nothing",
    "left_out": "rows without a target",
    "sampled_from": "rows from which --sample drew, or null",
    "everything": "the learner on all columns: k, score and loss (value, low, high; of the loss also error, its "
    "standard error), balanced, classes, folds, seconds (reduce, fit, predict), peak_bytes",
    "trials": "the same for each number of components k of each method; variance: share that PCA keeps; columns: those "
    "selected by the method columns; loses_nothing: whether the loss is at most tolerance plus one standard error, or "
    "null if the learner on all columns is not better than the baseline",
    "smallest": "for each method the smallest k with loses_nothing, or null; empty if the learner on all columns is "
    "not better than the baseline",
    "destroyed": "where PCA keeps the variance and loses the classes: k, kept, score, best, discarded, variance, "
    "sentence; else null",
    "skipped": "methods that failed, each with the reason",
    "sentence": "the summary",
    "out": "table of trials, or null",
    "figure": "figure file, or null",
}


def downstream(
    data: DataFile,
    /,
    *,
    target: Annotated[str, Parameter(help="Column to predict: classes, or numbers (regression, scored by r²).")],
    learner: Annotated[
        Literal["neighbors", "linear", "forest"],
        Parameter(
            help="neighbors (the 10 nearest, which vote as in compare), linear (logistic or linear regression), or "
            "forest (random forest)."
        ),
    ] = "neighbors",
    methods: Annotated[
        str | None,
        Parameter(
            name=("--methods", "-m"),
            help="Methods, separated by commas: those of `lowland methods`, lda, pls, columns (the best by F "
            "statistic). Default: pca,lda,columns,random_projection; for numbers pls instead of lda.",
        ),
    ] = None,
    components: Annotated[
        str | None,
        Parameter(
            name=COMPONENTS,
            help="Numbers of components, separated by commas. Default: up to 64, those with 90 % of the variance, and "
            "a search for the smallest that loses nothing.",
        ),
    ] = None,
    scale: Annotated[bool, Parameter(help="Scale each column to unit variance first.", show_default=False)] = False,
    task: Annotated[
        Literal["auto", "classes", "regression"],
        Parameter(
            help="Kind of target. auto: text, and whole numbers of at most 20 different values, are classes; other "
            "numbers are predicted by regression."
        ),
    ] = "auto",
    folds: Annotated[int, Parameter(help="Number of folds of the cross-validation, at least 3.")] = 10,
    tolerance: Annotated[float, Parameter(help="Loss of accuracy (0 to 1) or r² that counts as nothing.")] = 0.0,
    sample: Annotated[int | None, Parameter(help="Largest number of rows, drawn at random. Default: all.")] = None,
    seed: Annotated[int, Parameter(help="Random seed of folds, sample, methods and learner.")] = 0,
    id: RowNames = None,
    columns: TableOptions | None = None,
    out: Annotated[
        Path | None, Parameter(name=OUT, help="Write the table of all trials here: .csv, .tsv (also .gz), .parquet, …")
    ] = None,
    figure: Annotated[
        Path | None,
        Parameter(group=FIGURE, help="Plot the accuracy against the number of components: .png, .svg or .pdf."),
    ] = None,
    look: LookOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Measure what reducing a table before a learner costs in accuracy and saves in time and memory.

    The learner is cross-validated on all columns and on components of several methods; steps and reductions are fitted
    inside of the folds. Prints the smallest number of components that loses nothing measurable, and says so if PCA
    keeps the variance but destroys the classes.

    Example: lowland downstream wine.csv --target cultivar --scale --figure accuracy.png
    """
    from ..quality.downstream_scores import downstream as measure

    drawing = MapFigureOptions(figure, look=look or LookOptions())
    drawing.check()
    check_outputs(out=out, figure=figure, inputs=(data,))
    if only_numbers(out):
        raise UsageError(f"--out {out}: the table of trials contains text; use .csv or .parquet")
    if seed < 0:
        raise UsageError(f"--seed {seed}: must be 0 or greater")
    chosen = columns or TableOptions()
    given, rows, steps = _read(data, chosen, KeepOptions(id=id, color=target), scale)
    if given.table is None:
        raise UsageError("--target requires a table with column names")
    values = given.table.column(target)
    options = {
        "methods": None if methods is None else split_names([methods], "--methods"),
        "components": None if components is None else split_counts(components, "--components"),
        "steps": steps,
        "task": task,
        "folds": folds,
        "tolerance": tolerance,
        "sample": sample,
        "random_state": seed,
    }
    found: Downstream = run(lambda _: measure(rows, values, learner, **options), given)
    for text in found.warnings:
        warn(in_words(text))
    if found.left_out:
        note(f"{found.left_out:,} rows have no {target} and are left out")
    if found.sampled_from is not None:
        note(f"{found.n_rows:,} rows drawn at random from {found.sampled_from:,}")
    for name, why in found.skipped.items():
        note(f"skipped: {name} ({in_words(why)})")
    if out is not None:
        from ..data.writing import write_table

        write_table(out, found.to_frame())
    if figure is not None:
        write_figure(drawing, draw_with(lambda: found.plot().figure, drawing.look))
    facts = {"data": data, "target": target, **found.to_dict(), "out": out, "figure": figure}
    summary = found.sentence + ("" if figure is None else f" Wrote {figure}.")
    return Answer(
        facts, summary, _next(SameRows(data, chosen, id, target, coded=given.coded), found, scale), shown=[_grid(found)]
    )


def _read(data: Path, columns: TableOptions, keep: KeepOptions, scale: bool) -> tuple[Input, Any, Any]:
    """Return what was read, the rows, and the steps to fit in each fold; None without steps."""
    if not (columns.recipe.needed or scale):
        given = read_input(data, columns, keep)
        return given, given.rows, None
    from .preparing import unprepared

    recipe = columns.recipe
    if recipe.categories is not None and recipe.unseen is None:
        note("categories that only held-out rows have are ignored (--unseen ignore)")
        recipe = replace(recipe, unseen="ignore")
    return unprepared(data, replace(columns, recipe=recipe), keep, scale=scale)


def _grid(found: Downstream) -> Grid:
    """Return a table: all columns, then for each method the smallest that loses nothing and those around it."""
    grid = Grid(box=None, pad_edge=False, collapse_padding=True)
    score = "accuracy" if found.task == "classes" else "r²"
    times = ("reduce s", "fit s", "predict s", "memory")
    for heading in ("method", "components", score, "95 % interval", "loss ± error", *times):
        grid.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=True)
    grid.add_row(*_cells(found.everything, found.everything.title, ""))
    for method in found.methods:
        for trial in found.of(method):
            grid.add_row(*_cells(trial, trial.title, " ←" if trial.k == found.smallest.get(method) else ""))
    more = f" plus {found.tolerance:g}" if found.tolerance else ""
    mark = f"← the smallest with a loss of at most one standard error{more}; " if found.learns else ""
    grid.caption = f"{mark}seconds and memory of one fold"
    grid.caption_justify = "left"
    return grid


def _cells(trial: Trial, title: str, mark: str) -> list[str]:
    from ..core.formatting import format_bytes

    score, loss = trial.score, float(trial.loss)
    seconds = [f"{trial.seconds[stage]:.2g}" for stage in ("reduce", "fit", "predict")]
    lost = f"{round(loss, 3) + 0.0:.3f} ± {trial.error:.3f}{mark or '  '}"
    numbers = [f"{score:.3f}", f"{score.low:.3f} – {score.high:.3f}", lost]
    return [title, f"{trial.k:,}", *numbers, *seconds, format_bytes(trial.peak_bytes)]


def _next(rows: SameRows, found: Downstream, scale: bool) -> str:
    """Return the next command: with scaled columns if one dominates, else the components that lose nothing."""
    if not (scale or rows.columns.recipe.sets_units) and any("of the variance, so" in text for text in found.warnings):
        return rows.command("downstream", scale=True)
    k = found.smallest.get("pca")
    if k is not None and found.destroyed is None:
        first = {"method": "pca", "components": k, "scale": scale}
        return rows.command("reduce", first=first, out=name_after(rows.data, "map", ".csv"))
    if found.task == "classes":
        return rows.command("compare", scale=scale)
    return rows.command("correlations")
