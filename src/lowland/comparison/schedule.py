"""Candidates in turn, each in a process that can be ended, within a budget; and the record of it all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..contract import registry
from ..contract.plan import plan
from ..core import settings
from ..core.cost import Plan
from ..core.errors import MissingExtraError
from ..core.formatting import format_bytes, format_seconds
from . import candidates
from .budget import OUT_OF_TIME, Clock
from .candidates import Candidate
from .dataset import Dataset
from .maps import Map
from .process import Worker
from .ranking import Judge
from .request import Request

FORMAT = 1  # of records
_LOOK = 0.5  # share of the budget that the look at the data may take: all judgement stands on it
_DIMENSIONS = 0.1  # share of the budget that the search leaves for counting the dimensions
_RESTART = 1.5  # times what a process took to start that is left for another where a job may have to be ended
_FIRST = 0.2  # share of the time left that must remain before a restart, else the first candidate may take all
_ROUGH = 1.5  # times its plan that a candidate may take which is longer than its share: plans are rough
_STOP = 0.02  # share of the budget below which no further candidate is begun
_SEARCHED = 5  # methods, the best of the first round, whose settings are searched
_AGAIN = 2.0  # times what a method took at first that must be left for another of its settings
_LEAST_SECONDS, _TIMES_PLAN = (
    60.0,
    10.0,
)  # seconds, and times its plan, that the cheapest may take where the budget had room for none
_USED_UP = "the budget was used up"
_MAP_ROWS = 2000  # rows of each map that are kept for pictures
_KEPT_OF_ANSWERS = (
    *("criteria", "seconds", "approximate", "n_components", "learned", "warnings"),
    *("whole_seconds", "whole_algorithm", "whole_approximate", "over_budget"),
)


@dataclass
class Run:
    """The state of a comparison while it runs."""

    given: Dataset
    asked: Request
    clock: Clock
    folder: Path
    unsent: Mapping[str, str]
    evidence: dict[str, Any] | None = None
    unseen: str = ""  # why there is no evidence
    entries: list[dict[str, Any]] = field(default_factory=list)
    restart: float = 0.0  # seconds that another process would need
    compiling: float = 0.0  # seconds that code was compiled for, which no budget counts

    def compiled(self, seconds: float) -> None:
        """Note that code was compiled, and for how long."""
        self.compiling += seconds
        self.clock.pause(seconds)

    def look(self, worker: Worker) -> None:
        """Look at the data; without time for it maps are judged by direct distances."""
        job = {"do": "look", "n_neighbors": self.asked.n_neighbors, "random_state": self.asked.random_state}
        failed = self._ready(worker, "look at the data")
        seconds = min(_LOOK * self.clock.left, self._before_restart())
        if failed is None and seconds <= 0:
            failed = "there was no time to look at the data and then to try a method"
        if failed is None:
            answer = worker.ask(job, seconds, _relay("look at the data"))
            failed = None if answer["status"] == "done" else answer["error"]
        if failed is not None:
            self.unseen = failed
            return
        self.evidence = {**answer["evidence"], "dimensions": None, "dimensions_unknown": "they are told of rows alone"}

    def count_dimensions(self, worker: Worker) -> None:
        """Count the dimensions of rows in the time that is left; no candidate waits for it any more."""
        if self.evidence is None or self.given.kind not in ("rows", "categories"):
            return
        answer: Mapping[str, Any] = {"error": _USED_UP}
        if self.clock.left >= _STOP * self.clock.budget:
            failed = self._ready(worker, "count dimensions")
            job = {"do": "dimensions", "random_state": self.asked.random_state}
            answer = {"error": failed}
            if failed is None:
                answer = worker.ask(job, self.clock.left, _relay("count dimensions"))
        self.evidence["dimensions"] = answer.get("dimensions")
        self.evidence["dimensions_unknown"] = answer.get("error", "")

    def _ready(self, worker: Worker, name: str) -> str | None:
        """Have a process ready, and note how long that takes; return why it failed, or None."""
        before = self.clock.spent
        failed = worker.ready(self.clock.left, _relay(name))
        self.restart = max(self.restart, _RESTART * (self.clock.spent - before))
        return failed

    def _before_restart(self) -> float:
        """Return the seconds after which a job must be ended for there to be time for another process."""
        return self.clock.left - self.restart

    def all_of(self, worker: Worker, queue: Sequence[Candidate]) -> None:
        """Run candidates in turn; those whose plans are longer than their shares come last, for they may get more."""
        late: list[Candidate] = []
        for place, candidate in enumerate(queue):
            settings.report_progress("compare", place - len(late), len(queue))
            if not self.one(worker, candidate, len(queue) - place + len(late), late=False):
                late.append(candidate)
        for place, candidate in enumerate(late):
            settings.report_progress("compare", len(queue) - len(late) + place, len(queue))
            self.one(worker, candidate, len(late) - place)
        settings.report_progress("compare", len(queue), len(queue))

    def search(self, worker: Worker) -> None:
        """Try other settings of the best methods."""
        done = self.done()
        order = Judge(done).ranked(done) if done else []
        reserve = 0.0 if np.isinf(self.clock.budget) else _DIMENSIONS * self.clock.budget
        queue: list[tuple[Candidate, float]] = []
        for entry in order[:_SEARCHED]:
            first, took = Candidate(entry["method"], entry["parameters"], entry["kind"]), sum(entry["seconds"].values())
            queue += [(other, took) for other in candidates.searched(first, self.given.n, entry["learned"])]
        for place, (candidate, took) in enumerate(queue):
            settings.report_progress("search settings", place, len(queue))
            if _AGAIN * took + reserve > self.clock.left:
                told = f"it took {took:.1f} s with its default settings, and {self.clock.left:.1f} s were left"
                self.skip(candidate, _USED_UP if self._used_up else told)
            else:
                self.one(worker, candidate, 1)

    @property
    def _used_up(self) -> bool:
        return self.clock.left < _STOP * self.clock.budget

    def one(self, worker: Worker, candidate: Candidate, waiting: int, late: bool = True) -> bool:
        """Run the first of so many candidates that wait, or note why not.

        Return False where its plan is longer than its share, so that others should come first; once it is ``late`` it
        may take what is there.
        """
        whole, reason = self._whole(candidate)
        reason = reason or self._ready(worker, candidate.key)
        planned, unplanned = self._planned(candidate) if reason is None else (0.0, None)
        reason, share = reason or unplanned, self._share(waiting)
        if reason is None and planned > share:
            if not late:
                return False
            most = self.clock.left if waiting <= 1 or not self.done() else self._before_restart()
            share = min(_ROUGH * planned, most)
            if planned > most:
                told, left = format_seconds(planned), format_seconds(max(most, 0.0))
                reason = f"the plan says {told}, and it could have {left} of the budget"
        if reason is not None:
            self.skip(candidate, reason)
            return True
        self.note(candidate, {**self._fit(worker, candidate, share, len(self.entries)), **whole})
        return True

    def _fit(self, worker: Worker, candidate: Candidate, seconds: float, number: int) -> dict[str, Any]:
        """Have a candidate fitted and measured within some seconds."""
        job = {
            "do": "fit",
            "number": number,
            "method": candidate.method,
            "parameters": dict(candidate.parameters),
            "n_neighbors": self.asked.n_neighbors,
            "geodesic": self.evidence is not None and self.evidence["distances"] == "geodesic",
        }
        relay = _relay(candidate.key)
        relay("begin", 0, None)  # a quick one tells nothing itself, and the user may want to stop here
        answer = worker.ask(job, seconds, relay)
        if answer["status"] == "done" and not _finite(answer["criteria"]):
            return {"status": "failed", "error": "its map has no distances or neighbours to measure"}
        return answer

    def cheapest(self, worker: Worker, queue: Sequence[Candidate]) -> None:
        """Run the candidate with the shortest plan although the budget was too small for all of them.

        Methods of other packages have no plan that could be trusted, and may never end.
        """
        own = {row.name for row in registry.METHODS}
        late = {e["key"]: i for i, e in enumerate(self.entries) if any(word in e["reason"] for word in OUT_OF_TIME)}
        plans = []
        for place, candidate in enumerate(queue):
            if candidate.key in late and candidate.method in own:
                whole, reason = self._of_all_rows(candidate)
                seconds, unplanned = self._planned(candidate) if reason is None else (0.0, None)
                if reason is None and unplanned is None:
                    plans.append((seconds, place, candidate, whole))
        for seconds, _, candidate, whole in sorted(plans, key=lambda one: one[:2]):
            if worker.ready(np.inf, _relay(candidate.key)) is not None:
                return
            number = late[candidate.key]
            answer = self._fit(worker, candidate, max(_LEAST_SECONDS, _TIMES_PLAN * seconds), number)
            if answer["status"] == "done":
                self.note(candidate, {**answer, **whole, "over_budget": True}, number)
                return

    def _share(self, waiting: int) -> float:
        """Return the seconds for a candidate: its share, and what measuring took so far on top of it.

        The last may take all. While others wait, time is left to start a process for them, where there is that much.
        Before there is an answer a candidate may take half of all, and all where hardly a start of another process, or
        none, could follow it.
        """
        left, before, done = self.clock.left, self._before_restart(), self.done()
        if waiting <= 1 or (not done and before < _FIRST * left):
            return left
        if not done:
            return min(max(self.clock.share(waiting), left / 2), before)
        measuring = max(float(entry["seconds"]["measure"]) for entry in done)
        return min(self.clock.share(waiting) + measuring, max(before, left / 2))

    def _whole(self, candidate: Candidate) -> tuple[dict[str, Any], str | None]:
        """Return what a candidate's plan says of all rows, and why it is not begun: no class, no memory, no time."""
        if candidate.method in self.unsent:
            return {}, self.unsent[candidate.method]
        if self._used_up:
            return {}, _USED_UP
        return self._of_all_rows(candidate)

    def _of_all_rows(self, candidate: Candidate) -> tuple[dict[str, Any], str | None]:
        """Return what the plan says of all rows, and why that cannot be."""
        try:
            whole = self._plan(candidate, self.given.n_rows)
        except MissingExtraError as error:
            return {}, str(error)
        except Exception as error:  # such as a package that is installed but broken
            return {}, f"it has no plan: {type(error).__name__}: {error}"
        told = {
            "whole_seconds": float(whole.seconds),
            "whole_algorithm": whole.algorithm,
            "whole_approximate": bool(whole.approximate),
        }
        limit = settings.memory_limit()
        if whole.bytes <= limit:
            return told, None
        needed = format_bytes(whole.bytes)
        return told, (f"all {self.given.n_rows:,} rows would take {needed}, and the limit is {format_bytes(limit)}")

    def _planned(self, candidate: Candidate) -> tuple[float, str | None]:
        """Return the seconds that a candidate's plan says of the rows that are fitted, or why it cannot be."""
        try:
            return float(self._plan(candidate, self.given.n - int(self.given.held.sum())).seconds), None
        except ValueError as error:  # what is fitted has fewer rows than the table, too few for these settings
            return 0.0, str(error)

    def _plan(self, candidate: Candidate, n: int) -> Plan:
        """Return the cost of fitting so many of the rows."""
        density = None
        if self.given.kind == "sparse":
            density = max(self.given.rows.nnz / (self.given.n * self.given.n_columns), 1e-12)
        shape = (n, n if self.given.kind == "distances" else self.given.n_columns)
        return plan(candidate.build(), shape=shape, dtype=self.given.rows.dtype, density=density)

    def skip(self, candidate: Candidate, reason: str) -> None:
        """Note a candidate that is not run."""
        self.note(candidate, {"status": "skipped", "error": reason})

    def note(self, candidate: Candidate, answer: Mapping[str, Any], number: int | None = None) -> None:
        """Keep what came of a candidate, instead of what an earlier try of it gave where that has a number."""
        entry = {
            "number": len(self.entries) if number is None else number,
            "key": candidate.key,
            "method": candidate.method,
            "parameters": dict(candidate.parameters),
            "kind": candidate.kind,
            "status": answer["status"],
            "reason": answer.get("error", ""),
        }
        for name in _KEPT_OF_ANSWERS:
            if name in answer:
                entry[name] = answer[name]
        if number is None:
            self.entries.append(entry)
        else:
            self.entries[number] = entry

    def done(self) -> list[dict[str, Any]]:
        """Return what came to an end."""
        return [entry for entry in self.entries if entry["status"] == "done"]

    def record(self, fingerprint: Mapping[str, Any], budget: float | str | None) -> dict[str, Any]:
        """Return the record as plain values."""
        given, held = self.given, int(self.given.held.sum())
        return {
            "format": FORMAT,
            "versions": _versions(),
            "data": {**fingerprint, "kind": given.kind},
            "settings": {
                "n_components": self.asked.n_components,
                "metric": self.asked.metric,
                "n_neighbors": self.asked.n_neighbors,
                "sample": self.asked.sample,
                "held_out": self.asked.held_out,
                "random_state": self.asked.random_state,
                "budget": budget,
                "target": None if given.target is None else given.target.name,
            },
            "rows": {"all": given.n_rows, "compared": given.n, "training": given.n - held, "held-out": held},
            "evidence": self.evidence,
            "without_evidence": self.unseen,
            "candidates": self.entries,
            "seconds": self.clock.spent,
            "compiling_seconds": self.compiling,
        }

    def maps(self) -> dict[str, Map]:
        """Return the maps, of many rows a part."""
        out = {}
        for entry in self.done():
            with np.load(self.folder / f"map{entry['number']}.npz") as stored:
                Y, there = stored["Y"], stored["there"]
            step = -(-len(Y) // _MAP_ROWS)
            out[entry["key"]] = Map(Y[::step], self.given.numbers[there[::step]])
        return out


def _relay(key: str) -> Any:
    """Return a callback that tells the progress of a candidate under its name."""

    def told(stage: str, done: int, total: int | None) -> None:
        settings.report_progress(f"{key}: {stage}", done, total)

    return told


def _finite(criteria: Mapping[str, Any]) -> bool:
    """Tell whether every criterion has a value."""
    found: Iterable[Any] = (
        side["value"] for sides in criteria.values() for name, side in sides.items() if name in ("training", "held-out")
    )
    return all(value is not None and np.isfinite(value) for value in found)


def _versions() -> dict[str, str]:
    import platform

    import scipy
    import sklearn

    return {
        "lowland": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
