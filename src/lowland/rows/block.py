"""Blocks of consecutive rows: their size, and the check for NaN and infinity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.errors import CellError
from ..core.message import Estimator, Message, Remedies

Array = Any

_BLOCK_ENTRIES = 1 << 22  # 32 MB in float64: large enough for BLAS, small beside the data
_MAX_ROWS = 4096
SEGMENT_BLOCKS = 16  # 65,536 rows of up to 1,024 columns: what one worker of a cluster sums and returns
_MIN_SPARSE_ROWS = 256  # sparse rows store few entries, and each block costs sums over all columns


class Block(NamedTuple):
    """Consecutive rows, the number of the first one, and their weights and column names, if any.

    ``place`` returns where a row is, such as a line of a file, for messages; ``beside`` are the rows of a further array
    that belong to them, where a pass has one.
    """

    start: int
    rows: Array
    weights: Array | None
    names: Sequence[str] | None = None
    place: Callable[[int], str] | None = None
    beside: Array | None = None


def block_rows(n_features: int, sparse: bool = False) -> int:
    """Return the fixed number of rows in a block. It depends only on the width, so that sums are reproducible.

    A dense block has at most 2²² entries, or one row. Blocks of sparse rows that stay sparse have at least 256 rows.
    """
    least = _MIN_SPARSE_ROWS if sparse else 1
    return int(min(_MAX_ROWS, max(least, _BLOCK_ENTRIES // max(1, n_features))))


def require_finite(block: Block, allow_nan: bool = False) -> None:
    """Raise a `CellError` if the block contains NaN or infinity."""
    values = block.rows.data if sp.issparse(block.rows) else block.rows
    xp = arrays.namespace(values)
    with np.errstate(all="ignore"):
        total = float(xp.sum(values))  # NaN and infinity survive a sum: one pass, no mask
    if np.isfinite(total):
        return
    bad = ~xp.isfinite(values) if not allow_nan else xp.isinf(values)
    found = np.flatnonzero(arrays.to_numpy(bad))
    if len(found) == 0:
        return
    if sp.issparse(block.rows):
        entry = int(found[0])
        row = int(np.searchsorted(block.rows.indptr, entry, side="right")) - 1
        column = int(block.rows.indices[entry])
    else:
        row, column = divmod(int(found[0]), block.rows.shape[1])
    value = arrays.to_numpy(values).ravel()[found[0]]
    what = "NaN" if np.isnan(value) else f"infinity ({value})"
    advice = Remedies("replace it", "leave the row out")
    if np.isnan(value):
        other = Message("use ", Estimator("ProbabilisticPCA"), ", which takes missing values")
        advice = Remedies("fill it", "leave the row out", other)
    name = None if block.names is None else block.names[column]
    where = None if block.place is None else block.place(row + block.start)
    raise CellError(what, advice, row=row + block.start, column=column, name=name, where=where)
