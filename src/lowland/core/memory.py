"""Measured peak memory of a block of code."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_MIN_SAMPLED_BYTES = 32_000_000  # with less, a sampling thread would measure only noise


@dataclass
class Peak:
    """The growth of memory, set when the block ends; None if the system does not report it."""

    bytes: int | None = None


def resident(pid: int | None = None) -> int | None:
    """Return the resident memory of a process, by default this one, in bytes; None outside Linux."""
    try:
        with open(f"/proc/{'self' if pid is None else pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def release() -> None:
    """Return freed memory to the system, where the C library can.

    Else it stays with the process, and a large array cannot use it: after the search for neighbours in 80,000 × 50
    numbers these were 50 MB.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


@contextmanager
def watch(planned: int, every: float = 0.005) -> Iterator[Peak]:
    """Measure the peak growth of resident memory while the block runs.

    Large work is sampled by a thread, since resetting the kernel's high-water mark would disturb other observers;
    small work is measured at its end.
    """
    peak, before = Peak(), resident()
    if before is None:
        yield peak
        return
    highest, done = before, threading.Event()

    def sample() -> None:
        nonlocal highest
        while not done.wait(every):
            highest = max(highest, resident() or 0)

    thread = threading.Thread(target=sample, daemon=True) if planned >= _MIN_SAMPLED_BYTES else None
    if thread is not None:
        thread.start()
    try:
        yield peak
    finally:
        highest = max(highest, resident() or 0)
        done.set()
        if thread is not None:
            thread.join()
        peak.bytes = highest - before
