"""`lowland.compare`: the front door."""

from __future__ import annotations

import inspect
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core import settings
from ..core.errors import DataError, LowlandWarning
from .budget import Clock, parse_seconds
from .candidates import EXCLUDED, Candidate, with_scaled_pca
from .dataset import HELD_OUT, SAMPLE, Given, read
from .process import Worker, send_guests
from .request import Asked
from .result import Comparison
from .schedule import FORMAT, Run

BUDGET = "5min"
_ASKED = ("n_components", "metric", "n_neighbors", "sample", "held_out", "random_state")  # settings of a record
_PARTS: dict[str, tuple[str, ...]] = {  # what a record has, as far as it is read again
    "data": ("shape", "dtype", "sha256", "kind"),
    "settings": (*_ASKED, "budget", "target"),
    "evidence": (),
    "without_evidence": (),
    "candidates": ("method", "parameters", "kind", "status", "reason"),
}


def compare(
    X: Any,
    methods: str | Sequence[Any] = "auto",
    n_components: int = 2,
    budget: float | str | None = BUDGET,
    target: Any = None,
    *,
    metric: str = "euclidean",
    n_neighbors: int | None = None,
    sample: int | None = SAMPLE,
    held_out: float = HELD_OUT,
    random_state: int | None = None,
    record: Mapping[str, Any] | None = None,
) -> Comparison:
    """Fit several methods to the same rows within a time budget, measure their maps alike, and rank them.

    Each candidate is fitted on the training rows, places the held-out rows with `transform`, and is judged by two
    criteria that are 0 at chance and 1 when perfect, for training and held-out rows alike:

    - local: neighbours. The mean of trustworthiness and continuity (Venna, Kaski 2001), each (x − chance)/(1 − chance).
    - global: distances. Spearman's correlation between the distances in the map and in the data; where the rows are
      more than a Gaussian cloud and their neighbour graph is connected, distances along that graph (Tenenbaum, de
      Silva, Langford 2000): direct distances would favour maps that leave a curved sheet folded.

    A target adds the share of rows whose class the nearest others in the map guess. The score is the mean of these.
    Settings of neighbours, perplexity and kernel widths are searched while time is left.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Rows; columns of text are coded as FAMD does. With ``metric="precomputed"`` a square of distances.
    methods : "auto" or list
        Names, (name, parameters) pairs or models. "auto" takes what suits the data, cheap and different ones first.
    n_components : int
        Dimensions of the maps.
    budget : str, float or None
        Time for everything: "90s", "5min", "1h" or seconds; None: until all candidates have run.
    target : array or str, optional
        Classes of the rows, or the name of the data frame's column that holds them; it is not reduced.
    metric : str
        How rows are compared; maps are compared by Euclidean distances.
    n_neighbors : int or None
        Size of a neighbourhood in the criteria; None: 10, of fewer than 40 rows a quarter of them.
    sample : int or None
        Rows that are compared at most, drawn at random; None: all.
    held_out : float
        Share of them that is held out; fewer than 50 rows and distances are all fitted, and fewer than 10 held-out
        rows, too.
    random_state : int or None
        Seed of the draws and of the candidates; None is seed 0.
    record : dict, optional
        Of an earlier comparison (`Comparison.record`): what ran then is run again, without a budget, on the same data;
        X and the target are all that is given beside it.

    Returns
    -------
    Comparison
        With `table`, `recommend`, `figure`, `to_html`, `fit_best` and the ``record``.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(300, random_state=0)
    >>> found = lowland.compare(X, methods=["pca", "isomap"], budget="1min")
    >>> found.recommend().method
    'isomap'
    """
    if record is not None:
        _refuse_others(locals())
        return _again(X, target, record)
    asked = Asked(
        n_components, metric, n_neighbors, sample, held_out, 0 if random_state is None else random_state, methods
    )
    asked.check()
    clock = Clock(None if budget is None else parse_seconds(budget))
    given, fingerprint = read(X, target, metric, sample, held_out, asked.random_state)
    asked = asked.against(given)
    queue, skipped = asked.candidates(given.kind)
    if methods == "auto":
        queue, skipped = _suited(queue, skipped, given, fingerprint)
    with _folder() as folder:
        given.store(folder)
        run = Run(given, asked, clock, folder, send_guests(folder, {c.method for c in queue}))
        for name, reason in skipped.items():
            run.skip(Candidate(name, kind=EXCLUDED), reason)
        with Worker(folder, run.compiled) as worker:
            run.look(worker)
            run.all_of(worker, queue)
            if not run.done():
                run.cheapest(worker, queue)
            if methods == "auto":
                run.search(worker)
            run.count_dimensions(worker)
        kept = run.record(fingerprint, budget)
        return Comparison(kept, run.maps(), _colors(given))


def _suited(
    queue: list[Candidate], skipped: dict[str, str], given: Given, fingerprint: Mapping[str, Any]
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the automatic candidates that suit these very columns."""
    if given.kind == "categories" and given.numeric is None:
        reason = "there are no columns of numbers"
        return [c for c in queue if c.method != "pca"], {**skipped, "pca": reason}
    if fingerprint["dominant"] is not None:
        return with_scaled_pca(queue), skipped
    return queue, skipped


def _refuse_others(given: Mapping[str, Any]) -> None:
    """Refuse what a record decides."""
    for name, parameter in inspect.signature(compare).parameters.items():
        if name not in ("X", "target", "record") and given[name] != parameter.default:
            raise ValueError(f"compare: a record says all but the data: leave {name} out, or compare anew without it")


def _again(X: Any, target: Any, record: Mapping[str, Any]) -> Comparison:
    """Run what a record says that ran, on the same data."""
    told = settings_of(record)
    if (target is None) != (told["target"] is None):
        need = "no target" if told["target"] is None else f"the target {told['target']!r}"
        raise DataError(f"compare: the record is of a comparison with {need}; give the same")
    asked = Asked(**{name: told[name] for name in _ASKED}, methods="auto")
    asked.check()
    given, fingerprint = read(X, target, asked.metric, asked.sample, asked.held_out, asked.random_state)
    for name in ("shape", "dtype", "sha256", "target"):
        if fingerprint.get(name) != record["data"].get(name):
            raise DataError(
                f"compare: these are not the data of the record: its {name} is {record['data'].get(name)}, theirs is "
                f"{fingerprint.get(name)}; give the same rows, in their order"
            )
    ran = [entry for entry in record["candidates"] if entry["status"] == "done"]
    with _folder() as folder:
        given.store(folder)
        run = Run(given, asked, Clock(None), folder, send_guests(folder, {entry["method"] for entry in ran}))
        seen = record["evidence"]
        with Worker(folder, run.compiled) as worker:
            if seen is not None:  # a look that was cut short is not repeated
                run.look(worker)
            else:
                run.unseen = record["without_evidence"]
            for entry in record["candidates"]:
                candidate = Candidate(entry["method"], entry["parameters"], entry["kind"])
                if entry["status"] == "done":
                    settings.report_progress("compare", len(run.entries), len(record["candidates"]))
                    run.one(worker, candidate, 1)
                else:
                    run.note(candidate, {"status": entry["status"], "error": entry["reason"]})
            if seen is not None and seen["dimensions"] is not None:
                run.count_dimensions(worker)
            elif seen is not None and run.evidence is not None:
                run.evidence["dimensions_unknown"] = seen["dimensions_unknown"]
        return Comparison(run.record(fingerprint, told["budget"]), run.maps(), _colors(given))


def settings_of(record: Any) -> Mapping[str, Any]:
    """Return the settings of a record; refuse what is no whole record of this version's."""
    if not isinstance(record, Mapping):
        raise ValueError(f"compare: a record is a dict, as `Comparison.record` is; got {type(record).__name__}")
    if record.get("format") != FORMAT:
        raise ValueError(f"compare: the record has format {record.get('format')!r}; this version reads {FORMAT}")
    missing = [name for name in _PARTS if name not in record]
    parts = {name: record.get(name) for name in ("settings", "data")}
    entries = record.get("candidates")
    if isinstance(entries, list):
        parts |= {f"candidates[{i}]": entry for i, entry in enumerate(entries)}
    elif entries is not None:
        missing.append("candidates[0]")
    for name, part in parts.items():
        needed = _PARTS["candidates"] if name.startswith("candidates") else _PARTS[name]
        missing += [f"{name}.{key}" for key in needed if not isinstance(part, Mapping) or key not in part]
    if missing:
        raise ValueError(f"compare: the record has no {missing[0]!r}; give the whole `Comparison.record`")
    told: Mapping[str, Any] = record["settings"]
    return told


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
            warnings.warn(f"compare: a folder could not be removed: {error}", LowlandWarning, stacklevel=4)


def _colors(given: Given) -> dict[str, Any] | None:
    """Return the class of every compared row, for pictures."""
    if given.target is None:
        return None
    names = [None if code < 0 else given.target.names[code] for code in given.target.codes]
    return {"name": given.target.name, "values": dict(zip(given.numbers.tolist(), names, strict=True))}
