"""A compressed image as a string of bytes, and back: a header, and factors in whole numbers, deflated.

An image is m + A B: for the whole image A (height × k) and B (k × width), once for each colour, with m = 0; for patches
A (patches × k), B (k × pixels of a patch) and their mean m. Columns of A and rows of B are stored as whole numbers of
8 or 16 bits with one real factor each, then packed by zlib.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError
from .patches import join

Array = Any

BITS: dict[int, Any] = {8: np.int8, 16: np.int16}
_HEADER = struct.Struct("<4sBBBBIIIf")  # magic, bits, channels, whole numbers?, spare, height, width, patch, peak
_COUNT = struct.Struct("<I")
_MAGIC = b"LWI1"
_MAX_SIDE = 100_000


@dataclass(frozen=True, eq=False)
class Factors:
    """m + A B, for each colour (whole image) or once (patches): ``pairs`` are (A, B), ``mean`` is m or None.

    ``side`` is that of a patch, 0 for the whole image; ``whole`` says whether pixels are whole numbers from 0 to
    ``peak``.
    """

    shape: tuple[int, ...]
    side: int
    pairs: tuple[tuple[Array, Array], ...]
    mean: Array | None
    peak: float
    whole: bool

    def image(self) -> Array:
        """Return the image that the factors make, rounded and clipped to whole numbers if they were."""
        planes = [A @ B for A, B in self.pairs]
        if self.side:
            assert self.mean is not None
            out = join(planes[0] + self.mean, self.shape, self.side)
        else:
            out = planes[0] if len(self.shape) == 2 else np.stack(planes, axis=-1)
        if not self.whole:
            return out
        kind = np.uint8 if self.peak <= 255 else np.uint16
        return np.clip(np.rint(out), 0, self.peak).astype(kind)


def pack(factors: Factors, bits: int) -> bytes:
    """Return factors as bytes."""
    height, width = factors.shape[:2]
    channels = 1 if len(factors.shape) == 2 else factors.shape[2]
    k = factors.pairs[0][0].shape[1]
    head = _HEADER.pack(_MAGIC, bits, channels, factors.whole, 0, height, width, factors.side, factors.peak)
    parts = [] if factors.mean is None else [_quantized(factors.mean[None], bits)]
    for A, B in factors.pairs:
        parts += [_quantized(A.T, bits), _quantized(B, bits)]
    scales = b"".join(scale for scale, _ in parts)
    return head + _COUNT.pack(k) + zlib.compress(scales + b"".join(numbers for _, numbers in parts), 9)


def _quantized(vectors: Array, bits: int) -> tuple[bytes, bytes]:
    """Return vectors (rows) as one factor each and whole numbers."""
    most = float(np.iinfo(BITS[bits]).max)
    scale = (np.abs(vectors).max(axis=1) / most).astype("<f4")
    numbers = np.rint(vectors / np.where(scale > 0, scale, 1.0)[:, None]).clip(-most, most)
    return scale.tobytes(), numbers.astype(np.dtype(BITS[bits]).newbyteorder("<")).tobytes()


def decompress(data: bytes) -> Array:
    """Return the image of a string of bytes that `compress` wrote, as ``Compressed.data``.

    Examples
    --------
    >>> import lowland
    >>> image = np.outer(np.arange(40), np.arange(60)) % 256
    >>> small = lowland.images.compress(image.astype(np.uint8), 5)
    >>> bool((decompress(small.data) == small.image).all())
    True
    """
    try:
        return _unpacked(data).image()
    except (struct.error, zlib.error, ValueError, KeyError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"these bytes are damaged or not an image that Lowland compressed: {error}") from error


def _unpacked(data: bytes) -> Factors:
    magic, bits, channels, whole, _, height, width, side, peak = _HEADER.unpack_from(data)
    (k,) = _COUNT.unpack_from(data, _HEADER.size)
    shape: tuple[int, ...] = (height, width) if channels == 1 else (height, width, channels)
    right = magic == _MAGIC and bits in BITS and channels in (1, 3) and min(height, width) >= 1
    if not right or max(height, width, side) > _MAX_SIDE or not np.isfinite(peak):
        raise DataError("these bytes are not an image that Lowland compressed")
    pixels = side * side * channels
    patches = (-(-height // side) * -(-width // side)) if side else 0
    sizes = [(k, patches), (k, pixels)] if side else [(k, height), (k, width)] * channels
    sizes = [(1, pixels), *sizes] if side else sizes
    if k > max(min(height, width), pixels):
        raise DataError("these bytes are not an image that Lowland compressed: they have too many components")
    item = np.dtype(BITS[bits]).newbyteorder("<")
    expected = sum(4 * n + item.itemsize * n * m for n, m in sizes)
    check_allocation(8 * (height * width * channels + expected), "unpacking the image", "")
    raw = zlib.decompressobj().decompress(data[_HEADER.size + _COUNT.size :], expected + 1)
    if len(raw) != expected:
        raise DataError(f"these bytes are damaged: they unpack to {len(raw)} bytes instead of {expected}")
    scales = np.frombuffer(raw, "<f4", sum(n for n, _ in sizes)).astype(np.float64)
    numbers = np.frombuffer(raw, item, offset=4 * len(scales)).astype(np.float64)
    found, line, place = [], 0, 0
    for n, m in sizes:
        found.append(numbers[place : place + n * m].reshape(n, m) * scales[line : line + n, None])
        line, place = line + n, place + n * m
    mean = found.pop(0)[0] if side else None
    pairs = tuple((found[i].T, found[i + 1]) for i in range(0, len(found), 2))
    return Factors(shape, side, pairs, mean, float(peak), bool(whole))
