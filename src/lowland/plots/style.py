"""Style of the figures: colours that colour-blind readers can distinguish."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1f2328"  # text and axes
FAINT = "#8c959f"  # grid, missing values, other groups
ACCENT = "#3f6fd8"
SECOND = "#d9822b"

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


def new_figure(width: float = 7.0, height: float = 4.6) -> tuple[Figure, Axes]:
    """Return an empty figure, not registered with pyplot, with one pair of plain axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0.0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=INK, which="both", labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.set_axisbelow(True)
    return figure, axes


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is, not as mathematics."""
    return text.replace("$", r"\$")


def shorten(text: str, limit: int = 32) -> str:
    """Cut a long name for a legend.

    >>> shorten("abcdefgh", 5)
    'abcd…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"
