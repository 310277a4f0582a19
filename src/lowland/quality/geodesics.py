"""Geodesic distances: shortest paths in the graph of nearest neighbours, as Isomap measures them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.measure import Measure
from ..graph.components import components
from ..graph.distinct import Distinct, distinct
from ..graph.geodesics import geodesics
from ..graph.graph import Graph
from ..graph.neighbors import neighbor_graph, objects
from ..pairs.distances import learn
from .anchors import labels
from .intervals import jackknife
from .leave_out import rank_correlations
from .spaces import Metric, coded

Array = Any

SAMPLE = 5000  # most rows in the graph
ALL_PAIRS = 2000  # up to this number of rows, all pairs are compared
PAIRED = 1000  # of more rows, the pairs of this many are compared
_FUNCTION_ROWS = 500  # most rows if the metric is a Python function
_LEAST_ROWS = 20  # least number of distinct rows for meaningful paths
_LEAST_NEIGHBORS = 5  # smallest number of neighbours in the graph
_CONNECTED_SHARE = 0.9  # the largest component must contain this share of the rows
_FOLDS = 10
_EQUAL_SHARE = 1e-7  # of the largest distance: points nearer than this are equal up to rounding (about √ε)


def distinct_points(items: Array, *, square: bool = False) -> Distinct:
    """Return the distinct rows; in a distance matrix, points that differ only by rounding are equal."""
    if not square:
        return distinct(items)
    # ‖x‖² + ‖y‖² − 2 x·y is rarely exactly 0 for equal x and y.
    tiny = items <= _EQUAL_SHARE * items.max()
    return distinct(np.where(tiny, 0.0, items) if np.count_nonzero(tiny) > len(items) else items, square=True)


def path_distances(
    items: Array, metric: Metric, n_neighbors: int, groups: Sequence[Array], same: Distinct | None = None
) -> tuple[list[Array] | None, int]:
    """Return the lengths of shortest paths between the rows of each group, and the number of connected components.

    The graph uses the smallest number of neighbours, from 5 to k, for which the largest component contains 90 % of the
    rows: more edges may be short cuts between distant parts of a curved shape. If no such number exists, the lengths
    are None; rows outside the largest component have NaN. Equal rows are one point.
    """
    square = isinstance(metric, str) and metric == "precomputed"
    same = distinct_points(items, square=square) if same is None else same
    if len(same.first) < len(same.inverse):
        items = items[np.ix_(same.first, same.first)] if square else items[same.first]
    k = min(n_neighbors, len(same.first) - 1)
    lists = neighbor_graph(items, k, metric=metric)
    for fewer in range(min(_LEAST_NEIGHBORS, k), k + 1):
        graph = _first_of(lists, fewer, k).symmetric()
        labels = components(graph)
        pieces = int(labels.max()) + 1
        if np.count_nonzero(labels == 0) >= _CONNECTED_SHARE * len(labels):
            break
    else:
        return None, pieces
    out = []
    for rows in groups:
        points = same.inverse[rows]
        inside = np.flatnonzero(labels[points] == 0)
        kept, place = np.unique(points[inside], return_inverse=True)
        paths = geodesics(graph, kept)[:, kept]
        lengths = np.full((len(rows), len(rows)), np.nan)
        lengths[np.ix_(inside, inside)] = paths[np.ix_(place, place)]
        out.append(lengths)
    return out, pieces


def _first_of(lists: Graph, fewer: int, k: int) -> Graph:
    """Return the graph of the first few of each point's k neighbours."""
    shape = (lists.n, k)
    return Graph.of_lists(lists.indices.reshape(shape)[:, :fewer], lists.distances.reshape(shape)[:, :fewer])


def correlations(lengths: Array, Y: Array, fold: Array, folds: int, begin: Array | None = None) -> Array | None:
    """Return Spearman's correlation of distances in the map with ``lengths``: of all rows, then without each fold.

    ``begin`` marks the rows at which pairs begin (default: all). None if fewer than four rows have distances.
    """
    from scipy.spatial.distance import cdist, pdist

    inside = np.flatnonzero(np.isfinite(lengths).sum(axis=1) > 1)
    if len(inside) < 4:
        return None
    if begin is None:
        i, j = np.triu_indices(len(inside), 1)
        apart = pdist(Y[inside])
    else:
        first = np.flatnonzero(begin[inside])
        i, j = np.repeat(first, len(inside)), np.tile(np.arange(len(inside)), len(first))
        other = i != j
        apart, i, j = cdist(Y[inside[first]], Y[inside]).ravel()[other], i[other], j[other]
        if not len(i):
            return None
    return rank_correlations(lengths[inside[i], inside[j]], apart, i, j, fold[inside], folds)


def geodesic_correlation(
    X: Any,
    Y: Any,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    groups: Any = None,
    random_state: int | None = None,
) -> Measure:
    """Return the rank correlation of distances in the map with geodesic distances in the data.

    A map that unrolls a curved sheet changes direct distances but preserves those along the sheet. The graph uses a
    sample of at most 5,000 rows; above 2,000 rows, the paths between 1,000 of them are compared. The result is NaN if
    the graph of nearest neighbours is not connected, because there are no paths between its components.

    Parameters
    ----------
    X, Y, n_neighbors, metric, random_state
        As in `trustworthiness`; the graph has at most n_neighbors edges at each point.
    groups : sequence, optional
        A label for each point; ``.groups`` of the result is then the correlation of pairs that begin in each group.

    References
    ----------
    Tenenbaum, J. B., de Silva, V., Langford, J. C. (2000). A global geometric framework for nonlinear dimensionality
    reduction. Science 290, 2319–2323.

    Examples
    --------
    >>> import lowland
    >>> X, unrolled = lowland.data.swiss_roll(1000, random_state=0)
    >>> geodesic_correlation(X, unrolled) > 0.95, lowland.quality.distance_correlation(X, unrolled) < 0.6
    (True, True)
    """
    X, metric = coded(X, metric)
    items, rng = objects(X, metric, "geodesic_correlation"), np.random.default_rng(random_state or 0)
    Y = np.asarray(Y, dtype=np.float64)  # lengths of lazy tables are not known before
    n, square = len(Y), isinstance(metric, str) and metric == "precomputed"
    named = None if groups is None else labels(groups, n, "geodesic_correlation")
    unknown = Measure(np.nan, groups=None if named is None else dict.fromkeys(named.names, Measure(np.nan)))
    most = _FUNCTION_ROWS if callable(metric) else SAMPLE
    rows = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    deviations = np.sqrt(learn("seuclidean", items)["V"]) if metric == "seuclidean" else None
    if len(rows) < n:
        items = items[np.ix_(rows, rows)] if square else items[rows]
    if deviations is not None:  # standard deviations of all rows, not of the sample
        items, metric = items / deviations, "euclidean"
    same = distinct_points(items, square=square)
    if len(same.first) < _LEAST_ROWS:
        return unknown
    m = len(rows)
    chosen = np.arange(m) if m <= ALL_PAIRS else np.sort(rng.permutation(m)[:PAIRED])
    k = max(1, min(n_neighbors, len(same.first) - 1))
    found, _ = path_distances(items, metric, k, [chosen], same)
    if found is None:
        return unknown
    exact, places = len(chosen) == n, Y[rows[chosen]]

    def one(begin: Array | None, parts: dict[Any, Measure] | None = None) -> Measure:
        fold, folds = np.arange(len(chosen)) % _FOLDS, 0 if exact else _FOLDS
        values = correlations(found[0], places, fold, folds, begin)
        if values is None:
            return Measure(np.nan, groups=parts)
        value, half = float(values[0]), 0.0 if exact else jackknife(values[1:])
        return Measure(value, max(-1.0, value - half), min(1.0, value + half), exact=exact, groups=parts)

    if named is None:
        return one(None)
    codes = named.codes[rows[chosen]]
    return one(None, {name: one(codes == code) for code, name in enumerate(named.names)})
