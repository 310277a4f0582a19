"""Coded rows: a column for each number and one for each level of a category, few of which are not zero.

They are written out as blocks or as one sparse matrix, or never: the scatter of indicators is made of how often two
levels meet (the Burt table), and that of numbers and levels of sums over the rows of each level. `solve` finds their
leading directions by the way that suits their shape, and `cost` says what that takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...contract.inputs import Rows
from ...core import arrays, thread_pool
from ...core.cost import DataShape, Plan
from ...core.errors import DataError
from ...core.message import message
from ...core.settings import report_progress, threads
from ...rows.gram_sums import square_zeros
from ...rows.mixed_rows import PIECE_ROWS, Learned, MixedRows, mixed_rows
from ...rows.moments import Moments
from ...rows.object_rows import MappedRows
from ...rows.row_source import ArrayRows, RowSource, block_rows
from ...spectral import rowspace
from ...spectral.routes import deviations
from ...spectral.rowspace import RowSpace
from ...spectral.solve import DENSE_LIMIT
from ...spectral.solved import ComponentRule, Scaling
from ..shared.linear_map import linear_plan

Array = Any

REMEDY = "leave out columns of many levels"
MEETING_ROWS = 1 << 16  # rows whose levels are counted at a time: many beside the pairs of levels
WIDEST = 10_000  # coded columns whose scatter, 0.8 GB, is made; more are multiplied row by row
REREAD = 1e10  # N·C² up to which rows are written out where counts cannot see the last wanted value: a few seconds
_CENTRED = Scaling(center=True, scale=False, ddof=0)  # coded rows bring their weights along
_STANDARD = Scaling(center=True, scale=True, ddof=0)  # numbers alone: PCA of the correlations
_AT_A_TIME = 1 << 18  # entries of the scatter that are centred at a time


class MixedInput(Rows):
    """Rows of numbers and categories."""

    def source(self, model: Any, X: Any) -> RowSource:
        """Turn input into a row source; levels are learned from it."""
        return mixed_rows(X, model.categorical, missing=model.missing, owner=type(model).__name__)


@dataclass(frozen=True)
class Layout:
    """Where the columns of a table stand among coded ones: a number keeps its column, a category gets one a level.

    >>> layout = Layout.of(3, (1,), (2,))
    >>> layout.width, layout.first.tolist(), layout.origin.tolist()
    (4, [0, 1, 3], [0, 1, 1, 2])
    """

    categorical: Array
    numeric: Array
    first: Array  # the first coded column of each column
    origin: Array  # the column of each coded one

    @classmethod
    def of(cls, n_features: int, categorical: Sequence[int], sizes: Sequence[int]) -> Layout:
        """Lay out columns of which some are categories of so many levels."""
        widths = np.ones(n_features, dtype=np.intp)
        chosen = np.asarray(categorical, dtype=np.intp)
        widths[chosen] = sizes
        rest = np.setdiff1d(np.arange(n_features), chosen)
        return cls(chosen, rest, np.cumsum(widths) - widths, np.repeat(np.arange(n_features), widths))

    @property
    def n_columns(self) -> int:
        """The number of columns of the table."""
        return len(self.first)

    @property
    def width(self) -> int:
        """The number of coded columns."""
        return len(self.origin)

    def summed(self, values: Array) -> Array:
        """Add up rows of values over the levels of each column."""
        return np.add.reduceat(values, self.first, axis=0)

    def span(self, column: int) -> slice:
        """Return the coded columns of a column."""
        start = int(self.first[column])
        stop = int(self.first[column + 1]) if column + 1 < len(self.first) else self.width
        return slice(start, stop)

    def names(self, columns: Sequence[str], levels: Sequence[list[Any]]) -> list[str]:
        """Return names of the coded columns; where two would be alike, texts stand in quotes.

        >>> Layout.of(2, (1,), (3,)).names(["x", "k"], [[1, "missing", None]])
        ['x', 'k=1', "k='missing'", 'k=missing']
        """
        parts: list[tuple[str, Any]] = [(name, "") for name in columns]
        for j, known in reversed(list(zip(self.categorical.tolist(), levels, strict=True))):
            parts[j : j + 1] = [(f"{columns[j]}=", level) for level in known]
        plain = [f"{name}{'missing' if level is None else level}" for name, level in parts]
        often, found = Counter(plain), dict[str, None]()
        for text, (name, level) in zip(plain, parts, strict=True):
            word = f"{name}{level!r}" if often[text] > 1 and name != text and isinstance(level, str) else text
            while word in found:  # such as level "y" of a column "k=x" and level "x=y" of a column "k"
                word += "′"
            found[word] = None
        return list(found)

    def standard(self, rows: Array, mean: Array, scale: Array) -> Array:
        """Return (x − mean)/scale of the columns of numbers."""
        at = self.first[self.numeric]
        return (rows[:, self.numeric] - mean[at]) / scale[at]

    def entries(self, rows: Array, mean: Array, scale: Array) -> tuple[Array, Array]:
        """Return the coded column and the value of each cell: (x − mean)/scale of a number, 1/scale of a level."""
        places = np.repeat(self.first[None, :], len(rows), axis=0)
        places[:, self.categorical] += rows[:, self.categorical].astype(np.intp)
        values = 1.0 / scale[places]
        values[:, self.numeric] = self.standard(rows, mean, scale)
        return places, values

    def dense(self, rows: Array, mean: Array, scale: Array) -> Array:
        """Return coded rows, zeros written out."""
        places, values = self.entries(rows, mean, scale)
        out = np.zeros((len(rows), self.width))
        np.put_along_axis(out, places, values, axis=1)
        return out

    def row_map(self, A: Array, mean: Array) -> Callable[[Array], Array]:
        """Return the map of blocks of numbers and codes to A(c − mean), c being the coded row.

        A code of −1, a level that the fit did not see, adds nothing.
        """
        A, at = A.T, self.first[self.numeric]
        spans = [self.span(j) for j in self.categorical]
        centred = [A[span] - mean[span] @ A[span] for span in spans]
        tables = [np.vstack([table, np.zeros((1, A.shape[1]))]) for table in centred]

        def place(block: Array) -> Array:
            Y = (block[:, self.numeric].astype(np.float64) - mean[at]) @ A[at]
            for j, table in zip(self.categorical, tables, strict=True):
                Y += table[block[:, j].astype(np.intp)]
            return Y

        return place

    def standard_map(self, mean: Array, scale: Array) -> Callable[[Array], Array]:
        """Return the map of blocks of numbers and codes to (c − mean)/scale, c being the coded row."""
        return self.row_map(np.diag(1.0 / scale), mean)

    def decoded(self, coded: Array) -> Array:
        """Return numbers and codes of levels of coded rows: a category has the level of its largest value."""
        coded = arrays.to_numpy(coded)
        out = coded[:, self.first]
        for j in self.categorical:
            out[:, j] = coded[:, self.span(j)].argmax(axis=1)
        return out

    def labelled(self, rows: Array, levels: Sequence[list[Any]]) -> Array:
        """Return numbers and codes as a table of objects, with levels in the place of codes."""
        table = rows.astype(object)
        for j, known in zip(self.categorical, levels, strict=True):
            choice = np.empty(len(known), dtype=object)
            choice[:] = known
            table[:, j] = choice[rows[:, j].astype(np.intp)]
        return table

    def sparse(self, source: RowSource, mean: Array, scale: Array) -> Any:
        """Return all coded rows as one CSR matrix: a value and a place for each cell of the table."""
        n, d = source.count(), source.n_features
        places, values = np.empty((n, d), dtype=np.int32), np.empty((n, d))
        for block in source.blocks():
            source.check(block)
            stop = block.start + len(block.rows)
            places[block.start : stop], values[block.start : stop] = self.entries(block.rows, mean, scale)
            report_progress("coding", stop, n)
        pointers = np.arange(0, n * d + 1, d, dtype=np.int32 if n * d < 2**31 else np.int64)
        return sp.csr_array((values.ravel(), places.ravel(), pointers), shape=(n, self.width))

    def moments(self, source: RowSource, mean: Array, scale: Array) -> Moments:
        """Return mean and scatter of the coded rows without writing one: (N_ij − N p_i p_j)/√(p_i p_j) for levels.

        ``mean`` and ``scale`` must be m and s of the numbers and p and √p of the levels. Counts are whole numbers and
        exact; the parts of the matrix are filled on all threads, each by one, in the order of the rows.
        """
        S, spans = square_zeros(self.width, np.empty(0)), [self.span(j) for j in self.categorical]
        at, n, sums = self.first[self.numeric], 0, np.zeros(len(self.numeric))
        for block in source.blocks(MEETING_ROWS):
            source.check(block)
            codes = np.ascontiguousarray(block.rows[:, self.categorical].T, dtype=np.intp)
            Z = np.ascontiguousarray(self.standard(block.rows.astype(np.float64), mean, scale).T)

            def count(q: int, codes: Array = codes, Z: Array = Z) -> None:
                for r in range(q + 1, len(spans)):
                    _meet(S, spans[q], spans[r], codes[q], codes[r])
                for a, z in zip(at, Z, strict=True):
                    S[spans[q], a] += np.bincount(codes[q], weights=z, minlength=spans[q].stop - spans[q].start)

            for _ in thread_pool.run(count, range(len(spans))):
                pass
            S[np.ix_(at, at)] += Z @ Z.T
            sums += Z.sum(axis=1)
            n += len(block.rows)
            report_progress("scatter", n, source.n_rows)
        found = Moments(self.width)
        found.n_rows, found.weight, found.scatter = n, float(n), S
        found.mean = scale.copy()  # of an indicator over √p
        found.mean[at] = sums / n  # what rounding left of a large mean
        self._finish(S, spans, mean, scale, n, found.mean[at])
        return found

    def _finish(self, S: Array, spans: list[slice], mean: Array, scale: Array, n: int, rest: Array) -> None:
        """Centre and weigh the counts, and write each part of the matrix across the diagonal, too."""
        at = self.first[self.numeric]
        S[np.ix_(at, at)] -= n * rest[:, None] * rest[None, :]

        def finish(q: int) -> None:
            here = spans[q]
            np.fill_diagonal(S[here, here], n * mean[here])
            for there in spans[q:]:
                step = max(1, _AT_A_TIME // (there.stop - there.start))
                for a in range(here.start, here.stop, step):
                    few = slice(a, min(a + step, here.stop))
                    part = S[few, there]
                    part -= n * (mean[few, None] * mean[None, there])
                    part /= scale[few, None] * scale[None, there]
                    if there is not here:  # a category with itself is symmetric as it stands
                        S[there, few] = part.T
            S[here, at] -= n * mean[here, None] * rest[None, :]
            S[here, at] /= scale[here, None]
            S[at, here] = S[here, at].T

        for _ in thread_pool.run(finish, range(len(spans))):
            pass


def _meet(S: Array, here: slice, there: slice, codes: Array, others: Array) -> None:
    """Add to a part of the matrix how often two levels meet; no table is made that is larger than the rows."""
    high, wide = here.stop - here.start, there.stop - there.start
    if high * wide <= len(codes):
        S[here, there] += np.bincount(codes * wide + others, minlength=high * wide).reshape(high, wide)
    else:
        np.add.at(S.reshape(-1), (here.start + codes) * len(S) + there.start + others, 1.0)


# -- the row space --------------------------------------------------------------------------------------------------


def weights(layout: Layout, found: Learned) -> tuple[Array, Array]:
    """Return mean and scale of the coded columns: m and s of numbers (1 of constants), p and √p of levels."""
    mean = found.mean[layout.origin]
    scale = deviations(found.variance[layout.origin], mean)
    for j, counts in zip(layout.categorical, found.counts, strict=True):
        mean[layout.span(j)] = counts / found.n_rows
        scale[layout.span(j)] = np.sqrt(counts / found.n_rows)
    return mean, scale


def check_count(k: int, n_numbers: int, found: Learned, owner: str) -> None:
    """Refuse more components than the coded columns can have: K levels are K − 1 free columns."""
    free = found.n_levels - len(found.levels.values)
    limit = min(found.n_rows, n_numbers + free)
    if k > limit > 0:
        numbers = f"{n_numbers} numeric column{'s' * (n_numbers != 1)}"
        reason = f"{numbers}, plus levels − 1 for each categorical column: {free}"
        if limit == found.n_rows:
            reason = f"n_samples = {limit}"
        raise DataError(message(f"{owner}: {{n_components}} is too large: at most {limit} ({reason})", n_components=k))


def plan_rows(model: Any, rows: RowSource) -> Plan:
    """Return the plan of a fit; a table of categories is read once, to count its levels."""
    k = model.n_components
    if not isinstance(rows, MixedRows):
        return linear_plan(model, rows.shape, k, remedy=REMEDY)
    found = rows.learn()
    check_count(k, len(rows.numeric), found, "FAMD")
    shape = coded_shape(found.n_rows, rows.n_features, len(rows.numeric) + found.n_levels)
    parts, seconds = cost(shape, rows.n_features, k)
    return Plan.of(
        "FAMD",
        way(shape, k),
        rows.shape,
        parts,
        seconds=seconds,
        model_bytes=k * shape.n_features * 8 + 66 * shape.n_features + 40 * k,
        remedy=REMEDY,
    )


def coded_shape(n: int, d: int, width: int) -> DataShape:
    """Say the shape of N coded rows of D columns; they are sparse unless they are few cells.

    >>> coded_shape(1000, 3, 30).sparse, coded_shape(1_000_000, 3, 30).sparse
    (False, True)
    """
    shape = DataShape(n, width, np.dtype(np.float64))
    if rowspace.route(shape, ComponentRule(count=1)) == "svd":
        return shape
    return replace(shape, density=d / width, sparse=True)


def way(shape: DataShape, k: int) -> str:
    """Choose: QR of small tables; how often levels meet, where the matrix of that is small; else a sparse matrix.

    >>> [way(coded_shape(n, 3, width), 2) for n, width in ((100, 30), (10**6, 30), (10**6, 30_000), (900, 3000))]
    ['svd', 'counts', 'krylov', 'gram']
    """
    n, width = shape.n_rows or 0, shape.n_features
    if not shape.sparse:
        return "svd"
    return "counts" if width <= min(n, WIDEST) else rowspace.route(shape, ComponentRule(count=k))


def cost(shape: DataShape, d: int, k: int) -> tuple[dict[str, int], float]:
    """Return the largest pieces of memory of `solve` for coded rows of D columns, and its rough seconds."""
    n, name = shape.n_rows or 0, way(shape, k)
    parts = {"cells being coded": 12 * min(n, 2 * threads() * PIECE_ROWS) * d}
    if name == "counts":
        one = replace(shape, n_rows=1, sparse=False)
        solving, seconds = rowspace.cost("covariance", one, k)  # of the solver: rows are counted, not multiplied
        square = 8 * shape.n_features**2 * (3 if shape.n_features <= DENSE_LIMIT else 1)
        parts |= {**solving, "scatter matrix": square, "coded cells": 40 * min(n, MEETING_ROWS) * d}
        seconds += 3e-9 * n * d * d / threads()
    else:
        solving, seconds = rowspace.cost(_solver(name), shape, min(k, n, shape.n_features))
        coded = 12 * shape.entries if shape.sparse else 8 * min(n, 4 * threads() * block_rows(d)) * shape.n_features
        parts |= {"coded rows": coded, **solving}
    return parts, seconds + 2e-7 * n * d


def decompose(rows: RowSource, k: int, rng: np.random.Generator) -> tuple[RowSpace, Array, Array]:
    """Return the row space of a table, and mean and scale of its coded columns; numbers alone need no coding."""
    if not isinstance(rows, MixedRows):
        space = rowspace.decompose(rows, ComponentRule(count=k), _STANDARD, rng=rng)
        return space, space.solved.mean, space.solved.scale
    found = rows.learn()
    layout = Layout.of(rows.n_features, rows.categorical, [*map(len, found.levels.values)])
    mean, scale = weights(layout, found)
    return solve(layout, rows.coded(found.levels), found.n_rows, mean, scale, k, rng), mean, scale


def solve(
    layout: Layout, coded: RowSource, n: int, mean: Array, scale: Array, k: int, rng: np.random.Generator
) -> RowSpace:
    """Return the row space of N coded rows, which are written out only where they are few or very wide."""
    shape = coded_shape(n, coded.n_features, layout.width)
    name, wanted = way(shape, k), ComponentRule(count=k)
    table: RowSource = MappedRows(coded, lambda block: layout.dense(block, mean, scale), layout.width)
    if name == "counts":
        seen = layout.moments(coded, mean, scale)
        again = table if float(seen.n_rows) * layout.width**2 <= REREAD else None
        space = rowspace.from_accumulator(seen, wanted, _CENTRED, rng=rng, rows=again)
        return replace(space, solved=replace(space.solved, route=name))
    if shape.sparse:
        table = ArrayRows(layout.sparse(coded, mean, scale))
    return rowspace.decompose(table, wanted, _CENTRED, solver=_solver(name), rng=rng)


def _solver(name: str) -> str:
    """Return the route that a way takes: values of indicators are of one size, so that squares lose nothing."""
    return "lanczos" if name == "krylov" else name
