"""The commands that `dimension`, `outliers` and `correlations` propose read the same rows in the same way."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

COMMANDS = ("dimension", "outliers", "correlations")
GERMAN = ("--sep", "semicolon", "--decimal", ",", "--na", "n.d.")


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Columns in units that differ, with gaps, decimal commas and a column of names."""
    rng = np.random.default_rng(0)
    t = rng.standard_normal(80)
    X = np.column_stack([t + 0.3 * rng.standard_normal(80) for _ in range(4)]) * [1000.0, 1.0, 1.0, 1.0]
    frame = pl.DataFrame({"patient": [f"p{i}" for i in range(80)], **dict(zip("abcd", X.round(3).T, strict=True))})
    cells = frame.with_columns(pl.col("b").cast(pl.String), c=pl.col("c").cast(pl.String))
    cells = cells.with_columns(b=pl.when(pl.col("patient") == "p7").then(pl.lit("n.d.")).otherwise("b"))
    text = cells.with_columns(pl.exclude("patient").cast(pl.String).str.replace(".", ",", literal=True))
    text.with_columns(b=pl.col("b").str.replace("n,d.", "n.d.", literal=True)).write_csv(
        tmp_path / "lab.csv", separator=";"
    )
    return tmp_path / "lab.csv"


def follow(run: Any, *words: Any) -> str:
    """Run a command and the one that it proposes, which must work, and return that."""
    done = run(*words, "--json")
    assert done.code == 0, done.err
    following: str = done.json["next"]
    again = run(*shlex.split(following)[1:])
    assert again.code == 0, f"{following}: {again.err}"
    return following


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_reading_and_of_steps_are_kept(run: Any, lab: Path, command: str) -> None:
    steps = ("--transform", "sqrt=d", "--scaler", "robust", "--missing", "mean")
    frame = pl.read_csv(lab, separator=";").with_columns(d=pl.col("d").str.replace("-", ""))
    frame.write_csv(lab, separator=";")
    said = follow(run, command, lab, *GERMAN, "--id", "patient", *steps)
    for words in (GERMAN, steps, ("--id", "patient")):
        for option, value in zip(words[::2], words[1::2], strict=True):
            assert f"{option} {value}" in said
    assert "--scale " not in said + " "


@pytest.mark.parametrize("command", COMMANDS)
def test_columns_in_different_units_are_scaled(run: Any, lab: Path, command: str) -> None:
    """By the rule of `info`, which proposes --scale for the same table."""
    assert "--scale" in run("info", lab, *GERMAN, "--json").json["next"]
    words = (command, lab, *GERMAN, "--id", "patient", "--missing", "mean")
    assert "--scale" in follow(run, *words)
    if command != "correlations":
        assert f"lowland {command} " in follow(run, *words), "the numbers are those of unscaled columns"
        assert "lowland reduce" in follow(
            run, *words, "--scale", *(("--keep", "k.csv") if command == "outliers" else ())
        )


def test_the_kept_table_is_read_without_the_options_of_the_old_file(run: Any, lab: Path) -> None:
    words = ("--id", "patient", "--missing", "mean", "--scale", "--keep", "kept.csv")
    said = follow(run, "outliers", lab, *GERMAN, *words)
    assert said == "lowland reduce kept.csv --missing mean --id patient --scale --out kept-map.csv"


def test_columns_in_the_same_units_are_not_scaled(run: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "even.npy", np.random.default_rng(0).standard_normal((60, 4)))
    for command in ("dimension", "outliers"):
        assert "--scale" not in follow(run, command, "even.npy")


def test_reading_in_blocks_is_kept(run: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((200, 3)) * [3.0, 2.0, 1.0]
    pl.DataFrame(X, schema=list("abc")).write_csv(tmp_path / "t.csv")
    for command in ("dimension", "outliers"):
        assert "--stream" in follow(run, command, "t.csv", "--stream")
