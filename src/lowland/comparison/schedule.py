"""Candidates in their order on one worker or several, within a budget; and the record of it all.

The rules of time:

1. The look at the data may take half of the time left.
2. Candidates begin in their order, each on a worker of its own. Each may take its share of the time left
   (`Clock.share`); where no more are left than there are workers, all of it. While others wait for a worker, time to
   start another process is kept back: whoever takes longer is ended with the process.
3. A candidate whose plan is longer than its share waits until the others have run. Then it may take 1.5 times its plan,
   as far as there is time; it is not begun if its plan is longer than that time.
4. If none finished for want of time, the one with the shortest plan runs all the same, for 60 s or ten times its plan.
5. Other settings of the five best methods are tried while twice the time of the first try is left, and a tenth of the
   budget for counting dimensions, which comes last.
6. Compiling counts against no time (on one of W workers, it stops the clock for 1/W of its time), and nothing begins in
   the last 2 % of the budget.
"""

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
from .budget import Cause, Clock, Reason
from .candidates import Candidate
from .dataset import Dataset
from .measuring import Map, Placed, neighbors_kept
from .ranking import Judge
from .request import ASKED, Request
from .workers import Workers

FORMAT = 1  # of records
_LOOK = 0.5  # share of the time left that the look at the data may take: all judgement depends on it
_RESTART = 1.5  # times what a process took to start: what is kept back for another one
_ROUGH = 1.5  # times its plan that a late candidate may take: plans are rough
_LEAST_SECONDS, _TIMES_PLAN = 60.0, 10.0  # for the candidate that runs although the budget was too small for all
_SEARCHED = 5  # methods, the best of the first round, whose settings are searched
_AGAIN = 2.0  # times what a method took at first that must be left for another of its settings
_DIMENSIONS = 0.1  # share of the budget that the search leaves for counting the dimensions
_STOP = 0.02  # share of the budget in which nothing is begun any more
_RUNNING = "running"  # the status of a candidate until it ends
_USED_UP = Reason("the budget was used up", Cause.BUDGET)
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
    _begun: dict[int, tuple[Candidate, dict[str, Any]]] = field(default_factory=dict)  # by number, with their plans

    def compiled(self, seconds: float, workers: int = 1) -> None:
        """Note that code was compiled on one of so many workers, and for how long."""
        self.compiling += seconds
        self.clock.pause(seconds / workers)

    def look(self, workers: Workers) -> None:
        """Look at the data; without time for it maps are judged by direct distances."""
        job = {"do": "look", "n_neighbors": self.asked.n_neighbors, "random_state": self.asked.random_state}
        unready = self._ready(workers, "look at the data")
        failed = None if unready is None else unready.text
        seconds = min(_LOOK * self.clock.left, self.clock.left - self.restart)
        if failed is None and seconds <= 0:
            failed = "there was no time to look at the data and then to try a method"
        if failed is None:
            answer = workers.ask(job, seconds, _relay("look at the data"))
            failed = None if answer["status"] == "done" else answer["error"]
        if failed is not None:
            self.unseen = failed
            return
        self.evidence = {**answer["evidence"], "dimensions": None, "dimensions_unknown": "they are told of rows alone"}

    def count_dimensions(self, workers: Workers) -> None:
        """Count the dimensions of rows in the time that is left; no candidate waits for it any more."""
        if self.evidence is None or self.given.kind not in ("rows", "categories"):
            return
        answer: Mapping[str, Any] = {"error": _USED_UP.text}
        if self.clock.left >= _STOP * self.clock.budget:
            failed = self._ready(workers, "count dimensions")
            job = {"do": "dimensions", "random_state": self.asked.random_state}
            answer = {} if failed is None else {"error": failed.text}
            if failed is None:
                answer = workers.ask(job, self.clock.left, _relay("count dimensions"))
        self.evidence["dimensions"] = answer.get("dimensions")
        self.evidence["dimensions_unknown"] = answer.get("error", "")

    def _ready(self, workers: Workers, name: str) -> Reason | None:
        """Have a process ready, and note how long its start takes; return why there is none, or None."""
        before = self.clock.spent
        failed = workers.ready(self.clock.left, _relay(name))
        took = self.clock.spent - before if workers.start_seconds is None else workers.start_seconds
        self.restart = max(self.restart, _RESTART * took)
        return failed

    def all_of(self, workers: Workers, queue: Sequence[Candidate]) -> None:
        """Run candidates in their order, those last whose plans are longer than their shares."""
        before, late = len(self.entries), list[Candidate]()
        for batch in (queue, late):
            for place, candidate in enumerate(batch):
                self.free(workers)
                settings.report_progress("compare", self.ended(before), len(queue))
                if batch is late:
                    self.one(workers, candidate, len(late) - place)
                elif not self.one(workers, candidate, len(queue) - place + len(late), late=False):
                    late.append(candidate)
        self.rest(workers, before, len(queue))

    def search(self, workers: Workers) -> None:
        """Try other settings of the best methods."""
        done = self.done()
        order = Judge(done).ranked(done) if done else []
        reserve = 0.0 if np.isinf(self.clock.budget) else _DIMENSIONS * self.clock.budget
        queue: list[tuple[Candidate, float]] = []
        for entry in order[:_SEARCHED]:
            first, took = Candidate(entry["method"], entry["parameters"], entry["kind"]), sum(entry["seconds"].values())
            queue += [(other, took) for other in candidates.searched(first, self.given.n, entry["learned"])]
        for place, (candidate, took) in enumerate(queue):
            self.free(workers)
            settings.report_progress("search settings", place, len(queue))
            if _AGAIN * took + reserve > self.clock.left:
                told = f"it took {took:.1f} s with its default settings, and {self.clock.left:.1f} s were left"
                self.skip(candidate, _USED_UP if self._used_up else Reason(told, Cause.SEARCH))
            else:
                self.one(workers, candidate, 1)
        self.rest(workers)

    @property
    def _used_up(self) -> bool:
        return self.clock.left < _STOP * self.clock.budget

    def one(self, workers: Workers, candidate: Candidate, waiting: int, late: bool = True) -> bool:
        """Begin the first of so many candidates that wait on a free worker, or note why not.

        Return False where its plan is longer than its share, so that others should come first; once it is ``late`` it
        may take what is there.
        """
        whole, planned, reason = self._estimate(candidate)
        reason = (_USED_UP if self._used_up else reason) or self._ready(workers, candidate.key)
        seconds, most = self._limits(waiting + workers.busy, workers.size)
        if reason is None and planned > seconds:
            if not late:
                return False
            seconds = min(_ROUGH * planned, most)
            if planned > most:
                told, left = format_seconds(planned), format_seconds(most)
                reason = Reason(f"the plan says {told}, and it could have {left} of the budget", Cause.PLAN)
        if reason is not None:
            self.skip(candidate, reason)
            return True
        number = len(self.entries)
        self.note(candidate, {"status": _RUNNING})
        self._begun[number] = candidate, whole
        workers.begin(number, self._job(candidate, number), seconds, _begin(candidate))
        return True

    def free(self, workers: Workers) -> None:
        """Note what comes of candidates until a worker is free."""
        while workers.busy >= workers.size:
            self._collect(workers)

    def rest(self, workers: Workers, before: int | None = None, total: int = 0) -> None:
        """Note what comes of all candidates that still run; of the round that began ``before``, progress is told."""
        while workers.busy:
            self._collect(workers)
            if before is not None and workers.busy:
                settings.report_progress("compare", self.ended(before), total)
        if before is not None:
            settings.report_progress("compare", total, total)

    def ended(self, before: int = 0) -> int:
        """Return how many candidates, but for the first so many, have come to an end of any kind."""
        return sum(entry["status"] != _RUNNING for entry in self.entries[before:])

    def _collect(self, workers: Workers) -> None:
        """Note what comes of the candidate that ends next."""
        number, answer = workers.next()
        candidate, whole = self._begun.pop(number)
        self.note(candidate, {**_measured(answer), **whole}, number)

    def _limits(self, unfinished: int, workers: int) -> tuple[float, float]:
        """Return the share of the next of so many candidates, and the most that leaves time to start a process.

        If there is no such time, no other candidate can follow, so this one may use all of it.
        """
        left, before = self.clock.left, self.clock.left - self.restart
        if unfinished <= workers or before <= 0:
            return left, left
        return min(self.clock.share(unfinished, workers), before), before

    def _job(self, candidate: Candidate, number: int) -> dict[str, Any]:
        """Return the order to fit a candidate and to measure its map."""
        return {
            "do": "fit",
            "number": number,
            "method": candidate.method,
            "parameters": dict(candidate.parameters),
            "n_neighbors": self.asked.n_neighbors,
            "geodesic": self.evidence is not None and self.evidence["distances"] == "geodesic",
        }

    def cheapest(self, workers: Workers) -> None:
        """Run the candidate with the shortest plan although the budget was too small for all of them.

        Methods of other packages have no plan that could be trusted, and may never end.
        """
        own, plans = {row.name for row in registry.METHODS}, []
        for entry in self.entries:
            if entry["method"] in own and Cause(entry["cause"]).out_of_time:
                candidate = Candidate(entry["method"], entry["parameters"], entry["kind"])
                whole, seconds, reason = self._estimate(candidate)
                if reason is None:
                    plans.append((seconds, entry["number"], candidate, whole))
        for seconds, number, candidate, whole in sorted(plans, key=lambda plan: plan[:2]):
            if workers.ready(np.inf, _relay(candidate.key)) is not None:
                return
            limit = max(_LEAST_SECONDS, _TIMES_PLAN * seconds)
            answer = _measured(workers.ask(self._job(candidate, number), limit, _begin(candidate)))
            if answer["status"] == "done":
                self.note(candidate, {**answer, **whole, "over_budget": True}, number)
                return

    def _estimate(self, candidate: Candidate) -> tuple[dict[str, Any], float, Reason | None]:
        """Return what the plan says of all rows, its seconds for the fitted rows, and why a candidate cannot run."""
        if candidate.method in self.unsent:
            return {}, 0.0, Reason(self.unsent[candidate.method])
        try:
            whole = self._plan(candidate, self.given.n_rows)
            fitted = self._plan(candidate, self.given.n - int(self.given.held.sum()))
        except (MissingExtraError, ValueError) as error:  # such as fewer rows than these settings need
            return {}, 0.0, Reason(str(error))
        except Exception as error:  # such as a package that is installed but broken
            return {}, 0.0, Reason(f"it has no plan: {type(error).__name__}: {error}")
        told = {
            "whole_seconds": float(whole.seconds),
            "whole_algorithm": whole.algorithm,
            "whole_approximate": bool(whole.approximate),
        }
        limit, reason = settings.memory_limit(), None
        if whole.bytes > limit:
            needed = format_bytes(whole.bytes)
            text = f"all {self.given.n_rows:,} rows would take {needed}, and the limit is {format_bytes(limit)}"
            reason = Reason(text, Cause.MEMORY)
        return told, float(fitted.seconds), reason

    def _plan(self, candidate: Candidate, n: int) -> Plan:
        """Return the cost of fitting so many of the rows."""
        density = None
        if self.given.kind == "sparse":
            density = max(self.given.rows.nnz / (self.given.n * self.given.n_columns), 1e-12)
        shape = (n, n if self.given.kind == "distances" else self.given.n_columns)
        return plan(candidate.build(), shape=shape, dtype=self.given.rows.dtype, density=density)

    def skip(self, candidate: Candidate, reason: Reason) -> None:
        """Note a candidate that is not run."""
        self.note(candidate, {"status": "skipped", "error": reason.text, "cause": reason.cause})

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
            "cause": str(answer.get("cause", Cause.OTHER)),
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
                **{name: getattr(self.asked, name) for name in ASKED},
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

    def maps(self, recommended: str | None = None) -> dict[str, Map]:
        """Return the maps, of many rows a part; the recommended one with the share of neighbours that it keeps."""
        out = {}
        for entry in self.done():
            with np.load(self.folder / f"map{entry['number']}.npz") as stored:
                Y, there = stored["Y"], stored["there"]
            step = -(-len(Y) // _MAP_ROWS)
            kept = None
            if entry["key"] == recommended:
                assert self.asked.n_neighbors is not None
                shown = np.arange(0, len(Y), step)
                kept = neighbors_kept(self.given, Placed(Y, there), shown, self.asked.n_neighbors)
            out[entry["key"]] = Map(Y[::step], self.given.numbers[there[::step]], kept)
        return out


def _relay(key: str) -> Any:
    """Return a callback that tells the progress of a candidate under its name."""

    def told(stage: str, done: int, total: int | None) -> None:
        settings.report_progress(f"{key}: {stage}", done, total)

    return told


def _begin(candidate: Candidate) -> Any:
    """Tell that a candidate begins; return the callback for its progress.

    A quick one tells nothing itself, and the user may want to stop here.
    """
    relay = _relay(candidate.key)
    relay("begin", 0, None)
    return relay


def _measured(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer; one without a value for every criterion is a failure."""
    if answer["status"] == "done" and not _finite(answer["criteria"]):
        return {"status": "failed", "error": "its map has no distances or neighbours to measure"}
    return answer


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
