"""Run the library on rows from a file."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, DistanceMatrixWarning, DominantColumnWarning
from .progress import progress_bar

if TYPE_CHECKING:
    from .input import Input


def run(work: Callable[[Any], Any], given: Input) -> Any:
    """Call the library on rows from a file, with progress; errors name the place in the file."""
    with progress_bar(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DistanceMatrixWarning)  # commands check the file themselves
        if given.steps is not None and given.steps.steps[-1][0] == "pre":
            warnings.simplefilter("ignore", DominantColumnWarning)  # the first axis of a method holds most of it
        try:
            return work(given.rows)
        except ValueError as error:  # parameters were checked before, so the data are the cause
            raise DataError(given.locate(error)) from error
