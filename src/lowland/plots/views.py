"""Ways to draw the rows of a map: as points, as hexagons, as densities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .coloring import Groups, Scale, group_style
from .group_points import RASTER_ABOVE, draw_groups
from .labels import Label
from .legends import group_keys, key
from .parts import color_bar
from .style import current, room_of, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

KINDS = ("auto", "points", "density", "hexagons")
SHARES = (0.95, 0.75, 0.5, 0.25)  # of the rows inside the contours of a density
GROUP_SHARES = (0.9, 0.5)  # the same for groups
_OVERPRINTED = 3.0  # marks on one place, times their opacity, above which differences in density are invisible
_HEXAGON = 7.0  # points: width of a hexagon
_USUAL_ROOM = 72 * 7.0 * 72 * 5.4  # square points, for which sizes of markers are chosen
_GRID = 160  # cells along the longer side of a density


@dataclass
class Drawing:
    """What a map is drawn from: positions of the rows, colours, order; and what it adds to the legend."""

    axes: Any  # flat or in space
    P: Array  # (n, 2) or (n, 3) positions
    colors: Groups | Scale | None
    name: str | None
    order: Array  # of drawing
    color_map: Any = "viridis"
    limits: tuple[float, float] | None = None
    handles: list[Any] = field(default_factory=list)  # entries of the legend
    labels: list[Label] = field(default_factory=list)  # to write when all is drawn
    obstacles: list[Array] = field(default_factory=list)  # places, beside the points, that labels should not cover
    has_bar: bool = False

    @property
    def size(self) -> float:
        """Area of a marker."""
        return float(marker_look(self.axes, len(self.P))["s"])

    @property
    def tones(self) -> Array:
        """The colour of each row where it has one of its own; ink on colour scales."""
        look = current()
        if isinstance(self.colors, Groups):
            return np.array([group_style(code, self.colors)[0] for code in range(len(self.colors.labels))])[
                self.colors.codes
            ]
        return np.full(len(self.P), look.accent if self.colors is None else look.ink)

    def bar(self, drawn: Any, title: str) -> None:
        """Add a colour bar, pointed where values lie beyond its limits."""
        values = np.asarray(drawn.get_array())
        low, high = self.limits or (-np.inf, np.inf)
        beyond = (
            "min" if values.min(initial=np.inf) < low else "",
            "max" if values.max(initial=-np.inf) > high else "",
        )
        color_bar(drawn, self.axes, title, extend="both" if all(beyond) else "".join(beyond) or "neither")
        self.has_bar = True


def marker_look(axes: Axes, n: int) -> dict[str, Any]:
    """Return the size and opacity of the markers for n points; they are smaller in smaller axes."""
    width, height = room_of(axes)
    share = float(np.clip(width * height / _USUAL_ROOM, 0.3, 1.5))
    size = float(np.clip(20_000 / n, 4, 28)) * share * current().marker
    return {
        "s": size,
        "alpha": float(np.clip(60 / n**0.5, 0.05, 0.85)),
        "linewidths": 0,
        "rasterized": n > RASTER_ABOVE,
    }


def crowded(axes: Axes, P: Array) -> bool:
    """Return whether at least half of the points would lie under so many others that the density is invisible."""
    if P.shape[1] != 2:
        return False
    look, span = marker_look(axes, len(P)), np.ptp(P, axis=0)
    width, height = room_of(axes)
    place = axes.get_position()
    if axes.get_subplotspec() is None:
        width, height = width * place.width, height * place.height
    unit = max(span[0] / (0.75 * width), span[1] / (0.8 * height))  # of the map, for a point of the figure
    if not unit > 0:
        return False
    cells = np.floor((P - P.min(axis=0)) / (unit * look["s"] ** 0.5)).astype(np.int64)
    _, where, counts = np.unique(cells @ [1, 1 << 20], return_inverse=True, return_counts=True)
    return bool(np.median(counts[where]) * look["alpha"] > _OVERPRINTED)


def draw(drawing: Drawing, kind: str) -> None:
    """Draw all rows in the chosen view."""
    if kind == "hexagons":
        _hexagons(drawing)
    elif kind == "density":
        _density(drawing)
    else:
        _points(drawing)
    if isinstance(drawing.colors, Groups):
        drawing.handles[:0] = group_keys(drawing.colors)


# -- points ----------------------------------------------------------------------------------------------------------


def _points(drawing: Drawing) -> None:
    axes, P, colors, order = drawing.axes, drawing.P, drawing.colors, drawing.order
    look = marker_look(axes, len(P))
    if colors is None:
        axes.scatter(*P[order].T, color=current().accent, **look)
    elif isinstance(colors, Scale):
        _scale_points(drawing, colors, look)
    else:
        draw_groups(axes, P, colors, look, order)


def _scale_points(drawing: Drawing, scale: Scale, look: dict[str, Any]) -> None:
    axes, P, order = drawing.axes, drawing.P, drawing.order
    absent, there = order[~scale.present[order]], order[scale.present[order]]
    if len(absent):
        axes.scatter(*P[absent].T, color=current().faint, **look)
    low, high = drawing.limits or (None, None)
    marks = axes.scatter(*P[there].T, c=scale.values[there], cmap=drawing.color_map, vmin=low, vmax=high, **look)
    drawing.bar(marks, _scale_title(drawing.name, len(absent)))


def _scale_title(name: str | None, missing: int) -> str:
    return shorten(name or "") + (f" (grey: {missing:,} missing)" if missing else "")


# -- hexagons --------------------------------------------------------------------------------------------------------


def _hexagons(drawing: Drawing) -> None:
    colors = drawing.colors
    if colors is None:
        drawn = _bins(drawing, slice(None), cmap=drawing.color_map, bins="log")
        drawing.bar(drawn, "rows in a hexagon")
    elif isinstance(colors, Scale):
        there = colors.present
        if not there.all():
            _bins(drawing, ~there).set(array=None, facecolor=current().faint, alpha=0.5)
        low, high = drawing.limits or (None, None)
        values = {"C": colors.values[there], "cmap": drawing.color_map, "vmin": low, "vmax": high}
        drawn = _bins(drawing, there, **values)
        drawing.bar(drawn, f"mean of {_scale_title(drawing.name or 'the rows', int((~there).sum()))}")
    else:
        _group_hexagons(drawing, colors)


def _bins(drawing: Drawing, rows: Any, **options: Any) -> Any:
    """Draw hexagons over some rows, on the same grid for all."""
    low, span = drawing.P.min(axis=0), np.ptp(drawing.P, axis=0)
    span = np.where(span > 0, span, max(span.max(), 1.0) / 10)
    width, height = room_of(drawing.axes)
    side = max(span[0] / (0.75 * width), span[1] / (0.8 * height)) * _HEXAGON
    across, up = (max(1, int(np.ceil(part))) for part in (span[0] / side, span[1] / side / 3**0.5))
    extent = (low[0], low[0] + across * side, low[1], low[1] + up * side * 3**0.5)  # regular hexagons
    x, y = drawing.P[rows].T
    return drawing.axes.hexbin(
        x, y, gridsize=(across, up), extent=extent, mincnt=1, linewidths=0.5, edgecolors="face", **options
    )


def _group_hexagons(drawing: Drawing, groups: Groups) -> None:
    """Colour hexagons by their most frequent group, stronger the more rows they have."""
    from matplotlib.colors import to_rgb, to_rgba_array

    sizes: list[int] = []

    def most_frequent(codes: Any) -> int:
        sizes.append(len(codes))
        return int(np.bincount(np.asarray(codes, dtype=np.int64)).argmax())

    drawn = _bins(drawing, slice(None), C=groups.codes, reduce_C_function=most_frequent)
    found = np.asarray(drawn.get_array(), dtype=np.int64)
    rgba = to_rgba_array([group_style(code, groups)[0] for code in range(len(groups.labels))])[found]
    counts = np.log1p(np.array(sizes, dtype=np.float64))
    share = (0.25 + 0.75 * counts / counts.max())[:, None]
    back = np.array(to_rgb(current().background or "white"))
    mixed = share * rgba[:, :3] + (1 - share) * back  # opaque, because transparent edges would show as seams
    drawn.set(array=None, facecolor=mixed, edgecolor=mixed)
    drawing.handles.append(key("hexagons: the most frequent group, stronger where there are more rows"))


# -- density ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Density:
    """A density on a grid, and its value at each row."""

    x: Array
    y: Array
    values: Array
    at_rows: Array

    def levels(self, shares: tuple[float, ...]) -> Array:
        """Return, in rising order, the densities above which these shares of the rows lie."""
        return np.quantile(self.at_rows, 1 - np.sort(shares)[::-1])


def density_of(P: Array, low: Array, high: Array) -> Density:
    """Return a Gaussian kernel density on a grid, by Scott's rule for the bandwidth (Scott 1992)."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    span = float((high - low).max()) or 1.0  # all rows may lie at one place
    spread = np.maximum(P.std(axis=0, ddof=1) if len(P) > 1 else np.zeros(2), span / _GRID)
    width = spread * len(P) ** (-1 / 6)
    low, high = low - 3 * width, high + 3 * width
    shape = np.maximum(np.round(_GRID * (high - low) / (high - low).max()), 8).astype(int)
    step = (high - low) / shape
    x, y = P.T
    counts, *edges = np.histogram2d(x, y, bins=shape.tolist(), range=np.column_stack([low, high]))
    values = gaussian_filter(counts, width / step, mode="constant") / (len(P) * step.prod())
    across, up = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
    at_rows = map_coordinates(values, ((P - low) / step - 0.5).T, order=1, mode="nearest")
    return Density(across, up, values, at_rows)


def _density(drawing: Drawing) -> None:
    from matplotlib.colors import to_rgb

    P, groups = drawing.P, drawing.colors
    look = marker_look(drawing.axes, len(P))
    parts = [(np.arange(len(P)), current().accent)]
    if isinstance(groups, Groups):
        parts = [(np.flatnonzero(groups.codes == c), group_style(c, groups)[0]) for c in range(len(groups.labels))]
    shares = GROUP_SHARES if isinstance(groups, Groups) else SHARES
    low, high = P.min(axis=0), P.max(axis=0)
    for rows, tone in parts:
        if len(rows) < 5:
            drawing.axes.scatter(*P[rows].T, color=tone, **look)
            continue
        found = density_of(P[rows], low, high)
        levels = found.levels(shares)
        outside = rows[found.at_rows < levels[0]]
        drawing.axes.scatter(*P[outside].T, color=tone, **look | {"alpha": 0.4})
        rising = np.unique([*levels, max(float(found.values.max()), levels[-1]) * 1.001])
        if len(rising) > 1:
            weak = 0.08 if isinstance(groups, Groups) else 0.15
            fills = [(*to_rgb(tone), weak + 0.55 * i / len(shares)) for i in range(len(rising) - 1)]
            drawing.axes.contourf(found.x, found.y, found.values.T, levels=rising, colors=fills)
            lines = rising[:-1]
            drawing.axes.contour(found.x, found.y, found.values.T, levels=lines, colors=[tone], linewidths=0.6)
    told = ", ".join(f"{100 * share:.0f}" for share in shares[:-1]) + f" and {100 * shares[-1]:.0f} %"
    of = "the rows of each group" if isinstance(groups, Groups) else "the rows"
    drawing.handles.append(key(f"contours: {told} of {of}", linestyle="-", color=current().ink, linewidth=0.6))
