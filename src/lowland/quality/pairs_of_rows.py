"""The correlation of distances over the pairs of some rows, with an interval for a population of such rows.

Each row belongs to many pairs, so the jackknife leaves out a row with all pairs that begin or end at it. Rows that are
only ends of pairs (training rows, when new rows are measured) are not left out. Sampled pairs add variance of their
own. A sum over pairs has variance from its rows (A) and from each sampled pair (B); a pair with two ends that are left
out in turn is counted twice, which gives A + 2B. The jackknife over groups of such pairs gives B, which is subtracted
once.

The variance is that of Fisher's z = artanh r, because r itself is skewed near 1.
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
_ROWS_PER_FOLD = 20  # with fewer rows than this for each fold, every row is a fold


def correlation_over_rows(table: PairTable, rows: Array) -> Measure:
    """Return the correlation of δ and d over pairs that begin at some rows (ascending); NaN if undefined."""

    def fisher(sums: Array) -> float:
        if sums[COUNT] <= 2:  # a single pair, counted from both ends, has no correlation
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
    """Return sums over sampled pairs: of all, of those with an end in each fold, of groups with both ends in folds."""
    rng, n = table.fresh(), table.both.n
    count = BATCHES if len(rows) >= _ROWS_PER_FOLD * BATCHES else len(rows)
    fold = np.full(n, -1)
    if table.in_blocks:  # the other ends are sampled for whole blocks, which adds variance
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
