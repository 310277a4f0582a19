"""`lowland transform` and `lowland inverse`: a saved model on new rows, and back."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .answer import Answer, UsageError
from .inputs import Input, default_names, read_coordinates, read_for
from .model import run
from .options import Common, DataFile, IdColumn, KeepColumns, KeepOptions, ModelIn, OutFile
from .outputs import check_kept, check_outputs

EmbeddingFile = Annotated[
    Path, Parameter(help="Table of coordinates, as `lowland reduce` or `lowland transform` wrote it.")
]

KEYS = {
    "model": "the model file",
    "data": "the file that was read",
    "method": "class of the model",
    "rows": "number of rows",
    "columns": "names of the columns that were made",
    "out": "file that was written",
}


def transform(
    model: ModelIn,
    data: DataFile,
    /,
    *,
    out: OutFile = None,
    id: IdColumn = None,
    keep_columns: KeepColumns = False,
    common: Common | None = None,
) -> Answer:
    """Reduce new rows with a saved model.

    Columns are found by their names where model and table have names: their order does not matter and further
    columns are left out. Nothing is fitted again.

    Example: lowland transform iris.lowland new.csv --out new_flat.csv
    """
    from ..modelfile import load
    from ..report.facts import count

    check_outputs(out=out, inputs=(model, data), json=common is not None and common.json)
    fitted = load(model)
    keep = KeepOptions(id=id, keep_columns=keep_columns)
    given = read_for(fitted, data, keep.aside)
    _check_kept(given, keep, out)
    embedding = run(fitted.transform, given)
    names = [str(name) for name in fitted.get_feature_names_out()]
    answer = _write(embedding, names, given, keep, out)
    facts = {"model": model, "data": data, "method": type(fitted).__name__, **answer.facts}
    summary = f"{type(fitted).__name__} reduced {count(given.shape[0], 'row')} to {count(len(names), 'dimension')}."
    coordinates = str(out) if out is not None else "EMBEDDING.csv"
    words = ["lowland", "inverse", str(model), coordinates, "--out", "restored.csv"]
    return Answer(facts, summary, shlex.join(words), rows=answer.rows)


def inverse(
    model: ModelIn,
    embedding: EmbeddingFile,
    /,
    *,
    out: OutFile = None,
    id: IdColumn = None,
    common: Common | None = None,
) -> Answer:
    """Take coordinates back to the columns that the model was fitted on.

    With all dimensions kept the table comes back whole; with fewer, its best approximation.

    Example: lowland inverse iris.lowland flat.csv --out restored.csv
    """
    from ..modelfile import load
    from ..report.facts import count

    check_outputs(out=out, inputs=(model, embedding), json=common is not None and common.json)
    fitted = load(model)
    if not hasattr(fitted, "inverse_transform"):
        raise UsageError(f"{type(fitted).__name__} has no way back from its coordinates: inverse does not apply")
    given = read_coordinates(fitted, embedding)
    keep = KeepOptions(id=id)
    _check_kept(given, keep, out)
    restored = run(fitted.inverse_transform, given)
    own = getattr(fitted, "feature_names_in_", None)
    names = default_names(restored.shape[1]) if own is None else [str(name) for name in own]
    answer = _write(restored, names, given, keep, out)
    facts = {"model": model, "data": embedding, "method": type(fitted).__name__, **answer.facts}
    made = f"{count(given.shape[0], 'row')} of {count(len(names), 'column')}"
    summary = f"{type(fitted).__name__} restored {made} from {count(given.shape[1], 'dimension')}."
    words = ["lowland", "info", str(out) if out is not None else str(model)]
    return Answer(facts, summary, shlex.join(words), rows=answer.rows)


def _check_kept(given: Input, keep: KeepOptions, out: Path | None) -> None:
    if given.table is None and (keep.aside or keep.keep_columns):
        raise UsageError(f"{given.source} is a sparse matrix: it has no columns for --id or --keep-columns")
    check_kept(out, *given.kept(keep))


def _write(values: Any, names: list[str], given: Input, keep: KeepOptions, out: Path | None) -> Answer:
    """Write the columns that were made, after those that are kept, or hand them over for stdout."""
    from ..data.writing import embedding_frame, write_table

    frame = embedding_frame(values, names, *given.kept(keep))
    if out is not None:
        write_table(out, frame)
    facts = {"rows": given.shape[0], "columns": names, "out": out}
    return Answer(facts, "", "", rows=frame if out is None else None)
