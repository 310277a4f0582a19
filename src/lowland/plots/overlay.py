"""What is drawn over the points of a map: arrows and centres of supplementary columns, supplementary and new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .coordinates import on_axes
from .group_points import RASTER_ABOVE
from .labels import Label
from .legends import key
from .style import current
from .views import Drawing

Array = Any

_REACH = 0.8  # length of the longest arrow, as a share of the farthest point's distance from the middle
_STEPS = np.linspace(0.1, 1.0, 20)[:, None]  # places along an arrow that labels should not cover
STRIP_ROWS, STRIP_CENTERS = 1.25, 1.45  # heights on a strip


@dataclass(frozen=True, eq=False)
class Overlay:
    """Arrows and centres by name, in the coordinates of the map, and rows that took no part in the fit.

    Arrows start in the middle of the map and are drawn in proportion: the longest reaches most of the way to the
    farthest point.
    """

    arrows: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    centers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    rows: Any = None

    def on(self, chosen: Sequence[int], n: int) -> Overlay:
        """Return the overlay on the drawn ones of n coordinates."""
        arrows = {name: tuple(on_axes([arrow], n, chosen, "arrows")[0]) for name, arrow in self.arrows.items()}
        centers = {name: tuple(on_axes([place], n, chosen, "centers")[0]) for name, place in self.centers.items()}
        return Overlay(arrows, centers, None if self.rows is None else on_axes(self.rows, n, chosen, "rows"))

    def draw(self, drawing: Drawing, Y: Array) -> None:
        """Draw everything over the points; on a strip, only the rows and the centres."""
        look = current()
        if self.rows is not None and len(self.rows):
            style = {"marker": "o", "color": look.ink}
            _draw_rows(drawing, self.rows, f"supplementary rows ({len(self.rows):,})", style)
        for name, center in self.centers.items():
            place = _on_strip(np.array([center]), STRIP_CENTERS)[0]
            size = 8 * look.marker**0.5
            drawing.axes.plot(*place[:, None], marker="+", color=look.ink, markersize=size, linestyle="", zorder=4)
            drawing.labels.append(Label(name, tuple(place), "center", gap=5.0))
        if Y.shape[1] > 1:
            self._draw_arrows(drawing, Y)

    def _draw_arrows(self, drawing: Drawing, Y: Array) -> None:
        look, middle, axes = current(), Y.mean(axis=0), drawing.axes
        lengths = [float(np.linalg.norm(arrow)) for arrow in self.arrows.values()]
        if not lengths or max(lengths) == 0:
            return
        reach = _REACH * float(np.linalg.norm(Y - middle, axis=1).max()) / max(lengths)
        for name, arrow in self.arrows.items():
            tip = middle + reach * np.asarray(arrow)
            drawing.labels.append(Label(name, tuple(tip), "arrow", gap=3.0, toward=tuple((tip - middle)[:2])))
            drawing.obstacles.append(middle + _STEPS * (tip - middle))
            width = 0.8 * look.line
            if len(tip) == 3:
                solid: Any = axes
                solid.quiver(*middle, *(tip - middle), color=look.ink, linewidth=width, arrow_length_ratio=0.08)
                continue
            axes.update_datalim([tip])  # annotations outside of the limits are not drawn
            axes.autoscale_view()
            style = {"arrowstyle": "->", "color": look.ink, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", tip, middle, arrowprops=style, zorder=5)


def draw_new(drawing: Drawing, rows: Array, name: str) -> None:
    """Draw new rows over a map."""
    _draw_rows(drawing, rows, f"{name} ({len(rows):,})", {"marker": "D", "color": current().second})


def _draw_rows(drawing: Drawing, rows: Array, text: str, style: Mapping[str, Any]) -> None:
    """Draw rows as hollow markers, above the points of a strip, with an entry of the legend."""
    P, look = _on_strip(np.asarray(rows, dtype=np.float64), STRIP_ROWS), current()
    drawing.obstacles.append(P)
    line, size = 0.7 * look.line, max(1.3 * drawing.size, 16 * look.marker)
    drawing.axes.scatter(
        *P.T,
        s=size,
        marker=style["marker"],
        facecolors="none",
        edgecolors=style["color"],
        linewidths=line,
        zorder=4,
        rasterized=len(P) > RASTER_ABOVE,
    )
    face = {"markerfacecolor": "none", "markeredgewidth": line}
    drawing.handles.append(key(text, markersize=6 * look.marker**0.5, **style, **face))


def _on_strip(P: Array, height: float) -> Array:
    """Return places; those of a single coordinate get a height."""
    return P if P.shape[1] > 1 else np.column_stack([P[:, 0], np.full(len(P), height)])
