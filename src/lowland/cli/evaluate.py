"""`lowland evaluate`: measure how reliable a map is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..core.message import SCALED_METRIC, settings_of
from .answer import Answer, note
from .comparing import compare_command
from .figure_options import NO_FIGURE, FigureOptions, chosen_axes
from .figures import write_figure
from .input import Input, row_names
from .inputs import read_input
from .judged_map import JudgedMap, map_of, reading_map
from .next_commands import SameRows
from .options import Common, DataFile, KeepOptions, ReportOut, TableOptions
from .outputs import check_outputs
from .running import run
from .scaling import scaled_once
from .square_input import as_distances, warn_of_square
from .stream_options import Stream
from .streaming import too_large
from .trust_options import EmbeddingFile, TrustFile, TrustOptions, anchors_of, changed, check, is_coded, is_famd, scaled
from .wording import SCALED

if TYPE_CHECKING:
    import polars as pl

    from ..data.table import Table
    from ..quality.pointwise import Pointwise
    from ..quality.report import Report

KEYS = {
    "data": "file of the data",
    "embedding": "file of the map; null if its coordinates are columns of the data",
    "rows": "number of rows",
    "columns": "names of the data columns that were used",
    "coordinates": "names of the coordinate columns of the map",
    "matched": "how rows were matched: order, or the name of the identifier column",
    "space": "the space that the map is compared with",
    "n_neighbors": "number of neighbours in the local measures",
    "metric": "distance between rows of the data",
    "measures": "by name: value, low, high (95 % interval), exact, and with --target also groups (by label)",
    "chance": "by name: expected value for a random map",
    "contrast": "mean distance in the data divided by the mean distance to the nearest neighbour",
    "purity": "with --target: share of neighbours in the same group, in the data and in the map, chance, groups mixed",
    "sample_rows": "if the tables are read in blocks, number of sampled rows for all measures but those of neighbours; "
    "else null",
    "worst": "the least reliable of the evaluated rows: number (from 0), trustworthiness, continuity, and name (from "
    "--id, or the line)",
    "out": "file with the trust measures of each row, or null",
    "report": "report file, or null",
    "figure": "figure file, or null",
}

# Metrics with a neighbour search that does not compare all pairs of rows.
_REPEATED = ("id", "target", "quality_neighbors", "metric", "anchors", "seed", "x", "y")  # by the next command
_SEARCHED = ("euclidean", "sqeuclidean", "seuclidean", "cosine", "correlation", "precomputed")


def evaluate(
    data: DataFile,
    embedding: EmbeddingFile = None,
    /,
    *,
    trust: TrustOptions | None = None,
    columns: TableOptions | None = None,
    out: TrustFile = None,
    report: ReportOut = None,
    figure: FigureOptions | None = None,
    stream: Stream = False,
    common: Common | None = None,
) -> Answer:
    """Measure how reliable a map of a table is: neighbours, distances, and the least reliable rows and groups.

    Coordinates are recognised by their column names (pca0, pca1, …), or named by --x and --y; other columns of the map
    are ignored. --out writes the trust measures of each row; --figure draws the map, coloured by the share of
    neighbours kept; --report writes a page like that of `reduce`. Of tables that are read in blocks, sampled rows are
    compared with all rows, and distances are those of a sample.

    Example: lowland evaluate iris.csv flat.csv --target species --out trust.csv
    """
    options = trust or TrustOptions()
    scale, chosen = scaled_once(options.scale, columns or TableOptions())
    chosen.recipe.refuse_unseen()
    options = scaled(replace(options, scale=scale))
    drawing = figure or NO_FIGURE
    drawing.check()
    inputs = (data,) if embedding is None else (data, embedding)
    check_outputs(out=out, report=report, figure=drawing.figure, inputs=inputs)
    anchors = anchors_of(options.anchors)
    check(options)
    asked = _Call(data, embedding, options, chosen, anchors, out, report, drawing)
    if stream:
        return _in_blocks(asked)
    answer: Answer = too_large(lambda: _in_memory(asked), lambda: _in_blocks(asked), data)
    return answer


@dataclass(frozen=True)
class _Call:
    """What the command was called with."""

    data: Path
    embedding: Path | None
    options: TrustOptions
    chosen: TableOptions
    anchors: int | str | None
    out: Path | None
    report: Path | None
    drawing: FigureOptions

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (self.data,) if self.embedding is None else (self.data, self.embedding)

    @property
    def files(self) -> dict[str, Path | None]:
        written = {"out": self.out, "report": self.report, "figure": self.drawing.figure}
        return {"data": self.data, "embedding": self.embedding, **written}


def _in_memory(asked: _Call) -> Answer:
    """Measure a map with both tables in memory."""
    from .matching import coordinates, matched_rows, matching_column, naming_column

    data, embedding, options, chosen = asked.data, asked.embedding, asked.options, asked.chosen
    out, report, drawing = asked.out, asked.report, asked.drawing
    with reading_map(embedding, data):
        table, names = map_of(
            data, embedding, options.x, options.y, chosen.reading, options.id, lambda map: _check_order(asked, map)
        )
        Y = coordinates(table, names)
    chosen_axes(drawing.axes, names)
    coded = is_coded(names, options) and chosen.recipe.keeps_categories
    given = _read_data(data, chosen, options, coded, table)
    square = warn_of_square(given)
    by = matching_column(given, table, options.id)
    order = matched_rows(given, table, by)
    shared, same = (by, True) if by is not None else naming_column(given, table, {*names, options.target or ""})
    labels = _labels(given, table, options.target, order)
    request = _MeasureRequest(options, asked.anchors, each=out is not None, coded=coded)
    Y = Y[order]
    found, points = _measure(given, Y, labels, request)
    if options.id is not None and given.id is None and options.id in table.names:  # only the map has identifiers
        ids = table.column(options.id).gather(order).to_list()
        given = replace(given, id=options.id, named=["" if value is None else str(value) for value in ids])
    named = row_names(given)
    if out is not None:
        _write(out, points, given, options)
    judged = JudgedMap(given, Y, names, found, points, options.target, labels, options.metric, coded)
    if report is not None:
        words = {**changed(options, *vars(options)), "out": out, "report": report, **drawing.words()}
        command = SameRows(asked.inputs[0], chosen).command("evaluate", *asked.inputs[1:], **words)
        judged.write_report(report, asked.inputs, command, _compare(data, chosen, options, given, names))
    if drawing.figure is not None:
        write_figure(drawing, run(lambda rows: judged.figure(drawing, rows), given))
    facts = {**_facts(given, names, by, found, named), **asked.files}
    summary = found.sentence + (_order(shared, same) if found.by_chance else "")
    if square is not None:
        summary += f" This compares the map with the columns of {given.source}, not with the distances in it."
        files, plain = asked.inputs, changed(replace(options, metric="precomputed"), *_REPEATED)
        following = as_distances(SameRows(files[0], chosen), square, "evaluate", *files[1:], **plain, out=out)
    elif not chosen.recipe.sets_units and any(SCALED_METRIC in settings_of(text) for text in found.warnings):
        following = _again(data, embedding, chosen, replace(options, metric=SCALED), out, given.coded)
    elif found.is_poor and not found.by_chance:
        following = _compare(data, chosen, options, given, names)
    elif out is None or (shared is not None and not same):
        better = options if same or shared is None else replace(options, id=shared)
        following = _again(data, embedding, chosen, better, out, given.coded)
    else:
        following = _compare(data, chosen, options, given, names)
    return Answer(facts, summary, following, shown=[Text("\n".join(found.table_lines(named)))])


def _check_order(asked: _Call, map: Table) -> None:
    """Raise `UsageError` if the map, whose coordinates have no such names, is the data, and the data are the map."""
    from ..data.arraytable import SparseTable
    from .matching import count_numbers, refuse_swapped

    if asked.embedding is None or str(asked.data) == "-":  # standard input can be read once only
        return
    table = asked.chosen.reading.read(asked.data)
    if not isinstance(table, SparseTable):
        refuse_swapped(asked.data, asked.embedding, table.names, count_numbers(map))


def _in_blocks(asked: _Call) -> Answer:
    """Measure a map in passes over both tables."""
    from .evaluate_stream import refuse, report_in_blocks

    data, options, chosen, out = asked.data, asked.options, asked.chosen, asked.out
    refuse(report=asked.report, figure=asked.drawing.figure)
    done = report_in_blocks(data, asked.embedding, chosen, options, asked.anchors)
    found, given, named = done.found, done.given, done.row_names()
    if out is not None:
        done.write(out, data, chosen.reading, options.target)
    facts = {**_facts(given, done.names, done.by, found, named), **asked.files}
    summary = found.sentence + (_order(done.by, done.by is not None) if found.by_chance else "")
    if any(SCALED_METRIC in settings_of(text) for text in found.warnings):
        following = _again(
            data, asked.embedding, chosen, replace(options, metric=SCALED), out, given.coded, stream=True
        )
    elif out is None:
        following = _again(data, asked.embedding, chosen, options, out, given.coded, stream=True)
    else:
        following = SameRows(data, chosen, given.id, options.target, coded=given.coded).command("outliers", stream=True)
    return Answer(facts, summary, following, shown=[Text("\n".join(found.table_lines(named)))])


@dataclass(frozen=True)
class _MeasureRequest:
    """What to measure; ``each``: also measure each row; ``coded``: compare with the columns as FAMD codes them."""

    options: TrustOptions
    anchors: int | str | None
    each: bool
    coded: bool

    def points(self, X: Any, Y: Any, found: Report) -> Pointwise:
        """Return the measures of rows: those in the report, or of all rows if their neighbours can be searched."""
        from ..quality import pointwise

        if len(found.points) == found.n or not self.each:
            return found.points
        options = self.options
        if self.anchors != "auto" or options.metric not in _SEARCHED:
            left = found.n - len(found.points)
            note(f"{left:,} of {found.n:,} rows were not sampled and stay empty; use --anchors all")
            return found.points
        points = pointwise(X, Y, found.n_neighbors, metric=options.metric, random_state=options.seed)
        if points.recall is not None:
            note(f"nearest neighbours were searched approximately (recall {points.recall:.1%})")
        return points


def _read_data(path: Path, columns: TableOptions, options: TrustOptions, categories: bool, map: Table) -> Input:
    from ..methods.linear.famd import FAMD

    square = options.metric == "precomputed"
    return read_input(
        path,
        columns,
        lambda names: _known(names, options, path, map),
        pairwise=square,
        method=FAMD() if categories else None,
        categories=categories,
        id=options.id,
    )


def _known(names: Sequence[str], options: TrustOptions, path: Path, map: Table) -> KeepOptions:
    """Return the identifier and group columns that the data have; others are taken from the map."""
    from ..data.table import name_list
    from .matching import require_either

    for name, option in ((options.id, "--id"), (options.target, "--target")):
        if name is not None:  # before cells that cannot be read
            require_either(name, option, names, path.name, map.names, map.source)
    id, groups = (name if name in names else None for name in (options.id, options.target))
    placed = tuple(name_list([name]) for name in (options.x, options.y) if name is not None and name in names)
    return KeepOptions(id=id, color=groups, supplementary=placed)


def _labels(given: Input, map: Table, name: str | None, order: Any) -> pl.Series | None:
    """Return the group labels, from the data or otherwise from the map."""
    if name is None:
        return None
    if given.table is not None and name in given.table.names:
        return given.table.column(name)
    return map.column(name).gather(order)


def _measure(given: Input, Y: Any, labels: pl.Series | None, request: _MeasureRequest) -> tuple[Report, Pointwise]:
    from ..quality import report

    options = request.options

    def work(rows: Any) -> tuple[Report, Pointwise]:
        X, space = rows, f"the {'distances' if given.pairwise else 'columns'} of {given.source}"
        if request.coded:
            from ..quality.spaces import famd_axes

            after = "" if given.steps is None else f" after the steps {', '.join(given.steps.named_steps)}, and"
            X, space = famd_axes(rows).transform(rows), f"the columns of {given.source}{after} as FAMD codes them"
        elif given.steps is not None:
            space = _space(given)
        found = report(
            X,
            Y,
            options.quality_neighbors,
            metric=options.metric,
            anchors=request.anchors,
            groups=labels,
            space=space,
            random_state=options.seed,
        )
        return found, request.points(X, Y, found)

    return run(work, given)  # type: ignore[no-any-return]


def _space(given: Input) -> str:
    """Describe the space that steps before the method make."""
    assert given.steps is not None
    *_, (name, last) = given.steps.steps
    if name == "pre":
        method = type(last).__name__
        return f"the {given.shape[1]} dimensions of {method} fitted to {given.source}, not its columns"
    return f"the columns of {given.source} after the steps {', '.join(given.steps.named_steps)}"


def _write(out: Path, points: Pointwise, given: Input, options: TrustOptions) -> None:
    """Write the measures of each row, after its identifier and group; rows that were not evaluated stay empty."""
    import polars as pl

    from ..data.writing import write_table

    measured = points.to_frame().rename({"point": "row"}).cast({"row": pl.Int64})
    frame = pl.DataFrame({"row": pl.Series(range(given.shape[0]), dtype=pl.Int64)})
    frame = frame.join(measured, on="row", how="left", maintain_order="left")
    for name in (options.target, options.id):
        if name is not None and given.table is not None and name in given.table.names:
            frame = frame.rename({name: f"{name}_1"}) if name in frame.columns else frame
            frame = frame.insert_column(0, given.table.column(name))
        elif name is not None and name == given.id and given.named is not None:
            frame = frame.rename({name: f"{name}_1"}) if name in frame.columns else frame
            frame = frame.insert_column(0, pl.Series(name, given.named))
    write_table(out, frame)


def _order(common: str | None, same: bool) -> str:
    """Return advice on the order of the rows, for a map that is no better than chance."""
    if common is None:
        return " If both tables have a column of row identifiers, match the rows by it with --id."
    if same:
        return f" The rows agree in column {common!r}, so the map does not represent these data."
    return f" Both tables have a column {common!r}: match the rows by it with --id {common}."


def _facts(
    given: Input, names: list[str], by: str | None, found: Report, named: Sequence[str] | Mapping[int, str]
) -> dict[str, Any]:
    plain = found.to_dict()
    kept = {key: plain[key] for key in KEYS if key in plain}
    worst = [point | {"name": named[point["number"]]} for point in plain["worst"]]
    facts = {"rows": found.n, "columns": given.names, "coordinates": names, "matched": by or "order"}
    return {**facts, **kept, "worst": worst}


def _again(
    data: Path,
    embedding: Path | None,
    columns: TableOptions,
    options: TrustOptions,
    out: Path | None,
    coded: Sequence[str],
    *,
    stream: bool = False,
) -> str:
    """Return the same command again, with --out for the trust measures of each row."""
    same = changed(options, *_REPEATED)
    files = (data,) if embedding is None else (data, embedding)
    rows = SameRows(files[0], columns, label=options.target, coded=coded)
    return rows.command("evaluate", *files[1:], **same, out=out or "trust.csv", stream=stream)


def _compare(data: Path, columns: TableOptions, options: TrustOptions, given: Input, names: Sequence[str]) -> str:
    """Return the `compare` command for the same rows and options."""
    named = () if given.table is None else given.table.with_aside().columns
    id, target = (name if name in named else None for name in (options.id, options.target))
    return compare_command(
        SameRows(data, columns, id, target, coded=given.coded),
        famd=is_famd(names),
        drop=[name for name in (options.x, options.y) if name is not None and name in named],  # they are no data
        **changed(options, "quality_neighbors", "metric", "seed"),
        components=len(names) if len(names) != 2 else None,
    )
