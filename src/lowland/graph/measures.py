"""Comparison of points in a search: first by fast approximate values, then exactly, pair by pair.

The approximate values have an error bound, which decides which pairs are compared exactly. Results are exact distances,
summed in one order: the same pair has the same bits in every search, for one row or many.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError, ScaleError
from ..core.message import DENSE, Message
from ..core.settings import threads
from ..core.spmm import outer
from ..pairs.distances import SPARSE_METRICS, learn, metric
from ..pairs.pairwise import Function, Pairwise, Precomputed, cut, length, tiles
from ..pairs.sparse import canonical, row_squares, unit_rows
from ..rows.block import Block, require_finite
from ..rows.conversion import working

Array = Any
Rows = Any  # rows in the form that a measure wants

EPS = float(np.finfo(np.float64).eps)
_COLUMNS = 4096  # points compared at a time, and fewer of them
SHIFTED_ENTRIES = 1 << 20  # entries shifted at a time: of wide rows a few, so that no copy of the table is made
_GATHERED_ENTRIES = 1 << 18  # entries gathered at once: they stay in the cache
_DIFFERENCE_ENTRIES = 1 << 16  # stored entries subtracted at once: four times as many took 18 MB a thread, not 8
_DIFFERENCE_BYTES = 80  # of each: two rows, what either stores of their difference, its squares and row numbers
_FEW_COLUMNS = 64  # up to which a call for each column is quick enough
_COMPILED = 1 << 22  # numbers above which the compiled loop is worth its start-up time
_LEAST_SQUARE = 1e-300  # largest square of a set, below which those of near points underflow


class BoundMetric:
    """A metric bound to the searched points. Subclasses define how rows are prepared and compared."""

    n: int
    name = "brute force"
    rows_at_once = 512  # at most
    floor = 0.0  # Euclidean distances up to this may be rounding and count as zero

    def own(self, numbers: Array) -> Rows:
        """Return the points with these numbers (a slice or an array), prepared for `compare`."""
        raise NotImplementedError

    def prepare(self, block: Array) -> Rows:
        """Return new rows, prepared for `compare`."""
        raise NotImplementedError

    def on(self, items: Array) -> BoundMetric:
        """Return the same metric, with what it learned, bound to other points, which rows are prepared for as well."""
        raise NotImplementedError

    def compare(self, rows: Rows) -> Array:
        """Return m × n values that grow with the distance; the caller may change them."""
        raise NotImplementedError

    def slack(self, rows: Rows, j: Array) -> Array | float:
        """Return the rounding bound of the values of each row with its points j (m × k)."""
        return 0.0

    def margin(self, rows: Rows, value: Array) -> Array | float:
        """Return the same for any point whose true value is at most this one, of each row."""
        return 0.0

    def exact(self, rows: Rows, i: Array, j: Array, values: Array) -> Array:
        """Return the distances of the rows i to the points j, for which `compare` gave ``values``: these, if exact."""
        return values

    def level(self, distance: float) -> float:
        """Return the value, on the scale of `compare`, of a distance."""
        return distance


class _Flat(NamedTuple):
    """Rows as they are, the same shifted in float64, and their squared norms."""

    rows: Array
    shifted: Array
    squares: Array


class EuclideanRows(BoundMetric):
    """Dense rows by ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy of shifted rows; exact distances are taken from differences."""

    def __init__(self, X: Array, shape: Callable[[Array], Array], finish: str) -> None:
        self.shape_rows, self.finish_as = shape, finish
        self.X = shape(X)
        self.n, self.width = self.X.shape
        self.shift = self.X.mean(axis=0, dtype=np.float64)
        self.squares = self._squares()
        if finish == "cosine":
            self.floor = _rounding(self.width, self.X.dtype)
        if self.squares.max(initial=0.0) < _LEAST_SQUARE and (self.X[:1] != self.X).any():
            raise ScaleError(
                f"the squares of the rows underflow (the largest entry is {float(abs(self.X).max()):.1g}): multiply "
                "the rows by a constant"
            )

    def _squares(self) -> Array:
        return np.concatenate([self.flat(self.X[part]).squares for part in row_tiles(self.n, self.width)])

    def on(self, items: Array) -> EuclideanRows:
        """Return the same metric, with its shift, bound to other points."""
        twin = copy.copy(self)
        twin.X = self.shape_rows(items)
        twin.n = len(twin.X)
        twin.squares = twin._squares()
        return twin

    def flat(self, rows: Array) -> _Flat:
        """Return rows that have their shape already, prepared."""
        Z = rows - self.shift
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", Z, Z)
        if not np.isfinite(squares).all():
            raise ScaleError(
                f"the squares of the rows overflow (the largest entry is {float(abs(rows).max()):.1g}): divide the "
                "rows by a constant"
            )
        return _Flat(rows, Z, squares)

    def own(self, numbers: Array) -> _Flat:
        """Return some of the points, prepared."""
        return self.flat(self.X[numbers])

    def prepare(self, block: Array) -> _Flat:
        """Return new rows, prepared."""
        return self.flat(self.shape_rows(block))

    def compare(self, rows: _Flat) -> Array:
        """Return squared distances by products."""
        V = np.empty((len(rows.rows), self.n))
        for part in row_tiles(self.n, self.width):
            np.matmul(rows.shifted, (self.X[part] - self.shift).T, out=V[:, part])
        V *= -2.0
        V += rows.squares[:, None]
        V += self.squares
        return V

    def slack(self, rows: _Flat, j: Array) -> Array:
        """Return 2(D + 8)·eps·(‖x‖ + ‖y‖)²: D rounded products added up in any order, the shift, and exact sums."""
        return 2 * (self.width + 8) * EPS * (np.sqrt(rows.squares)[:, None] + np.sqrt(self.squares[j])) ** 2

    def margin(self, rows: _Flat, value: Array) -> Array:
        """Return the bound for ‖y‖ ≤ ‖x‖ + distance, which holds for every point that near."""
        return 2 * (self.width + 8) * EPS * (2 * np.sqrt(rows.squares) + np.sqrt(value)) ** 2

    def raw(self, rows: Array, i: Array, j: Array) -> Array:
        """Return Euclidean distances, the squares added up column by column."""
        d = pair_distances(rows, self.X, i, j)
        if self.floor:
            d[d <= self.floor] = 0.0
        return d

    def finish(self, d: Array) -> Array:
        """Turn Euclidean distances into those of the metric."""
        if self.finish_as == "euclidean":
            return d
        return d * d / 2.0 if self.finish_as == "cosine" else d * d

    def exact(self, rows: _Flat, i: Array, j: Array, values: Array) -> Array:
        """Return distances from differences."""
        return self.finish(self.raw(rows.rows, i, j))

    def reach(self, distance: float) -> float:
        """Return the Euclidean distance that belongs to one of the metric."""
        return (
            distance if self.finish_as == "euclidean" else float(np.sqrt(distance * (1 + (self.finish_as == "cosine"))))
        )

    def level(self, distance: float) -> float:
        """Return the value of a distance."""
        return self.reach(distance) ** 2


def _rounding(terms: int, dtype: Any) -> float:
    """Return how far apart two unit rows of one direction can be: each is off by (terms/2 + 4)·eps at most."""
    return (terms + 8) * float(np.finfo(dtype).eps)


def pair_distances(A: Array, X: Array, i: Array, j: Array) -> Array:
    """Return ‖A[i] − X[j]‖ of pairs of rows, in float64; sums run from the first column to the last.

    NumPy and the compiled loop add up in the same order, so both give the same bits.
    """
    if len(i) * A.shape[1] > _COMPILED:
        from .search_loops import pair_distances as compiled

        out = np.empty(len(i))
        i, j = (np.ascontiguousarray(x, dtype=np.int64) for x in (i, j))
        if A.dtype == X.dtype:
            compiled(np.ascontiguousarray(A), X, i, j, out)
            return out
        for part in tiles(len(i), max(1, _GATHERED_ENTRIES // A.shape[1])):  # the loop takes rows of one precision
            few = np.arange(part.stop - part.start)
            compiled(A[i[part]].astype(np.float64), X[j[part]].astype(np.float64), few, few, out[part])
        return out
    total = np.zeros(len(i))
    if A.shape[1] > max(_FEW_COLUMNS, len(i)):  # wide rows: one call for many columns, and not one for each
        for part in tiles(A.shape[1], max(1, _GATHERED_ENTRIES // max(1, len(i)))):
            squares = A[i, part].astype(np.float64, copy=False)
            squares -= X[j, part]
            squares *= squares
            squares[:, 0] += total
            total = np.add.accumulate(squares, axis=1)[:, -1].copy()  # one by one, where np.sum would add in pairs
        return np.sqrt(total)
    for c in range(A.shape[1]):
        difference = A[i, c].astype(np.float64) - X[j, c]
        total += difference * difference
    return np.sqrt(total)


def row_tiles(n: int, width: int, most: int = _COLUMNS) -> list[slice]:
    """Cut n rows of some width into pieces of few entries.

    >>> len(row_tiles(1000, 10)), len(row_tiles(1000, 1 << 20))
    (1, 1000)
    """
    return tiles(n, min(most, max(1, SHIFTED_ENTRIES // max(1, width))))


class _Stored(NamedTuple):
    """Sparse rows, and their squared norms."""

    rows: Any
    squares: Array


class SparseRows(BoundMetric):
    """Sparse rows by products; exact distances from sparse differences."""

    rows_at_once = 64  # more are not compared sooner, and fewer parts would leave threads idle

    def __init__(self, X: Any, shape: Callable[[Any], Any], finish: str) -> None:
        self.shape_rows, self.finish_as = shape, finish
        self.X = shape(X)
        self.n = self.X.shape[0]
        self.transposed = self.X.T.tocsr()
        self.squares = row_squares(self.X)
        self.terms = int(np.diff(self.X.indptr).max(initial=0))
        if finish == "cosine":
            self.floor = _rounding(self.terms, self.X.dtype)

    def own(self, numbers: Array) -> _Stored:
        """Return some of the points, prepared."""
        return _Stored(self.X[numbers], self.squares[numbers])

    def prepare(self, block: Any) -> _Stored:
        """Return new rows, prepared."""
        rows = self.shape_rows(block)
        return _Stored(rows, row_squares(rows))

    def compare(self, rows: _Stored) -> Array:
        """Return squared distances by products."""
        V = outer(rows.rows, self.transposed)
        V *= -2.0
        V += rows.squares[:, None]
        V += self.squares
        return V

    def slack(self, rows: _Stored, j: Array) -> Array:
        """Return the bound of the values."""
        return self._unit(rows) * (np.sqrt(rows.squares)[:, None] + np.sqrt(self.squares[j])) ** 2

    def margin(self, rows: _Stored, value: Array) -> Array:
        """Return the bound for all points that near."""
        return self._unit(rows) * (2 * np.sqrt(rows.squares) + np.sqrt(value)) ** 2

    def _unit(self, rows: _Stored) -> float:
        """Return the rounding of sums over as many terms as rows store."""
        return 2 * EPS * (8 + max(self.terms, int(np.diff(rows.rows.indptr).max(initial=0))))

    def exact(self, rows: _Stored, i: Array, j: Array, values: Array) -> Array:
        """Return distances from differences, the squares added up column by column."""
        out = np.empty(len(i))
        if len(i) * self.terms > _COMPILED and _short_numbers(rows.rows, self.X):
            from .sparse_loops import sparse_distances

            i, j = (np.ascontiguousarray(x, dtype=np.int64) for x in (i, j))
            sparse_distances(*_parts(rows.rows), *_parts(self.X), i, j, out)
        else:
            for part in tiles(len(i), max(1, _DIFFERENCE_ENTRIES // max(1, self.terms))):
                out[part] = np.sqrt(row_squares(rows.rows[i[part]] - self.X[j[part]]))
        if self.floor:
            out[out <= self.floor] = 0.0
        return out * out / 2.0 if self.finish_as == "cosine" else out * out if self.finish_as != "euclidean" else out

    def level(self, distance: float) -> float:
        """Return the value of a distance."""
        if self.finish_as == "euclidean":
            return distance**2
        return 2 * distance if self.finish_as == "cosine" else distance


def sparse_search_bytes(n: int, columns: int, stored: int, k: int) -> int:
    """Return what searching k neighbours among n sparse rows, of so many stored entries each, takes on all threads.

    >>> sparse_search_bytes(1000, 200_000, 1000, 10) <= threads() * 8_000_000
    True
    """
    rows = min(n, SparseRows.rows_at_once)
    pairs = min(rows * k, max(1, _DIFFERENCE_ENTRIES // max(1, stored)))
    products = 12 * rows * stored + 4 * columns  # the rows by columns; these are freed before pairs are subtracted
    each = rows * (20 * n + 12 * stored) + max(products, _DIFFERENCE_BYTES * pairs * stored)
    return min(threads(), -(-n // rows)) * each


def _short_numbers(*matrices: Any) -> bool:
    """Return whether all indices are 32-bit, as up to 2³¹ entries: the compiled loops accept only these."""
    return all(X.indices.dtype == X.indptr.dtype == np.int32 for X in matrices)


def _parts(X: Any) -> tuple[Array, Array, Array]:
    return X.indptr, X.indices, X.data


class RuleRows(BoundMetric):
    """Any other metric, or a function of two objects; its values count as exact."""

    def __init__(self, rule: Pairwise, items: Array) -> None:
        self.rule, self.items = rule, items
        self.prepared = rule.prepare(items)
        self.n = length(self.prepared)
        self.one_by_one = isinstance(rule, Function) and rule.of_blocks

    def on(self, items: Array) -> RuleRows:
        """Return the same metric bound to other points."""
        twin = copy.copy(self)
        twin.items, twin.prepared = items, self.rule.prepare(items)
        twin.n = length(twin.prepared)
        return twin

    def own(self, numbers: Array) -> Rows:
        """Return some of the points, prepared."""
        return cut(self.prepared, numbers)

    def prepare(self, block: Array) -> Rows:
        """Return new rows, prepared."""
        return self.rule.prepare(block)

    def compare(self, rows: Rows) -> Array:
        """Return values that grow with the distance."""
        if not self.one_by_one:
            return np.array(self.rule.between(rows, self.prepared))
        # a user's function may round by the size of its block; a row's neighbours must not depend on that
        return np.concatenate([self.rule.between(cut(rows, part), self.prepared) for part in tiles(length(rows), 1)])


class SquareRows(BoundMetric):
    """Given distances between all objects; new rows hold the distances to each of them."""

    def __init__(self, D: Array) -> None:
        self.D, self.n = D, D.shape[1]
        self.rule = Precomputed()

    def own(self, numbers: Array) -> Rows:
        """Return some of the points, prepared."""
        return np.asarray(self.D[numbers])

    def prepare(self, block: Array) -> Rows:
        """Return rows of distances, checked."""
        block = np.asarray(block)
        if block.shape[1] != self.n:
            raise DataError(f"rows of distances must have one for each of {self.n} objects; got {block.shape[1]}")
        if not (block >= 0).all():
            i, j = np.argwhere(~(block >= 0))[0]
            raise DataError(
                f"a distance is negative or not a number: {block[i, j]:g} at row {i}, column {j} of its block"
            )
        return block

    def compare(self, rows: Rows) -> Array:
        """Return the given distances."""
        return rows.astype(np.float64)  # a copy: the search marks in it


def measure(spec: str | Callable[[Any, Any], Any], items: Array, state: dict[str, Array] | None) -> BoundMetric:
    """Bind a metric to the points that are searched."""
    if sp.issparse(items):
        return _sparse(spec, items)
    if spec == "precomputed":
        return SquareRows(items)
    if callable(spec):
        return RuleRows(metric(spec, items, state), items)
    items = _finite(arrays.to_numpy(items))
    if spec in ("euclidean", "sqeuclidean"):
        return EuclideanRows(items, _dense, spec)
    if spec in ("cosine", "correlation"):
        rule = metric(spec, items, state)
        return EuclideanRows(items, lambda block: np.ascontiguousarray(rule.prepare(_dense(block))[0]), "cosine")
    if spec == "seuclidean":  # the Euclidean distance of columns divided by their standard deviations
        deviations = np.sqrt((learn(spec, items) if state is None else state)["V"])
        return EuclideanRows(items, lambda block: _dense(block) / deviations, "euclidean")
    return RuleRows(metric(spec, items, state), items)


def comparable(spec: str | Callable[[Any, Any], Any], items: Array) -> Array:
    """Return objects that are equal if their distance is zero: rows of one direction for an angle."""
    if spec not in ("cosine", "correlation") or sp.issparse(items):
        return items
    return metric(spec, items, {}).prepare(_dense(_finite(arrays.to_numpy(items))))[0]


def _finite(X: Array) -> Array:
    for part in tiles(len(X), _COLUMNS):
        require_finite(Block(part.start, X[part], None))
    return X


def _dense(block: Array) -> Array:
    """Return rows in one piece each, in the precision they are worked on."""
    X = arrays.to_numpy(block)
    return np.ascontiguousarray(X, dtype=working(X.dtype))


def _sparse(spec: str | Callable[[Any, Any], Any], items: Any) -> BoundMetric:
    if callable(spec) or spec not in SPARSE_METRICS:
        name = "a function" if callable(spec) else repr(spec)
        raise DataError(
            Message(
                "sparse rows support the metrics 'euclidean', 'sqeuclidean', 'cosine' and 'cityblock', "
                f"not {name}; use one of these, or pass ",
                DENSE,
                " if it fits in memory",
            )
        )
    if spec == "cityblock":
        return RuleRows(metric(spec, items), items)
    return SparseRows(items, _unit if spec == "cosine" else canonical, spec)


def _unit(X: Any) -> Any:
    """Return rows divided by their norms; refuse a row of zeros."""
    X = unit_rows(X)
    if not (squares := row_squares(X)).all():
        row = int(squares.argmin())
        raise DataError(f"the cosine distance is undefined for a row that is zero (row {row} of its block)", row=row)
    return X
