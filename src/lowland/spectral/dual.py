"""Few wide rows by their coordinates in their own row space: U and σ, without the D × N directions."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import pool, settings
from ..planning import DataShape, dense_seconds
from ..rows import RowSource
from . import routes, rowspace
from .routes import Columns, Scaling, Solved
from .rowspace import Wanted
from .second_pass import second_pass

Array = Any

_READ_SECONDS = 2e-8  # of an entry: its column's moments, and centring it
_ONE = Wanted(rule=lambda _: 1)  # all of the spectrum, and a single direction


@dataclass(frozen=True)
class Dual:
    """The centred, weighted rows as U diag(σ) Vᵀ, of full rank; V is multiplied where it is wanted and never held.

    ``left`` is U, with one row for each of the rows; ``values`` are σ, descending.
    """

    left: Array
    values: Array
    solved: Solved
    _side: Columns

    def directions_times(self, B: Array) -> Array:
        """Return V B, D × k."""
        return self._side.transposed_times(self.left @ (B / self.values[:, None]))


def dual(rows: RowSource, scaling: Scaling, *, rng: np.random.Generator) -> Dual | None:
    """Return the decomposition of N rows of at least N columns from their Gram matrix, in float64.

    None where that says too little: the rows have less than full rank, or nearly so (σ_r < 4√eps·σ₁). The squares are
    right to eps·σ₁², so row coordinates to eps·(σ₁/σ_r)²: where that is more than 10·N·eps, a second pass over the rows
    makes them good (see `rowspace.doubt`).
    """
    source = copy.copy(rows)
    source.dtype = np.dtype(np.float64)  # float32 rows are cast as they are read
    with pool.one_blas_thread():
        solved = routes.gram(source, _ONE, scaling, rng)
        rank = solved.n_rows - solved.centered
        values = np.sqrt(solved.spectrum)
        if not values[rank - 1] >= 4 * np.sqrt(np.finfo(rows.dtype).eps) * values[0] > 0:
            return None
        if values[rank - 1] ** 2 * 10 * rank < values[0] ** 2:
            solved = second_pass(source, solved, _ONE, scaling)
            values = np.sqrt(solved.spectrum)
        left = np.asarray(solved.left)[:, :rank]
        return Dual(left, values[:rank], solved, Columns(source, solved, scaling))


def cost(shape: DataShape) -> tuple[dict[str, int], float]:
    """Return the largest pieces of memory of `dual`, and its rough seconds."""
    n = shape.n_rows or 1
    parts, _ = rowspace.cost("gram", shape, 1)
    parts["row coordinates"] = 2 * 8 * n * n
    return parts, gram_seconds(shape)


def gram_seconds(shape: DataShape) -> float:
    """Return the rough seconds of the Gram matrix of rows and of its eigenvectors."""
    n, d = shape.n_rows or 1, shape.n_features
    if shape.sparse:  # columns of very different density hold more pairs of entries than even ones
        product = 4e-9 * float(n) * n * shape.density**2 * d / settings.threads()
    else:
        product = dense_seconds(1.0 * n * n * d, shape.dtype) + _READ_SECONDS * n * d
    return product + dense_seconds(10.0 * n**3, np.dtype(np.float64))
