"""The correlation of the distances from some rows, with the interval for other rows of the same kind.

A row is an end of many pairs: without it all of these are gone, those that begin at it and those that end there. So the
jackknife leaves out rows with both. Rows to which pairs only lead (those of a fit, beside new ones) stay as they are.
Drawn pairs vary by themselves, too. A sum over them varies with its rows (A), and with each pair (B). A pair with two
ends that are left out is seen twice: A + 2B. Leaving out groups of such pairs tells B, and once of it is taken off.

The spread is that of Fisher's z = artanh r: near 1 the correlation itself is skewed, and z is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.measure import Measure
from .intervals import of_parts
from .pair_values import pearson
from .pairs import ALL_SUMS, BATCHES, COUNT, PairTable, pair_sums

Array = Any

_LARGEST_CORRELATION = 1 - 2.0**-53  # the largest correlation with a finite z
_PAIRS_AT_ONCE = 20_000  # pairs drawn at a time
_EACH = 20  # rows in a fold: of fewer rows each is one, so that folds are much of a size


def correlation_over_rows(table: PairTable, rows: Array) -> Measure:
    """Return the correlation of δ and d over pairs that begin at some rows (ascending) and end at any; NaN: none."""

    def fisher(sums: Array) -> float:
        if sums[COUNT] <= 2:  # one pair, seen from both ends, tells nothing
            return np.nan
        return float(np.arctanh(np.clip(pearson(sums, table.pilot), -_LARGEST_CORRELATION, _LARGEST_CORRELATION)))

    if table.everything(ALL_SUMS):
        begin = table.all_sums[rows]
        end = begin if len(rows) == table.both.n else table.sums_between(rows, rows)
        whole, parts, twice, exact = begin.sum(axis=0), begin + end, None, True
    else:
        (whole, parts, twice), exact = _drawn(table, rows), False
    z = of_parts(parts, fisher, (-np.inf, np.inf), whole=whole, twice=twice, exact=exact)
    if np.isnan(z):
        return z
    value = pearson(whole, table.pilot)
    return Measure(value, min(value, float(np.tanh(z.low))), max(value, float(np.tanh(z.high))), exact=exact)


def _drawn(table: PairTable, rows: Array) -> tuple[Array, Array, Array]:
    """Return the sums of drawn pairs: of all, of those that touch each fold of rows, and of groups with two ends so."""
    rng, n = table.fresh(), table.both.n
    count = BATCHES if len(rows) >= _EACH * BATCHES else len(rows)
    fold = np.full(n, -1)
    if table.in_blocks:  # other ends are drawn for many pairs at once, and which they are is chance, too
        fold = rng.permutation(np.arange(n) % count)
    fold[rows] = rng.permutation(np.arange(len(rows)) % count)
    whole, touched, twice = np.zeros(9), np.zeros((count, 9)), np.zeros((count, 9))
    for (i, j), (delta, d) in table.draw(table.count, rows, rng, -(-table.count // _PAIRS_AT_ONCE)):
        sums = pair_sums(delta[:, None], d[:, None], table.pilot)
        one, other = fold[i], fold[j]
        double = other >= 0
        apart = double & (one != other)
        whole += sums.sum(axis=0)
        touched += _by_group(sums, one, count) + _by_group(sums[apart], other[apart], count)
        twice += _by_group(sums[double], (one + other)[double] % count, count)  # the same from either end
    return whole, touched, twice


def _by_group(sums: Array, group: Array, count: int) -> Array:
    """Return the sums of each group."""
    return np.stack([np.bincount(group, column, minlength=count) for column in sums.T], axis=1)
