"""Linear operators with known properties: symmetric, positive semidefinite, null vectors.

Solvers only multiply, and rely on these properties. All operators use the array library of their input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays, thread_pool
from ..core.spmm import spmm
from ..rows.block import Block, block_rows
from ..rows.block_moments import difference
from ..rows.gram_sums import Scratch
from ..rows.row_source import RowSource

Array = Any

_ROWS_CHECKED = 256
_ROUNDING, _ROUNDING_FLOAT32 = 1e-10, 1e-5  # of the largest entry: by how much two of one pair may differ


class Operator:
    """A linear operator: ``A.matmul(V)`` is A V and ``A.rmatmul(U)`` is Aᵀ U.

    ``null`` holds known orthonormal columns that A maps to zero.
    """

    shape: tuple[int, int]
    symmetric: bool = False
    psd: bool = False
    null: Array | None = None

    def matmul(self, V: Array) -> Array:
        """Return A V."""
        raise NotImplementedError

    def rmatmul(self, U: Array) -> Array:
        """Return Aᵀ U."""
        if self.symmetric:
            return self.matmul(U)
        raise NotImplementedError

    def dense(self) -> Array | None:
        """Return the matrix if it is in memory, else None."""
        return None

    def reference(self) -> Array:
        """Return an array of the library and device of the results."""
        return np.empty(0)

    def randn(self, rows: int, columns: int, rng: np.random.Generator) -> Array:
        """Return a seeded start block: the same numbers on every backend."""
        return arrays.like(rng.standard_normal((rows, columns)), self.reference(), np.float64)

    def __repr__(self) -> str:
        marks = [name for name in ("symmetric", "psd") if getattr(self, name)]
        return f"{type(self).__name__}({self.shape[0]} × {self.shape[1]}{''.join(', ' + m for m in marks)})"


def _double(A: Array) -> Array:
    """Return a torch or CuPy array in float64, detached: these libraries do not multiply mixed dtypes."""
    return arrays.cast(arrays.detached(A), np.float64) if arrays.is_foreign(A) else A


def _check_symmetric(A: Array) -> None:
    """Raise ValueError if a square matrix is not symmetric up to rounding, a few rows at a time."""
    xp, worst, largest = arrays.namespace(A), 0.0, 0.0
    for start in range(0, A.shape[0], _ROWS_CHECKED):
        part = slice(start, start + _ROWS_CHECKED)
        rows, columns = A[part], arrays.t(A[:, part])
        worst, largest = max(worst, float(xp.max(xp.abs(rows - columns)))), max(largest, float(xp.max(xp.abs(rows))))
    if worst > (_ROUNDING_FLOAT32 if arrays.dtype_of(A) == np.float32 else _ROUNDING) * largest:
        raise ValueError(
            f"the matrix is not symmetric: A − Aᵀ reaches {worst:.3g}; use (A + A.T) / 2 if that is rounding, or "
            "leave symmetric=True out"
        )


class Dense(Operator):
    """A matrix in memory. One that is said to be symmetric is checked, unless ``check`` is False."""

    def __init__(self, A: Array, *, symmetric: bool = False, psd: bool = False, check: bool = True) -> None:
        if A.ndim != 2 or ((symmetric or psd) and A.shape[0] != A.shape[1]):
            raise ValueError(f"expected a {'square ' if symmetric else ''}matrix; got shape {tuple(A.shape)}")
        self.A, self.shape = _double(A), (int(A.shape[0]), int(A.shape[1]))
        self.symmetric, self.psd = symmetric or psd, psd
        if self.symmetric and check:
            _check_symmetric(self.A)

    def matmul(self, V: Array) -> Array:
        """Return A V."""
        return thread_pool.matmul(self.A, V)

    def rmatmul(self, U: Array) -> Array:
        """Return Aᵀ U."""
        return self.matmul(U) if self.symmetric else thread_pool.matmul(arrays.t(self.A), U)

    def dense(self) -> Array | None:
        """Return the matrix."""
        return self.A

    def reference(self) -> Array:
        """Return the matrix."""
        return self.A


class Sparse(Operator):
    """A scipy.sparse matrix, multiplied on all threads; Aᵀ U uses a transposed copy."""

    def __init__(self, A: Any, *, symmetric: bool = False, psd: bool = False) -> None:
        self.A = sp.csr_array(A, dtype=None if A.dtype in (np.float32, np.float64) else np.float64)
        self.shape = (int(A.shape[0]), int(A.shape[1]))
        self.symmetric, self.psd = symmetric or psd, psd
        self._transposed: Any = None

    def matmul(self, V: Array) -> Array:
        """Return A V."""
        return spmm(self.A, V)

    def rmatmul(self, U: Array) -> Array:
        """Return Aᵀ U."""
        if self.symmetric:
            return self.matmul(U)
        if self._transposed is None:
            self._transposed = self.A.T.tocsr()
        return spmm(self._transposed, U)


class Centered(Operator):
    """Rows minus their mean, divided by a scale, times √weight: √w (X − 1mᵀ) diag(1/s), never stored.

    Dense rows are centred block by block before multiplication, so a large mean costs no digits; sparse rows stay
    sparse, and the mean is subtracted from the product. ``mean`` must be the weighted mean of these rows, or None for
    no centring: the fact that Aᵀ maps √w to zero is used to correct rounding, so another shift gives wrong products.
    """

    def __init__(self, rows: RowSource, mean: Array | None = None, scale: Array | None = None) -> None:
        self.rows, self.mean, self.scale = rows, mean, scale
        self.shape = (rows.count(), rows.n_features)
        self._matrix = Sparse(rows.array) if rows.sparse and rows.array is not None else None
        self._root = None if rows.weights is None else np.sqrt(rows.weights)[:, None]
        self.left_null = None  # Aᵀ maps √w to zero; enforcing it corrects the rounding of a large mean
        if mean is not None:
            root = np.ones((self.shape[0], 1)) if self._root is None else self._root
            self.left_null = arrays.like(root / np.linalg.norm(root), self.reference(), np.float64)

    def reference(self) -> Array:
        """Return the rows if they are in memory."""
        return self.rows.reference

    def _unscaled(self, V: Array) -> Array:
        return V if self.scale is None else V / arrays.like(self.scale, V, np.float64)[:, None]

    def matmul(self, V: Array) -> Array:
        """Return A V."""
        W = self._unscaled(V)
        if self._matrix is not None:
            out = self._matrix.matmul(W)
            if self.mean is not None:
                out -= self.mean[None, :] @ W
            return self._recentered(out if self._root is None else out * self._root)
        parts = list(self._over_blocks(lambda Z, block: Z @ W))
        return self._recentered(arrays.namespace(*parts).concat(parts, axis=0))

    def _recentered(self, U: Array) -> Array:
        if self.left_null is None:
            return U
        return U - self.left_null @ (arrays.t(self.left_null) @ U)

    def rmatmul(self, U: Array) -> Array:
        """Return Aᵀ U."""
        U = self._recentered(U)
        if self._matrix is not None:
            W = U if self._root is None else U * self._root
            out = self._matrix.rmatmul(W)
            if self.mean is not None:
                out -= self.mean[:, None] * W.sum(axis=0)[None, :]
            return self._unscaled(out)
        total: Array = 0.0
        for part in self._over_blocks(lambda Z, block: arrays.t(Z) @ block.beside, U):
            total = total + part
        return self._unscaled(total)

    def _over_blocks(self, work: Callable[[Array, Block], Array], beside: Array | None = None) -> Iterator[Array]:
        """Yield the work done on each block of √w (X − 1mᵀ)."""
        scratch, shift = Scratch(), 0.0 if self.mean is None else self.mean
        size = block_rows(self.rows.n_features)  # sparse blocks are made dense: use the dense size
        return self.rows.map(lambda block: work(difference(block, shift, scratch), block), size, beside=beside)


class Gram(Operator):
    """AᵀA of another operator (or A Aᵀ with ``outer=True``), never formed."""

    symmetric = psd = True

    def __init__(self, A: Operator, *, outer: bool = False) -> None:
        self.A, self.outer = A, outer
        n = A.shape[0] if outer else A.shape[1]
        self.shape = (n, n)

    def matmul(self, V: Array) -> Array:
        """Return AᵀA V or A Aᵀ V."""
        return self.A.matmul(self.A.rmatmul(V)) if self.outer else self.A.rmatmul(self.A.matmul(V))

    def reference(self) -> Array:
        """Return the inner operator's."""
        return self.A.reference()


class DoublyCentered(Operator):
    """c·J A J of a symmetric A, J = I − 11ᵀ/n: −½ J Δ² J of squared distances, J K J of a kernel; no centred copy.

    The constant vector is a known null vector.
    """

    symmetric = True

    def __init__(self, A: Operator, *, factor: float = 1.0, psd: bool = False) -> None:
        if not A.symmetric:
            raise ValueError("double centring needs a symmetric matrix")
        self.A, self.factor, self.psd, self.shape = A, factor, psd, A.shape
        n = A.shape[0]
        self.null = arrays.like(np.full((n, 1), n**-0.5), A.reference(), np.float64)

    def matmul(self, V: Array) -> Array:
        """Return c·J A J V."""
        xp = arrays.namespace(V)
        out = self.A.matmul(V - xp.mean(V, axis=0)[None, :])
        return self.factor * (out - xp.mean(out, axis=0)[None, :])

    def dense(self) -> Array | None:
        """Return the centred matrix as a copy, for small problems."""
        A = self.A.dense()
        if A is None:
            return None
        xp = arrays.namespace(A)
        mean = xp.mean(A, axis=0)
        return self.factor * (A - mean[None, :] - mean[:, None] + xp.mean(mean))

    def reference(self) -> Array:
        """Return the inner operator's."""
        return self.A.reference()
