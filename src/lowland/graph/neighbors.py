"""Nearest neighbours: choice of the search, and the neighbour graph.

Every search is exact and gives the same bits for one row or many, except beyond `APPROXIMATE` multiplications, where
the graph of a set with itself is approximate and its recall is measured.

| data | search |
|---|---|
| up to 4 columns, or up to 15 of few true dimensions; Euclidean (also scaled), cosine, correlation | KD-tree |
| other dense rows | products of blocks in float32, each answer certified or searched again in float64 |
| N²·D > 1e13 and more than 15 columns | nearest neighbour descent (pynndescent), recall measured on 1,000 rows |
| sparse rows | sparse products |
| any other metric, a function, a square of distances | all pairs, a few rows at a time |
| a sparse square of distances | the distances that are stored |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, settings
from ..core.cost import DataShape, dense_seconds
from ..core.errors import DataError
from ..core.message import Message, Setting
from ..pairs.distance_checks import check_distances, check_function
from ..pairs.distances import learn, row_bytes
from ..pairs.distances import metric as bind
from ..rows.object_rows import ObjectRows, are_objects, gather
from .blocked import FEW_ENTRIES, BlockSearcher
from .descent import DescentSearcher
from .distinct import Distinct, distinct
from .expand import expand
from .graph import Graph
from .measures import SHIFTED_ENTRIES, EuclideanRows, comparable, measure, sparse_search_bytes
from .precomputed import GivenDistances, known_distances, refuse_alone
from .scores import TERMS
from .search import Searcher
from .trees import TreeSearcher

__all__ = [
    "Distinct",
    "Searcher",
    "approximate",
    "distinct",
    "neighbor_graph",
    "objects",
    "search_cost",
    "searcher",
]

Array = Any

PRODUCTS = ("euclidean", "sqeuclidean", "seuclidean", "cosine", "correlation")  # metrics of points in a Euclidean space
ALWAYS_TREE = 4  # columns up to which a KD-tree is best
TREE_COLUMNS = 15  # columns up to which it is tried: what its leaves look like decides
_ENTRY_SECONDS, _STORED_SECONDS = 2e-8, 1e-7  # of an entry, dense or stored: checked, compared, shifted, kept
APPROXIMATE = 1e13  # N²·D above which the graph of a set with itself is approximate


def searcher(
    spec: str | Callable[[Any, Any], Any],
    items: Array,
    state: dict[str, Array] | None = None,
    *,
    rng_seed: int = 0,
) -> Searcher:
    """Return the search for the nearest of some objects.

    Parameters
    ----------
    spec : str or callable
        The metric: a name of `lowland.pairs.distances.METRICS`, ``"precomputed"``, or a function.
    items : array
        The objects: rows, sparse rows, objects, or their distances as a dense or sparse square.
    state : dict, optional
        Parameters of the metric from its training rows; default: from ``items``.
    rng_seed : int
        Seed of an approximate search; others are not random.

    Examples
    --------
    >>> indices, distances = searcher("euclidean", np.array([[0.0], [2.0], [5.0]])).query(np.array([[1.5]]), 2)
    >>> indices.tolist(), distances.tolist()
    ([[1, 0]], [[0.5, 1.5]])
    """
    if isinstance(spec, str) and spec == "precomputed" and sp.issparse(items):
        return GivenDistances(refuse_alone(known_distances(items)[0]))
    found = measure(spec, items, state)
    if not isinstance(found, EuclideanRows):
        return Searcher(found)
    if found.width > TREE_COLUMNS:
        if float(found.n) ** 2 * found.width > APPROXIMATE:
            return DescentSearcher(found, rng_seed)
        return BlockSearcher(found)
    tree, blocks = TreeSearcher(found), BlockSearcher(found)
    if found.width <= ALWAYS_TREE or tree.row_cost() <= blocks.row_cost():
        return tree
    return blocks


def neighbor_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    radius: float | None = None,
    metric: str | Callable[[Any, Any], Any] = "euclidean",
    ties: str = "cut",
    random_state: int | None = None,
) -> Graph:
    """Return the graph of nearest neighbours of the rows of X, nearest first, equal distances by row number.

    Parameters
    ----------
    X : array, sparse matrix, data frame or list of objects
        The rows; with ``metric="precomputed"`` their distances, as a square matrix. In a sparse square the stored
        entries are the known distances (a stored zero is a distance), and neighbours are the nearest of those; one
        that is stored in one direction holds in both.
    n_neighbors : int
        Number of neighbours of each row; a row is not its own neighbour, but an equal row is one.
    radius : float, optional
        Take all rows within this distance instead.
    metric : str or callable
        A name of `lowland.pairs.distances.METRICS`, ``"precomputed"``, or a function of two objects or two blocks.
    ties : {"cut", "keep"}
        Of rows as far as the last neighbour, take those of lowest number, or all of them.
    random_state : int, optional
        Seed of the approximate search, used only for tables with N²·D > 1e13.

    Returns
    -------
    Graph
        ``indptr``, ``indices`` and ``distances`` (float64) of the neighbours; ``algorithm`` names the search, and
        ``recall`` is the measured share of true neighbours if it was approximate (else None).

    Examples
    --------
    >>> graph = neighbor_graph([[0.0], [1.0], [3.0], [3.0]], n_neighbors=2)
    >>> graph.indices.reshape(4, 2).tolist()
    [[1, 2], [0, 2], [3, 1], [2, 1]]
    >>> graph.distances.reshape(4, 2).tolist()
    [[1.0, 3.0], [1.0, 2.0], [0.0, 2.0], [0.0, 2.0]]
    """
    if ties not in ("cut", "keep"):
        raise ValueError(Message(Setting("ties"), f" must be 'cut' or 'keep'; it is {ties!r}"))
    items, square = objects(X, metric), isinstance(metric, str) and metric == "precomputed"
    n = items.shape[0]
    if radius is None:
        n_neighbors = _check_count(n_neighbors, n)
    if square and sp.issparse(items):  # equal objects may have different known distances: they are not merged
        given = searcher(metric, items)
        return given.graph(n_neighbors, ties) if radius is None else _none_alone(given.radius(float(radius)), radius)
    same = distinct(comparable(metric, items), square=square)
    points = items if len(same.first) == n else items[same.first]
    if square and points is not items:
        points = points[:, same.first]
    if len(same.first) == 1:
        lone = Graph(np.zeros(2, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), "equal rows")
        return expand(lone, same, n_neighbors if radius is None else None, ties)
    # the parameters of a metric depend on all rows, including duplicates
    state = None if callable(metric) or square else learn(metric, items)
    search = searcher(metric, points, state, rng_seed=0 if random_state is None else int(random_state))
    if callable(metric):
        check_function(bind(metric, points), points, "neighbor_graph")
    if radius is not None:
        return _none_alone(expand(search.radius(float(radius)), same, None, ties), radius)
    return expand(search.graph(min(n_neighbors, search.n - 1), ties), same, n_neighbors, ties)


def objects(X: Any, metric: str | Callable[[Any, Any], Any], owner: str = "neighbor_graph") -> Array:
    """Return checked rows, objects, or distances; ``owner`` is named in errors."""
    from ..rows.row_source import as_rows

    if are_objects(X):
        if not callable(metric):
            raise DataError("objects that are not rows of numbers need a metric function: metric=lambda a, b: …")
        return gather(ObjectRows(X))
    rows = as_rows(X, owner=owner)
    if rows.sparse:
        for block in rows.blocks():
            rows.check(block)
        return rows.array
    items = arrays.to_numpy(gather(rows))
    if isinstance(metric, str) and metric == "precomputed":
        check_distances(items, owner)
    return items


def _check_count(k: int, n: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise DataError(Message(Setting("n_neighbors"), f" must be a whole number of at least 1; it is {k!r}"))
    if k >= n:
        raise DataError(
            Message(
                Setting("n_neighbors", k),
                f" must be less than the number of rows, {n}: a row has {n - 1} others; use ",
                Setting("n_neighbors", max(1, min(10, n - 1))),
                " or more rows",
            )
        )
    return int(k)


def _none_alone(graph: Graph, radius: float) -> Graph:
    """Raise `DataError` if the radius leaves rows without a neighbour."""
    alone = np.flatnonzero(graph.degrees == 0)
    if len(alone):
        few = ", ".join(str(i) for i in alone[:5]) + (", …" if len(alone) > 5 else "")
        small = f" is too small: {len(alone)} of {graph.n} rows have no neighbour within it (rows {few}); use a larger "
        use = (Setting("radius"), ", or ", Setting("n_neighbors"), " instead")
        raise DataError(Message(Setting("radius", float(f"{radius:g}")), small, *use), row=int(alone[0]))
    return graph


def approximate(shape: DataShape, metric: str) -> bool:
    """Return whether the neighbour graph of such rows would be approximate.

    >>> approximate(DataShape(1_000_000, 50, np.dtype(float)), "euclidean")
    True
    """
    products = metric in PRODUCTS and not shape.sparse
    return (
        products and shape.n_features > TREE_COLUMNS and float(shape.n_rows or 1) ** 2 * shape.n_features > APPROXIMATE
    )


def search_cost(shape: DataShape, k: int, metric: str) -> tuple[dict[str, int], float]:
    """Return the memory, by parts, and the rough seconds of the search for a neighbour graph."""
    n, d = shape.n_rows or 1, shape.n_features
    parts, workers = {"graph": 3 * n * k * 12}, settings.threads()
    compared = {"rows compared": workers * 4 * 8 * min(n * n, max(1 << 21, 16 * n))}
    reading = shape.entries * (_STORED_SECONDS if shape.sparse else _ENTRY_SECONDS)
    if metric == "precomputed":
        return parts | compared, 2e-9 * float(n) * n
    if shape.sparse:  # columns of very different density hold more pairs of entries than even ones
        compared["rows compared"] = sparse_search_bytes(n, d, shape.entries // n, k)
        compared["copies of the rows"] = 3 * shape.entries * (shape.dtype.itemsize + 4)  # sorted, and by columns
        pairs = 4e-9 * shape.density**2 * d + 10e-9, 16e-9 * (k + 2) * shape.density * d
        return parts | compared, reading + (pairs[0] * float(n) * n + pairs[1] * n) / workers
    if metric not in PRODUCTS:
        prepared = {"rows as the metric wants them": n * d * row_bytes(metric, shape.dtype.itemsize)}
        return parts | compared | prepared, reading + 2e-9 * float(n) * n * d / workers
    if d <= ALWAYS_TREE:
        return parts | {"tree": n * (d * 8 + 24)}, n * (k + 10) * 2e-7 / workers
    candidates = k + max(8, k // 4)
    parts |= {"rows in float32": 4 * n * (d + min(d, TERMS) + 4), "candidates": n * candidates * 8}
    if metric in ("cosine", "correlation"):
        parts["rows of length 1"] = n * d * row_bytes(metric, shape.dtype.itemsize)
    if metric == "seuclidean":
        parts["scaled rows"] = n * d * 8
    at_once = max(2 * 8, workers * shape.dtype.itemsize)  # bytes of an entry: one thread shifts rows, all refine lists
    parts["rows compared"] = workers * 8 * min(n * n, FEW_ENTRIES) + at_once * min(n * d, SHIFTED_ENTRIES)
    if d <= TREE_COLUMNS:
        parts["tree"] = n * (d * 16 + 24)
    elif float(n) ** 2 * d > APPROXIMATE:
        return parts | {"descent": n * (40 * k + 200 + 4 * d)}, n * 2e-4 * (1 + d / 100) * (1 + k / 15)
    seconds = dense_seconds(float(n) * n * d, np.dtype(np.float32)) + 0.4e-9 * float(n) * n / workers
    return parts, seconds + reading + 0.6e-9 * float(n) * candidates * d / workers
