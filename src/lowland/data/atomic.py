"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..core.errors import WriteError


@contextmanager
def atomic_file(path: str | os.PathLike[str], mark: str = "") -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block ends, and is deleted if the block raises.

    ``mark`` begins the name of the temporary file, so that what a killed process left can be recognised.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "a.txt")) as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    target = Path(os.path.realpath(path))  # write through a symbolic link instead of replacing it
    draft = target.with_name(f".{mark}{secrets.token_hex(8)}.part")
    try:
        file = draft.open("xb")
        try:
            with file:
                yield file
                file.flush()
                if target.exists():
                    os.chmod(draft, stat.S_IMODE(target.stat().st_mode))  # keep the permissions
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            draft.unlink()
            raise
    except OSError as error:
        failure = WriteError(f"{os.fspath(path)}: cannot be written: {_reason(error, target)}")
        failure.errno = error.errno
        raise failure from error
    _sync_folder(target.parent)


def _reason(error: OSError, target: Path) -> str:
    if target.is_dir():
        return "it is a folder; give a file name"
    if not target.parent.is_dir():
        return f"folder {str(target.parent)!r} does not exist; create it first"
    return error.strerror or str(error)


def _sync_folder(folder: Path) -> None:
    """Flush the new name to disk; some systems cannot open folders, and then nothing is done."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
