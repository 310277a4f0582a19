"""What reports call the columns behind a map: terms of texts, columns that FAMD codes, and those before --pre."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lowland.report.interactive import is_available
from report_page import Page

from .conftest import Run

TOPICS = (["shock", "heat", "nose", "flow"], ["buckling", "plate", "load", "shell"])


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rows = [" ".join(TOPICS[i % 2][(i // 2 + j) % 4] for j in range(3)) for i in range(40)]
    frame = pl.DataFrame({"number": range(100, 141), "body": [*rows, "the of and"]})
    frame.write_csv(tmp_path / "texts.csv")
    return tmp_path / "texts.csv"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    size = rng.standard_normal(60)
    frame = pl.DataFrame(
        {
            "weight": 70 + 10 * size + rng.standard_normal(60),
            "height": 170 + 8 * size + rng.standard_normal(60),
            "kind": np.where(size + rng.standard_normal(60) > 0, "large", "small"),
        }
    )
    frame.write_csv(tmp_path / "mixed.csv")
    return tmp_path / "mixed.csv"


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def test_terms_of_texts_have_their_names_and_warnings_of_steps_come_first(
    run: Run, texts: Path, tmp_path: Path
) -> None:
    words = ("--id", "number", "--text", "body", "--texts", "tfidf", "--method", "truncated_svd")
    done = run("reduce", texts, *words, "--out", "map.csv", "--report", "page.html")
    assert done.code == 0, done.err
    assert "feature names" not in done.err
    page = read(tmp_path / "page.html")
    axes = page.text.partition("What the axes mean The columns")[2]
    assert "buckling" in axes[:600]
    assert "x0" not in page.text
    assert "Warning: the text of number 140 has no terms; its row is zeros" in page.text
    assert done.err.count("has no terms") == 1
    assert page.text.index("Warning: the text of number 140") < page.text.index("Can I trust it?")
    assert "1: body (8 columns after the steps below)" in page.text
    if is_available():
        assert "for hover, colour and search: number, body." in page.text


def test_columns_that_famd_codes_have_their_names(run: Run, mixed: Path, tmp_path: Path) -> None:
    done = run(
        "reduce", mixed, "--categories", "famd", "--out", "map.csv", "--report", "page.html", "--model", "m.lowland"
    )
    assert done.code == 0, done.err
    page = read(tmp_path / "page.html")
    assert "3: weight, height, kind (3 columns after the steps below)" in page.text
    assert "famd0" not in page.text
    for name in ("weight", "height", "kind=large"):
        assert name in page.text.partition("What the axes mean The columns")[2][:600]
    assert "move together in 1 group (|r| about 0.5 or more)" in page.text
    assert run("transform", "m.lowland", mixed, "--out", "again.csv", "--report", "again.html").code == 0
    assert "kind=large" in read(tmp_path / "again.html").text


def test_loadings_go_back_through_a_method_before_the_method(run: Run, mixed: Path, tmp_path: Path) -> None:
    numbers = pl.read_csv(mixed).drop("kind").with_columns(width=pl.col("weight") + pl.col("height"))
    numbers.write_csv(tmp_path / "numbers.csv")
    done = run("reduce", "numbers.csv", "--pre", "pca:2", "--out", "map.csv", "--report", "page.html")
    assert done.code == 0, done.err
    page = read(tmp_path / "page.html")
    axes = page.text.partition("What the axes mean The columns")[2]
    assert "width" in axes[:400]
    assert "pca0" not in axes[:400]


def test_the_page_on_a_map_made_elsewhere_scales_all_parts_and_compares_without_the_map(
    run: Run, mixed: Path, tmp_path: Path
) -> None:
    frame = pl.read_csv(mixed).drop("kind").with_columns(weight=1000 * pl.col("weight"))
    frame.with_columns(u=pl.col("weight") / 1000, v=pl.col("height")).write_csv(tmp_path / "own.csv")
    done = run("evaluate", "own.csv", "--x", "u", "--y", "v", "--scale", "--report", "page.html")
    assert done.code == 0, done.err
    page = read(tmp_path / "page.html")
    assert "lowland compare own.csv --drop u --drop v --scale" in page.text
    assert "of the variance, so the estimate mostly describes it" not in page.text


def test_pixels_are_not_compared_one_by_one(run: Run, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).random((30, 16))
    pl.DataFrame(pixels, schema=[f"pixel_{i // 4}_{i % 4}" for i in range(16)]).write_csv(tmp_path / "images.csv")
    assert run("reduce", "images.csv", "--out", "map.csv", "--report", "page.html").code == 0
    headings = [text for _, text in read(tmp_path / "page.html").headings]
    assert "The axes as images" in headings
    assert "Columns that move together" not in headings


def test_a_row_that_decides_an_axis_is_told_first(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.exp(1.5 * rng.normal(size=(50, 6)))
    X[7, 2] = 1e4
    frame = pl.DataFrame(X, schema=list("abcdef")).with_columns(sample=pl.Series([f"S{i:02}" for i in range(50)]))
    frame.write_csv(tmp_path / "genes.csv")
    done = run("reduce", "genes.csv", "--id", "sample", "--out", "map.csv", "--report", "page.html")
    assert done.code == 0, done.err
    said = "S07 alone makes 98.0 % of axis PCA 1, which shows how this row differs from all others"
    assert said in done.err
    text = read(tmp_path / "page.html").text
    assert f"Warning: {said}" in text
    trusted = text.partition("Can I trust it?")[2].partition("What next?")
    assert trusted[0].strip().startswith(f"One row decides an axis: {said}")
    assert "Read distances" not in trusted[2][:400]
    told = run("info", "genes.csv")
    assert "--transform log1p=all" in told.out + told.err


def test_the_page_counts_filled_cells_and_names_constant_columns(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [[f"{value:.3f}" for value in row] + ["7"] for row in rng.normal(5, 1, (40, 4))]
    rows[3][0], rows[4][0], rows[5][1], rows[6][2] = "n.d.", "", "NA", "<0.5"
    (tmp_path / "lab.csv").write_text("\n".join(["a,b,c,d,unit", *map(",".join, rows)]) + "\n")
    words = ["--na", "n.d.", "--below-limit", "half", "--missing", "median"]
    done = run("reduce", "lab.csv", *words, "--out", "map.csv", "--report", "page.html")
    assert done.code == 0, done.err
    text = read(tmp_path / "page.html").text
    said = text.partition("What was done")[2]
    assert "Read as missing, beside the usual marks: 'n.d.'." in said
    assert "Numbers below a limit, such as <0.5, read as half of the limit." in said
    assert "Filled 3 cells in 2 of 5 columns (1.5 % of the cells)." in said
    assert "Constant columns, which tell nothing: unit." in said
    kinds = ["x", "y"] * 20
    lines = [",".join([*row, kind]) for row, kind in zip(rows, kinds, strict=True)]
    (tmp_path / "lab.csv").write_text("\n".join(["a,b,c,d,unit,kind", *lines]) + "\n")
    run("reduce", "lab.csv", *words, "--method", "famd", "--out", "map.csv", "--report", "page.html")
    assert "Filled 3 cells in 2 of 6 columns" in read(tmp_path / "page.html").text


def test_columns_left_out_and_the_suggested_comparison_of_a_continuous_colour(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.standard_normal((40, 5)), schema=["a", "b", "c", "shade", "spare"])
    frame.with_columns(note=pl.Series(["x"] * 40)).write_csv(tmp_path / "t.csv")
    words = ("--color", "shade", "--drop", "spare", "--report", "page.html")
    assert run("reduce", "t.csv", *words, "--out", "map.csv").code == 0
    text = read(tmp_path / "page.html").text
    assert "left out note (text), spare (dropped) not used as data shade" in text
    command = "lowland compare t.csv --drop spare --drop shade"
    assert command in text
    assert "--target" not in text
    assert run(*command.split()[1:], "--methods", "pca,isomap").code == 0
    assert run("reduce", "t.csv", "--columns", "a,b", "--report", "page.html", "--out", "map.csv").code == 0
    left = "left out c (not chosen), shade (not chosen), spare (not chosen), note (not chosen)"
    assert left in read(tmp_path / "page.html").text
