"""The interactive map in reports of the command line: which columns the page contains, and that it names them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest


@pytest.fixture(autouse=True)
def with_script(static_pages: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowland.explorer.fragment._read", lambda name: "let script;")


def data_of(report: str) -> dict[str, Any]:
    text = re.search(r'<script type="application/json" id="map-data">(.*?)</script>', Path(report).read_text())
    assert text is not None
    return json.loads(text[1])


def test_page_contains_the_columns_that_it_names_and_no_others(run: Any, table: Path, frame: pl.DataFrame) -> None:
    words = ("--id", "name", "--hover", "b", "--color", "kind", "--components", 3)
    assert run("reduce", table, *words, "-o", "y.csv", "--report", "y.html").code == 0
    data = data_of("y.html")
    assert [column["name"] for column in data["columns"]] == ["name", "b", "kind"]
    assert (data["id"], data["color"]) == (0, 2)
    assert len(data["axes"]) == 3
    assert data["trust"]["name"] == "share of neighbours kept"
    page = Path("y.html").read_text()
    assert "Columns of the data in this page, for hover, colour and search: name, b, kind." in page
    assert "Hover over a point" not in page, "the static picture is only behind the interactive one"
    nonce = re.search(r'<script nonce="([0-9a-f]{40})">let script;</script>', page)
    assert nonce is not None
    assert f"script-src 'nonce-{nonce[1]}'\"" in page


def test_page_without_columns_says_so(run: Any, table: Path) -> None:
    assert run("reduce", table, "-o", "y.csv", "--report", "y.html").code == 0
    assert data_of("y.html")["columns"] == []
    assert "This page contains the coordinates of the map and no column of the data." in Path("y.html").read_text()


def test_images_are_in_the_page_once(run: Any, tmp_path: Path) -> None:
    from PIL import Image

    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(6):
        Image.new("L", (8, 8), 40 * i).save(folder / f"{i}.png")
    assert run("reduce", folder, "-o", "y.csv", "--report", "y.html").code == 0
    images = data_of("y.html")["images"]
    assert all(image.startswith("data:image/") for image in images)
    assert Path("y.html").read_text().count(images[1]) == 1


def test_supplementary_rows_keep_the_static_picture(run: Any, table: Path) -> None:
    done = run("reduce", table, "--supplementary-rows", table, "-o", "y.csv", "--report", "y.html")
    assert done.code == 0, done.err
    assert "data-lowland-fallback" not in Path("y.html").read_text()


def test_columns_of_different_kinds_have_scales_of_their_own(run: Any, table: Path, frame: pl.DataFrame) -> None:
    wide = frame.with_columns(far=pl.int_range(pl.len()) * 1000.0, near=pl.int_range(pl.len()) % 7)
    wide.write_csv("wide.csv")
    said = "The axes have separate scales: the range of far is"
    assert run("evaluate", "wide.csv", "--x", "near", "--y", "far", "--report", "e.html").code == 0
    assert said in Path("e.html").read_text()
    for axis in data_of("e.html")["axes"]:
        values = np.frombuffer(base64.b64decode(axis["values"]["data"]), "<f4")
        assert (values.min(), values.max()) == (0, 1)
    static = Path("e.html").read_text().partition('id="map-static"')[2].partition("</figure>")[0]
    heights = [float(y) for y in re.findall(r'<use [^>]*y="([0-9.]+)"', static)]
    widths = [float(x) for x in re.findall(r'<use [^>]*x="([0-9.]+)"', static)]
    assert max(widths) - min(widths) > 0.5 * (max(heights) - min(heights)), "the static map is no line either"
    wide.select(pca0="near", pca1="far").write_csv("map.csv")  # a map of a known method has one unit
    assert run("evaluate", "wide.csv", "map.csv", "--report", "m.html").code == 0
    assert said not in Path("m.html").read_text()
