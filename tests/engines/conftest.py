"""A cluster of two processes, and tables whose chunks it holds."""

from __future__ import annotations

import numpy as np
import pytest

from dask_tables import D, N
from lowland.engines.dask_cluster import started


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each, and the current client."""
    distributed = pytest.importorskip("distributed")
    with started(2) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def client(cluster):
    """The client of the two processes, as the current one."""
    with cluster.as_current():
        yield cluster


@pytest.fixture(scope="session")
def table():
    """Rows with a mean far from zero, and axes of different length."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, D)) @ (
        rng.standard_normal((D, D)) * np.arange(1, D + 1)
    ) + 100 * rng.standard_normal(D)
