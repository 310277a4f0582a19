"""Rows that nearly repeat another, such as a second measurement of the same thing.

Distances within such a group describe the measurement error, and distances between groups the shape. A neighbourhood
that contains both has no meaningful dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..graph.distinct import numbered
from .points import FEWEST, Points, choose_anchors

Array = Any

GAP = 10.0  # a neighbour this many times farther than the previous one is in another group; by chance 10^−d are
REACH = 7  # most repetitions of a row
MOST = 0.5  # rows count as repeated if more than this share has a repetition
GROUPED = 20_000  # most points, drawn at random, whose groups are searched among all points


def repeats(distances: Array) -> Array:
    """Return the number of neighbours that repeat each point: those before the first gap.

    >>> repeats(np.array([[1e-6, 1.0, 1.1], [0.9, 1.0, 1.1]])).tolist()
    [1, 0]
    """
    near = distances[:, : REACH + 1]
    gaps = near[:, 1:] > GAP * near[:, :-1]
    return np.where(gaps.any(axis=1), gaps.argmax(axis=1) + 1, 0)


def repeated(distances: Array) -> bool:
    """Return whether most points have a repetition; by chance a tenth has in one dimension, fewer in more."""
    return bool(np.mean(repeats(distances) > 0) > MOST)


def one_of_each(points: Points, rng: np.random.Generator) -> Points:
    """Return the first point of each group, or all points if there are too few groups.

    For many points, only the groups of a random sample are searched among all points.
    """
    numbers = choose_anchors(points.n, "auto", rng, "estimate", GROUPED)
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


def repeats_note(before: Points, after: Points) -> str:
    """Return the note that rows repeat others, and how they were treated."""
    if after.n == before.n:
        return (
            "most rows are ten times as near to one row as to the next, like repeated measurements, and there are "
            f"fewer than {FEWEST} groups: too few to estimate the dimension, so the estimate is unreliable"
        )
    if before.n > GROUPED:
        return (
            f"most of {before.n:,} rows are ten times as near to one row as to the next, like repeated measurements: "
            f"one row of each group is used, from {GROUPED:,} random rows ({after.n:,} groups)"
        )
    return (
        f"{before.n - after.n:,} of {before.n:,} rows are ten times as near to one row as to the next, like repeated "
        "measurements: one row of each group is used"
    )
