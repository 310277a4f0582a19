"""The leading directions of a table of rows, by the route that suits its shape.

Five routes give the same result: the eigenvectors of the scatter XᵀX (``covariance``), of the dual Gram matrix XXᵀ
(``gram``), the singular vectors of the R factor (``svd``), block Krylov on the rows (``krylov``), and power iteration
with deflation (``power``). The first two square the singular values: they are accurate for σ_k > √eps·σ₁, with a second
pass if needed; ``auto`` uses another route below that. A sixth, ``lanczos``, squares by multiplication; it is for
callers whose singular values are of similar size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from ..core.cost import DataShape, check_allocation
from ..core.errors import DataError
from ..core.message import Message, Setting
from ..rows.moments import Accumulator
from ..rows.row_source import RowSource, single_pass_error
from . import routes
from .rounding import rounding_floor, varies
from .route_costs import cost
from .second_pass import second_pass
from .solved import ComponentRule, Scaling, Solved

Array = Any

ROUTES = ("covariance", "gram", "svd", "krylov", "power")
_SQUARE_LIMIT = 10_000  # a larger scatter or Gram matrix costs more than Krylov passes over the rows
_SPARSE_SQUARE_LIMIT = 1000
_SMALL_WORK = 1e8  # multiplications below which the safest route is also fast enough


@dataclass(frozen=True)
class RowSpace:
    """Singular values and right singular vectors of the (centred, scaled, weighted) rows, with their origin.

    ``short``: the rank is below the requested number; ``left`` is U if requested; ``unseen`` is the ratio to σ₁ below
    which squares could not resolve wanted values, 0 if none is missing for that reason.
    """

    values: Array
    directions: Array
    solved: Solved
    short: bool
    left: Array | None = None
    unseen: float = 0.0

    def discarded(self, divisor: float) -> float:
        """Return the sum of the discarded eigenvalues, σ²/divisor; exactly 0 where the rank is kept."""
        if self.solved.complete:  # the difference below would leave rounding
            return float(self.solved.spectrum[len(self.values) :].sum()) / divisor
        return max(self.solved.total / divisor - float((self.values**2 / divisor).sum()), 0.0)

    def variances(self, ddof: int) -> tuple[Array, Array, float, Array]:
        """Return λ = σ²/(N − ddof) of the components, their shares of the total, the total, and all λ computed."""
        solved, divisor = self.solved, self.solved.weight - ddof
        if divisor <= 0:
            raise DataError(
                Message(
                    f"the weights sum to {solved.weight:g}, which leaves no degree of freedom with ",
                    Setting("ddof", ddof),
                    "; scale them to sum to the number of rows, or use ",
                    Setting("ddof", 0),
                )
            )
        values, total = self.values**2 / divisor, solved.total / divisor
        return values, values / total, total, solved.spectrum / divisor


def route(shape: DataShape, wanted: ComponentRule) -> str:
    """Return the route that ``auto`` takes first.

    >>> import numpy as np
    >>> route(DataShape(1_000_000, 100, np.dtype("f8")), ComponentRule(count=10))
    'covariance'
    """
    n, d = shape.n_rows, shape.n_features
    if n is None or not shape.reiterable:
        return "covariance"
    square = "covariance" if d <= n else "gram"
    smaller = min(n, d)
    few = wanted.count is not None and 5 * wanted.count <= smaller
    if shape.sparse:
        return square if smaller <= _SPARSE_SQUARE_LIMIT or not few else "krylov"
    if float(n) * d * smaller <= _SMALL_WORK:
        return "svd"
    return square if smaller <= _SQUARE_LIMIT or not few else "krylov"


def decompose(
    rows: RowSource,
    wanted: ComponentRule,
    scaling: Scaling,
    *,
    solver: str = "auto",
    rng: np.random.Generator,
    want_left: bool = False,
) -> RowSpace:
    """Return the leading row space; ``solver`` is one of `ROUTES`, auto, or lanczos for values of similar size."""
    name = route(rows.shape, wanted) if solver == "auto" else solver
    if name in ("gram", "krylov", "power") and not rows.reiterable:
        raise single_pass_error(Message(Setting("solver", name)))
    with thread_pool.one_blas_thread():
        solved = getattr(routes, name)(rows, wanted, scaling, rng)
        if name in ("covariance", "gram", "lanczos") and rows.reiterable:
            solved = _made_good(rows, solved, wanted, scaling, rng, exact=solver == "auto")
        elif name in ("covariance", "power"):
            solved = replace(solved, doubt=doubt(solved, wanted, np.float64))
        space = cut(solved, wanted)
        return _with_left(rows, space, scaling) if want_left else space


def from_accumulator(
    seen: Accumulator,
    wanted: ComponentRule,
    scaling: Scaling,
    *,
    rng: np.random.Generator,
    solver: str = "auto",
    rows: RowSource | None = None,
) -> RowSpace:
    """Return the leading row space of the rows of an accumulator.

    If ``rows`` can be read again, a second pass restores the precision that squaring lost.
    """
    with thread_pool.one_blas_thread():
        solved = routes.from_accumulator(seen, wanted, scaling, rng, solver)
        if solved.route != "svd":
            if rows is None:
                solved = replace(solved, doubt=doubt(solved, wanted, np.float64))
            else:
                solved = _made_good(rows, solved, wanted, scaling, rng, exact=True)
        return cut(solved, wanted)


def _made_good(
    rows: RowSource, solved: Solved, wanted: ComponentRule, scaling: Scaling, rng: np.random.Generator, *, exact: bool
) -> Solved:
    """Return a solution by squares, or a more accurate one if the last wanted value needs it."""
    need = doubt(solved, wanted, rows.dtype)
    if need == "svd" and exact:
        _require("svd", rows, len(solved.spectrum))
        return routes.svd(rows, wanted, scaling, rng)
    if need and solved.complete:
        return second_pass(rows, solved, wanted, scaling)
    if not need:
        return solved
    if solved.route == "covariance" and rows.dtype == np.float32 and not rows.sparse:
        again = routes.covariance(rows, wanted, scaling, rng, precise=True)  # one pass; Krylov makes a hundred
        if not doubt(again, wanted, np.float64):
            return again
    _require("krylov", rows, wanted.count or len(solved.spectrum))
    return replace(routes.krylov(rows, wanted, scaling, rng), route=solved.route)


def _require(name: str, rows: RowSource, k: int) -> None:
    """Raise if a second decomposition, not known to the plan, would exceed the memory limit."""
    taken = sum(cost(name, rows.shape, k)[0].values())
    what = f"computing singular values much smaller than the first (by {name!r})"
    check_allocation(taken, what, "use fewer components, or reduce fewer columns")


def doubt(solved: Solved, wanted: ComponentRule, dtype: Any) -> str:
    """Return what the last wanted value needs: "" (nothing), a second "pass", or "svd".

    The scatter is accurate to about eps·σ₁², so a singular vector to eps·σ₁/σ_k: the limit keeps that within a
    third of the error of a backward stable solver, 30·min(N, D)·eps.
    """
    k, possible = _last(solved, wanted), solved.expected
    values = np.sqrt(solved.spectrum)
    if values[0] == 0:  # nothing varies: `cut` raises
        return ""
    ratio = float(values[k - 1] / values[0])
    root = 4 * float(np.sqrt(np.finfo(dtype).eps))
    if ratio >= max(root, 1 / (10 * possible), solved.tolerance):
        return ""
    return "svd" if ratio < root else "pass"


def _last(solved: Solved, wanted: ComponentRule) -> int:
    """Return the number of the last wanted value."""
    return max(1, min(wanted.pick(solved) or solved.expected, solved.expected))


def cut(solved: Solved, wanted: ComponentRule) -> RowSpace:
    """Keep the wanted components, no more than the numerical rank."""
    last = _last(solved, wanted) if solved.doubt else 0
    spectrum = solved.spectrum[: max(1, solved.possible)]  # further ones are rounding
    top = float(spectrum[0])
    rank = int((spectrum > solved.tolerance**2 * top).sum()) if top > 0 and not _flat(solved) else 0
    rank = min(rank, solved.possible)
    if rank == 0:
        raise DataError(
            "the rows do not vary (rank 0): "
            + ("there is only 1 sample" if solved.n_rows == 1 else "they are equal, or differ only by rounding")
            + "; a reduction needs at least two distinct rows"
        )
    complete = solved.complete or rank < len(spectrum) or rank == solved.possible
    solved = replace(solved, spectrum=spectrum[:rank] if complete else spectrum, complete=complete)
    k = min(wanted.pick(solved) or rank, rank, solved.vectors.shape[1])
    short = wanted.count is not None and k < wanted.count
    unseen = solved.tolerance if solved.doubt and k < last else 0.0
    values, directions = np.sqrt(spectrum[:k]), arrays.to_numpy(solved.vectors)[:, :k]
    left = None if solved.left is None else arrays.to_numpy(solved.left)[:, :k]
    return RowSpace(values, directions, solved, short, left, unseen)


def _flat(solved: Solved) -> bool:
    """Return whether all variance may be rounding of the mean."""
    return solved.centered and not bool(varies(solved.variances, solved.mean).any())


def tied(space: RowSpace) -> list[int] | None:
    """Return the numbers of the values that equal the last kept one to rounding, if some of them are left out.

    The kept directions of their space are then arbitrary.
    """
    solved, k = space.solved, len(space.values)
    values, eps = solved.spectrum, float(np.finfo(np.float64).eps)
    near = rounding_floor(len(solved.mean), values[0], solved.total, eps) + 2 * solved.residual * values[0]
    found = np.flatnonzero(np.abs(values - values[k - 1]) <= near).tolist()
    return found if found[-1] >= k else None


def _with_left(rows: RowSource, space: RowSpace, scaling: Scaling) -> RowSpace:
    if space.left is not None:
        return space
    image = routes.operator(rows, space.solved, scaling).matmul(
        arrays.like(space.directions, rows.reference, np.float64)
    )
    return replace(space, left=arrays.to_numpy(image) / space.values)


__all__ = [
    "ROUTES",
    "RowSpace",
    "cost",
    "cut",
    "decompose",
    "doubt",
    "from_accumulator",
    "route",
    "tied",
]
