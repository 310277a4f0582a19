"""Scores s = −½‖zᵢ − zⱼ‖² of many pairs of rows by products in float32 or float64, and their error bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pairs.pairwise import tiles

Array = Any

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
UNIT = {SINGLE: 2.0**-24, DOUBLE: 2.0**-53}  # rounding
TINY = {SINGLE: 1e-37, DOUBLE: 1e-307}  # bounds the error of a product by underflow
TERMS = 512  # columns multiplied at a time: the rounding error grows with this number, not with the width
_PIVOTS = 256  # the most pivots, and so groups, that a split tries
_LONE = 1 / 64  # share of the points that may be in groups of k points or fewer


def fill(out: Array, shifted: Array, scale: float) -> Array:
    """Write rows z, 1, −½‖z‖² with z = shifted/scale; return ‖z‖."""
    with np.errstate(all="ignore"):  # new rows may be very large; those are searched without products
        out[:, :-2] = shifted / scale
        z = out[:, :-2].astype(np.float64)
        squares = np.einsum("ij,ij->i", z, z)
        out[:, -2], out[:, -1] = 1.0, -0.5 * squares
    return np.sqrt(squares)


def tail(rows: Array) -> Array:
    """Return the last columns of rows z, 1, −½‖z‖² with the last two exchanged, as the left side of a product."""
    out = rows[:, _last(rows.shape[1] - 2) :].copy()
    out[:, -2], out[:, -1] = out[:, -1].copy(), 1.0
    return out


def products(left: Array, end: Array, right: Array, out: Array, room: Array | None) -> None:
    """Write the scores of rows; ``end`` is their `tail`, ``room`` holds the product of one part of wide rows.

    The products of each `TERMS` columns are added in turn, so a sum is rounded about TERMS + D/TERMS times.
    """
    last = right.shape[1] - end.shape[1]
    np.matmul(end, right[:, last:].T, out=out)
    for part in tiles(last, TERMS):
        np.matmul(left[:, part], right[:, part].T, out=room)
        out += room


def is_wide(width: int) -> bool:
    """Return whether rows of this width are multiplied in several parts."""
    return _last(width) > 0


def _last(width: int) -> int:
    """Return where the last part of the columns begins."""
    return max(0, width - 1) // TERMS * TERMS


def error(kind: np.dtype[Any], width: int, reach: Array) -> Array:
    """Return a bound on the error of a score for ‖zᵢ‖ + ‖zⱼ‖ ≤ reach, not including the rounding of z itself.

    Sums of m rounded terms err by γ·½(‖zᵢ‖ + ‖zⱼ‖)², γ = mu/(1 − mu) (Higham 2002, section 3.1). A part of the columns
    has `TERMS` terms and two more, each part adds one, and −½‖z‖² is rounded. In float64 the sums ‖z‖² err as well, by
    as many terms as there are columns.
    """
    terms = min(width, TERMS) + -(-width // TERMS) + 4
    if kind == DOUBLE:
        terms += width + 4
    unit = UNIT[kind]
    return terms * (unit / max(1 - terms * unit, unit) * reach**2 / 2 + TINY[kind])


def split(rows: Array, k: int) -> list[Array]:
    """Return groups of points (rows z, 1, −½‖z‖² in float32) such that the k nearest of each lie in its own group.

    Pivots are chosen one by one, each the farthest point from the earlier ones, until they are more than 4ρ apart,
    where ρ is the largest distance of a point from its nearest pivot. The points of a pivot's cell are then within 2ρ
    of each other and more than 2ρ from all other cells. Rounding is included: ρ is an upper bound, the distances
    between pivots are lower bounds. If there are no such pivots, or too many points are in cells of k points or fewer,
    all points are one group.
    """
    n, width = rows.shape
    u = UNIT[SINGLE]
    error = (width + 2) * u / (1 - (width + 2) * u) * 2 * 1.01  # no ‖z‖ is above 1, up to rounding
    moved = 4.1 * u
    pivots = [0]
    nearest, cell = np.full(n, np.inf), np.zeros(n, dtype=np.int32)
    apart = np.inf
    while True:
        pivot = rows[pivots[-1]].copy()
        pivot[-2], pivot[-1] = pivot[-1], 1.0
        half = -(rows @ pivot).astype(np.float64)
        if len(pivots) > 1:
            apart = min(apart, float(half[pivots[:-1]].min()))
        closer = half < nearest
        nearest[closer], cell[closer] = half[closer], len(pivots) - 1
        farthest = int(nearest.argmax())
        radius = np.sqrt(2 * max(0.0, nearest[farthest] + error)) + moved
        if len(pivots) > 1 and np.sqrt(2 * max(0.0, apart - error)) - moved > 4.01 * radius:
            break
        if len(pivots) == min(_PIVOTS, n // 64):
            return [np.arange(n)]
        pivots.append(farthest)
    counts = np.bincount(cell, minlength=len(pivots))
    if counts[counts <= k].sum() > _LONE * n:
        return [np.arange(n)]
    return np.split(np.argsort(cell, kind="stable"), np.cumsum(counts)[:-1])
