"""What the data themselves say before any method runs: their dimension, whether they hold more than a covariance, and
the distances that a good map keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..graph.components import components
from ..graph.geodesics import geodesics
from ..graph.graph import Graph
from ..graph.neighbors import neighbor_graph, searcher
from ..spectral import dense
from .given import Given, Target

Array = Any

GAUSSIAN = 0.9  # neighbours nearer than this share of a Gaussian cloud's speak of structure
_ROWS, _COLUMNS = 2000, 10_000  # of the comparison with a Gaussian cloud
_CLOUDS = 5
_STRAYS = 0.1  # share of the rows that may be left out as strays: more of them are a part of the data
_ROUNDS = 3  # of leaving strays out: those that the first ones hid come to light in the next
_FEWEST = 5  # neighbours in the graph whose paths are measured
_WHOLE = 0.9  # share of the rows in the largest piece of the graph from which on paths in it stand for the data


@dataclass(frozen=True)
class Evidence:
    """What was seen. ``crowding`` is the typical distance to a neighbour over that in a Gaussian cloud of the same
    covariance: near 1, the covariance is all there is to see; ``distances`` says which distances a map is judged by,
    "straight" or "along" the data; ``strays`` counts rows far from all others, which are left out of ``crowding``;
    ``accuracy`` is that of k nearest neighbours in the data, for each class and all.
    """

    crowding: float | None
    structured: bool | None
    pieces: int | None
    distances: str
    strays: int | None = None
    accuracy: float | None = None
    class_accuracy: dict[str, float] | None = None
    class_confusion: dict[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Truth:
    """The distances between the paired rows that maps are held against, fitted and held-out rows apart."""

    straight: dict[str, Array]
    along: dict[str, Array]


def look(given: Given, n_neighbors: int, random_state: int) -> tuple[Evidence, Truth]:
    """Look at the data once; all candidates are judged by what is found here."""
    k = min(n_neighbors, given.n - 1)
    crowding = strays = None
    if given.kind in ("rows", "categories"):
        crowding, strays = crowded(np.asarray(given.rows), k, random_state)
    structured = None if crowding is None else crowding < GAUSSIAN
    straight = straight_distances(given)
    along, pieces = ({}, None) if given.kind == "distances" else _along(given, k)
    chosen = "along" if along and structured else "straight"
    evidence = Evidence(crowding, structured, pieces, chosen, strays)
    if given.target is not None:
        accuracy, classes, mixed = _accuracy(given, k)
        evidence = replace(evidence, accuracy=accuracy, class_accuracy=classes, class_confusion=mixed)
    return evidence, Truth(straight, along)


class Crowding(NamedTuple):
    """How near neighbours are, over how near they are in a cloud, and how many stray rows were left out for it."""

    ratio: float
    strays: int


def crowded(X: Array, n_neighbors: int, random_state: int) -> Crowding:
    """Tell how near neighbours are, over how near they are in a Gaussian cloud of the same covariance.

    The median over the points of the mean distance to the k nearest, divided by the mean of the same over five clouds
    of as many points. A cloud is all covariance, which PCA shows; curves, sheets and clusters crowd their points, so
    the ratio falls below 1 (after the surrogate data of Theiler et al. 1992).

    A few rows far out would widen the clouds, and all others would look crowded beside them. So where rows look
    crowded, those that are farther from their neighbours, in medians, than any point of the clouds is are left out, a
    tenth of them at most, and the clouds are drawn again.

    >>> rng = np.random.default_rng(0)
    >>> ratio, strays = crowded(rng.standard_normal((500, 5)), 10, 0)
    >>> bool(0.95 < ratio < 1.05), strays
    (True, 0)
    """
    rng = np.random.default_rng(random_state)
    if len(X) > _ROWS:
        X = X[np.sort(rng.choice(len(X), _ROWS, replace=False))]
    Z = np.asarray(X, dtype=np.float64)
    if Z.shape[1] > _COLUMNS:
        Z = Z[:, np.sort(rng.choice(Z.shape[1], _COLUMNS, replace=False))]
    most = int(_STRAYS * len(Z))
    kept, ratio = np.arange(len(Z)), 1.0
    for _ in range(_ROUNDS):
        U, s, _ = dense.svd(Z[kept] - Z[kept].mean(axis=0))  # here distances are the same, in as few axes as rows
        wide = s > s[0] * 1e-12 if len(s) and s[0] > 0 else np.zeros(len(s), dtype=bool)
        if not wide.any():
            break
        U, s = U[:, wide], s[wide]
        k = min(n_neighbors, len(kept) - 1)
        own = _reach(U * s, k)
        clouds = [_reach(rng.standard_normal(U.shape) * (s / np.sqrt(len(kept))), k) for _ in range(_CLOUDS)]
        ratio = float(np.median(own) / np.mean([np.median(reach) for reach in clouds]))
        if ratio >= GAUSSIAN:
            break
        limit = max(float(reach.max() / np.median(reach)) for reach in clouds)
        far = np.flatnonzero(own > limit * np.median(own))
        far = far[np.argsort(-own[far], kind="stable")][: most - (len(Z) - len(kept))]
        if not len(far):
            break
        kept = np.delete(kept, far)
    return Crowding(ratio, len(Z) - len(kept))


def _reach(points: Array, k: int) -> Array:
    """Return each point's mean distance to its k nearest others."""
    lists = searcher("euclidean", points).graph(k)
    return np.asarray(lists.distances).reshape(len(points), k).mean(axis=1)


def dimensions(given: Given, random_state: int) -> dict[str, Any]:
    """Return the linear and the true dimension of the rows, as far as they can be told, and what that comes to."""
    from ..dimension import estimate

    found = estimate(np.asarray(given.rows), random_state=random_state)
    counts = {kind: _number(found.consensus.get(kind)) for kind in ("linear", "nonlinear")}
    return {**counts, "sentence": found.sentence}


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _groups(given: Given) -> dict[str, Array]:
    """Return the paired rows that are fitted, and those that are held out."""
    sides = {"training": given.paired & ~given.held, "held-out": given.paired & given.held}
    return {name: np.flatnonzero(chosen) for name, chosen in sides.items() if chosen.any()}


def straight_distances(given: Given) -> dict[str, Array]:
    """Return the distances between paired rows as the metric tells them."""
    from ..graph.measures import measure

    out = {}
    for name, rows in _groups(given).items():
        if given.kind == "distances":
            out[name] = np.asarray(given.rows[np.ix_(rows, rows)], dtype=np.float64)
            continue
        items = given.rows[rows] if sp.issparse(given.rows) else np.asarray(given.rows[rows])
        bound = measure(given.metric, items, None)
        i, j = np.triu_indices(len(rows), 1)
        square = np.zeros((len(rows), len(rows)))
        own = bound.own(np.arange(len(rows)))
        square[i, j] = bound.exact(own, i, j, bound.compare(own)[i, j])
        out[name] = square + square.T
    return out


def _along(given: Given, k: int) -> tuple[dict[str, Array], int]:
    """Return the distances along the neighbour graph of all rows; none where it falls into pieces.

    The graph has the fewest neighbours, from 5 to k, for which it hangs together: each further edge may be a short cut
    between parts that lie apart along the data.
    """
    items = given.rows if sp.issparse(given.rows) else np.asarray(given.rows)
    lists = neighbor_graph(items, k, metric=given.metric)
    for fewer in range(min(_FEWEST, k), k + 1):
        graph = _first_of(lists, fewer, k).symmetric()
        labels = components(graph)
        pieces = int(labels.max()) + 1
        if np.count_nonzero(labels == 0) >= _WHOLE * given.n:
            break
    else:
        return {}, pieces
    out = {}
    for name, rows in _groups(given).items():
        kept = rows[labels[rows] == 0]
        square = np.full((len(rows), len(rows)), np.nan)  # of the few stray rows there are no paths
        inside = np.flatnonzero(labels[rows] == 0)
        square[np.ix_(inside, inside)] = geodesics(graph, kept)[:, kept]
        out[name] = square
    return out, pieces


def _first_of(lists: Graph, fewer: int, k: int) -> Graph:
    """Return the graph of the first few of each point's k neighbours."""
    shape = (lists.n, k)
    return Graph.of_lists(lists.indices.reshape(shape)[:, :fewer], lists.distances.reshape(shape)[:, :fewer])


def _accuracy(given: Given, k: int) -> tuple[float, dict[str, float], dict[str, str]]:
    assert given.target is not None
    items = given.rows if sp.issparse(given.rows) else np.asarray(given.rows)
    right, guess = guessed(items, given.metric, given.target, k)
    return float(right[given.target.codes >= 0].mean()), by_class(right, given.target), confused(guess, given.target)


def guessed(points: Array, metric: str, target: Target, k: int) -> tuple[Array, Array]:
    """Tell for each point whether its k nearest others guess its class, and the guess.

    Leaving one out: a point is judged by all others and never by itself. Most votes win, of equal ones the class of
    the nearest neighbour. Points of no known class do not vote.
    """
    known = np.flatnonzero(target.codes >= 0)
    items = points[np.ix_(known, known)] if metric == "precomputed" else points[known]
    k = min(k, len(known) - 1)
    graph = neighbor_graph(items, k, metric=metric)
    votes = target.codes[known][graph.indices.reshape(len(known), k)]
    counts = np.zeros((len(known), len(target.names)))
    rows = np.arange(len(known))
    for place in range(k):
        counts[rows, votes[:, place]] += 1 + (0.5 - place / (2 * k)) / (k + 1)  # nearer ones decide between equals
    guess = np.full(len(target.codes), -1)
    guess[known] = counts.argmax(axis=1)
    return (guess == target.codes) & (target.codes >= 0), guess


def by_class(right: Array, target: Target) -> dict[str, float]:
    """Return the share of each class that is guessed right."""
    return {
        name: float(right[target.codes == code].mean())
        for code, name in enumerate(target.names)
        if (target.codes == code).any()
    }


def confused(guess: Array, target: Target) -> dict[str, str]:
    """Return for each class the other one that it is most often taken for."""
    out = {}
    for code, name in enumerate(target.names):
        wrong = guess[(target.codes == code) & (guess != code)]
        if len(wrong):
            out[name] = target.names[int(np.bincount(wrong).argmax())]
    return out
