"""Orthonormal Krylov bases, extended by a block of columns at a time, for `krylov`.

`LanczosSpace` holds Q with A Q = Q T + N R Eᵀ for a symmetric A, `GolubKahanSpace` U and V with A V = U B and
Aᵀ U = V Bᵀ + N R Eᵀ for any A, `GramSpace` only V with AᵀA V = V T + N R Eᵀ, for loose tolerances. N is the next block,
E the columns of the last one. Blocks may differ in width: random
directions can join at any step, since they are orthogonal to the basis and its next block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from . import dense
from .operators import Operator

Array = Any

_SHORT = 1.5e-8  # share of the norm: a column of this length has lost half of its digits
_SPREAD = 1e-2  # share of the longest direction of a block: a shorter one has lost two digits of orthogonality
_SHORT_ONE_SIDED = 1e-3  # as `_SHORT`, for blocks that are orthogonalised only against the one before them
_SHORT_LOOSE = 1e-5  # as `_SHORT`, for blocks that are made orthonormal in one round
_ROOT_EPS = float(np.sqrt(np.finfo(float).eps))  # share of the norm below which squares cannot resolve a singular value


@dataclass(frozen=True)
class RitzPairs:
    """The best pairs in a space, best first: values, coordinates (left ones for triplets), and residual norms."""

    values: Array
    coordinates: Array
    residuals: Array
    left: Array | None = None


class Space:
    """Base of the spaces: counts, the next block, and random directions."""

    _vanished = 1e-8  # share of the norm below which a direction is mostly rounding

    def __init__(self, A: Operator, block: int, limit: int, rng: np.random.Generator) -> None:
        self.A, self.limit, self.rng = A, limit, rng
        self.basis = _empty(A.shape[1], limit, A.reference())  # Q, or V
        self.projected = np.zeros((limit, limit))  # T, or B
        self.m = self.recent = self.blocks = self.products = self.restarts = 0
        self.norm, self.replaced, self.block = 0.0, False, block
        self._before: Array | None = None  # basis coordinates → coordinates in the space without random directions
        self._going_on: bool | None = None  # whether a block of that space was not multiplied yet; None after a restart
        self._joined = 0  # blocks before random directions joined
        self._going = block  # columns of the next block that continue the iteration
        self._locked = 0  # pairs that are exact, the first ones of the basis
        self.next = self._random(block)

    @property
    def width(self) -> int:
        """The number of columns of the next block."""
        return int(self.next.shape[1])

    @property
    def full(self) -> bool:
        """Whether the next block has no room."""
        return self.m + self.width > self.limit

    def grow(self) -> None:
        """Append the next block to the basis, and multiply to get the one after it."""
        raise NotImplementedError

    def ritz(self) -> RitzPairs:
        """Return the pairs of the projected matrix."""
        raise NotImplementedError

    def _square(self, V: Array) -> Array:
        """Multiply coordinates by T, or by BᵀB."""
        raise NotImplementedError

    def _values(self, Z: Array) -> Array:
        """Return the best values in the range of orthonormal coordinates Z."""
        raise NotImplementedError

    def vectors(self, coordinates: Array) -> Array:
        """Return combinations of the basis."""
        return thread_pool.matmul(self.basis[:, : self.m], arrays.like(coordinates, self.basis, np.float64))

    def add_random(self, columns: int) -> None:
        """Add random directions to the next block, and record the space without them.

        If columns of the next block had vanished, it contains random directions already.
        """
        self._going = 0 if self.replaced else self._continuing()
        self._before, self._going_on = np.eye(self.m + self._going), self._going > 0
        self._joined = self.blocks
        if not self.replaced:
            xp = arrays.namespace(self.next)
            self.next = xp.concat([self.next, self._random(columns, self.next)], axis=1)

    def _continuing(self) -> int:
        """Return how many columns of the next block continue the iteration: the first ones; others are rounding."""
        return self.width

    def without_random(self) -> tuple[Array | None, Array]:
        """Return the values, best first, without the random directions, and a map to that space.

        The map (rows × columns) takes coordinates in the basis to coordinates in an orthonormal basis of that space:
        the earlier columns and the Krylov space of their last block. The latter is recomputed by powers of the
        projected matrix, which is exact until a restart; after one there are no values.
        """
        if self._before is None:
            return None, np.eye(self.m)
        if self._going_on is None:
            return None, self._before
        Z = np.eye(self.m, len(self._before))
        if self._going_on:
            # As many columns as the iteration would have added; with more, rounding would add other directions.
            most = Z.shape[1] + self._going * (self.blocks - self._joined - 1)
            Z = _powers(self._square, Z, self._going, most, self._vanished)
        return self._values(Z), Z.T

    def added(self) -> tuple[float, float]:
        """Return the best value among what random directions have added, and its residual; (0, 0) if that is nothing.

        It is a singular value, or the square root of an eigenvalue.
        """
        known = np.eye(self._locked) if self._before is None else self.without_random()[1]
        own = np.pad(known, ((0, 0), (0, self.m - known.shape[1])))
        Q = dense.svd(own.T)[0] if len(own) else own.T
        rest = dense.eigh(np.eye(self.m) - Q @ Q.T)[1][:, Q.shape[1] :]  # what is orthogonal to the known space
        if not rest.shape[1]:
            return 0.0, 0.0
        theta, Y = dense.eigh(rest.T @ self._square(rest))
        x = rest @ Y[:, -1]
        sigma = float(np.sqrt(max(theta[-1], 0.0)))
        miss = np.hypot(np.linalg.norm(self._square(x) - theta[-1] * x), np.linalg.norm(self._beyond(x)))
        return sigma, float(miss / max(sigma, _ROOT_EPS * self.norm, np.finfo(float).tiny))

    def _beyond(self, x: Array) -> Array:
        """Return the part of AᵀA times a combination of the basis that is outside of its span."""
        raise NotImplementedError

    def restart(self, found: RitzPairs, keep: int) -> None:
        """Shrink the basis to its best pairs and continue with the next block (Wu & Simon 2000)."""
        if self._before is not None:
            known = self.without_random()[1]
            self._before, self._going_on = known @ found.coordinates[: known.shape[1], :keep], None
        self._shrink(found, keep)

    def lock(self, found: RitzPairs, exact: int, beside: int, columns: int) -> None:
        """Shrink the basis to its first pairs, which are exact, and continue with random directions.

        The ``beside`` pairs after them join the next block, so that their approximation is kept.
        """
        near = self.vectors(found.coordinates[:, exact : exact + beside])
        self._shrink(found, exact)
        self._before, self._locked = None, exact
        self.next = self._random(columns, near)
        if beside:
            self.next = arrays.namespace(near).concat([near, self.next], axis=1)

    def _shrink(self, found: RitzPairs, keep: int) -> None:
        self.basis[:, :keep] = self.vectors(found.coordinates[:, :keep])
        self.projected[:] = 0.0
        self.projected[np.arange(keep), np.arange(keep)] = found.values[:keep]
        self.m, self.recent, self.restarts = keep, 0, self.restarts + 1

    def _random(self, columns: int, *others: Array) -> Array:
        """Return orthonormal random directions, orthogonal to the basis, the null vectors and the others."""
        fresh = self.A.randn(self.basis.shape[0], columns, self.rng)
        held = (self.A.null, self.basis[:, : self.m], *others)
        for basis in (*held, *held):
            _take_out(fresh, basis)
        return dense.orthonormal(fresh)[0]


class LanczosSpace(Space):
    """Block Lanczos with full reorthogonalisation on ±A, so that the wanted end is the largest."""

    def __init__(self, A: Operator, block: int, limit: int, rng: np.random.Generator, *, largest: bool) -> None:
        super().__init__(A, block, limit, rng)
        self.sign = 1.0 if largest else -1.0

    def grow(self) -> None:
        """Multiply the next block, and make the product orthogonal to the basis."""
        A, T, w = self.A, self.projected, self.width
        self.basis[:, self.m : self.m + w] = self.next
        self.m += w
        m, Q = self.m, self.basis[:, : self.m]
        W = self.sign * A.matmul(self.next)
        self.norm = max(self.norm, longest(W))
        self.products, self.blocks = self.products + 1, self.blocks + 1
        H = arrays.to_numpy(_project_out(W, Q, self.recent, A.null))
        self.recent = m - w
        T[:m, m - w : m], T[m - w : m, :m] = H, H.T
        T[m - w : m, m - w : m] = (H[m - w :] + H[m - w :].T) / 2
        self.next, R, self.replaced = _next_block(W, self.norm, self.rng, A, A.null, Q)
        self._R = arrays.to_numpy(R)

    def ritz(self) -> RitzPairs:
        """Return the eigenpairs of T, and ‖A q − θ q‖ of each."""
        theta, Y = dense.eigh(self.projected[: self.m, : self.m])
        theta, Y = theta[::-1], Y[:, ::-1]
        self.norm = max(self.norm, float(np.abs(theta).max()))
        return RitzPairs(theta, Y, np.linalg.norm(self._R @ Y[self.m - self._R.shape[1] :], axis=0))

    def _square(self, V: Array) -> Array:
        return self.projected[: self.m, : self.m] @ V

    def _values(self, Z: Array) -> Array:
        return dense.eigh(Z.T @ self._square(Z))[0][::-1]


class GolubKahanSpace(Space):
    """Block bidiagonalisation of an A with no fewer rows than columns.

    V is kept orthogonal to rounding, and so is U unless the singular values span many orders of magnitude
    (Simon & Zha 2000); ``both_sides`` is for that case.
    """

    def __init__(self, A: Operator, block: int, limit: int, rng: np.random.Generator, *, both_sides: bool) -> None:
        super().__init__(A, block, limit, rng)
        self.U, self.both_sides = _empty(A.shape[0], limit, A.reference()), both_sides

    def grow(self) -> None:
        """Multiply the next block by A and the result by Aᵀ, and orthogonalise both."""
        A, B, m, w = self.A, self.projected, self.m, self.width
        self.basis[:, m : m + w] = self.next
        W = A.matmul(self.next)
        self.norm = max(self.norm, longest(W))
        B[:m, m : m + w] = arrays.to_numpy(_project_out(W, self.U[:, :m], self.recent, whole=self.both_sides))
        short = _SHORT if self.both_sides else _SHORT_ONE_SIDED
        left, R, lost = _next_block(W, self.norm, self.rng, A, self.U[:, :m], short=short)
        self.recent = m
        B[m : m + w, m : m + w] = arrays.to_numpy(R)
        self.U[:, m : m + w] = left
        self.m = m = m + w
        Z = A.rmatmul(left)
        self.products, self.blocks = self.products + 2, self.blocks + 1
        V = self.basis[:, :m]
        _project_out(Z, V, self.recent)
        self.next, R, self.replaced = _next_block(Z, self.norm, self.rng, A, V)
        self.replaced = self.replaced or lost
        self._R = arrays.to_numpy(R)

    def ritz(self) -> RitzPairs:
        """Return the singular triplets of B, and ‖Aᵀ u − σ v‖ of each."""
        P, sigma, Y = dense.svd(self.projected[: self.m, : self.m])
        self.norm = max(self.norm, float(sigma[0]))
        return RitzPairs(sigma, Y, np.linalg.norm(self._R @ P[self.m - self._R.shape[1] :], axis=0), P)

    def _square(self, V: Array) -> Array:
        B = self.projected[: self.m, : self.m]
        return B.T @ (B @ V)

    def _beyond(self, x: Array) -> Array:
        return self._R @ (self.projected[: self.m, : self.m] @ x)[self.m - self._R.shape[1] :]

    def _values(self, Z: Array) -> Array:
        return dense.svd(self.projected[: self.m, : self.m] @ Z)[1]

    def _shrink(self, found: RitzPairs, keep: int) -> None:
        left = arrays.like(found.left, self.U, np.float64)[:, :keep]
        self.U[:, :keep] = thread_pool.matmul(self.U[:, : self.m], left)
        super()._shrink(found, keep)


class GramSpace(Space):
    """Block Lanczos on AᵀA of an A with no fewer rows than columns, for tolerances far above √eps.

    It spans the same right vectors as `GolubKahanSpace`, and stores and orthogonalises no left ones. Squares are
    accurate to √eps·‖A‖, and blocks are made orthonormal in one round. Values and residuals are those of triplets.
    """

    _vanished = _SHORT_LOOSE  # what enters through shorter directions changes no value by a loose tolerance

    def grow(self) -> None:
        """Multiply the next block by A and the result by Aᵀ, and make it orthogonal to the basis."""
        A, T, w = self.A, self.projected, self.width
        self.basis[:, self.m : self.m + w] = self.next
        self.m += w
        m, V = self.m, self.basis[:, : self.m]
        U = A.matmul(self.next)
        self.norm = max(self.norm, longest(U))
        W = A.rmatmul(U)
        self.products, self.blocks = self.products + 2, self.blocks + 1
        H = arrays.to_numpy(_project_out(W, V, self.recent))
        self.recent = m - w
        T[:m, m - w : m], T[m - w : m, :m] = H, H.T
        T[m - w : m, m - w : m] = (H[m - w :] + H[m - w :].T) / 2
        self.next, R, self.replaced = _next_block(W, self.norm**2, self.rng, A, V, short=_SHORT_LOOSE, rounds=1)
        self._R = arrays.to_numpy(R)

    def _continuing(self) -> int:
        """Return the columns that are not short: the others are as good as random, since no value depends on them."""
        return int((np.linalg.norm(self._R, axis=1) > _SHORT_LOOSE * self.norm**2).sum())

    def ritz(self) -> RitzPairs:
        """Return √ of the eigenvalues of T, and ‖Aᵀ u − σ v‖ = ‖AᵀA v − σ² v‖/σ of each, with u = A v/σ."""
        theta, Y = dense.eigh(self.projected[: self.m, : self.m])
        sigma, Y = np.sqrt(theta[::-1].clip(0)), Y[:, ::-1]
        self.norm = max(self.norm, float(sigma[0]))
        misses = np.linalg.norm(self._R @ Y[self.m - self._R.shape[1] :], axis=0)
        return RitzPairs(sigma, Y, misses / np.maximum(sigma, max(_ROOT_EPS * self.norm, np.finfo(float).tiny)))

    def _square(self, V: Array) -> Array:
        return self.projected[: self.m, : self.m] @ V

    def _beyond(self, x: Array) -> Array:
        return self._R @ x[self.m - self._R.shape[1] :]

    def _values(self, Z: Array) -> Array:
        return np.sqrt(dense.eigh(Z.T @ self._square(Z))[0][::-1].clip(0))

    def _shrink(self, found: RitzPairs, keep: int) -> None:
        super()._shrink(found, keep)
        self.projected[np.arange(keep), np.arange(keep)] = found.values[:keep] ** 2


def longest(W: Array) -> float:
    """Return the length of the longest column; for A times orthonormal columns a lower bound of ‖A‖."""
    return float(arrays.namespace(W).max(arrays.column_norms(W)))


def _empty(n: int, columns: int, reference: Array) -> Array:
    """Return an n × columns array whose leading columns are contiguous."""
    return arrays.t(arrays.like(np.zeros((columns, n)), reference))


def _take_out(W: Array, Q: Array | None) -> Array | None:
    """Remove the components along Q from W in place and return them."""
    if Q is None or Q.shape[1] == 0:
        return None
    H = thread_pool.tmatmul(Q, W)
    W -= thread_pool.matmul(Q, H)
    return H


def _project_out(W: Array, Q: Array, recent: int, null: Array | None = None, *, whole: bool = True) -> Array:
    """Make W orthogonal to Q (and null) in place and return QᵀW.

    In exact arithmetic W has components only along the columns from ``recent`` on. They are removed first, so that the
    pass over the whole basis removes only rounding: two full passes would cost twice as much. Without ``whole`` that
    pass is omitted.
    """
    H = arrays.like(np.zeros((Q.shape[1], W.shape[1])), W)
    near = _take_out(W, Q[:, recent:])
    if near is not None:
        H[recent:, :] += near
    rest = _take_out(W, Q) if whole else None
    if rest is not None:
        H += rest
    _take_out(W, null)
    return H


def _next_block(
    W: Array,
    norm: float,
    rng: np.random.Generator,
    A: Operator,
    *bases: Array | None,
    short: float = _SHORT,
    rounds: int = 2,
) -> tuple[Array, Array, bool]:
    """Return Q, R of W (already orthogonal to the bases), and whether columns vanished, which are replaced at random.

    A short direction is partly rounding, so it is normalised and orthogonalised against the bases again.
    """
    Q, R = dense.orthonormal(W, rounds)
    P, lengths, Y = dense.svd(arrays.to_numpy(R))  # a short direction need not be a column
    eps = np.finfo(float).eps
    lost = np.flatnonzero(lengths <= 10 * eps * max(norm, np.finfo(float).tiny) * np.sqrt(W.shape[0]))
    first = int((lengths > max(short * norm, _SPREAD * lengths[0])).sum())
    if first < len(lengths):
        lengths[lost] = 0.0
        Q, R = Q @ arrays.like(P, Q, np.float64), arrays.like(lengths[:, None] * Y.T, Q, np.float64)
        weak = Q[:, first:] + 0.0
        if len(lost):
            weak[:, lost - first] = A.randn(W.shape[0], len(lost), rng)
        for basis in (*bases, *bases):
            _take_out(weak, basis)
        Q[:, first:] = weak
        Q, turn = dense.orthonormal(Q)
        R = turn @ R
    return Q, R, len(lost) > 0


def _powers(square: Callable[[Array], Array], Z: Array, block: int, most: int, vanished: float) -> Array:
    """Return an orthonormal basis of Z and the Krylov space of its last ``block`` columns.

    It has at most ``most`` columns. Vanishing columns are left out, because they are mostly rounding.
    """
    new, norm = Z[:, -block:], 0.0
    while new.shape[1] and Z.shape[1] < most:
        W = square(new)
        norm = max(norm, longest(W))
        for _ in range(2):
            W = W - Z @ (Z.T @ W)
        left, lengths, _ = dense.svd(W)
        new = left[:, lengths > vanished * norm]
        Z = np.hstack([Z, new])
    return Z[:, : min(most, len(Z))]
