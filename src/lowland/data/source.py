"""`Source`: the bytes of a file, of standard input or of an open file, unpacked from gzip or Zstandard."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

from ..core import settings
from ..core.errors import DataError
from ..core.formatting import first_line, format_bytes

PACKED = {".gz": "gzip", ".zst": "zstd"}
_BYTES_AT_ONCE = 1 << 22
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class Source:
    """Where bytes come from: a file, or bytes in memory.

    ``name`` is used in messages; ``packing`` is None, ``"gzip"`` or ``"zstd"``. ``lines_before`` counts the lines
    of the file before these bytes, if they are a part of it.
    """

    name: str
    path: Path | None = None
    content: bytes | None = None
    packing: str | None = None
    lines_before: int = 0
    remote: ClassVar[bool] = False  # whether asking for the stamp takes long

    @classmethod
    def of(cls, path: Path) -> Source:
        """Return the source of a file; its suffix tells whether it is packed."""
        return cls(path.name, path, None, PACKED.get(path.suffix.lower()))

    @classmethod
    def in_memory(cls, content: bytes, name: str) -> Source:
        """Return the source of bytes; the first ones tell whether they are packed."""
        packing = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), None)
        return cls(name, None, content, packing)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which may have another working folder."""
        return {**vars(self), "path": None if self.path is None else self.path.absolute()}

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the bytes for reading, unpacked; errors of the system and damaged data become a DataError."""
        import pyarrow as pa

        try:
            if self.packing == "gzip":
                with self.raw() as raw, gzip.open(raw, "rb") as unpacked:
                    yield cast(BinaryIO, unpacked)
            elif self.packing == "zstd":
                with pa.CompressedInputStream(self._native(), "zstd") as unpacked:
                    yield cast(BinaryIO, unpacked)
            else:
                with self.raw() as plain:
                    yield plain
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise self._damaged(error) from error
        except OSError as error:
            if self.packing == "zstd" and not error.errno:
                raise self._damaged(error) from error
            raise DataError(f"{self.path or self.name}: cannot be read: {error.strerror or error}") from error

    def stamp(self) -> tuple[Any, ...]:
        """Return the size of the stored bytes, and what else changes with them."""
        if self.path is None:
            return (len(self.content or b""),)
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns

    def chunks(self) -> Iterator[bytes]:
        """Iterate over the unpacked bytes; what unpacks to more than the memory limit is refused."""
        n_bytes, most = 0, settings.memory_limit()
        with self.open() as file:
            while chunk := file.read(_BYTES_AT_ONCE):
                n_bytes += len(chunk)
                if self.packing is not None and n_bytes > most:
                    raise DataError(
                        f"{self.name} unpacks to more than the memory limit of {format_bytes(most)}; "
                        "unpack it and read a part of it"
                    )
                yield chunk

    def read(self) -> bytes:
        """Return all bytes, unpacked."""
        return b"".join(self.chunks())

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes, unpacked."""
        with self.open() as file:
            return file.read(n_bytes)

    def raw(self) -> BinaryIO:
        """Open the bytes as they are stored."""
        import io

        return io.BytesIO(self.content or b"") if self.path is None else self.path.open("rb")

    def for_arrow(self) -> Any:
        """Open the unpacked bytes as a file of Arrow.

        Arrow opens the file itself: if one of its threads still held a Python file when the process ends, the process
        would abort.
        """
        import pyarrow as pa

        return self._native() if self.packing is None else pa.CompressedInputStream(self._native(), self.packing)

    def _native(self) -> Any:
        import pyarrow as pa

        return pa.BufferReader(self.content or b"") if self.path is None else pa.OSFile(str(self.path))

    def _damaged(self, error: Exception) -> DataError:
        kind = "gzip" if self.packing == "gzip" else "Zstandard"
        return DataError(
            f"{self.name}: the {kind} data are damaged or truncated ({first_line(error)}); copy or download the file "
            "again"
        )
