"""Scatter plot of an embedding; all points are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .coloring import Groups, Scale, group_style, read_colors
from .names import write_names
from .overlay import Overlay
from .style import ACCENT, FAINT, INK, literal, new_figure, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

LABELS_MOST = 60  # more names would cover the figure
RASTER_ABOVE = 5000  # with more points a vector figure is slow to open


def scatter(
    embedding: ArrayLike,
    *,
    color: Any = None,
    color_name: str | None = None,
    labels: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    overlay: Overlay | None = None,
) -> Figure:
    """Draw the first two coordinates of an embedding; a single coordinate becomes a strip.

    Parameters
    ----------
    embedding : rows of coordinates.
    color : one value for each row: text, booleans and a few whole numbers are groups with a legend, other numbers a
        scale with a colour bar. Missing values are grey. Of more than 20 groups, the largest 19 have a colour each, and
        the others share one grey entry of the legend, with their number.
    color_name : heading of the legend.
    labels : names of the axes, such as "pca0 (61.2 %)".
    names : a name for each row, written beside its point where there are at most 60 and it has room.
    overlay : arrows, centres and further rows, drawn over the points.

    Examples
    --------
    >>> figure = scatter([[0, 1], [1, 0]], color=["a", "b"], labels=["pca0", "pca1"])
    >>> figure.axes[0].get_xlabel()
    'pca0'
    """
    Y = np.asarray(embedding, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[0] == 0 or Y.shape[1] == 0:
        raise ValueError(f"expected a non-empty 2-D array of coordinates; got shape {Y.shape}")
    groups = None if color is None else read_colors(color, len(Y))
    strip = Y.shape[1] == 1
    many = isinstance(groups, Groups) and len(groups.labels) > 10
    figure, axes = new_figure(7.0, 2.6 if strip and not many else 5.4)
    x, y = places(Y)
    look = _look(len(Y))
    if groups is None:
        axes.scatter(x, y, color=ACCENT, **look)
    elif isinstance(groups, Scale):
        _draw_scale(figure, axes, x, y, groups, color_name, look)
    else:
        _draw_groups(axes, x, y, groups, color_name, look)
    _label_axes(axes, labels, strip)
    if overlay is not None:
        overlay.draw(axes, Y, look["s"])
    if names is not None:
        if len(names) != len(Y):
            raise ValueError(f"got {len(names)} names for {len(Y)} rows")
        if len(names) <= LABELS_MOST:
            write_names(figure, axes, x, y, names)
    return figure


def places(Y: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the positions of the points; a single coordinate gets heights that separate its points."""
    return Y[:, 0], (_spread(len(Y)) if Y.shape[1] == 1 else Y[:, 1])


def _look(n: int) -> dict[str, Any]:
    """Return the size and opacity of the markers for n points."""
    size = float(np.clip(20_000 / n, 4, 28))
    return {
        "s": size,
        "alpha": float(np.clip(60 / n**0.5, 0.05, 0.85)),
        "linewidths": 0,
        "rasterized": n > RASTER_ABOVE,
    }


def _spread(n: int) -> np.ndarray[Any, Any]:
    """Return heights that separate the points of a strip; they depend only on n."""
    return (np.arange(n) * 0.6180339887498949) % 1.0


def _draw_scale(
    figure: Figure, axes: Axes, x: Any, y: Any, scale: Scale, name: str | None, look: dict[str, Any]
) -> None:
    absent = ~scale.present
    if absent.any():
        axes.scatter(x[absent], y[absent], color=FAINT, **look)
    there = scale.present
    marks = axes.scatter(x[there], y[there], c=scale.values[there], cmap="viridis", **look)
    bar = figure.colorbar(marks, ax=axes, pad=0.02, aspect=30)
    if bar.solids is not None:
        bar.solids.set(alpha=1.0)  # the colour bar is opaque even if the points are not
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, labelsize=9)
    label = shorten(name or "") + (f" (grey: {int(absent.sum()):,} missing)" if absent.any() else "")
    bar.set_label(literal(label), color=INK)


def _draw_groups(axes: Axes, x: Any, y: Any, groups: Groups, name: str | None, look: dict[str, Any]) -> None:
    from matplotlib.lines import Line2D

    styles = [group_style(code, groups) for code in range(len(groups.labels))]
    colors = np.array([color for color, _ in styles])[groups.codes]
    shapes = np.array([shape for _, shape in styles])[groups.codes]
    for shape in dict.fromkeys(shape for _, shape in styles):
        here = shapes == shape  # all groups of a shape in row order, so that none hides the others
        width = 0.8 if shape == "x" else 0
        axes.scatter(x[here], y[here], c=colors[here], marker=shape, **{**look, "linewidths": width})
    handles = [
        Line2D([], [], linestyle="", marker=shape, color=color, markersize=6, label=literal(shorten(label)))
        for label, (color, shape) in zip(groups.labels, styles, strict=True)
    ]
    legend = axes.legend(
        handles=handles,
        title=literal(shorten(name)) if name else None,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        ncols=1 + len(handles) // 22,
    )
    legend.get_title().set_color(INK)


def _label_axes(axes: Axes, labels: Sequence[str] | None, strip: bool) -> None:
    names = list(labels or ["1st coordinate", "2nd coordinate"])
    axes.set_xlabel(literal(names[0]))
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    if strip:
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylim(-0.6, 1.6)
        return
    axes.set_ylabel(literal(names[1]))
    axes.set_aspect("equal", adjustable="datalim")  # equal scales, so that distances can be compared
