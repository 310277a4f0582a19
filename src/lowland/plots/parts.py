"""Parts that several figures share: grid lines, legends, colour bars, titles and logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .style import current, fit_text, literal, room_of, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import Locator


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
    axes.set_title(text, loc="left", fontsize=look.font, color=look.ink)


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
    if bar.solids is not None:
        bar.solids.set(alpha=1.0)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=look.ink, which="both", labelsize=look.font)
    bar.set_label(literal(shorten(label, 60)), color=look.ink, fontsize=look.font)
    if label and not isinstance(axes, list):
        fit_text(bar.ax.yaxis.label, 0.9 * room_of(axes)[1])
    return bar


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
