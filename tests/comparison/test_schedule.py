"""Candidates on several workers, by a clock that does not run by itself: who begins when, and for how long."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from lowland.comparison import budget, running
from lowland.comparison.dataset import read
from lowland.comparison.workers import Workers

SIDE = {"training": {"value": 0.5, "without": [0.5] * 10}}


class Simulated(Workers):
    """Workers whose processes start, and whose jobs end, at stated times of a clock."""

    def __init__(self, now: list[float], size: int, takes: dict[str, float], start: float = 3.0) -> None:
        self.now, self._size, self.takes, self.start = now, size, takes, start
        self.up, self.jobs, self.begun = 0, list[tuple[float, int, dict]](), list[tuple[str, float, float]]()

    @property
    def size(self) -> int:
        return self._size

    @property
    def busy(self) -> int:
        return len(self.jobs)

    def ready(self, seconds, told):
        if self.up <= self.busy:
            self.now[0] += min(self.start, seconds)
            self.up = self.size if seconds >= self.start else self.up
        return None if self.up > self.busy else budget.Reason("there was no time to start a process")

    def begin(self, number, job, seconds, told):
        assert self.busy < self.size, "a worker has one job at a time"
        name = job.get("method", job["do"])
        self.begun.append((name, self.now[0], seconds))
        took = self.takes[name]
        answer = {
            "status": "done",
            "evidence": {"crowding": None, "structured": None, "distances": "direct", "accuracy": None},
            "dimensions": {"linear": 2.0},
            "criteria": {"local": SIDE, "global": SIDE},
            "seconds": {"fit": took, "measure": 0.1},
            "learned": {},
        }
        if took > seconds:
            self.up -= 1
            answer = {"status": "ended", "error": "its share of the budget was over"}
        self.jobs.append((self.now[0] + min(took, seconds), number, answer))

    def next(self):
        first = min(self.jobs, key=lambda job: job[:2])
        self.jobs.remove(first)
        self.now[0] = max(self.now[0], first[0])
        return first[1:]


@pytest.fixture
def simulated(monkeypatch):
    """Run named candidates on so many workers; returns the state and the workers."""

    def run(seconds: float | None, size: int, takes: dict[str, float], names: list[str]):
        now = [0.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        X = np.random.default_rng(0).standard_normal((60, 3))
        workers = Simulated(now, size, {"look": 1.0, "dimensions": 1.0, **takes})
        asked = running.Request(2, "euclidean", 10, None, 0.2, 0, names)
        state = running.Run(read(X, None, "euclidean", None, 0.2, 0)[0], asked, running.Clock(seconds), None, {})
        state.look(workers)
        state.all_of(workers, asked.candidates("rows")[0])
        state.count_dimensions(workers)
        return state, workers

    return run


NAMES = ["pca", "isomap", "kernel_pca", "lpp"]


def test_candidates_are_listed_in_their_order_whichever_ends_first(simulated):
    takes = {"pca": 9.0, "isomap": 1.0, "kernel_pca": 2.0, "lpp": 3.0}
    state, workers = simulated(None, 2, takes, NAMES)
    assert [entry["method"] for entry in state.entries] == NAMES
    assert [entry["number"] for entry in state.entries] == [0, 1, 2, 3]
    assert {entry["status"] for entry in state.entries} == {"done"}
    began = {name: at for name, at, _ in workers.begun}
    assert began == {"look": 3, "pca": 4, "isomap": 4, "kernel_pca": 5, "lpp": 7, "dimensions": 13}


def test_where_each_has_a_worker_each_may_take_all_that_is_left(simulated):
    state, workers = simulated(60.0, 4, dict.fromkeys(NAMES, 5.0), NAMES)
    assert [seconds for name, _, seconds in workers.begun if name in NAMES] == [56.0] * 4
    assert state.clock.spent == 10.0


@pytest.mark.parametrize("stuck", NAMES)
def test_one_that_never_ends_leaves_a_worker_and_time_for_the_others(simulated, stuck):
    takes = dict.fromkeys(NAMES, 1.0) | {stuck: 1e6}
    state, _ = simulated(40.0, 2, takes, NAMES)
    assert {e["method"]: e["status"] for e in state.entries} == dict.fromkeys(NAMES, "done") | {stuck: "ended"}
    assert state.clock.spent <= 40.0


def test_shares_count_the_candidates_that_run(simulated):
    """Of 56 s, two of four may take two thirds; then three are unfinished, and of the last two either may take all."""
    takes = {"pca": 30.0, "isomap": 2.0, "kernel_pca": 2.0, "lpp": 2.0}
    _, workers = simulated(60.0, 2, takes, NAMES)
    seconds = {name: seconds for name, _, seconds in workers.begun}
    assert seconds["pca"] == seconds["isomap"] == pytest.approx(56 * 4 / 6)
    assert seconds["kernel_pca"] == pytest.approx(54 * 4 / 5)
    assert seconds["lpp"] == 52.0


def test_plans_longer_than_their_share_come_last(simulated, monkeypatch):
    def planned(self, candidate, n):
        return SimpleNamespace(
            seconds=50.0 if candidate.method == "pca" else 0.1, bytes=0, algorithm="", approximate=False
        )

    monkeypatch.setattr(running.Run, "_plan", planned)
    state, workers = simulated(60.0, 2, dict.fromkeys(NAMES, 1.0), NAMES)
    assert [name for name, *_ in workers.begun] == ["look", "isomap", "kernel_pca", "lpp", "pca", "dimensions"]
    assert {entry["status"] for entry in state.entries} == {"done"}


def test_compiling_on_one_of_several_workers_stops_the_clock_for_its_part(simulated):
    state, _ = simulated(60.0, 2, dict.fromkeys(NAMES, 1.0), NAMES)
    before = state.clock.left
    state.compiled(8.0, 4)
    assert (state.clock.left - before, state.compiling) == (2.0, 8.0)


@pytest.mark.parametrize(("said", "kept"), [(None, 4.5), (2.0, 3.0)], ids=["alone", "on a cluster"])
def test_time_is_kept_back_for_the_start_of_a_process_not_for_waiting(simulated, monkeypatch, said, kept):
    """Half as much again as the 3 s that `ready` took, or as the start took where workers tell it."""
    monkeypatch.setattr(Simulated, "start_seconds", said)
    state, _ = simulated(100.0, 2, dict.fromkeys(NAMES, 1.0), NAMES)
    assert state.restart == kept
