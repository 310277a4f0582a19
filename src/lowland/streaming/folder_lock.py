"""A folder that one process uses at a time."""

from __future__ import annotations

import importlib
import os
import weakref
from pathlib import Path
from typing import Any

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None  # Windows has no locks of folders


class FolderLock:
    """A lock of the system on a folder; it ends with the process, also if that is killed.

    ``held`` is False where the system or the file system has no such locks. `BlockingIOError` says that another run
    holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.held = False
        if fcntl is None:
            return
        handle = os.open(folder, os.O_RDONLY)
        self._close = weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.held = True
        except BlockingIOError:
            self.release()
            raise
        except OSError:  # such as some network file systems
            self.release()

    def release(self) -> None:
        """Let other runs use the folder."""
        if fcntl is not None:
            self._close()
        self.held = False
