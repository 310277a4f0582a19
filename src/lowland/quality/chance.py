"""Test whether a map preserves its data better than a map with shuffled rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.measures import BoundMetric, RuleRows
from ..pairs.pairwise import tiles
from .anchors import check_seed
from .ranks import RankTable
from .spaces import Sides, distances_from, distances_of

Array = Any

POINTS = 300  # sampled points whose distances are compared with those of shuffled maps
SHUFFLES = 199
_LEAST_POINTS = 6  # five points have only 120 permutations
_DISTANCES_AT_ONCE = 1 << 21  # distances computed at a time
_DEVIATIONS = 6.0  # standard deviations: neighbours are correlated, so shares vary more than independent draws


def by_chance(both: Sides, table: RankTable, random_state: Any = None) -> bool:
    """Return whether the map is no better than one with shuffled rows, in neighbours and in distances.

    Neighbours: a shuffled map shares k/(n − 1) of k neighbours on average, with the variance of draws without
    replacement. Distances: the rank correlation is not above that of all of 199 shuffled maps (Mantel 1967). Both must
    hold. With fewer than 6 points there are too few permutations, and the result is False.

    References
    ----------
    N. Mantel, The detection of disease clustering and a generalized regression approach, Cancer Research 27 (1967).
    """
    if both.n < _LEAST_POINTS:
        return False
    return _near_by_chance(table) and _far_by_chance(both, np.random.default_rng(check_seed(random_state, "report")))


def _near_by_chance(table: RankTable) -> bool:
    n, k, seen = table.n, table.n_neighbors, table.anchors
    p = k / (n - 1)
    each = p * (1 - p) * (n - 1 - k) / (max(1, n - 2) * k)
    # groups may be sampled at different rates, and the mean weights each by its size
    spread = each * float(((seen.sizes / n) ** 2 / np.bincount(seen.strata)).sum())
    # with few points six deviations may exceed 1; a map halfway between chance and perfect is better than chance
    return bool(seen.mean(table.shared, grouped=False) <= p + min(_DEVIATIONS * np.sqrt(spread), (1 - p) / 2))


def _far_by_chance(both: Sides, rng: np.random.Generator) -> bool:
    from scipy.stats import rankdata

    m = min(both.n, POINTS)
    some = np.sort(rng.choice(both.n, m, replace=False))
    upper = np.triu_indices(m, 1)
    A, B = np.zeros((m, m)), np.zeros((m, m))
    for square, side in ((A, both.data), (B, both.map)):
        ranks = rankdata(_pairs(side, some[upper[0]], some[upper[1]]))
        if not np.ptp(ranks) > 0:
            return False  # equal distances have no order to preserve
        square[upper] = ranks - ranks.mean()
    B += B.T  # A has each pair once
    own = float(np.vdot(A, B))
    for _ in range(SHUFFLES):
        order = rng.permutation(m)
        while (
            order == np.arange(m)
        ).all():  # the identity is not a shuffle; for six points it occurs once in 720 draws
            order = rng.permutation(m)
        if float(np.vdot(A, B[order][:, order])) >= own:
            return True
    return False


def _pairs(side: BoundMetric, i: Array, j: Array) -> Array:
    """Return the distances of pairs; a metric of blocks is evaluated against all points, a few rows at a time."""
    if not isinstance(side, RuleRows):
        return distances_of(side, i, j)
    some, first = np.unique(i, return_inverse=True)
    out = np.empty(len(i))
    for part in tiles(len(some), max(8, _DISTANCES_AT_ONCE // side.n)):
        here = (first >= part.start) & (first < part.stop)
        out[here] = distances_from(side, some[part])[first[here] - part.start, j[here]]
    return out
