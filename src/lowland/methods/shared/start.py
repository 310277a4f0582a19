"""A start that the user gives: where the points of a map begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import arrays
from ...core.errors import DataError
from ...core.message import message

Array = Any

_EXPONENT = 100  # of 2: starts from 1e-30 to 1e30 are of ordinary size


def given_start(name: str, init: Any, n: int, n_components: int) -> Array:
    """Return the start in float64; raise if it is not a finite table with a row for each of the n training rows.

    >>> given_start("TSNE", [[0, 1], [2, 3]], 2, 2).tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    X = np.asarray(arrays.to_numpy(init))
    if X.shape != (n, n_components):
        raise DataError(
            message(
                f"{name}: {{init}} must have one row for each of the {n} training rows and {n_components} columns; "
                f"its shape is {X.shape}",
                init=...,
            )
        )
    if X.dtype.kind not in "fiub" or not np.isfinite(X).all():
        raise DataError(message(f"{name}: {{init}} has a value that is not a finite number", init=...))
    return X.astype(np.float64)


def ordinary_size(Y: Array) -> Array:
    """Return a start whose squares neither overflow nor underflow: an extreme one is scaled by a power of two.

    >>> ordinary_size(np.array([[3.0]])).tolist(), ordinary_size(np.array([[3.0 * 2.0**600]])).tolist()
    ([[3.0]], [[0.75]])
    """
    exponent = int(np.frexp(np.abs(Y).max(initial=0.0))[1])
    return np.ldexp(Y, -exponent) if abs(exponent) > _EXPONENT else Y
