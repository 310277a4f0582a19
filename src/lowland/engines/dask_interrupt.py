"""Ctrl-C on workers that a command starts: a terminal sends it to them, too, but the command ends them in order."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore it: Dask calls this in the main thread of each worker that preloads the module."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
