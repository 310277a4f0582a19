"""Names of columns that are pixels of images, and the shape of the images that such names tell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

COLOURS = ("red", "green", "blue")
_NAME = re.compile(r"pixel_(\d+)_(\d+)(?:_(red|green|blue))?", re.ASCII)


def pixel_names(height: int, width: int, *, colour: bool = False, start: int = 0) -> list[str]:
    """Return the names of pixels, row by row, as scikit-learn's digits have them; with one for each colour.

    >>> pixel_names(1, 2), pixel_names(1, 1, colour=True)
    (['pixel_0_0', 'pixel_0_1'], ['pixel_0_0_red', 'pixel_0_0_green', 'pixel_0_0_blue'])
    """
    ends = [f"_{name}" for name in COLOURS] if colour else [""]
    rows, columns = range(start, start + height), range(start, start + width)
    return [f"pixel_{i}_{j}{end}" for i in rows for j in columns for end in ends]


def is_pixel(name: str) -> bool:
    """Return whether a column is named as a pixel.

    >>> is_pixel("pixel_0_12"), is_pixel("pixels")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def pixel_shape(names: Iterable[str] | None) -> tuple[int, ...] | None:
    """Return height and width of images, and 3 if they have colours, where all columns are named as pixels in order.

    Rows and columns may be counted from 0 or from 1. None if the names tell no image, or some pixels are left out.

    >>> pixel_shape(pixel_names(8, 6)), pixel_shape(pixel_names(2, 2, colour=True)), pixel_shape(["age", "height"])
    ((8, 6), (2, 2, 3), None)
    """
    listed = [] if names is None else [str(name) for name in names]
    ends = [_NAME.fullmatch(listed[i]) for i in (0, -1)] if listed else [None]
    first, last = ends[0], ends[-1]
    if first is None or last is None:
        return None
    start, colour = int(first[1]), first[3] is not None
    height, width = int(last[1]) - start + 1, int(last[2]) - start + 1
    shape = (height, width, 3) if colour else (height, width)
    if start > 1 or min(shape) < 1 or math.prod(shape) != len(listed):
        return None
    return shape if listed == pixel_names(height, width, colour=colour, start=start) else None
