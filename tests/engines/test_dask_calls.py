"""Calls on workers of Dask, as comparisons make them."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from lowland.engines import dask_calls


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
