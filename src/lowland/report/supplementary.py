"""Columns that took no part in the fit, on the map: the section of the page, and what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..plots.overlay import Overlay
from . import page

if TYPE_CHECKING:
    from ..quality.supplementary_columns import NumberOnMap, Supplementary

_LEVELS = 12  # most centres of a column that are drawn and listed


def overlay(found: Supplementary | None, rows: Any = None) -> Overlay:
    """Return what is drawn on the map: arrows as long as r, centres of levels, and supplementary rows."""
    if found is None:
        return Overlay(rows=rows)
    arrows = {name: _arrow(column) for name, column in found.numbers.items()}
    centers = {
        f"{name} {level}": place
        for name, column in found.categories.items()
        if len(column.centroids) <= _LEVELS
        for level, place in column.centroids.items()
    }
    return Overlay(arrows, centers, rows)


def _arrow(column: NumberOnMap) -> tuple[float, ...]:
    return tuple(column.r2**0.5 * part for part in column.direction)


def section(found: Supplementary | None, axes: list[str], *, with_axes: bool) -> str:
    """Return the section of the page; ``with_axes``: the axes of the method have a meaning of their own."""
    if found is None:
        return ""
    text = "These columns took no part in the fit. r² is the share of a column's variance that the coordinates explain "
    text += "(for categories: the share of the points' variance between levels), p the share of random permutations of "
    text += f"the column that fit as well ({found.permutations} drawn)."
    if found.numbers:
        text += " Arrows in the map point to where a column rises fastest; their length is proportional to r."
    if found.categories:
        text += " Crosses in the map are the means of the levels."
    rows = []
    for name, number in found.numbers.items():
        parts = number.correlations if with_axes else number.direction
        told = ", ".join(f"{axis} {part:+.2f}".replace("-", "−") for axis, part in zip(axes, parts, strict=True))
        what = "correlations" if with_axes else "direction"
        rows.append((name, f"r² {number.r2:.3f}, p {number.p:.3g}; {what}: {told}"))
    for name, category in found.categories.items():
        told = ", ".join(f"{axis} {part:.2f}" for axis, part in zip(axes, category.eta2, strict=True))
        what = f"; η²: {told}" if with_axes else ""
        levels = ", ".join(f"{level} ({n})" for level, n in list(category.counts.items())[:_LEVELS])
        more = f", … ({len(category.counts)} in all)" if len(category.counts) > _LEVELS else ""
        rows.append((name, f"r² {category.r2:.3f}, p {category.p:.3g}{what}; levels: {levels}{more}"))
    return page.section("Supplementary columns", page.paragraph(text), page.table(rows, "On the map"))
