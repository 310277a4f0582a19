"""Scaling of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...contract.parameters import Choice, Rule
from . import frames
from .step import Step

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

    def _learn(self, frame: pl.DataFrame) -> None:
        self.names_out_ = list(self.names_in_)
        found = [self._center_and_scale(frames.values_of(frame, name)) for name in self._of_kind(frames.NUMBER)]
        self.center_, self.scale_ = np.array(found).reshape(-1, 2).T.copy()

    def _center_and_scale(self, values: Array) -> tuple[float, float]:
        x = values[~np.isnan(values)]
        low, high = float(x.min()), float(x.max())
        if low == high:
            return low, 1.0
        middle = low + (high - low) / 2  # sums of differences from it keep their digits in any unit
        mean = middle + float((x - middle).mean())
        spread = float(np.sqrt(((x - mean) ** 2).mean()))
        if self.method == "minmax":
            return low, high - low
        if self.method == "standard":
            return mean, spread if spread > 0 else 1.0
        below, median, above = (float(q) for q in np.quantile(x, [0.25, 0.5, 0.75]))
        return median, above - below if above > below else spread if spread > 0 else 1.0

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._mapped(frame, lambda x, c, s: (x - c) / s)

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self._mapped(frame, lambda x, c, s: x * s + c)

    def _mapped(self, frame: pl.DataFrame, work: Callable[[Any, float, float], Any]) -> pl.DataFrame:
        """Apply a function of x, c and s to each column of numbers; float32 stays float32."""
        names, schema = self._of_kind(frames.NUMBER), frame.schema
        made = [
            work(pl.col(name).cast(pl.Float64), float(c), float(s)).cast(
                pl.Float32 if schema[name] == pl.Float32 else pl.Float64
            )
            for name, c, s in zip(names, self.center_, self.scale_, strict=True)
        ]
        return frames.replaced(frame, frame.select(made).get_columns())
