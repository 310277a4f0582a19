"""The moments of one block of rows: its weight, its mean in two parts, its shifted rows or its sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import ScaleError
from .block import Block, require_finite
from .gram_sums import Scratch, subtract

Array = Any
# A mean in two parts, origin + offset: one number would round the offset if the origin is large.
Mean = tuple[Array, Array]
Part = tuple[int, float, Mean, Array]  # rows, weight, mean and summary of a block

_PILOT_ROWS = 64


def _pilot(rows: Array) -> Array:
    """Return a rough mean of the block, representable in its dtype; exact for constant columns."""
    xp = arrays.namespace(rows)
    sample = rows[:: max(1, rows.shape[0] // _PILOT_ROWS)]
    sample = np.ascontiguousarray(sample) if xp is np else sample  # sums must not depend on the layout
    middle = xp.mean(sample, axis=0)
    same = xp.min(sample, axis=0) == xp.max(sample, axis=0)
    return xp.where(same, sample[0, :], middle)


def triangle(Z: Array) -> Array:
    """Return the R of Z = QR; a matrix with fewer rows than columns is its own (trapezoidal) factor."""
    if Z.shape[0] <= Z.shape[1]:
        return Z + 0.0
    if arrays.is_foreign(Z):
        return arrays.namespace(Z).linalg.qr(Z, mode="reduced")[1]
    return np.linalg.qr(Z, mode="r")


def weight_root(block: Block, Z: Array) -> Array:
    """Return √w as a column, in the library and precision of Z."""
    return arrays.like(np.sqrt(np.asarray(block.weights))[:, None], Z, arrays.dtype_of(Z))


def difference(block: Block, shift: Array, scratch: Scratch) -> Array:
    """Return √w (x − shift) of a block, dense and in float64."""
    rows = block.rows.toarray() if sp.issparse(block.rows) else block.rows  # one block, never the table
    Z = subtract(rows, shift, scratch, np.float64)
    if block.weights is not None:
        Z *= weight_root(block, Z)
    return Z


def shifted(block: Block, scratch: Scratch, dtype: Any = None) -> tuple[int, float, Mean, Array, Array]:
    """Return rows, weight, mean (pilot + offset), Σ w (x − pilot) and √w (x − pilot); raise if not finite."""
    with np.errstate(all="ignore"):
        pilot = _pilot(block.rows)
        Z = subtract(block.rows, pilot, scratch, dtype)
        xp = arrays.namespace(Z)
        if block.weights is None:
            n, weight = Z.shape[0], float(Z.shape[0])
            factor = arrays.like(np.ones((1, n)), Z, arrays.dtype_of(Z))
        else:
            n, weight = int(np.count_nonzero(block.weights)), float(block.weights.sum())
            root = weight_root(block, Z)
            Z *= root
            factor = arrays.t(root)
        sums = arrays.cast(factor @ Z, np.float64)[0, :]
    if not bool(xp.all(xp.isfinite(sums))):
        require_finite(block)
        require_sums(sums, block)
    return n, weight, (arrays.cast(pilot, np.float64), sums / weight if weight else sums), sums, Z


def centered(block: Block, scratch: Scratch, dtype: Any = None) -> Part:
    """Return rows, weight, mean and √w (x − mean) of one block."""
    n, weight, mean, _, Z = shifted(block, scratch, dtype)
    offset = arrays.cast(mean[1], arrays.dtype_of(Z))
    Z -= offset if block.weights is None else weight_root(block, Z) * offset
    return n, weight, mean, Z


def require_sums(sums: Array, block: Block) -> Array:
    """Return the sums; raise `ScaleError` if they overflow."""
    if not bool(arrays.namespace(sums).all(arrays.namespace(sums).isfinite(sums))):
        raise ScaleError(
            f"sums of the rows from row {max(block.start, 0)} overflow {arrays.dtype_of(block.rows)}: "
            "divide the large columns by a constant"
        )
    return sums


def sparse_moments(block: Block) -> Part:
    """Return the moments of a sparse block; products skip its zeros."""
    n, weight, w, B, shift = _shifted_sparse(block)
    sums = np.asarray(B.T @ w)
    mean = sums / weight if weight else sums
    if block.weights is not None:
        B = sp.diags_array(np.sqrt(w), format="csr") @ B
    S = (B.T @ B).toarray()
    S -= mean[:, None] * sums[None, :]
    return n, weight, (shift, mean), S


def sparse_columns(block: Block) -> Part:
    """Return the sums and centred squares of a sparse block's columns."""
    n, weight, w, B, shift = _shifted_sparse(block)
    sums = np.asarray(B.T @ w)
    mean = sums / weight if weight else sums
    squares = np.asarray(B.power(2).T @ w) - mean * sums
    return n, weight, (shift, mean), squares.clip(0)


def _shifted_sparse(block: Block) -> tuple[int, float, Array, Any, Array]:
    """Return rows, weight, weights, the block and the shift of its columns.

    A column without zeros is shifted by its first value, as dense columns are by a pilot: a large mean then costs
    no digits, and a constant has no variance. In the others zeros keep the mean small beside the spread.
    """
    require_finite(block)
    B = block.rows.astype(np.float64)  # a copy: the shift is made in place
    B.sum_duplicates()
    full = np.bincount(B.indices, minlength=B.shape[1]) == B.shape[0]
    shift = np.zeros(B.shape[1])
    if full.any():  # rare for wide rows, for which these vectors are large
        shift[full] = B[[0], :].toarray().ravel()[full]
        B.data -= shift[B.indices]
    w = np.ones(B.shape[0]) if block.weights is None else np.asarray(block.weights)
    return int(np.count_nonzero(w)), float(w.sum()), w, B, shift
