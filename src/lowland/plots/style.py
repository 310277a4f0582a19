"""Style of the figures: themes for papers, slides and dark pages; colours that colour-blind readers can distinguish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Eight of the ten colours by Petroff (arXiv:2107.02270), two instead of its greys, which look like ``Theme.faint``, and
# ten more, chosen as the farthest from the previous ones in OKLab, also for colour-blind vision (Machado et al. 2009):
# the smallest distance of the twenty is that of the first ten.
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#46c8b4",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#82648c",
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
# The same for a dark background: two of the eight are lighter, the others are chosen likewise, from colours with a
# contrast of at least 3.2 to the background.
DARK_PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#c8280a",
    "#d282a0",
    "#9a45cc",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#aa3c6e",
    "#92dadd",
    "#d2ffa5",
    "#87b4ff",
    "#a5ffff",
    "#ffe100",
    "#96e196",
    "#3c5aff",
    "#d25ab4",
    "#69c3d2",
    "#785a96",
    "#d269ff",
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
    palette: tuple[str, ...] = PALETTE  # of groups

    @property
    def label(self) -> tuple[str, str]:
        """Colours of the text and of the box of labels that lie over points."""
        # Pages turn transparent figures dark, but not these boxes: their text is not in ``ink``.
        return ("black", "white") if self.background is None else (self.ink, self.background)


THEMES = {
    "paper": Theme(),
    "slide": Theme(font=14.0, line=2.5, marker=2.0),
    "dark": Theme(
        ink="#e6edf3",
        faint="#7d8590",
        accent="#79a8ff",
        second="#f0a35e",
        background="#0d1117",
        palette=DARK_PALETTE,
    ),
}
_DARKEST = 0.36  # of viridis: a contrast of 3 with the dark background
_MAX_LINES = 3  # of a broken text
_current: ContextVar[Theme] = ContextVar("theme", default=THEMES["paper"])
_size: ContextVar[tuple[float, float] | None] = ContextVar("size", default=None)

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


@contextmanager
def figure_size(inches: tuple[float, float] | None) -> Iterator[None]:
    """Give all new figures inside of a ``with`` block one size, so that their texts fit it; None: each its own.

    >>> with figure_size((4.0, 3.0)):
    ...     axes_for().figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    token = _size.set(inches)
    try:
        yield
    finally:
        _size.reset(token)


def current() -> Theme:
    """Return the theme in which figures are drawn now."""
    return _current.get()


def value_colors(name: Any = "viridis") -> Any:
    """Return the colour map of numbers; in the dark theme viridis begins where it stands out from the background.

    >>> value_colors()
    'viridis'
    """
    if current().background is None or name not in ("viridis", "viridis_r"):
        return name
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    tones = colormaps["viridis"](np.linspace(_DARKEST, 1.0, 256))
    return ListedColormap(tones if name == "viridis" else tones[::-1])


def axes_for(ax: Axes | None = None, width: float = 7.0, height: float = 4.6, *, projection: str | None = None) -> Axes:
    """Return the axes to draw on: the given ones, or those of a new figure in the current theme.

    Given axes stay as they are in the default theme; another one is applied to them and to the background of their
    figure. A new figure is not registered with pyplot, so that it is freed like any object.

    >>> axes_for().figure.get_size_inches().tolist()
    [7.0, 4.6]
    """
    if ax is None:
        return new_figure(width, height, projection=projection)[1]
    if current() is not THEMES["paper"]:
        _set_background(ax.figure.figure)
        plain(ax)
    return ax


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
    if look.font != THEMES["paper"].font:
        axes.tick_params(pad=3.5 * look.font / THEMES["paper"].font)
    return axes


def new_figure(width: float = 7.0, height: float = 4.6, *, projection: str | None = None) -> tuple[Figure, Axes]:
    """Return an empty figure, not registered with pyplot, with one pair of plain axes (``projection="3d"``: three)."""
    figure = _new_figure(width, height)
    return figure, plain(figure.add_subplot(projection=projection))


def _new_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size.get() or (width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    _set_background(figure)
    return figure


def _set_background(figure: Any) -> None:
    background = current().background
    if background is not None:
        figure.patch.set(facecolor=background, alpha=1.0)


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is, not as mathematics."""
    return text.replace("$", r"\$")


def shorten(text: str, limit: int = 32) -> str:
    """Cut a long name for a legend.

    >>> shorten("abcdefgh", 5)
    'abcd…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shorten_all(texts: Sequence[str], limit: int = 32) -> list[str]:
    """Cut long names of a set so that those that differ stay different.

    Where cut names would be equal, the middle is left out, or what they have in common.

    >>> shorten_all(["Escherichia coli K-12 substrain 1", "Escherichia coli K-12 substrain 2", "yeast"], 20)
    ['Escherich…ubstrain 1', 'Escherich…ubstrain 2', 'yeast']
    """
    cut = {text: shorten(text, limit) for text in texts}
    for part in _colliding(cut):
        cut |= _told_apart(part, limit)
    for part in _colliding(cut):  # with names cut in another way
        cut |= {text: f"{shorten(text, max(limit - 3, 2))} {i}" for i, text in enumerate(part, 1)}
    return [cut[text] for text in texts]


def _colliding(cut: dict[str, str]) -> list[list[str]]:
    """Return the sets of names whose cut names are equal."""
    found: dict[str, list[str]] = {}
    for text, short in cut.items():
        found.setdefault(short, []).append(text)
    return [part for part in found.values() if len(part) > 1]


def _told_apart(texts: Sequence[str], limit: int) -> dict[str, str]:
    """Return names of at most ``limit`` letters that differ: beginning and end, or the part where they differ."""
    for end in (limit // 2, 2 * limit // 3, limit - 3):
        start = limit - 1 - end
        made = {text: f"{text[:start]}…{text[-end:]}" for text in texts}
        if end > 0 < start and len(set(made.values())) == len(made):
            return made
    first, last = min(texts), max(texts)
    same = next((i for i, (one, two) in enumerate(zip(first, last, strict=False)) if one != two), len(first))
    same = max(0, same - 2)
    begin = limit // 3
    return {text: f"{text[:begin]}…{shorten(text[same:], limit - begin - 1)}" for text in texts}


def room_of(axes: Axes) -> tuple[float, float]:
    """Return width and height, in points, of the part of the figure that belongs to axes and what surrounds them."""
    figure: Any = axes.figure
    spec, scale = axes.get_subplotspec(), 72 / figure.figure.dpi
    width, height = figure.bbox.width * scale, figure.bbox.height * scale
    if spec is not None:
        rows, columns = spec.get_gridspec().get_geometry()
        width, height = width * len(spec.colspan) / columns, height * len(spec.rowspan) / rows
    return float(width), float(height)


def fit_text(text: Text, room: float) -> None:
    """Break a text into lines, and if needed shrink and cut it, so that it is at most ``room`` points long."""
    import textwrap

    words, size = text.get_text(), float(text.get_fontsize())
    for factor in (1.0, 0.85, 0.7):
        text.set_fontsize(size * factor)
        for width in (len(words), 40, 28, 20):
            lines = textwrap.wrap(words, max(width, 1)) or [""]
            text.set_text("\n".join(lines))
            if len(lines) <= _MAX_LINES and length(text) <= room:
                return
    lines = textwrap.wrap(words, 20)
    text.set_text("\n".join(lines[:_MAX_LINES]) + ("…" if len(lines) > _MAX_LINES else ""))


def length(text: Text) -> float:
    """Return the length of a text along its lines, in points."""
    box = text.get_window_extent()
    return float(box.height if text.get_rotation() in (90, 270) else box.width) * 72 / text.figure.figure.dpi
