"""The other end of a comparison on a worker of a cluster: a folder with the data, and the process that can be ended.

Both last as long as the client holds the call of `open_host`. A job runs on the thread that the cluster gave the call;
the process that does the work has all threads of the worker.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..core import settings
from ..core.errors import ClusterError
from ..engines import WorkerSide, worker_side
from .budget import Cause, Reason
from .process import Worker

Array = Any

OPEN, AT_WORK, CLOSED = "open", "at work", "closed"  # what messages tell
_BEGIN = "begin", 0, None  # the progress of a job that has told none
_PAUSE = 0.5  # seconds between two messages, which also tell that the job is at work

_hosts: dict[str, Host] = {}


class Done(NamedTuple):
    """What came of a call."""

    answer: dict[str, Any] | None  # None where the host or its process is gone
    files: Mapping[str, bytes]
    compiled: float  # seconds of compiling
    up: bool  # whether there is a process
    took: float = 0.0  # seconds that its start took, without those of compiling
    there: bool = True  # whether the host may be there


GONE = Done(None, {}, 0.0, False, there=False)


class _Unwanted(Exception):
    """The result of the job is not wanted any more."""


class Host:
    """A folder and a process, for one comparison; ``tell`` sends messages to it."""

    def __init__(
        self, folder: Path, place: WorkerSide, tell: Callable[[list[Any]], None], threads: int, memory_limit: int | None
    ) -> None:
        self._folder, self._place, self.tell = folder, place, tell
        self._worker = Worker(folder, self._pause, threads=threads, memory_limit=memory_limit, without=place.variables)
        self._lock = threading.Lock()  # of the process: one call at a time
        self._wanted = True
        self._compiled, self._told, self._serial = 0.0, 0.0, -1
        self._last: tuple[str, int, int | None] = _BEGIN

    def _pause(self, seconds: float) -> None:
        self._compiled += seconds

    def _progress(self, stage: str, done: int, total: int | None) -> None:
        """Pass progress on from time to time; stop the job if its result is not wanted any more."""
        if not self._wanted:
            raise _Unwanted
        self._last = stage, done, total
        if time.monotonic() - self._told >= _PAUSE:
            compiling = self._worker.compiling
            self._tell(self._compiled + compiling, stopped=compiling > 0)

    def _tell(self, compiled: float, *, stopped: bool) -> None:
        """Tell how far a job is, the seconds that code was compiled for, and whether its time stands still now."""
        self._told = time.monotonic()
        self.tell([AT_WORK, self._serial, *self._last, compiled, stopped])

    def write(self, files: Mapping[str, Array]) -> None:
        """Put files into the folder."""
        with _writing(self._place):
            for name, content in files.items():
                with (self._folder / name).open("wb") as file:
                    file.write(memoryview(content))

    def start(self, seconds: float) -> Done:
        """Have a process ready."""
        with self._lock:
            self._compiled, self._serial, began = 0.0, -1, time.monotonic()
            try:
                reason = self._worker.ready(seconds, self._progress)
            except _Unwanted:
                return self._gone()
            except OSError as error:
                reason = Reason(self._fault("start a process", error))
            took = time.monotonic() - began - self._compiled
            answer = {} if reason is None else {"error": reason.text, "cause": str(reason.cause)}
            return Done(answer, {}, self._compiled, self._worker.up, took)

    def ask(self, serial: int, job: dict[str, Any], seconds: float) -> Done:
        """Have a job done; the answer comes with the files that it left, and messages of progress with its serial."""
        with self._lock:
            self._compiled, self._serial, self._last = 0.0, serial, _BEGIN
            if not self._worker.up:  # this is another process than the one that the client knows
                return self._gone()
            try:
                answer = self._worker.ask(job, seconds, self._progress)
                self._tell(self._compiled, stopped=True)
                files = self._take(job) if answer["status"] == "done" else {}
            except _Unwanted:
                return self._gone()
            except OSError as error:
                answer, files = {"status": "failed", "error": self._fault("read what a candidate left", error)}, {}
            return Done(answer, files, self._compiled, self._worker.up)

    def _take(self, job: dict[str, Any]) -> dict[str, bytes]:
        """Read the files that a job left; remove a map."""
        paths = [path for name in left_by(job) if (path := self._folder / name).exists()]
        files = {path.name: path.read_bytes() for path in paths}
        if job["do"] == "fit":
            for path in paths:
                path.unlink()
        return files

    def _fault(self, what: str, error: OSError) -> str:
        """End the process, which may be half there, and return what this worker cannot do, and why."""
        self._worker.end()
        return f"the worker {self._place.address} cannot {what}: {error.strerror or error}"

    def _gone(self) -> Done:
        self._worker.end()
        return Done(None, {}, self._compiled, False)

    def close(self) -> None:
        """End the process, whatever it does, and remove the folder."""
        self._wanted = False  # a call that waits for the process sees that and lets it go
        with self._lock:
            self._worker.end()
            shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def _writing(place: WorkerSide) -> Iterator[None]:
    """Raise faults of the disk as `ClusterError`."""
    try:
        yield
    except OSError as error:
        raise ClusterError(
            f"the worker {place.address} cannot write the rows of the comparison to {place.folder}: {error.strerror}; "
            "give it another folder (Dask: --local-directory, or temporary-directory in its configuration) or more "
            "space"
        ) from error


def left_by(job: Mapping[str, Any]) -> Iterable[str]:
    """Return the names of the files that a job leaves in the folder.

    >>> list(left_by({"do": "fit", "number": 3}))
    ['map3.npz']
    """
    if job["do"] == "fit":
        return [f"map{job['number']}.npz"]
    return ["direct.npz", "geodesic.npz"] if job["do"] == "look" else []


# -- what the client calls ---------------------------------------------------------------------------------------------


def open_host(
    token: str, files: Mapping[str, Array], engine: str, to: tuple[str, ...], threads: int, memory_limit: int | None
) -> str:
    """Make a folder with the files of a comparison; it is there while the client holds this call."""
    place = worker_side(engine)
    host: Host | None = None

    def tell(message: list[Any]) -> None:
        place.tell(to, [token, *message])

    limits = [memory_limit, place.memory_limit, settings.memory_limit() if settings.limit_is_given() else None]
    least = min((limit for limit in limits if limit is not None), default=None)
    tell([OPEN])  # first of all: from now on, the client waits for the end of it
    try:
        with _writing(place):
            folder = Path(tempfile.mkdtemp(prefix="lowland-compare-", dir=place.folder))
        host = _hosts[token] = Host(folder, place, tell, threads, least)
        host.write(files)
        threading.Thread(target=_attend, args=(place, token, host), daemon=True).start()
    except BaseException:
        if host is not None:
            _close(token, host)
        tell([CLOSED])
        raise
    return token


def _attend(place: WorkerSide, token: str, host: Host) -> None:
    """Close a host when it is wanted no more."""
    place.wait_while_held()
    _close(token, host)
    host.tell([CLOSED])


def _close(token: str, host: Host) -> None:
    host.close()
    if _hosts.get(token) is host:
        del _hosts[token]


def store(token: str, files: Mapping[str, Array]) -> str:
    """Add files to the folder of a host."""
    if token in _hosts:
        _hosts[token].write(files)
    return token


def start(token: str, seconds: float) -> Done:
    """Have the process of a host ready within some seconds."""
    host = _hosts.get(token)
    return GONE if host is None else host.start(seconds)


def ask(token: str, serial: int, job: dict[str, Any], seconds: float) -> Done:
    """Have a job done by the process of a host within some seconds."""
    host = _hosts.get(token)
    return GONE if host is None else host.ask(serial, job, seconds)


def reason_of(done: Done) -> Reason | None:
    """Return why a process could not be started, or None.

    >>> reason_of(Done({"error": "no time", "cause": "share"}, {}, 0.0, False))
    Reason(text='no time', cause=<Cause.SHARE: 'share'>)
    """
    if done.answer is None:
        return Reason("its process on the cluster was ended")
    return Reason(done.answer["error"], Cause(done.answer["cause"])) if done.answer else None
