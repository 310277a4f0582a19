"""What is measured of one candidate's map: each criterion as a value, and one for each fold of the rows.

The values of folds are the jackknife's: F θ − (F − 1) θ_f, with θ_f of all rows but those of fold f (Tukey 1958).
Their scatter tells how uncertain θ is, also where it is no mean over rows and where folds are small. Of more than 500
rows, neighbours are not searched again without a fold, and distances are measured within each fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .given import Given
from .structure import Truth, by_class, confused, guessed

Array = Any

SIDES = ("training", "held-out")
ANCHORS = 2000  # rows whose neighbours are compared; the same for every candidate
_ALL_ROLES = 500  # rows up to which all is measured again without each fold


@dataclass(frozen=True)
class Placed:
    """A map: the places of the rows that have one. Held-out rows have none where a method cannot place new rows."""

    Y: Array
    there: Array  # numbers of the compared rows


def criteria(given: Given, truth: Truth, placed: Placed, n_neighbors: int, along: bool) -> dict[str, Any]:
    """Return every criterion: its value for fitted and for held-out rows, and for each fold of them."""
    out = {"local": _local(given, placed, n_neighbors)}
    chosen = "along" if along and truth.along else "straight"
    for name, distances in (("straight", truth.straight), ("along", truth.along)):
        if distances:
            out[name] = _distances(given, distances, placed, folds=name == chosen)
    out["global"] = out[chosen]
    if given.target is not None:
        out["target"] = _target(given, placed, n_neighbors)
    return out


def _sides(given: Given, placed: Placed) -> dict[str, Array]:
    """Return the places in the map of fitted rows, and of held-out ones where there are some."""
    held = given.held[placed.there]
    return {name: np.flatnonzero(which) for name, which in zip(SIDES, (~held, held), strict=True) if which.any()}


def _local(given: Given, placed: Placed, n_neighbors: int) -> dict[str, Any]:
    """Neighbours: trustworthiness and continuity, each (x − chance)/(1 − chance), and their mean.

    So 0 is a map that knows nothing of the data, and 1 is one that keeps every neighbour.
    """
    n = len(placed.there)
    k = min(n_neighbors, n - 2)
    groups = 2 * given.fold[placed.there] + given.held[placed.there]
    parts = _kept(given, placed, k, groups)
    out: dict[str, Any] = {"n_neighbors": k}
    sizes = np.bincount(groups)
    for bit, side in enumerate(SIDES):
        labels = np.array([group for group in sorted(parts["continuity"]) if group % 2 == bit], dtype=np.int64)
        if not len(labels):
            continue
        weights = np.zeros(_folds(given, bool(bit)))
        weights[labels // 2] = sizes[labels]
        folds = {name: np.zeros(len(weights)) for name in parts}
        for name, values in parts.items():
            folds[name][labels // 2] = [values[group] for group in labels]
        out[side] = _averaged((folds["trustworthiness"] + folds["continuity"]) / 2, weights)
        if n <= _ALL_ROLES:
            without = [_local_without(given, placed, k, groups != label, bit) for label in labels]
            out[side]["folds"] = _jackknifed(out[side]["value"], np.array(without))
        out[side] |= {name: float(weights @ values / weights.sum()) for name, values in folds.items()}
    return out


def _kept(given: Given, placed: Placed, k: int, groups: Array) -> dict[str, dict[int, float]]:
    """Return trustworthiness and continuity of each group of the rows in the map, over chance."""
    from ..quality.rank_measures import at_chance, from_table
    from ..quality.ranks import rank_table
    from ..quality.spaces import sides

    n = len(placed.there)
    both = sides(_items(given, placed), placed.Y, given.metric, "compare")
    table = rank_table(both, k, min(n, ANCHORS), 0, groups, owner="compare")
    out = {}
    for name in ("trustworthiness", "continuity"):
        found, chance = from_table(name, table).groups, at_chance(name, n, k)
        assert found is not None
        out[name] = {int(group): (float(value) - chance) / (1 - chance) for group, value in found.items()}
    return out


def _local_without(given: Given, placed: Placed, k: int, left: Array, bit: int) -> float:
    """Return the criterion of one side without some rows: they are neither judged nor anybody's neighbours."""
    fewer = Placed(placed.Y[left], placed.there[left])
    found = _kept(given, fewer, min(k, len(fewer.there) - 2), given.held[fewer.there].astype(np.int64))
    return (found["trustworthiness"][bit] + found["continuity"][bit]) / 2


def _folds(given: Given, held: bool) -> int:
    """Return how many folds the fitted or the held-out rows have."""
    return int(given.fold[given.held == held].max()) + 1


def _averaged(means: Array, sizes: Array) -> dict[str, Any]:
    """Return the mean over all rows, given that of each fold, and the jackknife's values."""
    total = sizes.sum()
    value = float(sizes @ means / total)
    rest = total - sizes
    without = np.where(rest > 0, (total * value - sizes * means) / np.where(rest > 0, rest, 1), value)
    return {"value": value, "folds": _jackknifed(value, without)}


def _jackknifed(value: float, without: Array) -> list[float]:
    count = len(without)
    values: list[float] = (count * value - (count - 1) * np.asarray(without)).tolist()
    return values


def _items(given: Given, placed: Placed) -> Array:
    """Return the data of the rows that are in the map."""
    if len(placed.there) == given.n:
        return given.rows if sp.issparse(given.rows) else np.asarray(given.rows)
    if given.kind == "distances":
        return np.asarray(given.rows[np.ix_(placed.there, placed.there)])
    return given.rows[placed.there]


def _distances(given: Given, truth: dict[str, Array], placed: Placed, folds: bool) -> dict[str, Any]:
    """Distances: the rank correlation (Spearman) of those in the map with those of the data."""
    place = np.full(given.n, -1)
    place[placed.there] = np.arange(len(placed.there))
    out: dict[str, Any] = {}
    for side, held in zip(SIDES, (False, True), strict=True):
        rows = np.flatnonzero(given.paired & (given.held == held))
        if side not in truth or not len(rows) or (place[rows] < 0).any():
            continue
        D = truth[side]
        inside = np.flatnonzero(np.isfinite(D).sum(axis=1) > 1)
        if len(inside) < 4:
            continue
        D, Y = D[np.ix_(inside, inside)], placed.Y[place[rows[inside]]]
        out[side] = {"value": _spearman(D, Y)}
        if folds:
            count = _folds(given, held)
            fold, whole = given.fold[rows[inside]], out[side]["value"]
            if len(inside) <= _ALL_ROLES:
                out[side]["folds"] = _jackknifed(whole, _without_each(D, Y, fold, count, whole))
            else:  # folds are large enough to be measured by themselves, which is quicker
                parts = [np.flatnonzero(fold == part) for part in range(count)]
                out[side]["folds"] = [_spearman(D[np.ix_(f, f)], Y[f]) if len(f) > 3 else whole for f in parts]
    return out


def _without_each(D: Array, Y: Array, fold: Array, count: int, whole: float) -> Array:
    """Return the rank correlation without the rows of each fold in turn; without a fold of no rows, the whole's.

    Pairs are sorted once: those that are left keep their order, so that counting them gives their ranks.
    """
    from scipy.spatial.distance import pdist

    i, j = np.triu_indices(len(D), 1)
    places = [np.unique(values, return_inverse=True)[1] for values in (D[i, j], pdist(Y))]
    out = np.full(count, whole)
    for part in np.unique(fold):
        left = (fold[i] != part) & (fold[j] != part)
        a, b = (_ranks(place[left]) for place in places)
        scale = np.sqrt((a @ a) * (b @ b))
        out[part] = a @ b / scale if scale > 0 else 0.0
    return out


def _ranks(places: Array) -> Array:
    """Return ranks around their mean; equal places share the mean of theirs."""
    counts = np.bincount(places)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks - (len(places) + 1) / 2


def _spearman(D: Array, Y: Array) -> float:
    """Return the rank correlation; distances that are all equal tell nothing, which is 0."""
    from .. import quality

    apart = D[np.triu_indices(len(D), 1)]
    if apart.min() == apart.max() or not np.ptp(Y, axis=0).any():
        return 0.0
    return float(quality.distance_correlation(D, Y, kind="spearman", metric="precomputed", pairs=None))


def _target(given: Given, placed: Placed, n_neighbors: int) -> dict[str, Any]:
    """Classes: how often the k nearest others in the map guess a row's class."""
    from .given import Target

    assert given.target is not None
    codes = given.target.codes[placed.there]
    target = Target(given.target.name, codes, given.target.names)
    right, guess = guessed(placed.Y, "euclidean", target, n_neighbors)
    out: dict[str, Any] = {"classes": by_class(right, target), "confused": confused(guess, target)}
    for side, rows in _sides(given, placed).items():
        rows = rows[codes[rows] >= 0]
        if not len(rows):
            continue
        fold = given.fold[placed.there[rows]]
        count = _folds(given, side == "held-out")
        sizes, hits = np.bincount(fold, minlength=count), np.bincount(fold, right[rows], minlength=count)
        out[side] = _averaged(hits / np.maximum(sizes, 1), sizes)
    return out
