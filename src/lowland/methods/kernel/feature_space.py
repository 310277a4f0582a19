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

from ...core import arrays, thread_pool
from ...core.errors import DataError
from ...core.message import Message
from ...pairs.distances import SquaredEuclidean
from ...pairs.kernels import Kernel, kernel
from ...pairs.pairwise import Array, cut, half, length, square, tiles
from ...pairs.sparse import for_storage
from ...rows.moments import Moments
from ...rows.object_rows import MappedRows, on_host, stored_like, unpacked
from ...rows.row_source import RowSource
from ...spectral import Dense, DoublyCentered, Pairs, eigen
from ...spectral.density import absolute_trace
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


class FeatureMap:
    """The projection of objects on the subspace: y = Mᵀ(k_x − c), and the part of φ(x) that it leaves out."""

    def __init__(self, rule: Kernel, anchors: Array, expansion: Expansion) -> None:
        self.rule, self.expansion = rule, expansion
        self.anchors, self._prepared = anchors, rule.prepare(anchors)
        self._maps = np.column_stack([expansion.dual, expansion.weights])

    @classmethod
    def of(cls, model: Any) -> FeatureMap:
        """Return the map of a fitted model."""
        a, c, anchors = model.mean_weights_, model.kernel_mean_, unpacked(model.anchors_)
        return cls(fitted_kernel(model, anchors), anchors, Expansion(model.dual_, a, c, float(a @ c)))

    def coordinates(self, block: Array) -> Array:
        """Return y of each object of a block."""
        return self._project(stored_like(block, self.anchors))[:, :-1]

    def missed(self, block: Array) -> Array:
        """Return ‖φ(x) − Πφ(x)‖² of each object: k(x, x) − 2k_xᵀa + ‖φ̄‖² − ‖y‖²."""
        block = stored_like(block, self.anchors)
        found = self._project(block)
        Y, s = found[:, :-1], found[:, -1]
        return (self.rule.diagonal(block) - 2 * s + self.expansion.norm - (Y * Y).sum(axis=1)).clip(0)

    def distance_error(self, items: Array) -> float:
        """Return the mean over pairs of d_ij − d̂_ij: distances in feature space less those of the coordinates."""
        items, rule, flat = stored_like(items, self.anchors), self.rule, SquaredEuclidean(0.0)
        if (n := length(items)) < 2:
            raise DataError("a distance error needs at least two rows")
        own, prepared = rule.diagonal(items), rule.prepare(items)
        parts = thread_pool.run(lambda part: self.coordinates(items[part]), tiles(n))
        reduced = flat.prepare(np.concatenate(list(parts)))

        def total(pair: tuple[slice, slice]) -> float:
            a, b = pair
            d2 = own[a, None] + own[None, b] - 2 * rule.between(cut(prepared, a), cut(prepared, b))
            off = np.sqrt(d2.clip(0)) - np.sqrt(flat.between(cut(reduced, a), cut(reduced, b)))
            return float(np.triu(off, 1).sum() if a == b else off.sum())

        pairs = half(n)
        return sum(thread_pool.run(total, pairs, stage="distances", total=len(pairs))) / (n * (n - 1) / 2)

    def _project(self, block: Array) -> Array:
        """Return rows [y, k_xᵀa], with few rows of the kernel held at once."""
        new = self.rule.prepare(block)
        out = np.empty((length(new), self._maps.shape[1]))
        for part in tiles(length(new)):
            K = self.rule.between(cut(new, part), self._prepared)
            centered = np.zeros((-(-len(K) // _LANES) * _LANES, len(self._maps)))
            np.subtract(K, self.expansion.mean, out=centered[: len(K)])
            out[part] = (centered @ self._maps)[: len(K)]
        out[:, -1] += self.expansion.norm  # aᵀ(k_x − c) + aᵀc
        return out


def fitted_kernel(model: Any, objects: Array) -> Kernel:
    """Return the kernel of a fit as it compares rows with these objects."""
    rule = kernel(
        model._input.fitted(model),
        objects,
        gamma=1.0 if model.gamma_ is None else model.gamma_,
        degree=model.kernel_["degree"],
        coef0=model.kernel_["coef0"],
        shift=0.0 if model.shift_ is None else model.shift_,
    )
    bound: Kernel = for_storage(rule, objects)
    return bound


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
    def shows_indefinite(self) -> bool:
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
    A = DoublyCentered(Dense(K, symmetric=True, check=False), psd=psd)
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
        raise DataError(Message(_NEGATIVE, doubt) if negative is not None and negative.least < -floor else _FLAT)
    kept = min(k, rank)
    dual = np.ascontiguousarray(U[:, :kept] / np.sqrt(values[:kept]))
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
        block = on_host(block)
        out = np.empty((length(block), width + 3))
        for part in tiles(len(out)):  # no more than these are prepared at once: rows may be wide
            own = rule.diagonal(block[part])
            f = rule.between(rule.prepare(block[part]), prepared) @ W
            out[part, :width], out[part, width], out[part, width + 2] = f, own - (f * f).sum(axis=1), np.abs(own)
        out[:, width + 1] = np.abs(out[:, width])
        return out

    seen = Moments(width + 3).update(MappedRows(rows, features, width + 3), stage="features").close()
    S, mean = seen.scatter[:width, :width], seen.mean[:width]
    signed, missed, own = (seen.n_rows * float(value) for value in seen.mean[width:])
    if own == 0:  # though the landmarks' kernel has a positive eigenvalue: not semidefinite
        raise DataError(Message(_NEGATIVE, rule.doubt))
    pairs = eigen(Dense(np.ascontiguousarray(S), psd=True, check=False), min(k, width), rng=rng)
    values, V = arrays.to_numpy(pairs.values), arrays.to_numpy(pairs.vectors)
    shown, norm = float(np.trace(S)), float(mean @ mean)
    # The mean was subtracted from the sums over rows, so rounding goes with Σ‖f(x)‖²; 10 as in `whitener`.
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
