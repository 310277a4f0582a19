"""Heat map of the correlations of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..quality.column_groups_result import ColumnGroups
from ..quality.column_order import ColumnCorrelations, ordered_correlations
from .component_parts import diverging
from .parts import color_bar, heading
from .style import axes_for, current, literal, room_of, shorten, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES_MOST = 60  # more names would overlap
_LONGEST = 28  # characters of a name
_TITLE = 0.26  # inches for each point of the font: the title fits above the cells and the colour bar
_SMALLEST = 5.0  # points: of names in small cells
_NUMBERS_MOST = 14  # columns up to which the numbers are written in the cells


def correlations(
    X: Any,
    *,
    order: str = "tree",
    names: Sequence[str] | None = None,
    numbers: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlations of all pairs of columns as colours, correlated columns next to each other.

    Parameters
    ----------
    X : table of numbers, without missing values and constant columns.
    order : "tree" (the leaves of its own dendrogram), "absolute" (the same without signs), "axis" (by the first
        principal axis) or "table".
    names : names of the columns; default: those of the table.
    numbers : write each correlation in its cell; default: up to 14 columns.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> ax = correlations(load_iris(as_frame=True).data)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['sepal width (cm)', 'sepal length (cm)', 'petal length (cm)', 'petal width (cm)']
    """
    return _heat_map(ordered_correlations(X, order=order, names=names), numbers, ax)


def column_groups(X: Any, *, numbers: bool | None = None, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw the correlations of columns as colours, with a frame around each group of columns that move together.

    Parameters
    ----------
    X : table of numbers, or what `lowland.quality.column_groups` returned. Of more than 2,000 columns, only 60 are
        drawn, those most correlated with each axis, and the title says so.
    numbers : write each correlation in its cell; default: up to 14 columns.
    ax : axes to draw on; default: those of a new figure.
    options : parameters of `lowland.quality.column_groups`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> len(column_groups(load_iris(as_frame=True).data).patches)  # petals and sepal length; sepal width is alone
    1
    """
    from matplotlib.patches import Rectangle

    if not isinstance(X, ColumnGroups):
        from ..quality.column_grouping import column_groups as measure

        X = measure(X, **options)
    ax, look = _heat_map(X.matrix, numbers, ax), current()
    groups = [X.group_of(name) for name in X.matrix.names]
    start = 0
    for stop in range(1, len(groups) + 1):
        if stop < len(groups) and groups[stop] == groups[start]:
            continue
        if groups[start] is not None and stop - start > 1:
            box = Rectangle((start - 0.5, start - 0.5), stop - start, stop - start, fill=False, clip_on=False)
            box.set(edgecolor=look.ink, linewidth=look.line)
            ax.add_patch(box)
        start = stop
    heading(ax, X.drawn_words, "frames: columns that move together" if ax.patches else "")
    _fit_numbers(ax, len(groups))
    return ax


def _heat_map(found: ColumnCorrelations, numbers: bool | None, ax: Axes | None) -> Axes:
    """Draw a matrix of correlations with the names of its columns."""
    look = current()
    d = len(found.names)
    cell = 0.046 * look.font if d <= _NUMBERS_MOST else 0.024 * look.font
    longest = max(len(shorten(name, _LONGEST)) for name in found.names) if d <= NAMES_MOST else 0
    room = max(2.2, 0.9 + 0.0085 * look.font * longest)  # of names, title and colour bar
    side = min(12.0, room + max(cell * min(d, NAMES_MOST), _TITLE * look.font))
    ax = axes_for(ax, side + 1.0, side)
    image = ax.imshow(found.values, cmap=diverging(), vmin=-1, vmax=1, interpolation="nearest")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    color_bar(image, ax, "correlation").set_ticks([-1, -0.5, 0, 0.5, 1])
    if d <= NAMES_MOST:
        letters = int(np.clip(min(room_of(ax)) / (1.1 * look.font) - 10, 8, _LONGEST))  # cells need room, too
        _fit_names(ax, [literal(name) for name in shorten_all(found.names, letters)])
    else:
        ax.set(xticks=[], yticks=[], xlabel=f"{d} columns")
    if numbers if numbers is not None else d <= _NUMBERS_MOST:
        _write_numbers(ax, image, found.values)
    return ax


def _fit_names(ax: Axes, labels: list[str]) -> None:
    """Write the names of the columns; smaller, or only some of them, where the cells are smaller than the letters."""
    figure: Any = ax.figure
    for size in np.linspace(current().font, min(_SMALLEST, current().font), 5):
        ax.set_xticks(range(len(labels)), labels, rotation=90, fontsize=size)
        ax.set_yticks(range(len(labels)), labels, fontsize=size)
        figure.draw_without_rendering()  # smaller names leave more room for the cells
        cell = ax.bbox.height / len(labels) * 72 / figure.dpi
        if 1.2 * size <= cell:
            return
    step = math.ceil(1.2 * size / cell)
    ax.set_xticks(range(0, len(labels), step), labels[::step], rotation=90, fontsize=size)
    ax.set_yticks(range(0, len(labels), step), labels[::step], fontsize=size)


def _write_numbers(ax: Axes, image: Any, values: Any) -> None:
    for i, j in np.ndindex(values.shape):
        r, g, b, _ = image.cmap(image.norm(values[i, j]))
        color = "white" if 0.299 * r + 0.587 * g + 0.114 * b < 0.55 else "black"
        text = f"{values[i, j]:.2f}".replace("0.", ".") if abs(values[i, j]) < 0.995 else f"{values[i, j]:.0f}"
        ax.text(j, i, text.replace("-", "−"), ha="center", va="center", color=color)
    _fit_numbers(ax, len(values))


def _fit_numbers(ax: Axes, count: int) -> None:
    """Choose the size of the numbers by that of the cells, ``count`` in a row, by a layout of the figure."""
    figure: Any = ax.figure
    figure.draw_without_rendering()
    cell = ax.bbox.width / count * 72 / figure.dpi
    for text in ax.texts:
        text.set_fontsize(min(current().font - 1, cell / 2.8))  # four characters fit in a cell
