"""Regions of groups, uncertain rows, and further rows and columns on a map."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Ellipse, Polygon

import lowland
from drawn_maps import legend_texts, three_groups
from lowland.plots import Overlay, scatter
from lowland.plots.names import visible_labels
from lowland.plots.regions import MAX_SPREADS, group_ellipse
from lowland.plots.style import PALETTE, THEMES


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
