"""How the error of a map falls with its number of dimensions: stress of MDS, residual variance of Isomap.

Large sets are represented by a random sample of rows, whose number the result gives.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.errors import RankWarning
from ..core.message import Message, Owner, Setting
from ..graph.neighbors import objects
from ..pairs.distances import learn
from ..quality.pair_measures import residual_variance
from ..quality.spaces import Metric, coded

Array = Any

STRESS_ROWS = 1000  # most rows of the maps whose stress is compared
PATH_ROWS = 2000  # most rows of the neighbour graph
DIMENSIONS = range(1, 7)
METHODS = ("metric", "nonmetric")


@dataclass(frozen=True, eq=False)
class StressCurve:
    """Stress-1 of maps of several numbers of dimensions; ``n_used`` of ``n_rows`` rows were mapped."""

    dimensions: tuple[int, ...]
    stress: Array
    method: str
    n_rows: int
    n_used: int


@dataclass(frozen=True, eq=False)
class ResidualCurve:
    """Residual variance of Isomap's maps, and of linear ones, for several numbers of dimensions.

    ``isomap`` is 1 − r² of distances in the map with path lengths in the neighbour graph; ``linear`` that of PCA (or
    classical MDS, as ``linear_name`` says) with direct distances. NaN where a map has not so many dimensions; None
    where the rows are not known. ``n_used`` of ``n_rows`` rows were mapped.
    """

    dimensions: tuple[int, ...]
    isomap: Array
    linear: Array | None
    linear_name: str
    n_neighbors: int | None
    n_rows: int
    n_used: int


def stress_by_dimension(
    X: Any,
    dimensions: Iterable[int] = DIMENSIONS,
    *,
    method: str = "metric",
    metric: Metric = "euclidean",
    rows: int | None = STRESS_ROWS,
    random_state: int | None = None,
) -> StressCurve:
    """Fit maps of several numbers of dimensions and return the stress of each.

    The curve falls steeply as long as a further dimension shows structure, and slowly after that; the bend (elbow) is
    the number of dimensions to take.

    Parameters
    ----------
    X : array, sparse matrix, data frame, list of objects
        The data; with ``metric="precomputed"`` their distances.
    dimensions : iterable of int
        Numbers of dimensions, at least 1.
    method : {"metric", "nonmetric"}
        `MetricMDS`, or `NonmetricMDS`, which compares only the order of distances.
    metric : str or callable
        Metric of the data.
    rows : int or None
        Of more rows than this, a random sample is mapped; None: all rows.
    random_state : int, optional
        Seed of the sample and of the fits; None is 0.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) @ [[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]
    >>> curve = stress_by_dimension(X, [1, 2])
    >>> bool(curve.stress[0] > 0.1), bool(curve.stress[1] < 1e-4)
    (True, True)
    """
    from ..methods.distance.metric_mds import MetricMDS
    from ..methods.distance.nonmetric_mds import NonmetricMDS

    owner = "stress_by_dimension"
    if method not in METHODS:
        raise ValueError(
            Message(Owner(owner), Setting("method"), f" must be 'metric' or 'nonmetric'; it is {method!r}")
        )
    numbers = _numbers(dimensions, owner)
    items, metric, n = _some_rows(X, metric, rows, random_state, owner)
    fit = MetricMDS if method == "metric" else NonmetricMDS
    used, most = int(items.shape[0]), _most_dimensions(items, metric)
    stress: dict[int, float] = {}
    with _any_rank():
        for k in sorted({min(k, most) for k in numbers}):  # further dimensions do not change a map
            model = fit(n_components=k, metric=metric, random_state=random_state).fit(items)
            stress[k] = float(model.stress_)
    return StressCurve(numbers, np.array([stress[min(k, most)] for k in numbers]), method, n, used)


def residual_variance_by_dimension(
    X: Any,
    dimensions: Iterable[int] = DIMENSIONS,
    *,
    n_neighbors: int = 10,
    metric: Metric = "euclidean",
    rows: int | None = PATH_ROWS,
    random_state: int | None = None,
) -> ResidualCurve:
    """Return the residual variance of Isomap and of PCA for several numbers of dimensions, as Tenenbaum et al. do.

    Each method is compared with the distances that it is meant to preserve: Isomap with path lengths in the neighbour
    graph, PCA with direct distances. For other metrics classical MDS takes the place of PCA.

    Parameters
    ----------
    X, metric, random_state
        As in `stress_by_dimension`.
    dimensions : iterable of int
        Numbers of dimensions, at least 1.
    n_neighbors : int
        Neighbours of each row in the graph.
    rows : int or None
        Of more rows than this, a random sample is mapped; None: all rows.

    References
    ----------
    Tenenbaum, J. B., de Silva, V., Langford, J. C. (2000). A global geometric framework for nonlinear dimensionality
    reduction. Science 290, 2319–2323.

    Examples
    --------
    >>> import lowland
    >>> X, _ = lowland.data.swiss_roll(600, random_state=0)
    >>> curve = residual_variance_by_dimension(X, [1, 2])
    >>> bool(curve.isomap[1] < 0.02), bool(curve.linear[1] > 0.1)
    (True, True)
    """
    from ..methods.distance.classical_mds import ClassicalMDS
    from ..methods.linear.pca import PCA
    from ..methods.manifold.isomap import Isomap

    owner = "residual_variance_by_dimension"
    numbers = _numbers(dimensions, owner)
    items, metric, n = _some_rows(X, metric, rows, random_state, owner)
    used, most = items.shape[0], max(numbers)
    flat = isinstance(metric, str) and metric == "euclidean"
    k = min(most, _most_dimensions(items, metric))
    exact: dict[str, Any] = {"metric": metric, "landmarks": None, "random_state": random_state}
    linear = PCA(k) if flat else ClassicalMDS(k, **exact)
    with _any_rank():
        model = Isomap(min(most, used - 1), n_neighbors=n_neighbors, **exact).fit(items)
        Y = np.asarray(linear.fit_transform(items), dtype=np.float64)
    found = [
        float(residual_variance(items, Y[:, :d], metric=metric, pairs=None)) if d <= Y.shape[1] else np.nan
        for d in numbers
    ]
    name = "PCA" if flat else "classical MDS"
    isomap = at_dimensions(model.residual_variance_, numbers)
    return ResidualCurve(numbers, isomap, np.array(found), name, n_neighbors, n, used)


def at_dimensions(values: Array, numbers: Iterable[int]) -> Array:
    """Return the values of some numbers of dimensions, from those of 1, 2, …; NaN where there are not so many.

    >>> at_dimensions([0.5, 0.1], [2, 3]).tolist()
    [0.1, nan]
    """
    return np.array([values[d - 1] if d <= len(values) else np.nan for d in numbers], dtype=np.float64)


@contextmanager
def _any_rank() -> Iterator[None]:
    """Do not warn of maps that have fewer dimensions than were asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        yield


def _most_dimensions(items: Any, metric: Metric) -> int:
    """Return how many dimensions a map of these rows can have."""
    n = int(items.shape[0])
    return min(n - 1, int(items.shape[1])) if isinstance(metric, str) and metric == "euclidean" else n - 1


def _numbers(dimensions: Iterable[int], owner: str) -> tuple[int, ...]:
    numbers = tuple(dimensions)
    whole = all(isinstance(d, int | np.integer) and not isinstance(d, bool) and d >= 1 for d in numbers)
    if not numbers or not whole:
        allowed = f" must be whole numbers of at least 1, such as range(1, 7); got {list(numbers)}"
        raise ValueError(Message(Owner(owner), Setting("dimensions"), allowed))
    return tuple(sorted({int(d) for d in numbers}))


def _some_rows(
    X: Any, metric: Metric, rows: int | None, random_state: int | None, owner: str
) -> tuple[Any, Metric, int]:
    """Return all rows or a sample, the metric between them, and the number of all rows."""
    X, metric = coded(X, metric)
    items = objects(X, metric, owner)
    n = int(items.shape[0])
    if rows is None or n <= rows:
        return items, metric, n
    if isinstance(metric, str) and metric == "seuclidean":  # standard deviations of all rows, not of the sample
        items, metric = items / np.sqrt(learn("seuclidean", items)["V"]), "euclidean"
    few = np.sort(np.random.default_rng(random_state or 0).choice(n, rows, replace=False))
    square = isinstance(metric, str) and metric == "precomputed"
    return items[np.ix_(few, few)] if square else items[few], metric, n
