"""Subsampled randomised Hadamard transform: a random projection by additions, in n log n (Ailon, Chazelle 2009).

y = k^(−½) S H D x: D flips signs at random, the Hadamard matrix H spreads every row evenly over all entries, and S
keeps k of them. H needs a power of two, so zeros are appended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .random_maps import shared_scale

Array = Any

_DENSE_ENTRIES = 1 << 20  # entries of sparse rows that are written out at a time


def padded(d: int) -> int:
    """Return the power of two that d is lengthened to.

    >>> [padded(d) for d in (1, 2, 3, 1000)]
    [1, 2, 4, 1024]
    """
    return 1 << (d - 1).bit_length()


def draw(d: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the signs D of d columns and k places among the transform's entries, in ascending order."""
    signs = (2 * rng.integers(0, 2, d) - 1).astype(np.int8)
    return signs, np.sort(rng.choice(padded(d), k, replace=False))


def project(block: Array, signs: Array, places: Array) -> Array:
    """Return the rows k^(−½) S H D x; sparse rows are written out a few at a time."""
    from .hadamard_loops import sampled_rows

    m, d = block.shape
    out, scales = np.empty((m, len(places)), dtype=block.dtype), shared_scale(len(places))
    step = max(8, _DENSE_ENTRIES // d) if sp.issparse(block) else m
    for start in range(0, m, step):
        part = block[start : start + step]
        rows = np.ascontiguousarray(part.toarray() if sp.issparse(part) else part)
        sampled_rows(rows, signs, places, padded(d), *scales, out[start : start + step])
    return out


def matrix(signs: Array, places: Array) -> Array:
    """Return the matrix k^(−½) S H D of the transform, k × d."""
    shared = places[:, None] & np.arange(len(signs))
    return (1.0 - 2.0 * (np.bitwise_count(shared) & 1)) * signs * len(places) ** -0.5
