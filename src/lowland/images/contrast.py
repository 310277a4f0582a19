"""Standardise each image: subtract its brightness and divide by its contrast."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = Any

CONTRAST, BRIGHTNESS = "contrast", "brightness"


class Standard(NamedTuple):
    """Standardised images as rows (n, pixels): z = (x − brightness)/contrast, both (n, 1)."""

    rows: Array
    brightness: Array
    contrast: Array

    def back(self, rows: Array) -> Array:
        """Return rows with the brightness and contrast of these images; the last two axes are (n, pixels)."""
        return rows * self.contrast + self.brightness


def standardized(rows: Array, how: str | None) -> Standard:
    """Subtract from each image the mean of its pixels ("brightness"); divide by their standard deviation ("contrast").

    An image of one value has no contrast; it becomes zeros.

    >>> standardized(np.array([[1.0, 3.0], [5.0, 5.0]]), "contrast").rows.tolist()
    [[-1.0, 1.0], [0.0, 0.0]]
    """
    kind, one = rows.dtype, np.ones((len(rows), 1))
    if how is None:
        return Standard(rows, 0 * one, one)
    mean = rows.mean(axis=1, keepdims=True, dtype=np.float64)
    off = rows - mean
    spread = np.sqrt((off * off).mean(axis=1, keepdims=True)) if how == CONTRAST else one
    flat = spread <= 1e-9 * np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    off = np.where(flat, 0.0, off)
    spread = np.where(flat, 1.0, spread)
    return Standard((off / spread).astype(kind, copy=False), mean, spread)


def is_flat(rows: Array) -> Array:
    """Return for each image whether all of its pixels have one value."""
    return rows.max(axis=1) == rows.min(axis=1)
