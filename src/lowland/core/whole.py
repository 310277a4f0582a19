"""Whole numbers as arguments."""

from __future__ import annotations

import numbers
from typing import Any


def is_whole(value: Any, least: int) -> bool:
    """Return whether a value is a whole number of at least ``least``; True and False are none.

    >>> is_whole(3, 1), is_whole(0, 1), is_whole(2.0, 1), is_whole(True, 1)
    (True, False, False, False)
    """
    return not isinstance(value, bool) and isinstance(value, numbers.Integral) and int(value) >= least
