"""Figures of a SOM grid: U-matrix, component planes and hits, with square or hexagonal cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Setting
from ..methods.network.prototypes import TOPOLOGIES, Grid
from .parts import color_bar, heading
from .style import axes_for, current, grid_of_axes, literal, room_of, shorten_all, value_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from numpy.typing import ArrayLike

PLANES_MOST = 64  # more planes would be too small to read
_DISC = 0.8  # diameter of the disc of the unit with most rows, in grid steps


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
        cmap=value_colors(colors),
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
        raise ValueError(
            Message(Setting("topology"), f" must be {' or '.join(map(repr, TOPOLOGIES))}; got {topology!r}")
        )
    return Grid((shape[0], shape[1]), topology)


def _cell(hexagonal: bool) -> np.ndarray[Any, Any]:
    """Return the corners of a cell around its unit: cells fill the plane without gaps."""
    if not hexagonal:
        return np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    angle = np.deg2rad(30 + 60 * np.arange(6))
    return np.column_stack([np.cos(angle), np.sin(angle)]) / 3**0.5


def _size(units: Any, topology: str) -> tuple[float, float]:
    """Return the size of a figure in which the cells fill the height, next to a colour bar."""
    shape = np.shape(units)
    if len(shape) != 2 or 0 in shape:
        return 6.4, 5.4
    wide, high = np.ptp(_grid(shape, topology).positions(), axis=0) + 1
    return 6.4, float(np.clip(5.3 * high / wide + 0.4, 2.6, 8.0))


def _is_model(units: Any) -> bool:
    """Return whether the units are those of a fitted SOM; a SOM that is not fitted is refused."""
    if not hasattr(units, "component_planes"):
        return False
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(units)
    return True


def u_matrix(units: Any, X: Any = None, *, topology: str = "rectangular", ax: Axes | None = None) -> Axes:
    """Draw the U-matrix: light areas are groups of similar rows, dark ridges the borders between them.

    Parameters
    ----------
    units : SOM, or a × b array
        A fitted map, or what its `u_matrix` returned.
    X : array, optional
        Rows, for a fitted map: a disc on each unit shows how many of them it is the nearest of. For an array of units,
        the counts, as `SOM.hits` returns them.
    topology : str
        Topology of an array; a fitted map knows its own.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> axes = u_matrix([[0.1, 0.2], [0.1, 0.9]], topology="hexagonal")
    >>> len(axes.collections[0].get_paths())
    4
    """
    counts = X
    if _is_model(units):
        counts, topology = None if X is None else units.hits(X), units.topology_
        units = units.u_matrix()
    axes = axes_for(ax, *_size(units, topology))
    color_bar(draw_units(axes, units, topology, colors="Greys"), axes, "mean distance to neighbouring units")
    if counts is not None:
        _draw_discs(axes, np.asarray(counts), np.shape(units), topology)
    return axes


def _draw_discs(axes: Axes, counts: Any, shape: tuple[int, ...], topology: str) -> None:
    """Draw a disc on each unit, its area in proportion to the number of rows."""
    from matplotlib.collections import EllipseCollection

    if counts.shape != shape:
        raise ValueError(f"got counts of shape {counts.shape} for {shape[0]} × {shape[1]} units")
    most = int(counts.max())
    if most == 0:
        return
    seen = counts.ravel() > 0
    width = _DISC * np.sqrt(counts.ravel()[seen] / most)
    places = _grid(shape, topology).positions()[seen]
    look, turned = current(), np.zeros(len(width))
    discs = EllipseCollection(
        width, width, turned, units="xy", offsets=places, offset_transform=axes.transData, color=look.accent, alpha=0.85
    )
    axes.add_collection(discs)
    heading(axes, f"discs: number of rows (largest: {most:,})")


def hit_map(units: Any, X: Any = None, *, topology: str = "rectangular", ax: Axes | None = None) -> Axes:
    """Draw the number of rows whose nearest unit each unit is; empty units lie between groups, or where rows are few.

    Parameters
    ----------
    units : SOM, or a × b array
        A fitted map, or what its `hits` returned.
    X : array
        Rows, for a fitted map.
    topology : str
        Topology of an array; a fitted map knows its own.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> axes = hit_map([[3, 0], [1, 7]])
    >>> [other.get_ylabel() for other in axes.figure.axes]
    ['', 'rows']
    """
    if _is_model(units):
        if X is None:
            raise ValueError("hit_map needs the rows to count: hit_map(som, X)")
        units, topology = units.hits(X), units.topology_
    axes = axes_for(ax, *_size(units, topology))
    color_bar(draw_units(axes, units, topology, colors="viridis"), axes, "rows")
    return axes


def component_planes(
    units: Any,
    *,
    topology: str = "rectangular",
    names: Sequence[str] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw the prototypes' values of each column over the map, each on its own scale; its ends are below the name.

    Parameters
    ----------
    units : SOM, or columns × a × b array
        A fitted map, or what its `component_planes` returned; at most 64 columns.
    topology : str
        Topology of an array; a fitted map knows its own.
    names : sequence of str, optional
        Names of the columns; default: those of the fit, or their numbers.
    ax : sequence of Axes, optional
        One for each column; default: those of a new figure.

    Examples
    --------
    >>> panels = component_planes([[[0.1, 0.4]], [[2.0, 1.0]]], names=["height", "weight"])
    >>> [axes.get_title().splitlines() for axes in panels]
    [['height', '0.1 to 0.4'], ['weight', '1 to 2']]
    """
    if _is_model(units):
        names = getattr(units, "feature_names_in_", None) if names is None else names
        units, topology = units.component_planes(), units.topology_
    V = np.asarray(units, dtype=np.float64)
    if V.ndim != 3 or V.size == 0:
        raise ValueError(f"expected planes of shape columns × a × b; got shape {V.shape}")
    if names is not None and len(names) != len(V):
        raise ValueError(f"got {len(names)} names for {len(V)} columns")
    if len(V) > PLANES_MOST:
        raise ValueError(
            f"{len(V)} planes are too many for one figure; give at most {PLANES_MOST}, such as planes[:64]"
        )
    look = current()
    panels = _panels(V, topology, ax)
    letters = max(int(min(room_of(axes)[0] for axes in panels) / (0.68 * look.font)), 6)  # that a panel holds
    short = shorten_all([str(k) for k in range(len(V))] if names is None else [str(name) for name in names], letters)
    for axes, values, name in zip(panels, V, short, strict=True):
        draw_units(axes, values, topology)
        axes.set_title(f"{literal(name)}\n{_range(values, letters)}", fontsize=look.font, color=look.ink)
    return panels


def _range(values: Any, letters: int) -> str:
    """Return the ends of a scale, in at most so many letters where two digits are enough for that.

    >>> _range(np.array([0.125, 12.0]), 15), _range(np.array([2.0]), 15), _range(np.array([385.2, 1443.0]), 15)
    ('0.125 to 12', 'all 2', '385 to 1443')
    """
    ends = dict.fromkeys([float(np.min(values)), float(np.max(values))])
    texts = [" to ".join(_short(end, np.ptp(values), digits) for end in ends) for digits in (3, 2)]
    text = texts[0] if len(texts[0]) <= letters else texts[1]
    return text if len(ends) > 1 else f"all {text}"


def _short(value: float, width: float, digits: int) -> str:
    """Return a number in so many digits: integers below a million in full, 0 where it rounds to that on the scale.

    >>> _short(1443.2, 1000.0, 3), _short(7e-9, 16.0, 3), _short(2.5e7, 2.0, 3)
    ('1443', '0', '2.5e+07')
    """
    if abs(value) < 0.5 * 10.0**-digits * width:
        return "0"
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e6 else f"{value:.{digits}g}"


def _panels(V: Any, topology: str, ax: Any) -> list[Axes]:
    """Return one pair of axes for each plane: the given ones, or those of a new figure."""
    if ax is not None:
        panels = [ax] if hasattr(ax, "add_collection") else list(np.ravel(ax))
        if len(panels) != len(V):
            raise ValueError(f"got {len(panels)} axes for {len(V)} planes; give one for each")
        return [axes_for(axes) for axes in panels]
    across = int(np.ceil(np.sqrt(len(V))))
    down = -(-len(V) // across)
    large = current().font / 9
    size = max(1.1, 6.4 / across) * large
    wide, high = np.ptp(_grid(V.shape[1:], topology).positions(), axis=0) + 1
    tall = float(np.clip(high / wide, 0.2, 5.0))
    panels = grid_of_axes(down, across, width=size, height=size * tall + 0.47 * large)
    for unused in panels[len(V) :]:
        unused.remove()
    return panels[: len(V)]
