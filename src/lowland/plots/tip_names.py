"""Names at the tips of arrows and beside points: measured boxes that never overlap each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import current, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation, Text

Array = Any

_TURNS = np.deg2rad([0, 30, -30, 60, -60, 95, -95, 140, -140, 180])  # away from the direction of the arrow
_REACHES = (3.0, 9.0, 17.0, 27.0, 40.0)  # points between a tip and its name; from the second on with a thin line
_ALONG = np.linspace(0.0, 1.0, 60)  # points of an arrow that a name should not cover
_PAD = 1.0  # points that stay free around a name


def write_tip_names(
    ax: Axes,
    places: Array,
    names: Sequence[str],
    *,
    towards: Array | None = None,
    colors: Sequence[str] | None = None,
    arrows: Array | None = None,
    gap: float = 0.0,
    limit: int = 24,
) -> list[Annotation]:
    """Write a name beside each place, in the direction ``towards`` where there is room; return the written names.

    A name is moved around its place, then farther away with a thin line, until its box lies inside the axes and
    overlaps no other name and no arrow from the origin to one of the ``arrows``. A name that finds room only on an
    arrow is written there, one that finds none is left out. ``gap`` are further points between a place and its
    name. The axes must be complete otherwise: names keep their distance in points, so later changes of the limits can
    make them overlap.
    """
    figure: Any = ax.figure
    settle(ax)
    scale = figure.dpi / 72
    spots = ax.transData.transform(np.asarray(places, dtype=np.float64).reshape(-1, 2))
    shafts = np.empty((0, 2)) if arrows is None else (_ALONG[:, None, None] * np.asarray(arrows)).reshape(-1, 2)
    shafts = ax.transData.transform(shafts) if len(shafts) else shafts
    frame = np.asarray(ax.bbox.extents)
    written: list[Annotation] = []
    taken = np.array([text_box(text) for text in ax.texts if text.get_text()]).reshape(-1, 4)
    for i, name in enumerate(names):
        if not (frame[:2] <= spots[i]).all() or not (spots[i] <= frame[2:]).all():
            continue
        color = current().ink if colors is None else colors[i]
        label = _new_name(ax, np.asarray(places)[i], shorten(str(name), limit), color)
        box = text_box(label)
        size = (box[2:] - box[:2]) + 2 * _PAD * scale
        heading = (1.0, 0.0) if towards is None else np.asarray(towards)[i]
        place = _free_place(spots[i], size, heading, taken, np.vstack([spots, shafts]), frame, scale, gap)
        place = place or _free_place(spots[i], size, heading, taken, spots, frame, scale, gap)
        if place is None:
            label.remove()
            continue
        (x, y), far = place
        label.set_position((float((x - spots[i][0]) / scale), float((y - spots[i][1]) / scale)))
        if far and label.arrow_patch is not None:
            label.arrow_patch.set_visible(True)
        taken = np.vstack([taken, [x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2]])
        written.append(label)
    return written


def settle(ax: Axes) -> None:
    """Lay out the figure until the size of the axes no longer changes; the layout decides where places lie."""
    figure: Any = ax.figure
    size = np.zeros(2)
    for _ in range(8):
        figure.draw_without_rendering()
        if np.abs(np.array(ax.bbox.size) - size).max() < 0.5:
            return
        size = np.array(ax.bbox.size)


def text_box(text: Text) -> Array:
    """Return the left, lower, right and upper edge of a text as drawn, in pixels, without its line."""
    from matplotlib.text import Text

    return np.asarray(Text.get_window_extent(text).extents)


def _new_name(ax: Axes, place: Array, text: str, color: str) -> Annotation:
    from matplotlib.patheffects import withStroke

    look = current()
    line = {"arrowstyle": "-", "color": look.faint, "linewidth": 0.5 * look.line / 1.5, "shrinkA": 0, "shrinkB": 0}
    label = ax.annotate(
        literal(text),
        (float(place[0]), float(place[1])),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=look.font,
        color=color,
        arrowprops=line,
        zorder=6,
    )
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(False)
    paper = look.background or "white"
    label.set_path_effects([withStroke(linewidth=2.2, foreground=paper, alpha=0.8)])  # legible over points
    label.set_in_layout(False)  # otherwise the layout would move the points
    return label


def _free_place(
    spot: Array, size: Array, towards: Any, taken: Array, spots: Array, frame: Array, scale: float, gap: float
) -> tuple[Array, bool] | None:
    """Return the centre of a name's box and whether it needs a line; None without room."""
    start = float(np.arctan2(towards[1], towards[0]))
    for far, reach in enumerate(_REACHES):
        for turn in _TURNS:
            way = np.array([np.cos(start + turn), np.sin(start + turn)])
            # the box touches a circle of this radius around the place
            half = size / 2
            out = min(half[0] / max(abs(way[0]), 1e-9), half[1] / max(abs(way[1]), 1e-9))
            centre = spot + way * ((reach + gap) * scale + out)
            box = np.concatenate([centre - half, centre + half])
            inside = (box[:2] >= frame[:2]).all() and (box[2:] <= frame[2:]).all()
            if inside and not _hits(box, taken) and not _holds(box, spots):
                return centre, far > 0
    return None


def _hits(box: Array, others: Array) -> bool:
    return bool(
        ((box[0] < others[:, 2]) & (others[:, 0] < box[2]) & (box[1] < others[:, 3]) & (others[:, 1] < box[3])).any()
    )


def _holds(box: Array, spots: Array) -> bool:
    """Return whether a box covers one of the places."""
    return bool(((spots > box[:2]) & (spots < box[2:])).all(axis=1).any())
