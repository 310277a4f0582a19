"""What the tests of comparisons share."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowland
from lowland.comparison.worker import Bench

FOREIGN = '''
import os
import signal
import time

import numpy as np


class Base:
    """The first two columns."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)[:, : self.n_components]


class Raises(Base):
    """Fails."""

    def fit(self, X, y=None):
        raise RuntimeError("no such luck")


class Sleeps(Base):
    """Never ends."""

    def fit(self, X, y=None):
        time.sleep(10_000)


class Dies(Base):
    """Takes its process along."""

    def fit(self, X, y=None):
        os.kill(os.getpid(), signal.SIGKILL)


class Prints(Base):
    """Writes to stdout, where answers go."""

    def fit(self, X, y=None):
        print("{not json")
        os.system("echo from a child")
        return self


class Stays:
    """Has no transform."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit_transform(self, X, y=None):
        return np.asarray(X)[:, : self.n_components]
'''


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Methods of another package that misbehave, each in its way."""
    (tmp_path / "misbehaving.py").write_text(FOREIGN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import misbehaving

    names = ("Raises", "Sleeps", "Dies", "Prints", "Stays")
    for name in names:
        lowland.register(name.lower(), getattr(misbehaving, name))
    yield
    for name in names:
        lowland.registry.unregister(name.lower())


class AtOnce:
    """Stands for the process of candidates: the same bench here, which saves a start. It cannot be ended."""

    def __init__(self, folder: Path, pause: Any = None) -> None:
        self._folder = folder

    def __enter__(self) -> AtOnce:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ready(self, seconds: float, told: Any) -> None:
        if not hasattr(self, "_bench"):
            self._bench = Bench(self._folder, lambda answer: None)

    def ask(self, job: dict[str, Any], seconds: float, told: Any) -> dict[str, Any]:
        return json.loads(json.dumps(self._bench.serve(json.loads(json.dumps(job)))))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates run in this process: for tests of what is found, not of how it runs."""
    monkeypatch.setattr("lowland.comparison.running.Worker", AtOnce)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go; nothing may be left there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="session")
def roll() -> np.ndarray:
    return lowland.data.swiss_roll(600, random_state=0)[0]


@pytest.fixture(scope="session")
def bands() -> np.ndarray:
    """Ten bands along the sheet: classes that a fold of it mixes."""
    length = lowland.data.swiss_roll(600, random_state=0)[1][:, 0]
    return np.digitize(length, np.quantile(length, np.arange(1, 10) / 10))


@pytest.fixture(scope="session")
def found(roll: np.ndarray, bands: np.ndarray) -> lowland.Comparison:
    """A comparison of two methods on a swiss roll, with classes that follow the sheet."""
    return lowland.compare(roll, ["pca", "isomap"], budget=None, target=bands)
