"""What identifies a file (name, size, time of the last change, first and last bytes), and who can open it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any, BinaryIO

from ...core.errors import DataError
from ...core.settings import physical_memory
from ..source import Source

_END_BYTES = 1 << 16
_DROP_BYTES = 1 << 25


def digest_of(file: Source) -> dict[str, Any]:
    """Return the identity of a file as plain values; its bytes are read at both ends only."""
    stamp = file.stamp()
    digest = hashlib.sha256()
    with file.raw() as opened:
        digest.update(opened.read(_END_BYTES))
        opened.seek(max(0, int(stamp[0]) - _END_BYTES))
        digest.update(opened.read(_END_BYTES))
    return {"name": file.name, "stamp": list(stamp), "ends": digest.hexdigest()}


def require_unpacked(file: Source) -> None:
    """Raise where a file can be read only from its beginning, so that workers cannot share the reading."""
    if file.packing is not None:
        raise DataError(
            f"{file.name} is packed ({file.packing}) and can be read only from its beginning, so workers cannot share "
            "the reading; unpack it first, or write it as .parquet"
        )
    if file.path is None and not file.remote:
        raise DataError(f"{file.name} is not a file that workers can open; save it as a file first")


def drop_behind(opened: BinaryIO, file: Source) -> Callable[[], None]:
    """Return a function that removes the bytes read so far from the page cache if the file is larger than the memory.

    The next pass would not find them there anyway: the system would have removed them to store later ones, page by
    page, on the processors that the fit needs. A PCA of 36 GB took a tenth less time (24 GB of memory, 2 cores).
    """
    memory = physical_memory()
    if memory is None or not hasattr(os, "posix_fadvise") or file.path is None or file.packing is not None:
        return lambda: None
    if file.stamp()[0] <= memory:
        return lambda: None
    done = opened.tell()

    def drop() -> None:
        nonlocal done
        end = opened.tell()
        if end - done >= _DROP_BYTES:
            os.posix_fadvise(opened.fileno(), done, end - done, os.POSIX_FADV_DONTNEED)
            done = end

    return drop
