"""Legends and colour bars that fit beside their axes, by measured sizes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import current, fit_text, literal, room_of, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

_MAX_WIDTH, _MAX_HEIGHT = 0.45, 0.97  # shares of the room of the axes that a legend may take at the side
_MAX_ABOVE = 0.35  # share of the height that it may take above
_SIZES = (1.0, 0.85, 0.7, 0.6, 0.5)  # factors of the font size
_MAX_COLUMNS = 4


def key(text: str, **look: Any) -> Any:
    """Return an entry of a legend: a marker or a line with a text."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=literal(text), **({"linestyle": ""} | look))


def add_legend(axes: Axes, handles: Sequence[Any], title: str | None = None, *, above: bool = False) -> None:
    """Add a legend at the right of the axes, or above them, in the largest font and fewest columns that fit."""
    if not handles:
        return
    heading = literal(shorten(title, 60)) if title else ""
    texts = [str(handle.get_label()) for handle in handles]
    for factor, wrap, columns in _layouts(len(handles), above):
        for handle, text in zip(handles, texts, strict=True):
            handle.set_label(textwrap.fill(text, wrap))
        if _fits(axes, handles, textwrap.fill(heading, wrap), above, current().font * factor, columns):
            break
    else:  # nothing fits: short labels in the smallest font
        for handle, text in zip(handles, texts, strict=True):
            handle.set_label(shorten(text, 12))
        _fits(axes, handles, shorten(heading, 24), above, current().font * _SIZES[-1], min(2, len(handles)))
    legend = axes.get_legend()
    if legend is not None and axes.figure.figure.get_layout_engine() is None:
        _make_room(axes, legend, above)


def _layouts(n: int, above: bool) -> list[tuple[float, int, int]]:
    """Return font factors, widths of lines and numbers of columns, in order of preference."""
    columns = range(min(n, _MAX_COLUMNS), 0, -1) if above else range(1, min(n, _MAX_COLUMNS) + 1)
    return [(factor, wrap, c) for factor in _SIZES for wrap in (28, 20, 15) for c in columns]


def _fits(axes: Axes, handles: Sequence[Any], title: str, above: bool, font: float, columns: int) -> bool:
    """Draw the legend and return whether it fits."""
    look = current()
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0.3}
    if above:
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
    legend = axes.legend(
        handles=handles,
        title=title or None,
        frameon=False,
        fontsize=font,
        title_fontsize=font,
        labelcolor=look.ink,
        ncols=columns,
        alignment="left",
        **place,
    )
    legend.get_title().set_color(look.ink)
    box, scale = legend.get_window_extent(), 72 / axes.figure.figure.dpi
    width, height = room_of(axes)
    if above:
        return bool(box.width * scale <= 0.8 * width and box.height * scale <= _MAX_ABOVE * height)
    return bool(box.width * scale <= _MAX_WIDTH * width and box.height * scale <= _MAX_HEIGHT * height)


def _make_room(axes: Axes, legend: Any, above: bool) -> None:
    """Shrink axes of a figure without a layout engine, as colour bars do, so that the legend stays in the figure."""
    box, whole, place = legend.get_window_extent(), axes.figure.bbox, axes.get_position()
    if above:
        least = max(0.0, (box.y1 - whole.y1) / whole.height)
        axes.set_position((place.x0, place.y0, place.width, place.height - least))
    else:
        least = max(0.0, (box.x1 - whole.x1) / whole.width + 0.01)
        axes.set_position((place.x0, place.y0, place.width - least, place.height))


def move_legend(axes: Any) -> None:
    """Move the legend of axes in space to the right of their numbers and names, which may lie outside of the axes."""
    legend = axes.get_legend()
    if legend is None:
        return
    legend.set_in_layout(False)
    for _ in range(2):  # the layout moves the axes
        axes.figure.figure.draw_without_rendering()
        ends = [axis.get_tightbbox(axes.figure._get_renderer()).x1 for axis in (axes.xaxis, axes.yaxis, axes.zaxis)]
        ends = [end for end in ends if np.isfinite(end)]
        right = (max([*ends, axes.bbox.x1]) - axes.bbox.x0) / axes.bbox.width
        legend.set_bbox_to_anchor((right + 0.02, 0.5), axes.transAxes)
        legend.set_in_layout(True)


def add_colorbar(axes: Axes, drawn: ScalarMappable, title: str) -> Any:
    """Add a colour bar in the current theme at the right of the axes."""
    look = current()
    bar = axes.figure.colorbar(drawn, ax=axes, pad=0.1 if hasattr(axes, "zaxis") else 0.02, aspect=30)
    if bar.solids is not None:
        bar.solids.set(alpha=1.0)  # the colour bar is opaque even if the points are not
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=look.ink, which="both", labelsize=look.font)
    bar.set_label(literal(title), color=look.ink, fontsize=look.font)
    fit_text(bar.ax.yaxis.label, 0.9 * room_of(axes)[1])
    return bar
