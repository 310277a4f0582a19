"""Texts of maps: none overlap or leave the figure, at any size and in any theme."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text

from drawn_maps import SIZES, assert_apart, assert_figure_apart, legend_texts, offsets, texts_of, three_groups
from lowland.plots import Overlay, scatter, theme
from lowland.plots.coloring import group_style, read_colors
from lowland.plots.names import visible_labels
from lowland.plots.style import DARK_PALETTE, PALETTE, THEMES, new_figure, shorten_all


def draw_case(case: str, ax: Any) -> Any:
    """Draw a map with many texts."""
    Y, kinds = three_groups()
    wide = {"labels": ["PCA 1 (92.5 % of the variance)", "PCA 2 (5.3 % of the variance)"]}
    if case == "ellipses and centres":
        return scatter(
            Y, ax=ax, color=kinds, color_name="species", ellipses="mean", centers=True, new=Y[:3] + 1, **wide
        )
    if case == "names":
        return scatter(Y[::2], ax=ax, color=kinds[::2], names=[f"row {i}" for i in range(45)], **wide)
    if case == "scale":
        return scatter(
            Y[::2],
            ax=ax,
            color=Y[::2, 0],
            color_name="a long name of a measurement",
            names=["here"] * 45,
            new=Y[:4],
            **wide,
        )
    if case == "many groups":
        many = [f"group {i % 30}" for i in range(90)]
        return scatter(Y, ax=ax, color=many, color_name="one of thirty groups", centers=True, ellipses="hull")
    if case == "crowded":
        return scatter(np.random.default_rng(0).normal(size=(60_000, 2)), ax=ax, kind="auto", new=Y)
    over = Overlay(
        {name: (np.cos(i), np.sin(i)) for i, name in enumerate(["age", "height", "income", "score", "weight"])},
        {f"level {i}": (0.1 * i, 0.1 * i) for i in range(4)},
        Y[:5] + 2,
    )
    return scatter(Y, ax=ax, color=kinds, overlay=over, names=[*["named"] * 5, *[""] * 85])


# The dark theme has the letters of "paper", so the boxes of texts are the same.
EACH_THEME = [pytest.param(name, marks=[pytest.mark.slow] if name == "dark" else []) for name in THEMES]
CASES = ("ellipses and centres", "names", "scale", "many groups", "crowded", "overlay")


@pytest.mark.parametrize("name", EACH_THEME)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_no_texts_overlap_or_leave_the_figure(case: str, size: tuple[float, float], name: str) -> None:
    with theme(name):
        assert_apart(draw_case(case, new_figure(*size)[1]))


@pytest.mark.parametrize("case", CASES)
def test_nor_do_they_on_axes_of_a_figure_without_a_layout(case: str) -> None:
    assert_apart(draw_case(case, Figure(figsize=(7, 5)).add_subplot()))


@pytest.mark.parametrize("case", ["names", "overlay"])
def test_labels_are_placed_again_after_a_change_of_size(case: str) -> None:
    ax = draw_case(case, new_figure(12, 8)[1])
    ax.figure.set_size_inches(7, 5)
    assert_apart(ax)


@pytest.mark.parametrize("name", EACH_THEME)
@pytest.mark.parametrize("size", SIZES)
def test_texts_around_axes_in_space_stay_in_the_figure(size: tuple[float, float], name: str) -> None:
    Y = np.random.default_rng(0).normal(size=(60, 3)) * [3, 2, 1]
    with theme(name):
        titles = [f"PCA {i} ({i}0.5 %)" for i in (1, 2, 3)]
        ax = scatter(Y, axes=(1, 2, 3), color=["u", "v"] * 30, labels=titles, ax=new_figure(*size, projection="3d")[1])
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):  # with numbers and names
        box = axis.get_tightbbox(ax.figure._get_renderer())
        assert not box.overlaps(legend), axis
        assert box.x0 >= -1, axis
        assert box.y0 >= -1, axis
        assert box.y1 <= ax.figure.bbox.y1 + 1, axis
    assert legend.x1 <= ax.figure.bbox.x1 + 1


@pytest.mark.parametrize("scale", [1.0, 1e-3, 3e4])
@pytest.mark.parametrize("size", SIZES)
def test_names_of_axes_in_space_are_clear_of_the_numbers(size: tuple[float, float], scale: float) -> None:
    Y = np.random.default_rng(0).normal(size=(60, 3)) * [3, 2, 1] * scale
    titles = [f"PCA {i} ({i}0.5 %)" for i in (1, 2, 3)]
    ax = scatter(Y, axes=(1, 2, 3), labels=titles, ax=new_figure(*size, projection="3d")[1])
    assert any("tick" in name for name in texts_of(ax))
    assert_figure_apart(ax.figure)


def test_all_names_are_written_where_there_is_room() -> None:
    side = np.arange(5.0)
    Y = np.array([(a, b) for a in side for b in side])
    ax = scatter(Y, names=[f"point {i}" for i in range(25)])
    assert visible_labels(ax) == [f"point {i}" for i in range(25)]
    spots = ax.transData.transform(Y)
    for text in ax.texts:
        box = Text.get_window_extent(text)
        assert not any(box.contains(*spot) for spot in spots)


def test_names_may_be_of_some_rows_only() -> None:
    Y = np.random.default_rng(0).normal(size=(500, 2))
    Y[7], Y[9] = (9, 9), (-9, 9)
    names = ["" for _ in Y]
    names[7], names[9] = "outlier", "$x$"
    assert visible_labels(scatter(Y, names=names)) == ["outlier", r"\$x\$"]


# -- themes --------------------------------------------------------------------------------------------------


def test_dark_maps_have_light_texts_on_a_dark_background() -> None:
    Y, kinds = three_groups()
    look = THEMES["dark"]
    with theme("dark"):
        ax = scatter(Y, color=kinds, color_name="species", ellipses="spread", centers=True, labels=["a", "b"])
        given = scatter(Y, color=Y[:, 0], ax=Figure().add_subplot())
    assert to_hex(ax.figure.get_facecolor()) == to_hex(given.figure.get_facecolor()) == look.background
    legend = ax.get_legend()
    ticks = [*ax.get_xticklabels(), *given.figure.axes[1].get_yticklabels()]
    for text in [*legend.get_texts(), legend.get_title(), ax.xaxis.label, *ticks, *ax.texts]:
        assert to_hex(text.get_color()) == look.ink
    assert all(to_hex(text.get_bbox_patch().get_facecolor()) == look.background for text in ax.texts)
    assert group_style(2, read_colors(kinds, 90))[0] == PALETTE[2]  # outside of the block
    assert {to_hex(tone) for tone in ax.collections[0].get_facecolors()} == set(DARK_PALETTE[:3])


def luminance(tone: str) -> float:
    rgb = np.array(to_rgba(tone)[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_all_colours_of_the_dark_theme_stand_out_from_its_background() -> None:
    dark = THEMES["dark"]
    assert len(set(DARK_PALETTE)) == 20
    for tone in (*DARK_PALETTE, dark.ink, dark.accent, dark.second):
        assert (luminance(tone) + 0.05) / (luminance(dark.background) + 0.05) > 3


def test_slides_have_larger_fonts_and_markers() -> None:
    Y, kinds = three_groups()
    paper = scatter(Y, color=kinds, centers=True)
    with theme("slide"):
        slide = scatter(Y, color=kinds, centers=True)
    for font in (lambda ax: ax.xaxis.label, lambda ax: ax.get_legend().get_texts()[0], lambda ax: ax.texts[0]):
        assert font(slide).get_fontsize() > 1.3 * font(paper).get_fontsize()
    assert slide.collections[0].get_sizes()[0] == 2 * paper.collections[0].get_sizes()[0]
    assert slide.get_xticklabels()[0].get_fontsize() == THEMES["slide"].font


def test_given_axes_keep_their_look_in_the_default_theme() -> None:
    ax = Figure().add_subplot()
    before = ax.spines["top"].get_visible(), to_hex(ax.figure.get_facecolor())
    scatter([[0, 1], [1, 0]], ax=ax)
    assert (ax.spines["top"].get_visible(), to_hex(ax.figure.get_facecolor())) == before


NORMAL = np.random.default_rng(0).normal(size=(50, 2))
HALVES = ["u", "v"] * 25
ODD: dict[str, dict[str, Any]] = {
    "one row": {"embedding": [[1.0, 2.0]], "names": ["a"], "color": ["x"]},
    "one row in space": {"embedding": [[1.0, 2.0, 3.0]], "axes": (1, 2, 3)},
    "equal rows": {"embedding": np.ones((50, 2)), "color": HALVES, "ellipses": "spread", "centers": True},
    "equal rows as hexagons": {"embedding": np.ones((50, 2)), "kind": "hexagons"},
    "equal rows as a density": {"embedding": np.ones((50, 2)), "kind": "density"},
    "very many equal rows": {"embedding": np.ones((100_000, 2))},
    "rows on a line as hexagons": {"embedding": NORMAL * [1, 0], "kind": "hexagons"},
    "rows on a line as a density": {"embedding": NORMAL * [1, 0], "kind": "density"},
    "huge numbers": {"embedding": NORMAL * 1e100, "color": HALVES, "ellipses": "spread", "centers": True},
    "huge numbers with hulls": {"embedding": NORMAL * 1e200, "color": HALVES, "ellipses": "hull"},
    "tiny numbers": {"embedding": NORMAL * 1e-200, "color": HALVES, "ellipses": "mean"},
    "no colour known": {"embedding": NORMAL, "color": [None] * 50, "ellipses": "hull", "centers": True},
    "no number known": {"embedding": NORMAL, "color": [np.nan] * 50},
    "small groups as densities": {"embedding": NORMAL, "color": ["u"] * 3 + ["v"] * 47, "kind": "density"},
    "missing numbers as hexagons": {"embedding": NORMAL, "color": [np.nan] * 9 + [0.5] * 41, "kind": "hexagons"},
    "no new rows": {"embedding": NORMAL, "new": np.empty((0, 2))},
    "no uncertain rows": {"embedding": NORMAL, "uncertainty": np.full((50, 2, 2), np.nan)},
    "long texts": {"embedding": NORMAL, "color": ["a long name " * 9, "b"] * 25, "color_name": "a heading " * 9},
    "names on a strip": {"embedding": NORMAL[:, :1], "names": ["name"] * 50, "color": HALVES, "centers": True},
}


@pytest.mark.parametrize("case", list(ODD))
def test_odd_maps_are_drawn_inside_of_their_figure(case: str) -> None:
    ax = scatter(**ODD[case])
    ax.figure.canvas.draw()
    assert ax.collections
    if ax.name != "3d":
        assert len(offsets(ax)) > 0
        assert_apart(ax)


def test_maps_can_be_drawn_on_subfigures() -> None:
    Y, kinds = three_groups()
    left, right = Figure(figsize=(9, 4), layout="constrained").subfigures(1, 2)
    ax = scatter(Y, ax=left.subplots(), color=kinds, ellipses="spread", centers=True)
    space = scatter(np.column_stack([Y, Y[:, 0]]), axes=(1, 2, 3), ax=right.add_subplot(projection="3d"), color=kinds)
    left.figure.draw_without_rendering()
    for legend, part in ((ax.get_legend(), left), (space.get_legend(), right)):
        box = legend.get_window_extent()
        assert part.bbox.x0 <= box.x0 < box.x1 <= part.bbox.x1 + 1


# -- long names ----------------------------------------------------------------------------------------------


STRAINS = [f"Escherichia coli strain K-12 substrain {end}" for end in ("MG1655", "W3110", "DH10B")]


@pytest.mark.parametrize("limit", [6, 8, 12, 24, 32])
@pytest.mark.parametrize(
    "names",
    [
        STRAINS,
        ["x" * 40 + "a" + "y" * 40, "x" * 40 + "b" + "y" * 40, "short"],
        [f"{i} of a long list of names that go on" for i in range(30)],
        ["a" * n for n in range(20, 40)],
        ["the same name, which is long"] * 2 + ["another long name of a group"],
    ],
    ids=["end", "middle", "start", "length", "equal"],
)
def test_cut_names_differ_where_the_names_do(names: list[str], limit: int) -> None:
    cut = shorten_all(names, limit)
    assert len(set(cut)) == len(set(names))
    assert [cut[names.index(name)] for name in names] == cut
    assert max(map(len, cut)) <= limit


def test_legends_break_long_names_before_they_cut_them() -> None:
    Y, kinds = three_groups()
    strains = dict(zip(sorted(set(kinds)), STRAINS, strict=True))
    ax = scatter(Y, color=[strains[kind] for kind in kinds], centers=True)
    assert legend_texts(ax)[:3] == sorted(STRAINS)
    assert len(set(visible_labels(ax, "center"))) == 3
