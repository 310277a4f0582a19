"""What is measured of one candidate's map: each criterion as a value, and the same without each fold of the rows.

Without a fold, its rows, fitted and held-out ones, are neither judged nor neighbours of others. How much that changes a
criterion tells how uncertain it is (`quality.intervals.jackknife`). Fitted rows are judged among fitted rows alone,
which every candidate has; held-out rows among all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import LowlandWarning, MemoryLimitError
from ..quality.class_accuracy import Target, balanced, by_class, confused, share_right
from .dataset import FEW_HELD, Dataset
from .ranking import SIDES
from .structure import Truth
from .voting import guesses

Array = Any

ANCHORS = 2000  # rows whose neighbours are compared; the same for every candidate


@dataclass(frozen=True)
class Placed:
    """A map: the places of the rows that have one. Held-out rows have none where a method cannot place new rows."""

    Y: Array
    there: Array  # numbers of the compared rows


@dataclass(frozen=True)
class Map:
    """A map for pictures: the places of some rows, and their numbers in the table.

    ``kept`` is the share of the nearest neighbours of each row that the map keeps; None: not measured.
    """

    Y: Array
    rows: Array
    kept: Array | None = None


@dataclass(frozen=True)
class _Side:
    """Rows that are judged and the rows among which: places in the map, the judged ones counted among the others."""

    name: str
    among: Array
    judged: Array


def criteria(given: Dataset, truth: Truth, placed: Placed, n_neighbors: int, geodesic: bool) -> dict[str, Any]:
    """Return every criterion: its value for fitted and for held-out rows, and without each fold of them."""
    out = {"local": _local(given, placed, n_neighbors)}
    chosen = "geodesic" if geodesic and truth.geodesic else "direct"
    for name, distances in (("direct", truth.direct), ("geodesic", truth.geodesic)):
        if distances:
            out[name] = _distances(given, distances, placed, folds=_folds(given) if name == chosen else 0)
    out["global"] = out[chosen]
    if given.target is not None:
        out["target"] = _target(given, placed, n_neighbors)
    return out


def _folds(given: Dataset) -> int:
    return int(given.fold.max()) + 1


def _sides(given: Dataset, placed: Placed, known: Array | None = None) -> list[_Side]:
    """Return the sides of a map, of the known rows alone where only these count."""
    held = given.held[placed.there]
    here = np.arange(len(held)) if known is None else np.flatnonzero(known)
    fitted, new = np.flatnonzero(~held[here]), np.flatnonzero(held[here])
    sides = (_Side(SIDES[0], here[fitted], np.arange(len(fitted))), _Side(SIDES[1], here, new))
    return [side for side in sides if len(side.judged)]


def _told(values: Array) -> dict[str, Any]:
    """Return a value and those without each fold; a fold that holds all there is tells nothing, which is the value."""
    whole = float(values[0])
    return {"value": whole, "without": np.where(np.isfinite(values[1:]), values[1:], whole).tolist()}


# -- neighbours -------------------------------------------------------------------------------------------


def _local(given: Dataset, placed: Placed, n_neighbors: int) -> dict[str, Any]:
    """Neighbours: trustworthiness and continuity, each (x − chance)/(1 − chance), and their mean.

    So 0 is the mean of random maps, and 1 a map that keeps every neighbour.
    """
    from ..quality.rank_measures import at_chance

    out: dict[str, Any] = {}
    for side in _sides(given, placed):
        # of all compared rows, placed or not: so fitted rows are judged by the same anchors in every map
        share = -(-ANCHORS * len(side.judged) // given.n)
        trust, continuity = _kept(given, placed, side, n_neighbors, max(2, share))
        k = min(n_neighbors, len(side.among) - 2)
        # The two figures are kept as reports give them, with what chance gives.
        chance = at_chance("continuity", len(side.among), k)
        figures = {"trustworthiness": trust[0], "continuity": continuity[0]}
        out[side.name] = _told((trust + continuity) / 2) | {"n_neighbors": k}
        out[side.name] |= {name: float(1 - (1 - x) * (1 - chance)) for name, x in figures.items()}
    return out


def _kept(given: Dataset, placed: Placed, side: _Side, n_neighbors: int, count: int) -> tuple[Array, Array]:
    """Return trustworthiness and continuity of a side over chance: of all rows, then without each fold."""
    from ..quality.anchors import choose
    from ..quality.leave_out import rank_sums
    from ..quality.spaces import sides

    fold = given.fold[placed.there[side.among]]
    left = np.array([len(fold), *(len(fold) - np.bincount(fold, minlength=_folds(given)))])
    k = np.clip(left - 2, 1, n_neighbors)
    anchors = choose(len(side.judged), count, 0, fold[side.judged], owner="compare")
    numbers = side.judged[anchors.numbers]
    both = sides(_items(given, placed.there[side.among]), placed.Y[side.among], given.space[1], "compare")
    weights = (anchors.sizes / np.bincount(anchors.strata))[anchors.strata]
    chance = np.array([_by_chance(m, c) if m > 2 else np.nan for m, c in zip(left, k, strict=True)])
    out = []
    for sums in rank_sums(both, k, numbers, fold):
        there = ~np.isnan(sums)
        total = np.where(there, weights[:, None], 0.0).sum(axis=0)
        lost = (weights[:, None] * np.where(there, sums, 0.0)).sum(axis=0)
        out.append(1 - lost / np.where(total > 0, total * chance, np.nan))
    return out[0], out[1]


def neighbors_kept(given: Dataset, placed: Placed, chosen: Array, n_neighbors: int) -> Array | None:
    """Return for chosen rows of a map the share of their nearest neighbours that it keeps, among all placed rows.

    None if the measure needs more memory than the limit.
    """
    from ..quality.anchors import Anchors
    from ..quality.ranks import rank_table
    from ..quality.spaces import sides

    n = len(placed.there)
    rows, metric = given.space
    if given.kind == "distances" or n < given.n:
        rows = _items(given, placed.there)
    anchors = Anchors(n, chosen, np.zeros(len(chosen), dtype=np.int64), np.array([n]), None, None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowlandWarning)  # the comparison has given them
            both = sides(rows, placed.Y, metric, "compare")
            return rank_table(both, min(n_neighbors, n - 2), anchors, owner="compare").shared
    except MemoryLimitError:  # the comparison itself is done
        return None


def _by_chance(n: int, k: int) -> float:
    """Return the rank sum of a map made by chance: the value over chance is 1 less the share of it that is lost."""
    from ..quality.rank_measures import at_chance, worst_ranks

    return (1 - at_chance("continuity", n, k)) * worst_ranks(n, k)


def _items(given: Dataset, rows: Array) -> Array:
    """Return the data of some rows."""
    if given.kind == "distances":
        return np.asarray(given.rows[np.ix_(rows, rows)])
    return given.space[0][rows]


# -- distances --------------------------------------------------------------------------------------------


def _distances(given: Dataset, truth: dict[str, Array], placed: Placed, folds: int) -> dict[str, Any]:
    """Distances: the rank correlation (Spearman) of those in the map with those of the data."""
    from ..quality.geodesics import correlations

    place = np.full(given.n, -1)
    place[placed.there] = np.arange(len(placed.there))
    out: dict[str, Any] = {}
    for side, held in zip(SIDES, (False, True), strict=True):
        rows = np.flatnonzero(given.paired & (given.held == held))
        if side not in truth or not len(rows) or (place[rows] < 0).any():
            continue
        found = correlations(truth[side], placed.Y[place[rows]], given.fold[rows], folds)
        if found is None:
            continue
        out[side] = _told(found) if folds else {"value": float(found[0])}
    return out


# -- classes ----------------------------------------------------------------------------------------------


def _target(given: Dataset, placed: Placed, n_neighbors: int) -> dict[str, Any]:
    """Classes: how often the k nearest others in the map guess a row's class.

    Held-out rows count as much as fitted ones, so they do only where enough of them have a class.
    """
    assert given.target is not None
    target = Target(given.target.name, given.target.codes[placed.there], given.target.names)
    codes, fold = target.codes, given.fold[placed.there]
    guess = np.full(len(codes), -1)
    out: dict[str, Any] = {}
    for side in _sides(given, placed, codes >= 0):
        if len(side.among) < 2 or (side.name == SIDES[1] and len(side.judged) < FEW_HELD):
            continue
        among, judged = side.among, side.among[side.judged]
        found = guesses(
            placed.Y[among], codes[among], len(target.names), n_neighbors, side.judged, fold[among], _folds(given)
        )
        guess[judged] = found[:, 0]
        out[side.name] = {**_told(share_right(found, codes[judged])), "rows": len(judged)}
    judged = Target(target.name, np.where(guess >= 0, codes, -1), target.names)
    classes = by_class(guess, judged)
    return out | {"classes": classes, "balanced": balanced(classes), "confused": confused(guess, judged)}
