"""The order of candidates: criteria with intervals, and when a difference says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..measure import Measure

Entry = Mapping[str, Any]

SAME = 0.01  # scores that differ by less are alike, however sure the difference is
QUICK = 0.05  # what may be lost for speed where speed is wanted
PREFERENCES = ("balanced", "local", "global", "target", "speed")
_SIDES = ("training", "held-out")
_RANGE = {"local": (-1.0, 1.0), "global": (-1.0, 1.0), "target": (0.0, 1.0)}  # no interval leaves what can be


def scored(entries: Sequence[Entry]) -> list[str]:
    """Return the criteria of the score: neighbours, distances, and classes where there is a target."""
    names = ["local", "global", "target"]
    return [name for name in names if entries and all(name in entry["criteria"] for entry in entries)]


def value(entry: Entry, criterion: str) -> float:
    """Return a criterion: the mean of fitted and held-out rows, of fitted ones alone where there are no others."""
    sides = entry["criteria"][criterion]
    return float(np.mean([sides[side]["value"] for side in _SIDES if side in sides]))


def measure(entry: Entry, criterion: str) -> Measure:
    """Return a criterion with the interval that other rows of the same kind would give."""
    sides = entry["criteria"][criterion]
    middle = value(entry, criterion)
    half = _half([{side: np.array(sides[side]["folds"]) for side in _SIDES if side in sides}])
    least, most = _RANGE[criterion]
    low, high = max(middle - half, least), min(middle + half, most)
    return Measure(middle, min(low, middle), max(high, middle), exact=False)


def score(entry: Entry, criteria: Sequence[str]) -> float:
    """Return the mean of the criteria."""
    return float(np.mean([value(entry, name) for name in criteria]))


def difference(a: Entry, b: Entry, criteria: Sequence[str]) -> tuple[float, float]:
    """Return by how much a is above b, and the half width of the 95 % interval of that.

    Both were measured on the same folds of rows, so the differences of each fold are taken (a paired comparison): what
    makes a fold hard for both is not held against either.
    """
    middle, parts = [], []
    for name in criteria:
        left, right = a["criteria"][name], b["criteria"][name]
        sides = [side for side in _SIDES if side in left and side in right]
        middle.append(np.mean([left[side]["value"] - right[side]["value"] for side in sides]))
        parts.append({side: np.subtract(left[side]["folds"], right[side]["folds"]) for side in sides})
    return float(np.mean(middle)), _half(parts)


def _half(parts: Sequence[Mapping[str, Any]]) -> float:
    """Return the half width of the interval of the mean of criteria, each the mean of its sides.

    Criteria of a side are seen on the same F folds, so they are added fold by fold before their variance s²/F is taken.
    Sides have no row in common: their variances add up, with the degrees of freedom of Welch and Satterthwaite.
    """
    from scipy.special import stdtrit

    variances, freedom = [], []
    for side in _SIDES:
        added = [part[side] / (len(parts) * len(part)) for part in parts if side in part]
        if added:
            folds = np.sum(added, axis=0)
            variances.append(float(np.var(folds, ddof=1)) / len(folds))
            freedom.append(len(folds) - 1)
    v = np.array(variances)
    if not v.any():
        return 0.0
    return float(stdtrit(v.sum() ** 2 / (v**2 / freedom).sum(), 0.975) * np.sqrt(v.sum()))


def tied(a: Entry, b: Entry, criteria: Sequence[str]) -> bool:
    """Tell whether two candidates cannot be told apart: the interval of their difference holds 0, or it is tiny."""
    middle, half = difference(a, b, criteria)
    return abs(middle) <= max(half, SAME)


def ranked(entries: Sequence[Entry], criteria: Sequence[str]) -> list[Entry]:
    """Return the candidates in the order of their score, best first; equal ones in the order they ran."""
    return sorted(entries, key=lambda entry: -score(entry, criteria))


def seconds(entry: Entry) -> float:
    """Return the time of the fit."""
    return float(entry["seconds"]["fit"])
