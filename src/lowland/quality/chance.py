"""Does a map say more of its data than one whose rows were shuffled?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.measures import BoundMetric, RuleRows
from ..pairwise import tiles
from ..reducer import seed
from .ranks import RankTable
from .spaces import Sides, distances_from, distances_of

Array = Any

POINTS = 300  # points whose distances are compared with those of shuffled ones
SHUFFLES = 199
_BLOCK = 1 << 21  # distances at a time
_DEVIATIONS = 6.0  # neighbours come in clumps, so their shares scatter more than independent draws


def by_chance(both: Sides, table: RankTable, random_state: Any = None) -> bool:
    """Tell whether near and far are as in a map whose rows were shuffled.

    Near: of k neighbours a shuffled map shares the share k/(n − 1), with the variance of draws without replacement.
    Far: the rank correlation of distances is not above those of 199 shufflings (Mantel 1967). Both must be so.

    References
    ----------
    N. Mantel, The detection of disease clustering and a generalized regression approach, Cancer Research 27 (1967).
    """
    return _near_by_chance(table) and _far_by_chance(both, seed(random_state))


def _near_by_chance(table: RankTable) -> bool:
    n, k = table.n, table.n_neighbors
    p = k / (n - 1)
    spread = p * (1 - p) * (n - 1 - k) / (max(1, n - 2) * k)
    return bool(table.shared.mean() <= p + _DEVIATIONS * np.sqrt(spread / len(table.shared)))


def _far_by_chance(both: Sides, rng: np.random.Generator) -> bool:
    from scipy.stats import rankdata

    m = min(both.n, POINTS)
    some = np.sort(rng.choice(both.n, m, replace=False))
    upper = np.triu_indices(m, 1)
    A, B = np.zeros((m, m)), np.zeros((m, m))
    for square, side in ((A, both.data), (B, both.map)):
        ranks = rankdata(_pairs(side, some[upper[0]], some[upper[1]]))
        if not np.ptp(ranks) > 0:
            return False  # equal distances have no order to be kept
        square[upper] = ranks - ranks.mean()
    B += B.T  # A has each pair once
    own = float(np.vdot(A, B))
    for _ in range(SHUFFLES):
        order = rng.permutation(m)
        if float(np.vdot(A, B[order][:, order])) >= own:
            return True
    return False


def _pairs(side: BoundMetric, i: Array, j: Array) -> Array:
    """Return the distances of pairs; a metric that compares blocks compares with all points, a few at a time."""
    if not isinstance(side, RuleRows):
        return distances_of(side, i, j)
    some, first = np.unique(i, return_inverse=True)
    out = np.empty(len(i))
    for part in tiles(len(some), max(8, _BLOCK // side.n)):
        here = (first >= part.start) & (first < part.stop)
        out[here] = distances_from(side, some[part])[first[here] - part.start, j[here]]
    return out
