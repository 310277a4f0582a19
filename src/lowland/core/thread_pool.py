"""The thread pool that all of Lowland shares.

Work is split into tasks that do not depend on the number of threads, each task runs BLAS on one thread, and results
are combined in order. The same input therefore gives the same bits on any number of threads, and the machine is not
oversubscribed.
"""

from __future__ import annotations

import functools
import operator
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from . import settings

Item = TypeVar("Item")
Result = TypeVar("Result")

_lock = threading.Lock()
_executors: dict[int, ThreadPoolExecutor] = {}
_inside = threading.local()
_controller: Any = None
_modules = 0  # number of modules loaded when the controller was created
_limit: Any = None
_limited = 0  # callers inside `one_blas_thread`
_ENTRIES_PER_TASK = 1 << 18  # entries of a matrix that one task multiplies


def _executor(size: int) -> ThreadPoolExecutor:
    with _lock:
        if size not in _executors:
            _executors.clear()  # not shut down: another caller may still be using the old one
            _executors[size] = ThreadPoolExecutor(size, thread_name_prefix="lowland")
        return _executors[size]


def _reset_after_fork() -> None:
    """Drop the parent's threads, which do not survive a fork, and its lock, which one of them may have held."""
    global _lock
    _lock = threading.Lock()
    _executors.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: its sums do not depend on the machine, and the pool does not oversubscribe it."""
    global _controller, _modules, _limit, _limited
    with _lock:  # the limit is process-wide: the first caller sets it, the last one to leave restores it
        if _limited == 0:
            if _modules != len(sys.modules):  # a newer one may have loaded another BLAS
                import scipy.linalg  # noqa: F401  (loads one)
                from threadpoolctl import ThreadpoolController

                _controller, _modules = ThreadpoolController(), len(sys.modules)
            _take_control()
            _limit = _controller.limit(limits=1, user_api="blas")
        _limited += 1
    try:
        yield
    finally:
        with _lock:
            _limited -= 1
            if _limited == 0:
                _take_control()  # the last caller may be in another thread than the first
                _limit.restore_original_limits()
                _take_control()  # release control for the next caller


def _take_control() -> None:
    """Let this thread set the number of BLAS threads.

    threadpoolctl 3.8 lets only the first thread that set it change the number of OpenBLAS threads, and silently ignores
    all others: a fit in another thread would then run BLAS on all cores, which sums in another order.
    """
    for library in _controller.lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@contextmanager
def serial() -> Iterator[None]:
    """Run work of this thread without the pool: another program has already given each task a thread."""
    before = getattr(_inside, "worker", False)
    _inside.worker = True
    try:
        with one_blas_thread():
            yield
    finally:
        _inside.worker = before


def run(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    stage: str | None = None,
    total: int | None = None,
) -> Iterator[Result]:
    """Apply ``work`` to each item on the pool and yield the results in order; at most two items per thread wait.

    With a ``stage`` the progress callback is called after each result and may cancel.

    >>> list(run(lambda i: i * i, range(4)))
    [0, 1, 4, 9]
    """
    size = settings.threads()
    with one_blas_thread():
        alone = isinstance(items, Sized) and len(items) < 2  # a thread would only add overhead
        if size == 1 or alone or getattr(_inside, "worker", False):
            source: Iterator[Result] = map(work, items)
        else:
            source = _in_order(_executor(size), work, items, 2 * size)
        for done, result in enumerate(source, start=1):
            if stage is not None:
                settings.report_progress(stage, done, total)
            yield result


def _in_order(
    executor: ThreadPoolExecutor, work: Callable[[Item], Result], items: Iterable[Item], ahead: int
) -> Iterator[Result]:
    def task(item: Item) -> Result:
        _inside.worker = True
        return work(item)

    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(executor.submit(task, item))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:  # after a failure, wait until no thread uses the caller's arrays
            future.cancel()
        for future in waiting:
            if not future.cancelled():
                future.exception()


def matmul(A: Any, B: Any) -> Any:
    """Return A @ B, by fixed panels of rows of A on the pool (NumPy; other libraries have their own threads).

    Wide panels are multiplied as (BᵀAᵀ)ᵀ: BLAS then runs along the rows of A, which was measured 1.5 times as fast with
    few columns in B. The result is then in Fortran order.
    """
    if not isinstance(A, np.ndarray) or not isinstance(B, np.ndarray) or A.size * B.shape[1] < 1 << 22:
        return A @ B
    n, wide, kind = A.shape[0], A.shape[1] > 64, np.result_type(A, B)
    step = max(256 if wide else 64, -(-_ENTRIES_PER_TASK // A.shape[1]))
    out = np.empty((B.shape[1], n), dtype=kind).T if wide else np.empty((n, B.shape[1]), dtype=kind)
    T = np.ascontiguousarray(B.T)

    def panel(start: int) -> None:
        rows = slice(start, start + step)
        if wide:
            np.matmul(T, A[rows].T, out=out.T[:, rows])
        else:
            np.matmul(A[rows], B, out=out[rows])

    for _ in run(panel, range(0, n, step)):
        pass
    return out


def tmatmul(A: Any, B: Any) -> Any:
    """Return Aᵀ @ B for tall A and B, by fixed panels of rows on the pool, summed in order."""
    if not isinstance(A, np.ndarray) or not isinstance(B, np.ndarray) or A.size * B.shape[1] < 1 << 22:
        return A.mT @ B
    n = A.shape[0]
    step = max(1024, -(-n // 16))

    def panel(start: int) -> Any:
        return A[start : start + step].T @ B[start : start + step]

    return functools.reduce(operator.add, run(panel, range(0, n, step)))
