"""Heat map of the correlations of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..quality.column_order import ordered_correlations
from .component_parts import color_bar, diverging
from .style import axes_for, current, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES_MOST = 60  # more names would overlap
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
    order : "tree" (the leaves of its own dendrogram), "axis" (by the first principal axis) or "table".
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
    found, look = ordered_correlations(X, order=order, names=names), current()
    d = len(found.names)
    cell = 0.046 * look.font if d <= _NUMBERS_MOST else 0.024 * look.font
    side = min(12.0, 2.2 + cell * min(d, NAMES_MOST))
    ax = axes_for(ax, side + 1.0, side)
    image = ax.imshow(found.values, cmap=diverging(), vmin=-1, vmax=1, interpolation="nearest")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    color_bar(ax, image, "correlation").set_ticks([-1, -0.5, 0, 0.5, 1])
    if d <= NAMES_MOST:
        _fit_names(ax, [literal(shorten(name, 28)) for name in found.names])
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
    figure: Any = ax.figure
    figure.draw_without_rendering()
    cell = ax.bbox.width / len(values) * 72 / figure.dpi
    size = min(current().font - 1, cell / 2.5)  # four characters fit in a cell
    for i, j in np.ndindex(values.shape):
        r, g, b, _ = image.cmap(image.norm(values[i, j]))
        color = "white" if 0.299 * r + 0.587 * g + 0.114 * b < 0.55 else "black"
        text = f"{values[i, j]:.2f}".replace("0.", ".") if abs(values[i, j]) < 0.995 else f"{values[i, j]:.0f}"
        ax.text(j, i, text.replace("-", "−"), ha="center", va="center", fontsize=size, color=color)
