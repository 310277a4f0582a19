"""How a comparison runs: what is asked and refused, shares of the budget, processes, the record of an automatic run."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowland
from lowland import memory
from lowland.comparison import candidates, given, process, running
from lowland.comparison.given import fingerprint, read
from lowland.comparison.worker import Bench
from lowland.errors import DataError, LowlandWarning


def entry(comparison: lowland.Comparison, key: str) -> dict:
    return next(e for e in comparison.record["candidates"] if e["key"] == key)


# -- an automatic run -------------------------------------------------------------------------------------


def test_an_automatic_run_searches_settings_and_can_be_repeated(roll, at_once, monkeypatch):
    few = ("pca", "isomap", "kernel_pca")
    automatic = candidates.automatic("rows")

    def fewer(kind: str) -> tuple[list[str], dict[str, str]]:
        return [name for name in automatic[0] if name in few], automatic[1]

    monkeypatch.setattr(candidates, "automatic", fewer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowlandWarning)
        found = lowland.compare(roll[::5], budget=None)
    status = {e["key"]: e["status"] for e in found.record["candidates"]}
    assert [key for key, state in status.items() if state == "done"][:3] == ["pca", "isomap", "kernel_pca"]
    searched = [e for e in found.record["candidates"] if e["kind"] == "search"]
    assert {e["key"] for e in searched} >= {"isomap(n_neighbors=5)", "isomap(n_neighbors=20)"}
    widths = sorted(e["parameters"]["gamma"] for e in searched if e["method"] == "kernel_pca")
    assert widths[1] / widths[0] == pytest.approx(16), "a quarter and four times what the fit learned"
    assert status["classical_mds"] == "skipped"
    assert found.record["evidence"]["dimensions"] is not None
    again = lowland.compare(roll[::5], record=json.loads(json.dumps(found.record)))
    assert [e["key"] for e in again.record["candidates"]] == list(status)
    for old, new in zip(found.record["candidates"], again.record["candidates"], strict=True):
        assert new.get("criteria") == old.get("criteria")
    assert again.record["evidence"] == found.record["evidence"]


def test_a_rerun_has_the_same_names_and_the_same_words(rng, at_once):
    X = rng.standard_normal((60, 3))
    found = lowland.compare(X, [("som", {"grid": (4, 5)})], budget=None)
    assert [e["key"] for e in found.record["candidates"]] == ["som(grid=[4, 5])"]
    record = json.loads(json.dumps(found.record))
    record["evidence"] |= {"dimensions": None, "dimensions_unknown": "its share of the budget was over"}
    again = lowland.compare(X, record=record)
    assert [e["key"] for e in again.record["candidates"]] == ["som(grid=[4, 5])"]
    assert again.record["evidence"] == record["evidence"]


def test_entries_hold_the_plan_for_all_rows(rng, at_once):
    X = rng.standard_normal((3000, 4))
    found = lowland.compare(X, ["pca", "isomap"], budget=None, sample=60)
    for key, model in (("pca", lowland.PCA(2)), ("isomap", lowland.Isomap(n_components=2))):
        plan, kept = lowland.plan(model, shape=(3000, 4)), entry(found, key)
        assert kept["whole_seconds"] == plan.seconds
        assert (kept["whole_algorithm"], kept["whole_approximate"]) == (plan.algorithm, plan.approximate)


# -- what is asked ----------------------------------------------------------------------------------------


def test_a_model_of_another_package_is_not_taken_for_lowlands():
    from sklearn.decomposition import PCA, TruncatedSVD

    with pytest.raises(ValueError, match=r"sklearn.decomposition._pca.PCA is no method of Lowland; lowland.register"):
        candidates.given([PCA(n_components=2)], "rows", 2, "euclidean", 0)
    lowland.register("their_svd", TruncatedSVD, defaults={"n_iter": 9})
    try:
        (made,) = candidates.given([TruncatedSVD(n_components=2)], "rows", 2, "euclidean", 0)
        assert made.method == "their_svd"
        assert made.parameters["n_iter"] == 5, "the model's value, not the default that was registered"
    finally:
        lowland.registry.unregister("their_svd")
    (own,) = candidates.given([lowland.PCA(n_components=2)], "rows", 2, "euclidean", 0)
    assert own.key == "pca"


def test_famd_cannot_code_rows_for_itself(rng):
    frame = pl.DataFrame({"a": rng.integers(3, size=60), "b": rng.choice(["x", "y"], 60)})
    with pytest.raises(ValueError, match=r"famd cannot be tried: all candidates get the rows that FAMD codes.*missing"):
        lowland.compare(frame, [("famd", {"missing": "level"})])


def test_rows_are_coded_as_the_fitted_ones_are(rng):
    frame = pl.DataFrame({"a": rng.standard_normal(100), "b": rng.choice(["x", "y", "z"], 100)})
    made, _ = read(frame, None, "euclidean", None, 0.2, 0)
    held = np.flatnonzero(made.held)
    other = frame.with_row_index("i").with_columns(
        a=pl.when(pl.col("i").is_in(held.tolist())).then(50.0).otherwise("a")
    )
    changed, _ = read(other.drop("i"), None, "euclidean", None, 0.2, 0)
    np.testing.assert_array_equal(changed.rows[~made.held], made.rows[~made.held])
    assert not np.array_equal(changed.rows[held], made.rows[held])


def test_few_rows_have_few_neighbours(rng, at_once):
    X = rng.standard_normal((45, 3))
    for n, k in ((6, 1), (11, 2), (45, 10)):
        found = lowland.compare(X[:n], ["pca", "metric_mds"], budget=None)
        assert found.record["settings"]["n_neighbors"] == k
        assert {e["status"] for e in found.record["candidates"]} == {"done"}
    with pytest.raises(DataError, match="5 rows have no structure to show; give at least 6"):
        lowland.compare(X[:5], ["pca"])


def test_beside_a_record_nothing_is_asked(rng, at_once):
    X = rng.standard_normal((30, 3))
    record = lowland.compare(X, ["pca"], budget=None).record
    for name, value in (("methods", ["isomap"]), ("n_components", 3), ("budget", None), ("n_neighbors", 5)):
        with pytest.raises(ValueError, match=f"a record says all but the data: leave {name} out"):
            lowland.compare(X, record=record, **{name: value})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"format": 1, "candidates": []}, "the record has no 'data'"),
        ({"format": 1, "data": {}, "evidence": None, "without_evidence": "", "candidates": [], "settings": {}},
         "no 'settings.n_components'"),
        ([], "a record is a dict"),
    ],
)  # fmt: skip
def test_records_with_holes_are_named(rng, wrong, words):
    with pytest.raises(ValueError, match=words):
        lowland.compare(rng.standard_normal((30, 3)), record=wrong)


@pytest.mark.parametrize("share", [None, "a", True, float("nan")])
def test_a_share_is_a_number(rng, share):
    with pytest.raises(ValueError, match="held_out is the share"):
        lowland.compare(rng.standard_normal((30, 3)), ["pca"], held_out=share)


def test_targets_with_gaps_and_look_alikes(rng):
    X = rng.standard_normal((40, 3))
    nullable = pd.Series([1, 2, None, 1] * 10, dtype="Int64")
    target = read(X, nullable, "euclidean", None, 0.0, 0)[0].target
    assert (target.codes[2], target.names) == (-1, ("1", "2"))
    mixed = np.array([1, "1"] * 20, dtype=object)
    assert read(X, mixed, "euclidean", None, 0.0, 0)[0].target.names == ("1", "'1'")


def test_a_sample_that_misses_the_classes_is_told(rng):
    target = np.array([None] * 400, dtype=object)
    target[:4] = ["a", "b", "a", "b"]
    with pytest.raises(DataError, match="2 classes of 2 rows and more on average are needed: compare more rows"):
        lowland.compare(rng.standard_normal((400, 3)), ["pca"], target=target, sample=50)


# -- fingerprints -----------------------------------------------------------------------------------------


def test_tables_are_hashed_in_blocks(monkeypatch):
    frame = pl.DataFrame({"a": np.arange(100.0), "b": [f"x{i % 7}" for i in range(100)]})
    sizes: list[int] = []

    def listed(values):
        sizes.append(len(values))
        return values.to_list()

    monkeypatch.setattr(given, "_listed", listed)
    monkeypatch.setattr(given, "_BLOCK", 30)
    told = fingerprint(frame)
    assert max(sizes) == 30, "never a whole column as a list"
    assert fingerprint(frame.with_columns(a=frame["a"] + 1e-12)) != told
    assert fingerprint(frame.with_columns(b=frame["b"].reverse())) != told
    assert fingerprint(frame.rename({"a": "c"})) != told
    assert fingerprint(frame.clone()) == told


# -- processes --------------------------------------------------------------------------------------------


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
        nothing = {"crowding": None, "structured": None, "distances": "straight", "accuracy": None}
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
        asked = running.Asked(2, "euclidean", 10, None, 0.2, 0, names)
        made, _ = read(X, None, "euclidean", None, 0.2, 0)
        state = running.Run(made, asked, running.Clock(budget), Path("."), {})
        state.look(worker)
        state.all_of(worker, asked.candidates("rows")[0])
        state.count_dimensions(worker)
        return {e["key"]: e["status"] for e in state.entries}, worker.jobs, now[0], state

    return run


@pytest.mark.parametrize("names", [["pca", "isomap"], ["isomap", "pca"]])
def test_of_two_candidates_neither_takes_the_time_of_the_other(clockwork, names):
    status, _, spent, _ = clockwork(30.0, {"look": 1, "pca": 1, "isomap": 1e6, "dimensions": 1}, names)
    assert status == {"pca": "done", "isomap": "ended"}
    assert spent <= 30.0


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
        if len(arrays) == 0 or "along" in str(file) or (tmp_path / "straight.npz").exists():
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
        "along": False,
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


READS = '''
import os
import subprocess


class Reads:
    """Starts what reads all of stdin, then what would outlive it, and dies."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit_transform(self, X, y=None):
        assert subprocess.run(["cat"], capture_output=True, timeout=20).stdout == b""
        subprocess.Popen(["sleep", "4711"])
        os._exit(3)
'''


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_children_of_candidates_read_no_jobs_and_do_not_outlive_them(tmp_path, monkeypatch, rng):
    import subprocess

    (tmp_path / "reading.py").write_text(READS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import reading

    lowland.register("reads", reading.Reads)
    read(rng.standard_normal((30, 3)), None, "euclidean", None, 0.0, 0)[0].store(tmp_path)
    job = {"do": "fit", "number": 0, "method": "reads", "parameters": {}, "n_neighbors": 5, "along": False}
    try:
        assert process.send_guests(tmp_path, {"reads"}) == {}
        with process.Worker(tmp_path) as worker:
            assert worker.ready(60, lambda *_: None) is None
            answer = worker.ask(job, 60, lambda *_: None)
    finally:
        lowland.registry.unregister("reads")
    assert answer == {"status": "failed", "error": "the process ended with code 3"}
    assert "sleep 4711" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


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
