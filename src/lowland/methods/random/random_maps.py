"""Random matrices that nearly keep distances, and rows times them: normal numbers, or a few signs in each column.

The third kind, random signs before a Hadamard transform, has a room of its own (`hadamard.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core import arrays, thread_pool
from ...core.cost import check_allocation

Array = Any

_DRAWN_PER_TASK = 1 << 20  # numbers that one task draws
_SPARING = 7.0  # ε·k over this is the number of entries that is enough, see `entries`
_LEAST_ENTRIES = 8  # entries of a column at least


def drawn(count: int) -> int:
    """Return how many of so many numbers one task draws."""
    return min(count, _DRAWN_PER_TASK)


def normal(d: int, k: int, dtype: Any, rng: np.random.Generator) -> Array:
    """Return a D × k matrix of normal numbers of variance 1/k, the same whatever the precision and the threads."""
    out, root = np.empty((d, k), dtype=dtype), int(rng.integers(2**63))
    step = max(1, _DRAWN_PER_TASK // k)

    def fill(start: int) -> None:
        part = out[start : start + step]
        np.multiply(
            np.random.default_rng([root, start]).standard_normal(part.shape), k**-0.5, out=part, casting="unsafe"
        )

    for _ in thread_pool.run(fill, range(0, d, step), stage="draw", total=-(-d // step)):
        pass
    return out


def times(block: Array, matrix: Array) -> Array:
    """Return the rows times a D × k matrix, in their precision and library."""
    if sp.issparse(block):
        return np.asarray(block @ matrix.astype(block.dtype, copy=False))
    return block @ arrays.like(matrix, block, arrays.dtype_of(block))


def entries(d: int, k: int, eps: float) -> int:
    """Return c, the entries that each of D columns has in k dimensions: max(⌈k/√D⌉, ⌈εk/7⌉, 8), and k at most.

    The first is the density of Li, Hastie, Church (2006), enough for rows that are spread over many columns. Rows of
    one entry each are among the hardest: their images share about c²/k places, and their squared distance is off by
    the sum of as many signs over c. By Chernoff's bound that passes ε with a chance below 2 exp(−ε²k·h(εk/c)),
    h(r) = (r·arsinh r − √(1 + r²) + 1)/r². The bound for normal numbers has ¼ − ε/6 in the place of h, and
    h(7) = 0.254: such rows are kept as well. For all rows c = Θ(εk) is enough (Kane, Nelson 2014); with fewer, images
    coincide. Eight keep them apart where ε is small.

    >>> entries(4000, 800, 0.1), entries(10**6, 299, 0.5), entries(10**6, 5, 0.1)
    (13, 22, 5)
    """
    return min(k, max(math.ceil(k / math.sqrt(d)), math.ceil(eps * k / _SPARING), _LEAST_ENTRIES))


def scattered(d: int, k: int, c: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return places and signs of c entries for each column, one in each of c equal stretches of the k dimensions.

    With as many entries in every column a row with one entry keeps its length exactly. Independent entries, of which a
    column has now more and now fewer, would not keep it.
    """
    edges = (np.arange(c + 1) * k // c).astype(np.int32)
    places, signs = np.empty((d, c), dtype=np.int32), np.empty((d, c), dtype=np.int8)
    root, step = int(rng.integers(2**63)), max(1, _DRAWN_PER_TASK // c)

    def fill(start: int) -> None:
        own, part = np.random.default_rng([root, start]), places[start : start + step]
        part[:] = own.integers(edges[:-1], edges[1:], size=part.shape, dtype=np.int32)
        np.subtract(2 * own.integers(0, 2, part.shape, dtype=np.int8), 1, out=signs[start : start + step])

    for _ in thread_pool.run(fill, range(0, d, step), stage="draw", total=-(-d // step)):
        pass
    return places, signs


def scatter(block: Array, places: Array, signs: Array, k: int) -> Array:
    """Return the rows c^(−½) A x, A having ±1 at the places of each column; the matrix itself is never made."""
    from .random_maps_loops import scattered_rows, scattered_sparse

    out, way = np.empty((block.shape[0], k), dtype=block.dtype), (places, signs, *shared_scale(places.shape[1]))
    if sp.issparse(block):
        scattered_sparse(block.data, block.indices, block.indptr, *way, out)
    else:
        scattered_rows(np.ascontiguousarray(block), *way, out)
    return out


def sparse_matrix(places: Array, signs: Array, k: int, dtype: Any) -> Array:
    """Return the k × D matrix that `scatter` applies."""
    d, c = places.shape
    check_allocation(32 * d * c, f"the {d * c} entries of the projection", "ask for fewer components")
    entries = (signs * c**-0.5).astype(dtype).ravel(), places.ravel(), np.arange(0, d * c + 1, c)
    return sp.csc_array(entries, shape=(k, d)).tocsr()


def shared_scale(count: int) -> tuple[float, float]:
    """Return n^(−½) as a power of two for before a sum and what is left for after it.

    Sums of large rows then stay numbers wherever the result is one, and the power of two rounds nothing.

    >>> shared_scale(16), shared_scale(3)[0] * shared_scale(3)[1] == 3**-0.5
    ((0.25, 1.0), True)
    """
    fraction, power = math.frexp(count**-0.5)
    return math.ldexp(1.0, power - 1), 2 * fraction
