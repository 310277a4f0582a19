"""A folder of images as one array, a row for each image."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.cost import check_allocation
from ..core.errors import DataError
from ..core.formatting import first_line
from ..core.message import Message, Phrase
from .arraytable import ArrayTable
from .columns import finished
from .fileset import check_options, place_of, unread_note
from .formats import BY_NAME, IMAGES
from .options import ReadOptions
from .pixels import pixel_names

MAX_PIXELS = 100_000_000  # of an image that is resized
_MAX_COLUMNS = 5_000_000  # of the table
_GREY = ("1", "L", "I", "F", "LA", "La")
_WHITE_16 = 65535
_TURNED = 5  # EXIF orientations from here on swap width and height
_ORIENTATION = 0x0112  # the tag


def read_images(root: Path, files: Sequence[Path], options: ReadOptions, n_other: int = 0) -> ArrayTable:
    """Read images of equal size (or resized to ``image_size``) as rows of pixels, 0 to 255.

    The columns ``file`` and ``folder`` are kept aside. Pixels are in the order of rows, columns and colours, and named
    so: pixel_0_0, or pixel_0_0_red in images with colours. Photographs are turned as their EXIF data say, transparent
    parts are laid over white, of 16 bits the most significant count, real numbers up to 1 are shares of white, and of
    several frames or pages the first is read.
    """
    check_options(options, BY_NAME["images"], str(root))
    heads = [_head(file) for file in files]
    sizes = [head.size for head in heads]
    grey = options.image_mode == "grey" or (options.image_mode is None and all(_is_grey(head.mode) for head in heads))
    if options.image_size is None:
        odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
        if odd is not None:
            raise DataError(
                Message(
                    f"{files[odd]}: it has {_by(sizes[odd])} pixels and {files[0].name} has {_by(sizes[0])}; ",
                    Phrase(f"make them equal or resize them with image_size={sizes[0]}", "make them equal"),
                )
            )
    width, height = _chosen_size(options, sizes)
    channels = 1 if grey else 3
    if width * height * channels > _MAX_COLUMNS:
        smaller = (64, max(1, 64 * height // width))
        raise DataError(
            Message(
                f"{root}: images of {_by((width, height))} pixels would make a table of {width * height * channels:,} "
                f"columns; the limit is {_MAX_COLUMNS:,}. ",
                Phrase(f"Resize them with image_size={smaller}", f"Resize them, for example to {_by(smaller)} pixels"),
            )
        )
    check_allocation(len(files) * width * height * channels, f"reading the images of {root}", "use smaller images")
    array = np.empty((len(files), width * height * channels), np.uint8)
    clear = 0
    for i, file in enumerate(files):
        array[i], transparent = _pixels(file, grey, (width, height))
        clear += transparent
    many = "" if len(files) == 1 else "s"
    notes = [f"{len(files)} {'grey' if grey else 'colour'} image{many} of {width} × {height} pixels"]
    notes += _resize_note(sizes, (width, height))
    notes += [f"{clear} with transparent parts, laid over white"] if clear else []
    deep = sum(head.mode.startswith("I") or head.mode == "F" for head in heads)
    notes += [f"{deep} with more than 8 bits, reduced to 8"] if deep else []
    several = sum(head.several for head in heads)
    notes += [f"{several} with several frames or pages, of which the first is read"] if several else []
    table = ArrayTable(
        array,
        root.name or str(root),
        pixel_names(height, width, colour=not grey),
        aside=place_of(root, files),
        notes=(*notes, *unread_note(n_other)),
        roles={"image": "file"},
        image_shape=(height, width) if grey else (height, width, 3),
    )
    made = finished(table, ReadOptions(normalize=options.normalize))
    assert isinstance(made, ArrayTable)
    return made


def read_image(file: Path, mode: str | None = None) -> Any:
    """Read one image of any size as an array of 0 to 255: (height, width), or (height, width, 3) if it is in colour.

    ``mode`` is "grey" or "colour"; None: as the image is. The rules are those of `read_images`.
    """
    head = _head(file)
    grey = mode == "grey" or (mode is None and _is_grey(head.mode))
    width, height = head.size
    return _pixels(file, grey, head.size)[0].reshape((height, width) if grey else (height, width, 3))


def write_image(path: Path, pixels: Any) -> None:
    """Write an image of whole numbers, (height, width) or (height, width, 3), in the format of the file's name.

    8 bits, or 16 for a grey one in a format that has them. The file is written completely or not at all.
    """
    from PIL import Image

    from .atomic import atomic_file

    known = Image.registered_extensions()
    form = known.get(path.suffix.lower())
    if form is None or form not in Image.SAVE or path.suffix.lower() not in IMAGES:
        raise DataError(
            f"{path}: images are written as {', '.join(IMAGES[:2])} and other image files; choose such a name"
        )
    made = io.BytesIO()
    try:
        Image.fromarray(pixels).save(made, form)
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise DataError(f"{path}: this image cannot be written as {form}: {first_line(error)}") from error
    with atomic_file(path) as file:
        file.write(made.getvalue())


def _chosen_size(options: ReadOptions, sizes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return width and height: those asked for, or the most frequent ones (the smallest of equally frequent ones)."""
    if isinstance(options.image_size, tuple):
        return options.image_size
    return min(Counter(sizes).items(), key=lambda item: (-item[1], item[0][0] * item[0][1], item[0]))[0]


def _resize_note(sizes: Sequence[tuple[int, int]], size: tuple[int, int]) -> list[str]:
    """Say how many images were resized, and how many of them stretched: their sides had other proportions."""
    changed = [own for own in sizes if own != size]
    if not changed:
        return []
    stretched = sum(abs(own[0] * size[1] - own[1] * size[0]) > max(own[0], own[1]) for own in changed)
    return [f"{len(changed)} of {len(sizes)} resized" + (f", {stretched} of them stretched" if stretched else "")]


def _is_grey(mode: str) -> bool:
    return mode in _GREY or mode.startswith("I;16")


@dataclass(frozen=True)
class _Head:
    """What an image file says before it is unpacked: ``several`` tells of more than one frame or page."""

    size: tuple[int, int]
    mode: str
    several: bool


def _head(file: Path) -> _Head:
    """Return the head of an image without unpacking it; too many pixels are an error."""
    with opened(file) as image:
        width, height = image.size
        size = (height, width) if _orientation(image) >= _TURNED else (width, height)
        try:
            return _Head(size, image.mode, bool(getattr(image, "is_animated", False)))
        except Exception as error:  # it looks for the second frame
            raise _damaged(file, error) from error


def _orientation(image: Any) -> int:
    """Return how a photograph was turned when it was taken: 1 for upright, up to 8."""
    try:
        found = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged EXIF data are no reason to refuse the pixels
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _pixels(file: Path, grey: bool, size: tuple[int, int]) -> tuple[Any, bool]:
    """Return the pixels of an image, and whether some of them are transparent."""
    from PIL import Image, ImageOps

    try:
        with opened(file) as image:
            turned = _orientation(image)
            if image.mode in ("I", "F") or image.mode.startswith("I;16"):
                image = Image.fromarray(_to_8_bits(file, image))
            plain, clear = _opaque(image)
            plain = plain.convert("L" if grey else "RGB")
            if turned > 1:
                plain.getexif()[_ORIENTATION] = turned
                plain = ImageOps.exif_transpose(plain)
            if plain.size != size:
                plain = plain.resize(size, Image.Resampling.BILINEAR)
            return np.asarray(plain).ravel(), clear
    except DataError:
        raise
    except Exception as error:  # Pillow raises errors of many classes on damaged files
        raise _damaged(file, error) from error


def _to_8_bits(file: Path, image: Any) -> Any:
    """Return the most significant 8 bits of 16; 32 bits and real numbers are taken as 16 if one exceeds 255.

    Real numbers up to 1 are shares of white.
    """
    values = np.asarray(image, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    if not np.isfinite([low, high]).all():
        raise DataError(f"{file} has pixels that are NaN or infinite; fill them or leave the image out")
    if low < 0 or high > _WHITE_16:
        raise DataError(
            f"{file} has pixels from {low:g} to {high:g}; image files have numbers from 0 to 1, to 255 or to 65535: "
            "scale them, or give the numbers as an array"
        )
    if image.mode.startswith("I;16") or high > 255:
        return (values / (_WHITE_16 / 255)).astype(np.uint8)
    return np.rint(255 * values if image.mode == "F" and high <= 1 else values).astype(np.uint8)


def _opaque(image: Any) -> tuple[Any, bool]:
    """Return an image without transparency, laid over white, and whether it had some."""
    from PIL import Image

    if image.mode not in ("LA", "La", "PA", "RGBA", "RGBa") and "transparency" not in image.info:
        return image, False
    full = image.convert("RGBA")
    if full.getextrema()[3][0] == 255:
        return image, False
    white = Image.new("RGBA", full.size, (255, 255, 255, 255))
    return Image.alpha_composite(white, full).convert("RGB"), True


def opened(file: Path | io.BytesIO) -> Any:
    """Open an image without unpacking it; one of too many pixels is an error."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of pixels is checked here
            image = Image.open(file)
    except Image.DecompressionBombError as error:
        raise DataError(f"{file}: {error}; the limit is {MAX_PIXELS:,} pixels") from error
    except Exception as error:
        raise _damaged(file, error) from error
    pixels = image.size[0] * image.size[1]
    if pixels > MAX_PIXELS:
        image.close()
        raise DataError(f"{file}: the image unpacks to {pixels:,} pixels; the limit is {MAX_PIXELS:,}")
    return image


def _damaged(file: Path | io.BytesIO, error: Exception) -> DataError:
    name = "the cell" if isinstance(file, io.BytesIO) else file
    return DataError(f"{name} is damaged or not an image: {first_line(error)}")


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]} × {size[1]}"
