"""`lowland downstream` and `lowland correlations`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from patients import make_patients

Run = Callable[..., Any]


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], 60)
    X = np.column_stack([rng.normal(0, 5, (120, 2)), rng.normal(0, 0.1, 120) + 0.8 * (kind == "b")])
    frame = pl.DataFrame({"wide": X[:, 0], "wider": 2 * X[:, 1], "narrow": X[:, 2], "kind": kind})
    frame.write_csv(tmp_path / "hidden.csv")
    return tmp_path / "hidden.csv"


def test_a_destroyed_class_is_told(run: Run, hidden: Path) -> None:
    done = run("downstream", hidden, "--target", "kind", "--learner", "linear", "--figure", "a.png", "--out", "t.csv")
    assert done.code == 0
    assert "PCA destroys the classes" in done.err
    assert "discriminant direction (LDA)" in done.err
    assert "--target kind --scale" in done.err.partition("next: lowland downstream")[2]  # one column dominates
    assert done.err.count("warning:") == 1
    assert "best columns" in done.out
    assert Path("a.png").stat().st_size > 10_000
    table = pl.read_csv("t.csv")
    assert table["method"][0] == "all columns"
    scaled = run("downstream", hidden, "--target", "kind", "--scale", "--methods", "pca", "--folds", 5, "--json").json
    assert scaled["n_columns"] == 3
    assert scaled["trials"][0]["method"] == "pca"


def test_steps_are_fitted_in_the_folds(run: Run, tmp_path: Path) -> None:
    make_patients(60).write_csv(tmp_path / "patients.csv")
    words = ("--target", "sex", "--id", "id", "--folds", 4, "--components", "1,2", "--json")
    refused = run("downstream", "patients.csv", *words)
    assert refused.code == 3
    assert "--missing ppca" in refused.err
    found = run("downstream", "patients.csv", *words, "--missing", "median", "--scale").json
    assert found["n_rows"] == 60
    numbers = run("downstream", "patients.csv", "--target", "age", *words[2:], "--missing", "median").json
    assert numbers["task"] == "regression"
    assert numbers["target"] == "age"


def test_wrong_options_of_downstream_are_named(run: Run, hidden: Path) -> None:
    for words, text in (
        (("--target", "kin"), "kind"),
        (("--target", "kind", "--methods", "pcaa"), "pca"),
        (("--target", "kind", "--components", "x"), "--components x"),
        (("--target", "kind", "--components", "9"), "from 1 to 3"),
        (("--target", "kind", "--folds", "1"), "--folds"),
        (("--target", "kind", "--out", "t.npy"), "contains text"),
        (("--target", "kind", "--size", "3x3"), "--figure"),
    ):
        done = run("downstream", hidden, *words)
        assert done.code != 0
        assert text in done.err


def test_columns_that_move_together(run: Run, tmp_path: Path) -> None:
    make_patients(60).write_csv(tmp_path / "patients.csv")
    refused = run("correlations", "patients.csv", "--drop", "id")
    assert refused.code == 3
    assert "column 'albumin': missing value" in refused.err
    assert "--missing" in refused.err
    words = ("--drop", "id", "--missing", "median", "--figure", "c.svg", "--out", "c.csv")
    done = run("correlations", "patients.csv", *words)
    assert done.code == 0
    assert "age, −albumin, crp" in done.out
    assert "3 of 4 columns move together in 1 group" in done.err
    assert pl.read_csv("c.csv")["column"].to_list() == ["age", "crp", "albumin", "ward"]
    assert "albumin" in Path("c.svg").read_text()
    found = run("correlations", "patients.csv", *words[:4], "--components", 2, "--json").json
    assert list(found["axes"]) == ["PCA 1", "PCA 2"]
    for option, text in (("--threshold", "above 0"), ("--duplicate", "above 0")):
        assert text in run("correlations", "patients.csv", option, "2").err


def test_the_report_of_a_reduction_has_the_section(run: Run, table: Path) -> None:
    assert run("reduce", table, "--out", "m.csv", "--report", "r.html").code == 0
    page = Path("r.html").read_text()
    assert 'id="columns-that-move-together"' in page
    assert "Correlation of each column with each axis" in page
