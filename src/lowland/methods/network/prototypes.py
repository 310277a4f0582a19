"""Prototypes on a grid: its neighbourhoods, the batch step of self-organising maps, and the mesh between prototypes.

The units of a grid have two sets of places: on the grid, and as prototypes among the rows. Cut into triangles, the grid
is a mesh in both, and a point of one is a point of the other: corners and weights. That is how a row gets coordinates
between units, and how coordinates become a row.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ...core import thread_pool
from ...core.settings import report_progress
from ...rows.block import Block, block_rows
from ...rows.row_source import RowSource

Array = Any
Prepare = Callable[[Array], Array]

TOPOLOGIES = ("rectangular", "hexagonal")
PANEL = 1 << 18  # products of rows and prototypes that are held at once
OPEN = 1024  # rows that are decided in float64 at once
FAR = 2.0**26  # times the mesh's size; from there on only a row's direction matters, and more would cost digits
_TINY = 1e-200  # less weight than this from all rows is no place: the unit stays where it was
_EPS = float(np.finfo(np.float64).eps)
_LARGEST_NUMBER = float(np.finfo(np.float64).max)
_ZERO_BEYOND = 38.7  # σ beyond which exp(−x²/2) is zero


@dataclass(frozen=True)
class Grid:
    """Units in lines: number i·b + j is the i-th of line j, in a grid of a × b.

    A rectangular unit lies at (i, j). In a hexagonal grid every other line is moved by half a step, and lines are √¾
    apart: each unit has six neighbours, all at distance 1.

    >>> Grid((2, 2), "hexagonal").positions().round(2).tolist()
    [[0.0, 0.0], [0.5, 0.87], [1.0, 0.0], [1.5, 0.87]]
    """

    shape: tuple[int, int]
    topology: str = "rectangular"

    @property
    def units(self) -> int:
        """How many there are."""
        return self.shape[0] * self.shape[1]

    @property
    def hexagonal(self) -> bool:
        """Tell whether lines are moved against each other."""
        return self.topology == "hexagonal"

    @property
    def _lattice(self) -> tuple[int, float]:
        """Steps in which units of all lines lie, as parts of 1, and the distance of lines."""
        return (2 if self.hexagonal and self.shape[1] > 1 else 1, 0.75**0.5 if self.hexagonal else 1.0)

    def positions(self) -> Array:
        """Return where the units lie on the plane, one a row."""
        i, j = np.divmod(np.arange(self.units), self.shape[1])
        parts, apart = self._lattice
        return np.column_stack([i + (j % parts) / parts, j * apart])

    def adjacent(self, u: Array, v: Array) -> Array:
        """Tell which pairs of units are neighbours: six around a hexagon, eight around a square (diagonals count)."""
        P = self.positions()
        square = ((P[u] - P[v]) ** 2).sum(axis=-1)
        return (square > 0) & (square < (1.5 if self.hexagonal else 2.5))

    def edges(self) -> Array:
        """Return the pairs of units at distance 1."""
        number = np.arange(self.units).reshape(self.shape)
        pairs = [(number[:-1], number[1:]), (number[:, :-1], number[:, 1:])]
        if self.hexagonal:  # the second neighbour in the next line: to the left of even lines, to the right of odd ones
            pairs += [(number[1:, :-1:2], number[:-1, 1::2]), (number[:-1, 1:-1:2], number[1:, 2::2])]
        return np.concatenate([np.column_stack([u.ravel(), v.ravel()]) for u, v in pairs])

    def smooth(self, values: Array, sigma: float) -> Array:
        """Return Σ_v exp(−|r_u − r_v|²/2σ²) values_v for each unit u, values being one row a unit.

        The weights are a product of one factor across lines and one along them, on a lattice in which both kinds of
        lines have places. So the U × U matrix of them is never made, nor the whole of either factor.
        """
        (a, b), (parts, apart) = self.shape, self._lattice
        sigma = max(float(sigma), 0.01)  # already there no neighbour has any weight
        i, j = np.divmod(np.arange(self.units), b)
        place = parts * i + j % parts
        lattice = np.zeros((parts * a, b, values.shape[1]))
        lattice[place, j] = values
        across = _blur(lattice, apart / sigma)
        along = _blur(across.reshape(1, parts * a, -1), 1 / (parts * sigma))
        return along.reshape(lattice.shape)[place, j]

    def triangles(self, W: Array) -> Array:
        """Cut the cells between units into triangles, a row of three units each.

        The cells of a hexagonal grid have one cut into equal sides; squares are cut along the diagonal that is shorter
        among the prototypes W. A grid of one line has edges, as triangles with a corner twice; one unit has itself.
        """
        number = np.arange(self.units).reshape(self.shape)
        if min(self.shape) == 1:
            line = number.ravel()
            ends = line[1:] if len(line) > 1 else line
            return np.column_stack([line[: len(ends)], ends, ends])
        A, B, C, D = (number[s].ravel() for s in _CORNERS)
        if self.hexagonal:
            slash = (A % self.shape[1]) % 2 == 1
        else:
            W = W / width(W)
            slash = ((W[A] - W[D]) ** 2).sum(axis=1) <= ((W[B] - W[C]) ** 2).sum(axis=1)
        one = np.column_stack([A, B, np.where(slash, D, C)])
        two = np.column_stack([np.where(slash, A, B), C, D])
        return np.concatenate([one, two])


_CORNERS = (np.s_[:-1, :-1], np.s_[1:, :-1], np.s_[:-1, 1:], np.s_[1:, 1:])


def _blur(values: Array, step: float) -> Array:
    """Return Σ_k exp(−½(step·(j − k))²) values[:, k] for each j, with the weights of a strip of j at a time."""
    n = values.shape[1]
    reach = n - 1 if step * n <= _ZERO_BEYOND else int(_ZERO_BEYOND / step)
    falling = np.exp(-0.5 * (np.arange(1 - n, n) * step) ** 2)
    out = np.empty_like(values)

    def strip(start: int) -> None:
        stop = min(n, start + _strip(n))
        low, high = max(0, start - reach), min(n, stop + reach)
        lines = sliding_window_view(falling, high - low)[n - 1 + low - start - np.arange(stop - start)]
        np.matmul(lines, values[:, low:high], out=out[:, start:stop])

    for _ in thread_pool.run(strip, range(0, n, _strip(n))):
        pass
    return out


def _strip(n: int) -> int:
    return max(16, PANEL // n)


def width(W: Array) -> float:
    """Return the power of two just below the largest entry, or 1 of zeros.

    Values divided by it lose no digits, and their squares neither over- nor underflow.

    >>> width(np.array([[-3.0, 1e-9]])), width(np.zeros((2, 2)))
    (2.0, 1.0)
    """
    top = float(np.abs(W).max())
    return math.ldexp(0.5, math.frexp(top)[1]) if top > 0 else 1.0


def largest_entries(Z: Array) -> Array:
    """Return max |z| of each row, without a table of all |z|."""
    return np.maximum(Z.max(axis=1), -Z.min(axis=1))


# -- training ----------------------------------------------------------------------------------------------------


class UnitSums(NamedTuple):
    """What the rows of a block add up to: the units that won any, their weights, and their sums."""

    units: Array
    weights: Array
    sums: Array


@dataclass(frozen=True)
class Shaking:
    """Random weights of rows, other ones in each epoch, which even out to 1: w = E^(noise·(1 − t)), E exponential.

    A batch step runs into the nearest optimum. Rows that count unequally move it on, as the order of rows does in
    training one by one. Weights come from the seed, the epoch and the row's number alone.
    """

    noise: float
    key: int

    def weights(self, epoch: int, epochs: int, block: Block) -> Array:
        """Return the weights of a block's rows; 1 in the last epoch."""
        n, power = block.rows.shape[0], self.noise * (1 - (epoch + 1) / epochs)
        if power == 0:
            return np.ones(n)
        return np.random.default_rng([self.key, epoch, block.start]).standard_exponential(n) ** power


def panels(Z: Array, units: int) -> Iterator[slice]:
    """Cut rows so that their products with all units stay small; the cut depends on the number of units alone."""
    step = max(16, PANEL // units)
    return (slice(start, start + step) for start in range(0, len(Z), step))


class Codebook:
    """Prototypes W, with the tables that rows are multiplied by: made once for all blocks and threads."""

    def __init__(self, W: Array) -> None:
        self.W = W
        self._tables: dict[Any, Array] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Codebook], tuple[Array]]:
        return Codebook, (self.W,)  # another process makes tables and a lock of its own

    def __len__(self) -> int:
        return len(self.W)

    def table(self, dtype: Any) -> Array:
        """Return −Wᵀ, and ½|w|² as one more row."""
        with self._lock:
            if dtype not in self._tables:
                T = np.empty((self.W.shape[1] + 1, len(self.W)), dtype=dtype)
                np.negative(self.W.T, out=T[:-1], casting="same_kind")
                T[-1] = 0.5 * np.einsum("ij,ij->i", self.W, self.W)
                self._tables[dtype] = T
            return self._tables[dtype]


def products(Z: Array, book: Codebook, dtype: Any) -> Iterator[tuple[slice, Array, Array]]:
    """Yield panels of rows, ½|w|² − z·w for them from products in ``dtype``, and how far two of those can be wrong."""
    T = book.table(dtype)
    rows = np.ones((len(Z), len(T)), dtype=dtype)
    rows[:, :-1] = Z
    reach, length = float(np.sqrt(2 * T[-1].max())), np.sqrt(np.einsum("ij,ij->i", Z, Z))
    rounding = float(np.finfo(dtype).eps) * reach * (length + reach) + _EPS * (length + reach) ** 2
    slack = (4 * (len(T) + 4) * rounding).astype(dtype)
    for panel in panels(Z, len(book)):
        yield panel, rows[panel] @ T, slack[panel]


def winners(Z: Array, book: Codebook) -> Array:
    """Return the nearest prototype of each row, the first of equal ones.

    Products in float32 decide most rows. Where prototypes lie within their rounding, distances are taken; where many
    do, as in tight groups far apart, first products in float64. Entries are expected to be near 1.
    """
    won = _settled(Z, book, np.float32, max(8, len(book) // 16))
    (left,) = np.nonzero(won < 0)
    for start in range(0, len(left), OPEN):
        part = left[start : start + OPEN]
        won[part] = _settled(Z[part], book, np.float64, len(book))
    return won


def _settled(Z: Array, book: Codebook, dtype: Any, most: int) -> Array:
    from .prototypes_loops import settle

    won = np.empty(len(Z), dtype=np.int64)
    for panel, rough, slack in products(Z, book, dtype):
        won[panel] = rough.argmin(axis=1)
        settle(Z[panel], book.W, rough, slack, most, won[panel])
    return won


def block_sums(Z: Array, won: Array, weights: Array) -> UnitSums:
    """Add up the rows of each unit that won any."""
    from .prototypes_loops import add_rows

    units, slots = np.unique(won, return_inverse=True)
    sums = np.zeros((len(units), Z.shape[1]))
    add_rows(Z, slots.astype(np.int64), weights, sums)
    return UnitSums(units, np.bincount(slots, weights), sums)


def train(rows: RowSource, prepare: Prepare, W: Array, grid: Grid, radii: Array, shaking: Shaking) -> Array:
    """Return the prototypes after one batch step for each neighbourhood radius.

    With S the sums and n the weights of the rows that each unit wins, W ← HS/Hn, H = exp(−|r − r′|²/2σ²). A unit that
    no row reaches stays. Sums are added in the order of the blocks, so threads leave no trace.
    """
    size = block_rows(rows.n_features)  # sparse rows are made dense: no more than a block of dense ones has
    epochs, count = len(radii), -(-rows.count() // size)
    for epoch, sigma in enumerate(radii):
        total = np.zeros((grid.units, W.shape[1] + 1))  # S and, as its last column, n
        book = Codebook(W)

        def step(block: Block, book: Codebook = book, epoch: int = epoch) -> UnitSums:
            rows.check(block)
            Z = prepare(block.rows)
            return block_sums(Z, winners(Z, book), shaking.weights(epoch, epochs, block))

        for done, part in enumerate(rows.map(step, size), start=1):
            total[part.units, :-1] += part.sums
            total[part.units, -1] += part.weights
            report_progress("training", epoch * count + done, epochs * count)
        W = _moved(W, grid.smooth(total, sigma))
    return W


def _moved(W: Array, spread: Array) -> Array:
    """Return HS/Hn, or the prototype as it was where Hn is nothing."""
    weight = spread[:, -1:]
    return np.where(weight > _TINY, spread[:, :-1] / np.maximum(weight, _TINY), W)


# -- the nearest units, and the mesh between them ----------------------------------------------------------------


def two_nearest(Z: Array, book: Codebook) -> tuple[Array, Array]:
    """Return the two nearest prototypes of each row and the squared distances; a single one stands for both."""
    from .prototypes_loops import two_nearest as compiled

    units, squares = np.empty((len(Z), 2), dtype=np.int64), np.empty((len(Z), 2))
    for rows, rough, slack in products(Z, book, np.float64):
        compiled(Z[rows], book.W, rough, slack, units[rows], squares[rows])
    return units, squares


class Mesh:
    """The triangles of a grid whose units have these places."""

    def __init__(self, triangles: Array, W: Array) -> None:
        self.triangles, self.width = triangles, width(W)
        self.W = np.ascontiguousarray(W / self.width)
        self._book = Codebook(self.W)
        a, b, c = (self.W[triangles[:, i]] for i in range(3))
        lengths = np.column_stack([((u - v) ** 2).sum(axis=1) for u, v in ((a, b), (a, c), (b, c))])
        lengths[lengths <= 1e-20 * lengths.max()] = 0.0  # places that differ by rounding are one place
        self.edges = lengths
        unit, owner = triangles.T.ravel(), np.tile(np.arange(len(triangles)), 3)
        pairs = np.unique(np.column_stack([unit, owner]), axis=0)
        self.first = np.searchsorted(pairs[:, 0], np.arange(len(self.W) + 1))
        self.around = np.ascontiguousarray(pairs[:, 1])
        self.room = np.maximum.reduceat(lengths.max(axis=1)[self.around], self.first[:-1]) / 3

    def nearest(self, Z: Array) -> tuple[Array, Array]:
        """Return for each row the corners and weights of the nearest point of the mesh."""
        from .prototypes_loops import nearest_on_mesh

        Z = self._within(Z)
        corners, weights = np.empty((len(Z), 3), dtype=np.int64), np.empty((len(Z), 3))
        for rows, rough, slack in products(Z, self._book, np.float64):
            nearest_on_mesh(
                Z[rows],
                self.W,
                rough,
                slack,
                self.first,
                self.around,
                self.triangles,
                self.edges,
                self.room,
                rough.argmin(axis=1),
                corners[rows],
                weights[rows],
            )
        return corners, weights

    def _within(self, Z: Array) -> Array:
        """Return rows in the mesh's own unit, those from `FAR` on brought there along the way to it."""
        Z = np.clip(Z, -_LARGEST_NUMBER, _LARGEST_NUMBER)
        largest = largest_entries(Z)
        far = largest > FAR * self.width
        return Z / np.where(far, largest / FAR, self.width)[:, None]


def between(places: Array, corners: Array, weights: Array) -> Array:
    """Return the points that have these weights between these corners."""
    return np.einsum("nc,ncd->nd", weights, places[corners])
