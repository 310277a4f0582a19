"""Shares of the budget, processes that can be ended, and what is left of them."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import lowland
from comparison_record import entry
from lowland.comparison import candidates, process, running
from lowland.comparison.dataset import read
from lowland.comparison.worker import Bench
from lowland.comparison.workers import OneProcess
from lowland.core import memory
from lowland.core.errors import LowlandWarning


class Clockwork:
    """Stands for the process: starting and jobs take stated seconds of a clock that does not run by itself."""

    def __init__(self, now: list[float], takes: dict[str, float], start: float = 3.0) -> None:
        self.now, self.takes, self.start, self.up, self.jobs = now, takes, start, False, list[str]()

    def ready(self, seconds, told):
        if not self.up:
            self.now[0] += min(self.start, seconds)
            self.up = seconds >= self.start
        return None if self.up else "there was no time to start a process"

    def ask(self, job, seconds, told):
        name = job.get("method", job["do"])
        self.jobs.append(name)
        took = self.takes[name]
        self.now[0] += min(took, seconds)
        if took > seconds:
            self.up = False
            return {"status": "ended", "error": "its share of the budget was over"}
        nothing = {"crowding": None, "structured": None, "distances": "direct", "accuracy": None}
        side = {"training": {"value": 0.5, "without": [0.5] * 10}}
        return {
            "status": "done",
            "evidence": nothing,
            "dimensions": {"linear": 2.0},
            "criteria": {"local": side, "global": side},
            "seconds": {"fit": took, "measure": 0.1},
            "learned": {},
        }


@pytest.fixture
def clockwork(monkeypatch):
    """Run candidates by such a clock; returns what became of them, the jobs in their order, and the time."""

    def run(budget: float, takes: dict[str, float], names: list[str], search: bool = False):
        now = [0.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        X, worker = np.random.default_rng(0).standard_normal((60, 3)), Clockwork(now, takes)
        asked = running.Request(2, "euclidean", 10, None, 0.2, 0, names)
        made, _ = read(X, None, "euclidean", None, 0.2, 0)
        state = running.Run(made, asked, running.Clock(budget), Path("."), {})
        workers = OneProcess(worker)
        state.look(workers)
        state.all_of(workers, asked.candidates("rows")[0])
        state.count_dimensions(workers)
        return {e["key"]: e["status"] for e in state.entries}, worker.jobs, now[0], state

    return run


@pytest.mark.parametrize("names", [["pca", "isomap"], ["isomap", "pca"]])
def test_of_two_candidates_neither_takes_the_time_of_the_other(clockwork, names):
    status, _, spent, _ = clockwork(30.0, {"look": 1, "pca": 1, "isomap": 1e6, "dimensions": 1}, names)
    assert status == {"pca": "done", "isomap": "ended"}
    assert spent <= 30.0


@pytest.mark.parametrize("names", [["pca", "isomap"], ["isomap", "pca"]])
def test_the_first_candidate_does_not_take_all_where_another_process_could_be_started(clockwork, names):
    """3 s to start, 1 to look, and 4.5 are kept back for another start: 1.5 s of 6 are left for what never ends."""
    status, _, spent, _ = clockwork(10.0, {"look": 1, "pca": 1, "isomap": 1e6, "dimensions": 0.1}, names)
    assert status == {"pca": "done", "isomap": "ended"}
    assert spent <= 10.0


@pytest.mark.parametrize(("plan", "status"), [(12.0, "done"), (40.0, "skipped")])
def test_what_is_longer_than_its_share_comes_last_and_runs_if_there_is_time(clockwork, monkeypatch, plan, status):
    """Its share of 27 s is 13.5 at first; after the others there are 24, and its plan says less, or more."""

    def planned(self, candidate, n):
        seconds = 1.5 * plan if candidate.method == "isomap" else 0.1
        return SimpleNamespace(seconds=seconds, bytes=0, algorithm="", approximate=False)

    monkeypatch.setattr(running.Run, "_plan", planned)
    takes = {"look": 0, "isomap": plan, "pca": 1, "kernel_pca": 1, "lpp": 1, "dimensions": 0.1}
    found, jobs, spent, state = clockwork(30.0, takes, ["isomap", "pca", "kernel_pca", "lpp"])
    assert found == {"pca": "done", "kernel_pca": "done", "lpp": "done", "isomap": status}
    assert [name for name in jobs if name in found][:3] == ["pca", "kernel_pca", "lpp"]
    assert spent <= 30.0
    if status == "skipped":
        assert state.entries[-1]["reason"] == "the plan says about 60 s, and it could have about 24 s of the budget"


def test_dimensions_are_counted_last_and_cannot_take_the_candidates_time(clockwork):
    status, jobs, spent, state = clockwork(10.0, {"look": 1, "pca": 0.5, "dimensions": 60}, ["pca"])
    assert jobs == ["look", "pca", "dimensions"]
    assert status == {"pca": "done"}
    assert state.evidence["dimensions_unknown"] == "its share of the budget was over"
    assert spent <= 10.0


def test_a_look_that_takes_too_long_leaves_time_to_start_again(clockwork):
    status, _, spent, state = clockwork(12.0, {"look": 1e6, "pca": 0.5, "dimensions": 1}, ["pca"])
    assert status == {"pca": "done"}
    assert state.unseen == "its share of the budget was over"
    status, jobs, spent, state = clockwork(6.0, {"look": 1e6, "pca": 0.5}, ["pca"])
    assert (status, jobs) == ({"pca": "done"}, ["pca"]), "no look where it could cost the only start"
    assert "no time to look" in state.unseen
    assert spent <= 6.0
    status, *_ = clockwork(5.0, {"look": 1, "pca": 1.5, "isomap": 1, "dimensions": 1}, ["pca", "isomap"])
    assert status["pca"] == "done", "it may take all where nobody could be started after it"


def test_a_look_that_was_ended_while_writing_harms_no_candidate(rng, tmp_path, monkeypatch):
    made, _ = read(rng.standard_normal((40, 3)), None, "euclidean", None, 0.0, 0)
    made.store(tmp_path)
    bench, save = Bench(tmp_path, lambda answer: None), np.savez

    def torn(file, **arrays):
        save(file, **arrays)
        if len(arrays) == 0 or "geodesic" in str(file) or (tmp_path / "direct.npz").exists():
            Path(file).write_bytes(b"PK torn")
            raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", torn)
    with pytest.raises(KeyboardInterrupt):
        bench.serve({"do": "look", "n_neighbors": 5, "random_state": 0})
    monkeypatch.setattr(np, "savez", save)
    job = {
        "do": "fit",
        "number": 0,
        "method": "pca",
        "parameters": {"n_components": 2},
        "n_neighbors": 5,
        "geodesic": False,
    }
    assert Bench(tmp_path, lambda answer: None).serve(job)["status"] == "done"


def test_a_transform_that_fails_is_a_failure(rng, at_once):
    class Falls:
        """Has a transform that does not work."""

        def __init__(self, n_components=2):
            self.n_components = n_components

        def fit_transform(self, X, y=None):
            return np.asarray(X)[:, : self.n_components]

        def transform(self, X):
            raise RuntimeError("not today")

    lowland.register("falls", Falls)
    try:
        found = lowland.compare(rng.standard_normal((60, 3)), ["falls", "pca"], budget=None)
    finally:
        lowland.registry.unregister("falls")
    assert entry(found, "falls")["status"] == "failed"
    assert "not today" in entry(found, "falls")["reason"]


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be removed elsewhere")
def test_paths_of_a_removed_working_folder_are_left_out(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr("sys.path", ["", str(tmp_path)])
    assert process._environment()["PYTHONPATH"] == str(tmp_path)
    assert process._here() is None


def test_compiling_counts_against_no_time(tmp_path, monkeypatch):
    """2 s may pass: 100 s of compiling are not among them, 1 s after it is, and 3 s more are too many."""
    now, paused = [0.0], []
    monkeypatch.setattr(process.time, "monotonic", lambda: now[0])

    class Answers:
        def __init__(self, *steps):
            self.steps = list(steps)

        def get(self, timeout):
            seconds, line = self.steps.pop(0)
            now[0] += seconds
            if line is None:
                raise queue.Empty
            return json.dumps(line)

    def wait(*steps):
        now[0] = 0.0
        worker = process.Worker(tmp_path, paused.append)
        worker._process = SimpleNamespace(pid=os.getpid(), returncode=0, wait=lambda: 0, stdin=None)
        worker._answers = Answers(*steps)
        monkeypatch.setattr(process, "_ended", lambda process: False)
        return worker._wait(2.0, lambda *_: None, "late")["status"]

    compiled = (0.5, {"compiling": True}), (50.0, None), (50.0, None), (0.0, {"compiling": False})
    assert wait(*compiled, (1.0, None), (0.0, {"status": "done"})) == "done"
    assert paused == [100.0]
    assert wait(*compiled, (3.0, None), (0.0, {"status": "done"})) == "ended"


def test_a_budget_too_small_for_anything_gives_the_cheapest_map(rng, at_once):
    found = lowland.compare(rng.standard_normal((80, 4)), ["isomap", "pca"], budget=1e-9)
    status = {e["key"]: (e["status"], e.get("over_budget")) for e in found.record["candidates"]}
    assert status == {"isomap": ("skipped", None), "pca": ("done", True)}
    assert [e["number"] for e in found.record["candidates"]] == [0, 1]
    assert found.maps["pca"].Y.shape == (80, 2)
    assert found.recommend().reasons[0].startswith("The budget was too small for any candidate")


READS = '''
import os
import subprocess
import time


class Reads:
    """Starts what reads all of stdin, then what would outlive it, and dies."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit_transform(self, X, y=None):
        assert subprocess.run(["cat"], capture_output=True, timeout=20).stdout == b""
        subprocess.Popen(["sleep", "4711"])
        if os.fork() == 0:  # a copy that holds the pipe open
            time.sleep(4712)
        os._exit(3)
'''


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_children_of_candidates_read_no_jobs_and_do_not_outlive_them(tmp_path, monkeypatch, rng):
    (tmp_path / "reading.py").write_text(READS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import reading

    lowland.register("reads", reading.Reads)
    read(rng.standard_normal((30, 3)), None, "euclidean", None, 0.0, 0)[0].store(tmp_path)
    job = {"do": "fit", "number": 0, "method": "reads", "parameters": {}, "n_neighbors": 5, "geodesic": False}
    start = time.monotonic()
    try:
        assert process.send_plugins(tmp_path, {"reads"}) == {}
        with process.Worker(tmp_path) as worker:
            assert worker.ready(60, lambda *_: None) is None
            answer = worker.ask(job, 60, lambda *_: None)
    finally:
        lowland.registry.unregister("reads")
    assert answer == {"status": "failed", "error": "the process ended with code 3"}
    assert time.monotonic() - start < 30, "its end was seen, though a copy of it holds the pipe"
    running = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True).stdout
    assert "sleep 4711" not in running
    assert str(tmp_path) not in running, "nor is the copy"


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="elsewhere the end of a process is seen by its pipe alone")
@pytest.mark.parametrize("child", ["sleep 60 &", "setsid sh -c 'echo $$ >> pids; exec sleep 60' &"])
def test_the_end_of_a_process_is_seen_though_a_child_holds_its_pipe(tmp_path, monkeypatch, child):
    """Also one that left the group, which nobody can end; what the process said last comes first."""
    monkeypatch.setattr(process, "_LAST", 0.2)
    (tmp_path / "worker.log").write_text("oh\n", encoding="utf-8")

    def started() -> process.Worker:
        worker = process.Worker(tmp_path)
        words = ["sh", "-c", f'{child} echo \'{{"status": "done"}}\'; exit 3']
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        worker._process = subprocess.Popen(words, text=True, start_new_session=True, cwd=tmp_path, **pipes)
        worker._ear = threading.Thread(target=process._listen, args=(worker._process, worker._answers), daemon=True)
        worker._ear.start()
        return worker

    start = time.monotonic()
    worker = started()
    assert worker._wait(start + 60, lambda *_: None, "late") == {"status": "done"}
    answer = worker._wait(start + 60, lambda *_: None, "late")
    assert answer == {"status": "failed", "error": "the process ended with code 3; its last words: oh"}
    worker = started()
    os.waitid(os.P_PID, worker._process.pid, os.WEXITED | os.WNOWAIT)
    worker.end()
    assert time.monotonic() - start < 30
    for line in (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []:
        os.kill(int(line), signal.SIGKILL)


def test_a_folder_that_cannot_be_removed_does_not_take_the_result_along(rng, at_once, monkeypatch):
    def stuck(path):
        raise PermissionError("in use")

    monkeypatch.setattr("shutil.rmtree", stuck)
    with pytest.warns(LowlandWarning, match="a folder could not be removed: in use"):
        found = lowland.compare(rng.standard_normal((30, 3)), ["pca"], budget=None)
    assert found.recommend().method == "pca"


@pytest.mark.skipif(memory.resident() is None, reason="the system does not tell")
def test_memory_of_another_process_is_told():
    assert memory.resident(os.getpid()) == pytest.approx(memory.resident(), rel=0.1)
    assert memory.resident(2**30) is None


def test_methods_of_optional_packages_are_loaded_before_they_are_timed(rng, tmp_path, monkeypatch):
    read(rng.standard_normal((300, 3)), None, "euclidean", None, 0.0, 0)[0].store(tmp_path)
    fitted: list[tuple[str, int]] = []

    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

        def fit(self, X):
            fitted.append((self.name, len(X)))
            raise RuntimeError("shows in the fit itself")

    monkeypatch.setattr(candidates.Candidate, "build", lambda self: Model(self.method))
    bench = Bench(tmp_path, lambda answer: None)
    for name in ("pca", "umap", "umap", "tsne"):
        bench._load(name)
    assert fitted == [("umap", 100), ("tsne", 100)]
