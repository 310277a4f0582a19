"""What the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lowland import cli

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def static_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write reports without the interactive map, built or not; tests/explorer opens them in a browser."""
    monkeypatch.setattr("lowland.explorer.fragment._read", lambda name: None)


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> Outcome:
        code = cli.main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def frame() -> pl.DataFrame:
    """A table with two text columns and three of like variance."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 3)) @ np.array([[1.3, 0.3, 0.0], [0.0, 1.2, 0.2], [0.0, 0.0, 1.1]])
    names = [f"row{i}" for i in range(30)]
    kinds = [["red", "green", "blue"][i % 3] for i in range(30)]
    return pl.DataFrame({"name": names, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": kinds})


@pytest.fixture
def table(frame: pl.DataFrame, tmp_path: Path) -> Path:
    frame.write_csv(tmp_path / "table.csv")
    return tmp_path / "table.csv"


@pytest.fixture
def model(run: Run, table: Path, tmp_path: Path) -> Path:
    assert run("reduce", table, "--components", 3, "--out", "whole.csv", "--model", "whole.lowland").code == 0
    return tmp_path / "whole.lowland"
