"""Calls on workers of Dask, as comparisons make them."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from lowland.core.errors import ClusterError
from lowland.engines import calls, dask_cluster

dask = pytest.importorskip("dask")
dask_calls = pytest.importorskip("lowland.engines.dask_calls")


def test_processes_of_a_worker_keep_what_an_administrator_set(monkeypatch):
    """Threads and the allocator are those of Dask alone, unless they are set to other values."""
    set_by_dask = {
        "MALLOC_TRIM_THRESHOLD_": 65536,
        "OMP_NUM_THREADS": 1,
        "NUMEXPR_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "CUDA_VISIBLE_DEVICES": 1,
        "LD_PRELOAD": "libjemalloc.so",
        "https_proxy": "http://proxy:3128",
    }
    for name, value in set_by_dask.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("MKL_NUM_THREADS", "8")
    assert dask_calls._of_worker(set_by_dask) == {"MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS"}


@pytest.fixture
def made(client):
    with dask_calls.DaskCalls() as made:
        yield made


def ended(made, call):
    """Wait for the outcome of a call."""
    until = time.monotonic() + 30
    while (found := made.outcome(call)) in (calls.PENDING, calls.ARRIVING):
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def fails(text):
    raise ZeroDivisionError(text)


def test_outcomes_of_calls(made):
    worker = next(iter(made.workers()))
    assert ended(made, made.begin(worker, str.upper, "yes")) == "YES"
    with pytest.raises(ZeroDivisionError, match="no such luck"):
        ended(made, made.begin(worker, fails, "no such luck"))
    call = made.begin(worker, str.upper, "yes")
    call.cancel()
    assert ended(made, call) is calls.LOST
    assert made._fetches == {}


def test_a_result_that_travels_for_long_is_not_waited_for_but_arrives(made, client, monkeypatch):
    """Such as a large map, or what a worker was to hand over that died at this moment."""
    worker, gather = next(iter(made.workers())), client._gather
    seen = threading.Event()

    async def slowly(*words, **options):
        await asyncio.to_thread(seen.wait, 30)
        return await gather(*words, **options)

    monkeypatch.setattr(client, "_gather", slowly)
    call = made.begin(worker, str.upper, "yes")
    while (found := made.outcome(call)) is not calls.ARRIVING:
        assert found is calls.PENDING, "meanwhile the client looks at other things"
        time.sleep(0.01)
    seen.set()
    assert ended(made, call) == "YES"
    assert made._fetches == {}


def test_workers_besides_some_are_waited_for(made):
    first, *others = made.workers()
    assert list(made.workers(besides=[first])) == others
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "300ms"}),
        pytest.raises(ClusterError, match="the Dask cluster had no other worker for 300ms: start workers"),
    ):
        made.workers(besides=[first, *others])


def test_workers_that_join_are_asked_for_their_version_alone(made, monkeypatch):
    first, second = made.workers()
    monkeypatch.setattr(dask_cluster, "_checked", {})
    made.require([first])
    monkeypatch.setattr(dask_calls, "own_version", lambda: "99.0")
    made.require([first])
    with pytest.raises(ClusterError, match=f"the worker {second} has Lowland .*, and the client has 99.0"):
        made.require([second])
