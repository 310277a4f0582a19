"""`lowland completion`: completion of commands, options, methods and their parameters in the shell.

The script that it prints calls ``lowland _complete WORDS``, so that names always are those of the registry.
"""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from .answer import Answer
from .options import HIDDEN, Common

KEYS = {"shell": "the shell of the script", "script": "the script"}

_BASH = f"""\
_lowland() {{
  local IFS=$'\\n'
  COMPREPLY=($(lowland {HIDDEN} "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o default -o nosort -F _lowland lowland
"""
_SCRIPTS = {
    "bash": _BASH,
    "zsh": f"autoload -Uz bashcompinit && bashcompinit\n{_BASH.replace(' -o nosort', '')}",
    "fish": f"complete -c lowland -a '(lowland {HIDDEN} (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'\n",
}
_START = {
    "bash": "lowland completion bash >> ~/.bashrc",
    "zsh": "lowland completion zsh >> ~/.zshrc",
    "fish": "lowland completion fish > ~/.config/fish/completions/lowland.fish",
}


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Shell to complete in.")],
    /,
    *,
    common: Common | None = None,
) -> Answer:
    """Print a script that completes commands, options, methods and their parameters in the shell.

    Example: lowland completion bash >> ~/.bashrc
    """
    script = _SCRIPTS[shell]
    summary = f"The script completes lowland's commands in {shell} when the shell starts with it."
    return Answer({"shell": shell, "script": script}, summary, _START[shell], shown=[Text(script.rstrip())])
