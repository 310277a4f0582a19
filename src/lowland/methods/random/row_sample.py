"""One reading of rows: their number and mean, and a random sample on which a map's distortion is measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core import arrays
from ...pairs.distances import SquaredEuclidean
from ...rows.block import Block, block_rows
from ...rows.row_source import RowSource

Array = Any

SAMPLE = 200  # rows that are kept, whose 19,900 pairs can be measured


class RowSample:
    """What one reading of the rows leaves: their number and mean, whether any two differ, and a sample of them."""

    def __init__(self, d: int) -> None:
        self.count, self.mean, self.differ = 0, np.zeros(d), False
        self.sample: Any = None

    def distortion(self, project: Callable[[Array], Array]) -> Array:
        """Return the relative error of the squared distances of the sample's pairs after a map; equal rows left out."""
        X = self.sample
        largest = abs(X).max()  # the squares of huge or tiny rows would not be numbers
        X = _divided(X, largest or X.dtype.type(1))
        true, kept = _squared_distances(X), _squared_distances(project(X))
        different = true > 0
        return np.abs(kept[different] / true[different] - 1.0)

    def evidence(self, project: Callable[[Array], Array], eps: float) -> dict[str, Any]:
        """Return how many pairs were measured, and their distortion; why it was not measured, where no rows differ."""
        if not self.differ:
            return {"pairs measured": 0, "distortion": f"not measured: {_no_pairs(self.count)}"}
        error = self.distortion(project)
        if not len(error):
            return {"pairs measured": 0}
        worst, mean, within = float(error.max()), float(error.mean()), float(np.mean(error <= eps))
        shares = {"pairs within eps": within, "mean distortion": mean, "worst distortion": worst}
        return {"pairs measured": len(error), **shares}


def _divided(X: Array, number: Any) -> Array:
    """Return the rows divided by a number, in their own precision; SciPy makes float64 of sparse float32 rows."""
    if not sp.issparse(X):
        return X / number
    return sp.csr_array((X.data / number, X.indices, X.indptr), shape=X.shape)


def _no_pairs(count: int) -> str:
    return "there is only 1 row" if count == 1 else "all rows are equal"


class _Part(NamedTuple):
    """What one block leaves: rows, mean, first row, whether its rows differ, and the rows that enter the sample."""

    n: int
    mean: Array
    first: Array
    differ: bool
    chosen: list[tuple[int, Array]]  # the place in the sample, and the row
    block: Block | None  # where the rows to choose are not known yet


def read(rows: RowSource, rng: np.random.Generator) -> RowSample:
    """Read the rows once; the sample is Vitter's reservoir, so that a stream need not say its length."""
    seen, held, first = RowSample(rows.n_features), list[Array](), None
    places = None if rows.n_rows is None else _all_places(rows.n_rows, block_rows(rows.n_features, rows.sparse), rng)

    def work(block: Block) -> _Part:
        rows.check(block)
        chosen = [] if places is None else _chosen(block, places.get(block.start, []))
        own = _host(block.rows[:1])
        differ = _differ(block.rows, own)
        return _Part(block.rows.shape[0], _mean(block.rows), own, differ, chosen, block if places is None else None)

    for part in rows.map(work, stage="read"):
        m = part.n
        first = part.first if first is None else first
        seen.differ = seen.differ or part.differ or _differ(part.first, first)
        chosen = part.chosen if part.block is None else _chosen(part.block, _places(seen.count, m, rng))
        for place, row in chosen:
            held[place : place + 1] = [row]  # beyond the end it is appended
        seen.count += m
        share = m / seen.count
        seen.mean += part.mean * share - seen.mean * share  # the difference itself could pass the largest number
    seen.sample = sp.vstack(held, format="csr") if rows.sparse else np.vstack(held)
    return seen


def _chosen(block: Block, places: list[tuple[int, int]]) -> list[tuple[int, Array]]:
    """Return copies of the rows of a block that enter the sample, with their places."""
    return [(place, _host(block.rows[i : i + 1])) for i, place in places]


def _all_places(n: int, size: int, rng: np.random.Generator) -> dict[int, list[tuple[int, int]]]:
    """Return the places of all blocks that have any, by the first row of the block."""
    drawn = {start: _places(start, min(size, n - start), rng) for start in range(0, n, size)}
    return {start: places for start, places in drawn.items() if places}


def _places(start: int, m: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return which of m rows enter the reservoir, and whose place they take; rows before start have been seen."""
    number = np.arange(start, start + m)
    place = np.where(number < SAMPLE, number, (rng.random(m) * (number + 1)).astype(np.int64))
    return [(int(i), int(place[i])) for i in np.flatnonzero(place < SAMPLE)]


def _host(rows: Array) -> Array:
    """Copy rows into memory of our own."""
    return rows.copy() if sp.issparse(rows) else arrays.to_numpy(rows).copy()


def _mean(rows: Array) -> Array:
    """Return the mean of the rows in float64."""
    m, rows = rows.shape[0], rows if sp.issparse(rows) else arrays.to_numpy(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()
    if np.isfinite(total).all():
        return total / m
    return np.asarray(np.full(m, 1 / m) @ rows).ravel()  # sums of rows near the largest number pass it, shares do not


def _differ(rows: Array, first: Array) -> bool:
    """Tell whether some row is not the first of all."""
    if not sp.issparse(rows):
        return bool((arrays.to_numpy(rows) != first).any())
    repeated = sp.csr_array(np.ones((rows.shape[0], 1), dtype=rows.dtype)) @ first
    return bool((rows - repeated).count_nonzero())


def _squared_distances(X: Array) -> Array:
    """Return the squared distances of all pairs of rows, one of each, in float64."""
    i, j = np.triu_indices(X.shape[0], 1)
    if not sp.issparse(X):
        rule = SquaredEuclidean(X.mean(axis=0, dtype=np.float64))
        prepared = rule.prepare(X)
        return rule.between(prepared, prepared)[i, j]
    X = X.astype(np.float64)
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    squares, sums = (X @ X.T).toarray()[i, j], lengths[i] + lengths[j]
    squares = sums - 2 * squares
    near = squares < 1e-6 * sums  # the product has lost their digits
    difference = X[i[near]] - X[j[near]]
    squares[near] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
    return squares
