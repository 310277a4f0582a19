"""When a map is called good, fair or poor: one rule for evaluations, reports and comparisons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# From where on a value is called good or fair: rules of thumb, explained in the documentation.
NEIGHBOURS = (0.95, 0.85)
DISTANCES = (0.9, 0.6)
DIRECT, GEODESIC = "distances", "geodesic distances"


@dataclass(frozen=True)
class Verdict:
    """Four figures of a map and what they are called.

    ``trustworthiness`` and ``continuity`` are of neighbours; ``direct`` is the rank correlation of distances in the map
    with those of the data, ``geodesic`` with shortest paths between neighbours in the data. NaN where there is none.

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
        """Good, fair or poor, by what is judged: neighbours, distances, geodesic distances."""
        out = {"neighbours": word(min(self.trustworthiness, self.continuity), NEIGHBOURS)}
        for name, value in ((DIRECT, self.direct), (GEODESIC, self.geodesic)):
            if not np.isnan(value):
                out[name] = word(value, DISTANCES)
        return out

    @property
    def poor(self) -> list[str]:
        """What the map shows poorly."""
        return [name for name, said in self.words.items() if said == "poor"]

    def sentence(self, more: str = "") -> str:
        """Say it in words; ``more`` is added to the figures of neighbours."""
        said = self.words
        near = f"trustworthiness {self.trustworthiness:.3f}, continuity {self.continuity:.3f}{more}"
        out = [f"Neighbours: {said['neighbours']} ({near})."]
        if DIRECT in said:
            out.append(f"Distances: {said[DIRECT]} (rank correlation {self.direct:.3f}).")
        if GEODESIC in said:
            out.append(f"Geodesic distances: {said[GEODESIC]} ({self.geodesic:.3f}).")
        return " ".join(out)


def word(value: float, steps: tuple[float, float]) -> str:
    """Return good, fair or poor."""
    return "good" if value >= steps[0] else "fair" if value >= steps[1] else "poor"
