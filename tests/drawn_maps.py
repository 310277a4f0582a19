"""Maps for tests of pictures, and the boxes of the texts in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.text import Text

SIZES = [(4.0, 3.0), (7.0, 5.4), (12.0, 8.0)]


def three_groups(n: int = 90) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    kinds = np.repeat(["setosa", "versicolor", "virginica"], n // 3)
    middles = {"setosa": (-3, 0), "versicolor": (0, 1), "virginica": (2, 0)}
    Y = np.array([middles[kind] for kind in kinds]) + rng.normal(size=(len(kinds), 2)) * [0.8, 0.4]
    return Y, kinds.tolist()


def legend_texts(ax: Any) -> list[str]:
    return [" ".join(text.get_text().split()) for text in ax.get_legend().get_texts()]


def offsets(ax: Any) -> np.ndarray:
    return np.vstack([marks.get_offsets() for marks in ax.collections])


def boxes_of(ax: Any) -> dict[str, Any]:
    """The boxes of all texts and of the legend, of which no two may overlap."""
    texts = [("x label", ax.xaxis.label), ("y label", ax.yaxis.label), ("title", ax._left_title)]
    texts += [(f"label {i} {text.get_text()}", text) for i, text in enumerate(ax.texts)]
    for side, axis, (low, high) in (("x", ax.xaxis, ax.get_xlim()), ("y", ax.yaxis, ax.get_ylim())):
        ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        texts += [(f"{side} tick {text.get_text()}", text) for place, text in ticks if low <= place <= high]
    found = {name: Text.get_window_extent(text) for name, text in texts if shown(text)}
    if ax.get_legend() is not None:
        found["legend"] = ax.get_legend().get_window_extent()
    return found | {f"bar {i}": bar.get_tightbbox() for i, bar in enumerate(ax.figure.axes) if bar is not ax}


def shown(text: Any) -> bool:
    return bool(text.get_visible() and text.get_text())


def assert_apart(ax: Any) -> None:
    ax.figure.draw_without_rendering()
    found, figure = boxes_of(ax), ax.figure.bbox
    names = list(found)
    for i, name in enumerate(names):
        box = found[name]
        assert box.x0 >= figure.x0 - 1, f"{name} leaves the figure at the left: {box}"
        assert box.x1 <= figure.x1 + 1, f"{name} leaves the figure at the right: {box}"
        assert box.y0 >= figure.y0 - 1, f"{name} leaves the figure below: {box}"
        assert box.y1 <= figure.y1 + 1, f"{name} leaves the figure above: {box}"
        for other in names[:i]:
            wide = min(box.x1, found[other].x1) - max(box.x0, found[other].x0)
            high = min(box.y1, found[other].y1) - max(box.y0, found[other].y0)
            assert min(wide, high) <= 1.0, f"{name} overlaps {other}"
    assert min(ax.bbox.size) > 0.2 * min(figure.size), f"nothing is left of the axes: {ax.bbox}"
