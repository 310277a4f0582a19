"""What the data themselves say before any method runs: their dimension, whether they hold more than a covariance, and
the distances that a good map keeps. Rows, sparse rows and distances of the same points get the same answers, but for
skewed columns: distances do not show columns, so skew behind them counts as structure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..graph.neighbors import neighbor_graph
from ..pairs import pairwise
from ..quality.class_accuracy import Target, balanced, by_class, confused, largest_share, share_right, voted
from ..quality.geodesics import distinct_points, path_distances
from ..spectral.distance import scale_few
from .crowding import COLUMNS, crowded
from .dataset import Dataset

Array = Any

_ROWS_TESTED = 2000  # that are compared with clouds
_LEAST_ROWS = 20  # distinct rows below which nothing can be told of them


@dataclass(frozen=True)
class Evidence:
    """What was seen. ``crowding`` is the typical distance to a neighbour over that in a Gaussian cloud of the same
    covariance: near 1, the covariance is all there is to see; ``column_crowding`` is the same over clouds whose columns
    are distributed as the data's, where the first one is low and there are columns. ``distances`` says which distances
    a map is judged by, "direct" or "geodesic" the data; ``strays`` counts rows far from all others, which are left out
    of ``crowding``; ``accuracy`` is that of k nearest neighbours in the data, for all rows and for each class,
    ``balanced_accuracy`` the mean over classes, and ``baseline`` the share of the largest class, which is the accuracy
    of naming it always.
    """

    crowding: float | None
    structured: bool | None
    pieces: int | None
    distances: str
    strays: int | None = None
    column_crowding: float | None = None
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    baseline: float | None = None
    class_accuracy: dict[str, float] | None = None
    class_confusion: dict[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Truth:
    """The distances between the paired rows that maps are held against, fitted and held-out rows apart."""

    direct: dict[str, Array]
    geodesic: dict[str, Array]


def look(given: Dataset, n_neighbors: int, random_state: int) -> tuple[Evidence, Truth]:
    """Look at the data once; all candidates are judged by what is found here.

    Equal rows count once: they would have no neighbours but each other.
    """
    items, metric = given.space
    same = distinct_points(items, square=given.kind == "distances")
    direct, geodesic = direct_distances(given), dict[str, Array]()
    evidence = Evidence(None, None, None, "direct")
    if len(same.first) >= _LEAST_ROWS:
        points, columns = _points(given, items, same.first, random_state)
        found = crowded(points, min(n_neighbors, len(points) - 1), random_state, columns=columns)
        groups = _groups(given)
        lengths, pieces = path_distances(items, metric, n_neighbors, list(groups.values()), same)
        geodesic = dict(zip(groups, lengths, strict=True)) if lengths is not None else {}
        chosen = "geodesic" if geodesic and found.structured else "direct"
        evidence = Evidence(found.ratio, found.structured, pieces, chosen, found.strays, found.columns)
    if given.target is not None:
        evidence = replace(evidence, **_accuracy(given, items, n_neighbors))
    return evidence, Truth(direct, geodesic)


def _points(given: Dataset, items: Array, numbers: Array, random_state: int) -> tuple[Array, bool]:
    """Return points that have the distances of some rows, and whether they are the rows, with columns of their own.

    Otherwise they are found by classical scaling, V Λ^½ of −½ J Δ² J; what of Δ is not Euclidean is left out.
    """
    from ..pairs.distances import metric

    if len(numbers) > _ROWS_TESTED:
        numbers = np.sort(np.random.default_rng(random_state).choice(numbers, _ROWS_TESTED, replace=False))
    if given.kind == "distances":
        square = np.asarray(items[np.ix_(numbers, numbers)], dtype=np.float64)
    else:
        rows = items[numbers]
        if given.space[1] == "euclidean" and rows.shape[1] <= COLUMNS:
            return rows.toarray() if sp.issparse(rows) else rows, True
        square = pairwise.square(metric(given.space[1], items), rows)
    points, values = scale_few(-0.5 * square**2)
    return points[:, values > max(values[0], 0.0) * 1e-12], False


def dimensions(given: Dataset, random_state: int) -> dict[str, Any]:
    """Return the linear and the true dimension of the rows, as far as they can be told, and what that comes to."""
    from ..dimension import estimate

    found = estimate(given.space[0], random_state=random_state)
    counts = {kind: _number(found.consensus.get(kind)) for kind in ("linear", "nonlinear")}
    return {**counts, "sentence": found.sentence}


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _groups(given: Dataset) -> dict[str, Array]:
    """Return the paired rows that are fitted, and those that are held out."""
    sides = {"training": given.paired & ~given.held, "held-out": given.paired & given.held}
    return {name: np.flatnonzero(chosen) for name, chosen in sides.items() if chosen.any()}


def direct_distances(given: Dataset) -> dict[str, Array]:
    """Return the distances between paired rows as the metric tells them."""
    from ..graph.measures import measure

    out = {}
    for name, rows in _groups(given).items():
        if given.kind == "distances":
            out[name] = np.asarray(given.rows[np.ix_(rows, rows)], dtype=np.float64)
            continue
        bound = measure(given.space[1], given.space[0][rows], None)
        i, j = np.triu_indices(len(rows), 1)
        square = np.zeros((len(rows), len(rows)))
        own = bound.own(np.arange(len(rows)))
        square[i, j] = bound.exact(own, i, j, bound.compare(own)[i, j])
        out[name] = square + square.T
    return out


def _accuracy(given: Dataset, items: Array, k: int) -> dict[str, Any]:
    """Return how well the neighbours of a row guess its class, by the names of `Evidence`."""
    assert given.target is not None
    guess = guessed(items, given.space[1], given.target, k)
    classes = by_class(guess, given.target)
    return {
        "accuracy": float(share_right(guess, given.target.codes)),
        "balanced_accuracy": balanced(classes),
        "baseline": largest_share(given.target.codes),
        "class_accuracy": classes,
        "class_confusion": confused(guess, given.target),
    }


def guessed(points: Array, metric: str, target: Target, k: int) -> Array:
    """Return the class that the k nearest others of each point guess; −1 for points of no known class.

    Leaving one out: a point is judged by all others and never by itself. Most votes win, of classes with equally many
    the one whose first vote is nearest. Points of no known class do not vote.
    """
    known = np.flatnonzero(target.codes >= 0)
    items = points[np.ix_(known, known)] if metric == "precomputed" else points[known]
    k = min(k, len(known) - 1)
    graph = neighbor_graph(items, k, metric=metric)
    guess = np.full(len(target.codes), -1)
    guess[known] = voted(target.codes[known][graph.indices.reshape(len(known), k)], len(target.names))
    return guess
