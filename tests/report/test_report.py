"""Pictures and the report: what they show, that they are safe, offline and the same each time."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import lowland
from lowland.dimension.spectrum import CAVEAT
from lowland.plots import biplot, scatter, scree
from lowland.plots.coloring import GROUPS_MOST, Groups, Scale, read_colors
from lowland.plots.names import MAX_NAMES, visible_labels
from lowland.plots.scatter import RASTER_ABOVE, places
from lowland.plots.style import PALETTE
from lowland.quality import report
from lowland.report import page as pieces
from lowland.report import render_report, trust, write_page
from lowland.report.facts import axis_labels, explanations, quality, top_loadings
from lowland.report.svg import Tip, inline_svg
from report_page import Page as Reader


def rows(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 4)) * np.array([2.0, 1.7, 1.4, 1.0])


@pytest.fixture(scope="module")
def fitted() -> lowland.PCA:
    import polars as pl

    names = ["height", "<script>alert(1)</script>", 'a "quoted" & odd', "width"]
    return lowland.PCA(n_components=2).fit(pl.DataFrame(rows(), schema=names))


def page(model: lowland.PCA, **options: object) -> str:
    given: dict[str, object] = {"title": "Points", "data_summary": {"file": "points.csv", "rows": 60}}
    Y = np.asarray(model.transform(model_rows(model)))
    return render_report(model, Y, **{**given, **options})


def model_rows(model: lowland.PCA) -> object:
    import polars as pl

    return pl.DataFrame(rows(), schema=[str(name) for name in model.feature_names_in_])


# -- the report ---------------------------------------------------------------------------------------------


def test_report_holds_all_parts(fitted: lowland.PCA) -> None:
    text = Reader(page(fitted, command="lowland reduce points.csv --method pca")).text
    for heading in ("The map", "Share of the variance", "How many dimensions", "What the axes mean"):
        assert heading in text
    assert CAVEAT in text
    assert "lowland reduce points.csv --method pca" in text
    for name, value in fitted.fit_info_.rows():
        assert f"{name} {value}" in text
    assert f"n_components {fitted.n_components}" in text
    assert f"PCA 1 ({100 * fitted.explained_variance_ratio_[0]:.1f} %)" in text
    held = 100 * fitted.explained_variance_ratio_.sum()
    assert f"PCA reduced 60 rows from 4 columns to 2 dimensions, which hold {held:.1f} %" in text


def test_report_counts_agree_with_the_advice(fitted: lowland.PCA) -> None:
    found = lowland.dimension.advice(fitted.spectrum_, fitted.total_variance_)
    text = Reader(page(fitted)).text
    assert text.count(found.sentence) == 1
    for share, m in found.counts.items():
        assert f"{m} for {100 * share:.0f}%" in found.sentence


def test_user_text_is_escaped_everywhere(fitted: lowland.PCA) -> None:
    bad = "<script>alert(2)</script>"
    color = [bad if i % 2 else "</svg><b>" for i in range(60)]
    text = page(
        fitted,
        title=bad,
        color=color,
        color_name=bad,
        data_summary={bad: bad},
        command=f"lowland reduce '{bad}'",
    )
    read = Reader(text)
    assert read.tags.count("script") == text.count("<script") == 1  # the numbers
    assert "b" not in read.tags
    assert bad in read.text


def test_report_is_offline_and_ids_are_unique(fitted: lowland.PCA) -> None:
    text = page(fitted, color=np.arange(60.0), color_name="time")
    read = Reader(text)
    assert "http:" not in text
    assert "https:" not in text
    assert not {"link", "iframe", "object"} & set(read.tags)
    assert read.tags.count("svg") == 2
    assert len(read.ids) == len(set(read.ids))
    inner = [link for link in read.links if not link.startswith("data:")]
    inner += [f"#{name}" for name in re.findall(r"url\(#([^)]+)\)", text)]
    assert inner
    assert {link.removeprefix("#") for link in inner} <= set(read.ids)


def test_pictures_have_a_title_and_a_description_for_screen_readers(fitted: lowland.PCA) -> None:
    text = page(fitted)
    for name in ("scatter", "scree"):
        assert f'role="img" aria-labelledby="{name}-title {name}-desc"' in text
        assert f'<title id="{name}-title">' in text
        assert f'<desc id="{name}-desc">' in text


def test_the_same_input_gives_the_same_bytes(fitted: lowland.PCA, tmp_path: Path) -> None:
    Y = fitted.transform(model_rows(fitted))
    for name in ("a.html", "b.html"):
        write_page(tmp_path / name, render_report(fitted, Y, title="Points", data_summary={"rows": 60}))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_failed_write_leaves_the_old_report(
    fitted: lowland.PCA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.html"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(lowland.LowlandError, match="No space left"):
        write_page(file, render_report(fitted, rows()[:, :2], title="Points", data_summary={}))
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]


def test_warnings_of_the_fit_stand_at_the_top() -> None:
    X = rows() * np.array([1000.0, 1.0, 1.0, 1.0])
    with pytest.warns(lowland.DominantColumnWarning):
        model = lowland.PCA(n_components=2).fit(X)
    text = render_report(model, model.transform(X), title="Points", data_summary={})
    assert text.index('class="warning"') < text.index("The map")


def test_report_without_a_command_shows_the_call_in_python(fitted: lowland.PCA) -> None:
    assert "lowland.PCA(n_components=2).fit_transform(X)" in Reader(page(fitted)).text


def test_loadings_are_the_largest_of_either_sign(fitted: lowland.PCA) -> None:
    first = top_loadings(fitted)[0]
    order = np.argsort(-np.abs(fitted.components_[0]))
    assert [name for name, _ in first.columns] == [str(fitted.feature_names_in_[j]) for j in order]
    assert [value for _, value in first.columns] == pytest.approx(fitted.components_[0][order].tolist())
    assert first.left == 0


@pytest.mark.parametrize(
    ("n_columns", "solver", "said"),
    [
        (4, "auto", None),
        (60, "auto", "The open bar is the sum of all components after the 50th."),
        (60, "krylov", "components computed; the open bar is the remaining variance."),
    ],
)
def test_the_open_bar_of_the_scree_plot_is_explained(n_columns: int, solver: str, said: str | None) -> None:
    X = np.random.default_rng(0).normal(size=(90, n_columns))
    model = lowland.PCA(n_components=2, solver=solver).fit(X)
    text = Reader(render_report(model, model.transform(X), title="Points", data_summary={})).text
    assert said in text if said else "open bar" not in text


@pytest.mark.parametrize("name", ["TruncatedSVD", "ProbabilisticPCA"])
def test_other_methods_have_a_report(name: str) -> None:
    model = getattr(lowland, name)(n_components=2).fit(rows())
    text = Reader(render_report(model, model.transform(rows()), title=name, data_summary={})).text
    assert "Share of the variance" in text
    assert axis_labels(model)[0] in text


@pytest.mark.filterwarnings("ignore:TSNE:lowland.LowlandWarning")  # of the perplexity of few rows
def test_axes_are_called_by_the_method_and_counted_from_one(method: object, made) -> None:
    model = made(2).fit(rows())
    labels = [re.sub(r" \([\d.]+ %\)$", "", label) for label in axis_labels(model)]
    assert labels == [f"{method.title} {i + 1}" for i in range(len(labels))]


def test_maps_of_distances_say_in_words_how_well_they_fit() -> None:
    X = rows()
    D = np.abs(X[:, None] - X).sum(axis=2)
    for model, parts in (
        (
            lowland.ClassicalMDS(metric="precomputed"),
            ["The goodness of fit is", "of this sum is from negative eigenvalues"],
        ),
        (lowland.MetricMDS(metric="precomputed"), ["from the given distances", "Kruskal (1964)"]),
        (lowland.NonmetricMDS(metric="precomputed"), ["the same order as the given distances", "Kruskal (1964)"]),
        (lowland.MetricMDS(metric="precomputed", stress="sammon"), ["Sammon's stress is"]),
    ):
        model.fit(D)
        text = Reader(render_report(model, model.embedding_, title="Map", data_summary={})).text
        assert "How well the map fits" in text
        for part in parts:
            assert part in text
        assert "Each of the 60 objects is one point" in text


@pytest.mark.parametrize(
    ("value", "word"), [(0.0, "excellent"), (0.025, "excellent"), (0.04, "good"), (0.1, "fair"), (0.11, "poor")]
)
def test_a_stress_has_kruskals_word_unless_the_map_is_degenerate(value: float, word: str) -> None:
    model = lowland.MetricMDS().fit(rows())
    model.fit_info_ = replace(model.fit_info_, evidence={"stress-1": value})
    assert quality(model) == f"with stress-1 {value:.3g} ({word} by Kruskal's rule of thumb)"
    assert f"this value is {word}." in explanations(model)[0]
    model.fit_info_ = replace(model.fit_info_, evidence={"stress-1": value, "degenerate": True})
    assert quality(model) == f"with stress-1 {value:.3g}"
    assert "is not informative here" in explanations(model)[0]


def test_axes_have_numbers_only_where_those_mean_something(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def look(*args: object, **options: object) -> object:
        ax = scatter(*args, **options)
        seen.append(len(ax.get_xticks()))
        return ax

    monkeypatch.setattr(sys.modules["lowland.plots.scatter"], "scatter", look)
    monkeypatch.setattr(sys.modules["lowland.plots.quality_map"], "scatter", look)
    X = rows()
    for model, numbers in ((lowland.PCA(2), True), (lowland.ClassicalMDS(), False)):
        seen.clear()
        render_report(model, model.fit_transform(X), X=X, title="Points", data_summary={})
        assert [count > 0 for count in seen] == [numbers, numbers]


def test_matrices_among_the_parameters_are_told_by_their_shape() -> None:
    X = rows()
    model = lowland.MetricMDS(weights=np.ones((60, 60))).fit(X)
    text = Reader(render_report(model, model.embedding_, title="Map", data_summary={})).text
    assert "weights array 60 × 60 of float64" in text


# -- trust ------------------------------------------------------------------------------------------------------


def test_the_page_says_how_far_its_picture_can_be_believed(fitted: lowland.PCA) -> None:
    found = lowland.quality.report(rows(), fitted.transform(model_rows(fitted)))
    text = Reader(page(fitted, X=model_rows(fitted))).text
    assert "How reliable the map is" in text
    assert found.sentence in text
    for name in ("trustworthiness", "continuity", "neighborhood_overlap", "rnx_auc", "spearman"):
        assert f"{found[name]} (by chance {found.chance[name]:.3g})" in text
    assert "The same map, coloured by" in text
    assert "believed?" not in Reader(page(fitted)).text  # without the rows nothing can be said


def test_trust_is_of_the_two_dimensions_that_are_drawn_and_the_whole_map_is_told_beside_it() -> None:
    X = rows()
    model = lowland.PCA(n_components=3).fit(X)
    Y = model.transform(X)
    text = Reader(render_report(model, Y, X=X, title="Points", data_summary={})).text
    drawn, whole = lowland.quality.report(X, Y[:, :2]), lowland.quality.report(X, Y)
    assert drawn.sentence in text
    assert f"all 3 dimensions have trustworthiness {whole['trustworthiness']:.3f}" in text
    assert drawn.sentence != whole.sentence


def test_where_only_pairs_are_drawn_all_rows_are_still_shown(fitted: lowland.PCA, monkeypatch) -> None:
    monkeypatch.setattr("lowland.report.trust.PAIRS", 1500)  # of 1,770
    text = Reader(page(fitted, X=model_rows(fitted))).text
    assert "10 neighbours of all 60 rows, distances of 1,500 pairs, with 95 % intervals" in text
    assert "The same map, coloured by" in text


def test_trust_is_held_against_the_space_that_the_model_saw() -> None:
    X = rows() * np.array([1.0, 1.0, 1.0, 1000.0])
    scaled = lowland.PCA(n_components=2, scale=True).fit(X)
    Y = scaled.transform(X)
    text = Reader(render_report(scaled, Y, X=X, title="Points", data_summary={})).text
    assert lowland.quality.report(X / X.std(axis=0, ddof=1), Y).sentence in text
    with pytest.warns(lowland.DominantColumnWarning):
        raw = lowland.quality.report(X, Y)
    assert raw.sentence not in text
    assert "each divided by its standard deviation" in text
    D = np.abs(X[:, None] - X).sum(axis=2)
    model = lowland.ClassicalMDS(metric="precomputed").fit(D)
    text = Reader(render_report(model, model.embedding_, X=D, title="Map", data_summary={})).text
    assert lowland.quality.report(D, model.embedding_, metric="precomputed").sentence in text


def test_where_trust_has_no_meaning_the_page_says_why() -> None:
    X = rows()
    K = X @ X.T
    gaps = X.copy()
    gaps[3, 1] = np.nan
    for model, given, said in (
        (lowland.KernelPCA(n_components=2, kernel="precomputed"), K, "a matrix of similarities"),
        (lowland.ProbabilisticPCA(n_components=2), gaps, "contains NaN at row 3, column 1"),
        (lowland.PCA(n_components=1), X[:4], "at least 5 rows are needed"),
    ):
        Y = model.fit_transform(given)
        text = Reader(render_report(model, Y, X=given, title="Points", data_summary={})).text
        assert "Not measured: " in text
        assert said in text


# -- scree --------------------------------------------------------------------------------------------------


def heights(figure: object) -> list[float]:
    return [patch.get_height() for patch in figure.axes[0].patches]


def test_scree_bars_are_shares_and_the_line_is_their_sum() -> None:
    figure = scree([4.0, 3.0, 2.0, 1.0], kept=2).figure
    assert heights(figure) == pytest.approx([40, 30, 20, 10])
    assert figure.axes[0].lines[0].get_ydata().tolist() == pytest.approx([40, 70, 90, 100])
    colors = [patch.get_facecolor() for patch in figure.axes[0].patches]
    assert colors[0] == colors[1] != colors[2] == colors[3]
    assert "2 kept" in [text.get_text() for text in figure.axes[0].texts]


def test_scree_of_a_partial_spectrum_shows_the_rest_as_an_open_bar() -> None:
    figure = scree([4.0, 3.0], total=10.0).figure
    assert heights(figure) == pytest.approx([40, 30, 30])
    assert figure.axes[0].patches[-1].get_fill() is False
    assert figure.axes[0].get_xticklabels()[-1].get_text() == "rest"


def test_scree_of_a_long_spectrum_loses_nothing() -> None:
    figure = scree(np.ones(200)).figure
    assert sum(heights(figure)) == pytest.approx(100)
    assert len(heights(figure)) < 100


def test_scree_refuses_what_is_no_spectrum() -> None:
    with pytest.raises(ValueError, match="eigenvalues"):
        scree([])
    with pytest.raises(ValueError, match="positive"):
        scree([0.0, 0.0])


# -- scatter ------------------------------------------------------------------------------------------------


def points(ax: object) -> int:
    return sum(len(marks.get_offsets()) for marks in ax.collections)


@pytest.mark.parametrize("n", [10, RASTER_ABOVE + 1000])
@pytest.mark.parametrize("kind", [None, "groups", "numbers"])
def test_every_point_is_drawn(n: int, kind: str | None) -> None:
    Y = np.random.default_rng(0).normal(size=(n, 2))
    color = {None: None, "groups": ["u", "v"] * (n // 2), "numbers": Y[:, 0]}[kind]
    ax = scatter(Y, color=color, color_name="shade")
    assert points(ax) == n
    assert all(marks.get_rasterized() == (n > RASTER_ABOVE) for marks in ax.collections)
    svg = inline_svg(ax.figure, "p", "points", "all of them")
    assert ("<image" in svg) == (n > RASTER_ABOVE or kind == "numbers")


def test_groups_have_a_legend_and_numbers_a_colour_bar() -> None:
    ax = scatter(np.eye(2), color=["cat", None], color_name="animal")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cat", "missing"]
    assert ax.get_legend().get_title().get_text() == "animal"
    ax = scatter(np.eye(2), color=[0.5, float("nan")], color_name="weight")
    assert ax.figure.axes[1].get_ylabel() == "weight (grey: 1 missing)"
    assert points(ax) == 2


def test_one_coordinate_is_a_strip() -> None:
    ax = scatter(np.arange(5.0)[:, None], labels=["pca0 (99.0 %)"])
    assert points(ax) == 5
    assert ax.get_xlabel() == "pca0 (99.0 %)"
    assert len(ax.get_yticks()) == 0


def test_few_points_have_their_names_beside_them_and_many_under_the_pointer(fitted: lowland.PCA) -> None:
    names = [f"n{i}" for i in range(MAX_NAMES + 1)]
    Y = np.random.default_rng(0).uniform(size=(len(names), 2))
    assert visible_labels(scatter(Y[:-1], names=names[:-1])) == names[:-1]
    assert visible_labels(scatter(Y, names=names)) == []
    few = render_report(fitted, Y[:-1], names=names[:-1], title="Points", data_summary={})
    assert few.count(">n7<") == 2
    assert "Hover over a point to see its name." not in few
    many = render_report(fitted, Y, names=names, title="Points", data_summary={})
    assert many.count(">n7<") == 1
    assert "Hover over a point to see its name." in many
    with pytest.raises(ValueError, match="3 names for 61 rows"):
        scatter(Y, names=["a", "b", "c"])


def test_names_without_room_are_left_to_the_pointer(fitted: lowland.PCA) -> None:
    Y = np.random.default_rng(0).normal(size=(50, 2)) * 1e-3
    Y[0] = 1.0  # alone, so that the others lie in a heap
    names = [f"a long name {i:02d}" for i in range(50)]
    assert 1 < len(visible_labels(scatter(Y, names=names))) < 30
    text = render_report(fitted, Y, names=names, title="Points", data_summary={})
    assert all(f"<title>{name}</title>" in text for name in names)
    assert "Hover over a point to see its name." in text


def test_names_are_escaped_and_stand_for_themselves(fitted: lowland.PCA) -> None:
    bad = "<script>alert(3)</script>"
    text = page(fitted, names=[bad, "$x$ & _y_"] * 30)
    assert text.count("<script") == 1  # the numbers
    assert "$x$ &amp; _y_" in text
    assert bad in Reader(text).text


@pytest.mark.parametrize("color", [None, "scale", "groups"])
@pytest.mark.parametrize("width", [1, 2])
def test_what_the_pointer_shows_lies_over_the_points(width: int, color: str | None) -> None:
    Y = np.random.default_rng(1).normal(size=(80, width))
    shade = {None: None, "scale": Y[:, 0], "groups": ["u", "v"] * 40}[color]
    x, y = places(Y)
    svg = inline_svg(
        scatter(Y, color=shade).figure,
        "p",
        "t",
        "d",
        [Tip(*place, str(i)) for i, place in enumerate(zip(x, y, strict=True))],
    )
    marks = [
        tuple(map(float, found))
        for found in re.findall(r'<use href="#p-[^"]*" x="([-.\d]+)" y="([-.\d]+)" style="fill: #', svg)
    ]
    discs = [tuple(map(float, found)) for found in re.findall(r'<circle cx="([-.\d]+)" cy="([-.\d]+)"', svg)]
    assert len(discs) == 80
    nearest = np.abs(np.array(discs)[:, None] - np.array(marks)).max(axis=2).min(axis=1)
    assert nearest.max() < 0.02


def test_dollar_signs_are_text_not_mathematics() -> None:
    svg = inline_svg(scatter(np.eye(2), color=["$x$", "$"], color_name="$y$").figure, "p", "t", "d")
    assert "$x$" in svg
    assert "$y$" in svg


def test_colours_are_read_as_groups_or_scale() -> None:
    assert isinstance(read_colors([True, False], 2), Groups)
    assert isinstance(read_colors([10, 2, 10], 3), Groups)
    assert read_colors([10, 2, 10], 3).labels == ("2", "10")
    assert isinstance(read_colors(list(range(50)), 50), Scale)
    assert isinstance(read_colors([0.5, 1.5], 2), Scale)
    with pytest.raises(ValueError, match="3 values for 2 rows"):
        read_colors([1, 2, 3], 2)


def test_rare_groups_share_an_entry_and_stay_in_the_picture() -> None:
    names = [f"g{i:03d}" for i in range(GROUPS_MOST + 5)]
    found = read_colors(names + names[: GROUPS_MOST - 1], 2 * GROUPS_MOST + 4)
    assert isinstance(found, Groups)
    assert found.labels[found.others] == "other (6 smaller groups)"
    assert int((found.codes == found.others).sum()) == 6
    assert points(scatter(np.random.default_rng(0).normal(size=(len(names), 2)), color=names)) == len(names)


def test_outlines_of_labels_have_the_colour_of_the_page(rng) -> None:
    """A white outline around light letters could not be read on a dark page."""
    X = rng.normal(size=(30, 4))
    svg = inline_svg(biplot(lowland.PCA(2).fit(X), X).figure, "b", "t", "d")
    assert "stroke: var(--back, #ffffff)" in svg
    assert "stroke: #ffffff" not in svg


def test_pictures_leave_no_global_state() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    inline_svg(scree([2.0, 1.0]).figure, "s", "t", "d")
    assert dict(mpl.rcParams) == before


def test_a_colour_of_groups_says_how_much_of_them_is_left(rng):
    """Two groups that differ in a column of little variance, which the picture leaves out."""
    kind = np.repeat(["left", "right"], 100)
    X = np.column_stack(
        [rng.normal(0, 5, 200), rng.normal(0, 4, 200), 2.0 * (kind == "left") + rng.normal(0, 0.1, 200)]
    )
    model = lowland.PCA(n_components=2).fit(X)
    page = render_report(
        model, model.transform(X), X=X, color=kind, color_name="side", title="T", data_summary={"rows": 200}
    )
    assert "Share of the 10 nearest neighbours in the same group (side)" in page
    assert "the map mixes groups that are separate in the data" in page
    scale = render_report(
        model, model.transform(X), X=X, color=X[:, 2], color_name="depth", title="T", data_summary={"rows": 200}
    )
    assert "own group" not in scale, "numbers on a scale are no groups"


def test_no_two_of_twenty_groups_share_a_colour() -> None:
    Y = np.random.default_rng(0).normal(size=(400, 2))
    for n, shown in ((15, 15), (20, 20), (21, 20), (40, 20)):
        sizes = [f"g{(i * i) % n:02d}" for i in range(400)]
        sizes[:n] = [f"g{i:02d}" for i in range(n)]  # none is empty
        legend = scatter(Y, color=sizes).get_legend()
        colors = [handle.get_color() for handle in legend.legend_handles]
        assert len(set(colors)) == len(colors) == shown
        last = legend.get_texts()[-1].get_text()
        assert last == (f"other ({n - 19} smaller groups)" if n > 20 else f"g{n - 1:02d}")


def test_the_largest_groups_keep_their_colours_and_their_order() -> None:
    names = [f"g{i:02d}" for i in range(30) for _ in range(1 + (i % 3 == 0) * 5 + i)]
    found = read_colors(names, len(names))
    assert list(found.labels[:-1]) == sorted(found.labels[:-1])
    assert {"g29", "g28", "g27"} <= set(found.labels)
    assert found.labels[found.others] == "other (11 smaller groups)"


def test_the_second_ten_colours_are_as_far_apart_as_the_first() -> None:
    """Distances in OKLab (Ottosson 2020)."""
    rgb = np.array([[int(tone[i : i + 2], 16) / 255 for i in (1, 3, 5)] for tone in PALETTE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(
        linear @ np.array([[0.41222, 0.2119, 0.0883], [0.53633, 0.6807, 0.28172], [0.05145, 0.1074, 0.62998]])
    )
    lab = cones @ np.array([[0.21045, 1.978, 0.0259], [0.79362, -2.42859, 0.78277], [-0.00407, 0.45059, -0.80868]])
    apart = np.linalg.norm(lab[:, None] - lab, axis=2) + 9 * np.eye(len(lab))
    assert len(PALETTE) == 20
    assert apart.min() >= 0.999 * apart[:10, :10].min()


@pytest.mark.filterwarnings("ignore::lowland.LowlandWarning")
def test_no_negative_share_of_variance(rng):
    """An indefinite kernel whose eigenvalues have a negative sum."""
    X = rng.standard_normal((40, 3))
    model = lowland.KernelPCA(1, kernel="precomputed").fit(X * [1, -3, -3] @ X.T)
    assert model.fit_info_.evidence["share of variance"] < 0
    assert quality(model) is None


def test_what_lies_over_a_map_is_inside_its_frame() -> None:
    from lowland.plots.overlay import Overlay

    Y = np.random.default_rng(0).standard_normal((40, 2)) * [5.0, 0.5]
    over = Overlay({"up": (0.0, 0.9), "short": (0.1, 0.0)}, {"kind a": (0.0, 0.1)}, Y[:5] + 20)
    axes = scatter(Y, overlay=over)
    assert visible_labels(axes, "arrow") == ["up", "short"]
    assert visible_labels(axes, "center") == ["kind a"]
    axes.figure.canvas.draw()
    assert axes.get_ylim()[1] >= 0.8 * np.linalg.norm(Y - Y.mean(axis=0), axis=1).max() + Y[:, 1].mean() - 1e-9
    assert axes.get_xlim()[1] > 20
    hollow = axes.collections[-1]
    assert len(hollow.get_offsets()) == 5
    assert len(hollow.get_facecolors()) == 0
    strip = scatter(Y[:, :1], overlay=Overlay({"up": (0.9,)}, {"kind a": (0.0,)}, Y[:5, :1]))
    assert [text.get_text() for text in strip.texts] == ["kind a"]


def test_commands_break_between_options_only():
    """An option stays with its value in one line; the text that is copied is the command."""
    text = "lowland reduce 'my table.csv' --method tsne --set perplexity=5 -k 3 --out a-b/map.csv"
    drawn = pieces.command(text)
    assert '<span class="piece">--method tsne</span>' in drawn
    assert '<span class="piece">--out a-b/map.csv</span>' in drawn
    assert unescape(re.sub(r"<[^>]*>", "", drawn)) == text
    assert "piece" not in pieces.code('{"a-b": 1}')


def test_figures_that_scroll_are_named():
    drawn = pieces.figure('<svg><title id="a">Map of the rows</title></svg>', "what it shows")
    assert 'aria-label="Figure: Map of the rows"' in drawn
    assert "<figcaption>what it shows</figcaption>" in drawn
    assert 'aria-label="Figure"' in pieces.figure("<svg></svg>")


def test_geodesic_measures_of_separate_pieces_are_told_in_words(rng) -> None:
    """Two far clusters have no connected neighbour graph: their geodesic measures are no numbers."""
    X = np.vstack([rng.standard_normal((60, 4)), 1000 + rng.standard_normal((60, 4))])
    Y = lowland.PCA(2).fit_transform(X)
    drawn = trust.section(trust.Trust(report(X, Y), None), Y, [str(i) for i in range(120)])
    assert "not measured: the neighbour graph is not connected" in drawn
    assert "nan" not in re.findall(r"[a-z]+", drawn.lower())


def test_the_heading_of_the_axes_is_printed_with_its_cards():
    """Chromium ignores break-after before a grid, so the whole section is kept on one page."""
    style = (Path(lowland.__file__).parent / "report" / "style.css").read_text(encoding="utf-8")
    assert "section:has(> .cards) { break-inside: avoid; }" in style.partition("@media print")[2]
