"""Columns that move together: the section of a report, bounded in time and size for wide tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import DataError, MemoryLimitError
from ..core.formatting import format_signed
from . import page
from .svg import inline_svg

if TYPE_CHECKING:
    from ..quality.column_groups_result import ColumnGroups
    from .subject import Subject

_MOST_CELLS = 50_000_000  # of a table that is compared: 400 MB
_ROWS_SHOWN, _COLUMNS_SHOWN = 15, 100
_TITLE = "Columns that move together"
_WITH_AXES = ("pca", "famd", "truncated_svd", "probabilistic_pca", "ica", "lpp", "npe", "random_projection")


def section(subject: Subject) -> str:
    """Return the section; empty if the data have no numeric columns, or only one."""
    rows, names = _table(subject)
    if rows is None or subject.pixels is not None:  # single pixels tell nothing
        return ""
    from ..quality.column_grouping import MOST_SQUARE, column_groups

    n, d = rows.shape
    if n * d > _MOST_CELLS:
        text = f"Not measured: the table has {n:,} × {d:,} cells; `lowland correlations` compares its columns."
        return page.section(_TITLE, page.paragraph(text))
    try:
        found = column_groups(
            rows,
            axes=subject.embedding,
            axis_names=subject.axis_titles,
            names=names,
            duplicate=0.95 if d <= MOST_SQUARE else None,  # all pairs of more columns take too long for a report
        )
    except (DataError, MemoryLimitError) as error:  # missing values that the method takes, or constant columns
        return page.section(_TITLE, page.paragraph(f"Not measured: {subject.words(error.args[0])}"))
    return page.section(_TITLE, *_pieces(found, with_axes=_has_axes(subject)))


def _table(subject: Subject) -> tuple[Any, Sequence[str] | None]:
    """Return the rows with two or more columns of numbers, and names that they do not have; None if there are none."""
    behind, mixed = subject.behind, subject.mixed
    if behind is None or subject.new or subject.pairwise or callable(behind.metric):
        return None, None
    rows, names = (behind.named, None) if mixed is None else (mixed.rows, mixed.names)
    if hasattr(rows, "blocks"):  # sparse rows with names
        rows, names = rows.array, rows.names
    if hasattr(rows, "dtypes") and not all(getattr(kind, "is_numeric", lambda: True)() for kind in rows.dtypes):
        return None, None
    shape: tuple[int, ...] = getattr(rows, "shape", ())
    kind = getattr(getattr(rows, "dtype", None), "kind", "f")
    fits = len(shape) == 2 and shape[0] >= 3 and shape[1] >= 2 and kind in "fiub"
    return (rows, names) if fits else (None, None)


def _has_axes(subject: Subject) -> bool:
    """Return whether correlations with the axes mean something; the axes of an unknown map may."""
    return subject.meaningful_axes or (subject.model is None and subject.method_name in (None, *_WITH_AXES))


def _pieces(found: ColumnGroups, *, with_axes: bool) -> list[str]:
    pieces = [page.paragraph(found.sentence), *_picture(found)]
    if found.groups:
        rows = [
            (f"group {i + 1} ({group.axis}, r = {format_signed(group.correlation)})", group.words(_ROWS_SHOWN))
            for i, group in enumerate(found.groups[:_ROWS_SHOWN])
        ]
        caption = "Groups, each with the axis that it lies nearest to; − moves against the others"
        if not found.by_tree:
            caption = "Groups by the axis with which their columns have the largest |r|; − moves against the others"
        if len(found.groups) > _ROWS_SHOWN:
            caption += f"; {_ROWS_SHOWN} of {len(found.groups):,}"
        pieces.append(page.table(rows, caption))
    if found.duplicates:
        rows = [(pair.column, f"{pair.kept} (r = {format_signed(pair.correlation)})") for pair in found.duplicates]
        caption = "Near-duplicates, and the column to keep instead"
        if len(rows) > _ROWS_SHOWN:
            caption += f"; {_ROWS_SHOWN} of {len(rows):,}"
        pieces.append(page.table(rows[:_ROWS_SHOWN], caption))
    return [*pieces, _with_axes(found)] if with_axes else pieces


def _picture(found: ColumnGroups) -> list[str]:
    ax = found.plot()
    frames = "; frames are groups" if ax.patches else ""
    how = "red columns rise together, blue ones move against each other"
    caption = f"Correlations of {found.drawn_words}: {how}{frames}."
    return [page.figure(inline_svg(ax.figure, "columns", "Correlations of columns", caption), caption)]


def _with_axes(found: ColumnGroups) -> str:
    """Return the correlation of each column with each axis, folded away."""
    d = len(found.names)
    order = np.argsort(-np.abs(found.axes).max(axis=1), kind="stable")[:_COLUMNS_SHOWN]
    rows = [
        (name, ", ".join(f"{a} {format_signed(r)}" for a, r in zip(found.axis_names, axes, strict=True)))
        for name, axes in ((found.names[j], found.axes[j]) for j in order)
    ]
    caption = "Correlation of each column with each axis, the largest first"
    if d > _COLUMNS_SHOWN:
        caption += f"; {_COLUMNS_SHOWN} of {d:,} columns, `lowland correlations --out` writes all"
    return page.details("Correlation of each column with each axis", page.table(rows, caption))
