"""The order of candidates: criteria with intervals, and when a difference says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.measure import Measure
from ..quality.intervals import jackknife

Array = Any
Entry = Mapping[str, Any]

SAME = 0.01  # scores that differ by less are alike, however sure the difference is
QUICK = 0.05  # what may be lost for speed where speed is wanted
PREFERENCES = ("balanced", "local", "global", "target", "speed")
SIDES = ("training", "held-out")
WORDS = {"local": "neighbours", "global": "distances", "target": "class accuracy"}
_RANGE = {"local": (-1.0, 1.0), "global": (-1.0, 1.0), "target": (0.0, 1.0)}  # no interval leaves what can be


class Judge:
    """Holds candidates against each other, by what all of them have.

    A criterion is the mean of fitted and held-out rows. Where one candidate places no held-out rows, all are judged by
    the fitted ones alone: figures of other rows cannot be compared.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.sides: dict[str, tuple[str, ...]] = {}
        for name in WORDS if entries else ():
            found = [entry["criteria"].get(name, {}) for entry in entries]
            shared = tuple(side for side in SIDES if all(side in sides for sides in found))
            if shared:
                self.sides[name] = shared

    @property
    def criteria(self) -> list[str]:
        """The criteria of the score: neighbours, distances, and classes where there is a target."""
        return list(self.sides)

    def value(self, entry: Entry, criterion: str) -> float:
        """Return a criterion."""
        sides = entry["criteria"][criterion]
        return float(np.mean([sides[side]["value"] for side in self.sides[criterion]]))

    def _without(self, entry: Entry, criterion: str) -> Array:
        """Return the same without each fold of the rows, fitted and held-out ones at once."""
        sides = entry["criteria"][criterion]
        return np.mean([sides[side]["without"] for side in self.sides[criterion]], axis=0)

    def measure(self, entry: Entry, criterion: str) -> Measure:
        """Return a criterion with its 95 % interval: what other rows would give on this map."""
        middle = self.value(entry, criterion)
        half = jackknife(self._without(entry, criterion))
        least, most = _RANGE[criterion]
        below, above = half, half
        if criterion == "target":  # of m rows without an error, others may still have a share of 3/m (rule of three)
            sides = entry["criteria"][criterion]
            missed = float(np.mean([min(1.0, 3 / sides[side]["rows"]) for side in self.sides[criterion]]))
            below, above = max(half, missed * middle), max(half, missed * (1 - middle))
        low, high = max(middle - below, least), min(middle + above, most)
        return Measure(middle, min(low, middle), max(high, middle), exact=False)

    def score(self, entry: Entry, criteria: Sequence[str] | None = None) -> float:
        """Return the mean of the criteria."""
        return float(np.mean([self.value(entry, name) for name in criteria or self.criteria]))

    def difference(self, a: Entry, b: Entry, criteria: Sequence[str] | None = None) -> tuple[float, float]:
        """Return by how much a is above b, and the half width of the 95 % interval of that.

        Both were measured without the same rows in turn, so the differences are taken fold by fold (a paired
        comparison): what makes a fold hard for both is not held against either.
        """
        names = criteria or self.criteria
        without = [self._without(a, name) - self._without(b, name) for name in names]
        return self.score(a, names) - self.score(b, names), jackknife(np.mean(without, axis=0))

    def tied(self, a: Entry, b: Entry, criteria: Sequence[str] | None = None) -> bool:
        """Tell whether two cannot be told apart: the interval of their difference holds 0, or it is tiny."""
        middle, half = self.difference(a, b, criteria)
        return abs(middle) <= max(half, SAME)

    def ranked(self, entries: Sequence[Entry], criteria: Sequence[str] | None = None) -> list[Entry]:
        """Return candidates in the order of their score, best first; equal ones in the order they ran."""
        return sorted(entries, key=lambda entry: -self.score(entry, criteria))


def seconds(entry: Entry) -> float:
    """Return the time of the fit."""
    return float(entry["seconds"]["fit"])
