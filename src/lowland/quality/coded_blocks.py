"""Rows of a table that is read in blocks, as distances compare them: as FAMD codes them, or divided by deviations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core import arrays
from ..core.cost import DataShape
from ..data.scans.table_scan import TableScan
from ..rows.block import Block
from ..rows.mixed_rows import MixedRows, mixed_rows
from ..rows.moments import column_moments
from ..rows.row_source import RowSource
from ..rows.sampling import cut
from ..rows.scan_rows import ScanRows
from ..rows.units import fit_view, in_rows_units
from .spaces import FAMD, Metric, famd_axes

Array = Any


class ReblockedRows(RowSource):
    """The rows of a source after row-wise work, which gets blocks of the size that it has for an array in memory."""

    def __init__(self, source: RowSource, work: Callable[[Array], Array], width: int, dtype: Any) -> None:
        self._source, self._work = source, work
        self.n_rows, self.n_features, self.dtype = source.n_rows, width, np.dtype(dtype)

    @property
    def shape(self) -> DataShape:
        """Shape and type of the rows."""
        return DataShape(self.n_rows, self.n_features, self.dtype, blocks=True)

    def _blocks(self, size: int, first: int) -> Iterator[Block]:
        start = 0
        for rows in cut((self._work(block.rows) for block in self._source.blocks()), size):
            yield Block(start, rows, None)
            start += len(rows)


def coded_in_blocks(X: TableScan | ScanRows, metric: Metric) -> RowSource | None:
    """Return the rows of a table with categories in the metric of FAMD, fitted to all rows; None for another table."""
    if not isinstance(metric, str) or metric not in ("euclidean", FAMD):
        return None
    scan = X.scan if isinstance(X, ScanRows) else X
    if metric != FAMD and not (scan.has_names and isinstance(mixed_rows(scan), MixedRows)):
        return None
    model = famd_axes(scan)
    view = fit_view(model)
    source: RowSource = view._rows(scan, reset=False)
    source.n_rows = scan.count()
    work = view._row_map()

    def place(rows: Array) -> Array:
        places = arrays.to_numpy(arrays.cast(work(rows), source.dtype))
        return in_rows_units(model, places, "transform")

    return ReblockedRows(source, place, model.n_components_, source.dtype)


def divided(source: RowSource) -> RowSource:
    """Return rows divided by the standard deviation of each column, as the metric "seuclidean" compares them."""
    wide = ReblockedRows(source, lambda rows: rows.astype(np.float64), source.n_features, np.float64)
    wide.names = source.names
    found = column_moments(wide)
    variances = found.squares.clip(0) / (found.n_rows - 1)
    deviations = np.sqrt(np.where(variances > 0, variances, 1.0))
    out = ReblockedRows(source, lambda rows: rows / deviations, source.n_features, np.float64)
    out.names = source.names
    return out
