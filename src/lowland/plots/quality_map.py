"""The map coloured by how reliable each point is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Setting
from .coordinates import axis_numbers, check_order, read_coordinates
from .scatter import scatter
from .style import current

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

NAMES = {  # of the measures of `quality.pointwise`
    "kept": "share of neighbours kept",
    "false": "distance of false neighbours",
    "missing": "distance of missing neighbours",
    "stretch": "local stretch, log₂",
}


def quality_map(
    embedding: ArrayLike,
    X: Any = None,
    *,
    trust: Any = None,
    by: str = "kept",
    n_neighbors: int = 10,
    metric: str = "euclidean",
    ax: Axes | None = None,
    axes: tuple[int | str, ...] = (1, 2),
    name: str | None = None,
    **options: Any,
) -> Axes:
    """Draw a map coloured by the reliability of each point.

    Parameters
    ----------
    embedding : rows of coordinates.
    X : the data, or distances with ``metric="precomputed"``; `quality.pointwise` compares them with the coordinates
        that are drawn.
    trust : instead of X, what `quality.pointwise` returned, or a number for each row; NaN (grey) for rows that were
        not evaluated.
    by : "kept", the share of each point's nearest neighbours in the data that are also nearest in the map; "false" or
        "missing", the distance of false or missing neighbours (0: there are none); "stretch", the logarithm of how much
        the map is stretched there.
    n_neighbors, metric : as in `quality.pointwise`.
    ax, axes : as in `scatter`, which takes the other options.
    name : heading of the colour bar.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ax = quality_map(X[:, :2], X)
    >>> ax.figure.axes[1].get_ylabel(), ax.collections[0].get_clim()
    ('share of neighbours kept', (0.0, 1.0))
    """
    if by not in NAMES:
        raise ValueError(Message(Setting("by"), f" must be one of {', '.join(map(repr, NAMES))}; got {by!r}"))
    if (X is None) == (trust is None):
        raise ValueError("give the data X, or the numbers as trust=, but not both")
    if X is not None:
        check_order(embedding, X, "quality_map", metric)
    Y, labels = read_coordinates(embedding, options.pop("labels", None))
    if trust is None:
        from ..quality.pointwise import pointwise

        shown = axis_numbers(axes, Y.shape[1], labels)
        trust = pointwise(X, Y[:, shown], n_neighbors, metric=metric)
    limits: tuple[float, float] | None = (0.0, 1.0)
    if hasattr(trust, "point"):
        values = np.full(len(Y), np.nan)
        values[trust.point] = getattr(trust, by)
        if by == "stretch":
            with np.errstate(divide="ignore"):
                values = np.log2(values)
            values[~np.isfinite(values)] = np.nan
            most = float(np.nanmax(np.abs(values), initial=0.1))
            limits, options = (-most, most), {"color_map": _two_sided()} | options
    else:
        values = np.asarray(trust, dtype=np.float64)
        known = values[np.isfinite(values)]
        limits = limits if ((known >= 0) & (known <= 1)).all() else None
    options = {"color_limits": limits} | options
    heading = name or NAMES[by]
    return scatter(Y, ax=ax, axes=axes, color=values, color_name=heading, labels=labels, **options)


def _two_sided() -> Any:
    """Return a colour map with a middle that stands out from the background of the theme."""
    from matplotlib.colors import LinearSegmentedColormap

    look = current()
    return LinearSegmentedColormap.from_list("two-sided", [look.accent, look.faint, look.second])
