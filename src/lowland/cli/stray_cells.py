"""Errors of cells that are not numbers name the command that proposes options for all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
