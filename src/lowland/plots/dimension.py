"""Figures of dimension estimates: dimension against scale, and the spectrum with the linear counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.formatting import count
from ..dimension.result import Estimate
from .parts import grid_lines, legend, log_axis, plain_numbers
from .style import axes_for, current, grid_of_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 40  # most eigenvalues drawn
_MOST_OF_NAME = 0.7  # share of the width of the axes that a name may take at the right


def dimension(X: Any, *, ax: Axes | Sequence[Axes] | None = None, **options: Any) -> list[Axes]:
    """Draw the result of `lowland.dimension.estimate`: the dimension at each scale, and the spectrum.

    Parameters
    ----------
    X : array, or Estimate
        The data, or what `lowland.dimension.estimate` returned.
    ax : Axes, or two of them, optional
        Axes of the first panel or of both; default: those of a new figure. On one axes only the scales are drawn.
    options :
        Parameters of `lowland.dimension.estimate`.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> [axes.get_xlabel() for axes in dimension(X)]
    ['neighbourhood radius', 'component']
    """
    found = _estimate(X, options)
    wanted = 1 if found.spectrum is None else 2
    if ax is None:
        panels = grid_of_axes(1, 2, width=4.4, height=3.8) if wanted == 2 else [axes_for(None, 7.0, 4.4)]
    else:
        panels = [axes_for(axes) for axes in (ax if isinstance(ax, Sequence | np.ndarray) else [ax])]
    if not 1 <= len(panels) <= 2:
        raise ValueError(f"dimension draws on one or two axes; got {len(panels)}")
    _draw_scales(panels[0], found)
    if wanted == 2 and len(panels) == 2:
        _draw_spectrum(panels[1], found)
    return panels[:wanted]


def _estimate(X: Any, options: dict[str, Any]) -> Estimate:
    if not isinstance(X, Estimate):
        from ..dimension import estimate

        return estimate(X, **options)
    if options:
        raise TypeError(f"an estimate is drawn as it is; leave out {', '.join(options)}")
    return X


def _draw_scales(axes: Axes, found: Estimate) -> None:
    """Draw the estimates from directions and distances against the scale, with the plateau."""
    scales, level, look = found.scales, found.plateau, current()
    low, high = np.quantile(scales.low, 0.025, axis=0), np.quantile(scales.high, 0.975, axis=0)
    size = look.marker**0.5
    axes.fill_between(scales.radius, low, high, color=look.accent, alpha=0.18, linewidth=0)
    drawn = {"color": look.accent, "marker": "o", "markersize": 4 * size, "linewidth": look.line}
    axes.plot(scales.radius, scales.value, label="directions", **drawn)
    drawn = {"color": look.second, "marker": "s", "markersize": 3 * size, "linewidth": look.line / 1.5}
    axes.plot(scales.radius, scales.distances, label="distances", **drawn)
    inside = scales.radius[[level.first, level.last]]
    axes.plot(inside, [level.value] * 2, color=look.ink, linewidth=1.7 * look.line, alpha=0.8, solid_capstyle="butt")
    axes.axvspan(*inside, color=look.faint, alpha=0.15, linewidth=0)
    what = "plateau" if level.level else "extrapolated to zero" if level.rising else "no plateau; best estimate"
    what = "maximum for this number of points" if level.spanned else what
    said = f"{what}: {level.value:.2f} ({level.value.low:.2f} to {level.value.high:.2f})"
    axes.set_title(said, color=look.ink, fontsize=look.font + 1)
    log_axis(axes)
    seen = max(float(scales.value.max()), float(np.nanmax(scales.distances)))  # some scales may have no distances
    top = min(max(seen, float(high.max())), 2 * seen)  # with few points an interval may be unbounded
    axes.set_ylim(0, 1.15 * top)
    axes.set_xlabel("neighbourhood radius")
    axes.set_ylabel("dimensions")
    grid_lines(axes)
    legend(axes)


def _draw_spectrum(axes: Axes, found: Estimate) -> None:
    """Draw the eigenvalues on a logarithmic scale, with the count of each rule that finds components above noise."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    assert found.spectrum is not None
    look = current()
    values = found.spectrum.values[:SHOWN]
    place = np.arange(1, len(values) + 1)
    share = 100 * values / found.spectrum.total
    size = look.marker**0.5
    axes.plot(place, share, color=look.accent, marker="o", markersize=4 * size, linewidth=look.line / 1.5)
    axes.set_yscale("log")
    least, most = float(share[share > 0].min()), float(share.max())
    own = {name: m for name, m in found.counted.items() if name not in found.counting_all}
    cuts = sorted((m, name) for name, m in own.items() if m <= len(values))
    room = max(10.0, (most / least) ** 0.8) ** (look.font / 9)  # for the names above
    axes.set_ylim(least / 2, most * room)
    powers = range(math.floor(math.log10(least / 2)), 3)
    steps = (1, 2, 5) if len(powers) < 4 else (1,)
    plain_numbers(axes.yaxis, FixedLocator([step * 10.0**p for p in powers for step in steps if step * 10.0**p <= 100]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines["left"].set_bounds(least / 2, min(100, axes.get_ylim()[1]))  # the names are above the scale
    axes.set_xlim(0.3, len(values) + 1.0)
    _name_cuts(axes, cuts, len(values))
    if "linear" in found.consensus:
        axes.set_title(_median_words(found), color=look.ink, fontsize=look.font + 1)
    axes.set_xlabel("component")
    axes.set_ylabel("share of variance, %")
    grid_lines(axes, "y")


def _median_words(found: Estimate) -> str:
    """Return the linear consensus, and the rules that count all dimensions, for which there is no line."""
    value, n = found.consensus["linear"], len(found.counted)
    text = f"linear: {value:.0f}\nmedian of {count(n, 'rule')}"
    return f"{text}; {len(found.counting_all)} count all" if found.counting_all else text


def _name_cuts(axes: Axes, cuts: list[tuple[int, str]], count: int) -> None:
    """Draw a line after the components that each rule counts, up to its name at the right, which no line crosses."""
    look, tops, labels = current(), dict[int, float](), []
    for row, (after, name) in enumerate(cuts):  # the smaller a count, the higher is its name
        height = 0.97 - 0.06 * row * look.font / 9
        tops.setdefault(after, height)
        place, near = (after + 0.5, height), dict[str, Any](xytext=(3, 0), textcoords="offset points")
        words = f"{name.replace('_', ' ')} {after}"
        look_of: dict[str, Any] = {"ha": "left", "va": "top", "fontsize": look.font - 1, "color": look.ink}
        labels.append(axes.annotate(words, place, xycoords=axes.get_xaxis_transform(), **near, **look_of))
    for after, top in tops.items():
        axes.axvline(after + 0.5, 0, top, color=look.faint, linewidth=look.line / 1.5, linestyle=(0, (3, 3)))
    axes.figure.figure.draw_without_rendering()
    low, high = axes.get_xlim()
    for label, (after, _) in zip(labels, cuts, strict=True):
        share = (label.get_window_extent().width + 8) / axes.bbox.width
        if share < _MOST_OF_NAME:
            high = max(high, low + (after + 0.5 - low) / (1 - share))
    axes.set_xlim(low, high)
    axes.set_xticks([place for place in axes.get_xticks() if low <= place <= count])
