"""The cost of kernel PCA: memory and seconds of each stage, and the plan of a whole fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.cost import DataShape, Plan, dense_seconds, largest
from ...core.random import seed
from ...core.settings import threads
from ...pairs import distances
from ...pairs.kernels import MEDIAN_ROWS, SCALED
from ...pairs.pairwise import TILE
from ...pairs.sparse import compared_columns, sparse_bytes, stored_bytes, tile_bytes
from ...rows.row_source import block_rows
from ...spectral.krylov import sizes
from ...spectral.solve import DENSE_LIMIT
from ..shared.landmarks import Landmarks, candidates, memory_remedy
from ..shared.pair_units import CALL_SECONDS
from .kernel_fit import choose_landmarks, count_components
from .preimage import CENTERS, choose_preimage, ridge_bytes


def plan_kernel(model: Any, shape: DataShape, *, vectors: bool = True) -> Plan:
    """Return the plan of a fit; only rows of numbers, ``vectors``, have pre-images."""
    chosen = choose_landmarks(model, shape)
    preimages = choose_preimage(model.preimage, model.kernel, vectors=vectors and not model._pairwise) is not None
    n, d, size = shape.n_rows or 1, shape.n_features, shape.dtype.itemsize
    k = count_components(model, n, chosen)
    count = n if chosen is None else chosen.count
    if chosen is None:
        parts, flops = _cost_of_pairs(shape, k, given=model._pairwise)
        stages = [parts]
    else:
        choose, solve, flops = _cost_of_landmarks(shape, count)
        stages = [solve] if chosen.strategy == "uniform" else [choose, solve]
    width = k + (min(CENTERS, n // 2) if preimages and model.kernel != "linear" else 0)
    if model.kernel in SCALED and isinstance(model.gamma, str):
        stages.append({"rows for the median": _compared_bytes(shape, min(n, MEDIAN_ROWS))})
    if preimages:
        stages.append({"landmarks' rows": stored_bytes(shape, count), "pre-images": ridge_bytes(shape, width)})
        flops += 2.0 * n * width * (width + d)
    parts = largest(*stages) | {"embedding": n * k * (8 + size)}  # one stage follows another
    if shape.gathered and (chosen is None or model._pairwise):
        parts["rows in one array"] = shape.gathered
    calls = _calls(n, chosen) if callable(model.kernel) else 0.0
    anchors = 8 * count if model._pairwise else stored_bytes(shape, count)
    return Plan.of(
        "KernelPCA",
        "all pairs" if chosen is None else f"{count} landmarks ({chosen.strategy})",
        shape,
        parts,
        seconds=dense_seconds(flops, np.dtype(np.float64)) + calls * CALL_SECONDS,
        approximate=chosen is not None,
        model_bytes=count * 8 * (k + 2) + anchors + n * k * size + 8 * width * (k + d),
        remedy=memory_remedy(n, chosen),
    )


def _compared_bytes(shape: DataShape, m: int) -> int:
    """Return the bytes of m rows that a kernel compares: prepared for it in float64, and as a copy."""
    if shape.sparse:
        return stored_bytes(shape, m) + sparse_bytes(shape, m)
    return m * shape.n_features * (distances.row_bytes("euclidean", shape.dtype.itemsize) + shape.dtype.itemsize)


def _cost_of_pairs(shape: DataShape, k: int, *, given: bool) -> tuple[dict[str, int], float]:
    """Return the parts of memory of a solve over all pairs, and its arithmetic; ``given``: K is the data."""
    n = shape.n_rows or 1
    basis = sizes(k, n).basis + sizes(k, n).block
    whole = n <= DENSE_LIMIT or basis > n or 5 * k > n
    parts = {
        "kernel matrix": 0 if given and n > DENSE_LIMIT else n * n * (8 if n <= DENSE_LIMIT else shape.dtype.itemsize),
        "rows": 0 if given else _compared_bytes(shape, n),
    }
    parts |= largest(  # pairs are compared before the eigenproblem is solved
        {"eigenvectors": 8 * 5 * n * n if whole else 8 * n * (basis + 3 * k)},
        {"rows compared": 0 if given else tile_bytes(shape, n)},
    )
    solve = 12.0 * n**3 if whole else 4.0 * basis * n * (n + basis)
    return parts, n * n * (compared_columns(shape) + 20.0) + solve


def _cost_of_landmarks(shape: DataShape, count: int) -> tuple[dict[str, int], dict[str, int], float]:
    """Return the parts of memory of choosing landmarks, of the pass through them, and the arithmetic of both."""
    n, d = shape.n_rows or 1, shape.n_features
    tried = min(n, max(20_000, 20 * count))
    rows = min(n, block_rows(count + 1))
    among, prepared = tried * d * (16 + 2 * shape.dtype.itemsize), 16 * min(rows, TILE) * d * threads()
    if shape.sparse:
        among, prepared = 2 * stored_bytes(shape, tried) + sparse_bytes(shape, tried), sparse_bytes(shape, count)
    choose = {"candidates": tried * 8 * (count + count // 5) + among}
    solve = {
        "features of blocks": 8 * rows * (count + 1) * (5 * threads() + 2) + prepared,
        "landmarks' matrices": 8 * 6 * count * count,
    }
    columns = compared_columns(shape)
    flops = tried * count * (columns + count) + n * count * (2.0 * columns + 40.0 + 3.0 * count) + 12.0 * count**3
    return choose, solve, flops


def _calls(n: int, chosen: Landmarks | None) -> float:
    """Return how often a user's function of two objects is called; threads do not shorten that."""
    if chosen is None:
        return n * n / 2
    tried = 0 if chosen.strategy == "uniform" else len(candidates(n, chosen.count, seed(0)))
    return float(chosen.count * (tried + 2 * n))
