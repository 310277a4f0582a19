"""Scans of zarr arrays, by bands of chunks: the extra ``zarr``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...core.cost import check_allocation
from ...core.errors import DataError, MissingExtraError
from ...core.formatting import first_line
from ...core.message import Message, Setting
from ..arrayfiles import check_array
from .array_scan import ArrayScan
from .remote import is_url
from .table_scan import Array, ScanOptions, Span

_PREFERRED = ("X", "data")
_MARKERS = ("zarr.json", ".zarray", ".zgroup")


class ZarrScan(ArrayScan):
    """A 2-D zarr array, which is opened again for each pass."""

    _stamp_often = False

    def __init__(self, path: str, options: ScanOptions) -> None:
        self.path, self._storage = path, options.given.get("storage_options")
        array, self._name = self._open(options.given.get("array"))
        source = Path(path).name + (f", array {self._name!r}" if self._name else "")
        check_array(source, array.shape, array.dtype)
        super().__init__(source, array.shape[0], array.shape[1], array.dtype, options)
        self._chunk = int(array.chunks[0])
        self._first_stamp = self._stamp()

    def _open(self, name: str | None) -> tuple[Any, str]:
        zarr = _zarr()
        try:
            found = zarr.open(self.path, mode="r", storage_options=self._storage)
        except Exception as error:  # stores and codecs have errors of their own
            raise DataError(f"{self.path} is damaged or not a zarr array: {first_line(error)}") from error
        if not isinstance(found, zarr.Group):
            return found, ""
        arrays = dict(found.arrays())
        tables = [own for own, array in arrays.items() if len(array.shape) == 2]
        if name is None:
            name = next((own for own in _PREFERRED if own in tables), tables[0] if len(tables) == 1 else None)
        if name is None or name not in arrays:
            listed = "; ".join(f"{own}: {array.dtype} {array.shape}" for own, array in arrays.items()) or "nothing"
            raise DataError(Message(f"{self.path} contains {listed}; name one 2-D array with ", Setting("array")))
        return arrays[name], name

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which may have another working folder."""
        return {**vars(self), "path": self.path if is_url(self.path) else str(Path(self.path).absolute())}

    def missing_file(self) -> str | None:
        """Return the path if it does not exist here."""
        return None if is_url(self.path) or Path(self.path).exists() else self.path

    def spans(self, rows: int) -> list[Span]:
        """Return spans of whole chunks, so that each chunk is unpacked once."""
        return super().spans(self._chunk * max(1, rows // self._chunk))

    def _stamp(self) -> Any:
        """Return a digest of the description of the array, and of the sizes and times of its files if it is local."""
        array, _ = self._open(self._name or None)
        digest = hashlib.sha256(json.dumps(array.metadata.to_dict(), default=str, sort_keys=True).encode())
        for file in sorted(Path(self.path).rglob("*")) if Path(self.path).is_dir() else ():
            found = file.stat()
            digest.update(f"{file.name} {found.st_size} {found.st_mtime_ns}".encode())
        return digest.hexdigest()

    def unrecognised(self) -> str | None:
        """Return why the fingerprint may stay the same: chunks behind a URL are not looked at."""
        if not is_url(self.path):
            return None
        return "changes of a zarr array behind a URL are not noticed; copy the array to a disk first"

    def _identity(self) -> dict[str, Any]:
        rows = np.ascontiguousarray(next(self._read(0, 1)))
        ends = hashlib.sha256(rows.tobytes())
        ends.update(np.ascontiguousarray(next(self._read((self.n_rows or 1) - 1, 1))).tobytes())
        return {**super()._identity(), "stamp": self._first_stamp, "array": self._name, "ends": ends.hexdigest()}

    def _read(self, start: int, rows: int) -> Iterator[Array]:
        array, _ = self._open(self._name or None)
        assert self.n_rows is not None
        step = self._chunk * max(1, rows // self._chunk)
        check_allocation(
            step * self.width * self.kind.itemsize,
            f"{self.source}: {step} rows of chunks",
            "write the array with chunks of fewer rows",
        )
        while start < self.n_rows:
            stop = min(self.n_rows, (start // step + 1) * step)  # at the ends of chunks: each is unpacked once
            try:
                piece = np.asarray(array[start:stop])
            except Exception as error:  # stores and codecs have errors of their own
                raise DataError(f"{self.source}, rows {start} to {stop}: {first_line(error)}") from error
            yield piece
            start = stop


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise MissingExtraError('zarr arrays need the package zarr: pip install "lowland[zarr]"') from error
    return zarr


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a zarr array or group."""
    return path.is_dir() and (path.suffix == ".zarr" or any((path / marker).exists() for marker in _MARKERS))


def scan_zarr(path: str, options: ScanOptions) -> ZarrScan:
    """Open a zarr array, or one of a group."""
    return ZarrScan(path, options)
