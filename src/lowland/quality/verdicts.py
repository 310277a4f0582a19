"""The rule by which a map is called good, fair or poor, in evaluations, reports and comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Least values that are called good and fair: rules of thumb, explained in the documentation.
NEIGHBOURS = (0.95, 0.85)
DISTANCES = (0.9, 0.6)
DIRECT, GEODESIC = "distances", "geodesic distances"


@dataclass(frozen=True)
class Verdict:
    """Four measures of a map, and the words for them.

    ``trustworthiness`` and ``continuity`` measure neighbours; ``direct`` is the rank correlation of distances in the
    map with those in the data, ``geodesic`` with shortest paths between neighbours in the data. NaN if not available.

    Examples
    --------
    >>> Verdict(0.99, 0.98, 0.371, 0.77).sentence()
    'Neighbours: good (trustworthiness 0.990, continuity 0.980). Distances: poor (rank correlation 0.371). Geodesic \
distances: fair (0.770).'
    """

    trustworthiness: float
    continuity: float
    direct: float = np.nan
    geodesic: float = np.nan

    @property
    def words(self) -> dict[str, str]:
        """Good, fair or poor for each of neighbours, distances and geodesic distances."""
        out = {"neighbours": word(min(self.trustworthiness, self.continuity), NEIGHBOURS)}
        for name, value in ((DIRECT, self.direct), (GEODESIC, self.geodesic)):
            if not np.isnan(value):
                out[name] = word(value, DISTANCES)
        return out

    @property
    def poor(self) -> list[str]:
        """Names of what is poor."""
        return [name for name, word in self.words.items() if word == "poor"]

    def sentence(self, more: str = "") -> str:
        """Return a summary; ``more`` is appended to the values of neighbours."""
        words = self.words
        near = f"trustworthiness {self.trustworthiness:.3f}, continuity {self.continuity:.3f}{more}"
        out = [f"Neighbours: {words['neighbours']} ({near})."]
        if DIRECT in words:
            out.append(f"Distances: {words[DIRECT]} (rank correlation {self.direct:.3f}).")
        if GEODESIC in words:
            out.append(f"Geodesic distances: {words[GEODESIC]} ({self.geodesic:.3f}).")
        return " ".join(out)


def word(value: float, steps: tuple[float, float]) -> str:
    """Return good, fair or poor."""
    return "good" if value >= steps[0] else "fair" if value >= steps[1] else "poor"
