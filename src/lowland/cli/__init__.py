"""The command line: parse options, call the library, print results. It contains no mathematics.

**One file for each command.** `app` lists them; options that several commands share are data classes in `*_options`,
each declared once. Limits and defaults of a method's parameters come from its class (`method_flags`), and docs/cli.md
is written from the help texts (`document`), so that neither is typed a second time.

**A command returns an `Answer`**: facts for ``--json``, a summary, and what is shown on a terminal. Answers go to
stdout, everything else to stderr. `main` alone prints them and turns errors into messages and exit codes. A command
with several output files checks them before the work starts.

**The library's messages are not repeated here.** `wording` turns the parameters that a `Message` names into options,
and `running` adds the place in the file. Commands import the library when they run: ``lowland --help`` loads no NumPy.
"""

from __future__ import annotations

from .main import main

__all__ = ["main"]
