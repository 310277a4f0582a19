"""The artist that places labels when a figure is drawn. Imported only then, because it needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .labels import Label

Array = Any

_RINGS = (1.0, 3.0, 6.0, 10.0)  # distances of a label from its place, in gaps; beyond the first with a line to it
_RINGS_OF_NAMES = _RINGS[:3]  # many long lines would be hard to follow
_MARK = 3.0  # points: half the width of a mark
_SPACE = 1.5  # points between two labels, and between a label and the edge


class Placer(Artist):
    """Moves labels to where they have room, and hides those that have none; drawn before all others."""

    def __init__(self, axes: Axes, labels: Sequence[Label], texts: Sequence[Any], marks: Array) -> None:
        super().__init__()
        self.set_zorder(-100)
        self.set_in_layout(False)
        self._where, self._labels, self._texts, self._marks = axes, list(labels), list(texts), marks
        self._last: bytes = b""

    def draw(self, renderer: Any) -> None:
        """Place the labels, if anything has moved since the last time."""
        axes = self._where
        scale = 72 / axes.figure.figure.dpi
        places, flat = self._pixels(np.array([label.place for label in self._labels]))
        frame = np.asarray(axes.bbox.extents)
        key = np.round(np.append(places, frame) * scale).tobytes()
        if key == self._last:
            return
        self._last = key
        marks = self._pixels(self._marks)[0]
        taken = self._others(renderer)
        for i, (label, text) in enumerate(zip(self._labels, self._texts, strict=True)):
            text.xy = tuple(flat[i])
            text.set_visible(True)
            text.set_position((0, 0))
            box = Text.get_window_extent(text, renderer)
            size = np.array([box.width, box.height]) + (2 * _SPACE + (2.0 if label.kind != "name" else 0.0)) / scale
            others = np.delete(places, i, axis=0)
            offset = _best(label, places[i], size, frame, taken, marks, others, scale)
            text.set_visible(offset is not None)
            if offset is None:
                continue
            text.set_position(tuple(offset * scale))
            far = np.abs(offset) - size / 2
            text.arrow_patch.set_visible(bool(far.max() > 2 * label.gap / scale))
            middle = places[i] + offset
            taken = np.vstack([taken, [*(middle - size / 2), *(middle + size / 2)]])

    def _pixels(self, places: Array) -> tuple[Array, Array]:
        """Return places of the map in pixels, and in the flat coordinates of the axes."""
        axes: Any = self._where
        if places.shape[1] == 3:
            from mpl_toolkits.mplot3d import proj3d  # type: ignore[import-untyped]

            places = np.column_stack(proj3d.proj_transform(*places.T, axes.get_proj())[:2])
        return axes.transData.transform(places), places

    def _others(self, renderer: Any) -> Array:
        """Return the boxes of the legend and of texts that are not placed here."""
        axes = self._where
        mine = {id(text) for text in self._texts}
        things: list[Any] = [text for text in axes.texts if id(text) not in mine and text.get_text()]
        legend = axes.get_legend()
        things += [] if legend is None else [legend]
        boxes = [thing.get_window_extent(renderer).extents for thing in things if thing.get_visible()]
        return np.array(boxes, dtype=np.float64).reshape(-1, 4)


def _best(
    label: Label, place: Array, size: Array, frame: Array, taken: Array, marks: Array, others: Array, scale: float
) -> Any:
    """Return the offset in pixels of the label's middle from its place, or None if it has no room.

    ``taken`` are boxes that it must not touch, ``marks`` places that it should not cover, ``others`` those of the other
    labels, to which it must not be nearer than to its own.
    """
    if not ((place >= frame[:2]) & (place <= frame[2:])).all():
        return None
    rings = _RINGS_OF_NAMES if label.kind == "name" else _RINGS
    offsets = np.array(
        [
            np.array(side) * (ring * label.gap / scale / (2**0.5 if all(side) else 1.0) + size / 2)
            for ring in rings
            for side in label.sides
        ]
    )
    middle = place + offsets
    boxes = np.hstack([middle - size / 2, middle + size / 2])
    free = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
    free &= _shared(boxes, taken) <= 0
    reach = np.abs(offsets).max(axis=0) + size
    near = marks[(np.abs(marks - place) <= reach).all(axis=1) & (np.abs(marks - place) > 1e-6).any(axis=1)]
    half = _MARK / scale
    covered = _shared(boxes, np.hstack([near - half, near + half])) / size.prod()
    own, foreign = _distances(boxes, place[None])[:, 0], _distances(boxes, others).min(axis=1, initial=np.inf)
    unclear = foreign < own
    step = np.repeat(np.arange(len(rings)), len(label.sides))
    free &= ~unclear | (label.kind == "name") | ((label.kind == "center") & (step > 0))  # a line leads to its place
    cost = np.minimum(covered, 2.0) + 0.15 * step + 0.3 * unclear + 1e-3 * np.arange(len(offsets))
    cost[~free | (covered > label.max_covered)] = np.inf
    best = int(np.argmin(cost))
    return offsets[best] if np.isfinite(cost[best]) else None


def _shared(boxes: Array, others: Array) -> Array:
    """Return the area that each box shares with all others."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return (high - low).clip(0).prod(axis=2).sum(axis=1)


def _distances(boxes: Array, places: Array) -> Array:
    """Return the distance of each box from each place."""
    gap = np.maximum(boxes[:, None, :2] - places[None], places[None] - boxes[:, None, 2:]).clip(0)
    return np.hypot(gap[..., 0], gap[..., 1])
