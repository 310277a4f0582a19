"""Parts that several figures share: grid lines, legends, colour bars, titles and logarithmic axes."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .style import current, fit_text, literal, room_of, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    from matplotlib.ticker import Locator


_SURE = 0.3  # a title that is shorter than this share of the room of its axes fits in any layout
_EDGE = 2.0  # pixels between a title and the edge
_SHORT = 4.0  # a logarithmic axis whose ends have a smaller ratio gets more ticks


def outline(label: Any) -> None:
    """Draw an outline in the colour of the background around a text, so that it is legible over lines and points."""
    from matplotlib.patheffects import withStroke

    label.set_path_effects([withStroke(linewidth=2.2, foreground=current().background or "white", alpha=0.8)])


def grid_lines(axes: Axes, axis: str = "both") -> None:
    """Draw faint lines at the ticks."""
    axes.grid(axis=axis, color=current().faint, alpha=0.3, linewidth=0.6)  # type: ignore[arg-type]


def heading(axes: Axes, *lines: str) -> None:
    """Write the title, one text a line, to the left; empty ones are left out."""
    look = current()
    text = "\n".join(literal(line) for line in lines if line)
    if text:
        fit_title(axes, axes.set_title(text, loc="left", fontsize=look.font, color=look.ink))


def fit_title(axes: Axes, title: Text) -> None:
    """Break a title into lines that fit, by layouts of the figure; short ones fit anyway."""
    figure, text = axes.figure.figure, title.get_text()
    wide = title.get_window_extent().width * 72 / figure.dpi > _SURE * room_of(axes)[0]
    for _ in range(4 if wide or axes.get_legend() is not None else 0):
        figure.draw_without_rendering()  # more lines move the axes, if their sides have a fixed ratio
        before = title.get_text()
        title.set_text(text)
        break_title(axes, title)
        if title.get_text() == before:
            return


def break_title(axes: Axes, title: Text) -> None:
    """Break a title into lines that end in the part of the figure of the axes, and before their legend."""
    figure: Any = axes.figure
    spec, legend, box = axes.get_subplotspec(), axes.get_legend(), title.get_window_extent()
    end = figure.bbox.x1
    if spec is not None:
        end = figure.bbox.x0 + figure.bbox.width * spec.colspan.stop / spec.get_gridspec().ncols
    beside = [] if legend is None else [legend.get_window_extent()]
    beside += [part for other in figure.axes if other is not axes and (part := other.get_tightbbox()) is not None]
    end = min([end, *(part.x0 for part in beside if part.x0 > box.x0 and part.y1 > box.y0 and part.y0 < box.y1)])
    break_lines(title, end - box.x0 - _EDGE)


def break_lines(text: Text, room: float) -> None:
    """Break a text into lines of at most ``room`` pixels, between words."""
    width = text.get_window_extent().width
    if width > room > 0:
        lines = text.get_text().replace(" %", "\u00a0%").split("\n")
        letters = max(8, int(max(map(len, lines)) * room / width))
        text.set_text("\n".join(textwrap.fill(line, letters, break_long_words=False) for line in lines))


def legend(axes: Axes, **options: Any) -> Any:
    """Add a legend without a frame, in the colours of the theme."""
    look = current()
    box = axes.legend(**{"frameon": False, "fontsize": look.font, "labelcolor": look.ink, **options})
    box.get_title().set(color=look.ink, fontsize=look.font)
    return box


def color_bar(drawn: Any, axes: Axes | list[Axes], label: str = "", **options: Any) -> Any:
    """Add a colour bar at the right of the axes, opaque even if the points are not, with a label that fits."""
    look, first = current(), axes[0] if isinstance(axes, list) else axes
    apart = 0.1 if hasattr(first, "zaxis") else 0.02
    bar: Any = first.figure.colorbar(drawn, ax=axes, pad=apart, aspect=30, **options)
    layout: Any = first.figure.figure.get_layout_engine()
    if layout is not None and "h_pad" in layout.get():
        layout.set(h_pad=max(layout.get()["h_pad"], 0.55 * look.font / 72))  # numbers at its ends stand out by a half
    if bar.solids is not None:
        bar.solids.set(alpha=1.0)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=look.ink, which="both", labelsize=look.font)
    bar.set_label(literal(shorten(label, 60)), color=look.ink, fontsize=look.font)
    if label and not isinstance(axes, list):
        fit_text(bar.ax.yaxis.label, 0.9 * room_of(axes)[1])
    return bar


def few_ticks(axes: Axes, most: int) -> None:
    """Number the x axis at few enough places that the numbers do not touch, by a layout of the figure."""
    figure = axes.figure.figure
    for count in range(most, 0, -1):
        axes.locator_params(axis="x", nbins=count)
        figure.draw_without_rendering()
        low, high = axes.get_xlim()
        ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        boxes = [text.get_window_extent() for place, text in ticks if low <= place <= high]
        if all(one.x1 + 2 < two.x0 for one, two in pairwise(boxes)):
            return
    axes.set_xticks([0])


def plain_numbers(axis: Axis, places: Locator) -> None:
    """Label an axis with plain numbers at these positions only."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_locator(places)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def log_axis(axes: Axes, *, every: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Make the x axis logarithmic, with plain numbers as labels."""
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    if high < _SHORT * low:
        every = (1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    plain_numbers(axes.xaxis, LogLocator(subs=every))
