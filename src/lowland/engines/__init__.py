"""Engines: where work on blocks of rows runs.

An `Engine` folds groups of pieces of rows, each group where its rows are, and yields the results in row order; a map is
a fold of groups of one. A `Table` cuts rows into pieces, and maps them to an output that stays where the rows are.
`local` works on the thread pool, `dask_engine` on the workers of a Dask cluster or on Dask's own scheduler.
Methods know none of them: they call `RowSource.map` and `Accumulator.update`.

**Order.** Pieces are whole blocks, blocks have a fixed size, and results are combined in row order, whatever the order
in which workers finish. Sums are merged by segments of 16 blocks. So the number of workers changes no bit of a result
for up to 1,024 columns. Wider sums are merged by longer segments, which differ from one array by rounding.

**Size.** Pieces are the chunks of the input with their edges moved down to whole blocks: at most a block of rows for
each chunk changes its place, and no task holds more rows than one chunk and one block. What travels beside them is the
work (once for each pass), the weights of the rows, and the results.

**Calls.** Work that keeps something on a worker, such as the process that fits candidates of a comparison, is called
there by `Calls`.

**Another engine** is one file with an `Engine` and a `Table`, and a row in `ENGINES`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.message import Message, Setting
from ..data.scans.table_scan import TableScan
from .calls import Calls, WorkerSide
from .engine import CollectionTable, Engine, FrameTable, Piece, ScanTable, Table, Watched

# Packages whose tables have an engine, and the module of it; its function `open_table` returns a `Table`.
ENGINES = {"dask": "lowland.engines.dask_table"}
# Packages whose tables may have columns of any type; the function `open_frames` returns a `CollectionTable`.
FRAMES = {"dask": "lowland.engines.dask_frames"}
# Engines whose workers can read files; the function `open_scan` returns a `ScanTable`.
SCANS = {"dask": "lowland.engines.dask_scan"}
# Engines whose workers can be called one by one; `open_calls` returns `Calls`, `worker_side` a `WorkerSide`.
CALLS = {"dask": "lowland.engines.dask_calls"}


def holds(X: Any) -> bool:
    """Return whether X is a table of an engine, without importing the package of the engine.

    >>> import numpy as np
    >>> holds(np.eye(2))
    False
    """
    return type(X).__module__.partition(".")[0] in ENGINES


def open_table(X: Any, numbers: Any) -> Table:
    """Return the rows of X as a `Table`; ``numbers`` converts a piece of a data frame to a 2-D array."""
    module = importlib.import_module(ENGINES[type(X).__module__.partition(".")[0]])
    table: Table = module.open_table(X, numbers)
    return table


def open_frames(X: Any) -> CollectionTable:
    """Return the rows of X as a `CollectionTable`, with columns of any type."""
    module = importlib.import_module(FRAMES[type(X).__module__.partition(".")[0]])
    table: CollectionTable = module.open_frames(X)
    return table


def open_scan(scan: TableScan, engine: str = "dask", rows: int | None = None) -> ScanTable:
    """Return the rows of a scanned file as a table whose parts of about ``rows`` rows are read by the workers."""
    if engine not in SCANS:
        raise ValueError(Message(Setting("engine"), f" must be one of {', '.join(SCANS)}; it is {engine!r}"))
    module = importlib.import_module(SCANS[engine])
    table: ScanTable = module.open_scan(scan, rows)
    return table


def open_calls(engine: str) -> Calls:
    """Return calls on chosen workers of the cluster that is current; raise if there is none."""
    calls: Calls = importlib.import_module(CALLS[engine]).open_calls()
    return calls


def worker_side(engine: str) -> WorkerSide:
    """Return the worker that runs this call."""
    worker: WorkerSide = importlib.import_module(CALLS[engine]).worker_side()
    return worker


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a Dask scheduler, or start worker processes here, and make that the current client meanwhile."""
    cluster = importlib.import_module(".dask_cluster", __package__)
    with cluster.connected(scheduler, workers) as client:
        yield client


__all__ = [
    "CALLS",
    "ENGINES",
    "Calls",
    "CollectionTable",
    "Engine",
    "FrameTable",
    "Piece",
    "ScanTable",
    "Table",
    "Watched",
    "WorkerSide",
    "connected",
    "holds",
    "open_calls",
    "open_frames",
    "open_scan",
    "open_table",
    "worker_side",
]
