"""A process for candidates that can be ended: started when needed, kept while it answers, replaced when it does not."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..contract import registry
from ..core import settings
from ..core.formatting import format_bytes
from ..core.memory import resident
from .budget import Cause, Reason

Told = Callable[[str, int, int | None], None]

_POLL = 0.05  # seconds between two looks at the clock, the memory and the user
_READY_SECONDS = 60.0  # seconds within which a process must be ready
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LAST = 1.0  # seconds for the last words of a process that has ended, and for its end once it says no more


class Worker:
    """One process at a time, which takes jobs from a folder's data. Use it in ``with``: it ends with the block.

    ``pause`` receives the seconds that passed while code was compiled, which are not counted in the time of a
    candidate. The threads and the memory limit are those of this process, unless they are given; so is the
    environment, ``without`` some variables.
    """

    def __init__(
        self,
        folder: Path,
        pause: Callable[[float], None] = lambda seconds: None,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        without: Iterable[str] = (),
    ) -> None:
        self._folder, self._pause = folder, pause
        self._threads, self._memory_limit, self._without = threads, memory_limit, frozenset(without)
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._ear: threading.Thread | None = None
        self._compiling: float | None = None  # since when code is compiled

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def up(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def compiling(self) -> float:
        """The seconds for which code has been compiled without an end yet; 0 where none is."""
        return 0.0 if self._compiling is None else time.monotonic() - self._compiling

    @property
    def _limit(self) -> int | None:
        """The bytes that a process may take, if they are limited."""
        if self._memory_limit is not None:
            return self._memory_limit
        return settings.memory_limit() if settings.limit_is_given() else None

    def ready(self, seconds: float, told: Told) -> Reason | None:
        """Start a process where there is none, within some seconds; return why it failed, or None."""
        if self._process is not None:
            return None
        answer = self._start(time.monotonic() + min(seconds, _READY_SECONDS), told)
        return None if answer.get("ready") else Reason(answer["error"], Cause(answer.get("cause", "other")))

    def ask(self, job: dict[str, Any], seconds: float, told: Told) -> dict[str, Any]:
        """Have a job done within some seconds; the answer tells what came of it, also where nothing did."""
        deadline = time.monotonic() + seconds
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
        except OSError:
            return self._gone()
        return self._wait(deadline, told, "its share of the budget was over")

    def end(self) -> None:
        """End the process and whatever it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:  # until its end is noted its number cannot be another's
            _kill(process)
        process.wait()
        self._deaf()
        if process.stdin is not None:
            try:
                process.stdin.close()
            except BrokenPipeError:  # what was not read is not wanted any more
                return

    def _deaf(self) -> None:
        """Wait until the pipe has no reader in the group of the process; one that left the group is not waited for."""
        if self._ear is not None:
            self._ear.join(_LAST)

    def _start(self, deadline: float, told: Told) -> dict[str, Any]:
        """Start a process and wait for its first words."""
        log = (self._folder / "worker.log").open("wb")
        # The name of our module is enough: neither the user's main module nor what it holds is run again.
        words = [sys.executable, "-P", "-m", f"{__package__}.worker", str(self._folder)]
        with log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                env=_environment(self._threads, self._limit, self._without),
                cwd=None if _here() else self._folder,
                start_new_session=True,
            )
        self._answers = queue.Queue()
        self._ear = threading.Thread(target=_listen, args=(self._process, self._answers), daemon=True)
        self._ear.start()
        return self._wait(deadline, told, "there was no time to start a process")

    def _wait(self, deadline: float, told: Told, late: str) -> dict[str, Any]:
        """Wait for an answer; end the process where it is late or takes too much memory."""
        assert self._process is not None
        pid, limit = self._process.pid, self._limit
        last: tuple[str, int, int | None] = ("begin", 0, None)
        over, self._compiling = False, None
        while True:
            try:
                line = self._answers.get(timeout=_POLL)
            except queue.Empty:
                told(*last)  # lets the user cancel while a method says nothing
                if not over and _NOTES_LATER and _ended(self._process):
                    # What it started may hold the pipe, so that its end would never come by itself.
                    over = True
                    _kill(self._process)
                    self._deaf()  # what it still said comes first
                    self._answers.put(None)
                    continue
                if self._compiling is None and time.monotonic() > deadline:
                    self.end()
                    return {"status": "ended", "error": late, "cause": Cause.SHARE}
                if limit is not None and (resident(pid) or 0) > limit:
                    self.end()
                    over_limit = f"it took more than {format_bytes(limit)} of memory"
                    return {"status": "ended", "error": over_limit, "cause": Cause.MEMORY}
                continue
            if line is None:
                return self._gone()
            answer: dict[str, Any] = json.loads(line)
            if "compiling" in answer:
                now = time.monotonic()
                if self._compiling is not None:
                    self._pause(now - self._compiling)
                    deadline += now - self._compiling
                self._compiling = now if answer["compiling"] else None
                told("compiling", 0, None)
                continue
            if "progress" not in answer:
                return answer
            stage, done, total = answer["progress"]
            last = (stage, done, total)
            told(*last)

    def _gone(self) -> dict[str, Any]:
        """Say how a process ended by itself."""
        process = self._process
        assert process is not None
        until = time.monotonic() + _LAST
        while not _ended(process) and time.monotonic() < until:  # the code is to be its own, not that of our signal
            time.sleep(_POLL / 5)
        self.end()
        code = process.returncode
        lines = (self._folder / "worker.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = f"; its last words: {lines[-1][:200]}" if lines else ""
        if code < 0:
            name = signal.Signals(-code).name
            reason = f"the process was killed by the system ({name}), perhaps for its memory"
        else:
            reason = f"the process ended with code {code}"
        return {"status": "failed", "error": reason + last}


_NOTES_LATER = hasattr(os, "waitid")


def _ended(process: subprocess.Popen[str]) -> bool:
    """Tell whether a process has ended.

    Where the system can, without noting it: so it keeps its number, and what it started can be ended by that.
    """
    if not _NOTES_LATER:
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # noted already
        return True


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and whatever it started; on Windows the process alone."""
    if not hasattr(os, "killpg"):
        process.kill()
        return
    try:
        if _NOTES_LATER:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises where it is not ours now
        os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
    except (ChildProcessError, ProcessLookupError, PermissionError):  # it has ended; macOS says so in its own way
        process.kill()


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            answers.put(line)
    answers.put(None)


def _here() -> str | None:
    """Return the working folder; None where it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def _environment(
    threads: int | None = None, memory_limit: int | None = None, without: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment of this process with its paths, the threads, and the memory limit if there is one."""
    paths = [path for path in ((path or _here()) for path in sys.path) if path]
    made = {name: value for name, value in os.environ.items() if name not in without}
    made |= {
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "LOWLAND_THREADS": str(threads or settings.threads()),
    }
    if threads is not None:  # also for what other packages compute
        made |= dict.fromkeys(_THREADS, str(threads))
    if memory_limit is not None:
        made["LOWLAND_MEMORY_LIMIT"] = str(memory_limit)
    return made


def send_plugins(folder: Path, names: set[str]) -> dict[str, str]:
    """Leave the methods of other packages in the folder, and say why one cannot be sent."""
    texts, failed = [], {}
    for row in registry.methods():
        if not isinstance(row, registry.PluginMethod) or row.name not in names:
            continue
        dumps = importlib.import_module("cloudpickle").dumps  # unlike pickle it also sends the classes of a notebook
        wrapped = getattr(row.cls, "_wrapped", None)
        plugin = {"name": row.name, "cls": wrapped or row.cls, "summary": row.summary, "family": row.family}
        if wrapped is not None:
            plugin |= {"components": row.cls._components, "defaults": dict(row.cls._defaults)}
        try:
            texts.append((row.name, dumps(plugin)))
        except Exception as error:  # whatever a class of the user's holds
            failed[row.name] = f"its class cannot be sent to another process ({error}); define it in a module"
    if texts:
        (folder / "plugins.pickle").write_bytes(pickle.dumps(texts))
    return failed
