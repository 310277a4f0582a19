"""Scree plot: share of the variance of each component, and cumulative share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import ACCENT, FAINT, INK, SECOND, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

BARS = 50  # most bars; the others are shown as one


def scree(spectrum: ArrayLike, total: float | None = None, *, kept: int | None = None) -> Figure:
    """Draw the share of each component as a bar and the cumulative share as a line.

    Parameters
    ----------
    spectrum : eigenvalues (variances), largest first; perhaps only the computed ones.
    total : the total variance; default: the sum of ``spectrum``. The remaining variance is one open bar.
    kept : number of kept components, which are drawn in full colour.

    Examples
    --------
    >>> figure = scree([3.0, 1.0], total=5.0, kept=1)
    >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
    ['1', '2', 'rest']
    """
    shares = _shares(spectrum, total)
    shown = shares[:BARS]
    rest = max(0.0, 1.0 - float(shown.sum()))
    open_bar = rest > 1e-6 or len(shares) > len(shown)
    kept = len(shares) if kept is None else kept

    figure, axes = new_figure()
    place = np.arange(1, len(shown) + 1)
    colors = [ACCENT if i < kept else FAINT for i in range(len(shown))]
    axes.bar(place, 100 * shown, color=colors, width=0.8)
    line = 100 * np.cumsum(shown)
    axes.plot(place, line, color=SECOND, marker="o", markersize=3.5, linewidth=1.5)
    axes.text(place[-1], line[-1] + 2, "cumulative", ha="right", va="bottom", color=SECOND)
    if open_bar:
        _draw_rest(axes, len(shown) + 1, 100 * rest)
    if 0 < kept < len(shown):
        axes.axvline(kept + 0.5, color=INK, linewidth=1, linestyle=(0, (3, 3)))
        across = axes.get_xaxis_transform()
        axes.text(kept + 0.5, 1.01, f"{kept} kept", transform=across, ha="center", fontsize=9, color=INK)
    _label_axes(axes, len(shown), open_bar)
    return figure


def _shares(spectrum: ArrayLike, total: float | None) -> np.ndarray[Any, Any]:
    values = np.asarray(spectrum, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"a scree plot needs a 1-D array of eigenvalues; got shape {values.shape}")
    whole = float(values.sum()) if total is None else float(total)
    if not whole > 0:
        raise ValueError(f"the total variance must be positive; got {whole}")
    return values / whole


def _draw_rest(axes: Axes, place: int, height: float) -> None:
    """Draw the remaining variance as one open bar."""
    axes.bar([place], [height], width=0.8, fill=False, edgecolor=INK, linewidth=1, hatch="////", alpha=0.6)
    axes.annotate(
        f"{height:.1f} %" if height >= 0.05 else "< 0.1 %",
        (place, height),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=8,
        color=INK,
    )


def _label_axes(axes: Axes, bars: int, open_bar: bool) -> None:
    step = max(1, -(-bars // 15))
    ticks = [i for i in range(1, bars + 1) if (i - 1) % step == 0]
    labels = [str(i) for i in ticks]
    if open_bar:
        ticks = [i for i in ticks if i <= bars - step // 2] + [bars + 1]
        labels = [str(i) for i in ticks[:-1]] + ["rest"]
    axes.set_xticks(ticks, labels)
    axes.set_xlim(0.3, bars + (1.7 if open_bar else 0.7))
    axes.set_ylim(0, 110)
    axes.set_xlabel("component")
    axes.set_ylabel("share of variance, %")
    axes.grid(axis="y", color=FAINT, alpha=0.3, linewidth=0.6)
