"""How far each object is from the crowd: its distance to the k-th nearest other one, and up to where that is ordinary.

Equal objects count once: copies of an outlier do not make a crowd of it. Of many objects a sample stands for the crowd,
so that memory does not grow with the square of their number.
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

ALL = 10_000  # objects up to which all are the crowd
ANCHORS = 5000  # of more, so many stand for it
_SIMULATED_DISTANCES = 20_000  # distances of normal rows that tell what is ordinary
_SMALL_TABLE = 1000  # rows of a table up to which many are drawn at once
_PAIRS_AT_ONCE = 1 << 20  # pairs compared at once then
_CLOSE = 4.0  # standard errors by which a bulk must be less spread than normal rows: to say so costs ordinary rows
_ENOUGH = 100  # different values that it must have, too
_TAIL = 0.02  # share of them beyond which their logarithms fall off exponentially
_AXES = 40  # variances of the null that are kept one by one
_EQUAL_ROWS_KEPT = 160  # at most so many equal ones stand for the rest
UNKNOWN = np.ones(1)  # spectrum for distances without coordinates: one dimension has the longest tail


class Crowd(NamedTuple):
    """The search among distinct objects, how many neighbours are asked for, and which of the objects are searched."""

    search: Searcher
    k: int
    first: Array

    def distances(self, block: Array) -> Array:
        """Return how far objects are from their k-th nearest other object of the crowd."""
        _, d = self.search.query(block, self.k + 1)
        return np.where(d[:, 0] == 0, d[:, self.k], d[:, self.k - 1])


def crowd(metric: str | Callable[[Any, Any], Any], items: Array, k: int, state: Any = None) -> Crowd:
    """Bind the search to those of some objects that differ to the metric."""
    square = isinstance(metric, str) and metric == "precomputed"
    first = distinct(comparable(metric, items), square=square).first
    if len(first) < items.shape[0]:
        items = items[first][:, first] if square else items[first]
    return Crowd(searcher(metric, items, state), min(k, items.shape[0] - 1), first)


def normal_distances(spectrum: Array, m: int, k: int, rng: np.random.Generator) -> Array:
    """Return the logarithms of the distances to the k-th nearest, ascending, among m normal rows with these variances.

    Tables of m rows are drawn until there are enough. The shape of the result, not its units, is what counts.
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
    """Return the distances to the k-th nearest within each of many small tables, by products."""
    squares = np.einsum("bij,bij->bi", tables, tables)
    D = squares[:, :, None] + squares[:, None, :] - 2 * (tables @ tables.transpose(0, 2, 1))
    return np.sqrt(np.partition(D, k, axis=2)[:, :, k].clip(np.finfo(float).tiny)).ravel()  # the nearest is itself


def condensed(spectrum: Array) -> Array:
    """Return few variances that give much the same distances: the largest, and equal ones with the sums of the rest."""
    spectrum = spectrum[spectrum > 0]
    if len(spectrum) <= _AXES:
        return spectrum
    rest = spectrum[_AXES:]
    total = float(rest.sum())
    count = int(np.clip(round(total**2 / float((rest**2).sum())), 1, _EQUAL_ROWS_KEPT))
    return np.concatenate([spectrum[:_AXES], np.full(count, total / count)])


def distance_limit(values: Array, null: Array, share: float) -> Limit:
    """Return the distance that this share of ordinary objects exceeds.

    log d = a + b·(what normal rows would have): a from the median, b = 1 unless the bulk contradicts by several
    standard errors. Then b comes from the bulk, the values below the limit, so that sheets and heavy tails set their
    own measure.
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
    for _ in range(20):  # the limit says what the bulk is, and the bulk the limit: until they agree
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
    """Return log(q/q₀.₅) with the first of the values above q₀.₉ for q.

    Counts have few different distances. Both quantiles may then be one, and the bulk as wide as the next step.
    """
    low, high = np.quantile(bulk, (LOW, HIGH))
    above = values[values > high]
    return float(np.log(above.min()) - np.log(low)) if len(above) else np.inf


def null_beyond(null: Array, share: float) -> float:
    """Return the value that a share of the null exceeds; beyond the outermost ones by an exponential tail."""
    if share >= _TAIL:
        return float(np.quantile(null, 1 - share))
    edge = float(np.quantile(null, 1 - _TAIL))
    return edge + float((null[null > edge] - edge).mean()) * float(np.log(_TAIL / share))


def sample(n: int, anchors: int | str | None, rng: np.random.Generator) -> Array:
    """Return the numbers of the objects that stand for the crowd, ascending."""
    if anchors == "auto":
        anchors = n if n <= ALL else ANCHORS
    most = n if anchors is None else int(anchors)
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def divided(rows: Array, units: Array | None) -> Array:
    """Return rows over the units of their columns; a sparse row gets the same bits as a dense one."""
    if units is None:
        return rows
    if not sp.issparse(rows):
        return rows / units
    rows = sp.csr_array(rows)
    return sp.csr_array((rows.data / units[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
