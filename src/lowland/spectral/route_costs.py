"""Estimated memory, by parts, and rough seconds of each route from rows to directions.

The memory of successive stages is not added: the largest stage counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import settings
from ..core.cost import DataShape, dense_seconds, largest, sparse_seconds
from ..rows.gram_sums import TILED
from ..rows.row_source import block_rows
from . import krylov, routes
from .routes import PANEL_ENTRIES, SCREE
from .solve import DENSE_LIMIT

Parts = dict[str, int]

_POWER_PRODUCTS = 100  # assumed for one component; close values need more
_SWEEPS = 3  # bases that Lanczos fills: one for well separated values, seven for a flat spectrum
_UNKNOWN_ROWS = 10**6  # assumed for a stream of unknown length
_PACKED = 512  # numbers that BLAS packs for each column of a product, in each thread
_MAX_PACKED = 32 << 20
_LAPACK = (
    6.5  # matrices held while all eigenvectors of one are computed: it, its symmetric copy, LAPACK's copy and work
)
_COPIES = 3.5  # copies of the directions of wide rows while they are orthonormalised and signed
_VECTORS = 6  # vectors of length D that a thread holds while it sums and merges a block
_SUMS = 3  # such vectors in the sums of a block: its mean in two parts, and the squares
_SPARSE_BYTES = 40  # per entry of a sparse block while its columns are summed


@dataclass(frozen=True)
class Reading:
    """How rows are read: blocks, and the threads that process them at once."""

    n: int
    d: int
    size: int  # bytes of a number
    sparse: bool
    entries: int
    threads: int
    streamed: bool  # rows come in blocks, which are copied as they are read

    @classmethod
    def of(cls, shape: DataShape) -> Reading:
        """Return the reading of data of this shape with the current settings."""
        n, d = shape.n_rows or _UNKNOWN_ROWS, shape.n_features
        entries = shape.entries or n * d
        return cls(n, d, shape.dtype.itemsize, shape.sparse, entries, settings.threads(), shape.blocks)

    @property
    def block(self) -> int:
        """Entries of a dense block of rows."""
        return min(self.n, block_rows(self.d)) * self.d

    @property
    def at_once(self) -> int:
        """Threads that process a block."""
        return min(self.threads, self.blocks)

    @property
    def blocks(self) -> int:
        """Number of dense blocks."""
        return -(-self.n // block_rows(self.d))

    def queued(self, pieces: int) -> int:
        """Return the number of finished results that wait to be merged, of ``pieces`` tasks."""
        return min(pieces, 2 * self.threads) - min(pieces, self.threads) if self.threads > 1 else 0

    def packed(self, side: int) -> int:
        """Return the memory of BLAS in all threads for products with ``side`` columns."""
        return min(self.threads, self.blocks) * min(_MAX_PACKED, _PACKED * self.size * side)

    def column_pass(self) -> Parts:
        """Return the memory for sums of each column."""
        rows = block_rows(self.d, self.sparse)
        pieces = -(-self.n // rows)
        at_once = min(self.threads, pieces)
        vectors = _VECTORS * (at_once + 1) + _SUMS * self.queued(pieces)
        block = min(self.n, rows) * (_SPARSE_BYTES * self.entries // self.n if self.sparse else self.d * self.size)
        return {"blocks of rows": at_once * block, "sums of columns": 8 * self.d * vectors}

    def multiplying(self) -> Parts:
        """Return the memory for products with the rows."""
        if self.sparse and not self.streamed:
            return {"transposed copy": self.entries * (self.size + 4) + 8 * self.d}
        return {
            "blocks of rows": self.rows_in_float64() * (2 if self.sparse else 1)
        }  # sparse ones are made dense first

    def rows_in_float64(self) -> int:
        """Return the bytes of the blocks that all threads hold in float64."""
        return self.at_once * self.block * 8

    def read_ahead(self) -> Parts:
        """Return the memory of blocks that wait for a thread and of the one being assembled.

        If rows are one array, blocks are views of it.
        """
        if not self.streamed or self.blocks == 1:
            return {}
        block = min(self.n, block_rows(self.d, self.sparse)) * self.entries // self.n * (self.size + 4 * self.sparse)
        waiting = min(2 * self.threads if self.threads > 1 else 1, self.blocks)
        return {"blocks read ahead": (waiting + 1) * block}


def cost(name: str, shape: DataShape, k: int, *, altered: bool = False) -> tuple[Parts, float]:
    """Return the largest allocations of a route, and its rough seconds.

    ``altered``: the columns are scaled or not centred, and the scatter is copied.
    """
    t = Reading.of(shape)
    if name == "power" and not routes.forms_scatter(t.n, t.d):
        parts = largest(t.column_pass(), {**t.multiplying(), "vectors": 8 * (t.n + t.d) * (k + 4)})
        flops, inner = 4.0 * t.entries * k * _POWER_PRODUCTS, 0.0
    else:
        parts, flops, inner = _ROUTES[name](t, k, altered)
    seconds = sparse_seconds(flops) if shape.sparse else dense_seconds(flops, shape.dtype)
    seconds += dense_seconds(inner, np.dtype(np.float64))  # for reorthogonalisation
    parts |= t.read_ahead()
    return {name: size for name, size in parts.items() if size}, seconds


def _solving(side: int, k: int) -> tuple[Parts, float]:
    """Return the memory and the arithmetic of k eigenvectors of a square matrix, including the matrix."""
    if side <= DENSE_LIMIT or 5 * k > side:
        return {"matrix": int(8 * _LAPACK * side**2)}, 10.0 * side**3
    basis = _basis(k, side)
    return {"matrix": 8 * side**2, "Krylov basis": 8 * side * (basis + 2 * k)}, 60.0 * basis * side**2


def _renamed(parts: Parts, name: str) -> Parts:
    return {name if key == "matrix" else key: value for key, value in parts.items()}


def _square_sum(t: Reading, side: int, pieces: int) -> int:
    """Return the memory of a sum of ZᵀZ: the sum and the products not yet added, without Z."""
    if side <= TILED:
        return 8 * side**2 * (2 + 2 * min(t.threads, pieces) + t.queued(pieces))
    tiles = min(8, t.threads) * side**2 // 8  # entries of concurrent products
    return 8 * side**2 + (8 + t.size) * tiles // 2


def _panel_sum(t: Reading, panels: int) -> int:
    """Return the memory of a sum of ZᵀZ over panels of columns without Z: products have the dtype of the data."""
    if t.n > TILED:
        return _square_sum(t, t.n, panels)
    return t.n**2 * (8 + t.size * (min(t.threads, panels) + t.queued(panels)))


def _covariance(t: Reading, k: int, altered: bool) -> tuple[Parts, float, float]:
    blocks = 1 if t.d > TILED and not t.sparse else t.at_once
    summing = {
        "blocks of rows": blocks * (t.block * t.size if not t.sparse else 0),
        "scatter matrix": _square_sum(t, t.d, t.blocks),
        "BLAS": 0 if t.sparse else t.packed(t.d),
    }
    if t.sparse:
        summing = t.column_pass() | {"scatter matrix": 8 * t.d**2 * (3 + 3 * t.at_once + t.queued(t.blocks))}
    solving, flops = _solving(t.d, k)
    solving = _renamed(solving, "scatter matrix") | {"copy of the scatter": 8 * t.d**2 if altered else 0}
    return largest(summing, solving), 1.0 * t.n * t.d**2 + flops, 0.0


def _gram(t: Reading, k: int, altered: bool) -> tuple[Parts, float, float]:
    panel = min(t.d * t.n, max(64 * t.n, PANEL_ENTRIES))
    panels = -(-t.d * t.n // panel)
    solving, flops = _solving(t.n, k)
    held = _renamed(solving, "Gram matrix")
    held["Gram matrix"] += 8 * t.n**2 // 2
    held["directions"] = int(_COPIES * 8 * t.d * k)
    if t.streamed:  # they are read by columns
        held["rows in one array"] = t.entries * (t.size + (4 if t.sparse else 0))
    if t.sparse:
        held |= t.multiplying() | {"rows in float64": 12 * t.entries}
    else:
        held["Gram matrix"] = max(held["Gram matrix"], _panel_sum(t, panels))
        held["panels of columns"] = min(t.threads, panels) * panel * t.size
        held["BLAS"] = min(t.threads, panels) * min(_MAX_PACKED, _PACKED * t.size * t.n)
    return largest(t.column_pass(), held), 1.0 * t.n**2 * t.d + 4.0 * t.n * t.d * k + flops, 0.0


def _svd(t: Reading, k: int, altered: bool) -> tuple[Parts, float, float]:
    small, tall = min(t.n, t.d), t.n > t.d
    factor = 8 * t.d * small
    summing = {"blocks of rows": t.at_once * t.block * 8 * (3 if tall else 1), "R factors": 3 * factor}
    solving = {"R factors": factor * (8 if tall else 7)}
    return largest(summing, solving), 8.0 * t.n * t.d * small + 20.0 * small**2 * t.d, 0.0


def _krylov(t: Reading, k: int, altered: bool) -> tuple[Parts, float, float]:
    basis = _basis(k, min(t.n, t.d))
    bases = {"Krylov bases": 8 * (t.n + t.d) * (basis + 4 * min(k + 8, basis)), **t.multiplying()}
    return largest(t.column_pass(), bases), 8.0 * t.entries * basis, 4.0 * (t.n + t.d) * basis**2


def _lanczos(t: Reading, k: int, altered: bool) -> tuple[Parts, float, float]:
    count, small = max(k, SCREE), min(t.n, t.d)
    basis = _basis(count, small)
    parts = {
        "Krylov basis": 8 * small * (basis + 2 * count),
        "vectors": 8 * max(t.n, t.d) * (3 * krylov.sizes(count, small).block + count),
        **t.multiplying(),
    }
    inner = _SWEEPS * 4.0 * small * basis**2
    return largest(t.column_pass(), parts), _SWEEPS * 4.0 * t.entries * basis, inner


def _basis(k: int, n: int) -> int:
    return krylov.sizes(k, n).basis


_ROUTES = {
    "covariance": _covariance,
    "power": _covariance,
    "gram": _gram,
    "svd": _svd,
    "krylov": _krylov,
    "lanczos": _lanczos,
}
