"""Writing of labels that overlap neither each other nor the edge of the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .labels import Label
from .style import current, literal, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

MAX_NAMES = 60  # more names would cover the figure


def row_labels(P: Array, names: Sequence[str], size: float) -> list[Label]:
    """Return a label for each row with a name; none if there are more than 60."""
    if len(names) != len(P):
        raise ValueError(f"got {len(names)} names for {len(P)} rows")
    gap = size**0.5 / 2 + 1.5
    found = [Label(str(name), tuple(place), gap=gap) for name, place in zip(names, P, strict=True) if name]
    return found if len(found) <= MAX_NAMES else []


def write_labels(axes: Axes, labels: Sequence[Label], marks: Array) -> None:
    """Write labels beside their places; those without room are invisible. The axes must be complete otherwise.

    ``marks`` are places that names should not cover. Positions are found by measured boxes when the figure is drawn,
    and again when its size or its limits have changed.
    """
    if not labels:
        return
    from .placing import Placer

    order = {"center": 0, "arrow": 1, "name": 2}
    texts = shorten_all([label.text for label in labels], 24)
    labels = [replace(label, text=text) for label, text in zip(labels, texts, strict=True)]
    labels = sorted(labels, key=lambda label: order[label.kind])  # stable: names stay in the order of the rows
    placer = Placer(axes, labels, [_text(axes, label) for label in labels], np.asarray(marks, dtype=np.float64))
    axes.add_artist(placer)
    axes.figure.figure.draw_without_rendering()


def _text(axes: Axes, label: Label) -> Any:
    look = current()
    tone, box = look.label
    boxed = label.kind != "name"
    text = axes.annotate(
        literal(label.text),
        (label.place[0], label.place[1]),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=look.font if boxed else look.font - 1,
        color=tone if boxed else look.ink,
        bbox={"boxstyle": "square,pad=0.12", "facecolor": box, "edgecolor": "none", "alpha": 0.8} if boxed else None,
        arrowprops={"arrowstyle": "-", "color": look.faint, "linewidth": 0.6, "shrinkA": 0, "shrinkB": label.gap - 1},
        zorder=60,
        label=label.kind,
    )
    text.set_in_layout(False)  # otherwise the layout would move the points
    return text


def visible_labels(axes: Axes, kind: str = "name") -> list[str]:
    """Return the labels of a kind that have room.

    >>> from lowland.plots import scatter
    >>> visible_labels(scatter([[0, 1], [1, 0]], names=["a", "b"]))
    ['a', 'b']
    """
    return [text.get_text() for text in axes.texts if text.get_label() == kind and text.get_visible()]
