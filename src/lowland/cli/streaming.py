"""`lowland reduce` and `lowland transform` of tables that are read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, FileSizeError, MemoryLimitError
from .answer import UsageError, note
from .column_notes import note_coded_labels_of_scan
from .engine_options import EngineOptions
from .input import Input, default_names
from .inputs import rows_of
from .model import build_model, scaled_by_step
from .name_lists import split_names
from .options import KeepOptions
from .preparing import parts_of_model
from .progress import progress_bar
from .reading_options import ReadingOptions
from .reduction import Job, Made
from .stream_options import StreamOptions
from .wording import in_words

if TYPE_CHECKING:
    from ..data.scans.scratch import Scratch
    from ..data.scans.table_scan import TableScan
    from ..streaming import Written
    from ..streaming.checkpoint import Checkpoint

MANY_ROWS = 200_000  # above which tsne and umap are interpolated
_QUICK_MAPS = ("TSNE", "UMAP")


@dataclass(frozen=True)
class Streamed:
    """What was fitted and written: the model with its steps, the table, the method, and the file."""

    model: Any
    method: Any
    table: TableScan
    written: Written
    exact: bool
    sample_rows: int
    names_left_out: dict[str, str]
    passes: int | None = None  # over the table; None if workers read it
    parsed: bool = True  # in each pass, not only in the first
    coded: tuple[str, ...] = ()  # columns that a note called coded labels

    def facts(self) -> dict[str, Any]:
        """Return the entry "stream" of the JSON object."""
        info = self.method.fit_info_
        return {
            "rows": self.written.n_rows,
            "passes": self.passes,
            "exact": self.exact,
            "sample": None if self.exact else self.sample_rows,
            "placement_error": None if self.exact else info.approximation_error,
            "placement_error_90": None if self.exact else info.evidence.get("placement error, 90 %"),
            "placement": self.written.placement,
            "interpolation_error": self.written.error,
        }


def too_large(
    work: Callable[[], Any],
    otherwise: Callable[[], Any],
    path: Path,
    most: int | None = None,
    reading: ReadingOptions | None = None,
) -> Any:
    """Do the work in memory; if the file is too large for that and can be read in blocks, do the other.

    ``most``: do the other also if the fit of more rows than this, read with the options ``reading``, does not fit in
    memory.
    """
    try:
        return work()
    except MemoryLimitError as error:
        if not isinstance(error, FileSizeError) and (most is None or not _has_more_rows(path, most, reading)):
            raise
        if not _can_scan(path):
            raise
        note(f"{path.name} is read in blocks: {in_words(error.reason)}")
        return otherwise()


def _can_scan(path: Path) -> bool:
    from ..data.scans.opening import SUFFIXES

    return path.name.lower().endswith(SUFFIXES)


def _has_more_rows(path: Path, count: int, reading: ReadingOptions | None) -> bool:
    return _can_scan(path) and opened(path, reading).count() > count


def reading(work: Callable[[], Any]) -> Any:
    """Do work that makes rows of a file; an error of too little memory is then one of the size of the file."""
    try:
        return work()
    except FileSizeError:
        raise
    except MemoryLimitError as error:
        raise FileSizeError(error.args[0], reason=error.reason) from error


def opened(
    path: Path,
    reading: ReadingOptions | None,
    columns: Any = None,
    drop: Any = None,
    *,
    types: Mapping[str, str] | None = None,
    id: str | None = None,
    keys: Sequence[str] = (),
) -> TableScan:
    """Open the table for reading in blocks; ``types`` are those of --types, ``id`` is kept as it is written.

    ``keys``: keys of folders to copy. Categories of a text that begin as whole numbers are read as text: others may
    follow.
    """
    from ..data import scan
    from ..data.scans.opening import is_text

    options = (reading or ReadingOptions()).naming(id).set_options()
    for name in ("text", "image", "sheet"):
        if name in options:
            raise UsageError(f"--{name} needs the table in memory; remove it, or leave out --stream")
    table = scan(path, columns=columns, drop=drop, keys=keys, **options)
    if not types or not is_text(table):
        return table
    settled = {
        name: kind
        for name, kind in types.items()
        if name in table.schema and (kind == "number" or (kind == "category" and table.schema[name].is_integer()))
    }
    return scan(path, columns=columns, drop=drop, keys=keys, types=settled, **options) if settled else table


def say_notes(table: TableScan) -> None:
    """Say which files of a table were left out because they have no rows."""
    from ..data.scans.parts import PartsScan

    for text in table.notes if isinstance(table, PartsScan) else ():
        note(text)


# -- reduce -----------------------------------------------------------------------------------------------------------


def check_job(job: Job, stream: StreamOptions) -> None:
    """Raise `UsageError` for options that need the whole table in memory."""
    if job.out is None:
        raise UsageError(
            "a table that is read in blocks is written in blocks, too: add --out FILE, such as map.parquet"
        )
    from ..data.table_stream import check_streamed

    check_streamed(job.out)
    for option, value in (
        ("--align-to", job.align_to),
        ("--supplementary-rows", job.supplementary_rows),
        ("--supplementary", job.keep.supplementary),
    ):
        if value:
            raise UsageError(
                f"{option} needs the table in memory; remove it, or save the model with --model and use a smaller table"
            )
    if job.columns.recipe.missing == "drop-rows":
        raise UsageError("--missing drop-rows needs the table in memory; use --missing median, mean or ppca")
    if job.columns.recipe.texts is not None:
        raise UsageError("--texts needs the table in memory; use fewer texts, or --stream without it")
    if stream.sample < 2:
        raise UsageError(f"--sample {stream.sample}: the sample needs at least 2 rows")


def reduce_stream(job: Job, stream: StreamOptions) -> Streamed:
    """Fit the method by passes over the table, or to a sample of it, and write the coordinates block by block."""
    from ..streaming.sample_fit import takes_frames

    check_job(job, stream)
    assert job.out is not None
    method = build_model(job.method)
    if method._pairwise:
        raise UsageError("a precomputed matrix is needed as a whole: leave out --stream, or give rows and a metric")
    chosen, drop = split_names(job.columns.columns, "--columns"), split_names(job.columns.drop, "--drop") or []
    aside = [*drop, *job.keep.aside]
    types = job.columns.recipe.column_types()
    table = opened(job.data, job.columns.reading, chosen, aside, types=types, id=job.keep.id)
    scale = scaled_by_step(method, job.method)
    model = method
    if job.columns.recipe.needed or scale:
        from sklearn.pipeline import Pipeline

        steps = job.columns.recipe.steps(method, scale=scale)
        model = Pipeline([*steps.steps, ("method", method)])
    say_notes(table)
    numbers_only = model is method and not takes_frames(method)
    left_out = {
        name: "not numeric" for name in table.schema if numbers_only and name not in (table.names or table.schema)
    }
    if left_out:
        note(f"left out: {', '.join(f'{name} ({why})' for name, why in left_out.items())}")
    coded: tuple[str, ...] = ()
    if chosen is None:
        coded = note_coded_labels_of_scan(table, types, labelled=job.keep.color is not None)
    keys = _keys(job.keep, table)
    whole = opened(job.data, job.columns.reading, types=types, id=job.keep.id, keys=keys) if table.has_names else table
    copied = _copied(job.keep, table, whole)
    if table.has_names:
        needed = list(dict.fromkeys([*table.schema, *copied]))
        if len(needed) < len(whole.schema):
            others = [name for name in whole.schema if name not in needed]  # named columns must be numbers
            whole = opened(job.data, job.columns.reading, drop=others, types=types, id=job.keep.id, keys=keys)
    scratch = None if stream.engine.uses_cluster else _scratch(whole, stream.scratch)
    if scratch is not None:
        from ..data.scans.scratch import ScratchScan

        table, whole = ScratchScan(table, scratch), ScratchScan(whole, scratch)
    with stream.engine.running(), progress_bar():
        exact, kept = _fit(model, method, table, stream)
        try:
            written = _write(model, whole, job.out, copied, stream.placement, stream.engine)
        except BaseException:
            if kept is not None:
                kept.release()
            raise
    if scratch is not None and scratch.failure is not None:
        note(f"{scratch.failure}: the text was parsed in each pass")
    passes = None if stream.engine.uses_cluster else table.passes + (whole.passes if whole is not table else 0)
    parsed = scratch is None or scratch.failure is not None
    sample_rows = min(stream.sample, written.n_rows)
    done = Streamed(model, method, table, written, exact, sample_rows, left_out, passes, parsed, coded)
    note(words_of(done))
    if kept is not None:
        kept.remove()
    return done


def _scratch(table: TableScan, folder: str) -> Scratch | None:
    """Return where the parsed rows of a text are kept meanwhile; None for other files, or if that is not wanted."""
    from ..data.scans.opening import is_text
    from ..data.scans.scratch import Scratch, scratch_folder

    if folder == "none" or not is_text(table):
        return None
    return Scratch(table, scratch_folder() if folder == "auto" else Path(folder))


def _fit(model: Any, method: Any, table: TableScan, stream: StreamOptions) -> tuple[bool, Checkpoint | None]:
    """Fit by passes if the method can, else to a sample; return whether it was exact, and the checkpoint."""
    from ..streaming import fit, fit_sample
    from ..streaming.fitting import fits_in_passes, open_checkpoint, run_with

    rows = stream.engine.rows(table)
    exact = fits_in_passes(model, rows)
    if stream.checkpoint is not None:
        if not exact:
            raise UsageError(
                "--checkpoint is for methods that are fitted in passes over the table; "
                f"{type(method).__name__} is fitted to a sample: remove it"
            )
        kept = open_checkpoint(model, rows, stream.checkpoint)
        run_with(model, rows, kept)
        if kept.resumed_rows:
            note(f"continued from {stream.checkpoint}: {kept.resumed_rows:,} rows were not read again")
        return True, kept
    if exact:
        try:
            fit(model, rows)
        except MemoryLimitError as error:
            if model is method:
                raise
            note(f"{type(method).__name__} is fitted to a sample: {in_words(error.reason)}")
        else:
            return True, None
    fit_sample(model, rows, stream.sample)
    return not method.fit_info_.evidence.get("rows of the sample"), None


def _keys(keep: KeepOptions, table: TableScan) -> list[str]:
    """Return the keys of folders that are written before the coordinates or colour the points."""
    return [key for key in table.keys if keep.keep_columns or key in (keep.id, keep.color, *keep.shown)]


def _copied(keep: KeepOptions, table: TableScan, whole: TableScan) -> list[str]:
    """Return the columns that are written before the coordinates."""
    if keep.keep_columns:
        return list(whole.schema)
    names = [*([] if keep.id is None else [keep.id]), *([] if keep.color is None else [keep.color]), *keep.shown]
    names = list(dict.fromkeys(names))
    missing = [name for name in names if name not in whole.schema]
    if missing:
        raise DataError(f"{table.source} has no column {missing[0]!r}; it has {', '.join(list(whole.schema)[:12])}")
    return names


def _write(model: Any, table: TableScan, out: Path, keep: list[str], placement: str, engine: EngineOptions) -> Written:
    from ..streaming import transform_file

    _, method, _ = parts_of_model(model)
    if placement == "auto":
        many = type(method).__name__ in _QUICK_MAPS and table.count() > MANY_ROWS
        placement = "interpolate" if many else "transform"
    return transform_file(model, engine.rows(table), out, keep=keep, placement=placement)


def words_of(done: Streamed) -> str:
    """Return the line that says how the table was reduced."""
    from ..core.formatting import format_share

    rows = f"{done.table.source}: {done.written.n_rows:,} rows read in blocks"
    if done.exact:
        text = f"{rows}, {type(done.method).__name__} fitted to all of them"
    else:
        info = done.method.fit_info_
        error, high = info.approximation_error, info.evidence.get("placement error, 90 %")
        told = "" if error is None else f"; placement error {format_share(error)} of the map's radius (90 %: "
        told += "" if error is None else f"{format_share(high)})"
        text = f"{rows}, {type(done.method).__name__} fitted to a sample of {done.sample_rows:,}{told}"
    return text + interpolation_words(done.written) + _pass_words(done)


def _pass_words(done: Streamed) -> str:
    """Return how often the table was read, in words."""
    if done.passes is None:
        return ""
    return f"; {done.passes} passes over the table" + ("" if done.parsed else ", its text parsed once")


def interpolation_words(written: Written) -> str:
    """Return how far interpolated places are from those of transform, in words."""
    from ..core.formatting import format_share

    if written.error is None or written.error_90 is None:
        return ""
    return (
        f"; rows placed by interpolation, {format_share(written.error)} of the radius from the places of transform "
        f"(90 %: {format_share(written.error_90)}, {written.compared:,} rows compared)"
    )


def sampled(job: Job, stream: StreamOptions, done: Streamed) -> Made:
    """Return a reduction of sampled rows, for reports and figures: those of the fit, if it was to a sample."""
    from ..data.table import Table
    from ..rows.sampling import draw_pieces

    types, keys = job.columns.recipe.column_types(), _keys(job.keep, done.table)
    whole = opened(job.data, job.columns.reading, types=types, id=job.keep.id, keys=keys)
    sample = draw_pieces(whole.number_frames(), stream.sample, 0, whole.n_rows)
    table = Table(sample.rows, f"{job.data.name} ({sample.rows.height:,} of {sample.n_rows:,} rows)")
    steps, fitted, _ = parts_of_model(done.model)
    if steps is not None:
        from .preparing import prepared_again

        given = replace(prepared_again(table, steps), id=job.keep.id, left_out=done.names_left_out)
    else:
        names = getattr(fitted, "feature_names_in_", None)
        wanted = default_names(fitted.n_features_in_) if names is None else [str(name) for name in names]
        given = replace(_input(table, fitted, wanted, names is not None), id=job.keep.id, left_out=done.names_left_out)
    note(f"--report and --figure show a sample of {sample.rows.height:,} of {sample.n_rows:,} rows")
    return Made(fitted, fitted.transform(given.rows), given, sampled_from=sample.n_rows)


def _input(table: Any, fitted: Any, wanted: list[str], named: bool) -> Input:
    from ..rows.row_source import RowSource

    if getattr(fitted, "categorical_columns_", None):
        return rows_of(table, table.select_mixed(columns=wanted))
    selection = table.select(columns=wanted)
    rows = RowSource.from_array(selection.X, names=wanted if named else None)
    return Input(rows, (table.n_rows, len(wanted)), table.source, wanted, table)


# -- transform --------------------------------------------------------------------------------------------------------


def transform_stream(
    model: Any,
    data: Path,
    out: Path | None,
    keep: KeepOptions,
    reading: ReadingOptions | None,
    placement: str,
    engine: EngineOptions,
    **no: Any,
) -> Written:
    """Write the coordinates of a table by a saved model, block by block."""
    for option, value in no.items():
        if value:
            raise UsageError(f"--{option} needs the table in memory; remove it, or use it with a part of the table")
    if out is None:
        raise UsageError(
            "a table that is read in blocks is written in blocks, too: add --out FILE, such as map.parquet"
        )
    table = opened(data, reading, id=keep.id)
    if keys := _keys(keep, table):
        table = opened(data, reading, id=keep.id, keys=keys)
    say_notes(table)
    with engine.running(), progress_bar():
        written = _write(model, table, out, _copied(keep, table, table), placement, engine)
    note(f"{table.source}: {written.n_rows:,} rows read in blocks{interpolation_words(written)}")
    return written


__all__ = ["Streamed", "reading", "reduce_stream", "sampled", "too_large", "transform_stream", "words_of"]
