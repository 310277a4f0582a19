"""The run of a comparison: the candidates of a request, or those of a record once more."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..core import settings
from ..core.errors import DataError, LowlandWarning
from ..core.message import Message, Owner, Setting
from ..engines import CALLS, open_calls
from .budget import Cause, Clock, Reason, parse_seconds
from .candidates import EXCLUDED, Candidate, with_scaled_pca
from .dataset import Dataset, read
from .measuring import Map
from .process import Worker, send_plugins
from .recommendation import recommend
from .request import ASKED, Request
from .schedule import FORMAT, Run
from .workers import OneProcess, Workers

BUDGET = "5min"
LOCAL = "local"  # the engine that is this machine
_PARTS: dict[str, tuple[str, ...]] = {  # what a record has, as far as it is read again
    "": ("data", "settings", "evidence", "without_evidence", "candidates"),
    "data": ("shape", "dtype", "sha256", "kind"),
    "settings": (*ASKED, "budget", "target"),
    "candidates": ("method", "parameters", "kind", "status", "reason"),
}


class Outcome(NamedTuple):
    """What a run leaves: its record, the maps of the candidates that finished, and the classes of rows for pictures."""

    record: dict[str, Any]
    maps: dict[str, Map]
    colors: dict[str, Any] | None


def begin(X: Any, target: Any, asked: Request, budget: float | str | None, engine: str = LOCAL) -> Outcome:
    """Run the candidates of a request within a budget."""
    asked.check()
    require_engine(engine)
    automatic = asked.methods == "auto"
    clock = Clock(None if budget is None else parse_seconds(budget))
    given, fingerprint = read(X, target, asked.metric, asked.sample, asked.held_out, asked.random_state)
    asked = asked.against(given)
    queue, skipped = asked.candidates(given.kind)
    if automatic:
        queue, skipped = _suited(queue, skipped, given, fingerprint)
    with _folder() as folder:
        given.store(folder)
        run = Run(given, asked, clock, folder, send_plugins(folder, {c.method for c in queue}))
        for name, reason in skipped.items():
            run.skip(Candidate(name, kind=EXCLUDED), Reason(reason))
        with _workers(run, engine) as workers:
            run.look(workers)
            run.all_of(workers, queue)
            if not run.done():
                run.cheapest(workers)
            if automatic:
                run.search(workers)
            run.count_dimensions(workers)
        return _outcome(run, run.record(fingerprint, budget))


def _outcome(run: Run, record: dict[str, Any]) -> Outcome:
    """Return what a run leaves, while its folder is there."""
    chosen = recommend(record).key if run.done() else None
    return Outcome(record, run.maps(chosen), _colors(run.given))


def _suited(
    queue: list[Candidate], skipped: dict[str, str], given: Dataset, fingerprint: Mapping[str, Any]
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the automatic candidates that suit these very columns."""
    if given.kind == "categories" and given.numeric is None:
        reason = "there are no columns of numbers"
        return [c for c in queue if c.method != "pca"], {**skipped, "pca": reason}
    if fingerprint["dominant"] is not None:
        return with_scaled_pca(queue), skipped
    return queue, skipped


def again(X: Any, target: Any, record: Mapping[str, Any], engine: str = LOCAL) -> Outcome:
    """Run what a record says that ran, on the same data."""
    told = settings_of(record)
    require_engine(engine)
    if (target is None) != (told["target"] is None):
        need = "no target" if told["target"] is None else f"the target {told['target']!r}"
        raise DataError(Message(Owner("compare"), f"the record is of a comparison with {need}; give the same"))
    asked = Request(**{name: told[name] for name in ASKED}, methods="auto")
    asked.check()
    given, fingerprint = read(X, target, asked.metric, asked.sample, asked.held_out, asked.random_state)
    for name in ("shape", "dtype", "sha256", "target"):
        if fingerprint.get(name) != record["data"].get(name):
            raise DataError(
                Message(
                    Owner("compare"),
                    f"these are not the data of the record: its {name} is {record['data'].get(name)}, theirs is "
                    f"{fingerprint.get(name)}; give the same rows, in their order",
                )
            )
    ran = [entry for entry in record["candidates"] if entry["status"] == "done"]
    with _folder() as folder:
        given.store(folder)
        run = Run(given, asked, Clock(None), folder, send_plugins(folder, {entry["method"] for entry in ran}))
        seen = record["evidence"]
        with _workers(run, engine) as workers:
            if seen is not None:  # a look that was cut short is not repeated
                run.look(workers)
            else:
                run.unseen = record["without_evidence"]
            for entry in record["candidates"]:
                candidate = Candidate(entry["method"], entry["parameters"], entry["kind"])
                if entry["status"] == "done":
                    run.free(workers)
                    settings.report_progress("compare", run.ended(), len(record["candidates"]))
                    run.one(workers, candidate, 1)
                else:
                    cause = entry.get("cause", Cause.OTHER)  # older records have none
                    run.note(candidate, {"status": entry["status"], "error": entry["reason"], "cause": cause})
            run.rest(workers)
            if seen is not None and seen["dimensions"] is not None:
                run.count_dimensions(workers)
            elif seen is not None and run.evidence is not None:
                run.evidence["dimensions_unknown"] = seen["dimensions_unknown"]
        return _outcome(run, run.record(fingerprint, told["budget"]))


def settings_of(record: Any) -> Mapping[str, Any]:
    """Return the settings of a record; refuse what is no whole record of this version's."""
    if not isinstance(record, Mapping):
        raise ValueError(
            Message(Owner("compare"), f"a record is a dict, as `Comparison.record` is; got {type(record).__name__}")
        )
    if record.get("format") != FORMAT:
        raise ValueError(
            Message(Owner("compare"), f"the record has format {record.get('format')!r}; this version reads {FORMAT}")
        )
    entries = record.get("candidates")
    parts = {"": record, "settings": record.get("settings"), "data": record.get("data")}
    parts |= {f"candidates[{i}]": entry for i, entry in enumerate(entries if isinstance(entries, list) else [None])}
    for name, part in parts.items():
        for key in _PARTS[name.partition("[")[0]]:
            if not isinstance(part, Mapping) or key not in part:
                place = f"{name}.{key}" if name else key
                raise ValueError(
                    Message(Owner("compare"), f"the record has no {place!r}; give the whole `Comparison.record`")
                )
    told: Mapping[str, Any] = record["settings"]
    return told


def require_engine(engine: str) -> None:
    """Raise for an engine that does not exist, or that has no cluster now."""
    if engine == LOCAL:
        return
    if engine not in CALLS:
        names = " or ".join(map(repr, (LOCAL, *CALLS)))
        raise ValueError(Message(Owner("compare"), Setting("engine"), f" must be {names}; got {engine!r}"))
    open_calls(engine)


@contextmanager
def _workers(run: Run, engine: str) -> Iterator[Workers]:
    """Have what candidates run on, for the time of the block."""
    if engine == LOCAL:
        with Worker(run.folder, run.compiled) as worker:
            yield OneProcess(worker)
        return
    from .remote import RemoteWorkers

    with open_calls(engine) as calls, RemoteWorkers(engine, calls, run.folder, run.compiled) as workers:
        yield workers


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for the data and the maps, which is gone in the end, whatever happens."""
    path = Path(tempfile.mkdtemp(prefix="lowland-compare-"))
    try:
        yield path
    finally:
        try:
            shutil.rmtree(path)
        except OSError as error:  # what was found is worth more than the folder
            warnings.warn(
                Message(Owner("compare"), f"a folder could not be removed: {error}"), LowlandWarning, stacklevel=5
            )


def _colors(given: Dataset) -> dict[str, Any] | None:
    """Return the class of every compared row, for pictures."""
    if given.target is None:
        return None
    names = [None if code < 0 else given.target.names[code] for code in given.target.codes]
    return {"name": given.target.name, "values": dict(zip(given.numbers.tolist(), names, strict=True))}
