"""Labels of points, placed to overlap as little as possible with other labels and points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import INK, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = 8.0  # of the letters, in points
_WIDTH, _HEIGHT = 0.6 * _SIZE, 1.1 * _SIZE  # of a letter, approximately: the browser chooses the font
_GAP = 4.0  # between a point's centre and its name
_MARK = 3.0  # half the width of a point's mark
_COVERED = 0.2  # largest share of a name that may overlap others

# Positions of a name relative to its point, in order of preference: from right to below left.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_ACROSS, _UP = {1: "left", 0: "center", -1: "right"}, {1: "bottom", 0: "center", -1: "top"}


def write_names(figure: Figure, axes: Axes, x: Any, y: Any, names: Sequence[str]) -> None:
    """Write a name beside each point; names without room are left out. The axes must be complete otherwise."""
    axes.margins(0.1)
    figure.draw_without_rendering()  # the layout decides where points lie
    scale = 72 / figure.dpi
    points = axes.transData.transform(np.column_stack([x, y])) * scale
    frame = np.asarray(axes.bbox.extents) * scale
    marks = np.hstack([points - _MARK, points + _MARK])
    taken = np.empty((0, 4))
    for i, name in enumerate(names):
        text = shorten(name, 24)
        boxes = np.array([_box(points[i], side, _WIDTH * len(text)) for side in _SIDES])
        others = np.vstack([taken, np.delete(marks, i, axis=0)])
        costs = [_covered(box, others) + _outside(box, frame) for box in boxes]
        best = int(np.argmin(costs))
        if costs[best] > _COVERED * _WIDTH * _HEIGHT * len(text):
            continue
        taken = np.vstack([taken, boxes[best]])
        across, up = _SIDES[best]
        label = axes.annotate(
            literal(text),
            (x[i], y[i]),
            xytext=(across * _GAP, up * _GAP),
            textcoords="offset points",
            ha=_ACROSS[across],
            va=_UP[up],
            fontsize=_SIZE,
            color=INK,
        )
        label.set_in_layout(False)  # otherwise the layout would move the points


def _box(point: Any, side: tuple[int, int], width: float) -> tuple[float, float, float, float]:
    """Return the left, lower, right and upper edge of a name at one side of a point."""
    left = point[0] + side[0] * _GAP + (side[0] - 1) * width / 2
    low = point[1] + side[1] * _GAP + (side[1] - 1) * _HEIGHT / 2
    return left, low, left + width, low + _HEIGHT


def _covered(box: Any, others: Any) -> float:
    """Return the area that a box shares with others."""
    wide = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    high = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    return float((wide.clip(0) * high.clip(0)).sum())


def _outside(box: Any, frame: Any) -> float:
    """Return the area of a box that lies outside the axes."""
    wide = (min(box[2], frame[2]) - max(box[0], frame[0])).clip(0)
    high = (min(box[3], frame[3]) - max(box[1], frame[1])).clip(0)
    return float((box[2] - box[0]) * (box[3] - box[1]) - wide * high)
