"""Columns with two values, such as the levels of categories: they span dimensions without any curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Array = Any

_MATTERS = 0.05  # least share of the columns
_AT_ONCE = 1 << 22  # entries compared at a time


def two_valued(X: Any) -> int:
    """Return how many columns of a table have two values; a column of text counts one for each of its levels.

    Sparse columns and tables in blocks are not looked at: 0.

    >>> two_valued(np.array([[0.0, 0.5, 2.0], [1.0, 0.5, 3.0], [0.0, 0.5, 5.0]]))
    1
    """
    if hasattr(X, "blocks"):
        X = getattr(X, "array", None)
    if hasattr(X, "iter_columns"):
        return sum(_of_series(column) for column in X.iter_columns())
    if X is None or sp.issparse(X) or isinstance(X, list):
        return 0
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if getattr(X, "ndim", 0) != 2 or kind not in "fiub" or not len(X):
        return 0
    step = max(1, _AT_ONCE // len(X))
    return sum(_of_block(np.asarray(X[:, start : start + step])) for start in range(0, X.shape[1], step))


def _of_block(X: Array) -> int:
    low, high = X.min(axis=0), X.max(axis=0)
    either = np.equal(X, low) | np.equal(X, high)
    return int(np.count_nonzero(either.all(axis=0) & (low < high)))


def _of_series(column: Any) -> int:
    levels = int(column.n_unique())
    return int(levels == 2) if column.dtype.is_numeric() else levels


def that_matter(levels: int, n_columns: int) -> int:
    """Return the number of levels, or 0 if they are too few of the columns to be the reason for linear dimensions.

    >>> that_matter(2, 13), that_matter(2, 6000)
    (2, 0)
    """
    return levels if levels >= _MATTERS * n_columns else 0


def explain(levels: int, flat: int, d: int) -> bool:
    """Return whether so many levels may be most of the dimensions that ``flat`` linear ones have above ``d``."""
    return levels >= 2 and 4 * levels >= 3 * (flat - d)
