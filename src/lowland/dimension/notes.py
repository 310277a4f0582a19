"""The summary of a dimension estimate, and the warnings about its reliability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.formatting import format_share
from ..core.measure import Measure
from .angles import Plateau, ScaleCurve
from .levels import explain

Array = Any

_CLOSED = {1: ", like a ring", 2: ", like a sphere"}
APART = 0.25  # largest relative difference between estimates from distances and directions


def doubts(level: Plateau, scales: ScaleCurve, n: int) -> list[str]:
    """Return warnings about the reliability of the plateau.

    If the estimate is the maximum that the points can span, scales are not discussed: the points do not resolve them.
    """
    few = [_few(float(level.value), scales, n)] if many(level.value, n) else []
    return few if level.spanned else _of_scales(level, scales) + few


def _of_scales(level: Plateau, scales: ScaleCurve) -> list[str]:
    """Return warnings where scales, or directions and distances, disagree."""
    notes, d = [], float(level.value)
    if level.rising:
        notes.append(
            f"the estimate is {_figure(scales.value[0])} dimensions at the smallest scale and larger at every other: "
            "the data are curved within the distance to the nearest neighbours, so the dimension was extrapolated to a "
            "distance of zero; more points would give a better estimate"
        )
    elif not level.level:
        notes.append(
            f"the estimate changes with the scale (from {_span(scales.value)} over the scales) and has no plateau: the "
            "noise is as large as the structure, or there are too few points"
        )
    elif level.first > 0 and scales.value[: level.first].max() > d + max(0.5, 0.25 * d):
        finest = scales.value[: level.first].max()
        notes.append(
            f"the estimate depends on the scale: {_figure(finest)} dimensions below a distance of "
            f"{scales.radius[level.first]:.3g} and {_figure(d)} above it; the smaller scales are treated as noise"
        )
    if level.level and scales.value[level.last :].min() < 0.6 * d:
        notes.append(
            f"at large distances the estimate is only {_figure(scales.value[level.last :].min())} dimensions: the "
            "shape is elongated, or a few rows are outliers"
        )
    if rough(level, scales):
        notes.append(
            f"neighbour distances give {_figure(_by_distance(level, scales))} dimensions, neighbour directions "
            f"{_figure(d)}: there are too few points for this shape, or it is not smooth (clusters, discrete values, a "
            "fractal)"
        )
    return notes


def _few(d: float, scales: ScaleCurve, n: int) -> str:
    """Return the warning that there are too few points for so many dimensions."""
    contrast = float(scales.radius[0] / scales.radius[-1])
    return (
        f"{n:,} points are too few for {d:.0f} dimensions: distances between so many points can show at most "
        f"{_most(n):.1f} dimensions, and the nearest neighbours are {format_share(contrast)} as far away as the "
        "other points. The number is imprecise; give more points"
    )


def many(d: float, n: int) -> bool:
    """Return whether there are too few points for such a dimension."""
    return bool(d > _most(n))


def _most(n: int) -> float:
    """Return the largest dimension that distances between n points can show (Eckmann and Ruelle 1992)."""
    return float(2 * np.log10(n))


def rough(level: Plateau, scales: ScaleCurve) -> bool:
    """Return whether distances and directions disagree; for a smooth shape they agree."""
    d = float(level.value)
    return bool((level.level or level.rising) and abs(_by_distance(level, scales) - d) > APART * d + 0.3)


def _by_distance(level: Plateau, scales: ScaleCurve) -> float:
    """Return the dimension by distances over the plateau; NaN if there is none."""
    return float(scales.distances[level.first : level.last + 1].mean())


def _span(values: Array) -> str:
    return f"{_figure(np.min(values))} to {_figure(np.max(values))}"


def _figure(value: float) -> str:
    """Write a dimension with two digits, or all before the point.

    >>> _figure(1.6789), _figure(123.4)
    ('1.7', '123')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def sentence(
    consensus: Mapping[str, Measure],
    level: Plateau,
    n: int,
    *,
    sure: bool,
    linear: str | None,
    closed: bool = False,
    levels: int = 0,
) -> str:
    """Return the summary; ``linear`` is the linear method, None if the linear dimensions are not of the same rows.

    ``closed``: whether the shape is closed, so that a map needs one more coordinate. ``levels``: how many columns have
    two values, if they may be the linear dimensions.
    """
    true = consensus["nonlinear"]
    d, shown = max(1, round(true)), _number(true)
    if level.spanned:
        about = f"about {n - 1} dimensions ({true.low:.3g} to {true.high:.3g})"
        said = f"at least {n - 1} dimensions" if true.low >= n - 1 else about
        return f"The data have {said}, the maximum for {n} points; more points are needed to estimate the number."
    few = f"; imprecise: {n:,} points can show at most {_most(n):.1f}" if many(float(true), n) else ""
    said = f"about {shown} dimension{'s' if shown != '1' else ''} ({true.low:.3g} to {true.high:.3g}{few})"
    if not level.level and not level.rising:
        said = f"no stable dimension over several scales; the best estimate is {said}"
    start = f"The data have {said}"
    ring = f"the shape is curved and closed{_CLOSED.get(d, '')}"
    if "linear" not in consensus or linear is None:
        return f"{start}; {ring}, so a map needs {d + 1} coordinates." if closed else f"{start}."
    flat = round(consensus["linear"])
    straight = f"{flat} linear dimension{'s' if flat != 1 else ''}"
    if flat > d and explain(levels, flat, d):
        each = f"{levels:,} columns are levels of categories or have two values"
        return f"{start} and {straight}: {each}, and each can add a linear dimension (this does not show curvature)."
    if flat > d and not sure:
        return f"{start} and {straight} (this does not by itself show curvature)."
    if flat == d + 1 and closed:
        return f"{start} but {straight}: {ring}, so a map needs {flat} coordinates, as many as {linear} uses."
    if flat > d:
        how = f"{ring}, and a nonlinear method can show it in {d + 1} coordinates, fewer than {linear}"
        if not closed:
            how = f"they are curved, and a nonlinear method can show them in fewer dimensions than {linear}"
        if not closed and d > 1:  # an edge is harder to detect than the ends of a curve
            how += " (closed shapes, such as spheres, need one more coordinate)"
        return f"{start} but {straight}: {how}."
    if flat < d:
        return f"{start}; {straight} hold{'' if flat > 1 else 's'} most of the variance, and the others are small."
    return f"{start} and {straight}: {linear} is sufficient."


def _number(value: Measure) -> str:
    """Write a dimension as a whole number where that is within its interval, else with as many digits as it takes.

    >>> _number(Measure(1.68, 1.57, 1.79)), _number(Measure(2.2, 1.9, 2.6))
    ('1.7', '2')
    """
    texts = [f"{float(value):.{digits}f}" for digits in range(3)]
    return next((text for text in texts if value.low <= float(text) <= value.high), f"{float(value):.4g}")
