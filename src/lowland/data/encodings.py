"""The encoding of a text file, by one pass over its bytes that also counts lines and quotation marks."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

import numpy as np

from ..core.errors import DataError, NoRowsError
from ..core.message import Advice, Message, Setting
from .source import Source

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16: its mark begins with that of UTF-16
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UNUSED_IN_CP1252 = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])
_HEAD = 4096


@dataclass(frozen=True)
class Scan:
    """The encoding of a text and its counts, which hold for UTF-8 only.

    ``n_marks`` is the count of ``mark``, the most frequent of the usual separators in the first bytes.
    """

    encoding: str
    n_bytes: int
    n_lines: int
    n_quotes: int
    mark: str = ","
    n_marks: int = 0

    @property
    def is_utf8(self) -> bool:
        """Whether Arrow can read the bytes as they are."""
        return self.encoding in ("utf-8", "utf-8-sig")


def scan_text(source: Source, encoding: str | None = None) -> Scan:
    """Return the encoding and the counts of a text; ``encoding=None`` detects it.

    A byte order mark decides; text that is valid UTF-8 is UTF-8; otherwise it is cp1252 (latin-1 if it has bytes that
    cp1252 does not use). Text with valid UTF-8 characters and other bytes is damaged UTF-8, which is an error.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf8 = encoding is not None and codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    n_bytes = breaks = quotes = separators = 0
    last, mark, valid, ascii_only, separator = b"", None, True, True, b","
    for chunk in source.chunks():
        if n_bytes == 0:
            mark = _marked(chunk)
            separator = max((b",", b";", b"\t", b"|"), key=chunk[:_HEAD].count)
        n_bytes, breaks, last = n_bytes + len(chunk), breaks + _count(chunk, b"\n"), chunk[-1:]
        quotes, separators = quotes + _count(chunk, b'"'), separators + _count(chunk, separator)
        if utf8 or (encoding is None and mark in (None, "utf-8-sig")):
            if b"\0" in chunk:
                raise DataError(f"{source.name} is not a text file: it contains null bytes; save it as UTF-8 text")
            if valid and not (ascii_only and chunk.isascii()):
                ascii_only = False
                valid = _decodes(decoder, chunk)
    if n_bytes == 0:
        raise NoRowsError(f"{source.name} is empty; a table needs a header line and at least one row")
    valid = valid and _decodes(decoder, b"", final=True)
    name = encoding or mark or ("utf-8" if valid else _single_byte(source))
    if not valid and (utf8 or mark == "utf-8-sig"):
        _refuse_mixture(source)
    name = "utf-8-sig" if codecs.lookup(name).name == "utf-8" else name  # a byte order mark is never a cell
    return Scan(name, n_bytes, breaks + (last != b"\n"), quotes, separator.decode(), separators)


def _count(chunk: bytes, byte: bytes) -> int:
    """Return how often a byte occurs; `bytes.count` stops at every hit, which is slow for a separator.

    >>> _count(b"a,b,c", b",")
    2
    """
    return int(np.count_nonzero(np.frombuffer(chunk, np.uint8) == byte[0])) if byte in chunk else 0


def decode(source: Source, content: bytes, encoding: str) -> str:
    """Return text without a byte order mark; an error names the line of bytes that are not of the encoding."""
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = source.lines_before + content[: error.start].count(b"\n") + 1
        raise DataError(
            Message(
                f"{source.name}, line {line}: the bytes are not {encoding}",
                Advice("; use another ", Setting("encoding"), ", such as 'utf-8' or 'cp1252'"),
            )
        ) from error


def _marked(head: bytes) -> str | None:
    """Return the encoding of a byte order mark, or UTF-16 if every other byte is null."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name
    head = head[:_HEAD]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) // 4 and min(even, odd) < len(head) // 40 + 1:
        return "utf-16-be" if even > odd else "utf-16-le"
    return None


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _single_byte(source: Source) -> str:
    """Return the one-byte encoding of a text that is not UTF-8; raise if it has UTF-8 characters, too."""
    content = source.read()
    beyond_ascii = len(content.translate(None, bytes(range(128))))
    kept = len(content.decode("utf-8", errors="ignore").encode().translate(None, bytes(range(128))))
    if 2 * kept > beyond_ascii:
        _refuse_mixture(source)
    return "latin-1" if any(byte in content for byte in _UNUSED_IN_CP1252) else "cp1252"


def _refuse_mixture(source: Source) -> None:
    with source.open() as file:
        for number, line in enumerate(file, start=source.lines_before + 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    Message(
                        f"{source.name}, line {number}: byte {error.start + 1} is not UTF-8",
                        Advice("; save the file as UTF-8, or set another ", Setting("encoding")),
                    )
                ) from error
