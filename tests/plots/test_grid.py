"""Maps of a SOM: every unit a cell, where transform places it; discs and planes by the numbers behind them."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import lowland
from lowland.methods.network.prototypes import Grid
from lowland.plots.grid import component_planes, draw_units, hit_map, u_matrix
from lowland.plots.style import THEMES, theme


def cells(axes):
    found = axes.collections[0]
    return found, [path.vertices[:-1] for path in found.get_paths()]


@pytest.fixture(params=["rectangular", "hexagonal"])
def som(request, rng):
    rows = pd.DataFrame(rng.standard_normal((80, 5)), columns=["a", "b", "c", "d", "$"])
    return lowland.SOM((4, 3), topology=request.param, epochs=5).fit(rows), rows


@pytest.mark.parametrize(("topology", "corners", "area"), [("rectangular", 4, 1.0), ("hexagonal", 6, 0.75**0.5)])
def test_cells_lie_around_their_units_and_tile_the_plane(topology, corners, area):
    axes = Figure().add_subplot()
    values = np.arange(20.0).reshape(5, 4)
    drawn, found = cells((draw_units(axes, values, topology), axes)[1])
    np.testing.assert_array_equal(drawn.get_array(), values.ravel())
    places = Grid((5, 4), topology).positions()
    for place, polygon in zip(places, found, strict=True):
        assert polygon.shape == (corners, 2)
        np.testing.assert_allclose(polygon.mean(axis=0), place, atol=1e-12)
        x, y = polygon.T
        shoelace = 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
        assert shoelace == pytest.approx(area)  # the area of a unit of the lattice: no gap, no overlap
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    corners_of_all = np.concatenate(found)
    assert (corners_of_all.min(axis=0) >= [left - 1e-9, low - 1e-9]).all()
    assert (corners_of_all.max(axis=0) <= [right + 1e-9, high + 1e-9]).all()


def test_a_fitted_map_is_drawn_with_its_own_topology(som, tmp_path):
    model, X = som
    one, two, three = u_matrix(model), hit_map(model, X), component_planes(model)
    corners = 6 if model.topology_ == "hexagonal" else 4
    assert len(cells(one)[1][0]) == corners
    np.testing.assert_allclose(cells(one)[0].get_array(), model.u_matrix().ravel())
    np.testing.assert_array_equal(cells(two)[0].get_array(), model.hits(X).ravel())
    assert [axes.get_title().splitlines()[0] for axes in three] == [
        "a",
        "b",
        "c",
        "d",
        r"\$",
    ]  # matplotlib would read $ as mathematics
    np.testing.assert_allclose(cells(three[3])[0].get_array(), model.codebook_[:, 3])
    assert len(three[0].figure.axes) == 5, "the sixth place of the grid stays empty"
    for axes in (one, two, three[0]):
        axes.figure.savefig(tmp_path / "map.png", dpi=40)
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_discs_have_areas_in_proportion_to_rows(som):
    model, X = som
    axes = u_matrix(model, X)
    discs, hits = axes.collections[1], model.hits(X).ravel()
    np.testing.assert_allclose(discs.get_offsets(), model.positions_[hits > 0])
    widths = np.asarray(discs.get_widths())
    np.testing.assert_allclose((widths / widths.max()) ** 2, hits[hits > 0] / hits.max())
    assert widths.max() < 1, "discs of neighbouring units do not overlap"
    assert f"largest: {hits.max()}" in axes.get_title(loc="left")


def test_arrays_and_given_axes():
    figure = Figure()
    one, two = figure.subplots(1, 2)
    assert u_matrix(np.ones((2, 3)), [[0, 1, 2], [3, 0, 0]], ax=one) is one
    assert len(one.collections[1].get_offsets()) == 3
    assert component_planes(np.ones((1, 2, 2)), ax=two) == [two]
    assert two.get_title() == "0\nall 1"
    assert len(u_matrix(np.ones((2, 2)), np.zeros((2, 2))).collections) == 1, "no rows, no discs"


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_colours_and_sizes_are_those_of_the_theme(som, name):
    model, X = som
    with theme(name) as look:
        axes = u_matrix(model, X)
        panels = component_planes(model)
    assert tuple(axes.collections[1].get_facecolor()[0][:3]) == pytest.approx(to_rgba(look.accent)[:3])
    assert panels[0].title.get_fontsize() == look.font
    assert panels[0].title.get_color() == look.ink
    background = THEMES[name].background
    assert axes.figure.get_facecolor() == (to_rgba(background) if background else (*to_rgba("white")[:3], 0.0))


def test_wrong_shapes_are_refused(som):
    with pytest.raises(ValueError, match=r"a × b grid; got shape \(3,\)"):
        u_matrix(np.ones(3))
    with pytest.raises(ValueError, match=r"columns × a × b; got shape \(2, 2\)"):
        component_planes(np.ones((2, 2)))
    with pytest.raises(ValueError, match="1 names for 2 columns"):
        component_planes(np.ones((2, 3, 3)), names=["a"])
    with pytest.raises(ValueError, match="65 planes are too many"):
        component_planes(np.ones((65, 1, 1)))
    with pytest.raises(ValueError, match="'rectangular' or 'hexagonal'; got 'round'"):
        hit_map(np.ones((2, 2)), topology="round")
    with pytest.raises(ValueError, match="1 axes for 2 planes"):
        component_planes(np.ones((2, 2, 2)), ax=Figure().add_subplot())
    with pytest.raises(ValueError, match=r"counts of shape \(1, 2\) for 2 × 2 units"):
        u_matrix(np.ones((2, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"hit_map\(som, X\)"):
        hit_map(som[0])
    with pytest.raises(NotFittedError):
        u_matrix(lowland.SOM())
