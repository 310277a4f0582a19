"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowland.registry import METHODS

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference data beside the checkout; tests that need it skip loudly without it."""
    if not SHARED.is_dir():
        pytest.skip("reference data (../shared/data) are not beside the checkout: this check did NOT run")
    return SHARED


@pytest.fixture(params=METHODS, ids=lambda m: m.name)
def method(request):
    """Each registered method."""
    return request.param


@pytest.fixture
def made(method):
    """Makes an unfitted model of the method with so many components; a grid has as many as it has sides."""

    def make(n_components):
        cls = method.load()
        return cls(**({"n_components": n_components} if "n_components" in cls._parameters else {}))

    return make


@pytest.fixture(params=["numpy", "torch"])
def backend(request):
    """Turn a NumPy array into one of each array library."""
    if request.param == "numpy":
        return np.asarray
    torch = pytest.importorskip("torch")
    return torch.from_numpy


@pytest.fixture
def rng():
    return np.random.default_rng(12345)
