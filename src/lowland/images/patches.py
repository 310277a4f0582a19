"""Images cut into square patches, and put together again."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def cut(image: Array, side: int) -> Array:
    """Return the patches of an image as rows, from left to right and down; its edge is repeated to fill the last ones.

    >>> cut(np.arange(6).reshape(2, 3), 2).tolist()
    [[0, 1, 3, 4], [2, 2, 5, 5]]
    """
    height, width = image.shape[:2]
    down, across = -(-height // side), -(-width // side)
    spare = [(0, down * side - height), (0, across * side - width)] + [(0, 0)] * (image.ndim - 2)
    full = np.pad(image, spare, mode="edge")
    blocks = full.reshape(down, side, across, side, -1).swapaxes(1, 2)
    return blocks.reshape(down * across, -1)


def join(rows: Array, shape: tuple[int, ...], side: int) -> Array:
    """Return the image of which these are the patches.

    >>> image = np.arange(15).reshape(3, 5)
    >>> bool((join(cut(image, 2), image.shape, 2) == image).all())
    True
    """
    height, width = shape[:2]
    down, across = -(-height // side), -(-width // side)
    blocks = rows.reshape(down, across, side, side, -1).swapaxes(1, 2)
    full = blocks.reshape(down * side, across * side, -1)[:height, :width]
    return full.reshape(shape)
