"""Figures of rankings: bars of the best nodes, and the distribution of all scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.message import Message, Setting
from ..ranking.result import TOP, Hits, Ranking, best
from .parts import few_ticks, grid_lines, plain_numbers
from .style import axes_for, current, grid_of_axes, literal, room_of, shorten, shorten_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 100  # bars of a panel
_LONGEST = 44  # letters of a name
_TITLES = {"score": "PageRank", "hub": "hubs", "authority": "authorities"}


def ranking(result: Ranking, *, top: int = TOP, ax: Axes | Sequence[Axes] | None = None) -> list[Axes]:
    """Draw the nodes with the highest scores of a ranking.

    Parameters
    ----------
    result : PageRank or Hits
        What `lowland.ranking.pagerank` or `lowland.ranking.hits` returned.
    top : int
        Nodes to show, at most 100.
    ax : Axes, or two of them, optional
        Axes of the first panel or of both; default: those of a new figure. The second panel shows the scores of all
        nodes against their ranks (PageRank), or the hubs (HITS).

    Examples
    --------
    >>> from lowland.ranking import pagerank
    >>> axes = ranking(pagerank([("a", "b"), ("c", "b"), ("b", "a")]))
    >>> [text.get_text() for text in axes[0].get_yticklabels()]
    ['b', 'a', 'c']
    """
    if not 1 <= top <= _MOST:
        raise ValueError(Message(Setting("top"), f" must be from 1 to {_MOST}; got {top}"))
    panels = _panels(min(top, result.n_nodes)) if ax is None else _axes_of(ax)
    columns = result.columns()
    order = ("authority", "hub") if isinstance(result, Hits) else ("score",)
    for axes, name in zip(panels, order, strict=False):
        _bars(axes, result, columns[name], top, _TITLES[name])
    if len(order) == 1 and len(panels) == 2:
        _curve(panels[1], columns["score"])
    for axes in panels[: len(order)]:
        few_ticks(axes, 5)
    return panels


def _panels(shown: int) -> list[Axes]:
    tall = max(3.2, 0.9 + 0.024 * current().font * shown)
    return grid_of_axes(1, 2, width=4.8, height=tall)


def _axes_of(ax: Axes | Sequence[Axes]) -> list[Axes]:
    panels = [axes_for(axes) for axes in (ax if isinstance(ax, Sequence | np.ndarray) else [ax])]
    if not 1 <= len(panels) <= 2:
        raise ValueError(f"ranking draws on one or two axes; got {len(panels)}")
    return panels


def _bars(axes: Axes, result: Ranking, values: Any, top: int, title: str) -> None:
    look, places = current(), best(values, top)
    axes.barh(range(len(places)), values[places], 0.75, color=look.accent)
    room = room_of(axes)[0]
    letters = int(np.clip(0.63 * room / (0.55 * look.font), 6, _LONGEST))  # names and bars share the room
    names = _cut([str(result.name_of(int(i))) for i in places], letters)
    axes.set_yticks(range(len(places)), [literal(name) for name in names])
    axes.set_ylim(len(places) - 0.4, -0.6)  # the best on top
    axes.set_xlim(0, 1.05 * float(values.max()))
    axes.tick_params(axis="y", length=0)
    axes.set_title(title, loc="left", color=look.ink, fontsize=look.font + 1)
    axes.set_xlabel("score")
    grid_lines(axes, "x")


def _cut(names: list[str], letters: int) -> list[str]:
    """Return long names without their middles: addresses begin alike."""
    head = letters // 3
    cut = {name: name if len(name) <= letters else f"{name[:head]}…{name[head + 1 - letters :]}" for name in names}
    return [cut[name] for name in names] if len(set(cut.values())) == len(cut) else shorten_all(names, letters)


def _curve(axes: Axes, values: Any) -> None:
    """Draw the scores against their ranks, both on logarithmic scales."""
    from matplotlib.ticker import LogLocator

    look = current()
    ranked = np.sort(values[values > 0])[::-1]
    rank = np.arange(1, len(ranked) + 1)
    few = np.unique(np.geomspace(1, len(ranked), 2000).astype(np.int64)) - 1
    axes.plot(rank[few], ranked[few], color=look.accent, linewidth=look.line)
    even = 1 / len(values)
    axes.axhline(even, color=look.faint, linewidth=look.line / 1.5, linestyle=(0, (3, 3)))
    axes.annotate(
        "equal scores",
        (0.02, even),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=look.font - 1,
        color=look.ink,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_numbers(axes.xaxis, LogLocator())
    axes.set_title(shorten(f"all {len(values):,} nodes"), loc="left", color=look.ink, fontsize=look.font + 1)
    axes.set_xlabel("rank")
    axes.set_ylabel("score")
    grid_lines(axes)
