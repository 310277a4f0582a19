"""A second pass over the rows, which restores the precision that squaring lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..core import arrays
from ..rows.block import Block, block_rows
from ..rows.block_moments import difference
from ..rows.gram_sums import Scratch, symmetric_sum
from ..rows.row_source import RowSource
from . import dense
from .routes import Columns, back_to_columns, rank_tolerance
from .solve import fix_signs
from .solved import ComponentRule, Scaling, Solved

Array = Any

_EPS = float(np.finfo(np.float64).eps)


def second_pass(rows: RowSource, solved: Solved, wanted: ComponentRule, scaling: Scaling) -> Solved:
    """Whiten by the first result and sum the scatter again: it is near the identity, so squares lose no precision.

    As in Cholesky QR done twice (Yamamoto, Nakatsukasa, Yanagisawa, Fukaya 2015).
    """
    sigma = np.sqrt(solved.spectrum)
    floor = np.maximum(sigma, np.sqrt(len(sigma) * _EPS) * sigma[0])
    tolerance = max(  # the scatter of the whitened rows, and so the values below the floor, are accurate to √(len·eps)
        rank_tolerance(solved.n_rows, rows.n_features, rows.dtype), rank_tolerance(len(sigma), len(sigma), np.float64)
    )
    if solved.route == "gram":
        side = Columns(rows, solved, scaling)
        U = solved.left
        new, turn = _whitened(side.whitened(U / arrays.like(floor, U)[None, :]), floor)
        done = replace(solved, spectrum=new**2, tolerance=tolerance)
        return replace(back_to_columns(side.transposed_times, done, U @ turn, wanted), solver="dense, two passes")
    V = arrays.to_numpy(solved.vectors)
    W = V / floor[None, :] / (1.0 if solved.scale is None else solved.scale[:, None])
    mean = solved.mean if scaling.center else 0.0

    def prepare(block: Block, scratch: Scratch) -> Array:
        Z = difference(block, mean, scratch)
        return Z @ arrays.like(W, Z, np.float64)

    size, stage = block_rows(rows.n_features), "second pass"  # sparse blocks are made dense: use the dense size
    G = symmetric_sum(
        rows.blocks(size),
        prepare,
        len(floor),
        stage=stage,
        total=rows.block_count(),
        over=lambda work: rows.map(work, size, stage=stage),
    )
    new, turn = _whitened(G, floor)
    return replace(
        solved,
        spectrum=new**2,
        vectors=fix_signs(V @ arrays.to_numpy(turn)),
        tolerance=tolerance,
        solver="dense, two passes",
    )


def _whitened(G: Array, floor: Array) -> tuple[Array, Array]:
    """Return σ and the rotation of the basis from R = G^½ diag(floor)."""
    G = arrays.to_numpy(G)
    lam, Q = dense.eigh((G + G.T) / 2)
    _, sigma, Y = dense.svd((Q * np.sqrt(lam.clip(0))).T * floor[None, :])
    return sigma, Y
