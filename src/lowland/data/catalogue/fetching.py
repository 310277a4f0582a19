"""Files that are downloaded once, checked, and kept in a folder of this user."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...core.errors import DataError
from ...core.formatting import first_line, format_bytes
from ...core.settings import report_progress
from ..atomic import atomic_file
from .dataset import RemoteFile

_BYTES_AT_ONCE = 1 << 16
_LONGEST_SILENCE = 30.0  # seconds without an answer
_MAX_BYTES = 100_000_000  # of a file whose size is not known


def data_folder() -> Path:
    """Return the folder of downloaded files: ``LOWLAND_DATA``, else a folder of the system's cache.

    The cache is ``%LOCALAPPDATA%`` on Windows, ``~/Library/Caches`` on macOS, else ``$XDG_CACHE_HOME`` or ``~/.cache``.
    """
    chosen = os.environ.get("LOWLAND_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "lowland"


def fetch(file: RemoteFile, owner: str) -> Path:
    """Return the path of a file in the data folder; download it if it is not there.

    The checksum is verified each time. A download is stored completely or not at all; ``owner`` is the data set, for
    messages.
    """
    path = data_folder() / file.name
    if path.exists():
        _check_stored(path, file, owner)
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{owner}: the folder {path.parent} for downloaded data cannot be created ({error.strerror}); set the "
            "environment variable LOWLAND_DATA to a folder that can be written"
        ) from error
    digest = _hash(file.checksum)
    with atomic_file(path) as draft:
        for chunk in _download(file, owner, path):
            digest.update(chunk)
            draft.write(chunk)
        if _named(file.checksum, digest) != file.checksum:
            raise _refused(file, owner, path, f"what came has another checksum, {_named(file.checksum, digest)}")
    return path


def _download(file: RemoteFile, owner: str, path: Path) -> Iterator[bytes]:
    """Iterate over the bytes that the address answers; failures of the network become a DataError."""
    import urllib.request

    done = 0
    try:
        request = urllib.request.Request(file.address, headers={"User-Agent": "lowland"})
        with urllib.request.urlopen(request, timeout=_LONGEST_SILENCE) as answer:
            announced = answer.headers.get("Content-Length", "")
            total = int(announced) if announced.isdecimal() else file.size
            while chunk := answer.read(_BYTES_AT_ONCE):
                done += len(chunk)
                if done > (file.size or _MAX_BYTES):
                    raise _refused(file, owner, path, f"more than {format_bytes(file.size or _MAX_BYTES)} came")
                report_progress(f"downloading {file.name}", done, total)
                yield chunk
    except (OSError, http.client.HTTPException) as error:  # URLError and time-outs are OSErrors
        raise _refused(file, owner, path, _reason(error)) from error
    if total is not None and done < total:
        raise _refused(file, owner, path, f"the connection ended after {done:,} of {total:,} bytes")


def _check_stored(path: Path, file: RemoteFile, owner: str) -> None:
    digest = _hash(file.checksum)
    try:
        with path.open("rb") as stored:
            while chunk := stored.read(_BYTES_AT_ONCE):
                digest.update(chunk)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    if _named(file.checksum, digest) != file.checksum:
        raise DataError(
            f"{path} is damaged or another file than {owner} needs: its checksum is {_named(file.checksum, digest)}, "
            f"not {file.checksum}. Delete it; the next call downloads it from {file.address}"
        )


def _refused(file: RemoteFile, owner: str, path: Path, reason: str) -> DataError:
    return DataError(
        f"{owner}: {file.name} was not downloaded from {file.address} ({reason}). Nothing was stored. Without a "
        f"network, download it elsewhere and put it at {path}, or set LOWLAND_DATA to the folder that contains it; "
        f"its checksum must be {file.checksum}"
    )


def _reason(error: Exception) -> str:
    inner = getattr(error, "reason", None)  # of a URLError
    return str(inner) if isinstance(inner, str) else first_line(inner if isinstance(inner, Exception) else error)


def _hash(checksum: str) -> Any:
    return hashlib.new(checksum.partition(":")[0], usedforsecurity=False)


def _named(checksum: str, digest: Any) -> str:
    """Return a digest with the name of its algorithm, as in a `RemoteFile`."""
    return f"{checksum.partition(':')[0]}:{digest.hexdigest()}"
