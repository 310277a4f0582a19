"""Time that may be spent: read from text, and shared out among candidates."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from typing import NamedTuple

from ..core.formatting import parse_quantity

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
LARGEST_SHARE = 0.25  # of the time left that one candidate may take while others wait


class Cause(StrEnum):
    """Why a candidate did not finish; "other" includes errors of the method."""

    BUDGET = "budget"  # it was used up before the candidate began
    PLAN = "plan"  # the estimated time was longer than the time left
    SEARCH = "search"  # by the time of the first try, other settings would take longer than the time left
    SHARE = "share"  # the candidate or its process took longer than its share of the time
    MEMORY = "memory"
    OTHER = "other"

    @property
    def out_of_time(self) -> bool:
        """Whether a larger budget would help."""
        return self in (Cause.BUDGET, Cause.PLAN, Cause.SEARCH, Cause.SHARE)


class Reason(NamedTuple):
    """Why a candidate did not finish, in words and as a value."""

    text: str
    cause: Cause = Cause.OTHER


def parse_seconds(text: float | str) -> float:
    """Read a time such as ``"90s"``, ``"5min"``, ``"1.5 h"`` or a number of seconds.

    >>> parse_seconds("5min"), parse_seconds("1.5 h"), parse_seconds(20)
    (300.0, 5400.0, 20.0)
    """
    value = parse_quantity(text, _UNITS)
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"cannot read {text!r} as a budget: write seconds or something like '90s', '5min' or '1h'")
    return value


class Clock:
    """The time that is left of a budget; without a budget, time is endless."""

    def __init__(self, seconds: float | None) -> None:
        self.budget = math.inf if seconds is None else seconds
        self._start = time.monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the start, without pauses."""
        return max(0.0, time.monotonic() - self._start)

    @property
    def left(self) -> float:
        """Seconds until the end, never below zero."""
        return min(self.budget, max(0.0, self.budget - self.spent))

    def pause(self, seconds: float) -> None:
        """Leave so many of the seconds that have passed out of the count.

        >>> clock = Clock(60)
        >>> clock.pause(5)
        >>> clock.left > 60 - 1e-9
        True
        """
        self._start += seconds

    def share(self, waiting: int, workers: int = 1) -> float:
        """Return the seconds that the next of so many candidates may take, on one of so many workers.

        Where each has a worker, it may take all that is left. Before, of what is left 2 workers/(waiting + workers),
        nearly twice an equal part, and a quarter where that is more: most candidates need less than their part, and
        none may take the time of all the others.
        """
        if waiting <= workers:
            return self.left
        return self.left * max(LARGEST_SHARE, 2.0 * workers / (waiting + workers))
