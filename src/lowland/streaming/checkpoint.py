"""Checkpoints: the sums of a fit and how many rows are in them, kept in a folder.

A checkpoint is one file with a digest: what identifies the table and the configuration, and the sums of each pass. It
is written under a new name, flushed to the disk and renamed, in turn over two names; the newer complete one counts. So
an interruption at any moment, also while it is written, leaves one from which the fit continues with the same bits. The
folder is locked while a fit uses it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..core.errors import DataError, LowlandError
from ..data.atomic import atomic_file
from ..data.scans.table_scan import TableScan
from ..rows.journal import Journal, Progress
from .folder_lock import FolderLock

_MAGIC = b"lowland checkpoint 1\n"
_NAMES = ("generation-0.checkpoint", "generation-1.checkpoint")
_MARK = "checkpoint-"  # of files that are being written
_DRAFT = re.compile(rf"\.{_MARK}[0-9a-f]{{16}}\.part")
EVERY_SECONDS = 20.0


class CheckpointError(DataError):
    """A checkpoint is of another table or configuration, or cannot be read."""


class Checkpoint(Journal):
    """The sums of a fit in a folder; ``identity`` is what they belong to, by names that messages show.

    ``every`` is the least number of seconds between two files. ``resumed_rows`` counts the rows that did not need to be
    read again.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], every: float = EVERY_SECONDS) -> None:
        self.folder, self.identity, self.every = folder, dict(identity), every
        self.resumed_rows = 0
        self._passes: list[tuple[str, Progress]] = []
        self._number, self._generation, self._last = -1, 0, time.monotonic()
        self._lock: FolderLock | None = None
        try:
            self._open()
        except CheckpointError:
            self.release()
            raise

    def _open(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self.folder}: cannot be used for checkpoints: {error.strerror}") from error
        try:
            self._lock = FolderLock(self.folder)
        except BlockingIOError as error:
            raise CheckpointError(
                f"{self.folder}: another fit uses this folder for its checkpoints; wait until it ends, or name another "
                "folder"
            ) from error
        for name in os.listdir(self.folder) if self._lock.held else ():
            if _DRAFT.fullmatch(name):  # of a run that was killed while it wrote
                (self.folder / name).unlink()
        files = [self.folder / name for name in _NAMES]
        there = [file for file in files if file.exists()]
        found = [record for file in there if (record := _read(file)) is not None]
        if there and not found:
            raise CheckpointError(
                f"{self.folder}: its checkpoints are damaged; remove the folder to start the fit again"
            )
        if not found:
            return
        newest = max(found, key=lambda record: int(record["generation"]))
        self._require_same(newest["identity"])
        self._generation = int(newest["generation"]) + 1
        self._passes = [
            (kind, Progress(int(rows), state, bool(ended))) for kind, rows, ended, state in newest["passes"]
        ]

    def _require_same(self, found: Mapping[str, Any]) -> None:
        now = json.loads(json.dumps(self.identity))
        changed = [name for name in {**now, **found} if now.get(name) != found.get(name)]
        if changed:
            name = changed[0]
            raise CheckpointError(
                f"{self.folder} has the checkpoint of another run: {name} was {_short(found.get(name))} and is "
                f"{_short(now.get(name))}; use another folder, or remove this one to start again"
            )

    # -- passes -------------------------------------------------------------------------------------------------------

    def begin(self, kind: str) -> Progress | None:
        """Begin the next pass and return what is known of it, or None."""
        self._number += 1
        if self._number < len(self._passes) and self._passes[self._number][0] == kind:
            progress = self._passes[self._number][1]
            self.resumed_rows += progress.rows
            return progress
        self._passes = [*self._passes[: self._number], (kind, Progress(0, {}))]
        return None

    def due(self) -> bool:
        """Return whether the last file is old enough."""
        return time.monotonic() - self._last >= self.every

    def keep(self, progress: Progress) -> None:
        """Write the sums of all passes so far; the older of the two files is replaced."""
        kind = self._passes[self._number][0]
        self._passes = [*self._passes[: self._number], (kind, progress)]
        record = {
            "generation": self._generation,
            "identity": self.identity,
            "passes": [[kind, p.rows, p.ended, p.state] for kind, p in self._passes if p.state],
        }
        with atomic_file(self.folder / _NAMES[self._generation % 2], _MARK) as file:
            for part in _packed(record):
                file.write(part)
        self._generation += 1
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the files, and the folder if nothing else is in it: the fit is complete."""
        for name in _NAMES:
            (self.folder / name).unlink(missing_ok=True)
        if not os.listdir(self.folder):
            self.folder.rmdir()
        self.release()

    def release(self) -> None:
        """Let another fit use the folder."""
        if self._lock is not None:
            self._lock.release()


def identity_of(scan: TableScan, model: Any, **more: Any) -> dict[str, Any]:
    """Return what a checkpoint belongs to: the table, the model with its parameters, and versions."""
    parameters = model.get_params(deep=True)
    told = {f"parameter {name}": _plain(value) for name, value in sorted(parameters.items())}
    versions = {"version of Lowland": __version__, "version of NumPy": np.__version__}
    table = {"table": scan.source, "content of the table": scan.fingerprint()}
    return {**table, "model": type(model).__name__, **told, **versions, **{k: _plain(v) for k, v in more.items()}}


def _plain(value: Any) -> Any:
    """Return a parameter as a text that differs when it does."""
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if hasattr(value, "get_params"):
        return type(value).__name__
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:24]}…{text[-8:]}"


# -- the file ---------------------------------------------------------------------------------------------------------


def _packed(record: dict[str, Any]) -> list[bytes]:
    """Return a record as bytes: a first line, a digest, the length of the header, the header, and the arrays."""
    arrays: list[np.ndarray] = []
    header = json.dumps(_without_arrays(record, arrays), allow_nan=True).encode()
    body = [len(header).to_bytes(8, "little"), header, *(np.ascontiguousarray(a).tobytes() for a in arrays)]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return [_MAGIC, digest.digest(), *body]


def _without_arrays(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"$array": [value.dtype.str, list(value.shape)]}
    if isinstance(value, dict):
        return {key: _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(item, arrays) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _read(path: Path) -> dict[str, Any] | None:
    """Return the record of a file, or None if it is damaged."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from error
    start = len(_MAGIC) + 32
    if not content.startswith(_MAGIC) or hashlib.sha256(content[start:]).digest() != content[len(_MAGIC) : start]:
        return None
    size = int.from_bytes(content[start : start + 8], "little")
    header, offset = json.loads(content[start + 8 : start + 8 + size]), [start + 8 + size]
    record = _with_arrays(header, content, offset)
    if not isinstance(record, dict):
        raise LowlandError(f"{path}: a checkpoint with an unknown header")
    return record


def _with_arrays(value: Any, content: bytes, offset: list[int]) -> Any:
    if isinstance(value, dict) and "$array" in value:
        code, shape = value["$array"]
        count = int(np.prod(shape, dtype=np.int64))
        found = np.frombuffer(content, np.dtype(code), count, offset[0]).reshape(shape).copy()
        offset[0] += found.nbytes
        return found
    if isinstance(value, dict):
        return {key: _with_arrays(item, content, offset) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, content, offset) for item in value]
    return value
