"""Options for reading a file, the same on every command that reads data."""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from ..data.table import Table

READING = Group("Reading the file (detected if not given)", sort_key=10)


@Parameter(name="*", group=READING)
@dataclass(frozen=True)
class ReadingOptions:
    """How the file is read; None: detected."""

    sep: Annotated[
        str | None, Parameter(help="Separator of the cells: comma, semicolon, tab, pipe, space, or the character.")
    ] = None
    decimal: Annotated[str | None, Parameter(help="Decimal mark: . or ,")] = None
    thousands: Annotated[str | None, Parameter(help="Thousands mark: , . ' or a space; '' for none.")] = None
    encoding: Annotated[str | None, Parameter(help="Encoding of a text file, such as utf-8, utf-16 or cp1252.")] = None
    header: Annotated[
        bool | None,
        Parameter(help="Whether the first line contains the column names.", negative="--no-header", show_default=False),
    ] = None
    units: Annotated[
        bool | None,
        Parameter(
            help="Whether the line below the header contains units such as mg/L, and is left out.",
            negative="--no-units",
            show_default=False,
        ),
    ] = None
    skip_rows: Annotated[int | None, Parameter(help="Lines to skip before the header.")] = None
    comment: Annotated[
        str | None, Parameter(help="Skip lines that begin with this. Default: # lines before the table.")
    ] = None
    na: Annotated[
        tuple[str, ...],
        Parameter(
            help="Further words for missing values, separated by commas, such as 'n.d.,-,999'.",
            allow_leading_hyphen=True,
            show_default=False,
        ),
    ] = ()
    below_limit: Annotated[
        Literal["error", "half", "missing"] | None,
        Parameter(help="Cells such as <0.5: an error (default), half of the limit, or missing."),
    ] = None
    above_limit: Annotated[
        Literal["error", "limit", "missing"] | None,
        Parameter(help="Cells such as >100: an error (default), the limit, or missing."),
    ] = None
    sheet: Annotated[str | None, Parameter(help="Sheet of a workbook: its name or number (from 0).")] = None
    format: Annotated[
        str | None,
        Parameter(
            help="Format of standard input (-), or of a file whose name does not show it, such as csv or parquet."
        ),
    ] = None
    vector: Annotated[
        str | None, Parameter(help="Column of embeddings (lists of numbers of one length): these numbers are reduced.")
    ] = None
    text: Annotated[
        str | None,
        Parameter(
            help="Column with a text for each row: copied to the output and shown in reports. Only --texts reduces it."
        ),
    ] = None
    image: Annotated[
        str | None,
        Parameter(
            help="Column with an image for each row (path or bytes). It is not reduced: paths are copied to the "
            "output, and reports show small copies."
        ),
    ] = None

    def read(self, path: Path) -> Table:
        """Read a table."""
        from ..data.reading import read

        return read(path, **self.set_options())

    def naming(self, *columns: str | None) -> ReadingOptions:
        """Return the same options with columns, such as that of --id, whose cells are kept as they are written."""
        from ..data.options import IfThere

        known = getattr(self, "names", ())
        more = [IfThere(name) for name in columns if name is not None and name not in known]
        return _NamingOptions(**{**vars(self), "names": (*known, *more)}) if more else self

    def set_options(self) -> dict[str, Any]:
        """Return the options that are set, as `lowland.data.read` takes them."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        chosen = {name: value for name, value in options.items() if value not in (None, ())}
        if self.na:
            chosen["na"] = tuple(word.strip() for row in csv.reader(self.na) for word in row)
        if self.sheet is not None and self.sheet.isdecimal():
            chosen["sheet"] = int(self.sheet)
        return chosen

    @property
    def copied(self) -> list[str]:
        """Columns of texts and images, which are copied to the output."""
        return [name for name in (self.text, self.image) if name is not None]

    def words(self) -> dict[str, Any]:
        """Return the options for a command line that reads the same."""
        words = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "names"}
        words |= {"no_header": self.header is False, "no_units": self.units is False}
        return words | {"header": bool(self.header), "units": bool(self.units)}


@dataclass(frozen=True)
class _NamingOptions(ReadingOptions):
    """Options with columns of names, which the command line gives as --id."""

    names: tuple[str, ...] = ()
