"""Small maps beside each other: the panels of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .coloring import Groups, Scale, group_style, read_colors
from .group_points import draw_groups
from .legends import add_figure_legend, add_legend, group_keys
from .parts import color_bar
from .scatter import places
from .style import axes_for, current, grid_of_axes, literal, shorten, shorten_all, value_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..comparison.result import Comparison
    from ..quality.spaces import Metric
    from ..quality.verdicts import Verdict

ACROSS = 3  # panels in a row
MAPS_MOST = 24  # more panels would be too small to compare
LETTERS = 28  # of a heading, about the width of a panel
_SCALING = {"metric=seuclidean", "scale=True"}  # parameters of candidates that compare scaled columns
_NAMED = 12  # most classes labelled inside the maps; more labels would cover them
_ALL_UP_TO = 2000  # up to this number of points all are judged; of more, a sample
_ANCHORS, _PAIRS = 1000, 100_000


def compare_grid(
    maps: Any,
    X: Any = None,
    *,
    color: Any = None,
    color_name: str | None = None,
    metric: Metric = "euclidean",
    most: int = 9,
    ax: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw several maps of the same rows beside each other, each with what it shows well and what poorly.

    Parameters
    ----------
    maps : Comparison, or mapping of names to arrays
        What `lowland.compare` found, whose best maps are drawn; or maps by name, drawn in their order.
    X : array, optional
        The data of a mapping's maps: with them each map is judged as by `lowland.quality.report`. Of more than 2,000
        points, 1,000 are evaluated.
    color : sequence, optional
        One value for each row: groups, or numbers. Default for a comparison: its target.
    color_name : str, optional
        Heading of the colours.
    metric : str or callable
        Metric of the data.
    most : int
        Most maps of a comparison that are drawn; the recommended one is always among them.
    ax : sequence of Axes, optional
        One for each map; default: those of a new figure.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> panels = compare_grid({"two columns": X[:, :2], "one column": X[:, :1]}, X)
    >>> print(panels[0].get_title())
    two columns
    neighbours fair
    distances fair
    geodesic distances fair
    """
    found = _from_comparison(maps, color, most) if hasattr(maps, "recommend") else _from_mapping(maps, X, color, metric)
    if color_name is None and color is None:
        color_name = getattr(maps, "color_name", None)
    if not found:
        raise ValueError("there is no map to draw")
    if len(found) > MAPS_MOST:
        raise ValueError(f"{len(found)} maps are too many for one figure; give at most {MAPS_MOST}")
    panels, look = _panels(found, ax), current()
    groups, marks = None, None
    for axes, panel in zip(panels, found, strict=True):
        read, drawn = draw_panel(axes, panel.Y, panel.color)
        groups, marks = read or groups, drawn or marks
        weight = "bold" if panel.recommended else "normal"
        axes.set_title(panel.title, fontsize=look.font, color=look.ink, fontweight=weight)
    if groups is not None and ax is None:
        add_figure_legend(panels[0].figure, group_keys(groups), color_name, widen=True)
    elif groups is not None:
        add_legend(panels[-1], group_keys(groups), color_name)
    elif marks is not None:
        color_bar(marks, panels, color_name or "")
    if X is not None and len(found[0].Y) > _ALL_UP_TO:
        said = f"judged by {_ANCHORS:,} of {len(found[0].Y):,} points"
        panels[-1].set_xlabel(said, fontsize=look.font - 1, color=look.ink)
    return panels


def panel_title(name: str, recommended: bool) -> str:
    """Return the heading of a small map; the parameters of a long name have a line of their own.

    >>> panel_title("pca", True)
    'pca (recommended)'
    >>> panel_title("isomap(metric=cosine, n_neighbors=5)", True).splitlines()
    ['isomap (recommended)', 'metric=cosine, n_neighbors=5']
    """
    first, _, given = name.partition("(") if len(name) > LETTERS // 2 and name.endswith(")") else (name, "", "")
    mark = "" if not recommended else " (recommended)" if len(first) < LETTERS // 2 else "\n(recommended)"
    return shorten(first, LETTERS) + mark + (f"\n{shorten(given[:-1], LETTERS)}" if given else "")


def short_names(names: Sequence[str]) -> list[str]:
    """Return names of candidates without the parameters that scale the columns, if all candidates have one of them.

    >>> short_names(["pca(scale=True)", "isomap(metric=seuclidean, n_neighbors=5)"])
    ['pca', 'isomap(n_neighbors=5)']
    >>> short_names(["pca(scale=True)", "isomap"])
    ['pca(scale=True)', 'isomap']
    """
    split = [(name.partition("(")[0], name.partition("(")[2].rstrip(")").split(", ")) for name in names]
    if not all(set(given) & _SCALING for _, given in split):
        return list(names)
    kept = [(first, ", ".join(part for part in given if part not in _SCALING)) for first, given in split]
    return [f"{first}({given})" if given else first for first, given in kept]


class Panel:
    """One map, its name, the colours of its points and its verdict."""

    def __init__(self, name: str, Y: Any, color: Any, verdict: Verdict | None, recommended: bool = False) -> None:
        self.Y = np.asarray(Y, dtype=np.float64)
        if self.Y.ndim != 2 or self.Y.size == 0:
            raise ValueError(f"the map {name!r} must be a non-empty 2-D array of coordinates; got shape {self.Y.shape}")
        self.color, self.recommended = color, recommended
        words = {} if verdict is None else verdict.words
        lines = [panel_title(name, recommended)]
        lines += [f"{what} {word}" for what, word in words.items()]
        self.title = literal("\n".join(lines))


def _from_comparison(found: Comparison, color: Any, most: int) -> list[Panel]:
    """Return the best maps of a comparison, the recommended one among them."""
    from ..comparison.recommendation import verdict

    if not found.maps:
        return []
    values = None if color is None else np.asarray(color, dtype=object)
    entries = found.drawn(most)
    chosen = found.recommend().key
    out = []
    names = short_names([entry["key"] for entry in entries])
    for name, entry in zip(names, entries, strict=True):
        placed = found.maps[entry["key"]]
        own = found.colors(placed.rows) if values is None else values[placed.rows].tolist()
        out.append(Panel(name, placed.Y, own, verdict(entry), entry["key"] == chosen))
    return out


def _from_mapping(maps: Any, X: Any, color: Any, metric: Metric) -> list[Panel]:
    if not isinstance(maps, Mapping):
        raise ValueError(f"compare_grid needs a comparison or maps by name, {{name: Y}}; got a {type(maps).__name__}")
    return [Panel(str(name), Y, color, None if X is None else _judge(X, Y, metric)) for name, Y in maps.items()]


def _judge(X: Any, Y: Any, metric: Metric) -> Verdict:
    from ..quality import report

    if len(Y) <= _ALL_UP_TO:
        return report(X, Y, metric=metric).verdict
    return report(X, Y, metric=metric, anchors=_ANCHORS, pairs=_PAIRS).verdict


def _panels(found: Sequence[Panel], ax: Any) -> list[Axes]:
    if ax is not None:
        panels = [ax] if hasattr(ax, "scatter") else list(np.ravel(ax))
        if len(panels) != len(found):
            raise ValueError(f"got {len(panels)} axes for {len(found)} maps; give one for each")
        return [axes_for(axes) for axes in panels]
    large = current().font / 9
    lines = max(panel.title.count("\n") for panel in found)
    across = 2 if len(found) == 4 else min(ACROSS, len(found))
    down = -(-len(found) // across)
    panels = grid_of_axes(down, across, width=2.8 * large, height=(2.6 + 0.17 * lines) * large)
    for unused in panels[len(found) :]:
        unused.remove()
    return panels[: len(found)]


def draw_panel(axes: Axes, Y: Any, color: Any) -> tuple[Groups | None, Any]:
    """Draw one map without ticks; return its groups, for a legend, or its marks, for a colour bar."""
    x, y = places(Y)
    look = current()
    style: dict[str, Any] = {
        "s": look.marker * float(np.clip(3000 / len(Y), 2, 14)),
        "alpha": 0.75,
        "linewidths": 0,
        "rasterized": len(Y) > 500,
    }
    read, marks = None if color is None else read_colors(color, len(Y)), None
    if isinstance(read, Groups):
        draw_groups(axes, np.column_stack([x, y]), read, style)
        _names(axes, x, y, read)
    elif isinstance(read, Scale):
        there = read.present
        axes.scatter(x[~there], y[~there], color=look.faint, **style)
        marks = axes.scatter(x[there], y[there], c=read.values[there], cmap=value_colors(), **style)
    else:
        axes.scatter(x, y, color=look.accent, **style)
    axes.set(xticks=[], yticks=[])
    axes.patch.set_alpha(0.0)
    if Y.shape[1] > 1:
        axes.set_aspect("equal", adjustable="datalim")
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(look.faint)
        spine.set_linewidth(0.6)
    return (read if isinstance(read, Groups) else None), marks


def _names(axes: Axes, x: Any, y: Any, groups: Groups) -> None:
    """Label each class at its median: ten colours of small points are hard to distinguish by a legend alone."""
    if len(groups.labels) > _NAMED:
        return
    for code, label in enumerate(shorten_all(groups.labels, 8)):
        here = groups.codes == code
        if code in (groups.missing, groups.others) or not here.any():
            continue
        axes.text(
            float(np.median(x[here])),
            float(np.median(y[here])),
            literal(label),
            fontsize=current().font - 2,
            color="black",
            ha="center",
            va="center",
            bbox={
                "boxstyle": "round,pad=0.2",
                "facecolor": "white",
                "edgecolor": group_style(code, groups)[0],
                "linewidth": 1.2,
                "alpha": 0.85,
            },
            clip_on=True,
        )


def group_legend(part: Any, groups: Groups, name: str | None, *, loc: str = "outside right center") -> None:
    """Add the legend of groups to a figure or subfigure, whose size stays; ``loc`` is the only place."""
    assert loc == "outside right center"
    add_figure_legend(part, group_keys(groups), name)
