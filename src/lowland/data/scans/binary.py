"""Scans of ``.npy`` files and of raw numbers: plain reads into new arrays, no memory mapping."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from ...core.errors import DataError
from ...core.formatting import first_line
from ...core.message import Message, Setting
from ..arrayfiles import check_array
from ..source import Source
from .array_scan import ArrayScan
from .files import digest_of, drop_behind, require_unpacked
from .table_scan import Array, ScanOptions, Span

_STRIP_BYTES = 1 << 25  # of rows taken at once from an array in Fortran order: its columns are read piece by piece
_DAMAGE = (ValueError, OSError, EOFError, TypeError, SyntaxError, OverflowError)


class BinaryScan(ArrayScan):
    """Numbers that lie in one file, row by row or (``fortran``) column by column, after ``offset`` bytes."""

    def __init__(
        self,
        file: Source,
        shape: tuple[int, int],
        kind: np.dtype[Any],
        offset: int,
        fortran: bool,
        options: ScanOptions,
    ) -> None:
        super().__init__(file.name, shape[0], shape[1], kind, options)
        self.file, self.offset, self.fortran = file, offset, fortran
        self._first_stamp, self._stamp_often = file.stamp(), not file.remote
        needed, size = offset + math.prod(shape) * kind.itemsize, file.stamp()[0]
        if size < needed:
            raise DataError(
                f"{file.name} is truncated: {shape[0]} × {shape[1]} numbers of {kind} take {needed} bytes, and it has "
                f"{size}; copy or write it again"
            )

    def _stamp(self) -> Any:
        return self.file.stamp()

    def _identity(self) -> dict[str, Any]:
        shape = {"rows": self.n_rows, "offset": self.offset, "fortran": self.fortran}
        return {**super()._identity(), **shape, **digest_of(self.file)}

    def spans(self, rows: int) -> list[Span]:
        """Return spans of rows; packed files are refused."""
        require_unpacked(self.file)
        return super().spans(rows)

    def _read(self, start: int, rows: int) -> Iterator[Array]:
        with self.file.open() as opened:
            yield from self._by_columns(opened, start) if self.fortran else self._by_rows(opened, start, rows)

    def _by_rows(self, opened: BinaryIO, start: int, rows: int) -> Iterator[Array]:
        assert self.n_rows is not None
        stop = self.n_rows
        opened.seek(self.offset + start * self.width * self.kind.itemsize)
        drop = drop_behind(opened, self.file)
        while start < stop:
            piece = np.empty((min(rows, stop - start), self.width), self.kind)
            self._fill(opened, piece)
            start += len(piece)
            drop()
            yield piece
            del piece

    def _by_columns(self, opened: BinaryIO, start: int) -> Iterator[Array]:
        assert self.n_rows is not None
        size, stop = self.kind.itemsize, self.n_rows
        rows = max(1, _STRIP_BYTES // (self.width * size))
        while start < stop:
            strip = np.empty((self.width, min(rows, stop - start)), self.kind)
            for j in range(self.width):
                opened.seek(self.offset + (j * self.n_rows + start) * size)
                self._fill(opened, strip[j])
            start += strip.shape[1]
            yield strip.T

    def _fill(self, opened: BinaryIO, piece: Array) -> None:
        """Read so many bytes as the array has."""
        view = memoryview(piece.reshape(-1).view(np.uint8))
        while view:
            count = opened.readinto(view)  # type: ignore[attr-defined]
            if not count:
                self._require_stamp(self._first_stamp, "while it was read")
                raise DataError(f"{self.source} is truncated: it ended before its last row; copy or write it again")
            view = view[count:]


def scan_npy(file: Source, options: ScanOptions) -> BinaryScan:
    """Open an ``.npy`` file."""
    try:
        with file.raw() as opened:
            version = np.lib.format.read_magic(opened)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, kind = read(opened)
            offset = opened.tell()
    except _DAMAGE as error:
        if "pickle" in str(error) or "Object arrays" in str(error):
            raise DataError(f"{file.name}: dtype object is stored as pickle; save plain numbers") from error
        raise DataError(f"{file.name} is damaged, truncated or not a .npy file: {first_line(error)}") from error
    check_array(file.name, shape, kind)
    n_rows, width = shape
    return BinaryScan(file, (n_rows, width), kind, offset, fortran and n_rows > 1, options)


def scan_raw(file: Source, options: ScanOptions) -> BinaryScan:
    """Open a file of numbers without a header: ``dtype`` and ``n_columns`` say what they are."""
    for name in ("dtype", "n_columns"):
        if options.given.get(name) is None:
            example = "float32" if name == "dtype" else 10
            raise DataError(
                Message(f"{file.name}: raw numbers need ", Setting(name), ", such as ", Setting(name, example))
            )
    try:
        kind = np.dtype(options.given["dtype"])
    except TypeError as error:
        raise DataError(f"dtype={options.given['dtype']!r} is not a type of NumPy: {first_line(error)}") from error
    width, offset = options.given["n_columns"], options.given.get("offset", 0)
    for name, value, least in (("n_columns", width, 1), ("offset", offset, 0)):
        if not isinstance(value, int | np.integer) or value < least:
            raise DataError(Message(Setting(name, value), f": it must be a whole number of at least {least}"))
    size = file.stamp()[0] - offset
    row = int(width) * kind.itemsize
    if size < 0 or size % row:
        raise DataError(
            Message(
                f"{file.name}: {max(0, size)} bytes are no whole number of rows of {width} × {kind} ({row} bytes); ",
                "correct ",
                *(Setting("dtype"), ", ", Setting("n_columns"), " or ", Setting("offset")),
            )
        )
    check_array(file.name, (size // row, int(width)), kind)
    return BinaryScan(file, (size // row, int(width)), kind, int(offset), False, options)
