"""Style of the figures: themes for papers, slides and dark pages; colours that colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Ten colours by Petroff (arXiv:2107.02270), and ten more, each chosen as the farthest from the previous ones in OKLab,
# also for colour-blind vision (Machado et al. 2009): the smallest distance of the twenty is that of the ten.
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
    "#003c5a",
    "#690f00",
    "#1e3cff",
    "#3c0096",
    "#c3a5ff",
    "#00f087",
    "#5a4b78",
    "#f04bff",
    "#1e692d",
    "#d23cb4",
)
SHAPES = ("o", "s")  # of the first ten groups, and of the others


@dataclass(frozen=True)
class Theme:
    """Colours, sizes and the background of a figure; ``background`` is None for a transparent one."""

    ink: str = "#1f2328"  # text and axes
    faint: str = "#8c959f"  # grid, missing values, other groups
    accent: str = "#3f6fd8"
    second: str = "#d9822b"
    background: str | None = None
    font: float = 9.0  # points: tick labels, legends, names; headings are larger
    line: float = 1.5  # points: width of lines
    marker: float = 1.0  # factor of the area of markers


THEMES = {
    "paper": Theme(),
    "slide": Theme(font=14.0, line=2.5, marker=2.0),
    "dark": Theme(ink="#e6edf3", faint="#7d8590", accent="#79a8ff", second="#f0a35e", background="#0d1117"),
}
_current: ContextVar[Theme] = ContextVar("theme", default=THEMES["paper"])

# The colours of the theme "paper", which pages translate to their own.
INK, FAINT, ACCENT, SECOND = THEMES["paper"].ink, THEMES["paper"].faint, THEMES["paper"].accent, THEMES["paper"].second


@contextmanager
def theme(name: str) -> Iterator[Theme]:
    """Draw all figures inside of a ``with`` block in one theme: "paper" (the default), "slide" or "dark".

    >>> with theme("slide") as chosen:
    ...     chosen.font
    14.0
    """
    if name not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(map(repr, THEMES))}; got {name!r}")
    token = _current.set(THEMES[name])
    try:
        yield THEMES[name]
    finally:
        _current.reset(token)


def current() -> Theme:
    """Return the theme in which figures are drawn now."""
    return _current.get()


def axes_for(ax: Axes | None = None, width: float = 7.0, height: float = 4.6, *, projection: str | None = None) -> Axes:
    """Return the axes to draw on: the given ones as they are, or those of a new figure, in the current theme.

    A new figure is not registered with pyplot, so that it is freed like any object.

    >>> axes_for().figure.get_size_inches().tolist()
    [7.0, 4.6]
    """
    return new_figure(width, height, projection=projection)[1] if ax is None else ax


def grid_of_axes(rows: int, columns: int, *, width: float = 2.6, height: float = 2.6) -> list[Axes]:
    """Return the axes of a new figure of panels, row by row; ``width`` and ``height`` are of one panel."""
    figure = _new_figure(width * columns, height * rows)
    return [plain(figure.add_subplot(rows, columns, i + 1)) for i in range(rows * columns)]


def plain(axes: Axes) -> Axes:
    """Give axes the look of the current theme: two spines, quiet ticks, no background of their own."""
    look = current()
    axes.patch.set_alpha(0.0)
    if hasattr(axes, "zaxis"):
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.label.set(color=look.ink, fontsize=look.font + 1)
    else:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color(look.faint)
        for label in (axes.xaxis.label, axes.yaxis.label):
            label.set(color=look.ink, fontsize=look.font + 1)
        axes.set_axisbelow(True)
    axes.title.set(color=look.ink, fontsize=look.font + 2)
    axes.tick_params(colors=look.ink, which="both", labelsize=look.font)
    return axes


def new_figure(width: float = 7.0, height: float = 4.6, *, projection: str | None = None) -> tuple[Figure, Axes]:
    """Return an empty figure, not registered with pyplot, with one pair of plain axes (``projection="3d"``: three)."""
    figure = _new_figure(width, height)
    return figure, plain(figure.add_subplot(projection=projection))


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    background = current().background
    if background is None:
        figure.patch.set_alpha(0.0)
    else:
        figure.patch.set_facecolor(background)
    return figure


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is, not as mathematics."""
    return text.replace("$", r"\$")


def shorten(text: str, limit: int = 32) -> str:
    """Cut a long name for a legend.

    >>> shorten("abcdefgh", 5)
    'abcd…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"
