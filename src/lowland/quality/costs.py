"""Rough seconds of judging a map, for plans."""

from __future__ import annotations

import math

from .. import settings
from .anchors import ALL, SAMPLED
from .paths import ALL_PAIRS, PAIRED, SAMPLE

# Seconds on one modest core, fitted to `python -m benchmarks.plan_seconds`.
_START = 0.15  # of any report, whatever its size
_PRODUCT = 8e-11  # a column of a row, compared with an anchor
_COUNTED = 2.5e-9  # a row, ranked for an anchor
_SORTED = 1.2e-8  # a row, sorted for an anchor of the curve, times log₂ of all rows
_EDGE = 2e-7  # a row reached by a shortest path from another
_PAIR = 3e-7  # a pair whose distances are compared, and a column of it a hundredth
_DRAWN = 8e-6  # a point that is drawn


def report_seconds(n: int, width: int, coordinates: int = 2) -> float:
    """Return the rough time of `lowland.quality.report` for a table of n rows and a map.

    Ranks: A anchors × n rows × columns; the curve: sorting n rows for each of its anchors; paths: m sources in a graph
    of at most 5,000 rows; pairs: at most a million where there are more than 10,000 rows.

    >>> report_seconds(150, 4) < 1 < report_seconds(500_000, 40) < 120
    True
    """
    from .report import curve_anchors

    anchors = n if n <= ALL else SAMPLED
    curve = curve_anchors("auto", n)
    curve = n if not isinstance(curve, int) else curve
    graph = min(n, SAMPLE)
    sources = graph if graph <= ALL_PAIRS else PAIRED
    pairs = min(n * (n - 1) / 2, 1e6 if n > ALL else 1.25e7)
    work = _PRODUCT * anchors * n * (width + coordinates) + _COUNTED * anchors * n
    work += _SORTED * curve * n * math.log2(max(n, 2)) / 10
    work += _EDGE * sources * graph + _PRODUCT * graph**2 * width
    work += _PAIR * pairs * (1 + width / 100)
    return _START + work / settings.threads()


def picture_seconds(n: int) -> float:
    """Return the rough time of the two pictures of a report's page."""
    return 1.0 + _DRAWN * n
