"""Labels of points, centres and arrows: text, place, and the sides on which they may stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Positions of a label relative to its point, in order of preference.
SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


@dataclass(frozen=True)
class Label:
    """A text beside a place of the map; ``kind`` is "name" (of a row), "center" or "arrow"."""

    text: str
    place: tuple[float, ...]
    kind: str = "name"
    gap: float = 4.0  # points between the place and the text
    toward: tuple[float, float] | None = None  # direction of the preferred side

    @property
    def sides(self) -> tuple[tuple[int, int], ...]:
        """Sides to try, in order."""
        if self.toward is not None:
            length = float(np.hypot(*self.toward)) or 1.0
            x, y = (part / length for part in self.toward)
            return tuple(sorted(SIDES, key=lambda side: -(x * side[0] + y * side[1]) / float(np.hypot(*side))))
        return ((0, 1), *SIDES) if self.kind == "center" else SIDES

    @property
    def max_covered(self) -> float:
        """Largest share of the label that may lie over points; labels with a box may cover them."""
        return 0.2 if self.kind == "name" else float("inf")
