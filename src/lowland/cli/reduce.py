"""`lowland reduce`: from a table to coordinates, a model and a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.command_line import command_line
from .answer import Answer, UsageError
from .input import Input
from .inputs import read_input, warn_of_square
from .model import build_model, files_of, fill_in, find_method, scaled_by_step, scaled_once
from .options import Common, DataFile, KeepOptions, MethodOptions, OutFile, TableOptions
from .outputs import check_kept, check_outputs
from .running import run

if TYPE_CHECKING:
    import polars as pl

    from ..contract.reducer import Reducer

ModelOut = Annotated[Path | None, Parameter(help="Write the fitted model here, such as model.lowland.")]
ReportOut = Annotated[Path | None, Parameter(help="Write an HTML report here (one self-contained file).")]

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
    "out": "file with the coordinates",
    "model": "model file, or null",
    "report": "report file, or null",
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

    def command(self, **files: str | None) -> str:
        """Return the command line of this reduction, with other output files if given."""
        kept = {name: value or None for name, value in vars(self.keep).items()}
        made = {name: files.get(name, getattr(self, name)) for name in ("out", "model", "report")}
        return command_line("reduce", self.data, **vars(self.method), **self.columns.words(), **kept, **made)


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
    common: Common | None = None,
) -> Answer:
    """Reduce a table to a few dimensions.

    Numeric columns are reduced; other columns are listed and left out, except that famd also uses columns of text.
    Without --out the coordinates are printed to stdout as CSV.

    Example: lowland reduce iris.csv --color species --out flat.csv --model iris.lowland --report iris.html
    """
    chosen = columns or TableOptions()
    options = scaled_once(method or MethodOptions(), chosen.recipe)
    inputs = (data, *files_of(options))
    check_outputs(out=out, model=model, report=report, inputs=inputs, json=common is not None and common.json)
    if model is not None and not find_method(options.method).kept:
        raise UsageError(
            f"--model {model}: {options.method} is a plugin, and model files contain neither code nor pickles; remove "
            "--model. In Python, save such a model with pickle or joblib (loading one can run code)"
        )
    job = Job(data, options, chosen, keep or KeepOptions(), out, model, report)
    return perform(job)


def perform(job: Job) -> Answer:
    """Fit the model and write the output files, which were checked before."""
    from ..data.writing import embedding_frame, write_table
    from ..modelfile import save
    from ..report.facts import sentence

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
    ids, kept = given.kept(job.keep)
    check_kept(job.out, ids, kept)
    embedding = run(fitted.fit_transform, given)
    frame = embedding_frame(embedding, [str(name) for name in fitted.get_feature_names_out()], ids, kept)
    frame = _with_components(frame, fitted)
    page = None if job.report is None else run(lambda rows: _page(job, fitted, embedding, given, rows), given)
    if job.out is not None:
        write_table(job.out, frame)
    if job.model is not None:
        save(with_steps(fitted, given), job.model)
    if job.report is not None and page is not None:
        from ..report.html import write_page

        write_page(job.report, page)
    summary = sentence(fitted, given.shape[0])
    return Answer(_facts(job, fitted, given), summary, _next(job), rows=frame if job.out is None else None)


def with_steps(fitted: Reducer, given: Input) -> Any:
    """Return the model to save: with the steps before it, if there are any."""
    if given.steps is None:
        return fitted
    from sklearn.pipeline import Pipeline

    return Pipeline([*given.steps.steps, ("method", fitted)])


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


def _page(job: Job, fitted: Reducer, embedding: Any, given: Input, rows: Any) -> str:
    import polars as pl

    from ..core.formatting import count
    from ..report.html import render_report

    color, color_name = None, job.keep.color
    if job.keep.color is not None and given.table is not None:
        color = given.table.column(job.keep.color)
    elif (labels := _components(fitted)) is not None:
        color, color_name = pl.Series([str(label) for label in labels]), "piece"
    n, columns = given.shape
    facts = {"file": job.data.name, "rows": f"{n:,}", "columns reduced": f"{columns:,}"}
    if given.pairwise:
        facts = {"file": job.data.name, "objects": f"{n:,}"}
    if given.left_out:
        facts["left out"] = ", ".join(f"{name} ({reason})" for name, reason in given.left_out.items())
    return render_report(
        fitted,
        embedding,
        X=rows,
        color=color,
        color_name=color_name,
        names=given.labels(),
        title=f"{job.data.name} in {count(embedding.shape[1], 'dimension')}",
        data_summary=facts,
        command=job.command(),
    )


def _facts(job: Job, fitted: Reducer, given: Input) -> dict[str, Any]:
    from ..contract.parameters import told
    from ..report.facts import column_names, shares_of

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
        "out": job.out,
        "model": job.model,
        "report": job.report,
    }


def _next(job: Job) -> str:
    """Return the next command: a report, then a model, then new rows; for a plugin, which has no file, `evaluate`."""
    stem = job.data.name.split(".")[0]
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
