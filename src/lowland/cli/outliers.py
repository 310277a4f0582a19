"""`lowland outliers`: find outliers, explain them, and measure their effect on the principal axes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import name_after
from ..core.errors import DominantColumnWarning, LowlandWarning
from .answer import Answer, UsageError
from .figure_options import MapFigureOptions
from .figures import background_naming, flagged_map, write_figure
from .input import Input, row_names
from .inputs import needs_scale
from .next_commands import SameRows
from .options import COMPONENTS, OUT, Common, DataFile, KeepOptions, RowNames, TableOptions
from .outputs import check_kept, check_outputs
from .preparing import columns_before_mixing
from .reading_options import ReadingOptions
from .running import run
from .scaling import scaled_once
from .scanned_input import read_or_scan, scanned_names
from .square_input import as_distances, warn_of_square
from .stream_options import Stream

if TYPE_CHECKING:
    from ..quality.outliers import Outliers

Neighbors = Annotated[
    int, Parameter(name=("--neighbors", "--quality-neighbors"), help="k of the k-nearest-neighbour distance.")
]
Components = Annotated[
    str,
    Parameter(name=COMPONENTS, help="Number of principal axes for T² and the residual, or auto (parallel analysis)."),
]
Level = Annotated[
    float,
    Parameter(
        help="1 − false-positive rate, between 0.5 and 1: with 0.999, about 1 of 1,000 rows of normal data is flagged."
    ),
]
Metric = Annotated[str, Parameter(help="Distance between rows; precomputed: the table is a distance matrix.")]
Scale = Annotated[bool, Parameter(help="Scale each column to unit variance first.", show_default=False)]
Seed = Annotated[int, Parameter(help="Random seed of the subsample of a large table and of the simulated limits.")]
Measures = Annotated[
    Path | None, Parameter(name=OUT, help="Write the measures of all rows, flagged or not, here: .csv, .parquet, …")
]
Keep = Annotated[Path | None, Parameter(help="Write the table without the flagged rows here: .csv, .parquet, …")]

KEYS = {
    "data": "the file that was read",
    "n_rows": "number of rows",
    "searched": "rows among which nearest neighbours were searched: rows (all, or a random sample), distinct (how many "
    "of them are different; equal rows count once)",
    "rows": "numbers of the flagged rows, counted from 0, most extreme first",
    "names": "names of the flagged rows: from the --id column, or the line or row in the file",
    "reasons": "measures that flagged each of them: distance, t2, spe",
    "columns": "columns in which each of them is unusual: column, value, median, z (robust); null for distances",
    "ranking": "why at most 1 % of the rows are flagged (beyond, drawn, different, sampled); null if the limits are "
    "valid",
    "severity": "largest ratio of a measure of the row to its limit (square roots for t2 and spe)",
    "limits": "the limit of each measure",
    "missing": "measures that are not available, each with the reason",
    "heavy": "measures with heavier tails than normal, each with the number of rows not flagged for that reason",
    "turn": "rotation of the first axis in degrees when the flagged rows are removed; null if it is not distinct",
    "angles": "principal angles between the first axes with and without them, or null",
    "share": "share of the variance on the first axis, or null",
    "share_without": "the same without the flagged rows, or null",
    "n_components": "number of axes for T² and the residual, or null",
    "level": "1 − false-positive rate in normally distributed data",
    "stable": "whether the iterative choice of inliers converged",
    "out": "file with the measures, or null",
    "keep": "table without the flagged rows, or null",
    "figure": "figure file, or null",
}

_SHOWN = 20  # flagged rows in the table on the screen; --out has all


def outliers(
    data: DataFile,
    /,
    *,
    columns: TableOptions | None = None,
    id: RowNames = None,
    neighbors: Neighbors = 10,
    components: Components = "auto",
    scale: Scale = False,
    metric: Metric = "euclidean",
    level: Level = 0.999,
    seed: Seed = 0,
    out: Measures = None,
    keep: Keep = None,
    figure: MapFigureOptions | None = None,
    stream: Stream = False,
    common: Common | None = None,
) -> Answer:
    """Find outliers, explain why each is flagged, and measure their effect on the principal axes.

    A row is flagged if at least one of three measures exceeds its limit: the distance to its k-th nearest
    neighbour, Hotelling's T² along the first principal axes, or the squared residual (SPE) from them. The axes are
    fitted without the outliers. --keep writes the table without the flagged rows, --figure draws a map of all rows
    (PCA, or classical MDS of distances) with the flagged rows marked.

    Example: lowland outliers iris.csv --keep clean.csv
    """
    drawing = figure or MapFigureOptions()
    drawing.check(naming=background_naming(metric == "precomputed"))
    check_outputs(out=out, keep=keep, figure=drawing.figure, inputs=(data,))
    scale, columns = scaled_once(scale, columns or TableOptions())
    columns.recipe.refuse_unseen()
    pairwise = metric == "precomputed"
    given = read_or_scan(data, columns, KeepOptions(id=id), stream=stream, pairwise=pairwise)
    if given.scanned and drawing.figure is not None:
        raise UsageError(
            "--figure draws all rows and needs the table in memory; remove it, or draw a part of the table"
        )
    if keep is not None and (given.table is None or pairwise):
        what = "a distance matrix" if pairwise else "read in blocks" if given.scanned else "a sparse matrix"
        raise UsageError(f"--keep {keep}: {given.source} is {what}; --keep requires a table in memory")
    if keep is not None and given.table is not None:
        check_kept(keep, None, given.table.frame, "--keep")
    work = _work(given, neighbors, components, scale, metric, level, seed)
    square = warn_of_square(given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LowlandWarning)
        found: Outliers = run(work, given)
    for warning in caught:  # shown as usual, and followed by the next command
        warnings.warn(warning.message, stacklevel=2)
    dominated = any(issubclass(warning.category, DominantColumnWarning) for warning in caught)
    if out is not None:
        _write_measures(found, out)
    if keep is not None and given.table is not None:
        from ..data.writing import write_table

        write_table(keep, given.table.frame.filter(~found.mask))
    if drawing.figure is not None:
        write_figure(drawing, run(lambda rows: flagged_map(rows, found, drawing, metric, scale), given))
    facts = {"data": data, **found.to_dict(), "out": out, "keep": keep, "figure": drawing.figure}
    rows = SameRows(data, columns, id, coded=given.coded)
    words = _changed(neighbors=neighbors, components=components, metric=metric, level=level, seed=seed)
    if square is not None:
        following = as_distances(rows, square, "outliers", **words)
    else:
        following = _next(rows, given, found, words, scale=scale, stream=stream, keep=keep, dominated=dominated)
    return Answer(facts, _summary(found, keep), following, shown=_shown(found))


def _next(
    rows: SameRows,
    given: Input,
    found: Outliers,
    words: dict[str, Any],
    *,
    scale: bool,
    stream: bool,
    keep: Path | None,
    dominated: bool,
) -> str:
    """Return the next command: with scaled columns if units differ, one that removes the flagged rows, or a map.

    ``words``: the other options of `outliers` that were given; ``dominated``: a warning says that units may differ.
    """
    if given.pairwise:
        how = {"method": "classical_mds", "set": "metric=precomputed"}
        return rows.command("reduce", first=how, stream=stream, out=name_after(rows.data, "map", ".csv"))
    unscaled = dominated and not (scale or rows.columns.recipe.sets_units)
    if unscaled or needs_scale(given, rows.columns, scale, words.get("metric", "euclidean")):
        return rows.command("outliers", scale=True, stream=stream, **words)
    unclear = found.may_be_a_group or found.ranking is not None  # do not suggest removing such rows
    if len(found) and not unclear and keep is None and given.table is not None:
        return rows.command(
            "outliers", scale=scale, stream=stream, **words, keep=name_after(rows.data, "clean", ".csv")
        )
    if keep is not None:  # written as Lowland writes tables, whatever the form of the data
        rows = replace(rows, data=keep, columns=replace(rows.columns, reading=ReadingOptions()))
    return rows.command("reduce", scale=scale, stream=stream, out=name_after(rows.data, "map", ".csv"))


def _changed(**options: Any) -> dict[str, Any]:
    """Return the options that are not the default."""
    usual = {"neighbors": 10, "components": "auto", "metric": "euclidean", "level": 0.999, "seed": 0}
    return {name: value for name, value in options.items() if value != usual[name]}


def _work(
    given: Input, neighbors: int, components: str, scale: bool, metric: str, level: float, seed: int
) -> Callable[[Any], Outliers]:
    """Return the function to run; raise `UsageError` for invalid parameters before any work."""
    from ..pairs.distances import METRICS
    from ..quality.outliers import check_parameters
    from ..quality.outliers import outliers as find

    count: int | str = int(components) if components.isdecimal() else components
    if metric not in (*METRICS, "precomputed"):
        raise UsageError(f"--metric {metric}: must be one of {', '.join((*METRICS, 'precomputed'))}")
    if seed < 0:
        raise UsageError(f"--seed {seed}: must be 0 or greater")
    try:
        check_parameters(neighbors, count, level, "auto")
    except ValueError as error:
        raise UsageError(error.args[0]) from error

    def work(rows: Any) -> Outliers:
        return find(
            rows.array if metric == "precomputed" else rows,
            neighbors,
            n_components=count,
            level=level,
            metric=metric,
            scale=scale,
            names=scanned_names(given) if given.scanned else row_names(given),
            random_state=seed,
            table=columns_before_mixing(given),
        )

    return work


def _write_measures(found: Outliers, out: Path) -> None:
    """Write the measures of all rows; .npy and .npz files omit the columns of text."""
    import polars as pl

    from ..data.writing import write_table

    frame = found.table(all=True)
    if out.suffix.lower() in (".npy", ".npz"):
        frame = frame.drop("name", "reason").with_columns(pl.col("flagged").cast(pl.Int8))
    write_table(out, frame)


def _shown(found: Outliers) -> list[Grid]:
    from ..quality.outlier_result import odd_words
    from ..quality.outliers import WORDS

    if len(found) == 0:
        return []
    grid = Grid(box=None, pad_edge=False)
    measures = [name for name in WORDS if getattr(found, name) is not None]
    unusual = [] if found.columns is None else ["unusual values"]
    for heading in ("row", "ratio to limit", *measures, "why", *unusual):
        words = heading in ("row", "why", *unusual)
        grid.add_column(heading, justify="left" if words else "right", overflow="fold")
    for place, (i, reasons) in enumerate(list(zip(found.rows, found.reasons, strict=True))[:_SHOWN]):
        values = [f"{getattr(found, name)[i]:.4g}" for name in measures]
        name = str(i) if found.names is None else found.names[i]
        columns = [] if found.columns is None else [odd_words(found.columns[place])]
        why = "; ".join(WORDS[reason] for reason in reasons)
        grid.add_row(name, f"{found.severity[i]:.3g}", *values, why, *columns)
    limits = [f"{found.limits[name]:.4g}" for name in measures]
    grid.add_row(
        "limit",
        "1",
        *limits,
        "" if len(found) <= _SHOWN else f"({len(found) - _SHOWN} more rows; use --out to list all)",
    )
    return [grid]


def _summary(found: Outliers, keep: Path | None) -> str:
    from ..core.formatting import count

    if keep is None:
        return found.sentence
    left = count(len(found.severity) - len(found), "row")
    return f"{found.sentence} Wrote the other {left} to {keep}; {count(len(found), 'row')} removed."
