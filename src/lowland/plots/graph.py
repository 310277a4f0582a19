"""Figures of neighbour graphs: edges on the data or on a map, and a shortest path beside the straight line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.graph import Graph
from ..graph.neighbors import neighbor_graph as find_neighbors
from ..graph.neighbors import objects
from ..graph.paths import Path, shortest_path
from ..pairs.distances import learn
from ..pairs.distances import metric as bind
from .coloring import Groups, group_style, read_colors
from .component_parts import note
from .coordinates import check_order
from .legends import add_legend, fit_space, group_keys, key
from .parts import color_bar
from .scatter import label_axes
from .style import axes_for, current, shorten, value_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..quality.spaces import Metric

Array = Any

EDGES_MOST = 20_000  # with more edges single ones cannot be seen


def neighbor_graph(
    embedding: Any,
    X: Any = None,
    *,
    n_neighbors: int = 10,
    metric: Metric = "euclidean",
    path: tuple[int, int] | None = None,
    color: Any = None,
    color_name: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the neighbour graph of the data, at the places of the data or of a map.

    Parameters
    ----------
    embedding : array
        Two or three coordinates of each point: a map, or data with so few columns.
    X : array, optional
        The data, whose nearest neighbours are joined; with ``metric="precomputed"`` their distances. Default: the
        coordinates themselves.
    n_neighbors : int
        Neighbours of each point. Two points are joined if either is among the other's neighbours.
    metric : str or callable
        Metric of the data.
    path : (int, int), optional
        The numbers of two points: the shortest path between them is drawn beside the straight line, with both lengths.
    color : sequence, optional
        One value for each point: groups, or numbers. Without it points are drawn in one colour.
    color_name : str, optional
        Heading of the colours.
    ax : Axes, optional
        Axes to draw on, of projection "3d" for three coordinates; default: those of a new figure.

    Notes
    -----
    Of more than 20,000 edges a random sample is drawn, and the title says so. The path is found in the whole graph.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.1]])
    >>> axes = neighbor_graph(X, n_neighbors=1, path=(0, 2))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['shortest path: 2 (2 edges)', 'straight line: 1.41']
    """
    data = embedding if X is None else X
    if X is not None:
        check_order(embedding, X, "neighbor_graph", metric)
    graph = find_neighbors(data, n_neighbors, metric=metric).symmetric()
    places = _places(embedding, graph.n, metric, alone=X is None)
    flat = ax is not None and not hasattr(ax, "zaxis")
    places = places[:, :2] if flat else places
    axes = axes_for(ax, 6.4, 5.4, projection="3d" if places.shape[1] == 3 else None)
    drawn, total = _draw_edges(axes, graph, places, behind=path is not None)
    handles = _draw_points(axes, places, color, color_name, behind=path is not None)
    grouped, bars = bool(handles), axes.figure.axes[-1] is not axes
    if path is not None:
        found = shortest_path(graph, *path)
        handles += _draw_path(axes, places, found, _direct(data, metric, *path), "" if X is None else " in the data")
    axes.autoscale_view()
    label_axes(axes, [""] * places.shape[1], range(places.shape[1]), meaningful=X is None)
    edges = f"{total:,} edges" if drawn == total else f"{drawn:,} of {total:,} edges drawn"
    said = f"{n_neighbors} nearest neighbours of {graph.n:,} points, {edges}"
    if bars and handles:
        add_legend(axes, handles, said, above=True)
    else:
        add_legend(axes, handles, color_name if grouped else None)
    if places.shape[1] == 3:
        fit_space(axes, above=bars and bool(handles))
    if not (bars and handles):
        note(axes, said)
    return axes


def _places(points: Any, n: int, metric: Any, *, alone: bool) -> Array:
    """Return where points are drawn: two or three coordinates."""
    if alone and (callable(metric) or metric == "precomputed"):
        raise ValueError("distances alone give no places to draw at; give a map: neighbor_graph(Y, X)")
    places = np.asarray(objects(points, "euclidean", "neighbor_graph") if alone else points, dtype=np.float64)
    if places.ndim != 2 or len(places) != n:
        raise ValueError(f"the map has shape {places.shape}; it needs one row of coordinates for each of {n} points")
    if places.shape[1] not in (2, 3):
        what = "the data have" if alone else "the map has"
        more = "give a map: neighbor_graph(Y, X)" if alone else "give 2 or 3 of its coordinates, such as Y[:, :2]"
        raise ValueError(f"{what} {places.shape[1]} columns, and a graph is drawn in 2 or 3 dimensions; {more}")
    return places


def _draw_edges(axes: Any, graph: Graph, places: Array, *, behind: bool) -> tuple[int, int]:
    """Draw each edge once; return how many are drawn, and how many there are."""
    from matplotlib.collections import LineCollection

    i, j = np.repeat(np.arange(graph.n), graph.degrees), graph.indices
    once = i < j
    i, j = i[once], j[once]
    total = len(i)
    if total > EDGES_MOST:
        few = np.sort(np.random.default_rng(0).choice(total, EDGES_MOST, replace=False))
        i, j = i[few], j[few]
    look = current()
    style: dict[str, Any] = {
        "colors": look.faint,
        "linewidths": look.line / (3 if behind or len(i) > 2000 else 2),
        "alpha": 0.35 if behind else 0.7,
        "zorder": 1,
    }
    ends: Any = np.stack([places[i], places[j]], axis=1)
    if places.shape[1] == 3:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

        axes.add_collection3d(Line3DCollection(ends, **style))
    else:
        axes.add_collection(LineCollection(ends, rasterized=len(i) > EDGES_MOST // 4, **style))
    return len(i), total


def _draw_points(axes: Any, places: Array, color: Any, name: str | None, *, behind: bool) -> list[Any]:
    """Draw the points; return entries of the legend for their groups."""
    look, n = current(), len(places)
    style: dict[str, Any] = {"s": look.marker * float(np.clip(8_000 / n, 3, 24)), "linewidths": 0, "zorder": 2}
    style["alpha"] = 0.5 if behind else 0.9
    if places.shape[1] == 3:
        style["depthshade"] = False  # colours mean something
    read = None if color is None else read_colors(color, n)
    if read is None:
        axes.scatter(*places.T, color=look.accent, **style)
    elif isinstance(read, Groups):
        for code in range(len(read.labels)):
            tone, shape = group_style(code, read)
            here = read.codes == code
            marker = "." if shape == "x" else shape  # a cross is drawn by lines, and these marks have none
            axes.scatter(*places[here].T, color=tone, marker=marker, **style)
        return group_keys(read)
    else:
        there = read.present
        axes.scatter(*places[~there].T, color=look.faint, **style)
        marks = axes.scatter(*places[there].T, c=read.values[there], cmap=value_colors(), **style)
        color_bar(marks, axes, shorten(name or ""))
    return []


def _draw_path(axes: Any, places: Array, found: Path, direct: float, where: str) -> list[Any]:
    """Draw a path and the straight line between its ends; return entries of the legend with their lengths."""
    look = current()
    steps = len(found.points) - 1
    ends = places[found.points[[0, -1]]]
    way = places[found.points]
    path: dict[str, Any] = {"color": look.second, "linewidth": 1.8 * look.line, "linestyle": "-"}
    straight: dict[str, Any] = {"color": look.ink, "linewidth": look.line, "linestyle": "--"}
    axes.plot(*way.T, zorder=5, solid_capstyle="round", **path)
    axes.plot(*ends.T, zorder=6, **straight)
    axes.scatter(*ends.T, color=look.ink, s=30 * look.marker, zorder=7, linewidths=0)
    edges = f"({steps} edge{'' if steps == 1 else 's'})"
    return [
        key(f"shortest path{where}: {found.length:.3g} {edges}", **path),
        key(f"straight line{where}: {direct:.3g}", **straight),
    ]


def _direct(X: Any, metric: Metric, i: int, j: int) -> float:
    """Return the distance of two points in the data."""
    items = objects(X, metric, "neighbor_graph")
    if isinstance(metric, str) and metric == "precomputed":
        return float(items[i, j])
    rule = bind(metric, items, {} if callable(metric) else learn(metric, items))
    return float(np.asarray(rule(items[[i]], items[[j]]))[0, 0])
