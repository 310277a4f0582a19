"""The kinds of random maps under one interface: the cost, the random numbers and the map of rows of each."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core import arrays
from ...core.cost import check_allocation
from ...core.errors import DataError
from ...core.message import message
from ...core.settings import threads
from ...spectral import dense
from ...spectral.routes import rank_tolerance
from . import hadamard, random_maps

Array = Any

_FEWER = "ask for fewer components"


def cost(kind: str, d: int, k: int, eps: float, itemsize: int) -> tuple[int, int]:
    """Return the bytes of a map of d columns to k, and how many random numbers are held while it is drawn."""
    width, at_once = random_maps.entries(d, k, eps), min(threads(), 2)
    return {
        "gaussian": (itemsize * d * k, random_maps.drawn(d * k) * at_once),
        "sparse": (5 * d * width, random_maps.drawn(d * width) * at_once),
        "hadamard": (d + 8 * k, 3 * d),
        "identity": (0, 0),
    }[kind]


def check(kind: str, d: int, k: int) -> None:
    """Raise if a map of this kind has no k dimensions: a Hadamard matrix has the next power of two."""
    if kind == "hadamard" and k > (most := hadamard.padded(d)):
        text = f"RandomProjection: {{n_components}} is more than the Hadamard transform of {d} columns has; ask for "
        raise DataError(message(text + f"{most} at most, or use {{kind}}", n_components=k, kind="gaussian"))


def bound(n: int, eps: float) -> int:
    """Return the number of dimensions that keeps the squared distances of n rows within eps.

    >>> bound(1_000_000, 0.5), bound(10_000, 0.1)
    (664, 7895)
    """
    needed = 4 * math.log(n) / (0.5 - eps / 3) / eps / eps  # one by one: the square of a small eps is 0
    return sys.maxsize if needed >= sys.maxsize else max(1, math.ceil(needed))


@dataclass(frozen=True)
class RandomMap:
    """A map of d columns to k; the fields are those of `RandomProjection`, without their underscore."""

    kind: str
    d: int
    k: int
    matrix: Array = None
    positions: Array = None
    signs: Array = None

    @classmethod
    def draw(cls, kind: str, d: int, k: int, eps: float, dtype: Any, rng: np.random.Generator) -> RandomMap:
        """Draw a map."""
        if kind == "gaussian":
            check_allocation(dtype.itemsize * d * k, f"the {d} × {k} matrix", _FEWER)
            return cls(kind, d, k, matrix=random_maps.normal(d, k, dtype, rng))
        if kind == "sparse":
            c = random_maps.entries(d, k, eps)
            check_allocation(5 * d * c, f"places and signs of {c} entries for {d} columns", _FEWER)
            positions, signs = random_maps.scattered(d, k, c, rng)
            return cls(kind, d, k, positions=positions, signs=signs)
        if kind == "hadamard":
            signs, positions = hadamard.draw(d, k, rng)
            return cls(kind, d, k, positions=positions, signs=signs)
        return cls(kind, d, k)

    def state(self) -> dict[str, Array]:
        """Return the arrays that this kind of map has, by name."""
        arrays_of = {"matrix": self.matrix, "positions": self.positions, "signs": self.signs}
        return {name: value for name, value in arrays_of.items() if value is not None}

    def apply(self, block: Array) -> Array:
        """Return A x for each row x of a block."""
        if self.kind == "identity":
            return block.toarray() if sp.issparse(block) else block
        if self.kind == "gaussian":
            return random_maps.times(block, self.matrix)
        if self.kind == "hadamard":
            return _in_numpy(block, lambda rows: hadamard.project(rows, self.signs, self.positions))
        return _in_numpy(block, lambda rows: random_maps.scatter(rows, self.positions, self.signs, self.k))

    def matrix_of(self, dtype: Any) -> Array:
        """Return A, k × d: sparse if the map is, of a Gaussian map the matrix itself."""
        if self.kind == "sparse":
            return random_maps.sparse_matrix(self.positions, self.signs, self.k, dtype)
        return self.matrix.T if self.kind == "gaussian" else self.dense().astype(dtype, copy=False)

    def dense(self) -> Array:
        """Return A, k × d, in float64."""
        check_allocation(8 * self.k * self.d, f"the {self.k} × {self.d} matrix", "rebuild from fewer components")
        if self.kind == "identity":
            return np.eye(self.d)
        if self.kind == "gaussian":
            return np.ascontiguousarray(self.matrix.T, dtype=np.float64)
        if self.kind == "hadamard":
            return hadamard.matrix(self.signs, self.positions)
        return random_maps.sparse_matrix(self.positions, self.signs, self.k, np.float64).toarray()

    def way_back(self, mean: Array) -> tuple[Array, Array]:
        """Return B = A⁺ and b = m − A⁺A m: of all rows that map to y, B y + b is nearest to the mean m."""
        what = f"the inverse of a {self.k} × {self.d} matrix"
        check_allocation(32 * self.k * self.d, what, "rebuild from fewer components")
        A = self.dense()
        U, s, V = dense.svd(A)
        keep = s > rank_tolerance(self.k, self.d, np.float64) * s[0]
        B = (V[:, keep] / s[keep]) @ U[:, keep].T
        largest = abs(mean).max() or 1.0  # sums of huge entries would not be numbers
        return B, mean - largest * (B @ (A @ (mean / largest)))


def _in_numpy(block: Array, work: Callable[[Array], Array]) -> Array:
    """Apply NumPy's work to rows of any library."""
    return arrays.like(work(arrays.to_numpy(block)), block) if arrays.is_foreign(block) else work(block)
