"""The result of a command, and how results and messages are printed.

Answers go to stdout (data, tables or one JSON object), everything else to stderr.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ..core.errors import LowlandError
from ..core.formatting import plain_values
from .wording import in_words

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType


class UsageError(LowlandError):
    """The command was called in a way that cannot work; nothing was read or written."""


@dataclass(frozen=True)
class Answer:
    """The outcome of a command.

    ``facts`` becomes the JSON object, ``shown`` the tables on stdout, ``rows`` the data on stdout;
    ``summary`` is a one-sentence result and ``next`` the next command to try.
    """

    facts: Mapping[str, Any]
    summary: str
    next: str
    shown: Sequence[RenderableType] = ()
    rows: pl.DataFrame | None = field(default=None, repr=False)


class _Console(Console):
    """A console that raises `BrokenPipeError` if its reader has closed; rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error again."""
        raise BrokenPipeError


def stderr() -> Console:
    """Return the console of messages; text from files is never read as markup."""
    return _Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note on stderr."""
    from .wording import in_words

    stderr().print(Text(in_words(text), style="dim"))


def warn(text: str) -> None:
    """Print a warning as one line on stderr."""
    stderr().print(Text.assemble(("warning: ", "yellow"), " ".join(text.split())))


def fail(text: str) -> None:
    """Print an error on stderr."""
    stderr().print(Text.assemble(("error: ", "bold red"), text))


def show(answer: Answer) -> None:
    """Print an answer for people: tables and data to stdout, the closing sentence to stderr."""
    if answer.shown:
        _show_tables(answer.shown)
    if answer.rows is not None:
        write_csv(answer.rows)
    console = stderr()
    console.print(Text(answer.summary))
    console.print(Text.assemble(("next: ", "bold"), answer.next))


def _show_tables(tables: Sequence[RenderableType]) -> None:
    """Print tables as wide as the terminal; for a file or a pipe, without colours and trailing blanks."""
    terminal = sys.stdout.isatty()
    buffer = io.StringIO()
    file, width = (None, None) if terminal else (buffer, 110)
    console = _Console(file=file, width=width, markup=False, emoji=False, highlight=False)
    for table in tables:
        console.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def show_json(command: str, answer: Answer, warnings: Sequence[str]) -> None:
    """Print an answer as one JSON object on stdout."""
    body = {
        "command": command,
        **answer.facts,
        "warnings": list(warnings),
        "summary": answer.summary,
        "next": answer.next,
    }
    print(json.dumps(plain(body), ensure_ascii=False, allow_nan=False, indent=2))


def write_csv(frame: pl.DataFrame) -> None:
    """Write a table to stdout as CSV, a slice at a time."""
    for number, part in enumerate(frame.iter_slices(50_000)):
        sys.stdout.write(part.write_csv(include_header=number == 0))
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """Convert a value to types of JSON, with messages in the words of the command line.

    >>> from pathlib import Path
    >>> plain({"share": float("nan"), "file": Path("a.csv"), "counts": (1, 2)})
    {'share': None, 'file': 'a.csv', 'counts': [1, 2]}
    """
    return plain_values(value, in_words)
