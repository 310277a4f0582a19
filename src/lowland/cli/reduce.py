"""`lowland reduce`: from a table to coordinates, a model and a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.command_line import command_line, stem_of
from ..core.errors import DataError
from .aligning import EarlierMap
from .answer import Answer, UsageError, note, stderr
from .figure_options import NO_FIGURE, FigureOptions
from .figures import DrawnMap, draw, write_figure
from .input import Input
from .inputs import read_input, warn_of_square
from .model import build_model, components_of, files_of, fill_in, find_method, scaled_by_step, scaled_once
from .options import Common, DataFile, KeepOptions, MethodOptions, OutFile, ReportOut, TableOptions
from .outputs import check_kept, check_outputs
from .preparing import steps_in_words
from .running import run
from .supplementing import PlacedRows, check_columns, columns_on_map, shown_columns
from .wording import in_words

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ..contract.reducer import Reducer
    from ..methods.steps import AlignMap
    from ..quality.supplementary_columns import Supplementary

ModelOut = Annotated[Path | None, Parameter(help="Write the fitted model here, such as model.lowland.")]

AlignTo = Annotated[
    Path | None,
    Parameter(
        help="Lay the map over this table of coordinates of an earlier map: rotated, reflected and shifted, not "
        "scaled. Rows are matched by --id if both files have it, otherwise by their order."
    ),
]
SupplementaryRows = Annotated[
    Path | None,
    Parameter(
        help="Table of rows that take no part in the fit: placed by the fitted model and appended to the output, with "
        "a column supplementary (1 for them, 0 for the others)."
    ),
]

KEYS = {
    "data": "the file that was read",
    "method": "class of the method",
    "parameters": "parameters of the method, by name",
    "rows": "number of rows",
    "columns": "names of the reduced columns (x0, x1, … where the file has none)",
    "left_out": "columns that were not reduced, each with the reason",
    "n_components": "number of dimensions kept",
    "variance_shares": "share of the variance of each kept dimension, or null",
    "fit_info": "diagnostics of the fit: algorithm, solver, residual, seconds, …",
    "alignment": "with --align-to: file, shared rows, and error (0: the same shape, 1: unrelated); otherwise null",
    "supplementary": "with --supplementary: each column's kind, r2, p, n_rows, and correlations with the axes and "
    "direction, or centroids, counts and eta2; otherwise null",
    "supplementary_rows": "with --supplementary-rows: file and number of rows; otherwise null",
    "out": "file with the coordinates",
    "model": "model file, or null",
    "report": "report file, or null",
    "figure": "figure file, or null",
}


@dataclass(frozen=True)
class Job:
    """The options of one reduction."""

    data: Path
    method: MethodOptions
    columns: TableOptions
    keep: KeepOptions
    out: Path | None = None
    model: Path | None = None
    report: Path | None = None
    align_to: Path | None = None
    supplementary_rows: Path | None = None
    figure: FigureOptions = NO_FIGURE

    def command(self, **files: str | None) -> str:
        """Return the command line of this reduction, with other output files if given."""
        kept = {name: value or None for name, value in vars(self.keep).items()}
        made = {name: files.get(name, getattr(self, name)) for name in ("out", "model", "report")}
        more = {"align_to": self.align_to, "supplementary_rows": self.supplementary_rows}
        words = {**vars(self.method), **self.columns.words(), **kept, **more, **made, **self.figure.words()}
        return command_line("reduce", self.data, **words)


def reduce(
    data: DataFile,
    /,
    *,
    method: MethodOptions | None = None,
    columns: TableOptions | None = None,
    keep: KeepOptions | None = None,
    out: OutFile = None,
    model: ModelOut = None,
    report: ReportOut = None,
    align_to: AlignTo = None,
    supplementary_rows: SupplementaryRows = None,
    figure: FigureOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Reduce a table to a few dimensions.

    Numeric columns are reduced; other columns are listed and left out, except that famd also uses columns of text.
    Without --out the coordinates are printed to stdout as CSV.

    Example: lowland reduce iris.csv --color species --out flat.csv --report iris.html --figure iris.png
    """
    chosen = columns or TableOptions()
    options = scaled_once(method or MethodOptions(), chosen.recipe)
    inputs = (data, *files_of(options), *(file for file in (align_to, supplementary_rows) if file is not None))
    drawing = figure or NO_FIGURE
    drawing.check(components_of(options))
    outputs = {"out": out, "model": model, "report": report, "figure": drawing.figure}
    check_outputs(**outputs, inputs=inputs, json=common is not None and common.json)
    if model is not None and not find_method(options.method).kept:
        raise UsageError(
            f"--model {model}: {options.method} is a plugin, and model files contain neither code nor pickles; remove "
            "--model. In Python, save such a model with pickle or joblib (loading one can run code)"
        )
    job = Job(data, options, chosen, keep or KeepOptions(), out, model, report, align_to, supplementary_rows, drawing)
    return perform(job)


@dataclass(frozen=True)
class Made:
    """What a reduction made: the fitted method, the map, and what was laid over or beside it."""

    fitted: Reducer
    embedding: Any
    given: Input
    after: AlignMap | None = None
    laid: Supplementary | None = None
    placed: PlacedRows | None = None

    @property
    def has_axes(self) -> bool:
        """Whether the axes have a meaning of their own: those of a method with variances, not rotated."""
        from ..report.facts import shares_of

        return self.after is None and shares_of(self.fitted) is not None

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return [str(name) for name in self.fitted.get_feature_names_out()]


def perform(job: Job) -> Answer:
    """Fit the model and write the output files, which were checked before."""
    from ..data.writing import write_table
    from ..modelfile import save
    from ..report.facts import sentence

    made = _fit(job)
    frame = _frame(job, made)
    page = None if job.report is None else run(lambda rows: _page(job, made, rows), made.given)
    if job.out is not None:
        write_table(job.out, frame)
    if job.model is not None:
        save(with_steps(made.fitted, made.given, made.after), job.model)
    if job.report is not None and page is not None:
        from ..report.html import write_page

        write_page(job.report, page)
    if job.figure.figure is not None:  # last, so that a figure that cannot be drawn costs nothing else
        write_figure(job.figure, run(lambda rows: _figure(job, made, rows), made.given))
    summary = sentence(made.fitted, made.given.shape[0])
    if made.after is not None:
        summary += f" {_alignment(job, made.after)}"
    shown = [] if made.laid is None else [shown_columns(made.laid, made.names, with_axes=made.has_axes)]
    if job.out is None:  # the coordinates go to stdout
        for table in shown:
            stderr().print(table)
    rows = frame if job.out is None else None
    return Answer(_facts(job, made), summary, _next(job), shown=shown if rows is None else (), rows=rows)


def _fit(job: Job) -> Made:
    """Read the table, fit the method, and lay the map over others; what can be checked before the fit is."""
    fitted = build_model(job.method)
    categories = "categories" in find_method(job.method.method).needs
    given = read_input(
        job.data,
        job.columns,
        job.keep,
        method=fitted,
        scale=scaled_by_step(fitted, job.method),
        pairwise=fitted._pairwise,
        categories=categories,
    )
    fill_in(fitted, job.method, given)
    if hasattr(fitted, "metric"):
        warn_of_square(given)
    check_kept(job.out, *given.kept(job.keep, job.columns.reading.copied))
    if job.supplementary_rows is not None and not job.supplementary_rows.exists():
        raise DataError(f"--supplementary-rows {job.supplementary_rows}: no such file")
    check_columns(given, job.keep.laid)
    earlier = None if job.align_to is None else EarlierMap.read(job.align_to)
    made = Made(fitted, run(fitted.fit_transform, given), given)
    if earlier is not None:
        after, embedding = earlier.aligned(made.embedding, made.names, given)
        made = replace(made, after=after, embedding=embedding)
    placed = None
    if job.supplementary_rows is not None:
        placed = PlacedRows.read(job.supplementary_rows, job.columns.reading, fitted, given, made.after)
    return replace(made, laid=columns_on_map(made.embedding, given, job.keep.laid), placed=placed)


def _frame(job: Job, made: Made) -> pl.DataFrame:
    """Return the table to write: kept columns, coordinates, connected components, supplementary rows."""
    from ..data.writing import embedding_frame

    frame = embedding_frame(made.embedding, made.names, *made.given.kept(job.keep, job.columns.reading.copied))
    coordinates = frame.columns[-len(made.names) :]
    frame = _with_components(frame, made.fitted)
    return frame if made.placed is None else made.placed.appended(frame, coordinates)


def with_steps(fitted: Reducer, given: Input, after: AlignMap | None = None) -> Any:
    """Return the model to save: with the steps before it and the alignment after it, if there are any."""
    if given.steps is None and after is None:
        return fitted
    from sklearn.pipeline import Pipeline

    before = [] if given.steps is None else given.steps.steps
    return Pipeline([*before, ("method", fitted), *([] if after is None else [("align", after)])])


def _alignment(job: Job, after: AlignMap) -> str:
    from ..core.formatting import count, format_share

    assert job.align_to is not None
    shared = count(after.n_shared_, "shared row")
    return f"The map is laid over {job.align_to.name} by {shared}, with an error of {format_share(after.error_)}."


def _with_components(frame: pl.DataFrame, fitted: Reducer) -> pl.DataFrame:
    """Add a column with the connected component of each row, if components were embedded separately."""
    labels = _components(fitted)
    if labels is None:
        return frame
    import polars as pl

    name = next(name for name in ("piece", "piece_of_graph", "_piece") if name not in frame.columns)
    return frame.with_columns(pl.Series(name, labels))


def _components(fitted: Reducer) -> Any:
    """Return the component of each row if several were embedded separately, else None."""
    labels = getattr(fitted, "component_labels_", None)
    if labels is None or getattr(fitted, "disconnected", "") != "separate" or not labels.any():
        return None
    return labels


def _coloring(job: Job, made: Made) -> tuple[Any, str | None]:
    """Return the column that colours the points, and its name: --color, or the connected components."""
    import polars as pl

    if job.keep.color is not None and made.given.table is not None:
        return made.given.table.column(job.keep.color), job.keep.color
    labels = _components(made.fitted)
    return (None, None) if labels is None else (pl.Series([str(label) for label in labels]), "piece")


def _figure(job: Job, made: Made, rows: Any) -> Figure:
    """Draw the figure: the map, or another kind."""
    from ..report.facts import axis_labels
    from ..report.supplementary import overlay

    color, color_name = _coloring(job, made)
    drawn = DrawnMap(
        made.embedding,
        made.names,
        axis_labels(made.fitted, shares=made.after is None),
        color,
        color_name,
        made.given.labels(),
        overlay(made.laid, None if made.placed is None else made.placed.embedding),
        meaningful=made.has_axes,
    )
    return draw(drawn, job.figure, model=made.fitted, rows=rows)


def _page(job: Job, made: Made, rows: Any) -> str:
    from ..core.formatting import count
    from ..report.html import render_report

    fitted, embedding, given = made.fitted, made.embedding, made.given
    color, color_name = _coloring(job, made)
    n, columns = given.shape
    facts = {"file": job.data.name, "rows": f"{n:,}", "columns reduced": f"{columns:,}"}
    if given.pairwise:
        facts = {"file": job.data.name, "objects": f"{n:,}"}
    left = {name: reason for name, reason in given.left_out.items() if reason != "kept aside"}
    if left:
        facts["left out"] = ", ".join(f"{name} ({reason})" for name, reason in left.items())
    if job.keep.aside:
        facts["not used as data"] = ", ".join(job.keep.aside)
    steps = None if given.steps is None else steps_in_words(given.steps)
    if steps is not None:
        facts["steps before the method"] = steps
    return render_report(
        fitted,
        embedding,
        X=rows,
        color=color,
        color_name=color_name,
        names=given.labels(),
        hover=_hover(job, given),
        images=_images(job, given),
        alignment=None if made.after is None else _alignment(job, made.after),
        supplementary=made.laid,
        supplementary_rows=None if made.placed is None else made.placed.embedding,
        title=f"{job.data.name} in {count(embedding.shape[1], 'dimension')}",
        data_summary=facts,
        command=job.command(),
        steps=steps,
        next_steps=_next_steps(job, given),
        words=in_words,
    )


def _next_steps(job: Job, given: Input) -> dict[str, str]:
    """Return the commands that a report suggests: other methods, and new rows or outliers."""
    from ..data.table import name_list

    metric = {"metric": "precomputed"} if given.pairwise else {}
    drop = [] if job.keep.id is None or given.pairwise else [name_list([job.keep.id])]
    words = {**job.columns.words(), "drop": [*job.columns.drop, *drop]}
    steps = {"Compare with other methods:": command_line("compare", job.data, **words, target=job.keep.color, **metric)}
    if not find_method(job.method.method).kept:
        return steps
    if job.model is None:
        saved = job.command(model=f"{stem_of(job.data)}.lowland")
        return steps | {"Save the model, to place new rows on this map:": saved}
    rows = "NEW" if job.data.is_dir() else "NEW.csv"
    placed = command_line("transform", job.model, rows, **job.columns.reading.dialect(), out="new-embedding.csv")
    return steps | {"Place new rows on this map:": placed}


def _hover(job: Job, given: Input) -> pl.DataFrame | None:
    """Return the columns to show beside points: --hover, and the text of each row."""
    if given.table is None:
        return None
    import polars as pl

    texts = [name for role, name in given.table.roles.items() if role == "text"]
    return pl.DataFrame([given.table.column(name) for name in dict.fromkeys([*job.keep.shown, *texts])])


def _images(job: Job, given: Input) -> list[str | None] | None:
    """Return small copies of the images of the rows; what is not shown is noted."""
    name = None if given.table is None else given.table.roles.get("image")
    if given.table is None or name is None:
        return None
    from ..data.thumbnails import thumbnails

    made = thumbnails(given.table.column(name), job.data if job.data.is_dir() else job.data.parent)
    if made.sentence:
        note(made.sentence)
    return made.uris


def _facts(job: Job, made: Made) -> dict[str, Any]:
    from ..contract.parameters import told
    from ..report.facts import column_names, shares_of

    fitted, given, after, placed = made.fitted, made.given, made.after, made.placed
    return {
        "data": job.data,
        "method": type(fitted).__name__,
        "parameters": {name: told(value) for name, value in fitted.get_params(deep=False).items()},
        "rows": given.shape[0],
        "columns": column_names(fitted),
        "left_out": dict(given.left_out),
        "n_components": fitted.n_components_,
        "variance_shares": shares_of(fitted),
        "fit_info": fitted.fit_info_.to_dict(),
        "alignment": None
        if after is None
        else {"file": job.align_to, "shared_rows": after.n_shared_, "error": after.error_},
        "supplementary": None if made.laid is None else made.laid.to_dict(),
        "supplementary_rows": None if placed is None else {"file": placed.path, "rows": placed.given.shape[0]},
        "out": job.out,
        "model": job.model,
        "report": job.report,
        "figure": job.figure.figure,
    }


def _next(job: Job) -> str:
    """Return the next command: a report, then a model, then new rows; for a plugin, which has no file, `evaluate`."""
    stem = stem_of(job.data)
    if job.report is None:
        return job.command(report=f"{stem}.html")
    if not find_method(job.method.method).kept:
        if job.out is None:
            return job.command(out="embedding.csv")
        return command_line("evaluate", job.data, job.out)
    if job.model is None:
        return job.command(model=f"{stem}.lowland")
    rows = "NEW" if job.data.is_dir() else "NEW.csv"
    return command_line("transform", job.model, rows, **job.columns.reading.dialect(), out="new-embedding.csv")
