"""Workers and schedulers of ``distributed``: whether they can run Lowland, and errors that say why not."""

from __future__ import annotations

import logging
import os
import time
from asyncio import CancelledError as AsyncCancelled
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from ..core import settings
from ..core.errors import ClusterError, MissingExtraError

_POLL = 0.1  # seconds between two looks for a worker

_checked: dict[str, frozenset[str]] = {}  # workers that were asked for their version, by scheduler


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a scheduler, or start processes of one thread each on this machine; yield the current client."""
    distributed = _distributed()
    if scheduler is None:
        with (
            started(workers or settings.threads()) as local,
            distributed.Client(local) as client,
            cluster_errors(client),
        ):
            yield client
        return
    try:
        found = distributed.Client(scheduler)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"the Dask scheduler {scheduler} cannot be reached ({_first_line(error)}): check the address and that it "
            "runs"
        ) from error
    with found as client, cluster_errors(client):
        yield client


@contextmanager
def started(workers: int) -> Iterator[Any]:
    """Start worker processes of one thread each on this machine; yield their cluster."""
    distributed = _distributed()
    import dask

    environment = dict(os.environ)
    preload = [*dask.config.get("distributed.worker.preload"), f"{__package__}.dask_interrupt"]
    try:
        local = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
            preload=preload,
        )
    except (OSError, RuntimeError) as error:
        raise ClusterError(f"worker processes could not be started: {_first_line(error)}") from error
    finally:
        # distributed sets the threads and the allocator of its workers in this process, for all that it starts later
        _restore(environment)
    with local:
        yield local


def _restore(environment: dict[str, str]) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(f"Dask needs the extra of this name: pip install 'lowland[dask]' ({error})") from error
    return distributed


def current_client() -> Any:
    """Return the current client; raise where there is none."""
    distributed = _distributed()
    try:
        client = distributed.Client.current()
    except ValueError:
        raise ClusterError(
            "there is no Dask client: create one, such as distributed.Client('tcp://scheduler:8786'), or "
            "distributed.Client() for processes on this machine"
        ) from None
    if client.asynchronous:
        raise ClusterError("the Dask client is asynchronous: create one with asynchronous=False")
    return client


def own_version() -> str:
    """Return the version of Lowland, as workers are asked for it."""
    from importlib import metadata

    try:
        return metadata.version("lowland")
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return "unknown"


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Raise faults of the cluster as `ClusterError`; errors of the work itself are raised unchanged."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"the same task stopped several workers ({_first_line(error)}): they may have had too little memory; use "
            "smaller chunks, X.rechunk(…), or workers with more memory"
        ) from error
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "lowland":
            raise
        raise ClusterError(
            "a worker has no Lowland: install it on all workers, in the version of the client"
        ) from error
    except (CommClosedError, CancelledError, AsyncCancelled) as error:
        raise lost(client, error) from error
    except (OSError, TimeoutError, RuntimeError) as error:
        if client.status == "running" or isinstance(error, ClusterError):
            raise
        raise lost(client, error) from error


def lost(client: Any, error: BaseException) -> ClusterError:
    """Return the error of a scheduler that is gone, or that another client told to cancel the work."""
    address = getattr(getattr(client, "scheduler", None), "address", None) or "of the client"
    return ClusterError(
        f"the Dask scheduler {address} cannot be reached, or cancelled the work ({_first_line(error)}): check that it "
        "runs, create a new Client and repeat the call, which left no result"
    )


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200]


def require_workers(client: Any, version: str) -> int:
    """Return the number of threads of the workers; raise if one of them has no Lowland or another version."""
    threads = wait_for_workers(client)
    require_version(client, version, threads)
    return max(1, sum(threads.values()))


def wait_for_workers(client: Any, besides: Collection[str] = ()) -> dict[str, int]:
    """Return the threads of the workers besides some; wait for one, and raise if none comes."""
    import dask

    wait = dask.config.get("distributed.comm.timeouts.connect")
    until = time.monotonic() + dask.utils.parse_timedelta(wait)
    while not (threads := {name: count for name, count in client.nthreads().items() if name not in besides}):
        if time.monotonic() > until:
            other = "other " if besides else ""
            raise ClusterError(
                f"the Dask cluster had no {other}worker for {wait}: start workers, or scale the cluster up"
            )
        time.sleep(_POLL)
    return threads


def require_version(client: Any, version: str, workers: Collection[str]) -> None:
    """Raise if one of some workers has no Lowland or another version; each is asked once."""
    address = str(client.scheduler.address)
    checked = _checked.get(address, frozenset())
    new = frozenset(workers) - checked
    if new:
        _check_versions(client.run(_asking(), workers=sorted(new), on_error="return"), version)
        _checked[address] = checked | new


def _asking() -> Callable[[], str | None]:
    """Return a function that a worker without Lowland can run: it is sent whole, not by its name."""

    def ask() -> str | None:
        import importlib.util
        from importlib.metadata import PackageNotFoundError, version

        if importlib.util.find_spec("lowland") is None:
            return None
        try:
            return version("lowland")
        except PackageNotFoundError:
            return "unknown"

    return ask


def _check_versions(found: dict[str, Any], version: str) -> None:
    """Raise for workers without Lowland, or with another version."""
    without = sorted(worker for worker, answer in found.items() if answer is None)
    if without:
        raise ClusterError(f"{_list(without)} no Lowland: install lowland {version} there, the version of the client")
    other = {worker: answer for worker, answer in found.items() if isinstance(answer, str) and answer != version}
    if other:
        raise ClusterError(
            f"{_list(sorted(other))} Lowland {', '.join(sorted(set(other.values())))}, and the client has {version}: "
            "install the same version on all of them"
        )


def _list(workers: list[str]) -> str:
    some = ", ".join(workers[:3]) + (f" and {len(workers) - 3} more" if len(workers) > 3 else "")
    return f"the worker {some} has" if len(workers) == 1 else f"the workers {some} have"
