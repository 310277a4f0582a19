"""The map: an embedding drawn as points, hexagons or densities, with groups, regions, labels and further rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.message import Message, Setting, message
from . import views
from .coloring import Groups, Scale, group_style, read_colors
from .coordinates import axis_numbers, on_axes, places, read_coordinates, read_covariances, shown_labels
from .group_points import RASTER_ABOVE
from .labels import Label
from .legends import add_legend, fit_space, key
from .names import row_labels, write_labels
from .overlay import Overlay, draw_new
from .regions import REGIONS, draw_regions, draw_spreads
from .style import axes_for, current, fit_text, length, literal, room_of, value_colors
from .views import KINDS, Drawing, crowded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from numpy.typing import ArrayLike

__all__ = ["RASTER_ABOVE", "places", "scatter"]


def scatter(
    embedding: ArrayLike,
    *,
    ax: Axes | None = None,
    color: Any = None,
    color_name: str | None = None,
    color_limits: tuple[float | str, float | str] | None = None,
    color_map: Any = "viridis",
    highlight: Sequence[Any] | None = None,
    labels: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    axes: Sequence[int | str] = (1, 2),
    kind: Literal["auto", "points", "density", "hexagons"] = "auto",
    ellipses: Literal["spread", "mean", "hull"] | None = None,
    level: float = 0.95,
    centers: bool = False,
    uncertainty: ArrayLike | None = None,
    new: ArrayLike | None = None,
    new_name: str = "new rows",
    overlay: Overlay | None = None,
    meaningful_axes: bool = True,
    random_state: int = 0,
) -> Axes:
    """Draw a map: two coordinates of an embedding, three, or one as a strip.

    Parameters
    ----------
    embedding : rows of coordinates; the column names of a data frame are the names of its axes.
    ax : axes to draw on; with three coordinates of projection "3d". None: a new figure.
    color : one value for each row: text, booleans and a few whole numbers are groups with a legend, other numbers a
        scale with a colour bar. Missing values are grey. Of more than 20 groups, the largest 19 have a colour each, and
        the others share one grey entry of the legend, with their number.
    color_name : heading of the legend.
    color_limits, color_map : ends of a scale, numbers or percentiles such as ("p1", "p99"), default the smallest and
        the largest value, with arrows at the bar where values lie beyond; a matplotlib colour map, or its name.
    highlight : names of groups that keep their colours; the other groups are grey, behind them.
    labels : names of the axes, such as "PCA 1 (61.2 %)": for all coordinates or for those drawn.
    names : a name for each row (may be empty), written beside its point where it has room; more than 60 are not.
    axes : the coordinates to draw, counted from 1, or their names; three of them are drawn in space.
    kind : "points"; "hexagons", coloured by count, mean value or most frequent group; "density", contours that hold
        shares of the rows; "auto": points, or hexagons where the points would cover each other; the title says so.
    ellipses : a region for each group: "spread", the ellipse that holds ``level`` of a normal distribution with the
        group's mean and covariance; "mean", the confidence region of the mean; "hull", the convex hull.
    level : level of ellipses and of ``uncertainty``.
    centers : whether to mark the mean of each group, with its label.
    uncertainty : for each row the covariance of its place, (n, 2, 2) or of all coordinates (n, k, k), NaN for rows
        without; `lowland.quality.imputation_covariances` returns it for rows with missing cells. The outlines of the
        200 largest are drawn.
    new, new_name : coordinates of new rows, drawn over the map as hollow diamonds; their name in the legend.
    overlay : arrows, centres and supplementary rows, drawn over the points.
    meaningful_axes : whether the values on the axes mean something (PCA); otherwise (t-SNE, UMAP, MDS) they are left
        out.
    random_state : seed of the order in which points are drawn, so that no group hides the others.

    Returns
    -------
    Axes
        The matplotlib axes; ``ax.figure.savefig("map.svg")`` writes them to a file.

    Examples
    --------
    >>> ax = scatter([[0, 1], [1, 0], [2, 2]], color=["a", "b", "a"], labels=["PCA 1", "PCA 2"])
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('PCA 1', ['a', 'b'])
    >>> scatter([[0, 1, 5], [1, 0, 4], [2, 2, 2]], axes=(1, 3)).get_ylabel()
    '3rd coordinate'
    """
    whole, titles = read_coordinates(embedding, labels)
    chosen = axis_numbers(axes, whole.shape[1], titles)
    Y, colors = whole[:, chosen], None if color is None else read_colors(color, len(whole), highlight)
    if highlight is not None and color is None:
        raise ValueError("highlight needs groups: give a column of categories as color")
    groups = colors if isinstance(colors, Groups) else None
    _check(Y.shape[1], kind, ellipses, level, centers, uncertainty, colors)
    _check_scale(colors, color_limits, color_map)
    ax = _axes(ax, Y.shape[1], groups)
    P = Y if Y.shape[1] == 3 else np.column_stack(places(Y))
    order = np.random.default_rng(random_state).permutation(len(P))
    limits = colors.limits(color_limits) if color_limits is not None and isinstance(colors, Scale) else None
    drawing = Drawing(ax, P, colors, color_name, order, value_colors(color_map), limits)
    many = kind == "auto" and crowded(ax, P) and Y.shape[1] == 2
    views.draw(drawing, "hexagons" if many else kind)

    if ellipses is not None:
        drawing.handles += draw_regions(ax, Y, groups, ellipses, level)
    if uncertainty is not None:
        covariances = read_covariances(uncertainty, whole.shape, chosen)
        drawing.handles += draw_spreads(ax, Y, covariances, drawing.tones, level)
    if new is not None:
        draw_new(drawing, on_axes(new, whole.shape[1], chosen, "new"), new_name)
    if overlay is not None:
        overlay.on(chosen, whole.shape[1]).draw(drawing, Y)
    if centers and groups is not None:
        _draw_centers(drawing, groups)
    label_axes(ax, shown_labels(titles, whole.shape[1], chosen), chosen, meaningful=meaningful_axes)
    if names is not None:
        drawing.labels += row_labels(P, names, drawing.size)
    finish(drawing, f"Hexagons, because {len(P):,} points would cover each other" if many else "")
    return ax


def _check(
    n: int,
    kind: str,
    ellipses: str | None,
    level: float,
    centers: bool,
    uncertainty: Any,
    colors: Groups | Scale | None,
) -> None:
    """Refuse unknown options, and those that do not go together."""
    if kind not in KINDS:
        raise ValueError(Message(Setting("kind"), f" must be one of {', '.join(map(repr, KINDS))}; got {kind!r}"))
    if ellipses is not None and ellipses not in REGIONS:
        raise ValueError(
            Message(Setting("ellipses"), f" must be one of {', '.join(map(repr, REGIONS))} or None; got {ellipses!r}")
        )
    if not 0 < level < 1:
        raise ValueError(Message(Setting("level"), f" must be between 0 and 1, such as 0.95; got {level!r}"))
    if n != 2:
        given = {"ellipses": ellipses is not None, "uncertainty": uncertainty is not None}
        needing = [Setting(name) for name, there in given.items() if there]
        if kind in ("density", "hexagons"):
            needing.append(Setting("kind", kind))
        if needing:
            text = message(f" needs two axes, such as {{axes}}; {n} are drawn", axes=(1, 2))
            raise ValueError(Message(needing[0], text))
    if kind == "density" and isinstance(colors, Scale):
        other = message(" cannot show a scale of colours; use {kind}, or colour by groups", kind="hexagons")
        raise ValueError(Message(Setting("kind", kind), other))
    if centers and not isinstance(colors, Groups):
        raise ValueError(
            Message(Setting("centers", True), " needs groups: give a column of categories as ", Setting("color"))
        )


def _check_scale(colors: Groups | Scale | None, limits: Any, color_map: Any) -> None:
    """Refuse the ends of a scale without one, and unknown colour maps."""
    from matplotlib import colormaps
    from matplotlib.colors import Colormap

    if limits is not None and (colors is None or (isinstance(colors, Groups) and colors.named)):
        what = "the values of color are groups" if colors is not None else "color is None"
        text = f" are the ends of a scale of numbers, but {what}; leave them out"
        raise ValueError(Message(Setting("color_limits"), text))
    if not isinstance(color_map, Colormap) and color_map not in list(colormaps):
        known = "must be a matplotlib colour map or its name, such as 'magma'"
        raise ValueError(Message(Setting("color_map"), f" {known}; got {color_map!r}"))


def _axes(ax: Axes | None, n: int, groups: Groups | None) -> Axes:
    """Return the axes to draw on; refuse flat axes for three coordinates and the reverse."""
    solid = n == 3
    if ax is not None and hasattr(ax, "zaxis") != solid:
        need = "axes with projection='3d'" if solid else "flat axes, without projection='3d'"
        raise ValueError(f"ax: {n} coordinates are drawn on {need}; give such axes, or none")
    many = groups is not None and len(groups.labels) > 10
    height = 2.6 if n == 1 and not many else 5.4
    return axes_for(ax, 7.0, height, projection="3d" if solid else None)


def _draw_centers(drawing: Drawing, groups: Groups) -> None:
    """Mark the mean of each group, and label it."""
    look, gap = current(), 5.0 * current().marker ** 0.5
    for code in groups.named:
        tone, shape = group_style(code, groups)
        place = drawing.P[groups.codes == code].mean(axis=0)
        edge = {"edgecolors": look.ink, "linewidths": 0.8 * look.line, "zorder": 4.5}
        drawing.axes.scatter(*place[:, None], s=55 * look.marker, marker=shape, color=tone, **edge)
        drawing.labels.append(Label(groups.labels[code], tuple(place), "center", gap=gap))
    size = 7 * look.marker**0.5
    style = {"markeredgecolor": look.ink, "markeredgewidth": 0.8 * look.line}
    drawing.handles.append(key("mean of a group", marker="o", markersize=size, color=look.faint, **style))


def label_axes(ax: Any, labels: Sequence[str] | None, chosen: Sequence[int], *, meaningful: bool = True) -> None:
    """Name the axes, with equal scales, and without numbers where those mean nothing."""
    look = current()
    ordinal = {0: "1st", 1: "2nd", 2: "3rd"}
    names = labels or [f"{ordinal.get(i, f'{i + 1}th')} coordinate" if meaningful else "" for i in chosen]
    ax.grid(color=look.faint, alpha=0.25, linewidth=0.6)
    sides = "xyz"[: max(len(chosen), 2)]
    for side, name in zip(sides, [*names, ""], strict=False):
        getattr(ax, f"set_{side}label")(literal(name), color=look.ink, fontsize=look.font + 1)
        ax.tick_params(axis=side, colors=look.ink, labelsize=look.font)
        if not meaningful:
            getattr(ax, f"set_{side}ticks")([])
    if len(chosen) == 1:
        ax.set_yticks([])
        ax.set_ylabel("")
        ax.spines["left"].set_visible(False)
        ax.set_ylim(-0.6, 1.6)
    elif len(chosen) == 3:
        _style_space(ax, meaningful)
    else:
        ax.set_aspect("equal", adjustable="datalim")  # equal scales, so that distances can be compared


def _style_space(ax: Any, meaningful: bool) -> None:
    """Give axes in space the look of the theme: transparent walls, equal scales."""
    from matplotlib.ticker import MaxNLocator

    look = current()
    spans = np.array([np.ptp(limits) for limits in (ax.get_xlim(), ax.get_ylim(), ax.get_zlim())])
    for axis, share in zip((ax.xaxis, ax.yaxis, ax.zaxis), spans / spans.max(), strict=True):
        axis.set_pane_color((0.0, 0.0, 0.0, 0.0))
        axis.line.set_color(look.faint)
        axis._axinfo["grid"].update(color=look.faint, linewidth=0.4)
        axis.labelpad = look.font if meaningful else -0.8 * look.font
        if meaningful:
            axis.set_major_locator(MaxNLocator(max(2, round(7 * share))))  # a short axis has room for few numbers
    ax.set_aspect("equal", adjustable="box")


def fit_texts(ax: Axes, title: Text | None = None) -> None:
    """Break or shrink the title and the names of the axes where they would be longer than the axes."""
    width, height = room_of(ax)
    wide = [text for text in (title, ax.xaxis.label) if text is not None and text.get_text()]
    long = any(length(text) > 0.4 * width for text in wide) or length(ax.yaxis.label) > 0.4 * height
    if not long or hasattr(ax, "zaxis"):
        return
    ax.figure.figure.draw_without_rendering()  # the layout decides how large the axes are
    scale = 72 / ax.figure.figure.dpi
    for text in wide:
        fit_text(text, ax.bbox.width * scale)
    fit_text(ax.yaxis.label, ax.bbox.height * scale)


def finish(drawing: Drawing, told: str = "") -> None:
    """Add the legend, shorten texts to the room that they have, and write the labels."""
    ax, look = drawing.axes, current()
    if told and drawing.has_bar and drawing.handles:
        add_legend(ax, drawing.handles, told, above=True)
    else:
        title = drawing.name if isinstance(drawing.colors, Groups) else None
        add_legend(ax, drawing.handles, title, above=drawing.has_bar)
    beside = told and not (drawing.has_bar and drawing.handles)
    fit_texts(ax, ax.set_title(told, loc="left", fontsize=look.font, color=look.ink) if beside else None)
    if hasattr(ax, "zaxis"):
        fit_space(ax)
    if any(label.kind == "name" for label in drawing.labels):
        ax.margins(0.1)
    write_labels(ax, drawing.labels, np.vstack([drawing.P, *drawing.obstacles]))
