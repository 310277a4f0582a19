"""Kernels k(x, y): of vectors by name, of any objects by a function, or precomputed.

A Gaussian kernel is exp(−γ‖x − y‖²); for a width σ, exp(−‖x − y‖²/(2σ²)), γ = 1/(2σ²).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import DataError
from ..core.message import Message, Owner, Phrase, Setting, message
from . import sparse
from .distances import SquaredEuclidean, metric, squared_norms
from .pairwise import Array, Function, Pairwise, Precomputed, Prepared, length, tiles

KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine")
SPARSE_KERNELS = KERNELS  # those that compare sparse rows
SCALED = ("poly", "rbf", "laplacian", "sigmoid")  # those that have a γ
_DIAGONAL_BLOCK = 64  # objects per call for k(x, x): 63 of 64 values are discarded, but few calls are made
_SIMILARITY = "; a kernel is large for similar objects"
FILL = "fill it in, or leave the object out"
MEDIAN_ROWS = 1000  # their half a million distances estimate the median to about 0.2 %


class Kernel(Pairwise):
    """A kernel; ``psd``: whether it is known to be positive semidefinite.

    ``doubt`` is added to the error if its values look like distances; empty for kernels by name.
    """

    psd: bool = True
    doubt: str = ""

    def diagonal(self, block: Array) -> Array:
        """Return k(x, x) of each object."""
        raise NotImplementedError


class Dot(Kernel):
    """A function of xᵀy: linear, polynomial (γxᵀy + c)^d, sigmoid tanh(γxᵀy + c)."""

    def __init__(self, name: str, gamma: float, degree: int, coef0: float, shift: Array) -> None:
        self.name, self.gamma, self.degree, self.coef0 = name, gamma, degree, coef0
        # The centred linear kernel does not depend on the origin; at the mean no digits are lost.
        self.shift = shift if name == "linear" else 0.0
        self.psd = name == "linear" or (name == "poly" and coef0 >= 0)

    def _of_products(self, P: Array) -> Array:
        if self.name == "linear":
            return P
        P = self.gamma * P + self.coef0
        return P**self.degree if self.name == "poly" else arrays.namespace(P).tanh(P)

    def prepare(self, block: Array) -> Prepared:
        """Return the rows in float64, shifted; of sparse rows, which are not, also sᵀx − ½sᵀs for the shift s."""
        if not sp.issparse(block):
            return arrays.less(block, self.shift)
        X, s = sparse.canonical(block), np.broadcast_to(self.shift, block.shape[1])
        return X, X @ s - s @ s / 2

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the kernel of two blocks, both dense or both sparse."""
        if not isinstance(A, tuple):
            return self._of_products(A @ arrays.t(B))
        P = sparse.products(A[0], B[0])  # (x − s)ᵀ(y − s) = xᵀy − (sᵀx − ½sᵀs) − (sᵀy − ½sᵀs)
        P -= A[1][:, None]
        P -= B[1]
        return self._of_products(P)

    def diagonal(self, block: Array) -> Array:
        """Return k(x, x)."""
        Z = self.prepare(block)
        squares = squared_norms(Z[0]) - 2 * Z[1] if isinstance(Z, tuple) else (Z * Z).sum(axis=1)
        return self._of_products(squares)


def _divided(Z: Array, size: Array, xp: Any) -> Array:
    """Return rows divided by their sizes; rows of size zero are unchanged."""
    return Z / xp.where(size > 0, size, xp.ones_like(size))[:, None]


class CosineKernel(Kernel):
    """xᵀy/(‖x‖‖y‖); the zero vector has kernel 0 with everything."""

    def prepare(self, block: Array) -> Prepared:
        """Return unit rows."""
        if sp.issparse(block):
            return sparse.unit_rows(block)
        Z = arrays.cast(block, np.float64)
        xp = arrays.namespace(Z)
        Z = _divided(Z, xp.max(xp.abs(Z), axis=1), xp)  # first: the squares of 1e±200 overflow or underflow
        return _divided(Z, xp.linalg.vector_norm(Z, axis=1), xp)

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the cosines."""
        return sparse.products(A, B)

    def diagonal(self, block: Array) -> Array:
        """Return 1, or 0 for a zero vector."""
        return squared_norms(self.prepare(block))


class Exponential(Kernel):
    """exp(−γ d(x, y)) of a distance: squared Euclidean (Gaussian) or city-block (Laplacian)."""

    def __init__(self, distance: Pairwise, gamma: float) -> None:
        self.distance, self.gamma = distance, gamma

    def prepare(self, block: Array) -> Prepared:
        """Return the block as prepared by the distance."""
        return self.distance.prepare(block)

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the kernel of two blocks."""
        S = self.distance.between(A, B)
        with np.errstate(over="ignore"):  # the kernel at infinite distance is zero
            S *= -self.gamma
        return np.exp(S, out=S) if isinstance(S, np.ndarray) else arrays.namespace(S).exp(S)

    def diagonal(self, block: Array) -> Array:
        """Return ones."""
        return arrays.like(np.ones(length(block)), block)


class KernelFunction(Function, Kernel):
    """A user's kernel, of two objects or of two blocks."""

    psd = False
    doubt = Message(
        ". Does the function measure distances? Then use ",
        Phrase("ClassicalMDS(metric=function)", "the method classical_mds with it as its metric"),
        _SIMILARITY,
    )

    def diagonal(self, block: Array) -> Array:
        """Return k(x, x): one call per object, or per 64 objects for a function of blocks."""
        parts = tiles(len(block), _DIAGONAL_BLOCK if self.of_blocks else 1)
        return np.concatenate([np.diagonal(self.between(block[part], block[part])) for part in parts])


class PrecomputedKernel(Precomputed, Kernel):
    """Rows of kernel values with the training objects."""

    psd = False

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the columns of A that belong to the objects numbered B; none may be missing."""
        K = super().between(A, B)
        if np.isnan(arrays.to_numpy(K)).any():
            j = np.argwhere(np.isnan(arrays.to_numpy(K)))[0][1]
            raise DataError(f"the kernel value with training object {int(B[j])} is missing (NaN); {FILL}")
        return K

    def diagonal(self, block: Array) -> Array:
        """Raise `DataError`: a row contains kernel values with the training objects only."""
        function = (
            " the rows do not contain k(x, x) of new objects, which is needed here; give the kernel as a function"
        )
        raise DataError(Message("with ", Setting("kernel", "precomputed"), function))


class GivenKernel(Kernel):
    """A precomputed kernel matrix, whose objects are given by their numbers."""

    psd = False
    doubt = Message(
        ". Are these distances? Then use ",
        Phrase("ClassicalMDS(metric='precomputed')", "--method classical_mds --set metric=precomputed"),
        _SIMILARITY,
    )

    def __init__(self, K: Array) -> None:
        self.K, self.eps = K, float(np.finfo(K.dtype).eps)

    def prepare(self, block: Array) -> Prepared:
        """Return the numbers."""
        return np.asarray(block).reshape(-1).astype(np.intp)

    def between(self, A: Prepared, B: Prepared) -> Array:
        """Return the entries of the objects numbered A with those numbered B."""
        return self.K[np.ix_(A, B)].astype(np.float64)

    def diagonal(self, block: Array) -> Array:
        """Return the entries on the diagonal."""
        numbers = self.prepare(block)
        return self.K[numbers, numbers].astype(np.float64)


def check_function(rule: Kernel, objects: Array, owner: str) -> None:
    """Raise if a kernel function is not symmetric on 16 of the objects, since only one half of K is computed."""
    few = objects[:: max(1, len(objects) // 16)][:16]
    K = rule(few, few)
    off = np.abs(K - K.T)
    if off.max() > max(1e-8, 100 * rule.eps) * np.abs(K).max():
        i, j = (int(place) for place in np.unravel_index(int(off.argmax()), off.shape))
        raise DataError(
            Message(
                Owner(owner),
                f"the kernel function is not symmetric: {K[i, j]:g} for two of the objects, {K[j, i]:g} in "
                "reverse order; if both measure the same, use their mean",
            )
        )


def kernel(
    spec: str | Callable[[Any, Any], Any],
    training: Array,
    *,
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 1.0,
    shift: Array = 0.0,
) -> Kernel:
    """Return a kernel by name, from a function of two objects or two blocks, or for precomputed rows.

    ``shift`` is the mean of the training rows: kernels by name that do not depend on the origin subtract it to keep
    precision.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> kernel("rbf", X, gamma=0.5)(X, X).round(4).tolist()
    [[1.0, 0.3679], [0.3679, 1.0]]
    """
    if callable(spec):
        return KernelFunction(spec, "kernel", training)
    if spec == "precomputed":
        return PrecomputedKernel()
    if spec == "rbf":
        return Exponential(SquaredEuclidean(shift), gamma)
    if spec == "laplacian":
        return Exponential(metric("cityblock", training), gamma)
    return CosineKernel() if spec == "cosine" else Dot(spec, gamma, degree, coef0, shift)


def median_rows(n: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return the numbers of the rows for the median distance: all, or 1000 drawn at random."""
    return np.sort(rng.permutation(n)[:MEDIAN_ROWS])


def sample_distances(name: str, sample: Array) -> Array:
    """Return the distances of a few rows, dense or sparse."""
    X = (sample if sp.issparse(sample) else arrays.to_numpy(sample)).astype(np.float64, copy=False)
    D: Array = sparse.for_storage(metric(name, X), X)(X, X)
    return D


def median_gamma(spec: Any, sample: Array, n: int | None = None) -> float:
    """Return γ from the median distance m of the rows: 1/(2m²), so that σ = m; for the Laplacian kernel 1/m.

    Pairs of equal rows do not count. ``n`` is the number of rows that the sample was drawn from, if more.

    >>> import numpy as np
    >>> median_gamma("rbf", np.array([[0.0], [1.0], [2.0]]))
    0.5
    """
    D = sample_distances("cityblock" if spec == "laplacian" else "euclidean", sample)
    apart = D[np.triu_indices(len(D), 1)]
    apart = apart[apart > 0]
    if not len(apart):
        raise DataError(
            "the rows do not vary (rank 0): all of them are equal, and a reduction needs at least two distinct rows"
            if n is None or len(D) == n
            else message(
                f"the {len(D)} rows drawn for the median distance are all equal; give a number for {{gamma}}", gamma=...
            )
        )
    m = float(np.median(apart))
    gamma = 1 / m if spec == "laplacian" else 1 / m / m / 2
    if not 0 < gamma < np.inf:
        far = f"the median distance of the rows is {m:g}: too far from 1 to set {{gamma}} by it; scale the columns"
        raise DataError(message(far, gamma=...))
    return gamma
