"""Batched work on neighbourhoods: barycentric weights, tangents, Hessians.

Everything comes from inner products, so coordinates and distances serve alike. ``G`` (B × k × k) holds the products of
the neighbours' offsets from a point; `with_center` adds the point itself, whose offset is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import thread_pool
from ..core.cost import DataShape, dense_seconds
from ..core.errors import ScaleError
from ..spectral import dense
from .geometry import Geometry, around_bytes, around_seconds
from .graph import Graph, starts

Array = Any

RIDGE = 1e-3  # of the trace, where there are more neighbours than dimensions
_FLAT_SHARE = 1e-12  # of the largest variance of a patch: a smaller one is rounding, not a direction
_LEAST_RIDGE = 1e-4  # ridge of flat patches: with a smaller one, eigenvalues of large sets are below rounding
_TURNED = 1e-12  # part of a tangent along the constants: a larger one is rounding, in patches with a distant member
_TIE = 1e-9  # relative difference of sums of eigenvalues that may be rounding
_KEEP_PRODUCTS_ABOVE = 4  # ratio of columns to products of a point above which products that are used twice are stored
_NEAREST = 1e-140  # the least distance whose square, and the rounding of it, do not underflow
_ROWS_PER_TASK = 1 << 14  # rows of a matrix that one task adds up


def patch_cost(shape: DataShape, n: int, k: int, columns: int, copies: int) -> tuple[dict[str, int], float]:
    """Return memory and seconds of the forms of n patches of k neighbours, with so many numbers for each member."""
    parts = {
        "patches": n * (k + 1) * (8 * columns + 4 + 24),
        "batches": around_bytes(shape, n, k, copies),
    }
    return parts, around_seconds(shape, n, k) + dense_seconds(300.0 * n * (k + 1) ** 3, np.dtype(np.float64))


def require_apart(graph: Graph) -> None:
    """Raise if neighbours are so close, relative to those of other points, that products underflow."""
    near = float(np.maximum.reduceat(graph.distances, graph.indptr[:-1]).min()) if graph.degrees.all() else 1.0
    if near < _NEAREST:
        share = near / float(graph.distances.max())
        raise ScaleError(
            f"all neighbours of a point lie within {share:.0e} of the largest distance between neighbours, too close "
            "for products of their offsets: leave out outliers, or scale the columns"
        )


# -- weights ------------------------------------------------------------------------------------------------


def barycentric(G: Array, ridge: float | Array = RIDGE) -> Array:
    """Return the weights w with sum 1 that make Σ w_j x_j nearest to x, for a batch of products G around x.

    They solve (G + r·tr(G)·I) w ∝ 1 (Saul & Roweis 2003), and are invariant to rotation, translation and scaling.
    ``ridge`` is r, one for all or one for each; its minimum is the rounding of G, about 4kε.

    >>> barycentric(np.array([[[1.0, -1.0], [-1.0, 1.0]]])).round(6).tolist()
    [[0.5, 0.5]]
    """
    k = G.shape[-1]
    trace = np.trace(G, axis1=-2, axis2=-1)
    least = 4 * k * np.finfo(np.float64).eps  # a smaller ridge may leave the sum singular
    load = np.where(trace > 0, np.maximum(ridge, least) * trace, 1.0)[:, None, None] * np.eye(k)
    w = np.linalg.solve(_semidefinite(G, load / 2) + load, np.ones((len(G), k, 1)))[..., 0]
    return w / w.sum(axis=1, keepdims=True)


def _semidefinite(G: Array, slack: Array) -> Array:
    """Return G; if distances are not Euclidean and G + slack is not positive, its positive part."""
    try:
        np.linalg.cholesky(G + slack)
    except np.linalg.LinAlgError:
        values, V = dense.eigh_batch(G)
        bad = values[:, 0] <= -slack[:, 0, 0]
        G = G.copy()
        G[bad] = (V[bad] * values[bad, None, :].clip(0)) @ V[bad].transpose(0, 2, 1)
    return G


def noise_ridge(G: Array, d: int) -> Array:
    """Return the mean of the k − d smallest eigenvalues of G over its trace: the ridge that treats them as noise.

    With a ridge far below the variance outside the tangent, weights grow to fit the curvature of the patch; with one
    far above, they are biased along the tangent (de Ridder & Duin 2002 use this ridge). If d leaves no eigenvalues, it
    is `RIDGE`.
    """
    k = G.shape[-1]
    if k <= d:
        return np.full(len(G), RIDGE)
    trace = np.trace(G, axis1=-2, axis2=-1)
    outside = dense.eigvalsh_batch(G)[:, : k - d].clip(0).mean(axis=1)
    return np.maximum(outside / np.where(trace > 0, trace, 1.0), _LEAST_RIDGE)


def affine(G: Array, d: int) -> Array:
    """Return the weights w with sum 1 for which Σ w_j y_j is the affine map of the neighbours' tangent coordinates.

    With U, λ the d leading eigenpairs of JGJ and x̄ the neighbours' mean, x has the tangent coordinates
    θ = −Λ^(−½)UᵀJG1/k, the neighbours UΛ^½, and the least-squares map of those to y gives w = 1/k − UΛ⁻¹UᵀJG1/k.

    >>> line = np.array([[-1.0], [1.0], [3.0]])  # offsets: the point lies a quarter of the way
    >>> float((affine((line @ line.T)[None], 1)[0] @ np.array([0.0, 2.0, 4.0])).round(6))
    1.0
    """
    k = G.shape[-1]
    U, values = tangents(G, d)
    pull = G.mean(axis=2)
    pull = pull - pull.mean(axis=1, keepdims=True)
    steps = (U.transpose(0, 2, 1) @ pull[:, :, None])[..., 0] / np.where(values > 0, values, 1.0)
    return 1 / k - (U @ steps[:, :, None])[..., 0]


# -- shape --------------------------------------------------------------------------------------------------


def with_center(G: Array) -> Array:
    """Return the products of a patch that has the point itself as its first member."""
    return np.pad(G, ((0, 0), (1, 0), (1, 0)))


def tangents(G: Array, d: int) -> tuple[Array, Array]:
    """Return the d leading eigenvectors of JGJ (orthonormal tangent coordinates up to scale) and their eigenvalues.

    Directions in which a patch has no extent are zero columns, and so are their eigenvalues.

    >>> square = np.array([[0.0, 0], [0, 1], [2, 0], [2, 1]])
    >>> tangents((square @ square.T)[None], 2)[1].round(6).tolist()
    [[4.0, 1.0]]
    """
    C = G - G.mean(axis=2, keepdims=True)
    C -= C.mean(axis=1, keepdims=True)
    values, V = dense.eigh_batch(C)
    values, V = values[:, : -d - 1 : -1], V[:, :, : -d - 1 : -1]
    kept = values > _FLAT_SHARE * values[:, :1].clip(0)
    return _centred(V * kept[:, None, :]) * kept[:, None, :], values * kept


def _centred(U: Array) -> Array:
    """Return U; where rounding has turned its columns towards the constants, their part that is orthogonal to those.

    A member 1e5 times as far away as the others makes JGJ so large that its small eigenvectors are right to 1e-5 only.
    """
    turned = (np.abs(U.sum(axis=1)) > _TURNED * U.shape[1]).any(axis=1)
    if turned.any():
        U = U.copy()
        ones = np.ones((int(turned.sum()), U.shape[1], 1))
        U[turned] = np.linalg.qr(np.concatenate([ones, U[turned]], axis=2))[0][:, :, 1:]
    return U


def tangent_frames(G: Array, d: int) -> Array:
    """Return [1/√m, U] (B × m × (d + 1)): all affine functions of a patch's tangent coordinates, orthonormal."""
    U, _ = tangents(G, d)
    return np.concatenate([np.full((*U.shape[:2], 1), U.shape[1] ** -0.5), U], axis=2)


def hessians(G: Array, d: int) -> Array:
    """Return orthonormal functions (B × m × d(d+1)/2) whose products with f estimate f's second derivatives.

    They are what squares and products of the tangent coordinates have beyond affine functions: the last columns of
    Q in QR = [1, U, U_a U_b] (Donoho & Grimes 2003). A derivative that a patch leaves open has a column of zeros.
    """
    T = tangent_frames(G, d)
    a, b = np.triu_indices(d)
    second = T[:, :, 1 + a] * T[:, :, 1 + b] * T.shape[1] ** 0.5  # scaled like the other columns
    Q, R = np.linalg.qr(np.concatenate([T, second], axis=2))
    pivots = np.abs(np.diagonal(R, axis1=1, axis2=2)[:, d + 1 :])
    return Q[:, :, d + 1 :] * (pivots > _FLAT_SHARE**0.5)[:, None, :]


def flatness(G: Array, d: int) -> Array:
    """Return Σ_{i>d} λ_i / Σ_{i≤d} λ_i of each batch of products: how far its patch is from d dimensions."""
    values = dense.eigvalsh_batch(G).clip(0)
    inside = values[:, -d:].sum(axis=1)
    return values[:, :-d].sum(axis=1) / np.where(inside > 0, inside, 1.0)


def several_weights(G: Array, d: int, eta: float, ridge: float | Array = RIDGE) -> Array:
    """Return up to k − d independent weight vectors a point (B × k × (k − d)), unused columns zero (Zhang & Wang 2006).

    The s smallest eigenvectors V of G, with Σ_tail λ / Σ_rest λ < η, reconstruct x nearly as well as the best weights w
    do. W = (1 − α) w 1ᵀ + V H has columns that sum to 1 each: H is the Householder reflection that takes Vᵀ1 to α1, and
    α = ‖Vᵀ1‖/√s.
    """
    k = G.shape[-1]
    most = k - d
    values, V = dense.eigh_batch(G)
    values = values.clip(0)
    tail = np.cumsum(values, axis=1)[:, :most]
    rest = values.sum(axis=1, keepdims=True) - tail
    bound = (1 - _TIE) * max(eta, _FLAT_SHARE)  # patches equal to the median up to rounding are treated alike
    s = np.maximum(1, (tail < bound * rest).sum(axis=1))
    used = (np.arange(most) < s[:, None])[:, None, :]
    V = V[:, :, :most] * used
    sums = V.sum(axis=1)
    alpha = np.linalg.norm(sums, axis=1) / np.sqrt(s)
    h = (alpha[:, None] - sums) * used[:, 0, :]
    size = np.linalg.norm(h, axis=1, keepdims=True)
    h = np.where(size > _FLAT_SHARE, h / np.where(size > 0, size, 1.0), 0.0)  # no reflection where h is rounding
    V = V - 2 * (V @ h[:, :, None]) * h[:, None, :]
    return (V + ((1 - alpha)[:, None] * barycentric(G, ridge))[:, :, None]) * used


class _Kept(Geometry):
    """The products around training points, as they were computed for the patches of a graph."""

    def __init__(self, products: Array, begins: Array) -> None:
        self.products, self.begins = products, begins

    def around(self, points: Array, neighbors: Array) -> Array:
        """Return the products around training points."""
        k = neighbors.shape[1]
        return self.products[self.begins[points][:, None] + np.arange(k * k)].reshape(-1, k, k)


# -- all patches of a graph -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Patches:
    """The points of a graph with their neighbours: patch i is ``members[indptr[i]:indptr[i + 1]]``, i itself first."""

    indptr: Array  # int64
    members: Array  # int32

    @classmethod
    def of_graph(cls, graph: Graph) -> Patches:
        """Return the patches of a graph: each point and its neighbours."""
        require_apart(graph)
        n = graph.n
        indptr = graph.indptr + np.arange(n + 1)
        own = np.zeros(indptr[-1], dtype=bool)
        own[indptr[:-1]] = True
        members = np.empty(len(own), dtype=np.int32)
        members[own], members[~own] = np.arange(n), graph.indices
        return cls(indptr, members)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.indptr) - 1

    def groups(self) -> Iterator[tuple[Array, int]]:
        """Yield the patches of each size: their numbers and the size."""
        sizes = np.diff(self.indptr)
        for size in np.unique(sizes):
            yield np.flatnonzero(sizes == size), int(size)

    def over(self, geometry: Geometry, work: Callable[[Array], Array], width: int, stage: str | None = None) -> Array:
        """Return ``work(products around points)`` for all patches, (all members) × width, in the order of the members.

        ``work`` gives B × m × (≤ width) for patches of m members; missing columns are zeros.
        """
        out = np.zeros((len(self.members), width))

        def batch(points: Array, size: int) -> None:
            rows = self.indptr[points][:, None] + np.arange(size)
            lists = self.members[rows]
            found = work(geometry.around(lists[:, 0], lists[:, 1:]))
            out[rows, : found.shape[2]] = found

        self._run(geometry, batch, stage)
        return out

    def each(self, geometry: Geometry, work: Callable[[Array], Array], stage: str | None = None) -> Array:
        """Return ``work(products around points)``, a number for each patch."""
        out = np.empty(self.n)

        def batch(points: Array, size: int) -> None:
            lists = self.members[self.indptr[points][:, None] + np.arange(1, size)]
            out[points] = work(geometry.around(points, lists))

        self._run(geometry, batch, stage)
        return out

    def remembered(self, geometry: Geometry) -> Geometry:
        """Return the geometry for work that reads the patches twice; the products of wide rows are stored.

        Products take k² numbers a point. They are kept only where that is little beside the rows themselves.
        """
        sizes = np.diff(self.indptr) - 1
        if geometry.width is None or _KEEP_PRODUCTS_ABOVE * int(sizes.max()) ** 2 > geometry.width:
            return geometry
        begins = starts(sizes**2)
        kept = np.empty(begins[-1])

        def batch(points: Array, size: int) -> None:
            lists = self.members[self.indptr[points][:, None] + np.arange(1, size)]
            G = geometry.around(points, lists)
            kept[begins[points][:, None] + np.arange((size - 1) ** 2)] = G.reshape(len(points), -1)

        self._run(geometry, batch, "neighbourhoods")
        return _Kept(kept, begins)

    def _run(self, geometry: Geometry, batch: Callable[[Array, int], None], stage: str | None) -> None:
        parts = [
            (numbers[part], size)
            for numbers, size in self.groups()
            for part in geometry.batches(len(numbers), max(1, size - 1))
        ]
        for _ in thread_pool.run(lambda part: batch(*part), parts, stage=stage, total=len(parts)):
            pass

    def matrix(self, F: Array, complement: bool = False) -> Any:
        """Return the sparse M = Σ_i S_i Φ_i S_iᵀ, S_i choosing the members of patch i, Φ_i = F_i F_iᵀ or I − F_i F_iᵀ.

        Rows are added up one by one, each over the patches it is in, in their order: so M is symmetric to the bit, and
        nothing larger than M itself is held.
        """
        import scipy.sparse as sp

        from .patches_loops import add_rows, count_rows

        n = self.n
        places = sp.csr_array((np.arange(len(self.members)), self.members, self.indptr), shape=(n, n)).tocsc()
        where = (places.indptr.astype(np.int64), places.indices.astype(np.int64), places.data.astype(np.int64))
        lists = (self.indptr, self.members)
        counts = np.zeros(n, dtype=np.int64)
        step = max(_ROWS_PER_TASK, -(-n // 64))  # each task allocates n columns

        def count(start: int) -> None:
            count_rows(*lists, *where[:2], counts, start, min(n, start + step))

        for _ in thread_pool.run(count, range(0, n, step)):
            pass
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])

        def add(start: int) -> None:
            add_rows(*lists, *where, F, complement, indptr, indices, data, start, min(n, start + step))

        for _ in thread_pool.run(add, range(0, n, step)):
            pass
        if indptr[-1] < 2**31:
            indptr = indptr.astype(np.int32)
        M = sp.csr_array((data, indices, indptr), shape=(n, n))
        M.has_sorted_indices = M.has_canonical_format = True
        return M
