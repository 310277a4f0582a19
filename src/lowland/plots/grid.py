"""Figures of a SOM grid: U-matrix, component planes and hits, with square or hexagonal cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..methods.network.prototypes import TOPOLOGIES, Grid
from .style import INK, literal, new_figure, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

PLANES_MOST = 64  # more planes would be too small to read


def draw_units(
    axes: Axes, values: ArrayLike, topology: str = "rectangular", *, colors: str = "viridis"
) -> PolyCollection:
    """Draw one cell for each unit of an a × b array, coloured by its value, where `SOM.transform` places it.

    The first coordinate runs to the right, the second upwards, so that transformed rows can be drawn on top.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_subplot()
    >>> cells = draw_units(axes, [[1.0, 2.0, 4.0], [0.0, 3.0, 5.0]])
    >>> [float(side) for side in axes.get_xlim() + axes.get_ylim()], cells.get_array().tolist()
    ([-0.5, 1.5, -0.5, 2.5], [1.0, 2.0, 4.0, 0.0, 3.0, 5.0])
    """
    from matplotlib.collections import PolyCollection

    V = np.asarray(values, dtype=np.float64)
    if V.ndim != 2 or V.size == 0:
        raise ValueError(f"expected one value for each unit of an a × b grid; got shape {V.shape}")
    grid = _grid(V.shape, topology)
    places, cell = grid.positions(), _cell(grid.hexagonal)
    cells = PolyCollection(
        list(places[:, None, :] + cell),
        array=V.ravel(),
        cmap=colors,
        edgecolors="face",  # no seams between cells
        linewidths=0.3,
    )
    axes.add_collection(cells)
    low, high = places.min(axis=0) + cell.min(axis=0), places.max(axis=0) + cell.max(axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    axes.set_aspect("equal")
    for spine in axes.spines.values():
        spine.set_visible(False)
    return cells


def _grid(shape: tuple[int, ...], topology: str) -> Grid:
    if topology not in TOPOLOGIES:
        raise ValueError(f"topology must be {' or '.join(map(repr, TOPOLOGIES))}; got {topology!r}")
    return Grid((shape[0], shape[1]), topology)


def _cell(hexagonal: bool) -> np.ndarray[Any, Any]:
    """Return the corners of a cell around its unit: cells fill the plane without gaps."""
    if not hexagonal:
        return np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    angle = np.deg2rad(30 + 60 * np.arange(6))
    return np.column_stack([np.cos(angle), np.sin(angle)]) / 3**0.5


def _one(values: ArrayLike, topology: str, colors: str, label: str) -> Figure:
    figure, axes = new_figure(6.4, 5.4)
    bar = figure.colorbar(draw_units(axes, values, topology, colors=colors), ax=axes, pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.set_label(label, color=INK)
    return figure


def u_matrix(distances: ArrayLike, topology: str = "rectangular") -> Figure:
    """Draw `SOM.u_matrix`: light areas are groups of similar rows, dark ridges the borders between them.

    Examples
    --------
    >>> figure = u_matrix([[0.1, 0.2], [0.1, 0.9]], "hexagonal")
    >>> len(figure.axes[0].collections[0].get_paths())
    4
    """
    return _one(distances, topology, "Greys", "mean distance to neighbouring units")


def hits(counts: ArrayLike, topology: str = "rectangular") -> Figure:
    """Draw `SOM.hits`: the number of rows whose nearest unit each unit is.

    Examples
    --------
    >>> figure = hits([[3, 0], [1, 7]])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['', 'rows']
    """
    return _one(counts, topology, "viridis", "rows")


def component_planes(planes: ArrayLike, topology: str = "rectangular", *, names: Sequence[str] | None = None) -> Figure:
    """Draw `SOM.component_planes`, the prototypes' values of each column, each on its own scale.

    Parameters
    ----------
    planes : values, columns × a × b; at most 64 columns.
    topology : topology of the grid.
    names : names of the columns; default: their numbers.

    Examples
    --------
    >>> figure = component_planes([[[0.1, 0.4]], [[2.0, 1.0]]], names=["height", "weight"])
    >>> [axes.get_title() for axes in figure.axes]
    ['height', 'weight']
    """
    from matplotlib.figure import Figure

    V = np.asarray(planes, dtype=np.float64)
    if V.ndim != 3 or V.size == 0:
        raise ValueError(f"expected planes of shape columns × a × b; got shape {V.shape}")
    if names is not None and len(names) != len(V):
        raise ValueError(f"got {len(names)} names for {len(V)} columns")
    if len(V) > PLANES_MOST:
        raise ValueError(
            f"{len(V)} planes are too many for one figure; give at most {PLANES_MOST}, such as planes[:64]"
        )
    across = int(np.ceil(np.sqrt(len(V))))
    down = -(-len(V) // across)
    size = max(1.1, 6.4 / across)
    wide, high = np.ptp(_grid(V.shape[1:], topology).positions(), axis=0) + 1
    tall = float(np.clip(high / wide, 0.2, 5.0))
    figure = Figure(figsize=(size * across, (size * tall + 0.3) * down), layout="constrained")
    figure.patch.set_alpha(0.0)
    for k, axes in enumerate(figure.subplots(down, across, squeeze=False).ravel()):
        if k >= len(V):
            axes.set_axis_off()
            continue
        draw_units(axes, V[k], topology)
        axes.patch.set_alpha(0.0)
        axes.set_title(literal(shorten(str(k) if names is None else str(names[k]))), fontsize=9, color=INK)
    return figure
