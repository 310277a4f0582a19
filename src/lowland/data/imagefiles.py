"""A folder of images as one array, a row for each image."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
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
from .formats import BY_NAME
from .options import ReadOptions

MAX_PIXELS = 100_000_000  # of an image that is resized
_MAX_COLUMNS = 5_000_000  # of the table
_GREY = ("1", "L", "I", "I;16", "F", "LA")


def read_images(root: Path, files: Sequence[Path], options: ReadOptions, n_other: int = 0) -> ArrayTable:
    """Read images of equal size (or resized to ``image_size``) as rows of pixels, 0 to 255.

    The columns ``file`` and ``folder`` are kept aside. Pixels are in the order of rows, columns and colours.
    """
    check_options(options, BY_NAME["images"], str(root))
    heads = [_head(file) for file in files]
    sizes = [size for size, _ in heads]
    grey = options.image_mode == "grey" or (options.image_mode is None and all(mode in _GREY for _, mode in heads))
    if options.image_size is None:
        odd = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
        if odd is not None:
            raise DataError(
                Message(
                    f"{files[odd]}: it has {_by(sizes[odd])} pixels and {files[0].name} has {_by(sizes[0])}; ",
                    Phrase(f"make them equal or resize them with image_size={sizes[0]}", "make them equal"),
                )
            )
    width, height = options.image_size or sizes[0]
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
    for i, file in enumerate(files):
        array[i] = _pixels(file, grey, (width, height))
    notes = (f"{len(files)} {'grey' if grey else 'colour'} images of {width} × {height} pixels", *unread_note(n_other))
    table = ArrayTable(array, root.name or str(root), aside=place_of(root, files), notes=notes, roles={"image": "file"})
    made = finished(table, ReadOptions(normalize=options.normalize))
    assert isinstance(made, ArrayTable)
    return made


def _head(file: Path) -> tuple[tuple[int, int], str]:
    """Return the size and the mode of an image without unpacking it; too many pixels are an error."""
    with opened(file) as image:
        width, height = image.size
        return (width, height), image.mode


def _pixels(file: Path, grey: bool, size: tuple[int, int]) -> Any:
    from PIL import Image

    try:
        with opened(file) as image:
            if image.mode in ("I", "I;16", "F"):  # 16 bits: the most significant ones
                values = np.asarray(image, dtype=np.float64)
                image = Image.fromarray(
                    np.clip(values / (257.0 if values.max() > 255 else 1.0), 0, 255).astype(np.uint8)
                )
            plain = image.convert("L" if grey else "RGB")
            if plain.size != size:
                plain = plain.resize(size, Image.Resampling.BILINEAR)
            return np.asarray(plain).ravel()
    except DataError:
        raise
    except Exception as error:  # Pillow raises errors of many classes on damaged files
        raise _damaged(file, error) from error


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
