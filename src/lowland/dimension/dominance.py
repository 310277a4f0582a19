"""When one column owns most of the variance, a reduction only repeats it: one rule for warnings and inspections."""

from __future__ import annotations

from typing import Any

import numpy as np

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
