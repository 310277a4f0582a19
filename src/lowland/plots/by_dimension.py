"""Figures of the error of maps against their number of dimensions: stress of MDS, residual variance of Isomap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Phrase, Setting
from ..dimension.by_components import (
    DIMENSIONS,
    ResidualCurve,
    StressCurve,
    at_dimensions,
    residual_variance_by_dimension,
)
from ..dimension.by_components import stress_by_dimension as measure_stress
from .parts import grid_lines, heading, legend
from .style import axes_for, current

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..quality.spaces import Metric

_KRUSKAL = ((0.2, "poor"), (0.1, "fair"), (0.05, "good"), (0.025, "excellent"))  # Kruskal 1964, of stress-1


def stress_by_dimension(
    X: Any,
    *,
    dimensions: Iterable[int] = DIMENSIONS,
    method: str = "metric",
    metric: Metric = "euclidean",
    random_state: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the stress of MDS maps of several numbers of dimensions; the bend of the curve is the number to take.

    Parameters
    ----------
    X : array, or StressCurve
        The data (with ``metric="precomputed"`` their distances), or what `lowland.dimension.stress_by_dimension`
        returned. Of more than 1,000 rows a sample is mapped, and the title says so.
    dimensions, method, metric, random_state
        As in `lowland.dimension.stress_by_dimension`.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> stress_by_dimension(X, dimensions=[1, 2, 3]).lines[0].get_xdata().tolist()
    [1, 2, 3]
    """
    curve = X
    if not isinstance(X, StressCurve):
        curve = measure_stress(X, dimensions, method=method, metric=metric, random_state=random_state)
    axes, look = axes_for(ax, 6.4, 4.2), current()
    axes.plot(curve.dimensions, curve.stress, color=look.accent, marker="o", **_sizes())
    top = 1.15 * max(float(curve.stress.max()), 0.06)
    axes.set_ylim(0, top)
    for value, word in _KRUSKAL:
        if value < top and (value > 0.04 * top * look.font / 9):
            axes.axhline(value, color=look.faint, linewidth=look.line / 2, linestyle=(0, (3, 3)), zorder=1)
            axes.annotate(
                word,
                (1.0, value),
                xycoords=axes.get_yaxis_transform(),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=look.font - 1,
                color=look.ink,
            )
    _whole_numbers(axes, curve.dimensions)
    axes.set(xlabel="dimensions of the map", ylabel="stress-1")
    name = "metric MDS" if curve.method == "metric" else "nonmetric MDS"
    heading(axes, f"{name}, {_rows_used(curve.n_used, curve.n_rows)}")
    grid_lines(axes, "y")
    return axes


def residual_variance(
    X: Any,
    *,
    dimensions: Iterable[int] | None = None,
    n_neighbors: int = 10,
    metric: Metric = "euclidean",
    random_state: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the residual variance of Isomap against the number of dimensions, beside that of PCA.

    1 − r² of distances in the map with those that the method preserves: path lengths for Isomap, direct distances for
    PCA (Tenenbaum et al. 2000). Isomap's curve levels off at the dimension of the data; if PCA's levels off later, the
    data are curved.

    Parameters
    ----------
    X : array, Isomap or ResidualCurve
        The data; a fitted Isomap, whose curve ends at its number of components and has none of PCA beside it; or what
        `lowland.dimension.residual_variance_by_dimension` returned. Of more than 2,000 rows a sample is mapped, and
        the title says so.
    dimensions : iterable of int
        Numbers of dimensions; default: 1 to 6, or all of a fitted Isomap.
    n_neighbors, metric, random_state
        As in `lowland.dimension.residual_variance_by_dimension`.
    ax : Axes, optional
        Axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(300, random_state=0)
    >>> axes = residual_variance(X, dimensions=[1, 2, 3])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['Isomap, path lengths', 'PCA, direct distances']
    """
    curve = X
    if not isinstance(X, ResidualCurve):
        options: dict[str, Any] = {"n_neighbors": n_neighbors, "metric": metric, "random_state": random_state}
        curve = _of_model(X, dimensions) if hasattr(X, "fit") else None
        curve = curve or residual_variance_by_dimension(X, DIMENSIONS if dimensions is None else dimensions, **options)
    axes, look = axes_for(ax, 6.4, 4.2), current()
    axes.plot(curve.dimensions, curve.isomap, color=look.accent, marker="o", label="Isomap, path lengths", **_sizes())
    if curve.linear is not None:
        said = f"{curve.linear_name}, direct distances"
        axes.plot(curve.dimensions, curve.linear, color=look.second, marker="^", label=said, **_sizes())
    drawn = np.concatenate([curve.isomap, () if curve.linear is None else curve.linear])
    axes.set_ylim(0, 1.12 * max(float(np.nanmax(drawn)), 1e-3))
    _whole_numbers(axes, curve.dimensions)
    axes.set(xlabel="dimensions of the map", ylabel="residual variance, 1 − r²")
    graph = "" if curve.n_neighbors is None else f", {curve.n_neighbors} neighbours"
    heading(axes, _rows_used(curve.n_used, curve.n_rows) + graph)
    legend(axes)
    grid_lines(axes, "y")
    return axes


def _of_model(model: Any, dimensions: Iterable[int] | None) -> ResidualCurve:
    """Return the curve that a fitted Isomap has kept."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    values = getattr(model, "residual_variance_", None)
    if values is None:
        raise ValueError(
            f"{type(model).__name__} has no residual variances of path lengths; give the data, or an Isomap"
        )
    numbers = tuple(range(1, len(values) + 1)) if dimensions is None else tuple(dimensions)
    if max(numbers) > len(values):
        raise ValueError(
            Message(
                f"this Isomap has {len(values)} components, so there are no {max(numbers)} dimensions; fit it with ",
                Setting("n_components", max(numbers)),
                Phrase(f", or give the data: residual_variance(X, dimensions={list(numbers)})", ""),
            )
        )
    n = len(model.embedding_)
    return ResidualCurve(numbers, at_dimensions(values, numbers), None, "", model.n_neighbors, n, n)


def _rows_used(used: int, total: int) -> str:
    return f"{total:,} rows" if used == total else f"a sample of {used:,} of {total:,} rows"


def _sizes() -> dict[str, Any]:
    look = current()
    return {"markersize": 5 * look.marker**0.5, "linewidth": look.line}


def _whole_numbers(axes: Axes, numbers: tuple[int, ...]) -> None:
    """Put a tick at each number of dimensions, or at fewer if there are many."""
    from matplotlib.ticker import MaxNLocator

    if len(numbers) <= 12:
        axes.set_xticks(numbers, [str(d) for d in numbers])
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
