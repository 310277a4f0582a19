"""Scaling of columns."""

from __future__ import annotations

from collections.abc import Mapping
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

    def _learn(self, frame: pl.DataFrame) -> None:
        self.names_out_ = list(self.names_in_)
        X = frames.numbers(frame, self._of_kind(frames.NUMBER))
        low, high = np.nanmin(X, axis=0, initial=np.inf), np.nanmax(X, axis=0, initial=-np.inf)
        middle = low + (high - low) / 2  # sums of differences from it keep their digits in any unit
        mean = middle + np.nanmean(X - middle, axis=0) if X.size else low
        spread = np.sqrt(np.nanmean((X - mean) ** 2, axis=0)) if X.size else low
        if self.method == "standard":
            self.center_, scale = mean, spread
        elif self.method == "minmax":
            self.center_, scale = low, high - low
        else:
            quartiles = np.nanquantile(X, [0.25, 0.5, 0.75], axis=0) if X.size else np.empty((3, 0))
            self.center_, scale = quartiles[1], quartiles[2] - quartiles[0]
            scale = np.where(scale > 0, scale, spread)
        constant = (low == high) | ~(scale > 0)
        self.center_ = np.where(low == high, low, self.center_)  # exactly, so that a constant column becomes 0
        self.scale_ = np.where(constant, 1.0, scale)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        names = self._of_kind(frames.NUMBER)
        return frames.with_numbers(frame, names, (frames.numbers(frame, names) - self.center_) / self.scale_)

    def _restore(self, frame: pl.DataFrame) -> pl.DataFrame:
        names = self._of_kind(frames.NUMBER)
        return frames.with_numbers(frame, names, frames.numbers(frame, names) * self.scale_ + self.center_)
