"""A text file as consecutive blocks of whole records in UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.formatting import format_bytes
from ...core.message import Advice, Message, Setting
from ..source import Source

_MAX_RECORD_BYTES = 1 << 28
_QUOTE, _NEWLINE = ord('"'), ord("\n")

RecordLines = Callable[[Source], list[int]]


def text_blocks(file: Source, encoding: str, separator: str, size: int, record_lines: RecordLines) -> Iterator[Source]:
    """Yield the file in parts of about ``size`` bytes that end after a record, with the number of lines before each.

    ``record_lines`` returns the first line of each record of a part; it is needed only where quotation marks are not
    around whole cells.
    """
    rest, lines, most = b"", 0, size
    for chunk in _utf8(file, encoding, size):
        rest += chunk
        if len(rest) < most:
            continue
        part = replace(file, path=None, content=rest, packing=None, lines_before=lines)
        end = _record_end(part, separator, record_lines)
        if end == 0:
            most = 2 * len(rest)
            if most > _MAX_RECORD_BYTES:
                raise DataError(
                    f"{file.name}, line {lines + 1}: one row takes more than {format_bytes(len(rest))}; look for an "
                    "unclosed quotation mark"
                )
            continue
        yield replace(part, content=rest[:end])
        lines, rest, most = lines + n_lines(rest[:end]), rest[end:], size
    if rest:
        yield replace(file, path=None, content=rest, packing=None, lines_before=lines)


def _utf8(file: Source, encoding: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of the file in UTF-8, converted if needed, with line feeds at the ends of lines."""
    plain = encoding in ("utf-8", "utf-8-sig")
    with file.open() as opened:
        decoder = None if plain else codecs.getincrementaldecoder(encoding)()
        lines, returns = 0, None
        while chunk := opened.read(size):
            if decoder is not None:
                try:
                    chunk = decoder.decode(chunk).encode()
                except UnicodeDecodeError as error:
                    raise _not_decoded(file, encoding, lines, error) from error
                lines += n_lines(chunk)
            if returns is None:
                returns = b"\r" in chunk and b"\n" not in chunk
            yield chunk.replace(b"\r", b"\n") if returns else chunk
        if decoder is not None:
            try:
                decoder.decode(b"", final=True)
            except UnicodeDecodeError as error:
                raise _not_decoded(file, encoding, lines, error) from error


def _not_decoded(file: Source, encoding: str, lines: int, error: UnicodeDecodeError) -> DataError:
    line = lines + 1 + error.object[: error.start].count(b"\n")
    return DataError(
        Message(
            f"{file.name}, line {line}: the bytes are not {encoding}",
            Advice("; use another ", Setting("encoding"), ", such as 'utf-8' or 'cp1252'"),
        )
    )


def n_lines(content: bytes) -> int:
    """Return the number of line feeds."""
    return int(np.count_nonzero(np.frombuffer(content, np.uint8) == _NEWLINE))


def n_filled_lines(content: bytes, skip: int) -> int | None:
    """Return the number of lines that are not empty, after some first ones; None if single returns end lines, too.

    >>> n_filled_lines(b"# x\\na,b\\n\\n1,2\\n3,4", 1)
    3
    """
    returns = b"\r" in content
    if returns and content.count(b"\r") != content.count(b"\r\n"):
        return None
    breaks = np.flatnonzero(np.frombuffer(content, np.uint8) == _NEWLINE)
    gaps = np.diff(breaks, prepend=-1)  # bytes of each line, its end included
    if skip or (gaps <= 1 + returns).any():
        return sum(bool(line.strip(b"\r")) for line in content.split(b"\n")[skip:])
    return len(breaks) + (content[-1:] not in (b"\n", b""))


def _record_end(part: Source, separator: str, record_lines: RecordLines) -> int:
    """Return where the last whole record of a part ends; 0 if there is none."""
    content = part.content or b""
    end = content.rfind(b"\n") + 1
    if end == 0 or b'"' not in content[:end]:
        return end
    places = np.flatnonzero(np.frombuffer(content, np.uint8, end) == _QUOTE)
    if _around_cells(content[:end], places, separator):
        return _even_end(content, places, end)
    first = record_lines(replace(part, content=content[:end]))
    if len(first) < 2:
        return 0
    breaks = np.flatnonzero(np.frombuffer(content, np.uint8, end) == _NEWLINE)
    return int(breaks[first[-1] - part.lines_before - 2]) + 1  # the last record may go on in the next part


def _around_cells(content: bytes, places: Any, separator: str) -> bool:
    """Return whether every quotation mark opens or closes a cell, or is doubled inside of one.

    >>> [_around_cells(text, np.flatnonzero(np.frombuffer(text, np.uint8) == 34), ",") for text in
    ...  (b'1,"a""b"\\n', b'5" pipe,1\\n')]
    [True, False]
    """
    beside = np.frombuffer(b'\n\r"' + separator.encode(), np.uint8)
    padded = np.frombuffer(b"\n" + content + b"\n", np.uint8)
    return bool(np.isin(padded[places[::2]], beside).all() and np.isin(padded[places[1::2] + 2], beside).all())


def _even_end(content: bytes, places: Any, end: int) -> int:
    """Return the end of the last line with an even number of quotation marks before it; 0 if there is none."""
    while end:
        before = int(np.searchsorted(places, end))
        if before % 2 == 0:
            return end
        end = content.rfind(b"\n", 0, int(places[before - 1])) + 1
    return 0
