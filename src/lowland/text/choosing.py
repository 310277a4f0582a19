"""How many concepts an index keeps, without judgements of relevance."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_CONCEPTS = 300
MIN_CONCEPTS = 2
HELD = 0.5


def concepts_needed(singular_values: Any, energy: float) -> int:
    """Return the fewest concepts that hold half of ‖X‖², at least 2 and at most 300.

    Few concepts merge unrelated subjects; many keep the words as they are. About 300 is where searches of large
    collections are best (Landauer & Dumais 1997; Bradford 2008). Deerwester's example of 9 titles gets its 2.

    >>> concepts_needed(np.array([3.34, 2.54, 2.35, 1.64, 1.50, 1.31, 0.85, 0.56, 0.36]), 29.0)
    2
    """
    held = np.cumsum(np.asarray(singular_values, dtype=np.float64) ** 2) / energy
    needed = int(np.searchsorted(held, HELD)) + 1
    return min(max(needed, MIN_CONCEPTS), MAX_CONCEPTS, len(held))
