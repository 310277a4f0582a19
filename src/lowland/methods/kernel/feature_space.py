"""Principal components in the feature space of a kernel, written over anchors: from all pairs, or through landmarks.

A subspace of feature space is a list of coefficients. With anchors z_j and their features φ(z_j),

    mean φ̄ = Σ_j a_j φ(z_j),   directions v_i = Σ_j M_ji φ(z_j),   coordinates y = Mᵀ(k_x − c),   c = K a,

where k_x holds k(z_j, x).

All pairs: the anchors are the training objects, J K J = U Λ Uᵀ (J = I − 11ᵀ/N), M = U Λ^(−1/2), a = 1/N.
Landmarks: the anchors are few; f(x) = Wᵀk_x are the coordinates of φ(x) in their span (Nyström), and f is taken
through ordinary centred PCA with directions V: M = W V, a = W f̄. The centring is exact, over all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import arrays, settings, thread_pool
from ...core.cost import DataShape
from ...core.errors import DataError
from ...pairs import distances
from ...pairs.distances import SquaredEuclidean
from ...pairs.kernels import Kernel
from ...pairs.pairwise import TILE, Array, cut, half, length, square, tiles
from ...rows.moments import Moments
from ...rows.object_rows import MappedRows
from ...rows.row_source import RowSource, block_rows
from ...spectral import Dense, DoublyCentered, Pairs, eigen
from ...spectral.density import absolute_trace
from ...spectral.krylov import sizes
from ...spectral.rounding import rounding_floor
from ...spectral.solve import DENSE_LIMIT
from ..shared.landmarks import whitener

_LANES = 16  # BLAS sums the last rows of a product in another order unless their number is a multiple of this
_FLAT = (
    "the centred kernel has no positive eigenvalue (rank 0): to this kernel all objects are equal; a reduction needs "
    "at least two that differ"
)
_NEGATIVE = "the centred kernel has no positive eigenvalue (rank 0), but negative ones"
_SHOWN = 1e-6  # the share of the trace by which ‖f(x)‖² may pass k(x, x) through rounding


@dataclass(frozen=True)
class Expansion:
    """An affine subspace over anchors: ``dual`` M, ``weights`` a, ``mean`` c = Ka and ``norm`` ‖φ̄‖²."""

    dual: Array
    weights: Array
    mean: Array
    norm: float

    def coordinates(self, rule: Kernel, anchors: Array) -> Any:
        """Return the function that maps a block of objects to rows [y, k_xᵀa], with few kernel rows held at once."""
        prepared = rule.prepare(anchors)
        maps = np.column_stack([self.dual, self.weights])

        def place(block: Array) -> Array:
            new = rule.prepare(block)
            out = np.empty((length(new), maps.shape[1]))
            for part in tiles(length(new)):
                kernel = rule.between(cut(new, part), prepared)
                centered = np.zeros((-(-len(kernel) // _LANES) * _LANES, len(maps)))
                np.subtract(kernel, self.mean, out=centered[: len(kernel)])
                out[part] = (centered @ maps)[: len(kernel)]
            out[:, -1] += self.norm  # aᵀ(k_x − c) + aᵀc
            return out

        return place


@dataclass(frozen=True)
class Components:
    """What a solve found: the subspace, its eigenvalues λ, and how far they can be trusted.

    ``spectrum`` holds all eigenvalues where they were computed, ``total`` the trace of the centred kernel and ``error``
    Σ|k(x, x) − ‖f(x)‖²|/Σ|k(x, x)|, the share of the uncentred trace that landmarks miss or, where the kernel is
    indefinite, pass (None without landmarks). ``centered_error`` bounds the share of the centred trace that is missed,
    for kernels that are known to be semidefinite.
    """

    expansion: Expansion
    values: Array
    spectrum: Array
    pairs: Pairs
    total: float
    negative: Negative | None = None
    error: float | None = None
    centered_error: float | None = None


@dataclass(frozen=True)
class Negative:
    """The negative part of an indefinite kernel's spectrum: the least value, Σ|λ<0|/Σ|λ|, and how many where known.

    With landmarks it is the spectrum of their kernel alone, and ``excess`` the share of the trace by which all rows'
    ‖f(x)‖² pass k(x, x): no semidefinite kernel has any, but neither number can show that a kernel is semidefinite.
    """

    least: float
    share: float
    count: int | None = None
    excess: float | None = None

    @property
    def found(self) -> bool:
        """Whether the kernel is shown not to be semidefinite."""
        return self.share > 0 or (self.excess is not None and self.excess > _SHOWN)


def from_pairs(
    K: Array, k: int, *, psd: bool, rng: np.random.Generator, eps: float = 0.0, doubt: str = ""
) -> Components:
    """Return the leading components of a whole kernel matrix, centred without a copy.

    ``eps`` is the precision of its entries where that is less than their type's, ``doubt`` what to say where none of
    it is a kernel.
    """
    n, eps = len(K), max(eps, float(np.finfo(K.dtype).eps))
    whole = n <= DENSE_LIMIT
    A = DoublyCentered(Dense(K, symmetric=True), psd=psd)
    if whole and float(np.abs(np.asarray(A.dense())).max()) <= 4 * eps * float(np.abs(K).max()):
        raise DataError(_FLAT)
    pairs = eigen(A, n - 1 if whole else k, rng=rng)
    values, U = arrays.to_numpy(pairs.values), arrays.to_numpy(pairs.vectors)
    c, length_of_K = _column_means(K)
    total = float(np.trace(K, dtype=np.float64)) - n * float(c.mean())
    floor = rounding_floor(n, float(values[0]), length_of_K, eps)
    negative = None if psd else _negative(A, pairs, values, total, floor, rng)
    rank = int((values > floor).sum())
    if rank == 0:
        raise DataError(_NEGATIVE + doubt if negative is not None and negative.least < -floor else _FLAT)
    kept = min(k, rank)
    dual = U[:, :kept] / np.sqrt(values[:kept])
    expansion = Expansion(dual, np.full(n, 1 / n), c, float(c.mean()))
    return Components(expansion, values[:kept], values, pairs, total, negative)


def _column_means(K: Array) -> tuple[Array, float]:
    """Return the means of the columns of a symmetric matrix and its Frobenius norm, summed in float64."""

    def sums(part: slice) -> tuple[Array, float]:
        strip = K[part].astype(np.float64)
        return strip.mean(axis=1), float((strip * strip).sum())

    found = list(thread_pool.run(sums, tiles(len(K), 64)))
    return np.concatenate([means for means, _ in found]), float(np.sqrt(sum(s for _, s in found)))


def _negative(A: Any, pairs: Pairs, values: Array, total: float, floor: float, rng: np.random.Generator) -> Negative:
    """Return the negative end: counted where the spectrum is whole, else estimated."""
    n = A.shape[0]
    if len(values) == n - 1:
        below = values[values < -floor]
        return Negative(float(values.min()), float(-below.sum() / np.abs(values).sum()), len(below))
    found = absolute_trace(A, pairs, rng)
    share = max(0.0, (found.value - total) / 2 / found.value) if found.least < -floor else 0.0
    return Negative(found.least, share)


def from_landmarks(rule: Kernel, rows: RowSource, anchors: Array, k: int, rng: np.random.Generator) -> Components:
    """Return the leading components of all rows seen through the anchors: one pass, nothing of length N is kept."""
    K = square(rule, anchors, stage="landmarks")
    W, least, negative_share = whitener(K, rule.eps)
    prepared, width = rule.prepare(anchors), W.shape[1]

    def features(block: Array) -> Array:
        """Return rows [f(x), k(x, x) − ‖f(x)‖², its size, |k(x, x)|]."""
        block = arrays.to_numpy(block)
        out = np.empty((len(block), width + 3))
        for part in tiles(len(block)):  # no more than these are prepared at once: rows may be wide
            own = rule.diagonal(block[part])
            f = rule.between(rule.prepare(block[part]), prepared) @ W
            out[part, :width], out[part, width], out[part, width + 2] = f, own - (f * f).sum(axis=1), np.abs(own)
        out[:, width + 1] = np.abs(out[:, width])
        return out

    seen = Moments(width + 3).update(MappedRows(rows, features, width + 3), stage="features").close()
    S, mean = seen.scatter[:width, :width], seen.mean[:width]
    signed, missed, own = (seen.n_rows * float(value) for value in seen.mean[width:])
    if own == 0:  # though the landmarks' kernel has a positive eigenvalue: not semidefinite
        raise DataError(_NEGATIVE + rule.doubt)
    pairs = eigen(Dense(np.ascontiguousarray(S), psd=True), min(k, width), rng=rng)
    values, V = arrays.to_numpy(pairs.values), arrays.to_numpy(pairs.vectors)
    shown, norm = float(np.trace(S)), float(mean @ mean)
    # The mean was taken off what was summed over rows, so rounding goes with Σ‖f(x)‖²; 10 as in `whitener`.
    floor = rounding_floor(10 * width, float(values[0]), shown + seen.n_rows * norm, rule.eps)
    rank = int((values > floor).sum())
    if rank == 0:
        raise DataError(_FLAT)
    V = V[:, :rank]
    a = W @ mean
    negative = None if rule.psd else Negative(least, negative_share, excess=(missed - signed) / 2 / own)
    return Components(
        Expansion(W @ V, a, K @ a, norm),
        values[:rank],
        values,
        pairs,
        shown,
        negative,
        missed / own,
        missed / (missed + shown) if rule.psd else None,
    )


def distance_error(rule: Kernel, items: Array, Y: Array) -> float:
    """Return the mean over pairs of d_ij − d̂_ij: distances in feature space less those of the reduced rows Y."""
    own, prepared, flat = rule.diagonal(items), rule.prepare(items), SquaredEuclidean(0.0)
    reduced, n = flat.prepare(Y), len(Y)

    def total(pair: tuple[slice, slice]) -> float:
        a, b = pair
        d2 = own[a, None] + own[None, b] - 2 * rule.between(cut(prepared, a), cut(prepared, b))
        off = np.sqrt(d2.clip(0)) - np.sqrt(flat.between(cut(reduced, a), cut(reduced, b)))
        return float(np.triu(off, 1).sum() if a == b else off.sum())

    pairs = half(n)
    return sum(thread_pool.run(total, pairs, stage="distances", total=len(pairs))) / (n * (n - 1) / 2)


# -- cost --------------------------------------------------------------------------------------------------------


def row_bytes(shape: DataShape) -> int:
    """Return the bytes of an entry of rows that a kernel compares: as it wants them, in float64, and as a copy."""
    return distances.row_bytes("euclidean", shape.dtype.itemsize) + shape.dtype.itemsize


def cost_of_pairs(shape: DataShape, k: int, *, given: bool) -> tuple[dict[str, int], float]:
    """Return the pieces of memory of a solve over all pairs, and its arithmetic; ``given``: K is the data."""
    n = shape.n_rows or 1
    basis = sizes(k, n).basis + sizes(k, n).block
    whole = n <= DENSE_LIMIT or basis > n or 5 * k > n
    parts = {
        "kernel matrix": 0 if given and n > DENSE_LIMIT else n * n * (8 if n <= DENSE_LIMIT else shape.dtype.itemsize),
        "eigenvectors": 8 * 5 * n * n if whole else 8 * n * (basis + 3 * k),
        "rows": 0 if given else n * shape.n_features * row_bytes(shape),
    }
    solve = 12.0 * n**3 if whole else 4.0 * basis * n * (n + basis)
    return parts, n * n * (shape.n_features + 20.0) + solve


def cost_of_landmarks(shape: DataShape, count: int) -> tuple[dict[str, int], dict[str, int], float]:
    """Return the pieces of memory of choosing landmarks, of the pass through them, and the arithmetic of both."""
    n, d = shape.n_rows or 1, shape.n_features
    tried = min(n, max(20_000, 20 * count))
    rows = min(n, block_rows(count + 1))
    choose = {"candidates": tried * (8 * (count + count // 5) + d * (16 + 2 * shape.dtype.itemsize))}
    solve = {
        "features of blocks": 8 * rows * (count + 1) * (5 * settings.threads() + 2)
        + 16 * min(rows, TILE) * d * settings.threads(),
        "landmarks' matrices": 8 * 6 * count * count,
    }
    flops = tried * count * (d + count) + n * count * (2.0 * d + 40.0 + 3.0 * count) + 12.0 * count**3
    return choose, solve, flops
