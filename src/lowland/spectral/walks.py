"""Random walks on graphs by products only: the largest eigenvalues of S = D^(−½) W D^(−½) after 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import thread_pool
from ..core.cost import check_allocation, holding
from ..core.spmm import spmm
from .krylov import lanczos, sizes
from .operators import Operator
from .solve_costs import krylov_bytes

Array = Any

PRODUCTS = 600  # blocks after which products have cost more than most factors
CLUSTER = 1e-9  # difference below which values count as one eigenspace
EXACT = 1e-8  # required angle to the eigenspace, which a factor would reach, too


def scaled(W: Any, s: Array) -> Any:
    """Return diag(s) W diag(s), exactly symmetric if W is."""
    rows = np.repeat(s, np.diff(W.indptr))
    rows *= s[W.indices]
    rows *= W.data
    return sp.csr_array((rows, W.indices, W.indptr), shape=W.shape)


class _Slow(Exception):
    """Raised when products have cost more than a factor would."""


class _Walk(Operator):
    """S = D^(−½) W D^(−½) without its eigenvector √d; raises after `PRODUCTS` products unless ``always``."""

    symmetric = True

    def __init__(self, W: Any, d: Array, always: bool) -> None:
        self.S, self.shape, self.left = scaled(W, 1 / np.sqrt(d)), W.shape, np.inf if always else PRODUCTS
        self.null = np.sqrt(d / d.sum())[:, None]

    def matmul(self, V: Array) -> Array:
        """Return S V."""
        self.left -= 1
        if self.left < 0:
            raise _Slow
        return spmm(self.S, V)


@dataclass(frozen=True)
class Leading:
    """Values 1 − µ of the largest µ, their vectors and residual; the rest as in `nullspace.Small`."""

    values: Array
    vectors: Array
    residual: float
    whole: int | None
    products: int
    checked: int | None


def leading(W: Any, d: Array, k: int, rng: np.random.Generator, always: bool, remedy: str = "") -> Leading | None:
    """Return the k leading pairs by block Lanczos; None if it is slow or not exact enough.

    Plans are made for the factor of a sheet's graph, which is smaller than this basis: so its memory is checked here.
    """
    n, size = W.shape[0], sizes(k + 2, W.shape[0])
    walk = _Walk(W, d, always)
    try:
        with holding(walk.S.data), thread_pool.one_blas_thread():
            what = f"a Krylov basis of {size.basis} vectors for {n:,} points"
            check_allocation(krylov_bytes(k + 2, n), what, remedy)
            found = lanczos(walk, k + 2, largest=True, tol=1e-13, rng=rng, stage="small eigenvalues")
            U = found.right
            lengths = np.linalg.norm(spmm(walk.S, U) - U * found.values, axis=0)
    except _Slow:
        return None
    apart = np.abs(found.values[:, None] - found.values[:k])
    gaps = np.where(apart > CLUSTER, apart, np.inf).min(axis=0)  # to the nearest value of another eigenspace
    residual = float((lengths[:k] / np.minimum(gaps, 1.0)).max())
    if not always and (not found.converged or residual > EXACT):
        return None
    last = k
    while last < len(found.values) and found.values[last - 1] - found.values[last] <= CLUSTER:
        last += 1
    whole = None if k < last == len(found.values) else last
    return Leading(1 - found.values[:k], U[:, :k], residual, whole, found.products, found.checked)
