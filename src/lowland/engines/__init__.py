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

**Another engine** is one file with an `Engine` and a `Table`, and a row in `ENGINES`.
"""

from __future__ import annotations

import importlib
from typing import Any

from .engine import Engine, Piece, Table

# Packages whose tables have an engine, and the module of it; its function `open_table` returns a `Table`.
ENGINES = {"dask": "lowland.engines.dask_table"}


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


__all__ = ["ENGINES", "Engine", "Piece", "Table", "holds", "open_table"]
