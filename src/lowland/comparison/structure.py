"""What the data themselves say before any method runs: their dimension, whether they hold more than a covariance, and
the distances that a good map keeps. Rows, sparse rows and distances of the same points get the same answers, but for
skewed columns: distances do not show columns, so skew behind them counts as structure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import pairwise
from ..graph.components import components
from ..graph.distinct import Distinct, distinct
from ..graph.geodesics import geodesics
from ..graph.graph import Graph
from ..graph.neighbors import neighbor_graph
from ..spectral import dense
from .crowding import COLUMNS, crowded
from .given import Given, Target
from .voting import voted

Array = Any

_ROWS = 2000  # that are compared with clouds
_FEW = 20  # distinct rows below which nothing can be told of them
_FEWEST = 5  # neighbours in the graph whose paths are measured
_EQUAL = 1e-7  # share of the largest distance that rounding may leave between equal points: √ε, and some more
_WHOLE = 0.9  # share of the rows in the largest piece of the graph from which on paths in it stand for the data


@dataclass(frozen=True)
class Evidence:
    """What was seen. ``crowding`` is the typical distance to a neighbour over that in a Gaussian cloud of the same
    covariance: near 1, the covariance is all there is to see; ``column_crowding`` is the same over clouds whose columns
    are distributed as the data's, where the first one is low and there are columns. ``distances`` says which distances
    a map is judged by, "straight" or "along" the data; ``strays`` counts rows far from all others, which are left out
    of ``crowding``; ``accuracy`` is that of k nearest neighbours in the data, for each class and all.
    """

    crowding: float | None
    structured: bool | None
    pieces: int | None
    distances: str
    strays: int | None = None
    column_crowding: float | None = None
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
    """Look at the data once; all candidates are judged by what is found here.

    Equal rows count once: they would have no neighbours but each other.
    """
    items = given.rows if sp.issparse(given.rows) else np.asarray(given.rows)
    same = distinct(_without_rounding(items), square=True) if given.kind == "distances" else distinct(items)
    straight, along = straight_distances(given), dict[str, Array]()
    evidence = Evidence(None, None, None, "straight")
    if len(same.first) >= _FEW:
        points, columns = _points(given, items, same.first, random_state)
        found = crowded(points, min(n_neighbors, len(points) - 1), random_state, columns=columns)
        along, pieces = _along(given, items, same, n_neighbors)
        chosen = "along" if along and found.structured else "straight"
        evidence = Evidence(found.ratio, found.structured, pieces, chosen, found.strays, found.columns)
    if given.target is not None:
        accuracy, classes, mixed = _accuracy(given, items, n_neighbors)
        evidence = replace(evidence, accuracy=accuracy, class_accuracy=classes, class_confusion=mixed)
    return evidence, Truth(straight, along)


def _without_rounding(square: Array) -> Array:
    """Return distances with 0 where there is only rounding: ‖x‖² + ‖y‖² − 2 x·y of equal x and y is seldom 0."""
    tiny = square <= _EQUAL * square.max()
    return np.where(tiny, 0.0, square) if np.count_nonzero(tiny) > len(square) else square


def _points(given: Given, items: Array, numbers: Array, random_state: int) -> tuple[Array, bool]:
    """Return points that have the distances of some rows, and whether they are the rows, with columns of their own.

    Otherwise they are found by classical scaling, V Λ^½ of −½ J Δ² J; what of Δ is not Euclidean is left out.
    """
    from ..distances import metric

    if len(numbers) > _ROWS:
        numbers = np.sort(np.random.default_rng(random_state).choice(numbers, _ROWS, replace=False))
    if given.kind == "distances":
        square = np.asarray(items[np.ix_(numbers, numbers)], dtype=np.float64)
    else:
        rows = items[numbers]
        if given.metric == "euclidean" and rows.shape[1] <= COLUMNS:
            return rows.toarray() if sp.issparse(rows) else rows, True
        square = pairwise.square(metric(given.metric, items), rows)
    B = -0.5 * square**2
    B -= B.mean(axis=0)
    B -= B.mean(axis=1)[:, None]
    values, V = dense.eigh(B)
    wide = values > max(values[-1], 0.0) * 1e-12
    return V[:, wide] * np.sqrt(values[wide]), False


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


def _along(given: Given, items: Array, same: Distinct, n_neighbors: int) -> tuple[dict[str, Array], int]:
    """Return the distances along the neighbour graph of all rows; none where it falls into pieces.

    The graph has the fewest neighbours, from 5 to k, for which it hangs together: each further edge may be a short cut
    between parts that lie apart along the data. Equal rows are one point of it.
    """
    if len(same.first) < given.n:
        items = items[np.ix_(same.first, same.first)] if given.kind == "distances" else items[same.first]
    k = min(n_neighbors, len(same.first) - 1)
    lists = neighbor_graph(items, k, metric=given.metric)
    for fewer in range(min(_FEWEST, k), k + 1):
        graph = _first_of(lists, fewer, k).symmetric()
        labels = components(graph)
        pieces = int(labels.max()) + 1
        if np.count_nonzero(labels == 0) >= _WHOLE * len(labels):
            break
    else:
        return {}, pieces
    out = {}
    for name, rows in _groups(given).items():
        points = same.inverse[rows]
        inside = np.flatnonzero(labels[points] == 0)
        kept, place = np.unique(points[inside], return_inverse=True)
        paths = geodesics(graph, kept)[:, kept]
        square = np.full((len(rows), len(rows)), np.nan)  # of the few stray rows there are no paths
        square[np.ix_(inside, inside)] = paths[np.ix_(place, place)]
        out[name] = square
    return out, pieces


def _first_of(lists: Graph, fewer: int, k: int) -> Graph:
    """Return the graph of the first few of each point's k neighbours."""
    shape = (lists.n, k)
    return Graph.of_lists(lists.indices.reshape(shape)[:, :fewer], lists.distances.reshape(shape)[:, :fewer])


def _accuracy(given: Given, items: Array, k: int) -> tuple[float, dict[str, float], dict[str, str]]:
    assert given.target is not None
    right, guess = guessed(items, given.metric, given.target, k)
    return float(right[given.target.codes >= 0].mean()), by_class(right, given.target), confused(guess, given.target)


def guessed(points: Array, metric: str, target: Target, k: int) -> tuple[Array, Array]:
    """Tell for each point whether its k nearest others guess its class, and the guess.

    Leaving one out: a point is judged by all others and never by itself. Most votes win, of classes with equally many
    the one whose first vote is nearest. Points of no known class do not vote.
    """
    known = np.flatnonzero(target.codes >= 0)
    items = points[np.ix_(known, known)] if metric == "precomputed" else points[known]
    k = min(k, len(known) - 1)
    graph = neighbor_graph(items, k, metric=metric)
    guess = np.full(len(target.codes), -1)
    guess[known] = voted(target.codes[known][graph.indices.reshape(len(known), k)], len(target.names))
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
