"""Variance of rows along given directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Owner
from .model_axes import dense

Array = Any


def variance_along(X: Any, directions: Any) -> Array:
    """Return the variance (1/(N − 1)) of the rows along each direction; directions need not have length 1.

    Parameters
    ----------
    X : (n, D) array
        Rows.
    directions : (m, D) array, or (D,) for one
        Directions.

    Examples
    --------
    >>> variance_along([[0.0, 0.0], [3.0, 4.0]], [[1.0, 0.0], [6.0, 8.0]]).tolist()
    [4.5, 12.5]
    """
    X, U = dense(X), np.atleast_2d(np.asarray(directions, dtype=np.float64))
    if X.ndim != 2 or len(X) < 2:
        raise DataError(Message(Owner("variance_along"), f"give two or more rows; got shape {X.shape}"))
    if U.shape[1] != X.shape[1]:
        raise ValueError(Message(Owner("variance_along"), f"rows have {X.shape[1]} columns, directions {U.shape[1]}"))
    lengths = np.linalg.norm(U, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise ValueError(Message(Owner("variance_along"), "a direction is zero"))
    P = (X - X.mean(axis=0)) @ (U / lengths).T
    return (P**2).sum(axis=0) / (len(X) - 1)
