"""Figures of dimension estimates: dimension against scale, and the spectrum with the linear counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .style import ACCENT, FAINT, INK, SECOND, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.ticker import Locator

    from ..dimension import Estimate

SHOWN = 40  # most eigenvalues drawn


def dimension(found: Estimate) -> Figure:
    """Draw the result of `lowland.dimension.estimate`: the dimension at each scale, and the spectrum.

    Examples
    --------
    >>> from lowland.dimension import estimate
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> [axes.get_xlabel() for axes in dimension(estimate(X)).axes]
    ['neighbourhood radius', 'component']
    """
    if found.spectrum is None:
        figure, axes = new_figure(7.0, 4.4)
        _draw_scales(axes, found)
        return figure
    figure, left = new_figure(11.0, 4.4)
    grid = figure.add_gridspec(1, 2)
    left.set_subplotspec(grid[0, 0])
    _draw_scales(left, found)
    _draw_spectrum(_beside(left, figure.add_subplot(grid[0, 1])), found)
    return figure


def _beside(axes: Axes, other: Axes) -> Axes:
    """Style a second pair of axes like the first."""
    other.patch.set_alpha(0.0)
    for side in ("top", "right"):
        other.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        other.spines[side].set_color(axes.spines[side].get_edgecolor())
    other.tick_params(colors=INK, which="both", labelsize=9)
    for one, two in ((axes.xaxis, other.xaxis), (axes.yaxis, other.yaxis)):
        two.label.set_color(one.label.get_color())
    other.set_axisbelow(True)
    return other


def _draw_scales(axes: Axes, found: Estimate) -> None:
    """Draw the estimates from directions and distances against the scale, with the plateau."""
    scales, level = found.scales, found.plateau
    low, high = np.quantile(scales.low, 0.025, axis=0), np.quantile(scales.high, 0.975, axis=0)
    axes.fill_between(scales.radius, low, high, color=ACCENT, alpha=0.18, linewidth=0)
    axes.plot(scales.radius, scales.value, color=ACCENT, marker="o", markersize=4, label="directions")
    axes.plot(scales.radius, scales.distances, color=SECOND, marker="s", markersize=3, linewidth=1, label="distances")
    inside = scales.radius[[level.first, level.last]]
    axes.plot(inside, [level.value, level.value], color=INK, linewidth=2.5, alpha=0.8, solid_capstyle="butt")
    axes.axvspan(*inside, color=FAINT, alpha=0.15, linewidth=0)
    what = "plateau" if level.level else "extrapolated to zero" if level.rising else "no plateau; best estimate"
    what = "maximum for this number of points" if level.spanned else what
    axes.set_title(
        f"{what}: {level.value:.2f} ({level.value.low:.2f} to {level.value.high:.2f})", color=INK, fontsize=10
    )
    _plain_logs(axes)
    seen = max(float(scales.value.max()), float(np.nanmax(scales.distances)))  # some scales may have no distances
    axes.set_ylim(
        0, 1.15 * min(max(seen, float(high.max())), 2 * seen)
    )  # and with few points an interval may be unbounded
    axes.set_xlabel("neighbourhood radius")
    axes.set_ylabel("dimensions")
    axes.grid(color=FAINT, alpha=0.3, linewidth=0.6)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)


def _plain_logs(axes: Axes) -> None:
    """Make the x axis logarithmic, with plain numbers as labels."""
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    _plain(axes.xaxis, LogLocator(subs=(1.0, 2.0, 5.0)))


def _plain(axis: Axis, places: Locator) -> None:
    """Label an axis with plain numbers at these positions only."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_locator(places)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_spectrum(axes: Axes, found: Estimate) -> None:
    """Draw the eigenvalues on a logarithmic scale, with the count of each rule."""
    assert found.spectrum is not None
    values = found.spectrum.values[:SHOWN]
    place = np.arange(1, len(values) + 1)
    share = 100 * values / found.spectrum.total
    axes.plot(place, share, color=ACCENT, marker="o", markersize=4, linewidth=1)
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    axes.set_yscale("log")
    least, most = float(share[share > 0].min()), float(share.max())
    axes.set_ylim(least / 2, most * max(10.0, (most / least) ** 0.8))  # room for the names above
    powers = range(math.floor(math.log10(least / 2)), 3)
    steps = (1, 2, 5) if len(powers) < 4 else (1,)
    _plain(axes.yaxis, FixedLocator([step * 10.0**p for p in powers for step in steps if step * 10.0**p <= 100]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    cuts = sorted((round(value), name) for name, value in found.linear.items() if 1 <= round(value) <= len(values))
    for row, (after, name) in enumerate(cuts):
        axes.axvline(after + 0.5, color=FAINT, linewidth=1, linestyle=(0, (3, 3)))
        late = after > 0.6 * len(values)
        axes.annotate(
            f"{name.replace('_', ' ')} {after}",
            (after + 0.5, 0.97 - 0.06 * row),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-3 if late else 3, 0),
            textcoords="offset points",
            ha="right" if late else "left",
            va="top",
            fontsize=8,
            color=INK,
        )
    axes.set_xlim(0.3, len(values) + 1.0)
    axes.set_title(f"linear: {found.consensus['linear']:.0f}", color=INK, fontsize=10)
    axes.set_xlabel("component")
    axes.set_ylabel("share of variance, %")
    axes.grid(axis="y", color=FAINT, alpha=0.3, linewidth=0.6)
