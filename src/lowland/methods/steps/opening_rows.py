"""Which tables are read in blocks by steps, and how."""

from __future__ import annotations

from typing import Any

from ... import engines
from ...data.scans.changed import ChangedScan
from ...data.scans.opening import is_text
from ...data.scans.table_scan import TableScan
from ...rows.scan_rows import ScanRows
from ...rows.shared_scan import SharedScan
from . import frames
from .collection_rows import ChangedRows, CollectionRows
from .training_rows import ScannedRows, SharedRows, TrainingRows


def in_blocks(X: Any) -> TrainingRows | None:
    """Return a table that is read in blocks as training rows; None for other tables.

    >>> in_blocks([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, SharedScan):
        return SharedRows(X.with_scan(_without_nan(X.scan)))
    if isinstance(X, ScanRows):
        return ScannedRows(_without_nan(X.scan), X.journal)
    if isinstance(X, TableScan):
        return ScannedRows(_without_nan(X))
    if isinstance(X, ChangedRows):
        return X.rows
    return CollectionRows(engines.open_frames(X)) if engines.holds(X) else None


def _without_nan(scan: TableScan) -> TableScan:
    """Return a scan with null for NaN, which steps take for missing; text has none, and changes leave none."""
    return scan if isinstance(scan, ChangedScan) or is_text(scan) else ChangedScan(scan, frames.without_nan)
