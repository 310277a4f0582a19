"""Points of several groups, drawn so that none hides the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .coloring import Groups, group_style

Array = Any

RASTER_ABOVE = 5000  # with more points a vector figure is slow to open
_BATCHES = 20  # parts of the points in which markers of several shapes are drawn in turn


def draw_groups(axes: Any, P: Array, groups: Groups, look: dict[str, Any], order: Array | None = None) -> None:
    """Draw points, in the plane or in space, in the colour and with the marker of their group.

    ``look`` are the size, the opacity and other options of the markers; ``order`` that of drawing, default the rows'.
    """
    styles = [group_style(code, groups) for code in range(len(groups.labels))]
    colors, codes = np.array([tone for tone, _ in styles])[groups.codes], groups.codes
    for part, some in _layers(np.arange(len(P)) if order is None else order, groups, styles):
        here = part[np.isin(codes[part], some)]
        shape = styles[some[0]][1]
        style = look | {"linewidths": 0.8 if shape == "x" else 0, "marker": shape}
        tone = {"color": colors[here[0]]} if len(some) == 1 and len(here) else {"c": colors[here]}
        axes.scatter(*P[here].T, **tone, **style)


def _layers(order: Array, groups: Groups, styles: list[tuple[str, str]]) -> list[tuple[Array, list[int]]]:
    """Return parts of the rows, and groups of each part that are drawn at once, from back to front.

    Groups with one shape of markers are drawn at once, in random order; several shapes, and each group of many points,
    in turn, for a part of the points each time, so that none hides the others. Of one colour, points are drawn ten
    times as fast.
    """
    behind = [[code] for code in (groups.missing, groups.others) if code >= 0]  # missing values, the rest
    front = [[code] for code in groups.named]
    if len(order) <= RASTER_ABOVE:
        shapes = dict.fromkeys(styles[code][1] for code in groups.named)
        front = [[code for code in groups.named if styles[code][1] == shape] for shape in shapes]
    parts = np.array_split(order, _BATCHES if len(front) > 1 else 1)
    return [(order, some) for some in behind] + [(part, some) for part in parts for some in front]
