"""Rows far outside a map: drawn at its edge, so that they do not squash the others onto one dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Array = Any

_FAR = 10.0  # deviations from the median, in units of the median one, from which a row may be drawn at the edge
_TIMES = 5.0  # how many times the span of the other rows the map must be without that
_ROOM = 0.06  # of the span, between the other rows and the edge
_NAMED = 5


class Bounded(NamedTuple):
    """Coordinates with those far outside moved to the edge, and the numbers of these rows."""

    embedding: Array
    far: Array

    def sentence(self, whole: Array, names: Sequence[str] | None) -> str:
        """Name the rows at the edge, with their own coordinates; empty if there are none."""
        if not len(self.far):
            return ""
        listed = [
            f"{f'row {i}' if names is None else names[i]} ({', '.join(f'{value:.3g}' for value in whole[i])})"
            for i in self.far[:_NAMED]
        ]
        more = len(self.far) - len(listed)
        text = ", ".join(listed) + (f" and {more:,} more" if more else "")
        return f"Far outside and drawn at the edge, with coordinates in brackets: {text}."


def bounded(Y: Array, reference: Array | None = None) -> Bounded:
    """Return new rows with coordinates within reach of the training rows, or of the other new rows.

    ``reference``: the map of the training rows, if it is known.

    >>> Y = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [900.0, 1.0]])
    >>> found = bounded(Y)
    >>> found.far.tolist(), round(float(found.embedding[4, 0]), 2)
    ([4], 2.12)
    """
    Y = np.asarray(Y, dtype=np.float64)
    known = Y if reference is None else np.asarray(reference, dtype=np.float64)[:, : Y.shape[1]]
    middle = np.median(known, axis=0)
    spread = np.median(np.abs(known - middle), axis=0)
    reach = np.where(spread > 0, _FAR * spread, np.inf)  # an axis on which most rows are equal has no unit
    near = (np.abs(Y - middle) <= reach).all(axis=1)
    if near.all() or (reference is None and near.sum() < 3):
        return Bounded(Y, np.zeros(0, dtype=int))
    kept = Y[near] if reference is None else np.concatenate([known, Y[near]])
    low, high = kept.min(axis=0), kept.max(axis=0)
    room = _ROOM * (high - low)
    whole = np.maximum(high, Y.max(axis=0)) - np.minimum(low, Y.min(axis=0))
    if not (whole > _TIMES * (high - low)).any():
        return Bounded(Y, np.zeros(0, dtype=int))
    return Bounded(np.clip(Y, low - room, high + room), np.flatnonzero(~near))
