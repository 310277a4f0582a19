"""`fit`: a fit that reads a table in passes, and continues after an interruption."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any, TypeVar

from .. import engines
from ..contract.reducer import Reducer
from ..core.errors import DataError
from ..core.message import Message, Setting
from ..data.scans.table_scan import TableScan
from ..rows.scan_rows import ScanRows
from ..rows.shared_scan import SharedScan, read_by
from .chain import begins_in_passes, learn_before, learns_in_passes, steps_of
from .checkpoint import EVERY_SECONDS, Checkpoint, identity_of

Model = TypeVar("Model")


def fit(
    model: Model,
    rows: Any,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = EVERY_SECONDS,
    engine: str = "local",
) -> Model:
    """Fit a model; with a checkpoint, a fit that was interrupted continues where it was.

    Steps of a recipe and methods that add rows up in passes (PCA, TruncatedSVD, ICA and others) keep their sums and
    the number of rows in them in a folder. A second call with the same table, model and folder continues from there and
    gives the same bits as a fit that was not interrupted. Changed data, parameters or versions are refused. When the
    fit is complete, the files are removed.

    Parameters
    ----------
    model : Reducer or Pipeline
        It is fitted in place and returned. Of a table that is read in blocks, the coordinates between two methods of a
        Pipeline are computed again in each pass and never held.
    rows : scan or other rows
        The table; with a checkpoint a `lowland.data.scan` of a file. Scans of functions are refused then: that their
        blocks changed would not be noticed.
    checkpoint : path
        A folder for the checkpoint; it is created.
    every : float
        Least number of seconds between two writes.
    engine : {"local", "dask"}
        "dask": the workers of the current ``distributed.Client`` read the file of a scan and add its rows up; they see
        it under the same path. The checkpoint is kept by this process.

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
    rows = read_by(rows, engine, "fit")
    if checkpoint is None:
        _fit(model, rows)
        return model
    kept = open_checkpoint(model, rows, checkpoint, every)
    run_with(model, rows, kept)
    kept.remove()
    return model


def open_checkpoint(model: Any, rows: Any, folder: str | os.PathLike[str], every: float = EVERY_SECONDS) -> Checkpoint:
    """Return the checkpoint of a fit; refuse one of another table or configuration."""
    scan = rows.scan if isinstance(rows, SharedScan) else rows
    if not isinstance(scan, TableScan):
        workers = (", and ", Setting("engine", "dask"), " for its workers,") if engines.holds(rows) else ()
        known = "a checkpoint recognises a table by its file; give a scan, lowland.data.scan(path)"
        raise DataError(Message(known, *workers, f" instead of {type(rows).__name__}"))
    if (reason := scan.unrecognised()) is not None:
        raise DataError(f"a checkpoint cannot recognise {scan.source}: {reason}; or leave the checkpoint out")
    late = next((step for step in steps_of(model) if not learns_in_passes(step)), None)
    if late is not None:
        raise DataError(
            "a checkpoint keeps the sums of passes over the rows, as lowland.PCA(2) and the steps of a recipe make "
            f"them; {type(late).__name__} learns in another way: leave the checkpoint out"
        )
    # Segments of wide rows, and with them the rounding, are not those of this process.
    where = "local" if scan is rows else rows.engine_name
    return Checkpoint(Path(folder), identity_of(scan, model, engine=where), every)


def run_with(model: Any, rows: TableScan | SharedScan, kept: Checkpoint) -> None:
    """Fit a model on a table, with its sums kept; a fit that ends early leaves the folder to the next one."""
    try:
        source = ScanRows(rows) if isinstance(rows, TableScan) else copy.copy(rows)
        source.journal = kept
        _fit(model, source)
    except BaseException:
        kept.release()
        raise


def _fit(model: Any, rows: Any) -> None:
    if begins_in_passes(model, rows):
        steps_of(model)[-1].fit(learn_before(model, rows))
    else:
        model.fit(rows)


def fits_in_passes(model: Any, rows: Any) -> bool:
    """Return whether a model is fitted to all rows in passes over the table, within the memory limit.

    What a recipe makes of the columns is not known before the fit, so its memory is not looked at.
    """
    from ..contract.plan import plan
    from ..core.errors import MemoryLimitError

    if not all(map(learns_in_passes, steps_of(model))):
        return False
    if isinstance(model, Reducer):
        try:
            plan(model, rows).require()
        except MemoryLimitError:
            return False
    return True
