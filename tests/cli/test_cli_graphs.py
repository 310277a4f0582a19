"""The command line on neighbour graphs: pieces, plans that do not fit, squares that are taken for rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland

Run = Callable[..., Any]


@pytest.fixture
def clumps(tmp_path: Path) -> Path:
    """Two groups of 30 rows, far from each other."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.standard_normal((30, 3)), rng.standard_normal((30, 3)) + 500])
    pl.DataFrame(X, schema=["a", "b", "c"]).write_csv(tmp_path / "clumps.csv")
    return tmp_path / "clumps.csv"


def test_pieces_side_by_side_are_told_apart_in_the_output(run: Run, clumps: Path) -> None:
    separate = ("--method", "isomap", "--set", "disconnected=separate")
    assert run("reduce", clumps, *separate, "--out", "map.csv", "--report", "map.html").code == 0
    found = pl.read_csv("map.csv")
    assert found.columns == ["isomap0", "isomap1", "piece"]
    assert sorted(found["piece"].value_counts().rows()) == [(0, 30), (1, 30)]
    assert len(set(found["piece"][:30])) == 1
    assert "piece" in Path("map.html").read_text(encoding="utf-8")
    assert run("reduce", clumps, "--method", "isomap", "--out", "bridged.csv").code == 0
    assert "piece" not in pl.read_csv("bridged.csv").columns


def test_a_plan_that_does_not_fit_leads_to_one_that_does(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "roll.npy", lowland.data.swiss_roll(5000)[0])
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "50MB")
    done = run("plan", "roll.npy", "--method", "isomap")
    assert "does not fit" in done.err
    assert "next: lowland plan roll.npy --method isomap --set landmarks=500" in done.err
    again = run("plan", "roll.npy", "--method", "isomap", "--set", "landmarks=500")
    assert "it fits" in again.err
    assert "next: lowland reduce roll.npy" in again.err
    monkeypatch.setenv("LOWLAND_MEMORY_LIMIT", "1MB")
    assert "next: LOWLAND_MEMORY_LIMIT=1GB lowland reduce" in run("plan", "roll.npy", "--method", "npe").err


def test_a_square_of_distances_taken_for_rows_is_a_warning(run: Run, tmp_path: Path) -> None:
    D = lowland.data.cities()[0]
    np.save(tmp_path / "D.npy", D)
    words = ("reduce", "D.npy", "--method", "isomap", "--set", "n_neighbors=8", "--out", "map.csv")
    assert "--set metric=precomputed" in run(*words).err
    assert "looks like" not in run(*words, "--set", "metric=precomputed").err


def test_a_model_of_distances_is_not_told_to_go_back_to_rows(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "D.npy", lowland.data.cities()[0])
    square = ("--method", "isomap", "--set", "metric=precomputed", "--set", "n_neighbors=8")
    assert run("reduce", "D.npy", *square, "--out", "map.csv", "--model", "map.lowland").code == 0
    assert "next: lowland info" in run("transform", "map.lowland", "D.npy", "--out", "again.csv").err


def test_texts_without_a_function_are_told_what_is_missing() -> None:
    for cls in (lowland.Isomap, lowland.ClassicalMDS):
        with pytest.raises(lowland.DataError, match=r"texts or other objects.*metric= a function of two texts"):
            cls().fit(["cat", "dog", "cow", "cart"])
    with pytest.raises(lowland.DataError, match=r"kernel= a function of two texts"):
        lowland.KernelPCA().fit(["cat", "dog", "cow", "cart"])


@pytest.mark.parametrize(
    ("method", "setting", "words"),
    [
        ("umap", "n_neighbors=41", "UMAP: --set n_neighbors=41 is more than the number of rows, 40"),
        ("tsne", "perplexity=40", "TSNE: --set perplexity (40) must be less than n_samples (40)"),
    ],
)
def test_a_plan_refuses_what_reduce_refuses(run, method, setting, words):
    np.save("few.npy", np.random.default_rng(0).standard_normal((40, 3)))
    for command in (["plan", "few.npy"], ["reduce", "few.npy", "--out", "o.csv"]):
        done = run(*command, "--method", method, "--set", setting)
        assert done.code == 3
        assert f"few.npy: {words}" in done.err
