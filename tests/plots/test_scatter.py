"""Maps as pictures: what is drawn where, in which colours and words."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

import lowland
from drawn_maps import legend_texts, offsets, three_groups
from lowland.plots import compare_grid, hit_map, neighbor_graph, quality_map, scatter, theme, thumbnails
from lowland.plots.names import visible_labels
from lowland.plots.style import DARK_PALETTE, FAINT, PALETTE, THEMES, new_figure
from lowland.plots.views import crowded, density_of

# -- positions and colours -----------------------------------------------------------------------------------


def test_points_lie_at_their_coordinates_in_the_colours_of_their_groups() -> None:
    Y, kinds = three_groups()
    (marks,) = scatter(Y, color=kinds).collections
    tones = {kind: PALETTE[i] for i, kind in enumerate(sorted(set(kinds)))}
    drawn = {
        tuple(place): to_hex(tone) for place, tone in zip(marks.get_offsets(), marks.get_facecolors(), strict=True)
    }
    assert drawn == {tuple(place): tones[kind] for place, kind in zip(Y, kinds, strict=True)}


def test_the_drawing_order_is_random_and_seeded() -> None:
    Y, kinds = three_groups()
    one, same, other = (offsets(scatter(Y, color=kinds, random_state=seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one, Y)
    firsts = [kinds[int(np.flatnonzero((place == Y).all(axis=1))[0])] for place in one[:30]]
    assert len(set(firsts)) == 3  # no group lies over all others


def test_groups_with_two_shapes_of_markers_are_drawn_in_turn() -> None:
    Y = np.random.default_rng(0).normal(size=(400, 2))
    ax = scatter(Y, color=[f"g{i % 15:02d}" for i in range(400)])
    corners = [len(marks.get_paths()[0].vertices) for marks in ax.collections]
    assert len(offsets(ax)) == 400
    assert corners[:4] == [corners[0], corners[1]] * 2
    assert corners[0] != corners[1]


def test_many_points_of_each_group_are_drawn_in_turn() -> None:
    Y = np.random.default_rng(0).normal(size=(8000, 2))
    ax = scatter(Y, color=["u"] * 4000 + ["v"] * 4000)
    tones = [to_hex(marks.get_facecolors()[0]) for marks in ax.collections]
    assert tones == [PALETTE[0], PALETTE[1]] * (len(tones) // 2)
    assert len(tones) > 10
    drawn = {to_hex(marks.get_facecolors()[0]): [] for marks in ax.collections}
    for tone, marks in zip(tones, ax.collections, strict=True):
        drawn[tone] += [tuple(place) for place in marks.get_offsets()]
    assert set(drawn[PALETTE[0]]) == {tuple(place) for place in Y[:4000]}
    assert set(drawn[PALETTE[1]]) == {tuple(place) for place in Y[4000:]}


def test_missing_values_and_the_rest_of_the_groups_lie_behind() -> None:
    Y = np.random.default_rng(0).normal(size=(300, 2))
    color: list[str | None] = [f"g{i % 40:02d}" for i in range(300)]
    color[:20] = [None] * 20
    ax = scatter(Y, color=color)
    first, second, *front = [{to_hex(tone) for tone in marks.get_facecolors()} for marks in ax.collections]
    assert first == second == {THEMES["paper"].faint}
    assert all(THEMES["paper"].faint not in tones for tones in front)


def test_groups_are_sorted_by_the_numbers_in_their_names() -> None:
    names = ["group 10", "group 2", "a", "group 2b", "10", "9", "²"]
    assert legend_texts(scatter(np.random.default_rng(0).normal(size=(7, 2)), color=names)) == [
        "9",
        "10",
        "a",
        "group 2",
        "group 2b",
        "group 10",
        "²",
    ]


def test_a_scale_of_numbers_has_limits_and_a_bar() -> None:
    Y, _ = three_groups()
    ax = scatter(Y, color=Y[:, 0], color_name="depth", color_limits=(-5.0, 5.0), color_map="plasma")
    (marks,) = ax.collections
    assert marks.get_clim() == (-5.0, 5.0)
    assert marks.get_cmap().name == "plasma"
    assert ax.figure.axes[1].get_ylabel() == "depth"
    assert np.array_equal(np.sort(marks.get_array()), np.sort(Y[:, 0]))


def test_scales_are_equal_and_numbers_only_where_they_mean_something() -> None:
    Y, _ = three_groups()
    ax = scatter(Y)
    ax.figure.draw_without_rendering()
    assert ax.get_aspect() == 1.0
    width, height = ax.bbox.size
    assert np.ptp(ax.get_xlim()) / width == pytest.approx(np.ptp(ax.get_ylim()) / height, rel=1e-3)
    assert len(ax.get_xticks()) > 2
    none = scatter(Y, meaningful_axes=False)
    assert len(none.get_xticks()) == len(none.get_yticks()) == 0
    assert none.get_xlabel() == none.get_ylabel() == ""
    assert scatter(Y, meaningful_axes=False, labels=["t-SNE 1", "t-SNE 2"]).get_ylabel() == "t-SNE 2"
    space = scatter(np.column_stack([Y, Y[:, 0]]), axes=(1, 2, 3), meaningful_axes=False)
    assert len(space.get_zticks()) == 0


# -- axes ----------------------------------------------------------------------------------------------------


def test_axes_are_counted_from_one_or_named() -> None:
    Y = np.random.default_rng(0).normal(size=(20, 4))
    labels = ["PCA 1 (60.0 %)", "PCA 2 (20.0 %)", "PCA 3 (10.0 %)", "PCA 4 (5.0 %)"]
    for axes in ((2, 4), ("PCA 2", "PCA 4"), ("PCA 2 (20.0 %)", "4")):
        ax = scatter(Y, axes=axes, labels=labels)
        assert (ax.get_xlabel(), ax.get_ylabel()) == (labels[1], labels[3])
        assert {tuple(place) for place in offsets(ax)} == {tuple(place) for place in Y[:, [1, 3]]}
    assert scatter(Y, axes=(2, 3), labels=["a", "b"]).get_xlabel() == "a"
    assert scatter(Y, axes=(3,)).get_xlabel() == "3rd coordinate"


def test_axes_that_do_not_exist_are_named_with_the_remedy() -> None:
    Y = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"no axis 4: the embedding has 3 coordinates.*n_components=4"):
        scatter(Y, axes=(1, 4))
    with pytest.raises(ValueError, match="counted from 1"):
        scatter(Y, axes=(0, 1))
    with pytest.raises(ValueError, match="'height' is not an axis of this embedding; its axes are 'a', 'b', 'c'"):
        scatter(Y, axes=("height", 1), labels=["a (2 %)", "b", "c"])
    with pytest.raises(ValueError, match="must differ"):
        scatter(Y, axes=(2, 2))
    with pytest.raises(ValueError, match="one, two or three"):
        scatter(Y, axes=(1, 2, 3, 1))


def test_data_frames_name_their_axes() -> None:
    import pandas as pd
    import polars as pl

    for frame in (
        pl.DataFrame({"pca0": [0.0, 1.0], "pca1": [1.0, 0.0]}),
        pd.DataFrame({"pca0": [0, 1], "pca1": [1, 0]}),
    ):
        ax = scatter(frame, axes=("pca1", "pca0"))
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("pca1", "pca0")


def test_three_axes_are_drawn_in_space_with_equal_scales() -> None:
    rng = np.random.default_rng(0)
    Y, kinds = rng.normal(size=(60, 3)) * [4, 2, 1], ["u", "v"] * 30
    ax = scatter(Y, axes=(1, 2, 3), color=kinds, centers=True, labels=["a", "b", "c"])
    assert ax.name == "3d"
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()) == ("a", "b", "c")
    spans = [np.ptp(limits) for limits in (ax.get_xlim(), ax.get_ylim(), ax.get_zlim())]
    assert np.allclose(np.array(spans) / ax._box_aspect, spans[0] / ax._box_aspect[0])
    x, y, z = ax.collections[0]._offsets3d
    assert {tuple(map(float, place)) for place in zip(x, y, z, strict=True)} == {tuple(place) for place in Y}
    assert visible_labels(ax, "center") == ["u", "v"]


def test_labels_in_space_follow_the_view() -> None:
    Y = np.random.default_rng(0).normal(size=(10, 3))
    ax = scatter(Y, axes=(1, 2, 3), names=[f"n{i}" for i in range(10)])
    before = [text.xy for text in ax.texts]
    ax.view_init(80, 10)
    ax.figure.draw_without_rendering()
    assert before != [text.xy for text in ax.texts]


def test_given_axes_are_drawn_on_and_returned() -> None:
    Y, kinds = three_groups()
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    assert scatter(Y, ax=left, color=kinds) is left
    assert quality_map(Y, np.column_stack([Y, Y]), ax=right) is right
    assert left.collections
    with pytest.raises(ValueError, match="projection='3d'"):
        scatter(np.column_stack([Y, Y]), axes=(1, 2, 3), ax=left)
    with pytest.raises(ValueError, match="flat axes"):
        scatter(Y, ax=figure.add_subplot(projection="3d"))


# -- crowded maps --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def heap() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(200_000, 2))


def test_crowded_maps_become_hexagons_and_say_so(heap: np.ndarray) -> None:
    ax = scatter(heap)
    assert ax.get_title("left") == "Hexagons, because 200,000 points would cover each other"
    (cells,) = ax.collections
    assert cells.get_array().sum() == len(heap)
    assert ax.figure.axes[1].get_ylabel() == "rows in a hexagon"
    few = scatter(heap[:2000])
    assert len(offsets(few)) == 2000
    assert few.get_title("left") == ""
    assert len(offsets(scatter(heap, kind="points"))) == len(heap)
    spread = np.random.default_rng(1).uniform(size=(30_000, 2))
    assert not crowded(new_figure(7.0, 5.4)[1], spread)


def test_hexagons_show_means_and_most_frequent_groups() -> None:
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.uniform(0, 1, (3000, 2)), rng.uniform(0, 1, (3000, 2)) + np.array([2, 0])])
    ax = scatter(Y, kind="hexagons", color=np.repeat([0.25, 0.75], 3000), color_name="dose")
    values, places = ax.collections[0].get_array(), ax.collections[0].get_offsets()
    np.testing.assert_allclose(values, np.where(places[:, 0] < 1.5, 0.25, 0.75))
    assert ax.figure.axes[1].get_ylabel() == "mean of dose"
    kinds = np.repeat(["left", "right"], 3000)
    kinds[::10] = "noise"
    ax = scatter(Y, kind="hexagons", color=kinds)
    (cells,) = ax.collections
    side = cells.get_offsets()[:, 0]
    tones = cells.get_facecolors()[:, :3]
    strong = np.array([to_rgba(tone)[:3] for tone in PALETTE[:3]])
    away = (1 - tones) / np.linalg.norm(1 - tones, axis=1)[:, None]  # the direction from white
    group = (away @ ((1 - strong) / np.linalg.norm(1 - strong, axis=1)[:, None]).T).argmax(axis=1)
    assert np.mean(group[side < 1.5] == 0) > 0.95
    assert np.mean(group[side > 1.5] == 2) > 0.95
    assert legend_texts(ax)[:3] == ["left", "noise", "right"]
    assert np.ptp(tones[group == 0].sum(axis=1)) > 0.1  # stronger where there are more rows


def test_contours_of_a_density_hold_their_shares_of_the_rows() -> None:
    P = np.random.default_rng(0).normal(size=(4000, 2)) * [3, 1]
    found = density_of(P, P.min(axis=0), P.max(axis=0))
    levels = found.levels((0.95, 0.5))
    np.testing.assert_allclose([(found.at_rows >= level).mean() for level in levels], [0.95, 0.5], atol=1e-3)
    step = np.diff(found.x[:2])[0] * np.diff(found.y[:2])[0]
    assert found.values.sum() * step == pytest.approx(1.0, abs=0.01)
    assert found.values.max() == pytest.approx(1 / (2 * np.pi * 3), rel=0.15)  # a little lower by the smoothing
    ax = scatter(P, kind="density")
    assert legend_texts(ax) == ["contours: 95, 75, 50 and 25 % of the rows"]
    assert len(ax.collections[0].get_offsets()) == 200  # the rows outside of the outer contour
    groups = scatter(P, kind="density", color=["u", "v"] * 2000)
    assert legend_texts(groups) == ["u", "v", "contours: 90 and 50 % of the rows of each group"]
    with pytest.raises(ValueError, match="kind='hexagons'"):
        scatter(P, kind="density", color=P[:, 0])


def test_unknown_options_are_refused() -> None:
    Y, kinds = three_groups()
    for option, value in (("kind", "dots"), ("ellipses", "circle"), ("level", 95)):
        with pytest.raises(ValueError, match=option):
            scatter(Y, color=kinds, **{option: value})
    with pytest.raises(ValueError, match="two axes"):
        scatter(Y[:, :1], color=kinds, ellipses="spread")
    with pytest.raises(ValueError, match="two axes"):
        scatter(Y[:, :1], kind="density")
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        scatter(Y)


# -- quality and thumbnails ----------------------------------------------------------------------------------


def test_the_quality_map_shows_pointwise_trust() -> None:
    X = np.random.default_rng(0).normal(size=(80, 6))
    Y = X[:, [0, 1, 2]]
    for by, name in (("kept", "share of neighbours kept"), ("false", "distance of false neighbours")):
        ax = quality_map(Y, X, by=by, axes=(1, 3), n_neighbors=7)
        found = lowland.quality.pointwise(X, Y[:, [0, 2]], 7)
        (marks,) = ax.collections
        values = {tuple(place): value for place, value in zip(Y[:, [0, 2]], getattr(found, by), strict=True)}
        assert [values[tuple(place)] for place in marks.get_offsets()] == marks.get_array().tolist()
        assert marks.get_clim() == (0.0, 1.0)
        assert ax.figure.axes[1].get_ylabel() == name
    some = lowland.quality.pointwise(X, Y[:, :2], anchors=30)
    ax = quality_map(Y[:, :2], trust=some)
    assert sorted(len(marks.get_offsets()) for marks in ax.collections) == [30, 50]
    low, high = quality_map(Y[:, :2], X, by="stretch").collections[0].get_clim()
    assert low == -high
    with pytest.raises(ValueError, match="not both"):
        quality_map(Y)
    with pytest.raises(ValueError, match="by must be"):
        quality_map(Y, X, by="odd")


def test_thumbnails_lie_where_there_is_room_in_the_colours_of_the_theme() -> None:
    rng = np.random.default_rng(0)
    Y, images = rng.normal(size=(200, 2)), rng.random((200, 8, 8))
    with theme("dark"):
        ax = thumbnails(Y, images, color=["u", "v"] * 100, color_name="kind", ax=new_figure(5, 4)[1])
    shown_places = np.array([(image.get_extent()[0] + image.get_extent()[1]) / 2 for image in ax.images])
    assert 0 < len(shown_places) < 200
    assert len(ax.images) + len(ax.collections[0].get_offsets()) == 200
    assert np.isclose(Y[0, 0], shown_places[0])
    assert legend_texts(ax) == ["u", "v"]
    assert to_hex(ax.get_legend().get_texts()[0].get_color()) == THEMES["dark"].ink
    assert to_hex(ax.images[0].get_array()[0, 0, :3]) in DARK_PALETTE[:2]


def test_highlighted_groups_keep_their_colours_and_the_others_are_grey_behind_them() -> None:
    Y, kinds = three_groups()
    ax = scatter(Y, color=kinds, highlight=["virginica"])
    assert legend_texts(ax) == ["virginica", "other (2 groups)"]
    back, front = ax.collections
    assert {to_hex(tone) for tone in back.get_facecolor()} == {FAINT}
    assert {to_hex(tone) for tone in front.get_facecolor()} == {PALETTE[2]}, "the colour that it has without highlight"
    want = Y[np.array(kinds) == "virginica"]
    np.testing.assert_array_equal(np.sort(front.get_offsets(), axis=0), np.sort(want, axis=0))
    with pytest.raises(
        ValueError, match="there is no group 'rose'; the groups are 'setosa', 'versicolor', 'virginica'"
    ):
        scatter(Y, color=kinds, highlight=["rose"])
    with pytest.raises(ValueError, match="highlight needs groups"):
        scatter(Y, color=Y[:, 0], highlight=["a"])
    with pytest.raises(ValueError, match="highlight needs groups"):
        scatter(Y, highlight=["a"])
    many = [f"g{i:02d}" for i in range(30)] * 3
    assert legend_texts(scatter(Y, color=many, highlight=["g29", "g03"])) == ["g03", "g29", "other (28 groups)"]
    assert legend_texts(scatter(Y, color=[1, 2, None] * 30, highlight=[2])) == ["2", "other (1 group)", "missing"]


def test_ends_of_a_colour_scale_may_be_percentiles() -> None:
    Y, _ = three_groups()
    values = np.append(np.linspace(0.0, 1.0, 89), 50.0)
    ax = scatter(Y, color=values, color_limits=("p0", "p90"))
    assert ax.collections[0].get_clim() == (0.0, np.percentile(values, 90))
    assert ax.collections[0].colorbar.extend == "max"
    assert scatter(Y, color=values, color_limits=(0.5, "p50")).collections[0].colorbar.extend == "both"
    assert scatter(Y, color=values).collections[0].colorbar.extend == "neither"
    for ends in (("q1", "p99"), ("p1", "p101"), ("p", "p99")):
        with pytest.raises(ValueError, match=r"a percentile such as \"p99\""):
            scatter(Y, color=values, color_limits=ends)
    with pytest.raises(ValueError, match="color_limits must rise"):
        scatter(Y, color=values, color_limits=("p90", "p10"))


@pytest.mark.parametrize("color", [None, ["u", "v", "u", "v"]])
def test_ends_of_a_scale_need_a_scale(color):
    with pytest.raises(ValueError, match="color_limits are the ends of a scale of numbers"):
        scatter(np.eye(4), color=color, color_limits=(0, 1))


@pytest.mark.parametrize("kind", ["points", "hexagons", "density"])
def test_an_unknown_colour_map_is_refused_for_every_kind(kind):
    with pytest.raises(ValueError, match=r"color_map must be a matplotlib colour map or its name.*'nonsense'"):
        scatter(np.random.default_rng(0).normal(size=(40, 2)), kind=kind, color_map="nonsense")


def test_scales_of_the_dark_theme_stand_out_from_its_background():
    Y = np.random.default_rng(0).normal(size=(400, 2))

    draws = {
        "points": lambda: scatter(Y, color=Y[:, 0]),
        "hexagons": lambda: scatter(Y, kind="hexagons"),
        "graph": lambda: neighbor_graph(Y, color=Y[:, 0]).collections[2].axes,
        "hits": lambda: hit_map(np.arange(12).reshape(3, 4)),
        "panel": lambda: compare_grid({"map": Y}, color=Y[:, 0])[0],
    }
    for name, draw in draws.items():
        marks = draw().collections[-1]
        assert marks.cmap(0.0) == colormaps["viridis"](0.0), name
        with theme("dark"):
            low = draw().collections[-1].cmap(0.0)
        back = np.array(to_rgba(THEMES["dark"].background)[:3])
        assert contrast(low[:3], back) >= 3, name


def contrast(one, two):
    lights = []
    for tone in (one, two):
        rgb = np.array(tone)
        lights.append(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_every_centre_with_room_for_a_line_has_its_label():
    """Means so near to each other that beside each of them another one is nearer."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(6), 40)
    Y = rng.normal(size=(240, 2)) * 3 + 0.25 * codes[:, None]
    ax = scatter(Y, color=[f"a group with a name {i}" for i in codes], centers=True)
    assert len(visible_labels(ax, "center")) == 6
