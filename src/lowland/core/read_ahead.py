"""Read-ahead: one thread takes the next items of an iterator while the caller works on an earlier one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar, cast

Item = TypeVar("Item")

_END: Any = object()


def ahead(make: Callable[[], Iterable[Item]], depth: int = 2) -> Iterator[Item]:
    """Yield the items of ``make()``, of which a thread takes up to ``depth`` before they are asked for.

    An error of the iterator is raised at its place in the order. When the caller stops early, the iterator is closed
    and the thread has ended before the generator is.

    >>> list(ahead(lambda: range(4)))
    [0, 1, 2, 3]
    """
    items = iter(make())
    pool = ThreadPoolExecutor(1, thread_name_prefix="lowland-read")
    waiting: deque[Future[Any]] = deque()
    try:
        while True:
            while len(waiting) < depth:
                waiting.append(pool.submit(next, items, _END))
            item = waiting.popleft().result()
            if item is _END:
                return
            waiting.append(pool.submit(next, items, _END))
            yield cast(Item, item)
            del item  # the caller may have dropped it: this frame must not hold it
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        close = getattr(items, "close", None)
        if close is not None:
            close()
