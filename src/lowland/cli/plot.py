"""`lowland plot`: a figure of a saved model, or of a table of coordinates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.command_line import command_line, name_after
from ..data.formats import foreign_table
from .answer import Answer, UsageError
from .figure_kinds import MAP, Rows, colors_rows, needs_rows, possible_kinds
from .figure_options import FIGURE, LookOptions, MapFigureOptions, check_format
from .figures import DrawnMap, draw_kind, write_figure
from .inputs import read_for, read_input
from .judged_map import XColumn, YColumn, map_of
from .next_commands import SameRows
from .options import OUT, Common, KeepOptions, RowNames, TableOptions
from .outputs import check_outputs, is_table
from .preparing import parts_of_model
from .reading_options import ReadingOptions
from .running import run
from .square_input import as_distances, warn_of_square

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..data.table import Table
    from .input import Input

KEYS = {
    "file": "the model file or the table of coordinates",
    "data": "the file of the rows, or null",
    "method": "class of the model; null for a table of coordinates",
    "kind": "kind of figure",
    "kinds": "kinds that are possible for this model or table",
    "axes": "axes of the map that were asked for, or null",
    "out": "file that was written",
}

Drawn = Annotated[
    Path, Parameter(name="MODEL|EMBEDDING", help="Model file, or table of coordinates made by any program.")
]
Data = Annotated[
    Path | None,
    Parameter(help="Table of the rows behind the map. Needed for kinds that show rows, and for a map in colours."),
]


def plot(
    drawn: Drawn,
    data: Data = None,
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(
            name=OUT,
            help="Write the figure here: .png, .svg or .pdf. Default: a .png in this folder, named after the file and "
            "the kind.",
        ),
    ] = None,
    kind: Annotated[
        str,
        Parameter(
            group=FIGURE,
            help="Kind of figure, such as map or biplot; an unknown kind lists the possible ones.",
        ),
    ] = MAP,
    axes: Annotated[
        str | None,
        Parameter(
            group=FIGURE,
            help="Axes of the map to draw, by number, counted from 1, or by the names of their columns: 1,3 or "
            "pca0,pca2; three axes give a 3-D figure. Default: 1,2.",
        ),
    ] = None,
    look: LookOptions | None = None,
    color: Annotated[str | None, Parameter(help="Column that colours the points.")] = None,
    id: RowNames = None,
    x: XColumn = None,
    y: YColumn = None,
    metric: Annotated[str, Parameter(help="Distance between rows, for a table of coordinates.")] = "euclidean",
    columns: TableOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Draw a figure of a saved model, or of a table of coordinates.

    A model that contains its map is drawn without DATA; with DATA the map is that of these rows. A table of coordinates
    can be drawn as map, and with DATA also as quality_map, shepard and rnx.

    Example: lowland plot iris.lowland iris.csv --kind biplot --out biplot.png
    """
    look, chosen = look or LookOptions(), columns or TableOptions()
    chosen.recipe.refuse_unseen()
    if out is None:
        out = _free_name(drawn, kind)
    check_format("--out", out)
    look.check()
    MapFigureOptions(out, axes=axes).check()
    check_outputs({"figure": "--out"}, figure=out, inputs=(drawn,) if data is None else (drawn, data))
    shape = (kind, axes, look)
    method, square = None, None
    if is_table(drawn) or foreign_table(drawn) is not None:
        figure, source, square = _of_table(drawn, data, shape, (x, y), color, id, metric, chosen)
    else:
        if x is not None or y is not None:
            raise UsageError("--x and --y name columns of a table of coordinates; a model has axes: use --axes")
        if chosen.columns or chosen.drop or chosen.recipe.needed or metric != "euclidean":
            raise UsageError(
                "--columns, --drop, --metric and steps are for the rows behind a table of coordinates; a model has its "
                "own: remove them"
            )
        figure, source, method = _of_model(drawn, data, shape, color, id, chosen.reading)
    write_figure(MapFigureOptions(out, look=look), figure)
    kinds = possible_kinds(source)
    facts = {"file": drawn, "data": data, "method": method, "kind": kind, "kinds": kinds, "axes": axes, "out": out}
    others = [name for name in kinds if name != kind]
    summary = f"Wrote {out}: {kind} of {drawn.name}." + (f" Other kinds: {', '.join(others)}." if others else "")
    files = (drawn,) if data is None else (drawn, data)
    other = next((name for name in others if data is not None or not needs_rows(source, name)), None)
    words = {**chosen.words(), "id": id, "x": x, "y": y, "metric": None if metric == "euclidean" else metric}
    if square is not None:
        rows = SameRows(data if square and data else drawn, chosen, id, color if colors_rows(kind) else None)
        same = {"kind": kind, "x": x, "y": y, **look.words(), "out": out}
        following = as_distances(rows, square, "plot", *files[1:], **same)
    elif other is not None:
        words |= {"color": color if colors_rows(other) else None, **look.words()}
        words |= {"out": name_after(drawn, other, out.suffix)}
        following = command_line("plot", *files, kind=other, **words)
    elif method is None:
        following = command_line("evaluate", "DATA.csv", drawn, **words)
    else:
        following = command_line("info", drawn)
    return Answer(facts, summary, following)


def _free_name(drawn: Path, kind: str) -> Path:
    """Return the default name of the figure; an existing file is replaced only if it is named."""
    out = Path(name_after(drawn, kind, ".png"))
    if out.exists():
        raise UsageError(f"{out} exists already: name the figure, or this file to replace it, with --out")
    return out


_MOST_AXES = 3  # of a figure
Shape = tuple[str, str | None, LookOptions]  # kind, axes, look


def _of_model(
    path: Path, data: Path | None, shape: Shape, color: str | None, id: str | None, reading: ReadingOptions
) -> tuple[Figure, Any, str]:
    """Draw a figure of a saved model."""
    from ..contract.axis_names import axis_labels
    from ..modelfile import load
    from ..report.facts import has_meaningful_axes

    steps, fitted, after = parts_of_model(load(path))
    kind, axes, look = shape
    _check_kind(kind, fitted, color)
    aside = [name for name in (id, color) if name is not None]
    if data is None and kind != MAP and needs_rows(fitted, kind):
        example = command_line("plot", path, "DATA.csv", kind=kind)
        raise UsageError(
            f"--kind {kind} is drawn from the rows of the fit: give their table after the model: {example}"
        )
    if data is None and aside:
        raise UsageError(f"{'--color' if color else '--id'} names a column of the rows: give DATA after MODEL")
    given = None if data is None else replace(read_for(fitted, data, aside, reading=reading, steps=steps, id=id), id=id)
    has_axes = after is None and has_meaningful_axes(fitted)
    known = getattr(fitted, "embedding_", None)
    embedding = known if given is None else run(fitted.transform, given)
    if embedding is None and kind == MAP:
        raise UsageError(_without_map(path, fitted))
    embedding = embedding if after is None or embedding is None else after.transform(embedding)
    drawn = DrawnMap(
        embedding,
        [str(name) for name in fitted.get_feature_names_out()],
        axis_labels(fitted, shares=after is None),
        _column(given, color),
        color,
        None if given is None else given.labels(),
        meaningful=has_axes,
    )

    def work(rows: Any) -> Figure:
        return draw_kind(drawn, kind, axes, look, model=fitted, rows=rows, option="--kind")

    return (work(None) if given is None else run(work, given)), fitted, type(fitted).__name__


def _without_map(path: Path, fitted: Any) -> str:
    """Return why a model cannot be drawn as a map without rows, and what can be drawn."""
    text = f"{path.name} does not contain its map: give the table of the rows after the model: "
    text += command_line("plot", path, "DATA.csv")
    others = [name for name in possible_kinds(fitted) if name != MAP and not needs_rows(fitted, name)]
    return text + (f"; without rows: --kind {', '.join(others)}" if others else "")


def _of_table(
    path: Path,
    data: Path | None,
    shape: Shape,
    named: tuple[str | None, str | None],
    color: str | None,
    id: str | None,
    metric: str,
    columns: TableOptions,
) -> tuple[Figure, Any, int | None]:
    """Draw a figure of a table of coordinates; the last value is that of `warn_of_square` for the rows behind it."""
    from .matching import coordinates, matched_rows, matching_column

    kind, axes, look = shape
    table, names = map_of(path, path, *named, columns.reading, id, lambda table: _refuse_rows(path, table))
    Y = coordinates(table, names)
    if data is None:
        _check_kind(kind, None, color)
        labels = None if id is None else [str(value) for value in table.column(id).to_list()]
        shade = None if color is None else table.column(color)
        drawn = DrawnMap(Y, names, names, shade, color, labels, meaningful=False)
        return draw_kind(drawn, kind, axes, look, option="--kind"), None, None
    keep = KeepOptions(id=id, color=color if color not in table.names else None)
    given = read_input(data, columns, keep, pairwise=metric == "precomputed")
    square = warn_of_square(given)
    order = matched_rows(given, table, matching_column(given, table, id))
    shade = _column(given, keep.color) if keep.color else None if color is None else table.column(color).gather(order)
    drawn = DrawnMap(Y[order], names, names, shade, color, given.labels(), meaningful=False)
    _check_kind(kind, Rows(None), color)

    def work(rows: Any) -> Figure:
        return draw_kind(drawn, kind, axes, look, behind=Rows(rows, metric), option="--kind")

    return run(work, given), Rows(None), square


def _refuse_rows(path: Path, table: Table) -> None:
    """Raise `UsageError` for a table without named coordinates and with more columns of numbers than a figure shows."""
    from .matching import count_numbers

    n = count_numbers(table)
    if n > _MOST_AXES:
        reduce = command_line("reduce", path, out=name_after(path, "map", ".csv"))
        raise UsageError(
            f"{table.source} has {n} columns of numbers and none named as coordinates, such as pca0, pca1: make a "
            f"map of it with `{reduce}` and draw that, or name two of its columns with --x and --y"
        )


def _check_kind(kind: str, source: Any, color: str | None) -> None:
    """Raise `UsageError` for an impossible kind, with the possible ones, and for colours that it cannot show."""
    possible = possible_kinds(source)
    if kind not in possible:
        what = "this table" if source is None or isinstance(source, Rows) else type(source).__name__
        more = "; with DATA also quality_map, shepard, rnx" if source is None else ""
        raise UsageError(f"--kind {kind}: possible for {what}: {', '.join(possible)}{more}")
    if color is not None and not colors_rows(kind):
        raise UsageError(f"--color {color}: a figure of the kind {kind} does not colour rows; remove it")


def _column(given: Input | None, name: str | None) -> Any:
    if name is None or given is None:
        return None
    if given.table is None:
        raise UsageError(f"--color {name}: {given.source} is a sparse matrix without named columns")
    return given.table.column(name)
