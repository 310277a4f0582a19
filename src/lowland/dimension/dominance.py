"""When one column owns most of the variance, a reduction only repeats it: one rule for warnings and inspections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..settings import format_share

MOST = 0.75
MOST_OF_TWO = 0.95  # one of two columns nearly always has the larger part


def dominant_column(variances: Any) -> tuple[int, float] | None:
    """Return the number and the share of the column that owns most of the variance, or None if none does.

    >>> dominant_column([1.0, 100.0, 2.0])
    (1, 0.970873786407767)
    """
    values = np.asarray(variances, dtype=np.float64)
    total = float(values.sum())
    if len(values) < 2 or not total > 0:
        return None
    top = int(np.argmax(values))
    share = float(values[top] / total)
    return (top, share) if share > (MOST if len(values) > 2 else MOST_OF_TWO) else None


def dominant_words(variances: Any, names: Sequence[Any] | None) -> str | None:
    """Say which column owns most of the variance, and how much; None if none does.

    >>> dominant_words([1.0, 100.0, 2.0], ["age", "income", "height"])
    "column 'income' owns 97.1 % of the variance"
    """
    found = dominant_column(variances)
    if found is None:
        return None
    top, share = found
    name = str(top) if names is None else repr(str(names[top]))
    return f"column {name} owns {format_share(share)} of the variance"
