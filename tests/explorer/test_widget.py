"""The notebook widget: what it shows, and that selected rows come back as they were given."""

from __future__ import annotations

import base64
import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lowland
from lowland.contract.axis_names import axis_labels
from lowland.explorer.widgets import _widget_class, rows_of

TABLE = {"x": [0.0, 1.0, 2.0], "y": [5.0, 4.0, 3.0], "kind": ["a", "b", "a"], "age": [1, 2, 3]}


@pytest.fixture
def widgets(monkeypatch):
    """Widgets with a script, built or not."""
    pytest.importorskip("anywidget", reason='anywidget is not installed: pip install "lowland[widget]"')
    monkeypatch.setattr("lowland.explorer.fragment._read", lambda name: "export default { render() {} }")
    _widget_class.cache_clear()
    yield
    _widget_class.cache_clear()


def data_of(plot):
    return json.loads(plot.data)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_selection_returns_rows_of_the_same_kind(widgets, library):
    frame = library(TABLE)
    plot = lowland.widget(frame, x="x", y="y", color="kind", text="age")
    read = data_of(plot)
    assert [axis["name"] for axis in read["axes"]] == ["x", "y"]
    assert [column["name"] for column in read["columns"]] == ["age", "kind"]
    assert read["color"] == 1
    plot.selected = [0, 2]
    chosen = plot.selection()
    assert type(chosen) is type(frame)
    assert pl.DataFrame(chosen).rows() == [(0.0, 5.0, "a", 1), (2.0, 3.0, "a", 3)]


def test_pandas_keeps_its_index(widgets):
    frame = pd.DataFrame(TABLE, index=["p", "q", "r"])
    plot = lowland.widget(frame)
    plot.selected = [1]
    assert plot.selection().index.tolist() == ["q"]


def test_frames_show_texts_by_default(widgets):
    read = data_of(lowland.widget(pl.DataFrame(TABLE)))
    assert [column["name"] for column in read["columns"]] == ["kind"]
    assert [axis["name"] for axis in read["axes"]] == ["x", "y"]


def test_arrays_and_colours_by_value(widgets):
    Y = np.arange(12.0).reshape(4, 3)
    plot = lowland.widget(Y, x=2, y=0, color=[1.5, 2.5, 3.5, 4.5])
    read = data_of(plot)
    assert [axis["name"] for axis in read["axes"]] == ["coordinate 3", "coordinate 1", "coordinate 2"]
    assert (read["columns"][0]["kind"], read["color"]) == ("number", 0)
    plot.selected = [3]
    np.testing.assert_array_equal(plot.selection(), Y[3:])


def test_model_shows_its_map(widgets):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((20, 3)), columns=["a", "b", "c"])
    model = lowland.PCA(n_components=2).fit(frame)
    plot = model.widget(frame, color="b", text=["c"])
    read = data_of(plot)
    assert [axis["name"] for axis in read["axes"]] == axis_labels(model)
    assert [column["name"] for column in read["columns"]] == ["c", "b"]
    plot.selected = [4, 5]
    pd.testing.assert_frame_equal(plot.selection(), frame.iloc[4:6])


def test_model_without_rows_shows_those_of_its_fit(widgets):
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = lowland.Isomap(n_neighbors=8).fit(X)
    plot = model.widget(color=np.arange(30.0))
    plot.selected = [7]
    np.testing.assert_array_equal(plot.selection(), model.embedding_[[7]])
    with pytest.raises(ValueError, match=r"PCA stores no map of its training rows; give them: model.widget\(X\)"):
        lowland.PCA(n_components=2).fit(X).widget()


def test_recipe_shows_its_map(widgets):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((20, 3)), columns=["a", "b", "c"]).assign(kind=["u", "v"] * 10)
    recipe = lowland.recipe(lowland.PCA(n_components=2), drop=["kind"], scale="standard").fit(frame)
    plot = lowland.widget(recipe, frame, color="kind", text="c")
    read = data_of(plot)
    assert [axis["name"] for axis in read["axes"]] == axis_labels(recipe[-1])
    assert [column["name"] for column in read["columns"]] == ["c", "kind"]
    plot.selected = [3]
    pd.testing.assert_frame_equal(plot.selection(), frame.iloc[3:4])
    with pytest.raises(ValueError, match=r"PCA stores no map of its training rows; give them: widget\(model, X\)"):
        lowland.widget(recipe)
    with pytest.raises(ValueError, match="has no columns y and image"):
        lowland.widget(recipe, frame, "a")
    isomap = lowland.recipe("isomap", drop=["kind"]).fit(frame)
    assert data_of(lowland.widget(isomap))["total"] == 20


def test_columns_of_very_different_ranges_have_scales_of_their_own(widgets):
    read = data_of(lowland.widget(pd.DataFrame(TABLE | {"y": [500.0, 40_000.0, 3.0]})))
    assert [axis["name"] for axis in read["axes"]] == ["x (own scale)", "y (own scale)"]
    places = [np.frombuffer(base64.b64decode(axis["values"]["data"]), "<f4") for axis in read["axes"]]
    assert [(place.min(), place.max()) for place in places] == [(0, 1), (0, 1)]
    assert [axis["name"] for axis in data_of(lowland.widget(pd.DataFrame(TABLE)))["axes"]] == ["x", "y"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "nothing"}, r"x and y must be numeric columns \(x, y, age\); got 'nothing'"),
        ({"color": "nothing"}, "color must be a column or one value for each row"),
        ({"text": "nothing"}, "'nothing' is not a column"),
        ({"color": [1.0]}, "column 'color' has 1 values for 3 points"),
    ],
)
def test_wrong_columns_are_named(widgets, options, message):
    with pytest.raises(ValueError, match=message):
        lowland.widget(pd.DataFrame(TABLE), **options)


def test_missing_coordinates_are_refused(widgets):
    with pytest.raises(lowland.DataError, match="'x' and 'y' have missing values"):
        lowland.widget(pd.DataFrame(TABLE | {"x": [0.0, np.nan, 1.0]}), x="x", y="y")


def test_without_anywidget_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    _widget_class.cache_clear()
    with pytest.raises(lowland.MissingExtraError, match=r'pip install "lowland\[widget\]"'):
        lowland.widget(np.zeros((3, 2)))


def test_rows_of_lists():
    assert rows_of([[1, 2], [3, 4]], [1]) == [[3, 4]]
