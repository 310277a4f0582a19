"""Rough seconds of judging a map, for plans."""

from __future__ import annotations

from ..core import settings
from .anchors import ALL, SAMPLED
from .geodesics import ALL_PAIRS, PAIRED, SAMPLE

# Rough seconds on one modest core; `python -m benchmarks.plan_seconds` shows how far they are off.
_REPORT_START_SECONDS = 0.05  # of any report, whatever its size
_COUNTED = 1.8e-8  # a row, ranked for an anchor
_PRODUCT = 4e-10  # a column of it
_SORT_SECONDS = 1.2e-7  # a row, sorted for an anchor of the curve
_PATH_SECONDS = 2e-7  # a row reached by a shortest path from another
_PAIR = 1.2e-6  # a pair whose distances are compared and sorted; a thousand columns of it take as much again
_DRAWING_SECONDS = 8e-6  # a point that is drawn


def report_seconds(n: int, width: int, *, pairs: int | None = None) -> float:
    """Return the rough time of `lowland.quality.report` for a table of n rows and a map of 2 dimensions.

    Ranks: A anchors × n rows × columns; the curve: sorting n rows for each of its anchors; paths: m sources in a graph
    of at most 5,000 rows; ``pairs``: those whose distances are compared, None for what a report takes by itself.

    >>> report_seconds(150, 4) < 1 < report_seconds(500_000, 40) < 120
    True
    """
    from .report import curve_anchors

    anchors, curve = n if n <= ALL else SAMPLED, curve_anchors("auto", n)
    graph = min(n, SAMPLE)
    sources = graph if graph <= ALL_PAIRS else PAIRED
    every = n * (n - 1) / 2
    if pairs is None:  # all are sorted up to 5,000 rows, and summed up to 10,000, which is quicker
        pairs = int(every if n <= 5000 else 4e6 if n <= ALL else 1e6)
    work = anchors * n * (_COUNTED + _PRODUCT * width)
    work += _SORT_SECONDS * (curve if isinstance(curve, int) else n) * n
    work += _PATH_SECONDS * sources * graph + _PRODUCT * graph**2 * width
    work += _PAIR * min(every, pairs) * (1 + width / 1000)
    return _REPORT_START_SECONDS + work / settings.threads()


def picture_seconds(n: int) -> float:
    """Return the rough time of the two pictures of a report's page."""
    return 1.0 + _DRAWING_SECONDS * n
