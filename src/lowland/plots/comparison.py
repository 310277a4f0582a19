"""The figure of a comparison: small maps of the candidates, and their criteria as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison.ranking import WORDS
from .coloring import Groups, Scale, group_style, read_colors
from .scatter import places
from .style import ACCENT, FAINT, INK, PALETTE, SECOND, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3
_TONES = {"local": ACCENT, "global": SECOND, "target": PALETTE[4]}
_NAMED = 12  # most classes labelled inside the maps; more labels would cover them


def comparison(
    maps: Mapping[str, Any],
    criteria: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    colors: Mapping[str, Sequence[Any] | None] | None = None,
    color_name: str | None = None,
    marked: str | None = None,
) -> Figure:
    """Draw small maps, best first, and below them the criteria with intervals.

    Parameters
    ----------
    maps : coordinates by the candidates' names, in the order in which they are drawn.
    criteria : for each name and criterion the value and its interval, ``{"pca": {"local": (0.8, 0.7, 0.9)}}``.
    colors : for each name one class a point, or None.
    color_name : heading of the legend.
    marked : the name of the recommended candidate.

    Examples
    --------
    >>> figure = comparison({"pca": [[0, 1], [1, 0]]}, {"pca": {"local": (0.8, 0.7, 0.9)}})
    >>> [axes.get_title() for axes in figure.axes][:1]
    ['pca']
    """
    from matplotlib.figure import Figure

    if not maps:
        raise ValueError("there is no map to draw")
    down = -(-len(maps) // _ACROSS)
    across = min(_ACROSS, len(maps))
    tall = 0.9 + 0.13 * len(maps) * (1 + len(next(iter(criteria.values()), ())))
    figure = Figure(figsize=(3.0 * max(across, 2), 2.9 * down + tall), layout="constrained")
    figure.patch.set_alpha(0.0)
    upper, lower = figure.subfigures(2, 1, height_ratios=[2.9 * down, tall], squeeze=False)[:, 0]
    shared: Groups | None = None
    for number, axes in enumerate(upper.subplots(down, across, squeeze=False).ravel()):
        if number >= len(maps):
            axes.set_axis_off()
            continue
        name = list(maps)[number]
        shared = _small(axes, np.asarray(maps[name]), None if colors is None else colors[name]) or shared
        title = shorten(name, 34) + (" (recommended)" if name == marked else "")
        axes.set_title(literal(title), fontsize=9, color=INK, fontweight="bold" if name == marked else "normal")
    if shared is not None:
        _legend(upper, shared, color_name)
    for part in (upper, lower):
        part.patch.set_alpha(0.0)
    _bars(lower.subplots(), list(maps), criteria)
    return figure


def small_map(Y: Any, color: Sequence[Any] | None = None) -> Figure:
    """Draw one small map without axes.

    >>> len(small_map([[0, 1], [1, 0]], ["a", "b"]).axes[0].collections)
    2
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.0, 2.9), layout="constrained")
    figure.patch.set_alpha(0.0)
    _small(figure.add_subplot(), np.asarray(Y), color)
    return figure


def _small(axes: Axes, Y: Any, color: Sequence[Any] | None) -> Groups | None:
    """Draw one map; return its groups for the legend."""
    x, y = places(Y)
    look: dict[str, Any] = {
        "s": float(np.clip(3000 / len(Y), 2, 14)),
        "alpha": 0.75,
        "linewidths": 0,
        "rasterized": len(Y) > 500,
    }
    groups = None if color is None else read_colors(color, len(Y))
    if isinstance(groups, Groups):
        for code in range(len(groups.labels)):
            here = groups.codes == code
            tone, shape = _style(code, groups)
            axes.scatter(x[here], y[here], color=tone, marker=shape, **look)
        _names(axes, x, y, groups)
    elif isinstance(groups, Scale):
        axes.scatter(x, y, c=groups.values, cmap="viridis", plotnonfinite=True, **look)
    else:
        axes.scatter(x, y, color=ACCENT, **look)
    axes.set(xticks=[], yticks=[])
    axes.patch.set_alpha(0.0)
    if Y.shape[1] > 1:
        axes.set_aspect("equal", adjustable="datalim")
    for spine in axes.spines.values():
        spine.set_color(FAINT)
        spine.set_linewidth(0.6)
    return groups if isinstance(groups, Groups) else None


def _names(axes: Axes, x: Any, y: Any, groups: Groups) -> None:
    """Label each class at its median: ten colours of small points are hard to distinguish by a legend alone."""
    if len(groups.labels) > _NAMED:
        return
    for code, label in enumerate(groups.labels):
        here = groups.codes == code
        if code in (groups.missing, groups.others) or not here.any():
            continue
        axes.text(
            float(np.median(x[here])),
            float(np.median(y[here])),
            literal(shorten(label, 8)),
            fontsize=7,
            color="black",
            ha="center",
            va="center",
            bbox={
                "boxstyle": "round,pad=0.2",
                "facecolor": "white",
                "edgecolor": _style(code, groups)[0],
                "linewidth": 1.2,
                "alpha": 0.85,
            },
            clip_on=True,
        )


def _style(code: int, groups: Groups) -> tuple[str, str]:
    tone, shape = group_style(code, groups)
    return tone, "." if shape == "x" else shape  # a cross is drawn by lines, and these marks have none


def _legend(part: Any, groups: Groups, name: str | None) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for code, label in enumerate(groups.labels):
        tone, shape = _style(code, groups)
        handles.append(
            Line2D([], [], linestyle="", marker=shape, color=tone, markersize=5, label=literal(shorten(label)))
        )
    legend = part.legend(
        handles=handles,
        title=literal(shorten(name)) if name else None,
        loc="outside right center",
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        ncols=1 + len(handles) // 16,
    )
    legend.get_title().set_color(INK)


def _bars(axes: Axes, names: Sequence[str], criteria: Mapping[str, Mapping[str, tuple[float, float, float]]]) -> None:
    """Draw the criteria of each map, the best on top, with error bars."""
    listed = list(criteria[names[0]])
    height = 0.8 / len(listed)
    for place, criterion in enumerate(listed):
        values = np.array([criteria[name][criterion] for name in names])
        y = np.arange(len(names)) + (place - (len(listed) - 1) / 2) * height
        error = np.abs(values[:, 1:].T - values[:, 0])
        axes.barh(y, values[:, 0], height * 0.9, color=_TONES[criterion], label=WORDS[criterion])
        axes.errorbar(values[:, 0], y, xerr=error, fmt="none", ecolor=INK, elinewidth=0.8, capsize=1.5)
    axes.set_yticks(range(len(names)), [literal(shorten(name, 34)) for name in names])
    axes.invert_yaxis()
    axes.set_xlim(min(0.0, float(axes.get_xlim()[0])), 1.02)
    axes.set_xlabel("1 is perfect", color=INK, fontsize=9)
    axes.patch.set_alpha(0.0)
    axes.tick_params(colors=INK, labelsize=8)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=FAINT, alpha=0.3, linewidth=0.6)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(listed), frameon=False, fontsize=8, labelcolor=INK
    )
