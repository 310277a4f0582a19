"""Cells of new rows with a level of a category that the training rows do not have: a step or FAMD may ignore them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ..methods.steps.frames import to_frame
from .unusual_columns import UnusualColumn


def unseen_levels(steps: Sequence[Any], model: Any, table: Any, n_rows: int) -> dict[int, tuple[UnusualColumn, ...]]:
    """Return, for each row with such cells, these cells; missing ones are left out.

    >>> import lowland
    >>> step = lowland.steps.EncodeCategories(unseen="ignore").fit([[1.0, "a"], [2.0, "b"]])
    >>> {row: [str(cell) for cell in cells] for row, cells in unseen_levels([step], None, [[1.0, "c"]], 1).items()}
    {0: ['x1 = c']}
    """
    known: dict[Any, list[Any]] = {}
    for part in (*steps, model):
        if getattr(part, "unseen", None) == "ignore" and isinstance(getattr(part, "levels_", None), Mapping):
            known |= part.levels_
    if not known or table is None:
        return {}
    frame, _ = to_frame(table, "novelty")
    found: dict[int, tuple[UnusualColumn, ...]] = {}
    for name, levels in known.items():
        column = f"x{name}" if isinstance(name, int) else name
        if column not in frame.columns or frame.height != n_rows:
            continue
        cells = frame[column]
        texts = cells.cast(pl.String) if all(isinstance(level, str) for level in levels) else None
        new = ~(cells.is_in(_without_none(levels)) if texts is None else texts.is_in(levels)) & cells.is_not_null()
        for i in np.flatnonzero(new.fill_null(False).to_numpy()).tolist():
            found[i] = (*found.get(i, ()), UnusualColumn(column, cells[i], "level", 1.0))
    return found


def _without_none(levels: Sequence[Any]) -> list[Any]:
    return [level for level in levels if level is not None]
