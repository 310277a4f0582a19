"""Images of one size: from folders, files and arrays of any shape that can hold images."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.message import Message, Setting
from ..data.arraytable import ArrayTable
from ..data.options import OptionError
from ..data.table import Table

Array = Any

_COLOURS = (1, 2, 3, 4)  # channels: grey, grey and alpha, colours, colours and alpha
_SHAPES = Message("(n, height, width), (n, height, width, 3), or rows of pixels with ", Setting("image_shape"))


@dataclass(frozen=True, eq=False)
class Images:
    """Images of one size.

    Attributes
    ----------
    pixels : array (n, height, width) or (n, height, width, 3)
        Grey values or red, green and blue, in the type and units they came in.
    names : tuple of str
        The file of each image, or its number.
    folders : tuple of str or None
        The folder of each image below the one that was read: the name of a person or class; None if there are none.
    notes : tuple of str
        What was done on reading: images that were resized, transparent ones, 16 bits.
    peak : float
        White: 255 or 65535 by the type; of real numbers 1, 255 or the largest value.
    """

    pixels: Array
    names: tuple[str, ...]
    folders: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    peak: float = 255.0

    def __len__(self) -> int:
        return len(self.pixels)

    def __repr__(self) -> str:
        height, width = self.shape[:2]
        return f"Images({len(self)} {'grey' if self.grey else 'colour'}, {width} × {height} pixels)"

    @property
    def shape(self) -> tuple[int, ...]:
        """(height, width) or (height, width, 3)."""
        return tuple(int(side) for side in self.pixels.shape[1:])

    @property
    def grey(self) -> bool:
        """Whether the images have no colours."""
        return bool(self.pixels.ndim == 3)

    def rows(self) -> Array:
        """Return the images as rows of real numbers, (n, pixels): float32, or float64 if they were."""
        kind = self.pixels.dtype if self.pixels.dtype in (np.float32, np.float64) else np.float32
        if self.pixels.dtype.kind in "iu" and self.pixels.dtype.itemsize > 2:
            kind = np.float64  # more digits than float32 has
        return np.ascontiguousarray(self.pixels.reshape(len(self), -1), dtype=kind)

    def take(self, chosen: Sequence[int]) -> Images:
        """Return some of the images, by their numbers."""
        folders = None if self.folders is None else tuple(self.folders[i] for i in chosen)
        return replace(
            self, pixels=self.pixels[list(chosen)], names=tuple(self.names[i] for i in chosen), folders=folders
        )


def read(
    source: Any,
    *,
    image_size: tuple[int, int] | str | None = None,
    image_mode: str | None = None,
    image_shape: tuple[int, ...] | None = None,
) -> Images:
    """Read images and bring them to one size.

    Parameters
    ----------
    source : folder, pattern, image file, array, list of arrays, or table
        Arrays are (n, height, width), (n, height, width, channels), or rows of pixels, (n, pixels). A fourth channel is
        transparency, and the image is laid over white.
    image_size : (width, height) or "common"
        Size of the result. Default: the most frequent size; a note says how many images were resized.
    image_mode : "grey" or "colour"
        Default: grey if all images are.
    image_shape : (height, width) or (height, width, 3)
        How the pixels of a row form an image. Default: a square, if their number is one.

    Examples
    --------
    >>> import numpy as np
    >>> read(np.zeros((5, 64, 48, 3), dtype=np.uint8), image_mode="grey")
    Images(5 grey, 48 × 64 pixels)
    """
    if isinstance(source, Images):
        return _in_mode(_in_size(source, image_size), image_mode)
    if isinstance(source, (str | os.PathLike, Table)):
        return _from_table(source, image_size, image_mode, image_shape)
    found = _from_list(source, image_shape) if isinstance(source, list | tuple) else _from_array(source, image_shape)
    return _in_mode(_in_size(found, image_size), image_mode)


def _from_table(source: Any, size: Any, mode: str | None, shape: tuple[int, ...] | None) -> Images:
    from ..data.reading import read as read_table

    table = source
    if not isinstance(source, Table):
        from ..data.formats import IMAGES

        path = Path(source)
        pictures = path.is_dir() or not path.exists() or path.suffix.lower() not in (".npy", ".npz")
        if path.is_file() and pictures and not path.name.lower().endswith(IMAGES):
            raise DataError(Message(f"{path} is neither a folder nor a file of images: ", _readable()))
        options: dict[str, Any] = {"image_size": size or "common", "image_mode": mode} if pictures else {}
        try:
            table = read_table(path, **({"format": "images"} if path.is_dir() else {}), **options)
        except OptionError as error:  # the format takes no options of images
            if not pictures or path.is_dir():
                raise
            raise DataError(Message(f"{path} is neither a folder nor a file of images: ", _readable())) from error
    if not isinstance(table, ArrayTable):
        raise DataError(Message(f"{table.source} is a table of columns, not of images: ", _readable()))
    known = table.image_shape or shape
    found = _from_array(table.array, known, table.source)
    if table.image_shape is not None:
        folders = [str(name) for name in table.column("folder").to_list()]
        names = tuple(str(name) for name in table.column("file").to_list())
        return replace(found, names=names, folders=tuple(folders) if any(folders) else None, notes=table.notes)
    return _in_mode(_in_size(found, size), mode)


def _readable() -> Message:
    from ..data.formats import IMAGES

    return Message(f"give a folder of {' '.join(IMAGES[:3])} … files, or an array ", _SHAPES)


def _from_list(items: Sequence[Any], shape: tuple[int, ...] | None) -> Images:
    """Return a list of arrays, of any sizes; a list of numbers is an array."""
    if not items:
        raise DataError("there are no images: the list is empty")
    if any(isinstance(item, str | os.PathLike) for item in items):
        from ..data.imagefiles import read_image

        items = [read_image(Path(item)) if isinstance(item, str | os.PathLike) else item for item in items]
    arrays = [np.asarray(item) for item in items]
    if arrays[0].ndim < 2 or len({array.shape for array in arrays}) == 1:
        return _from_array(_stacked(items), shape)
    singles = [_from_array(array[None], None, f"image {i}") for i, array in enumerate(arrays)]
    sizes = Counter(one.shape[:2] for one in singles)
    height, width = min(sizes.items(), key=lambda item: (-item[1], item[0][0] * item[0][1], item[0]))[0]
    grey = all(one.grey for one in singles)
    alike = [_in_mode(_in_size(one, (width, height)), "grey" if grey else "colour") for one in singles]
    changed = sum(one.shape[:2] != (height, width) for one in singles)
    notes = (f"{changed} of {len(singles)} resized to {width} × {height} pixels",) if changed else ()
    pixels = np.concatenate([one.pixels for one in alike])
    return Images(pixels, _numbers(len(pixels)), notes=notes, peak=max(one.peak for one in alike))


def _stacked(items: Sequence[Any]) -> Array:
    try:
        return np.asarray(items)
    except ValueError as error:
        raise DataError(Message("the list is not one of images: give ", _SHAPES)) from error


def _from_array(array: Any, shape: tuple[int, ...] | None, source: str = "the array") -> Images:
    if hasattr(array, "detach"):  # torch
        array = array.detach().cpu().numpy()
    pixels = np.asarray(array)
    if pixels.dtype.kind not in "biuf":
        raise DataError(
            Message(f"{source} holds {pixels.dtype} values, and images are made of numbers: give ", _SHAPES)
        )
    if pixels.dtype == np.float16:
        pixels = pixels.astype(np.float32)
    if pixels.ndim == 2:
        pixels = pixels.reshape(len(pixels), *_shape_of_rows(pixels.shape[1], shape, source))
    if pixels.ndim == 3 and pixels.shape[2] in (3, 4) and min(pixels.shape[:2]) > 4 and shape is None:
        which = f"{source} has the shape {pixels.shape}, which is one colour image; several are "
        raise DataError(Message(which, _SHAPES, ". For one image give array[None]"))
    if pixels.ndim not in (3, 4) or (pixels.ndim == 4 and pixels.shape[3] not in _COLOURS):
        raise DataError(Message(f"{source} has the shape {pixels.shape}; images are ", _SHAPES))
    if pixels.size == 0:
        raise DataError(f"{source} has the shape {pixels.shape}: there are no images")
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        odd = int(np.flatnonzero(~np.isfinite(pixels.reshape(len(pixels), -1)).all(axis=1))[0])
        raise DataError(f"{source}: image {odd} has pixels that are NaN or infinite; fill them or leave the image out")
    peak = peak_of(pixels)
    pixels, notes = _without_alpha(pixels, peak)
    return Images(pixels, _numbers(len(pixels)), notes=notes, peak=peak)


def _shape_of_rows(width: int, shape: tuple[int, ...] | None, source: str) -> tuple[int, ...]:
    if shape is not None:
        sides = tuple(int(side) for side in shape)
        if len(sides) not in (2, 3) or int(np.prod(sides)) != width:
            raise DataError(
                Message(f"{source}: ", Setting("image_shape", sides), f" does not fit rows of {width} pixels")
            )
        return sides
    side = round(width**0.5)
    if side * side != width:
        raise DataError(
            Message(
                f"{source} has rows of {width} values, which is not a square: give the shape of the images with ",
                Setting("image_shape", (1, width)),
                ", height and width",
            )
        )
    return side, side


def peak_of(pixels: Array) -> float:
    """Return the value of white: that of the type; of real numbers 1, 255 from 128 up, or the largest.

    >>> peak_of(np.zeros((2, 2), dtype=np.uint8)), peak_of(np.array([[0.0, 0.5]])), peak_of(np.array([[0.0, 16.0]]))
    (255.0, 1.0, 16.0)
    """
    if pixels.dtype.kind == "b":
        return 1.0
    if pixels.dtype in (np.uint8, np.uint16):
        return float(np.iinfo(pixels.dtype).max)
    top = float(pixels.max())
    return 255.0 if 128 <= top <= 255 else max(top, 1.0)


def _without_alpha(pixels: Array, peak: float) -> tuple[Array, tuple[str, ...]]:
    """Return images without transparency, laid over white; one channel is grey."""
    if pixels.ndim == 3:
        return pixels, ()
    channels = pixels.shape[3]
    if channels in (1, 3):
        return (pixels[..., 0] if channels == 1 else pixels), ()
    alpha = pixels[..., -1:].astype(np.float64) / peak
    colours = pixels[..., :-1]
    clear = int((alpha < 1).any(axis=(1, 2, 3)).sum())
    laid = colours * alpha + peak * (1 - alpha) if clear else colours
    laid = np.rint(laid).astype(pixels.dtype) if pixels.dtype.kind in "iu" else laid.astype(pixels.dtype)
    notes = (f"{clear} with transparent parts, laid over white",) if clear else ()
    return (laid[..., 0] if channels == 2 else laid), notes


def _in_mode(images: Images, mode: str | None) -> Images:
    """Return images in grey (by ITU-R 601 weights, as Pillow does) or in colour."""
    if mode not in (None, "grey", "colour"):
        raise DataError(Message(Setting("image_mode", mode), ": it must be 'grey' or 'colour'"))
    if mode is None or (mode == "grey") == images.grey:
        return images
    if mode == "colour":
        return replace(images, pixels=np.repeat(images.pixels[..., None], 3, axis=3))
    mixed = images.pixels @ np.array([0.299, 0.587, 0.114])
    whole = images.pixels.dtype.kind in "iu"
    return replace(images, pixels=(np.rint(mixed) if whole else mixed).astype(images.pixels.dtype))


def _in_size(images: Images, size: Any) -> Images:
    """Return images of another size, by bilinear interpolation over what a new pixel covers."""
    if size is None or size == "common" or tuple(size) == images.shape[1::-1]:
        return images
    from PIL import Image

    width, height = (int(side) for side in size)
    if width < 1 or height < 1:
        raise DataError(Message(Setting("image_size", size), ": it must be a width and a height in pixels"))
    check_allocation(8 * len(images) * width * height, "resizing the images", "use a smaller size")
    planes = images.pixels if not images.grey else images.pixels[..., None]
    out = np.empty((len(planes), height, width, planes.shape[3]))
    for i, image in enumerate(planes):
        for c in range(planes.shape[3]):
            plane = Image.fromarray(np.ascontiguousarray(image[..., c], dtype=np.float32))
            out[i, ..., c] = np.asarray(plane.resize((width, height), Image.Resampling.BILINEAR))
    kind = images.pixels.dtype
    out = (np.rint(out) if kind.kind in "iub" else out).astype(kind)
    notes = (*images.notes, f"{len(images)} resized to {width} × {height} pixels")
    return replace(images, pixels=out[..., 0] if images.grey else out, notes=notes)


def _numbers(n: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(n))
