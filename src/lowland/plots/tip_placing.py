"""The artist that places names at tips when a figure is drawn. Imported only then, because it needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

Array = Any

_TURNS = np.deg2rad([0, 20, -20, 40, -40, 65, -65, 90, -90, 120, -120, 150, -150, 180])  # from the arrow's direction
_REACHES = np.array([3.0, 9.0, 17.0, 27.0, 40.0, 56.0])  # points from a tip to its name; beyond the first with a line
_COST_OF_REACH = np.array([0.0, 1.6, 2.4, 3.2, 4.2, 5.4])  # a full turn costs 1.5: a line is harder to follow
_ON_ARROW, _OVER_ARROW, _UNCLEAR = 20.0, 0.6, 1.2  # costs: name on an arrow, line over one, another tip is nearer
_ROUNDS, _FEW = 12, 30  # orders that are tried, for at most so many names
_EASY = 1.6  # a name that costs less stands at its tip
_PAD = 1.0  # points that stay free around a name
_SIDES = np.tile(_TURNS, len(_REACHES))
_DISTANCES = np.repeat(_REACHES, len(_TURNS))
_COSTS = np.repeat(_COST_OF_REACH, len(_TURNS)) + 1.5 * np.abs(_SIDES) / np.pi


class Taken(NamedTuple):
    """What is written already: boxes of texts (left, lower, right, upper), and the ends of their lines."""

    boxes: Array
    starts: Array
    ends: Array


class Place(NamedTuple):
    """Where a name is written: the middle of its box, the end of its line, whether it needs one, and the cost."""

    middle: Array
    end: Array
    far: bool
    cost: float


class TipPlacer(Artist):
    """Moves names to where they have room, and hides those that have none; drawn before all others."""

    def __init__(
        self,
        axes: Axes,
        places: Array,
        texts: Sequence[Annotation],
        ways: Array,
        arrows: Array,
        gap: float,
        told: Callable[[int], None] | None,
    ) -> None:
        super().__init__()
        self.set_zorder(-100)
        self.set_in_layout(False)
        self._where, self._places, self._texts, self._ways = axes, places, list(texts), ways
        self._arrows, self._gap, self._told = arrows, gap, told
        self._last: bytes = b""

    def draw(self, renderer: Any) -> None:
        """Place the names, if anything has moved since the last time."""
        axes = self._where
        scale = axes.figure.figure.dpi / 72
        spots, frame = axes.transData.transform(self._places), np.asarray(axes.bbox.extents)
        key = np.round(np.append(spots, frame) / scale).tobytes()
        if key == self._last:
            return
        self._last = key
        tips = axes.transData.transform(self._arrows) if len(self._arrows) else self._arrows
        origin = np.broadcast_to(axes.transData.transform((0.0, 0.0)), tips.shape)
        sizes = []
        for text in self._texts:
            text.set_visible(True)  # invisible texts have no size
            box = Text.get_window_extent(text, renderer)
            sizes.append(np.array([box.width, box.height]) + 2 * _PAD * scale)
        place = self._placing(spots, sizes, frame, self._others(renderer), (origin, tips), scale)
        places = _best_order(place, len(self._texts))
        for text, spot, found in zip(self._texts, spots, places, strict=True):
            text.set_visible(found is not None)
            if found is None:
                continue
            text.set_position(tuple((found.middle - spot) / scale))
            if text.arrow_patch is not None:
                text.arrow_patch.set_visible(found.far)
        if self._told is not None:
            self._told(sum(found is None for found in places))

    def _placing(
        self,
        spots: Array,
        sizes: Sequence[Array],
        frame: Array,
        others: Taken,
        arrows: tuple[Array, Array],
        scale: float,
    ) -> Callable[[Sequence[int]], list[Place | None]]:
        """Return what places the names in an order, each where those before it have left room."""

        def in_order(order: Sequence[int]) -> list[Place | None]:
            taken, places = others, cast("list[Place | None]", [None] * len(order))
            for i in order:
                found = best_place(i, spots, sizes[i], self._ways[i], frame, taken, arrows, scale, self._gap)
                if found is None:
                    continue
                places[i] = found
                box = [*(found.middle - sizes[i] / 2), *(found.middle + sizes[i] / 2)]
                line = [np.vstack([taken.starts, spots[i]]), np.vstack([taken.ends, found.end])]
                taken = Taken(np.vstack([taken.boxes, box]), *(line if found.far else taken[1:]))
            return places

        return in_order

    def _others(self, renderer: Any) -> Taken:
        """Return the texts that were written before, and their lines; later ones give way to those placed here."""
        before = takewhile(lambda text: text is not self._texts[0], self._where.texts)
        texts: list[Any] = [text for text in before if text.get_text() and text.get_visible()]
        for text in texts:
            if hasattr(text, "update_positions"):  # it was moved in this drawing, and will be drawn later
                text.update_positions(renderer)
        boxes = np.array([Text.get_window_extent(text, renderer).extents for text in texts]).reshape(-1, 4)
        lines = [
            (self._where.transData.transform(text.xy), (box[:2] + box[2:]) / 2)
            for text, box in zip(texts, boxes, strict=True)
            if (line := getattr(text, "arrow_patch", None)) is not None and line.get_visible()
        ]
        starts, ends = np.array(lines).reshape(-1, 2, 2).transpose(1, 0, 2)
        return Taken(boxes, starts, ends)


def best_place(
    own: int,
    spots: Array,
    size: Array,
    way: Array,
    frame: Array,
    taken: Taken,
    arrows: tuple[Array, Array],
    scale: float,
    gap: float,
) -> Place | None:
    """Return the best place of a name; None without room."""
    spot = spots[own]
    if not ((frame[:2] <= spot) & (spot <= frame[2:])).all():
        return None
    angle = float(np.arctan2(way[1], way[0])) + _SIDES
    step = np.column_stack([np.cos(angle), np.sin(angle)])
    half = size / 2
    out = np.min(half / np.maximum(np.abs(step), 1e-9), axis=1)  # from the middle of the box to its edge
    ends = spot + step * ((_DISTANCES + gap) * scale)[:, None]
    middles = ends + step * out[:, None]
    boxes = np.hstack([middles - half, middles + half])
    far = _REACHES[0] < _DISTANCES
    starts = np.broadcast_to(spot, ends.shape)
    room = (boxes[:, :2] >= frame[:2]).all(axis=1) & (boxes[:, 2:] <= frame[2:]).all(axis=1)
    room &= ~boxes_meet(boxes, taken.boxes).any(axis=1)
    room &= ~boxes_meet(boxes, np.hstack([spots, spots])).any(axis=1)
    room &= ~lines_meet_boxes(taken.starts, taken.ends, boxes).any(axis=0)
    room &= ~(far & lines_meet_boxes(starts, ends, taken.boxes).any(axis=1))
    room &= ~(far & lines_cross(starts, ends, taken.starts, taken.ends).any(axis=1))
    if not room.any():
        return None
    on_arrow = lines_meet_boxes(*arrows, boxes).any(axis=0)
    beyond = starts + 0.1 * (ends - starts)  # a line begins at the tip of its own arrow
    over = far * lines_cross(beyond, ends, *arrows).sum(axis=1)
    gaps = np.maximum(boxes[:, None, :2] - spots[None], spots[None] - boxes[:, None, 2:]).clip(0)
    apart = np.hypot(gaps[..., 0], gaps[..., 1])
    unclear = (apart < apart[:, [own]] - 0.5).any(axis=1)
    cost = _COSTS + _ON_ARROW * on_arrow + _OVER_ARROW * over + _UNCLEAR * unclear
    best = int(np.argmin(np.where(room, cost, np.inf)))
    return Place(middles[best], ends[best], bool(far[best]), float(cost[best]))


def _best_order(place: Callable[[Sequence[int]], list[Place | None]], n: int) -> list[Place | None]:
    """Return the best of some orders of placing names: in each, the worst name of the last one comes first.

    The last names are the first to be left out; of orders that leave out the same ones, the smallest cost is best.
    """
    order = list(range(n))
    tried: list[Any] = []
    for _ in range(_ROUNDS if n <= _FEW else 1):
        places = place(order)
        costs = [np.inf if found is None else found.cost for found in places]
        missing = [-i for i, found in enumerate(places) if found is None]
        tried.append((len(missing), sorted(missing), sum(cost for cost in costs if cost < np.inf), len(tried), places))
        worst = int(np.argmax(costs))
        if costs[worst] < _EASY or worst == order[0]:
            break
        order = [worst, *(i for i in order if i != worst)]
    best: list[Place | None] = min(tried, key=lambda one: one[:4])[4]
    return best


def boxes_meet(boxes: Array, others: Array) -> Array:
    """Return which boxes share an area or, with boxes that are points, hold them.

    >>> boxes_meet(np.array([[0, 0, 2, 1.0]]), np.array([[1, 0.5, 3, 2], [2, 0, 3, 1], [1, 0.5, 1, 0.5]])).tolist()
    [[True, False, True]]
    """
    a, b = boxes[:, None], others[None]
    return np.asarray(((a[..., :2] < b[..., 2:]) & (b[..., :2] < a[..., 2:])).all(axis=-1))


def lines_meet_boxes(starts: Array, ends: Array, boxes: Array) -> Array:
    """Return for each line and box whether the line passes through the inside of the box.

    >>> start, end = np.array([[0.0, 0.0]]), np.array([[4.0, 4.0]])
    >>> lines_meet_boxes(start, end, np.array([[1, 0, 3, 2], [2, 0, 4, 1]])).tolist()
    [[True, False]]
    """
    start, way = starts[:, None], (ends - starts)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (boxes[None, :, :2] - start) / way, (boxes[None, :, 2:] - start) / way
    inside = (boxes[None, :, :2] < start) & (start < boxes[None, :, 2:])
    still = way == 0  # along an axis a line may stand still: then it is between the edges all the time or never
    first = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(low, high)).max(axis=-1)
    last = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(low, high)).min(axis=-1)
    return np.asarray(np.maximum(first, 0.0) < np.minimum(last, 1.0))


def lines_cross(starts: Array, ends: Array, others: Array, other_ends: Array) -> Array:
    """Return which lines cross which others.

    >>> a, b = np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]])
    >>> lines_cross(a, b, np.array([[0, 2.0], [2, 3]]), np.array([[2, 0.0], [3, 2]])).tolist()
    [[True, False]]
    """
    a, b, c, d = starts[:, None], ends[:, None], others[None], other_ends[None]
    apart = _side(a, b, c) * _side(a, b, d) < 0
    return np.asarray(apart & (_side(c, d, a) * _side(c, d, b) < 0))


def _side(a: Array, b: Array, c: Array) -> Array:
    """Return a number whose sign is the side of the line from a to b on which c lies."""
    one, two = b - a, c - a
    return one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0]
