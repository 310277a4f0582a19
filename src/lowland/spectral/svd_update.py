"""A truncated singular value decomposition that takes in more rows (Zha & Simon 1999)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dense
from .routes import rank_tolerance
from .solve import sign_of_columns

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Decomposition:
    """U Σ Vᵀ of n rows: their squared norm, the part of it that was cut off, sums and centred squares of columns."""

    U: Array
    s: Array
    V: Array
    n: int
    energy: float
    lost: float
    columns: Array

    @classmethod
    def empty(cls, d: int) -> Decomposition:
        """Return the decomposition of no rows of d columns."""
        return cls(np.empty((0, 0)), np.empty(0), np.empty((d, 0)), 0, 0.0, 0.0, np.zeros((2, d)))

    def with_rows(self, rows: Array, n_components: int, dtype: Any) -> Decomposition:
        """Return the leading triplets of [UΣVᵀ; rows]; ``dtype`` is the precision of U and V.

        The new rows are split into the span of V and the rest, whose directions join V. What then has to be decomposed
        is a matrix of as many columns as directions.
        """
        U, s, V, k = self.U, self.s, self.V, len(self.s)
        inside = rows @ V  # m × k
        rest = rows - inside @ V.T
        again = rest @ V  # once more: a small rest is not yet orthogonal to V
        inside, rest = inside + again, rest - again @ V.T
        outside, R = dense.orthonormal(rest.T)  # D × min(m, D): directions that are new
        P, values, Q = dense.svd(np.block([[np.diag(s), np.zeros((k, len(R)))], [inside, R.T]]))
        tolerance = rank_tolerance(len(U) + len(rows), len(V), dtype)
        rank = int((values > tolerance * values[0]).sum())
        keep = min(n_components, rank)
        right = np.hstack([V, outside]) @ Q[:, :keep]
        left = np.vstack([U @ P[:k, :keep], P[k:, :keep]])
        signs = sign_of_columns(right)
        return Decomposition(
            left * signs,
            values[:keep],
            right * signs,
            self.n + len(rows),
            self.energy + float((rows**2).sum()),
            self.lost + float((values[keep:rank] ** 2).sum()),
            self._columns_with(rows),
        )

    def _columns_with(self, rows: Array) -> Array:
        """Return the columns' sums and centred squares, new rows included."""
        (sums, squares), n, m = self.columns, self.n, len(rows)
        mean = rows.mean(axis=0)
        delta = mean - sums / max(n, 1)
        return np.stack([sums + m * mean, squares + ((rows - mean) ** 2).sum(axis=0) + delta**2 * (n * m / (n + m))])
