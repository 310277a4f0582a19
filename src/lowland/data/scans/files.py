"""What identifies a file: name, size, time of the last change, first and last bytes."""

from __future__ import annotations

import hashlib
from typing import Any

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
