"""Block Krylov methods with full reorthogonalisation and thick restart.

`lanczos` finds one end of a symmetric operator's spectrum, `golub_kahan` the largest singular triplets of any
operator without squaring it. A block multiplies many columns at once, which costs little more than one and finds
clustered values; the basis is kept orthogonal to rounding, so no spurious copies appear.

A small residual shows that a result is an eigenpair, not that none was missed: the space of a block of b random columns
holds at most b copies of a repeated value. Random directions, orthogonal to the basis, therefore join the iteration
when about half of its blocks are done, estimated from the largest residual. The result is accepted when all residuals
are below the tolerance, the new directions have been multiplied for half as many blocks as the whole run took, the
first value after the wanted ones can no longer rise among them, and no wanted pair came from the new directions.
Otherwise the pairs are locked and more random directions are tried. This is a randomised check, not a proof, and is
recorded as such.

References: Golub & Underwood 1977 (block Lanczos); Golub & Kahan 1965; Wu & Simon 2000 and Baglama & Reichel 2005
(thick restart); Parlett 1998, chapter 13 (why a Krylov space misses copies).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from ..core.settings import report_progress
from . import dense
from .krylov_space import GolubKahanSpace, GramSpace, LanczosSpace, RitzPairs, Space, longest
from .operators import Operator

Array = Any

_MAX_RESTARTS = 300
_BLOCK, _LOOSE_BLOCK = 8, 16  # columns of a block, at a tight and at a loose tolerance
_LOOSE, _LOOSEST = (
    1e-3,
    0.2,
)  # wider blocks are faster from the first on; copies of a value are missed beyond the second
_NEARLY_EXACT = 0.03  # residual divided by the value, for a vector that is nearly an eigenvector
_RANDOM_COLUMNS = 2  # random directions that join a run
_JOIN_RESIDUAL = 3e-2  # residual/‖A‖ at which they join, after about half of the blocks of a run
_LOOSE_JOIN = 3.0  # times a loose tolerance: they join before it is reached
_LATE_JOIN_RESIDUAL = 3e-3  # the same if the basis may be too small: after a restart they would stay to its end
_MAX_OVERRUN = 5.0  # a run may seem to need this multiple of the remaining columns: it converges faster at its end
_MIN_COSINE = 0.7  # above it a vector counts as contained in a space; for a missed copy the cosine is 0
_MAX_WIDTH = 4  # in block widths: random directions tried at once after a check has found missed pairs
_RANDOM_BLOCKS = 8  # blocks of random directions that a basis should have room for


@dataclass(frozen=True)
class Sizes:
    """Width of the block, maximum size of the basis, and columns kept by a restart."""

    block: int
    basis: int
    keep: int


def block_for(tol: float | None) -> int:
    """Return the width of a block for a tolerance (None: rounding).

    A block of 16 needs fewer products but more columns in all. To rounding it was slower on word counts and flat
    spectra; to a residual of 1e-2, where an iteration has few blocks, it took 0.8 of the time.
    """
    return _LOOSE_BLOCK if tol is not None and tol >= _LOOSE else _BLOCK


def sizes(k: int, n: int, block: int = _BLOCK) -> Sizes:
    """Return the sizes for k wanted pairs of an operator whose smaller side is n; plans use the same rule.

    >>> sizes(10, 10_000)
    Sizes(block=8, basis=191, keep=18)
    """
    basis = k + max(20 * block, 2 * k)
    basis += _RANDOM_COLUMNS * basis // (2 * block)  # they join for half of the blocks
    keep = k + max(block, 3 * k // 10)
    return Sizes(block, min(basis, n), min(keep, n))


def extra_basis(k: int, n: int, tol: float | None) -> int:
    """Return how many columns more the basis has at a tolerance than at rounding.

    >>> extra_basis(100, 20_000, None), extra_basis(100, 20_000, 0.01)
    (0, 109)
    """
    return sizes(k, n, block_for(tol)).basis - sizes(k, n).basis


def _widest(size: Sizes, k: int) -> int:
    """Return the maximum number of columns of a block."""
    return max(size.block + _RANDOM_COLUMNS, min(_MAX_WIDTH * size.block, (size.basis - k) // _RANDOM_BLOCKS))


@dataclass(frozen=True)
class Ritz:
    """The projection T = QᵀAQ of a Krylov space that begins with random directions.

    ``vectors`` (coordinates in the space) are nearly eigenvectors, of both ends, with the ``values``; ``steps`` counts
    the blocks.
    """

    T: Array
    block: int
    steps: int
    values: Array
    vectors: Array


@dataclass(frozen=True)
class KrylovResult:
    """The result of an iteration: left vectors (None for eigenpairs), values, vectors, and convergence.

    ``checked`` counts the blocks of random directions in which no missed pair was found; None if all pairs were
    computed. ``ritz`` approximates the rest of the spectrum, if there was no restart. ``forward`` is A times the right
    vectors, ``backward`` Aᵀ times the left ones, where one of them was computed.
    """

    left: Array | None
    values: Array
    right: Array
    products: int
    converged: bool
    norm: float
    checked: int | None = None
    ritz: Ritz | None = None
    forward: Array | None = None
    backward: Array | None = None


def _iterate(space: Space, k: int, sure: int, size: Sizes, tol: float, stage: str) -> tuple[RitzPairs, int | None]:
    """Grow a space until its first ``sure`` pairs are exact and random directions have found no other.

    Returns the pairs and the number of blocks of these directions; None if nothing converged. In a basis without a
    restart they join early. After a restart the contributions cannot be separated: the exact pairs are locked first,
    and the iteration continues with random directions only.
    """
    tests, columns, join = _Tests(k + size.block), size.block // 2, max(_JOIN_RESIDUAL, _LOOSE_JOIN * tol)
    run, since, needed = 0, -1, 0  # blocks until exact, until random directions joined, needed after that
    broke = False  # few distinct values: the space is exhausted, and random directions need as many blocks
    before: Array | None = None  # values that were locked
    while True:
        space.grow()
        depth = space.blocks - since if since >= 0 else 0
        if not (space.full or (depth >= needed and tests.due(space))):
            continue
        found = space.ritz()
        worst = float(found.residuals[:sure].max()) / (space.norm or 1.0)
        exact = found.residuals <= tol * space.norm
        report_progress(stage, int(exact[:sure].sum()), sure)
        tests.done(space, worst, tol if since >= 0 or space.restarts else join)
        near = worst <= (
            join
            if tests.columns(worst, tol) <= _MAX_OVERRUN * (space.limit - space.m)
            else max(_LATE_JOIN_RESIDUAL, tol)
        )
        if since < 0 and space.restarts == 0 and (space.replaced or near):
            since, broke = space.blocks, space.replaced
            space.add_random(_RANDOM_COLUMNS)
        elif worst <= tol:
            broke = broke or space.replaced
            run = run or space.blocks
            most = (size.basis - k) // max(size.block, space.width)
            needed = min(run if broke else -(-run // 2), most)
            deep = depth >= needed and (depth >= most or _next_is_clear(space, found, sure, tol))
            if deep and depth < most and tol >= _LOOSE and not _rest_is_clear(space, found, sure, tol):
                deep = False
            if since >= 0 and deep:
                if _none_missed(space, found, sure, tol, before):
                    return found, depth
                columns *= 2
            if since < 0 or deep:
                locked, before = sure + int(np.cumprod(exact[sure:k]).sum()), found.values[:sure].copy()
                space.lock(found, locked, k - locked, min(columns, _widest(size, k) - (k - locked)))
                tests, since = _Tests(k + size.block), space.blocks
                continue
        if space.full:
            if space.restarts >= _MAX_RESTARTS:
                return found, None
            space.restart(found, size.keep)
            tests.restarted(space)


def _next_is_clear(space: Space, found: RitzPairs, sure: int, tol: float) -> bool:
    """Return whether the first pair after the wanted ones is nearly exact, or smaller than them in spite of its error.

    Ritz values rise: otherwise it may still become larger than a wanted one.
    """
    gap = float(found.values[sure - 1] - found.values[sure])
    return bool(found.residuals[sure] <= max(_LATE_JOIN_RESIDUAL * space.norm, tol * space.norm, gap))


def _rest_is_clear(space: Space, found: RitzPairs, sure: int, tol: float) -> bool:
    """Return whether what the random directions have added cannot rise above the wanted pairs.

    Its best pair must be nearly exact, or smaller in spite of its error. At a loose tolerance a run has few blocks, in
    which two random directions resolve little, and copies of smaller values may stand before them among all pairs.
    """
    value, residual = space.added()
    return residual <= max(tol * space.norm, float(found.values[sure - 1]) - value)


def _none_missed(space: Space, found: RitzPairs, sure: int, tol: float, locked: Array | None) -> bool:
    """Return whether the wanted pairs were known without the random directions.

    They were if no value is larger than the one locked before or, if random directions joined a run, than the one
    without them. If the latter has not converged, its space must contain the vectors.
    """
    values, known = (locked, None) if locked is not None else space.without_random()
    if values is not None and len(values) >= sure and (found.values[:sure] - values[:sure] <= tol * space.norm).all():
        return True
    if known is None:
        return False
    return bool(dense.svd(known @ found.coordinates[: known.shape[1], :sure])[1][-1] >= _MIN_COSINE)


class _Tests:
    """Schedule of the convergence tests: the next one is due when the residual should reach its target."""

    def __init__(self, least: int) -> None:
        self.next, self.m, self.worst, self.rate = least, 0, np.inf, 0.0

    def columns(self, worst: float, target: float) -> float:
        """Return the predicted number of columns until the residual reaches a target; infinite without a rate."""
        return np.log(max(worst / target, 1.0)) / self.rate if self.rate else np.inf

    def due(self, space: Space) -> bool:
        """Return whether the basis has grown enough for a test."""
        return space.m >= self.next

    def done(self, space: Space, worst: float, target: float) -> None:
        """Schedule the next test from the residual and its target."""
        step = max(space.width, space.m // 6)
        self.rate = 0.0
        if 0 < worst < self.worst < np.inf and space.m > self.m:
            self.rate = float(np.log(self.worst / worst)) / (space.m - self.m)
        if worst > target and self.rate:
            step = min(step, max(space.width, int(self.columns(worst, target))))
        self.next, self.m, self.worst = space.m + step, space.m, worst

    def restarted(self, space: Space) -> None:
        """Schedule the next test after a restart."""
        self.next, self.m, self.worst, self.rate = space.m + space.width, space.m, np.inf, 0.0


def lanczos(
    A: Operator,
    k: int,
    *,
    largest: bool,
    tol: float,
    rng: np.random.Generator,
    stage: str = "Krylov",
    sure: int | None = None,
    block: int = _BLOCK,
) -> KrylovResult:
    """Return k eigenpairs of a symmetric operator at one end, best first; known null vectors are left out.

    With ``sure``, only the first ``sure`` pairs must converge, and the others may be approximate.
    """
    n, null = A.shape[0], A.null
    size = sizes(k, n, block)
    if size.basis + _widest(size, k) > n - (0 if null is None else null.shape[1]):
        return small_symmetric(A, k, largest)
    space = LanczosSpace(A, size.block, size.basis, rng, largest=largest)
    found, checked = _iterate(space, k, k if sure is None else min(sure, k), size, tol, stage)
    vectors = space.vectors(found.coordinates[:, :k])
    ritz = _ritz(space, found, size.block) if space.restarts == 0 else None
    values = space.sign * found.values[:k]
    return KrylovResult(None, values, vectors, space.products, checked is not None, space.norm, checked, ritz)


def _ritz(space: LanczosSpace, found: RitzPairs, block: int) -> Ritz:
    """Return the projection of a space that began with random directions, and its nearly exact pairs."""
    near = found.residuals <= _NEARLY_EXACT * np.abs(found.values)
    T = space.sign * space.projected[: space.m, : space.m]
    return Ritz(T, block, space.blocks, space.sign * found.values[near], found.coordinates[:, near])


def golub_kahan(
    A: Operator,
    k: int,
    *,
    tol: float,
    rng: np.random.Generator,
    both_sides: bool = False,
    stage: str = "Krylov",
) -> KrylovResult:
    """Return the k largest singular triplets of an operator, in descending order.

    The basis of the shorter side is kept orthogonal to rounding; ``both_sides`` does so for the longer side, too. At a
    loose tolerance squares are accurate enough, and the longer side has no basis. A tolerance above 0.2 counts as 0.2:
    of planted spectra with repeated values, runs at 0.3 missed pairs of up to a fifth, runs at 0.2 of none.
    """
    tol = min(tol, _LOOSEST)
    tall = A if A.shape[0] >= A.shape[1] else _Transposed(A)
    size = sizes(k, tall.shape[1], block_for(tol))
    if size.basis + _widest(size, k) > tall.shape[1]:
        found = _small_singular(tall, k)
    else:
        space: Space
        if tol >= _LOOSE and not both_sides:
            space = GramSpace(tall, size.block, size.basis, rng)
        else:
            space = GolubKahanSpace(tall, size.block, size.basis, rng, both_sides=both_sides)
        pairs, checked = _iterate(space, k, k, size, tol, stage)
        found = _rayleigh_ritz(tall, space.vectors(pairs.coordinates[:, :k]), space.products + 1, checked)
    if tall is A:
        return found
    return replace(found, left=found.right, right=found.left, forward=found.backward, backward=found.forward)


def _rayleigh_ritz(A: Operator, right: Array, products: int, checked: int | None) -> KrylovResult:
    """Return the best triplets with right vectors in the given span, from a new product."""
    image = A.matmul(right)
    left, R = dense.orthonormal_near(image, arrays.column_norms(image))
    P, sigma, Y = dense.svd(R)
    return KrylovResult(
        thread_pool.matmul(left, P),
        sigma,
        thread_pool.matmul(right, Y),
        products,
        checked is not None,
        float(sigma[0]),
        checked,
        forward=thread_pool.matmul(image, Y),
    )


class _Transposed(Operator):
    def __init__(self, A: Operator) -> None:
        self.A, self.shape = A, (A.shape[1], A.shape[0])

    def matmul(self, V: Array) -> Array:
        return self.A.rmatmul(V)

    def rmatmul(self, U: Array) -> Array:
        return self.A.matmul(U)

    def reference(self) -> Array:
        return self.A.reference()


def identity(n: int, reference: Array) -> Array:
    """Return the identity in the reference's library, in float64."""
    return arrays.like(np.eye(n), reference, np.float64)


def small_symmetric(A: Operator, k: int, largest: bool, enough: Callable[[Array], int] | None = None) -> KrylovResult:
    """Form the matrix and solve it by LAPACK: all of it, or only the wanted end if that is a small part.

    Of the largest end, ``enough`` may say from the k values, descending, how many vectors are wanted.
    """
    M, products = A.dense(), 0
    if M is None:
        M, products = A.matmul(identity(A.shape[0], A.reference())), 1
    xp = arrays.namespace(M)
    norm = float(xp.max(xp.abs(M))) * A.shape[0] or 1.0
    least = longest(M)
    if A.null is not None:  # move the known null vectors to the far end
        M = M - (norm if largest else -norm) * (A.null @ arrays.t(A.null))
    n, part = A.shape[0], None
    if 4 * k < n and n > 200:
        part = (n - k, n - 1) if largest else (0, k - 1)
    upper = None if enough is None or not largest else lambda ascending: enough(ascending[::-1])
    values, vectors = dense.eigh((M + arrays.t(M)) / 2, part, upper)
    if largest:
        values, vectors = xp.flip(values, axis=0), xp.flip(vectors, axis=1)
    top = max(
        least, float(xp.max(xp.abs(values[:k])))
    )  # a lower bound of ‖A‖, so that relative residuals are not underestimated
    return KrylovResult(None, xp.asarray(values[:k], copy=True), vectors[:, :k], products, True, top)


def _small_singular(A: Operator, k: int) -> KrylovResult:
    U, s, V = dense.svd(A.matmul(identity(A.shape[1], A.reference())))
    return KrylovResult(U[:, :k], s[:k], V[:, :k], 1, True, float(s[0]))
