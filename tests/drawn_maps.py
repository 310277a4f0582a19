"""Maps for tests of pictures, and the boxes of the texts in them."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from matplotlib.text import Text
from matplotlib.transforms import Bbox

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


def letters_of(text: Any) -> list[Any]:
    """The box of a text; of one that is turned by another angle than 90 degrees, small boxes along its line."""
    box, angle = Text.get_window_extent(text), np.deg2rad(text.get_rotation())
    cos, sin = abs(np.cos(angle)), abs(np.sin(angle))
    if min(cos, sin) < 1e-6:
        return [box]
    high = text.get_fontsize() * text.figure.figure.dpi / 72
    long = (box.width - high * sin) / cos if cos > sin else (box.height - high * cos) / sin
    middle = np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2
    steps = np.linspace(-0.5, 0.5, 2 + int(2 * long / high)) * max(long - high, 0.0)
    places = middle + steps[:, None] * [np.cos(angle), np.sin(angle)]
    return [Bbox([place - high / 2, place + high / 2]) for place in places]


def texts_of(ax: Any) -> dict[str, Any]:
    """All visible texts of axes by name: title, names and numbers of axes, labels."""
    drawn = getattr(ax, "_axis3don", ax.axison)
    found = {"title": ax.title, "left title": ax._left_title} if drawn else {}
    found |= {f"text {i}": text for i, text in enumerate(ax.texts)}
    axes = {side: getattr(ax, f"{side}axis") for side in "xyz" if drawn and hasattr(ax, f"{side}axis")}
    for side, axis in axes.items():
        found[f"{side} label"] = axis.label
        for i, tick in enumerate(ticks_of(axis, in_space="z" in axes)):
            found |= {f"{side} tick {i}": tick.label1, f"{side} tick {i} of the other side": tick.label2}
    return {f"{name} {text.get_text()!r}": text for name, text in found.items() if shown(text)}


def ticks_of(axis: Any, in_space: bool) -> list[Any]:
    """The ticks that are drawn; in space only a drawing places them."""
    if not in_space:
        return list(axis._update_ticks())
    low, high = sorted(axis.get_view_interval())
    return [tick for tick in axis.majorTicks[: len(axis.get_majorticklocs())] if low <= tick.get_loc() <= high]


def assert_figure_apart(figure: Any) -> None:
    """Check the texts and legends of all axes of a figure: none leaves it, and no two overlap."""
    figure.draw_without_rendering()
    found: dict[str, list[Any]] = {f"legend {i}": [part.get_window_extent()] for i, part in enumerate(figure.legends)}
    for i, ax in enumerate(figure.axes):
        found |= {f"{name} of axes {i}": letters_of(text) for name, text in texts_of(ax).items()}
        if ax.get_legend() is not None:
            found[f"legend of axes {i}"] = [ax.get_legend().get_window_extent()]
    whole = figure.bbox
    for name, boxes in found.items():
        for box in boxes:
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1
            assert inside, f"{name} leaves the figure: {box.extents.round()} of {whole.extents.round()}"
    for one, two in combinations(found, 2):
        for a, b in product(found[one], found[two]):
            wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
            assert min(wide, high) <= 1.0, f"{one} overlaps {two}"
    smallest = min(min(ax.bbox.size) for ax in figure.axes if ax.get_label() != "<colorbar>")
    assert smallest > 0.08 * min(whole.size), f"nothing is left of some axes: {smallest}"
