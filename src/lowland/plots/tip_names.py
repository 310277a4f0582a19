"""Names at the tips of arrows and beside points: measured boxes that never overlap, lines to them that never cross."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .parts import outline
from .style import current, literal, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

Array = Any


def write_tip_names(
    ax: Axes,
    places: Array,
    names: Sequence[str],
    *,
    towards: Array | None = None,
    colors: Sequence[str] | None = None,
    arrows: Array | None = None,
    gap: float = 0.0,
    limit: int = 24,
    told: Callable[[int], None] | None = None,
) -> None:
    """Write a name beside each place, in the direction ``towards`` where there is room; the first ones have precedence.

    A name is moved around its place, then farther away with a thin line, until its box lies inside the axes, overlaps
    no other name and covers no place, and its line crosses no other line and no name. It stays off the arrows from the
    origin to ``arrows`` where it can. A name without room is invisible, and ``told`` is called with the number of
    them. ``gap`` are further points between a place and its name. Places are found when the figure is drawn, and again
    when its size or its limits have changed; the axes must be complete otherwise.
    """
    if not len(names):
        return
    from .tip_placing import TipPlacer

    spots = np.asarray(places, dtype=np.float64).reshape(-1, 2)
    ink = [current().ink] * len(names) if colors is None else colors
    short = shorten_all([str(name) for name in names], limit)
    texts = [_new_name(ax, spots[i], name, ink[i]) for i, name in enumerate(short)]
    ways = np.tile([1.0, 0.0], (len(names), 1)) if towards is None else np.asarray(towards, dtype=np.float64)
    tips = np.empty((0, 2)) if arrows is None else np.asarray(arrows, dtype=np.float64).reshape(-1, 2)
    ax.add_artist(TipPlacer(ax, spots, texts, ways, tips, gap, told))
    settle(ax)


def settle(ax: Axes) -> None:
    """Lay out the figure until neither the size of the axes nor their title, which counts names, changes any more."""
    figure: Any = ax.figure.figure
    size, title = np.zeros(2), ""
    for _ in range(8):
        figure.draw_without_rendering()
        if np.abs(np.array(ax.bbox.size) - size).max() < 0.5 and title == ax.get_title(loc="left"):
            return
        size, title = np.array(ax.bbox.size), ax.get_title(loc="left")


def _new_name(ax: Axes, place: Array, text: str, color: str) -> Annotation:
    look = current()
    line = {"arrowstyle": "-", "color": look.faint, "linewidth": 0.5 * look.line / 1.5, "shrinkA": 0, "shrinkB": 0}
    label = ax.annotate(
        literal(text),
        (float(place[0]), float(place[1])),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=look.font,
        color=color,
        arrowprops=line,
        zorder=6,
    )
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(False)
    outline(label)
    label.set_in_layout(False)  # otherwise the layout would move the points
    return label
