"""The documentation page of the command line, generated from the help texts.

``python -m lowland.cli.document docs/cli.md`` writes it; a test fails if it is out of date.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from .app import COMMANDS, parser

_INTRODUCTION = """\
# The command line

This page is generated from the help texts of the commands: `python -m lowland.cli.document docs/cli.md`.

Data and tables go to stdout, messages to stderr. Every command ends with a short summary and a suggested next
command.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | failure |
| 2 | usage error, such as an unknown option or an invalid value |
| 3 | invalid data or model file, or a file beyond the memory limit; the message gives the location |
| 4 | an optional package is missing; the message gives the install command |
| 130 | interrupted; no partial file is written |
| 141 | the reader closed stdout, as in `lowland reduce data.csv \\| head` |

With `--json` a command prints one JSON object on stdout; commands that write data then require `--out`. The
object has the keys `command`, `warnings` (a list of strings), `summary`, `next`, and the keys listed below for
each command. After an error it has the keys `error` and `exit_code`.

`--debug`, or the environment variable `LOWLAND_DEBUG=1`, shows the traceback of an error.
"""


def help_text(*words: str) -> str:
    """Return the help of the program or of one command as plain text, 88 characters wide."""
    from rich.console import Console

    buffer = io.StringIO()
    console = Console(file=buffer, width=88, color_system=None, force_terminal=False, legacy_windows=False)
    parser(" ".join(words)).help_print([*words], console=console)
    return "\n".join(line.rstrip() for line in buffer.getvalue().strip().splitlines())


def document() -> str:
    """Return the page in Markdown."""
    pieces = [_INTRODUCTION, f"```text\n{help_text()}\n```\n"]
    for name, command in COMMANDS.items():
        keys = "\n".join(f"| `{key}` | {meaning} |" for key, meaning in command.json_keys().items())
        pieces.append(f"## lowland {name}\n\n```text\n{help_text(*name.split())}\n```\n")
        pieces.append(f"| JSON key | meaning |\n|---|---|\n{keys}\n")
    return "\n".join(pieces)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Write the page on the command line, made from its help texts.")
    arguments.add_argument("page", type=Path, help="the file to write, such as docs/cli.md")
    arguments.parse_args().page.write_text(document(), encoding="utf-8")
