"""How much of a text consists of terms that the training texts do not have, by weight.

A training text counts as if it were not among them: a term that too few other texts have is unknown. The share is
relative to what chance gives in a text of this length, so that short texts are judged, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..shared.row_tails import LEAST_ROWS, ranks

Array = Any


def weight_of_unknown(features: str, n_texts: int) -> float:
    """Return the weight of a term that no training text has; see `global_weights`."""
    return 1.0 + float(np.log(1.0 + n_texts)) if features == "tfidf" else 1.0


def excess_of_unknown(known: Array, unknown: Array, unit: float, mean: float, variance: float) -> Array:
    """Return by how many standard errors the share of unknown terms exceeds the mean share of the training texts.

    (a(s) − a(p))/√(1/(4m) + v) for m terms of unit weight, where a(s) = arcsin √s, of which the variance hardly depends
    on s; v is its variance between the training texts.

    >>> excess_of_unknown(np.array([95.0, 2.0]), np.array([5.0, 8.0]), 1.0, 0.05, 0.0).round(1).tolist()
    [0.0, 5.6]
    """
    whole = np.maximum(known + unknown, unit)
    return np.asarray(_angles(unknown / whole, mean) / np.sqrt(unit / (4 * whole) + variance))


def _angles(shares: Array, mean: float) -> Array:
    return np.arcsin(np.sqrt(np.clip(shares, 0.0, 1.0))) - np.arcsin(np.sqrt(mean))


def summary(counts: Any, keep: Array, weights: Array, unit: float, least: float) -> Mapping[str, Any] | None:
    """Return the summary of the training texts; None of too few.

    ``counts`` has a column for each term that occurs, ``keep`` are those with ``weights``, and a term of fewer than
    ``least`` texts is not kept.
    """
    n = counts.shape[0]
    if n < LEAST_ROWS:
        return None
    occurring = np.bincount(counts.indices, minlength=counts.shape[1])
    known_to_others = np.zeros(counts.shape[1])
    known_to_others[keep] = np.where(occurring[keep] - 1 >= max(least, 1), weights, 0.0)
    unknown_to_others = np.where(known_to_others > 0, 0.0, unit)
    known, unknown = counts @ known_to_others, counts @ unknown_to_others
    there = known + unknown > 0
    known, unknown, n = known[there], unknown[there], int(there.sum())
    if n < LEAST_ROWS:
        return None
    whole = known + unknown
    mean = min(max(float(unknown.sum() / whole.sum()), 1 / (2 * n)), 1 - 1 / (2 * n))  # neither 0 nor 1 is certain
    expected = float(np.mean(unit / (4 * np.maximum(whole, unit))))
    variance = max(float(np.mean(_angles(unknown / whole, mean) ** 2)) - expected, 0.0)
    found = excess_of_unknown(known, unknown, unit, mean, variance)
    return {"rows": n, "mean": mean, "variance": variance, "values": np.sort(found)[::-1][ranks(n) - 1]}
