"""Candidates on the workers of a cluster: the values of this process, and nothing left there whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lowland
from lowland.core.errors import Cancelled, ClusterError, MissingExtraError
from lowland.engines.dask_cluster import started

distributed = pytest.importorskip("distributed")

TIMED = ("seconds", "number")


def entry_of_method(comparison: lowland.Comparison, key: str) -> dict:
    return next(e for e in comparison.record["candidates"] if e["key"].partition("(")[0] == key)


def left_on(client) -> list[str]:
    """Return the folders and the processes of comparisons on the workers of this machine."""
    folders = client.run(lambda dask_worker: dask_worker.local_directory)
    found = [str(path) for folder in folders.values() for path in Path(folder).glob("lowland-compare-*")]
    running = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True).stdout.splitlines()
    return found + [line for line in running if "lowland.comparison.worker" in line and "dask-scratch" in line]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two worker processes of one thread each."""
    import dask

    folder = tmp_path_factory.mktemp("dask-scratch")
    with dask.config.set({"temporary-directory": str(folder)}), started(2) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client of the two processes, as the current one; nothing may be left on them."""
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        with client.as_current():
            yield client
        assert left_on(client) == []


@pytest.fixture
def foreign_classes():
    """Methods of the user's that misbehave; their classes are sent whole, for workers cannot import this file."""

    class Base:
        """The first two columns."""

        def __init__(self, n_components=2, file=""):
            self.n_components, self.file = n_components, file

        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return np.asarray(X)[:, : self.n_components]

    class Raises(Base):
        """Fails."""

        def fit(self, X, y=None):
            raise RuntimeError("no such luck")

    class Dies(Base):
        """Takes its process along."""

        def fit(self, X, y=None):
            os.kill(os.getpid(), signal.SIGKILL)

    class Sleeps(Base):
        """Never ends."""

        def fit(self, X, y=None):
            if self.file:
                Path(self.file).touch()
            time.sleep(10_000)

    class Kills(Base):
        """Takes the worker of the cluster along, the first time."""

        def fit(self, X, y=None):
            if not Path(self.file).exists():
                Path(self.file).touch()
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(10_000)
            return self

    classes = (Raises, Dies, Sleeps, Kills)
    for cls in classes:
        lowland.register(cls.__name__.lower(), cls)
    yield
    for cls in classes:
        lowland.registry.unregister(cls.__name__.lower())


def test_workers_find_what_this_process_finds_and_failures_stop_nobody(
    client, foreign_classes, found, roll, bands, tmp_path
):
    there = lowland.compare(roll, ["raises", "pca", "dies", "isomap"], budget=None, target=bands, engine="dask")
    assert [e["key"] for e in there.record["candidates"]] == ["raises", "pca", "dies", "isomap"]
    assert [e["number"] for e in there.record["candidates"]] == [0, 1, 2, 3]
    assert entry_of_method(there, "raises")["reason"] == "SolveError: Raises: RuntimeError: no such luck"
    assert entry_of_method(there, "dies")["status"] == "failed"
    assert "SIGKILL" in entry_of_method(there, "dies")["reason"]
    for here in found.record["candidates"]:
        other = entry_of_method(there, here["key"])
        assert {k: v for k, v in other.items() if k not in TIMED} == {k: v for k, v in here.items() if k not in TIMED}
        np.testing.assert_array_equal(there.maps[here["key"]].Y, found.maps[here["key"]].Y)
    for name in ("format", "versions", "data", "settings", "rows", "evidence", "without_evidence"):
        assert there.record[name] == found.record[name], name
    assert there.record.keys() == found.record.keys()
    assert json.loads(json.dumps(there.record)) == there.record
    assert str(there.recommend()) == str(found.recommend())


def test_a_candidate_that_never_ends_is_ended_and_its_worker_goes_on(client, foreign_classes, roll):
    found = lowland.compare(roll[::4], ["sleeps", "pca", "isomap"], budget="20s", engine="dask")  # it sleeps for 1000
    status = {e["key"]: e["status"] for e in found.record["candidates"]}
    assert status == {"sleeps": "ended", "pca": "done", "isomap": "done"}
    assert entry_of_method(found, "sleeps")["reason"] == "its share of the budget was over"


def test_a_worker_that_is_killed_takes_no_candidate_along(client, foreign_classes, roll, tmp_path):
    methods = ["pca", ("kills", {"file": str(tmp_path / "once")}), "isomap"]
    found = lowland.compare(roll[::4], methods, budget=None, engine="dask")
    assert (tmp_path / "once").exists()
    assert {e["key"].partition("(")[0]: e["status"] for e in found.record["candidates"]} == {
        "pca": "done",
        "kills": "done",
        "isomap": "done",
    }


def test_cancelling_ends_everything_on_the_workers(client, foreign_classes, roll, tmp_path):
    begun, seen = [tmp_path / "a", tmp_path / "b"], list[str]()

    def told(stage: str, done: int, total: int | None) -> bool:
        seen.append(stage)
        return not all(file.exists() for file in begun)

    with lowland.config(progress=told), pytest.raises(Cancelled):
        lowland.compare(roll[::4], [("sleeps", {"file": str(file)}) for file in begun], budget=None, engine="dask")
    assert "compare" in seen
    assert any(stage.startswith("look at the data") for stage in seen)
    assert left_on(client) == []


SCRIPT = """
import time
import distributed
import numpy as np
import lowland

class Sleeps:
    '''Lives in the script itself.'''
    def __init__(self, n_components=2):
        self.n_components = n_components
    def fit_transform(self, X, y=None):
        open(FILE, "w").close()
        time.sleep(1000)

lowland.register("sleeps", Sleeps)
client = distributed.Client(ADDRESS)
lowland.compare(np.random.default_rng(0).standard_normal((80, 3)), ["sleeps"], budget=None, engine="dask")
"""


@pytest.mark.slow
def test_a_client_that_is_killed_leaves_nothing_on_the_workers(client, tmp_path):
    file, began = tmp_path / "script.py", tmp_path / "began"
    text = SCRIPT.replace("FILE", repr(str(began))).replace("ADDRESS", repr(client.scheduler.address))
    file.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(lowland.__file__).parents[1]), "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, str(file)], env=environment) as process:
        try:
            until(began.exists)
            assert len(left_on(client)) == 4, "a folder and a process on each worker"
        finally:
            process.kill()
    until(lambda: left_on(client) == [])


def until(holds) -> None:
    """Wait until something holds, which must be within a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_without_a_client_that_is_said(roll):
    with pytest.raises(ClusterError, match=r"there is no Dask client: create one, such as distributed.Client"):
        lowland.compare(roll, ["pca"], engine="dask")


def test_without_the_extra_its_name_is_said(roll, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lowland\[dask\]'"):
        lowland.compare(roll, ["pca"], engine="dask")


def test_engines_are_named(roll):
    with pytest.raises(ValueError, match="engine must be 'local' or 'dask'; got 'spark'"):
        lowland.compare(roll, ["pca"], engine="spark")
