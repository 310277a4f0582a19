"""Calls on chosen workers of Dask: tasks that no other worker may run."""

from __future__ import annotations

import asyncio
import operator
import os
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import cloudpickle

from ..core.errors import ClusterError
from .calls import ARRIVING, LOST, PENDING, Calls, WorkerSide
from .dask_cluster import cluster_errors, current_client, lost, own_version, require_version, wait_for_workers
from .dask_engine import packed

_POLL = 0.1  # seconds between two looks whether a result is held
_TRIM = "MALLOC_TRIM_THRESHOLD_"
_FETCH_SECONDS = 0.5  # that are waited for a result before the next look at it

_listeners: dict[str, Callable[[Any], None]] = {}  # of this process, by the name that they listen to


class DaskCalls(Calls):
    """Calls on the workers of the current client."""

    def __init__(self) -> None:
        self._client = current_client()
        self._functions: dict[Callable[..., Any], Any] = {}
        self._fetches: dict[str, Future[list[Any]]] = {}  # of results on their way, by the keys of their calls
        # One topic for each client, since a scheduler keeps the last events of every topic.
        self.to = (f"lowland-{self._client.id}", f"lowland-{uuid.uuid4().hex}")

    def __enter__(self) -> DaskCalls:
        return self

    def __exit__(self, *_: object) -> None:
        _listeners.pop(self.to[1], None)
        for fetch in self._fetches.values():
            fetch.cancel()
        for function in self._functions.values():
            function.release()

    def workers(self, besides: Collection[str] = ()) -> dict[str, int]:
        """Return the threads of the workers that are there besides some; wait for one, and raise if none comes."""
        with cluster_errors(self._client):
            return wait_for_workers(self._client, besides)

    def require(self, workers: Collection[str]) -> None:
        """Raise if one of some workers has no Lowland or another version."""
        with cluster_errors(self._client):
            require_version(self._client, own_version(), workers)

    def alive(self) -> dict[str, int]:
        """Return the threads of the workers that are there, perhaps of none."""
        self._require_connection()
        with cluster_errors(self._client):
            threads: dict[str, int] = self._client.nthreads()
        return threads

    def _require_connection(self) -> None:
        if self._client.status != "running":
            raise lost(self._client, ConnectionError("the connection broke"))

    def send(self, value: Any) -> Any:
        """Send a value to the cluster, once; return what calls take as it: workers get it from each other."""
        with cluster_errors(self._client):
            try:
                (sent,) = self._client.scatter([value], hash=False)
            except TimeoutError as error:
                raise ClusterError(f"the Dask cluster has no worker that runs ({error}): start workers") from error
        return sent

    def begin(self, worker: str, function: Callable[..., Any], *values: Any) -> Any:
        """Have a worker call a function; return the future."""
        with cluster_errors(self._client):
            if function not in self._functions:  # as bytes: the scheduler needs no Lowland
                key = f"lowland-function-{uuid.uuid4().hex}"
                self._functions[function] = self._client.submit(cloudpickle.loads, packed(function), key=key)
            return self._client.submit(
                operator.call,
                self._functions[function],
                *values,
                key=f"lowland-{function.__name__}-{uuid.uuid4().hex}",
                workers=[worker],
                allow_other_workers=False,
            )

    def outcome(self, call: Any) -> Any:
        """Return what a call returned, `PENDING`, `ARRIVING` or `LOST`, within a second; raise what it raised."""
        if call.status in ("pending", "lost"):  # lost with its worker: the task waits for it
            return PENDING
        try:
            with cluster_errors(self._client):
                if call.key not in self._fetches:
                    self._fetches[call.key] = self._fetch(call)
                fetch = self._fetches[call.key]
                if not fetch.done():  # it is large, or its worker died just now
                    return ARRIVING
                del self._fetches[call.key]
                (value,) = fetch.result()
                return value
        except ClusterError as error:
            if isinstance(error.__cause__, CancelledError) and self._client.status == "running":
                return LOST
            raise

    def _fetch(self, call: Any) -> Future[list[Any]]:
        """Begin to fetch what a call returned; wait a little, since most of it is small."""
        self._require_connection()
        fetching = self._client.gather([call], asynchronous=True)
        fetch = asyncio.run_coroutine_threadsafe(fetching, self._client.loop.asyncio_loop)
        wait([fetch], _FETCH_SECONDS)
        return fetch

    def listen(self, heard: Callable[[Any], None]) -> None:
        """Call a function with each message that is sent to ``to``, in the thread of the client."""
        topic, name = self.to
        _listeners[name] = heard
        self._client.subscribe_topic(topic, _hear)


def _hear(event: tuple[float, Any]) -> None:
    """Pass a message on to its recipient."""
    name, message = event[1]
    heard = _listeners.get(name)
    if heard is not None:
        heard(message)


class DaskWorkerSide(WorkerSide):
    """The worker of Dask that runs this task."""

    def __init__(self) -> None:
        import dask
        from distributed import get_worker

        self._worker = get_worker()
        self._key = self._worker.get_current_task()
        self.address = str(self._worker.address)
        self.folder = Path(self._worker.local_directory)
        limit = self._worker.memory_manager.memory_limit
        self.memory_limit = int(limit) if limit else None
        self.variables = _of_worker(dask.config.get("distributed.nanny.pre-spawn-environ"))

    def tell(self, to: tuple[str, ...], message: Any) -> None:
        """Send a message of plain values to the listener at an address."""
        with suppress(OSError, RuntimeError):  # the worker is closing, so there is no listener
            self._worker.log_event(to[0], (to[1], message))

    def wait_while_held(self) -> None:
        """Wait until the result of this task, which is about to end, is released, or the worker closes."""
        while self._key not in self._worker.data and self._key in self._worker.state.tasks:
            time.sleep(_POLL)
        while self._key in self._worker.data and self._worker.status.name not in ("closing", "closed", "failed"):
            time.sleep(_POLL)


def _of_worker(variables: Mapping[str, Any]) -> frozenset[str]:
    """Return which of the variables that Dask sets for a worker are not for the processes that it starts.

    One thread, and an allocator that returns memory at once: with these, candidates took 1.2 to 1.5 times as long.
    Others, such as the devices that a worker may use, are for all of them.
    """
    own = {name: str(value) for name, value in variables.items() if name == _TRIM or name.endswith("_NUM_THREADS")}
    return frozenset(name for name, value in own.items() if os.environ.get(name) == value)


open_calls, worker_side = DaskCalls, DaskWorkerSide
