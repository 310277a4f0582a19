"""Bars of the numbers of columns and rows on axes: loadings, contributions and squared cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Owner, Setting
from ..quality.components import (
    AxisTable,
    checked_axes,
    column_contributions,
    column_cos2,
    column_loadings,
    row_contributions,
    row_cos2,
)
from ..quality.model_axes import is_model, model_axes
from .component_parts import mark_colors, note, text_width, zero_lines
from .parts import color_bar, few_ticks
from .style import axes_for, current, grid_of_axes, literal, room_of, shorten_all, value_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = Any

PANELS_MOST = 16  # more axes would be too small to read


def loadings(
    model: Any,
    X: Any = None,
    *,
    axes: Sequence[int] | None = None,
    top: int | None = 10,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> list[Axes]:
    """Draw the loadings of each axis as signed bars, the columns with the largest first.

    Parameters
    ----------
    model : fitted model or Pipeline with components, `AxisTable`, or array of loadings, (columns, axes).
    X : the training rows; needed by methods without orthonormal components, such as ICA and LPP.
    axes : axes to draw, counted from 1, a panel each; default: the first three.
    top : columns to show for each axis; None: all.
    names : names of the columns of an array.
    ax : axes to draw on, for one axis of the model; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> model = lowland.PCA(2, scale=True).fit(load_iris(as_frame=True).data)
    >>> one, two = loadings(model, axes=(1, 2))
    >>> [text.get_text() for text in one.get_yticklabels()][0]
    'petal length (cm)'
    """
    table = _table(model, names) or column_loadings(model, X)
    numbers = list(range(1, min(3, len(table.axes)) + 1)) if axes is None else axes
    places = checked_axes(numbers, len(table.axes))
    if len(places) > PANELS_MOST:
        raise ValueError(f"{len(places)} axes are too many for one figure; give at most {PANELS_MOST}")
    labels = model_axes(model).labels() if is_model(model) else list(table.axes)
    count = min(len(table.names), top or len(table.names))
    if ax is not None and len(places) > 1:
        raise ValueError(
            Message(Owner("loadings"), f"ax takes one axis; choose it by axes, such as axes=({places[0] + 1},)")
        )
    size = 0.024 * current().font
    panels = (
        [ax]
        if ax is not None
        else grid_of_axes(1, len(places), width=1.9 + text_width(table.names), height=0.9 + size * count)
    )
    for panel, place in zip(panels, places, strict=True):
        values = table.values[:, place]
        order = np.argsort(-np.abs(np.round(values, 12)), kind="stable")[:count]
        tones = [current().accent if value >= 0 else current().second for value in values[order]]
        _bars_across(panel, values[order], [table.names[j] for j in order], tones)
        panel.axvline(0, color=current().faint, linewidth=0.8)
        panel.set_xlabel("loading" + _left_out(count, len(values)))
    for panel, place in zip(panels, places, strict=True):  # when all panels have their size
        few_ticks(panel, 4)
        note(panel, literal(labels[place]))
    return panels


def contributions(
    model: Any,
    X: Any = None,
    *,
    of: str = "columns",
    axes: Sequence[int] = (1,),
    top: int | None = 20,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of columns or rows to an axis, or to several together, in percent, largest first.

    Parameters
    ----------
    model : fitted model or Pipeline, `AxisTable`, or array of contributions, (columns or rows, axes).
    X : the rows; not needed for columns of methods with orthonormal components (PCA, TruncatedSVD, FAMD).
    of : "columns", "rows", or "levels" (FAMD: each level of a category by itself).
    axes : axes, counted from 1. The contributions to several are averaged with their variances.
    top : bars to show; None: all.
    names : names of the rows, or of an array's entries.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> model = lowland.PCA(2, scale=True).fit(load_iris(as_frame=True).data)
    >>> ax = contributions(model)
    >>> [round(float(bar.get_height()), 1) for bar in ax.patches]
    [33.7, 31.9, 27.2, 7.3]
    """
    table = _table(model, names)
    if table is None and of == "rows":
        table = row_contributions(model, X, names=names)
    elif table is None:
        _check_kind(of, ("columns", "rows", "levels"))
        table = column_contributions(model, X, levels=of == "levels")
    values = table.combined(axes)
    mean = float(values.sum()) / len(values)
    ax = _bars_up(ax, values, table.names, top, mean)
    ax.axhline(mean, color=current().second, linewidth=current().line, linestyle=(0, (4, 2)))
    ax.annotate(f"mean: {mean:.2g} %", (1.0, mean), xycoords=ax.get_yaxis_transform(), xytext=(4, 0),
                textcoords="offset points", ha="left", va="center", color=current().second,
                fontsize=current().font)  # fmt: skip
    ax.set_ylabel("contribution, %")
    note(
        ax, literal(f"contributions to {_joined(table, axes)}") + _left_out(min(len(values), top or 10**9), len(values))
    )
    return ax


def cos2(
    model: Any,
    X: Any = None,
    *,
    of: str = "columns",
    kind: str = "bars",
    axes: Sequence[int] = (1, 2),
    top: int | None = 20,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how well axes show columns or rows: squared cosines, 1 if all of a column or row is in these axes.

    Parameters
    ----------
    model : fitted model or Pipeline, `AxisTable`, or array of squared cosines, (columns or rows, axes).
    X : the rows.
    of : "columns" or "rows".
    kind : "bars", or "map": the rows in the plane of two axes, or the columns by axis, coloured by cos².
    axes : axes, counted from 1, whose squared cosines are added up.
    top : bars to show; None: all.
    names : names of the rows, or of an array's entries.
    ax : axes to draw on; default: those of a new figure.

    Examples
    --------
    >>> import lowland
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> ax = cos2(lowland.PCA(2, scale=True).fit(X), X)
    >>> [round(float(bar.get_height()), 2) for bar in ax.patches]
    [0.99, 0.98, 0.94, 0.92]
    """
    _check_kind(of, ("columns", "rows"))
    if kind not in ("bars", "map"):
        raise ValueError(Message(Setting("kind"), f" must be 'bars' or 'map'; got {kind!r}"))
    table = _table(model, names)
    if table is None:
        table = row_cos2(model, X, names=names) if of == "rows" else column_cos2(model, X)
    values = table.combined(axes)
    if kind == "map":
        if of == "rows":
            return _map_of_rows(model, X, axes, values, ax)
        return _map_of_columns(table, top, ax)
    ax = _bars_up(ax, values, table.names, top, None)
    ax.set_ylim(0, 1.0)
    ax.set_ylabel("cos²")
    note(ax, literal(f"cos² in {_joined(table, axes)}") + _left_out(min(len(values), top or 10**9), len(values)))
    return ax


def _check_kind(of: str, known: Sequence[str]) -> None:
    if of not in known:
        raise ValueError(Message(Setting("of"), f" must be one of {', '.join(map(repr, known))}; got {of!r}"))


def _table(given: Any, names: Sequence[str] | None) -> AxisTable | None:
    """Return a table that was given, or an array as one; None for a model."""
    if isinstance(given, AxisTable):
        return given
    if is_model(given):
        return None
    values = np.asarray(given, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
        raise ValueError(f"expected a fitted model, or a finite array of (entries, axes); got shape {values.shape}")
    labels = [f"x{j}" for j in range(len(values))] if names is None else [str(name) for name in names]
    if len(labels) != len(values):
        raise ValueError(f"got {len(labels)} names for {len(values)} entries")
    equal = np.ones(values.shape[1]) if np.allclose(values.sum(axis=0), 100) else None
    return AxisTable(values, tuple(labels), tuple(f"axis {i + 1}" for i in range(values.shape[1])), equal)


def _joined(table: AxisTable, axes: Sequence[int]) -> str:
    return " + ".join(table.axes[i] for i in checked_axes(axes, len(table.axes)))


def _left_out(shown: int, total: int) -> str:
    return "" if shown >= total else f" ({shown} of {total})"


def _bars_across(ax: Axes, values: Array, names: Sequence[str], colors: Sequence[str]) -> None:
    places, look, room = np.arange(len(values)), current(), room_of(ax)[0]
    ax.barh(places, values, color=colors, height=0.75)
    letters = int(np.clip(room / (0.55 * look.font) - 12, 6, 24))  # the bars need the room of twelve letters
    ax.set_yticks(places, [literal(name) for name in shorten_all(names, letters)])
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=current().faint, alpha=0.3, linewidth=0.6)


def _bars_up(ax: Axes | None, values: Array, names: Sequence[str], top: int | None, mean: float | None) -> Axes:
    """Draw bars, largest first; those below the mean in grey."""
    order = np.argsort(-np.round(values, 12), kind="stable")[:top]
    look = current()
    below = 0.7 * text_width([names[j] for j in order])  # names are turned by 45 degrees
    ax = axes_for(ax, float(np.clip(1.6 + 0.5 * below + 0.035 * look.font * len(order), 4.5, 12.0)), 3.2 + below)
    colors = [look.accent if mean is None or values[j] >= mean else look.faint for j in order]
    ax.bar(np.arange(len(order)), values[order], color=colors, width=0.75)
    ax.set_xticks(np.arange(len(order)), [literal(name) for name in shorten_all([names[j] for j in order], 24)])
    ax.tick_params(axis="x", length=0, rotation=45 if max(len(names[j]) for j in order) > 4 or len(order) > 12 else 0)
    for text in ax.get_xticklabels():
        text.set(
            ha="right" if text.get_rotation() else "center", rotation_mode="anchor" if text.get_rotation() else None
        )
    ax.set_xlim(-0.6, len(order) - 0.4)
    ax.grid(axis="y", color=look.faint, alpha=0.3, linewidth=0.6)
    return ax


def _map_of_rows(model: Any, X: Any, axes: Sequence[int], values: Array, ax: Axes | None) -> Axes:
    if not is_model(model):
        raise ValueError(Message(Owner("cos2"), "kind='map' of rows needs a fitted model and rows, not an array"))
    found = model_axes(model, X, "cos2")
    places = checked_axes(axes, len(found.axes))
    if len(places) != 2:
        raise ValueError(Message(Owner("cos2"), f"a map has two axes, such as (1, 2); got {axes!r}"))
    look, Y = current(), found.Y[:, places]
    ax = axes_for(ax, 7.0, 5.4)
    order = np.argsort(values, kind="stable")  # well represented rows on top
    size = float(np.clip(20_000 / len(Y), 5, 26)) * look.marker
    marks = ax.scatter(Y[order, 0], Y[order, 1], c=values[order], s=size, cmap=mark_colors(), vmin=0, vmax=1,
                       linewidths=0, rasterized=len(Y) > 5000)  # fmt: skip
    color_bar(marks, ax, "cos² in this plane")
    zero_lines(ax)
    labels = found.labels()
    ax.set(xlabel=literal(labels[places[0]]), ylabel=literal(labels[places[1]]))
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def _map_of_columns(table: AxisTable, top: int | None, ax: Axes | None) -> Axes:
    """Draw cos² of the columns (down) by axis (across) as a heat map."""
    look = current()
    order = np.argsort(-np.round(table.values.sum(axis=1), 12), kind="stable")[:top]
    ax = axes_for(ax, 1.6 + text_width(table.names) + 0.5 * len(table.axes), 1.2 + 0.027 * look.font * len(order))
    image = ax.imshow(table.values[order], cmap=value_colors(), vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(table.axes)), [literal(name) for name in table.axes], rotation=45, ha="right")
    ax.set_yticks(range(len(order)), [literal(name) for name in shorten_all([table.names[j] for j in order], 24)])
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    color_bar(image, ax, "cos²")
    return ax
