"""`lowland compare`: which method for this table, with reasons."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ..errors import DataError, LowlandWarning
from .answer import Answer, UsageError
from .inputs import Input, read_input
from .model import find_method, run
from .options import ColumnOptions, Common, DataFile, KeepOptions, split_names
from .outputs import check_outputs

if TYPE_CHECKING:
    from ..comparison import Comparison, Recommendation

KEYS = {
    "data": "the file that was read",
    "rows": "number of rows: all, compared, training, held-out",
    "recommendation": "key, method, parameters, prefer, reasons, ties, not_good_for",
    "candidates": "a list, best first: rank, candidate, method, status, score, behind (the best, with interval), tied, "
    "criteria with intervals, seconds, reason where it did not run",
    "evidence": "what the data show by themselves: crowding, structured, strays, pieces, distances, dimensions, "
    "accuracy",
    "seconds": "time that was taken",
    "budget": "time that was allowed",
    "out": "file with the table of candidates, or null",
    "report": "report file, or null",
    "record": "record file, or null",
}

_TOLD = ("compare", "search settings")  # stages that are shown as bars; each candidate's own would fill the screen

Budget = Annotated[str, Parameter(help="Time for everything, such as 90s, 5min or 1h.")]


def compare(
    data: DataFile,
    /,
    *,
    methods: Annotated[
        str,
        Parameter(help="Methods to try, separated by commas; auto takes what suits the data and searches settings."),
    ] = "auto",
    components: Annotated[int, Parameter(help="Dimensions of the maps.")] = 2,
    budget: Budget = "5min",
    target: Annotated[
        str | None, Parameter(help="Column with classes: not reduced; maps are judged by whether they keep them apart.")
    ] = None,
    prefer: Annotated[
        str, Parameter(help="What to recommend for: balanced, local, global, target or speed.")
    ] = "balanced",
    metric: Annotated[
        str, Parameter(help="How rows are compared; precomputed: the table is a square of distances.")
    ] = "euclidean",
    neighbors: Annotated[int, Parameter(help="Size of a neighbourhood in the criteria.")] = 10,
    seed: Annotated[int, Parameter(help="Seed of everything that is drawn.")] = 0,
    columns: ColumnOptions | None = None,
    out: Annotated[
        Path | None, Parameter(help="Write the table of candidates here: .csv, .tsv (also .gz) or .parquet.")
    ] = None,
    report: Annotated[Path | None, Parameter(help="Write a page here: one HTML file that needs no network.")] = None,
    record: Annotated[Path | None, Parameter(help="Write what ran to this .json file, for --again.")] = None,
    again: Annotated[
        Path | None, Parameter(help="Run what this record says that ran, on the same data: the same figures come out.")
    ] = None,
    common: Common | None = None,
) -> Answer:
    """Run methods on a table within a time, measure their maps alike, and say which to take.

    Each method is fitted on most rows and places the others. Maps are judged by neighbours and distances that they
    keep, and by classes where there is a target. What fails or takes too long is noted and does not stop the rest.

    Example: lowland compare iris.csv --target species --budget 1min --report comparison.html
    """
    names = _methods(methods)
    _check(out, report, record, again, data)
    _check_words(budget, prefer, target, components)
    chosen = columns or ColumnOptions()
    given = read_input(
        data,
        chosen,
        KeepOptions(color=target),
        pairwise=metric == "precomputed",
        categories="famd" in names,
    )
    _warn_of_square(given)
    settings = {"metric": metric, "n_neighbors": neighbors, "random_state": seed}
    asked: dict[str, Any] = {"methods": names or "auto", "n_components": components, "budget": budget, **settings}
    if again is not None:
        asked = {"record": _read_record(again)}
    found = perform(given, target, asked)
    advice = found.recommend(prefer)
    words = {"--methods": methods, "--components": components, "--budget": budget, "--metric": metric}
    words |= {"--neighbors": neighbors, "--seed": seed, "--prefer": prefer, "--target": target}
    files = _write(found, data, out, report, record, _command(data, chosen, words, again))
    facts = _facts(found, advice, data) | files
    summary = f"Take {advice.key}. {' '.join(advice.reasons)}"
    return Answer(facts, summary, _next(data, chosen, advice, target), shown=[_table(found, advice)])


def perform(given: Input, target: str | None, asked: dict[str, Any]) -> Comparison:
    """Compare the rows of a file, with progress."""
    from .. import settings
    from ..comparison import compare as work

    classes = None
    if target is not None:
        if given.table is None:
            raise UsageError("--target needs a table whose columns have names")
        classes = given.table.column(target)

    def told(rows: Any) -> Comparison:
        outer = settings.current()["progress"]

        def few(stage: str, done: int, total: int | None) -> Any:
            return outer(stage, done, total) if stage in _TOLD else None

        with settings.config(progress=None if outer is None else few), warnings.catch_warnings():
            # the file was looked at already, and the remedy is another here
            warnings.filterwarnings("ignore", ".*looks like a square of distances", LowlandWarning)
            return work(rows, target=classes, **asked)

    found: Comparison = run(told, given)
    return found


def _warn_of_square(given: Input) -> None:
    """Say so where a table is plainly one of distances, and is about to be read as rows."""
    from ..data.squares import missing_pairs

    if given.table is not None and not given.pairwise and missing_pairs(given.table) is not None:
        warnings.warn(
            f"{given.source} looks like a square of distances, and its columns are taken for measurements; if it is "
            "one, add --metric precomputed",
            LowlandWarning,
            stacklevel=3,
        )


def _methods(text: str) -> list[str]:
    """Read the names of methods; none for auto."""
    if text.strip().lower() == "auto":
        return []
    return [find_method(name).name for name in split_names([text], "--methods") or []]


def check_budget(budget: str) -> None:
    """Refuse a time that cannot be read."""
    from ..comparison.budget import parse_seconds

    try:
        parse_seconds(budget)
    except ValueError as error:
        raise UsageError(f"--budget: {error}") from error


def _check_words(budget: str, prefer: str, target: str | None, components: int) -> None:
    """Refuse what cannot be before the table is read."""
    from ..comparison.ranking import PREFERENCES

    check_budget(budget)
    if prefer not in PREFERENCES:
        raise UsageError(f"--prefer {prefer}: it is one of {', '.join(PREFERENCES)}")
    if prefer == "target" and target is None:
        raise UsageError("--prefer target needs a column of classes: add --target COLUMN")
    if components < 1:
        raise UsageError(f"--components {components}: a map has at least 1 dimension")


def _check(out: Path | None, report: Path | None, record: Path | None, again: Path | None, data: Path) -> None:
    check_outputs(out=out, report=report, inputs=(data, *([again] if again else [])))
    if out is not None and out.suffix.lower() in (".npy", ".npz"):
        raise UsageError(f"--out {out}: the table of candidates holds names; write .csv or .parquet")
    if record is not None:
        if record.suffix.lower() != ".json":
            raise UsageError(f"--record {record}: the name must end in .json")
        if record.is_dir() or not record.parent.is_dir():
            raise UsageError(f"--record {record}: it cannot be written there; name a file in a folder that exists")


def _read_record(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"--again {path}: it is no record of a comparison ({error})") from error
    if not isinstance(found, dict) or "candidates" not in found:
        raise DataError(f"--again {path}: it is no record of a comparison; `lowland compare --record` writes one")
    return found


def _write(
    found: Comparison,
    data: Path,
    out: Path | None,
    report: Path | None,
    record: Path | None,
    command: Sequence[str],
) -> dict[str, Any]:
    """Write each file whole; return where."""
    from ..data.atomic import atomic_file
    from ..data.writing import write_table

    if out is not None:
        write_table(out, found.table())
    if report is not None:
        found.to_html(report, title=f"Methods for {data.name}", command=shlex.join([*command, "--report", str(report)]))
    if record is not None:
        with atomic_file(record) as file:
            file.write(json.dumps(found.record, indent=1).encode())
    return {"out": out, "report": report, "record": record}


def _command(data: Path, columns: ColumnOptions, words: dict[str, Any], again: Path | None) -> list[str]:
    """Write the command that compares again: what was asked, or the record and what it does not hold."""
    usual = {"--metric": "euclidean", "--neighbors": 10, "--seed": 0, "--prefer": "balanced", "--target": None}
    told = {name: value for name, value in words.items() if value != usual.get(name)}
    if again is not None:
        held = ("--metric", "--target", "--prefer")
        told = {"--again": again, **{name: value for name, value in told.items() if name in held}}
    listed = [word for name, value in told.items() for word in (name, str(value))]
    return ["lowland", "compare", str(data), *listed, *_columns(columns)]


def _columns(columns: ColumnOptions) -> list[str]:
    words: list[str] = []
    for text in columns.columns:
        words += ["--columns", text]
    for text in columns.drop:
        words += ["--drop", text]
    return words


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


def _table(found: Comparison, advice: Recommendation) -> Table:
    """Return the ranking for a terminal, then what did not run."""
    from ..comparison.page import TIES, behind

    several = len(found.ranked()) > 1
    grid = Table(box=None, pad_edge=False, caption=TIES if several else None, caption_justify="left")
    words = {"local": "neighbours", "global": "distances", "target": "classes"}
    headings = ["", "candidate", "score", *(words[name] for name in found.criteria), "seconds"]
    headings += ["behind the best", ""] if several else [""]
    for heading in headings:
        grid.add_column(heading, overflow="fold", justify="left" if heading in ("candidate", "") else "right")
    for row in found.table().iter_rows(named=True):
        if row["status"] == "done":
            figures = [f"{row[name]:.3f}" for name in ("score", *found.criteria)]
            last = [behind(row) if row["rank"] > 1 else ""] if several else []
            marks = ["take"] if row["candidate"] == advice.key else []
            marks += ["tie"] if row["tied"] and row["rank"] > 1 else []
            grid.add_row(str(row["rank"]), row["candidate"], *figures, f"{row['seconds']:.2g}", *last, ", ".join(marks))
        else:
            blank = [""] * (len(headings) - 3)
            grid.add_row("", row["candidate"], *blank, f"{row['status']}: {row['reason']}")
    return grid


def _next(data: Path, columns: ColumnOptions, advice: Recommendation, target: str | None) -> str:
    """Write the command that reduces all rows with the recommended method."""
    stem = data.name.split(".")[0]
    words = ["lowland", "reduce", str(data), "--method", advice.method, *_columns(columns)]
    for name, value in advice.parameters.items():
        words += ["--components", str(value)] if name == "n_components" else ["--set", f"{name}={_text(value)}"]
    words += ["--color", target] if target else []
    return shlex.join([*words, "--out", f"{stem}-map.csv", "--report", f"{stem}-map.html"])


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
