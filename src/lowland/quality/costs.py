"""Rough times, in seconds, of evaluating a map, for plans."""

from __future__ import annotations

from ..core import settings
from .anchors import ALL, SAMPLED
from .geodesics import ALL_PAIRS, PAIRED, SAMPLE

# Seconds on one modest core; `python -m benchmarks.plan_seconds` measures their error.
_REPORT_START_SECONDS = 0.05  # for a report of any size
_RANK_SECONDS = 1.8e-8  # for each pair of anchor and row
_COLUMN_SECONDS = 4e-10  # for each column of such a pair
_SORT_SECONDS = 1.2e-7  # for each row sorted for an anchor of the curve
_PATH_SECONDS = 2e-7  # for each shortest path
_PAIR_SECONDS = 1.2e-6  # for each pair whose distances are compared and sorted; doubled by 1,000 columns
_DRAWING_SECONDS = 8e-6  # for each point drawn


def report_seconds(n: int, width: int, *, pairs: int | None = None) -> float:
    """Return the rough time of `lowland.quality.report` for a table of n rows and a map of 2 dimensions.

    Ranks: A anchors × n rows × columns; the curve: sorting n rows for each of its anchors; paths: m sources in a graph
    of at most 5,000 rows; ``pairs``: number of pairs whose distances are compared, None for the default of a report.

    >>> report_seconds(150, 4) < 1 < report_seconds(500_000, 40) < 120
    True
    """
    from .report import curve_anchors

    anchors, curve = n if n <= ALL else SAMPLED, curve_anchors("auto", n)
    graph = min(n, SAMPLE)
    sources = graph if graph <= ALL_PAIRS else PAIRED
    every = n * (n - 1) / 2
    if pairs is None:  # all pairs are sorted up to 5,000 rows, and summed (which is faster) up to 10,000
        pairs = int(every if n <= 5000 else 4e6 if n <= ALL else 1e6)
    work = anchors * n * (_RANK_SECONDS + _COLUMN_SECONDS * width)
    work += _SORT_SECONDS * (curve if isinstance(curve, int) else n) * n
    work += _PATH_SECONDS * sources * graph + _COLUMN_SECONDS * graph**2 * width
    work += _PAIR_SECONDS * min(every, pairs) * (1 + width / 1000)
    return _REPORT_START_SECONDS + work / settings.threads()


def picture_seconds(n: int) -> float:
    """Return the rough time of drawing the two figures of a report."""
    return 1.0 + _DRAWING_SECONDS * n
