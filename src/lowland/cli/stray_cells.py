"""Cells that are not numbers: the options that read them, and errors that name `lowland info`, which proposes these."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.command_line import command_line
from ..core.errors import DataError
from ..core.message import Advice, Message

if TYPE_CHECKING:
    from ..data.table import Table
    from .reading_options import ReadingOptions


@contextmanager
def naming_info(table: Table, path: Path, reading: ReadingOptions) -> Iterator[None]:
    """Append `lowland info` to the error of a column with stray cells, if it proposes options that read some.

    Standard input, which cannot be read again, has no such command.
    """
    from ..recipes.proposal import reading_marks

    try:
        yield
    except DataError as error:
        text = error.args[0] if error.args else ""
        if str(path) == "-" or text not in table.faults.values() or not reading_marks(table):
            raise
        command = command_line("info", path, **reading.words())
        raise DataError(Message(text, Advice(f"; `{command}` proposes the options for all such cells"))) from error


def as_proposed(file: Path, data: Table, reading: ReadingOptions) -> tuple[Table, ReadingOptions]:
    """Return the table as the proposed command reads it, and its reading options: stray cells may need some.

    Standard input cannot be read again; its proposal is judged by the cells that were numbers at once.
    """
    from ..recipes.proposal import reading_marks

    marks = reading_marks(data)
    if not marks or str(file) == "-":
        return data, reading
    if "na" in marks:
        marks["na"] = (*reading.na, marks["na"])
    again = replace(reading, **marks)
    return again.read(file), again
