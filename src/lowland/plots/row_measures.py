"""Figures of measures of single rows: how far each is from the limit of outliers, and how reliable a map is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .group_points import RASTER_ABOVE
from .parts import grid_lines, heading, legend
from .style import axes_for, current, grid_of_axes, literal, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..quality.outlier_result import Outliers
    from ..quality.pointwise import Pointwise

_NAMED = 5  # most flagged rows with their names
_LOG_FROM = 20.0  # largest ratio to the limit from which the scale is logarithmic
_LEAST = 0.01  # smallest ratio on it


def severities(found: Outliers, ax: Axes | None = None) -> Axes:
    """Draw the largest ratio of a measure to its limit for each row; flagged rows lie above the line.

    >>> from lowland.quality import outliers
    >>> X = np.vstack([np.random.default_rng(0).normal(size=(60, 3)), [[40.0, 0.0, 0.0]]])
    >>> axes = severities(outliers(X))
    >>> axes.get_ylabel(), [text.get_text() for text in axes.texts]
    ('ratio to the limit', ['row 60'])
    """
    axes, look = axes_for(ax, 7.0, 3.6), current()
    values = np.asarray(found.severity, dtype=np.float64)
    log = float(np.max(values, initial=0.0)) > _LOG_FROM
    if log:
        values = np.maximum(values, _LEAST)
        axes.set_yscale("log")
    rows, mask = np.arange(len(values)), found.mask
    size = look.marker * float(np.clip(6000 / max(len(values), 1), 3, 16))
    for chosen, color, label in (
        (~mask, look.faint, "not flagged"),
        (mask, look.second, f"flagged: {len(found):,} of {len(values):,}"),
    ):
        if chosen.any():
            style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": len(values) > RASTER_ABOVE}
            axes.scatter(rows[chosen], values[chosen], color=color, label=label, **style)
    axes.axhline(1.0, color=look.ink, linewidth=0.7 * look.line, linestyle="--", label="limit")
    for i in found.rows[:_NAMED]:
        name = f"row {i}" if found.names is None else shorten(found.names[i], 24)
        left = i > 0.8 * len(values)
        axes.annotate(
            literal(name),
            (float(i), float(values[i])),
            xytext=(-5 if left else 5, 2),
            textcoords="offset points",
            ha="right" if left else "left",
            va="bottom",
            fontsize=look.font - 1,
            color=look.ink,
        )
    axes.set(xlabel="row", ylabel="ratio to the limit")
    axes.margins(x=0.02)
    if not log:
        axes.set_ylim(bottom=0)
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    grid_lines(axes)
    return axes


def reliability(found: Pointwise, ax: Any = None) -> list[Axes]:
    """Draw how many points keep which share of their neighbours, and the distances of false and missing neighbours.

    >>> from lowland.quality import pointwise
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> [axes.get_xlabel() for axes in reliability(pointwise(X, X[:, :2]))]
    ['share of 10 nearest neighbours kept', 'distance of false neighbours']
    """
    left, right = grid_of_axes(1, 2, width=4.0, height=3.2) if ax is None else ax
    look = current()
    kept = np.asarray(found.kept, dtype=np.float64)
    edges = np.linspace(0.0, 1.0, min(found.n_neighbors, 20) + 2)
    left.hist(kept, bins=edges.tolist(), color=look.accent, edgecolor="white", linewidth=0.5)
    mean = float(kept.mean()) if len(kept) else np.nan
    left.set(xlabel=f"share of {found.n_neighbors} nearest neighbours kept", ylabel="points", xlim=(0.0, 1.0))
    heading(left, f"mean {mean:.3f}", f"{len(kept):,} points")
    style: dict[str, Any] = {"s": look.marker * float(np.clip(6000 / max(len(kept), 1), 3, 16)), "linewidths": 0}
    right.scatter(
        found.false, found.missing, color=look.accent, alpha=0.6, rasterized=len(kept) > RASTER_ABOVE, **style
    )
    right.set(xlabel="distance of false neighbours", ylabel="distance of missing neighbours")
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    for axes in (left, right):
        grid_lines(axes)
    return [left, right]
