"""The figure of a comparison: small maps of the candidates, and their criteria as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..comparison.ranking import WORDS
from ..core.message import Message, Setting
from .panels import draw_panel, group_legend, panel_title, short_names
from .parts import grid_lines, legend
from .style import current, literal, new_figure, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from .coloring import Groups

_ACROSS = 3
_PAGE = 7.1  # inches: width of the text of a printed page, so that letters keep their size there


def comparison(
    maps: Mapping[str, Any],
    criteria: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    colors: Mapping[str, Sequence[Any] | None] | None = None,
    color_name: str | None = None,
    marked: str | None = None,
    part: Literal["all", "maps", "criteria"] = "all",
    words: Mapping[str, str] = WORDS,
) -> Figure:
    """Draw small maps, best first, and below them the criteria with intervals.

    Parameters
    ----------
    maps : coordinates by the candidates' names, in the order in which they are drawn.
    criteria : for each name and criterion the value and its interval, ``{"pca": {"local": (0.8, 0.7, 0.9)}}``.
    colors : for each name one class a point, or None.
    color_name : heading of the legend.
    marked : the name of the recommended candidate.
    part : "maps" or "criteria" for one of them in a figure of its own, as wide as a printed page.
    words : names of the criteria in the legend.

    Examples
    --------
    >>> figure = comparison({"pca": [[0, 1], [1, 0]]}, {"pca": {"local": (0.8, 0.7, 0.9)}})
    >>> [axes.get_title() for axes in figure.axes][:1]
    ['pca']
    """
    if not maps:
        raise ValueError("there is no map to draw")
    if part not in ("all", "maps", "criteria"):
        raise ValueError(Message(Setting("part"), f" must be 'all', 'maps' or 'criteria'; got {part!r}"))
    down = -(-len(maps) // _ACROSS)
    across = min(_ACROSS, len(maps))
    high = {"maps": 2.9 * down, "criteria": 0.9 + 0.13 * len(maps) * (1 + len(next(iter(criteria.values()), ())))}
    if part == "all":
        figure = new_figure(3.0 * max(across, 2), sum(high.values()))[0]
        figure.clear()
        upper, lower = figure.subfigures(2, 1, height_ratios=list(high.values()), squeeze=False)[:, 0]
        for half in (upper, lower):
            half.patch.set_alpha(0.0)
    else:
        tall = high["criteria"] if part == "criteria" else _PAGE / _ACROSS * down
        figure = upper = lower = new_figure(_PAGE, tall)[0]
        figure.clear()
    if part != "criteria":
        _maps(upper, maps, down, across, colors, color_name, marked)
    if part != "maps":
        _bars(lower.subplots(), list(maps), criteria, words)
    return figure


def _maps(
    upper: Figure | SubFigure,
    maps: Mapping[str, Any],
    down: int,
    across: int,
    colors: Mapping[str, Sequence[Any] | None] | None,
    color_name: str | None,
    marked: str | None,
) -> None:
    """Draw the small maps, with one legend."""
    look, short = current(), short_names(list(maps))
    shared: Groups | None = None
    for number, axes in enumerate(upper.subplots(down, across, squeeze=False).ravel()):
        if number >= len(maps):
            axes.set_axis_off()
            continue
        name = list(maps)[number]
        read = draw_panel(axes, np.asarray(maps[name]), None if colors is None else colors[name])[0]
        shared = read if read is not None else shared
        title = panel_title(short[number], name == marked)
        weight = "bold" if name == marked else "normal"
        axes.set_title(literal(title), fontsize=look.font, color=look.ink, fontweight=weight)
    if shared is not None:
        group_legend(upper, shared, color_name, loc="outside right center")


def small_map(Y: Any, color: Sequence[Any] | None = None) -> Figure:
    """Draw one small map without axes.

    >>> points = small_map([[0, 1], [1, 0]], ["a", "b"]).axes[0].collections[0]
    >>> len(points.get_offsets()), len({tuple(color) for color in points.get_facecolors()})
    (2, 2)
    """
    figure, axes = new_figure(3.0, 2.9)
    draw_panel(axes, np.asarray(Y), color)
    return figure


def _bars(
    axes: Axes,
    names: Sequence[str],
    criteria: Mapping[str, Mapping[str, tuple[float, float, float]]],
    words: Mapping[str, str],
) -> None:
    """Draw the criteria of each map, the best on top, with error bars."""
    look, listed = current(), list(criteria[names[0]])
    tones = {"local": look.accent, "global": look.second, "target": look.palette[4]}
    height = 0.8 / len(listed)
    for place, criterion in enumerate(listed):
        values = np.array([criteria[name][criterion] for name in names])
        y = np.arange(len(names)) + (place - (len(listed) - 1) / 2) * height
        error = np.abs(values[:, 1:].T - values[:, 0])
        axes.barh(y, values[:, 0], height * 0.9, color=tones[criterion], label=words[criterion])
        axes.errorbar(values[:, 0], y, xerr=error, fmt="none", ecolor=look.ink, elinewidth=0.8, capsize=1.5)
    axes.set_yticks(range(len(names)), [literal(shorten(name, 34)) for name in short_names(names)])
    axes.invert_yaxis()
    axes.set_xlim(min(0.0, float(axes.get_xlim()[0])), 1.02)
    axes.set_xlabel("1 is perfect", color=look.ink, fontsize=look.font)
    axes.patch.set_alpha(0.0)
    axes.tick_params(colors=look.ink, labelsize=look.font - 1)
    axes.set_axisbelow(True)
    grid_lines(axes, "x")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(look.faint)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(listed))
