"""Maps as pictures: what is drawn where, in which colours and words, and that no texts overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Polygon
from matplotlib.text import Text

import lowland
from lowland.plots import Overlay, quality_map, scatter, theme, thumbnails
from lowland.plots.coloring import group_style, read_colors
from lowland.plots.names import visible_labels
from lowland.plots.regions import MAX_SPREADS, group_ellipse
from lowland.plots.style import DARK_PALETTE, PALETTE, THEMES, new_figure
from lowland.plots.views import crowded, density_of

SIZES = [(4.0, 3.0), (7.0, 5.4), (12.0, 8.0)]


def three_groups(n: int = 90) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    kinds = np.repeat(["setosa", "versicolor", "virginica"], n // 3)
    middles = {"setosa": (-3, 0), "versicolor": (0, 1), "virginica": (2, 0)}
    Y = np.array([middles[kind] for kind in kinds]) + rng.normal(size=(len(kinds), 2)) * [0.8, 0.4]
    return Y, kinds.tolist()


def legend_texts(ax: Any) -> list[str]:
    return [" ".join(text.get_text().split()) for text in ax.get_legend().get_texts()]


def offsets(ax: Any) -> np.ndarray:
    return np.vstack([marks.get_offsets() for marks in ax.collections])


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


@pytest.mark.parametrize("name", list(THEMES))
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


# -- regions -------------------------------------------------------------------------------------------------


def test_spread_ellipses_have_the_axes_of_the_covariance() -> None:
    Y, kinds = three_groups()
    ax = scatter(Y, color=kinds, ellipses="spread", level=0.9)
    shapes = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert [to_hex(patch.get_edgecolor()) for patch in shapes] == list(PALETTE[:3])
    for patch, kind in zip(shapes, sorted(set(kinds)), strict=True):
        points = Y[np.array(kinds) == kind]
        values, vectors = np.linalg.eigh(np.cov(points.T))
        square = -2 * np.log(0.1)  # of the chi-squared distribution with two degrees of freedom
        np.testing.assert_allclose(patch.get_center(), points.mean(axis=0))
        np.testing.assert_allclose([patch.width, patch.height], 2 * np.sqrt(values[::-1] * square))
        turned = np.array([np.cos(np.radians(patch.angle)), np.sin(np.radians(patch.angle))])
        assert abs(turned @ vectors[:, 1]) == pytest.approx(1.0)
    assert legend_texts(ax)[-1] == "90 % of a normal distribution"


def test_a_spread_ellipse_holds_its_share_of_a_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20_000, 2)) @ [[2.0, 0.0], [1.5, 0.5]]
    found = group_ellipse(points, "spread", 0.8)
    inside = Ellipse(tuple(found.center), *(2 * found.axes), angle=float(found.angle)).contains_points(points)
    assert inside.mean() == pytest.approx(0.8, abs=0.01)


def test_mean_ellipses_cover_the_mean_as_often_as_they_say() -> None:
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        found = group_ellipse(rng.normal(size=(8, 2)) @ [[2.0, 0.0], [1.5, 0.5]], "mean", 0.9)
        patch = Ellipse(tuple(found.center), *(2 * found.axes), angle=float(found.angle))
        covered += bool(patch.contains_point((0.0, 0.0)))
    assert covered / 400 == pytest.approx(0.9, abs=0.04)
    Y, kinds = three_groups()
    assert legend_texts(scatter(Y, color=kinds, ellipses="mean"))[-1] == "95 % confidence region of the mean"


def test_hulls_contain_their_points() -> None:
    Y, kinds = three_groups()
    ax = scatter(Y, color=kinds, ellipses="hull")
    shapes = [patch for patch in ax.patches if isinstance(patch, Polygon)]
    for patch, kind in zip(shapes, sorted(set(kinds)), strict=True):
        points, corners = Y[np.array(kinds) == kind], patch.get_xy()
        assert {tuple(corner) for corner in corners} <= {tuple(point) for point in points}
        sides = np.diff(corners, axis=0)
        turns = sides[:, 0] * (points[:, None, 1] - corners[:-1, 1]) - sides[:, 1] * (
            points[:, None, 0] - corners[:-1, 0]
        )
        assert (turns >= -1e-9).all() or (turns <= 1e-9).all()
    assert legend_texts(ax)[-1] == "convex hull"


def test_groups_with_too_few_points_get_no_region_and_the_legend_says_so() -> None:
    Y = np.vstack([np.random.default_rng(0).normal(size=(20, 2)), [[5, 5], [6, 5]], [[0, 8], [1, 8], [2, 8], [3, 8]]])
    kinds = ["many"] * 20 + ["two"] * 2 + ["line"] * 4
    ax = scatter(Y, color=kinds, ellipses="spread")
    assert len(ax.patches) == 1
    assert legend_texts(ax)[-1] == "no ellipse for 2 groups: fewer than 4 points, or points on a line"
    hull = scatter(Y[20:], color=kinds[20:], ellipses="hull")
    assert legend_texts(hull)[-1] == "no hull for 2 groups: fewer than 3 points, or points on a line"
    assert "convex hull" not in legend_texts(hull)


def test_without_groups_one_region_holds_all_points() -> None:
    Y, _ = three_groups()
    assert len(scatter(Y, ellipses="hull").patches) == 1
    ax = scatter(Y, color=Y[:, 0], ellipses="spread")
    assert legend_texts(ax) == ["95 % of a normal distribution"]


def test_ellipses_lie_inside_of_the_axes() -> None:
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(5, 2)) * [3, 1]
    ax = scatter(Y, ellipses="mean", level=0.99)
    ax.figure.draw_without_rendering()
    box = ax.patches[0].get_window_extent()
    assert ax.bbox.x0 <= box.x0 < box.x1 <= ax.bbox.x1
    assert ax.bbox.y0 <= box.y0 < box.y1 <= ax.bbox.y1


def test_centers_are_the_means_with_their_names() -> None:
    Y, kinds = three_groups()
    ax = scatter(Y, color=[*kinds[:-1], None], centers=True)
    centers = [marks.get_offsets()[0] for marks in ax.collections if len(marks.get_offsets()) == 1][-3:]
    known = np.array([*kinds[:-1], ""])
    np.testing.assert_allclose(centers, [Y[known == kind].mean(axis=0) for kind in sorted(set(kinds))])
    assert visible_labels(ax, "center") == ["setosa", "versicolor", "virginica"]
    assert legend_texts(ax)[-1] == "mean of a group"
    with pytest.raises(ValueError, match="needs groups"):
        scatter(Y, color=Y[:, 0], centers=True)


# -- uncertainty and further rows ----------------------------------------------------------------------------


def test_rows_with_missing_cells_have_the_outline_of_where_they_may_lie() -> None:
    Y, kinds = three_groups()
    C = np.full((90, 2, 2), np.nan)
    C[4] = [[4.0, 1.0], [1.0, 1.0]]
    C[50] = np.diag([1.0, 9.0])
    ax = scatter(Y, color=kinds, uncertainty=C, level=0.5)
    outlines = ax.collections[-1]
    np.testing.assert_allclose(outlines.get_offsets(), Y[[4, 50]])
    radius = np.sqrt(-2 * np.log(0.5))
    values = np.linalg.eigvalsh(C[4])[::-1]
    np.testing.assert_allclose(outlines.get_widths(), [2 * radius * values[0] ** 0.5, 2 * radius * 3])
    np.testing.assert_allclose(outlines.get_heights(), [2 * radius * values[1] ** 0.5, 2 * radius])
    assert [to_hex(tone) for tone in outlines.get_edgecolors()] == [PALETTE[0], PALETTE[1]]
    assert legend_texts(ax)[-1] == "missing cells: 50 % of where the row may lie"


def test_of_very_many_uncertain_rows_the_largest_are_drawn_and_the_legend_says_so() -> None:
    n = MAX_SPREADS + 50
    Y = np.random.default_rng(0).normal(size=(n, 3))
    C = np.eye(3) * np.arange(1.0, n + 1)[:, None, None]
    ax = scatter(Y, axes=(1, 3), uncertainty=C)
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), Y[50:, [0, 2]])
    assert legend_texts(ax)[-1].endswith(f"(the {MAX_SPREADS} most uncertain of {n} rows)")
    with pytest.raises(ValueError, match=r"shape \(250, 2, 2\) or \(250, 3, 3\)"):
        scatter(Y, uncertainty=np.zeros((250, 4, 4)))


def test_the_uncertainty_of_a_recipe_is_drawn() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5)) + 0.2 * rng.normal(size=(80, 5))
    X[:6, :3] = np.nan
    model = lowland.recipe(lowland.PCA(2), missing="ppca").fit(X)
    ax = scatter(model.transform(X), uncertainty=lowland.quality.imputation_covariances(model, X))
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), model.transform(X)[:6])


def test_new_rows_lie_over_the_old_map() -> None:
    Y, kinds = three_groups()
    new = np.array([[10.0, 1.0], [0.0, 0.5]])
    ax = scatter(Y, color=kinds, new=new, new_name="patients of June")
    drawn = ax.collections[-1]
    np.testing.assert_array_equal(drawn.get_offsets(), new)
    assert len(drawn.get_facecolors()) == 0
    assert to_hex(drawn.get_edgecolors()[0]) == THEMES["paper"].second
    assert drawn.get_zorder() > ax.collections[0].get_zorder()
    assert legend_texts(ax)[-1] == "patients of June (2)"
    assert ax.get_xlim()[1] > 10
    strip = scatter(Y[:, :1], new=new[:, :1])
    assert len(strip.collections[-1].get_offsets()) == 2
    with pytest.raises(ValueError, match="new must have 2 coordinates"):
        scatter(Y, new=np.ones((2, 3)))


def test_supplementary_rows_and_columns_are_drawn_on_the_chosen_axes() -> None:
    Y = np.random.default_rng(0).normal(size=(50, 3))
    over = Overlay({"age": (1.0, 0.0, 0.5)}, {"sex m": (0.1, 0.2, 0.3)}, Y[:4] + 1)
    ax = scatter(Y, axes=(3, 1), overlay=over)
    assert visible_labels(ax, "arrow") == ["age"]
    assert visible_labels(ax, "center") == ["sex m"]
    assert legend_texts(ax) == ["supplementary rows (4)"]
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), Y[:4, [2, 0]] + 1)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.3, 0.1]])
    arrow = next(text for text in ax.texts if not text.get_text())
    step = np.array(arrow.xy) - np.array(arrow.xyann)
    np.testing.assert_allclose(step / np.hypot(*step), np.array([0.5, 1.0]) / np.hypot(0.5, 1.0))
    space = scatter(Y, axes=(1, 2, 3), overlay=over)
    assert visible_labels(space, "arrow") == ["age"]


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


# -- texts that do not overlap -------------------------------------------------------------------------------


def boxes_of(ax: Any) -> dict[str, Any]:
    """The boxes of all texts and of the legend, of which no two may overlap."""
    texts = [("x label", ax.xaxis.label), ("y label", ax.yaxis.label), ("title", ax._left_title)]
    texts += [(f"label {i} {text.get_text()}", text) for i, text in enumerate(ax.texts)]
    for side, axis, (low, high) in (("x", ax.xaxis, ax.get_xlim()), ("y", ax.yaxis, ax.get_ylim())):
        ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        texts += [(f"{side} tick {text.get_text()}", text) for place, text in ticks if low <= place <= high]
    found = {name: Text.get_window_extent(text) for name, text in texts if shown(text)}
    if ax.get_legend() is not None:
        found["legend"] = ax.get_legend().get_window_extent()
    return found | {f"bar {i}": bar.get_tightbbox() for i, bar in enumerate(ax.figure.axes) if bar is not ax}


def shown(text: Any) -> bool:
    return bool(text.get_visible() and text.get_text())


def assert_apart(ax: Any) -> None:
    ax.figure.draw_without_rendering()
    found, figure = boxes_of(ax), ax.figure.bbox
    names = list(found)
    for i, name in enumerate(names):
        box = found[name]
        assert box.x0 >= figure.x0 - 1, f"{name} leaves the figure at the left: {box}"
        assert box.x1 <= figure.x1 + 1, f"{name} leaves the figure at the right: {box}"
        assert box.y0 >= figure.y0 - 1, f"{name} leaves the figure below: {box}"
        assert box.y1 <= figure.y1 + 1, f"{name} leaves the figure above: {box}"
        for other in names[:i]:
            wide = min(box.x1, found[other].x1) - max(box.x0, found[other].x0)
            high = min(box.y1, found[other].y1) - max(box.y0, found[other].y0)
            assert min(wide, high) <= 1.0, f"{name} overlaps {other}"
    assert min(ax.bbox.size) > 0.2 * min(figure.size), f"nothing is left of the axes: {ax.bbox}"


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


CASES = ("ellipses and centres", "names", "scale", "many groups", "crowded", "overlay")


@pytest.mark.parametrize("name", list(THEMES))
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_no_texts_overlap_or_leave_the_figure(case: str, size: tuple[float, float], name: str) -> None:
    with theme(name):
        assert_apart(draw_case(case, new_figure(*size)[1]))


@pytest.mark.parametrize("case", CASES)
def test_nor_do_they_on_axes_of_a_plain_figure_or_after_a_change_of_size(case: str) -> None:
    assert_apart(draw_case(case, Figure(figsize=(7, 5)).add_subplot()))
    ax = draw_case(case, new_figure(12, 8)[1])
    ax.figure.set_size_inches(7, 5)
    if case in ("names", "overlay"):
        assert_apart(ax)


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
