"""Eigenvalues: scree plot of a linear method, and the spectrum of any spectral method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Owner, Setting
from ..dimension import eigengap, null_shares
from ..methods.steps.chain import split_at_method
from ..quality.model_axes import is_model
from .parts import break_lines
from .style import axes_for, current

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from numpy.typing import ArrayLike

BARS = 50  # most bars; the others are shown as one
POINTS = 60  # most eigenvalues of `spectrum` at each end

Array = np.ndarray[Any, Any]


def scree(
    spectrum: Any,
    X: Any = None,
    *,
    total: float | None = None,
    kept: int | None = None,
    parallel: bool | ArrayLike = False,
    n_rows: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of each component as a bar and the cumulative share as a line.

    Parameters
    ----------
    spectrum : fitted model or Pipeline with explained variances; or eigenvalues (variances), largest first, perhaps
        only the computed ones.
    X : the training rows, for ``parallel``.
    total : the total variance; default: that of the model, or the sum of ``spectrum``. The rest is one open bar.
    kept : number of kept components, which are drawn in full colour; default: all those of the model.
    parallel : True draws the line of parallel analysis: shares of independent columns with the same variances (95 %
        quantile). It needs ``X`` for a model, unless PCA scales the columns, and ``n_rows`` for eigenvalues of scaled
        columns. An array holds these shares (`lowland.dimension.null_shares`).
    n_rows : number of rows of a spectrum.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> ax = scree([3.0, 1.0], total=5.0, kept=1)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['1', '2', 'rest']
    """
    line = _null_line(spectrum, X, parallel, n_rows)
    if is_model(spectrum):
        values, whole, own = _of_model(spectrum)
        spectrum, total, kept = values, whole if total is None else total, own if kept is None else kept
    shares = _shares(spectrum, total)
    shown = shares[:BARS]
    rest = max(0.0, 1.0 - float(shown.sum()))
    open_bar = rest > 1e-6 or len(shares) > len(shown)
    kept = len(shares) if kept is None else kept

    ax, look = axes_for(ax), current()
    place = np.arange(1, len(shown) + 1)
    colors = [look.accent if i < kept else look.faint for i in range(len(shown))]
    ax.bar(place, 100 * shown, color=colors, width=0.8)
    ax.plot(place, 100 * np.cumsum(shown), color=look.second, marker="o", markersize=3.5, linewidth=look.line)
    _name_line(ax, place[-1], 100 * float(np.sum(shown)), "cumulative", look.second)
    if open_bar:
        _draw_rest(ax, len(shown) + 1, 100 * rest)
    if line is not None:
        _draw_null(ax, 100 * line[: len(shown)])
    if 0 < kept < len(shown):
        ax.axvline(kept + 0.5, color=look.ink, linewidth=1, linestyle=(0, (3, 3)))
        across = ax.get_xaxis_transform()
        ax.text(kept + 0.5, 1.01, f"{kept} kept", transform=across, ha="center", fontsize=look.font, color=look.ink)
    _label_axes(ax, len(shown), open_bar)
    return ax


def spectrum(values: Any, *, kept: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of a spectral method as points, negative ones hollow, with the largest gap marked.

    Parameters
    ----------
    values : fitted model with ``spectrum_`` or ``eigenvalues_`` (kernels, distances, Laplacians, LLE, diffusion maps),
        or eigenvalues in the order in which they count. Of more than 120, the first and the last 60 are drawn.
    kept : number of kept eigenvalues, drawn in full colour; default: that of the model, or all.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> ax = spectrum([4.0, 3.5, 0.2, 0.1, -0.3])
    >>> [text.get_text() for text in ax.texts]
    ['largest gap: after 2, by a factor of 17.5', '1 negative']
    """
    if is_model(values):
        found, _, own = _of_model(values, any_sign=True)
        kept = own if kept is None else kept
    else:
        found = _checked(values)
    ax, look = axes_for(ax), current()
    kept = len(found) if kept is None else kept
    numbers = np.arange(1, len(found) + 1)
    drawn = np.flatnonzero((numbers <= POINTS) | (numbers > len(found) - POINTS))
    places = np.arange(1, len(drawn) + 1)
    ax.axhline(0, color=look.faint, linewidth=0.8)
    size = 5.0 * look.marker**0.5
    for inside, negative in ((True, False), (False, False), (False, True)):
        here = (
            ((numbers <= kept)[drawn] == inside) & ((found < 0)[drawn] == negative)
            if not negative
            else found[drawn] < 0
        )
        tone = look.second if negative else look.accent if inside else look.faint
        ax.vlines(places[here], 0, found[drawn][here], color=tone, linewidth=0.6 * look.line, alpha=0.6)
        ax.plot(places[here], found[drawn][here], linestyle="", marker="o", markersize=size, color=tone,
                markerfacecolor="none" if negative else tone)  # fmt: skip
    gap = _mark_gap(ax, found[:POINTS])
    negatives = int((found < 0).sum())
    if negatives:
        ax.text(0.99, 0.97, f"{negatives} negative", transform=ax.transAxes, ha="right", va="top",
                color=look.second, fontsize=look.font)  # fmt: skip
    _number_ticks(ax, numbers[drawn])
    ax.set(xlabel="number", ylabel="eigenvalue")
    ax.grid(axis="y", color=look.faint, alpha=0.3, linewidth=0.6)
    if gap is not None:
        ax.figure.figure.draw_without_rendering()
        box, whole = gap.get_window_extent(), ax.figure.bbox
        break_lines(gap, box.x1 - whole.x0 if gap.get_horizontalalignment() == "right" else whole.x1 - box.x0)
    return ax


def _mark_gap(ax: Axes, values: Array) -> Text | None:
    """Draw a line at the largest gap between eigenvalues; return its text."""
    place, size = eigengap(values)
    if place is None or size is None or place >= len(values):
        return None
    look = current()
    kind = f"by a factor of {size:.3g}" if values[0] > values[-1] else f"by {size:.3g}"
    ax.axvline(place + 0.5, color=look.ink, linewidth=1, linestyle=(0, (3, 3)))
    text = f"largest gap: after {place}, {kind}"
    late = place > 0.55 * len(values)
    return ax.annotate(text, (place + 0.5, 1.0), xycoords=ax.get_xaxis_transform(), xytext=(-4 if late else 4, 2),
                textcoords="offset points", ha="right" if late else "left", va="bottom", color=look.ink,
                fontsize=look.font)  # fmt: skip


def _number_ticks(ax: Axes, numbers: Array) -> None:
    """Label the points by the numbers of their eigenvalues, with a mark where some are left out."""
    m = len(numbers)
    step = max(1, -(-m // 12))
    ticks = [i for i in range(m) if i % step == 0]
    ax.set_xticks([i + 1 for i in ticks], [f"{numbers[i]}" for i in ticks])
    cut = np.flatnonzero(np.diff(numbers) > 1)
    if len(cut):
        ax.axvline(cut[0] + 1.5, color=current().faint, linewidth=6, alpha=0.3)
    ax.set_xlim(0.3, m + 0.7)


def _of_model(model: Any, *, any_sign: bool = False) -> tuple[Array, float | None, int]:
    """Return the eigenvalues of a fitted model, their total where it is known, and how many are kept."""
    _, method, _ = split_at_method(model)
    values, total = getattr(method, "spectrum_", None), getattr(method, "total_variance_", None)
    if any_sign:
        values = getattr(method, "eigenvalues_", None) if values is None else values
        total = None
    elif values is None or total is None:
        values, total = getattr(method, "explained_variance_ratio_", None), 1.0
    if values is None:
        raise ValueError(
            f"{type(method).__name__} has no {'eigenvalues' if any_sign else 'explained variances'}; give "
            + ("them as an array" if any_sign else "eigenvalues as an array, or draw lowland.plots.spectrum(model)")
        )
    found = _checked(values)
    return found if any_sign else np.sort(found)[::-1], total, int(getattr(method, "n_components_", len(found)))


def _checked(values: ArrayLike) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or len(found) == 0:
        raise ValueError(f"a plot of eigenvalues needs a 1-D array of eigenvalues; got shape {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError("eigenvalues must be finite; drop the others first")
    return found


def _shares(spectrum: ArrayLike, total: float | None) -> Array:
    values = _checked(spectrum)
    whole = float(values.sum()) if total is None else float(total)
    if not whole > 0:
        raise ValueError(f"the total variance must be positive; got {whole}")
    return values / whole


def _null_line(given: Any, X: Any, parallel: Any, n_rows: int | None) -> Array | None:
    """Return the shares of independent columns, or None if they are not asked for."""
    if parallel is False:
        return None
    if parallel is not True:
        return _checked(parallel)
    if not is_model(given):
        if n_rows is None:
            lacks = " needs n_rows, the number of rows of the spectrum"
            raise ValueError(Message(Owner("scree"), Setting("parallel", True), lacks))
        return null_shares(_checked(given), n_rows)
    head, method, _ = split_at_method(given)
    if hasattr(method, "coded_names_") or not getattr(method, "center", hasattr(method, "mean_")):
        raise ValueError(
            Message(
                Owner("scree"),
                f"parallel analysis is not defined for {type(method).__name__}; use ",
                Setting("parallel", False),
            )
        )
    scaled = getattr(method, "scale_", None) is not None
    if X is not None:
        return null_shares(X if head is None else head.transform(X), scale=scaled)
    if not scaled:
        raise ValueError(
            Message(
                Owner("scree"),
                Setting("parallel", True),
                " needs the training rows, X, unless the model scales the columns",
            )
        )
    return null_shares(method.spectrum_, method.n_samples_, np.ones(method.n_features_in_))


def _draw_null(ax: Axes, line: Array) -> None:
    look = current()
    ax.plot(np.arange(1, len(line) + 1), line, color=look.ink, linewidth=look.line, linestyle=(0, (4, 2)))
    _name_line(ax, len(line), float(line[-1]), "parallel analysis", look.ink)


def _name_line(ax: Axes, x: float, y: float, text: str, color: str) -> None:
    ax.annotate(text, (x, y), xytext=(0, 5), textcoords="offset points", ha="right", va="bottom", color=color,
                fontsize=current().font)  # fmt: skip


def _draw_rest(ax: Axes, place: int, height: float) -> None:
    """Draw the remaining variance as one open bar."""
    look = current()
    ax.bar([place], [height], width=0.8, fill=False, edgecolor=look.ink, linewidth=1, hatch="////", alpha=0.6)
    ax.annotate(
        f"{height:.1f} %" if height >= 0.05 else "< 0.1 %",
        (place, height),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        fontsize=look.font - 1,
        color=look.ink,
    )


def _label_axes(ax: Axes, bars: int, open_bar: bool) -> None:
    step = max(1, -(-bars // 15))
    ticks: Sequence[int] = [i for i in range(1, bars + 1) if (i - 1) % step == 0]
    labels = [str(i) for i in ticks]
    if open_bar:
        ticks = [*(i for i in ticks if i <= bars - step // 2), bars + 1]
        labels = [str(i) for i in ticks[:-1]] + ["rest"]
    ax.set_xticks(ticks, labels)
    ax.set_xlim(0.3, bars + (1.7 if open_bar else 0.7))
    ax.set_ylim(0, 110)
    ax.set_xlabel("component")
    ax.set_ylabel("share of variance, %")
    ax.grid(axis="y", color=current().faint, alpha=0.3, linewidth=0.6)
