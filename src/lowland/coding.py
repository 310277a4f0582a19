"""Coded rows: a column for each number and one for each level of a category, few of which are not zero.

They are written out as blocks or as one sparse matrix, or never: the scatter of indicators is made of how often two
levels meet (the Burt table), and that of numbers and levels of sums over the rows of each level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import pool
from .moments import Moments
from .rows import RowSource
from .scatter import square_zeros
from .settings import report_progress

Array = Any

MEETING_ROWS = 1 << 16  # rows whose levels are counted at a time: many beside the pairs of levels


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
    def width(self) -> int:
        """The number of coded columns."""
        return len(self.origin)

    def span(self, column: int) -> slice:
        """Return the coded columns of a column."""
        start = int(self.first[column])
        stop = int(self.first[column + 1]) if column + 1 < len(self.first) else self.width
        return slice(start, stop)

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
                    _meet(S[spans[q], spans[r]], codes[q], codes[r])
                for a, z in zip(at, Z, strict=True):
                    S[spans[q], a] += np.bincount(codes[q], weights=z, minlength=spans[q].stop - spans[q].start)

            for _ in pool.run(count, range(len(spans))):
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
        for q, here in enumerate(spans):
            S[here, here] = np.diag(n * mean[here])
            for there in spans[q:]:
                part = S[here, there]
                part -= n * (mean[here, None] * mean[None, there])
                part /= scale[here, None] * scale[None, there]
                S[there, here] = part.T
            S[here, at] -= n * mean[here, None] * rest[None, :]
            S[here, at] /= scale[here, None]
            S[at, here] = S[here, at].T


def _meet(part: Array, codes: Array, others: Array) -> None:
    """Add to a table how often two levels meet."""
    wide = part.shape[1]
    part += np.bincount(codes * wide + others, minlength=part.size).reshape(part.shape)


__all__ = ["MEETING_ROWS", "Layout"]
