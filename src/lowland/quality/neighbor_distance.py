"""The distance of each object to its k-th nearest neighbour, and the limit of this distance.

Equal objects count once, so that copies of an outlier do not hide it. For many objects, neighbours are searched in a
sample, so that the cost does not grow with the square of their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..graph.measures import comparable
from ..graph.neighbors import distinct, searcher
from ..graph.search import Searcher
from .limits import HIGH, LOW, SURE, Limit, spread, spread_error

Array = Any

ALL = 10_000  # up to this number of objects, all are searched
ANCHORS = 5000  # number of searched objects if there are more
_SIMULATED_DISTANCES = 20_000  # distances simulated for normal rows
_SMALL_TABLE = 1000  # tables of up to this many rows are simulated several at once
_PAIRS_AT_ONCE = 1 << 20  # pairs compared at once for small tables
_CLOSE = 4.0  # standard errors by which the spread must be below that of normal rows before the limit is lowered
_ENOUGH = 100  # least number of different values for the same
_TAIL = 0.02  # share of the simulated distances whose logarithms are extrapolated exponentially
_AXES = 40  # largest variances that are simulated individually
_MOST_EQUAL = 160  # most equal variances that replace the others
UNKNOWN = np.ones(1)  # spectrum for distances without coordinates: one dimension has the longest tail


class NeighborSearch(NamedTuple):
    """The search among distinct objects, the number of neighbours, and the numbers of the searched objects."""

    search: Searcher
    k: int
    first: Array

    def distances(self, block: Array) -> Array:
        """Return the distance of each object to its k-th nearest neighbour, itself excluded."""
        _, d = self.search.query(block, self.k + 1)
        return np.where(d[:, 0] == 0, d[:, self.k], d[:, self.k - 1])


def neighbor_search(metric: str | Callable[[Any, Any], Any], items: Array, k: int, state: Any = None) -> NeighborSearch:
    """Return a search among the distinct objects."""
    square = isinstance(metric, str) and metric == "precomputed"
    first = distinct(comparable(metric, items), square=square).first
    if len(first) < items.shape[0]:
        items = items[first][:, first] if square else items[first]
    return NeighborSearch(searcher(metric, items, state), min(k, items.shape[0] - 1), first)


def normal_distances(spectrum: Array, m: int, k: int, rng: np.random.Generator) -> Array:
    """Return the sorted logarithms of simulated distances to the k-th neighbour among m normal rows.

    The rows have these variances. Tables of m rows are drawn until there are enough distances. Only the shape of the
    result is used, not its unit.
    """
    spans = np.sqrt(condensed(np.asarray(spectrum, dtype=np.float64)))
    found: list[Array] = []
    while sum(len(d) for d in found) < _SIMULATED_DISTANCES:
        if m <= _SMALL_TABLE:
            count = max(1, min(-(-_SIMULATED_DISTANCES // m), _PAIRS_AT_ONCE // m**2))
            found.append(_small_tables(rng.standard_normal((count, m, len(spans))) * spans, k))
        else:
            rows = rng.standard_normal((m, len(spans))) * spans
            found.append(searcher("euclidean", rows).graph(k).distances.reshape(m, k)[:, -1])
    return np.sort(np.log(np.concatenate(found)))


def _small_tables(tables: Array, k: int) -> Array:
    """Return the distances to the k-th neighbour within each of many small tables, by matrix products."""
    squares = np.einsum("bij,bij->bi", tables, tables)
    D = squares[:, :, None] + squares[:, None, :] - 2 * (tables @ tables.transpose(0, 2, 1))
    return np.sqrt(np.partition(D, k, axis=2)[:, :, k].clip(np.finfo(float).tiny)).ravel()  # index 0 is the row itself


def condensed(spectrum: Array) -> Array:
    """Return fewer variances with similar distances: the largest ones, and equal ones with the sum of the rest."""
    spectrum = spectrum[spectrum > 0]
    if len(spectrum) <= _AXES:
        return spectrum
    rest = spectrum[_AXES:]
    total = float(rest.sum())
    count = int(np.clip(round(total**2 / float((rest**2).sum())), 1, _MOST_EQUAL))
    return np.concatenate([spectrum[:_AXES], np.full(count, total / count)])


def distance_limit(values: Array, null: Array, share: float) -> Limit:
    """Return the distance that this share of inliers exceeds.

    Model: log d = a + b·(log distance of normal rows), with a from the median and b = 1 unless the spread of the
    inliers (values below the limit) differs by several standard errors; then b is estimated from it. This adapts the
    limit to curved shapes and heavy tails.
    """
    middle = float(np.quantile(null, LOW))

    def quantile(p: float) -> float:
        return float(np.exp(np.quantile(null, p)))

    positive = values[values > 0]
    if len(positive) == 0:
        return Limit(0.0, 0.0)
    reach = null_beyond(null, share) - middle
    expected = float(np.quantile(null, HIGH)) - middle
    bulk, b, seen = positive, 1.0, []
    for _ in range(20):  # the limit defines the inliers and they define the limit: iterate until both agree
        a = float(np.log(np.quantile(bulk, LOW)))
        found, most = spread(bulk), _spread_at_most(positive, bulk)
        error = spread_error(quantile, len(bulk))
        if len(bulk) >= 20 and found > expected + SURE * error:
            b = found / expected
        elif len(np.unique(bulk)) >= _ENOUGH and most < expected - _CLOSE * error:
            b = most / expected
        else:
            b = 1.0
        edge = np.exp(a + b * reach)
        inside = positive[positive <= edge]
        if len(inside) in seen or len(inside) < len(positive) / 2:
            break
        seen.append(len(inside))
        bulk = inside
    return Limit(float(edge), float(np.exp(a + reach)), width=b)


def _spread_at_most(values: Array, bulk: Array) -> float:
    """Return log(q/q₀.₅), where q is the smallest value above q₀.₉.

    Counts have few different distances, so both quantiles may be equal; the next value bounds the spread.
    """
    low, high = np.quantile(bulk, (LOW, HIGH))
    above = values[values > high]
    return float(np.log(above.min()) - np.log(low)) if len(above) else np.inf


def null_beyond(null: Array, share: float) -> float:
    """Return the value that a share of the simulated values exceeds, extrapolated by an exponential tail."""
    if share >= _TAIL:
        return float(np.quantile(null, 1 - share))
    edge = float(np.quantile(null, 1 - _TAIL))
    return edge + float((null[null > edge] - edge).mean()) * float(np.log(_TAIL / share))


def sample(n: int, anchors: int | str | None, rng: np.random.Generator) -> Array:
    """Return the numbers of the objects to search, ascending."""
    if anchors == "auto":
        anchors = n if n <= ALL else ANCHORS
    most = n if anchors is None else int(anchors)
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def divided(rows: Array, units: Array | None) -> Array:
    """Divide the columns of rows by their units; sparse and dense rows give the same bits."""
    if units is None:
        return rows
    if not sp.issparse(rows):
        return rows / units
    rows = sp.csr_array(rows)
    return sp.csr_array((rows.data / units[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
