"""The other end of a comparison on a worker of a cluster, without a cluster."""

from __future__ import annotations

import errno
import os
import time
from types import SimpleNamespace

import pytest

from lowland.comparison import hosting
from lowland.core import settings
from lowland.core.errors import ClusterError


class Place:
    """A worker of a cluster, seen from a call."""

    address, memory_limit, held = "tcp://here", None, True

    def __init__(self, folder):
        self.folder, self.told, self.variables = folder, [], frozenset({"TRIM"})

    def tell(self, to, message):
        self.told.append((to, message))

    def wait_while_held(self):
        while self.held:
            time.sleep(0.01)


@pytest.fixture
def place(tmp_path, monkeypatch):
    found = Place(tmp_path)
    monkeypatch.setattr(hosting, "worker_side", lambda engine: found)
    yield found
    found.held = False
    until = time.monotonic() + 10
    while hosting._hosts and time.monotonic() < until:
        time.sleep(0.01)
    assert not hosting._hosts
    assert [message for _, message in found.told] == [["token", hosting.OPEN], ["token", hosting.CLOSED]]
    assert list(tmp_path.glob("lowland-compare-*")) == [], "a host leaves nothing"


@pytest.mark.parametrize(
    ("asked", "own", "given", "least"), [(None, None, None, None), (5, None, None, 5), (5, 4, 6, 4), (None, 4, 3, 3)]
)
def test_the_least_of_the_memory_limits_is_kept(place, asked, own, given, least):
    place.memory_limit = own
    with settings.config(memory_limit=given):
        hosting.open_host("token", {}, "here", ("to",), 3, asked)
    host = hosting._hosts["token"]
    assert (host._worker._threads, host._worker._limit) == (3, least)


def test_a_process_has_the_threads_of_the_worker_and_none_of_its_allocator(place, monkeypatch):
    monkeypatch.setenv("TRIM", "1")
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    hosting.open_host("token", {}, "here", ("to",), 3, None)
    monkeypatch.setattr("subprocess.Popen", started := Started())
    with pytest.raises(ZeroDivisionError):
        hosting.start("token", 1.0)
    made = started.options["env"]
    names = ("TRIM", "KEPT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LOWLAND_THREADS")
    assert [made.get(name) for name in names] == [None, "1", "3", "3", "3", "3"]
    assert "LOWLAND_MEMORY_LIMIT" not in made


class Started:
    """Notes how a process would be started."""

    def __call__(self, words, **options):
        self.options = options
        raise ZeroDivisionError


def test_rows_that_cannot_be_written_are_told_with_the_folder(place, monkeypatch):
    class Full:
        def __getitem__(self, key):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(hosting, "memoryview", lambda content: Full()[0], raising=False)
    words = r"the worker tcp://here cannot write the rows of the comparison to .*: No space left on device; give it"
    with pytest.raises(ClusterError, match=words):
        hosting.open_host("token", {"rows.npy": b"rows"}, "here", ("to",), 1, None)


def test_a_worker_that_cannot_start_a_process_says_so(place, monkeypatch):
    def refuses(*_, **__):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    hosting.open_host("token", {}, "here", ("to",), 1, None)
    monkeypatch.setattr("subprocess.Popen", refuses)
    found = hosting.start("token", 1.0)
    assert not found.up
    assert hosting.reason_of(found).text == "the worker tcp://here cannot start a process: Cannot allocate memory"


def test_a_map_that_cannot_be_read_on_its_worker_is_a_failure(place, monkeypatch):
    def broken(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    hosting.open_host("token", {"map0.npz": b"a map"}, "here", ("to",), 1, None)
    host = hosting._hosts["token"]
    monkeypatch.setattr(host._worker, "_process", object())
    monkeypatch.setattr(host._worker, "ask", lambda *_: {"status": "done"})
    monkeypatch.setattr(host._worker, "end", lambda: None)
    monkeypatch.setattr("pathlib.Path.read_bytes", broken)
    answer = hosting.ask("token", 1, {"do": "fit", "number": 0}, 1.0).answer
    del place.told[1:]
    text = "the worker tcp://here cannot read what a candidate left: Input/output error"
    assert answer == {"status": "failed", "error": text}


def test_a_folder_that_cannot_be_made_is_told(place):
    place.folder /= "missing"
    with pytest.raises(ClusterError, match=r"the worker tcp://here cannot write the rows of .*/missing: No"):
        hosting.open_host("token", {}, "here", ("to",), 1, None)


def test_messages_tell_of_compiling_that_has_not_ended(place, monkeypatch):
    hosting.open_host("token", {}, "here", ("to",), 1, None)
    host = hosting._hosts["token"]

    def ask(job, seconds, told):
        host._worker._compiling, host._told = time.monotonic() - 5.0, 0.0
        told("compiling", 0, None)
        host._pause(6.0)
        host._worker._compiling, host._told = None, 0.0
        told("fit", 1, 2)
        return {"status": "failed", "error": "no"}

    monkeypatch.setattr(host._worker, "_process", object())
    monkeypatch.setattr(host._worker, "end", lambda: None)
    monkeypatch.setattr(host._worker, "ask", ask)
    hosting.ask("token", 7, {"do": "fit", "number": 0}, 1.0)
    told = [message[2:] for _, message in place.told if message[1] == hosting.AT_WORK]
    del place.told[1:]
    assert told == [
        [7, "compiling", 0, None, pytest.approx(5.0, abs=0.9), True],
        [7, "fit", 1, 2, 6.0, False],
        [7, "fit", 1, 2, 6.0, True],
    ]


def test_the_seconds_of_a_start_are_told_without_compiling(place, monkeypatch):
    hosting.open_host("token", {}, "here", ("to",), 1, None)
    host, now = hosting._hosts["token"], [100.0]

    def ready(seconds, told):
        now[0] += 5.0
        host._pause(2.0)

    monkeypatch.setattr(host._worker, "ready", ready)
    with monkeypatch.context() as clock:
        clock.setattr(hosting, "time", SimpleNamespace(monotonic=lambda: now[0]))
        assert hosting.start("token", 60.0).took == 3.0


def test_jobs_for_a_host_that_is_not_there_are_gone(place):
    assert hosting.ask("token", 1, {"do": "fit", "number": 0}, 1.0) is hosting.GONE
    assert hosting.start("token", 1.0) is hosting.GONE
    hosting.open_host("token", {}, "here", ("to",), 1, None)
    assert hosting.ask("token", 1, {"do": "fit", "number": 0}, 1.0).answer is None, "it has no process"
    assert hosting.store("token", {"more.npz": b"more"}) == "token"
    assert [path.read_bytes() for path in place.folder.glob("*/more.npz")] == [b"more"]
