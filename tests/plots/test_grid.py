"""Maps as pictures: every unit a cell, where transform places it."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import lowland
from lowland.methods.network.prototypes import Grid
from lowland.plots.grid import component_planes, draw_units, hits, u_matrix


def cells(axes):
    (found,) = axes.collections
    return found, [path.vertices[:-1] for path in found.get_paths()]


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


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_a_fitted_map_is_drawn(topology, rng, tmp_path):
    X = rng.standard_normal((80, 5))
    model = lowland.SOM((4, 3), topology=topology, epochs=5).fit(X)
    one = u_matrix(model.u_matrix(), topology)
    two = hits(model.hits(X), topology)
    three = component_planes(model.component_planes(), topology, names=list("abcd$"))
    np.testing.assert_allclose(cells(one.axes[0])[0].get_array(), model.u_matrix().ravel())
    assert cells(two.axes[0])[0].get_array().sum() == 80
    assert [axes.get_title() for axes in three.axes] == ["a", "b", "c", "d", r"\$", ""]
    np.testing.assert_allclose(cells(three.axes[3])[0].get_array(), model.codebook_[:, 3])
    for figure in (one, two, three):
        figure.savefig(tmp_path / "map.png", dpi=40)
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"a × b grid; got shape \(3,\)"):
        u_matrix(np.ones(3))
    with pytest.raises(ValueError, match=r"columns × a × b; got shape \(2, 2\)"):
        component_planes(np.ones((2, 2)))
    with pytest.raises(ValueError, match="1 names for 2 columns"):
        component_planes(np.ones((2, 3, 3)), names=["a"])
    with pytest.raises(ValueError, match="65 planes are too many"):
        component_planes(np.ones((65, 1, 1)))
    with pytest.raises(ValueError, match="'rectangular' or 'hexagonal'; got 'round'"):
        hits(np.ones((2, 2)), "round")
