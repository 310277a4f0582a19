"""Fixtures that all tests share."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lowland.contract.registry import METHODS
from patients import make_patients

QUICK = {  # parameters that make methods of many iterations short
    "autoencoder": {"hidden": (8,), "epochs": 4},
    "som": {"grid": (6, 5), "epochs": 5},
    "tsne": {"perplexity": 10.0, "max_iter": 60},
    "umap": {"n_epochs": 30},
}
ALL_IDS = pytest.StashKey[list[str]]()


def pytest_make_parametrize_id(config, val, argname):
    """Name a case after its value in plain characters: bytes and escapes make ids that change or cannot be typed."""
    if isinstance(val, bytes):
        return f"{argname}_bytes"  # compressed bytes hold the time of day
    if isinstance(val, str):
        return re.sub(r"[^A-Za-z0-9_.,=<>*+-]+", "_", val).strip("_")[:60] or f"{argname}_text"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Stop where an id cannot be typed or is used twice: pytest-xdist requires the same ids in every process."""
    ids = [item.nodeid for item in items]
    odd = [name for name in ids if not name.isascii() or not name.isprintable() or "\\" in name]
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if odd or twice:
        raise pytest.UsageError(
            "test ids must be plain and unique; give these cases ids=[...]: " + ", ".join(odd + twice)
        )
    config.stash[ALL_IDS] = ids


@pytest.fixture
def collected_ids(request):
    """The id of every test that this process has collected, before any was deselected."""
    return request.config.stash[ALL_IDS]


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


@pytest.fixture
def quick(method):
    """Makes an unfitted model of the method with two components and few iterations."""

    def make(**parameters):
        cls = method.load()
        sized = {"n_components": 2} if "n_components" in cls._parameters else {}
        return cls(**(sized | QUICK.get(method.name, {}) | parameters))

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


@pytest.fixture(scope="module")
def patients():
    """A small table of patients."""
    return make_patients()


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 256 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("cannot mount a small disk here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
