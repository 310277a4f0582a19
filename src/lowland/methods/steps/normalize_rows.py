"""Rows of unit length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...contract.parameters import Choice, Rule
from ...core.errors import CellError, DataError
from . import frames
from .folds import Check
from .step import Step
from .training_rows import Passes, TrainingRows


class NormalizeRows(Step):
    """Divide each row by its Euclidean length, so that distances between rows follow their angles.

    A row of zeros has no direction and stays as it is. All columns must be numbers without missing cells.

    Parameters
    ----------
    norm : str
        "l2".

    Examples
    --------
    >>> import lowland
    >>> lowland.steps.NormalizeRows().fit_transform([[3.0, 4.0], [0.0, 2.0]]).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """

    _parameters: ClassVar[Mapping[str, Rule]] = {"norm": Choice(("l2",))}

    def __init__(self, norm: str = "l2") -> None:
        self.norm = norm

    def describe(self) -> str:
        """Return the norm of the rows."""
        return f"rows divided by their {self.norm} norm"

    def _learn(self, rows: TrainingRows) -> Passes:
        self.names_out_ = list(self.names_in_)
        if set(self.kinds_in_) != {frames.NUMBER}:
            other = next(n for n, kind in zip(self.names_in_, self.kinds_in_, strict=True) if kind != frames.NUMBER)
            raise DataError(f"NormalizeRows: column {other!r} holds no numbers; encode it or leave it out")
        yield [Check(self._apply)]

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        X = frames.numbers(frame, self.names_in_)
        if np.isnan(X).any():
            i, j = (int(place) for place in np.argwhere(np.isnan(X))[0])
            raise CellError("NaN", frames.FINITE, row=i, column=j, name=self.names_in_[j])
        largest = np.abs(X).max(axis=1, keepdims=True)
        X = X / np.where(largest > 0, largest, 1.0)  # squares of very large or small cells stay in range
        length = np.sqrt((X**2).sum(axis=1, keepdims=True))
        return frames.with_numbers(frame, self.names_in_, X / np.where(length > 0, length, 1.0))

    @property
    def inverse_transform(self) -> Any:
        """Not available: the length of a row is lost."""
        raise AttributeError("NormalizeRows has no inverse_transform: the length of a row is lost")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
