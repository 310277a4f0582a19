"""Figures from the command line: formats, sizes, axes, kinds, and what they show."""

from __future__ import annotations

import shlex
import struct
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import pdist

import lowland
from lowland.cli import figures
from lowland.cli.figure_options import DPI

MAGIC = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-"}


def pixels(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file, from its header."""
    head = path.read_bytes()[:24]
    assert head.startswith(MAGIC["png"])
    width, height = struct.unpack(">II", head[16:24])
    return width, height


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are written, as matplotlib objects."""
    kept: list[Any] = []
    usual = figures.save_figure

    def keep(path: Path, figure: Any, look: Any) -> None:
        kept.append(figure)
        usual(path, figure, look)

    monkeypatch.setattr(figures, "save_figure", keep)
    return kept


# -- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", MAGIC)
def test_figures_are_written_in_each_format_and_the_same_each_time(run, table, tmp_path, form) -> None:
    files = [tmp_path / f"{name}.{form}" for name in "ab"]
    for file in files:
        found = run("reduce", table, "--color", "kind", "--out", "flat.csv", "--figure", file, "--json")
        assert found.code == 0, found.err
        assert found.json["figure"] == str(file)
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(MAGIC[form])
    assert first == second
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(("size", "dpi"), [("8x6", None), ("4x3", 100), ("5.5x2.5", 72)])
def test_size_and_resolution_are_those_asked_for(run, table, tmp_path, size, dpi) -> None:
    more = [] if dpi is None else ["--dpi", dpi]
    found = run("reduce", table, "--out", "flat.csv", "--figure", "map.png", "--size", size, *more)
    assert found.code == 0, found.err
    width, height = (float(part) * (dpi or DPI) for part in size.split("x"))
    assert pixels(tmp_path / "map.png") == pytest.approx((width, height), abs=1)


def test_the_style_gives_the_background_and_files_are_not_transparent(run, table, tmp_path) -> None:
    from matplotlib.image import imread

    corners = {}
    for style in ("paper", "slide", "dark"):
        assert run("reduce", table, "--out", "o.csv", "--figure", f"{style}.png", "--style", style).code == 0
        corners[style] = imread(tmp_path / f"{style}.png")[0, 0]
    assert corners["paper"].tolist() == corners["slide"].tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(corners["dark"], [13 / 255, 17 / 255, 23 / 255, 1], atol=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--figure", "map.bmp"], "--figure map.bmp: the name must end in one of .png, .svg, .pdf"),
        (["--figure", "no/map.png"], "folder 'no' does not exist"),
        (["--figure", "map.png", "--size", "big"], "--size big: write it as WIDTHxHEIGHT in inches"),
        (["--figure", "map.png", "--size", "0x3"], "each from 1 to 60"),
        (["--figure", "map.png", "--dpi", "3"], "--dpi 3: must be from 20 to 1200"),
        (
            ["--figure", "map.png", "--axes", "2,3"],
            "axis 3 was not kept, only 2 were (pca0, pca1); fit with --components 3",
        ),
        (["--figure", "map.png", "--axes", "1,2,3,4"], "at most 3 axes"),
        (["--figure", "map.png", "--figure-kind", "biplott"], "did you mean biplot?"),
        (["--axes", "1,2"], "--axes applies to a figure: add --figure FILE"),
        (["--style", "dark"], "--style applies to a figure: add --figure FILE"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_table_is_read(run, words, said) -> None:
    found = run("reduce", "nowhere.csv", "--out", "flat.csv", *words)
    assert found.code == 2
    assert said in found.err


def test_a_figure_does_not_overwrite_the_data_or_another_output(run, table, tmp_path) -> None:
    data = tmp_path / "data.png"
    data.write_bytes(table.read_bytes())
    found = run("reduce", data, "--format", "csv", "--figure", data)
    assert found.code == 2
    assert "would overwrite" in found.err


# -- axes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["2,3", "pca1,pca2", "2,pca2"])
def test_axes_are_counted_from_one_or_named(run, table, drawn, axes) -> None:
    words = ("--components", 3, "--out", "flat.csv", "--figure", "map.png", "--axes", axes)
    assert run("reduce", table, *words).code == 0
    (ax,) = drawn[0].axes
    assert ax.get_xlabel().startswith("PCA 2 (")
    assert ax.get_ylabel().startswith("PCA 3 (")
    flat = pl.read_csv("flat.csv")
    points = np.concatenate([marks.get_offsets() for marks in ax.collections])
    want = flat.select("pca1", "pca2").to_numpy()
    assert sorted(map(tuple, np.round(points, 9))) == sorted(map(tuple, np.round(want, 9)))


def test_an_axis_that_will_not_be_kept_is_answered_with_the_names_there_are(run, table) -> None:
    found = run("reduce", table, "--out", "flat.csv", "--figure", "map.png", "--axes", "pca1,pca2", "--components", 2)
    assert found.code == 2
    assert "axis 3 was not kept, only 2 were (pca0, pca1); fit with --components 3" in found.err


@pytest.mark.parametrize("command", ["transform", "reduce", "plot"])
def test_the_help_names_axes_as_the_columns_are(run, command) -> None:
    text = " ".join(run(command, "--help").out.replace("│", " ").split())
    assert "counted from 1, or by the names of their columns: 1,3 or pca0,pca2" in text
    if command == "transform":
        assert "terms (unknown terms of a text)" in text


def test_three_axes_are_drawn_in_space(run, table, drawn) -> None:
    words = ("--components", 3, "--out", "flat.csv", "--figure", "map.png", "--axes", "1,2,3", "--size", "5x5")
    assert run("reduce", table, *words).code == 0
    assert drawn[0].axes[0].name == "3d"


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ("1,4", "axis 4 was not kept, only 3 were (pca0, pca1, pca2); fit with --components 4"),
        ("1,umap0", "there is no axis 'umap0'; axes are counted from 1, or named: pca0, pca1, pca2"),
        ("0,1", "there is no axis '0'"),
        ("2,2", "the same axis is named twice"),
        ("pca2,pca3", "there is no axis 'pca3'; axes are counted from 1, or named: pca0, pca1, pca2"),
    ],
)
def test_axes_that_do_not_exist_name_the_remedy(run, model, table, axes, said) -> None:
    found = run("plot", model, table, "--out", "map.png", "--axes", axes)
    assert found.code == 2
    assert said in found.err
    assert not Path("map.png").exists()


# -- kinds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["map", "scree", "biplot", "correlation_circle", "loadings", "shepard", "rnx"])
def test_kinds_of_a_model_are_drawn(run, table, kind) -> None:
    found = run("reduce", table, "--out", "flat.csv", "--figure", "it.png", "--figure-kind", kind)
    assert found.code == 0, found.err
    assert pixels(Path("it.png"))[0] > 300


def test_a_kind_that_the_method_does_not_have_lists_those_it_has(run, table) -> None:
    words = ("--method", "isomap", "--n-neighbors", 8, "--out", "flat.csv", "--figure", "it.png")
    found = run("reduce", table, *words, "--figure-kind", "u_matrix")
    assert found.code == 2
    assert "--figure-kind u_matrix: not possible for Isomap; possible: map, " in found.err
    assert "residual_variance" in found.err
    assert Path("flat.csv").exists(), "the map is not lost"


def test_plot_lists_the_kinds_of_a_model(run, model, table) -> None:
    found = run("plot", model, "--kind", "u_matrix", "--out", "it.png")
    assert found.code == 2
    assert "possible for PCA: map, " in found.err
    assert "biplot" in found.err
    found = run("plot", "whole.csv", "--kind", "biplot", "--out", "it.png")
    assert found.code == 2
    assert "possible for this table: map; with DATA also quality_map, shepard, rnx" in found.err


# -- commands ---------------------------------------------------------------------------------------------


def test_transform_draws_new_rows_over_the_training_rows(run, table, frame, drawn) -> None:
    frame.head(5).write_csv("new.csv")
    words = ("--method", "isomap", "--n-neighbors", 8, "--out", "o.csv", "--model", "m.lowland")
    assert run("reduce", table, *words).code == 0
    found = run("transform", "m.lowland", "new.csv", "--out", "placed.csv", "--figure", "new.svg")
    assert found.code == 0, found.err
    sizes = sorted(len(marks.get_offsets()) for marks in drawn[0].axes[0].collections)
    assert sizes == [5, 30]


def test_transform_can_colour_the_new_rows(run, table, model, drawn) -> None:
    found = run("transform", model, table, "--color", "kind", "--out", "placed.csv", "--figure", "new.png")
    assert found.code == 0, found.err
    legend = drawn[0].axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["blue", "green", "red"]
    assert "kind" in pl.read_csv("placed.csv").columns


def test_evaluate_draws_the_share_of_neighbours_kept(run, table, frame, drawn) -> None:
    assert run("reduce", table, "--out", "flat.csv").code == 0
    assert run("evaluate", table, "flat.csv", "--figure", "trust.png").code == 0
    Y = pl.read_csv("flat.csv").to_numpy()
    kept = lowland.quality.pointwise(frame.select("a", "b", "c").to_numpy(), Y, 7).kept
    (marks,) = [found for found in drawn[0].axes[0].collections if len(found.get_offsets()) == 30]
    places = {tuple(np.round(place, 9)): value for place, value in zip(Y, kept, strict=True)}
    shown = [places[tuple(np.round(place, 9))] for place in np.asarray(marks.get_offsets())]
    np.testing.assert_allclose(np.asarray(marks.get_array()), shown)
    assert run("evaluate", table, "flat.csv", "--target", "kind", "--figure", "m.png", "--figure-kind", "map").code == 0
    assert [text.get_text() for text in drawn[1].axes[0].get_legend().get_texts()] == ["blue", "green", "red"]


def test_outliers_are_marked_and_named(run, frame, drawn) -> None:
    odd = frame.with_columns(pl.when(pl.col("name") == "row7").then(40.0).otherwise(pl.col("b")).alias("b"))
    odd.write_csv("odd.csv")
    found = run("outliers", "odd.csv", "--id", "name", "--figure", "odd.png", "--json")
    assert found.json["names"] == ["row7"]
    ax = drawn[0].axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["inliers", "outliers (flagged)"]
    assert "row7" in [text.get_text() for text in ax.texts]


def test_dimension_has_a_size_and_a_style(run, table, tmp_path) -> None:
    words = ("--figure", "d.png", "--size", "9x4", "--style", "slide", "--dpi", 50)
    assert run("dimension", table, *words).code == 0
    assert pixels(tmp_path / "d.png") == (450, 200)
    found = run("dimension", table, "--size", "9x4")
    assert found.code == 2
    assert "add --figure FILE" in found.err


def test_plot_of_a_model_needs_rows_only_where_it_does_not_hold_its_map(run, table, model) -> None:
    found = run("plot", model, "--out", "map.png")
    assert found.code == 2
    assert f"give the table of the rows after the model: lowland plot {model} DATA.csv; without rows: " in found.err
    assert "--kind scree" in found.err
    assert run("plot", model, table, "--color", "kind", "--id", "name", "--out", "map.png").code == 0
    assert run("plot", model, "--kind", "scree", "--out", "scree.pdf").code == 0
    words = ("--method", "isomap", "--n-neighbors", 8, "--out", "o.csv", "--model", "m.lowland")
    assert run("reduce", table, *words).code == 0
    assert run("plot", "m.lowland", "--out", "isomap.svg").code == 0


def test_a_figure_without_a_name_is_named_after_file_and_kind(run, table, model) -> None:
    stem = Path(model).stem
    found = run("plot", model, "--kind", "scree", "--json").json
    assert found["out"] == f"{stem}-scree.png"
    assert Path(found["out"]).read_bytes().startswith(b"\x89PNG")
    again = run("plot", model, "--kind", "scree")
    assert again.code == 2, "a file is replaced only if it is named"
    assert f"{stem}-scree.png exists already" in again.err
    assert run("plot", model, "--kind", "scree", "--out", f"{stem}-scree.png").code == 0
    assert run("reduce", table, "--out", "wine-map.csv").code == 0
    assert run("plot", "wine-map.csv", "--json").json["out"] == "wine-map.png"
    assert "--out wine-quality_map.png" in run("plot", "wine-map.csv", table, "--out", "x.png").err


def test_a_missing_option_is_not_called_a_missing_value(run, table) -> None:
    assert "--target is missing. Column to predict" in run("downstream", table).err
    assert "--target needs a value." in run("downstream", table, "--target").err


def test_plot_of_a_recipe_takes_raw_rows(run, frame, tmp_path) -> None:
    gaps = frame.with_columns(pl.when(pl.col("name") == "row3").then(None).otherwise(pl.col("b")).alias("b"))
    gaps.write_csv("gaps.csv")
    words = ("--missing", "median", "--scaler", "robust", "--out", "o.csv", "--model", "m.lowland")
    assert run("reduce", "gaps.csv", *words).code == 0
    assert run("plot", "m.lowland", "gaps.csv", "--kind", "biplot", "--color", "kind", "--out", "b.png").code == 0


def test_plot_of_coordinates_made_elsewhere(run, table, frame, drawn) -> None:
    Y = np.random.default_rng(0).normal(size=(30, 2))
    made = pl.DataFrame({"name": frame["name"], "east": Y[:, 0], "north": Y[:, 1], "kind": frame["kind"]})
    made.write_csv("made.csv")
    words = ("--x", "east", "--y", "north", "--color", "kind")
    assert run("plot", "made.csv", *words, "--out", "map.png").code == 0
    assert drawn[0].axes[0].get_xlabel() == "east"
    for kind in ("quality_map", "shepard", "rnx"):
        found = run("plot", "made.csv", table, *words[:4], "--id", "name", "--kind", kind, "--out", f"{kind}.png")
        assert found.code == 0, found.err
    heights = drawn[2].axes[0].collections[0].get_offsets()[:, 1]
    assert heights.max() == pytest.approx(pdist(Y).max()), "distances in the map are on the vertical axis"


@pytest.mark.parametrize("words", [("--x", "a"), ("--y", "a")])
def test_one_coordinate_alone_is_refused(run, table, words) -> None:
    found = run("evaluate", table, *words)
    assert found.code == 2
    assert "give both" in found.err


def test_the_command_that_plot_suggests_runs(run, model, table) -> None:
    found = run("plot", model, table, "--out", "map.png", "--json")
    assert found.json["kinds"][0] == "map"
    assert run(*shlex.split(found.json["next"])[1:]).code == 0


def test_a_kind_that_needs_rows_names_their_argument(run, model) -> None:
    done = run("plot", model, "--kind", "biplot", "--out", "b.png")
    assert done.code == 2
    assert (
        "--kind biplot is drawn from the rows of the fit: give their table after the model: lowland plot " in done.err
    )
    assert "as X" not in done.err


def test_an_error_names_the_option_as_it_was_given(run, table) -> None:
    done = run("reduce", table, "--method", "isomap", "--n-neighbors", "5000", "--out", "o.csv")
    assert "--n-neighbors 5000 must be less than" in done.err
    done = run("reduce", table, "--method", "isomap", "--set", "n_neighbors=5000", "--out", "o.csv")
    assert "--set n_neighbors=5000 must be less than" in done.err


def test_correlations_say_that_they_wrote_the_figure(run, table) -> None:
    done = run("correlations", table, "--id", "name", "--figure", "c.png")
    assert done.code == 0, done.err
    assert "Wrote c.png." in done.err


# -- what a kind cannot show ------------------------------------------------------------------------------


def test_only_kinds_that_colour_rows_take_a_column_of_colours(run, table, model) -> None:
    kinds = run("plot", model, table, "--out", "m.png", "--json").json["kinds"]
    coloured = {"map", "biplot", "neighbor_graph"}
    assert coloured < set(kinds)
    for kind in kinds:
        done = run("plot", model, table, "--kind", kind, "--color", "kind", "--out", f"{kind}.png")
        if kind in coloured:
            assert done.code == 0, done.err
        else:
            assert done.code == 2, kind
            assert f"--color kind: a figure of the kind {kind} does not colour rows; remove it" in done.err
            assert not Path(f"{kind}.png").exists()


def test_the_column_of_colours_of_a_reduction_is_for_its_other_outputs_too(run, table) -> None:
    words = ("--color", "kind", "--out", "flat.csv", "--figure", "c.png", "--figure-kind", "correlation_circle")
    assert run("reduce", table, *words).code == 0


@pytest.mark.parametrize("kind", ["shepard", "rnx"])
def test_a_comparison_with_the_data_is_of_the_chosen_axes(run, table, frame, drawn, kind) -> None:
    assert run("reduce", table, "--components", 3, "--out", "flat.csv").code == 0
    Y = pl.read_csv("flat.csv").select("pca0", "pca1", "pca2").to_numpy()
    X = frame.select("a", "b", "c").to_numpy()
    assert run("plot", "flat.csv", table, "--kind", kind, "--axes", "1,pca2", "--out", "p.png").code == 0
    assert run("evaluate", table, "flat.csv", "--figure", "e.png", "--figure-kind", kind, "--axes", "1,3").code == 0
    assert run("plot", "flat.csv", table, "--kind", kind, "--out", "all.png").code == 0

    def shown(figure) -> list:
        ax = figure.axes[0]
        return [np.asarray(line.get_ydata()).tolist() for line in ax.lines] + [
            marks.get_offsets().tolist() for marks in ax.collections if hasattr(marks, "get_offsets")
        ]

    want = shown(getattr(lowland.plots, kind)(Y[:, [0, 2]], X).figure)
    assert shown(drawn[0]) == shown(drawn[1]) == want
    assert shown(drawn[2]) != want
    done = run("plot", "flat.csv", table, "--kind", kind, "--axes", "1,9", "--out", "none.png")
    assert done.code == 2
    assert "axis 9 was not kept, only 3 were" in done.err


# -- names of axes ----------------------------------------------------------------------------------------


def test_axes_may_be_named_as_in_the_figure(run, table, drawn) -> None:
    words = ("--components", 3, "--out", "flat.csv", "--model", "m.lowland", "--figure", "map.png")
    assert run("reduce", table, *words, "--axes", "PCA 3,PCA 1").code == 0
    assert run("plot", "m.lowland", table, "--axes", "PCA 3,PCA 1", "--out", "p.png").code == 0
    words = ("--axes", "PCA 3,PCA 1", "--figure", "t.png", "--out", "t.csv")
    assert run("transform", "m.lowland", table, *words).code == 0
    words = ("--kind", "biplot", "--axes", "PCA 3,PCA 1", "--out", "b.png")
    assert run("plot", "m.lowland", table, *words).code == 0
    assert run("outliers", table, "--figure", "o.png", "--axes", "PCA 3,pca0").code == 0
    for figure in drawn:
        ax = figure.axes[0]
        assert ax.get_xlabel().startswith("PCA 3 (")
        assert ax.get_ylabel().startswith("PCA 1 (")


@pytest.mark.parametrize("axes", ["PC1", "tsne0,1", "0,1"])
def test_names_of_no_axes_are_refused_before_anything_is_written(run, table, model, axes) -> None:
    for words in (
        ("reduce", table, "--model", "new.lowland"),
        ("reduce", table, "--components", "90%"),
        ("transform", model, table),
        ("evaluate", table, "whole.csv"),
    ):
        done = run(*words, "--out", "none.csv", "--figure", "none.png", "--axes", axes)
        assert done.code == 2, words
        assert f"--axes {axes}: there is no axis " in done.err
        assert not any(Path(name).exists() for name in ("none.csv", "none.png", "new.lowland"))


@pytest.mark.parametrize("axes", ["PCA 3,PCA 1", "pca2"])
def test_an_axis_by_name_that_will_not_be_kept_names_the_remedy(run, axes) -> None:
    done = run("reduce", "nowhere.csv", "--out", "none.csv", "--figure", "none.png", "--axes", axes)
    assert "axis 3 was not kept, only 2 were (pca0, pca1); fit with --components 3" in done.err
