"""Maps beside each other: their places, colours, verdicts and legends."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import lowland
from lowland import quality
from lowland.plots import panels
from lowland.plots.panels import compare_grid
from lowland.plots.style import PALETTE, theme


@pytest.fixture(scope="module")
def maps():
    X, unrolled = lowland.data.swiss_roll(200, random_state=0)
    return X, {"PCA": lowland.PCA(2).fit_transform(X), "$unrolled$": unrolled, "first column": X[:, :1]}


def test_each_map_has_a_panel_with_its_verdict(maps):
    X, named = maps
    drawn = compare_grid(named, X)
    assert len(drawn) == 3
    for axes, (name, Y) in zip(drawn, named.items(), strict=True):
        words = quality.report(X, Y).verdict.words
        expected = [name.replace("$", r"\$"), *(f"{what} {word}" for what, word in words.items())]
        assert axes.get_title().split("\n") == expected
        assert not len(axes.get_xticks())
        places = axes.collections[0].get_offsets()
        np.testing.assert_allclose(places[:, : Y.shape[1]], Y)
    assert len(drawn[0].figure.axes) == 3


def test_groups_and_scales_have_one_legend(maps):
    _, named = maps
    arc = named["$unrolled$"][:, 0]
    parts = np.where(arc < np.median(arc), "inner", "outer")
    drawn = compare_grid(named, color=parts, color_name="part")
    (legend,) = drawn[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["inner", "outer"]
    assert legend.get_title().get_text() == "part"
    tones = drawn[1].collections[0].get_facecolor()
    assert {to_hex(tone) for tone in tones} == set(PALETTE[:2])
    assert [text.get_text() for text in drawn[0].texts] == ["inner", "outer"]
    assert drawn[0].get_title() == "PCA", "without the data there is no verdict"
    scaled = compare_grid(named, color=arc, color_name="arc")
    assert [axes.get_ylabel() for axes in scaled[0].figure.axes[3:]] == ["arc"]
    np.testing.assert_allclose(scaled[0].collections[1].get_array(), arc)


def test_large_maps_are_judged_by_a_sample(maps, monkeypatch):
    X, named = maps
    monkeypatch.setattr(panels, "_ALL_UP_TO", 100)
    monkeypatch.setattr(panels, "_ANCHORS", 50)
    drawn = compare_grid(named, X)
    assert drawn[-1].get_xlabel() == "judged by 50 of 200 points"
    assert "neighbours good" in drawn[1].get_title()


def test_a_comparison_is_drawn(compared):
    X, _, found = compared
    drawn = compare_grid(found)
    best = found.ranked()
    assert [axes.get_title().split("\n")[0].removesuffix(" (recommended)") for axes in drawn] == [
        entry["key"] for entry in best
    ]
    marked = [axes for axes in drawn if "(recommended)" in axes.get_title()]
    assert len(marked) == 1
    assert marked[0].title.get_fontweight() == "bold"
    assert "neighbours" in drawn[0].get_title()
    assert sum(len(part.get_offsets()) for part in drawn[0].collections) == len(found.maps[best[0]["key"]].rows)
    assert drawn[0].figure.legends[0].get_title().get_text() == "target"
    only = compare_grid(found, color=X[:, 0], color_name="x", most=1)
    assert len(only) == 1
    placed = found.maps[found.recommend().key]
    np.testing.assert_allclose(only[0].collections[1].get_array(), X[placed.rows, 0])


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) + 4 * (np.arange(120) % 2)[:, None]
    kinds = np.array(["a", "b"])[np.arange(120) % 2]
    return X, kinds, lowland.compare(X, ["pca", "classical_mds"], budget=None, target=kinds, random_state=0)


def test_given_axes_get_the_panels(maps):
    _, named = maps
    given = Figure().subplots(1, 3)
    drawn = compare_grid(named, color=["a", "b"] * 100, ax=given)
    assert drawn == list(given)
    assert given[-1].get_legend() is not None
    with pytest.raises(ValueError, match="1 axes for 3 maps"):
        compare_grid(named, ax=Figure().add_subplot())


def test_what_cannot_be_drawn_is_refused(maps):
    _, named = maps
    with pytest.raises(ValueError, match="no map to draw"):
        compare_grid({})
    with pytest.raises(ValueError, match=r"maps by name, \{name: Y\}; got a ndarray"):
        compare_grid(named["PCA"])
    with pytest.raises(ValueError, match=r"map 'flat' must be a non-empty 2-D array.*\(3,\)"):
        compare_grid({"flat": [1, 2, 3]})
    with pytest.raises(ValueError, match="25 maps are too many"):
        compare_grid({str(i): named["PCA"] for i in range(25)})


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_themes(maps, name):
    _, named = maps
    with theme(name) as look:
        drawn = compare_grid(named, color=["a", "b"] * 100)
    assert drawn[0].title.get_color() == look.ink
    assert drawn[0].title.get_fontsize() == look.font
    assert {to_hex(text.get_color()) for text in drawn[0].figure.legends[0].get_texts()} == {look.ink}


def test_a_long_legend_does_not_shrink_the_panels():
    X = np.random.default_rng(0).normal(size=(150, 3))
    named = [f"a long group name number {i % 25}" for i in range(150)]
    one, two = compare_grid({"A": X[:, :2], "B": X[:, 1:3]}, X, color=named)
    plain, _ = compare_grid({"A": X[:, :2], "B": X[:, 1:3]}, X)
    for figure in (one.figure, plain.figure):
        figure.draw_without_rendering()
    assert two.bbox.width == pytest.approx(one.bbox.width, rel=0.01)
    assert one.bbox.width > 0.8 * plain.bbox.width
    assert len(one.figure.legends) == 1
    legend = one.figure.legends[0].get_window_extent()
    assert two.bbox.x1 < legend.x0 < legend.x1 <= one.figure.bbox.x1
