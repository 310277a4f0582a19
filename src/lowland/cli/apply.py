"""`lowland transform` and `lowland inverse`: a saved model on new rows, and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..core.command_line import command_line
from ..data.formats import foreign_table
from .answer import Answer, UsageError, note
from .engine_options import LOCAL, EngineOptions
from .figure_options import NO_FIGURE, FigureOptions, chosen_axes
from .figures import write_figure
from .input import Input, default_names, row_names
from .inputs import read_coordinates, read_for
from .new_rows import NewRows
from .options import (
    ColorColumn,
    Common,
    DataFile,
    HoverColumns,
    IdColumn,
    KeepColumns,
    KeepOptions,
    ModelIn,
    OutFile,
    ReportOut,
)
from .outputs import check_kept, check_outputs, is_table, only_numbers
from .preparing import parts_of_model, rows_before
from .reading_options import ReadingOptions
from .running import run
from .stream_options import Placement, Stream
from .streaming import too_large, transform_stream
from .wording import in_words

if TYPE_CHECKING:
    import polars as pl
    from sklearn.pipeline import Pipeline

    from ..contract.reducer import Reducer
    from ..quality.novelty_result import Novelty
    from ..streaming import Written

Flag = Annotated[
    bool,
    Parameter(
        help="Add columns that show how unlike the training rows each row is. Measures that the model can compute: t2 "
        "(Hotelling's T² along the axes), spe (squared residual from their plane), distance (to the training rows), "
        "cell (largest deviation of a single number, relative to its limit), terms (unknown terms of a text). "
        "novel is 1 if one of them exceeds its limit; unusual lists the columns responsible, with their values (not in "
        "files that hold only numbers). All are empty for rows with missing values.",
        show_default=False,
    ),
]
Unseen = Annotated[
    Literal["error", "ignore"] | None,
    Parameter(
        help="Categories that the training rows do not have, or that are missing: error or ignore. Default: as the "
        "model was fitted."
    ),
]
EmbeddingFile = Annotated[
    Path, Parameter(help="Table of coordinates written by `lowland reduce` or `lowland transform`.")
]

INVERSE_KEYS = {
    "model": "the model file",
    "data": "the file that was read",
    "method": "class of the model",
    "rows": "number of rows",
    "columns": "names of the computed columns",
    "out": "file that was written",
}

KEYS = {
    **INVERSE_KEYS,
    "novel": "with --flag: number of rows that exceed a limit; otherwise null",
    "unjudged": "with --flag: number of rows with missing values, whose measures are null; otherwise null",
    "limits": "with --flag: the limit of each measure; otherwise null",
    "missing": "with --flag: measures that are not available, each with the reason; otherwise null",
    "unusual_columns": "with --flag: columns that make rows novel, each with the number of rows; otherwise null",
    "report": "report file, or null",
    "figure": "figure file, or null",
}


def transform(
    model: ModelIn,
    data: DataFile,
    /,
    *,
    out: OutFile = None,
    report: ReportOut = None,
    id: IdColumn = None,
    color: ColorColumn = None,
    hover: HoverColumns = (),
    keep_columns: KeepColumns = False,
    flag: Flag = False,
    reading: ReadingOptions | None = None,
    unseen: Unseen = None,
    figure: FigureOptions | None = None,
    stream: Stream = False,
    placement: Placement = "auto",
    engine: EngineOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Reduce new rows with a saved model, which also repeats its preprocessing steps on them.

    Columns are matched by name if the model and the table both have column names: their order does not matter, and
    additional columns are ignored. The model is not refitted. --flag marks rows that are unlike the training rows:
    their coordinates are unreliable. --report and --figure show the new rows over the map of the training rows, if the
    model contains it. A table that does not fit in memory is read and written in blocks.

    Example: lowland transform iris.lowland new.csv --out new_flat.csv
    """
    from ..contract.axis_names import axis_labels, method_title
    from ..core.formatting import count
    from ..data.writing import embedding_frame
    from ..modelfile import load
    from ..quality.novelty_detection import can_judge

    _check_order(model, data, "DATA")
    drawing = figure or NO_FIGURE
    drawing.check()
    files = {"out": out, "report": report, "figure": drawing.figure}
    check_outputs(**files, inputs=(model, data), json=common is not None and common.json)
    saved = load(model)
    steps, fitted, after = parts_of_model(saved)
    names = [str(name) for name in fitted.get_feature_names_out()]
    chosen_axes(drawing.axes, names, axis_labels(fitted))
    keep = KeepOptions(id=id, color=color, hover=hover, keep_columns=keep_columns)
    copied = [] if reading is None else reading.copied
    where = engine or LOCAL
    where.check()
    if where.uses_cluster:
        stream = True
    if not stream:
        read = too_large(
            lambda: read_for(fitted, data, keep.aside, reading=reading, steps=steps, unseen=unseen, id=id),
            lambda: None,
            data,
        )
    if stream or read is None:
        no = {"flag": flag, "report": report, "figure": drawing.figure, "unseen": unseen}
        written = transform_stream(saved, data, out, keep, reading, placement, where, **no)
        return _of_stream(model, data, fitted, written)
    given: Input = replace(read, id=id)
    _check_kept(given, keep, out, copied)
    embedding = run(fitted.transform, given)
    embedding = embedding if after is None else after.transform(embedding)
    summary = f"{method_title(fitted)} reduced {count(given.shape[0], 'row')} to {count(len(names), 'dimension')}."
    judged = can_judge(fitted, [] if steps is None else [step for _, step in steps.steps])
    novelty = _novelty(fitted, steps, given) if flag or (report is not None and judged) else None
    found = novelty if flag else None
    if found is not None:
        summary += f" {found.sentence}"
        if int(found.novel.sum()) > 1 and any(found.unusual) and out is not None and not only_numbers(out):
            summary += " The column `unusual` of the output lists them for each row."
    frame = embedding_frame(embedding, names, *given.kept(keep, copied))
    before = frame.width - len(names)
    frame = frame if found is None else _flagged(frame, found, text=not only_numbers(out))
    made = frame.columns[before:]
    facts = _facts(model, data, out, fitted, given, made) | {
        "novel": None if found is None else int(found.novel.sum()),
        "unjudged": None if found is None else int((~found.judged).sum()),
        "limits": None if found is None else dict(found.limits),
        "missing": None if found is None else dict(found.missing),
        "unusual_columns": None if found is None else found.unusual_columns,
        "report": report,
        "figure": drawing.figure,
    }
    placed = NewRows(model, fitted, after, given, embedding, keep, novelty)
    if report is not None:
        words: dict[str, Any] = {
            "id": id,
            "color": color,
            "hover": hover,
            "flag": flag,
            "keep_columns": keep_columns,
            "unseen": unseen,
        }
        words |= {**({} if reading is None else reading.words()), "out": out}
        placed.write_report(report, data, words, drawing)
    if drawing.figure is not None:
        write_figure(drawing, run(lambda rows: placed.figure(drawing, rows), given))
    following = command_line("info", model)
    if _is_invertible(fitted, steps):
        following = command_line("inverse", model, out or "EMBEDDING.csv", out="restored.csv")
    return Answer(facts, summary, following, rows=_written(frame, out))


def _of_stream(model: Path, data: Path, fitted: Reducer, written: Written) -> Answer:
    """Return the answer for a table that was read and written in blocks."""
    from ..core.formatting import count

    names = list(written.columns[-fitted.n_components_ :])
    facts = {"model": model, "data": data, "method": type(fitted).__name__, "rows": written.n_rows, "columns": names}
    facts |= {"out": written.path, **dict.fromkeys(name for name in KEYS if name not in INVERSE_KEYS)}
    summary = f"{type(fitted).__name__} reduced {count(written.n_rows, 'row')} to {count(len(names), 'dimension')}."
    return Answer(facts, summary, command_line("info", written.path))


def _novelty(fitted: Reducer, steps: Pipeline | None, given: Input) -> Novelty:
    """Compare the rows with the training rows; measures that are not available are listed on stderr."""
    from ..quality.novelty_axes import method_before
    from ..quality.novelty_detection import novelty_after

    before = [] if steps is None else [step for _, step in steps.steps]
    pre = method_before(before)
    if pre is not None and steps is not None and given.table is not None:
        before, given = before[:-1], rows_before(given, steps[:-1])
    table = None if given.table is None else given.table.with_aside()
    names = row_names(given)
    found: Novelty = run(lambda rows: novelty_after(before, fitted, rows, pre=pre, table=table, names=names), given)
    found = replace(found, missing={name: in_words(why) for name, why in found.missing.items()})
    for reason in dict.fromkeys(found.missing.values()):
        lacking = [name for name, why in found.missing.items() if why == reason]
        without = f"{_listed(lacking)} {'is' if len(lacking) == 1 else 'are'} not available"
        note(f"rows are judged by {_listed(list(found.limits))}; {without}: {reason}")
    return found


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, such as "t2, spe and cell"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _flagged(frame: pl.DataFrame, found: Novelty, *, text: bool) -> pl.DataFrame:
    """Append the measures to the coordinates; ``novel`` is 1 or 0, which every file format can store.

    ``text``: whether the format can store the unusual columns of each row, too.
    """
    import numpy as np
    import polars as pl

    from ..data.writing import embedding_frame, free_name

    columns = found.columns()
    joined = embedding_frame(np.column_stack(list(columns.values())), list(columns), keep=frame)
    made = joined.columns[-len(columns) :]
    known = pl.Series(found.judged)
    joined = joined.with_columns(
        *(pl.when(known).then(pl.col(name)).alias(name) for name in made[:-1]),
        pl.when(known).then(pl.col(made[-1]).cast(pl.Int8)).alias(made[-1]),
    )
    if not text:
        return joined
    name = free_name("unusual", joined.columns)
    return joined.with_columns(pl.Series(name, found.unusual_texts(), dtype=pl.String))


def _is_invertible(fitted: Reducer, steps: Pipeline | None) -> bool:
    """Return whether rows can be restored: not texts, distances, or the input of a kernel without pre-images."""
    if steps is not None and not hasattr(steps, "inverse_transform"):
        return False
    if getattr(fitted, "_fitted_pairwise", False):
        return False
    return hasattr(fitted, "inverse_transform") and getattr(fitted, "ridge_", True) is not None


def inverse(
    model: ModelIn,
    embedding: EmbeddingFile,
    /,
    *,
    out: OutFile = None,
    id: IdColumn = None,
    reading: ReadingOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Map coordinates back to the original columns.

    Linear methods return the best linear approximation; it is exact if all dimensions were kept. Neighbour-based
    methods return a weighted mean of nearby training rows. At the position of a training row
    they return that row itself, so restoring training rows does not show the reconstruction error.

    Example: lowland inverse iris.lowland flat.csv --out restored.csv
    """
    from ..contract.axis_names import method_title
    from ..core.formatting import count
    from ..data.writing import embedding_frame
    from ..modelfile import load

    _check_order(model, embedding, "EMBEDDING")
    check_outputs(out=out, inputs=(model, embedding), json=common is not None and common.json)
    steps, fitted, after = parts_of_model(load(model))
    if not hasattr(fitted, "inverse_transform"):
        raise UsageError(
            f"{type(fitted).__name__} has no inverse transform: coordinates cannot be mapped back to columns"
        )
    for name, step in [] if steps is None else steps.steps:
        if not hasattr(step, "inverse_transform"):
            raise UsageError(
                f"{model.name}: its step {name} ({type(step).__name__}) has no inverse transform: coordinates cannot "
                "be mapped back to columns"
            )
    given = replace(read_coordinates(fitted, embedding, reading, id), id=id)
    keep = KeepOptions(id=id)
    _check_kept(given, keep, out)
    before = run(lambda Y: Y if after is None else after.inverse_transform(Y), given)
    restored = run(lambda _: fitted.inverse_transform(before), given)
    _warn_of_far(fitted, before, given, steps)
    own = getattr(fitted, "feature_names_in_", None)
    names = default_names(restored.shape[1]) if own is None else [str(name) for name in own]
    if steps is not None:
        back = run(lambda rows: steps.inverse_transform(embedding_frame(restored, names)), given)
        names = list(back.columns)
        frame = embedding_frame(back.to_numpy(), names, *given.kept(keep))
        frame = frame.with_columns(back.get_columns()) if frame.columns[-len(names) :] == names else frame
    else:
        frame = embedding_frame(restored, names, *given.kept(keep))
    facts = _facts(model, embedding, out, fitted, given, frame.columns[-len(names) :])
    made = f"{count(given.shape[0], 'row')} of {count(len(names), 'column')}"
    summary = f"{method_title(fitted)} restored {made} from {count(given.shape[1], 'dimension')}."
    return Answer(facts, summary, command_line("info", out or model), rows=_written(frame, out))


def _warn_of_far(fitted: Reducer, Y: Any, given: Input, steps: Pipeline | None) -> None:
    """Warn of coordinates far outside the training rows: their values are extrapolated, in logarithms exponentially."""
    from ..core.errors import LowlandWarning
    from ..core.formatting import count, first_names
    from ..quality.novelty_axes import far_coordinates

    far = far_coordinates(fitted, Y)
    if far is None or not far.any():
        return
    names = row_names(given)
    places = [names[i] for i in far.nonzero()[0].tolist()]
    is_log = any(set(getattr(step, "columns_", ())) & {"log", "log1p", "clr"} for _, step in _steps(steps))
    more = "; undone logarithms make them exponentially large or small" if is_log else ""
    one = len(places) == 1
    warnings.warn(
        f"{count(len(places), 'row')} {'is' if one else 'are'} far outside the training rows "
        f"({first_names(places, 3)}): {'its' if one else 'their'} values are extrapolated and unreliable{more}",
        LowlandWarning,
        stacklevel=2,
    )


def _steps(steps: Pipeline | None) -> list[tuple[str, Any]]:
    return [] if steps is None else list(steps.steps)


def _check_order(model: Path, data: Path, place: str) -> None:
    """Raise `UsageError` if the two files are given in the wrong order."""
    if is_table(model) or foreign_table(model) is not None:
        raise UsageError(f"{model} is a table, but the first argument must be a model file: give MODEL, then {place}")
    if data.suffix.lower() == ".lowland":
        raise UsageError(f"{data} is a model file, but the second argument must be a table: give MODEL, then {place}")


def _check_kept(given: Input, keep: KeepOptions, out: Path | None, copied: Sequence[str] = ()) -> None:
    if given.table is None and (keep.aside or keep.shown or keep.keep_columns):
        raise UsageError(
            f"{given.source} is a sparse matrix, which has no named columns: remove --id, --hover and --keep-columns"
        )
    check_kept(out, *given.kept(keep, copied))


def _written(frame: pl.DataFrame, out: Path | None) -> pl.DataFrame | None:
    """Write the table; without a file, return it for stdout."""
    from ..data.writing import write_table

    if out is None:
        return frame
    write_table(out, frame)
    return None


def _facts(
    model: Path, data: Path, out: Path | None, fitted: Reducer, given: Input, names: list[str]
) -> dict[str, Any]:
    method, rows = type(fitted).__name__, given.shape[0]
    return {"model": model, "data": data, "method": method, "rows": rows, "columns": names, "out": out}
