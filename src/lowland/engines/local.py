"""The engine of this process: the thread pool, and rows in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from ..core import thread_pool
from .engine import Engine, State


class LocalEngine(Engine):
    """Runs work on the thread pool."""

    def fold(
        self, step: Callable[[State, Any], State], start: State, groups: Iterable[Sequence[Any]], *, large: bool = False
    ) -> Generator[State, None, None]:
        """Fold each group on one thread; yield the states in order.

        >>> list(LOCAL.fold(lambda total, number: total + number, 0, [[1, 2], [3]]))
        [3, 3]
        """
        yield from thread_pool.run(lambda group: functools.reduce(step, group, start), groups)


LOCAL = LocalEngine()
