"""Legends that fit beside their axes, by measured sizes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .coloring import Groups, group_style
from .style import current, literal, room_of, shorten, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_WIDTH, _MAX_HEIGHT = 0.45, 0.97  # shares of the room of the axes that a legend may take at the side
_WIDTH_ABOVE, _HEIGHT_ABOVE = 0.45, 0.3  # above: if it were wider than the axes, the layout would shrink them each time
_SIZES = (1.0, 0.85, 0.7, 0.6, 0.5)  # factors of the font size
_MAX_COLUMNS = 4
_MOST_MOVES = 12  # of a name away from its axis in space
_LEAST_OF_LONG = 0.7  # smallest font factor in which names are written in several lines before they are cut


def key(text: str, **look: Any) -> Any:
    """Return an entry of a legend: a marker or a line with a text."""
    from matplotlib.lines import Line2D

    words = literal(text).replace(" %", "\u00a0%")  # a line must not begin with the sign
    return Line2D([], [], label=words, **({"linestyle": ""} | look))


def group_keys(groups: Groups) -> list[Any]:
    """Return an entry of the legend for each group."""
    size = 6 * current().marker ** 0.5
    styles = [group_style(code, groups) for code in range(len(groups.labels))]
    return [
        key(label, marker=shape, color=tone, markersize=size)
        for label, (tone, shape) in zip(groups.labels, styles, strict=True)
    ]


def add_legend(axes: Axes, handles: Sequence[Any], title: str | None = None, *, above: bool = False) -> None:
    """Add a legend at the right of the axes, or above them, in the largest font and fewest columns that fit."""
    if not handles:
        return
    _choose(handles, title, _layouts(len(handles), above), lambda *how: _fits(axes, handles, above, *how))
    legend = axes.get_legend()
    if legend is not None and axes.figure.figure.get_layout_engine() is None:
        _make_room(axes, legend, above)


def add_labelled_legend(axes: Axes) -> None:
    """Add the legend of all that has a label, right of the axes."""
    handles, texts = axes.get_legend_handles_labels()
    add_legend(axes, handles)
    for handle, text in zip(handles, texts, strict=True):
        handle.set_label(text)  # those of the legend are broken into lines


def add_figure_legend(part: Any, handles: Sequence[Any], title: str | None = None, *, widen: bool = False) -> None:
    """Add a legend at the right of all axes of a figure or subfigure; ``widen``: the figure grows by its width."""
    most = _MAX_WIDTH * part.bbox.width

    def fits(heading: str, font: float, columns: int) -> bool:
        for before in list(part.legends):
            before.remove()
        place = {"loc": "outside right center"}
        box = _draw(part, handles, heading, font, columns, place).get_window_extent()
        return bool(box.width <= most and box.height <= _MAX_HEIGHT * part.bbox.height)

    _choose(handles, title, _layouts(len(handles), False), fits)
    if widen:
        width, height = part.get_size_inches()
        part.set_size_inches(width + part.legends[-1].get_window_extent().width / part.dpi, height)


Fits = Callable[[str, float, int], bool]  # draws a legend with this heading, font and number of columns


def _choose(handles: Sequence[Any], title: str | None, layouts: Sequence[tuple[int, ...] | Any], fits: Fits) -> None:
    """Draw a legend in the first layout that fits; names are broken into lines before they are cut."""
    heading = literal(shorten(title, 60)) if title else ""
    texts = [str(handle.get_label()) for handle in handles]
    for limit, factor, wrap, columns in layouts:
        for handle, text in zip(handles, shorten_all(texts, limit), strict=True):
            handle.set_label(textwrap.fill(text, wrap))
        if fits(textwrap.fill(heading, wrap), current().font * factor, columns):
            return
    for handle, text in zip(handles, shorten_all(texts, 12), strict=True):  # nothing fits: short labels in a small font
        handle.set_label(text)
    fits(shorten(heading, 24), current().font * _SIZES[-1], min(2, len(handles)))


def _layouts(n: int, above: bool) -> list[tuple[int, float, int, int]]:
    """Return lengths of names, font factors, widths of lines and numbers of columns, in order of preference."""
    columns = range(min(n, _MAX_COLUMNS), 0, -1) if above else range(1, min(n, _MAX_COLUMNS) + 1)
    looks = [(factor, wrap, c) for factor in _SIZES for wrap in (28, 20, 15) for c in columns]
    return [(84, *look) for look in looks if look[0] >= _LEAST_OF_LONG] + [(32, *look) for look in looks]


def _draw(part: Any, handles: Sequence[Any], title: str, font: float, columns: int, place: dict[str, Any]) -> Any:
    """Draw a legend of axes or of a figure, without a frame, in the colours of the theme."""
    look = current()
    legend = part.legend(
        handles=handles,
        title=title or None,
        frameon=False,
        fontsize=font,
        title_fontsize=font,
        labelcolor=look.ink,
        ncols=columns,
        markerscale=max(0.6, font / look.font),
        alignment="left",
        **place,
    )
    legend.get_title().set_color(look.ink)
    return legend


def _fits(axes: Axes, handles: Sequence[Any], above: bool, title: str, font: float, columns: int) -> bool:
    """Draw the legend of axes and return whether it fits."""
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "borderaxespad": 0.3}
    if above:
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
    box, scale = _draw(axes, handles, title, font, columns, place).get_window_extent(), 72 / axes.figure.figure.dpi
    width, height = room_of(axes)
    if above:
        return bool(box.width * scale <= _WIDTH_ABOVE * width and box.height * scale <= _HEIGHT_ABOVE * height)
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


def fit_space(axes: Any, *, above: bool = False) -> None:
    """Shrink axes in space until their numbers and names, which lie outside of them, are inside of the figure.

    Names move away from the numbers, and the legend to the right of both; a legend ``above`` them stays there.
    """
    legend, whole = None if above else axes.get_legend(), axes.figure.bbox
    shape = [np.ptp(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())]
    small = float(np.clip(min(room_of(axes)) / (28 * current().font), 0.55, 1.0))  # letters in small figures
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_tick_params(labelsize=small * current().font)
        axis.label.set_fontsize(small * axis.label.get_fontsize())
    for zoom in (1.0, 0.93, 0.86, 0.8, 0.74, 0.68, 0.6, 0.52, 0.44):
        axes.set_box_aspect(shape, zoom=zoom)
        for _ in range(3 if legend is not None else 1):  # the layout moves the axes, and they the legend
            _clear_numbers(axes)
            box = _outer_box(axes) if above else _move_legend(axes)
        if box.x0 >= whole.x0 and box.y0 >= whole.y0 and box.y1 <= _top(axes, above) and box.x1 <= whole.x1:
            break
    if legend is not None:
        _clear_numbers(axes)
        _move_legend(axes)


def _top(axes: Any, above: bool) -> float:
    """Return the height at which the room of axes in space ends: below a legend above them, or that of the figure."""
    return float((axes.get_legend().get_window_extent() if above else axes.figure.bbox).extents[1 if above else 3])


def _move_legend(axes: Any) -> Any:
    """Move the legend to the right of the numbers and names of axes in space; return the box of these."""
    box, legend = _outer_box(axes), axes.get_legend()
    if legend is not None:
        legend.set_bbox_to_anchor(((box.x1 - axes.bbox.x0) / axes.bbox.width + 0.02, 0.5), axes.transAxes)
    return box


def _clear_numbers(axes: Any) -> None:
    """Leave out numbers of axes in space that touch, and move the names away from all numbers, by measured boxes."""
    from matplotlib.ticker import MaxNLocator

    every = (axes.xaxis, axes.yaxis, axes.zaxis)
    names = [axis for axis in every if axis.label.get_text()]
    for _ in range(_MOST_MOVES):
        axes.figure.figure.draw_without_rendering()
        numbers = {axis: _number_boxes(axis) for axis in every}
        dense = [axis for axis in every if any(one.overlaps(two) for one, two in pairwise(numbers[axis]))]
        dense += [one for one, two in pairwise(every) if not dense and _meet(numbers[one], numbers[two])]
        for axis in dense:
            axis.set_major_locator(MaxNLocator(max(1, len(numbers[axis]) - 2)))
        lines = {axis: _boxes_of_line(axis.label) for axis in names}
        near = [axis for axis in names if any(_meet(lines[axis], boxes) for boxes in numbers.values())]
        near += [two for one, two in combinations(names, 2) if not near and _meet(lines[one], lines[two])]
        if not near and not dense:
            return
        for axis in near:
            axis.labelpad += 0.3 * current().font


def _meet(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return any(one.overlaps(two) for one in some for two in others)


def _boxes_of_line(text: Any) -> list[Any]:
    """Return small boxes along a text of one line, which may be turned by any angle."""
    from matplotlib.transforms import Bbox

    box, angle = text.get_window_extent(), np.deg2rad(text.get_rotation())
    cos, sin = abs(np.cos(angle)), abs(np.sin(angle))
    high = 1.2 * text.get_fontsize() * text.figure.figure.dpi / 72
    long = (box.width - high * sin) / cos if cos > sin else (box.height - high * cos) / sin
    steps = np.linspace(-0.5, 0.5, 2 + int(2 * long / high)) * max(long - high, 0.0)
    middles = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    middles = middles + steps[:, None] * [np.cos(angle), np.sin(angle)]
    return [Bbox([middle - high / 2, middle + high / 2]) for middle in middles]


def _number_boxes(axis: Any) -> list[Any]:
    """Return the boxes of the numbers of an axis in space, after a drawing, which alone places them."""
    low, high = sorted(axis.get_view_interval())
    texts = [tick.label1 for tick in axis.majorTicks[: len(axis.get_majorticklocs())] if low <= tick.get_loc() <= high]
    return [text.get_window_extent() for text in texts if text.get_text()]


def _outer_box(axes: Any) -> Any:
    """Return the box of the axes with their numbers and names, after a layout."""
    from matplotlib.transforms import Bbox

    axes.figure.figure.draw_without_rendering()
    renderer = axes.figure._get_renderer()
    parts = [axis.get_tightbbox(renderer) for axis in (axes.xaxis, axes.yaxis, axes.zaxis)]
    return Bbox.union([part for part in parts if part is not None and np.isfinite(part.extents).all()])
