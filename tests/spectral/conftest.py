"""The reference solutions of these tests are small: more than one BLAS thread would only slow them down."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):
        yield
