"""Figures of quality measures against the numbers behind them."""

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

import lowland
from lowland import quality
from lowland.plots import quality as drawing
from lowland.plots.quality import CURVES_MOST, measures, rnx, shepard
from lowland.plots.style import PALETTE, theme


@pytest.fixture(scope="module")
def roll():
    X, unrolled = lowland.data.swiss_roll(150, random_state=0)
    return X, lowland.PCA(n_components=2).fit_transform(X), unrolled


def test_shepard_draws_the_pairs_and_their_fit(roll):
    X, Y, _ = roll
    found = quality.shepard(X, Y)
    axes = shepard(Y, X)
    np.testing.assert_allclose(
        axes.collections[0].get_offsets(), np.column_stack([found.data_distances, found.map_distances])
    )
    np.testing.assert_allclose(axes.lines[0].get_xydata(), np.column_stack([found.fit_x, found.fit_y]))
    assert (np.diff(axes.lines[0].get_ydata()) >= 0).all()
    title = axes.get_title(loc="left")
    assert f"stress {found.stress:.3f}" in title
    assert "10,000 of 11,175 pairs drawn" in title
    assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0


def test_shepard_says_that_pairs_are_sampled(roll):
    X, Y, _ = roll
    title = shepard(Y, X, pairs=2000).get_title(loc="left")
    assert "2,000 sampled pairs" in title
    assert "\n" not in shepard(Y[:50], X[:50]).get_title(loc="left"), "all pairs are drawn"


def test_shepard_takes_a_result_and_axes(roll):
    X, Y, _ = roll
    axes = Figure().add_subplot()
    found = quality.shepard(X, Y)
    assert shepard(found, ax=axes) is axes
    assert found.figure().axes[0].get_ylabel() == axes.get_ylabel() == "distance in the map"
    with pytest.raises(ValueError, match=r"shepard\(Y, X\)"):
        shepard(X)


def test_rnx_of_several_maps(roll):
    X, Y, unrolled = roll
    maps = {"PCA": Y, "the $ truth": unrolled}
    axes = rnx(maps, X)
    curves = [quality.rnx_curve(X, map) for map in maps.values()]
    for line, curve, tone in zip(axes.lines, curves, PALETTE, strict=False):
        np.testing.assert_array_equal(line.get_xdata(), curve.k)
        np.testing.assert_allclose(line.get_ydata(), curve.values)
        assert to_hex(line.get_color()) == tone
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == [f"PCA (AUC {float(curves[0].auc):.3f})", rf"the \$ truth (AUC {float(curves[1].auc):.3f})"]
    assert axes.lines[2].get_ydata() == [0.0, 0.0]
    assert [text.get_text() for text in axes.texts] == ["chance"]
    again = rnx(dict(zip(maps, curves, strict=True)))
    np.testing.assert_allclose(again.lines[1].get_ydata(), curves[1].values)


def test_rnx_of_one_map_and_of_anchors(roll):
    X, Y, _ = roll
    curve = quality.rnx_curve(X, Y, anchors=40)
    axes = rnx(curve, ax=Figure().add_subplot())
    assert axes.get_legend() is None
    title = axes.get_title(loc="left")
    assert title.startswith(f"AUC {float(curve.auc):.3f}")
    assert "40 of 150 points evaluated" in title
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(curve.low.min())
    assert band[:, 1].max() == pytest.approx(curve.high.max())


def test_rnx_of_many_points_evaluates_some(roll, monkeypatch):
    X, Y, _ = roll
    monkeypatch.setattr(drawing, "ALL_ANCHORS", 100)
    monkeypatch.setattr(drawing, "SORTED", 150 * 60)
    monkeypatch.setattr(drawing, "FEWEST_ANCHORS", 20)
    assert "60 of 150 points evaluated" in rnx(Y, X).get_title(loc="left")
    assert rnx(Y, X, anchors=None).get_title(loc="left").startswith("AUC")
    assert "evaluated" not in rnx(Y, X, anchors=None).get_title(loc="left")


def test_rnx_refuses_what_it_cannot_draw(roll):
    X, Y, _ = roll
    with pytest.raises(ValueError, match=r"rnx\(Y, X\)"):
        rnx(X)
    with pytest.raises(ValueError, match="at least one map"):
        rnx({}, X)
    curve = quality.rnx_curve(X, Y, anchors=20)
    with pytest.raises(ValueError, match="11 curves are too many"):
        rnx({str(i): curve for i in range(CURVES_MOST + 1)})


def test_measures_are_at_their_values(roll):
    X, Y, _ = roll
    found = quality.report(X, Y)
    axes = measures(found)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    names = ["trustworthiness", "continuity", "neighborhood_overlap", "rnx_auc", "spearman", "geodesic_spearman"]
    assert [line.get_xdata()[0] for line in dots] == [float(found[name]) for name in names]
    chance = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "|"]
    assert chance == [found.chance[name] for name in names]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first measure is on top"
    assert found.figure().axes[0].get_xlabel() == "1 is perfect"


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_themes(roll, name):
    X, Y, unrolled = roll
    with theme(name) as look:
        drawn = [shepard(Y, X), rnx({"a": Y, "b": unrolled}, X), measures(quality.report(X, Y))]
    assert tuple(drawn[0].collections[0].get_facecolor()[0][:3]) == pytest.approx(to_rgba(look.accent)[:3])
    assert drawn[0].lines[0].get_color() == look.second
    for axes in drawn:
        assert axes.xaxis.label.get_color() == look.ink
        assert axes.xaxis.label.get_fontsize() == look.font + 1
    texts = drawn[1].get_legend().get_texts()
    assert {to_hex(text.get_color()) for text in texts} == {look.ink}
    assert {text.get_fontsize() for text in texts} == {look.font}
