"""Units of what methods on pairs learn: powers of the rows' unit, by the metric of the fit."""

from __future__ import annotations

from typing import Any

from ...pairs.distances import DEGREES
from ...rows.units import Power

CALL_SECONDS = 1e-6  # of a function in Python, roughly


def degree(model: Any) -> Power:
    """Return the power of the rows' unit that distances have by the metric of the fit."""
    return DEGREES.get(model.metric_, 0)


def double_degree(model: Any) -> Power:
    """Return the power of the rows' unit that squared distances have."""
    return 2 * degree(model)


def of_anchors(model: Any) -> Power:
    """Return the power that stored training objects have: 1 of rows, 0 of the numbers of precomputed objects."""
    return 0 if model._fitted_pairwise else 1
