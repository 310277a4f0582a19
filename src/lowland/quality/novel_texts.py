"""New texts without a term of the training texts: their rows are zeros, which no distance shows to be unlike."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import DegenerateWarning


def without_terms(steps: Sequence[Any], table: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return which rows of a table have no term that the first of the steps knows; none if it does not encode texts."""
    step: Any = steps[0] if steps else None
    if table is None or type(step).__name__ != "EncodeTexts":
        return np.zeros(n_rows, dtype=bool)
    with warnings.catch_warnings(action="ignore", category=DegenerateWarning):  # told when the rows were made
        rows = step.transform(table)
    return np.asarray(np.diff(rows.indptr) == 0)
