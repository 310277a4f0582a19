"""The data of the interactive scatter: what is packed, what it contains, that no cell can become markup."""

from __future__ import annotations

import base64
import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lowland.explorer import MAX_POINTS, interactive, payload
from lowland.explorer.fragment import HOW_TO_GET, script
from lowland.explorer.payload import sampled
from lowland.plots.style import PALETTE

TYPES = {"u8": "u1", "i8": "i1", "i16": "<i2", "i32": "<i4", "f32": "<f4", "f64": "<f8"}
MARKUP = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>"
Y = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 6.0], [4.0, 5.0, 7.0]])


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=TYPES[packed["type"]])


def column(values):
    rows = np.zeros((len(values), 2))
    return json.loads(payload(rows, {"c": values}))["columns"][0]


def test_coordinates_and_names():
    read = json.loads(payload(Y, axes=["PCA 1", "PCA 2", "PCA 3"]))
    assert [axis["name"] for axis in read["axes"]] == ["PCA 1", "PCA 2", "PCA 3"]
    np.testing.assert_array_equal(np.column_stack([unpacked(axis["values"]) for axis in read["axes"]]), Y)
    assert (read["total"], read["count"], read["rows"]) == (3, 3, None)
    assert read["palette"]["groups"] == list(PALETTE)
    assert read["palette"]["scale"][0] == "#440154"


def test_coordinates_without_names_are_counted_from_1():
    assert [axis["name"] for axis in json.loads(payload(Y))["axes"]] == [f"coordinate {i}" for i in (1, 2, 3)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 200] * 9 + list(range(20)), "u8"),
        ([-100, *range(20)], "i8"),
        ([-1000, *range(20)], "i16"),
        ([100_000, *range(20)], "i32"),
        ([2**40, *range(20)], "f64"),
        ([0.5, 1.25, 3.0], "f32"),
        ([2.0**24 + 1, 0.5], "f64"),
        ([1e-300, 0.5], "f64"),
    ],
)
def test_numbers_take_the_smallest_type_that_shows_them(values, kind):
    read = column(values)
    assert (read["kind"], read["values"]["type"]) == ("number", kind)
    np.testing.assert_array_equal(unpacked(read["values"]), values)


def test_missing_numbers_are_nan():
    read = column([1.5, None, float("nan"), 2.5])
    assert np.isnan(unpacked(read["values"])).tolist() == [False, True, True, False]


def test_few_whole_numbers_are_groups_in_order():
    read = column([10, 9, 10, 2])
    assert (read["kind"], read["labels"]) == ("category", ["2", "9", "10"])
    assert unpacked(read["codes"]).tolist() == [2, 1, 2, 0]


def test_categories_and_missing_ones():
    read = column(["b", None, "a", "b"])
    assert read["labels"] == ["a", "b"]
    assert unpacked(read["codes"]).tolist() == [1, -1, 0, 1]


def test_many_different_texts_stay_texts():
    read = column([f"t{i}" for i in range(300)])
    assert (read["kind"], read["values"][299]) == ("text", "t299")


def test_long_cells_are_cut():
    assert len(column(["x" * 1000])["labels"][0]) == 300


def test_dates_and_booleans_are_texts():
    assert column([datetime.date(2024, 1, 2)])["labels"] == ["2024-01-02"]
    assert column([True, False])["labels"] == ["False", "True"]


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
def test_frames_of_any_library(library):
    given = {"age": [1.5, 2.5, 3.5], "name": ["a", "b", "a"]}
    read = json.loads(payload(Y, library(given), id="name", color="age"))
    assert [(c["name"], c["kind"]) for c in read["columns"]] == [("age", "number"), ("name", "category")]
    assert (read["id"], read["color"]) == (1, 0)


def test_markup_never_appears_in_the_text():
    text = payload(Y, {MARKUP: [MARKUP, "b", "c"], "id": [MARKUP, "2", "3"]}, id="id", axes=[MARKUP] * 3)
    assert "<" not in text
    read = json.loads(text)
    assert read["columns"][0]["name"] == MARKUP
    assert MARKUP in read["columns"][0]["labels"]


def test_halves_of_surrogate_pairs_can_be_written():
    payload(Y, {"c": ["\ud800", "b", "c"]}).encode("utf-8")


def test_a_sample_of_many_points_is_seeded_and_keeps_row_numbers():
    X = np.arange(300.0)[:, None] * [1, 2]
    read = json.loads(payload(X, {"c": np.arange(300)}, max_points=50, trust=np.arange(300) / 300))
    rows = unpacked(read["rows"])
    assert (read["total"], read["count"], len(set(rows.tolist()))) == (300, 50, 50)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(unpacked(read["axes"][0]["values"]), rows)
    np.testing.assert_array_equal(unpacked(read["columns"][0]["values"]), rows)
    np.testing.assert_allclose(unpacked(read["trust"]["values"]), rows / 300, rtol=1e-6)
    assert payload(X, max_points=50) == payload(X, max_points=50)
    assert payload(X, max_points=50) != payload(X, max_points=50, random_state=1)
    assert sampled(MAX_POINTS, MAX_POINTS, 0) is None


def test_many_points_have_fewer_axes():
    assert len(json.loads(payload(np.zeros((10, 40))))["axes"]) == 10
    assert len(json.loads(payload(np.zeros((100_000, 40))))["axes"]) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"a": [1, 2]}}, "column 'a' has 2 values for 3 points"),
        ({"color": "b"}, r"color must be one of the columns \(there are none\); got 'b'"),
        ({"columns": {"a": [1, 2, 3]}, "id": "b"}, r"id must be one of the columns \(a\)"),
        ({"trust": [1.0]}, "trust must have one value for each of the 3 points"),
        ({"images": [None]}, "images must have one value for each of the 3 points"),
    ],
)
def test_wrong_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        payload(Y, **options)


def test_embedding_is_a_table():
    with pytest.raises(ValueError, match="embedding must be a table"):
        payload([1.0, 2.0])


def test_missing_coordinates_are_named():
    with pytest.raises(ValueError, match="missing or infinite coordinate in row 1"):
        payload([[0.0, 1.0], [np.nan, 1.0]])


def test_fragment_has_element_data_and_script(monkeypatch):
    monkeypatch.setattr("lowland.explorer.fragment.script", lambda: "let code;")
    html = interactive(Y, {"c": [MARKUP, "b", "c"]}, static="<svg></svg>")
    assert html.count("</script>") == 2
    assert '<div id="map-static">\n<svg></svg>' in html
    nonce = html.split('<script nonce="')[1].split('"')[0]
    assert len(nonce) == 40
    guessed = interactive(Y, {"c": [MARKUP, "b", nonce]}, static="<svg></svg>")
    assert f'<script nonce="{nonce}">' not in guessed, "a cell cannot contain the nonce of its page"
    assert 'data-lowland-fallback="map-static"' in html
    assert "data-lowland-fallback" not in interactive(Y, keep_static=True)


def test_fragment_without_the_script_is_the_static_picture(monkeypatch):
    monkeypatch.setattr("lowland.explorer.fragment.script", lambda: None)
    html = interactive(Y, static="<svg></svg>")
    assert html.startswith("<svg></svg>")
    assert HOW_TO_GET[:40] in html
    assert "<script" not in html


def test_fragment_ids_are_plain():
    with pytest.raises(ValueError, match="element_id"):
        interactive(Y, element_id='"><script>')


def test_a_script_that_was_not_built_is_none():
    assert script("nothing-of-this-name") is None
