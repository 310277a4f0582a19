"""Block Krylov methods with full reorthogonalisation and thick restart.

`lanczos` finds one end of a symmetric operator's spectrum, `golub_kahan` the largest singular triplets of any
operator without squaring it. A block multiplies many columns at once, which costs little more than one and finds
clustered values; the basis is kept orthogonal to rounding, so no ghost values appear.

A small residual says that what was found is an eigenpair, never that none was missed: the space of a block of b random
columns holds b copies of a repeated value and no more. So random directions, orthogonal to all that was found, join the
iteration when about half of its blocks are done, which the largest residual tells. The result counts when all residuals
are below the tolerance, the new directions have been multiplied for half as many blocks as the whole run took, the
first value after the wanted ones no longer rises among them, and no wanted pair came from the new directions. Else the
pairs are locked and more random directions are tried. This is a check by chance, not a proof, and the record says so.

References: Golub & Underwood 1977 (block Lanczos); Golub & Kahan 1965; Wu & Simon 2000 and Baglama & Reichel 2005
(thick restart); Parlett 1998, chapter 13 (why a Krylov space misses copies).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from ..core.settings import report_progress
from . import dense
from .krylov_space import GolubKahanSpace, LanczosSpace, RitzPairs, Space, longest
from .operators import Operator

Array = Any

_MAX_RESTARTS = 300
_NEARLY = 0.03  # residual over value of a vector that is nearly an eigenvector
_WITNESSES = 2  # random directions that join a run
_EARLY = 3e-2  # residual over ‖A‖ at which they do: about half of the blocks of a run are behind it then
_LATE = 3e-3  # the same where the basis may not suffice: with a restart they would stay to its end
_HOPE = 5.0  # times the columns left that a run may seem to need: it becomes faster towards its end
_SAME = 0.7  # cosine above which a vector counts as held by a space; of a copy that was missed it is 0
_WIDEST = 4  # times the block width: random directions tried at once after a check has found missed pairs
_DEPTH = 8  # blocks of random directions that a basis should have room for


@dataclass(frozen=True)
class Sizes:
    """How wide the block is, how large the basis may grow, and how much a restart keeps."""

    block: int
    basis: int
    keep: int


def sizes(k: int, n: int, block: int = 8) -> Sizes:
    """Return the sizes for k wanted pairs of an operator whose smaller side is n; plans use the same rule.

    A block of 16 needs fewer products but more columns in all; measured slower on word counts and flat spectra.

    >>> sizes(10, 10_000)
    Sizes(block=8, basis=191, keep=18)
    """
    basis = k + max(20 * block, 2 * k)
    basis += _WITNESSES * basis // (2 * block)  # they join for half of the blocks
    keep = k + max(block, 3 * k // 10)
    return Sizes(block, min(basis, n), min(keep, n))


def _widest(size: Sizes, k: int) -> int:
    """Return the columns that a block may have."""
    return max(size.block + _WITNESSES, min(_WIDEST * size.block, (size.basis - k) // _DEPTH))


@dataclass(frozen=True)
class Ritz:
    """What a Krylov space saw of the whole spectrum: the projection T = QᵀAQ, with the random start in front.

    ``vectors`` (in the space's own coordinates) are nearly eigenvectors, of either end, and ``values`` belong to them;
    ``steps`` counts the blocks.
    """

    T: Array
    block: int
    steps: int
    values: Array
    vectors: Array


@dataclass(frozen=True)
class KrylovResult:
    """What an iteration returns: left vectors (None for eigenpairs), values, vectors, and how it ended.

    ``checked`` counts the blocks of random directions in which no missed pair was found; None where all pairs were
    computed. ``ritz`` is what it saw of the rest of the spectrum, where it never had to restart.
    """

    left: Array | None
    values: Array
    right: Array
    products: int
    converged: bool
    norm: float
    checked: int | None = None
    ritz: Ritz | None = None


def _iterate(space: Space, k: int, sure: int, size: Sizes, tol: float, stage: str) -> tuple[RitzPairs, int | None]:
    """Grow a space until its first ``sure`` pairs are exact and random directions have found no other.

    Returns the pairs, and for how many blocks those directions were multiplied; None if nothing converged. In a basis
    that need not restart they join early. A basis that did restart no longer tells what came from where: there
    the exact pairs are locked first, and random directions go on alone.
    """
    tests, columns = _Tests(k + size.block), size.block // 2
    run, since, needed = 0, -1, 0  # blocks until all was exact, until random directions joined, to go on from there
    broke = False  # few distinct values: the first space held one copy of each, and random ones need as many blocks
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
        tests.done(space, worst, tol if since >= 0 or space.restarts else _EARLY)
        near = worst <= (_EARLY if tests.columns(worst, tol) <= _HOPE * (space.limit - space.m) else _LATE)
        if since < 0 and space.restarts == 0 and (space.replaced or near):
            since, broke = space.blocks, space.replaced
            space.add_random(_WITNESSES)
        elif worst <= tol:
            run = run or space.blocks
            most = (size.basis - k) // max(size.block, space.width)
            needed = min(run if broke else -(-run // 2), most)
            deep = depth >= needed and (depth >= most or _next_is_clear(space, found, sure))
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


def _next_is_clear(space: Space, found: RitzPairs, sure: int) -> bool:
    """Tell whether the first pair after the wanted ones is nearly exact, or lies below them whatever its error.

    Ritz values rise: one that is neither may still become larger than a wanted one.
    """
    gap = float(found.values[sure - 1] - found.values[sure])
    return bool(found.residuals[sure] <= max(_LATE * space.norm, gap))


def _none_missed(space: Space, found: RitzPairs, sure: int, tol: float, locked: Array | None) -> bool:
    """Tell whether the wanted pairs were known without the random directions.

    They were if no value is larger than among those locked before; or, where random directions joined a run, larger
    than what it would have found without them. That may not have converged: then its space has to hold the vectors.
    """
    values, known = (locked, None) if locked is not None else space.without_random()
    if values is not None and len(values) >= sure and (found.values[:sure] - values[:sure] <= tol * space.norm).all():
        return True
    if known is None:
        return False
    return bool(dense.svd(known @ found.coordinates[: known.shape[1], :sure])[1][-1] >= _SAME)


class _Tests:
    """When to look at the pairs again: at the columns where the residual should have come down, by its last rate."""

    def __init__(self, least: int) -> None:
        self.next, self.m, self.worst, self.rate = least, 0, np.inf, 0.0

    def columns(self, worst: float, target: float) -> float:
        """Return how many columns a residual should need to come down to a target: without a rate, infinitely many."""
        return np.log(max(worst / target, 1.0)) / self.rate if self.rate else np.inf

    def due(self, space: Space) -> bool:
        """Tell whether the basis has grown enough."""
        return space.m >= self.next

    def done(self, space: Space, worst: float, target: float) -> None:
        """Set the next one, by a residual that shall come down to a target."""
        step = max(space.width, space.m // 6)
        self.rate = 0.0
        if 0 < worst < self.worst < np.inf and space.m > self.m:
            self.rate = float(np.log(self.worst / worst)) / (space.m - self.m)
        if worst > target and self.rate:
            step = min(step, max(space.width, int(self.columns(worst, target))))
        self.next, self.m, self.worst = space.m + step, space.m, worst

    def restarted(self, space: Space) -> None:
        """Begin again with a small basis."""
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
    block: int = 8,
) -> KrylovResult:
    """Return k eigenpairs of a symmetric operator at one end, best first; known null vectors are left out.

    Where only the first ``sure`` pairs have to be exact, the others come as they are when those have converged.
    """
    n, null = A.shape[0], A.null
    size = sizes(k, n, block)
    if size.basis + _widest(size, k) > n - (0 if null is None else null.shape[1]):
        return small_symmetric(A, k, largest)
    space = LanczosSpace(A, size.block, size.basis, rng, largest=largest)
    found, checked = _iterate(space, k, k if sure is None else min(sure, k), size, tol, stage)
    vectors = space.vectors(found.coordinates[:, :k])
    ritz = _seen(space, found, size.block) if space.restarts == 0 else None
    values = space.sign * found.values[:k]
    return KrylovResult(None, values, vectors, space.products, checked is not None, space.norm, checked, ritz)


def _seen(space: LanczosSpace, found: RitzPairs, block: int) -> Ritz:
    """Return what a space that began with random directions knows of both ends."""
    near = found.residuals <= _NEARLY * np.abs(found.values)
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

    The basis of the shorter side is kept orthogonal to rounding; ``both_sides`` does so for the longer side, too.
    """
    tall = A if A.shape[0] >= A.shape[1] else _Transposed(A)
    size = sizes(k, tall.shape[1])
    if size.basis + _widest(size, k) > tall.shape[1]:
        found = _small_singular(tall, k)
    else:
        space = GolubKahanSpace(tall, size.block, size.basis, rng, both_sides=both_sides)
        pairs, checked = _iterate(space, k, k, size, tol, stage)
        found = _rayleigh_ritz(tall, space.vectors(pairs.coordinates[:, :k]), space.products + 1, checked)
    return found if tall is A else replace(found, left=found.right, right=found.left)


def _rayleigh_ritz(A: Operator, right: Array, products: int, checked: int | None) -> KrylovResult:
    """Return the best triplets with right vectors in the given span, from a fresh product."""
    image = A.matmul(right)
    left, R = dense.orthonormal_near(image, arrays.namespace(image).linalg.vector_norm(image, axis=0))
    P, sigma, Y = dense.svd(R)
    converged = checked is not None
    return KrylovResult(
        thread_pool.matmul(left, P), sigma, thread_pool.matmul(right, Y), products, converged, float(sigma[0]), checked
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


def small_symmetric(A: Operator, k: int, largest: bool) -> KrylovResult:
    """Form the matrix and solve it by LAPACK: whole, or only the wanted end where that is a small part."""
    M, products = A.dense(), 0
    if M is None:
        M, products = A.matmul(identity(A.shape[0], A.reference())), 1
    xp = arrays.namespace(M)
    norm = float(xp.max(xp.abs(M))) * A.shape[0] or 1.0
    least = longest(M)
    if A.null is not None:  # move the known null vectors to the far end
        M = M - (norm if largest else -norm) * (A.null @ arrays.t(A.null))
    n, part = A.shape[0], None
    if 5 * k < n and n > 200:
        part = (n - k, n - 1) if largest else (0, k - 1)
    values, vectors = dense.eigh((M + arrays.t(M)) / 2, part)
    if largest:
        values, vectors = xp.flip(values, axis=0), xp.flip(vectors, axis=1)
    top = max(least, float(xp.max(xp.abs(values[:k]))))  # ‖A‖ from below, so that a residual is never flattered
    return KrylovResult(None, xp.asarray(values[:k], copy=True), vectors[:, :k], products, True, top)


def _small_singular(A: Operator, k: int) -> KrylovResult:
    U, s, V = dense.svd(A.matmul(identity(A.shape[1], A.reference())))
    return KrylovResult(U[:, :k], s[:k], V[:, :k], 1, True, float(s[0]))
