"""Columns of numbers and categories together, by their relationship with two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Setting
from ..quality.components import checked_axes, column_relationships
from ..quality.model_axes import model_axes
from .component_parts import note, rewrite, settle_note
from .legends import add_labelled_legend
from .style import axes_for, current, literal
from .tip_names import write_tip_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NOTE = "relationship of columns and axes"


def relationship_square(model: Any, X: Any = None, *, axes: Sequence[int] = (1, 2), ax: Axes | None = None) -> Axes:
    """Draw each column of a table as a point, by its r² or η² with two axes, in the unit square.

    Parameters
    ----------
    model : fitted model or Pipeline, above all FAMD: columns of numbers (r²) and of categories (η²) are comparable.
    X : the rows; not needed for FAMD with categories.
    axes : two axes, counted from 1.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> rows = [[1.0, "red"], [2.0, "red"], [3.0, "blue"], [5.0, "blue"], [6.0, "green"]]
    >>> ax = relationship_square(lowland.FAMD(2).fit(rows))
    >>> sorted(text.get_text() for text in ax.texts)
    ['x0', 'x1']
    """
    found, table = model_axes(model, None, "relationship_square"), column_relationships(model, X)
    places = checked_axes(axes, len(table.axes))
    if len(places) != 2:
        raise ValueError(Message(Setting("axes"), f" must be two numbers, such as (1, 2); got {axes!r}"))
    points, look = table.values[:, places], current()
    coded = set() if found.groups is None else set(found.names)
    categories = np.array([name not in coded for name in table.names]) & (found.groups is not None)
    ax = axes_for(ax, 7.0 if categories.any() else 5.6, 5.4)
    for here, tone, shape, name in (
        (~categories, look.accent, "o", "numbers: r²"),
        (categories, look.second, "s", "categories: η²"),
    ):
        if here.any():
            ax.scatter(points[here, 0], points[here, 1], s=26 * look.marker, color=tone, marker=shape, label=name)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    ax.set_aspect("equal")
    ax.grid(color=look.faint, alpha=0.3, linewidth=0.6)
    labels = found.labels()
    ax.set_xlabel(literal(labels[places[0]]))
    ax.set_ylabel(literal(labels[places[1]]))
    if categories.any():
        add_labelled_legend(ax)
    hidden = [0]
    title = note(ax, _NOTE)

    def text() -> str:
        count = hidden[0]
        return _NOTE + (f" ({count} column{'' if count == 1 else 's'} not labelled)" if count else "")

    def told(count: int) -> None:
        hidden[0] = count
        rewrite(ax, title, text())

    order = np.argsort(-points.sum(axis=1), kind="stable")  # the columns that the axes show best have precedence
    write_tip_names(ax, points[order], [table.names[j] for j in order], gap=2.0 * look.marker**0.5, told=told)
    settle_note(ax, title, text)
    return ax
