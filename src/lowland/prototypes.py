"""Prototypes on a grid: its neighbourhoods, the batch step of self-organising maps, and the mesh between prototypes.

The units of a grid have two sets of places: on the grid, and as prototypes among the rows. Cut into triangles, the grid
is a mesh in both, and a point of one is a point of the other: corners and weights. That is how a row gets coordinates
between units, and how coordinates become a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import pool
from .block import Block
from .rows import RowSource
from .settings import report_progress

Array = Any
Prepare = Callable[[Array], Array]

TOPOLOGIES = ("rectangular", "hexagonal")
PANEL = 1 << 18  # products of rows and prototypes that are held at once
_TINY = 1e-200  # less weight than this from all rows is no place: the unit stays where it was
_EPS = float(np.finfo(np.float64).eps)


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
        return (2, 0.75**0.5) if self.hexagonal else (1, 1.0)

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
        lines have places. So the U × U matrix of them is never made.
        """
        (a, b), (parts, apart) = self.shape, self._lattice
        i, j = np.divmod(np.arange(self.units), b)
        place = parts * i + j % parts
        lattice = np.zeros((parts * a, b, values.shape[1]))
        lattice[place, j] = values
        across = np.tensordot(_weights(b, apart, sigma), lattice, axes=(1, 1))
        along = np.tensordot(_weights(parts * a, 1 / parts, sigma), across, axes=(1, 1))
        return along[place, j]

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
            slash = ((W[A] - W[D]) ** 2).sum(axis=1) <= ((W[B] - W[C]) ** 2).sum(axis=1)
        one = np.column_stack([A, B, np.where(slash, D, C)])
        two = np.column_stack([np.where(slash, A, B), C, D])
        return np.concatenate([one, two])


_CORNERS = (np.s_[:-1, :-1], np.s_[1:, :-1], np.s_[:-1, 1:], np.s_[1:, 1:])


def _weights(n: int, step: float, sigma: float) -> Array:
    """Return exp(−d²/2σ²) for places on a line."""
    place = np.arange(n) * (step / sigma)
    return np.exp(-0.5 * (place[:, None] - place) ** 2)


# -- training ----------------------------------------------------------------------------------------------------


class Sums(NamedTuple):
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


def winners(Z: Array, W: Array, dtype: Any) -> Array:
    """Return the nearest prototype of each row, by products: argmin ½|w|² − z·w."""
    T = np.ascontiguousarray(W.T, dtype=dtype)
    half = (0.5 * (W * W).sum(axis=1)).astype(dtype)
    z = Z.astype(dtype, copy=False)
    found = [np.argmin(half - z[rows] @ T, axis=1) for rows in panels(Z, len(W))]
    return np.concatenate(found)


def block_sums(Z: Array, won: Array, weights: Array) -> Sums:
    """Add up the rows of each unit that won any."""
    from .prototypes_kernels import add_rows

    units, slots = np.unique(won, return_inverse=True)
    sums = np.zeros((len(units), Z.shape[1]))
    add_rows(Z, slots.astype(np.int64), weights, sums)
    return Sums(units, np.bincount(slots, weights), sums)


def train(rows: RowSource, prepare: Prepare, W: Array, grid: Grid, radii: Array, shaking: Shaking) -> Array:
    """Return the prototypes after one batch step for each neighbourhood radius.

    With S the sums and n the weights of the rows that each unit wins, W ← HS/Hn, H = exp(−|r − r′|²/2σ²). A unit that
    no row reaches stays. Sums are added in the order of the blocks, so threads leave no trace.
    """
    epochs, count = len(radii), rows.block_count() or 1
    for epoch, sigma in enumerate(radii):
        S, n = np.zeros_like(W), np.zeros((grid.units, 1))

        def step(block: Block, W: Array = W, epoch: int = epoch) -> Sums:
            rows.check(block)
            Z = prepare(block.rows)
            return block_sums(Z, winners(Z, W, rows.dtype), shaking.weights(epoch, epochs, block))

        for done, part in enumerate(pool.run(step, rows.blocks()), start=1):
            S[part.units] += part.sums
            n[part.units, 0] += part.weights
            report_progress("training", epoch * count + done, epochs * count)
        weight = grid.smooth(n, sigma)
        W = np.where(weight > _TINY, grid.smooth(S, sigma) / np.maximum(weight, _TINY), W)
    return W


# -- the nearest units, and the mesh between them ----------------------------------------------------------------


def two_nearest(Z: Array, W: Array) -> tuple[Array, Array]:
    """Return the two nearest prototypes of each row and the squared distances; a single one stands for both."""
    from .prototypes_kernels import two_nearest as compiled

    T, half = np.ascontiguousarray(W.T), 0.5 * (W * W).sum(axis=1)
    units, squares = np.empty((len(Z), 2), dtype=np.int64), np.empty((len(Z), 2))
    reach = float(np.sqrt(2 * half.max()))
    slack = 4 * (Z.shape[1] + 4) * _EPS * (np.sqrt((Z * Z).sum(axis=1)) + reach) ** 2  # rounding of the products
    for rows in panels(Z, len(W)):
        compiled(Z[rows], W, half - Z[rows] @ T, slack[rows], units[rows], squares[rows])
    return units, squares


class Mesh:
    """The triangles of a grid whose units have these places."""

    def __init__(self, triangles: Array, W: Array) -> None:
        self.triangles, self.W = triangles, np.ascontiguousarray(W)
        a, b, c = (self.W[triangles[:, i]] for i in range(3))
        lengths = np.column_stack([((u - v) ** 2).sum(axis=1) for u, v in ((a, b), (a, c), (b, c))])
        lengths[lengths <= 1e-20 * lengths.max()] = 0.0  # places that differ by rounding are one place
        self.edges = lengths
        unit, owner = triangles.T.ravel(), np.tile(np.arange(len(triangles)), 3)
        pairs = np.unique(np.column_stack([unit, owner]), axis=0)
        self.first = np.searchsorted(pairs[:, 0], np.arange(len(self.W) + 1))
        self.around = np.ascontiguousarray(pairs[:, 1])

    def nearest(self, Z: Array) -> tuple[Array, Array]:
        """Return for each row the corners and weights of the nearest point of the mesh around its two nearest units."""
        from .prototypes_kernels import nearest_on_mesh

        units, _ = two_nearest(Z, self.W)
        corners, weights = np.empty((len(Z), 3), dtype=np.int64), np.empty((len(Z), 3))
        nearest_on_mesh(Z, self.W, units, self.first, self.around, self.triangles, self.edges, corners, weights)
        return corners, weights


def between(places: Array, corners: Array, weights: Array) -> Array:
    """Return the points that have these weights between these corners."""
    return np.einsum("nc,ncd->nd", weights, places[corners])
