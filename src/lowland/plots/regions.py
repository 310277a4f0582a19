"""Regions on a map: normal ellipses, confidence regions of means, convex hulls, and spreads of single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .coloring import Groups, group_style
from .legends import key
from .style import current

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

REGIONS = ("spread", "mean", "hull")
MIN_POINTS = {"spread": 4, "mean": 4, "hull": 3}  # of a group that gets a region
MAX_SPREADS = 200  # rows whose uncertainty is drawn


class Ellipse(NamedTuple):
    """Centre, semi-axes (the longer first) and the angle of the longer one in degrees."""

    center: Array
    axes: Array
    angle: Array


def ellipse(center: Array, covariance: Array, radius: Any = 1.0) -> Ellipse:
    """Return the ellipse (y − c)ᵀ C⁻¹ (y − c) = radius²; also for many covariances at once.

    >>> found = ellipse(np.zeros(2), np.diag([1.0, 4.0]))
    >>> found.axes.tolist(), float(found.angle)
    ([2.0, 1.0], 90.0)
    """
    a, b, d = covariance[..., 0, 0], covariance[..., 0, 1], covariance[..., 1, 1]
    middle, half = (a + d) / 2, np.hypot((a - d) / 2, b)  # the eigenvalues of a 2 × 2 matrix
    values = np.stack([middle + half, np.maximum(middle - half, 0.0)], axis=-1)
    return Ellipse(center, radius * np.sqrt(values), np.degrees(np.arctan2(2 * b, a - d) / 2))


def group_ellipse(points: Array, what: str, level: float) -> Ellipse | None:
    """Return the "spread" or "mean" ellipse of points; None for fewer than four and for points on a line.

    "spread" holds the share ``level`` of the normal distribution with the points' mean and covariance; "mean" is the
    region that contains the true mean with that confidence (Hotelling 1931).
    """
    from scipy.special import fdtri

    n = len(points)
    if n < MIN_POINTS[what] or not spans_plane(points):
        return None
    square = -2 * np.log1p(-level) if what == "spread" else 2 * (n - 1) / (n * (n - 2)) * fdtri(2, n - 2, level)
    unit = _unit(points)
    return ellipse(points.mean(axis=0), np.cov((points / unit).T), unit * float(np.sqrt(square)))


def hull(points: Array) -> Array | None:
    """Return the corners of the convex hull; None for fewer than three points and for points on a line.

    >>> sorted(hull(np.array([[0, 0], [2, 0], [0, 2], [2, 2], [1, 1.0]])).tolist())
    [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]
    """
    from scipy.spatial import ConvexHull

    if len(points) < MIN_POINTS["hull"] or not spans_plane(points):
        return None
    return points[ConvexHull((points - points[0]) / _unit(points)).vertices]


def _unit(points: Array) -> float:
    """Return a length in which squares of the points neither overflow nor vanish."""
    return float(np.ptp(points, axis=0).max()) or 1.0


def spans_plane(points: Array) -> bool:
    """Return whether points do not lie on one line, up to rounding."""
    C = np.cov((points / _unit(points)).T)
    return bool(np.linalg.det(C) > 1e-12 * np.trace(C) ** 2)


def draw_regions(axes: Axes, Y: Array, groups: Groups | None, what: str, level: float) -> list[Any]:
    """Draw a region for each group, or for all points without groups; return entries for the legend."""
    from matplotlib.patches import Ellipse as EllipsePatch
    from matplotlib.patches import Polygon

    look, left_out = current(), 0
    parts = [(Y, look.ink)] if groups is None else []
    if groups is not None:
        parts = [(Y[groups.codes == code], group_style(code, groups)[0]) for code in groups.named]
    for points, tone in parts:
        shape: Any = None
        if what == "hull":
            corners = hull(points)
            shape = None if corners is None else Polygon(corners, closed=True)
        elif (found := group_ellipse(points, what, level)) is not None:
            shape = EllipsePatch(tuple(found.center), *(2 * found.axes), angle=float(found.angle))
        if shape is None:
            left_out += 1
            continue
        filled = (*_rgb(tone), 0.0 if groups is None else 0.12)
        shape.set(facecolor=filled, edgecolor=tone, linewidth=look.line, zorder=2.5)
        axes.add_patch(shape)
        axes.update_datalim(shape.get_xy() if what == "hull" else _corners(found))
    axes.autoscale_view()
    return _region_keys(what, level, left_out, len(parts))


def _corners(found: Any) -> Array:
    """Return the corners of the upright rectangle around an ellipse."""
    turn = np.radians(found.angle)
    along, across = found.axes
    half = np.hypot([along * np.cos(turn), along * np.sin(turn)], [across * np.sin(turn), across * np.cos(turn)])
    return np.array([found.center - half, found.center + half])


def _region_keys(what: str, level: float, left_out: int, n: int) -> list[Any]:
    look, percent = current(), f"{100 * level:.4g} %"
    words = {
        "spread": f"{percent} of a normal distribution",
        "mean": f"{percent} confidence region of the mean",
        "hull": "convex hull",
    }
    keys = [key(words[what], linestyle="-", color=look.ink, linewidth=look.line)] if left_out < n else []
    if left_out:
        shape = "hull" if what == "hull" else "ellipse"
        reason = f"fewer than {MIN_POINTS[what]} points, or points on a line"
        which = f"{left_out} group{'' if left_out == 1 else 's'}" if n > 1 else "the points"
        keys.append(key(f"no {shape} for {which}: {reason}"))
    return keys


def draw_spreads(axes: Axes, Y: Array, covariances: Array, tones: Array, level: float) -> list[Any]:
    """Draw the outline of each row's uncertainty, at most 200, the largest; return entries for the legend."""
    from matplotlib.collections import EllipseCollection

    look = current()
    rows = np.flatnonzero(np.isfinite(covariances).all(axis=(1, 2)))
    if not len(rows):
        return []
    size = np.trace(covariances[rows], axis1=1, axis2=2)
    shown = np.sort(rows[np.argsort(-size, kind="stable")[:MAX_SPREADS]])
    found = ellipse(Y[shown], covariances[shown], float(np.sqrt(-2 * np.log1p(-level))))
    width, height = 2 * found.axes.T
    outlines = EllipseCollection(
        width,
        height,
        found.angle,
        units="xy",
        offsets=found.center,
        offset_transform=axes.transData,
        facecolors="none",
        edgecolors=tones[shown],
        linewidths=0.5 * look.line,
        alpha=0.7,
        zorder=2.2,
    )
    axes.add_collection(outlines, autolim=False)
    reach = found.axes[:, :1]
    axes.update_datalim(np.vstack([found.center - reach, found.center + reach]))
    axes.autoscale_view()
    text = f"missing cells: {100 * level:.4g} % of where the row may lie"
    if len(shown) < len(rows):
        text += f" (the {len(shown)} most uncertain of {len(rows):,} rows)"
    return [
        key(text, marker="o", markersize=8, markerfacecolor="none", color=look.ink, markeredgewidth=0.5 * look.line)
    ]


def _rgb(tone: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return to_rgb(tone)
