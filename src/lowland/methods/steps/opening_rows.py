"""Which tables are read in blocks by steps, and how."""

from __future__ import annotations

from typing import Any

from ... import engines
from ...data.scans.table_scan import TableScan
from ...rows.scan_rows import ScanRows
from ...rows.shared_scan import SharedScan
from .collection_rows import ChangedRows, CollectionRows
from .training_rows import ScannedRows, SharedRows, TrainingRows


def in_blocks(X: Any) -> TrainingRows | None:
    """Return a table that is read in blocks as training rows; None for other tables.

    >>> in_blocks([[1.0, 2.0]]) is None
    True
    """
    if isinstance(X, SharedScan):
        return SharedRows(X)
    if isinstance(X, ScanRows):
        return ScannedRows(X.scan, X.journal)
    if isinstance(X, TableScan):
        return ScannedRows(X)
    if isinstance(X, ChangedRows):
        return X.rows
    return CollectionRows(engines.open_frames(X)) if engines.holds(X) else None
