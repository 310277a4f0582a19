"""Columns as arrows: biplot and correlation circle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Owner, Setting
from ..quality.components import checked_axes, column_contributions, correlation_values, cos2_values
from ..quality.model_axes import ModelAxes, model_axes
from ..quality.supplementary_columns import Supplementary, supplementary
from .component_parts import draw_arrows, draw_points, mark_colors, note, rewrite, settle_note, zero_lines
from .parts import color_bar
from .style import axes_for, current, literal
from .tip_names import write_tip_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

SCALINGS = {
    "form": "points: scores; arrows: weights of the columns",
    "covariance": "points: scores with variance 1; arrows: loadings",
    "correlation": "points: scores; arrows: correlations",
}
NAMES_MOST = 60  # more names of rows would cover the figure
_NO_ROW_COLORS = (
    " must be None, 'cos2' or 'contributions': the arrows are columns, and have no values of rows; colour the rows "
    "of a biplot"
)
_REACH = 0.85  # length of the longest arrow, as a share of the distance of most points


def biplot(
    model: Any,
    X: Any,
    *,
    axes: Sequence[int] = (1, 2),
    color: Any = None,
    color_name: str | None = None,
    n_arrows: int | None = 10,
    scaling: str = "form",
    supplementary: Any = None,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points and columns as arrows in the same plane; the origin is the mean of these rows.

    Parameters
    ----------
    model : fitted model or Pipeline of any method, or the coordinates of the rows, (n, k).
    X : the rows.
    axes : two axes, counted from 1.
    color : one value for each row: groups or a scale.
    color_name : heading of the legend.
    n_arrows : columns to draw, those with the largest cos² in this plane; None: all.
    scaling : "form": points keep their distances, and a row's projection on an arrow shows its value in the column;
        "covariance": points are scaled to variance 1 along each axis, arrows are loadings: their angles show the
        correlations of columns; "correlation": scores, and the arrows of `correlation_circle`. All arrows are
        multiplied by one factor, which is written above the plot.
    supplementary : columns that took no part in the fit: a data frame, a mapping from names to values, or the result of
        `lowland.quality.supplementary`. Numbers are dashed arrows, for a column of typical variance; categories are the
        centres of their levels.
    names : a name for each row, written where there are at most 60 and it has room.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> ax = biplot(lowland.PCA(2, scale=True).fit(iris.data), iris.data, color=iris.target)
    >>> ax.get_xlabel()
    'PCA 1 (73.0 %)'
    """
    if scaling not in SCALINGS:
        raise ValueError(
            Message(Setting("scaling"), f" must be one of {', '.join(map(repr, SCALINGS))}; got {scaling!r}")
        )
    found = model_axes(model, X, "biplot").with_rows("biplot")
    if names is not None and len(names) != len(found.Y):
        raise ValueError(f"got {len(names)} names for {len(found.Y)} rows")
    places = _plane(axes, len(found.axes))
    points, arrows, spread = _scaled(found, places, scaling)
    best = _best(cos2_values(found)[:, places].sum(axis=1), n_arrows)
    extra = _supplementary(supplementary, found.Y)
    numbers = {name: np.asarray(on.correlations)[places] * spread for name, on in extra.numbers.items()}
    factor = _factor(points, np.vstack([arrows[best], *numbers.values()]))
    tips = factor * arrows[best]
    further = factor * np.array(list(numbers.values())).reshape(-1, 2)
    ax, look, ends = (
        axes_for(ax, 5.2 + 0.2 * current().font, 4.0 + 0.2 * current().font),
        current(),
        np.vstack([tips, further]),
    )
    draw_points(ax, points[:, 0], points[:, 1], color, color_name)
    draw_arrows(ax, tips, look.ink)
    draw_arrows(ax, further, look.second, dashed=True)
    centres = _draw_centres(ax, extra, places, found, scaling)
    _finish_plane(ax, [found.labels()[i] for i in places], np.vstack([points, 1.12 * ends]))
    heading = _Heading(ax, f"{SCALINGS[scaling]} × {factor:.2g}", len(best), len(arrows))
    _write_columns(heading, ends, [found.names[j] for j in best], list(numbers), centres)
    if names is not None and len(names) <= NAMES_MOST:
        write_tip_names(ax, points, names, colors=[look.faint] * len(names), told=heading.counter("row"))
    settle_note(ax, heading.title, lambda: heading.text)
    return ax


class _Heading:
    """The line above the plot, with the numbers of columns that are not drawn and of names that have no room."""

    def __init__(self, ax: Axes, text: str, shown: int, total: int) -> None:
        self.ax, self._text, self._hidden = ax, text, dict[str, int]()
        self._few = "" if shown == total else f"{shown} of {total} columns"
        self.title = note(ax, self.text)

    @property
    def text(self) -> str:
        """The whole line."""
        told = [self._few] if self._few else []
        told += [f"{n} {what}{'' if n == 1 else 's'} not labelled" for what, n in self._hidden.items() if n]
        return self._text + (f" ({', '.join(told)})" if told else "")

    def counter(self, what: str) -> Callable[[int], None]:
        """Return what is called with the number of names that have no room."""

        def told(hidden: int) -> None:
            before = self.text
            self._hidden[what] = hidden
            if self.text != before:
                rewrite(self.ax, self.title, self.text)

        return told


def _write_columns(
    heading: _Heading, ends: Array, active: list[str], further: list[str], centres: dict[str, Array]
) -> None:
    """Write the names of active and supplementary columns at their arrows, and those of levels at their centres."""
    look, ax = current(), heading.ax
    colors = [look.ink] * len(active) + [look.second] * len(further)
    told = heading.counter("column")
    write_tip_names(ax, ends, active + further, towards=ends, colors=colors, arrows=ends, told=told)
    if centres:
        write_tip_names(
            ax,
            np.array(list(centres.values())),
            list(centres),
            colors=[look.second] * len(centres),
            gap=3.5 * look.marker**0.5,  # beyond the marker
            told=heading.counter("level"),
        )


def correlation_circle(
    model: Any,
    X: Any,
    *,
    axes: Sequence[int] = (1, 2),
    color: str | None = None,
    n_arrows: int | None = 30,
    supplementary: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each column as an arrow, whose coordinates are its correlations with two axes, in the unit circle.

    Parameters
    ----------
    model : fitted model or Pipeline of any method, or the coordinates of the rows, (n, k).
    X : the rows.
    axes : two axes, counted from 1.
    color : None, "cos2" (the square of an arrow's length) or "contributions".
    n_arrows : columns to draw, those with the longest arrows; None: all.
    supplementary : columns of numbers that took no part in the fit, as in `biplot`; drawn dashed.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> ax = correlation_circle(lowland.PCA(2, scale=True).fit(X), X)
    >>> ax.get_ylabel()
    'PCA 2 (22.9 %)'
    """
    if color is not None and not isinstance(color, str):
        raise ValueError(Message(Setting("color"), _NO_ROW_COLORS))
    if color not in (None, "cos2", "contributions"):
        raise ValueError(Message(Setting("color"), f" must be None, 'cos2' or 'contributions'; got {color!r}"))
    found = model_axes(model, X, "correlation_circle").with_rows("correlation_circle")
    places = _plane(axes, len(found.axes))
    table = correlation_values(found)[:, places]
    best = _best((table**2).sum(axis=1), n_arrows)
    extra = _supplementary(supplementary, found.Y)
    if extra.categories:
        name = next(iter(extra.categories))
        raise ValueError(
            Message(
                Owner("correlation_circle"), f"column {name!r} has categories, which have no correlation; use biplot"
            )
        )
    further = np.array([np.asarray(on.correlations)[places] for on in extra.numbers.values()]).reshape(-1, 2)
    side = 4.4 + 0.2 * current().font
    ax = axes_for(ax, side if color is None else side + 0.8, side)
    _draw_circle(ax)
    tips = table[best]
    values = _values(color, model, X, axes, tips, best)
    draw_arrows(ax, tips, current().accent if values is None else _shades(ax, values, str(color)))
    draw_arrows(ax, further, current().second, dashed=True)
    ax.set(xlim=(-1.18, 1.18), ylim=(-1.18, 1.18))
    ax.set_aspect("equal")
    ax.set_xlabel(literal(found.labels()[places[0]]))
    ax.set_ylabel(literal(found.labels()[places[1]]))
    heading = _Heading(ax, "correlations of columns and axes", len(best), len(table))
    _write_columns(heading, np.vstack([tips, further]), [found.names[j] for j in best], list(extra.numbers), {})
    settle_note(ax, heading.title, lambda: heading.text)
    return ax


def _plane(axes: Sequence[int], n_axes: int) -> list[int]:
    places = checked_axes(axes, n_axes)
    if len(places) != 2:
        raise ValueError(Message(Setting("axes"), f" must be two numbers, such as (1, 2); got {axes!r}"))
    return places


def _best(cos2: Array, n: int | None) -> Array:
    """Return the places of the n largest values, largest first."""
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
        raise ValueError(
            Message(Setting("n_arrows"), f" must be a whole number of at least 1, or None for all; got {n!r}")
        )
    return np.argsort(-np.round(cos2, 12), kind="stable")[:n]


def _scaled(found: ModelAxes, places: list[int], scaling: str) -> tuple[Array, Array, Array]:
    """Return points, arrows, and the arrow of a column of typical variance with the correlations (1, 1)."""
    Y, Z = found.Y[:, places], found.Z
    origin, sd = _frame(Y, found.centred)
    Yc, Zc = Y - origin, (Z - Z.mean(axis=0) if found.centred else Z)
    loadings = Zc.T @ Yc / len(Y) / sd
    sizes = np.sqrt((Zc**2).mean(axis=0))
    typical = float(np.sqrt((sizes**2).mean())) or 1.0
    if scaling == "form":
        return Yc, loadings / sd, typical / sd
    if scaling == "covariance":
        return Yc / sd, loadings, np.full(2, typical)
    return Yc, loadings / np.where(sizes > 0, sizes, 1.0)[:, None], np.ones(2)


def _factor(points: Array, arrows: Array) -> float:
    """Return the factor by which the longest arrow reaches as far as most points."""
    longest = float(np.linalg.norm(arrows, axis=1).max())
    far = float(np.quantile(np.linalg.norm(points, axis=1), 0.97))
    return _REACH * far / longest if longest > 0 and far > 0 else 1.0


def _supplementary(given: Any, Y: Array) -> Supplementary:
    if given is None:
        return Supplementary({}, 0)
    found = given if isinstance(given, Supplementary) else supplementary(Y, given, permutations=0)
    for name, number in found.numbers.items():
        if len(number.correlations) != Y.shape[1]:
            raise ValueError(
                f"supplementary column {name!r} was laid on {len(number.correlations)} axes, but the model has "
                f"{Y.shape[1]}; use quality.supplementary with the model's coordinates"
            )
    return found


def _draw_centres(
    ax: Axes, extra: Supplementary, places: list[int], found: ModelAxes, scaling: str
) -> dict[str, Array]:
    """Draw the mean point of each level, in the coordinates of the points; return them by "column=level"."""
    Y, look = found.Y[:, places], current()
    origin, sd = _frame(Y, found.centred)
    sd = sd if scaling == "covariance" else np.ones(2)
    centres = {
        f"{name}={level}": (np.asarray(centre)[places] - origin) / sd
        for name, on in extra.categories.items()
        for level, centre in on.centroids.items()
    }
    spots = np.array(list(centres.values())).reshape(-1, 2)
    ax.scatter(spots[:, 0], spots[:, 1], marker="D", s=34 * look.marker, zorder=5, color=look.second,
               edgecolors=look.ink, linewidths=0.8)  # fmt: skip
    return centres


def _frame(Y: Array, centred: bool) -> tuple[Array, Array]:
    """Return the origin of the points, and the root mean square of each coordinate about it."""
    origin = Y.mean(axis=0) if centred else np.zeros(Y.shape[1])
    sd = np.sqrt(((Y - origin) ** 2).mean(axis=0))
    return origin, np.where(sd > 0, sd, 1.0)


def _finish_plane(ax: Axes, labels: list[str], everything: Array) -> None:
    zero_lines(ax)
    ax.update_datalim(everything)
    ax.autoscale_view()
    ax.margins(0.08)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel(literal(labels[0]))
    ax.set_ylabel(literal(labels[1]))


def _draw_circle(ax: Axes) -> None:
    from matplotlib.patches import Circle

    look = current()
    for radius, width in ((1.0, 1.0), (0.5**0.5, 0.5)):  # the inner circle: cos² = 1/2
        style: Any = "-" if radius == 1 else (0, (2, 3))
        ax.add_patch(Circle((0, 0), radius, fill=False, edgecolor=look.faint, linewidth=width, linestyle=style))
    zero_lines(ax)


def _values(color: str | None, model: Any, X: Any, axes: Sequence[int], tips: Array, best: Array) -> Array | None:
    if color is None:
        return None
    if color == "cos2":
        return (tips**2).sum(axis=1)
    found = model_axes(model, None, "correlation_circle", linear=True)
    return column_contributions(model, X, levels=found.groups is not None).combined(axes)[best]


def _shades(ax: Axes, values: Array, name: str) -> list[str]:
    """Return a colour for each value, and add their colour bar."""
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize, to_hex

    top = 1.0 if name == "cos2" else float(values.max())
    colors = ScalarMappable(Normalize(0.0, top), mpl.colormaps.get_cmap(mark_colors()))
    color_bar(colors, ax, "cos² in this plane" if name == "cos2" else "contribution, %")
    return [to_hex(tuple(colors.to_rgba(value))) for value in values]
