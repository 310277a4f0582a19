"""Rows that dominate an axis: they hold most of the sum of its squared coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.formatting import format_share

Array = Any

LEAST_ROWS = 10  # of fewer rows each makes much of every axis
DECIDES = 0.5  # least share of the squares of an axis: more than all other rows together


class DecidingRow(NamedTuple):
    """A row that makes most of an axis: places of the row and the axis, and the share."""

    row: int
    axis: int
    share: float


def deciding_rows(Y: Array) -> list[DecidingRow]:
    """Return, for each axis of a map, the row with more than half of the sum of squares around the mean, if any.

    >>> Y = np.zeros((20, 2))
    >>> Y[:, 0], Y[3, 1], Y[4, 1] = np.arange(20), 100.0, 1.0
    >>> [(found.row, found.axis) for found in deciding_rows(Y)]
    [(3, 1)]
    """
    Y = np.asarray(Y, dtype=np.float64)
    if len(Y) < LEAST_ROWS or not np.isfinite(Y).all():
        return []
    top = np.abs(Y).max(axis=0)
    Z = Y / np.where(top > 0, top, 1.0)
    squares = (Z - Z.mean(axis=0)) ** 2
    total = squares.sum(axis=0)
    found = []
    for axis in np.flatnonzero(total > 0):
        row = int(np.argmax(squares[:, axis]))
        share = float(squares[row, axis] / total[axis])
        if share > DECIDES:
            found.append(DecidingRow(row, int(axis), share))
    return found


def deciding_words(found: DecidingRow, axis: str, names: Sequence[str] | None) -> str:
    """Return the warning about one row.

    >>> deciding_words(DecidingRow(2, 0, 0.97), "PCA 1", None).partition(",")[0]
    'row 2 alone makes 97.0 % of axis PCA 1'
    """
    name = f"row {found.row}" if names is None else names[found.row]
    return (
        f"{name} alone makes {format_share(found.share)} of axis {axis}, which shows how this row differs from all "
        "others; reduce the table without it"
    )
