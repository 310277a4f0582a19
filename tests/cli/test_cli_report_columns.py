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
    assert "lowland compare own.csv --drop u,v --scale" in page.text
    assert "of the variance, so the estimate mostly describes it" not in page.text


def test_pixels_are_not_compared_one_by_one(run: Run, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).random((30, 16))
    pl.DataFrame(pixels, schema=[f"pixel_{i // 4}_{i % 4}" for i in range(16)]).write_csv(tmp_path / "images.csv")
    assert run("reduce", "images.csv", "--out", "map.csv", "--report", "page.html").code == 0
    headings = [text for _, text in read(tmp_path / "page.html").headings]
    assert "The axes as images" in headings
    assert "Columns that move together" not in headings
