"""Files appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import LowlandError


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a new file beside ``path`` that takes its place when the block ends well, and vanishes if not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "a.txt")) as file:
    ...         _ = file.write(b"whole")
    ...     os.listdir(folder)
    ['a.txt']
    """
    target = Path(os.path.realpath(path))  # a link keeps pointing to the file that it names
    draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            if target.exists():
                os.chmod(draft, stat.S_IMODE(target.stat().st_mode))  # what was private stays so
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise LowlandError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
