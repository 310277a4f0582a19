"""Figures of quality measures: Shepard diagram, R_NX curves, and all measures of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..quality.rank_curves import RnxCurve, rnx_curve
from ..quality.shepard import Shepard
from ..quality.shepard import shepard as measure_pairs
from .coordinates import check_order
from .group_points import RASTER_ABOVE
from .legends import add_labelled_legend
from .parts import grid_lines, heading, legend, log_axis
from .style import axes_for, current, literal, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..quality.report import Report
    from ..quality.spaces import Metric

ALL_ANCHORS = 5000  # up to this number of points all are evaluated; a picture of more needs no more precision than
SORTED, FEWEST_ANCHORS = 10_000_000, 200  # so many distances sorted on each side, of this number of points at least
CURVES_MOST = 10  # more curves in one figure cannot be distinguished
_SHARES = {
    "trustworthiness": "trustworthiness",
    "continuity": "continuity",
    "neighborhood_overlap": "share of neighbours kept",
    "rnx_auc": "AUC of R_NX",
    "spearman": "rank correlation",
    "geodesic_spearman": "rank correlation, geodesic",
}


def shepard(
    embedding: Any,
    X: Any = None,
    *,
    metric: Metric = "euclidean",
    pairs: int | str | None = "auto",
    random_state: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw map distances against data distances, with a monotone regression.

    If a map preserves distances, the points lie on a straight line through 0; if it preserves their order, on the
    increasing curve. The scatter around the curve is the error.

    Parameters
    ----------
    embedding : array, or Shepard
        The map, or what `lowland.quality.shepard` returned.
    X : array
        The data, one row for each of the map's.
    metric, pairs, random_state
        As in `lowland.quality.shepard`.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> shepard(X[:, :2], X).get_xlabel()
    'distance in the data'
    """
    result = _pairs(embedding, X, metric=metric, pairs=pairs, random_state=random_state)
    axes, look = axes_for(ax, 6.4, 4.8), current()
    count = len(result.data_distances)
    axes.scatter(
        result.data_distances,
        result.map_distances,
        s=look.marker * float(np.clip(20_000 / count, 3, 16)),
        alpha=float(np.clip(20 / count**0.5, 0.08, 0.8)),
        color=look.accent,
        linewidths=0,
        rasterized=count > RASTER_ABOVE,
    )
    axes.plot(result.fit_x, result.fit_y, color=look.second, linewidth=1.2 * look.line, label="monotone fit")
    axes.set(xlabel="distance in the data", ylabel="distance in the map")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    heading(
        axes,
        f"stress {result.stress:.3f} · Pearson {result.pearson:.3f} · Spearman {result.spearman:.3f}",
        _pairs_used(result),
    )
    legend(axes, loc="upper left")
    grid_lines(axes)
    return axes


def _pairs_used(result: Shepard) -> str:
    """Say how many pairs were drawn and used, unless all of them were."""
    count, used = len(result.data_distances), result.n_pairs
    sampled = "" if result.stress.exact else " sampled"
    if count < used:
        return f"{count:,} of {used:,}{sampled} pairs drawn"
    return f"{used:,}{sampled} pairs" if sampled else ""


def _pairs(given: Any, X: Any, **options: Any) -> Shepard:
    """Return a result as it is, or measure the map and the data."""
    if isinstance(given, Shepard):
        return given
    if X is None:
        raise ValueError("shepard needs the map and the data, shepard(Y, X), or a result of quality.shepard")
    check_order(given, X, "shepard", options["metric"])
    return measure_pairs(X, given, **options)


def rnx(
    maps: Any,
    X: Any = None,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of common neighbours above chance, for neighbourhoods of all sizes, of one or several maps.

    Parameters
    ----------
    maps : array, mapping of names to arrays, RnxCurve, or mapping of names to RnxCurve
        The map, or several; or what `lowland.quality.rnx_curve` returned.
    X : array
        The data.
    metric, random_state
        As in `lowland.quality.rnx_curve`.
    anchors : int, "auto" or None
        Number of points to evaluate; "auto": all up to 5,000 points, fewer above (500 of 20,000); None: all.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> axes = rnx({"two columns": X[:, :2], "one column": X[:, :1]}, X)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['two columns (AUC 0.517)', 'one column (AUC 0.285)']
    """
    curves = _curves(maps, X, metric=metric, anchors=anchors, random_state=random_state)
    if len(curves) > CURVES_MOST:
        raise ValueError(f"{len(curves)} curves are too many for one figure; give at most {CURVES_MOST}")
    axes, look = axes_for(ax, 6.4 if len(curves) == 1 else 6.4 + 0.23 * current().font, 4.2), current()
    tones = [look.accent] if len(curves) == 1 else look.palette
    least = 0.0
    names = shorten_all(list(curves))
    for name, curve, tone in zip(names, curves.values(), tones, strict=False):
        label = f"{name} (AUC {float(curve.auc):.3f})"
        axes.fill_between(curve.k, curve.low, curve.high, color=tone, alpha=0.2, linewidth=0)
        axes.plot(curve.k, curve.values, color=tone, linewidth=1.2 * look.line, label=literal(label))
        least = min(least, float(np.min(curve.values)))
    axes.axhline(0.0, color=look.faint, linewidth=look.line / 1.5, linestyle="--")
    end = max(int(curve.k[-1]) for curve in curves.values())
    at: dict[str, Any] = {"xytext": (0, -4), "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate("chance", (end, 0.0), fontsize=look.font, color=look.ink, **at)
    log_axis(axes, every=(1.0,))
    axes.set(xlabel="neighbours K", ylabel="agreement, R_NX(K)")
    axes.set_ylim(least - 0.06 * look.font / 9, 1.02)
    first = next(iter(curves.values()))
    sampled = f"{first.n_anchors:,} of {first.n_points:,} points evaluated; bands: 95 % intervals"
    if len(curves) > 1:
        add_labelled_legend(axes)
    heading(axes, f"AUC {float(first.auc):.3f}" if len(curves) == 1 else "", "" if first.auc.exact else sampled)
    grid_lines(axes)
    return axes


def _curves(given: Any, X: Any, **options: Any) -> dict[str, RnxCurve]:
    """Return the curves by name."""
    named = {str(name): one for name, one in given.items()} if isinstance(given, Mapping) else {"": given}
    if named and all(isinstance(one, RnxCurve) for one in named.values()):
        return named
    if X is None or not named:
        raise ValueError(
            "rnx needs at least one map and the data, rnx(Y, X) or rnx({name: Y}, X), or results of quality.rnx_curve"
        )
    for one in named.values():
        check_order(one, X, "rnx", options["metric"])
    if isinstance(options["anchors"], str) and (n := np.shape(next(iter(named.values())))[0]) > ALL_ANCHORS:
        options["anchors"] = max(FEWEST_ANCHORS, SORTED // n)
    return {name: rnx_curve(X, one, **options) for name, one in named.items()}


def measures(report: Report, *, ax: Axes | None = None) -> Axes:
    """Draw the measures of a quality report that lie between 0 and 1, with their intervals and values by chance.

    Examples
    --------
    >>> from lowland import quality
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> axes = measures(quality.report(X, X[:, :2]))
    >>> [text.get_text() for text in axes.get_yticklabels()][:2]
    ['trustworthiness', 'continuity']
    """
    names = [name for name in _SHARES if not np.isnan(report[name])]
    axes, look = axes_for(ax, 6.4, 0.9 + 0.32 * len(names) * current().font / 9), current()
    for place, name in enumerate(names):
        value, chance = report[name], report.chance.get(name)
        axes.plot([0, float(value)], [place, place], color=look.accent, linewidth=look.line, alpha=0.5)
        axes.plot([value.low, value.high], [place, place], color=look.ink, linewidth=look.line / 2, zorder=3)
        axes.plot(float(value), place, marker="o", markersize=5 * look.marker**0.5, color=look.accent, zorder=4)
        if chance is not None:
            label = "by chance" if place == 0 else None
            mark = {"marker": "|", "markersize": 9 * look.marker**0.5, "markeredgewidth": look.line, "linestyle": ""}
            axes.plot(chance, place, color=look.second, label=label, zorder=5, **mark)
    axes.set_yticks(range(len(names)), [_SHARES[name] for name in names])
    axes.invert_yaxis()
    axes.set_xlim(min(-0.02, *(report[name].low for name in names)), 1.02)
    axes.set_xlabel("1 is perfect")
    legend(axes, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    grid_lines(axes, "x")
    return axes
