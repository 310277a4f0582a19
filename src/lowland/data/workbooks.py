"""Excel workbooks (``.xlsx``): read by fastexcel, written by XlsxWriter, both in the extra ``excel``."""

from __future__ import annotations

import datetime
import io
import zipfile
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import polars as pl

from ..core import settings
from ..core.errors import DataError, MissingExtraError
from ..core.formatting import format_bytes
from ..core.message import Message, Setting
from .cells import MISSING
from .damage import damaged
from .heading import renamed_note, title_rows, units_in, units_note, unlike_names
from .options import ReadOptions
from .source import Source
from .table import Table
from .tablefiles import check_names, table_of
from .textcolumns import retyped

_MAX_ROWS, _MAX_COLUMNS = 1_048_575, 16_384  # of a sheet, without the header
_HEAD_ROWS = 80  # that show where the table begins
_MAX_EXACT = 2.0**53  # Excel has no integers, only floats; larger ones are not exact


def read_xlsx(source: Source, options: ReadOptions) -> Table:
    """Read one sheet of a workbook: the only one, or the one that ``sheet`` names or numbers from 0."""
    fastexcel = _extra("fastexcel")
    content = source.read()
    _check_size(source.name, content)
    try:
        book = fastexcel.read_excel(content)
        name = _sheet(source.name, book.sheet_names, options.sheet)
        head = _Head.of(book, name, options)
        sheet = book.load_sheet(
            name,
            header_row=None if options.header is False else head.skip,
            skip_rows=options.skip_rows if options.header is False else int(bool(head.units)) or None,
            schema_sample_rows=None,
        )
        frame = sheet.to_polars()
    except DataError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise damaged(source.name, "an Excel workbook", error) from error
    if options.header is False:
        frame = frame.rename({column: f"x{j}" for j, column in enumerate(frame.columns)})
    elif len(head.names) == frame.width:
        frame.columns = head.names
    else:
        frame = frame.rename({column: column.strip() for column in frame.columns})
        check_names(source.name, frame.columns)
    frame = frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame
    frame = frame.with_columns(_whole(column) for column in frame.get_columns())
    table = table_of(f"{source.name}, sheet {name!r}", frame)
    others = [other for other in book.sheet_names if other != name]
    notes = (*([f"read sheet {name!r}; not read: {', '.join(map(repr, others))}"] if others else []), *head.notes)
    return retyped(source.name, Table(table.frame, source.name, notes=notes), options, always=True)


@dataclass(frozen=True)
class _Head:
    """What stands above the rows of a sheet: rows to skip, the names of the columns, and units; notes on them."""

    skip: int = 0
    names: list[str] = field(default_factory=list)
    units: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, book: Any, name: str, options: ReadOptions) -> _Head:
        """Look at the first rows, all as text."""
        if options.header is False:
            return cls()
        texts = book.load_sheet(name, header_row=None, skip_rows=0, n_rows=_HEAD_ROWS, dtypes="string").to_polars()
        rows = [[(cell or "").strip() for cell in row] for row in texts.rows()]
        skip = title_rows(rows) if options.skip_rows is None else options.skip_rows
        while skip < len(rows) and not any(rows[skip]):
            skip += 1
        if skip >= len(rows):
            return cls(skip)
        names, renamed = unlike_names([cell or f"column_{j}" for j, cell in enumerate(rows[skip], start=1)])
        below, missing = rows[skip + 1 :], {*MISSING, *options.na}
        has_units = options.units or (options.units is None and below and units_in(below[0], below[1:], missing))
        units = tuple(below[0]) if below and has_units else ()
        skipped = None
        if options.skip_rows is None and skip:
            skipped = f"{skip} row{'s' * (skip != 1)} before the table skipped"
        notes = (skipped, renamed_note(renamed), units_note(units, f"row {skip + 2}"))
        return cls(skip, names, units, tuple(text for text in notes if text is not None))


def write_xlsx(file: BinaryIO, name: str, frame: pl.DataFrame) -> None:
    """Write a table as the only sheet of a workbook. The same table gives the same bytes."""
    xlsxwriter = _extra("xlsxwriter")
    if frame.height > _MAX_ROWS or frame.width > _MAX_COLUMNS:
        raise DataError(
            f"{name}: a sheet of Excel holds {_MAX_ROWS:,} rows and {_MAX_COLUMNS:,} columns, the table has "
            f"{frame.height:,} and {frame.width:,}; use .parquet or .csv"
        )
    plain = {
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": True,
    }
    packed = io.BytesIO()
    with xlsxwriter.Workbook(packed, {**plain, "in_memory": True}) as book:
        book.set_properties({"created": datetime.datetime(2000, 1, 1)})
        days = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)) if frame.width else frame
        days.write_excel(
            book,
            worksheet="table",
            autofit=False,
            dtype_formats={pl.Float64: "General", pl.Float32: "General", pl.Int64: "0"},
        )
    file.write(packed.getvalue())


def _extra(package: str) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f'Excel workbooks need {package}, which is not installed; install it: pip install "lowland[excel]"'
        ) from error


def _check_size(name: str, content: bytes) -> None:
    """Raise if a workbook unpacks to more than the memory limit."""
    most = settings.memory_limit()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise damaged(name, "an Excel workbook", error) from error
    if 2 * size > most:
        raise DataError(
            f"{name} unpacks to {format_bytes(size)} and would need more than the memory limit of {format_bytes(most)}"
        )


def _sheet(file: str, names: list[str], choice: str | int | None) -> str:
    if not names:
        raise DataError(f"{file} has no sheets")
    if choice is None:
        return names[0]
    if isinstance(choice, int) and 0 <= choice < len(names):
        return names[choice]
    if choice in names:
        return str(choice)
    raise DataError(Message(f"{file} has no ", Setting("sheet", choice), f"; it has {', '.join(map(repr, names))}"))


def _whole(column: pl.Series) -> pl.Series:
    """Return whole numbers as integers and midnights as dates, since a workbook has only floats and times."""
    if column.null_count() == len(column):
        return column
    if isinstance(column.dtype, pl.Datetime):
        days = column.cast(pl.Date)
        return days if (days.cast(column.dtype) == column).all(ignore_nulls=True) else column
    if column.dtype != pl.Float64:
        return column
    whole = (column == column.round()) & (column.abs() < _MAX_EXACT)
    return column.cast(pl.Int64) if whole.all(ignore_nulls=True) else column
