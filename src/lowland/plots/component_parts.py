"""Parts that figures of components share: points by colour, arrows from the origin, labels of axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .coloring import Scale, read_colors
from .group_points import RASTER_ABOVE, draw_groups
from .legends import add_legend, group_keys
from .parts import break_title, color_bar, fit_title
from .style import current, value_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

Array = Any


def diverging() -> str:
    """Return the colour map of signed values in the current theme: white or black in the middle."""
    return "RdBu_r" if current().background is None else "berlin"


def mark_colors() -> Any:
    """Return the colour map of arrows and points by how well axes show them: the weakest are the faintest.

    >>> mark_colors()
    'viridis_r'
    """
    return value_colors("viridis_r" if current().background is None else "viridis")


def draw_points(ax: Axes, x: Array, y: Array, color: Any = None, color_name: str | None = None) -> None:
    """Draw points in one colour, by group with a legend, or by value with a colour bar."""
    look, n = current(), len(x)
    style: dict[str, Any] = {
        "s": float(np.clip(20_000 / n, 4, 22)) * look.marker,
        "alpha": float(np.clip(60 / n**0.5, 0.08, 0.75)),
        "linewidths": 0,
        "rasterized": n > RASTER_ABOVE,
    }
    found = None if color is None else read_colors(color, n)
    if found is None:
        ax.scatter(x, y, color=look.accent, **style)
    elif isinstance(found, Scale):
        _draw_scale(ax, x, y, found, color_name, style)
    else:
        draw_groups(ax, np.column_stack([x, y]), found, style)
        add_legend(ax, group_keys(found), color_name)


def _draw_scale(ax: Axes, x: Array, y: Array, scale: Scale, name: str | None, style: dict[str, Any]) -> None:
    known = scale.present
    if not known.all():
        ax.scatter(x[~known], y[~known], color=current().faint, **style)
    marks = ax.scatter(x[known], y[known], c=scale.values[known], cmap=value_colors(), **style)
    color_bar(marks, ax, name or "")


def draw_arrows(ax: Axes, tips: Array, color: str | Sequence[str], *, dashed: bool = False) -> None:
    """Draw arrows from the origin to the tips."""
    look = current()
    for i, tip in enumerate(np.asarray(tips)):
        style = {
            "arrowstyle": "-|>,head_length=0.35,head_width=0.16",
            "color": color if isinstance(color, str) else color[i],
            "linewidth": 0.8 * look.line,
            "linestyle": (0, (4, 2)) if dashed else "-",
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate("", (float(tip[0]), float(tip[1])), (0, 0), arrowprops=style, zorder=4)


def text_width(names: Sequence[str], limit: int = 24) -> float:
    """Return the width of the longest name in inches, approximately, if names are cut to so many letters."""
    return 0.6 * current().font / 72 * min(limit, max(map(len, names)))


def zero_lines(ax: Axes) -> None:
    """Draw quiet lines through the origin."""
    look = current()
    ax.axhline(0, color=look.faint, linewidth=0.6, zorder=0.5)
    ax.axvline(0, color=look.faint, linewidth=0.6, zorder=0.5)


def note(ax: Axes, text: str) -> Text:
    """Write a small line above the axes, left; in several lines where the figure is narrow."""
    look = current()
    title = ax.set_title(text, loc="left", fontsize=look.font, color=look.ink)
    fit_title(ax, title)
    return title


def rewrite(ax: Axes, title: Text, text: str) -> None:
    """Change the text of a note while the figure is drawn; its look stays."""
    lines = title.get_text().count("\n")
    title.set_text(text)
    break_title(ax, title)
    missing = lines - title.get_text().count("\n")  # with fewer lines the axes would grow, and names find room again
    title.set_text("\n" * max(missing, 0) + title.get_text())


def settle_note(ax: Axes, title: Text, text: Callable[[], str]) -> None:
    """Break a note whose text changes while the figure is drawn, until its lines stay."""
    for _ in range(4):
        before = title.get_text()
        rewrite(ax, title, text())
        ax.figure.figure.draw_without_rendering()
        if title.get_text() == before:
            return
