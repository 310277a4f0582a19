"""Small images for a page: each image of a column as a data URI, up to a total size."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..core.errors import DataError
from .imagefiles import opened

MAX_BYTES = 4_000_000  # of all thumbnails of a page
SIDE = 96  # pixels
_LOSSLESS = 32  # images of at most this many pixels a side are kept exactly


@dataclass(frozen=True)
class Thumbnails:
    """A data URI for each row, None without one; how many images could not be read, and how many had no room."""

    uris: list[str | None]
    unreadable: int
    left_out: int

    @property
    def sentence(self) -> str:
        """What is not shown, and why; empty if all images are."""
        texts = []
        if self.left_out:
            shown = sum(uri is not None for uri in self.uris)
            limit = f"the page holds {MAX_BYTES // 1_000_000} MB of images"
            texts.append(f"{shown:,} of {shown + self.left_out:,} images are shown: {limit}.")
        if self.unreadable:
            texts.append(f"{self.unreadable:,} of {len(self.uris):,} cells could not be read as images.")
        return " ".join(texts)


def thumbnails(images: pl.Series, folder: Path, max_bytes: int = MAX_BYTES) -> Thumbnails:
    """Return small copies of the images of a column: paths (relative to ``folder``), bytes, or structs of both.

    If they are too large together, those of rows spread evenly over the table are taken.

    >>> thumbnails(pl.Series([None, "nowhere.png"]), Path("."))
    Thumbnails(uris=[None, None], unreadable=1, left_out=0)
    """
    uris: list[str | None] = [None] * len(images)
    unreadable = left_out = used = 0
    for i in _spread(len(images)):
        source = _source(images[i], folder)
        if source is None:
            continue
        if used >= max_bytes:
            left_out += 1
            continue
        try:
            uri = _uri(source)
        except DataError:
            unreadable += 1
            continue
        if used + len(uri) > max_bytes:
            used = max_bytes
            left_out += 1
            continue
        uris[i], used = uri, used + len(uri)
    return Thumbnails(uris, unreadable, left_out)


def _spread(n: int) -> Iterator[int]:
    """Yield all rows, any first part of which is spread over the table."""
    bits = max(1, (n - 1).bit_length())
    for number in range(1 << bits):
        row = int(f"{number:0{bits}b}"[::-1], 2)
        if row < n:
            yield row


def _source(value: Any, folder: Path) -> Path | io.BytesIO | None:
    if isinstance(value, dict):
        value = value["bytes"] if value.get("bytes") is not None else value.get("path")
    if isinstance(value, bytes):
        return io.BytesIO(value)
    return None if not value else folder / str(value)


def _uri(source: Path | io.BytesIO) -> str:
    out = io.BytesIO()
    try:
        with opened(source) as image:
            small = max(image.size) <= _LOSSLESS
            image.draft("RGB", (SIDE, SIDE))  # reads large JPEG files at a fraction of their size
            plain = image.convert("L" if image.mode in ("1", "L", "LA") else "RGB")
            plain.thumbnail((SIDE, SIDE))
            plain.save(out, "PNG" if small else "JPEG")
    except DataError:
        raise
    except Exception as error:  # Pillow raises errors of many classes on damaged files
        raise DataError(f"{source}: {error}") from error
    kind = "png" if small else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(out.getvalue()).decode()}"
