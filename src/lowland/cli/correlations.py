"""`lowland correlations`: which columns move together, and which can be dropped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table as Grid

from ..core.command_line import name_after
from .answer import Answer, UsageError
from .figure_options import FIGURE, LookOptions, MapFigureOptions
from .figures import draw_with, write_figure
from .inputs import read_input
from .next_commands import SameRows
from .options import COMPONENTS, OUT, Common, DataFile, KeepOptions, RowNames, TableOptions
from .outputs import check_outputs, only_numbers
from .running import run
from .square_input import as_distances, warn_of_square

if TYPE_CHECKING:
    from ..quality.column_groups_result import ColumnGroups

KEYS = {
    "data": "the file that was read",
    "columns": "the columns, without constant ones",
    "n_rows": "number of rows",
    "lost": "share of the variance of the scaled columns lost if near-duplicates are dropped and predicted",
    "components_lost": "the same for as many principal components as columns are kept, or null",
    "chance": "|r| that unrelated columns do not exceed, with a probability of 95 %",
    "threshold": "|r| of a group",
    "duplicate": "|r| of near-duplicates",
    "by_tree": "whether groups are branches of the tree of all pairs (up to 2,000 columns), not columns of one axis",
    "groups": "groups of columns: columns, weights, share, axis, correlation",
    "duplicates": "near-duplicates: column (to drop), kept, correlation",
    "keep": "columns to keep",
    "axes": "correlation of each column with each axis",
    "constant": "constant columns, which are left out",
    "sentence": "the summary",
    "out": "table of columns, or null",
    "figure": "figure file, or null",
}

_ROWS = 20  # groups, near-duplicates and columns of an axis on the screen; --out has all


def correlations(
    data: DataFile,
    /,
    *,
    columns: TableOptions | None = None,
    id: RowNames = None,
    components: Annotated[
        int | None, Parameter(name=COMPONENTS, help="Number of principal axes. Default: 5, or fewer.")
    ] = None,
    threshold: Annotated[float, Parameter(help="Absolute correlation of columns in a group, from 0 to 1.")] = 0.5,
    duplicate: Annotated[float, Parameter(help="Absolute correlation of near-duplicates, from 0 to 1.")] = 0.95,
    out: Annotated[
        Path | None,
        Parameter(
            name=OUT,
            help="Write a table of all columns here, with group, keep or drop, and correlation with each axis: .csv, "
            ".parquet, …",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        Parameter(
            group=FIGURE,
            help="Draw the correlations of columns, correlated ones side by side, to this file: .png, .svg or .pdf.",
        ),
    ] = None,
    look: LookOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Show which columns move together, which are near-duplicates, and how each is correlated with each axis.

    Up to 2,000 columns, all pairs are compared, and groups are branches of their tree; of more, a column belongs to the
    principal axis that it is most correlated with, and the figure shows the 60 columns most correlated with an axis.
    Missing values are an error: fill them with --missing, or leave such rows out with --missing drop-rows.

    Example: lowland correlations lab.csv --missing ppca --figure correlations.png
    """
    from ..quality.column_grouping import column_groups

    drawing = MapFigureOptions(figure, look=look or LookOptions())
    drawing.check()
    check_outputs(out=out, figure=figure, inputs=(data,))
    if only_numbers(out):
        raise UsageError(f"--out {out}: the table contains names of columns; use .csv or .parquet")
    for option, value in (("--threshold", threshold), ("--duplicate", duplicate)):
        if not 0 < value <= 1:
            raise UsageError(f"{option} {value:g}: must be above 0 and at most 1")
    chosen = columns or TableOptions()
    chosen.recipe.refuse_unseen()
    given = read_input(data, chosen, KeepOptions(id=id))
    square = warn_of_square(given, by_map=True)

    def work(rows: Any) -> ColumnGroups:
        from ..graph.neighbors import objects

        table = objects(rows, "euclidean", "column_groups")  # names the cell of a missing value
        return column_groups(
            table, names=given.names, n_components=components, threshold=threshold, duplicate=duplicate
        )

    found: ColumnGroups = run(work, given)
    if out is not None:
        from ..data.writing import write_table

        write_table(out, found.to_frame())
    if figure is not None:
        write_figure(drawing, draw_with(lambda: found.plot().figure, drawing.look))
    facts = {"data": data, **found.to_dict(), "out": out, "figure": figure}
    summary = found.sentence + ("" if figure is None else f" Wrote {figure}.")
    rows = SameRows(data, chosen, id, coded=given.coded)
    following = _next(rows, found) if square is None else as_distances(rows, square)
    return Answer(facts, summary, following, shown=_tables(found))


def _tables(found: ColumnGroups) -> list[Grid]:
    """Return tables of groups, axes and near-duplicates."""
    groups = _grid("group", "columns (− moves against the others)", "axis", "r", "share on one axis")
    for number, group in enumerate(found.groups[:_ROWS], 1):
        cells = (f"{group.correlation:+.2f}", f"{100 * group.share:.0f} %")
        groups.add_row(str(number), group.words(), group.axis, *cells)
    axes = _grid("axis", "columns most correlated with it")
    for number, name in enumerate(found.axis_names):
        axes.add_row(name, ", ".join(f"{column} {r:+.2f}" for column, r in found.axis_columns(number, 6)))
    pairs = _grid("near-duplicate", "keep instead", "r")
    for pair in (found.duplicates or ())[:_ROWS]:
        pairs.add_row(pair.column, pair.kept, f"{pair.correlation:+.3f}")
    left = len(found.duplicates or ()) - _ROWS
    if left > 0:
        pairs.add_row(f"… {left:,} more (--out lists all)", "", "")
    return [grid for grid in (groups, axes, pairs) if grid.row_count]


def _grid(*headings: str) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    for heading in headings:
        words = heading not in ("r", "share on one axis")
        grid.add_column(heading, justify="left" if words else "right", overflow="fold")
    return grid


def _next(rows: SameRows, found: ColumnGroups) -> str:
    """Return a reduction of the scaled columns, without near-duplicates if there are few."""
    dropped = [pair.column for pair in found.duplicates or ()]
    if len(dropped) > _ROWS or rows.columns.columns:
        dropped = []
    first = {"method": "pca", "scale": not rows.columns.recipe.sets_units}  # correlations are those of scaled columns
    out = name_after(rows.data, "map", ".csv")
    return rows.command("reduce", first=first, drop=dropped, out=out)
