"""The picture of a neighbour graph: its edges, a shortest path and the straight line."""

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

import lowland
from drawn_maps import legend_texts
from lowland import graph
from lowland.plots import graph as drawing
from lowland.plots.graph import neighbor_graph
from lowland.plots.style import PALETTE, theme


@pytest.fixture(scope="module")
def roll():
    return lowland.data.swiss_roll(300, random_state=0)


def edges_of(X, k, **options):
    found = graph.neighbor_graph(X, k, **options).symmetric()
    i = np.repeat(np.arange(found.n), found.degrees)
    return {(int(a), int(b)) for a, b in zip(i, found.indices, strict=True) if a < b}


def test_each_edge_is_drawn_once_at_the_places_of_its_ends(roll):
    X, Y = roll
    axes = neighbor_graph(Y, X, n_neighbors=5)
    lines = list(axes.collections[0].get_segments())
    edges = sorted(edges_of(X, 5))
    assert len(lines) == len(edges)
    for (i, j), segment in zip(edges, sorted(lines, key=lambda s: _pair(s, Y)), strict=True):
        np.testing.assert_allclose(segment, Y[[i, j]])
    np.testing.assert_allclose(axes.collections[1].get_offsets(), Y)
    assert axes.get_title(loc="left") == f"5 nearest neighbours of 300 points, {len(edges):,} edges"


def _pair(segment, Y):
    return tuple(int(np.argmin(((Y - end) ** 2).sum(axis=1))) for end in segment)


def test_path_against_the_straight_line_on_a_roll(roll):
    X, unrolled = lowland.data.swiss_roll(800, random_state=0)
    i, j = int(np.argmin(unrolled[:, 0])), int(np.argmax(unrolled[:, 0]))
    axes = neighbor_graph(X, n_neighbors=8, path=(i, j))
    assert axes.name == "3d"
    found = graph.shortest_path(graph.neighbor_graph(X, 8).symmetric(), i, j)
    way, straight = axes.lines
    np.testing.assert_allclose(np.column_stack(way.get_data_3d()), X[found.points])
    np.testing.assert_allclose(np.column_stack(straight.get_data_3d()), X[[i, j]])
    direct = float(np.linalg.norm(X[i] - X[j]))
    assert found.length > 2 * direct
    texts = legend_texts(axes)
    assert texts == [
        f"shortest path: {found.length:.3g} ({len(found.points) - 1} edges)",
        f"straight line: {direct:.3g}",
    ]


def test_distances_need_a_map(roll):
    X, Y = roll
    D = cdist(X[:60], X[:60], "cityblock")
    axes = neighbor_graph(Y[:60], D, metric="precomputed", n_neighbors=6, path=(0, 59))
    same = neighbor_graph(Y[:60], X[:60], metric="cityblock", n_neighbors=6, path=(0, 59))
    texts = [legend_texts(one) for one in (axes, same)]
    assert texts[0] == texts[1]
    assert f"straight line in the data: {D[0, 59]:.3g}" in texts[0]
    with pytest.raises(ValueError, match=r"give a map: neighbor_graph\(Y, X\)"):
        neighbor_graph(D, metric="precomputed")


def test_colours_of_points_and_their_legend(roll):
    X, Y = roll
    names = np.where(Y[:, 0] < np.median(Y[:, 0]), "inner", "outer")
    axes = neighbor_graph(Y, X, color=names, color_name="part", path=(0, 5))
    groups = axes.collections[1:3]
    for part, label, tone in zip(groups, ("inner", "outer"), PALETTE, strict=False):
        np.testing.assert_allclose(part.get_offsets(), Y[names == label])
        assert to_hex(part.get_facecolor()[0]) == tone
    assert not [artist for artist in axes.artists if artist.__class__.__name__ == "Legend"]
    texts = legend_texts(axes)
    assert texts[:2] == ["inner", "outer"]
    assert texts[2].startswith("shortest path in the data: ")
    assert texts[3].startswith("straight line in the data: ")
    scaled = neighbor_graph(Y, X, color=Y[:, 0], color_name="arc")
    assert scaled.figure.axes[1].get_ylabel() == "arc"
    np.testing.assert_allclose(scaled.collections[2].get_array(), Y[:, 0])


def test_a_sample_of_many_edges_is_told(roll, monkeypatch):
    X, Y = roll
    monkeypatch.setattr(drawing, "EDGES_MOST", 100)
    axes = neighbor_graph(Y, X, n_neighbors=5)
    assert len(axes.collections[0].get_segments()) == 100
    assert f"100 of {len(edges_of(X, 5)):,} edges drawn" in axes.get_title(loc="left")


def test_flat_axes_show_two_of_three_coordinates(roll):
    X, _ = roll
    axes = Figure().add_subplot()
    assert neighbor_graph(X, ax=axes) is axes
    np.testing.assert_allclose(axes.collections[1].get_offsets(), X[:, :2])


def test_what_cannot_be_drawn_is_refused(rng):
    X = rng.normal(size=(40, 5))
    with pytest.raises(ValueError, match=r"the data have 5 columns.*give a map: neighbor_graph\(Y, X\)"):
        neighbor_graph(X)
    with pytest.raises(ValueError, match=r"the map has 5 columns.*Y\[:, :2\]"):
        neighbor_graph(X, X)
    with pytest.raises(ValueError, match=r"shape \(39, 2\).*each of 40 points"):
        neighbor_graph(X[1:, :2], X)
    apart = np.concatenate([X[:20, :2], X[20:, :2] + 100])
    with pytest.raises(lowland.DataError, match="no path connects the points 0 and 39"):
        neighbor_graph(apart, n_neighbors=3, path=(0, 39))


@pytest.mark.parametrize("name", ["paper", "slide"])
def test_the_legend_of_a_graph_in_space_is_above_it_where_a_colour_bar_is_beside(roll, name):
    X, Y = roll
    with theme(name):
        axes = neighbor_graph(X, path=(0, 9), color=Y[:, 0], color_name="arc")
    figure = axes.figure
    figure.draw_without_rendering()
    numbers = [axis.get_tightbbox() for axis in (axes.xaxis, axes.yaxis, axes.zaxis)]
    legend = axes.get_legend().get_window_extent()
    assert max(box.y1 for box in numbers) <= legend.y0 < legend.y1 <= figure.bbox.y1
    assert max(box.x1 for box in numbers) - min(box.x0 for box in numbers) > 0.35 * figure.bbox.width


@pytest.mark.parametrize("name", ["slide", "dark"])
def test_themes(roll, name):
    X, Y = roll
    with theme(name) as look:
        axes = neighbor_graph(Y, X, path=(0, 9))
        neighbor_graph(X)  # in space
    assert [line.get_color() for line in axes.lines] == [look.second, look.ink]
    assert tuple(axes.collections[0].get_colors()[0][:3]) == pytest.approx(to_rgba(look.faint)[:3])
    assert {to_hex(text.get_color()) for text in axes.get_legend().get_texts()} == {look.ink}
