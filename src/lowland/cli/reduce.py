"""`lowland reduce`: from a table to coordinates, a model and a report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.command_line import command_line, stem_of
from ..core.errors import DataError
from ..core.message import SCALE, SCALED_METRIC, settings_of
from .aligning import EarlierMap
from .answer import Answer, UsageError, stderr
from .engine_options import LOCAL, EngineOptions
from .figure_options import NO_FIGURE, AxisNaming, FigureOptions
from .figures import write_figure
from .input import Input, row_names
from .inputs import needs_scale, read_input
from .model import build_model, components_of, files_of, fill_in, find_method, scaled_by_step
from .options import Common, DataFile, KeepOptions, MethodOptions, OutFile, ReportOut, TableOptions
from .outputs import check_kept, check_outputs
from .reduction import Job, Made, alignment_words, components, reduction_figure, reduction_page
from .running import run
from .scaling import method_scaled_once
from .square_input import warn_of_square
from .stream_options import NO_STREAM, StreamOptions
from .streaming import Streamed, reading, reduce_stream, sampled, too_large
from .supplementing import PlacedRows, check_columns, columns_on_map, shown_columns

if TYPE_CHECKING:
    import polars as pl

    from ..contract.reducer import Reducer
    from ..methods.steps import AlignMap

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
        help="Table of rows that take no part in the fit. The fitted model places them on the map; they are appended "
        "to the output, which has a column supplementary (1 for them, 0 for the others)."
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
    "stream": "of a table read in blocks: rows, exact (fitted to all rows), rows of the sample, placement_error and "
    "placement_error_90 (shares of the map's radius), placement, interpolation_error; otherwise null",
    "out": "file with the coordinates",
    "model": "model file, or null",
    "report": "report file, or null",
    "figure": "figure file, or null",
}


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
    stream: StreamOptions | None = None,
    engine: EngineOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Reduce a table to a few dimensions.

    Numeric columns are reduced. Other columns are listed and left out, unless --categories, --dates or --texts uses
    them; the method famd also uses columns of text. Without --out the coordinates are printed to stdout as CSV.
    A table that does not fit in memory is read in blocks: pca and other methods are then fitted in passes over it, the
    others to a sample, with the error measured.

    Example: lowland reduce iris.csv --color species --out flat.csv --report iris.html --figure iris.png
    """
    options, chosen = method_scaled_once(method or MethodOptions(), columns or TableOptions())
    inputs = (data, *files_of(options), *(file for file in (align_to, supplementary_rows) if file is not None))
    drawing = figure or NO_FIGURE
    drawing.check(components_of(options), AxisNaming.of(options.method))
    outputs = {"out": out, "model": model, "report": report, "figure": drawing.figure}
    check_outputs(**outputs, inputs=inputs, json=common is not None and common.json)
    if model is not None and not find_method(options.method).kept:
        raise UsageError(
            f"--model {model}: {options.method} is a plugin, and model files contain neither code nor pickles; remove "
            "--model. In Python, save such a model with pickle or joblib (loading one can run code)"
        )
    where = engine or LOCAL
    where.check()
    how = replace(stream or NO_STREAM, engine=where)
    kept, laid = keep or KeepOptions(), (align_to, supplementary_rows)
    job = Job(data, options, chosen, kept, out, model, report, *laid, drawing, how)
    if how.streams:
        return perform_stream(job, how)
    most = how.sample if out is not None else None  # rows that are fitted in memory at any rate
    answer: Answer = too_large(lambda: perform(job), lambda: perform_stream(job, how), data, most, chosen.reading)
    return answer


def perform_stream(job: Job, stream: StreamOptions) -> Answer:
    """Reduce a table that is read in blocks; a report and a figure are of a sample."""
    from ..modelfile import save
    from ..report.facts import sentence

    done = reduce_stream(job, stream)
    if job.model is not None:
        save(done.model, job.model, new_rows=job.new_rows(flag=False))
    if job.report is not None or job.figure.figure is not None:
        made = sampled(job, stream, done)
        if job.report is not None:
            from ..report.html import write_page

            write_page(job.report, run(lambda rows: reduction_page(job, made, rows), made.given))
        if job.figure.figure is not None:
            write_figure(job.figure, run(lambda rows: reduction_figure(job, made, rows), made.given))
    following = _next(job, done.coded, unscaled=_advises_scale(done.method))
    return Answer(_stream_facts(job, done), sentence(done.method, done.written.n_rows), following)


def _stream_facts(job: Job, done: Streamed) -> dict[str, Any]:
    from ..contract.axis_names import shares_of
    from ..contract.parameters import told
    from ..report.facts import column_names

    fitted = done.method
    return {
        "data": job.data,
        "method": type(fitted).__name__,
        "parameters": {name: told(value) for name, value in fitted.get_params(deep=False).items()},
        "rows": done.written.n_rows,
        "columns": column_names(fitted),
        "left_out": done.names_left_out,
        "n_components": fitted.n_components_,
        "variance_shares": shares_of(fitted),
        "fit_info": fitted.fit_info_.to_dict(),
        "alignment": None,
        "supplementary": None,
        "supplementary_rows": None,
        "stream": done.facts(),
        "out": job.out,
        "model": job.model,
        "report": job.report,
        "figure": job.figure.figure,
    }


def perform(job: Job) -> Answer:
    """Fit the model and write the output files, which were checked before."""
    from ..data.writing import write_table
    from ..modelfile import save
    from ..report.facts import sentence

    made = _fit(job)
    frame = _frame(job, made)
    page = None if job.report is None else run(lambda rows: reduction_page(job, made, rows), made.given)
    if job.out is not None:
        write_table(job.out, frame)
    if job.model is not None:
        save(with_steps(made.fitted, made.given, made.after), job.model, new_rows=job.new_rows(flag=made.can_judge))
    if job.report is not None and page is not None:
        from ..report.html import write_page

        write_page(job.report, page)
    if job.figure.figure is not None:  # last, so that a figure that cannot be drawn costs nothing else
        write_figure(job.figure, run(lambda rows: reduction_figure(job, made, rows), made.given))
    summary = sentence(made.fitted, made.given.shape[0])
    if made.after is not None:
        summary += f" {alignment_words(job, made.after)}"
    summary += "".join(f" Warning: {text}." for text in _deciding(made))
    shown = [] if made.laid is None else [shown_columns(made.laid, made.names, with_axes=made.has_axes)]
    if job.out is None:  # the coordinates go to stdout
        for table in shown:
            stderr().print(table)
    rows = frame if job.out is None else None
    unscaled = _advises_scale(made.fitted)
    if job.report is not None and getattr(made.fitted, "metric", "euclidean") == "euclidean":  # the page warns as well
        unscaled = unscaled or needs_scale(made.given, job.columns, job.method.scale, "euclidean")
    if made.square is None:
        following = _next(job, made.given.coded, unscaled=unscaled, judged=made.can_judge)
    else:
        following = job.as_distances(made.square)
    return Answer(_facts(job, made), summary, following, shown=shown if rows is None else (), rows=rows)


def _deciding(made: Made) -> list[str]:
    """Return warnings about rows that alone make an axis."""
    from ..contract.axis_names import axis_labels
    from ..quality.deciding_rows import deciding_rows, deciding_words

    found = deciding_rows(made.embedding) if made.has_axes else []
    titles, names = axis_labels(made.fitted, shares=False), row_names(made.given) if found else None
    return [deciding_words(one, titles[one.axis], names) for one in found]


def _fit(job: Job) -> Made:
    """Read the table, fit the method, and lay the map over others; what can be checked before the fit is."""
    fitted = build_model(job.method)
    unseen = job.columns.recipe.unseen
    if unseen is not None and "unseen" in fitted.get_params(deep=False):
        fitted.set_params(unseen=unseen)
    categories = "categories" in find_method(job.method.method).needs
    given: Input = reading(
        lambda: read_input(
            job.data,
            job.columns,
            job.keep,
            method=fitted,
            scale=scaled_by_step(fitted, job.method),
            pairwise=fitted._pairwise,
            categories=categories,
        )
    )
    fill_in(fitted, job.method, given)
    square = warn_of_square(given, by_map=not job.takes_distances)
    check_kept(job.out, *given.kept(job.keep, job.columns.reading.copied))
    if job.supplementary_rows is not None and not job.supplementary_rows.exists():
        raise DataError(f"--supplementary-rows {job.supplementary_rows}: no such file")
    check_columns(given, job.keep.laid)
    earlier = None if job.align_to is None else EarlierMap.read(job.align_to, job.keep.id)
    from ..methods.shared.row_tails import keep_row_tails

    with nullcontext() if job.model is None else keep_row_tails():  # for --flag of `transform`
        made = Made(fitted, run(fitted.fit_transform, given), given, square=square)
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


def _with_components(frame: pl.DataFrame, fitted: Reducer) -> pl.DataFrame:
    """Add a column with the connected component of each row, if components were embedded separately."""
    labels = components(fitted)
    if labels is None:
        return frame
    import polars as pl

    name = next(name for name in ("piece", "piece_of_graph", "_piece") if name not in frame.columns)
    return frame.with_columns(pl.Series(name, labels))


def _facts(job: Job, made: Made) -> dict[str, Any]:
    from ..contract.axis_names import shares_of
    from ..contract.parameters import told
    from ..report.facts import column_names

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
        "stream": None,
        "out": job.out,
        "model": job.model,
        "report": job.report,
        "figure": job.figure.figure,
    }


def _advises_scale(fitted: Reducer) -> bool:
    """Return whether a warning of the fit advises to scale the columns."""
    advice = [setting for text in fitted.fit_info_.warnings for setting in settings_of(text)]
    return SCALE in advice or SCALED_METRIC in advice


def _next(job: Job, coded: Sequence[str], *, unscaled: bool, judged: bool = False) -> str:
    """Return the next command: a report, then a model, then new rows; for a plugin, which has no file, `evaluate`.

    Where a note advises to leave out ``coded`` labels, or a warning to scale columns that are ``unscaled``, it is the
    same reduction with that advice. ``judged``: the model can flag unusual new rows.
    """
    stem = stem_of(job.data)
    unscaled = unscaled and not job.columns.recipe.sets_units
    if unscaled or coded:
        job = replace(job, coded=coded, method=replace(job.method, scale=unscaled or job.method.scale))
        return job.command(report=f"{stem}.html" if job.report is None else str(job.report))
    if job.report is None:
        return job.command(report=f"{stem}.html")
    if not find_method(job.method.method).kept:
        if job.out is None:
            return job.command(out="embedding.csv")
        return command_line("evaluate", job.data, job.out)
    if job.model is None:
        return job.command(model=f"{stem}.lowland")
    return job.placing_command(flag=judged)
