"""Where the points of a map begin: principal components, or eigenvectors of the graph."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...core.errors import SolveError
from ...graph.components import by_size
from ...graph.graph import starts
from ...rows.row_source import as_rows
from ...spectral.krylov import sizes
from ...spectral.operators import Sparse
from ...spectral.rowspace import decompose
from ...spectral.solve import DENSE_LIMIT, eigen, sign_of_columns
from ...spectral.solved import ComponentRule, Scaling
from ...spectral.walks import scaled

Array = Any

_START_TOLERANCE = 1e-4  # of eigenvectors that are only a start
_ROOM = 0.45  # half the width of a piece in its cell


def start_cost(n: int, d: int, init: str, edges: float) -> int:
    """Return the bytes that a start of n points takes beside the graph: eigenvectors need a Krylov basis, or a square.

    >>> start_cost(1_000_000, 2, "pca", 2e7) < start_cost(1_000_000, 2, "spectral", 2e7) // 10
    True
    """
    points = 4 * 8 * n * d
    if init != "spectral":
        return points
    if n <= DENSE_LIMIT:
        return points + 4 * 8 * n * n
    size = sizes(d, n)
    return points + 8 * n * (size.basis + 5 * size.block) + int(12 * edges)


def principal(points: Array, d: int, rng: np.random.Generator) -> Array:
    """Return the first principal components of rows; zeros where there are fewer.

    >>> Y = principal(np.array([[0.0, 3.0], [0.0, -3.0], [1.0, 0.0], [-1.0, 0.0]]), 2, np.random.default_rng(0))
    >>> np.abs(Y).round(12).tolist()
    [[3.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """
    rows = as_rows(points if sp.issparse(points) else np.ascontiguousarray(points))
    space = decompose(rows, ComponentRule(count=min(d, *points.shape)), Scaling(), rng=rng, want_left=True)
    if space.left is None:
        raise SolveError("the principal components of the rows came without coordinates")
    signs = sign_of_columns(space.directions)
    Y = space.left * (space.values * signs)
    return np.pad(Y.astype(np.float64), ((0, 0), (0, d - Y.shape[1])))


def spectral(W: Any, d: int, rng: np.random.Generator) -> Array:
    """Return the leading eigenvectors of D^(−½) W D^(−½) after the first; pieces of a graph in cells side by side.

    Of a path of four points the first one runs from end to end:

    >>> W = sp.csr_array(sp.diags_array([1.0, 1.0, 1.0], offsets=1, shape=(4, 4)))
    >>> y = spectral(W + W.T, 1, np.random.default_rng(0))[:, 0]
    >>> (np.sign(y) * np.sign(y[0])).tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    labels = by_size(sp.csgraph.connected_components(W, directed=False)[1])
    sizes = np.bincount(labels)
    if len(sizes) == 1:
        return _leading(W, d, rng)
    order = np.argsort(labels, kind="stable")
    blocks, bounds = W[order][:, order], starts(sizes)
    side = len(sizes) if d == 1 else math.ceil(math.sqrt(len(sizes)))
    Y = np.empty((len(labels), d))
    for c, (a, b) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        own = _leading(blocks[a:b, a:b], d, rng)
        own *= _ROOM * (sizes[c] / sizes[0]) ** (1 / d) / np.abs(own).max()
        own[:, : min(d, 2)] += np.array([c % side, c // side])[: min(d, 2)]
        Y[order[a:b]] = own
    return Y - (Y.max(axis=0) + Y.min(axis=0)) / 2


def _leading(W: Any, d: int, rng: np.random.Generator) -> Array:
    """Return eigenvectors of a connected component, to a loose tolerance; random where it has too few points."""
    if W.shape[0] < d + 2:
        return rng.uniform(-1, 1, (W.shape[0], d))
    D = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    S = Sparse(scaled(sp.csr_array(W, dtype=np.float64), 1 / np.sqrt(D)), symmetric=True)
    S.null = np.sqrt(D / D.sum())[:, None]
    return np.array(eigen(S, d, tol=_START_TOLERANCE, rng=rng).vectors)
