"""Candidates on the workers of a cluster, one at a time on each: its other end is `hosting`.

A worker that is lost takes its job along: the job runs once more on another worker, within what is left of its time,
and fails if that one is lost, too. Workers that join later take the places of lost ones.
"""

from __future__ import annotations

import queue
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..core import settings
from ..core.errors import ClusterError, LowlandWarning
from ..core.message import Message, Owner
from ..engines.calls import ARRIVING, LOST, PENDING, Calls
from . import hosting
from .budget import Cause, Reason
from .open_hosts import OpenHosts
from .orders import Order, RemoteWorker
from .workers import Answer, Job, Told, Workers

_POLL = 0.05  # seconds between two looks at the calls and the user
_ROLL_CALL = 1.0  # seconds between two looks at who is there
_MISSES = 2  # starts in a row that may be lost before a worker is said to have no process
_CLOSE_SECONDS = 10.0  # seconds within which all that was made on workers must be gone
_UNHEARD_SECONDS = 2.0  # within which workers say that they have begun to make something
_OVER = "its share of the budget was over"


class RemoteWorkers(Workers):
    """Workers of a cluster; use it in ``with``: nothing of it is left there afterwards.

    ``pause`` is told seconds of compiling and the number of workers.
    """

    def __init__(self, engine: str, calls: Calls, folder: Path, pause: Callable[[float, int], None]) -> None:
        self._engine, self._calls, self._folder, self._pause = engine, calls, folder, pause
        self._workers: list[RemoteWorker] = []
        self._refused: set[str] = set()  # addresses of workers that are not used
        self._most, self._hosts = 0, OpenHosts()
        self._waiting: deque[Order] = deque()  # lost with a worker, to be done by another one
        self._answers: deque[tuple[int, Answer]] = deque()
        self._messages: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
        self._news = threading.Event()
        self._counted, self._serial = time.monotonic(), 0
        self._start_seconds = 0.0

    def __enter__(self) -> RemoteWorkers:
        self._calls.listen(self._hear)
        try:
            threads = self._calls.workers()
            self._calls.require(threads)
            self._adopt(threads)
        except BaseException:
            self._close()
            raise
        self._most = self.size
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    @property
    def size(self) -> int:
        """The number of workers, busy ones included."""
        return len(self._workers)

    @property
    def start_seconds(self) -> float:
        """The longest time that a process took to start, without the time that a worker was waited for."""
        return self._start_seconds

    @property
    def busy(self) -> int:
        """The number of jobs that were begun and not answered."""
        return len(self._waiting) + len(self._answers) + sum(worker.order is not None for worker in self._workers)

    def ready(self, seconds: float, told: Told) -> Reason | None:
        """Have a process ready on a free worker within some seconds; return why there is none, or None."""
        until = time.monotonic() + seconds
        for worker in self._workers:
            worker.reason = None
        while True:
            self._step()
            if any(worker.idle and worker.up for worker in self._workers):
                return None
            for worker in self._workers:
                if worker.reason is None or worker.start_until < until:  # it may have waited in vain before
                    self._start(worker, until)
            if all(worker.idle for worker in self._workers):
                return self._workers[0].reason
            if time.monotonic() > until:
                return Reason("there was no time to start a process", Cause.SHARE)
            told("begin", 0, None)
            self._wait()

    def begin(self, number: int, job: Job, seconds: float, told: Told) -> None:
        """Send a job to a free worker whose process is ready."""
        self._serial += 1
        order = Order(number, job, told, time.monotonic() + seconds, self._serial)
        self._give(order, next(worker for worker in self._workers if worker.idle and worker.up))

    def next(self) -> tuple[int, Answer]:
        """Wait for the next answer; return it with the number of its job."""
        while not self._answers:
            heard = self._step()
            running = [worker.order for worker in self._workers if worker.order is not None]
            for order in heard or running[:1] or list(self._waiting)[:1]:
                order.told(*order.last)  # lets the user cancel while methods say nothing
            if not self._answers:
                self._wait()
        return self._answers.popleft()

    # -- a look at everything ------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._news.wait(_POLL)
        self._news.clear()

    def _hear(self, message: list[Any]) -> None:
        """Take a message, in the thread of the client."""
        self._messages.put(message)
        self._news.set()

    def _step(self) -> list[Order]:
        """Take what has come, see who is there, and send on what waits; return the orders that were heard of."""
        heard = list(self._heard())
        if time.monotonic() > self._counted + _ROLL_CALL:
            self._roll_call()
        for worker in list(self._workers):
            if worker.call is not None:  # of one that was dropped meanwhile there is none
                self._look_at(worker)
        while self._waiting and self._send_on():
            pass
        return heard

    def _heard(self) -> Iterator[Order]:
        """Take the messages, and yield the orders of which there is progress."""
        while not self._messages.empty():
            token, what, *more = self._messages.get()
            if what != hosting.AT_WORK:
                self._hosts.hear(token, what)
            else:
                order = next((w.order for w in self._workers if w.token == token), None)
                serial, stage, done, total, compiled, stopped = more
                if order is not None and order.serial == serial:
                    order.last, order.heard, order.stopped = (stage, done, total), time.monotonic(), stopped
                    self._note_compiling(order, compiled)
                    yield order

    def _note_compiling(self, order: Order, compiled: float) -> None:
        """Count seconds of compiling: of a run of an order they are told in total."""
        more = order.before + compiled - order.compiled
        if more > 0:
            self._pause(more, max(1, self.size))
            order.compiled += more

    def _look_at(self, worker: RemoteWorker) -> None:
        """Take what a worker has done."""
        order = worker.order
        try:
            done = self._calls.outcome(worker.call)
        except ClusterError as error:
            self._dismiss(worker, error)
            return
        if done is PENDING or done is ARRIVING:
            if done is PENDING and order is not None and order.overdue:
                self._forget(worker)
                self._answer(order, {"status": "ended", "error": _OVER, "cause": Cause.SHARE})
            return
        if done is LOST:  # the worker, or what it was to take from another one that is gone
            done = hosting.Done(None, {}, 0.0, up=False)
            self._forget_lost_files()
        if not done.there:
            self._hosts.drop(worker.token)
        worker.call.release()
        worker.call, worker.order, worker.up = None, None, done.up
        if order is None:
            worker.misses = worker.misses + 1 if done.answer is None else 0
            self._start_seconds = max(self._start_seconds, done.took)
            worker.reason = None if 0 < worker.misses <= _MISSES else hosting.reason_of(done)
            if done.compiled:
                self._pause(done.compiled, max(1, self.size))
        else:
            self._note_compiling(order, done.compiled)
        if done.answer is None:
            self._forget(worker)
            self._roll_call()
            if order is not None:
                self._lose(order, worker.address, died=worker not in self._workers)
        elif order is not None:
            self._keep(worker, order, done)

    def _keep(self, worker: RemoteWorker, order: Order, done: hosting.Done) -> None:
        """Keep the files of an answer, also on the other workers if all need them."""
        try:
            for name, content in done.files.items():
                (self._folder / name).write_bytes(content)
        except OSError as error:
            text = f"what it found cannot be written to {self._folder}: {error.strerror}"
            self._answer(order, {"status": "failed", "error": text})
            return
        if done.files and order.job["do"] != "fit":
            others = [other for other in self._workers if other is not worker and other.opened is not None]
            self._store(others, done.files)
        self._answer(order, done.answer or {})

    def _answer(self, order: Order, answer: Answer) -> None:
        self._answers.append((order.number, answer))

    # -- workers that come and go --------------------------------------------------------------------------------------

    def _roll_call(self) -> None:
        """Drop the workers that are gone, and let new ones take their places."""
        alive = self._calls.alive()
        self._hosts.keep(alive)
        for worker in [w for w in self._workers if w.address not in alive]:
            self._workers.remove(worker)
            order = worker.order
            self._forget(worker)
            if order is not None:
                self._lose(order, worker.address, died=True)
        new = alive.keys() - {worker.address for worker in self._workers} - self._refused
        self._recruit({address: alive[address] for address in sorted(new)})
        while not self._workers:
            self._recruit(self._calls.workers(self._refused))  # raises if no worker comes
        self._counted = time.monotonic()

    def _recruit(self, threads: Mapping[str, int]) -> None:
        """Take new workers that can do the work, no more than there were at first."""
        fit = islice(filter(self._fits, threads), self._most - self.size)
        self._adopt({address: threads[address] for address in fit})

    def _fits(self, address: str) -> bool:
        """Return whether a new worker can do the work; warn if it cannot."""
        try:
            self._calls.require([address])
        except ClusterError as error:
            self._calls.alive()  # raises where the whole cluster is gone
            self._refuse(address, error)
            return False
        return True

    def _refuse(self, address: str, error: ClusterError) -> None:
        """Use a worker no more, and say why."""
        self._refused.add(address)
        text = f"the worker {address} of the cluster is not used: {error}"
        warnings.warn(Message(Owner("compare"), text), LowlandWarning, stacklevel=2)

    def _dismiss(self, worker: RemoteWorker, error: ClusterError) -> None:
        """Do without a worker that cannot keep the rows; raise where there is no other one."""
        if not self._calls.alive().keys() - self._refused - {worker.address}:  # raises where the whole cluster is gone
            raise error
        self._refuse(worker.address, error)
        self._workers.remove(worker)
        if worker.order is not None:
            self._waiting.append(worker.order)
        self._forget(worker)
        self._roll_call()

    def _adopt(self, threads: Mapping[str, int]) -> None:
        new = [RemoteWorker(address, count) for address, count in threads.items()]
        self._workers += new
        self._open(new)

    def _lose(self, order: Order, address: str, *, died: bool) -> None:
        """Let another worker do what was lost; give it up if it lost two that died, or was repeated too often."""
        error = order.lost_on(address, died=died)
        if error:
            self._answer(order, {"status": "failed", "error": error})
        else:
            self._waiting.append(order)

    def _forget_lost_files(self) -> None:
        """Have the files sent again to idle workers that were to take them from one that is gone."""
        for worker in self._workers:
            if worker.idle and worker.stored is not None and self._is_lost(worker.stored):
                self._forget(worker)

    def _is_lost(self, call: Any) -> bool:
        try:
            return self._calls.outcome(call) is LOST
        except ClusterError:  # whoever needs what it returns sees that
            return False

    def _send_on(self) -> bool:
        """Give the first of the orders that wait to a worker, or answer it; return False where it has to wait."""
        order = self._waiting[0]
        if order.left <= 0:
            over = f"the worker {order.lost} that ran it was lost, and {_OVER}" if order.lost else _OVER
            self._answer(order, {"status": "ended", "error": over, "cause": Cause.SHARE})
        elif (worker := next((w for w in self._workers if w.idle and w.up), None)) is not None:
            self._give(order, worker)
        else:
            for worker in self._workers:
                if worker.reason is None:
                    self._start(worker, order.until + order.compiled)
            if not all(worker.idle for worker in self._workers):
                return False
            reason = self._workers[0].reason  # no worker is busy, and none has a process
            assert reason is not None
            self._answer(order, {"status": "failed", "error": reason.text, "cause": reason.cause})
        self._waiting.popleft()
        return True

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _begin(self, worker: RemoteWorker, function: Callable[..., Any], *values: Any) -> Any:
        call = self._calls.begin(worker.address, function, *values)
        call.add_done_callback(lambda _: self._news.set())
        return call

    def _open(self, workers: list[RemoteWorker]) -> None:
        """Send all files to workers that have none."""
        if not workers:
            return
        paths = [path for path in self._folder.iterdir() if not path.name.startswith("map")]
        files = {path.name: np.asarray(np.memmap(path, np.uint8, "r")) for path in paths}
        sent = self._calls.send(files)
        limit = settings.memory_limit() if settings.limit_is_given() else None
        for worker in workers:
            worker.token = uuid.uuid4().hex
            self._hosts.begin(worker.token, worker.address)
            means = (self._engine, self._calls.to, worker.threads, limit)
            worker.opened = worker.stored = self._begin(worker, hosting.open_host, worker.token, sent, *means)
        sent.release()

    def _store(self, workers: list[RemoteWorker], files: Any) -> None:
        """Send more files to workers; what they are asked later waits for them."""
        if workers:
            arrays = {name: np.frombuffer(content, np.uint8) for name, content in files.items()}
            sent = self._calls.send(arrays)
            for worker in workers:
                before, worker.stored = worker.stored, self._begin(worker, hosting.store, worker.stored, sent)
                if before is not worker.opened:
                    before.release()
            sent.release()

    def _start(self, worker: RemoteWorker, until: float) -> None:
        """Have an idle worker start a process where it has none."""
        if not worker.idle or worker.up:
            return
        if worker.opened is None:
            self._open([worker])
        worker.reason, worker.start_until = None, until
        worker.call = self._begin(worker, hosting.start, worker.stored, until - time.monotonic())

    def _give(self, order: Order, worker: RemoteWorker) -> None:
        """Send an order to a worker."""
        worker.order, order.before = order, order.compiled
        order.heard, order.stopped = time.monotonic(), False
        worker.call = self._begin(worker, hosting.ask, worker.stored, order.serial, order.job, order.left)

    def _forget(self, worker: RemoteWorker) -> None:
        """Release what a worker keeps, and end what still runs there."""
        for call in (worker.call, worker.stored, worker.opened):
            if call is not None:
                call.release()
        worker.opened = worker.stored = worker.call = worker.order = None
        worker.up = False

    def _close(self) -> None:
        """Have everything on the workers ended and removed, and wait until it is."""
        for worker in self._workers:
            self._forget(worker)
        began = time.monotonic()
        while left := self._left(time.monotonic() - began):
            if time.monotonic() > began + _CLOSE_SECONDS:
                text = f"the workers {', '.join(left)} have not ended their part yet; they are busy"
                warnings.warn(Message(Owner("compare"), text), LowlandWarning, stacklevel=2)
                return
            self._wait()

    def _left(self, waited: float) -> list[str]:
        """Return which workers still have a folder or a process of this comparison, or may say soon that they have."""
        for _ in self._heard():
            continue
        if not self._hosts.left(begun=True):
            return []
        try:
            self._hosts.keep(self._calls.alive())
        except ClusterError:  # without their scheduler, workers end by themselves
            return []
        return self._hosts.left(begun=waited < _UNHEARD_SECONDS)
