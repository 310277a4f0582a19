"""Pre-images: rows whose reduced form is a given one, learned by ridge regression or found by a fixed point.

Ridge: x ≈ b + Bᵀy + Cᵀg(y), where g are Gaussians around some of the reduced training rows. The affine part is free, C
is penalised by the smoothness of what it adds (the norm of g's kernel), and generalised cross-validation chooses how
much (Golub, Heath, Wahba 1979). Rows are read once; only sums are kept.

Fixed point (Mika, Schölkopf, Smola, Müller, Scholz, Rätsch 1999), for a Gaussian kernel: the row x whose feature φ(x)
is nearest to Σ_j β_j φ(z_j) satisfies x = Σ β_j k(x, z_j) z_j / Σ β_j k(x, z_j). That is iterated from a good start:
the ridge's answer, or the mean of the anchors nearest in feature space (in the manner of Kwok & Tsang 2004), whichever
is nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from ...core import arrays, settings, thread_pool
from ...core.cost import DataShape
from ...core.errors import DataError
from ...core.message import Message, message
from ...core.settings import report_progress
from ...pairs.distances import SquaredEuclidean, squared_norms
from ...pairs.kernels import Exponential, median_gamma
from ...pairs.pairwise import Array, tiles
from ...pairs.sparse import filled
from ...rows.block import block_rows
from ...rows.row_source import RowSource
from ...spectral import dense
from ..shared.landmarks import uniform
from .feature_space import Expansion, FeatureMap

CENTERS = 500  # Gaussians of the ridge at most
_STRENGTHS = 41  # tried from the largest eigenvalue down to 1e-10 of it
_NEIGHBORS = 10  # anchors in a local start
_ITERATIONS = 100
_FLAT_SHARE = 1e-8  # directions of the Gaussians below this share of the largest would only carry rounding
_VANISHED = 1e-6  # a sum of coefficients this small beside its terms has no direction left
_SMALLEST_STEP = 1e-10  # a step this small beside the kernel's width ends a row's iteration
_FLAT_TOP = 1e-12  # at the top h is flat: whether it still grows there is noise
_STRIP = 1 << 20  # entries of a product of features and rows that a thread makes at once
_ROWS_AT_ONCE = 256  # at once: their kernel with 10,000 anchors takes 20 MB


@dataclass(frozen=True)
class Ridge:
    """x ≈ intercept + yB + g(y)C; ``strength`` is the chosen penalty, ``freedom`` its effective degrees of freedom."""

    intercept: Array
    linear: Array
    centers: Array
    gamma: float
    weights: Array
    strength: float
    freedom: float

    def __call__(self, Y: Array) -> Array:
        """Return the rows for reduced rows."""
        out = self.intercept + Y @ self.linear
        return out + self._bumps()(Y, self.centers) @ self.weights if len(self.centers) else out

    def _bumps(self) -> Exponential:
        return Exponential(SquaredEuclidean(0.0), self.gamma)


class NoInverseError(DataError, NotFittedError):  # type: ignore[misc]
    """There is no way back to rows: the fit did not learn one. scikit-learn raises `NotFittedError` here."""


_FIT_AGAIN = message("fit with {preimage}", preimage="auto")


def choose_preimage(preimage: str | None, kernel: Any, *, vectors: bool) -> str | None:
    """Return how pre-images are found: "ridge", "fixed-point", or None where objects are not rows of numbers."""
    gaussian = isinstance(kernel, str) and kernel == "rbf"
    if preimage == "fixed-point" and not gaussian:
        text = "{preimage} needs {kernel}" + f", and the kernel is {kernel!r}; use 'ridge' or None"
        raise DataError(message(text, preimage="fixed-point", kernel="rbf"))
    if not vectors and preimage in ("ridge", "fixed-point"):
        text = "pre-images are rows of numbers, and these objects are known by their kernel alone; use {preimage}"
        raise DataError(message(text, preimage=None))
    if preimage != "auto":
        return preimage
    return None if not vectors else "fixed-point" if gaussian else "ridge"


def way_back(model: Any, features: FeatureMap) -> Callable[[Array], Array]:
    """Return the function from reduced rows to rows of a fitted model, in float64."""
    if model.ridge_ is None:
        raise NoInverseError(
            Message(message("fitted with {preimage}, so there is no way back to rows; ", preimage=None), _FIT_AGAIN)
            if model.shift_ is not None
            else "objects that are known by their kernel alone have no pre-image; only rows of numbers have one"
        )
    back: Any = (ridge := Ridge(**model.ridge_))
    if model.kernel_["preimage"] == "fixed-point":
        exact = not model.fit_info_.approximate
        Y = model.dual_ * model.eigenvalues_ if exact else features.coordinates(features.anchors)
        back = FixedPoint(features.rule, features.anchors, features.expansion, Y, ridge)
    return lambda block: back(_doubles(block))


def squared_errors(model: Any) -> Callable[[Array], Array]:
    """Return the function that gives the mean squared error of the pre-image of each row of a block."""
    features = FeatureMap.of(model)
    back = way_back(model, features)

    def errors(block: Array) -> Array:
        off = _doubles(block) - back(features.coordinates(block))
        return arrays.like((off * off).mean(axis=1, keepdims=True), block)

    return errors


def _doubles(block: Array) -> Array:
    return arrays.to_numpy(filled(block)).astype(np.float64, copy=False)


def fit_ridge(rows: RowSource, Y: Array, shift: Array, centers: int, rng: np.random.Generator) -> Ridge:
    """Learn the way back from reduced rows Y (N × k, of mean zero) to the rows themselves, in one pass.

    ``shift`` is the mean of the rows; ``centers`` the number of Gaussians (0: the best affine map, which for a linear
    kernel is the exact inverse of PCA).
    """
    n, k = Y.shape
    Z = np.unique(Y[uniform(n, min(centers, n // 2), rng)], axis=0)
    Z = Z if len(Z) > 1 else Z[:0]
    gamma = median_gamma("rbf", Z) if len(Z) else 1.0
    bumps = Exponential(SquaredEuclidean(0.0), gamma)
    H = bumps(Z, Z)
    pilot = H.mean(axis=0) if len(Z) else np.zeros(0)  # nearly the mean of g, so that no digits are lost
    spread = np.sqrt((Y * Y).mean(axis=0))

    def features(y: Array) -> Array:
        return np.concatenate([y / spread, bumps(y, Z) - pilot], axis=1)

    S, T, mean, total = _scatters(rows, Y, shift, features, k + len(Z))
    solved = np.linalg.solve(S[:k, :k], np.concatenate([S[:k, k:], T[:k]], axis=1))
    affine, B = solved[:, : len(Z)], solved[:, len(Z) :]  # of the Gaussians and of the rows, on y alone
    C, strength, freedom = _penalised(
        S[k:, k:] - S[k:, :k] @ affine, T[k:] - S[k:, :k] @ B, total - float((T[:k] * B).sum()), H, n, k + 1
    )
    B = B - affine @ C
    intercept = shift - mean[:k] @ B - (mean[k:] + pilot) @ C
    return Ridge(intercept, B / spread[:, None], Z, gamma, C, strength, freedom)


def _scatters(rows: RowSource, Y: Array, shift: Array, features: Any, width: int) -> tuple[Array, Array, Array, float]:
    """Return the scatter of the features, theirs with the rows, their mean, and the rows' total squares."""

    size = block_rows(rows.n_features)  # sparse rows are made dense: no more than a block of dense ones has
    count = -(-len(Y) // size)

    def prepare(block: Any) -> tuple[Array, Array]:
        X = arrays.less(arrays.to_numpy(filled(block.rows)), shift)
        return X, features(Y[block.start : block.start + len(X)].astype(np.float64))

    def sums(block: Any) -> tuple[Array, Array, Array, float]:
        X, Z = prepare(block)
        return Z.T @ Z, Z.T @ X, Z.sum(axis=0), float(squared_norms(X).sum())

    S: Array = 0.0
    T: Array = 0.0
    z: Array = 0.0
    total = 0.0
    if in_strips(width, rows.n_features):
        T = np.zeros((width, rows.n_features))
        with thread_pool.one_blas_thread():
            for done, block in enumerate(rows.blocks(size), start=1):
                X, Z = prepare(block)
                _add_product(T, Z, X)
                S, z, total = S + Z.T @ Z, z + Z.sum(axis=0), total + float(squared_norms(X).sum())
                report_progress("pre-images", done, count)
    else:
        for part in rows.map(sums, size, stage="pre-images"):
            S, T, z, total = S + part[0], T + part[1], z + part[2], total + part[3]
    mean = np.asarray(z) / len(Y)
    return S - len(Y) * np.outer(mean, mean), np.asarray(T), mean, total


def in_strips(width: int, n_features: int) -> bool:
    """Tell whether the product of features and rows is larger than half a block of the rows it comes from.

    Then it is summed in place, by strips of columns on all threads: a product for each block would fill the memory.
    """
    return 2 * width > block_rows(n_features)


def _add_product(T: Array, Z: Array, X: Array) -> None:
    """Add ZᵀX to T, strips of columns in parallel."""
    step = max(64, _STRIP // len(T))

    def strip(start: int) -> None:
        columns = slice(start, start + step)
        T[:, columns] += Z.T @ X[:, columns]

    for _ in thread_pool.run(strip, range(0, T.shape[1], step)):
        pass


def ridge_bytes(shape: DataShape, width: int) -> int:
    """Return the memory that learning the way back takes, for features of some width."""
    n, d = shape.n_rows or 1, shape.n_features
    rows = min(n, block_rows(d))
    at_once = min(settings.threads(), -(-n // rows))
    results = 4 * width * (width + d)  # the sums, and what is made of them
    if in_strips(width, d):
        return 8 * (rows * (d + 3 * width) + results + settings.threads() * _STRIP)
    waiting = min(2 * settings.threads(), -(-n // rows))
    reading = at_once * rows * (d + 3 * width) + (waiting + 1) * width * (width + d)
    return 8 * max(reading, results)  # the blocks are released before the sums are solved


def _penalised(S: Array, T: Array, total: float, H: Array, n: int, free: int) -> tuple[Array, float, float]:
    """Return the C that minimises Σ‖x − gC‖² + α tr(CᵀHC), the α of least generalised cross-validation, its freedom.

    In coordinates where H is the identity and the scatter diagonal (d), every α costs a sum: residual squares
    total − Σ r²(2/(d + α) − d/(d + α)²), degrees of freedom free + Σ d/(d + α).
    """
    if not len(H) or free >= n:  # no Gaussians, or no row is left over to judge them by
        return np.zeros_like(T), 0.0, float(free)
    values, Q = dense.eigh(H)
    keep = values > _FLAT_SHARE * values[-1]
    W = Q[:, keep] / np.sqrt(values[keep])
    d, P = dense.eigh(W.T @ S @ W)
    d, W = d.clip(0), W @ P
    R = W.T @ T
    r2 = (R * R).sum(axis=1)
    best = (np.inf, 0.0, 0.0)
    for alpha in max(d[-1], np.finfo(float).tiny) * np.logspace(2, -10, _STRENGTHS):
        left = total - float((r2 * (2 / (d + alpha) - d / (d + alpha) ** 2)).sum())
        freedom = free + float((d / (d + alpha)).sum())
        if freedom < n:
            best = min(best, (max(left, 0.0) / (1 - freedom / n) ** 2, alpha, freedom), key=lambda tried: tried[0])
    _, alpha, freedom = best
    return W @ (R / (d + alpha)[:, None]), float(alpha), freedom


class FixedPoint:
    """The rows whose Gaussian features are nearest to φ̄ + Σ y_i v_i, where φ̄ and v_i are expanded over anchors."""

    def __init__(
        self, kernel: Any, anchors: Array, expansion: Expansion, Y: Array, start: Callable[[Array], Array]
    ) -> None:
        self.kernel, self.anchors, self.expansion, self.start = kernel, anchors.astype(np.float64), expansion, start
        self.prepared = kernel.prepare(self.anchors)
        # φ(z_j)ᵀ(φ̄ + Σ y_i v_i) = c_j + (Y_j + q)ᵀy for an anchor z_j with coordinates Y_j
        self.products = Y + expansion.dual.T @ expansion.mean

    def __call__(self, Y: Array) -> Array:
        """Return the rows for reduced rows, each on its own."""
        return np.concatenate([self._solve(Y[part]) for part in tiles(len(Y), _ROWS_AT_ONCE)])

    def _solve(self, Y: Array) -> Array:
        beta = self.expansion.weights + Y @ self.expansion.dual.T
        best, height, point = self._better(beta, self.start(Y), self._local(Y))
        width = 1 / np.sqrt(self.kernel.gamma)
        active = np.arange(len(Y))
        for _ in range(_ITERATIONS):
            moved = np.abs(point - best[active]).max(axis=1)  # `point` is one step on from `best`
            active, point = active[moved > _SMALLEST_STEP * width], point[moved > _SMALLEST_STEP * width]
            if not len(active):
                break
            new, next_point = self._step(beta[active], point)
            up = new >= height[active] - _FLAT_TOP * np.abs(height[active])  # a step that leads away was the last
            best[active[up]], height[active[up]] = point[up], new[up]
            active, point = active[up], next_point[up]
        return best

    def _step(self, beta: Array, X: Array) -> tuple[Array, Array]:
        """Return h(x) = Σ β_j k(x, z_j), which grows as φ(x) comes nearer, and the next point; x itself where h ≤ 0."""
        w = beta * self.kernel.between(self.kernel.prepare(X), self.prepared)
        h = w.sum(axis=1)
        usable = h > _VANISHED * np.abs(w).sum(axis=1)
        return h, np.where(usable[:, None], w @ self.anchors / np.where(usable, h, 1.0)[:, None], X)

    def _better(self, beta: Array, first: Array, second: Array) -> tuple[Array, Array, Array]:
        (h1, next1), (h2, next2) = self._step(beta, first), self._step(beta, second)
        take = (h2 > h1)[:, None]
        return np.where(take, second, first), np.maximum(h1, h2), np.where(take, next2, next1)

    def _local(self, Y: Array) -> Array:
        """Return the mean of the anchors nearest in feature space, weighted by their kernel with the target."""
        s = self.expansion.mean + Y @ self.products.T
        count = min(_NEIGHBORS, s.shape[1])
        near = np.sort(np.argpartition(-s, count - 1, axis=1)[:, :count], axis=1)
        w = np.take_along_axis(s, near, axis=1)
        w = np.where(w > 0, w, 0.0) + np.finfo(float).tiny
        w /= w.sum(axis=1, keepdims=True)
        if sp.issparse(self.anchors):
            indptr = np.arange(len(w) + 1) * count
            return np.asarray((sp.csr_array((w.ravel(), near.ravel(), indptr), s.shape) @ self.anchors).toarray())
        return np.einsum("ij,ijd->id", w, self.anchors[near])
