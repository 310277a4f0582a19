"""`lowland evaluate`: measure how reliable a map is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from ..core.command_line import command_line
from ..core.errors import DataError
from ..core.message import SCALED_METRIC, settings_of
from .answer import Answer, UsageError, note
from .figure_options import NO_FIGURE, FigureOptions
from .figures import write_figure
from .input import Input, row_names
from .inputs import read_input, warn_of_square
from .judged_map import JudgedMap, XColumn, YColumn, map_of, reading_map
from .options import OUT, Common, DataFile, KeepOptions, QualityNeighbors, ReportOut, TableOptions
from .outputs import check_outputs
from .running import run
from .scaling import scaled_once
from .wording import SCALED

if TYPE_CHECKING:
    import polars as pl

    from ..data.table import Table
    from ..quality.pointwise import Pointwise
    from ..quality.report import Report

EmbeddingFile = Annotated[
    Path | None,
    Parameter(
        help="Table of coordinates, by `lowland reduce --out` or any other program. Without it, --x and --y name "
        "columns of DATA."
    ),
]
TrustFile = Annotated[
    Path | None,
    Parameter(
        name=OUT, help="Write the trust measures of each row here: .csv, .tsv (also .gz), .parquet, .npy or .npz."
    ),
]

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
    "worst": "the least reliable of the evaluated rows: number (from 0), trustworthiness, continuity, and name (from "
    "--id, or the line)",
    "out": "file with the trust measures of each row, or null",
    "report": "report file, or null",
    "figure": "figure file, or null",
}

# Metrics with a neighbour search that does not compare all pairs of rows.
_SEARCHED = ("euclidean", "sqeuclidean", "seuclidean", "cosine", "correlation", "precomputed")


@Parameter(name="*")
@dataclass(frozen=True)
class TrustOptions:
    """Options of the evaluation."""

    id: Annotated[
        str | None,
        Parameter(help="Column of row identifiers; rows are matched by it if both tables have it, otherwise by order."),
    ] = None
    target: Annotated[
        str | None,
        Parameter(
            name=("--target", "--groups"),
            help="Column of group labels: every measure is also reported for each group. Not used as data.",
        ),
    ] = None
    quality_neighbors: QualityNeighbors = None
    metric: Annotated[
        str, Parameter(help="Distance between rows of the data; precomputed: the data are a distance matrix.")
    ] = "euclidean"
    scale: Annotated[
        bool,
        Parameter(
            help="Divide each column by its standard deviation, as reduce --scale does (metric seuclidean).",
            negative=(),
            show_default=False,
        ),
    ] = False
    anchors: Annotated[
        str, Parameter(help="Number of rows to evaluate, all, or auto (all up to 10,000 rows, otherwise 5,000).")
    ] = "auto"
    seed: Annotated[int, Parameter(help="Random seed of the sampled rows and pairs.")] = 0
    x: XColumn = None
    y: YColumn = None


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
    common: Common | None = None,
) -> Answer:
    """Measure how reliable a map of a table is: neighbours, distances, and the least reliable rows and groups.

    Coordinates are recognised by their column names (pca0, pca1, …), or named by --x and --y; other columns of the map
    are ignored. --out writes the trust measures of each row; --figure draws the map, coloured by the share of
    neighbours kept; --report writes a page like that of `reduce`.

    Example: lowland evaluate iris.csv flat.csv --target species --out trust.csv
    """
    from .matching import coordinates, matched_rows, matching_column, naming_column

    options = trust or TrustOptions()
    scale, chosen = scaled_once(options.scale, columns or TableOptions())
    options = _scaled(replace(options, scale=scale))
    drawing = figure or NO_FIGURE
    drawing.check()
    inputs = (data,) if embedding is None else (data, embedding)
    check_outputs(out=out, report=report, figure=drawing.figure, inputs=inputs)
    anchors = _anchors(options.anchors)
    _check(options)
    with reading_map(embedding, data):
        table, names = map_of(data, embedding, options.x, options.y, chosen.reading)
        Y = coordinates(table, names)
    coded = _is_coded(names, options) and not chosen.recipe.needed
    given = _read_data(data, chosen, options, coded)
    by = matching_column(given, table, options.id)
    order = matched_rows(given, table, by)
    shared, same = (by, True) if by is not None else naming_column(given, table, {*names, options.target or ""})
    labels = _labels(given, table, options.target, order)
    request = _MeasureRequest(options, anchors, each=out is not None, coded=coded)
    Y = Y[order]
    found, points = _measure(given, Y, labels, request)
    named = row_names(given)
    if out is not None:
        _write(out, points, given, options)
    judged = JudgedMap(given, Y, names, found, points, options.target, labels, options.metric, coded)
    if report is not None:
        words = {**chosen.words(), **_changed(options, *vars(options)), "out": out, "report": report}
        command = command_line("evaluate", *inputs, **words, **drawing.words())
        judged.write_report(report, inputs, command, _compare(data, chosen, options, given, len(names)))
    if drawing.figure is not None:
        write_figure(drawing, run(lambda rows: judged.figure(drawing, rows), given))
    files = {"data": data, "embedding": embedding, "out": out, "report": report, "figure": drawing.figure}
    facts = {**_facts(given, names, by, found, named), **files}
    summary = found.sentence + (_order(shared, same) if found.by_chance else "")
    if not chosen.recipe.sets_units and any(SCALED_METRIC in settings_of(text) for text in found.warnings):
        following = _again(data, embedding, chosen, replace(options, metric=SCALED), out)
    elif found.is_poor and not found.by_chance:
        following = _compare(data, chosen, options, given, len(names))
    elif out is None or (shared is not None and not same):
        better = options if same or shared is None else replace(options, id=shared)
        following = _again(data, embedding, chosen, better, out)
    else:
        following = _compare(data, chosen, options, given, len(names))
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


def _anchors(text: str) -> int | str | None:
    if text in ("auto", "all"):
        return None if text == "all" else "auto"
    if not text.isdecimal() or int(text) < 2:
        raise UsageError(f"--anchors {text}: must be a number of at least 2, all, or auto")
    return int(text)


def _check(options: TrustOptions) -> None:
    from ..pairs.distances import METRICS

    known = (*METRICS, "precomputed")
    if options.metric not in known:
        raise UsageError(f"--metric {options.metric}: must be one of {', '.join(known)}")
    if options.quality_neighbors is not None and options.quality_neighbors < 1:
        raise UsageError(f"--quality-neighbors {options.quality_neighbors}: must be at least 1")
    if options.seed < 0:
        raise UsageError(f"--seed {options.seed}: must be 0 or greater")


def _scaled(options: TrustOptions) -> TrustOptions:
    """Return the options with --scale replaced by its metric."""
    if not options.scale:
        return options
    if options.metric != "euclidean":
        raise UsageError("--scale compares scaled rows by euclidean distances; remove --metric or --scale")
    return replace(options, metric=SCALED)


def _is_coded(names: Sequence[str], options: TrustOptions) -> bool:
    """Return whether the map was made by FAMD, which also uses columns of text."""
    return options.metric == "euclidean" and names[0].rstrip("_0123456789") == "famd"


def _read_data(path: Path, columns: TableOptions, options: TrustOptions, categories: bool) -> Input:
    square = options.metric == "precomputed"
    given = read_input(path, columns, lambda names: _known(names, options), pairwise=square, categories=categories)
    warn_of_square(given)
    return given


def _known(names: Sequence[str], options: TrustOptions) -> KeepOptions:
    """Return the identifier and group columns that the data have; others are taken from the map."""
    from ..data.table import name_list

    id, groups = (name if name in names else None for name in (options.id, options.target))
    placed = tuple(name_list([name]) for name in (options.x, options.y) if name is not None and name in names)
    return KeepOptions(id=id, color=groups, supplementary=placed)


def _labels(given: Input, map: Table, name: str | None, order: Any) -> pl.Series | None:
    """Return the group labels, from the data or otherwise from the map."""
    if name is None:
        return None
    if given.table is not None and name in given.table.names:
        return given.table.column(name)
    if name not in map.names:
        raise DataError(f"neither {given.source} nor {map.source} has a column {name!r} for --target")
    return map.column(name).gather(order)


def _measure(given: Input, Y: Any, labels: pl.Series | None, request: _MeasureRequest) -> tuple[Report, Pointwise]:
    from ..quality import report

    options = request.options

    def work(rows: Any) -> tuple[Report, Pointwise]:
        X, space = rows, f"the {'distances' if given.pairwise else 'columns'} of {given.source}"
        if request.coded:
            from ..quality.spaces import famd_axes

            X, space = famd_axes(rows).transform(rows), f"the columns of {given.source} as FAMD codes them"
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
    write_table(out, frame)


def _order(common: str | None, same: bool) -> str:
    """Return advice on the order of the rows, for a map that is no better than chance."""
    if common is None:
        return " If both tables have a column of row identifiers, match the rows by it with --id."
    if same:
        return f" The rows agree in column {common!r}, so the map does not represent these data."
    return f" Both tables have a column {common!r}: match the rows by it with --id {common}."


def _facts(given: Input, names: list[str], by: str | None, found: Report, named: list[str]) -> dict[str, Any]:
    plain = found.to_dict()
    kept = {key: plain[key] for key in KEYS if key in plain}
    worst = [point | {"name": named[point["number"]]} for point in plain["worst"]]
    facts = {"rows": found.n, "columns": given.names, "coordinates": names, "matched": by or "order"}
    return {**facts, **kept, "worst": worst}


def _again(data: Path, embedding: Path | None, columns: TableOptions, options: TrustOptions, out: Path | None) -> str:
    """Return the same command again, with --out for the trust measures of each row."""
    same = _changed(options, "id", "target", "quality_neighbors", "metric", "anchors", "seed", "x", "y")
    files = (data,) if embedding is None else (data, embedding)
    return command_line("evaluate", *files, **columns.words(), **same, out=out or "trust.csv")


def _changed(options: TrustOptions, *names: str) -> dict[str, Any]:
    """Return the options that are not the default; the metric of scaled columns as --scale."""
    usual, changed = TrustOptions(), dict[str, Any]()
    for name in names:
        value = getattr(options, name)
        if name == "metric" and value == SCALED:
            changed["scale"] = True
        elif value != getattr(usual, name):
            changed[name] = value
    return changed


def _compare(data: Path, columns: TableOptions, options: TrustOptions, given: Input, components: int) -> str:
    """Return the `compare` command for the same rows and options."""
    from ..data.table import name_list

    names = () if given.table is None else given.table.names
    id, target = (name if name in names else None for name in (options.id, options.target))
    same = _changed(options, "quality_neighbors", "metric", "seed")
    words = columns.words()
    placed = [name for name in (options.x, options.y) if name is not None and name in names]
    if placed:
        words["drop"] = [*columns.drop, name_list(placed)]  # they are no data
    count = components if components != 2 else None
    return command_line("compare", data, **words, id=id, target=target, **same, components=count)
