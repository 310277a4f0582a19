"""New texts without a term of the training texts: their rows are zeros, which no distance shows to be unlike."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..core.errors import DegenerateWarning
from .training_tails import Quantiles

_TAIL = 0.1  # share of the training texts that make the tail


def summarized_texts(steps: Sequence[Any], table: Any) -> Any:
    """Return the step that encodes texts, if it keeps a summary of the training texts; None otherwise."""
    step: Any = steps[0] if steps else None
    return step if table is not None and hasattr(step, "unfamiliar_") else None


def terms_limit(step: Any, share: float) -> float:
    """Return the excess of unknown terms that this share of new texts exceeds; not less than in normal values.

    It is the smaller of two estimates from the training texts, so that a few odd ones do not raise it: their quantile,
    and an exponential tail above the 90 % quantile with the median of its excess.
    """
    values = Quantiles(np.asarray(step.unfamiliar_["values"]), step.unfamiliar_["rows"])
    edge, middle = values.at(_TAIL), values.at(_TAIL / 2)
    tail = edge + (middle - edge) / np.log(2) * np.log(_TAIL / min(share, _TAIL))
    return float(max(min(tail, values.beyond(share)), -special.ndtri(share)))


def without_terms(steps: Sequence[Any], table: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return which rows of a table have no term that the first of the steps knows; none if it does not encode texts."""
    step: Any = steps[0] if steps else None
    if table is None or type(step).__name__ != "EncodeTexts":
        return np.zeros(n_rows, dtype=bool)
    with warnings.catch_warnings(action="ignore", category=DegenerateWarning):  # told when the rows were made
        rows = step.transform(table)
    return np.asarray(np.diff(rows.indptr) == 0)
