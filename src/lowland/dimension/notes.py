"""What the dimensions come to in words: a sentence, and what stands in the way of believing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..measure import Measure
from ..settings import format_share
from .angles import Curve, Plateau

Array = Any

_CLOSED = {1: ", like a ring", 2: ", like a sphere"}
APART = 0.25  # by how much distances and directions may differ


def doubts(level: Plateau, scales: Curve, n: int) -> list[str]:
    """Say what stands in the way of believing the plateau.

    Where it is as much as the points span, that alone: they tell nothing of its scales.
    """
    few = [_few(float(level.value), scales, n)] if many(level.value, n) else []
    return few if level.spanned else _of_scales(level, scales) + few


def _of_scales(level: Plateau, scales: Curve) -> list[str]:
    """Say where scales, or directions and distances, disagree."""
    notes, d = [], float(level.value)
    if level.rising:
        notes.append(
            f"the directions of neighbours fill {_figure(scales.value[0])} dimensions at the finest scale and more at "
            "every other: the data curve within the distance of neighbours, and the dimension was followed back to a "
            "distance of zero; more points would tell it better"
        )
    elif not level.level:
        notes.append(
            f"the dimension changes from scale to scale ({_span(scales.value)} from fine to coarse) and stays the same "
            "over none of them: noise is as large as the shape, or there are too few points"
        )
    elif level.first > 0 and scales.value[: level.first].max() > d + max(0.5, 0.25 * d):
        finest = scales.value[: level.first].max()
        notes.append(
            f"scales disagree: within a distance of {scales.radius[level.first]:.3g} the data fill {_figure(finest)} "
            f"dimensions, beyond it {_figure(d)}; what is below is taken for noise or thickness"
        )
    if level.level and scales.value[level.last :].min() < 0.6 * d:
        notes.append(
            f"over long distances the data spread in {_figure(scales.value[level.last :].min())} dimensions only: the "
            "shape is long, or a few rows lie far out"
        )
    if rough(level, scales):
        notes.append(
            f"distances between neighbours grow as in {_figure(_by_distance(level, scales))} dimensions, their "
            f"directions fill {_figure(d)}: the points are too few for such a shape, or it is no smooth one "
            "(clusters, discrete values, a fractal)"
        )
    return notes


def _few(d: float, scales: Curve, n: int) -> str:
    """Say that there are few points for so many dimensions."""
    contrast = float(scales.radius[0] / scales.radius[-1])
    return (
        f"{n:,} points are few for {d:.0f} dimensions (distances between so many tell {2 * np.log10(n):.1f} at most): "
        f"the nearest neighbours are {format_share(contrast)} as far as all others; read it as many, not a number"
    )


def many(d: float, n: int) -> bool:
    """Tell whether there are too few points for such a dimension."""
    return bool(d > 2 * np.log10(n))


def rough(level: Plateau, scales: Curve) -> bool:
    """Tell whether distances and directions disagree: on a smooth shape they do not."""
    d = float(level.value)
    return bool((level.level or level.rising) and abs(_by_distance(level, scales) - d) > APART * d + 0.3)


def _by_distance(level: Plateau, scales: Curve) -> float:
    """Return the dimension by distances over the plateau; not a number where they tell none."""
    return float(scales.distances[level.first : level.last + 1].mean())


def _span(values: Array) -> str:
    return f"{_figure(values[0])} to {_figure(values[-1])}"


def _figure(value: float) -> str:
    """Write a dimension with two digits, or all before the point.

    >>> _figure(1.6789), _figure(123.4)
    ('1.7', '123')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def sentence(
    consensus: Mapping[str, Measure], level: Plateau, n: int, *, sure: bool, linear: str | None, closed: bool = False
) -> str:
    """Say what it comes to; ``linear`` is what shows linear dimensions, None if they are not those of the same rows.

    ``closed``: whether the shape is seen to be closed, so that a map takes one coordinate more.
    """
    true = consensus["nonlinear"]
    d, shown = max(1, round(true)), _number(true)
    if level.spanned:
        about = f"about {n - 1} dimensions ({true.low:.3g} to {true.high:.3g})"
        said = f"at least {n - 1} dimensions" if true.low >= n - 1 else about
        return f"The data have {said}, as many as {n} points can span: more points are needed to tell how many."
    said = f"about {shown} dimension{'s' if shown != '1' else ''} ({true.low:.3g} to {true.high:.3g})"
    if not level.level and not level.rising:
        said = f"no dimension that holds over several scales; the best guess is {said}"
    start = f"The data have {said}"
    ring = f"they curve and close{_CLOSED.get(d, '')}"
    if "linear" not in consensus or linear is None:
        return f"{start}; {ring}, so a map takes {d + 1} coordinates." if closed else f"{start}."
    flat = round(consensus["linear"])
    if flat > d and not sure:
        return f"{start} and fill {flat} linear ones (this does not by itself show curvature)."
    if flat == d + 1 and closed:
        return f"{start} but fill {flat} linear ones: {ring}, so a map takes {flat} coordinates, as {linear} has them."
    if flat > d:
        how = f"{ring}, and a nonlinear method can show them in {d + 1} coordinates, fewer than {linear}"
        if not closed:
            how = f"they curve, and a nonlinear method can show them in fewer dimensions than {linear}"
        if not closed and d > 1:  # an edge is harder to see than the ends of a curve
            how += " (closed shapes, such as spheres, take one more than they have)"
        return f"{start} but fill {flat} linear ones: {how}."
    if flat < d:
        return (
            f"{start}; {flat} linear one{'s' if flat > 1 else ''} hold{'' if flat > 1 else 's'} most of their "
            "variance, and the others are small."
        )
    held = "as many" if shown == str(flat) else str(flat)
    return f"{start}, and {held} linear ones hold them: {linear} can show them."


def _number(value: Measure) -> str:
    """Write a dimension as a whole number where that is within its interval, else with as many digits as it takes.

    >>> _number(Measure(1.68, 1.57, 1.79)), _number(Measure(2.2, 1.9, 2.6))
    ('1.7', '2')
    """
    texts = [f"{float(value):.{digits}f}" for digits in range(3)]
    return next((text for text in texts if value.low <= float(text) <= value.high), f"{float(value):.4g}")
