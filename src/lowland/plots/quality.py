"""Figures of quality measures: Shepard diagram and R_NX curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import ACCENT, FAINT, INK, SECOND, new_figure
from .views import RASTER_ABOVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..quality.rank_curves import RnxCurve
    from ..quality.shepard import Shepard


def shepard_diagram(found: Shepard) -> Figure:
    """Draw map distances against data distances, with a monotone regression.

    Examples
    --------
    >>> from lowland.quality import shepard
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> shepard_diagram(shepard(X, X[:, :2])).axes[0].get_xlabel()
    'distance in the data'
    """
    figure, axes = new_figure(6.4, 4.8)
    count = len(found.data_distances)
    axes.scatter(
        found.data_distances,
        found.map_distances,
        s=float(np.clip(20_000 / count, 3, 16)),
        alpha=float(np.clip(20 / count**0.5, 0.08, 0.8)),
        color=ACCENT,
        linewidths=0,
        rasterized=count > RASTER_ABOVE,
    )
    axes.plot(found.fit_x, found.fit_y, color=SECOND, linewidth=1.8, label="monotone fit")
    axes.set(xlabel="distance in the data", ylabel="distance in the map")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_title(
        f"stress {found.stress:.3f} · Pearson {found.pearson:.3f} · Spearman {found.spearman:.3f}",
        fontsize=9,
        color=INK,
        loc="left",
    )
    axes.legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper left")
    axes.grid(color=FAINT, alpha=0.3, linewidth=0.6)
    return figure


def rnx_plot(curve: RnxCurve) -> Figure:
    """Draw the share of common neighbours above chance, for neighbourhoods of all sizes.

    Examples
    --------
    >>> from lowland.quality import rnx_curve
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> rnx_plot(rnx_curve(X, X[:, :2])).axes[0].get_xscale()
    'log'
    """
    figure, axes = new_figure(6.4, 4.2)
    k, values = np.asarray(curve.k), np.asarray(curve.values)
    axes.fill_between(k, curve.low, curve.high, color=ACCENT, alpha=0.2, linewidth=0)
    axes.plot(k, values, color=ACCENT, linewidth=1.8)
    axes.axhline(0.0, color=FAINT, linewidth=1, linestyle="--")
    axes.annotate(
        "chance", (k[-1], 0.0), xytext=(0, -4), textcoords="offset points", ha="right", va="top", fontsize=8, color=INK
    )
    axes.set_xscale("log")
    axes.set(xlabel="neighbours K", ylabel="agreement above chance, R_NX(K)")
    axes.set_ylim(min(0.0, float(values.min())) - 0.06, 1.0)
    axes.set_title(f"AUC {float(curve.auc):.3f}", fontsize=9, color=INK, loc="left")
    axes.grid(color=FAINT, alpha=0.3, linewidth=0.6)
    return figure
