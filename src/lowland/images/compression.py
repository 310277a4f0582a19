"""Compression of an image by its largest singular values, or by the principal components of its patches."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.message import Message, Setting
from ..core.show import show
from ..core.whole import is_whole
from ..spectral import Dense, singular
from . import codec
from .codec import BITS, Factors
from .noise import quiet_pca
from .patches import cut
from .stack import Images
from .stack import read as read_images

Array = Any


@dataclass(frozen=True, eq=False)
class Compressed:
    """An image, compressed.

    Attributes
    ----------
    original, image : arrays
        The image before and after: what `decompress` makes of ``data``.
    data : bytes
        All that is needed to rebuild the image.
    method : str
        "svd" (whole image) or "patches".
    components : int
        k of the whole image, for each colour; or of each patch.
    patch : int
        Side of a patch in pixels; 0 for the whole image.
    bits : int
        Bits of each number that is stored.
    peak : float
        White.
    """

    original: Array
    image: Array
    data: bytes
    method: str
    components: int
    patch: int
    bits: int
    peak: float

    def __repr__(self) -> str:
        return (
            f"Compressed({self.method}, {self.components} components, {self.n_bytes:,} bytes, ratio {self.ratio:.1f}, "
            f"error {self.error:.4g})"
        )

    @property
    def n_bytes(self) -> int:
        """Size of the compressed image: header, factors and everything else."""
        return len(self.data)

    @property
    def original_bytes(self) -> int:
        """Size of the image as plain pixels of its type; real numbers count as 1 byte each, as in an image file."""
        size = self.original.dtype.itemsize if self.original.dtype.kind in "iu" else 1
        return int(self.original.size * size)

    @property
    def ratio(self) -> float:
        """How many times smaller the compressed image is than its plain pixels."""
        return self.original_bytes / self.n_bytes

    @property
    def error(self) -> float:
        """Root mean square difference of the pixels, as a share of white."""
        off = (self.original.astype(np.float64) - self.image) / self.peak
        return float(np.sqrt(np.mean(off * off)))

    @property
    def psnr(self) -> float:
        """Peak signal-to-noise ratio, −20 log₁₀(error), in decibels."""
        return float("inf") if self.error == 0 else float(-20 * np.log10(self.error))

    def plot(self, **options: Any) -> Any:
        """Draw the image before and after, and the difference; return the matplotlib axes."""
        return show("compressed image", self, **options)


def compress(image: Any, components: int, *, patch: int | None = None, bits: int = 8) -> Compressed:
    """Compress an image to a few components.

    Whole image: X ≈ Σ_{i ≤ k} σ_i u_i v_iᵀ, the best of rank k (Eckart & Young 1936), for each colour by itself.
    Patches: the image is cut into squares of ``patch`` pixels a side, and each square becomes the mean and k
    principal components of all of them (Karhunen–Loève transform); neighbouring pixels are alike everywhere in an
    image, so this needs fewer numbers.

    Parameters
    ----------
    image : file, (height, width) or (height, width, 3) array
        Whole numbers are rounded and clipped again when the image is rebuilt.
    components : int
        k, from 1 to the shorter side (whole image) or the number of values of a patch.
    patch : int, optional
        Side of a patch, such as 8. Default: the whole image.
    bits : int
        8 or 16 bits for each number that is kept.

    Returns
    -------
    Compressed
        ``image``, ``error``, ``psnr``, ``n_bytes``, ``ratio`` and ``data``, the bytes themselves. The size counts all
        bytes that are needed to rebuild the image, components included; the error is that of the rebuilt image.

    Examples
    --------
    >>> import lowland
    >>> image = np.outer(np.arange(100), np.arange(100)) // 40
    >>> found = lowland.images.compress(image.astype(np.uint8), 1)
    >>> found.components, found.n_bytes < 300, found.error < 0.01
    (1, True, True)
    """
    given = one_image(image)
    pixels, peak = given.pixels[0], given.peak
    if bits not in BITS:
        raise DataError(Message(Setting("bits", bits), ": it must be 8 or 16"))
    side = max(pixels.shape[:2])
    if patch is not None and side < 2:
        raise DataError(
            Message(Setting("patch", patch), ": the image has one pixel, which cannot be cut; leave it out")
        )
    if patch is not None and (not is_whole(patch, 2) or patch > side):
        raise DataError(Message(Setting("patch", patch), f": it must be a whole number from 2 to {side}"))
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    most = min(pixels.shape[:2]) if patch is None else patch * patch * channels
    if not is_whole(components, 1) or components > most:
        what = "the shorter side of the image" if patch is None else "the values of a patch"
        raise DataError(
            Message(Setting("components", components), f": it must be a whole number from 1 to {most}, {what}")
        )
    whole = pixels.dtype.kind in "iu"
    values = pixels.astype(np.float64)
    pairs, mean = _of_whole(values, components) if patch is None else _of_patches(values, components, patch)
    data = codec.pack(Factors(pixels.shape, patch or 0, pairs, mean, peak, whole), bits)
    rebuilt = codec.decompress(data)
    method = "svd" if patch is None else "patches"
    return Compressed(pixels, rebuilt, data, method, components, patch or 0, bits, peak)


def one_image(image: Any) -> Images:
    """Return one image, (height, width) or (height, width, 3), with notes on what was done to it."""
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        if path.is_dir():
            raise DataError(f"{path} is a folder; compress takes one image: give a file")
        if not path.exists():
            raise DataError(f"{path}: no such file")
        image = read_images(path)
    if isinstance(image, Images):
        if len(image) != 1:
            raise DataError(f"compress takes one image; got {len(image)}: choose one with .take([0])")
        return image
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4)):
        raise DataError(
            f"one image is an array (height, width) or (height, width, 3); got the shape {pixels.shape}"
            + ("; for several images call compress for each" if pixels.ndim in (3, 4) else "")
        )
    found = read_images(pixels[None] if pixels.ndim == 3 else pixels[None, :, :, None])
    plain = found.pixels
    return replace(found, pixels=plain.astype(np.uint8) if plain.dtype.kind == "b" else _narrow(plain))


def _narrow(pixels: Array) -> Array:
    """Return whole numbers in the type of images that holds them, and real numbers as they are."""
    if pixels.dtype.kind not in "iu" or pixels.dtype in (np.uint8, np.uint16):
        return pixels
    low, high = int(pixels.min()), int(pixels.max())
    if low < 0 or high > 65535:
        raise DataError(f"an image of whole numbers has values from 0 to 65535; this one has {low} to {high}")
    return pixels.astype(np.uint8 if high <= 255 else np.uint16)


def _of_whole(values: Array, k: int) -> tuple[tuple[tuple[Array, Array], ...], None]:
    planes = [values] if values.ndim == 2 else [values[..., c] for c in range(values.shape[2])]
    pairs = []
    for plane in planes:
        found = singular(Dense(np.ascontiguousarray(plane)), k)
        root = np.sqrt(found.values)  # each factor carries half, so both are rounded alike
        pairs.append((found.left * root, (found.right * root).T))
    return tuple(pairs), None


def _of_patches(values: Array, k: int, side: int) -> tuple[tuple[tuple[Array, Array], ...], Array]:
    rows = cut(values, side)
    mean = rows.mean(axis=0)
    if len(rows) < 2 or not np.ptp(rows, axis=0).any():  # one patch, or all alike: the mean is the image
        return ((np.zeros((len(rows), k)), np.zeros((k, rows.shape[1]))),), mean
    count = min(k, len(rows), rows.shape[1])
    pca = quiet_pca(count, rows)  # of rank and of columns it need not warn: fewer numbers are kept, no more
    A, B = pca.transform(rows), np.asarray(pca.components_)
    if len(B) < k:  # patches of lower rank: the rest is zero, which costs next to nothing
        A, B = np.pad(A, [(0, 0), (0, k - A.shape[1])]), np.pad(B, [(0, k - len(B)), (0, 0)])
    return ((A, B),), np.asarray(pca.mean_)
