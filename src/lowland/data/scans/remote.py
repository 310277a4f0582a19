"""Files behind URLs, through fsspec: the extra ``remote``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, BinaryIO, ClassVar, cast

from ...core.errors import DataError, MissingExtraError
from ...core.formatting import first_line
from ..source import PACKED, Source

_GLOB = "*?["
_CHANGES = (
    "mtime",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "updated",
    "ETag",
    "etag",
    "generation",
    "md5Hash",
    "created",
)


@dataclass(frozen=True)
class RemoteSource(Source):
    """A file of a file system of fsspec; ``storage`` are the options of the file system."""

    remote: ClassVar[bool] = True
    url: str = ""
    storage: Mapping[str, Any] = field(default_factory=dict)

    def raw(self) -> BinaryIO:
        """Open the bytes as they are stored."""
        if self.content is not None:
            return io.BytesIO(self.content)
        system, path = _system(self.url, self.storage)
        try:
            return cast(BinaryIO, system.open(path, "rb"))
        except OSError:
            raise
        except Exception as error:  # each file system has errors of its own
            raise OSError(f"{type(error).__name__}: {first_line(error)}") from error

    def stamp(self) -> tuple[Any, ...]:
        """Return the size, and what the file system says of the last change."""
        if self.content is not None:
            return (len(self.content),)
        system, path = _system(self.url, self.storage)
        system.invalidate_cache()
        found = system.info(path)
        return found["size"], *(str(found[key]) for key in _CHANGES if key in found)

    def _native(self) -> Any:
        import pyarrow as pa

        return pa.BufferReader(self.content) if self.content is not None else pa.PythonFile(self.raw(), mode="r")


def is_url(text: str) -> bool:
    """Return whether a text is a URL, and not a path.

    >>> is_url("s3://bucket/rows.npy"), is_url("rows.npy")
    (True, False)
    """
    return "://" in text


def remote_files(url: str, storage: Mapping[str, Any]) -> list[RemoteSource]:
    """Return the files of a URL: the file itself, those that a pattern matches, or those of a folder."""
    system, path = _system(url, storage)
    try:
        if any(sign in path for sign in _GLOB):
            paths = sorted(system.glob(path))
        elif system.isdir(path):
            paths = sorted(system.find(path))
        else:
            paths = [path]
        paths = [own for own in paths if system.isfile(own)]
    except Exception as error:  # each file system has errors of its own
        raise DataError(f"{url}: cannot be read: {first_line(error)}") from error
    if not paths:
        raise DataError(f"{url}: no such file")
    hidden = (".", "_")
    shown = [own for own in paths if len(paths) == 1 or not PurePosixPath(own).name.startswith(hidden)]
    return [_file(system.unstrip_protocol(own), storage) for own in shown]


def _file(url: str, storage: Mapping[str, Any]) -> RemoteSource:
    name = PurePosixPath(url).name
    return RemoteSource(name, packing=PACKED.get(PurePosixPath(name).suffix.lower()), url=url, storage=storage)


def _system(url: str, storage: Mapping[str, Any]) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise MissingExtraError(f'{url}: URLs need fsspec: pip install "lowland[remote]"') from error
    try:
        system, path = fsspec.core.url_to_fs(url, **storage)
    except ImportError as error:
        raise MissingExtraError(f"{url}: {first_line(error)}") from error
    except ValueError as error:
        raise DataError(f"{url}: {first_line(error)}") from error
    return system, path
