"""Faults of a cluster: each is a `ClusterError` that says what to do, and no model is fitted."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lowland
from dask_tables import chunked, same_bits
from lowland.core.errors import ClusterError
from lowland.engines.dask_cluster import _check_versions, started

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

SOURCE = str(Path(lowland.__file__).parents[1])
WITHOUT_LOWLAND = """
import sys
sys.path[:] = [p for p in sys.path if p not in {here!r}] + {packages!r}
"""
START = "from distributed.cli.dask_{what} import main; main({args!r})"


@pytest.fixture
def start(tmp_path):
    """Starts a scheduler or a worker in a process of its own; all are killed at the end."""
    running = []

    def process(what, *args, code="", path=SOURCE):
        text = code + START.format(what=what, args=[*args])
        env = {**os.environ, "PYTHONPATH": path}
        flags = ["-S"] if code else []  # no .pth file then leads to Lowland
        with (tmp_path / f"{what}-{len(running)}.log").open("w") as log:
            running.append(subprocess.Popen([sys.executable, *flags, "-c", text], env=env, stdout=log, stderr=log))
        return running[-1]

    yield process
    for one in running:
        one.kill()
        one.wait()


@pytest.fixture
def scheduler(start, tmp_path):
    """A scheduler in a process of its own: the process and the address."""
    return started_scheduler(start, tmp_path)


def started_scheduler(start, tmp_path, **options):
    file = tmp_path / "scheduler.json"
    words = ["--port", "0", "--no-dashboard", "--scheduler-file", str(file), "--host", "127.0.0.1"]
    process = start("scheduler", *words, **options)
    deadline = time.monotonic() + 30
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    import json

    return process, json.loads(file.read_text())["address"]


def worker(start, address, options=(), **means):
    return start("worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", *options, **means)


def test_workers_without_lowland_or_with_another_version_are_named():
    _check_versions({"tcp://a": "1.0", "tcp://b": "1.0"}, "1.0")
    with pytest.raises(ClusterError, match=r"the worker tcp://b has no Lowland: install lowland 1\.0"):
        _check_versions({"tcp://a": "1.0", "tcp://b": None}, "1.0")
    with pytest.raises(ClusterError, match=r"tcp://a, tcp://b have Lowland 0\.9, and the client has 1\.0"):
        _check_versions({"tcp://a": "0.9", "tcp://b": "0.9"}, "1.0")


def refused(address, table, words):
    model = lowland.PCA(2)
    with distributed.Client(address) as client:
        client.wait_for_workers(1, timeout=30)
        with pytest.raises(ClusterError, match=words):
            model.fit(chunked(table))
    assert not hasattr(model, "components_")


def test_a_worker_without_lowland(start, scheduler, table):
    packages = [str(Path(np.__file__).parents[1])]
    worker(start, scheduler[1], code=WITHOUT_LOWLAND.format(here=[SOURCE], packages=packages), path="")
    refused(scheduler[1], table, "has no Lowland: install")


def test_a_worker_with_another_version(start, scheduler, table, tmp_path):
    info = tmp_path / "lowland-99.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lowland\nVersion: 99.0\n")
    worker(start, scheduler[1], path=os.pathsep.join([str(tmp_path), SOURCE]))
    refused(scheduler[1], table, r"has Lowland 99\.0, and the client has")


def test_a_cluster_without_workers(scheduler, table):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.Client(scheduler[1]),
        pytest.raises(ClusterError, match="had no worker for 1s"),
    ):
        lowland.PCA(2).fit(chunked(table))


def test_a_scheduler_that_is_gone(start, scheduler, table):
    process, address = scheduler
    worker(start, address)

    def slowly(block):
        time.sleep(0.2)
        return block

    slow = chunked(table, (4_096, 12)).map_blocks(slowly, dtype=table.dtype)
    model = lowland.PCA(2)
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), distributed.Client(address) as client:
        client.wait_for_workers(1, timeout=30)

        def kill(stage, done, total):
            process.send_signal(signal.SIGKILL)

        with lowland.config(progress=kill), pytest.raises(ClusterError, match="cannot be reached, or cancelled"):
            model.fit(slow)
        assert not hasattr(model, "components_")
        with pytest.raises(ClusterError, match="create a new Client"):
            model.fit(slow)
    assert not hasattr(model, "components_")


SEGMENTS = 10  # of a fit; the client has at most four of a worker in flight


def stored(folder):
    """Write the rows of so many segments."""
    rng = np.random.default_rng(0)
    np.save(folder / "rows.npy", rng.standard_normal((SEGMENTS * 65_536, 4)) * np.arange(1, 5) + 3)
    return lowland.data.scan(folder / "rows.npy")


def killing(process):
    """Return what kills a process when progress is reported for the second time."""
    reports = []

    def kill(stage, done, total):
        reports.append(stage)
        if len(reports) == 2:
            process.send_signal(signal.SIGKILL)
            process.wait()

    return kill


def test_a_fit_continues_on_another_cluster_when_the_scheduler_is_gone(start, tmp_path):
    rows, model, seen = stored(tmp_path), lowland.PCA(3), []
    how = {"checkpoint": tmp_path / "state", "every": 0, "engine": "dask"}

    def fit_on(name, progress):
        (tmp_path / name).mkdir()
        process, address = started_scheduler(start, tmp_path / name)
        worker(start, address)
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), distributed.Client(address) as client:
            client.wait_for_workers(1, timeout=30)
            with lowland.config(progress=progress(process)):
                lowland.fit(model, rows, **how)

    with pytest.raises(ClusterError, match="cannot be reached, or cancelled"):
        fit_on("one", killing)
    assert not hasattr(model, "components_")
    assert os.listdir(tmp_path / "state")
    fit_on("two", lambda process: lambda *words: seen.append(words))
    assert 0 < len(seen) < SEGMENTS
    same_bits(model, lowland.PCA(3).fit(rows))


def test_a_scheduler_that_is_gone_leaves_no_coordinates(start, scheduler, tmp_path):
    process, address = scheduler
    worker(start, address)
    rows = stored(tmp_path)
    model = lowland.PCA(2).fit(rows)
    before = set(os.listdir(tmp_path))
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), distributed.Client(address) as client:
        client.wait_for_workers(1, timeout=30)
        with lowland.config(progress=killing(process)), pytest.raises(ClusterError, match="cannot be reached"):
            lowland.transform_file(model, rows, tmp_path / "map.csv", engine="dask")
    assert set(os.listdir(tmp_path)) == before


def test_a_scheduler_that_is_gone_during_a_comparison(start, tmp_path, table):
    """The scheduler has no Lowland: it needs none."""
    packages = [str(Path(np.__file__).parents[1])]
    without = WITHOUT_LOWLAND.format(here=[SOURCE], packages=packages)
    process, address = started_scheduler(start, tmp_path, code=without, path="")
    worker(start, address, options=["--local-directory", str(tmp_path)])
    seen = []

    def kill(stage, done, total):
        if "look" not in stage:
            process.send_signal(signal.SIGKILL)
        seen.append(stage)

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), distributed.Client(address) as client:
        client.wait_for_workers(1, timeout=30)
        assert client.run_on_scheduler(importlib.util.find_spec, "lowland") is None
        with lowland.config(progress=kill), pytest.raises(ClusterError, match="create a new Client and repeat"):
            lowland.compare(table[:200], ["pca", "isomap"], budget=None, engine="dask")
    assert any("look" in stage for stage in seen)
    deadline = time.monotonic() + 30
    while list(tmp_path.rglob("lowland-compare-*")):
        assert time.monotonic() < deadline, "the worker ends without its scheduler, and leaves no folder"
        time.sleep(0.1)


def test_workers_leave_the_environment_of_this_process_alone():
    before = dict(os.environ)
    with started(1) as cluster:
        assert dict(os.environ) == before  # the programs that are started next are not bound to one thread
        with distributed.Client(cluster, set_as_default=False) as client:
            assert set(client.run(os.getenv, "OMP_NUM_THREADS").values()) == {"1"}  # the workers are
    assert dict(os.environ) == before


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_workers_leave_an_interrupt_from_the_terminal_to_the_command():
    with started(1) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        (before,) = client.run(os.getpid).values()
        os.kill(before, signal.SIGINT)
        assert client.submit(os.getpid, pure=False).result(timeout=30) == before
