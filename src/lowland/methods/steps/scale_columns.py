"""Scaling of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...contract.parameters import Choice, Rule
from . import frames
from .folds import ColumnSums, SampledNumbers
from .quantiles import quantiles, sample_rows
from .step import Step
from .training_rows import Passes, TrainingRows

Array = Any

SCALINGS = ("standard", "robust", "minmax")


class ScaleColumns(Step):
    """Shift and divide each column of numbers, (x − c)/s; categories and dates stay as they are.

    "standard": mean and standard deviation (divisor N); "robust": median and distance between the quartiles (where the
    quartiles are equal, the standard deviation); "minmax": smallest value and range. Missing cells are left out of
    these and stay missing. A constant column is shifted and not divided.

    Parameters
    ----------
    method : str
        "standard", "robust" or "minmax".

    Attributes
    ----------
    center_, scale_ : array
        c and s of each column of numbers, in their order.

    Examples
    --------
    >>> import lowland
    >>> lowland.steps.ScaleColumns("minmax").fit_transform([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]]).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.5, 0.0]]
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {"method": Choice(SCALINGS)}

    center_: Array
    scale_: Array

    def __init__(self, method: str = "standard") -> None:
        self.method = method

    def describe(self) -> str:
        """Return how columns are scaled."""
        how = {"standard": "unit variance", "robust": "median 0 and unit quartile range", "minmax": "the range 0 to 1"}
        return f"columns scaled to {how[self.method]}"

    def _learn(self, rows: TrainingRows) -> Passes:
        self.names_out_ = list(self.names_in_)
        names = self._of_kind(frames.NUMBER)
        sums = ColumnSums(names)
        if self.method == "robust":
            sample = SampledNumbers(names, sample_rows(len(names)), rows.known_rows)
            yield [sums, sample]
            below, center, above = quantiles(rows, sums, sample.rows, (0.25, 0.5, 0.75))
            scale = np.where(above > below, above - below, sums.deviation)
        else:
            yield [sums]
            center = sums.low if self.method == "minmax" else sums.mean
            scale = sums.high - sums.low if self.method == "minmax" else sums.deviation
        self.center_ = np.where(sums.low == sums.high, sums.low, center)
        self.scale_ = np.where((sums.low == sums.high) | ~(scale > 0), 1.0, scale)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._mapped(frame, lambda x, c, s: frames.quotient(x - c, s))

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._mapped(frame, lambda x, c, s: x * s + c)

    def _mapped(self, frame: pl.DataFrame, work: Callable[[pl.Series, float, float], pl.Series]) -> pl.DataFrame:
        """Apply a function of x, c and s to each column of numbers; float32 stays float32."""
        columns = [frame[name] for name in self._of_kind(frames.NUMBER)]
        made = [
            work(column.cast(pl.Float64), float(c), float(s)).cast(
                pl.Float32 if column.dtype == pl.Float32 else pl.Float64
            )
            for column, c, s in zip(columns, self.center_, self.scale_, strict=True)
        ]
        return frames.replaced(frame, made)
