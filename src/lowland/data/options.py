"""`ReadOptions`: how a file or an object is to be read. None means: detect it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..core.errors import DataError
from ..core.message import Advice, Message, Setting

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}
THOUSANDS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes", "": "none"}
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "decimal": (".", ","),
    "thousands": tuple(THOUSANDS),
    "header": (True, False),
    "units": (True, False),
    "below_limit": ("error", "half", "missing"),
    "above_limit": ("error", "limit", "missing"),
    "normalize": ("l2",),
    "image_mode": ("grey", "colour"),
}
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "spaces": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


class IfThere(str):
    """The name of a column that a table need not have."""

    __slots__ = ()


@dataclass(frozen=True)
class ReadOptions:
    """Options of `read`; each format takes some of them.

    Parameters
    ----------
    format : name of the format, for files without a suffix that tells it and for standard input.
    sep : separator of the cells: ``","``, ``";"``, ``"\\t"`` (or ``"tab"``), ``"|"``, or ``" "`` for runs of spaces.
    decimal : decimal mark, ``"."`` or ``","``.
    thousands : thousands mark, ``","``, ``"."``, ``" "`` or ``"'"``; ``""`` for none.
    encoding : ``"utf-8"``, ``"utf-16"``, ``"cp1252"``, ``"latin-1"`` or another codec of Python.
    header : whether the first line contains the column names.
    units : whether the line below the header contains units of measurement; it is left out.
    skip_rows : number of lines to skip before the header.
    comment : lines that begin with this are skipped. Default: only ``#`` lines before the table.
    na : further words for missing values; those that are numbers also apply to columns of numbers.
    names : columns whose cells are names, by their own name or number (from 0): text as it is written, so that ``007``
        is not ``7``, unless all of them are plainly written whole numbers. Other formats than text know types already.
    below_limit : a cell such as ``<0.5`` is an error, half of the limit, or missing.
    above_limit : a cell such as ``>100`` is an error, the limit, or missing.
    sheet : name or number (from 0) of the sheet of a workbook.
    vector : column of equally long lists of numbers; it becomes the array, and the other columns are kept aside.
    text, image : column with the text or the image of each row; it is kept with the rows and not reduced.
    normalize : ``"l2"`` divides each row by its Euclidean length.
    image_size : width and height to which the images of a folder are resized, or ``"common"`` for their most frequent
        size; default: all must have the same size.
    image_mode : ``"grey"`` or ``"colour"``; default: grey if all images are.
    """

    format: str | None = None
    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: bool | None = None
    units: bool | None = None
    skip_rows: int | None = None
    comment: str | None = None
    na: tuple[str, ...] = ()
    names: tuple[str | int, ...] = ()
    below_limit: str | None = None
    above_limit: str | None = None
    sheet: str | int | None = None
    vector: str | None = None
    text: str | None = None
    image: str | None = None
    normalize: str | None = None
    image_size: tuple[int, int] | str | None = None
    image_mode: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "na", _words(self.na))
        object.__setattr__(self, "names", _columns(self.names))
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in choices:
                raise _wrong(name, value, f"it must be one of {', '.join(map(repr, choices))}")
        if self.sep is not None:
            object.__setattr__(self, "sep", _WORDS.get(self.sep, self.sep))
            if not isinstance(self.sep, str) or len(self.sep) != 1 or self.sep in '"\r\n' or not self.sep.isascii():
                raise _wrong("sep", self.sep, "it must be one character: , ; | tab or space")
        if self.skip_rows is not None and (not isinstance(self.skip_rows, int) or self.skip_rows < 0):
            raise _wrong("skip_rows", self.skip_rows, "it must be 0 or more lines")
        if self.comment is not None and (not self.comment or "\n" in self.comment):
            raise _wrong("comment", self.comment, "it must be the first character or characters of comment lines")
        if self.decimal is not None and self.decimal == self.thousands:
            raise _wrong("thousands", self.thousands, "it must differ from the decimal mark")
        if self.encoding is not None:
            _check_encoding(self.encoding)
        size = self.image_size
        sides = isinstance(size, tuple | list) and len(size) == 2 and all(isinstance(s, int) and s > 0 for s in size)
        if size is not None and size != "common" and not sides:
            raise _wrong("image_size", size, "it must be a width and a height in pixels, or 'common'")
        if sides:
            object.__setattr__(self, "image_size", tuple(size or ()))

    def holds_names(self, number: int, name: str) -> bool:
        """Return whether a column holds names."""
        return number in self.names or name in self.names

    def set_options(self) -> list[str]:
        """Return the names of the options that are set."""
        return [field.name for field in fields(self) if getattr(self, field.name) not in (None, ())]


def read_options(options: Mapping[str, Any]) -> ReadOptions:
    """Return the options as a `ReadOptions`; an unknown name raises a DataError that lists the known ones.

    >>> read_options({"sep": "tab", "na": ["-"]}).sep
    '\\t'
    """
    known = [field.name for field in fields(ReadOptions)]
    for name in options:
        if name not in known:
            raise DataError(f"there is no reading option {name!r}; the options are {', '.join(known)}")
    return ReadOptions(**options)


def _words(value: object) -> tuple[str, ...]:
    """Return one word or several as a tuple of texts."""
    words = (value,) if isinstance(value, (str, int, float)) else value
    if not isinstance(words, (tuple, list)) or not all(isinstance(word, (str, int, float)) for word in words):
        raise _wrong("na", value, "it must be a word or a list of words")
    return tuple(map(str, words))


def _columns(value: Any) -> tuple[str | int, ...]:
    columns = (value,) if isinstance(value, str | int) else value
    if not isinstance(columns, tuple | list) or not all(isinstance(column, str | int) for column in columns):
        raise _wrong("names", value, "it must be a list of columns, each by its name or number")
    return tuple(columns)


class OptionError(DataError):
    """An option of reading that the format of a file does not take; ``option`` is its name."""

    def __init__(self, file: str, option: str, format: str) -> None:
        super().__init__(
            Message(f"{file}: ", Setting(option), f" is not an option of the format {format}", Advice("; remove it"))
        )
        self.file, self.option, self.format = file, option, format

    def __reduce__(self) -> tuple[Any, ...]:
        return OptionError, (self.file, self.option, self.format)


def _wrong(name: str, value: object, why: str) -> DataError:
    return DataError(Message(Setting(name, value), f": {why}"))


def _check_encoding(name: str) -> None:
    import codecs

    try:
        "a".encode(name).decode(name)  # a lone byte is no UTF-16
        codecs.lookup(name).incrementaldecoder()
    except (LookupError, TypeError, ValueError):
        raise _wrong("encoding", name, "Python has no text encoding of this name; try 'utf-8' or 'cp1252'") from None
