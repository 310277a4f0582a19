"""Rough seconds of a comparison, for plans."""

from __future__ import annotations

from typing import Any

from ..contract.plan import plan
from ..core import settings
from ..core.errors import MissingExtraError
from . import candidates
from .dataset import HELD_OUT, SAMPLE

# Rough seconds on one modest core.
_START_SECONDS = 5.0  # of the process that fits, and of a first look at the data
_MEASURED = 8e-8  # a row, ranked for an anchor
_ANCHORS = 2000
_DIMENSIONS = 1.5e-7  # counting dimensions: a pair of rows
_SETTINGS = 15  # further candidates of the search: three settings of the five best methods
_SETTING = 1.0  # what one of them takes, of the mean candidate: a comparison of digits took 78 s where 0.3 said 35


def compare_seconds(n: int, width: int, *, pairwise: bool = False, n_components: int = 2) -> float:
    """Return the rough time of `lowland.compare` with its default candidates and no limit of time.

    >>> 5 < compare_seconds(150, 4) < 60 < compare_seconds(100_000, 50)
    True
    """
    rows = min(n, SAMPLE)
    fitted = max(3, int((1 - HELD_OUT) * rows))
    kind = "distances" if pairwise else "rows"
    plans: list[float] = []
    for name in candidates.automatic(kind)[0]:
        made, _ = candidates.first_of([name], kind, n_components, "precomputed" if pairwise else "euclidean", 0)
        plans += [_planned(candidate.build(), fitted, fitted if pairwise else width) for candidate in made]
    each = 0.2 + _MEASURED * min(rows, _ANCHORS) * rows / settings.threads()
    fits = sum(plans) * (1 + _SETTINGS * _SETTING / max(len(plans), 1))
    counted = 0.0 if pairwise else _DIMENSIONS * rows * rows / settings.threads()
    return _START_SECONDS + fits + each * (len(plans) + _SETTINGS) + counted


def _planned(model: Any, rows: int, width: int) -> float:
    """Return the planned seconds of a fit, 0 where it cannot be planned."""
    try:
        return float(plan(model, shape=(rows, width)).seconds)
    except (ValueError, MissingExtraError):
        return 0.0
