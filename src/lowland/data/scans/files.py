"""What identifies a file (name, size, time of the last change, first and last bytes), and who can open it."""

from __future__ import annotations

import hashlib
from typing import Any

from ...core.errors import DataError
from ..source import Source

_END_BYTES = 1 << 16


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
