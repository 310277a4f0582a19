"""`lowland reduce --align-to`: a new map over an old one, and the model that repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lowland


def turned(file: str, angle: float = 0.7) -> None:
    """Write an earlier map: the coordinates of a table rotated, reflected and shifted."""
    frame = pl.read_csv(file)
    names = [name for name in frame.columns if name[-1].isdecimal()]
    c, s = np.cos(angle), np.sin(angle)
    Y = frame.select(names).to_numpy() @ np.array([[c, s], [s, -c]]) + [3.0, -2.0]
    frame.with_columns(pl.Series(name, Y[:, j]) for j, name in enumerate(names)).write_csv(file)


@pytest.mark.parametrize("method", ["pca", "isomap"])
def test_a_map_is_laid_over_the_old_one_by_the_names_of_rows(run: Any, table: Path, method: str) -> None:
    words = ("reduce", table, "-m", method, "--id", "name")
    assert run(*words, "-o", "old.csv").code == 0
    turned("old.csv")
    old = pl.read_csv("old.csv")
    old.sample(20, shuffle=True, seed=0).write_csv("few.csv")
    done = run(*words, "--align-to", "few.csv", "-o", "new.csv", "--model", "m.lowland", "--report", "r.html", "--json")
    assert done.code == 0, done.err
    assert done.json["alignment"]["shared_rows"] == 20
    assert done.json["alignment"]["error"] < 1e-6
    assert "laid over few.csv by 20 shared rows, with an error of 0.0 %" in done.json["summary"]
    assert "--align-to few.csv" in done.json["next"] or "transform" in done.json["next"]
    new = pl.read_csv("new.csv")
    np.testing.assert_allclose(new[:, 1:].to_numpy(), old[:, 1:].to_numpy(), atol=1e-6)
    page = Path("r.html").read_text()
    assert "laid over few.csv" in page
    assert "What the axes mean" not in page
    assert run("transform", "m.lowland", table, "--id", "name", "-o", "again.csv").code == 0
    np.testing.assert_allclose(pl.read_csv("again.csv")[:, 1:].to_numpy(), new[:, 1:].to_numpy(), atol=1e-5)
    assert pl.read_csv("again.csv").columns == new.columns
    flagged = run("transform", "m.lowland", table, "--flag", "-o", "flagged.csv", "--json").json
    assert flagged["novel"] == 0
    told = run("info", "m.lowland")
    assert told.code == 0
    assert "step align" in told.out
    assert run("inverse", "m.lowland", "new.csv", "-o", "back.csv").code == 0
    assert pl.read_csv("back.csv").columns == ["a", "b", "c"]
    model = lowland.load("m.lowland")
    np.testing.assert_allclose(
        model.transform(pl.read_csv(table).select("a", "b", "c")), new[:, 1:].to_numpy(), atol=1e-5
    )


def test_coordinates_come_back_through_steps_and_alignment(run: Any, table: Path, frame: pl.DataFrame) -> None:
    words = ("reduce", table, "--components", 3, "--scaler", "standard", "--id", "name")
    assert run(*words, "-o", "old.csv").code == 0
    pl.read_csv("old.csv").select("name", pca0="pca1", pca1="pca2", pca2="pca0").write_csv("old.csv")
    assert run(*words, "--align-to", "old.csv", "-o", "new.csv", "--model", "m.lowland").code == 0
    np.testing.assert_allclose(
        pl.read_csv("new.csv")[:, 1:].to_numpy(), pl.read_csv("old.csv")[:, 1:].to_numpy(), atol=1e-9
    )
    assert run("inverse", "m.lowland", "new.csv", "-o", "back.csv").code == 0
    np.testing.assert_allclose(
        pl.read_csv("back.csv").select("a", "b", "c").to_numpy(), frame.select("a", "b", "c").to_numpy(), atol=1e-9
    )


def test_rows_are_matched_by_order_and_other_methods_by_numbered_columns(run: Any, table: Path) -> None:
    assert run("reduce", table, "--keep-columns", "-o", "old.csv").code == 0
    done = run("reduce", table, "-m", "classical_mds", "--align-to", "old.csv", "-o", "new.csv", "--json").json
    assert done["alignment"]["error"] < 1e-6
    assert done["alignment"]["shared_rows"] == 30


def test_what_cannot_be_matched_is_told(run: Any, table: Path) -> None:
    assert run("reduce", table, "--id", "name", "-o", "old.csv").code == 0
    old = pl.read_csv("old.csv")
    old.head(20).write_csv("few.csv")
    old.head(20).drop("name").write_csv("bare.csv")
    old.vstack(old.head(1)).write_csv("twice.csv")
    old.with_columns(name=pl.lit("x") + pl.col("name")).write_csv("other.csv")
    old.drop("pca1").write_csv("flat.csv")
    old.head(2).write_csv("two.csv")

    def error(*words: str) -> str:
        done = run("reduce", table, *words, "-o", "new.csv", "--model", "m.lowland")
        assert done.code == 3
        assert not Path("new.csv").exists()
        assert not Path("m.lowland").exists()
        return " ".join(done.err.split())

    assert "has 20 rows and the new map 30, so rows cannot be matched by their order; add --id" in error(
        "--align-to", "few.csv"
    )
    assert "it has no column 'name'" in error("--id", "name", "--align-to", "bare.csv")
    assert "column 'name' has 'row0' twice" in error("--id", "name", "--align-to", "twice.csv")
    assert "no value of its column 'name' is one of table.csv" in error("--id", "name", "--align-to", "other.csv")
    assert "must have 2 coordinates, such as pca0, pca1; its columns of numbers are pca0" in error(
        "--align-to", "flat.csv"
    )
    assert "share 2 rows, and 2 dimensions need at least 3" in error("--id", "name", "--align-to", "two.csv")
    assert "none.csv" in error("--align-to", "none.csv")
    same = run("reduce", table, "--align-to", "old.csv", "-o", "old.csv")
    assert same.code == 2
    assert "would overwrite old.csv" in same.err
