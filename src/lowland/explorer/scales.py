"""Coordinates of different kinds: each axis gets a scale of its own, where one scale would draw a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any

_TIMES = 20.0  # ratio of the ranges of two axes from which the shorter one could not be read on one scale


def own_scales(Y: Array, names: Sequence[str]) -> tuple[Array, str]:
    """Return coordinates from 0 to 1 and a sentence that says so, if the ranges of the first two differ very much.

    Otherwise the coordinates stay as they are, and the sentence is empty. It is for columns that need not be a map: in
    a map, both axes have the same unit, and a narrow map is shown as it is.

    >>> Y = np.array([[11.0, 500.0], [12.0, 1500.0], [13.0, 900.0]])
    >>> own_scales(Y, ["alcohol", "proline"])[0].tolist()
    [[0.0, 0.0], [0.5, 1.0], [1.0, 0.4]]
    >>> own_scales(Y, ["alcohol", "proline"])[1].partition(".")[0]
    'The axes have separate scales: the range of proline is 500 times that of alcohol'
    >>> own_scales(Y[:, :1].repeat(2, axis=1), ["a", "b"])[1]
    ''
    """
    Y = np.asarray(Y, dtype=np.float64)
    low, span = (Y.min(axis=0), np.ptp(Y, axis=0)) if len(Y) else (None, np.zeros(Y.shape[1]))
    first = span[:2]
    if len(first) < 2 or first.min() <= 0 or first.max() <= _TIMES * first.min():
        return Y, ""
    wide = int(np.argmax(first))
    ratio = f"{first[wide] / first[1 - wide]:,.3g}" if first[wide] < 1e6 * first[1 - wide] else "over a million"
    text = (
        f"The axes have separate scales: the range of {names[wide]} is {ratio} times that of {names[1 - wide]}. "
        "Distances in this picture are not those of the coordinates."
    )
    return (Y - low) / np.where(span > 0, span, 1.0), text
