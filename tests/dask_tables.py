"""Dask arrays for tests, and the comparison of models bit by bit."""

from __future__ import annotations

import numpy as np

N, D = 70_000, 12  # 18 blocks: one whole segment, and a part of the next


def chunked(X, chunks=(9_999, 12)):
    """Return rows as a dask array of chunks that are no whole blocks."""
    import dask.array as da

    return da.from_array(X, chunks=chunks).map_blocks(np.positive, dtype=X.dtype)


def same_bits(one, other):
    """Compare all learned arrays and numbers of two models."""
    compared = 0
    for name in one._state:
        if name in vars(one):
            a, b = getattr(one, name), getattr(other, name)
            if isinstance(a, np.ndarray | float | int | list | tuple):
                assert np.array_equal(np.asarray(a), np.asarray(b)), name
                compared += 1
    assert compared >= 3
