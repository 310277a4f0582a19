"""Neighbour purity: the share of a point's neighbours in its own group, in the data and in the map."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.measure import Measure
from ..core.message import Message, Owner
from .ranks import RankTable, rank_table
from .spaces import Metric, sides

Array = Any

_LOSS = 0.1  # a group that loses more purity is reported as mixed


@dataclass(frozen=True)
class Purity:
    """Mean share of a point's neighbours in its own group: in the data, in the map, and by chance.

    Shares are relative to the maximum for a group: in a group of m points, a point has at most m − 1 neighbours of its
    own group. ``data`` and ``map`` contain the same for each group in ``.groups``; ``mixed`` lists the groups whose
    purity drops by more than 0.1, worst first; ``small`` the groups of k points or fewer.
    """

    data: Measure
    map: Measure
    chance: float
    mixed: tuple[Hashable, ...]
    small: tuple[Hashable, ...] = ()

    @property
    def sentence(self) -> str:
        """A summary."""
        here, there = f"{self.map:.0%}", f"{self.data:.0%}"
        text = (
            f"{here} of a point's neighbours in the map are in its own group, {there} in the data, "
            f"{self.chance:.0%} by chance"
        )
        if self.small:
            text += " (relative to the maximum for a group of its size)"
        if self.mixed:
            named = ", ".join(str(name) for name in self.mixed[:3]) + (" and others" if len(self.mixed) > 3 else "")
            return f"{text}; the map mixes groups that are separate in the data: {named}."
        if self.map > self.data + _LOSS:
            return f"{text}; the map separates groups more than the data do."
        return f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "data": self.data.to_dict(),
            "map": self.map.to_dict(),
            "chance": self.chance,
            "mixed": [str(name) for name in self.mixed],
            "small": [str(name) for name in self.small],
        }


def neighbor_purity(
    X: Any,
    Y: Any,
    groups: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    anchors: int | str | None = "auto",
    random_state: int | None = None,
) -> Purity:
    """Measure how far a map mixes groups that are separate in the data.

    The purity of a point is the share of its k nearest neighbours in its own group, divided by the maximum for a group
    of m points, min(1, (m − 1)/k); tied neighbours count in part. A point alone in its group has no purity. An
    unsupervised reduction can lose groups: principal components keep the largest variance, and groups may differ in
    directions of small variance.

    Parameters
    ----------
    X, Y, n_neighbors, metric, anchors, random_state
        As in `trustworthiness`.
    groups : sequence
        A label for each point; points without a label (None, NaN) count as neighbours but have no purity.

    Examples
    --------
    Two groups that differ in a column of little variance:

    >>> rng = np.random.default_rng(0)
    >>> kind = np.repeat([0, 1], 100)
    >>> X = np.column_stack([rng.normal(0, 5, 200), rng.normal(0, 0.1, 200) + 2 * kind])
    >>> found = neighbor_purity(X, X[:, :1], kind)
    >>> found.data > 0.95, found.map < 0.6, sorted(found.mixed)
    (True, True, [0, 1])
    """
    if groups is None:
        raise ValueError(Message(Owner("neighbor_purity"), "groups must contain a label for each point; it is None"))
    space = sides(X, Y, metric, "neighbor_purity")
    return purity_of(rank_table(space, n_neighbors, anchors, random_state, groups, owner="neighbor_purity"))


def purity_of(table: RankTable) -> Purity:
    """Return the purity of a table of ranks that was computed with groups."""
    chosen = table.anchors
    if table.data_purity is None or table.map_purity is None or chosen.names is None or chosen.codes is None:
        raise DataError(Message(Owner("neighbor_purity"), "the table of ranks was computed without groups"))
    counts = np.bincount(chosen.codes[chosen.codes >= 0], minlength=len(chosen.names)).astype(np.float64)
    several = counts > 1
    if not several.any():
        raise DataError(Message(Owner("neighbor_purity"), "every group has a single point; give labels that repeat"))
    reach = np.where(several, np.minimum(1.0, (counts - 1) / table.n_neighbors), np.nan)
    data, map = (_mean(table, values, reach) for values in (table.data_purity, table.map_purity))
    sizes = counts[several]
    chance = float((sizes * (sizes - 1) / reach[several]).sum() / (sizes.sum() * (table.n - 1)))
    small = tuple(name for name, share in zip(chosen.names, reach, strict=True) if share < 1)
    before, after = data.groups or {}, map.groups or {}
    lost = {name: float(before[name]) - float(after[name]) for name in before}
    mixed = sorted((name for name in lost if lost[name] > _LOSS), key=lambda name: -lost[name])
    return Purity(data, map, chance, tuple(mixed), small)


def _mean(table: RankTable, values: Array, reach: Array) -> Measure:
    """Return the mean, relative to the maximum of each group, over points in groups of two or more."""
    chosen = table.anchors
    assert chosen.codes is not None
    assert chosen.names is not None
    of_points = np.where(chosen.codes >= 0, reach[chosen.codes], np.nan)
    relative = np.minimum(values / of_points[chosen.numbers], 1.0)
    found = chosen.mean(np.where(np.isnan(relative), 0.0, relative))
    share = float(np.isfinite(of_points).mean())
    alone = {name for name, most in zip(chosen.names, reach, strict=True) if np.isnan(most)}
    groups = {name: m for name, m in (found.groups or {}).items() if name not in alone}
    # points without a group were counted as zero: rescale the mean to the others
    value, low, high = (min(1.0, x / share) for x in (float(found), found.low, found.high))
    return Measure(value, low, high, exact=found.exact, groups=groups)
