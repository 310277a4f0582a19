"""What is drawn over the points of a map: arrows and centres of supplementary columns, supplementary rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import INK, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 0.8  # length of the longest arrow, as a share of the farthest point's distance from the middle
_BACKGROUND = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}


@dataclass(frozen=True, eq=False)
class Overlay:
    """Arrows and centres by name, in the coordinates of the map, and rows that took no part in the fit.

    Arrows start in the middle of the map and are drawn in proportion: the longest reaches most of the way to the
    farthest point.
    """

    arrows: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    centers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    rows: Any = None

    def draw(self, axes: Axes, Y: Any, size: float) -> None:
        """Draw everything over the points; on a strip of one coordinate, only the rows and the centres."""
        flat = Y.shape[1] == 1
        if self.rows is not None and len(self.rows):
            height = np.full(len(self.rows), 1.25) if flat else self.rows[:, 1]
            axes.scatter(self.rows[:, 0], height, s=max(size, 12), facecolors="none", edgecolors=INK, linewidths=0.8)
        if not flat:
            self._draw_arrows(axes, Y)
        for name, place in self.centers.items():
            at = (place[0], 1.45 if flat else place[1])
            axes.plot(*at, marker="+", color=INK, markersize=8, linestyle="")
            self._write(axes, name, at)

    def _draw_arrows(self, axes: Axes, Y: Any) -> None:
        middle = Y[:, :2].mean(axis=0)
        lengths = [float(np.linalg.norm(arrow[:2])) for arrow in self.arrows.values()]
        if not lengths or max(lengths) == 0:
            return
        reach = _REACH * float(np.linalg.norm(Y[:, :2] - middle, axis=1).max()) / max(lengths)
        for name, arrow in self.arrows.items():
            tip = middle + reach * np.asarray(arrow[:2])
            axes.update_datalim([tip])  # annotations outside of the limits are not drawn
            axes.autoscale_view()
            axes.annotate("", tip, middle, arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.2})
            self._write(axes, name, tip)

    @staticmethod
    def _write(axes: Axes, name: str, place: Any) -> None:
        look: dict[str, Any] = {"fontsize": 9, "color": "black", "bbox": _BACKGROUND}
        axes.annotate(literal(shorten(name)), place, (4, 4), textcoords="offset points", **look)
