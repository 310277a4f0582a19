"""`lowland compare`: which method for this table, with reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..core.command_line import name_after, stem_of
from ..core.errors import DataError
from .answer import Answer, UsageError, note
from .compare_table import ranking, skipped
from .comparing import about_rows
from .engine_options import LOCAL, EngineOptions
from .input import Input
from .inputs import read_input
from .model import find_method
from .name_lists import split_names
from .next_commands import SameRows
from .options import (
    COMPONENTS,
    OUT,
    Common,
    DataFile,
    KeepOptions,
    QualityNeighbors,
    ReportOut,
    RowNames,
    TableOptions,
)
from .outputs import check_outputs
from .preparing import steps_in_words
from .running import run
from .scaling import scaled_once
from .square_input import as_distances, warn_of_square
from .wording import SCALED, candidate_words

if TYPE_CHECKING:
    import polars as pl

    from ..comparison import Comparison, Recommendation

KEYS = {
    "data": "the file that was read",
    "rows": "number of rows: all, compared, training, held-out",
    "recommendation": "the recommended candidate: key, method, parameters, prefer (criterion), verdict, space (what "
    "the map is compared with), reasons, ties, not_good_for",
    "candidates": "a list, best first: rank, candidate, method, status, score, behind (difference from the best score, "
    "with interval), tied, criteria with intervals, seconds, whole_seconds (estimate for all rows), reason (why it did "
    "not run)",
    "evidence": "properties of the data: crowding, structured, strays (outliers left out), pieces (connected "
    "components of the neighbour graph), distances, dimensions, accuracy",
    "seconds": "elapsed time in seconds",
    "budget": "time limit",
    "out": "file with the table of candidates, or null",
    "report": "report file, or null",
    "record": "record file, or null",
}

_STAGES_SHOWN = ("compare", "search settings")  # as progress bars; those of each candidate would fill the screen

_MOSTLY_UNIQUE = "mostly unique text"  # such as a name for each row
_WITH_GAPS = "text with missing values"  # methods are compared on rows without missing values


@Parameter(name="*")
@dataclass(frozen=True)
class CompareOptions:
    """The options that a record contains, too; None: the default of `lowland.compare`."""

    methods: Annotated[
        str | None,
        Parameter(
            name=("--methods", "-m"),
            help="Methods to compare, separated by commas. Default: auto, which selects methods suitable for the data, "
            "uses columns of text, and tries several settings.",
        ),
    ] = None
    components: Annotated[
        int | None, Parameter(name=COMPONENTS, help="Number of dimensions of the maps. Default: 2.")
    ] = None
    budget: Annotated[str | None, Parameter(help="Total time limit, such as 90s, 5min or 1h. Default: 5min.")] = None
    metric: Annotated[
        str | None,
        Parameter(help="Distance between rows; precomputed: the table is a distance matrix. Default: euclidean."),
    ] = None
    scale: Annotated[
        bool | None,
        Parameter(
            help="Divide each column by its standard deviation; use it for columns in different units.",
            negative=(),
            show_default=False,
        ),
    ] = None
    quality_neighbors: QualityNeighbors = None
    sample: Annotated[
        str | None, Parameter(help="Maximum number of rows to use, drawn at random, or all. Default: 5000.")
    ] = None
    held_out: Annotated[
        float | None, Parameter(help="Fraction of these rows to hold out, from 0 to 0.5. Default: 0.2.")
    ] = None
    seed: Annotated[int | None, Parameter(help="Random seed. Default: 0.")] = None

    def words(self) -> dict[str, Any]:
        """Return the options that were given."""
        options = {f"--{name.replace('_', '-')}": value for name, value in vars(self).items()}
        return {name: value for name, value in options.items() if value is not None}

    def parameters(self) -> dict[str, Any]:
        """Return the same as parameters of `lowland.compare`, checked as far as possible without the table."""
        names = {"components": "n_components", "quality_neighbors": "n_neighbors", "seed": "random_state"}
        given = {names.get(name, name): value for name, value in vars(self).items() if value is not None}
        if given.pop("scale", False):
            if self.metric is not None:
                raise UsageError(
                    "--scale sets the metric to seuclidean and cannot be combined with --metric; remove one of them"
                )
            given["metric"] = SCALED
        if self.budget is not None:
            check_budget(self.budget)
        if self.components is not None and self.components < 1:
            raise UsageError(f"--components {self.components}: must be at least 1")
        if self.sample is not None:
            given["sample"] = _sample(self.sample)
        if self.methods is not None:
            given["methods"] = _methods(self.methods)
        return given


def compare(
    data: DataFile,
    /,
    *,
    asked: CompareOptions | None = None,
    target: Annotated[
        str | None,
        Parameter(help="Column of class labels: not reduced; maps are also scored by class accuracy."),
    ] = None,
    id: RowNames = None,
    hover: Annotated[
        tuple[str, ...],
        Parameter(
            help="Columns that the report shows while the pointer is over a point, separated by commas. A column that "
            "is data remains data.",
            show_default=False,
        ),
    ] = (),
    prefer: Annotated[
        str, Parameter(help="Criterion of the recommendation: balanced, local, global, target or speed.")
    ] = "balanced",
    columns: TableOptions | None = None,
    out: Annotated[
        Path | None, Parameter(name=OUT, help="Write the table of candidates here: .csv, .tsv (also .gz) or .parquet.")
    ] = None,
    report: ReportOut = None,
    record: Annotated[
        Path | None, Parameter(help="Write settings and results of this run to a .json file, for --again.")
    ] = None,
    again: Annotated[
        Path | None,
        Parameter(
            help="Repeat the fits that finished in this record, on the same data and without a time limit; the "
            "results are the same."
        ),
    ] = None,
    engine: EngineOptions | None = None,
    common: Common | None = None,
) -> Answer:
    """Fit several methods to a table, measure their maps in the same way, and recommend one.

    Each method is fitted on the training rows and then maps the held-out rows. Maps are scored by how well they
    preserve neighbours and distances, and by class accuracy with --target. A method that fails or takes too long is
    reported and does not stop the others. With --engine dask, candidates run on several workers at once.

    Example: lowland compare iris.csv --target species --budget 1min --report comparison.html
    """
    wanted, where = asked or CompareOptions(), engine or LOCAL
    where.check()
    scale, chosen = scaled_once(bool(wanted.scale), columns or TableOptions())
    chosen.recipe.refuse_unseen()
    wanted = replace(wanted, scale=scale or None)
    parameters = wanted.parameters()
    _check_files(out, report, record, again, data)
    _check_options(wanted, prefer, target, again)
    metric, methods = parameters.get("metric", "euclidean"), parameters.get("methods", "auto")
    steps = chosen.recipe.needed
    text = "famd" in methods and chosen.recipe.keeps_categories if steps else methods == "auto" or "famd" in methods
    if steps and again is not None:
        note("the steps before the method are fitted again to the same rows")
    if again is not None:
        former = _read_record(again)
        parameters = {"record": former}
        metric, text = former["settings"]["metric"], former["data"]["kind"] == "categories"
    keep = KeepOptions(id=id, color=target, hover=hover)
    given = _read(data, chosen, keep, metric, text)
    square = warn_of_square(given)
    about = about_rows(given, keep, report)
    if wanted.scale and _is_mixed(given):
        note("FAMD already scales the columns of a table with text; --scale has no effect")
        del parameters["metric"]
    with where.running():
        found = perform(given, target, {**parameters, "engine": where.engine})
    advice = found.recommend(prefer)
    reasons, unfit = (tuple(map(candidate_words, texts)) for texts in (advice.reasons, advice.not_good_for))
    advice = replace(advice, reasons=reasons, not_good_for=unfit)
    same: dict[str, Any] = dict(vars(wanted)) if again is None else {"again": again}
    same |= {"prefer": prefer if prefer != "balanced" else None}
    rows = SameRows(data, chosen, id, target, hover, given.coded)
    command, following = rows.command("compare", first=same, report=report), _next(rows, given, advice)
    if square is not None:
        following = as_distances(rows, square, "compare", **_of_distances(wanted), prefer=same["prefer"])
    about |= {"command": command, "following": following, "words": candidate_words}
    about["repeat"] = rows.command("compare", first={"again": record or "record.json"}, report=report)
    files = _write(found, data, out, report, record, about)
    facts = _facts(found, advice, data) | files
    dominated = found.record["data"]["dominant"] is not None and not chosen.recipe.sets_units
    if square is None and dominated and again is None:
        following = rows.command("compare", first={"scale": True} | {k: v for k, v in same.items() if k != "scale"})
    return Answer(facts, candidate_words(str(advice)), following, shown=[ranking(found, advice), *skipped(found)])


def _read(data: Path, columns: TableOptions, keep: KeepOptions, metric: str, text: bool) -> Input:
    """Read the rows; ``text``: use columns of text as categories.

    Columns of mostly unique text or with missing values are left out with a note, unless --columns is given. If only
    numbers remain, the rows are one array, as without text: the fingerprint in a record depends on it.
    """
    from ..data.table import not_numeric
    from ..methods.linear.famd import FAMD
    from ..rows.row_source import RowSource

    coder = FAMD() if text else None
    given = read_input(data, columns, keep, method=coder, pairwise=metric == "precomputed", categories=text)
    if given.steps is not None or given.table is None or given.names is None or isinstance(given.rows, RowSource):
        return given
    frame = given.table.frame.select(given.names)
    texts = [name for name, kind in frame.schema.items() if not_numeric(kind) is not None]
    out = {} if columns.columns else _unfit(frame, texts)
    for name, why in out.items():
        remedy = "use --columns to include it" if why == _MOSTLY_UNIQUE else "fill in the values to include it"
        note(f"left out: {name} ({why}); {remedy}")
    kept = [name for name in given.names if name not in out]
    named = hasattr(given.rows, "columns")
    if len(texts) == len(out):
        rows: Any = RowSource.from_array(given.table.select(columns=kept).X, names=kept if named else None)
    else:
        rows = given.rows.select(kept) if named else given.rows[:, [given.names.index(name) for name in kept]]
    left = {**given.left_out, **out}
    return replace(given, rows=rows, shape=(frame.height, len(kept)), names=kept, left_out=left)


def _is_mixed(given: Input) -> bool:
    """Return whether the rows have columns of text."""
    from ..rows.row_source import RowSource

    return given.table is not None and not isinstance(given.rows, RowSource)


def _unfit(frame: pl.DataFrame, texts: Sequence[str]) -> dict[str, str]:
    """Return the columns of text that cannot be used as categories, each with the reason."""
    out = {}
    for name in texts:
        if 2 * frame[name].n_unique() > frame.height:
            out[name] = _MOSTLY_UNIQUE
        elif frame[name].null_count():
            out[name] = _WITH_GAPS
    return out


def perform(given: Input, target: str | None, asked: dict[str, Any]) -> Comparison:
    """Compare the rows of a file, with progress."""
    from ..comparison import compare as work
    from ..core import settings

    classes = None
    if target is not None:
        if given.table is None:
            raise UsageError("--target requires a table with column names")
        classes = given.table.column(target)

    def compared(rows: Any) -> Comparison:
        outer = settings.current()["progress"]

        def progress(stage: str, done: int, total: int | None) -> Any:
            return outer(stage, done, total) if stage in _STAGES_SHOWN else None

        with settings.config(progress=None if outer is None else progress):
            return work(rows, target=classes, **asked)

    found: Comparison = run(compared, given)
    if given.steps is not None:
        found.record["data"]["steps"] = steps_in_words(given.steps)
        from ..comparison.candidates import EXCLUDED

        for entry in found.record["candidates"]:
            if entry["method"] == "famd" and entry["kind"] == EXCLUDED:
                entry["reason"] = _why_no_famd(given)
    return found


def _why_no_famd(given: Input) -> str:
    """Return why FAMD is left out after steps before the method."""
    if given.steps is not None and "categories" in given.steps.named_steps:
        return "the steps before the method have coded the categories, and of numbers it is PCA of scaled columns"
    if "text" in given.left_out.values():
        return "columns of text are left out without --categories, and of numbers it is PCA of scaled columns"
    from ..comparison.candidates import LEFT_OUT

    return LEFT_OUT["famd"]


def _methods(text: str) -> str | list[str]:
    """Read the names of methods, or auto."""
    if text.strip().lower() == "auto":
        return "auto"
    return [find_method(name).name for name in split_names([text], "--methods") or []]


def _sample(text: str) -> int | None:
    """Read a number of rows; None for all."""
    if text.strip().lower() == "all":
        return None
    if not text.strip().isdigit():
        raise UsageError(f"--sample {text}: must be a number of rows, or all")
    return int(text)


def check_budget(budget: str) -> None:
    """Raise `UsageError` for an invalid time."""
    from ..comparison.budget import parse_seconds

    try:
        parse_seconds(budget)
    except ValueError as error:
        raise UsageError(f"--budget: {error}") from error


def _check_options(asked: CompareOptions, prefer: str, target: str | None, again: Path | None) -> None:
    """Raise `UsageError` for invalid options before the table is read."""
    from ..comparison.ranking import PREFERENCES

    if prefer not in PREFERENCES:
        raise UsageError(f"--prefer {prefer}: must be one of {', '.join(PREFERENCES)}")
    if prefer == "target" and target is None:
        raise UsageError("--prefer target requires class labels: add --target COLUMN")
    if again is not None and asked.words():
        raise UsageError(f"--again {again} repeats the settings in the record; remove {', '.join(asked.words())}")


def _check_files(out: Path | None, report: Path | None, record: Path | None, again: Path | None, data: Path) -> None:
    check_outputs(out=out, report=report, inputs=(data, *([again] if again else [])))
    if out is not None and out.suffix.lower() in (".npy", ".npz"):
        raise UsageError(f"--out {out}: the table of candidates contains text; use .csv or .parquet")
    if record is not None:
        if record.suffix.lower() != ".json":
            raise UsageError(f"--record {record}: the name must end in .json")
        if record.is_dir() or not record.parent.is_dir():
            raise UsageError(f"--record {record}: cannot be written there; give a file in an existing folder")


def _read_record(path: Path) -> dict[str, Any]:
    from ..comparison.running import settings_of

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"--again {path}: no such file") from error
    except (OSError, ValueError) as error:
        raise DataError(f"--again {path}: not a record of a comparison ({error})") from error
    try:
        settings_of(found)
    except ValueError as error:
        raise DataError(
            f"--again {path}: not a record of a comparison ({error}); write one with `lowland compare --record`"
        ) from error
    whole: dict[str, Any] = found
    return whole


def _write(
    found: Comparison,
    data: Path,
    out: Path | None,
    report: Path | None,
    record: Path | None,
    about: dict[str, Any],
) -> dict[str, Any]:
    """Write the output files and return their paths; ``about`` is what the report tells besides the comparison."""
    from ..data.atomic import atomic_file
    from ..data.writing import write_table

    if out is not None:
        write_table(out, found.table())
    if report is not None:
        found.to_html(report, title=f"Methods for {data.name}", **about)
    if record is not None:
        with atomic_file(record) as file:
            file.write(json.dumps(found.record, indent=1).encode())
    return {"out": out, "report": report, "record": record}


def _facts(found: Comparison, advice: Recommendation, data: Path) -> dict[str, Any]:
    return {
        "data": data,
        "rows": found.record["rows"],
        "recommendation": advice.to_dict(),
        "candidates": found.table().to_dicts(),
        "evidence": found.record["evidence"],
        "seconds": found.record["seconds"],
        "budget": found.record["settings"]["budget"],
    }


def _next(rows: SameRows, given: Input, advice: Recommendation) -> str:
    """Return the command that reduces all rows with the recommended method, and the steps of the comparison."""
    mixed, unfit, coded = _is_mixed(given), list[str](), dict[str, str]()
    if (mixed and advice.method != "pca") or advice.method == "famd":  # for which `reduce` uses columns of text
        unfit = [name for name, why in given.left_out.items() if why in (_MOSTLY_UNIQUE, _WITH_GAPS)]
    if mixed and advice.method not in ("famd", "pca"):  # PCA uses the columns of numbers
        coded["categories"] = "famd"  # as the comparison coded them
    own = dict(advice.parameters)
    first = {"method": advice.method, "components": own.pop("n_components", None), "scale": own.pop("scale", False)}
    return rows.command(
        "reduce",
        first={**first, "set": [f"{name}={_text(value)}" for name, value in own.items()]},
        drop=unfit,
        **coded,
        out=name_after(rows.data, "map", ".csv"),
        model=f"{stem_of(rows.data)}.lowland" if find_method(advice.method).kept else None,
        report=name_after(rows.data, "map", ".html"),
    )


def _of_distances(asked: CompareOptions) -> dict[str, Any]:
    """Return the options that a comparison of distances has in common with one of columns."""
    methods = None if asked.methods is None else _methods(asked.methods)
    if isinstance(methods, list):
        able = [name for name in methods if "distances" in find_method(name).needs]
        methods = ",".join(able) or None
    return {**vars(asked), "methods": methods, "scale": None}


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
