"""The recommended map of a comparison: interactive, as in the other reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import registry
from . import page
from .hover import Hover
from .interactive import map_with_fallback
from .svg import inline_svg

if TYPE_CHECKING:
    from ..comparison.result import Comparison


def recommended_map(found: Comparison, tips: Hover | None) -> str:
    """Return the section with the recommended map, coloured by the target; ``tips`` tell of all rows of the table."""
    from ..plots.scatter import scatter

    advice, total = found.recommend(), found.record["rows"]["all"]
    placed = found.maps[advice.key]
    n, axes = len(placed.rows), placed.Y.shape[1]
    labels = [f"{registry.method(advice.method).title} {number + 1}" for number in range(axes)]
    color, name = found.colors(placed.rows), found.color_name
    some = f"{n:,} of {total:,}" if n < total else f"{n:,}"
    caption = f"The map of {advice.title}: each of {some} rows is one point{f', coloured by {name}' if name else ''}."
    if axes > 2:
        caption = f"The first two of {axes} dimensions. {caption}"
    ax = scatter(placed.Y, color=color, color_name=name, labels=labels, kind="points", meaningful_axes=False)
    static = page.figure(inline_svg(ax.figure, "recommended", f"Map of {advice.title}", caption), caption)
    drawn = map_with_fallback(
        static,
        placed.Y,
        labels,
        color=color,
        color_name=name,
        hover=Hover.of(n, None, None, None) if tips is None else tips.of_rows(placed.rows),
        trust=placed.kept,
        rows=placed.rows,
        total=total,
    )
    return page.section("The recommended map", drawn)
