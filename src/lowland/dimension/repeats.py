"""Rows that nearly repeat another, such as a second measurement of the same thing.

The distances within such a group tell the error of measurement and those between groups the shape, with nothing in
between. Neighbourhoods of both have no dimension: neighbours come in pairs of one direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..graph.distinct import numbered
from .points import FEWEST, Points, choose_anchors

Array = Any

GAP = 10.0  # a neighbour so many times farther than the last one is of another group: by chance 10^−d of them are
REACH = 7  # neighbours that may repeat a row
MOST = 0.5  # of all rows
LOOKED_AT = 20_000  # points whose groups are looked for; of more, a random choice: each is compared with all others


def repeats(distances: Array) -> Array:
    """Return how many neighbours repeat each point: those before the first gap, or none.

    >>> repeats(np.array([[1e-6, 1.0, 1.1], [0.9, 1.0, 1.1]])).tolist()
    [1, 0]
    """
    near = distances[:, : REACH + 1]
    gaps = near[:, 1:] > GAP * near[:, :-1]
    return np.where(gaps.any(axis=1), gaps.argmax(axis=1) + 1, 0)


def repeated(distances: Array) -> bool:
    """Tell whether most points have a neighbour that repeats them. Of one dimension or more a tenth has, by chance."""
    return bool(np.mean(repeats(distances) > 0) > MOST)


def one_of_each(points: Points, rng: np.random.Generator) -> Points:
    """Return the first point of each group; all of them where the groups are too few to say anything.

    Of many points only the groups of a random choice are looked for, among all points, and one of those chosen stands
    for each.
    """
    numbers = choose_anchors(points.n, "auto", rng, "estimate", LOOKED_AT)
    neighbors, distances = points.nearest(numbers, np.arange(points.n), REACH + 1)
    count = repeats(distances)
    linked = np.arange(neighbors.shape[1]) < count[:, None]
    links = sp.coo_array(
        (np.ones(int(linked.sum()), dtype=np.int8), (np.repeat(numbers, count), neighbors[linked])),
        shape=(points.n, points.n),
    )
    group = sp.csgraph.connected_components(links, directed=False)[1]
    first = numbers[numbered(group[numbers]).first]
    return points.part(first) if len(first) >= FEWEST else points


def told(before: Points, after: Points) -> str:
    """Say that rows repeat others, and what was done about it."""
    if after.n == before.n:
        return (
            "most rows lie ten times as near to another as to the next, and fewer than "
            f"{FEWEST} groups are left: neither the groups nor their rows tell a dimension"
        )
    if before.n > LOOKED_AT:
        return (
            f"most of {before.n:,} rows lie ten times as near to another as to the next, as repeated measurements do: "
            f"of {LOOKED_AT:,} random rows, one of each group is looked at ({after.n:,})"
        )
    return (
        f"{before.n - after.n:,} of {before.n:,} rows lie ten times as near to another as to the next, as repeated "
        "measurements do: one of each group is looked at"
    )
