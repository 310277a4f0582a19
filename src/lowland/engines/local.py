"""The engine of this process: the thread pool, and rows in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np

from ..core import arrays, thread_pool
from .engine import Array, Engine, Result, State


class LocalEngine(Engine):
    """Runs work on the thread pool."""

    def map(
        self,
        work: Callable[[Any], Result],
        pieces: Iterable[Any],
        *,
        stage: str | None = None,
        total: int | None = None,
        large: bool = False,
    ) -> Generator[Result, None, None]:
        """Apply ``work`` to each piece on the pool and yield the results in order."""
        yield from thread_pool.run(work, pieces, stage=stage, total=total)

    def fold(
        self, step: Callable[[State, Any], State], start: State, groups: Iterable[Sequence[Any]]
    ) -> Generator[State, None, None]:
        """Fold each group on one thread; yield the states in order.

        >>> list(LOCAL.fold(lambda total, number: total + number, 0, [[1, 2], [3]]))
        [3, 3]
        """
        yield from thread_pool.run(lambda group: functools.reduce(step, group, start), groups)

    def map_rows(
        self,
        work: Callable[[Any], Array],
        rows: Any,
        *,
        n_rows: int | None,
        width: int,
        dtype: Any,
        total: int | None = None,
    ) -> Array:
        """Apply row-wise work to blocks and join the results in memory."""
        parts = self.map(work, rows, stage="transform", total=total)
        if n_rows is None:
            found = list(parts)
            return arrays.namespace(*found).concat(found, axis=0)
        out = np.empty((n_rows, width), dtype=dtype)
        start = 0
        for part in parts:
            out[start : start + len(part)] = part
            start += len(part)
        return out


LOCAL = LocalEngine()
