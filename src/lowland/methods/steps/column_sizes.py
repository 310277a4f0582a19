"""The sizes of the values of columns, by which values in another unit are recognised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ...rows.sampling import reservoir_of
from . import frames
from .folds import Fold

Array = Any

_MEDIAN_ROWS = 20_000  # drawn rows whose median is taken as the typical size, fewer of wide tables
_LEAST_MEDIAN_ROWS, _MEDIAN_CELLS = 1000, 1 << 22


def _absolute(values: Array) -> Array:
    """Return the absolute values of a column; NaN for those that are 0, missing or infinite."""
    sizes = np.abs(values)
    sizes[(sizes == 0) | (sizes == np.inf)] = np.nan
    return sizes


class Sizes(Fold):
    """The smallest and largest absolute values of columns that are not 0, and the median of those of drawn rows.

    >>> sizes = Sizes(["a"], 4)
    >>> sizes.add(sizes.part(0, pl.DataFrame({"a": [0.0, -2.0, 3.0, None]})))
    >>> sizes.table.tolist()
    [[2.0, 2.5, 3.0]]
    """

    def __init__(self, names: Sequence[str], known_rows: int | None) -> None:
        count = max(_LEAST_MEDIAN_ROWS, min(_MEDIAN_ROWS, _MEDIAN_CELLS // max(1, len(names))))
        self._names, self._drawn = list(names), reservoir_of(known_rows, count, 0)
        self._low: Array = np.full(len(names), np.inf)
        self._high: Array = np.zeros(len(names))

    def part(self, start: int, frame: pl.DataFrame) -> tuple[Array, Array, Any]:
        """Return the sizes of a block, and its drawn rows."""
        keys, places = self._drawn.candidates(start, frame.height)
        low, high = np.full(len(self._names), np.inf), np.zeros(len(self._names))
        drawn = np.full((len(places), len(self._names)), np.nan)
        for j, column in enumerate(frames.each_column(frame, self._names)):
            values = _absolute(column)
            low[j], high[j] = np.fmin.reduce(values, initial=np.inf), np.fmax.reduce(values, initial=0.0)
            drawn[:, j] = values[places]
        return low, high, (start, frame.height, keys, places, drawn)

    def add(self, part: tuple[Array, Array, Any]) -> None:
        """Add the next block."""
        low, high, drawn = part
        self._low, self._high = np.minimum(self._low, low), np.maximum(self._high, high)
        self._drawn.add(*drawn)

    @property
    def table(self) -> Array:
        """The smallest, median and largest size of each column, (columns × 3); NaN where all are 0 or missing."""
        drawn = self._drawn.sample().rows
        middle = np.where(self._high > 0, self._low / 2 + self._high / 2, np.nan)
        some = ~np.isnan(drawn).all(axis=0)
        with np.errstate(over="ignore"):  # in the sum of two values near the largest number
            middle[some] = np.minimum(np.nanmedian(drawn[:, some], axis=0), self._high[some])
        none = self._high == 0
        return np.where(none[:, None], np.nan, np.column_stack([self._low, middle, self._high]))

    def state(self) -> dict[str, Any]:
        """Return the sizes and the drawn rows so far."""
        return {"low": self._low, "high": self._high, "drawn": self._drawn.state()}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of an interrupted pass."""
        self._low, self._high = np.asarray(state["low"]), np.asarray(state["high"])
        self._drawn.resume(state["drawn"])
