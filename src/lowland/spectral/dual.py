"""Few wide rows as coordinates in their row space: U and σ, without the D × N directions."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import settings, thread_pool
from ..core.cost import DataShape, dense_seconds
from ..pairs.pairwise import tiles
from ..rows.row_source import RowSource
from . import routes, rowspace
from .routes import Columns, rank_tolerance, square_tolerance
from .second_pass import second_pass
from .solved import ComponentRule, Scaling, Solved

Array = Any

_READ_SECONDS = 2e-8  # per entry, for the moments of its column and centring
_ENTRIES_AT_ONCE = 1 << 20  # entries read at a time in the check
_ONE = ComponentRule(rule=lambda _: 1)  # the whole spectrum, and one direction


@dataclass(frozen=True)
class Dual:
    """The centred, weighted rows as U diag(σ) Vᵀ; V is never stored.

    ``left`` is U, N × rank; ``values`` are σ, descending.
    """

    left: Array
    values: Array
    solved: Solved
    _side: Columns

    def directions_times(self, B: Array) -> Array:
        """Return V B, D × k."""
        return self._side.transposed_times(self.left @ (B / self.values[:, None]))


def dual(rows: RowSource, scaling: Scaling, *, rng: np.random.Generator) -> Dual | None:
    """Return the decomposition of rows, with N ≤ D, from their Gram matrix, in float64.

    Squares resolve values down to about 4√eps·σ₁. If the rows have more than rounding outside of the kept space, the
    result is None. The squares are accurate to eps·σ₁², so row coordinates to eps·(σ₁/σ_r)²: if that is more than
    10·N·eps, a second pass over the rows corrects them (see `rowspace.doubt`).
    """
    source = copy.copy(rows)
    source.dtype = np.dtype(np.float64)  # float32 rows are cast as they are read
    with thread_pool.one_blas_thread():
        solved = routes.gram(source, _ONE, scaling, rng)
        side = Columns(source, solved, scaling)
        values = np.sqrt(solved.spectrum)
        shown = max(4 * float(np.sqrt(np.finfo(rows.dtype).eps)), square_tolerance(solved.n_rows))
        rank = int((values >= shown * values[0]).sum()) if values[0] > 0 else 0
        if rank == 0:
            return None
        if rank < len(values):
            least = rank_tolerance(solved.n_rows, rows.n_features, rows.dtype) * values[0]
            if left_over(side, np.asarray(solved.left)[:, :rank]) > least:
                return None
        if values[rank - 1] ** 2 * 10 * solved.n_rows < values[0] ** 2:
            solved = second_pass(source, solved, _ONE, scaling)
            values = np.sqrt(solved.spectrum)
        return Dual(np.asarray(solved.left)[:, :rank], values[:rank], solved, side)


def left_over(side: Columns, U: Array) -> float:
    """Return ‖Z − U Uᵀ Z‖ of the prepared rows Z, a bound on the singular values outside of U."""
    X: Any = side.X.tocsc() if sp.issparse(side.X) else side.X  # a panel of CSR rows would read all entries
    start = side.start

    def part(columns: slice) -> float:
        few = X[:, columns]
        Z = np.array(few.toarray(order="C") if sp.issparse(few) else few, dtype=np.float64)
        if start.centered:
            Z -= start.mean[columns]
        if start.scale is not None:
            Z /= start.scale[columns]
        Z *= side.root[:, None]
        Z -= U @ (U.T @ Z)
        return float(np.vdot(Z, Z))

    return float(np.sqrt(sum(thread_pool.run(part, tiles(X.shape[1], max(64, _ENTRIES_AT_ONCE // side.n))))))


def cost(shape: DataShape) -> tuple[dict[str, int], float]:
    """Return the largest allocations of `dual`, and its rough seconds."""
    n = shape.n_rows or 1
    parts, _ = rowspace.cost("gram", shape, 1)
    parts["row coordinates"] = 2 * 8 * n * n
    return parts, gram_seconds(shape)


def gram_seconds(shape: DataShape) -> float:
    """Return the rough seconds of the Gram matrix of rows and of its eigenvectors."""
    n, d = shape.n_rows or 1, shape.n_features
    if shape.sparse:  # columns of unequal density have more pairs of entries than equal ones
        product = 4e-9 * float(n) * n * shape.density**2 * d / settings.threads()
    else:
        product = dense_seconds(1.0 * n * n * d, shape.dtype) + _READ_SECONDS * n * d
    return product + dense_seconds(10.0 * n**3, np.dtype(np.float64))
