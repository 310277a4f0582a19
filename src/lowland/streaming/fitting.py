"""`fit`: a fit that reads a table in passes, and continues after an interruption."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from ..contract.reducer import Reducer
from ..core.errors import DataError
from ..data.scans.table_scan import TableScan
from ..rows.scan_rows import ScanRows
from .checkpoint import EVERY_SECONDS, Checkpoint, identity_of

Model = TypeVar("Model")


def fit(
    model: Model,
    rows: Any,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = EVERY_SECONDS,
) -> Model:
    """Fit a model; with a checkpoint, a fit that was interrupted continues where it was.

    Methods that add rows up in passes (PCA, TruncatedSVD, ICA and others) keep their sums and the
    number of rows in them in a folder. A second call with the same table, model and folder continues from there and
    gives the same bits as a fit that was not interrupted. Changed data, parameters or versions are refused. When the
    fit is complete, the files are removed.

    Parameters
    ----------
    model : Reducer
        It is fitted in place and returned.
    rows : scan or other rows
        The table; with a checkpoint a `lowland.data.scan` of a file.
    checkpoint : path
        A folder for the checkpoint; it is created.
    every : float
        Least number of seconds between two writes.

    Examples
    --------
    >>> import lowland, numpy as np, os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = os.path.join(folder.name, "rows.npy")
    >>> np.save(file, np.random.default_rng(0).normal(size=(1000, 4)))
    >>> model = lowland.fit(lowland.PCA(2), lowland.data.scan(file), checkpoint=os.path.join(folder.name, "state"))
    >>> model.components_.shape, os.listdir(folder.name)
    ((2, 4), ['rows.npy'])
    >>> folder.cleanup()
    """
    if checkpoint is None:
        model.fit(rows)  # type: ignore[attr-defined]
        return model
    kept = open_checkpoint(model, rows, checkpoint, every)
    run_with(model, rows, kept)
    kept.remove()
    return model


def open_checkpoint(model: Any, rows: Any, folder: str | os.PathLike[str], every: float = EVERY_SECONDS) -> Checkpoint:
    """Return the checkpoint of a fit; refuse one of another table or configuration."""
    if not isinstance(rows, TableScan):
        raise DataError(
            "a checkpoint recognises a table by its file; give a scan, lowland.data.scan(path), "
            f"instead of {type(rows).__name__}"
        )
    if not isinstance(model, Reducer):
        raise DataError(
            f"a checkpoint keeps the sums of one method, such as lowland.PCA(2); {type(model).__name__} is none: fit "
            "its steps first"
        )
    return Checkpoint(Path(folder), identity_of(rows, model), every)


def run_with(model: Any, rows: TableScan, kept: Checkpoint) -> None:
    """Fit a model on a table, with its sums kept."""
    source = ScanRows(rows)
    source.journal = kept
    model.fit(source)


# Methods whose fit reads rows in passes and holds sums or a map of a fixed size, never the table.
IN_PASSES = ("PCA", "TruncatedSVD", "ProbabilisticPCA", "ICA", "RandomProjection", "SOM", "FAMD")


def fits_in_passes(model: Any, rows: Any) -> bool:
    """Return whether a model is fitted to all rows in passes over the table, within the memory limit."""
    from ..contract.plan import plan
    from ..core.errors import MemoryLimitError

    if not isinstance(model, Reducer) or type(model).__name__ not in IN_PASSES:
        return False
    try:
        plan(model, rows).require()
    except MemoryLimitError:
        return False
    return True
